"""Step series of many ranks, beside the study file: plain numpy arrays in a zip, never pickled."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from scalecurve.errors import Fault, FormatError
from scalecurve.study.run import RankRecord, Run
from scalecurve.study.samples import FloatArray

MAX_BYTES = 2 * 1024**3


def sidecar_path(path: Path) -> Path:
    return path.with_name(path.stem + ".steps.npz")


def count_steps(runs: Sequence[Run]) -> int:
    return sum(len(rank.steps) for run in runs for rank in run.ranks)


def sidecar_bytes(runs: Sequence[Run]) -> tuple[bytes, str]:
    """All step series packed, and the SHA-256 that ties them to their study."""
    arrays = {
        _key(i, j): np.asarray(rank.steps, dtype=np.float64)
        for i, run in enumerate(runs)
        for j, rank in enumerate(run.ranks)
        if rank.steps
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    packed = buffer.getvalue()
    return packed, hashlib.sha256(packed).hexdigest()


def without_steps(runs: Sequence[Run]) -> tuple[Run, ...]:
    return tuple(replace(run, ranks=tuple(replace(rank, steps=()) for rank in run.ranks)) for run in runs)


def attach_steps(runs: Sequence[Run], series: Mapping[str, FloatArray]) -> tuple[Run, ...]:
    return tuple(
        replace(run, ranks=tuple(_with_steps(rank, series.get(_key(i, j))) for j, rank in enumerate(run.ranks)))
        for i, run in enumerate(runs)
    )


def _with_steps(rank: RankRecord, steps: FloatArray | None) -> RankRecord:
    return rank if steps is None else replace(rank, steps=tuple(steps.tolist()))


def read_sidecar(folder: Path | None, name: str, digest: str, subject: str) -> dict[str, FloatArray]:
    """The series of a sidecar, refused when it is missing, elsewhere, or not the one the study was written with."""
    if folder is None or Path(name).name != name:
        raise FormatError(Fault("the sidecar must lie beside the study", seen=name), subject=subject)
    path = folder / name
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(Fault("the sidecar is too large", seen=f"{path.stat().st_size} bytes"), subject=subject)
        raw = path.read_bytes()
    except OSError as problem:
        hint = "keep the study and its .steps.npz together"
        raise FormatError(
            Fault(f"the sidecar {name} cannot be read: {problem.strerror}", remedy=hint), subject=subject
        ) from None
    if hashlib.sha256(raw).hexdigest() != digest:
        hint = "it belongs to another version of this study"
        raise FormatError(Fault(f"the sidecar {name} does not match the study", remedy=hint), subject=subject)
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            return {key: np.asarray(arrays[key], dtype=np.float64) for key in arrays.files}
    except (ValueError, OSError, zipfile.BadZipFile) as problem:
        raise FormatError(f"the sidecar {name} is damaged: {problem}", subject=subject) from None


def _key(run: int, rank: int) -> str:
    return f"run{run}.rank{rank}"
