"""The diagnosis on studies whose cause is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bench.simulated_studies import CAUSES, Truth, simulate
from scalecurve.diagnosis import Diagnosis, diagnose
from scalecurve.errors import InputError
from scalecurve.study import RankRecord, Regime, Run, Study
from tests.reference_study import WORKERS, strong_samples, strong_study

CLEAR = {
    "communication": Truth(causes=("communication",), comm=0.01, noise=0.02),
    "straggler": Truth(causes=("straggler",), sigma=0.4, barriers=2, noise=0.02),
    "imbalance": Truth(causes=("imbalance",), excess=0.5, excess_form="ramp", noise=0.02),
    "contention": Truth(causes=("contention",), contention=0.1, contention_form="log", noise=0.02),
    "serial": Truth(causes=("serial",), serial=0.08, noise=0.02),
    "none": Truth(causes=(), noise=0.02),
}


def codes(result: Diagnosis) -> set[str]:
    return {finding.code for finding in result.findings}


@pytest.mark.parametrize("detail", ["phases", "ranks"])
@pytest.mark.parametrize("cause", [*CAUSES, "none"])
def test_phases_or_own_times_name_every_cause(cause: str, detail: str) -> None:
    found = diagnose(simulate(CLEAR[cause], np.random.default_rng(4), detail=detail))

    shown = found.cause if detail == "phases" else max(found.causes, key=lambda each: each.probability).name
    if detail == "phases" or cause not in ("contention", "serial"):
        assert shown == cause


@pytest.mark.parametrize("cause", ["communication", "straggler", "imbalance", "none"])
def test_the_shape_alone_names_what_it_can(cause: str) -> None:
    found = diagnose(simulate(CLEAR[cause], np.random.default_rng(4), detail="samples"))

    assert found.cause == cause
    assert found.probability >= 0.8


def test_a_serial_part_and_contention_cannot_be_told_apart_from_times_alone() -> None:
    study = simulate(CLEAR["serial"], np.random.default_rng(4), detail="samples")

    found = diagnose(study)

    assert found.cause == "undetermined"
    assert {"undetermined", "same-shape"} <= codes(found)


@pytest.mark.parametrize("detail", ["phases", "ranks", "samples"])
@pytest.mark.parametrize("cause", list(CLEAR))
def test_shares_and_chances_add_up(cause: str, detail: str) -> None:
    found = diagnose(simulate(CLEAR[cause], np.random.default_rng(9), detail=detail, workers=(1, 2, 4, 8)))

    assert sum(each.share for each in found.causes) == pytest.approx(1.0)
    assert sum(each.probability for each in found.causes) == pytest.approx(1.0)
    for row in found.by_k:
        assert sum(row.shares.values()) == pytest.approx(1.0)
        assert min(row.shares.values()) >= 0.0


def test_pop_metrics_multiply_and_link_to_efficiency() -> None:
    found = diagnose(simulate(CLEAR["communication"], np.random.default_rng(4)))

    base = found.by_k[0].pop
    assert base is not None
    for row in found.by_k:
        assert row.pop is not None
        assert row.pop.global_efficiency == pytest.approx(
            row.pop.parallel_efficiency * row.pop.computation_scalability, rel=1e-6
        )
        linked = row.pop.computation_scalability * row.pop.parallel_efficiency / base.parallel_efficiency
        assert row.efficiency == pytest.approx(linked, rel=0.02)


def slowest_inflated(rng: np.random.Generator) -> Study:
    samples = {}
    for k, values in strong_samples().items():
        changed = np.array(values)
        changed[changed.argmax()] *= rng.uniform(1.0, 1.5)
        samples[k] = changed.tolist()
    return Study.from_samples(samples, regime="strong", k_unit="gpus")


def test_the_reference_study_bends_by_communication() -> None:
    found = diagnose(strong_study())

    assert found.cause == "communication"
    assert "straggler-noise" not in codes(found)


@pytest.mark.parametrize("seed", range(4))
def test_a_straggler_in_the_reference_study_widens_the_band_but_is_not_the_cause(seed: int) -> None:
    found = diagnose(slowest_inflated(np.random.default_rng(seed)))

    assert found.cause == "communication"
    noise = next(finding for finding in found.findings if finding.code == "straggler-noise")
    assert noise.evidence["spread_with"] > 3 * noise.evidence["spread_without"]


@pytest.mark.parametrize("draw", ["lognormal", "normal"])
def test_the_slowest_of_k_draws_without_communication_is_a_straggler(draw: str) -> None:
    rng = np.random.default_rng(0)
    draws: dict[str, Callable[[int], np.ndarray]] = {
        "lognormal": lambda k: rng.lognormal(-0.045, 0.3, size=(5, k)),
        "normal": lambda k: np.abs(rng.normal(1.0, 0.2, size=(5, k))),
    }
    samples = {k: (draws[draw](k).max(axis=1) / k).tolist() for k in WORKERS}

    found = diagnose(Study.from_samples(samples, regime="strong"))

    assert found.cause == "straggler"
    assert found.probability >= 0.8


def hosts_study(*, slow: str | None, heavy: int | None, counted: bool = True) -> Study:
    """Four hosts; `slow` needs twice as long, or rank `heavy` has twice the work."""
    rng = np.random.default_rng(3)
    runs = []
    for repeat in range(5):
        for k in (1, 2, 4):
            work = np.ones(k)
            if heavy is not None and heavy < k and k > 1:
                work[heavy] = 2.0
            work /= work.sum()
            pace = np.array([2.0 if f"h{i}" == slow else 1.0 for i in range(k)])
            compute = work * pace * (1 + 0.01 * rng.standard_normal(k))
            span = float(compute.max() + 0.01)
            ranks = tuple(
                RankRecord(
                    rank=i,
                    host=f"h{i}",
                    seconds=span,
                    work=float(work[i]) if counted else None,
                    phases={"compute": float(compute[i]), "all_reduce": span - float(compute[i])},
                )
                for i in range(k)
            )
            runs.append(Run(k=k, value=span, repeat=repeat, ranks=ranks))
    return Study(regime=Regime.STRONG, runs=tuple(runs))


@pytest.mark.parametrize("counted", [True, False])
def test_a_slow_host_is_a_straggler_and_is_named(counted: bool) -> None:
    found = diagnose(hosts_study(slow="h3", heavy=None, counted=counted))

    assert found.cause == "straggler"
    slow = next(finding for finding in found.findings if finding.code == "slow-host")
    assert slow.evidence["host"] == "h3"
    assert slow.evidence["factor"] == pytest.approx(2.0, rel=0.05)


def test_uneven_work_is_imbalance_even_where_hosts_are_known() -> None:
    found = diagnose(hosts_study(slow=None, heavy=1))

    assert found.cause == "imbalance"
    assert "slow-host" not in codes(found)


def test_one_worker_count_is_refused() -> None:
    with pytest.raises(InputError, match="two worker counts"):
        diagnose(Study.from_samples({4: [1.0, 1.1]}, regime="strong"))


def test_k_unit_nodes_makes_contention_unlikely() -> None:
    study = simulate(CLEAR["serial"], np.random.default_rng(4), detail="samples", k_unit="nodes")

    chances = {cause.name: cause.probability for cause in diagnose(study).causes}

    assert chances["contention"] < 0.2


def test_few_worker_counts_do_not_make_uneven_work_look_serial() -> None:
    found = diagnose(hosts_study(slow=None, heavy=1, counted=False))

    shares = {cause.name: cause.share for cause in found.causes}
    assert shares["serial"] == 0.0


def times_only(samples: dict[int, list[float]]) -> Diagnosis:
    return diagnose(Study.from_samples(samples, regime="strong", name="job"))


@pytest.mark.parametrize("last", [1e-6, 1.0])
def test_superlinear_times_have_no_cause(last: float) -> None:
    middle = {1e-6: {1: [1e6], 2: [1.0], 4: [1e-3]}, 1.0: {1: [10.0], 2: [4.5], 4: [2.1]}}[last]
    found = times_only({**middle, 8: [last]})

    assert found.cause == "none"
    assert "superlinear" in codes(found)
    assert all(row.shares["none"] == pytest.approx(1) for row in found.by_k)
    assert any("superlinear" in sentence for sentence in found.evidence)


def test_wild_times_have_no_sure_cause() -> None:
    wild = np.random.default_rng(2).lognormal(0.0, 1.2, size=(5, 5))
    found = times_only({k: (10.0 / k * row).tolist() for k, row in zip((1, 2, 4, 8, 16), wild, strict=True)})

    assert found.cause in ("none", "undetermined")
    assert sum(cause.probability for cause in found.causes) == pytest.approx(1)


def test_one_k_beyond_the_baseline_shows_no_trend() -> None:
    assert not any("Karp-Flatt" in sentence for sentence in times_only({1: [10.0], 2: [6.0]}).evidence)
