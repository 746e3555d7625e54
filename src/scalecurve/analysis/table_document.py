"""A speedup table as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.analysis.row import TableRow
from scalecurve.document import Block, Cell, Column, Document, FindingList, Paragraph, Table, Tone, table
from scalecurve.estimate import Estimate
from scalecurve.study import Quantity, Regime

if TYPE_CHECKING:
    from scalecurve.analysis.table import SpeedupTable

LARGEST_FIXED = 1e7

_TONES: dict[str, Tone] = {"ok": "good", "below": "bad", "superlinear": "warn"}


def table_document(result: SpeedupTable) -> Document:
    head = f"{result.name}: {result.regime} scaling, {result.regime.held_fixed}; {_quantity_words(result)}"
    blocks: tuple[Block, ...] = (Paragraph(head), _rows_table(result), Paragraph(bend_sentence(result)))
    return Document(None, (*blocks, *_findings(result)))


def _findings(result: SpeedupTable) -> tuple[Block, ...]:
    return (FindingList(result.findings),) if result.findings else ()


def _quantity_words(result: SpeedupTable) -> str:
    words = result.quantity.replace("_", " ")
    unit = f" ({result.unit})" if result.unit and result.quantity is not Quantity.SECONDS else ""
    return f"values in {words}{unit}; baseline K0 = {result.baseline_k}; intervals at {result.level:.0%}"


def _rows_table(result: SpeedupTable) -> Table:
    scaled = "scaled S" if result.regime is Regime.WEAK else "S"
    relative = result.baseline_k != 1
    serial = result.karp_flatt
    columns = [f"K ({result.k_unit})", "n", "mean", "interval", "std", scaled, "interval"]
    columns += [f"T({result.baseline_k})/T(K)"] if relative else []
    columns += ["E", "interval"] + (["Karp-Flatt"] if serial else [])
    heads = [Column(name) for name in columns] + [Column("verdict", "left")]
    return table(heads, [_cells(row, relative=relative, serial=serial) for row in result.rows])


def _cells(row: TableRow, *, relative: bool, serial: bool) -> list[Cell | str | None]:
    digits = _decimals(row.mean.value)
    cells: list[Cell | str | None] = [str(row.k), str(row.n), _fixed(row.mean.value, digits)]
    cells += [_interval(row.mean, digits), None if row.std is None else _fixed(row.std, digits)]
    cells += [_fixed(row.speedup.value, 2), _interval(row.speedup, 2)]
    cells += [_fixed(row.relative_speedup, 2)] if relative else []
    cells += [_fixed(row.efficiency.value, 3), _interval(row.efficiency, 3)]
    cells += [None if row.karp_flatt is None else f"{row.karp_flatt:.4f}"] if serial else []
    return [*cells, Cell(_verdict_words(row), _TONES[row.verdict])]


def _verdict_words(row: TableRow) -> str:
    unsure = " (unsure)" if row.sure is False else ""
    over = ", oversubscribed" if row.oversubscribed else ""
    return f"{row.verdict}{unsure}{over}"


def _interval(estimate: Estimate, digits: int | None) -> str | None:
    if estimate.low is None or estimate.high is None:
        return None
    return f"{_fixed(estimate.low, digits)}..{_fixed(estimate.high, digits)}"


def _fixed(value: float, digits: int | None) -> str:
    return f"{value:.5g}" if digits is None or abs(value) >= LARGEST_FIXED else f"{value:.{digits}f}"


def _decimals(value: float) -> int | None:
    """Four decimals for values around one, more for small and fewer for large ones; None: neither fits."""
    if value >= LARGEST_FIXED:
        return None
    for limit, digits in ((1e4, 1), (1e2, 2), (1e-2, 4), (1e-5, 7)):
        if value >= limit:
            return digits
    return None


def bend_sentence(result: SpeedupTable) -> str:
    """The bend in words, with its rule, its probability and the K it could be instead."""
    rule = rule_words(result)
    if result.bend is None:
        return f"No bend within the measured range, K <= {result.rows[-1].k} ({rule})."
    text = f"The curve bends at K = {result.bend.k} ({rule})"
    if result.bend.probability is None:
        return text + "; how sure that is cannot be said where a K has a single sample."
    text += f", probability {result.bend.probability:.2f}"
    others = ", ".join(f"K = {k} ({chance:.2f})" for k, chance in result.bend.neighbours)
    return text + (f"; it could also be {others}." if others else ".")


def rule_words(result: SpeedupTable) -> str:
    return {
        "efficiency": f"first K with E < {result.threshold:g}",
        "marginal": f"first K whose last step gained less than {result.threshold:g} of speedup per added worker",
        "knee": "largest S*E",
    }[result.rule]
