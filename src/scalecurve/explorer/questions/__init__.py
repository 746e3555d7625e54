"""What can be asked: each question has a name, the shape of what is asked, and a function that answers."""

from scalecurve.explorer.questions.question import Question
from scalecurve.explorer.questions.registry import all_questions, find

__all__ = ["Question", "all_questions", "find"]
