"""Whatever is handed to a public verb, it answers or raises a ScalecurveError that says what is accepted."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc

STRANGE: list[Any] = [
    None,
    5,
    3.5,
    object(),
    {},
    [],
    {"a": 1},
    {1: "x"},
    {0: [1.0]},
    {1: [float("nan")]},
    {1: []},
    [1, 2],
    b"x",
    "no such file",
    Path("no such file"),
    float,
    ...,
]
VERBS = [
    sc.tabulate,
    sc.fit,
    sc.forecast,
    sc.diagnose,
    sc.audit,
    sc.check,
    sc.next_runs,
    sc.load,
    sc.assess,
    sc.merge,
]


def without_address(subject: Any) -> str:
    """The name of a case, the same in every process: the workers of pytest-xdist compare them."""
    return repr(subject).split(" at ")[0]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
@pytest.mark.parametrize("subject", STRANGE, ids=without_address)
def test_a_strange_subject_is_refused_in_words(verb: Any, subject: Any) -> None:
    if verb is sc.audit and subject == {}:
        return  # a claim that states nothing: six rows are missing
    options = {"regime": "strong"} if "regime" in inspect.signature(verb).parameters else {}
    with pytest.raises(sc.ScalecurveError):
        verb(subject, **options)


STUDY = sc.load({1: [8.0, 8.1], 2: [4.2, 4.1], 4: [2.3, 2.2]}, regime="strong")
CALLS: dict[str, Callable[[Any, Path], object]] = {
    "compare": lambda subject, _: sc.compare(STUDY, subject),
    "cost": lambda subject, _: sc.cost(subject, 2.5, regime="strong"),
    "price": lambda subject, _: sc.cost(STUDY, subject),
    "at": lambda subject, _: sc.forecast(STUDY, at=subject),
    "report": lambda subject, folder: sc.write_report(folder / "r.html", subject),
    "plot": lambda subject, folder: sc.plot(subject, folder / "p.svg"),
    "save": lambda subject, folder: sc.save(subject, folder / "s.json"),
    "export": lambda subject, _: sc.export(subject, "csv"),
    "to": lambda subject, _: sc.export(STUDY, subject),
    "law": lambda subject, _: sc.law(subject),
}
FINE = {("price", "5"), ("price", "3.5"), ("at", "5"), ("at", "[1, 2]"), ("at", "None")}


@pytest.mark.parametrize("subject", STRANGE, ids=without_address)
@pytest.mark.parametrize("call", CALLS)
def test_a_strange_argument_is_refused_in_words(call: str, subject: Any, tmp_path: Path) -> None:
    if (call, repr(subject)) in FINE:
        return
    with pytest.raises(sc.ScalecurveError):
        CALLS[call](subject, tmp_path)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1.0, 0.0, 1e308, -1e308, 1e-320, "x", None, [1]])
def test_extreme_numbers_are_answered_or_refused(number: Any) -> None:
    study = STUDY
    calls = [
        lambda: sc.tabulate(study, level=number),
        lambda: sc.tabulate(study, threshold=number),
        lambda: sc.forecast(study, at=8, level=number),
        lambda: sc.forecast(study, at=number),
        lambda: sc.cost(study, number),
        lambda: sc.cost(study, 2.5, deadline=number),
        lambda: sc.cost(study, 2.5, budget=number),
        lambda: sc.law("amdahl").speedup(64, serial=number),
        lambda: sc.law("amdahl").speedup(number, serial=0.05),
        lambda: sc.load({1: [number, 1.0], 2: [0.5]}, regime="strong"),
    ]
    for call in calls:
        try:
            call()
        except sc.ScalecurveError:
            continue
