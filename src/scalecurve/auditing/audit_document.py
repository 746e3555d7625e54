"""An audit as a document that can be pasted into a review."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.document import (
    Block,
    Cell,
    Column,
    Document,
    FindingList,
    Heading,
    Listing,
    Paragraph,
    Table,
    Tone,
    table,
)

if TYPE_CHECKING:
    from scalecurve.auditing.audit import Audit

_TONES: dict[str, Tone] = {"ok": "good", "missing": "warn", "violated": "bad"}


def audit_document(result: Audit) -> Document:
    blocks: list[Block] = [Paragraph(_summary(result), _verdict_tone(result.verdict)), _checklist(result)]
    rows = list(result.claim.efficiencies())
    if len(rows) > 1:
        blocks.append(_rows(result))
    blocks.append(FindingList(result.findings))
    if result.questions:
        blocks += [
            Heading("What to ask for"),
            Listing("\n".join(f"{i}. {q}" for i, q in enumerate(result.questions, 1))),
        ]
    return Document(f"Audit of {result.claim.name}", tuple(blocks))


def _verdict_tone(verdict: str) -> Tone:
    return {"sound": "good", "warnings": "warn"}.get(verdict, "bad")  # type: ignore[return-value]


def _summary(result: Audit) -> str:
    counts = {status: sum(row.status == status for row in result.checklist) for status in ("ok", "missing", "violated")}
    listed = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    text = f"Verdict: {result.verdict}. Of the six rows of the reporting checklist: {listed}."
    rows = list(result.claim.efficiencies())
    if rows:
        point, e = rows[-1]
        idle = f", so {1 - e:.0%} of the fleet is idle" if e < 1 else ""
        text += f" At K = {point.k} {result.claim.k_unit} the numbers give E = {e:.2f}{idle}."
    return text


def _checklist(result: Audit) -> Table:
    rows = [(row.item, Cell(row.status, _TONES[row.status]), _short(row.evidence)) for row in result.checklist]
    return table([Column("item", "left"), Column("status", "left"), Column("evidence", "left")], rows)


def _short(evidence: str) -> str:
    """The first sentence of each part: the findings below say the rest."""
    return "; ".join(part.split(". ")[0] for part in evidence.split("; "))


def _rows(result: Audit) -> Table:
    claim = result.claim
    rows = [(str(p.k), f"{e * p.k:.4g}", f"{e:.3f}", f"{max(0.0, 1 - e):.0%}") for p, e in claim.efficiencies()]
    return table([f"K ({claim.k_unit})", "S", "E", "idle"], rows, caption="Recomputed")
