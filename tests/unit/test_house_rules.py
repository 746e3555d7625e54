"""Rules of the house that no linter checks."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

import scalecurve
from scalecurve.cli.main import COMMANDS, GROUPS, load_command

SOURCE = Path(scalecurve.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))


def test_every_command_is_registered_and_every_registered_command_exists() -> None:
    commands = [load_command(name) for name in COMMANDS]
    reachable = {id(command) for command in commands}
    reachable |= {
        id(child) for group in commands if isinstance(group, click.Group) for child in group.commands.values()
    }

    for path in (SOURCE / "cli").glob("*.py"):
        module = import_module(f"scalecurve.cli.{path.stem}")
        defined = [name for name, value in vars(module).items() if isinstance(value, click.Command) and name != "app"]
        assert [name for name in defined if id(getattr(module, name)) not in reachable] == []
    assert {entry.group for entry in COMMANDS.values()} <= set(GROUPS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_source_rules(path: Path) -> None:
    tree = ast.parse(path.read_text())

    asserts = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    assert asserts == [], "validation raises, never asserts"
    assert ast.get_docstring(tree), "a module says what it is"
    if "cli" not in path.parts:
        prints = [
            node.lineno
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
        ]
        assert prints == [], "only cli prints"


def _imported_by(statement: str) -> set[str]:
    program = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = {"numpy", "scipy", "pydantic", "matplotlib", "click"}

    assert not _imported_by("import scalecurve") & heavy
    assert not _imported_by("from scalecurve.cli.main import app, run; run(['--help'])") & (heavy - {"click"})
    law = "from scalecurve.cli.main import run; run(['law', 'amdahl', '--serial', '0.05', '-q'])"
    assert not _imported_by(law) & (heavy - {"click"})
