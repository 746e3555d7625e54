"""The diagnosis on studies whose cause is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bench.bsp_simulator import DESIGN, MECHANISMS, Program, draw
from bench.bsp_simulator import simulate as measure
from bench.simulated_studies import CAUSES, Truth, simulate
from scalecurve.diagnosis import Diagnosis, diagnose
from scalecurve.errors import InputError
from scalecurve.findings import warning
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


@pytest.mark.parametrize("detail", ["phases", "ranks", "samples"])
@pytest.mark.parametrize("cause", [*CAUSES, "none"])
def test_the_cause_is_in_the_set_whatever_was_recorded(cause: str, detail: str) -> None:
    result = diagnose(simulate(CLEAR[cause], np.random.default_rng(4), detail=detail))

    assert cause in result.candidates
    assert result.cause in (cause, "undetermined")


@pytest.mark.parametrize("cause", ["communication", "contention", "serial", "none"])
def test_phases_name_one_cause(cause: str) -> None:
    result = diagnose(simulate(CLEAR[cause], np.random.default_rng(4), detail="phases"))

    assert result.cause == cause
    assert result.separate_by is None


@pytest.mark.parametrize("cause", ["straggler", "imbalance"])
def test_phases_without_work_tell_waiting_but_not_for_what(cause: str) -> None:
    result = diagnose(simulate(CLEAR[cause], np.random.default_rng(4), detail="phases"))

    assert {"straggler", "imbalance"} <= set(result.candidates) <= {"straggler", "imbalance", "communication"}
    assert result.separate_by is not None
    assert ("put a barrier" if "communication" in result.candidates else "count the work") in result.separate_by


def test_a_serial_part_and_contention_cannot_be_told_apart_from_times_alone() -> None:
    result = diagnose(simulate(CLEAR["serial"], np.random.default_rng(4), detail="samples"))

    assert result.cause == "undetermined"
    assert {"serial", "contention"} <= set(result.candidates)
    assert result.sentence.startswith("Undetermined: ")


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


def test_the_reference_study_may_bend_by_communication_or_by_noise_at_barriers() -> None:
    """3 % serial work and exponential noise at 200 barriers draw the same curve without any communication."""
    result = diagnose(strong_study())

    assert result.cause == "undetermined"
    assert {"communication", "straggler"} <= set(result.candidates)
    assert result.separate_by is not None
    assert "barrier" in result.separate_by
    assert "straggler-noise" not in codes(result)


@pytest.mark.parametrize("seed", range(4))
def test_slow_runs_in_the_reference_study_widen_the_band_and_leave_the_answer(seed: int) -> None:
    result = diagnose(slowest_inflated(np.random.default_rng(seed)))

    assert "communication" in result.candidates
    noise = next(finding for finding in result.findings if finding.code == "straggler-noise")
    assert noise.evidence["spread_with"] > 3 * noise.evidence["spread_without"]


@pytest.mark.parametrize("draw", ["lognormal", "normal"])
def test_the_slowest_of_k_draws_without_communication_may_be_a_straggler(draw: str) -> None:
    rng = np.random.default_rng(0)
    draws: dict[str, Callable[[int], np.ndarray]] = {
        "lognormal": lambda k: rng.lognormal(-0.045, 0.3, size=(5, k)),
        "normal": lambda k: np.abs(rng.normal(1.0, 0.2, size=(5, k))),
    }
    samples = {k: (draws[draw](k).max(axis=1) / k).tolist() for k in WORKERS}

    assert "straggler" in diagnose(Study.from_samples(samples, regime="strong")).candidates


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

    assert found.candidates[0] == "straggler"
    assert found.cause == "straggler" or not counted
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


@pytest.mark.parametrize("code", ["disturbed", "oversubscribed", "singletons"])
def test_a_disturbed_measurement_has_no_cause(code: str) -> None:
    study = simulate(CLEAR["communication"], np.random.default_rng(4))
    result = diagnose(replace(study, findings=(warning(code, "something else ran"),)))

    assert (result.cause, result.reason) == ("undetermined", "disturbed")
    assert result.sentence.startswith("Undetermined: disturbed")
    assert set(CAUSES) < set(result.candidates)
    assert "measure again" in result.remedy


def test_runs_with_more_workers_than_cores_have_no_cause() -> None:
    runs = tuple(Run(k=k, value=1 / k + 0.1, oversubscribed=k > 4) for k in (1, 2, 4, 8))
    assert diagnose(Study(regime=Regime.STRONG, runs=runs)).reason == "disturbed"


def program(name: str, size: float = 1.5, seed: int = 5) -> Program:
    return replace(draw(DESIGN, np.random.default_rng(seed), names=(name,)), sizes={name: size}, weak=False)


@pytest.mark.parametrize("recording", ["mpi", "barrier", "steps"])
@pytest.mark.parametrize("name", ["dynamic", "barrier-noise", "rare-delays"])
def test_waiting_that_changes_from_step_to_step_is_not_called_communication(name: str, recording: str) -> None:
    result = diagnose(measure(program(name), recording))

    assert result.cause != "communication"
    assert MECHANISMS[name] in result.candidates
    assert ("communication" in result.candidates) == (recording == "mpi")


@pytest.mark.parametrize("name", ["barrier-noise", "rare-delays", "saturation", "halo-3d", "log", "launch"])
def test_times_alone_keep_the_true_cause_in_the_set(name: str) -> None:
    assert MECHANISMS[name] in diagnose(measure(program(name), "times")).candidates


@pytest.mark.parametrize("name", ["log", "halo-2d", "ring"])
def test_steps_tell_transfer_from_waiting(name: str) -> None:
    result = diagnose(measure(program(name), "steps"))

    last = result.by_k[-1].pop
    assert result.candidates == (("communication", "other") if name == "ring" else ("communication",))
    assert last is not None
    assert last.transfer_efficiency is not None
    assert last.serialisation_efficiency is not None
    assert last.transfer_efficiency < last.serialisation_efficiency
    assert last.communication_efficiency == pytest.approx(last.transfer_efficiency * last.serialisation_efficiency)


def test_a_mixture_has_shares_with_intervals() -> None:
    mixed = replace(program("log"), sizes={"log": 1.0, "contention-log": 0.8})
    result = diagnose(measure(mixed, "barrier"))

    for cause in result.causes:
        assert 0.0 <= cause.share_low <= cause.share <= cause.share_high <= 1.0
    shares = {cause.name: cause for cause in result.causes}
    assert shares["communication"].share_low <= 1.0 / 1.8 <= shares["communication"].share_high + 0.05


@pytest.mark.parametrize("unit", ["clients", "connections", "users"])
def test_clients_of_a_server_get_no_advice_about_collectives(unit: str) -> None:
    rates = {k: [1000.0 * min(k, 8) * factor for factor in (0.99, 1.0, 1.01)] for k in (1, 2, 4, 8, 16, 32)}
    study = Study.from_samples(rates, regime="strong", quantity="throughput", k_unit=unit)

    result = diagnose(study)

    assert set(result.candidates) <= {"contention", "serial", "other", "none"}
    assert "server" in result.remedy
    assert "load-on-a-server" in codes(result)
    for word in ("barrier", "collective", "gradient", "probe"):
        assert word not in result.remedy


@pytest.mark.parametrize("k0", [1, 2])
@pytest.mark.parametrize("size", [0.01, 0.05])
def test_a_pure_log_curve_may_be_noise_at_barriers(k0: int, size: float) -> None:
    """Noise with an exponential tail costs log K at every barrier, as a tree of messages does (Gumbel 1958)."""
    rng = np.random.default_rng(3)
    workers = [k0 * 2**i for i in range(7)]
    times = {k: ((1 / k + size * np.log2(k)) * np.exp(0.005 * rng.standard_normal(5))).tolist() for k in workers}

    result = diagnose(Study.from_samples(times, regime="strong"))

    assert {"communication", "straggler"} <= set(result.candidates)


def recorded(phases: Callable[[int, int], dict[str, list[float]]], *, by_step: bool = False) -> Study:
    """Three runs of each K; `phases` gives the seconds of every step of a rank at K, by phase."""
    runs = []
    for repeat, k in product(range(3), (1, 2, 4, 8, 16, 32)):
        own = [
            {name: [x * (1 + 0.001 * repeat) for x in steps] for name, steps in phases(k, i).items()} for i in range(k)
        ]
        ranks = tuple(
            RankRecord(
                rank=i,
                phases={name: sum(steps) for name, steps in of_rank.items()},
                step_phases={name: tuple(steps) for name, steps in of_rank.items()} if by_step else {},
            )
            for i, of_rank in enumerate(own)
        )
        runs.append(Run(k=k, value=max(sum(rank.phases.values()) for rank in ranks), repeat=repeat, ranks=ranks))
    return Study(regime=Regime.STRONG, runs=tuple(runs))


def test_waiting_of_all_workers_alike_may_be_a_queue() -> None:
    """A master that hands out work: totals of a run show no worker that the others wait for."""

    def phases(k: int, rank: int) -> dict[str, list[float]]:
        own = 100.0 / k * (1 + 1e-4 * np.sin(7.0 * rank))
        return {"task": [own], "idle": [max(100.0 / k, 6.0 if k > 1 else 0.0) + 0.02 - own]}

    assert diagnose(recorded(phases)).candidates[0] == "other"


def test_a_pipeline_that_fills_is_not_called_communication_alone() -> None:
    def phases(k: int, rank: int) -> dict[str, list[float]]:
        return {"compute": [10.0 / k] * 5, "send_recv": [10.0 / k * (k - 1) / 8] * 5}

    assert set(diagnose(recorded(phases, by_step=True)).candidates) == {"communication", "other"}


def test_serial_work_shows_although_its_worker_has_the_least_share() -> None:
    def phases(k: int, rank: int) -> dict[str, list[float]]:
        share = 90.0 / k * (1 + (0.4 * (2 * rank / (k - 1) - 1) if k > 1 else 0.0))
        own = share + (8.0 if rank == 0 else 0.0)
        return {"loop": [own], "barrier": [8.0 + 90.0 / k * (1.4 if k > 1 else 1.0) - own]}

    assert diagnose(recorded(phases)).candidates[0] == "serial"


def test_a_heavy_share_that_goes_round_is_not_called_communication_alone() -> None:
    """Totals of all workers are alike, as every worker had the heavy share for a while."""
    rng = np.random.default_rng(8)
    runs = []
    for repeat, k in product(range(4), (1, 2, 4, 8, 16)):
        compute = rng.lognormal(0.0, 0.002, k)
        waiting = 0.4 * (k - 1) / k
        ranks = tuple(
            RankRecord(rank=i, seconds=1.0 + waiting, phases={"compute": own, "MPI": 1.0 + waiting - own})
            for i, own in enumerate(compute.tolist())
        )
        runs.append(Run(k=k, value=1.0 + waiting, repeat=repeat, ranks=ranks))

    result = diagnose(Study(regime=Regime.WEAK, runs=tuple(runs)))

    assert {"communication", "imbalance"} <= set(result.candidates)


def test_times_of_eleven_orders_of_magnitude_are_answered() -> None:
    runs = tuple(Run(k=k, value=seconds) for k, seconds in ((1, 10.0), (2, 64.0), (4, 1e-9)))

    answer = diagnose(Study(regime=Regime.STRONG, runs=runs))

    assert answer.to_dict()["causes"]


def spans(
    compute: Callable[[int, int], list[float]], *, regime: Regime, work: bool = False, slower: float = 0.0
) -> Study:
    """Steps that end in a barrier, recorded as totals; every repeat takes `slower` longer than the one before."""
    runs = []
    for repeat, k in product(range(5), (1, 2, 4, 8, 16)):
        rng = np.random.default_rng([repeat, k])
        factor = (1 + slower * repeat) * (1 + 0.003 * rng.standard_normal())
        steps = factor * np.array([compute(k, rank) for rank in range(k)])
        span = float(steps.max(axis=0).sum())
        ranks = tuple(
            RankRecord(
                rank=rank,
                seconds=span,
                work=1.0 if work else None,
                phases={"calc": float(own.sum()), "mpi": span - float(own.sum())},
            )
            for rank, own in enumerate(steps)
        )
        runs.append(Run(k=k, value=span, repeat=repeat, order=len(runs), ranks=ranks))
    return Study(regime=regime, k_unit="ranks", runs=tuple(runs))


def test_one_worker_whose_extra_grows_with_k_is_no_slow_host() -> None:
    """Under weak scaling rank 0 does something for every worker, and the work of all is counted alike."""
    study = spans(lambda k, rank: [1.0 + (0.1 * k if rank == 0 else 0.0)], regime=Regime.WEAK, work=True)

    assert "serial" in diagnose(study).candidates


def test_a_sure_loss_is_not_called_none_because_the_machine_drifts() -> None:
    study = spans(lambda k, rank: [1.0 / k * (1.13 if k > 1 else 1.0)], regime=Regime.STRONG, slower=0.03)

    assert diagnose(study).candidates[0] == "contention"


def test_a_heavy_share_that_lies_elsewhere_at_every_k_is_not_serial() -> None:
    def compute(k: int, rank: int) -> list[float]:
        heavy = 5 if k > 4 else k - 1
        return [(1.5 if k > 1 and rank == heavy else 1.0) / k * (1 + 0.03 * (k - 1))]

    assert "serial" not in diagnose(spans(compute, regime=Regime.STRONG)).candidates


def test_a_heavy_share_that_goes_round_within_fixed_work_may_be_imbalance() -> None:
    def compute(k: int, rank: int) -> list[float]:
        shares = [(3.7 if k > 1 and step % k == rank else 1.0) / (1 + 2.7 / k if k > 1 else 1.0) for step in range(16)]
        return [share / 16 for share in shares]

    assert "imbalance" in diagnose(spans(compute, regime=Regime.WEAK)).candidates


def test_blocks_with_more_neighbours_up_to_eight_may_be_communication() -> None:
    rng = np.random.default_rng(1)
    times = {
        k: ((1 / k + 0.07 * (k ** (-2 / 3) * min(1, np.log2(k) / 3))) * (1 + 0.01 * rng.standard_normal(10))).tolist()
        for k in (1, 2, 4, 8, 16, 32)
    }

    assert "communication" in diagnose(Study.from_samples(times, regime="strong")).candidates
