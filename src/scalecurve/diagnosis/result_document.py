"""A diagnosis as a document: the answer first, then shares, the POP table, evidence and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.diagnosis.causes import MEANINGS, NONE, UNDETERMINED
from scalecurve.diagnosis.pop import ACCEPTABLE, PopMetrics
from scalecurve.document import Block, Cell, Column, Document, FindingList, Paragraph, Table, Tone, table

if TYPE_CHECKING:
    from scalecurve.diagnosis.result import CauseRow, Diagnosis

_POP_ROWS = (
    ("global efficiency", "global_efficiency"),
    ("- parallel efficiency", "parallel_efficiency"),
    ("  - load balance", "load_balance"),
    ("  - communication efficiency", "communication_efficiency"),
    ("- computation scalability", "computation_scalability"),
)
_POOR = 0.6


def diagnosis_document(result: Diagnosis) -> Document:
    blocks: list[Block] = [Paragraph(_answer(result)), _causes(result), _by_k(result)]
    if all(row.pop for row in result.by_k):
        blocks.append(_pop_table(result))
    blocks += [Paragraph(sentence) for sentence in result.evidence]
    blocks.append(Paragraph(f"Worth trying: {result.remedy}."))
    return Document(f"{result.name}: why the curve bends", (*blocks, FindingList(result.findings)))


def _answer(result: Diagnosis) -> str:
    if result.cause == UNDETERMINED:
        likely = [c for c in sorted(result.causes, key=lambda c: -c.probability) if c.probability >= 0.05]
        listed = ", ".join(f"{c.name} {c.probability:.2f}" for c in likely)
        return f"Undetermined: {result.basis} cannot tell these apart: {listed}."
    if result.cause == NONE:
        return (
            f"No cause to name: no loss beyond the noise (probability {result.probability:.2f}, from {result.basis})."
        )
    share = next(c.share for c in result.causes if c.name == result.cause)
    return (
        f"Cause: {result.cause} ({MEANINGS[result.cause]}), probability {result.probability:.2f}, {share:.0%} of the "
        f"gap between K T(K) and the work at the largest K; from {result.basis}."
    )


def _causes(result: Diagnosis) -> Table:
    rows = [(c.name, f"{c.share:.0%}", f"{c.probability:.2f}", MEANINGS[c.name]) for c in result.causes]
    return table([Column("cause", "left"), "share", "probability", Column("meaning", "left")], rows)


def _by_k(result: Diagnosis) -> Table:
    names = [cause.name for cause in result.causes]
    heads = [f"K ({result.k_unit})", "E", *names]
    return table(heads, [_k_cells(row, names) for row in result.by_k], caption="Shares of the gap at each K")


def _k_cells(row: CauseRow, names: list[str]) -> list[str | None]:
    return [str(row.k), f"{row.efficiency:.3f}", *(f"{row.shares.get(name, 0.0):.0%}" for name in names)]


def _pop_table(result: Diagnosis) -> Table:
    heads = [Column("POP metric", "left"), *(Column(str(row.k)) for row in result.by_k)]
    rows: list[list[Cell | str | None]] = [
        [title, *(_pop_cell(row.pop, name) for row in result.by_k)] for title, name in _POP_ROWS
    ]
    return table(heads, rows, caption=f"POP efficiencies by K; {ACCEPTABLE} and above is acceptable")


def _pop_cell(metrics: PopMetrics | None, name: str) -> Cell:
    value: float = getattr(metrics, name)
    tone: Tone = "good" if value >= ACCEPTABLE else "warn" if value >= _POOR else "bad"
    return Cell(f"{value:.2f}", tone)
