"""What `audit` accepts: a study file, a claim.toml, a published table, or a bare claim."""

from __future__ import annotations

import sys
from pathlib import Path

from scalecurve.auditing.claim import Claim
from scalecurve.auditing.claim_file import MAX_BYTES, TEMPLATE, bare_claim, read_claim, read_claim_table
from scalecurve.errors import Fault, InputError
from scalecurve.study import Study
from scalecurve.study.atomic import write_atomically
from scalecurve.study.file import parse_json, read_study, study_from_dict

PEEK = 64


def load_claim(
    source: str | Path | None = None,
    *,
    workers: int | None = None,
    speedup: float | None = None,
    efficiency: float | None = None,
    regime: str | None = None,
    k_unit: str | None = None,
) -> Study | Claim:
    if source is None:
        return _bare(workers, speedup, efficiency, regime, k_unit)
    if str(source) == "-":
        return _from_input(sys.stdin.buffer.read(MAX_BYTES), regime)
    path = Path(source)
    if path.suffix == ".toml":
        return read_claim(path)
    if _is_json(path):
        return read_study(path)
    return read_claim_table(path, subject=str(path), regime=regime)


def _bare(
    workers: int | None, speedup: float | None, efficiency: float | None, regime: str | None, k_unit: str | None
) -> Claim:
    faults = []
    if workers is None or workers < 1:
        faults.append(Fault("a bare claim needs its number of workers", seen=str(workers), remedy="--workers 256"))
    if speedup is None and efficiency is None:
        faults.append(Fault("a bare claim needs a speedup or an efficiency", remedy="--speedup 180"))
    for name, value in (("speedup", speedup), ("efficiency", efficiency)):
        if value is not None and not 0 < value < float("inf"):
            faults.append(Fault(f"the {name} is not a positive number", seen=f"{value:g}"))
    if faults or workers is None:
        raise InputError(faults)
    return bare_claim(workers=workers, speedup=speedup, efficiency=efficiency, regime=regime, k_unit=k_unit)


def _from_input(raw: bytes, regime: str | None) -> Study | Claim:
    if raw.lstrip()[:1] == b"{":
        return study_from_dict(parse_json(raw, subject="standard input"), subject="standard input")
    return read_claim_table(raw, subject="standard input", regime=regime)


def _is_json(path: Path) -> bool:
    if path.suffix == ".json":
        return True
    try:
        with path.open("rb") as file:
            return file.read(PEEK).lstrip()[:1] == b"{"
    except OSError:
        return False


def write_template(path: Path) -> None:
    if path.exists():
        raise InputError(
            Fault("exists already, and is not overwritten", remedy="choose another name"), subject=str(path)
        )
    write_atomically(path, TEMPLATE.encode())
