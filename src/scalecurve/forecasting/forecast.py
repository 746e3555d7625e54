"""T, S and E at K that were not measured, with intervals that hold on published curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from scalecurve.analysis.checks import doubts
from scalecurve.analysis.curve import thinned
from scalecurve.document import (
    MEASURE_NEXT,
    Answer,
    Block,
    Cell,
    Column,
    Document,
    FindingList,
    Heading,
    Paragraph,
    Result,
    Tone,
    table,
)
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.forecasting.curves import CurveKind, View, view
from scalecurve.forecasting.prediction import FEWEST, predict_views, sibling_finding, with_siblings
from scalecurve.forecasting.published import Calibration, shipped
from scalecurve.forecasting.rows import GREY, Backtest, ExpectedBend, ForecastRow, backtest, expected_bend, rows_of
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study import Quantity
from scalecurve.study.run import MAX_K
from scalecurve.study.study import what_scales
from scalecurve.units import WorkersLike, as_number, as_workers, format_rate, rates_alike, seconds_alike
from scalecurve.words import workers_text

NO_FASTER = 0.1  # a gain below this is none where the interval holds the measured value
WORTH_IT = 0.5  # power of the added workers below which a gain is not worth them: 1.4 for a doubling
DECISIVE = 1.6  # high over low, above which a fact or a run that narrows it is worth asking for
LEAST_SHOWN = 0.01  # of the weight of an expert


@dataclass(frozen=True, kw_only=True, repr=False)
class Forecast(Result):
    """A study's forecast: rows, the weight of each family, a backtest on the study's own data, the expected bend."""

    name: str
    level: float
    rows: tuple[ForecastRow, ...]
    weights: Mapping[str, float]
    cautions: tuple[Finding, ...]
    view: View
    calibration: Calibration

    REFUSAL = "No forecast to rely on"

    def believes(self, doubt: Finding) -> bool:
        return doubt.evidence.get("kind") == "slower-everywhere"

    @property
    def answer(self) -> Answer:
        study, unit = self.view.study, self.view.study.k_unit
        row = next((own for own in self.rows if own.low is not None and own.high is not None), None)
        if row is None or row.low is None or row.high is None:
            refusal = next((own for own in self.rows[0].findings), None)
            decision = "No forecast: " + (refusal.message if refusal else "no K was asked for")
            return Answer(decision=f"{decision}.", next=refusal.remedy if refusal else None)
        is_time = study.quantity is Quantity.SECONDS
        show = (seconds_alike if is_time else rates_alike)([row.value, row.low, row.high])
        ends = f"{show(row.low)} to {show(row.high)}"
        verb = "would take" if is_time else "would give"
        rate = "" if is_time else f" {str(study.quantity).replace('_', ' ')}"
        value = f"{show(row.value)} ({ends})" if row.value is not None else ends
        last_k, last = self.measured[-1]
        open_range = _open_range(row, last, last_k, self.view.kind)
        decision = f"{workers_text(row.k, unit)} {verb} {value}{rate}{_against(row, last, last_k, self.view.kind)}."
        following = "`scalecurve cost STUDY --price 2.50` prices each K"
        if open_range is not None:
            decision = f"Cannot tell whether {workers_text(row.k, unit)} beat {last_k}: {value}{rate}, {open_range}."
            following = self._measure(row.k)
        elif row.high / row.low > DECISIVE:
            following = self._what_would_narrow()
        sure = {0.9: "9 times in 10", 0.95: "19 times in 20", 0.8: "4 times in 5"}
        return Answer(
            decision=decision,
            confidence=f"The range should be right {sure.get(self.level, f'in {self.level:.0%} of cases')}.",
            reason=self._where_it_bends(),
            next=following,
        )

    def _where_it_bends(self) -> str | None:
        """The bend in words people use; None where none is expected or too few K were measured."""
        if len(self.view.fitted.k) < FEWEST or self.bend.k is None:
            return None
        if self.view.kind is CurveKind.STRONG:
            return f"From about K = {self.bend.k:,.0f} on a doubling gives less than 1.4x."
        return f"Efficiency falls below 0.7 near K = {self.bend.k:,.0f}."

    def _what_would_narrow(self) -> str:
        """The fact or the run that would narrow the interval most."""
        own = self.view
        if own.points.error is None or not np.any(np.isfinite(own.points.error)):
            return f"repeat every K three times: {MEASURE_NEXT}"
        if own.node_size is None and own.points.traits.worker not in (0, 1) and own.study.k_unit != "nodes":
            return "`scalecurve forecast STUDY --node-size 8` if eight workers share a node: say how many"
        if own.cores is None and own.points.traits.worker == 0:
            return "`scalecurve forecast STUDY --cores 8` if the threads share eight cores: say how many"
        return self._measure(int(2 * own.largest_k))

    @staticmethod
    def _measure(k: int) -> str:
        return f"measure K = {k}; `scalecurve next STUDY` says how often"

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
        """The cautions and the backtest's findings; computed when read, as a backtest costs as much as a forecast."""
        return (*self.cautions, *(self.backtest.findings if self.backtest else ()))

    @cached_property
    def bend(self) -> ExpectedBend:
        return expected_bend(self.view, self.level, self.calibration)

    @property
    def measured(self) -> tuple[tuple[int, float], ...]:
        """The medians that the forecast continues, in the study's quantity."""
        points = self.view.points
        values = self.view.value(points.k, points.log_performance).tolist()
        return tuple(zip(points.k.astype(int).tolist(), values, strict=True))

    @cached_property
    def curve(self) -> tuple[ForecastRow, ...]:
        """Rows close enough together to draw, from the largest measured K to the last one answered."""
        first, last = self.view.largest_k, max((row.k for row in self.rows if not row.refused), default=0)
        steps = np.unique(np.round(np.geomspace(first + 1, max(last, 2 * first), 24))).astype(int).tolist()
        settings = {"level": self.level, "calibration": self.calibration}
        return _forecast_views([self.view], tuple(steps), extrapolate=True, **settings)[0].rows  # type: ignore[arg-type]

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def content(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "level": self.level,
            "kind": str(self.view.kind),
            "measured_to": int(self.view.largest_k),
            "rows": self.records(),
            "weights": dict(self.weights),
            "backtest": self.backtest.to_dict() if self.backtest else None,
            "bend": self.bend.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def body(self) -> Document:
        study = self.view.study
        is_time = study.quantity is Quantity.SECONDS
        show: Callable[[float], str] = format_rate
        if is_time:
            show = seconds_alike(end for row in self.rows for end in (row.value, row.low, row.high))
        value = Column("T" if is_time else str(study.quantity).replace("_", " "), meaning="expected value")
        columns = [Column("K"), value, Column("low"), Column("high"), Column("S"), Column("E"), Column("beyond")]
        head = (
            f"{what_scales(study.regime, study.k_unit, study.findings)}, measured up to "
            f"{workers_text(int(self.view.largest_k), study.k_unit)}; "
            f"T continues the medians, S and E are relative to the mean at K0 = {study.baseline_k}; "
            f"intervals at {self.level:.0%}, calibrated on published curves from other sources"
        )
        ranked = sorted(self.weights.items(), key=lambda item: -item[1])
        weights = ", ".join(f"{name} {100 * share:.0f} %" for name, share in ranked if share >= LEAST_SHOWN)
        source = f"Weights: {weights}." if weights else "Every K asked for lies within the measured range."
        bend = [Paragraph(self.bend.sentence(self.view.largest_k))] if len(self.view.fitted.k) >= FEWEST else []
        details: list[Block] = [Paragraph(head), *bend, Paragraph(source)]
        blocks: list[Block] = [table(columns, [_cells(row, show) for row in self.rows])]
        if self.backtest:
            details += [Heading("Tried on this study's own data"), _backtest_table(self.backtest, is_time=is_time)]
        blocks.append(FindingList(self.findings))
        return Document(f"Forecast of {self.name}", tuple(blocks), details=tuple(details))


def _cells(row: ForecastRow, show: Callable[[float], str]) -> list[Cell | str | None]:
    """One row of the table: K, value, low, high, S, E, and how far beyond the measured K it lies."""
    ratio = f"{row.extrapolation:.3g}x"
    if row.low is None or row.high is None:
        return [str(row.k), None, None, None, None, None, Cell(f"{ratio} refused", "bad")]
    if row.value is None:
        return [str(row.k), None, show(row.low), show(row.high), None, None, Cell(f"{ratio} interval only", "bad")]
    tone: Tone = "muted" if row.extrapolation > GREY else "plain"
    times = row.speedup or 0.0
    speedup = f"{times:.4g}" if times < 1e4 else f"{times:,.0f}"
    texts = (show(row.value), show(row.low), show(row.high), speedup, f"{row.efficiency or 0.0:.3f}", ratio)
    return [str(row.k), *(Cell(text, tone) for text in texts)]


def _backtest_table(tried: Backtest, *, is_time: bool) -> Block:
    show: Callable[[float], str] = format_rate
    if is_time:
        show = seconds_alike(value for row in tried.rows for value in (row.predicted, row.measured))
    rows = [
        [str(row.k), show(row.predicted), show(row.measured), f"{row.error:+.1%}", "yes" if row.inside else "no"]
        for row in tried.rows
    ]
    caption = f"Fitted to K <= {tried.fitted_to} only; median error {tried.median_error:.1%}"
    return table(["K", "predicted", "measured median", "error", "in interval"], rows, caption=caption)


def _open_range(row: ForecastRow, last: float, last_k: int, kind: CurveKind) -> str | None:
    """How much faster and slower than the largest measured K it may be, where both are possible; else None."""
    if row.low is None or row.high is None or row.extrapolation <= 1:
        return None
    rising = row.quantity.higher_is_better
    worst, best = (row.low / last, row.high / last) if rising else (last / row.high, last / row.low)
    if kind is CurveKind.WEAK and row.quantity is not Quantity.THROUGHPUT:
        worst, best = worst * row.k / last_k, best * row.k / last_k
    if worst * (1 + NO_FASTER) > 1 or best < (row.k / last_k) ** WORTH_IT:
        return None
    up, down = ("more", "less") if rising else ("faster", "slower")
    return f"{best:.2g}x {up} to {1 / worst:.2g}x {down}"


def _against(row: ForecastRow, last: float, last_k: int, kind: CurveKind) -> str:
    """How the value stands to that at the largest measured K; of weak scaling the work per second."""
    if row.value is None or row.low is None or row.high is None or row.extrapolation <= 1:
        return ""
    rising = row.quantity.higher_is_better
    ratio = row.value / last if rising else last / row.value
    if kind is CurveKind.WEAK and row.efficiency is not None:
        ratio *= 1.0 if row.quantity is Quantity.THROUGHPUT else row.k / last_k
        return f": {ratio:.3g}x the work per second of {last_k}, E = {row.efficiency:.0%}"
    if row.low <= last <= row.high and ratio < 1 + NO_FASTER:
        return f", no {'more' if rising else 'faster'} than {last_k}"
    return f", {ratio:.2g} times {'that of' if rising else 'as fast as'} {last_k}"


def forecast(
    study: StudyLike,
    at: WorkersLike | None = None,
    *,
    regime: str | None = None,
    level: float = 0.9,
    extrapolate: bool = False,
    node_size: int | None = None,
    cores: int | None = None,
    like: Sequence[StudyLike] = (),
    kind: str | None = None,
    calibration: Calibration | None = None,
) -> Forecast:
    """T (or throughput), S and E at the worker counts `at`: 16, [16, 32] or "16..64".

    Parameters
    ----------
    study
        A study in any form that `load` takes.
    at
        The K: 16, [16, 32] or "16..64" (default: 2 and 4 times the largest measured).
    regime
        "strong" or "weak", for a study that does not state it.
    level
        The level of intervals.
    extrapolate
        Whether rows beyond 16 times the largest measured K are given too.
    node_size, cores
        Workers of a node, over that of the study; the cores that all workers share.
    like
        Siblings measured further: other sizes, machines or versions of this study.
    kind
        "strong", "weak" or "collective" over that of the study.
    calibration
        What the experts are weighed by (default: the one that is shipped).

    Returns
    -------
    Forecast
        A row for each K; one too far away has no numbers.

    Raises
    ------
    InputError
        The study cannot be read, or a setting is wrong.

    Examples
    --------
    >>> import scalecurve as sc
    >>> (row,) = sc.forecast({1: 100.0, 2: 53.0, 4: 29.5, 8: 18.0}, 16, regime="strong").rows
    >>> row.k, row.low < row.value < row.high
    (16, True)
    """
    learned = calibration or shipped()
    workers = _checked(at, level, learned, faults_of_knowledge(node_size, cores))
    own = view(thinned(as_study(study, regime=regime)), kind, node_size, cores)
    if like:
        siblings = [view(as_study(one, regime=str(own.study.regime)), kind, own.node_size) for one in like]
        own = with_siblings(own, siblings)
    return _forecast_views([own], workers, extrapolate=extrapolate, level=level, calibration=learned)[0]


def forecast_all(
    studies: Sequence[StudyLike], at: WorkersLike | None = None, *, level: float = 0.9, extrapolate: bool = False
) -> list[Forecast]:
    """Forecast many studies in one go, as `forecast` does one."""
    learned = shipped()
    workers, views = _checked(at, level, learned, []), [view(as_study(study)) for study in studies]
    return _forecast_views(views, workers, extrapolate=extrapolate, level=level, calibration=learned)


def _checked(
    at: WorkersLike | None, level: float, calibration: Calibration, faults: list[Fault]
) -> tuple[int, ...] | None:
    """The K asked for; an InputError with all faults of what was asked, beside those found before."""
    highest = min(width.highest_level for width in calibration.widths.values())
    if not 0 < as_number(level, "level") <= highest:
        hint = f"intervals were calibrated up to {highest:g}"
        faults = [Fault("not a level for an interval", where="level", value=f"{level:g}", remedy=hint), *faults]
    workers: tuple[int, ...] | None = None
    try:
        workers = None if at is None else as_workers(at)
    except InputError as problem:
        faults = [*faults, *problem.faults]
    if workers == ():
        faults = [*faults, Fault("no worker counts to forecast", where="at", remedy="name some: 64,128,256")]
    limit, many = f"at most {MAX_K} workers", [str(k) for k in workers or () if k > MAX_K]
    faults = [*faults, *(Fault("too many workers", where="at", value=k, remedy=limit) for k in many)]
    if faults:
        raise InputError(faults, subject="forecast")
    return workers


def faults_of_knowledge(node_size: int | None, cores: int | None) -> list[Fault]:
    """What is wrong with what the user knows of the machine."""
    faults = []
    if node_size is not None and node_size < 1:
        faults.append(Fault("a node holds at least one worker", where="node_size", value=str(node_size)))
    if cores is not None and cores < 1:
        faults.append(Fault("a machine has at least one core", where="cores", value=str(cores)))
    return faults


def _forecast_views(
    views: Sequence[View],
    at: tuple[int, ...] | None,
    *,
    level: float,
    extrapolate: bool,
    calibration: Calibration,
) -> list[Forecast]:
    counts = [at or (int(2 * own.largest_k), int(4 * own.largest_k)) for own in views]
    beyond = [[k for k in ks if k > own.largest_k] for own, ks in zip(views, counts, strict=True)]
    predictions = predict_views(views, [np.array(ks, dtype=np.float64) for ks in beyond], calibration)
    forecasts = []
    for own, ks, ahead, prediction in zip(views, counts, beyond, predictions, strict=True):
        rows = tuple(rows_of(own, ks, prediction, level, extrapolate, calibration))
        cautions = (
            *doubts(own.study),
            *own.study.findings,
            *own.cautions(prediction.noise),
            *sibling_finding(prediction, ahead),
            *(finding for row in rows for finding in row.findings),
        )
        forecasts.append(
            Forecast(
                name=own.name,
                level=level,
                rows=rows,
                weights=prediction.weights,
                cautions=cautions,
                view=own,
                calibration=calibration,
            )
        )
    return forecasts
