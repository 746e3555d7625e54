"""Whatever is handed to a public verb, it answers or raises a ScalecurveError that says what is accepted."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import scalecurve as sc
from scalecurve.cli.output import is_finite
from scalecurve.laws import LAW_NAMES

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
    "report": lambda subject, folder: sc.write_report(subject, folder / "r.html"),
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


@pytest.mark.parametrize("verb", ["tabulate", "fit", "diagnose", "next_runs", "audit"])
def test_thousands_of_worker_counts_are_thinned(verb: str) -> None:
    many = sc.load({k: [100 / k + 0.3 + 1e-4 * (k % 7)] for k in range(1, 3001)}, regime="strong")
    result = getattr(sc, verb)(many)
    if verb in ("fit", "diagnose", "next_runs"):
        assert "worker-counts-thinned" in {finding.code for finding in result.findings}


SHARES = [0, 0.05, 0.5, 0.95, 1]
LARGE = [64, 1e12, 2**63, 1e100, 1.7e308, 10**400]
SMALL = [5e-324, 1e-300, 1e-12, 1e-3]
NUMBERS = st.sampled_from([*SHARES, *LARGE, *SMALL, 2, 1000, -1, -1e308, float("nan"), float("inf")]) | st.floats()
COUNTS = st.sampled_from([1, 2, 3, 64, 1000, 10**6, 10**9, 2**53, 2**63, 10**30, 0, -1])
TIMES = st.sampled_from([5e-324, 1e-320, 1e-300, 1e-150, 1e-9, 0.5, 3.7, 1e6, 1e150, 1e300, 1.7e308])
REGIMES = st.sampled_from(["strong", "weak"])
Draw = Callable[[st.SearchStrategy[Any]], Any]


@st.composite
def curves(draw: Draw) -> dict[int, list[float]]:
    """T at some K: a curve on an extreme scale, or extreme times at each K."""
    workers = draw(
        st.sampled_from([(1, 2, 4, 8, 16), (1, 2, 4), (1, 2), (4,), (1, 3, 10**6, 10**9), (2, 2**53, 2**63)])
    )
    scale, serial = draw(TIMES), draw(st.sampled_from([0.0, 0.1, 1.0]))
    smooth = {k: [scale * (serial + (1 - serial) / k) * (1 + 0.01 * i) for i in range(2)] for k in workers}
    return smooth if draw(st.booleans()) else {k: draw(st.lists(TIMES, min_size=1, max_size=3)) for k in workers}


def loaded(draw: Draw) -> Any:
    quantities = st.sampled_from([None, None, "seconds", "throughput", "speedup"])
    return sc.load(draw(curves()), regime=draw(REGIMES), quantity=draw(quantities))


def grid(draw: Draw) -> Any:
    sizes, times = draw(st.lists(NUMBERS, min_size=2, max_size=4, unique=True)), draw(curves())
    return sc.load({(size, k): times[k] for size in sizes for k in times}, regime=draw(REGIMES))


def some(draw: Draw, *names: str, of: st.SearchStrategy[Any] = NUMBERS) -> dict[str, Any]:
    """Extreme values for up to two of the named options."""
    return draw(st.dictionaries(st.sampled_from(names), of, max_size=2))


def a_law(draw: Draw) -> Any:
    law = sc.law(draw(st.sampled_from(sorted(LAW_NAMES))))
    ask = getattr(law, draw(st.sampled_from(["speedup", "efficiency", "time", "work"])))
    return float(ask(draw(COUNTS | NUMBERS), **{parameter.name: draw(NUMBERS) for parameter in law.parameters}))


def a_proposal(draw: Draw) -> Any:
    points = [{"k": draw(COUNTS), "relative_speedup": draw(NUMBERS)} for _ in range(2)]
    stated = {"title": "more", "workers": draw(COUNTS), "workers_today": 8, "k_unit": "gpus", "regime": "strong"}
    return sc.assess(stated | {"floor": draw(NUMBERS), "strong": {"baseline": 8, "source": "runs", "points": points}})


def a_plan(draw: Draw) -> Any:
    names = ("batch", "critical_batch", "seq", "tokens", "deadline", "budget", "price", "loss", "top")
    return sc.plan_training("llama3-8b", "h100-ib400", gpus=draw(st.sampled_from([8, 64])), **some(draw, *names))


def a_measurement(draw: Draw, folder: Path) -> Any:
    names = ("total", "per_worker", "precision", "level", "timeout", "max_time", "quiet_below", "expected_seconds",
             "expected_cv", "usd_per_worker_hour", "seed")  # fmt: skip
    fixed = {"command": ["true"], "workers": [1], "repeats": 1, "max_repeats": 2, "regime": "strong"}
    return sc.measure(output=folder / "m.json", force=True, **fixed | some(draw, *names))


def written(path: Path, write: Callable[[Path], object]) -> str:
    write(path)
    return path.read_text()


ASKED: dict[str, Callable[[Draw, Path], Any]] = {
    "assess": lambda draw, _: a_proposal(draw),
    "audit": lambda draw, _: sc.audit(loaded(draw)),
    "check": lambda draw, _: sc.check(
        loaded(draw), against=loaded(draw), min_efficiency={draw(COUNTS): draw(NUMBERS)}, **some(draw, "false_alarm")
    ),
    "compare": lambda draw, _: sc.compare(loaded(draw), loaded(draw), **some(draw, "level")),
    "cost": lambda draw, _: sc.cost(
        loaded(draw),
        draw(NUMBERS),
        **some(draw, "work_per_job", "level", "jobs", "fleet", "deadline", "budget", "value_per_hour", "chance", "at"),
    ),
    "diagnose": lambda draw, _: sc.diagnose(loaded(draw)),
    "explore": lambda draw, _: str(sc.explore(loaded(draw), models=("llama3-8b",), **some(draw, "height"))),
    "export": lambda draw, _: sc.export(loaded(draw), draw(st.sampled_from(["csv", "json", "openmetrics", "r-usl"]))),
    "fit": lambda draw, _: sc.fit(loaded(draw), **some(draw, "level")),
    "fit_grid": lambda draw, _: sc.fit_grid(grid(draw), **some(draw, "level", "hold")),
    "forecast": lambda draw, _: sc.forecast(
        loaded(draw),
        draw(COUNTS),
        extrapolate=draw(st.booleans()),
        **some(draw, "level", "node_size", "cores", "serial"),
    ),
    "forecast_grid": lambda draw, _: sc.forecast_grid(
        grid(draw), size=draw(NUMBERS), at=draw(COUNTS), **some(draw, "level")
    ),
    "law": lambda draw, _: a_law(draw),
    "load": lambda draw, _: sc.load(
        {draw(COUNTS): [draw(NUMBERS), 1.0], 2: [0.5]}, regime="strong", **some(draw, "baseline_k", "node_size")
    ),
    "load_all": lambda draw, _: sc.load_all(
        {size: draw(curves()) for size in (1000, 2000)}, regime=draw(REGIMES), **some(draw, "baseline_k", "node_size")
    ),
    "measure": a_measurement,
    "merge": lambda draw, _: sc.merge([loaded(draw), loaded(draw)], allow_mixed=True),
    "next_runs": lambda draw, _: sc.next_runs(loaded(draw), **some(draw, "budget", "target", "run_seconds", "largest")),
    "plan_training": lambda draw, _: a_plan(draw),
    "plot": lambda draw, folder: sc.plot(loaded(draw), folder / "p.svg", **some(draw, "font_size")),
    "save": lambda draw, folder: written(folder / "s.json", lambda path: sc.save(loaded(draw), path)),
    "tabulate": lambda draw, _: sc.tabulate(loaded(draw), karp_flatt=True, **some(draw, "threshold", "level")),
    "write_report": lambda draw, folder: written(
        folder / "r.md", lambda path: sc.write_report(loaded(draw), path, **some(draw, "threshold", "price"))
    ),
}
SLOW = {"explore": 2, "plot": 5, "write_report": 5, "measure": 20, "diagnose": 20, "plan_training": 20}


def test_every_public_verb_is_asked() -> None:
    assert set(ASKED) == {name for name in sc.__all__ if not isinstance(getattr(sc, name), type)}


@pytest.mark.parametrize("verb", ASKED)
def test_extreme_numbers_give_a_finite_answer_or_a_refusal(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scalecurve.explorer.export.BATCHES", (2**20,))  # the planner's grid is not asked here

    @settings(
        max_examples=SLOW.get(verb, 50),
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(data=st.data())
    def asked(data: st.DataObject) -> None:
        try:
            answer = ASKED[verb](data.draw, tmp_path)
        except sc.ScalecurveError:
            return
        if hasattr(answer, "to_dict"):
            assert str(answer)
            answer = answer.to_dict()
        assert is_finite(answer)

    asked()
