"""Every command's --json is what src/scalecurve/schemas.json says; docs/reference/json.md is written from that file."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from scalecurve.cli.main import COMMANDS, app, run

ROOT = Path(__file__).parents[2]
SCHEMAS = json.loads((ROOT / "src" / "scalecurve" / "schemas.json").read_text())
EXAMPLES = [(name, line) for name, entry in SCHEMAS["commands"].items() for line in entry["examples"]]
SAME = {  # commands that need an engine or a server answer as another one does
    "collective measure": "collective fit",
    "latency measure": "latency load",
    "roofline torch": "roofline place",
}
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


def faults(value: Any, schema: dict[str, Any], where: str = "$") -> list[str]:
    """Where a value departs from a schema (the part of JSON Schema that schemas.json uses)."""
    if "$ref" in schema:
        return faults(value, SCHEMAS["definitions"][schema["$ref"].rpartition("/")[2]], where)
    if "anyOf" in schema:
        tried = [faults(value, choice, where) for choice in schema["anyOf"]]
        return [] if not all(tried) else tried[0]
    named = schema.get("type", list(TYPES))
    allowed = [named] if isinstance(named, str) else named
    is_flag = isinstance(value, bool) and "boolean" not in allowed
    if is_flag or not any(isinstance(value, TYPES[name]) for name in allowed):
        return [f"{where}: {value!r:.60} is not {allowed}"]
    if value is not None and value not in schema.get("enum", [value]):
        return [f"{where}: {value!r} is none of {schema['enum']}"]
    found: list[str] = []
    if isinstance(value, dict):
        found += [f"{where}: no {key}" for key in schema.get("required", []) if key not in value]
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            found += faults(item, inner, f"{where}.{key}")
    if isinstance(value, list):
        for place, item in enumerate(value):
            found += faults(item, schema.get("items", {}), f"{where}[{place}]")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Timings of one collective at several rank counts, for the commands that need them."""
    text = (ROOT / "tests" / "formats" / "collectives" / "imb.txt").read_text()
    for ranks in (2, 4, 8, 16):
        (tmp_path / f"imb-{ranks}.txt").write_text(text.replace("#processes = 4", f"#processes = {ranks}"))
    return tmp_path


@pytest.mark.parametrize(("name", "line"), EXAMPLES)
def test_the_answer_fits_its_schema(
    name: str, line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert run([*shlex.split(line.format(folder=folder)), "--json"]) in (0, 1)
    answer = json.loads(capfd.readouterr().out)
    assert faults(answer, SCHEMAS["commands"][name]["schema"]) == []


def commands_with_json(command: click.Command, path: str) -> list[str]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        inner = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
        return [found for name, child in inner if child for found in commands_with_json(child, f"{path} {name}")]
    return [path] if any("--json" in option.opts for option in command.params) else []


def test_every_command_has_a_schema() -> None:
    context = click.Context(app)
    commands = [(name, app.get_command(context, name)) for name in COMMANDS]
    asked = [path for name, command in commands if command for path in commands_with_json(command, name)]
    lines = [line for _, line in EXAMPLES]
    missing = [path for path in asked if not any(line.startswith(path) for line in lines)]
    assert sorted(missing) == sorted(SAME)
    assert set(SAME.values()) <= set(SCHEMAS["commands"])


def test_the_validator_sees_what_is_wrong() -> None:
    schema = {"type": "object", "required": ["k"], "properties": {"k": {"type": "integer"}, "v": {"enum": ["ok"]}}}
    assert faults({"k": 1, "v": "ok", "more": None}, schema) == []
    assert faults({"k": True}, schema) == ["$.k: True is not ['integer']"]
    assert faults({"v": "bad"}, schema) == ["$: no k", "$.v: 'bad' is none of ['ok']"]
    assert faults([1.5], {"type": "array", "items": {"type": "integer"}}) == ["$[0]: 1.5 is not ['integer']"]


@pytest.mark.parametrize(
    ("name", "line"), [pair for pair in EXAMPLES if pair[0] not in ("measure", "report", "roofline measure")]
)
def test_the_table_is_csv_or_there_is_none(
    name: str, line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    code = run([*shlex.split(line.format(folder=folder)), "--csv"])
    out, said = capfd.readouterr()
    if code == 2:
        assert "has no table" in said
    else:
        lines = list(csv.reader(io.StringIO(out)))
        assert code in (0, 1)
        assert {len(cells) for cells in lines} == {len(lines[0])}
