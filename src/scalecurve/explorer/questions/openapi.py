"""The OpenAPI description, made from the questions themselves so that it cannot fall behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scalecurve.explorer.questions.question import Question

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
_TEMPLATE = "#/components/schemas/{model}"


def describe(questions: Mapping[str, Question]) -> dict[str, Any]:
    """An OpenAPI 3.1 document."""
    schemas: dict[str, Any] = {"Error": _error_schema()}
    paths = {f"/api/{name}": {"post": _operation(name, question, schemas)} for name, question in questions.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "scalecurve explorer",
            "version": "1",
            "description": "The questions the explorer's page asks. Each is a POST of JSON.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _operation(name: str, question: Question, schemas: dict[str, Any]) -> dict[str, Any]:
    schema = question.request.model_json_schema(ref_template=_TEMPLATE)
    schemas |= schema.pop("$defs", {})
    schemas[question.request.__name__] = schema
    asked = {"$ref": _TEMPLATE.format(model=question.request.__name__)}
    problem = {"application/json": {"schema": {"$ref": _TEMPLATE.format(model="Error")}}}
    return {
        "operationId": name.replace("/", "_"),
        "summary": question.summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": asked}}},
        "responses": {
            "200": {"description": "the answer", "content": {"application/json": {"schema": {"type": "object"}}}},
            **{code: {"description": words, "content": problem} for code, words in ERRORS.items()},
        },
    }


def _error_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string"}, "refused": {"type": "string"}},
    }
