"""Curves as Python has them, the language of messages, and the examples in the docstrings of the verbs."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.cli.main import run
from scalecurve.errors import KEYWORDS, FormatError, read_as, spelled
from scalecurve.measurement.settings import MeasureKeywords

TRUTH = {1: [8.0, 8.2], 2: [4.2], 4: [2.3]}
PAIRS = [(k, value) for k, values in TRUTH.items() for value in values]
RECORDS = [{"K": k, "seconds": value} for k, value in PAIRS]


@pytest.mark.parametrize(
    "source",
    [PAIRS, tuple(PAIRS), np.array(PAIRS), RECORDS, {"K": [k for k, _ in PAIRS], "seconds": [v for _, v in PAIRS]}],
    ids=["pairs", "tuple", "array", "records", "columns"],
)
def test_plain_values_are_a_study(source: object) -> None:
    study = sc.load(source, regime="strong")  # type: ignore[arg-type]
    assert {k: values.tolist() for k, values in study.samples.by_k().items()} == TRUTH
    assert sc.tabulate(source, regime="strong").rows[-1].k == 4  # type: ignore[arg-type]


def test_pandas_series_and_pivoted_frames_are_studies() -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([v for _, v in PAIRS], index=[k for k, _ in PAIRS])
    assert {k: v.tolist() for k, v in sc.load(series, regime="strong").samples.by_k().items()} == TRUTH
    repeats = pandas.DataFrame({1: [8.0, 8.2], 2: [4.2, np.nan], 4: [2.3, np.nan]})
    assert {k: v.tolist() for k, v in sc.load(repeats, regime="strong").samples.by_k().items()} == TRUTH
    sizes = pandas.DataFrame({1: [8.0, 16.0], 2: [4.2, 8.3]}, index=pandas.Index([1000, 2000], name="size"))
    curves = sc.load_all(sizes, regime="strong")
    assert curves.names == ("1000", "2000")
    assert curves["2000"].samples.by_k()[2].tolist() == [8.3]


def test_one_curve_or_all_of_them() -> None:
    several = {1000: {1: 8.0, 2: 4.1}, 2000: {1: 16.0, 2: 8.1}}
    with pytest.raises(sc.InputError, match="2 curves"):
        sc.load(several, regime="strong")
    assert len(sc.load_all(several, regime="strong")) == 2
    assert len(sc.load_all(TRUTH, regime="strong")) == 1
    assert sc.load(several, regime="strong", series="2000").all_k == (1, 2)


def test_messages_name_options_as_the_caller_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(sc.InputError, match="say regime='strong'"):
        sc.load({1: [8.0], 2: [8.1]})
    table = tmp_path / "t.csv"
    table.write_text("K,seconds\n1,8\n2,8.2\n")
    assert run(["table", str(table)]) == 2
    assert "say --regime strong" in capsys.readouterr().err


def test_whole_commands_stay_commands() -> None:
    text = "use --value-column, or run `scalecurve measure --resume`"
    assert spelled(text) == "use value_column=, or run `scalecurve measure --resume`"
    assert (
        spelled("--gate both fails on this too; give --per-node 8") == "gate='both' fails on this too; give per_node=8"
    )


def test_a_fault_of_ours_is_not_a_damaged_file() -> None:
    def takes_one(value: int) -> int:
        return value

    with pytest.raises(TypeError), read_as("a table", subject="t"):
        takes_one()  # type: ignore[call-arg]
    with pytest.raises(AttributeError), read_as("a table", subject="t"):
        sc.Estimate(1.0).no_such_name  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(FormatError) as caught, read_as("a table", subject="t"):
        dict[str, int]()["missing"]
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    "name",
    sorted(name for name in sc.__all__ if inspect.isfunction(getattr(sc, name)) and name not in ("explore", "measure")),
)
def test_the_example_of_a_verb_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    verb = getattr(sc, name)
    tests = doctest.DocTestFinder(recurse=False).find(verb, name, importlib.import_module(verb.__module__))
    failed = sum(doctest.DocTestRunner().run(test).failed for test in tests)
    assert tests[0].examples
    assert failed == 0
    for part in ("Parameters", "Returns", "Raises", "Examples"):
        assert part in (verb.__doc__ or "") or name == "load_all"


def test_tab_shows_verbs_and_nouns_only() -> None:
    shown = set(dir(sc))
    assert {"load", "load_all", "plot", "Study", "laws"} <= shown
    assert not {"HOMES", "MODULES", "MOVED", "TYPE_CHECKING", "import_module", "Any", "annotations"} & shown


def test_every_option_that_is_respelled_is_a_keyword_of_a_verb() -> None:
    places = [sc, *(getattr(sc, module) for module in sc.MODULES)]
    every = [getattr(place, name) for place in places for name in getattr(place, "__all__", ())]
    verbs = [verb for verb in every if inspect.isfunction(verb)]
    keywords = {name for verb in verbs for name in inspect.signature(verb).parameters}
    keywords |= set(MeasureKeywords.__annotations__)
    assert {name.replace("-", "_") for name in KEYWORDS.split()} <= keywords
