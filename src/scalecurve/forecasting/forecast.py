"""T, S and E at K that were not measured, with intervals that hold on published curves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from scalecurve.document import Document, Shown
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.forecasting.backtest import Backtest, backtest
from scalecurve.forecasting.calibration import Calibration, shipped
from scalecurve.forecasting.cautions import REFUSED, backtest_findings, row_findings, study_findings
from scalecurve.forecasting.curves import Array
from scalecurve.forecasting.engine import Prediction, predict
from scalecurve.forecasting.horizon import ExpectedBend, expected_bend, grid_beyond
from scalecurve.forecasting.row import ForecastRow, refused_row
from scalecurve.forecasting.slopes import LN2
from scalecurve.forecasting.standing import Standing, check_domain, standing_of
from scalecurve.forecasting.view import View, view
from scalecurve.study import Study
from scalecurve.study.samples import MAX_K

WIDEST = 30.0  # half-width on log scale; beyond it a number means nothing and only overflows
NODE_WIDENING = 1.5


@dataclass(frozen=True, kw_only=True)
class Forecast(Shown):
    """A study's forecast: rows, who decided (`weights`), a backtest on the study's own data, where the bend is."""

    name: str
    level: float
    rows: tuple[ForecastRow, ...]
    weights: Mapping[str, float]
    cautions: tuple[Finding, ...]
    domain: str | None = None
    view: View = field(repr=False)
    calibration: Calibration = field(repr=False)

    def __getitem__(self, place: int) -> ForecastRow:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ForecastRow]:
        return iter(self.rows)

    @cached_property
    def backtest(self) -> Backtest | None:
        return backtest(self.view, self.level, self.calibration)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The cautions, and what the backtest says; lazy, since a backtest costs as much as the forecast."""
        return (*self.cautions, *backtest_findings(self.backtest))

    @cached_property
    def bend(self) -> ExpectedBend:
        ahead = predict([self.view.fitted], [self.view.path], [grid_beyond(self.view)], self.calibration)[0]
        return expected_bend(self.view, ahead, self.calibration.widths[self.view.path].quantile(self.level))

    @property
    def measured(self) -> tuple[tuple[int, float], ...]:
        """The medians the forecast continues, in the study's own quantity."""
        points = self.view.points
        values = self.view.value(points.k, points.log_performance).tolist()
        return tuple(zip(points.k.astype(int).tolist(), values, strict=True))

    @cached_property
    def curve(self) -> tuple[ForecastRow, ...]:
        """Rows close enough together to draw, from the largest measured K to the last one answered."""
        answered = [row.k for row in self.rows if not row.refused]
        first, last = self.view.largest_k, max(answered, default=0)
        steps = np.unique(np.round(np.geomspace(first + 1, max(last, 2 * first), 24))).astype(int).tolist()
        settings = Settings(
            at=tuple(steps), level=self.level, extrapolate=True, domain=self.domain, calibration=self.calibration
        )
        return _forecast_all([self.view], settings)[0].rows

    @cached_property
    def standing(self) -> Standing | None:
        return standing_of(self.view, self.domain, self.calibration)

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "level": self.level,
            "kind": str(self.view.path),
            "measured_to": int(self.view.largest_k),
            "rows": self.records(),
            "weights": dict(self.weights),
            "backtest": self.backtest.to_dict() if self.backtest else None,
            "bend": self.bend.to_dict(),
            "standing": self.standing.to_dict() if self.standing else None,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        from scalecurve.forecasting.forecast_document import forecast_document

        return forecast_document(self)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to forecast; the same for every study of a call."""

    at: tuple[int, ...] | None
    level: float
    extrapolate: bool
    domain: str | None
    calibration: Calibration


def forecast(study: Study, at: Sequence[int] | None = None, **settings: Any) -> Forecast:
    """Forecast one study; settings as in `forecast_all`."""
    return forecast_all([study], at, **settings)[0]


def forecast_all(
    studies: Sequence[Study],
    at: Sequence[int] | None = None,
    *,
    level: float = 0.9,
    extrapolate: bool = False,
    node_size: int | None = None,
    kind: str | None = None,
    domain: str | None = None,
    calibration: Calibration | None = None,
) -> list[Forecast]:
    """Forecast many studies in one go at the worker counts `at` (default: 2 and 4 times the largest measured).

    Rows beyond 16 times the largest measured K are refused unless `extrapolate`.  `kind` ("strong", "weak",
    "collective") insists on a panel; `domain` on the published curves that `standing` compares with.
    """
    learned = calibration or shipped()
    _check(at, level, node_size, learned)
    check_domain(domain, learned)
    asked = None if at is None else tuple(int(k) for k in at)
    settings = Settings(at=asked, level=level, extrapolate=extrapolate, domain=domain, calibration=learned)
    return _forecast_all([view(one, kind, node_size) for one in studies], settings)


def _check(at: Sequence[int] | None, level: float, node_size: int | None, calibration: Calibration) -> None:
    faults = []
    highest = min(width.highest_level for width in calibration.widths.values())
    if not 0 < level <= highest:
        hint = f"intervals were calibrated up to {highest:g}"
        faults.append(Fault("not a level for an interval", where="level", seen=f"{level:g}", remedy=hint))
    if node_size is not None and node_size < 1:
        faults.append(Fault("a node holds at least one worker", where="node_size", seen=str(node_size)))
    if at is not None and not len(at):
        faults.append(Fault("no worker counts to forecast", where="at", remedy="name some: 64,128,256"))
    faults += [
        Fault("not a worker count", where="at", seen=str(k), remedy=f"whole numbers, 1 to {MAX_K}")
        for k in (at if at is not None else ())
        if not _is_count(k)
    ]
    if faults:
        raise InputError(faults, subject="forecast")


def _is_count(k: object) -> bool:
    whole = isinstance(k, int | np.integer) or (isinstance(k, float) and k.is_integer())
    return whole and not isinstance(k, bool) and 1 <= k <= MAX_K  # type: ignore[operator]


def _forecast_all(views: Sequence[View], settings: Settings) -> list[Forecast]:
    asked = [_asked(own, settings) for own in views]
    beyond = [_beyond(own, ks) for own, ks in zip(views, asked, strict=True)]
    made = predict([own.fitted for own in views], [own.path for own in views], beyond, settings.calibration)
    return [_forecast(*each, settings) for each in zip(views, asked, made, strict=True)]


def _beyond(own: View, asked: Sequence[int]) -> Array:
    return np.array([_effective(own, float(k)) for k in asked if k > own.largest_k])


def _asked(own: View, settings: Settings) -> tuple[int, ...]:
    return settings.at or (int(2 * own.largest_k), int(4 * own.largest_k))


def _effective(own: View, k: float) -> float:
    """Threads cannot leave their node: beyond its cores nothing more is gained than at its last core."""
    if own.node_size and own.study.k_unit.startswith("thread"):
        return max(own.largest_k, min(k, float(own.node_size)))
    return k


def _forecast(own: View, asked: tuple[int, ...], made: Prediction, settings: Settings) -> Forecast:
    quantile = settings.calibration.widths[own.path].quantile(settings.level)
    ahead = iter(zip(made.ahead.tolist(), (quantile * made.scale).tolist(), strict=True))
    noise = made.noise if len(made.ahead) else 0.0
    expected = [next(ahead) if k > own.largest_k else _between(own, k, noise, quantile) for k in asked]
    rows = tuple(_row(own, k, log, half, settings) for k, (log, half) in zip(asked, expected, strict=True))
    found = (*own.study.findings, *study_findings(own, noise), *(f for row in rows for f in row.findings))
    return Forecast(
        name=own.name,
        level=settings.level,
        rows=rows,
        weights=made.weights,
        cautions=found,
        domain=settings.domain,
        view=own,
        calibration=settings.calibration,
    )


def _between(own: View, k: int, noise: float, quantile: float) -> tuple[float, float]:
    """Inside the measured range: the log-log line between neighbours, 5 % of doubt per doubling to the nearest.

    Below the smallest K the first slope goes on (at most linear), with 30 % of doubt per doubling.
    """
    x, y, log_k = np.log(own.points.k), own.points.log_performance, math.log(k)
    gap = float(np.min(np.abs(x - log_k))) / LN2
    below = max(0.0, float(x[0]) - log_k)
    slope = min(max(float((y[1] - y[0]) / (x[1] - x[0])), -1.0), 1.0)
    value = float(np.interp(log_k, x, y)) - slope * below
    return value, quantile * (math.hypot(noise, 0.05 * gap) + 0.005 + 0.3 * below / LN2)


def _row(own: View, k: int, log: float, half: float, settings: Settings) -> ForecastRow:
    ratio = k / own.largest_k
    refused = ratio > REFUSED and not settings.extrapolate
    findings = row_findings(k, ratio, refused)
    if refused:
        return refused_row(k, own.study.quantity, ratio, findings)
    crosses = own.node_size is not None and own.largest_k <= own.node_size < k
    half = min(half * (NODE_WIDENING if crosses else 1.0), WIDEST)
    value, efficiency = own.value_at(k, log), own.efficiency_at(k, log)
    return ForecastRow(
        k=k,
        quantity=own.study.quantity,
        value=value,
        low=value * math.exp(-half),
        high=value * math.exp(half),
        speedup=k * efficiency,
        efficiency=efficiency,
        extrapolation=ratio,
        findings=findings,
    )
