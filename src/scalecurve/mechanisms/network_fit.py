"""alpha and beta of a network from timed collectives: which algorithm explains them, and how well.

For each algorithm the operation could be using, T = base + sum over its rounds of T(message) is fitted by positive
least absolute relative errors; a second protocol (small messages) is added where it explains clearly more.  The
interval is a bootstrap over the measured cells.  A fit that misses the data by more than their noise says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.document import Column, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.laws.collectives import FLAT, Link, Network, Operation, Protocol, Steps, as_operation
from scalecurve.study.message_sweep import MessageSweep, Timing
from scalecurve.units import format_bytes, format_seconds

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
RESAMPLES = 200
SEED = 20261115
WORTH = 0.8  # a second protocol must cut the typical error to this share
POOR = 0.15  # a typical relative error above this is called a lack of fit, unless the repeats are as noisy

REWEIGHTINGS = 12
SMALLEST_ERROR = 0.01
HOPELESS = 0.4  # and above this always


@dataclass(frozen=True, kw_only=True)
class NetworkFit(Shown):
    """What timed collectives of one operation say about the network, under the algorithm that explains them best."""

    operation: Operation
    algorithm: str
    alpha: Estimate
    beta: Estimate
    base: float
    protocols: tuple[Protocol, ...]
    typical_error: float
    noise: float | None
    tried: dict[str, float]
    cells: int
    ranks: tuple[int, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def network(self) -> Network:
        name = f"fitted to {self.operation} by {self.algorithm}"
        return Network(inter=Link(protocols=self.protocols, name="fitted"), base=self.base, name=name)

    def seconds(self, ranks: int, vector: float) -> float:
        """The fitted model at any number of ranks and vector of `vector` bytes."""
        return self.network.seconds(FLAT[self.operation][self.algorithm](ranks, vector), ranks)

    def to_dict(self) -> dict[str, Any]:
        return {
            "operation": str(self.operation),
            "algorithm": self.algorithm,
            "alpha_seconds": self.alpha.to_dict(),
            "beta_seconds_per_byte": self.beta.to_dict(),
            "bandwidth_bytes_per_second": 1 / self.beta.value if self.beta.value > 0 else None,
            "base_seconds": self.base,
            "protocols": [{"alpha_seconds": p.alpha, "beta_seconds_per_byte": p.beta} for p in self.protocols],
            "typical_error": self.typical_error,
            "noise": self.noise,
            "tried": self.tried,
            "cells": self.cells,
            "ranks": list(self.ranks),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        lines = [
            f"algorithm {self.algorithm} explains {self.cells} cells best (typical error {self.typical_error:.1%})",
            f"alpha {_with_interval(self.alpha)} a message, bandwidth {_bandwidth(self.beta)}",
        ]
        lines += [f"larger messages: {format_seconds(p.alpha)} + {_rate(p.beta)}" for p in self.protocols[1:]]
        grid = table([Column("algorithm", "left"), "typical error"], [[k, f"{v:.1%}"] for k, v in self.tried.items()])
        body = (Paragraph("\n".join(lines)), grid, FindingList(self.findings))
        return Document(f"Fit of {self.operation}", body)


def _with_interval(value: Estimate) -> str:
    text = format_seconds(value.value)
    if value.low is None or value.high is None:
        return text
    return f"{text} [{format_seconds(value.low)}, {format_seconds(value.high)}]"


def _rate(beta: float) -> str:
    return f"{format_bytes(1 / beta)}/s" if beta > 0 else "no cost per byte seen"


def _bandwidth(beta: Estimate) -> str:
    text = _rate(beta.value)
    if not beta.low or not beta.high:
        return text
    return f"{text} [{_rate(beta.high)}, {_rate(beta.low)}]"


def fit_network(sweep: MessageSweep, operation: str, *, rng: np.random.Generator | None = None) -> NetworkFit:
    """Latency and slope from the timings of one operation."""
    which = as_operation(operation)
    cells = _Cells(sweep, which)
    found = {name: _fit(cells, [law(p, n) for p, n in cells.shapes]) for name, law in FLAT[which].items()}
    tried = dict(sorted(((name, each.error) for name, each in found.items()), key=lambda item: round(item[1], 4)))
    algorithm = next(iter(tried))
    best = found[algorithm]
    low, high = _intervals(cells, best, rng or np.random.default_rng(SEED))
    noise = cells.noise
    return NetworkFit(
        operation=which,
        algorithm=algorithm,
        alpha=Estimate(best.protocols[0].alpha, low[0], high[0], LEVEL, "bootstrap over cells"),
        beta=Estimate(best.protocols[-1].beta, low[1], high[1], LEVEL, "bootstrap over cells"),
        base=best.base,
        protocols=best.protocols,
        typical_error=best.error,
        noise=noise,
        tried=tried,
        cells=len(cells.seconds),
        ranks=tuple(sorted({p for p, _ in cells.shapes})),
        findings=(*_findings(best.error, noise, cells), *_ties(algorithm, found)),
    )


class _Cells:
    """The usable timings of one operation as arrays."""

    def __init__(self, sweep: MessageSweep, operation: Operation) -> None:
        chosen = [t for t in sweep.timings if _same(t, operation) and t.ranks > 1 and t.message > 0]
        if len({t.message for t in chosen}) < 3:
            hint = "time at least three message sizes on two or more ranks"
            seen = f"{len(chosen)} usable timings of {operation}"
            raise InputError(Fault("too few timings to fit a latency and a slope", seen=seen, remedy=hint))
        self.shapes = [(t.ranks, sweep.vector(t)) for t in chosen]
        self.seconds: Floats = np.array([t.seconds for t in chosen])
        spreads = [t.spread / t.seconds for t in chosen if t.spread is not None]
        self.noise = float(np.median(spreads)) * 1.4826 if spreads else None


def _same(timing: Timing, operation: Operation) -> bool:
    try:
        return as_operation(timing.operation) is operation
    except InputError:
        return False


@dataclass(frozen=True)
class _Fitted:
    base: float
    protocols: tuple[Protocol, ...]
    error: float
    steps: tuple[Steps, ...]


def _fit(cells: _Cells, steps: Sequence[Steps]) -> _Fitted:
    """One protocol, or two where the second pays."""
    single = _solve(cells.seconds, steps, (Protocol(alpha=0.0, beta=0.0),))
    double = _two_protocols(cells.seconds, steps, single)
    return double if double.error < WORTH * single.error else single


def _two_protocols(seconds: Floats, steps: Sequence[Steps], single: _Fitted) -> _Fitted:
    """Best of several starting points; each alternates between choosing the cheaper protocol and refitting."""
    messages = np.array([max((step.message for step in each), default=0.0) for each in steps])
    best = single
    for cut in np.quantile(messages, (0.25, 0.5, 0.75)):
        slope = max(single.protocols[0].beta, 1e-15)
        start = (Protocol(alpha=0.0, beta=2 * slope), Protocol(alpha=cut * slope, beta=slope))
        current = _solve(seconds, steps, start)
        for _ in range(8):
            current = _solve(seconds, steps, current.protocols)
        if current.error < best.error and _really_two(current.protocols):
            best = current
    return best


def _really_two(protocols: tuple[Protocol, ...]) -> bool:
    return protocols[0].alpha < protocols[1].alpha and protocols[0].beta > protocols[1].beta > 0


def _solve(seconds: Floats, steps: Sequence[Steps], chosen: tuple[Protocol, ...]) -> _Fitted:
    """Positive least absolute relative errors, each round charged to the protocol that was cheaper before."""
    design = np.array([_row(each, chosen) for each in steps])
    if len({sum(step.rounds for step in each) for each in steps}) < 3:
        design[:, 0] = 0.0  # with one or two round counts a base cost and a latency cannot be told apart
    coefficients = _least_absolute(design, seconds)
    predicted = design @ coefficients
    protocols = tuple(
        Protocol(alpha=float(coefficients[1 + 2 * i]), beta=float(coefficients[2 + 2 * i])) for i in range(len(chosen))
    )
    error = float(np.mean(np.abs(predicted / seconds - 1)))
    return _Fitted(float(coefficients[0]), protocols, error, tuple(steps))


def _least_absolute(design: Floats, seconds: Floats) -> Floats:
    """Positive coefficients with the least absolute relative error, reweighted: one stalled cell must not tilt it."""
    from scipy.optimize import nnls

    relative = design / seconds[:, None]
    scale = np.maximum(np.linalg.norm(relative, axis=0), 1e-300)
    weights = np.ones(len(seconds))
    for _ in range(REWEIGHTINGS):
        found = nnls(relative / scale * weights[:, None], weights)[0] / scale
        weights = 1 / np.sqrt(np.maximum(np.abs(relative @ found - 1), SMALLEST_ERROR))
    return np.asarray(found)


def _row(steps: Steps, protocols: tuple[Protocol, ...]) -> list[float]:
    """1, then rounds and bytes for each protocol."""
    row = [1.0] + [0.0] * (2 * len(protocols))
    for step in steps:
        costs = [each.alpha + step.message * each.beta for each in protocols]
        place = costs.index(min(costs))
        row[1 + 2 * place] += step.rounds
        row[2 + 2 * place] += step.rounds * step.message
    return row


def _intervals(
    cells: _Cells, best: _Fitted, rng: np.random.Generator
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Percentiles of alpha (small messages) and beta (large ones) over resampled cells."""
    n = len(cells.seconds)
    draws = []
    for _ in range(RESAMPLES):
        picked = rng.integers(0, n, n)
        again = _solve(cells.seconds[picked], [best.steps[i] for i in picked], best.protocols)
        draws.append((again.protocols[0].alpha, again.protocols[-1].beta))
    edges = np.quantile(np.array(draws), [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return (float(edges[0, 0]), float(edges[0, 1])), (float(edges[1, 0]), float(edges[1, 1]))


def _ties(algorithm: str, found: dict[str, _Fitted]) -> tuple[Finding, ...]:
    """Other algorithms that explain the timings as well but would mean another bandwidth."""
    best = found[algorithm]
    slope = best.protocols[-1].beta
    others = [
        name
        for name, each in found.items()
        if name != algorithm
        and each.error <= 1.1 * best.error
        and not 0.8 * slope <= each.protocols[-1].beta <= 1.25 * slope
    ]
    if not others:
        return ()
    text = f"{' and '.join(others)} would explain the timings as well as {algorithm}, with another bandwidth"
    hint = "time more rank counts, or take the algorithm from the library's documentation"
    return (info("algorithms-tied", text, remedy=hint, algorithms=others),)


def _findings(error: float, noise: float | None, cells: _Cells) -> tuple[Finding, ...]:
    found = []
    if error > min(max(POOR, 3 * (noise or 0.0)), HOPELESS):
        text = f"no algorithm here explains the timings: the typical error is {error:.0%}"
        hint = "the library switches algorithms, or nodes share wires: use the per-size extension for predictions"
        found.append(warning("lack-of-fit", text, remedy=hint, typical_error=error, noise=noise))
    if len({p for p, _ in cells.shapes}) == 1:
        text = "all timings have the same number of ranks, so how the cost grows with ranks rests on the model alone"
        found.append(warning("one-rank-count", text, remedy="time the operation at two or more rank counts"))
    return tuple(found)
