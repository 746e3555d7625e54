"""Every code that the package can print has an explanation, and no explanation is left over."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import scalecurve
from scalecurve.auditing.explanations import CodeList, explain, explanations
from scalecurve.cli.main import app
from scalecurve.errors import InputError

SOURCE = Path(scalecurve.__file__).parent
MAKERS = {"info", "warning", "error", "say", "Finding"}
BY_NAME = {"interval-only", "node-boundary", "numa-node-boundary"}  # codes that a constant or an f-string holds


def printed_codes() -> Iterator[str]:
    for path in SOURCE.rglob("*.py"):
        if path.parent.name == "workloads":
            continue  # jobs of their own: parser.error, not findings
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = node.func.id if isinstance(node.func, ast.Name) else ""
                if name in MAKERS:
                    yield str(node.args[0].value)
    yield from tomllib.loads((SOURCE / "measurement" / "findings.toml").read_text())
    yield from re.findall(r'\bcode = "([a-z-]+)"', (SOURCE / "formats" / "readers.toml").read_text())


def test_every_code_is_explained_and_none_is_left_over() -> None:
    own = {code for code, one in explanations().items() if one.area != "audit"}
    rules = set(explanations()) - own
    printed = set(printed_codes()) | BY_NAME
    assert printed - own - rules == set(), "add these to src/scalecurve/codes.toml"
    assert own - printed == set(), "remove these from src/scalecurve/codes.toml"


def test_every_option_in_an_explanation_exists() -> None:
    text = (SOURCE / "codes.toml").read_text()
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", text))

    assert named
    assert named - options_of(app) == set()


def options_of(command: click.Command) -> set[str]:
    own = {word for parameter in command.params for word in parameter.opts}
    if isinstance(command, click.Group):
        context = click.Context(command)
        parts = [command.get_command(context, name) for name in command.list_commands(context)]
        own = own.union(*(options_of(part) for part in parts if part))
    return own


def test_an_explanation_says_meaning_and_remedy() -> None:
    one = explain("[order-unknown]")
    assert one.area == "tables"
    assert "Do: Measure with" in str(one)
    assert "order-unknown" in str(CodeList())
    for entry in explanations().values():
        assert entry.meaning.endswith(".")
        assert entry.remedy.endswith(".") or entry.remedy.endswith("?"), entry


def test_a_misspelt_code_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="order-unknown"):
        explain("order-unkown")
