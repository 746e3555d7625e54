"""A question has a name, the shape of what is asked, and a function that answers; `find` and `describe` know them all.

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

TOPICS = ("laws", "data", "mechanisms", "training")
SCHEMA = "#/components/schemas/{model}"
ERRORS = {
    "403": "a request from another site",
    "404": "no such question",
    "408": "the question did not arrive in time",
    "413": "the question is too large",
    "415": "the question is not JSON",
    "421": "the Host is not one of this server's names",
    "422": "the question is wrong or refused; `error` says why",
    "501": "an optional part is not installed",
    "503": "busy, or the answer would take too long",
}


class Request(BaseModel):
    """What is asked; unknown fields are refused, so that a typing error is not silently ignored."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Nothing(Request):
    """A question without settings."""


@dataclass(frozen=True)
class Question:
    summary: str
    request: type[Request]
    answer: Callable[[Any], Any]


def find(name: str) -> Question | None:
    """The question of this name."""
    if name == "openapi":
        return Question("This description.", Nothing, lambda _: describe())
    topic = name.partition("/")[0]
    return _questions_of(topic).get(name) if topic in TOPICS else None


def all_questions() -> dict[str, Question]:
    return {name: question for topic in TOPICS for name, question in _questions_of(topic).items()}


def _questions_of(topic: str) -> dict[str, Question]:
    questions: dict[str, Question] = import_module(f"scalecurve.explorer.questions.{topic}").QUESTIONS
    return questions


def describe() -> dict[str, Any]:
    """An OpenAPI 3.1 document, made from the questions themselves so that it cannot fall behind."""
    message = {"error": {"type": "string"}, "refused": {"type": "string"}}
    schemas: dict[str, Any] = {"Error": {"type": "object", "required": ["error"], "properties": message}}
    problem = {"application/json": {"schema": {"$ref": SCHEMA.format(model="Error")}}}
    result = {"description": "the answer", "content": {"application/json": {"schema": {"type": "object"}}}}
    responses = {"200": result} | {code: {"description": words, "content": problem} for code, words in ERRORS.items()}
    paths = {}
    for name, question in all_questions().items():
        model = question.request.__name__
        schema = question.request.model_json_schema(ref_template=SCHEMA)
        schemas |= schema.pop("$defs", {}) | {model: schema}
        body = {"application/json": {"schema": {"$ref": SCHEMA.format(model=model)}}}
        operation = {"operationId": name.replace("/", "_"), "summary": question.summary, "responses": responses}
        paths[f"/api/{name}"] = {"post": operation | {"requestBody": {"required": True, "content": body}}}
    description = "The questions the explorer's page asks. Each is a POST of JSON."
    info = {"title": "scalecurve explorer", "version": "1", "description": description}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


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


def doublings(largest: int, first: int = 1) -> list[int]:
    """`first`, twice it, four times it ... and `largest`."""
    workers = []
    while first < largest:
        workers.append(first)
        first *= 2
    return [*workers, largest]
