"""The laws: the executable contract, nested limits, and the worked numbers."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalecurve.errors import InputError
from scalecurve.laws import LAW_NAMES, Law, amdahl, communication, law, stragglers
from scalecurve.laws.amdahl import serial_fraction

shares = st.floats(min_value=0.0, max_value=1.0)
workers = st.integers(min_value=1, max_value=10**6)


def strong_time(k: float, serial: float, comm: float) -> float:
    """The serial-plus-tree law, written out."""
    return serial + (1 - serial) / k + comm * math.log2(k)


CLOSED: dict[str, Callable[..., float]] = {
    "amdahl": lambda k, serial: serial + (1 - serial) / k,
    "logcomm": strong_time,
    "logcomm-weak": lambda k, serial, comm: 1 + comm * math.log2(k),
    "usl": lambda k, contention, coherency: (1 + contention * (k - 1) + coherency * k * (k - 1)) / k,
    "sun-ni": lambda k, serial, growth: serial + (1 - serial) * k**growth / k,
}


@given(st.integers(1, 10**6), shares, shares)
def test_the_formulas_are_the_published_ones(k: int, first: float, second: float) -> None:
    for name, closed in CLOSED.items():
        values = dict(zip([p.name for p in law(name).parameters], (first, second), strict=False))
        assert law(name).time(k, **values) == pytest.approx(closed(k, **values), rel=1e-12)


CHECKED_WORKERS = (1, 2, 3, 7, 8, 64, 1000, 100_000)


def broken_rules(law: Law) -> list[str]:
    """The rules a law breaks: positive finite T, T(1) = T1, S and E consistent, bounds enforced, words complete."""
    sets = list(parameter_sets(law))
    broken = [problem for values in sets for k in CHECKED_WORKERS for problem in broken_at(law, k, values)]
    for parameter in law.parameters:
        outside = [parameter.low - 0.1, math.nan] + ([parameter.high + 0.1] if math.isfinite(parameter.high) else [])
        for bad in outside:
            try:
                law.time(2, **(sets[0] | {parameter.name: bad}))
            except InputError:
                continue
            broken.append(f"{law.name}: {parameter.name} = {bad} was accepted")
    words = ("title", "question", "source")
    return broken + [f"{law.name}: has no {name}" for name in words if not getattr(law, name)]


def parameter_sets(law: Law) -> Iterator[dict[str, float]]:
    """Every combination of a few values of each parameter, its bounds included."""
    axes = []
    for parameter in law.parameters:
        span = parameter.high - parameter.low
        steps = (0.0, 0.05 * span, 0.5 * span, span) if math.isfinite(span) else (0.0, 0.003, 1.0)
        axes.append([parameter.low + step for step in steps])
    for values in itertools.product(*axes):
        yield {parameter.name: value for parameter, value in zip(law.parameters, values, strict=True)}


def broken_at(law: Law, k: int, values: Mapping[str, float]) -> Iterator[str]:
    where = f"{law.name} at K = {k}, {dict(values)}"
    time, speedup, efficiency = law.time(k, **values), law.speedup(k, **values), law.efficiency(k, **values)
    if not all(math.isfinite(value) and value > 0 for value in (time, speedup, efficiency)):
        yield f"{where}: T, S and E must be positive and finite, got {time}, {speedup}, {efficiency}"
        return
    if not math.isclose(efficiency * k, speedup, rel_tol=1e-12):
        yield f"{where}: E is not S/K"
    if k == 1 and not math.isclose(law.time(1, at_one=3.5, **values), 3.5, rel_tol=1e-9):
        yield f"{where}: T(1) is not T1"
    if not math.isclose(law.time(k, at_one=2.0, **values), 2.0 * time, rel_tol=1e-12):
        yield f"{where}: T does not scale with T(1)"


@pytest.mark.parametrize("name", LAW_NAMES)
def test_every_law_keeps_the_contract(name: str) -> None:
    assert broken_rules(law(name)) == []


def test_the_contract_can_fail() -> None:
    broken = Law("bad", "no question", closed="-1")

    assert len(broken_rules(broken)) > 1


@given(workers, shares)
def test_usl_without_coherency_is_amdahl(k: int, share: float) -> None:
    left = law("usl").time(k, contention=share, coherency=0.0)

    assert math.isclose(left, law("amdahl").time(k, serial=share), rel_tol=1e-12)


@given(workers, shares)
def test_logcomm_without_communication_is_amdahl(k: int, share: float) -> None:
    assert law("logcomm").time(k, serial=share, comm=0.0) == law("amdahl").time(k, serial=share)


@given(workers, shares)
def test_sun_ni_lies_between_amdahl_and_gustafson(k: int, share: float) -> None:
    sun_ni = law("sun-ni")
    as_amdahl = sun_ni.speedup(k, serial=share, growth=0)

    assert math.isclose(as_amdahl, law("amdahl").speedup(k, serial=share), rel_tol=1e-12)
    # Growth 1: the time is held, so S is the work done, Gustafson's law with the share seen in the scaled run.
    assert math.isclose(sun_ni.speedup(k, serial=share, growth=1), law("gustafson").speedup(k, serial_scaled=share))


@given(workers, st.floats(min_value=1e-6, max_value=1.0))
def test_the_two_serial_fractions_invert_each_other(k: int, share: float) -> None:
    scaled = share / (share + (1 - share) / k)  # Gustafson's f is the serial share of the time on K workers

    assert math.isclose(amdahl.serial_from_scaled(scaled, k), share, rel_tol=1e-9)


@given(st.integers(min_value=2, max_value=10**6), shares)
def test_karp_flatt_of_exact_amdahl_is_its_serial_share(k: int, share: float) -> None:
    found = serial_fraction(k, law("amdahl").speedup(k, serial=share))

    assert found is not None
    assert math.isclose(found, share, rel_tol=1e-6, abs_tol=1e-9)


def test_karp_flatt_of_the_seed_model() -> None:
    k, serial, comm = 64, 0.05, 0.01
    found = serial_fraction(k, 1 / strong_time(k, serial, comm))

    assert found == pytest.approx(serial + comm * math.log2(k) * k / (k - 1))


def test_karp_flatt_is_not_defined_at_one() -> None:
    assert serial_fraction(1, 1.0) is None


@given(st.integers(1, 10_000), st.integers(1, 9_999))
def test_the_first_k_below_is_decided_exactly(
    serial_in_ten_thousandths: int, efficiency_in_ten_thousandths: int
) -> None:
    serial, efficiency = serial_in_ten_thousandths / 10_000, efficiency_in_ten_thousandths / 10_000
    k = amdahl.first_k_below(serial, efficiency)

    assert k is not None
    below = efficiency_in_ten_thousandths * (10_000 + serial_in_ten_thousandths * (k - 1)) > 10_000 * 10_000
    one_less = efficiency_in_ten_thousandths * (10_000 + serial_in_ten_thousandths * (k - 2)) > 10_000 * 10_000
    assert below
    assert not one_less


@given(st.floats(0, 0.999), st.floats(1e-4, 2.0))
def test_the_best_k_has_no_better_neighbour(serial: float, comm: float) -> None:
    best = communication.best_k(serial, comm)

    assert best is not None
    here = strong_time(best, serial, comm)
    assert all(here <= strong_time(k, serial, comm) + 1e-15 for k in (max(1, best - 1), best + 1, best * 2))


@given(st.floats(0, 0.999), st.floats(1e-4, 2.0))
def test_the_best_doubling_has_no_better_doubling(serial: float, comm: float) -> None:
    best = communication.best_doubling(serial, comm)

    assert best is not None
    here = strong_time(best, serial, comm)
    assert all(here <= strong_time(k, serial, comm) + 1e-12 for k in (max(1, best // 2), best * 2))


@given(st.integers(2, 10_000), st.floats(0, 0.5), st.floats(1e-4, 0.5), st.floats(0.05, 0.99))
def test_isoefficiency_holds_the_efficiency(k: int, serial: float, comm: float, hold: float) -> None:
    work = communication.work_per_worker(k, serial, comm, hold)

    assert work is not None
    useful = work + serial
    efficiency = useful / (useful + comm * math.log2(k))
    assert efficiency >= hold - 1e-9
    assert work == 0 or math.isclose(efficiency, hold, rel_tol=1e-9)


def test_isoefficiency_has_no_answer_at_one() -> None:
    assert communication.work_per_worker(4, 0.05, 0.01, 1.0) is None
    assert communication.work_per_worker(1, 0.05, 0.01, 0.95, "linear") == 0.0, "one worker exchanges nothing"


def test_usl_edges() -> None:
    assert communication.peak_k(0.1, 0.0) is None
    assert communication.largest_speedup(0.0, 0.0) is None
    assert communication.largest_speedup(0.1, 0.0) == pytest.approx(10)
    assert communication.peak_k(1.0, 0.5) == 0


def test_expected_maximum_against_exact_values() -> None:
    # Harter 1961: expected largest of 8 and 100 standard normal draws.
    assert stragglers.normal_maximum(8, 1.0) - 1 == pytest.approx(1.42360, abs=1e-5)
    assert stragglers.normal_maximum(100, 1.0) - 1 == pytest.approx(2.50759, abs=1e-5)
    assert stragglers.lognormal_maximum(1, 0.6) == pytest.approx(1, rel=1e-9)
    exponential = stragglers.expected_maximum(4, lambda p: -np.log(p))
    assert exponential == pytest.approx(25 / 12, rel=1e-8)


def test_one_slow_in_a_hundred_is_the_rule_at_fan_out_100() -> None:
    assert stragglers.chance_of_any_slow(100, 0.01) == pytest.approx(0.634, abs=5e-4)


@pytest.mark.parametrize(
    "given", [{}, {"serial": 1.5}, {"serial": -0.1}, {"serial": math.nan}, {"serial": 0.1, "x": 1.0}]
)
def test_bad_parameters_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(InputError, match="law amdahl"):
        law("amdahl").speedup(4, **given)


@pytest.mark.parametrize("k", [0, -1, 0.5, math.nan, math.inf, True])
def test_bad_worker_counts_are_refused(k: float) -> None:
    with pytest.raises(InputError, match="worker count"):
        law("amdahl").speedup(k, serial=0.1)


def test_an_array_of_k_gives_an_array() -> None:
    counts = np.array([[1, 2], [64, 1000]])
    speedups = law("amdahl").speedup(counts, serial=0.05)
    assert speedups.shape == counts.shape
    assert speedups[1, 0] == law("amdahl").speedup(64, serial=0.05)
    assert law("gustafson").efficiency(np.array([4.0]), serial_scaled=0.1)[0] == pytest.approx(0.925)
    with pytest.raises(InputError, match="worker count"):
        law("amdahl").time(np.array([0, 1]), serial=0.05)


def test_numpy_numbers_give_plain_floats() -> None:
    speedup = law("sun-ni").speedup(np.int64(64), serial=np.float32(0.5), growth=np.int32(1))
    assert type(speedup) is float
    assert speedup == law("sun-ni").speedup(64, serial=0.5, growth=1)


def test_a_wrong_parameter_lists_the_right_ones() -> None:
    with pytest.raises(InputError, match="it takes contention, coherency"):
        law("usl").speedup(4, contention=0.1, serial=0.2)


def test_an_unknown_law_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="amdahl, gustafson"):
        law("murphy")
