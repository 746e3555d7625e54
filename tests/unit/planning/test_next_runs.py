"""Which runs to make next."""

import math
from itertools import pairwise

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.planning.next_runs import next_runs, parse_worker_seconds
from tests.reference_study import strong_study

SMALL = {1: [100.0, 101.0], 2: [52.0, 51.0], 4: [27.0, 27.5], 8: [15.0, 14.8]}


def small() -> sc.Study:
    return sc.Study.from_samples(SMALL, regime="strong")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("8 gpu-hours", 28800), ("90 core-min", 5400), ("2 node h", 7200), ("3600 worker-seconds", 3600), ("1h", 3600)],
)
def test_budgets(text: str, seconds: float) -> None:
    assert parse_worker_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "gpu-hours", "0 gpu-hours", "8 parsecs", "-1 gpu-hours"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(sc.InputError, match="8 gpu-hours"):
        parse_worker_seconds(text)


def test_the_suggestion_fits_the_budget_and_narrows_the_forecast() -> None:
    made = sc.next_runs(small(), budget="0.3 gpu-hours", target=128)

    assert made.cost <= 0.3 * 3600
    assert made.after < made.before
    assert all(8 < one.k <= 128 for one in made.suggestions)


def test_more_budget_never_narrows_less() -> None:
    after = [next_runs(small(), budget=hours * 3600, target=128).after for hours in (0.1, 0.2, 0.3, 1.0, 10.0)]

    assert all(later <= earlier * 1.06 for earlier, later in pairwise(after))


def test_no_more_workers_than_there_are() -> None:
    assert max(one.k for one in next_runs(small(), target=128, largest=100).suggestions) <= 100


def test_two_laws_are_parted_where_they_differ() -> None:
    bent = sc.Study.from_samples({**SMALL, 16: [9.0, 9.2]}, regime="strong")
    made = next_runs(bent, separate=("amdahl", "usl"), target=256)

    assert made.after > made.before
    assert made.suggestions[0].k > 16
    assert "between amdahl and usl" in str(made)


def test_laws_that_fit_as_one_curve_are_not_parted() -> None:
    linear = sc.Study.from_samples({k: [64.0 / k] for k in (1, 2, 4, 8)}, regime="strong")

    with pytest.raises(sc.Refused, match="same curve"):
        next_runs(linear, separate=("amdahl", "usl"))


def test_too_small_a_budget_is_refused_with_the_price() -> None:
    with pytest.raises(sc.Refused, match="cheapest run costs"):
        next_runs(small(), budget=1.0)
    with pytest.raises(sc.Refused, match="budget"):
        next_runs(small(), budget=1.0, separate=("amdahl", "usl"))
    with pytest.raises(sc.InputError) as caught:
        next_runs(small(), budget=-1.0, target=-4)
    assert len(caught.value.faults) == 2


def test_throughput_studies_say_that_the_run_length_is_assumed() -> None:
    rates = sc.Study.from_samples({1: [1.0], 2: [1.9], 4: [3.5], 8: [6.0]}, regime="strong", quantity="throughput")

    made = next_runs(rates, budget=36000, target=32, run_seconds=30)

    assert made.suggestions[0].seconds == 30
    assert [finding.code for finding in made.findings] == ["run-length-assumed"]


def test_answers_as_a_noun() -> None:
    made = next_runs(strong_study(), target=256, budget=1e4)

    assert made.to_dict()["rows"] == made.records()
    assert "Measure next" in str(made)


def _truths() -> list[tuple[float, float, float]]:
    rng = np.random.default_rng(23)
    return [(rng.uniform(0, 0.05), rng.uniform(0, 0.01), rng.uniform(0, 3e-4)) for _ in range(24)]


def test_following_it_beats_doubling_blindly() -> None:
    """The same budget, spent on the suggestion or on 2x, 4x ... with three repeats each; error at the target K."""
    rng = np.random.default_rng(29)
    errors: dict[str, list[float]] = {"ours": [], "doubling": []}
    for serial, comm, coherency in _truths():

        def truth(k: int, s: float = serial, c: float = comm, h: float = coherency) -> float:
            return 100 * (s + (1 - s) / k + c * math.log2(k) + h * (k - 1))

        def measure(k: int, repeats: int, truth: object = truth) -> list[float]:
            return (truth(k) * np.exp(0.03 * rng.standard_normal(repeats))).tolist()  # type: ignore[operator]

        samples = {k: measure(k, 3) for k in (1, 2, 4, 8)}
        budget = 3.5 * 16 * truth(16)
        blind, spent, k = dict(samples), 0.0, 16
        while spent + 3 * k * truth(k) <= budget:
            blind[k], spent, k = measure(k, 3), spent + 3 * k * truth(k), 2 * k
        advice = next_runs(sc.Study.from_samples(samples, regime="strong"), budget=budget, target=128)
        ours = dict(samples) | {one.k: measure(one.k, one.repeats) for one in advice.suggestions}
        for name, own in (("ours", ours), ("doubling", blind)):
            made = sc.forecast(sc.Study.from_samples(own, regime="strong"), at=[128], extrapolate=True)[0]
            errors[name].append(abs(math.log(made.seconds / truth(128))))
    assert np.median(errors["ours"]) < np.median(errors["doubling"])
    assert np.mean(errors["ours"]) < np.mean(errors["doubling"])


def test_a_run_that_narrows_nothing_is_not_suggested() -> None:
    done = sc.Study.from_samples({1: [10.0], 2: [4.5], 4: [2.1], 8: [1.0]}, regime="strong")

    with pytest.raises(sc.Refused, match="no allowed run narrows the forecast at K = 32 by 1% or more; allow larger K"):
        next_runs(done, largest=8)
    with pytest.raises(sc.Refused, match="or a larger budget"):
        next_runs(small(), budget=0.035 * 3600, target=128)
