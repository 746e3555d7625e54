"""The study file: JSON, versioned, written atomically; long step series go to a sidecar in the same folder.

Format history (keep it here; a reader must go on reading every version listed):
  1  2026-11: first version.  {"format": "scalecurve-study", "version": 1, regime, quantity, k_unit, ...} with either
     "samples" {"K": [values]} or "runs" [...].  Samples that are means have "summary" [{"k", "n", "std"}] beside them.
     Runs have "threads", what their threads did, since 2026-11-18.
     Steps and phases of steps beyond INLINE_STEPS numbers in all go to a sidecar `<name>.steps.npz` beside the file
     (numpy arrays, never pickled) named under "sidecar" with its SHA-256.  Several curves are one file {"format":
     "scalecurve-study-set", "version": 1, "axes", "studies": {name: study}}.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.files import MAX_BYTES, read_bytes
from scalecurve.study.atomic import write_atomically
from scalecurve.study.run import RankRecord, Run, Samples
from scalecurve.study.study import Study, StudySet

if TYPE_CHECKING:  # pydantic is imported where a study file is read: most commands read tables
    from pydantic import ValidationError

    from scalecurve.study.file_shape import Sidecar

FORMAT = "scalecurve-study"
SET_FORMAT = "scalecurve-study-set"
VERSION = 1
MAX_UNPACKED = 40 * 1024 * 1024  # Python needs up to 24 bytes for each byte of JSON: a small archive stays below 1 GB
MOST_RATIO = 40  # text of benchmarks packs 5 to 20 times; a bomb packs 1000 times
MAX_SIDECAR_BYTES = 2 * 1024**3
INLINE_STEPS = 20_000

PLAIN_WORDS = {  # what pydantic calls a complaint, in words and with what to do
    "missing": ("missing", "add it"),
    "string_pattern_mismatch": ("no name or number that belongs here", "correct it"),
    "extra_forbidden": ("no such field here", "correct its name or remove it"),
}


def study_to_dict(study: Study) -> dict[str, Any]:
    """The study as plain data, complete: every raw observation is in it."""
    data: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    data |= {"regime": study.regime, "quantity": study.quantity, "k_unit": study.k_unit, "unit": study.unit}
    data["workload"] = asdict(study.workload)
    if study.bulk is not None:
        data["samples"] = {str(k): values.tolist() for k, values in study.bulk.by_k().items()}
        data |= {"summary": [asdict(item) for item in study.summary]} if study.summary else {}
    else:
        data["runs"] = [_run_to_dict(run) for run in study.runs]
    data |= {"baseline": asdict(study.baseline), "warmup": study.warmup, "setup": study.setup}
    data |= {"node_size": study.node_size, "provenance": asdict(study.provenance)}
    data["findings"] = [finding.to_dict() for finding in study.findings]
    return data


def _run_to_dict(run: Run) -> dict[str, Any]:
    """A run as plain data; `asdict` would copy every number of thousands of runs."""
    ranks = [dict(vars(rank)) for rank in run.ranks]
    placement = dict(vars(run.placement)) if run.placement else None
    fields = {**vars(run), "ranks": ranks, "placement": placement, "observed": dict(run.observed)}
    if run.threads is None:  # files from before thread sampling keep their digest
        del fields["threads"]
    return fields


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
    from pydantic import ValidationError

    from scalecurve.study.file_shape import StudyShape

    try:
        parsed = StudyShape.model_validate(data)
        runs, samples = parsed.runs, None
        if parsed.sidecar is not None:
            runs = _with_sidecar(runs, folder, parsed.sidecar, subject)
        if parsed.samples is not None:
            samples = Samples.from_mapping({int(k): values for k, values in parsed.samples.items()})
        names = StudyShape.model_fields.keys() - {"samples", "runs", "sidecar"}
        return Study(bulk=samples, runs=runs, **{name: getattr(parsed, name) for name in names})
    except ValidationError as problem:
        raise FormatError(faults_of(problem), subject=subject) from None
    except FormatError:
        raise
    except InputError as problem:
        raise FormatError(problem.faults, subject=subject) from None


def faults_of(problem: ValidationError) -> list[Fault]:
    """Pydantic's complaints as faults with a path, the value and the rule broken."""
    faults = []
    for error in problem.errors(include_url=False):
        rule = error["msg"].removeprefix("Value error, ")
        message, remedy = PLAIN_WORDS.get(error["type"], (rule[:1].lower() + rule[1:], None))
        value = None if error["type"] == "missing" or isinstance(error["input"], dict) else str(error["input"])[:200]
        where = ".".join(str(part) for part in error["loc"]) or None
        faults.append(Fault(message, where=where, value=value, remedy=remedy))
    return faults


def read_study(path: Path) -> Study:
    """The study in a file, or a FormatError that lists every fault."""
    return study_from_dict(read_json(path), subject=str(path), folder=path.parent)


def read_json(path: Path, *, limit: int = MAX_BYTES) -> Any:
    """JSON from a file of bounded size."""
    return parse_json(read_bytes(path, limit=limit), subject=str(path))


def parse_json(raw: bytes, *, subject: str) -> Any:
    """The value of a JSON text; the error says where it breaks, and NaN and Infinity are refused."""
    try:
        return json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse_constant, parse_float=_finite)
    except UnicodeDecodeError:
        raise FormatError("not text in UTF-8", subject=subject) from None
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        truncated = problem.msg.startswith("Unterminated") or problem.pos >= len(problem.doc.rstrip()) - 1
        remedy = "the file may be truncated" if truncated else "correct it there, or write the file again"
        raise FormatError(Fault(f"not JSON: {problem.msg}", where=where, remedy=remedy), subject=subject) from None
    except (ValueError, RecursionError) as problem:
        raise FormatError(f"not JSON: {problem}", subject=subject) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON; write null for absent values")


def _finite(digits: str) -> float:
    """The number; a ValueError for one such as 1e999, which would be infinite."""
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{digits[:40]} is beyond what a number can hold; write null for absent values")
    return number


def save(study: Study | StudySet, path: str | Path) -> None:
    """Write the study file atomically: readers see the old file or the new one, never a part of one.

    Parameters
    ----------
    study
        A Study, or a StudySet.
    path
        Where to write it; an older file is replaced.

    Returns
    -------
    None

    Raises
    ------
    InputError
        The file cannot be written.

    Examples
    --------
    >>> import scalecurve as sc
    >>> sc.save(sc.load({1: 100.0, 2: 52.0}, regime="strong"), "study.json")
    >>> sc.load("study.json").all_k
    (1, 2)
    """
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
    """Indented JSON, each run on a line of its own; NaN and Infinity raise."""
    return (_indented(data) + "\n").encode()


def _indented(data: Any) -> str:
    if not isinstance(data, dict) or not data:
        return json.dumps(data, indent=1, allow_nan=False, default=str)
    parts = []
    for name, value in data.items():
        if name == "runs" and isinstance(value, list) and value:
            lines = (json.dumps(run, allow_nan=False, default=str) for run in value)
            text = "[\n " + ",\n ".join(lines) + "\n]"
        else:
            text = _indented(value)
        parts.append(f"{json.dumps(str(name))}: {text}")
    return "{\n " + ",\n".join(parts).replace("\n", "\n ") + "\n}"


def count_steps(runs: Sequence[Run]) -> int:
    """How many times of steps and of their phases all ranks of these runs hold together."""
    ranks = [rank for run in runs for rank in run.ranks]
    return sum(len(rank.steps) + sum(map(len, rank.step_phases.values())) for rank in ranks)


def _with_sidecar(runs: Sequence[Run], folder: Path | None, sidecar: Sidecar, subject: str) -> tuple[Run, ...]:
    """The runs with the step series of the sidecar; a missing or foreign sidecar is a FormatError."""
    name = sidecar.name
    if folder is None or Path(name).name != name:
        raise FormatError(Fault("the sidecar must be in the folder of the study", value=name), subject=subject)
    if not (folder / name).is_file():  # a pipe would be waited for
        remedy = "keep the study and its .steps.npz together"
        raise FormatError(Fault(f"the sidecar {name} is missing", remedy=remedy), subject=subject)
    raw = read_bytes(folder / name, limit=MAX_SIDECAR_BYTES)
    if hashlib.sha256(raw).hexdigest() != sidecar.sha256:
        remedy = "it belongs to another version of this study"
        raise FormatError(Fault(f"the sidecar {name} does not match the study", remedy=remedy), subject=subject)
    arrays = read_arrays(raw, subject=f"{subject}: {name}", most=MAX_SIDECAR_BYTES)
    series = {key: array.tolist() for key, array in arrays.items()}
    complete: list[Run] = []
    for i, run in enumerate(runs):
        ranks: list[RankRecord] = []
        for j, rank in enumerate(run.ranks):
            steps = tuple(series.get(_series_key(i, j), rank.steps))
            phases = {name: tuple(series.get(_series_key(i, j, name), own)) for name, own in rank.step_phases.items()}
            ranks.append(replace(rank, steps=steps, step_phases=phases))
        complete.append(replace(run, ranks=tuple(ranks)))
    return tuple(complete)


def read_arrays(raw: bytes, *, subject: str, most: int = MAX_BYTES) -> dict[str, npt.NDArray[Any]]:
    """The numeric arrays of an .npz, none larger than what its member holds, all together within the limit."""
    limit = unpacked_limit(len(raw), most)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            total = sum(item.file_size for item in archive.infolist())
            if total > limit:
                raise FormatError(Fault("the arrays unpack to too much", remedy=f"the limit is {limit} bytes"))
            for item in archive.infolist():
                with archive.open(item) as member:  # a header may state a shape that no file could hold
                    version = np.lib.format.read_magic(member)
                    header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
                    shape, _, kind = header[version](member)
                if kind.hasobject or kind.kind not in "iufb" or math.prod(shape) * kind.itemsize > item.file_size:
                    raise ValueError(f"{item.filename} does not hold the numbers that its header states")
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            return {key: np.asarray(arrays[key]) for key in arrays.files}
    except FormatError as problem:
        raise FormatError(problem.faults, subject=subject) from None
    except Exception as problem:  # zipfile, zlib and numpy raise errors of many kinds for damaged members
        raise FormatError(f"damaged: {problem}", subject=subject) from None


def unpacked_limit(packed: int, most: int = MAX_BYTES) -> int:
    """The most bytes that `packed` bytes of a packed file may unpack to."""
    return min(most, max(MAX_UNPACKED, MOST_RATIO * packed))


def _series_key(run: int, rank: int, phase: str | None = None) -> str:
    return f"run{run}.rank{rank}" + ("" if phase is None else f".{phase}")
