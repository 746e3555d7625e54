"""Claims about scaling as people write them: claim.toml, or a table of K with times, speedups or efficiencies."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from scalecurve.auditing.claim import Claim, ClaimedBaseline, Point
from scalecurve.errors import Fault, FormatError
from scalecurve.formats.columns import value_meaning, worker_unit
from scalecurve.study import Quantity, Treatment
from scalecurve.study.file import faults_of

MAX_BYTES = 4 * 1024 * 1024
PERCENT = 1.5  # an efficiency column above this is in percent, unless it is a lone superlinear value

Positive = Annotated[FiniteFloat, Field(gt=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Baseline(_Strict):
    k: Annotated[int, Field(ge=1)] | None = None
    description: str | None = None
    distributed: bool | None = None
    fastest: bool | None = None
    options: tuple[str, ...] = ()
    precision: str | None = None
    hardware: str | None = None


class _Measurement(_Strict):
    warmup: Treatment = Treatment.UNKNOWN
    setup: Treatment = Treatment.UNKNOWN
    repeats: Annotated[int, Field(ge=1)] | None = None
    fresh_launches: bool | None = None
    spread_reported: bool | None = None


class _Environment(_Strict):
    hardware: str | None = None
    software: str | None = None
    clusters: Annotated[int, Field(ge=1)] | None = None


class _Figure(_Strict):
    ideal_line: bool | None = None


class _Point(_Strict):
    k: Annotated[int, Field(ge=1)]
    seconds: Positive | None = None
    rate: Positive | None = None
    rate_per_worker: Positive | None = None
    std: Annotated[FiniteFloat, Field(ge=0)] | None = None
    n: Annotated[int, Field(ge=1)] | None = None
    speedup: Positive | None = None
    efficiency: Positive | None = None
    work: Positive | None = None
    batch: Positive | None = None
    iterations: Positive | None = None
    target: str | None = None
    machine: str | None = None
    threads: Annotated[int, Field(ge=1)] | None = None
    extrapolated: bool = False


class _ClaimFile(_Strict):
    name: str = "claim"
    statement: str | None = None
    source: str | None = None
    regime: Literal["strong", "weak"] | None = None
    k_unit: str = "workers"
    communication_free: bool = False
    precision: str | None = None
    workload: str | None = None
    workload_fixed: bool | None = None
    strong_also: bool | None = None
    workers: Annotated[int, Field(ge=1)] | None = None
    speedup: Positive | None = None
    efficiency: Positive | None = None
    baseline: _Baseline = _Baseline()
    measurement: _Measurement = _Measurement()
    environment: _Environment = _Environment()
    figure: _Figure = _Figure()
    points: tuple[_Point, ...] = ()


TEMPLATE = """\
# A scaling claim for `scalecurve audit`. Delete what is not known: silence is itself a finding.
name = "vendor slide"
statement = "near-linear 180x speedup"
source = "where it was read"
# regime = "strong"              # strong: total work fixed; weak: work per worker fixed
k_unit = "gpus"
# communication_free = false     # the claim says so
# precision = "bf16"
# workload = "ResNet-50, ImageNet, 90 epochs"
# workload_fixed = true          # the same job at every K
# strong_also = false            # a weak-scaling claim that also gives a strong curve

# A bare claim: one line.
workers = 256
speedup = 180
# efficiency = 0.70

[baseline]
# k = 1
# description = "single-GPU script, tuned"
# distributed = false            # the distributed code run with one worker?
# fastest = true                 # the fastest correct single-worker program?
# options = ["gradient checkpointing"]
# precision = "bf16"
# hardware = "8x H100"

[measurement]
# warmup = "excluded"            # excluded, included or unknown
# setup = "excluded"
# repeats = 5
# fresh_launches = true
# spread_reported = true

[environment]
# hardware = "8x H100 per node, 400 Gb/s"
# software = "torch 2.13, NCCL 2.27"
# clusters = 1

[figure]
# ideal_line = true

# Or a table, one block for each K; give what the claim gives.
# [[points]]
# k = 8
# seconds = 60.0                 # or rate, rate_per_worker
# std = 0.4
# n = 5
# speedup = 7.5
# efficiency = 0.94
# work = 1e9                     # total; or batch = 1024
# iterations = 500
# target = "75.9 % top-1"
# machine = "cluster A"
# threads = 8
# extrapolated = false
"""


def read_claim(path: Path) -> Claim:
    """A claim from TOML, or from a table by its ending."""
    return _from_toml(path) if path.suffix == ".toml" else read_claim_table(path)


def bare_claim(
    *, workers: int, speedup: float | None, efficiency: float | None, regime: str | None, k_unit: str | None
) -> Claim:
    """`180x on 256`."""
    point = Point(k=workers, speedup=speedup, efficiency=efficiency)
    what = f"{speedup:g}x" if speedup is not None else f"E = {efficiency:g}"
    unit = k_unit or "workers"
    return Claim(name=f"{what} on {workers} {unit}", regime=regime, k_unit=unit, points=(point,))


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(
                Fault("the file is too large for a claim", remedy=f"limit {MAX_BYTES}"), subject=str(path)
            )
        return path.read_bytes()
    except OSError as problem:
        raise FormatError(f"cannot be read: {problem.strerror}", subject=str(path)) from None


def _from_toml(path: Path) -> Claim:
    try:
        data = tomllib.loads(_read(path).decode())
        parsed = _ClaimFile.model_validate(data)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise FormatError(
            Fault(f"not TOML: {problem}", remedy="audit --init writes an example"), subject=str(path)
        ) from None
    except ValidationError as problem:
        raise FormatError(faults_of(problem), subject=str(path)) from None
    return claim_from(parsed)


def claim_from(parsed: _ClaimFile) -> Claim:
    points = [Point(**point.model_dump()) for point in parsed.points]
    if parsed.workers is not None and all(point.k != parsed.workers for point in points):
        points.append(Point(k=parsed.workers, speedup=parsed.speedup, efficiency=parsed.efficiency))
    sections = parsed.measurement.model_dump() | parsed.environment.model_dump() | parsed.figure.model_dump()
    own = {name.name for name in fields(Claim)} - {"points", "baseline", "kind"}
    plain = {name: value for name, value in parsed.model_dump().items() if name in own}
    baseline = ClaimedBaseline(**parsed.baseline.model_dump())
    return Claim(points=tuple(points), baseline=baseline, **{**plain, **sections})


_COLUMNS = {
    "speedup": r"s|s\(k\)|speed_?up(_\(?x\)?)?|relative_speedup",
    "efficiency": r"e|e\(k\)|(parallel_|scaling_|weak_|strong_)*eff(iciency)?(_?\(?%\)?|_percent|_pct)?",
    "std": r"std|sd|stdev|std_?dev|sigma|error|\+/-",
    "n": r"n|repeats|runs|samples|repetitions",
    "work": r"work|total_work|size|problem_size|total_problem_size|cells|tokens|atoms|elements|dofs?",
    "batch": r"(global_)?batch(_size)?|gbs",
    "iterations": r"steps|iterations|iters|epochs",
    "target": r"target|accuracy_target",
    "machine": r"machine|cluster|host_type|system|hardware",
    "threads": r"threads_per_(rank|worker|process)|omp_num_threads",
    "extrapolated": r"extrapolated|projected|predicted",
}


def read_claim_table(
    source: Path | bytes, *, subject: str | None = None, regime: str | None = None, k_column: str | None = None
) -> Claim:
    """A published table; rows of one K are repeats."""
    name = subject or str(source)
    raw = source if isinstance(source, bytes) else _read(source)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("not text in UTF-8", subject=name) from None
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if len(lines) < 2:
        raise FormatError(Fault("no table here", remedy="a header such as K,seconds,speedup and rows"), subject=name)
    delimiter = next((mark for mark in ("\t", ",", ";", "|") if mark in lines[0]), ",")
    rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter))
    columns, unit = _columns([cell.strip() for cell in rows[0]], name, k_column)
    points = _points(rows[1:], columns, name)
    return Claim(name=Path(name).name, kind="table", regime=regime, k_unit=unit, points=points)


def _columns(headers: list[str], subject: str, k_column: str | None) -> tuple[dict[str, tuple[int, float]], str]:
    """Place and factor of each column that is understood."""
    found: dict[str, tuple[int, float]] = {}
    unit = "workers"
    for i, header in enumerate(headers):
        if header == k_column or (k_column is None and worker_unit(header) and "k" not in found):
            found["k"], unit = (i, 1.0), worker_unit(header) or unit
        elif meaning := _meaning(header):
            found.setdefault(meaning[0], (i, meaning[1]))
    if "k" not in found or not found.keys() & {"seconds", "rate", "rate_per_worker", "speedup", "efficiency"}:
        seen = ", ".join(headers)
        hint = f"columns seen: {seen}; needed: one of worker counts and one of times, rates, speedups or efficiencies"
        raise FormatError(Fault("not a table of a scaling claim", remedy=hint), subject=subject)
    return found, unit


def _meaning(header: str) -> tuple[str, float] | None:
    plain = re.sub(r"[\s-]+", "_", header.strip().lower())
    for name, pattern in _COLUMNS.items():
        if re.fullmatch(pattern, plain):
            return name, 0.01 if name == "efficiency" and (
                "%" in plain or "percent" in plain or "pct" in plain
            ) else 1.0
    value = value_meaning(header)
    if value is None:
        return None
    names = {
        Quantity.SECONDS: "seconds",
        Quantity.THROUGHPUT: "rate",
        Quantity.THROUGHPUT_PER_WORKER: "rate_per_worker",
    }
    return names[value.quantity], value.factor


def _points(rows: list[list[str]], columns: dict[str, tuple[int, float]], subject: str) -> tuple[Point, ...]:
    faults: list[Fault] = []
    read = [_row(number, row, columns, faults) for number, row in enumerate(rows, 2)]
    if faults:
        raise FormatError(faults, subject=subject)
    by_k: dict[int, list[dict[str, Any]]] = {}
    for row in read:
        by_k.setdefault(row["k"], []).append(row)
    percent = _in_percent([row["efficiency"] for row in read if row.get("efficiency") is not None])
    return tuple(_point(same, percent) for same in by_k.values())


def _in_percent(efficiencies: list[float]) -> bool:
    return bool(efficiencies) and max(efficiencies) > PERCENT and sorted(efficiencies)[len(efficiencies) // 2] > PERCENT


_TEXTS = {"target", "machine"}
_FLAGS = {"extrapolated"}


def _row(number: int, row: list[str], columns: dict[str, tuple[int, float]], faults: list[Fault]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, (place, factor) in columns.items():
        cell = row[place].strip() if place < len(row) else ""
        if name in _TEXTS:
            read[name] = cell or None
        elif name in _FLAGS:
            read[name] = cell.lower() in ("1", "yes", "true", "x")
        else:
            read[name] = _number(cell, factor, f"line {number}, {name}", faults)
    if read.get("k") is None or read["k"] != int(read["k"]):
        faults.append(Fault("not a whole number of workers", where=f"line {number}", seen=str(read.get("k"))))
        read["k"] = 1
    read["k"] = int(read["k"])
    return read


def _number(cell: str, factor: float, where: str, faults: list[Fault]) -> float | None:
    text = cell.removesuffix("x").removesuffix("X").strip()
    percent = text.endswith("%")
    if text in ("", "-", "n/a", "N/A"):
        return None
    try:
        digits = text.removesuffix("%")
        if "," in digits and not re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits):
            raise ValueError(digits)
        value = float(digits.replace(",", "")) * (0.01 if percent else factor)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        faults.append(Fault("not a positive number", where=where, seen=cell))
        return None
    return value


def _point(same: list[dict[str, Any]], percent: bool) -> Point:
    """One K: the mean of its repeats, with their spread."""
    first = dict(same[0])
    measured = next((name for name in ("seconds", "rate", "rate_per_worker") if first.get(name) is not None), None)
    if len(same) > 1 and measured:
        values = [float(row[measured]) for row in same if row[measured] is not None]
        mean = sum(values) / len(values)
        first[measured], first["n"] = mean, len(values)
        first["std"] = (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5
    for name in ("n", "threads"):
        if first.get(name) is not None:
            first[name] = int(first[name])
    if percent and first.get("efficiency") is not None:
        first["efficiency"] *= 0.01
    return Point(**first)
