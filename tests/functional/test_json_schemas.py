"""Every command's --json fits the schema made from the class of its result; docs/reference/json.md is made of it."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path

import click
import jsonschema
import pytest

from scalecurve.cli import output
from scalecurve.cli.main import COMMANDS, app, run
from scalecurve.cli.output import encode
from scalecurve.document import Result
from scalecurve.errors import InputError
from tools import json_page

ROOT = Path(__file__).parents[2]
EXAMPLES = [(name, line) for name, entry in json_page.COMMANDS.items() for line in entry["examples"]]
SAME = {  # commands that need an engine or a server answer as another one does
    "collective measure": "collective fit",
    "latency measure": "latency load",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Timings of one collective at several rank counts, for the commands that need them."""
    text = (ROOT / "tests" / "formats" / "collectives" / "imb.txt").read_text()
    for ranks in (2, 4, 8, 16):
        (tmp_path / f"imb-{ranks}.txt").write_text(text.replace("#processes = 4", f"#processes = {ranks}"))
    return tmp_path


@pytest.mark.parametrize(("name", "line"), EXAMPLES)
def test_the_answer_fits_its_schema_and_its_table_is_csv(
    name: str, line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    results = []
    monkeypatch.setattr(output, "encode", lambda result, kind: (results.append(result), encode(result, kind))[1])
    assert run([*shlex.split(line.format(folder=folder)), "--json"]) in (0, 1)
    answer = json.loads(capfd.readouterr().out)
    every = json_page.schemas()
    jsonschema.validate(answer, every["commands"][name] | {"definitions": every["definitions"]})
    if results and not _has_no_table(results[0]):
        lines = list(csv.reader(io.StringIO(output.to_csv(results[0]))))
        assert {len(cells) for cells in lines} == {len(lines[0])}


def _has_no_table(result: Result) -> bool:
    try:
        result.records()
    except InputError as problem:
        return "has no table" in str(problem)
    return False


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
    assert set(SAME.values()) <= set(json_page.COMMANDS)


def test_a_schema_says_what_the_class_says() -> None:
    table = json_page.schemas()["definitions"]["SpeedupTable"]
    assert table["properties"]["regime"] == {"enum": ["strong", "weak"]}
    assert table["properties"]["rows"] == {"type": "array", "items": {"$ref": "#/definitions/TableRow"}}
    assert {"name", "baseline_k", "findings"} <= set(table["required"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": "x"}, table)
