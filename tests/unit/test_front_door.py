"""The names of `import scalecurve`: what they are, what editors and type checkers see of them."""

import ast
import inspect
import pydoc
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import scalecurve as sc

VERBS = [
    "assess",
    "audit",
    "check",
    "compare",
    "cost",
    "diagnose",
    "explore",
    "export",
    "fit",
    "fit_grid",
    "forecast",
    "forecast_grid",
    "law",
    "load",
    "load_all",
    "measure",
    "merge",
    "next_runs",
    "plan_training",
    "plot",
    "save",
    "tabulate",
    "write_report",
]
NOUNS = [
    "Estimate",
    "Finding",
    "InputError",
    "MissingExtra",
    "Refused",
    "ScalecurveError",
    "Study",
    "StudySet",
    "Undecided",
]
ROOT = Path(__file__).parents[2]


def test_the_public_surface_is_this_list() -> None:
    assert sc.__all__ == sorted(VERBS + NOUNS)
    assert set(sc.__all__) | set(sc.MODULES) <= set(dir(sc))
    for name in sc.__all__:
        assert getattr(sc, name).__name__ == name
    for name in sc.MODULES:
        assert inspect.ismodule(getattr(sc, name))


def test_type_checkers_see_the_same_names_from_the_same_homes() -> None:
    tree = ast.parse(Path(sc.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = {
        alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }

    assert imports == sc.HOMES | dict.fromkeys(sc.MODULES, "scalecurve")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = sc.no_such_name  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(sc.MOVED))
def test_former_names_work_and_say_where_they_went(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"scalecurve.{name} is now scalecurve"):
        assert callable(getattr(sc, name))


def test_help_shows_the_options() -> None:
    text = pydoc.render_doc(sc.tabulate, renderer=pydoc.plaintext)

    assert "threshold" in text
    assert "0.7" in text
    assert "**" not in text


TIMES = {1: [100.0, 101.0], 2: [52.0, 53.0], 4: [28.0, 28.5], 8: [16.0, 16.2]}
ON_A_STUDY: dict[str, Callable[..., object]] = {
    "audit": sc.audit,
    "check": lambda study, **rest: sc.check(study, min_efficiency={8: 0.5}, **rest),
    "compare": lambda study, **rest: sc.compare(study, study, **rest),
    "cost": lambda study, **rest: sc.cost(study, 2.50, **rest),
    "diagnose": sc.diagnose,
    "export": lambda study, **rest: sc.export(study, "csv", **rest),
    "fit": sc.fit,
    "forecast": sc.forecast,
    "load": sc.load,
    "merge": lambda study, **rest: sc.merge([study, study], **rest),
    "next_runs": sc.next_runs,
    "plot": lambda study, **rest: sc.plot(study, "curve.svg", **rest),
    "tabulate": sc.tabulate,
    "write_report": lambda study, **rest: sc.write_report(study, "report.md", **rest),
}


@pytest.mark.parametrize("verb", ON_A_STUDY)
def test_every_verb_on_a_study_takes_a_mapping_and_the_regime_that_it_lacks(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ON_A_STUDY[verb](TIMES, regime="strong")

    with pytest.raises(sc.InputError, match="regime='strong'"):
        ON_A_STUDY[verb]({1: [100.0, 101.0], 2: [100.0, 99.0], 4: [101.0, 102.0], 8: [102.0, 102.5]})


def test_the_version_is_written_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    assert project["tool"]["hatch"]["version"]["path"] == "src/scalecurve/_version.py"
    assert "version" not in project["project"]
    done = subprocess.run([sys.executable, "-m", "scalecurve", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"scalecurve, version {sc.__version__}"


def test_a_mapping_is_a_study_wherever_one_is_taken() -> None:
    seconds = {1: [10.0, 10.1], 2: [5.2, 5.3], 4: [2.9, 3.0], 8: [1.8, 1.9], 16: [1.3, 1.4]}

    assert sc.tabulate(seconds, regime="strong").rows[-1].k == 16
    assert sc.forecast(seconds, at=32, regime="strong")[0].k == 32
    assert sc.fit(seconds, regime="strong").laws
    assert sc.diagnose(seconds, regime="strong").causes
    with pytest.raises(sc.InputError, match="regime='strong'"):
        sc.tabulate({1: [10.0], 2: [10.1]})
