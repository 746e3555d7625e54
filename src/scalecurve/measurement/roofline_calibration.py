"""This machine's ceilings: peak flop/s through BLAS, sustained bandwidth by a streaming triad.

The triad a = b + s c is a small C loop, compiled where a compiler exists (one thread per worker, arrays far larger than
the caches); otherwise numpy with out=, which moves more bytes than the textbook counts.  The answer says which one ran.
The best of several repeats counts: a ceiling is what is possible, not what is usual.
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

from scalecurve.document import Answer, Document, FindingList, JsonRecord, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info
from scalecurve.laws.roofline import Ceilings
from scalecurve.measurement.guard import LoadWatch
from scalecurve.units import format_bytes, format_flops

FORMAT = "scalecurve-ceilings"
KERNEL = """
void triad(double *a, const double *b, const double *c, double s, long n) {
    for (long i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}
"""
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
BYTES_A_WORD = 24  # two reads and a write; the write-allocate read is not counted, as in STREAM
REPEATS = 5

Triad = Callable[[Any, Any, Any], None]


@dataclass(frozen=True, kw_only=True)
class CeilingRow(JsonRecord):
    """flop/s and bytes/s with one number of threads."""

    threads: int
    fp32: float
    fp64: float
    memory: float

    JSON = "threads fp32_flops_per_second=fp32 fp64_flops_per_second=fp64 memory_bytes_per_second=memory"


@dataclass(frozen=True, kw_only=True, repr=False)
class MeasuredCeilings(Result):
    """Ceilings by number of threads, the method that found them, and the caches the system shows."""

    rows: tuple[CeilingRow, ...]
    method: str
    caches: dict[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    format = FORMAT
    version = 1
    JSON = "format version rows method caches_bytes=caches findings"

    @property
    def answer(self) -> Answer:
        """The two ceilings with the most threads, and where they meet."""
        row = self.rows[-1]
        threads = f"{row.threads} thread{'' if row.threads == 1 else 's'}"
        rates = f"{format_flops(row.fp64)} in fp64 and {format_bytes(row.memory)}/s of memory"
        decision = f"This machine reaches {rates} with {threads}."
        busy = any(finding.code == "disturbed" for finding in self.findings)
        return Answer(
            decision=decision,
            confidence="Other programs ran meanwhile: the true ceilings are higher." if busy else None,
            reason=f"A kernel below {row.fp64 / row.memory:.3g} flop per byte is bound by memory.",
            next="`scalecurve roofline place --machine FILE` places your kernels below these ceilings",
        )

    def ceilings(self, precision: str = "fp64", threads: int | None = None) -> Ceilings:
        row = self.rows[-1] if threads is None else next((row for row in self.rows if row.threads == threads), None)
        if row is None or precision not in ("fp32", "fp64"):
            raise InputError(Fault("not measured", value=f"{precision} on {threads} threads", remedy="fp32 or fp64"))
        return Ceilings(peak=row.fp32 if precision == "fp32" else row.fp64, bandwidths={"memory": row.memory})

    def body(self) -> Document:
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
        return Document(
            "Ceilings of this machine", (grid, FindingList(self.findings)), details=(Paragraph("\n".join(lines)),)
        )


def measure_roofline(
    threads: Sequence[int] = (1,),
    *,
    size: int = 1500,
    words: int | None = None,
    clock: Callable[[], float] | None = None,
) -> MeasuredCeilings:
    """Ceilings for each number of threads; `size` is the matrix order, `words` the length of the streamed arrays."""
    if not threads or min(threads) < 1 or size < 64:
        request = f"{list(threads)} threads, order {size}"
        raise InputError(Fault("threads are from 1 and the matrix order from 64", value=request))
    tick, watch = clock or time.perf_counter, None if clock else LoadWatch()
    caches = visible_caches()
    length = words or max(4_000_000, 4 * max(caches.values(), default=0) // 8)
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    compiled = _compiled_triad(compiler) if compiler else None
    triad = compiled or numpy_triad
    findings: tuple[Finding, ...] = ()
    if compiled is not None:
        method = f"C triad compiled by {compiler} {' '.join(FLAGS[:2])}"
    else:
        method = "numpy triad with out="
        text = "No C compiler here: the bandwidth is numpy's, below what a compiled loop reaches."
        findings = (info("numpy-triad", text, remedy="install a compiler (gcc or clang)"),)
    rows = tuple(
        CeilingRow(
            threads=count,
            fp32=_matmul(np.dtype(np.float32), size, count, tick),
            fp64=_matmul(np.dtype(np.float64), size, count, tick),
            memory=_stream(triad, length, count, tick),
        )
        for count in threads
    )
    return MeasuredCeilings(
        rows=rows,
        method=f"{method}; BLAS matrix product of order {size}",
        caches=caches,
        findings=(*findings, *(watch.findings("the ceilings") if watch else ())),
    )


def _compiled_triad(compiler: str) -> Triad | None:
    """The triad as a C function; None when it does not compile."""
    with tempfile.TemporaryDirectory(prefix="scalecurve-") as folder:
        source, library = Path(folder) / "triad.c", Path(folder) / "triad.so"
        source.write_text(KERNEL)
        words = [compiler, *FLAGS, str(source), "-o", str(library)]
        if subprocess.run(words, capture_output=True, timeout=60, check=False).returncode != 0:
            return None
        loaded = ctypes.CDLL(str(library))  # stays mapped after the folder is gone
    pointer = ctypes.POINTER(ctypes.c_double)
    loaded.triad.argtypes = [pointer, pointer, pointer, ctypes.c_double, ctypes.c_long]
    loaded.triad.restype = None

    def run(a: Any, b: Any, c: Any) -> None:
        loaded.triad(*(array.ctypes.data_as(pointer) for array in (a, b, c)), 3.0, len(a))

    return run


def numpy_triad(a: Any, b: Any, c: Any) -> None:
    np.multiply(c, 3.0, out=a)
    np.add(a, b, out=a)


def _stream(triad: Triad, words: int, threads: int, tick: Callable[[], float]) -> float:
    """Bytes per second of all threads together, each on its own part of a long array."""
    parts = [[np.ones(words // threads) for _ in range(3)] for _ in range(threads)]
    best = min(_wall_seconds([partial(triad, a, b, c) for a, b, c in parts], tick) for _ in range(REPEATS))
    return BYTES_A_WORD * (words // threads) * threads / best


def _wall_seconds(works: Sequence[Callable[[], None]], tick: Callable[[], float]) -> float:
    """Wall seconds of all works on a thread each, from a common start."""
    gate = threading.Barrier(len(works) + 1)

    def follow(work: Callable[[], None]) -> None:
        gate.wait()
        work()

    threads = [threading.Thread(target=follow, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    gate.wait()
    begin = tick()
    for thread in threads:
        thread.join()
    return max(tick() - begin, 1e-9)


def _matmul(kind: Any, size: int, threads: int, tick: Callable[[], float]) -> float:
    """flop/s of the best of several matrix products with that many BLAS threads."""
    from threadpoolctl import threadpool_limits

    a, b, out = np.ones((size, size), kind), np.ones((size, size), kind), np.empty((size, size), kind)
    with threadpool_limits(limits=threads, user_api="blas"):
        best = min(_seconds(partial(np.matmul, a, b, out), tick) for _ in range(REPEATS))
    return 2.0 * size**3 / max(best, 1e-9)


def _seconds(work: Callable[[], object], tick: Callable[[], float]) -> float:
    begin = tick()
    work()
    return tick() - begin


def visible_caches() -> dict[str, int]:
    """Bytes of the data caches of the first core, where the system shows them."""
    caches: dict[str, int] = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            kind, level, size = ((folder / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction" and size.endswith("K"):
            caches[f"L{level}"] = int(size[:-1]) * 1024
    return caches
