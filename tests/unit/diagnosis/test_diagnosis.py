"""The diagnosis on studies whose cause is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bench import clock_simulator
from bench.bsp_simulator import DESIGN, MECHANISMS, Program, draw
from bench.bsp_simulator import simulate as measure
from bench.simulated_studies import CAUSES, Truth, simulate
from scalecurve.diagnosis import Diagnosis, diagnose
from scalecurve.errors import InputError
from scalecurve.findings import warning
from scalecurve.fitting.fit import fit
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
    assert cause in result.stated or result.cause == "undetermined"


@pytest.mark.parametrize(
    ("cause", "also"), [("communication", "jitter"), ("contention", "repeated-work"), ("serial", "")]
)
def test_totals_of_phases_name_the_cause_first_and_at_most_one_beside_it(cause: str, also: str) -> None:
    """Noise at barriers hides in totals of collectives, and work done again in compute that was not counted."""
    result = diagnose(simulate(CLEAR[cause], np.random.default_rng(4), detail="phases"))

    assert result.candidates[0] == cause
    assert set(result.candidates) <= {cause, also}


@pytest.mark.parametrize("cause", ["straggler", "imbalance"])
def test_phases_without_work_tell_waiting_but_not_for_what(cause: str) -> None:
    result = diagnose(simulate(CLEAR[cause], np.random.default_rng(4), detail="phases"))

    assert cause in result.candidates
    assert set(result.candidates) <= {"straggler", "jitter", "imbalance", "communication"}


def test_a_serial_part_and_contention_cannot_be_told_apart_from_times_alone() -> None:
    result = diagnose(simulate(CLEAR["serial"], np.random.default_rng(4), detail="samples"))

    assert len(result.stated) != 1
    assert "serial" in result.candidates


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


def test_the_reference_study_bends_by_communication_then_serial_work() -> None:
    """T = 1/K + 0.04 (1 - 1/K) + 0.01 log2 K with 2 % noise: `fit` finds both terms; noise at barriers draws it too."""
    result = diagnose(strong_study())

    assert (result.cause, result.second) == ("communication", "serial")
    assert result.answer.decision.startswith("Communication, probably (")
    assert "then serial" in result.answer.decision
    assert "straggler" not in result.candidates
    assert result.separate_by is not None
    assert "barrier" in result.separate_by
    assert "straggler-noise" not in codes(result)
    fitted = {name: found.value for name, found in fit(strong_study())["logcomm"].parameters.items()}
    shares = {one.name: one.share for one in result.causes}
    of_log, constant = 6 * fitted["comm"], fitted["serial"] * 63 / 64
    said = re.search(r"with every doubling \((\d+)%\)", result.evidence[0])
    assert said is not None
    assert int(said[1]) == pytest.approx(100 * of_log / (of_log + constant), abs=2)
    assert (
        shares["communication"] > shares["serial"] > max(shares[name] for name in ("other", "straggler", "contention"))
    )


def curve(time: Callable[[int], float], unit: str, workers: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)) -> Study:
    """Five runs at each K with 1 % noise."""
    rng = np.random.default_rng(8)
    samples = {k: (time(k) * rng.lognormal(0.0, 0.01, 5)).tolist() for k in workers}
    return Study.from_samples(samples, regime="strong", k_unit=unit)


@pytest.mark.parametrize("full", [4.0, 5.0, 6.3])
def test_threads_that_fill_the_memory_between_two_measured_k_contend(full: float) -> None:
    found = diagnose(curve(lambda k: 100 * max(1 / k, 1 / full), "threads", (1, 2, 4, 8, 16, 32)))

    assert (found.cause, found.reason) == ("contention", None)


def test_a_node_that_costs_a_step_and_more_with_every_doubling_is_communication() -> None:
    found = diagnose(curve(lambda k: 100 * (1 / k + (0.03 + 0.01 * np.log2(k)) * (k > 8)), "ranks"))

    assert (found.cause, found.reason) == ("communication", None)


def test_what_would_be_messages_between_processes_is_contention_between_threads() -> None:
    """Gunther's coherency: the same curve is messages to every worker where the workers are processes."""

    def time(k: int) -> float:
        return 100 * (1 + 0.05 * (k - 1) + 0.002 * k * (k - 1)) / k

    assert diagnose(curve(time, "threads")).cause == "contention"
    assert "communication" in diagnose(curve(time, "ranks")).candidates


def test_one_slow_k_is_measured_again_before_a_cause_is_named() -> None:
    found = diagnose(curve(lambda k: 100 * (0.03 + 0.97 / k) * (1.8 if k == 16 else 1.0), "ranks"))

    assert (found.cause, found.reason) == ("undetermined", "lack of fit")
    assert found.answer.decision.startswith("No cause named: K = 16 is slower")
    assert found.answer.next == "measure K = 16 again, and look for what differed there"


def test_cores_of_more_than_a_machine_send_messages() -> None:
    found = diagnose(curve(lambda k: 100 * (1 / k + 0.001 * np.log2(k)), "cores", (1, 4, 16, 64, 256, 1024)))

    assert found.cause == "communication"


def test_clients_of_a_server_queue_for_what_they_share() -> None:
    found = diagnose(curve(lambda k: (1 + 0.08 * (k - 1) + 0.0004 * k * (k - 1)) / k, "clients"))

    assert set(found.candidates) <= {"contention", "serial"}


@pytest.mark.parametrize("seed", range(4))
def test_slow_runs_in_the_reference_study_widen_the_band_and_leave_the_answer(seed: int) -> None:
    result = diagnose(slowest_inflated(np.random.default_rng(seed)))

    assert "communication" in result.candidates
    noise = next(finding for finding in result.findings if finding.code == "straggler-noise")
    assert noise.evidence["spread_with"] > 3 * noise.evidence["spread_without"]


@pytest.mark.parametrize("draw", ["lognormal", "normal"])
def test_the_slowest_of_k_draws_without_communication_may_be_waiting(draw: str) -> None:
    rng = np.random.default_rng(0)
    draws: dict[str, Callable[[int], np.ndarray]] = {
        "lognormal": lambda k: rng.lognormal(-0.045, 0.3, size=(5, k)),
        "normal": lambda k: np.abs(rng.normal(1.0, 0.2, size=(5, k))),
    }
    samples = {k: (draws[draw](k).max(axis=1) / k).tolist() for k in WORKERS}

    waiting = {"straggler", "jitter", "imbalance"}
    assert waiting & set(diagnose(Study.from_samples(samples, regime="strong")).candidates)


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
    assert shares["serial"] < 0.05


def times_only(samples: dict[int, list[float]]) -> Diagnosis:
    return diagnose(Study.from_samples(samples, regime="strong", name="job"))


@pytest.mark.parametrize("last", [1e-6, 1.0])
def test_superlinear_times_have_no_cause(last: float) -> None:
    middle = {1e-6: {1: [1e6], 2: [1.0], 4: [1e-3]}, 1.0: {1: [10.0], 2: [4.5], 4: [2.1]}}[last]
    found = times_only({**middle, 8: [last]})

    assert found.cause == "none"
    assert "superlinear" in codes(found)
    assert all(row.shares["none"] == pytest.approx(1) for row in found.by_k)


def test_wild_times_have_no_sure_cause() -> None:
    wild = np.random.default_rng(2).lognormal(0.0, 1.2, size=(5, 5))
    found = times_only({k: (10.0 / k * row).tolist() for k, row in zip((1, 2, 4, 8, 16), wild, strict=True)})

    assert found.cause in ("none", "undetermined")
    assert sum(cause.probability for cause in found.causes) == pytest.approx(1)


@pytest.mark.parametrize("code", ["disturbed", "oversubscribed", "singletons"])
def test_a_disturbed_measurement_has_no_cause(code: str) -> None:
    study = simulate(CLEAR["communication"], np.random.default_rng(4))
    result = diagnose(replace(study, findings=(warning(code, "something else ran"),)))

    assert (result.cause, result.reason) == ("undetermined", "disturbed")
    assert result.answer.decision.startswith("No cause named: ")
    assert set(CAUSES) < set(result.candidates)
    assert "measure again" in result.remedy


def test_a_disturbance_is_said_with_its_size() -> None:
    study = Study.from_samples({1: [1.0], 2: [0.9]}, regime="strong")
    busy = replace(study, findings=(warning("disturbed", "something else ran", foreign_cores=1.6),))
    assert diagnose(busy).answer.decision == "No cause named: other programs used 1.6 of your cores."


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
    right = {"straggler", "jitter"} if name == "rare-delays" else {MECHANISMS[name]}
    assert right & set(result.candidates)
    assert recording == "mpi" or "communication" not in result.candidates


@pytest.mark.parametrize("name", ["barrier-noise", "rare-delays", "saturation", "halo-3d", "log", "launch"])
def test_times_alone_keep_the_true_cause_in_the_set(name: str) -> None:
    assert MECHANISMS[name] in diagnose(measure(program(name), "times")).candidates


@pytest.mark.parametrize("name", ["log", "halo-2d", "ring"])
def test_steps_tell_transfer_from_waiting(name: str) -> None:
    result = diagnose(measure(program(name), "steps"))

    last = result.by_k[-1].pop
    assert result.candidates == ("communication",)
    assert last is not None
    assert last.transfer_efficiency is not None
    assert last.serialisation_efficiency is not None
    assert last.transfer_efficiency < last.serialisation_efficiency
    assert last.communication_efficiency == pytest.approx(last.transfer_efficiency * last.serialisation_efficiency)


def test_a_mixture_has_shares() -> None:
    mixed = replace(program("log"), sizes={"log": 1.0, "contention-log": 0.8})
    result = diagnose(measure(mixed, "barrier"))

    shares = {cause.name: cause.share for cause in result.causes}
    assert shares["communication"] == pytest.approx(1.0 / 1.8, abs=0.12)


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

    assert "other" in diagnose(recorded(phases)).candidates


def test_a_pipeline_that_fills_is_not_called_communication_alone() -> None:
    def phases(k: int, rank: int) -> dict[str, list[float]]:
        return {"compute": [10.0 / k] * 5, "send_recv": [10.0 / k * (k - 1) / 8] * 5}

    assert diagnose(recorded(phases, by_step=True)).candidates[0] == "other"


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


def training(*, collectives: float, k_unit: str = "hosts") -> Study:
    """Compute and a named all-reduce, recorded step by step with counted work: nothing else is lost."""
    runs = []
    for repeat, k in product(range(3), (1, 2, 4, 8)):
        own = np.random.default_rng([repeat, k]).lognormal(0.0, 0.02, (10, k)) * 0.1 / k
        inside = own.max(axis=1, keepdims=True) - own + (collectives if k > 1 else 0.0)
        steps = [{"compute": tuple(own[:, i]), "all_reduce": tuple(inside[:, i])} for i in range(k)]
        ranks = tuple(
            RankRecord(
                rank=i,
                host=f"h{i}",
                work=10.0 / k,
                phases={name: float(np.sum(values)) for name, values in of_rank.items()},
                step_phases=of_rank,
            )
            for i, of_rank in enumerate(steps)
        )
        runs.append(Run(k=k, value=max(sum(rank.phases.values()) for rank in ranks), repeat=repeat, ranks=ranks))
    return Study(regime=Regime.STRONG, k_unit=k_unit, runs=tuple(runs))


def test_time_in_collectives_is_counted_and_named() -> None:
    """0.0125 s of compute and 0.02 s in the collective: a little over 60 % of worker time."""
    result = diagnose(training(collectives=0.02))

    assert result.cause == "communication"
    assert result.answer.decision.startswith("All-reduce takes 61 % of worker time at 8 hosts")
    share, low, high = result.by_k[-1].worker_time["collectives"]
    assert low <= 0.02 / 0.0327 <= high + 0.01
    assert share == pytest.approx(0.61, abs=0.02)


def test_an_advised_measurement_moves_the_answer_and_is_not_advised_again() -> None:
    curve = {k: [1 / k + 0.03] * 3 for k in (1, 2, 4, 8)}
    study = Study.from_samples(curve, regime="strong", k_unit="ranks")
    quick = Study.from_samples({1: [1.03], 8: [1 / 8 + 0.002]}, regime="strong")
    network = Study.from_samples({2: [0.001], 8: [0.029]}, regime="strong")

    before, spread, messages = (
        diagnose(study, extended_by=own) for own in ({}, {"spread": quick}, {"network": network})
    )

    def chance(result: Diagnosis, name: str) -> float:
        return next(cause.probability for cause in result.causes if cause.name == name)

    assert chance(spread, "contention") > 2 * chance(before, "contention")
    assert chance(messages, "communication") > chance(before, "communication")
    assert "spread=FILE" not in spread.remedy
    assert "network=FILE" not in messages.remedy
    with pytest.raises(InputError, match="unknown kind"):
        diagnose(study, extended_by={"guess": quick})


def sampled(states: Callable[[int], dict[str, float]]) -> Study:
    runs = []
    for repeat, k in product(range(3), (1, 2, 4, 8)):
        own = states(k)
        runs.append(Run(k=k, value=own.pop("value"), repeat=repeat, threads=own | {"samples": 100, "threads": k}))
    return Study(regime=Regime.STRONG, k_unit="threads", runs=tuple(runs))


def test_threads_that_sleep_while_one_runs_are_serial_work_and_threads_that_run_longer_contention() -> None:
    """Amdahl with s = 0.2: all threads but one sleep for 0.2 s. A saturated memory: all run, and none gets on."""

    def serial(k: int) -> dict[str, float]:
        return {
            "value": 0.2 + 0.8 / k,
            "running": 1.0,
            "runnable": 0.0,
            "blocked_io": 0.0,
            "alone": 0.2 if k > 1 else 1.0,
        }

    def memory(k: int) -> dict[str, float]:
        seconds = max(1 / k, 0.45)
        return {"value": seconds, "running": k * seconds, "runnable": 0.0, "blocked_io": 0.0, "alone": 0.0}

    assert diagnose(sampled(serial)).candidates[0] == "serial"
    assert diagnose(sampled(memory)).candidates[0] == "contention"


def test_threads_that_wait_for_cores_leave_no_cause_to_name() -> None:
    def starved(k: int) -> dict[str, float]:
        return {"value": 1 / k + 0.2, "running": 1.0, "runnable": 0.2 * k, "blocked_io": 0.0}

    result = diagnose(sampled(starved))

    assert result.reason == "disturbed"
    assert "waited for a core" in result.answer.decision


def two_threads(span: float, *, longest: float, alone: float, waited: float = 0.0) -> Study:
    """One second of work of one process, which two threads share in `span` seconds."""
    runs = []
    for k, repeat in product((1, 2), range(4)):
        facts = {"samples": 50.0, "threads": float(k), "running": 1.0}
        facts |= {"longest": longest, "alone": alone, "runnable": waited} if k > 1 else {"longest": 1.0, "alone": 1.0}
        value = (span if k > 1 else 1.0) * (1 + 0.001 * repeat)
        runs.append(Run(k=k, value=value, repeat=repeat, threads=facts, observed={"affinity": [[0, 1]], "threads": k}))
    return Study(regime=Regime.STRONG, k_unit="workers", runs=tuple(runs))


def test_threads_of_one_process_lose_nothing_to_messages() -> None:
    found = diagnose(two_threads(0.6, longest=0.5, alone=0.0))

    assert {one.name: one.probability for one in found.causes}["communication"] == 0.0


def test_threads_that_take_turns_wait_for_a_lock_and_one_that_runs_longer_has_more_work() -> None:
    """Half of the work under one lock: the two take turns for 0.25 s each and run alike.  Three quarters of the work in
    one share: that thread runs on alone."""
    assert diagnose(two_threads(0.75, longest=0.5, alone=0.5)).cause == "serial"
    assert diagnose(two_threads(0.75, longest=0.75, alone=0.5)).candidates[0] == "imbalance"


def test_waiting_for_cores_is_no_loss_of_a_job_with_a_thread_for_each_worker() -> None:
    found = diagnose(two_threads(0.55, longest=0.5, alone=0.0, waited=0.1))

    assert found.cause == "none"
    assert "the waiting for cores (9% of worker time)" in found.sentence


@pytest.mark.parametrize(
    ("cause", "seconds"),
    [
        ("serial", lambda k: 0.1 + 0.9 / k),
        ("communication", lambda k: 1 / k + 0.01 * np.log2(k)),
        ("communication", lambda k: 1 / k + 0.003 * (k - 1)),
        ("imbalance", lambda k: (1.5 if k > 1 else 1.0) / k),
    ],
)
def test_times_that_follow_one_law_lead_with_the_cause_that_the_law_stands_for(
    cause: str, seconds: Callable[[int], float]
) -> None:
    rng = np.random.default_rng(0)
    curve = {k: (seconds(k) * np.exp(0.01 * rng.standard_normal(5))).tolist() for k in WORKERS}

    assert diagnose(Study.from_samples(curve, regime="strong")).candidates[0] == cause


def busy_machine(*, waiting: float, idle: float) -> Study:
    """Two workers of which one alone runs `idle` of the time, beside programs that make threads wait for cores."""
    runs = []
    for k, repeat in product((1, 2), range(3)):
        quiet = 1.0 if k == 1 else 1.0 / (2.0 * (1.0 - idle) + idle)
        span = quiet / (1.0 - waiting)
        states = {"running": 1.0, "runnable": waiting / (1.0 - waiting), "alone": span * (idle if k > 1 else 1.0)}
        facts = {"samples": 50.0, "threads": float(k)} | states
        runs.append(
            Run(k=k, value=span * (1 + 0.01 * repeat), repeat=repeat, threads=facts, observed={"disturbed": True})
        )
    others = warning("disturbed", "others used 1.0 cores", k=[1, 2])
    return Study(regime=Regime.STRONG, k_unit="workers", runs=tuple(runs), findings=(others,))


@pytest.mark.parametrize("waiting", [0.05, 0.2])
def test_a_busy_machine_leaves_a_cause_to_name_where_the_threads_hardly_waited(waiting: float) -> None:
    result = diagnose(busy_machine(waiting=waiting, idle=0.9))

    assert (result.cause, result.reason) == ("serial", None)
    assert "runs alone" in str(result.counted)


def test_a_busy_machine_where_the_threads_waited_most_of_the_time_leaves_none() -> None:
    result = diagnose(busy_machine(waiting=0.8, idle=0.1))

    assert (result.cause, result.reason) == ("undetermined", "disturbed")


def test_a_curve_without_a_loss_is_not_called_a_cause() -> None:
    text = diagnose({k: [100 / k, 100.2 / k, 99.9 / k] for k in (1, 2, 4, 8, 16)}).answer.confidence

    assert str(text).startswith("That nothing is lost has probability ")


@pytest.mark.parametrize("seed", range(4))
def test_a_slow_host_of_four_ranks_is_a_straggler_also_where_no_work_was_counted(seed: int) -> None:
    program = replace(clock_simulator.draw(np.random.default_rng(seed)), kind="slow host", loss=0.5, workers=WORKERS)
    found = diagnose(clock_simulator.simulate(program, "barrier"))

    assert "straggler" in found.candidates
