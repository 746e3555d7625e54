"""What a reader of a forecast must know, as findings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scalecurve.findings import Finding, info, warning
from scalecurve.forecasting.backtest import Backtest
from scalecurve.forecasting.view import Path, View

GREY, REFUSED = 4.0, 16.0
NOISY = 0.1
SMALL_SAMPLE = 4
FAILED_ERROR = 0.5


def row_findings(k: int, ratio: float, refused: bool) -> tuple[Finding, ...]:
    """Of one row: beyond 16 times refused, beyond 4 times grey."""
    if refused:
        return (
            warning(
                "forecast-refused",
                f"K = {k} is {ratio:.3g} times the largest measured K: a guess, not a forecast",
                remedy="measure a larger K, or insist with extrapolate=True (--extrapolate)",
                k=k,
                extrapolation=ratio,
            ),
        )
    if ratio > GREY:
        message = f"K = {k} is {ratio:.3g} times the largest measured K; published curves often break within that"
        remedy = "read the interval, not the number; a run in between narrows it most"
        return (warning("far-extrapolation", message, remedy=remedy, k=k, extrapolation=ratio),)
    return ()


def backtest_findings(tried: Backtest | None) -> Iterator[Finding]:
    """A method that missed this study's own larger K should not be trusted with K beyond them."""
    if tried is None or (tried.covered > 0 and tried.median_error <= FAILED_ERROR):
        return
    missed = "every interval missed" if tried.covered == 0 else "not all intervals missed"
    yield warning(
        "backtest-failed",
        f"fitted to K <= {tried.fitted_to}, the forecast of this study's own larger K was off by "
        f"{tried.median_error:.0%} in the median; {missed}",
        remedy="do not rely on these rows: check the data for a change of set-up, and measure larger K",
        fitted_to=tried.fitted_to,
        median_error=tried.median_error,
        covered=tried.covered,
    )


def study_findings(view: View, noise: float) -> Iterator[Finding]:
    """Of the whole forecast."""
    points = view.fitted
    if len(points.k) < SMALL_SAMPLE:
        yield warning(
            "few-points",
            f"only {len(points.k)} worker counts are extrapolated; such forecasts are off by 17 % in the median",
            remedy="measure at least five K, the largest included",
            points=len(points.k),
        )
    if points.error is None or not np.any(np.isfinite(points.error)):
        yield info("no-repeats", "no K was repeated, so noise and shape cannot be told apart", remedy="repeat each K")
    if noise > NOISY:
        yield warning(
            "noisy-curve",
            f"points scatter by about {noise:.0%} around a smooth curve",
            remedy="repeat the runs, and look for a shared machine or a changed set-up",
            noise=noise,
        )
    yield from _shape_findings(view)


def _shape_findings(view: View) -> Iterator[Finding]:
    log = view.fitted.log_performance
    best = int(np.argmax(log))
    if view.path is Path.STRONG and best < len(log) - 1 and log[best] - log[-1] > 0.05:
        k = int(view.fitted.k[best])
        yield warning("past-the-peak", f"performance is highest at K = {k}; more workers already make it worse", k=k)
    if view.path is Path.COLLECTIVE:
        yield info(
            "rising-time", "the time rises with K from the start: forecast as the cost of a collective operation"
        )
    if len(view.fitted.k) < len(view.points.k):
        message = f"only K from one full node ({view.node_size} workers) on are extrapolated"
        yield info("inside-node-left-out", message, node_size=view.node_size)
    elif view.node_size and view.largest_k <= view.node_size:
        yield warning(
            "node-boundary",
            f"every measured K fits in one node ({view.node_size} workers): the network was never measured",
            remedy="measure two and four nodes",
            node_size=view.node_size,
        )
