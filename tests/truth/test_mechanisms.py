"""Queues, pipelines and loads by another route: closed forms, simulation, published tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from scalecurve.errors import InputError
from scalecurve.laws import law, queueing
from scalecurve.laws.ceiling import ceiling, grown
from scalecurve.laws.formula import expected_largest, slowest
from scalecurve.laws.network import Level, Link, Network
from scalecurve.laws.roofline import Ceilings
from scalecurve.laws.stragglers import lognormal_maximum
from scalecurve.laws.tables import law_table
from scalecurve.mechanisms import (
    collective_cost,
    load_curve,
    place_kernels,
    replicas_needed,
    tail_latency,
    training_step_cost,
)
from scalecurve.mechanisms.network_extension import extend_sweep
from scalecurve.mechanisms.stragglers import delays_from, maximum, maximum_interval, order_statistic
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.study.message_sweep import MessageSweep, Timing
from scalecurve.training.answers.evaluation import TrainingJob, evaluate_jobs
from scalecurve.training.inputs.cluster import cluster_preset
from scalecurve.training.inputs.layout import Layout
from scalecurve.training.inputs.stack import calibration_of, read_stack
from scalecurve.training.inputs.transformer import model_preset
from scalecurve.training.physics.learning_rate import large_batches, needed_layer_wise
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


@pytest.mark.parametrize(
    ("operation", "factor"),
    [
        ("allreduce", 2 * 7 / 8),
        ("allgather", 7 / 8),
        ("reduce_scatter", 7 / 8),
        ("alltoall", 7 / 8),
        ("broadcast", 1.0),
    ],
)
def test_bus_bandwidths_are_those_of_nccl_tests(operation: str, factor: float) -> None:
    """nccl-tests, doc/PERFORMANCE.md: busbw = algbw times 2(n-1)/n, (n-1)/n or 1; algbw = bytes over seconds."""
    [row] = collective_cost(operation, vector=1e8, ranks=[8], network=Network(inter=Link.of(1e-6, 1e9))).rows

    assert row.bus_bandwidth == pytest.approx(factor * 1e8 / row.choice.seconds)


def test_the_terms_of_communication_are_found_again() -> None:
    """A ring moves 2(K-1)/K of the vector, so 10 ms for 1 MB at 200 MB/s, and 2(K-1) messages of 1 us."""
    network = Network(inter=Link.of(1e-6, 200e6))
    found = training_step_cost(vector=1e6, compute=1.0, ranks=[2**i for i in range(1, 9)], network=network)
    for row in found.rows:
        k, terms = row.workers, found.terms
        fitted = terms["constant"] + terms["log"] * math.log2(k) + terms["linear"] * k
        assert fitted == pytest.approx(row.communication, rel=0.35)
    alone = training_step_cost(vector=1e6, compute=1.0, ranks=[1], network=network)
    assert set(alone.terms.values()) == {0.0}
    assert alone.exceeds_at is None
    with pytest.raises(InputError, match="compute time"):
        training_step_cost(vector=1e6, compute=0.0, ranks=[1], network=network)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("root", {"serial": 0.02, "comm": 0.01}),
        ("linear-cost", {"coherency": 0.003}),
        ("amdahl", {"serial": 0.01}),
        ("logcomm", {"serial": 0.01, "comm": 0.002}),
    ],
)
def test_what_a_law_says_of_all_k_is_found_by_trying_them(name: str, values: dict[str, float]) -> None:
    efficiency = {k: law(name).efficiency(k, **values) for k in range(1, 600)}
    for below in (0.9, 0.5):
        first = next((k for k, e in efficiency.items() if e < below), None)
        if first is None:
            continue
        [case] = law_table(name, [1, 4, 16, 64, 256], regime="strong", below=below, **values).cases
        said = {answer.name: answer.value for answer in case.answers}
        assert said["first_k_below"] == first
        assert said["first_doubling_below"] == next(2**i for i in range(12) if 2**i >= first)
        listed = [1, 4, 16, 64, 256]
        pairs = [[a, b] for a, b in pairwise(listed) if a < first <= b]
        assert said["between"] == (pairs[0] if pairs else None)


def test_the_largest_speedup_at_a_doubling_is_found_by_trying_them() -> None:
    for name, values in (("root", {"serial": 0.02, "comm": 0.01}), ("linear-cost", {"coherency": 0.003})):
        speedups = {2**i: law(name).speedup(2**i, **values) for i in range(21)}
        [case] = law_table(name, None, **values).cases
        [answer] = [answer for answer in case.answers if answer.name == "limit"]
        best = max(speedups, key=lambda k: speedups[k])
        assert answer.value == pytest.approx(speedups[best])
        assert f"K = {best:,}" in answer.label
        assert ("still rising" in answer.label) is (best == 2**20)


@pytest.mark.parametrize("growth", ["log", "linear"])
def test_the_work_that_holds_an_efficiency_holds_it(growth: str) -> None:
    """E = useful/(useful + lost): put back into the definition."""
    exchange = math.log2 if growth == "log" else float
    table = law_table("isoefficiency", [2, 8, 32], serial=0.05, comm=0.01, hold=0.9, growth=growth)
    for row in table.cases[0].rows:
        work, paid = row.work or 0.0, 0.01 * exchange(row.k)
        assert row.efficiency == pytest.approx((work + 0.05) / (work + 0.05 + paid))
        assert row.efficiency == pytest.approx(0.9) if work else row.efficiency >= 0.9
    [answer] = law_table("isoefficiency", [2, 8], serial=0.05, comm=0.01, hold=1.0).cases[0].answers
    assert (answer.name, answer.value) == ("no_answer", [2, 8])
    with pytest.raises(InputError, match="hold"):
        law_table("isoefficiency", [2], serial=0.05, comm=0.01)


def test_the_knee_is_the_load_of_largest_power_and_is_said_to_lie_beyond_where_it_is_the_last() -> None:
    means = {10: 0.011, 40: 0.016, 70: 0.033, 90: 0.1}
    curve = load_curve([load(rate, rate, mean) for rate, mean in means.items()])
    power = {rate: point.throughput / point.mean for rate, point in zip(means, curve.points, strict=True)}

    assert curve.knee == max(power, key=lambda rate: power[rate]) == 40
    assert "knee-not-bracketed" not in {finding.code for finding in curve.findings}
    rising = load_curve([load(rate, rate, 0.01) for rate in (10, 40, 70)])
    assert rising.knee == 70
    assert "knee-not-bracketed" in {finding.code for finding in rising.findings}
    assert load_curve([load(10, 10, 0.01)]).knee is None


@pytest.mark.parametrize(("connections", "told"), [(5, False), (4, True), (6, False), (7, True)])
def test_littles_law_is_checked_against_the_connections(connections: int, told: bool) -> None:
    """50/s of 0.1 s each are 5 in flight: 25 % more than 4, 17 % less than 6, 29 % less than 7."""
    records = [replace(load(rate, rate, 0.1), connections=c) for rate, c in ((50, connections), (100, None))]

    assert ("little-violated" in {finding.code for finding in load_curve(records).findings}) is told


def test_collectives_grow_beyond_the_timed_ranks_as_the_model_says() -> None:
    """An all-reduce by lg p: 10 us more for each doubling; an all-to-all by p: 2 us more for each rank."""

    def at(operation: str, seconds: Callable[[int], float], ranks: int) -> float:
        timings = [
            Timing(operation=operation, ranks=p, message=m, seconds=seconds(p)) for p in (2, 8, 16) for m in (8.0, 64.0)
        ]
        sweep = MessageSweep(timings=(*timings, Timing(operation="barrier", ranks=2, message=8.0, seconds=1.0)))
        rows = extend_sweep(sweep, operation, [ranks]).rows
        assert [row.message for row in rows] == [8.0, 64.0]
        assert {row.extrapolation for row in rows} == {ranks / 16}
        return rows[0].seconds

    assert at("allreduce", lambda p: 1e-5 * math.log2(p), 64) == pytest.approx(6e-5)
    assert at("alltoall", lambda p: 2e-6 * p, 64) == pytest.approx(128e-6)
    assert at("allreduce", lambda p: 1e-5, 64) == pytest.approx(1e-5)
    assert at("alltoall", lambda p: 1e-5 * (17 - p), 64) == pytest.approx(1e-5)  # no time shrinks with more ranks
    one = MessageSweep(timings=(Timing(operation="allreduce", ranks=2, message=8.0, seconds=1.0),))
    with pytest.raises(InputError, match="two rank counts"):
        extend_sweep(one, "allreduce", 8)


def test_backup_workers_of_own_samples_against_simulation() -> None:
    """A step ends when 8 of 10 are done: the 8th smallest of ten draws with replacement."""
    samples = np.random.default_rng(5).gamma(2.0, 1.0, 500)
    draws = np.sort(np.random.default_rng(6).choice(samples, (40_000, 10)), axis=1)[:, 7]

    assert order_statistic(delays_from(samples), 8, 2) == pytest.approx(draws.mean(), rel=0.01)
    assert order_statistic(delays_from(samples), 8, 0) > order_statistic(delays_from(samples), 8, 2)


def test_hedged_requests_against_simulation() -> None:
    """Asked again after the p90: the first answer counts; a fan-out of 20 waits for the slowest of 20."""
    samples = np.random.default_rng(7).lognormal(0.0, 1.0, 50_000)
    record = LatencyRecord(name="leaf", histogram=Histogram.of(samples), seconds=100.0)
    found = tail_latency(record, fan_out=[1, 20], hedge_after=0.9)
    rng, after = np.random.default_rng(8), float(np.quantile(samples, 0.9))
    first, second = rng.choice(samples, 400_000), rng.choice(samples, 400_000)
    hedged = np.minimum(first, after + second)
    slowest = rng.choice(samples, (40_000, 20)).max(axis=1)

    assert found.extra_load == pytest.approx(0.1, abs=0.002)
    for row in found.hedged:
        if row.share <= 0.99:
            assert row.plain == pytest.approx(np.quantile(first, row.share), rel=0.03)
            assert row.hedged == pytest.approx(np.quantile(hedged, row.share), rel=0.03)
    twenty = found.fan_out[1]
    assert twenty.any_slow == pytest.approx(1 - 0.99**20)
    assert twenty.p50 == pytest.approx(np.median(slowest), rel=0.03)


def test_the_slowest_of_arrays_is_that_of_each_number() -> None:
    k, spread = np.array([1.0, 8.0, 64.0]), np.array([0.1, 0.3, 0.5])

    assert slowest(k, spread) == pytest.approx([lognormal_maximum(a, b) for a, b in zip(k, spread, strict=True)])


def test_the_ceiling_of_training_by_hand() -> None:
    """8 B parameters, a critical batch of 4 Mi tokens: 512 replicas of one sequence of 8,192; at P = 64 they are split
    as memory asks for, 1 + 18 x 8e9/(8 x 0.7 x 80e9) = 1.3214."""
    found = ceiling(N=8e9, critical=2**22, P=64.0)

    assert found["replicas"] == 512
    assert found["least_split"] == pytest.approx(1.32143, rel=1e-4)
    assert found["cap"] == pytest.approx(512 * 1.32143, rel=1e-4)
    assert found["useful"] == pytest.approx(0.5)  # a batch as large as the critical one wastes half
    flops = 6 * 8e9 * 20 * 8e9
    assert found["seconds"] == pytest.approx(flops / (64 * 0.6 * 989e12 * found["compute"] * 0.5))
    assert found["usd"] == pytest.approx(found["seconds"] * 64 * 2.5 / 3600)
    assert ceiling(N=8e9, critical=2**22, P=found["smallest"])["efficiency"] == pytest.approx(1.0)
    larger = grown(N=8e9, critical=2**22, P=4 * found["smallest"])
    assert larger["efficiency"] > ceiling(N=8e9, critical=2**22, P=4 * found["smallest"])["efficiency"]


def test_a_batch_of_the_largest_published_plain_run_needs_no_other_optimiser() -> None:
    largest = max(run["tokens"] for run in large_batches().values() if "tokens" in run and not run["layer_wise"])

    assert "no layer-wise optimiser is needed" in needed_layer_wise(largest)
    assert "no published run is as large" in needed_layer_wise(1.001 * largest)


def test_the_interval_of_the_slowest_of_own_samples_is_not_much_wider_than_it_varies() -> None:
    """How E[max of 100] varies over samples of 2,000 exponential steps, and the intervals of six of them."""
    samples = [1 + np.random.default_rng(seed).exponential(1.0, 2000) for seed in range(200)]
    spread = np.std([maximum(delays_from(own), 100) / own.mean() for own in samples])
    drawn = [maximum_interval(delays_from(own), 100, np.random.default_rng(1)) for own in samples[:6]]
    widths = [interval[1] - interval[0] for interval in drawn if interval is not None]

    assert len(widths) == 6
    assert 2 * 1.96 * spread < np.mean(widths) < 1.55 * 2 * 1.96 * spread


def test_machine_numbers_are_written_as_people_do() -> None:
    def ridge(peak: float) -> str:
        return str(place_kernels(machine=Ceilings(peak=peak, bandwidths={"memory": 1e9})))

    assert "ridge 999 flop/byte" in ridge(999e9)
    assert "ridge 1,000 flop/byte" in ridge(1000e9)
    assert "ridge 999,999 flop/byte" in ridge(999_999e9)
    assert "ridge 1e+06 flop/byte" in ridge(1e15)


def test_hybrid_sharding_reduces_a_shard_of_the_gradients_over_the_replicas() -> None:
    """8 B gradients in 2 or 4 bytes; 8 ranks of a node share them, 8 nodes hold replicas: 2 x 7/8 of an eighth each."""
    cluster, stack = cluster_preset("h100"), read_stack("torchtitan")
    model = replace(model_preset("llama3-8b"), seq=4096)

    def data_seconds(dp: int) -> float:
        job = TrainingJob(model=model, cluster=cluster, stack=stack, layout=Layout(dp=dp, zero=3, shard=8), seq=4096)
        [one] = evaluate_jobs([job], calibration_of(cluster.accelerator, stack))
        return float(one.breakdown["data"])

    between = data_seconds(64) - data_seconds(8)
    wire = 2 * 7 / 8 * stack.gradient_bytes * 8e9 / 8 / cluster.accelerator.outer_rate
    assert wire / 4 < between < 4 * wire  # what is hidden behind compute, and what a network reaches


def test_one_odd_size_does_not_change_how_its_neighbours_grow() -> None:
    """Five sizes whose time grows by a half with a doubling of the ranks, one of them tenfold."""
    times = {
        (m, p): 1e-5 * (1 if p == 8 else 10 if m == 4.0 else 1.5) for m in (1.0, 2.0, 4.0, 8.0, 16.0) for p in (8, 16)
    }
    timings = tuple(Timing(operation="allreduce", ranks=p, message=m, seconds=t) for (m, p), t in times.items())
    rows = extend_sweep(MessageSweep(timings=timings), "allreduce", [32]).rows

    assert [row.seconds for row in rows if row.message != 4.0] == pytest.approx([2e-5] * 4)


def test_an_idle_replica_takes_some_time() -> None:
    for wrong in ({"service": 0.0}, {"slo": 0.0}, {"slo_share": 1.0}, {"slo_share": 0.0}):
        with pytest.raises(InputError, match="positive times"):
            replicas_needed(**{"rate": 10.0, "service": 0.1, "slo": 1.0, "slo_share": 0.99} | wrong)


@pytest.mark.parametrize("share", [0.9, 0.99])
def test_the_fewest_servers_are_those_of_a_count_from_the_least(share: float) -> None:
    limits = [-math.log1p(-share) * factor for factor in (1.01, 1.1, 1.5)]  # of a service that takes 1 s
    for rate, limit in itertools.product((0.3, 4, 17, 60, 333), limits):
        every = itertools.count(math.floor(rate) + 1)
        least = next(c for c in every if (queueing.mmc_response_tail(limit, rate, 1.0, c) or 0.0) <= 1 - share)
        assert queueing.servers_for(limit, share, rate, 1.0) == least


def test_the_expected_largest_of_two_normal_draws() -> None:
    """1/sqrt(pi) in closed form; Blom's formula is within 5 %, and one draw has mean 0."""
    assert expected_largest(np.array([1.0, 2.0])) == pytest.approx([0.0, 1 / math.sqrt(math.pi)], rel=0.05)


def test_the_first_k_below_may_be_two() -> None:
    """T(K)/T(1) = 1 + (K - 1): E(2) = 1/2 under fixed work of a worker, E(1) = 1."""
    law_of_two = law("linear-cost")
    first = next(k for k in range(1, 10) if law_of_two.efficiency(k, coherency=1.0) < 0.6)
    [answer] = [
        one
        for one in law_table("linear-cost", None, coherency=1.0, below=0.6).cases[0].answers
        if "first_k" in one.name
    ]

    assert answer.value == first == 2
