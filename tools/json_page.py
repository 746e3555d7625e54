"""docs/reference/json.md from src/scalecurve/schemas.json: what every command's --json answers, key by key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parents[1] / "src" / "scalecurve" / "schemas.json"
WIDTH = 120
HEAD = """# JSON

Every command but `export`, `report`, `explore` and `completion` answers with `--json`. In the JSON of `table`,
efficiency is `rows[].efficiency`, with `efficiency_low` and `efficiency_high`. Absent values are `null`; a `?` marks a
key that is not always there. Keys may be added; those listed here stay. `src/scalecurve/schemas.json` holds the same as
JSON Schema, and a test validates every example below against it.
"""


def json_page() -> str:
    schemas = json.loads(SCHEMAS.read_text(encoding="utf-8"))
    parts = [HEAD]
    for name, entry in schemas["commands"].items():
        parts.append(f"## {name}\n\n{entry['summary']} {entry.get('notes', '')}".rstrip() + "\n")
        parts.append(f"```\n$ scalecurve {entry['examples'][0]} --json\n{shape(entry['schema'])}\n```\n")
    parts.append("## Shared shapes\n\nA `study` is described in [study-file.md](study-file.md).\n")
    shapes = "\n".join(f"{name:<9} {shape(schema, 10)}" for name, schema in schemas["definitions"].items())
    return "\n".join([*parts, f"```\n{shapes}\n```\n"])


def shape(schema: dict[str, Any], indent: int = 0) -> str:
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
