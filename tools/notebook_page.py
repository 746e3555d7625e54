"""docs/tutorial.ipynb from docs/tutorial.md: the text as cells, every command as a cell that runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"
PIECE = re.compile(
    r"<!-- run: (?P<run>.+?) -->\n.*?<!-- end -->|```(?P<kind>console|python)\n(?P<body>.*?)```", re.DOTALL
)
SET_UP = "%cd .."  # the notebook stands in docs/, the commands are for the root of the repository


def notebook() -> str:
    """The notebook as JSON; `{workers}` is doubled, because IPython fills in single braces."""
    text, cells, place = TUTORIAL.read_text(), [code(SET_UP)], 0
    for piece in PIECE.finditer(text):
        cells += prose(text[place : piece.start()])
        place = piece.end()
        if piece["kind"] == "python":
            cells.append(code(piece["body"].strip()))
            continue
        lines = [piece["run"]] if piece["run"] else [line[2:] for line in piece["body"].splitlines()]
        cells += [
            code("!" + line.replace("{", "{{").replace("}", "}}")) for line in lines if line.startswith("scalecurve")
        ]
    cells += prose(text[place:])
    numbered = [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(cells)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    whole = {"cells": numbered, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def prose(text: str) -> list[dict[str, Any]]:
    shown = text.strip()
    return [{"cell_type": "markdown", "metadata": {}, "source": shown}] if shown else []


def code(text: str) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text}
