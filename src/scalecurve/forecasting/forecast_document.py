"""A forecast as text and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scalecurve.document import Block, Cell, Column, Document, FindingList, Heading, Paragraph, Tone, table
from scalecurve.forecasting.backtest import Backtest
from scalecurve.forecasting.cautions import GREY
from scalecurve.forecasting.forecast import Forecast
from scalecurve.forecasting.row import ForecastRow
from scalecurve.forecasting.standing import Standing
from scalecurve.study import Quantity
from scalecurve.units import format_seconds

Show = Callable[[float], str]


def forecast_document(forecast: Forecast) -> Document:
    blocks = [*_rows(forecast), Paragraph(forecast.bend.sentence()), Paragraph(_who(forecast))]
    if forecast.backtest:
        blocks += _backtest(forecast.backtest, _show(forecast))
    if forecast.standing:
        blocks += _standing(forecast.standing)
    blocks.append(FindingList(forecast.findings))
    return Document(f"Forecast of {forecast.name}", tuple(blocks))


def _show(forecast: Forecast) -> Show:
    return format_seconds if forecast.view.study.quantity is Quantity.SECONDS else lambda value: f"{value:.4g}"


def _rows(forecast: Forecast) -> Iterator[Block]:
    study, show = forecast.view.study, _show(forecast)
    yield Paragraph(
        f"{study.regime} scaling, measured to K = {forecast.view.largest_k:g} {study.k_unit}; "
        f"intervals at {forecast.level:.0%}, calibrated on published curves from other sources"
    )
    value = Column(str(study.quantity).replace("_", " "), meaning="expected value")
    columns = [Column("K"), value, Column("low"), Column("high"), Column("S"), Column("E"), Column("beyond")]
    yield table(columns, [_cells(row, show) for row in forecast.rows])


def _cells(row: ForecastRow, show: Show) -> list[Cell | str | None]:
    ratio = f"{row.extrapolation:.3g}x"
    if row.value is None or row.low is None or row.high is None or row.speedup is None or row.efficiency is None:
        return [str(row.k), None, None, None, None, None, Cell(f"{ratio} refused", "bad")]
    tone: Tone = "muted" if row.extrapolation > GREY else "plain"
    numbers = (show(row.value), show(row.low), show(row.high), f"{row.speedup:.4g}", f"{row.efficiency:.1%}", ratio)
    return [str(row.k), *(Cell(text, tone) for text in numbers)]


def _who(forecast: Forecast) -> str:
    ranked = sorted(forecast.weights.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{name} {share:.0%}" for name, share in ranked if share >= 0.005)
    return f"Decided by: {listed}." if listed else "Every K asked for lies within the measured range."


def _backtest(result: Backtest, show: Show) -> Iterator[Block]:
    yield Heading("Tried on this study's own data")
    rows = [
        [str(row.k), show(row.predicted), show(row.measured), f"{row.error:+.1%}", "yes" if row.inside else "no"]
        for row in result.rows
    ]
    caption = f"Fitted to K <= {result.fitted_to} only; median error {result.median_error:.1%}"
    yield table(["K", "predicted", "measured", "error", "in interval"], rows, caption=caption)


def _standing(standing: Standing) -> Iterator[Block]:
    kind = "all domains" if standing.domain == "all" else standing.domain
    yield Heading(f"Where this study stands ({kind}, {standing.regime} scaling)")
    rows = [
        [
            f"{row.multiple}x",
            f"{row.k:g}",
            f"{row.efficiency:.0%}",
            f"{row.percentile:.0f}",
            f"{row.median:.0%}",
            str(row.curves),
        ]
        for row in standing.rows
    ]
    yield table(["of base", "K", "E", "percentile", "published median", "curves"], rows)
