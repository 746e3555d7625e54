"""The result of an import: the study, and the mapping that led to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalecurve.document import Column, Document, FindingList, Paragraph, Result, table
from scalecurve.findings import Finding, info
from scalecurve.formats.reading import ColumnUse
from scalecurve.formats.regime import with_shown_regime
from scalecurve.study import Quantity, RunStatus, Study, Treatment
from scalecurve.study.study import StudySet
from scalecurve.units import format_seconds

MOST_NAMED = 6
_COLUMN_HEADS = (Column("column", "left"), Column("role", "left"), Column("what became of it", "left"))


@dataclass(frozen=True, kw_only=True, repr=False)
class Imported(Result):
    """A study with how it was read.

    `study` is a StudySet where the files hold several curves and none was named.  It has a regime even where none was
    stated, so that the mapping can be shown; `stated()` then refuses it.
    `evidence` says why the format was chosen, `alternatives` which others the file also has the marks of, and
    `columns` what became of every column of a table.
    """

    study: Study | StudySet
    regime_stated: bool
    k_origin: str
    value_origin: str
    format: str = ""
    evidence: str = ""
    files: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    columns: tuple[ColumnUse, ...] = ()
    series: str = ""
    left_out: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    reader_findings: tuple[Finding, ...] = ()
    sentence: str = ""

    JSON = """
        format evidence alternatives files sentence k_from=k_origin k_unit=study.k_unit
        value_from=value_origin quantity=study.quantity unit regime series left_out columns assumed missing
        rows=records findings"""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.study.findings

    def __repr__(self) -> str:
        files = self.files[0] if len(self.files) == 1 else f"{len(self.files)} files"
        return f"<Imported {files} as {self.format}, K from {self.k_origin}: {self.study!r}>"

    @property
    def single(self) -> Study:
        """The study; an InputError that names the curves where there are several."""
        return self.study.only() if isinstance(self.study, StudySet) else self.study

    @property
    def curves(self) -> dict[str, Study]:
        """Every curve by name; the only curve of a study has the name of its series, or none."""
        return dict(self.study.items()) if isinstance(self.study, StudySet) else {self.series: self.study}

    def with_sentence(self) -> Imported:
        """The same with its sentence, which is also a note and a finding of the study.

        It reads like: hyperfine: 10 runs each, K from `threads`; assumed: ...; missing for an honest study: ...
        """
        curves = self.curves
        study = next(iter(curves.values()))
        repeats = sorted(
            {n for one in curves.values() for n in np.unique(one.samples.k, return_counts=True)[1].tolist()}
        )
        many = f"{repeats[0]} run{'s' if repeats[0] > 1 else ''}" if repeats else "no observations"
        if len(repeats) > 1:
            many = f"{repeats[0]} to {repeats[-1]} runs"
        failed = sum(run.status is not RunStatus.OK for one in curves.values() for run in one.runs)
        counts = many + (" each" if repeats else "") + (f", {failed} failed and not counted" if failed else "")
        many = f"{len(curves)} curves, " if len(curves) > 1 else ""
        parts = [f"{self.format}: {many}{counts}, K from {self.k_origin}"]
        if self.assumed:
            parts.append("assumed: " + ", ".join(self.assumed))
        unrecorded = (
            ("no warm-up recorded", study.warmup is Treatment.UNKNOWN),
            ("whether set-up time is in it", study.setup is Treatment.UNKNOWN),
            ("the machine", not study.provenance.machine),
            ("repeats (a single run shows no spread)", bool(repeats) and repeats[0] == 1),
        )
        missing = dict.fromkeys((*self.missing, *(clause for clause, absent in unrecorded if absent)))
        if missing:
            parts.append("missing for an honest study: " + ", ".join(missing))
        sentence = "; ".join(parts)
        finding = info("imported", sentence, files=len(self.files), k=self.k_origin)
        studies = {
            name: replace(
                one,
                provenance=replace(one.provenance, notes=(*one.provenance.notes, sentence)),
                findings=(finding, *self.reader_findings),
            )
            for name, one in curves.items()
        }
        whole = (
            replace(self.study, studies=studies) if isinstance(self.study, StudySet) else next(iter(studies.values()))
        )
        return replace(self, study=whole, sentence=sentence)

    def stated(self) -> Study | StudySet:
        """The study or the set of curves; an InputError where the regime is neither stated nor shown by the values."""
        subject = self.files[0] if len(self.files) == 1 else f"{len(self.files)} files"
        return self.study if self.regime_stated else with_shown_regime(self.study, subject)

    def records(self) -> list[dict[str, Any]]:
        """One row for each K of each curve: the number of observations, and their mean, least and most."""
        several = isinstance(self.study, StudySet)
        return [
            {
                **({"series": name} if several else {}),
                "k": k,
                "n": len(values),
                "mean": float(np.mean(values)),
                "min": float(values.min()),
                "max": float(values.max()),
            }
            for name, study in self.curves.items()
            for k, values in study.samples.by_k().items()
        ]

    @property
    def unit(self) -> str | None:
        return next(iter(self.curves.values())).unit

    @property
    def regime(self) -> str | None:
        return str(self.study.regime) if self.regime_stated else None

    def content(self) -> dict[str, Any]:
        return super().content() | {"series": self.series or None}

    def body(self) -> Document:
        study = next(iter(self.curves.values()))
        regime = str(study.regime) if self.regime_stated else "not stated: say --regime strong or --regime weak"
        rows = [
            ("format", f"{self.format}: {self.evidence}"),
            *(("could also be", alternative) for alternative in self.alternatives),
            ("K", f"{self.k_origin} ({study.k_unit})"),
            (study.quantity.replace("_", " "), self.value_origin + (f" ({study.unit})" if study.unit else "")),
            ("regime", regime),
            ("warm-up", str(study.warmup)),
            ("set-up", str(study.setup)),
        ]
        if self.series:
            rows.append(("series", self.series))
        if self.left_out:
            more = " ..." if len(self.left_out) > MOST_NAMED else ""
            rows.append(("left out", ", ".join(self.left_out[:MOST_NAMED]) + more))
        show = format_seconds if study.quantity is Quantity.SECONDS else "{:.6g}".format
        named = isinstance(self.study, StudySet)
        counts = [
            (
                *((row["series"],) if named else ()),
                str(row["k"]),
                str(row["n"]),
                show(row["mean"]),
                show(row["min"]),
                show(row["max"]),
            )
            for row in self.records()
        ]
        title = ", ".join(self.files[:MOST_NAMED])
        title += f" and {len(self.files) - MOST_NAMED} more" if len(self.files) > MOST_NAMED else ""
        findings = tuple(finding for finding in self.findings if finding.code != "imported")
        return Document(
            title,
            (
                Paragraph(self.sentence),
                table((Column("what", "left"), Column("taken from", "left")), rows),
                *(
                    [table(_COLUMN_HEADS, [(use.name, str(use.role), use.why) for use in self.columns])]
                    if self.columns
                    else []
                ),
                table((*((Column("curve", "left"),) if named else ()), "K", "n", "mean", "least", "most"), counts),
                FindingList(findings),
            ),
        )
