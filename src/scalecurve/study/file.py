"""The study file: JSON, versioned, written atomically; long step series go to a sidecar in the same folder.

Format history (keep it here; a reader must go on reading every version listed):
  1  2026-11: first version.  {"format": "scalecurve-study", "version": 1, regime, quantity, k_unit, ...} with either
     "samples" {"K": [values]} or "runs" [...].  Samples that are means have "summary" [{"k", "n", "std"}] beside them.
     Steps and phases of steps beyond INLINE_STEPS numbers in all go to a sidecar `<name>.steps.npz` beside the file
     (numpy arrays, never pickled) named under "sidecar" with its SHA-256.  Several curves are one file {"format":
     "scalecurve-study-set", "version": 1, "axes", "studies": {name: study}}.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.findings import Finding
from scalecurve.study.atomic import write_atomically
from scalecurve.study.run import Baseline, Provenance, RankRecord, Run, Samples, Summary, Workload
from scalecurve.study.study import Quantity, Regime, Study, StudySet, Treatment

FORMAT = "scalecurve-study"
SET_FORMAT = "scalecurve-study-set"
VERSION = 1
MAX_BYTES = 512 * 1024 * 1024  # of any file that is read whole
MAX_SIDECAR_BYTES = 2 * 1024**3
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
    summary: tuple[Summary, ...] = ()
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
        data |= {"summary": [asdict(item) for item in study.summary]} if study.summary else {}
    else:
        data["runs"] = [asdict(run) for run in study.runs]
    data |= {"baseline": asdict(study.baseline), "warmup": study.warmup, "setup": study.setup}
    data |= {"node_size": study.node_size, "provenance": asdict(study.provenance)}
    data["findings"] = [finding.to_dict() for finding in study.findings]
    return data


def set_to_dict(studies: StudySet) -> dict[str, Any]:
    """Several curves as plain data: every study complete, by name."""
    data: dict[str, Any] = {
        "format": SET_FORMAT,
        "version": VERSION,
        "axes": {k: dict(v) for k, v in studies.axes.items()},
    }
    return data | {"studies": {name: study_to_dict(study) for name, study in studies.items()}}


def set_from_dict(data: Any, *, subject: str = "studies") -> StudySet:
    """A set of curves from plain data; every fault of every study is reported at once."""
    members = data.get("studies") if isinstance(data, dict) else None
    if not isinstance(members, dict) or not members or data.get("version") != VERSION:
        remedy = f'it is a JSON object with "format": "{SET_FORMAT}", "version": {VERSION} and "studies"'
        raise FormatError(Fault("not a set of studies", remedy=remedy), subject=subject)
    axes = data.get("axes") if isinstance(data.get("axes"), dict) else {}
    cells = {str(name): {str(k): str(v) for k, v in own.items()} for name, own in axes.items() if isinstance(own, dict)}
    studies, faults = {}, []
    for name, member in members.items():
        try:
            studies[str(name)] = study_from_dict(member, subject=str(name))
        except InputError as problem:
            faults += [replace(fault, where=f"{name}: {fault.where or 'study'}") for fault in problem.faults]
    if faults:
        raise FormatError(faults, subject=subject)
    return StudySet(studies=studies, axes=cells)


def study_digest(study: Study) -> str:
    """The SHA-256 of all observations and facts, whatever file they are in; findings are derived and left out."""
    data = {name: value for name, value in study_to_dict(study).items() if name != "findings"}
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def study_from_dict(data: Any, *, subject: str = "study", folder: Path | None = None) -> Study:
    """A study from plain data; every fault is reported at once.  `folder` is where the sidecar is."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        remedy = f'a study file is a JSON object with "format": "{FORMAT}"; other tools\' files: scalecurve import'
        raise FormatError(Fault("not a study file", remedy=remedy), subject=subject)
    version = data.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FormatError(Fault("the format version is missing or wrong", value=repr(version)), subject=subject)
    if version > VERSION:
        remedy = f"this scalecurve reads versions up to {VERSION}; update it"
        fault = Fault("written by a newer scalecurve", value=f"version {version}", remedy=remedy)
        raise FormatError(fault, subject=subject)
    try:
        parsed = _StudyFile.model_validate(data)
        runs, samples = parsed.runs, None
        if parsed.sidecar is not None:
            runs = _with_sidecar(runs, folder, parsed.sidecar, subject)
        if parsed.samples is not None:
            samples = Samples.from_mapping({int(k): values for k, values in parsed.samples.items()})
        names = _StudyFile.model_fields.keys() - {"samples", "runs", "sidecar"}
        return Study(bulk=samples, runs=runs, **{name: getattr(parsed, name) for name in names})
    except ValidationError as problem:
        raise FormatError(faults_of(problem), subject=subject) from None
    except FormatError:
        raise
    except InputError as problem:
        raise FormatError(problem.faults, subject=subject) from None


def faults_of(problem: ValidationError) -> list[Fault]:
    """Pydantic's complaints as faults with a path, the value and the rule broken."""
    return [
        Fault(
            error["msg"][:1].lower() + error["msg"][1:],
            where=".".join(str(part) for part in error["loc"]) or None,
            value=None if error["type"] == "missing" else str(error["input"])[:200],
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
            remedy = f"the limit is {limit} bytes; keep long series in the sidecar or a CSV"
            raise FormatError(Fault("the file is too large", value=f"{size} bytes", remedy=remedy), subject=str(path))
        return parse_json(path.read_bytes(), subject=str(path))
    except OSError as problem:
        raise FormatError(f"cannot be read: {problem.strerror}", subject=str(path)) from None


def parse_json(raw: bytes, *, subject: str) -> Any:
    """The value of a JSON text; the error says where it breaks, and NaN and Infinity are refused."""
    try:
        return json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise FormatError("not text in UTF-8", subject=subject) from None
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        truncated = problem.msg.startswith("Unterminated") or problem.pos >= len(problem.doc.rstrip()) - 1
        remedy = "the file may be truncated" if truncated else None
        raise FormatError(Fault(f"not JSON: {problem.msg}", where=where, remedy=remedy), subject=subject) from None
    except (ValueError, RecursionError) as problem:
        raise FormatError(f"not JSON: {problem}", subject=subject) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON; write null for absent values")


def save(study: Study | StudySet, path: str | Path) -> None:
    """Write the study file atomically: readers see the old file or the new one, never a part of one."""
    target = Path(path)
    kind: type[object] = type(study)
    if not issubclass(kind, Study | StudySet):
        remedy = "scalecurve.load makes a Study of a path, a mapping or a frame"
        raise InputError(Fault("only a Study or a StudySet can be saved", value=repr(study)[:80], remedy=remedy))
    if isinstance(study, StudySet):
        write_atomically(target, json_bytes(set_to_dict(study)))
        return
    data = study_to_dict(study)
    if count_steps(study.runs) > INLINE_STEPS:
        series = {
            _series_key(i, j, name): np.asarray(values, dtype=np.float64)
            for i, run in enumerate(study.runs)
            for j, rank in enumerate(run.ranks)
            for name, values in ((None, rank.steps), *rank.step_phases.items())
            if values
        }
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **series)
        beside = target.with_name(target.stem + ".steps.npz")
        write_atomically(beside, buffer.getvalue())
        bare = [
            replace(
                run,
                ranks=tuple(
                    replace(rank, steps=(), step_phases=dict.fromkeys(rank.step_phases, ())) for rank in run.ranks
                ),
            )
            for run in study.runs
        ]
        data = study_to_dict(replace(study, runs=tuple(bare)))
        data["sidecar"] = {"name": beside.name, "sha256": hashlib.sha256(buffer.getvalue()).hexdigest()}
    write_atomically(target, json_bytes(data))


def json_bytes(data: Any) -> bytes:
    """Indented JSON; NaN and Infinity raise."""
    return (json.dumps(data, indent=1, allow_nan=False, default=str) + "\n").encode()


def count_steps(runs: Sequence[Run]) -> int:
    """How many times of steps and of their phases all ranks of these runs hold together."""
    ranks = [rank for run in runs for rank in run.ranks]
    return sum(len(rank.steps) + sum(map(len, rank.step_phases.values())) for rank in ranks)


def _with_sidecar(runs: Sequence[Run], folder: Path | None, sidecar: _Sidecar, subject: str) -> tuple[Run, ...]:
    """The runs with the step series of the sidecar; a missing or foreign sidecar is a FormatError."""
    name = sidecar.name
    if folder is None or Path(name).name != name:
        raise FormatError(Fault("the sidecar must be in the folder of the study", value=name), subject=subject)
    try:
        size = (folder / name).stat().st_size
        if size > MAX_SIDECAR_BYTES:
            raise FormatError(Fault("the sidecar is too large", value=f"{size} bytes"), subject=subject)
        raw = (folder / name).read_bytes()
    except OSError as problem:
        remedy = "keep the study and its .steps.npz together"
        fault = Fault(f"the sidecar {name} cannot be read: {problem.strerror}", remedy=remedy)
        raise FormatError(fault, subject=subject) from None
    if hashlib.sha256(raw).hexdigest() != sidecar.sha256:
        remedy = "it belongs to another version of this study"
        raise FormatError(Fault(f"the sidecar {name} does not match the study", remedy=remedy), subject=subject)
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            series = {key: np.asarray(arrays[key], dtype=np.float64).tolist() for key in arrays.files}
    except (ValueError, OSError, zipfile.BadZipFile) as problem:
        raise FormatError(f"the sidecar {name} is damaged: {problem}", subject=subject) from None
    complete: list[Run] = []
    for i, run in enumerate(runs):
        ranks: list[RankRecord] = []
        for j, rank in enumerate(run.ranks):
            steps = tuple(series.get(_series_key(i, j), rank.steps))
            phases = {name: tuple(series.get(_series_key(i, j, name), own)) for name, own in rank.step_phases.items()}
            ranks.append(replace(rank, steps=steps, step_phases=phases))
        complete.append(replace(run, ranks=tuple(ranks)))
    return tuple(complete)


def _series_key(run: int, rank: int, phase: str | None = None) -> str:
    return f"run{run}.rank{rank}" + ("" if phase is None else f".{phase}")
