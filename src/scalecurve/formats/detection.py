"""What a file is, recognised by its content and never by running, unpickling or unpacking it.

To add a reader: write a row of readers.toml, or one small file with a `READER` in the folder of what comes out, and
name it here, as in docs/guide/adding-a-reader.md.  Readers are asked in this order, the most particular first, and
imported only where the file begins like JSON (`json`) or one of their `marks` occurs in its first megabyte.  Readers of
study results of other packages (entry points of the group `scalecurve.readers`) are asked before the plain tables.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import import_module
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError, read_as
from scalecurve.findings import info
from scalecurve.formats.reading import Reader, ReadOptions
from scalecurve.formats.source import Source

STUDY, PLAIN, ROWS = "scalecurve study", "plain table", "JSON rows"
ANY_TEXT = ("",)
GROUP = "scalecurve.readers"


class FileKind(StrEnum):
    """What comes out of a file; one file may hold several kinds: a trace is results and a task graph."""

    RESULTS = "results of a scaling study"
    SWEEPS = "timings of collectives"
    LATENCIES = "latencies"
    KERNELS = "kernels of a profiler"
    GRAPHS = "a task graph"


@dataclass(frozen=True)
class ReaderEntry:
    """Where a reader is, below `scalecurve.formats`, and for which files it is worth importing.

    A name in small letters is a row of readers.toml, of which `module` makes the reader.
    """

    module: str
    name: str = "READER"
    json: bool = False
    marks: tuple[str, ...] = ()

    def load(self) -> Reader[Any]:
        module = import_module(f"scalecurve.formats.{self.module}")
        reader: Reader[Any] = getattr(module, self.name) if self.name.isupper() else module.reader_of(self.name)
        return reader

    def may_read(self, source: Source) -> bool:
        return (self.json and source.looks_like_json) or any(mark in source.head_text for mark in self.marks)


LOAD_TESTS: tuple[tuple[str, bool, tuple[str, ...]], ...] = (
    ("wrk", False, ("Running ",)),
    ("hey", False, ("response-time,", "Response time histogram:")),
    ("oha", True, ()),
    ("k6", True, ()),
    ("bombardier", False, ("Bombarding ",)),
    ("ab", False, ("This is ApacheBench",)),
    ("autocannon", True, ("Req/Bytes counts sampled",)),
    ("vegeta", True, ("[total, rate",)),
    ("locust", False, ("Request Count",)),
    ("k6-csv", False, ("metric_name,",)),
    ("k6-printed", False, ("http_req_duration",)),
)

READERS: dict[FileKind, tuple[ReaderEntry, ...]] = {
    FileKind.RESULTS: (
        ReaderEntry("results", "STUDY_FILE", json=True),
        ReaderEntry("results.benchmark_tools", "HYPERFINE", json=True),
        ReaderEntry("results.benchmark_tools", "PYPERF", json=True),
        ReaderEntry("results.benchmark_tools", "PYTEST", json=True),
        ReaderEntry("results.microbenchmarks", "GOOGLE", json=True),
        ReaderEntry("results.benchmark_tools", "ASV", json=True),
        ReaderEntry("results.suites", "REFRAME", json=True),
        ReaderEntry("results.suites", "RAMBLE", json=True),
        ReaderEntry("results.profilers", "TALP", json=True),
        ReaderEntry("results.torch_traces", json=True),
        ReaderEntry("tables.forms", "BINARY", marks=("PAR1", "ARROW1", "PK\x03\x04")),
        ReaderEntry("results.extrap", "JSON", json=True, marks=("PK\x03\x04",)),
        ReaderEntry("results.extrap", "LINES", json=True),
        ReaderEntry("results.extrap", "TEXT", marks=("PARAMETER",)),
        ReaderEntry("sweeps.tools", "OSU_RESULTS", marks=("OSU MPI",)),
        ReaderEntry("sweeps.tools", "IMB_RESULTS", marks=("# Benchmarking",)),
        ReaderEntry("sweeps.tools", "NCCL_RESULTS", json=True, marks=("nThread", "busbw")),
        ReaderEntry("sweeps.tools", "RCCL_RESULTS", json=True),
        ReaderEntry("results.logs", "MLLOG", marks=(":::MLLOG",)),
        ReaderEntry("results.profilers", "CILKSCALE", marks=("span (",)),
        ReaderEntry("results.profilers", "CALIPER", marks=("nid", "profile", "mpi.world.size", "jobsize")),
        ReaderEntry("results.sacct", json=True, marks=("JobID", "|")),
        ReaderEntry("results.microbenchmarks", "GOOGLE_CSV", marks=("real_time,cpu_time",)),
        ReaderEntry("results.microbenchmarks", "GOOGLE_TEXT", marks=("Iterations",)),
        ReaderEntry("results.suites", "PERFLOG", marks=("job_completion_time", "num_tasks=")),
        ReaderEntry("results.microbenchmarks", "GO", marks=(" ns/op",)),
        ReaderEntry("results.microbenchmarks", "JMH", json=True, marks=('"Benchmark","Mode"',)),
        ReaderEntry("results.microbenchmarks", "CRITERION", json=True),
        ReaderEntry("results.microbenchmarks", "DOTNET", json=True),
        ReaderEntry("rows", "gnu-time", marks=("Command being timed",)),
        ReaderEntry("results.system_tools", "PERF", marks=("task-clock", "cpu-clock", "duration_time", "cycles")),
        ReaderEntry("rows", "sysbench", marks=("sysbench ", "Running the test with")),
        ReaderEntry("results.system_tools", "FIO", json=True),
        ReaderEntry("rows", "lammps", marks=("LAMMPS", "Loop time of")),
        ReaderEntry("rows", "gromacs", marks=("GROMACS",)),
        ReaderEntry("results.logs", "OPENFOAM", marks=("OpenFOAM",)),
        ReaderEntry("rows", "namd", marks=("Info: NAMD",)),
        ReaderEntry("rows", "hpl", marks=("T/V",)),
        ReaderEntry("rows", "hpcg", marks=("HPCG",)),
        ReaderEntry("rows", "stream", marks=("Rate (MB/s)", "Rate MB/s", "MBytes/sec")),
        ReaderEntry("rows", "fio-printed", marks=("fio-",)),
        ReaderEntry("rows", "npb", marks=("Mop/s total",)),
        ReaderEntry("rows", "ior", marks=("IOR-",)),
        ReaderEntry("rows", "mdtest", marks=("mdtest-",)),
        ReaderEntry("rows", "graph500", marks=("harmonic_mean_TEPS",)),
        ReaderEntry("rows", "pgbench", marks=("tps = ",)),
        ReaderEntry("rows", "ycsb", marks=("[OVERALL]", "- Takes(s): ", "Run throughput(ops/sec)")),
        ReaderEntry("rows", "pytest-printed", marks=("Name (time in",)),
        ReaderEntry("rows", "jmh-printed", marks=(" Score ",)),
        ReaderEntry("rows", "criterion-printed", marks=("time:  ",)),
        ReaderEntry("rows", "perf-printed", marks=("seconds time elapsed",)),
        ReaderEntry("rows", "unix-time", marks=("elapsed ", "% cpu ")),
        ReaderEntry("rows", "locust-printed", marks=("# fails",)),
        ReaderEntry("rows", "megatron", marks=("elapsed time per iteration",)),
        ReaderEntry("results.logs", "TITAN", marks=("mfu:",)),
        ReaderEntry("rows", "hf-trainer", json=True, marks=("train_runtime",)),
        ReaderEntry("rows", "vllm", json=True, marks=("Serving Benchmark", "Throughput:")),
        *(ReaderEntry("results.load_tools", *row) for row in LOAD_TESTS),
        ReaderEntry("tables.forms", "ROWS", json=True),
        ReaderEntry("tables.decision", marks=ANY_TEXT),
    ),
    FileKind.SWEEPS: (
        ReaderEntry("sweeps", "SAVED", json=True),
        ReaderEntry("sweeps.tools", "OSU", marks=("OSU MPI",)),
        ReaderEntry("sweeps.tools", "IMB", marks=("# Benchmarking", "Intel(R) MPI Benchmarks")),
        ReaderEntry("sweeps.tools", "NCCL", json=True, marks=("nThread", "busbw")),
        ReaderEntry("sweeps", "TABLE", marks=ANY_TEXT),
    ),
    FileKind.LATENCIES: (
        ReaderEntry("latencies.hdr_log", marks=("#[Histogram log format", "Interval_Compressed_Histogram")),
        *(ReaderEntry("latencies.load_tests", *row) for row in LOAD_TESTS),
        ReaderEntry("latencies.load_tests", "hgrm", marks=("Percentile",)),
        ReaderEntry("latencies.access_log", "JSON", json=True),
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

GENERAL = {kind: 2 if kind is FileKind.RESULTS else 1 for kind in FileKind}  # last readers, which take any rows or text


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

    def reports(self) -> list[Detection]:
        """Each report of a file that holds several of one tool, with what a loop wrote above each.

        That line is a part of the report's name, for --k-from and to tell curves apart.
        """
        begins, ends = self.reader.begins, self.reader.ends
        if begins is None:
            return [self]
        text = self.source.text
        starts = [match.start() for match in begins.finditer(text)]
        if len(starts) < 2:
            return [self]
        from scalecurve.formats import headings  # a table has none

        finals = [place.end() for place in ends.finditer(text)] if ends else []
        cuts = [max((place for place in finals if a < place <= b), default=b) for a, b in pairwise(starts)]
        lines = headings.above(text, starts, cuts)
        cuts = [min(cut, line.begin) for cut, line in zip(cuts, lines[1:], strict=True)]
        names = [": ".join(filter(None, (self.source.name, line.text))) for line in lines]
        pieces = (text[a:b].encode() for a, b in pairwise([0, *cuts, len(text)]))
        return [replace(self, source=Source(name, raw=piece)) for name, piece in zip(names, pieces, strict=True)]

    def read(self, options: ReadOptions) -> Any:
        """What the file holds; an error of the reader gets the name of the file."""
        try:
            with read_as(self.name, subject=self.source.name, damage=self.reader.damage):
                return self._read(options)
        except InputError as problem:
            problem.subject = problem.subject or self.source.name
            raise

    def _read(self, options: ReadOptions) -> Any:
        try:
            return self.reader.read(self.source, options)
        except UnicodeDecodeError:
            western = self.source.in_windows_1252()
        if western is None or self.reader.title != PLAIN:
            remedy = "save it as UTF-8; Excel calls it `CSV UTF-8`"
            raise FormatError(Fault("not text in UTF-8", remedy=remedy))
        reading = self.reader.read(western, options)
        text = "the text is not UTF-8: it was read as Windows-1252, as Excel saves a CSV in Western Europe"
        finding = info("not-utf8", text, remedy="save it as UTF-8 where names of curves look strange")
        return replace(reading, findings=(*reading.findings, finding))

    def alternatives(self) -> tuple[str, ...]:
        """Other formats that the file also has the marks of, with the evidence; the last readers take what is left."""
        others = []
        is_object = isinstance(self.source.json, dict)
        last = READERS[self.kind][-GENERAL[self.kind] if is_object else -1].load()
        for reader in _candidates(self.source, self.kind):
            is_other = reader.name not in (self.reader.name, last.name)
            evidence = reader.recognise(self.source) if is_other else None
            if evidence is not None:
                others.append(f"{reader.title}: {evidence}")
        return tuple(others)


def detect(source: Source, kind: FileKind = FileKind.RESULTS) -> Detection:
    """The first format whose marks are all in the file, or a FormatError that says what the file seems to be."""
    source.refuse_unreadable()
    bare = source.without_margin()
    particular = [] if bare is None else [(reader, bare) for reader in _particular(bare, kind)]
    for reader, own in chain(particular, ((reader, source) for reader in _candidates(source, kind))):
        evidence = reader.recognise(own)
        if evidence is not None:
            return Detection(own, kind, reader, evidence)
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


def _candidates(source: Source, kind: FileKind) -> Iterator[Reader[Any]]:
    """The readers worth asking, in order; those of other packages before the two that take any rows or text."""
    yield from _particular(source, kind)
    if kind is FileKind.RESULTS:
        yield from readers_of_other_packages()
    yield from (entry.load() for entry in READERS[kind][-GENERAL[kind] :] if entry.may_read(source))


def _particular(source: Source, kind: FileKind) -> Iterator[Reader[Any]]:
    """The readers of one tool each."""
    return (entry.load() for entry in READERS[kind][: -GENERAL[kind]] if entry.may_read(source))


@cache
def _are_offered(folders: tuple[str, ...]) -> bool:
    """Whether the metadata of a package in these folders names readers of ours."""
    found = (path for folder in folders for path in Path(folder).glob("*-info/entry_points.txt"))
    return any(GROUP in path.read_text(encoding="utf-8", errors="replace") for path in found)


def readers_of_other_packages() -> Iterator[Reader[Any]]:
    """The readers that installed packages offer; one that cannot be imported is an InputError that names it."""
    if not _are_offered(tuple(sys.path)):  # importlib.metadata takes a sixth of a table's time to load
        return
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        try:
            reader = point.load()
        except Exception as problem:  # whatever a foreign package raises on import
            fault = Fault(f"the reader cannot be imported: {problem}", value=point.value, remedy="repair or remove it")
            raise InputError(fault, subject=f"entry point {point.name}") from None
        if not isinstance(reader, Reader):
            fault = Fault("the entry point is no Reader", value=point.value, remedy="see docs/guide/adding-a-reader.md")
            raise InputError(fault, subject=f"entry point {point.name}")
        yield reader
