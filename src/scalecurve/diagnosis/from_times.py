"""The cause from samples of T(K) alone: its shape and its noise, with the chance of being right.

A cause can cost no more than what is lost.  Shapes of a loss cannot rise above E = 1, and their noise is bounded, so
wild or superlinear times would go to whichever cause is loosest.  The chance that any cause is at work is therefore
held to the chance that E < 1, by Welch's t on log E at each K.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from scalecurve.analysis.curve import curve_of, log_ratio, times_by_k
from scalecurve.diagnosis.causes import CAUSES, CONTENTION, NONE, SERIAL, UNDETERMINED, Family, cause_models
from scalecurve.diagnosis.posterior import SlowRuns, explain, observe
from scalecurve.findings import Finding, info, warning
from scalecurve.laws.karp_flatt import serial_fraction
from scalecurve.study import Regime, Study
from scalecurve.study.samples import FloatArray

NEGLIGIBLE = 0.03  # a loss below 3 % of the worker-seconds at the largest K is no bend
UNREPEATED_ERROR = 0.02  # of log E, where runs were not repeated
SURELY_GAINED = 0.05
FEW_REPEATS = 3


@dataclass(frozen=True, eq=False)
class ShapeVerdict:
    """Chances and shares of each cause; `by_k` holds the shares at each K."""

    chances: dict[str, float]
    shares: dict[str, float]
    by_k: dict[int, dict[str, float]]
    likeliest_model: str
    slow_runs: SlowRuns


def judge_shape(
    times: dict[int, FloatArray],
    regime: Regime,
    *,
    shared_machine: bool | None,
    rng: np.random.Generator,
    allowed: frozenset[str] = frozenset(CAUSES),
) -> ShapeVerdict:
    """Weigh every model against the samples of T by K."""
    points, slow = observe(times)
    weak = regime is Regime.WEAK
    family = Family.of(cause_models(regime, shared_machine=shared_machine, allowed=allowed), points.k, weak)
    posterior = explain(family, points, rng)
    logs = posterior.log_evidence + np.log([model.weight for model in family.models])
    weights = np.exp(logs - np.max(logs))
    weights = weights / weights.sum()
    # Mean shares by K (rows) and cause (columns, none last), and each one's chance to be the largest at the end.
    losses = posterior.curves.losses
    total = losses.sum(axis=0)
    small = total <= NEGLIGIBLE * ((points.k if weak else np.ones_like(points.k)) + total)
    part = np.where(small, 0.0, losses / np.where(total > 0, total, 1.0))
    draw = weights / losses.shape[2]
    shares = np.vstack([np.einsum("m,cmnk->ck", draw, part), np.einsum("m,mnk->k", draw, small)]).T
    winner = np.where(small[:, :, -1], len(CAUSES), np.argmax(losses[:, :, :, -1], axis=0))
    votes = np.repeat(draw, winner.shape[1])
    chances = np.bincount(winner.ravel(), weights=votes, minlength=len(CAUSES) + 1)
    names = (*CAUSES, NONE)
    by_k = {int(k): dict(zip(names, row.tolist(), strict=True)) for k, row in zip(points.k, shares, strict=True)}
    best = family.models[int(np.argmax(weights))]
    return ShapeVerdict(
        dict(zip(names, chances.tolist(), strict=True)),
        by_k[int(points.k[-1])],
        by_k,
        " and ".join(f"{term.cause} ({term.form})" for term in best.terms) or "no loss",
        slow,
    )


@dataclass(frozen=True)
class LossChance:
    """E at one K and the chance that it is in truth below 1."""

    k: int
    efficiency: float
    chance: float


def loss_chances(study: Study) -> tuple[LossChance, ...]:
    """The chance of a loss at every K but the baseline."""
    from scipy.special import ndtr, stdtr

    curve = curve_of(study)
    chances = []
    for k, efficiency in zip(curve.k.tolist(), curve.efficiency.tolist(), strict=True):
        if k == study.baseline_k:
            continue
        ratio = log_ratio((curve, k, 1.0), (curve, study.baseline_k, -1.0))
        repeated = ratio.degrees >= 1
        below = -math.log(efficiency) / (max(ratio.error, 1e-9) if repeated else UNREPEATED_ERROR)
        chance = float(stdtr(ratio.degrees, below) if repeated else ndtr(below))
        chances.append(LossChance(k, efficiency, chance))
    return tuple(chances)


def hold_to_loss(verdict: ShapeVerdict, losses: tuple[LossChance, ...]) -> ShapeVerdict:
    """No share at a K without a loss, and no cause more likely than a loss at the largest K is."""
    gained = {loss.k for loss in losses if loss.efficiency > 1}
    nothing = {**dict.fromkeys(CAUSES, 0.0), NONE: 1.0}
    by_k = {k: dict(nothing if k in gained else shares) for k, shares in verdict.by_k.items()}
    claimed = 1.0 - verdict.chances[NONE]
    factor = min(1.0, losses[-1].chance / claimed) if claimed > 0 else 1.0
    chances = {name: value * factor for name, value in verdict.chances.items() if name != NONE}
    chances[NONE] = 1.0 - sum(chances.values())
    return replace(verdict, chances=chances, by_k=by_k, shares=by_k[losses[-1].k])


def shape_evidence(study: Study, verdict: ShapeVerdict) -> Iterator[str]:
    """The numbers behind a verdict, in sentences."""
    times = times_by_k(study)
    means = {k: float(values.mean()) for k, values in times.items()}
    if study.regime is Regime.STRONG and 1 in means:
        serial = [(k, serial_fraction(k, means[1] / mean) or 0.0) for k, mean in means.items() if k > 1]
        (first_k, first), (last_k, last) = serial[0], serial[-1]
        trend = "is about flat (a serial part)"
        if min(first, last) < 0:
            trend = "is below 0 somewhere (superlinear: more speed than workers, or a slow baseline)"
        elif not 0.75 * first <= last <= 1.25 * first:
            trend = "rises (overhead that grows with K)" if last > first else "falls (lost at small K already)"
        if len(serial) > 1:
            yield f"The Karp-Flatt fraction {trend}: {first:.4f} at K = {first_k}, {last:.4f} at K = {last_k}."
    spreads = {k: float(values.std(ddof=1)) / means[k] for k, values in times.items() if len(values) > 1}
    if spreads:
        (first_k, first), (last_k, last) = next(iter(spreads.items())), next(reversed(spreads.items()))
        yield (
            f"The spread between repeats is {min(spreads.values()):.1%} to {max(spreads.values()):.1%} of the mean "
            f"({first:.1%} at K = {first_k}, {last:.1%} at K = {last_k}): a bend from communication is smooth, one "
            "from stragglers is noisy."
        )
    if verdict.chances[NONE] < 0.5 or verdict.likeliest_model == "no loss":
        yield f"The shape that fits best: {verdict.likeliest_model}."


def shape_findings(
    study: Study, verdict: ShapeVerdict, losses: tuple[LossChance, ...], cause: str
) -> Iterator[Finding]:
    """What a reader of a verdict from T(K) alone must know."""
    yield from verdict.slow_runs.findings
    above = [
        loss
        for loss in losses
        if (loss.efficiency > 1 and loss.chance < SURELY_GAINED)
        or (loss is losses[-1] and loss.efficiency > 1 + UNREPEATED_ERROR)
    ]
    if above:
        listed, most = ", ".join(str(loss.k) for loss in above), max(loss.efficiency for loss in above)
        yield warning(
            "superlinear",
            f"E is above 1 at K = {listed} (at most {most:.4g}): there is no loss to explain there",
            remedy="check the baseline, caches and memory: a slow K0 makes every other K look good",
            efficiencies={str(loss.k): loss.efficiency for loss in above},
        )
    if cause == UNDETERMINED:
        yield warning(
            "undetermined",
            "T(K) alone does not tell the cause: several explain it about as well",
            remedy="record phases with scalecurve.probe, import profiler traces, or repeat more often",
            chances={name: round(value, 3) for name, value in verdict.chances.items()},
        )
    serial, contention = verdict.chances[SERIAL], verdict.chances[CONTENTION]
    if serial + contention > 0.5 and min(serial, contention) > 0.1:
        message = "a serial part, contention on one machine and the bandwidth of a ring have the same T(K)"
        remedy = "say what a worker is (--k-unit nodes rules out contention), or record phases"
        yield info("same-shape", message, remedy=remedy)
    if min(len(values) for values in study.samples.by_k().values()) < FEW_REPEATS:
        yield info("few-repeats", "with fewer than 3 repeats at a K the noise says little", remedy="repeat 5 times")
