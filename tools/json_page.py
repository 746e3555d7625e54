"""docs/reference/json.md and schemas.json: what every command's --json answers, from the classes of the results."""

from __future__ import annotations

import importlib
import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tools.json_schema import Schema, Schemas, either

COMMANDS = tomllib.loads((Path(__file__).parent / "json_commands.toml").read_text(encoding="utf-8"))
WIDTH = 120
HEAD = """# JSON

Every command but `export`, `report`, `explore` and `completion` answers with `--json`. In the JSON of `table`,
efficiency is `rows[].efficiency`, with `efficiency_low` and `efficiency_high`. Absent values are `null`; a `?` marks a
key that is not always there. Keys may be added; those listed here stay. This page and [schemas.json](schemas.json), the
same as JSON Schema, are made from the classes of the results, and a test validates every example below against it.
"""


@cache
def schemas() -> dict[str, Any]:
    """The schema of every command, and the definitions that they share."""
    made = Schemas()
    commands = {
        name: either([made.of(result_class(path)) for path in entry["result"].split()])
        for name, entry in COMMANDS.items()
    }
    return {"commands": commands, "definitions": made.definitions}


def result_class(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"scalecurve.{module}"), name)


def json_page() -> str:
    every, shared = schemas(), []
    parts = [HEAD]
    for name, entry in COMMANDS.items():
        shown = entry["result"].split()[0].rpartition(".")[2]
        shared.append(shown)
        parts.append(f"## {name}\n\n{entry['summary']}\n")
        parts.append(f"```\n$ scalecurve {entry['examples'][0]} --json\n{shape(every['definitions'][shown])}\n```\n")
    parts.append("## Shared shapes\n\nA `Study` is described in [study-file.md](study-file.md).\n")
    others = {name: schema for name, schema in every["definitions"].items() if name not in shared}
    shapes = "\n".join(f"{name:<9} {shape(schema, 10)}" for name, schema in sorted(others.items()))
    return "\n".join([*parts, f"```\n{shapes}\n```\n"])


def schemas_file() -> str:
    return json.dumps(schemas(), indent=1) + "\n"


def shape(schema: Schema, indent: int = 0) -> str:
    """A schema in the short notation of the page: {"key": type, ...}."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(shape(choice, indent) for choice in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    named = schema.get("type", "any")
    names = [named] if isinstance(named, str) else named
    return " | ".join(_one(name, schema, indent) for name in names)


def _one(name: str, schema: dict[str, Any], indent: int) -> str:
    if name == "array" and "items" in schema:
        return f"[{shape(schema['items'], indent + 1)}]"
    if name == "object" and "properties" in schema:
        required = schema.get("required", [])
        entries = []
        for key, inner in schema["properties"].items():
            head = f'"{key}"{"" if key in required else "?"}: '
            entries.append(head + shape(inner, indent + 1))
        line = "{" + ", ".join(entries) + "}"
        if len(line) + indent <= WIDTH and "\n" not in line:
            return line
        return "{" + (",\n" + " " * (indent + 1)).join(_wrapped(entries, WIDTH - indent)) + "}"
    if name == "object" and schema.get("additionalProperties"):
        return "{name: " + shape(schema["additionalProperties"], indent) + "}"
    return name


def _wrapped(entries: list[str], width: int) -> list[str]:
    """Short entries joined into lines of this width; an entry of several lines stands alone."""
    lines: list[str] = []
    for entry in entries:
        if lines and "\n" not in lines[-1] + entry and len(lines[-1]) + len(entry) + 2 <= width:
            lines[-1] += ", " + entry
        else:
            lines.append(entry)
    return lines
