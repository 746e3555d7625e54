"""The page of what the course asks for: each item with the command that answers it and the digits compared."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ITEMS = Path(__file__).parents[1] / "docs" / "course" / "items.toml"
INTRODUCTION = """# What the course asks for

Every row is a model, a table, an exercise or a checklist of the course. A test runs the command and looks for the
digits. Most come from the material that the course follows or were worked out by hand; some rows of mechanisms only
guard against change.

| item | command | digits compared |
|---|---|---|
"""


def items() -> list[dict[str, Any]]:
    """Every item: `what` it is, the `command` that answers it, and the `digits` that must come out."""
    return list(tomllib.loads(ITEMS.read_text(encoding="utf-8"))["item"])


def items_page() -> str:
    rows = (f"| {one['what']} | `scalecurve {one['command']}` | {', '.join(one['digits'])} |\n" for one in items())
    return INTRODUCTION + "".join(rows)
