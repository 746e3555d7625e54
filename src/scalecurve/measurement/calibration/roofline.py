"""This machine's ceilings: peak flop/s through BLAS, sustained bandwidth by a triad that really streams.

The triad a = b + s c is a small C loop compiled on the spot where a compiler exists (one thread per worker, arrays
far larger than the caches); otherwise numpy with out=, which reads and writes more than the textbook counts.  Which
one ran is part of the answer.  The best of several repeats counts: a ceiling is what is possible, not what is usual.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scalecurve.document import Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info
from scalecurve.laws.roofline import Ceilings
from scalecurve.units import format_bytes, format_flops

FORMAT = "scalecurve-ceilings"
KERNEL = """
void triad(double *a, const double *b, const double *c, double s, long n, long loops) {
    for (long k = 0; k < loops; k++) {
        for (long i = 0; i < n; i++) a[i] = b[i] + s * c[i];
        __asm__ volatile("" ::: "memory"); /* each pass is real: the compiler may not merge them */
    }
}
"""
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
BYTES_A_WORD = 24  # two reads and a write; the write-allocate read is not counted, as in STREAM
REPEATS = 5


@dataclass(frozen=True, kw_only=True)
class CeilingRow:
    threads: int
    fp32: float
    fp64: float
    memory: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "threads": self.threads,
            "fp32_flops_per_second": self.fp32,
            "fp64_flops_per_second": self.fp64,
            "memory_bytes_per_second": self.memory,
        }


@dataclass(frozen=True, kw_only=True)
class MeasuredCeilings(Shown):
    """Ceilings by number of threads, the method that found them, and the caches the system shows."""

    rows: tuple[CeilingRow, ...]
    method: str
    caches: dict[str, int] = field(default_factory=dict)
    cache_bandwidths: dict[str, float] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    def ceilings(self, precision: str = "fp64", threads: int | None = None) -> Ceilings:
        row = self.rows[-1] if threads is None else next((r for r in self.rows if r.threads == threads), None)
        if row is None or precision not in ("fp32", "fp64"):
            raise InputError(Fault("not measured", seen=f"{precision} on {threads} threads", remedy="fp32 or fp64"))
        return Ceilings(peak=row.fp32 if precision == "fp32" else row.fp64, bandwidths={"memory": row.memory})

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": 1,
            "rows": self.records(),
            "method": self.method,
            "caches_bytes": self.caches,
            "cache_bytes_per_second": self.cache_bandwidths,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def document(self) -> Document:
        rows = [
            [
                str(row.threads),
                format_flops(row.fp32),
                format_flops(row.fp64),
                f"{format_bytes(row.memory)}/s",
                f"{row.fp64 / row.memory:.3g}",
            ]
            for row in self.rows
        ]
        grid = table(["threads", "fp32 peak", "fp64 peak", "memory", "ridge fp64"], rows)
        lines = [f"method: {self.method}"]
        lines += [f"{name}: {format_bytes(size)}" for name, size in self.caches.items()]
        lines += [
            f"triad in {name}: {format_bytes(rate)}/s on one thread" for name, rate in self.cache_bandwidths.items()
        ]
        return Document("Ceilings of this machine", (grid, Paragraph("\n".join(lines)), FindingList(self.findings)))


def measure_roofline(
    threads: Sequence[int] = (1,),
    *,
    size: int = 1500,
    words: int | None = None,
    clock: Callable[[], float] | None = None,
) -> MeasuredCeilings:
    """Ceilings for each number of threads; `size` is the matrix order, `words` the length of the streamed arrays."""
    if not threads or min(threads) < 1 or size < 64:
        seen = f"{list(threads)} threads, order {size}"
        raise InputError(Fault("threads are from 1 and the matrix order from 64", seen=seen))
    tick = clock or time.perf_counter
    caches = visible_caches()
    length = words or max(4_000_000, 4 * max(caches.values(), default=0) // 8)
    triad, method = _triad()
    rows = tuple(
        CeilingRow(
            threads=count,
            fp32=_matmul(np.dtype(np.float32), size, count, tick),
            fp64=_matmul(np.dtype(np.float64), size, count, tick),
            memory=_stream(triad, length, count, tick),
        )
        for count in threads
    )
    inside = {name: _in_cache(triad, capacity, tick) for name, capacity in caches.items() if method.startswith("C")}
    return MeasuredCeilings(
        rows=rows,
        method=f"{method}; BLAS matrix product of order {size}",
        caches=caches,
        cache_bandwidths=inside,
        findings=_findings(method),
    )


def _findings(method: str) -> tuple[Finding, ...]:
    if method.startswith("C"):
        return ()
    text = "no C compiler was found: the bandwidth is numpy's and below what a compiled loop reaches"
    return (info("numpy-triad", text, remedy="install a compiler (gcc or clang)"),)


Triad = Callable[[Any, Any, Any, int], None]


def _triad() -> tuple[Triad, str]:
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if compiler is not None:
        built = _compiled(compiler)
        if built is not None:
            return built, f"C triad compiled by {compiler} {' '.join(FLAGS[:2])}"
    return _numpy_triad, "numpy triad with out="


def _compiled(compiler: str) -> Triad | None:
    with tempfile.TemporaryDirectory(prefix="scalecurve-") as folder:
        source, library = Path(folder) / "triad.c", Path(folder) / "triad.so"
        source.write_text(KERNEL)
        done = subprocess.run(
            [compiler, *FLAGS, str(source), "-o", str(library)], capture_output=True, timeout=60, check=False
        )
        if done.returncode != 0:
            return None
        loaded = ctypes.CDLL(str(library))  # stays mapped after the folder is gone
    pointer = ctypes.POINTER(ctypes.c_double)
    loaded.triad.argtypes = [pointer, pointer, pointer, ctypes.c_double, ctypes.c_long, ctypes.c_long]
    loaded.triad.restype = None

    def run(a: Any, b: Any, c: Any, loops: int) -> None:
        ends = [array.ctypes.data_as(pointer) for array in (a, b, c)]
        loaded.triad(*ends, 3.0, len(a), loops)

    return run


def _numpy_triad(a: Any, b: Any, c: Any, loops: int) -> None:
    for _ in range(loops):
        np.multiply(c, 3.0, out=a)
        np.add(a, b, out=a)


def _stream(triad: Triad, words: int, threads: int, tick: Callable[[], float]) -> float:
    """Bytes per second of all threads together, each on its own third of a long array."""
    parts = [[np.ones(words // threads) for _ in range(3)] for _ in range(threads)]
    works = [partial(triad, a, b, c, 1) for a, b, c in parts]
    best = min(_together(works, tick) for _ in range(REPEATS))
    return BYTES_A_WORD * (words // threads) * threads / best


def _together(works: Sequence[Callable[[], None]], tick: Callable[[], float]) -> float:
    """Wall seconds of all works on a thread each, from a common start."""
    gate = threading.Barrier(len(works) + 1)

    def follow(work: Callable[[], None]) -> None:
        gate.wait()
        work()

    crew = [threading.Thread(target=follow, args=(work,)) for work in works]
    for member in crew:
        member.start()
    gate.wait()
    begin = tick()
    for member in crew:
        member.join()
    return max(tick() - begin, 1e-9)


def _in_cache(triad: Triad, capacity: int, tick: Callable[[], float]) -> float:
    """Bytes per second of a triad that fits into half of a cache."""
    words = max(64, capacity // 2 // BYTES_A_WORD)
    a, b, c = (np.ones(words) for _ in range(3))
    loops = max(1, 20_000_000 // words // 8)
    best = float("inf")
    for _ in range(3):
        begin = tick()
        triad(a, b, c, loops)
        best = min(best, (tick() - begin) / loops)
    return BYTES_A_WORD * words / max(best, 1e-12)


def _matmul(kind: Any, size: int, threads: int, tick: Callable[[], float]) -> float:
    """flop/s of the best of several matrix products with that many BLAS threads."""
    from threadpoolctl import threadpool_limits

    a, b, out = np.ones((size, size), kind), np.ones((size, size), kind), np.empty((size, size), kind)
    best = float("inf")
    with threadpool_limits(limits=threads, user_api="blas"):
        for _ in range(REPEATS):
            begin = tick()
            np.matmul(a, b, out=out)
            best = min(best, tick() - begin)
    return 2.0 * size**3 / max(best, 1e-9)


def visible_caches() -> dict[str, int]:
    """Data caches of the first core, where the system shows them."""
    found: dict[str, int] = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            kind, level = (folder / "type").read_text().strip(), (folder / "level").read_text().strip()
            text = (folder / "size").read_text().strip()
        except OSError:
            continue
        if kind != "Instruction" and text.endswith("K"):
            found[f"L{level}"] = int(text[:-1]) * 1024
    return found


def ceilings_from_dict(data: dict[str, Any], *, subject: str) -> MeasuredCeilings:
    """What `roofline measure --json` wrote."""
    try:
        rows = tuple(
            CeilingRow(
                threads=int(row["threads"]),
                fp32=float(row["fp32_flops_per_second"]),
                fp64=float(row["fp64_flops_per_second"]),
                memory=float(row["memory_bytes_per_second"]),
            )
            for row in data["rows"]
        )
        return MeasuredCeilings(rows=rows, method=str(data["method"]))
    except (KeyError, TypeError, ValueError) as problem:
        fault = Fault("not a file of roofline measure", seen=str(problem), remedy="write it with --json -o FILE")
        raise InputError(fault, subject=subject) from None
