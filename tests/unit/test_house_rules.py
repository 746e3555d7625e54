"""Rules of the house that no linter checks."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import scalecurve
from scalecurve.cli.registry import COMMANDS, GROUPS, module_of

SOURCE = Path(scalecurve.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))


def test_the_public_surface_is_sorted_and_real() -> None:
    assert scalecurve.__all__ == sorted(scalecurve.__all__)
    for name in scalecurve.__all__:
        assert getattr(scalecurve, name) is not None
    assert set(scalecurve.__all__) <= set(dir(scalecurve))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = scalecurve.no_such_name


def test_every_command_has_its_file_and_every_file_its_command() -> None:
    shared = {"__init__", "main", "registry", "output", "inputs"}
    defined = {
        path.stem
        for path in (SOURCE / "cli").glob("*.py")
        if "\ncommand" in path.read_text() or "def command(" in path.read_text()
    }

    assert {module_of(name) for name in COMMANDS} == defined - shared
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
    heavy = {"numpy", "scipy", "pydantic", "matplotlib", "click", "rich"}

    assert not _imported_by("import scalecurve") & heavy
    assert not _imported_by("from scalecurve.cli.main import app, run; run(['--help'])") & (heavy - {"click"})
    law = "from scalecurve.cli.main import run; run(['law', 'amdahl', '--serial', '0.05', '-q'])"
    assert not _imported_by(law) & (heavy - {"click"})
