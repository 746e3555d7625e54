"""What an import understood: the study, and the mapping that led to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalecurve.document import Column, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info
from scalecurve.study import Quantity, RunStatus, Study, Treatment
from scalecurve.study.study import REGIME_HELP
from scalecurve.units import format_seconds

MOST_NAMED = 6


@dataclass(frozen=True, kw_only=True)
class Imported(Shown):
    """`study` carries a regime even where none was stated, so that the mapping can be shown; `stated()` refuses it."""

    study: Study
    regime_stated: bool
    format: str
    evidence: str
    files: tuple[str, ...]
    k_origin: str
    value_origin: str
    series: str
    left_out: tuple[str, ...]
    assumed: tuple[str, ...]
    missing: tuple[str, ...]
    reader_findings: tuple[Finding, ...] = ()
    sentence: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.study.findings

    def with_sentence(self) -> Imported:
        """The sentence, and with it the study's notes and findings."""
        sentence = _sentence(self)
        said = info("imported", sentence, files=len(self.files), k=self.k_origin)
        notes = (*self.study.provenance.notes, sentence)
        provenance = replace(self.study.provenance, notes=notes)
        study = replace(self.study, provenance=provenance, findings=(said, *self.reader_findings))
        return replace(self, study=study, sentence=sentence)

    def stated(self) -> Study:
        """The study, or the refusal to guess its regime."""
        if not self.regime_stated:
            subject = self.files[0] if len(self.files) == 1 else f"{len(self.files)} files"
            raise InputError(
                Fault("the scaling regime is not stated, and is never guessed", remedy=REGIME_HELP), subject=subject
            )
        return self.study

    def records(self) -> list[dict[str, Any]]:
        """One row for each K: how many observations, and their mean."""
        return [
            {
                "k": k,
                "n": len(values),
                "mean": float(np.mean(values)),
                "min": float(values.min()),
                "max": float(values.max()),
            }
            for k, values in self.study.samples.by_k().items()
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "evidence": self.evidence,
            "files": list(self.files),
            "sentence": self.sentence,
            "k_from": self.k_origin,
            "k_unit": self.study.k_unit,
            "value_from": self.value_origin,
            "quantity": str(self.study.quantity),
            "unit": self.study.unit,
            "regime": str(self.study.regime) if self.regime_stated else None,
            "series": self.series or None,
            "left_out": list(self.left_out),
            "assumed": list(self.assumed),
            "missing": list(self.missing),
            "rows": self.records(),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        head = (Paragraph(self.sentence), table((Column("what", "left"), Column("taken from", "left")), _mapping(self)))
        shown = [finding for finding in self.findings if finding.code != "imported"]
        return Document(_title(self.files), (*head, _rows(self), FindingList(tuple(shown))))


def _title(files: tuple[str, ...]) -> str:
    shown = ", ".join(files[:MOST_NAMED])
    return shown + (f" and {len(files) - MOST_NAMED} more" if len(files) > MOST_NAMED else "")


def _mapping(imported: Imported) -> list[tuple[str, str]]:
    study = imported.study
    rows = [
        ("format", f"{imported.format}: {imported.evidence}"),
        ("K", f"{imported.k_origin} ({study.k_unit})"),
        (study.quantity.replace("_", " "), imported.value_origin + (f" ({study.unit})" if study.unit else "")),
        ("regime", str(study.regime) if imported.regime_stated else "not stated: say --regime strong or --regime weak"),
        ("warm-up", str(study.warmup)),
        ("set-up", str(study.setup)),
    ]
    if imported.series:
        rows.append(("series", imported.series))
    if imported.left_out:
        rows.append(
            (
                "left out",
                ", ".join(imported.left_out[:MOST_NAMED]) + (" ..." if len(imported.left_out) > MOST_NAMED else ""),
            )
        )
    return rows


def _rows(imported: Imported) -> Any:
    is_time = imported.study.quantity is Quantity.SECONDS
    show = format_seconds if is_time else "{:.6g}".format
    rows = [
        (str(row["k"]), str(row["n"]), show(row["mean"]), show(row["min"]), show(row["max"]))
        for row in imported.records()
    ]
    return table(("K", "n", "mean", "least", "most"), rows)


def _sentence(imported: Imported) -> str:
    """«hyperfine: 10 runs each, K from `threads`; assumed ...; missing: no warm-up recorded»."""
    parts = [f"{imported.format}: {_repeats(imported.study)}, K from {imported.k_origin}"]
    if imported.assumed:
        parts.append("assumed: " + ", ".join(imported.assumed))
    missing = (*imported.missing, *_not_recorded(imported.study))
    if missing:
        parts.append("missing for an honest study: " + ", ".join(dict.fromkeys(missing)))
    return "; ".join(parts)


def _repeats(study: Study) -> str:
    counts = _counts(study)
    if not counts:
        return "no observations"
    many = f"{counts[0]} to {counts[-1]} runs" if len(counts) > 1 else f"{counts[0]} run{'s' if counts[0] > 1 else ''}"
    failed = sum(run.status is not RunStatus.OK for run in study.runs)
    return f"{many} each" + (f", {failed} failed and not counted" if failed else "")


def _counts(study: Study) -> list[int]:
    """The numbers of observations that some K has, rising."""
    k = study.samples.k
    if len(k) and k[0] == k[-1] and (k == k[0]).all():
        return [len(k)]
    return sorted(set(np.unique(k, return_counts=True)[1].tolist()))


def _not_recorded(study: Study) -> tuple[str, ...]:
    clauses = []
    if study.warmup is Treatment.UNKNOWN:
        clauses.append("no warm-up recorded")
    if study.setup is Treatment.UNKNOWN:
        clauses.append("whether set-up time is in it")
    if not study.provenance.machine:
        clauses.append("the machine")
    if min(_counts(study), default=2) == 1:
        clauses.append("repeats (a single run shows no spread)")
    return tuple(clauses)
