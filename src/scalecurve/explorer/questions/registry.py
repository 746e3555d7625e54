"""All questions by name; the name is the end of the address (`/api/<name>`), its first word the module that answers.

Modules are loaded when first asked, so that the first answer does not wait for what other views need.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scalecurve.explorer.questions.question import Nothing, Question

TOPICS = ("laws", "data", "mechanisms", "training")
OPENAPI = "openapi"


def find(name: str) -> Question | None:
    """The question of this name."""
    if name == OPENAPI:
        return Question("This description.", Nothing, _openapi)
    topic = name.partition("/")[0]
    return _of(topic).get(name) if topic in TOPICS else None


def all_questions() -> dict[str, Question]:
    return {name: question for topic in TOPICS for name, question in _of(topic).items()}


def _of(topic: str) -> dict[str, Question]:
    found: dict[str, Question] = import_module(f"scalecurve.explorer.questions.{topic}").QUESTIONS
    return found


def _openapi(_: Nothing) -> dict[str, Any]:
    from scalecurve.explorer.questions.openapi import describe

    return describe(all_questions())
