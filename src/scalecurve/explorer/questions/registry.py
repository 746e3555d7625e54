"""All questions by name; the name is the end of the address (`/api/<name>`)."""

from __future__ import annotations

from typing import Any

from scalecurve.explorer.questions import data, laws, mechanisms, training
from scalecurve.explorer.questions.openapi import describe
from scalecurve.explorer.questions.question import Nothing, Question


def _openapi(_: Nothing) -> dict[str, Any]:
    return describe({name: question for name, question in QUESTIONS.items() if name != "openapi"})


QUESTIONS: dict[str, Question] = {
    "openapi": Question("This description.", Nothing, _openapi),
    **laws.QUESTIONS,
    **data.QUESTIONS,
    **mechanisms.QUESTIONS,
    **training.QUESTIONS,
}
