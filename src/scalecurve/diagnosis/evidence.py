"""The numbers behind a diagnosis, in sentences, and what its reader must know besides."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from scalecurve.analysis.summary import summarise
from scalecurve.diagnosis.accounting import Split, useful_seconds
from scalecurve.diagnosis.causes import CONTENTION, IMBALANCE, NONE, SERIAL, UNDETERMINED
from scalecurve.diagnosis.from_times import ShapeVerdict, seconds_by_k
from scalecurve.diagnosis.phases import Account
from scalecurve.findings import Finding, info, warning
from scalecurve.laws.karp_flatt import serial_fraction
from scalecurve.study import Regime, Study
from scalecurve.study.samples import Samples
from scalecurve.units import format_seconds

FEW_REPEATS = 3


def shape_evidence(study: Study, verdict: ShapeVerdict) -> tuple[str, ...]:
    best = f"The shape that fits best: {verdict.likeliest_model}."
    believed = (best,) if verdict.chances[NONE] < 0.5 or verdict.likeliest_model == "no loss" else ()
    return (*_karp_flatt(study), *_spreads(study), *believed)


def _karp_flatt(study: Study) -> Iterable[str]:
    times = {k: float(values.mean()) for k, values in seconds_by_k(study).items()}
    if study.regime is not Regime.STRONG or 1 not in times:
        return
    serial = {k: serial_fraction(k, times[1] / t) for k, t in times.items() if k > 1}
    known = [(k, value) for k, value in serial.items() if value is not None]
    (first_k, first), (last_k, last) = known[0], known[-1]
    if len(known) > 1:
        trend = _trend(first, last)
        yield f"The Karp-Flatt fraction {trend}: {first:.4f} at K = {first_k}, {last:.4f} at K = {last_k}."


def _trend(first: float, last: float) -> str:
    if min(first, last) < 0:
        return "is below 0 somewhere (superlinear: more speed than workers, or a slow baseline)"
    if last > 1.25 * first:
        return "rises (overhead that grows with K)"
    return "falls (lost at small K already)" if last < 0.75 * first else "is about flat (a serial part)"


def _spreads(study: Study) -> Iterable[str]:
    times = seconds_by_k(study)
    k = np.concatenate([np.full(len(v), each) for each, v in times.items()])
    summary = summarise(Samples.of(k, np.concatenate(list(times.values()))))
    relative = {int(each): s / m for each, s, m in zip(summary.k, summary.std, summary.mean, strict=True) if s == s}
    if relative:
        low, high = min(relative.values()), max(relative.values())
        first, last = next(iter(relative.items())), next(reversed(relative.items()))
        yield (
            f"The spread between repeats is {low:.1%} to {high:.1%} of the mean ({first[1]:.1%} at K = {first[0]}, "
            f"{last[1]:.1%} at K = {last[0]}): a communication bend is smooth, a straggler's is noisy."
        )


def shape_findings(study: Study, verdict: ShapeVerdict, cause: str) -> Iterable[Finding]:
    if cause == UNDETERMINED:
        yield warning(
            "undetermined",
            "T(K) alone does not tell the cause: several explain it about as well",
            remedy="record phases with scalecurve.probe, import profiler traces, or repeat more often",
            chances={name: round(value, 3) for name, value in verdict.chances.items()},
        )
    same = verdict.chances[SERIAL] + verdict.chances[CONTENTION]
    if same > 0.5 and min(verdict.chances[SERIAL], verdict.chances[CONTENTION]) > 0.1:
        yield info(
            "same-shape",
            "a serial part, contention on one machine and the bandwidth of a ring have one and the same T(K)",
            remedy="say what a worker is (--k-unit nodes rules out contention), or record phases",
        )
    if min(len(values) for values in study.samples.by_k().values()) < FEW_REPEATS:
        yield info("few-repeats", "with fewer than 3 repeats at a K the noise says little", remedy="repeat 5 times")


def account_evidence(by_k: dict[int, list[Account]], split: Split, weak: bool) -> tuple[str, ...]:
    k, runs = next(reversed(by_k.items()))
    base = next(iter(by_k))
    losses, spent = split.losses[k], split.spent[k]
    listed = ", ".join(f"{name} {value / spent:.1%}" for name, value in losses.items() if value > 0.005 * spent)
    sentences = [f"Of the worker-seconds at K = {k}, lost to: {listed or 'nothing above 0.5 %'}."]
    ratio = useful_seconds(runs) / (useful_seconds(by_k[base]) * (k / base if weak else 1.0))
    sentences.append(f"Useful time of all workers together at K = {k} is {ratio:.2f} times that at K = {base}.")
    if split.alone is not None:
        sentences.append(
            f"Rank {split.alone.rank} works {format_seconds(split.alone.seconds)} longer than the others at every K."
        )
    return (*sentences, *_rank_sentences(k, runs, split))


def _rank_sentences(k: int, runs: list[Account], split: Split) -> Iterable[str]:
    if len(runs[0].compute) < 2:
        return
    ratio = np.mean([a.compute.max() / a.compute.mean() for a in runs])
    slowest = {int(np.argmax(a.compute)) for a in runs}
    who = f"rank {slowest.pop()} every time" if len(slowest) == 1 else f"{len(slowest)} different ranks"
    yield f"The slowest worker at K = {k} computes {ratio:.2f} times the mean; over {len(runs)} runs it was {who}."
    if split.p_lasting.get(k) is not None:
        yield f"That some workers are lastingly slower has p = {split.p_lasting[k]:.2g} at K = {k}."


def account_findings(
    study: Study, by_k: dict[int, list[Account]], split: Split, cause: str, *, replicated: bool, phased: bool
) -> Iterable[Finding]:
    if split.slow_host is not None:
        host = split.slow_host
        yield warning(
            "slow-host",
            f"host {host.host} needs {host.factor:.2f} times as long for the same work in every run",
            remedy="take it out and measure again: throttling, a smaller quota, a failing disk or a busy neighbour",
            host=host.host,
            factor=host.factor,
            ranks=sorted(host.ranks),
        )
    yield from _lasting_findings(by_k, split, cause)
    if cause in (CONTENTION, SERIAL) and split.alone is None and phased:
        yield from _growth_findings(replicated, cause)
    if all(len(runs) == 1 for runs in by_k.values()):
        yield warning(
            "single-run", "one run per K: what lasts and what passes cannot be told apart", remedy="repeat 5 times"
        )


def _lasting_findings(by_k: dict[int, list[Account]], split: Split, cause: str) -> Iterable[Finding]:
    if cause != IMBALANCE or split.slow_host is not None:
        return
    runs = next(reversed(by_k.values()))
    if all(a.work is None for a in runs):
        yield info(
            "work-not-counted",
            "the same workers are always slow: they have more work, or sit on a slow host; no work was counted",
            remedy="call probe.add_work (or give work= to probe.steps): equal work on a slow worker means a slow host",
        )


def _growth_findings(replicated: bool, cause: str) -> Iterable[Finding]:
    if replicated:
        yield info("replicated-work", "compute grows although workers share no machine: work is done again on each")
    elif cause == CONTENTION:
        yield info(
            "growth-not-explained",
            "compute grows with K on every worker alike; work that each worker does again would look the same",
            remedy="compare memory bandwidth and clock at K = 1 and the largest K (scalecurve doctor, roofline), and "
            "count the work",
        )
