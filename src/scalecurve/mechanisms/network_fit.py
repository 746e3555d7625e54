"""alpha and beta of a network from timed collectives: which algorithm explains them, and how well.

For each algorithm the operation could be using, T = base + sum over its rounds of T(message) is fitted by positive
least absolute relative errors; a second protocol (small messages) is added where it explains clearly more.  The
interval is a bootstrap over the measured cells.  A fit that misses the data by more than their noise says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.document import Answer, Block, Column, Document, FindingList, Heading, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.laws.collectives import FLAT, Link, Network, Operation, Protocol, Steps, as_operation
from scalecurve.mechanisms.network_extension import ExtendedSweep, extend_sweep, timings_of
from scalecurve.study.message_sweep import MessageSweep
from scalecurve.units import WorkersLike, format_bytes, format_seconds, format_seconds_range
from scalecurve.words import percent

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
RESAMPLES = 200
SEED = 20261115
WORTH = 0.8  # a second protocol must cut the typical error to this share
POOR = 0.15  # a typical relative error above this is a lack of fit, unless the repeats are as noisy
HOPELESS = 0.4  # above this it always is
REWEIGHTINGS = 12
SMALLEST_ERROR = 0.01


@dataclass(frozen=True, kw_only=True, repr=False)
class NetworkFit(Result):
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

    JSON = """
        operation algorithm alpha_seconds=alpha beta_seconds_per_byte=beta
        bandwidth_bytes_per_second=bandwidth base_seconds=base protocols typical_error noise tried cells
        ranks findings"""

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second of a long message."""
        return 1 / self.beta.value if self.beta.value > 0 else None

    @property
    def network(self) -> Network:
        name = f"fitted to {self.operation} by {self.algorithm}"
        return Network(inter=Link(protocols=self.protocols, name="fitted"), base=self.base, name=name)

    def seconds(self, ranks: int, vector: float) -> float:
        """Seconds of the fitted model at any number of ranks and a vector of `vector` bytes."""
        return self.network.seconds(FLAT[self.operation][self.algorithm](ranks, vector), ranks)

    @property
    def answer(self) -> Answer:
        """Latency and bandwidth of the network."""
        ends = self.alpha.ends
        return Answer(
            decision=f"{self.operation}: {format_seconds(self.alpha.value)} a message and {_rate(self.beta.value)}.",
            confidence=ends and f"The latency is between {format_seconds_range(*ends, ' and ')}.",
            reason=f"{self.algorithm} explains {self.cells:,} timings within {percent(self.typical_error)}.",
            next=f"`scalecurve collective cost --bytes 350MB --network {self.alpha.value * 1e6:.4g}us/"
            f"{1e-9 / self.beta.value:.4g}GB/s` prices a size with it",
        )

    def body(self) -> Document:
        alpha, beta = self.alpha, self.beta
        latency, bandwidth = format_seconds(alpha.value), _rate(beta.value)
        latency += f" [{format_seconds_range(*alpha.ends, ', ')}]" if alpha.ends else ""
        if beta.low and beta.high:
            bandwidth += f" [{_rate(beta.high)}, {_rate(beta.low)}]"
        lines = [
            f"algorithm {self.algorithm} explains {self.cells} cells best (typical error {self.typical_error:.1%})",
            f"alpha {latency} a message, bandwidth {bandwidth}",
        ]
        lines += [f"larger messages: {format_seconds(p.alpha)} + {_rate(p.beta)}" for p in self.protocols[1:]]
        grid = table([Column("algorithm", "left"), "typical error"], [[k, f"{v:.1%}"] for k, v in self.tried.items()])
        body = (Paragraph("\n".join(lines)), grid, FindingList(self.findings))
        return Document(f"Fit of {self.operation}", body)


def _rate(beta: float) -> str:
    return f"{format_bytes(1 / beta)}/s" if beta > 0 else "no cost per byte measured"


@dataclass(frozen=True)
class _Solution:
    """One algorithm fitted to the cells: base cost, protocols, mean relative error, and the steps of each cell."""

    base: float
    protocols: tuple[Protocol, ...]
    error: float
    steps: tuple[Steps, ...]


def fit_network(sweep: MessageSweep, operation: str) -> NetworkFit:
    """Latency and slope from the timings of one operation."""
    which, rng = as_operation(operation), np.random.default_rng(SEED)
    timings = [timing for timing in timings_of(sweep, which) if timing.ranks > 1]
    if len({timing.message for timing in timings}) < 3:
        hint = "time at least three message sizes on two or more ranks"
        count = f"{len(timings)} usable timings of {which}"
        raise InputError(Fault("too few timings to fit a latency and a slope", value=count, remedy=hint))
    seconds: Floats = np.array([timing.seconds for timing in timings])
    spreads = [timing.spread / timing.seconds for timing in timings if timing.spread is not None]
    noise = float(np.median(spreads)) * 1.4826 if spreads else None
    solutions = {
        name: _fit(seconds, [steps(timing.ranks, sweep.vector(timing)) for timing in timings])
        for name, steps in FLAT[which].items()
    }
    by_error = sorted(solutions, key=lambda name: round(solutions[name].error, 4))
    best = solutions[by_error[0]]
    draws = []
    for _ in range(RESAMPLES):
        picked = rng.integers(0, len(seconds), len(seconds))
        again = _solve(seconds[picked], [best.steps[i] for i in picked], best.protocols).protocols
        draws.append((again[0].alpha, again[-1].beta))
    low, high = np.quantile(np.array(draws), [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    method = "bootstrap over cells"
    ranks = tuple(sorted({timing.ranks for timing in timings}))
    return NetworkFit(
        operation=which,
        algorithm=by_error[0],
        alpha=Estimate(best.protocols[0].alpha, float(low[0]), float(high[0]), LEVEL, method),
        beta=Estimate(best.protocols[-1].beta, float(low[1]), float(high[1]), LEVEL, method),
        base=best.base,
        protocols=best.protocols,
        typical_error=best.error,
        noise=noise,
        tried={name: solutions[name].error for name in by_error},
        cells=len(seconds),
        ranks=ranks,
        findings=_findings(by_error[0], solutions, noise, ranks),
    )


def _fit(seconds: Floats, steps: Sequence[Steps]) -> _Solution:
    """One protocol, or two where the second pays; two are the best of several starting points, refitted in turns."""
    single = best = _solve(seconds, steps, (Protocol(alpha=0.0, beta=0.0),))
    slope = max(single.protocols[0].beta, 1e-15)
    messages = np.array([max((step.message for step in cell), default=0.0) for cell in steps])
    for cut in np.quantile(messages, (0.25, 0.5, 0.75)):
        current = _solve(seconds, steps, (Protocol(alpha=0.0, beta=2 * slope), Protocol(alpha=cut * slope, beta=slope)))
        for _ in range(8):
            current = _solve(seconds, steps, current.protocols)
        small, large = current.protocols
        if current.error < best.error and small.alpha < large.alpha and small.beta > large.beta > 0:
            best = current
    return best if best.error < WORTH * single.error else single


def _solve(seconds: Floats, steps: Sequence[Steps], protocols: tuple[Protocol, ...]) -> _Solution:
    """Positive coefficients with the least absolute relative error, so that one stalled cell does not tilt the fit.

    Each round is charged to the protocol that was cheaper before.
    """
    from scipy.optimize import nnls

    design = np.zeros((len(steps), 1 + 2 * len(protocols)))  # 1, then rounds and bytes for each protocol
    design[:, 0] = 1.0
    for row, cell in zip(design, steps, strict=True):
        for step in cell:
            costs = [protocol.alpha + step.message * protocol.beta for protocol in protocols]
            place = 1 + 2 * costs.index(min(costs))
            row[place] += step.rounds
            row[place + 1] += step.rounds * step.message
    if len({sum(step.rounds for step in cell) for cell in steps}) < 3:
        design[:, 0] = 0.0  # one or two round counts cannot separate a base cost from a latency
    relative = design / seconds[:, None]
    scale = np.maximum(np.linalg.norm(relative, axis=0), 1e-300)
    weights = np.ones(len(seconds))
    for _ in range(REWEIGHTINGS):
        coefficients = nnls(relative / scale * weights[:, None], weights)[0] / scale
        weights = 1 / np.sqrt(np.maximum(np.abs(relative @ coefficients - 1), SMALLEST_ERROR))
    pairs = coefficients[1:].reshape(-1, 2)
    fitted = tuple(Protocol(alpha=float(alpha), beta=float(beta)) for alpha, beta in pairs)
    error = float(np.mean(np.abs(design @ coefficients / seconds - 1)))
    return _Solution(float(coefficients[0]), fitted, error, tuple(steps))


def _findings(
    algorithm: str, solutions: dict[str, _Solution], noise: float | None, ranks: Sequence[int]
) -> tuple[Finding, ...]:
    findings = []
    best = solutions[algorithm]
    if best.error > min(max(POOR, 3 * (noise or 0.0)), HOPELESS):
        text = f"no modelled algorithm explains the timings: the typical error is {best.error:.0%}"
        hint = "predict with --predict, which extends every size by itself: libraries switch algorithms by size"
        findings.append(warning("lack-of-fit", text, remedy=hint, typical_error=best.error, noise=noise))
    if len(ranks) == 1:
        text = "all timings have the same number of ranks, so only the model says how the cost grows with ranks"
        findings.append(warning("one-rank-count", text, remedy="time the operation at two or more rank counts"))
    slope = best.protocols[-1].beta
    others = [
        name
        for name, other in solutions.items()
        if name != algorithm
        and other.error <= 1.1 * best.error
        and not 0.8 * slope <= other.protocols[-1].beta <= 1.25 * slope
    ]
    if others:
        text = f"{' and '.join(others)} explain the timings as well as {algorithm}, with another bandwidth"
        hint = "time more rank counts, or take the algorithm from the library's documentation"
        findings.append(info("algorithms-tied", text, remedy=hint, algorithms=others))
    return tuple(findings)


@dataclass(frozen=True, kw_only=True, repr=False)
class FittedNetwork(Result):
    """alpha and beta per operation of one system, and predictions at more ranks if asked for."""

    system: str | None
    fits: tuple[NetworkFit, ...]
    predictions: tuple[ExtendedSweep, ...] = ()
    findings: tuple[Finding, ...] = ()

    def records(self) -> list[dict[str, Any]]:
        return [
            {
                "system": self.system,
                "operation": str(fit.operation),
                "algorithm": fit.algorithm,
                "alpha_seconds": fit.alpha.value,
                "beta_seconds_per_byte": fit.beta.value,
                "typical_error": fit.typical_error,
            }
            for fit in self.fits
        ]

    @property
    def answer(self) -> Answer:
        """Latency and bandwidth of the first operation; the others are below."""
        return replace(self.fits[0].answer, decision=f"{self.system or 'Network'}, {self.fits[0].answer.decision}")

    def body(self) -> Document:
        return Document(self.system or "Network", _sections(*self.fits, *self.predictions))


@dataclass(frozen=True, kw_only=True, repr=False)
class FittedNetworks(Result):
    """Several systems, fitted separately."""

    systems: tuple[FittedNetwork, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for system in self.systems for finding in system.findings)

    def records(self) -> list[dict[str, Any]]:
        return [record for system in self.systems for record in system.records()]

    @property
    def answer(self) -> Answer:
        """The fastest network by the bandwidth of its first operation."""
        best = max(self.systems, key=lambda system: system.fits[0].bandwidth or 0.0)
        return replace(best.answer, decision=f"Fastest of {len(self.systems)}: {best.answer.decision}")

    def body(self) -> Document:
        return Document("Networks", _sections(*self.systems))


def _sections(*results: Result) -> tuple[Block, ...]:
    """The documents of several results one after another, each under its title."""
    documents = [result.document() for result in results]
    return tuple(
        block
        for document in documents
        for block in (*([Heading(document.title)] if document.title else []), *document.blocks)
    )


def fit_sweep(
    sweep: MessageSweep, *, operation: str | None = None, predict: WorkersLike | None = None
) -> FittedNetwork:
    """Latency and bandwidth of one operation, or of all that the sweep has; `predict` adds times at these ranks."""
    fits, findings = [], list(sweep.findings)
    for name in (operation,) if operation else sweep.operations:
        try:
            fits.append(fit_network(sweep, name))
        except InputError as problem:
            if operation:
                raise
            findings.append(info("not-fitted", f"{name}: {problem}"))
    if not fits:
        raise InputError(f"nothing could be fitted: {'; '.join(finding.message for finding in findings)}")
    predictions = () if predict is None else tuple(extend_sweep(sweep, str(fit.operation), predict) for fit in fits)
    return FittedNetwork(system=sweep.system, fits=tuple(fits), predictions=predictions, findings=tuple(findings))


def fit_collectives(
    files: Sequence[str | Path],
    *,
    operation: str | None = None,
    ranks: int | None = None,
    nodes: int | None = None,
    k_from: str | None = None,
    predict: WorkersLike | None = None,
) -> FittedNetworks:
    """Latency and bandwidth per operation from timings of other tools (OSU, IMB, nccl-tests, CSV, a saved sweep).

    `ranks` and `nodes` are those of the run where the file does not say; `k_from` is a pattern whose group finds the
    ranks in the path of each file; `predict` adds times at these ranks.
    """
    from scalecurve.formats.sweeps import read_sweeps

    sweeps = read_sweeps([Path(file) for file in files], operation=operation, ranks=ranks, nodes=nodes, k_from=k_from)
    return FittedNetworks(systems=tuple(fit_sweep(sweep, operation=operation, predict=predict) for sweep in sweeps))


def save_sweep(sweep: MessageSweep, path: str | Path) -> None:
    """Write the timings of collectives to a file that `fit_collectives` reads."""
    from scalecurve.study.message_sweep import write_sweep

    write_sweep(sweep, Path(path))
