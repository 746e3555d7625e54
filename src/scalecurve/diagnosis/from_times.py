"""The causes from samples of T(K) alone: its shape and its noise, with the chance of each.

A cause can cost no more than what is lost.  Shapes of a loss cannot rise above E = 1, so wild or superlinear times
would go to whichever cause is loosest.  The chance that any cause is at work is therefore held to the chance that
E < 0.97, by Welch's t on log E at the largest K.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from scalecurve.analysis.curve import curve_of, log_ratio, samples_of, times_by_k
from scalecurve.diagnosis.causes import NAMES, NEGLIGIBLE, NONE, Draws
from scalecurve.diagnosis.shapes import MISFIT, UNREPEATED_ERROR, SlowRuns, explain, observe, shapes
from scalecurve.findings import Finding, info, warning
from scalecurve.laws.amdahl import serial_fraction
from scalecurve.study import Regime, Study
from scalecurve.study.run import FloatArray
from scalecurve.study.study import is_load

SURELY_GAINED = 0.05
FEW_REPEATS = 3
SESSIONS = 0.005  # relative error of T that repeats do not show


@dataclass(frozen=True, eq=False)
class ShapeVerdict:
    """Draws of what each cause lost; `fit` is the chance of a worse fit than that of the best sum of shapes."""

    draws: Draws
    likeliest: str
    fit: float
    slow_runs: SlowRuns

    @property
    def fits(self) -> bool:
        return self.fit >= MISFIT


def judge_shape(
    times: Mapping[int, FloatArray],
    *,
    weak: bool,
    shared_machine: bool | None,
    node_size: int | None,
    rng: np.random.Generator,
    allowed: tuple[str, ...] = NAMES,
) -> ShapeVerdict:
    """Weigh every sum of shapes against the samples of T by K."""
    points, slow = observe(times)
    k = points.k
    ideal = np.ones_like(k) if weak else 1.0 / k
    every = shapes(k, weak=weak, node_size=node_size, shared_machine=shared_machine)
    every = tuple(shape for shape in every if shape.cause in allowed)
    posterior = explain(every, ideal, points, rng)
    base = posterior.parts[:, :, :1] * (k if weak else k[0])
    lost = np.maximum(posterior.parts * k - base, 0.0)
    losses = np.stack(
        [lost[:, [i for i, shape in enumerate(every) if shape.cause == name]].sum(axis=1) for name in NAMES], axis=1
    )
    best = " and ".join(f"{every[i].cause} ({every[i].form})" for i in posterior.best) or "no loss"
    draws = Draws(tuple(times), posterior.weights, losses, posterior.total * k)
    return ShapeVerdict(draws, best, posterior.fit, slow)


@dataclass(frozen=True)
class LossChance:
    """E at one K, the chance that it is in truth below 1, and the chance that it is below by more than 3 %."""

    k: int
    efficiency: float
    chance: float
    bent: float


def loss_chances(study: Study) -> tuple[LossChance, ...]:
    """The chance of a loss at every K but the baseline."""
    from scalecurve.distributions import ndtr, stdtr

    curve = curve_of(study)
    chances = []
    for k, efficiency in zip(curve.k.tolist(), curve.efficiency.tolist(), strict=True):
        if k == study.baseline_k:
            continue
        ratio = log_ratio((curve, k, 1.0), (curve, study.baseline_k, -1.0))
        repeated = ratio.degrees >= 1
        error = max(ratio.error, 1e-9) if repeated else UNREPEATED_ERROR
        bounds = (-math.log(efficiency) / error, math.log((1 - NEGLIGIBLE) / efficiency) / math.hypot(error, SESSIONS))
        chance, bent = (float(stdtr(ratio.degrees, bound) if repeated else ndtr(bound)) for bound in bounds)
        chances.append(LossChance(k, efficiency, chance, bent))
    return tuple(chances)


def hold_to_loss(chances: Mapping[str, float], losses: tuple[LossChance, ...]) -> dict[str, float]:
    """No cause more likely than a loss at the largest K is, as measured there."""
    claimed = 1.0 - chances[NONE]
    factor = min(1.0, losses[-1].bent / claimed) if claimed > 0 else 1.0
    held = {name: value * factor for name, value in chances.items() if name != NONE}
    return {**held, NONE: 1.0 - sum(held.values())}


def shape_evidence(study: Study, verdict: ShapeVerdict) -> Iterator[str]:
    """The numbers behind a verdict, in sentences."""
    times = times_by_k(study)
    means = {k: float(values.mean()) for k, values in times.items()}
    if study.regime is Regime.STRONG and 1 in means:
        serial = [(k, serial_fraction(k, means[1] / mean) or 0.0) for k, mean in means.items() if k > 1]
        (first_k, first), (last_k, last) = serial[0], serial[-1]
        trend = "is about flat (a constant part)"
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
            f"({first:.1%} at K = {first_k}, {last:.1%} at K = {last_k})."
        )
    if verdict.fits:
        yield f"Many sums of shapes fit; the best is {verdict.likeliest}."
    else:
        yield f"No sum of shapes fits (chance of a worse fit {verdict.fit:.2g}); the nearest: {verdict.likeliest}."


def shape_findings(study: Study, verdict: ShapeVerdict, losses: tuple[LossChance, ...]) -> Iterator[Finding]:
    """What a reader of a verdict from T(K) alone must know."""
    yield from verdict.slow_runs.findings
    if is_load(study.k_unit):
        message = f"K counts {study.k_unit} of a server: they share no job, so only what they share in it can cost time"
        yield info("load-on-a-server", message)
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
    if not verdict.fits:
        yield warning(
            "lack-of-fit",
            "no sum of the shapes that have a name follows these times",
            remedy="record where each worker's time goes, and look for a K that ran elsewhere or otherwise",
            chance=verdict.fit,
        )
    if min(len(values) for values in samples_of(study).by_k().values()) < FEW_REPEATS:
        yield info("few-repeats", "with fewer than 3 repeats at a K the noise says little", remedy="repeat 5 times")
