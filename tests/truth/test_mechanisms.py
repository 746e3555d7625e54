"""Queues, pipelines and loads by another route: closed forms, simulation, published tables."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from scalecurve.laws import queueing
from scalecurve.laws.formula import expected_largest
from scalecurve.laws.network import Level, Link, Network
from scalecurve.laws.tables import law_table
from scalecurve.mechanisms import collective_cost, load_curve, training_step_cost
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.training.physics.steptime import Schedule, bubble_passes


def load(rate: float, finished: float, mean: float, *, open_loop: bool = True) -> LatencyRecord:
    """A load of 100 s whose latencies are exponential by quantile: their squared variation is 1 in the limit."""
    n = round(100 * finished)
    samples = -mean * np.log(1 - (np.arange(n) + 0.5) / n)
    return LatencyRecord(
        name=f"{rate:g}", histogram=Histogram.of(samples), seconds=100.0, intended_rate=rate, open_loop=open_loop
    )


@pytest.mark.parametrize(("finished", "saturated"), [(97, False), (95.5, False), (94.5, True), (80, True)])
def test_a_server_is_saturated_below_95_of_100_finished(finished: float, saturated: bool) -> None:
    curve = load_curve([load(50, 50, 0.02), load(100, finished, 0.5)])
    said = [finding for finding in curve.findings if finding.code == "saturated"]

    assert bool(said) is saturated
    assert all(finding.evidence["offered"] == 100 for finding in said)


def test_regular_arrivals_wait_half_as_long_as_random_ones() -> None:
    """Allen-Cunneen: W = S + (ca^2 + cs^2)/2 W(M/M/c); sent at a constant rate ca = 0, by clients that wait ca = 1."""
    for open_loop, factor in ((True, 0.5), (False, 1.0)):
        records = [load(rate, rate, 1 / (100 - rate), open_loop=open_loop) for rate in (10, 50, 80)]
        curve = load_curve(records)
        service = curve.service_seconds
        assert service == pytest.approx(0.01, rel=0.06)
        assert curve.servers == 1
        assert service is not None
        for point, rate in zip(curve.points, (10, 50, 80), strict=True):
            waiting = service * (rate * service) / (1 - rate * service)  # M/M/1
            assert point.mmc == pytest.approx(service + waiting)
            assert point.kingman == pytest.approx(service + factor * waiting, rel=0.03)


@pytest.mark.parametrize(("rate", "servers"), [(0.5, 1), (1.2, 2), (6.0, 8)])
def test_a_queue_of_several_servers_against_simulation(rate: float, servers: int) -> None:
    rng, n = np.random.default_rng(2), 100_000
    arrivals, work = np.cumsum(rng.exponential(1 / rate, n)), rng.exponential(1.0, n)
    free, response = [0.0] * servers, np.empty(n)
    for i, (at, need) in enumerate(zip(arrivals.tolist(), work.tolist(), strict=True)):
        first = min(range(servers), key=free.__getitem__)
        free[first] = max(free[first], at) + need
        response[i] = free[first] - at
    response = response[n // 20 :]

    assert queueing.mmc_response(rate, 1.0, servers) == pytest.approx(response.mean(), rel=0.05)
    assert queueing.mmc_response_tail(3.0, rate, 1.0, servers) == pytest.approx(np.mean(response > 3.0), abs=0.012)


def test_a_queue_is_unstable_from_full_load_on() -> None:
    assert queueing.mmc_response(1.999, 1.0, 2) == pytest.approx(1 / (1 - 0.9995**2), rel=1e-3)
    assert queueing.mmc_response(2.0, 1.0, 2) is None
    assert queueing.mmc_response(2.001, 1.0, 2) is None


@pytest.mark.parametrize("stages", [2, 4, 8, 16])
def test_the_bubbles_of_the_schedules_are_the_published_ones(stages: int) -> None:
    """DeepSeek-V3 (arXiv 2412.19437), table 2, with a forward F = 1, a backward B = 2 of which W = 1 is by weights:

    1F1B (PP - 1)(F + B); ZB1P (PP - 1)(F + B - 2 W); DualPipe (PP/2 - 1)(F&B + B - 3 W), with F&B = F + B.
    """
    forward, backward, weights = 1.0, 2.0, 1.0
    together = forward + backward
    published = {
        Schedule.ONE_F_ONE_B: (stages - 1) * together,
        Schedule.ZERO_BUBBLE: (stages - 1) * (together - 2 * weights),
        Schedule.DUALPIPE: (stages / 2 - 1) * (together + backward - 3 * weights),
    }
    for schedule, bubble in published.items():
        grid = SimpleNamespace(pp=np.array([float(stages)]), schedule=np.array([float(schedule)]))
        assert together * bubble_passes(grid) == pytest.approx([bubble])  # type: ignore[arg-type]


@pytest.mark.parametrize(("adapters", "users"), [(8, 1.0), (16, 1.0), (4, 2.0), (1, 8.0), (None, 1.0)])
def test_eight_ranks_of_a_node_share_its_adapters(adapters: int | None, users: float) -> None:
    """A byte outside takes `users` times as long where so many rails meet at an adapter, and never less than one."""
    network = Network(inter=Link.of(1e-6, 1e9), intra=Link.of(1e-7, 1e11), per_node=8, adapters=adapters)

    assert network.wire(Level.INTER, 64, rails=True).seconds(1e6) == pytest.approx(1e-6 + users * 1e-3)
    assert network.wire(Level.INTER, 64, rails=False).seconds(1e6) == pytest.approx(1e-6 + 1e-3)
    assert network.wire(Level.INTER, 8, rails=True).seconds(1e6) == pytest.approx(1e-7 + 1e-5)  # inside the node


@pytest.mark.parametrize("ranks", [(1, 512), (1, 2, 512), (1, 4, 16, 512)])
def test_the_k_at_which_communication_exceeds_compute_is_found_between_the_listed_ones(ranks: tuple[int, ...]) -> None:
    """Brute force over every K, whichever were listed."""
    network = Network(inter=Link.of(5e-6, 1e9))
    every = training_step_cost(vector=1e6, compute=0.3, ranks=range(1, 513), network=network)
    first = next(row.workers for row in every.rows if row.communication > row.compute)

    assert 16 < first < 512
    assert training_step_cost(vector=1e6, compute=0.3, ranks=ranks, network=network).exceeds_at == first


@pytest.mark.parametrize(("per_node", "ranks", "told"), [(2, 3, True), (2, 4, False), (8, 12, True), (8, 4, False)])
def test_ranks_that_leave_a_node_half_empty_are_told(per_node: int, ranks: int, told: bool) -> None:
    network = Network(inter=Link.of(1e-6, 1e9), intra=Link.of(1e-7, 1e11), per_node=per_node)
    cost = collective_cost("allreduce", vector=1e6, ranks=[ranks], network=network)

    assert any(finding.code == "nodes-not-filled" for finding in cost.findings) is told


def test_answers_of_laws_by_hand() -> None:
    """Amdahl with s = 5 %: S(64) = 1/(0.05 + 0.95/64) = 15.42 of at most 20; a tree of c = 1 %: ln 2/c = 69.3."""

    def answers(name: str, **parameters: float) -> dict[str, tuple[object, str]]:
        table = law_table(name, workers="1..64", **parameters)
        return {answer.name: (answer.value, answer.text) for case in table.cases for answer in case.answers}

    assert answers("amdahl", serial=0.05)["share_of_ceiling"] == (pytest.approx(15.4217 / 20, rel=1e-4), "77.1%")
    assert "share_of_ceiling" not in answers("amdahl", serial=0.0)
    best = answers("logcomm", serial=0.0, comm=0.01)["optimum_closed_form"]
    assert best == (pytest.approx(69.3147, rel=1e-4), "69.31")


@pytest.mark.parametrize(("k", "largest"), [(5, 1.16296), (10, 1.53875), (100, 2.50759)])
def test_the_largest_of_k_normal_draws_is_the_tabulated_one(k: int, largest: float) -> None:
    """H. L. Harter (1961), expected values of normal order statistics."""
    assert float(expected_largest(float(k))) == pytest.approx(largest, rel=0.015)
