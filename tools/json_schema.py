"""JSON Schema of a result from its class: the fields, the keys that `JSON` lists, and their type hints.

A class that writes its own `to_dict` or `content` is described by the keys written there; none of them is required.
"""

from __future__ import annotations

import ast
import enum
import inspect
import sys
import textwrap
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from scalecurve.document import JsonRecord, Result
from scalecurve.study import Study, StudySet

Schema = dict[str, Any]
PLAIN = {
    bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null", np.ndarray: "array",
    dict: "object", list: "array", tuple: "array",
}  # fmt: skip
WRITERS = {
    base.__dict__[name] for base in (JsonRecord, Result) for name in ("to_dict", "content") if name in vars(base)
}


class Schemas:
    """The schemas of classes, each noun once under `definitions`."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}

    def of(self, hint: Any) -> Schema:
        """The schema of a type hint."""
        origin, inside = typing.get_origin(hint), typing.get_args(hint)
        if origin in (types.UnionType, typing.Union):
            return either([self.of(choice) for choice in inside])
        if origin is typing.Literal:
            return {"enum": list(inside)}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            items = self.of(inside[1])
            return {"type": "object", "additionalProperties": items} if items else {"type": "object"}
        if isinstance(origin, type) and issubclass(origin, Iterable):
            items = {} if origin is np.ndarray else either([self.of(item) for item in inside if item is not ...])
            return {"type": "array", "items": items} if items else {"type": "array"}
        if not isinstance(hint, type):
            return {}
        if issubclass(hint, enum.Enum):
            return {"enum": [member.value for member in hint]}
        if is_dataclass(hint) or issubclass(hint, JsonRecord):
            return self._noun(hint)
        return {"type": PLAIN[hint]} if hint in PLAIN else {}

    def _noun(self, noun: type) -> Schema:
        name = noun.__name__.lstrip("_")
        if name not in self.definitions:
            self.definitions[name] = {}  # a noun may hold others of its kind
            self.definitions[name] = self._keys(noun)
        return {"$ref": f"#/definitions/{name}"}

    def _keys(self, noun: type) -> Schema:
        """The keys of a noun, as `JsonRecord.to_dict` writes them."""
        if noun in (Study, StudySet):
            return {"type": "object", "required": ["format", "version"]}
        keys: dict[str, Schema] = {}
        written = _written_keys(noun)
        for entry in (getattr(noun, "JSON", "") or " ".join(field.name for field in fields(noun))).split():
            key, _, path = entry.partition("=")
            value = self._at(noun, (path or key).strip("*"))
            if entry.startswith("**"):
                keys |= self._resolved(value).get("properties", {})
            elif key.endswith("*"):
                number = {"type": ["number", "null"]}
                keys |= {key[:-1]: number, f"{key[:-1]}_low": number, f"{key[:-1]}_high": number}
            elif "." in key:
                outer, _, inner = key.rpartition(".")
                keys.setdefault(outer, {"type": "object", "properties": {}})["properties"][inner] = value
            else:
                keys[key] = value
        required = [] if written is not None else list(keys)
        if written:
            stated = {key: self._at(noun, path) if path else {} for key, path in written[1].items()}
            keys = keys | stated if written[0] else stated
        if issubclass(noun, Result):
            keys = {"answer": self.of(_hint(Result, "answer")), **keys}
        schema: Schema = {"type": "object", "properties": keys}
        return schema | ({"required": required} if required else {})

    def _at(self, noun: Any, path: str) -> Schema:
        """The schema of what stands at the end of a dotted path; what follows an absent value is null."""
        absent = False
        for name in path.split("."):
            choices = (
                [noun]
                if typing.get_origin(noun) not in (types.UnionType, typing.Union)
                else list(typing.get_args(noun))
            )
            absent |= type(None) in choices
            known = [choice for choice in choices if choice is not type(None)]
            if len(known) != 1:
                return {}
            noun = (typing.get_args(known[0]) or (Any,))[0] if name.isdecimal() else _hint(known[0], name)
        schema = self.of(noun)
        return either([schema, {"type": "null"}]) if absent and schema else schema

    def _resolved(self, schema: Schema) -> Schema:
        return self.definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def either(choices: list[Schema]) -> Schema:
    """One of several schemas; any where one of them is any."""
    flat = [inner for choice in choices for inner in choice.get("anyOf", [choice])]
    distinct = [choice for i, choice in enumerate(flat) if choice not in flat[:i]]
    if not all(distinct) or not distinct:
        return {}
    if len(distinct) == 1:
        return distinct[0]
    if all(choice.keys() == {"type"} for choice in distinct):
        names = [
            n for choice in distinct for n in ([choice["type"]] if isinstance(choice["type"], str) else choice["type"])
        ]
        kept = [name for name in dict.fromkeys(names) if not (name == "integer" and "number" in names)]
        return {"type": kept[0] if len(kept) == 1 else kept}
    return {"anyOf": distinct}


@cache
def _every_class() -> dict[str, Any]:
    """All classes of the package by name: type hints may name what is imported for type checkers only."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("scalecurve.")]
    return {name: value for module in modules for name, value in vars(module).items() if isinstance(value, type)}


def _hint(noun: Any, name: str) -> Any:
    """The type of an attribute: of a field, or of what a property or a method returns."""
    if not isinstance(noun, type):
        return Any
    for base in noun.__mro__:
        found = base.__dict__.get(name)
        text = inspect.get_annotations(base).get(name)
        function = getattr(found, "fget", None) or getattr(found, "func", None) if found is not None else None
        function = function or (found if inspect.isfunction(found) else None)
        if function is not None:
            text = function.__annotations__.get("return")
        if text is not None:
            names = _every_class() | vars(sys.modules[base.__module__])
            try:
                holder = types.SimpleNamespace(__annotations__={"it": text})
                return typing.get_type_hints(holder, names)["it"] if isinstance(text, str) else text
            except (NameError, TypeError):
                return Any
    return Any


def _written_keys(noun: type) -> tuple[bool, dict[str, str]] | None:
    """Whether a `to_dict` or `content` of its own adds keys to the usual ones; and the keys it writes, each with the
    attribute that is its value ("" where it is computed); None where the class has neither."""
    for name in ("content", "to_dict"):
        writer = getattr(noun, name, None)
        if writer is None or writer in WRITERS:
            continue
        source = inspect.getsource(writer)
        shown = [node for node in ast.walk(ast.parse(textwrap.dedent(source))) if isinstance(node, ast.Dict)]
        inner = {id(below) for node in shown for below in ast.walk(node) if below is not node}
        pairs = [
            (str(key.value), getattr(value, "attr", "") if _is_attribute(value) else "")
            for node in shown
            if id(node) not in inner
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant)
        ]
        return "super()." in source, dict(pairs)
    return None


def _is_attribute(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
