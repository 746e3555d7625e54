"""What a file is, recognised by its content and never by running, unpickling or unpacking it.

To add a reader: write one small file with a `READER` in the folder of what comes out, and name it here.  Readers are
asked in this order, the most particular first, and imported only where the file begins like JSON (`json`) or one of
their `marks` occurs in its first megabyte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.formats.reading import Reader, ReadOptions
from scalecurve.formats.source import Source

STUDY, PLAIN = "scalecurve study", "plain table"
ANY_TEXT = ("",)


class FileKind(StrEnum):
    """What comes out of a file; one file may hold several kinds: a trace is results and a task graph."""

    RESULTS = "results of a scaling study"
    SWEEPS = "timings of collectives"
    LATENCIES = "latencies"
    KERNELS = "kernels of a profiler"
    GRAPHS = "a task graph"


@dataclass(frozen=True)
class ReaderEntry:
    """Where a reader is, below `scalecurve.formats`, and for which files it is worth importing."""

    module: str
    name: str = "READER"
    json: bool = False
    marks: tuple[str, ...] = ()

    def load(self) -> Reader[Any]:
        reader: Reader[Any] = getattr(import_module(f"scalecurve.formats.{self.module}"), self.name)
        return reader

    def may_read(self, source: Source) -> bool:
        return (self.json and source.looks_like_json) or any(mark in source.head_text for mark in self.marks)


READERS: dict[FileKind, tuple[ReaderEntry, ...]] = {
    FileKind.RESULTS: (
        ReaderEntry("results", "STUDY_FILE", json=True),
        ReaderEntry("results.hyperfine", json=True),
        ReaderEntry("results.pyperf", json=True),
        ReaderEntry("results.pytest_benchmark", json=True),
        ReaderEntry("results.google_benchmark", json=True),
        ReaderEntry("results.asv", json=True),
        ReaderEntry("results.reframe", json=True),
        ReaderEntry("results.ramble", json=True),
        ReaderEntry("results.talp", json=True),
        ReaderEntry("results.torch_traces", json=True),
        ReaderEntry("results.binary_table", marks=("PAR1", "ARROW1", "PK\x03\x04")),
        ReaderEntry("results.extrap", "JSON", json=True, marks=("PK\x03\x04",)),
        ReaderEntry("results.extrap", "LINES", json=True),
        ReaderEntry("results.extrap", "TEXT", marks=("PARAMETER",)),
        ReaderEntry("sweeps.mpi", "OSU_RESULTS", marks=("OSU MPI",)),
        ReaderEntry("sweeps.mpi", "IMB_RESULTS", marks=("# Benchmarking",)),
        ReaderEntry("sweeps.nccl", "NCCL_RESULTS", json=True, marks=("nThread", "busbw")),
        ReaderEntry("sweeps.nccl", "RCCL_RESULTS", json=True),
        ReaderEntry("results.mllog", marks=(":::MLLOG",)),
        ReaderEntry("results.cilkscale", marks=("span (",)),
        ReaderEntry("results.caliper", marks=("nid", "profile", "mpi.world.size", "jobsize")),
        ReaderEntry("results.sacct", marks=("JobID", "|")),
        ReaderEntry("results.json_rows", json=True),
        ReaderEntry("results.plain_table", marks=ANY_TEXT),
    ),
    FileKind.SWEEPS: (
        ReaderEntry("sweeps", "SAVED", json=True),
        ReaderEntry("sweeps.mpi", "OSU", marks=("OSU MPI",)),
        ReaderEntry("sweeps.mpi", "IMB", marks=("# Benchmarking", "Intel(R) MPI Benchmarks")),
        ReaderEntry("sweeps.nccl", "NCCL", json=True, marks=("nThread", "busbw")),
        ReaderEntry("sweeps", "TABLE", marks=ANY_TEXT),
    ),
    FileKind.LATENCIES: (
        ReaderEntry("latencies.hdr_log", marks=("#[Histogram log format", "Interval_Compressed_Histogram")),
        ReaderEntry("latencies.load_tests", "WRK", marks=("Running ",)),
        ReaderEntry("latencies.load_tests", "HEY", marks=("response-time,", "Response time histogram:")),
        ReaderEntry("latencies.load_tests", "OHA", json=True),
        ReaderEntry("latencies.load_tests", "K6", json=True),
        ReaderEntry("latencies.access_log", marks=('"',)),
        ReaderEntry("latencies", "COLUMN", marks=ANY_TEXT),
    ),
    FileKind.KERNELS: (
        ReaderEntry("kernels", "NCU", marks=('"Kernel Name"',)),
        ReaderEntry("kernels", "LIKWID", marks=ANY_TEXT),
    ),
    FileKind.GRAPHS: (
        ReaderEntry("graphs", "DOT", marks=("digraph",)),
        ReaderEntry("graphs", "TRACE", json=True),
        ReaderEntry("graphs", "TASKS", marks=ANY_TEXT),
    ),
}


@dataclass(frozen=True)
class Detection:
    """The reader for a file, and the evidence for it."""

    source: Source
    kind: FileKind
    reader: Reader[Any]
    evidence: str

    @property
    def name(self) -> str:
        """The format's title."""
        return self.reader.title

    def read(self, options: ReadOptions) -> Any:
        """What the file holds; an error of the reader gets the name of the file."""
        try:
            return self.reader.read(self.source, options)
        except UnicodeDecodeError:
            raise FormatError("not text in UTF-8", subject=self.source.name) from None
        except InputError as problem:
            raise type(problem)(problem.faults, subject=problem.subject or self.source.name) from None

    def alternatives(self) -> tuple[str, ...]:
        """Other formats that the file also has the marks of, with the evidence; the last reader takes any text."""
        others = []
        for reader in _candidates(self.source, READERS[self.kind][:-1]):
            evidence = reader.recognise(self.source) if reader.name != self.reader.name else None
            if evidence is not None:
                others.append(f"{reader.title}: {evidence}")
        return tuple(others)


def detect(source: Source, kind: FileKind = FileKind.RESULTS) -> Detection:
    """The first format whose marks are all in the file, or a FormatError that says what the file seems to be."""
    source.refuse_unreadable()
    for reader in _candidates(source, READERS[kind]):
        evidence = reader.recognise(source)
        if evidence is not None:
            return Detection(source, kind, reader, evidence)
    formats = "known formats: " + ", ".join(entry.load().title for entry in READERS[kind])
    if b"\x00" in source.head[:4096]:
        fault = Fault("not text in UTF-8, and not a binary format that can be read", remedy=formats)
    elif source.looks_like_json or source.name.endswith(".json"):
        content = source.json if source.json is not None else source.required_json()
        names = ", ".join(sorted(source.keys)[:12]) or type(content).__name__
        fault = Fault("JSON of an unknown format", value=names, remedy=formats)
    else:
        fault = Fault(f"not {kind} in a known format", remedy=formats)
    raise FormatError(fault, subject=source.name)


def _candidates(source: Source, entries: tuple[ReaderEntry, ...]) -> Iterator[Reader[Any]]:
    return (entry.load() for entry in entries if entry.may_read(source))
