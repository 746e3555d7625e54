"""Verbs of trust: why it bends, may it be believed, has it regressed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.analysis.comparison import Comparison
    from scalecurve.auditing.audit import Audit
    from scalecurve.auditing.claim import Claim
    from scalecurve.auditing.gate import Gate
    from scalecurve.diagnosis import Diagnosis
    from scalecurve.study import Study


def diagnose(study: Study, **settings: Any) -> Diagnosis:
    """Why the curve bends, with shares, evidence and a chance of being right; `rng` may be given."""
    from scalecurve.diagnosis.diagnosis import diagnose as verb

    return verb(study, **settings)


def audit(subject: Study | Claim) -> Audit:
    """The reporting checklist and the red flags held against a study or a claim."""
    from scalecurve.auditing.audit import audit as verb

    return verb(subject)


def load_claim(source: str | Path | None = None, **given: Any) -> Study | Claim:
    """A study file, a claim.toml, a published table, or a bare claim (`workers=256, speedup=180`)."""
    from scalecurve.auditing.claim import load_claim as verb

    return verb(source, **given)


def write_claim_template(path: str | Path) -> None:
    """An example claim.toml to fill in; an existing file is left alone."""
    from scalecurve.auditing.claim import claim_template
    from scalecurve.formats.user_file import write_template

    write_template(claim_template(), Path(path))


def write_badge(label: str, verdict: str, path: str | Path) -> None:
    """A verdict as a small SVG."""
    from scalecurve.render.exports import write_badge as verb

    verb(label, verdict, path)


def compare(first: Study, second: Study, **settings: Any) -> Comparison:
    """Ratios of T and E at each K, second over first; `level=`, `allow_mixed=`."""
    from scalecurve.analysis.comparison import compare as verb

    return verb(first, second, **settings)


def merge(studies: Sequence[Study], *, allow_mixed: bool = False) -> Study:
    """One study with the runs of all."""
    from scalecurve.analysis.merging import merge as verb

    return verb(studies, allow_mixed=allow_mixed)


def check(study: Study, *, min_efficiency: Sequence[str] = (), **settings: Any) -> Gate:
    """A gate: floors such as "0.8@8", and with `against=` an older study, losses beyond noise."""
    from scalecurve.auditing.gate import check as verb

    return verb(study, min_efficiency=min_efficiency, **settings)


def write_junit(gate: Gate, path: str | Path) -> None:
    """A gate's checks as JUnit XML."""
    from scalecurve.study.atomic import write_atomically

    write_atomically(Path(path), gate.junit().encode())


def append_history(gate: Gate, study: Study, path: str | Path) -> None:
    """One JSON line more: when, which commit, T and E at each K, passed or not."""
    gate.append_history(study, path)
