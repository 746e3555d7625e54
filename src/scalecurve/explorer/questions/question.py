"""A question has a name, the shape of what is asked, and a function that answers; `find` knows them all.

The name is the end of the address (`/api/<name>`), its first word the module that answers.  Modules are loaded when
first asked, so that the first answer does not wait for what other views need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from pydantic import BaseModel, ConfigDict

from scalecurve.document import Document, Table
from scalecurve.render.html import fragment

NAME = r"^[\w+-]+(\.\d[\w+-]*)*$"  # of what the planner knows; a path is no name, so that no question reads a file
TOPICS = ("data", "mechanisms", "training")


class Request(BaseModel):
    """What is asked; unknown fields are refused, so that a typing error is not silently ignored."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Nothing(Request):
    """A question without settings."""


@dataclass(frozen=True)
class Question:
    request: type[Request]
    answer: Callable[[Any], Any]


def find(name: str) -> Question | None:
    """The question of this name."""
    topic = name.partition("/")[0]
    if topic not in TOPICS:
        return None
    questions: dict[str, Question] = import_module(f"scalecurve.explorer.questions.{topic}").QUESTIONS
    return questions.get(name)


def html_of(document: Document) -> str:
    """A Document as the page shows it, below a title of its own: the very texts the command line prints."""
    return fragment(Document(None, document.all_blocks, answer=document.answer), level=2)


def table_of(document: Document) -> dict[str, Any]:
    """The first table of a Document as data, for the table behind a chart and its CSV."""
    block = next(block for block in document.blocks if isinstance(block, Table))
    return {
        "caption": block.caption,
        "columns": [{"header": column.header, "align": column.align} for column in block.columns],
        "rows": [[{"text": cell.text, "tone": cell.tone} for cell in row] for row in block.rows],
    }
