"""Reading and writing a study file: JSON, versioned, written atomically.

Format history (keep it here; a reader must go on reading every version listed):
  1  2026-11: first version.  {"format": "scalecurve-study", "version": 1, regime, quantity, k_unit, ...} with either
     "samples" {"K": [values]} or "runs" [...].  Step series beyond INLINE_STEPS numbers in all go to a sidecar
     `<name>.steps.npz` beside the file (numpy arrays, never pickled) named under "sidecar" with its SHA-256.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.findings import Finding
from scalecurve.study.atomic import write_atomically
from scalecurve.study.provenance import Baseline, Provenance, Workload
from scalecurve.study.run import Run
from scalecurve.study.samples import Samples
from scalecurve.study.sidecar import attach_steps, count_steps, read_sidecar, sidecar_bytes, sidecar_path, without_steps
from scalecurve.study.study import Study
from scalecurve.study.terms import Quantity, Regime, Treatment

FORMAT = "scalecurve-study"
VERSION = 1
MAX_BYTES = 256 * 1024 * 1024
INLINE_STEPS = 20_000

PositiveFloat = Annotated[FiniteFloat, Field(gt=0)]
WorkerKey = Annotated[str, Field(pattern=r"^[1-9]\d{0,9}$")]


class _Sidecar(BaseModel):
    name: str
    sha256: str


class _StudyFile(BaseModel):
    """The shape of version 1; fields of later minor additions are ignored, not refused."""

    model_config = ConfigDict(extra="ignore")

    regime: Regime
    quantity: Quantity = Quantity.SECONDS
    k_unit: str = "workers"
    unit: str | None = None
    workload: Workload = Workload()
    samples: dict[WorkerKey, list[PositiveFloat]] | None = None
    runs: tuple[Run, ...] = ()
    baseline: Baseline = Baseline()
    warmup: Treatment = Treatment.UNKNOWN
    setup: Treatment = Treatment.UNKNOWN
    node_size: int | None = None
    provenance: Provenance = Provenance()
    findings: tuple[Finding, ...] = ()
    sidecar: _Sidecar | None = None


def study_to_dict(study: Study) -> dict[str, Any]:
    """The study as plain data, complete: every raw observation is in it."""
    data: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    data |= {"regime": study.regime, "quantity": study.quantity, "k_unit": study.k_unit, "unit": study.unit}
    data["workload"] = asdict(study.workload)
    if study.bulk is not None:
        data["samples"] = {str(k): values.tolist() for k, values in study.bulk.by_k().items()}
    else:
        data["runs"] = [asdict(run) for run in study.runs]
    data |= {"baseline": asdict(study.baseline), "warmup": study.warmup, "setup": study.setup}
    data |= {"node_size": study.node_size, "provenance": asdict(study.provenance)}
    data["findings"] = [finding.to_dict() for finding in study.findings]
    return data


def study_from_dict(data: Any, *, subject: str = "study", folder: Path | None = None) -> Study:
    """A study from plain data; every fault is reported at once.  `folder` is where a sidecar would lie."""
    _check_header(data, subject)
    try:
        parsed = _StudyFile.model_validate(data)
    except ValidationError as problem:
        raise FormatError(faults_of(problem), subject=subject) from None
    runs = parsed.runs
    if parsed.sidecar is not None:
        runs = attach_steps(runs, read_sidecar(folder, parsed.sidecar.name, parsed.sidecar.sha256, subject))
    return _build(parsed, runs, subject)


def _build(parsed: _StudyFile, runs: tuple[Run, ...], subject: str) -> Study:
    bulk = None
    try:
        if parsed.samples is not None:
            bulk = Samples.from_mapping({int(k): values for k, values in parsed.samples.items()})
        shared = parsed.model_dump(exclude={"samples", "runs", "sidecar"}, round_trip=True)
        kept = {name: getattr(parsed, name) for name in shared}
        return Study(bulk=bulk, runs=runs, **kept)
    except InputError as problem:
        raise FormatError(problem.faults, subject=subject) from None


def _check_header(data: Any, subject: str) -> None:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        hint = f'a study file is a JSON object with "format": "{FORMAT}"; other tools\' files: scalecurve import'
        raise FormatError(Fault("not a study file", remedy=hint), subject=subject)
    version = data.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FormatError(Fault("the format version is missing or wrong", seen=repr(version)), subject=subject)
    if version > VERSION:
        hint = f"this scalecurve reads versions up to {VERSION}; update it"
        raise FormatError(
            Fault("written by a newer scalecurve", seen=f"version {version}", remedy=hint), subject=subject
        )


def faults_of(problem: ValidationError) -> list[Fault]:
    """Pydantic's complaints as faults with a path, the value and the rule broken."""
    return [
        Fault(
            error["msg"][:1].lower() + error["msg"][1:],
            where=".".join(str(part) for part in error["loc"]) or None,
            seen=None if error["type"] == "missing" else str(error["input"])[:200],
        )
        for error in problem.errors(include_url=False)
    ]


def read_study(path: Path) -> Study:
    """The study in a file, or a FormatError that lists every fault."""
    return study_from_dict(read_json(path), subject=str(path), folder=path.parent)


def read_json(path: Path, *, limit: int = MAX_BYTES) -> Any:
    """JSON from a file of bounded size."""
    try:
        size = path.stat().st_size
        if size > limit:
            hint = f"the limit is {limit} bytes; keep long series in the sidecar or a CSV"
            raise FormatError(Fault("the file is too large", seen=f"{size} bytes", remedy=hint), subject=str(path))
        return parse_json(path.read_bytes(), subject=str(path))
    except OSError as problem:
        raise FormatError(f"cannot be read: {problem.strerror}", subject=str(path)) from None


def parse_json(raw: bytes, *, subject: str) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise FormatError("not text in UTF-8", subject=subject) from None
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        cut = problem.msg.startswith("Unterminated") or problem.pos >= len(problem.doc.rstrip()) - 1
        hint = "the file may be truncated" if cut else None
        raise FormatError(Fault(f"not JSON: {problem.msg}", where=where, remedy=hint), subject=subject) from None
    except (ValueError, RecursionError) as problem:
        raise FormatError(f"not JSON: {problem}", subject=subject) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number JSON knows; write null for absent values")


def write_study(study: Study, path: Path) -> None:
    """Write atomically: readers see the old file or the new one, never half of one."""
    data = study_to_dict(study)
    if count_steps(study.runs) > INLINE_STEPS:
        packed, digest = sidecar_bytes(study.runs)
        beside = sidecar_path(path)
        write_atomically(beside, packed)
        light = replace(study, runs=without_steps(study.runs))
        data = study_to_dict(light) | {"sidecar": {"name": beside.name, "sha256": digest}}
    write_atomically(path, json_bytes(data))


def json_bytes(data: Any) -> bytes:
    return (json.dumps(data, indent=1, allow_nan=False, default=str) + "\n").encode()
