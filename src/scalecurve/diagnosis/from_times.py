"""The cause from samples of T(K) alone: its shape and its noise, with an honest chance of being right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.diagnosis.causes import CAUSES, NONE
from scalecurve.diagnosis.noise import SlowRuns, observe
from scalecurve.diagnosis.posterior import Posterior, explain
from scalecurve.diagnosis.shapes import Family, models
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.samples import FloatArray

NEGLIGIBLE = 0.03  # a loss below 3 % of the worker-seconds at the largest K is no bend


@dataclass(frozen=True, eq=False)
class ShapeVerdict:
    """Chances and shares of each cause; `by_k` has one row of shares per K, in the order of `names`."""

    names: tuple[str, ...]
    chances: dict[str, float]
    shares: dict[str, float]
    by_k: dict[int, dict[str, float]]
    likeliest_model: str
    slow_runs: SlowRuns


def seconds_by_k(study: Study) -> dict[int, FloatArray]:
    """Observations as times: of the job, or under weak scaling of the K times larger one; scale does not matter."""
    strong = study.regime is Regime.STRONG
    by_k = study.samples.by_k()
    if study.quantity is Quantity.SECONDS:
        return by_k
    if study.quantity is Quantity.THROUGHPUT:
        return {k: (1.0 if strong else k) / values for k, values in by_k.items()}
    return {k: 1.0 / (values * k if strong else values) for k, values in by_k.items()}


def judge_shape(
    times: dict[int, FloatArray],
    regime: Regime,
    *,
    shared_machine: bool | None,
    rng: np.random.Generator,
    allowed: frozenset[str] = frozenset(CAUSES),
) -> ShapeVerdict:
    """Weigh every model against the samples."""
    seen, slow = observe(times)
    weak = regime is Regime.WEAK
    family = Family.of(models(regime, shared_machine=shared_machine, allowed=allowed), seen.k, weak)
    found = explain(family, seen, rng)
    weights = _model_weights(family, found)
    names = (*CAUSES, NONE)
    by_k, chances = _shares(found, weights, seen.k, weak)
    best = family.models[int(np.argmax(weights))]
    return ShapeVerdict(
        names,
        dict(zip(names, chances.tolist(), strict=True)),
        dict(zip(names, by_k[-1].tolist(), strict=True)),
        {int(k): dict(zip(names, row.tolist(), strict=True)) for k, row in zip(seen.k, by_k, strict=True)},
        " and ".join(f"{term.cause} ({term.form})" for term in best.terms) or "no loss",
        slow,
    )


def _model_weights(family: Family, found: Posterior) -> FloatArray:
    logs = found.log_evidence + np.log([model.weight for model in family.models])
    raw = np.exp(logs - np.max(logs))
    shares: FloatArray = raw / raw.sum()
    return shares


def _shares(found: Posterior, weights: FloatArray, k: FloatArray, weak: bool) -> tuple[FloatArray, FloatArray]:
    """Mean shares by K (rows) and cause (columns, none last), and the chance of each to be the largest at the end."""
    losses = found.curves.losses
    total = losses.sum(axis=0)
    useful = k if weak else np.ones_like(k)
    small = total <= NEGLIGIBLE * (useful + total)
    part = np.where(small, 0.0, losses / np.where(total > 0, total, 1.0))
    each = weights / losses.shape[2]
    shares = np.vstack([np.einsum("m,cmnk->ck", each, part), np.einsum("m,mnk->k", each, small)]).T
    winner = np.where(small[:, :, -1], len(CAUSES), np.argmax(losses[:, :, :, -1], axis=0))
    chances: FloatArray = np.bincount(
        winner.ravel(), weights=np.repeat(each, winner.shape[1]), minlength=len(CAUSES) + 1
    ).astype(np.float64)
    return shares, chances
