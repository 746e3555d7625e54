"""MPI benchmarks as they print: OSU micro-benchmarks (collectives) and the Intel MPI Benchmarks (IMB-MPI1).

OSU does not print the number of ranks: it is stated (--ranks), or comes from the file's name (--k-from) in a study.
"""

from __future__ import annotations

import re
from dataclasses import replace

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.formats.reading import Reader, Reading, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.formats.sweeps import Row, Sweeps, as_results, known_operation
from scalecurve.laws.collectives import as_operation
from scalecurve.study import Provenance
from scalecurve.study.message_sweep import MessageSweep, timings_from

MICRO = 1e-6
_OSU_TITLE = re.compile(
    r"^#\s*OSU MPI\S*\s+(?:Non-blocking |Blocking )?(?P<op>[A-Za-z_ -]+?)\s+(?:Latency )?Test\s*v?(?P<version>\S*)"
)
_BENCHMARK = re.compile(r"#\s*Benchmarking\s+(?P<op>\w+)")
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*(?P<ranks>\d{1,9})")


def recognise_osu(source: Source) -> str | None:
    title = re.search(r"^#\s*OSU MPI", source.head_text, re.MULTILINE)
    return "the title of an OSU micro-benchmark" if title else None


def read_osu(source: Source, options: ReadOptions) -> Sweeps:
    """Average latency by size; the ranks must be stated because OSU does not print them."""
    if options.ranks is None or options.ranks < 1:
        remedy = r"OSU does not print them: give --ranks, or --k-from '_n(\d+)' where the file's name has them"
        raise FormatError(Fault("how many ranks ran is not stated", remedy=remedy))
    lines = source.text.splitlines()
    title = next((match for line in lines[:30] if (match := _OSU_TITLE.match(line.strip()))), None)
    if title is None:
        remedy = "expected a line such as '# OSU MPI Allreduce Latency Test v5.3'"
        raise FormatError(Fault("not the output of an OSU collective", remedy=remedy))
    try:
        operation = str(as_operation(title["op"].replace(" ", "")))
    except InputError as problem:
        raise FormatError(problem.faults) from None
    rows: list[Row] = []
    faults: list[Fault] = []
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields or not fields[0].isdecimal():
            continue
        try:
            rows.append((operation, options.ranks, options.nodes, float(fields[0]), float(fields[1]) * MICRO))
        except (IndexError, ValueError):
            faults.append(Fault("a size without a latency", where=f"line {number}", value=line.strip()))
    if faults or not rows:
        truncated = [Fault("no sizes below the header; the output may be truncated")]
        raise FormatError(faults or truncated)
    provenance = Provenance(source=source.file_name, tool="osu-micro-benchmarks", tool_version=title["version"] or None)
    timings = timings_from(row for row in rows if row[3] > 0 and row[4] > 0)
    return (MessageSweep(timings=timings, system=source.stem, provenance=provenance),)


def read_osu_results(source: Source, options: ReadOptions) -> Reading:
    return as_results(read_osu(source, replace(options, ranks=1)), source, k_origin=None)


def recognise_imb(source: Source) -> str | None:
    block = re.search(r"^\s*#\s*Benchmarking\s+\w+\s*$", source.head_text, re.MULTILINE)
    return "blocks of the Intel MPI Benchmarks" if block or "Intel(R) MPI Benchmarks" in source.head_text else None


def read_imb(source: Source, options: ReadOptions) -> Sweeps:
    """t_avg of every block of a known collective; other benchmarks in the file are passed over."""
    rows: list[Row] = []
    operation: str | None = None
    ranks, average = 0, -1
    for line in source.text.splitlines():
        text = line.strip()
        if match := _BENCHMARK.match(text):
            operation, ranks, average = known_operation(match["op"]), 0, -1
        elif match := _PROCESSES.match(text):
            ranks = int(match["ranks"])
        elif text.startswith("#bytes"):
            names = text.split()
            average = next((i for i, name in enumerate(names) if name.startswith(("t_avg", "t[usec]"))), -1)
        elif operation and ranks and average > 0 and text[:1].isdigit():
            fields = text.split()
            try:
                size, seconds = float(fields[0]), float(fields[average]) * MICRO
            except (ValueError, IndexError):
                continue  # IMB writes "int. err" or cuts a line when it runs out of time
            if size > 0 and seconds > 0:
                rows.append((operation, ranks, options.nodes, size, seconds))
    if not rows:
        remedy = "expected blocks that begin with '# Benchmarking Allreduce' and a '#bytes' header"
        raise FormatError(Fault("no timings of a known collective", remedy=remedy))
    provenance = Provenance(source=source.file_name, tool="imb-mpi1")
    return (MessageSweep(timings=timings_from(rows), system=source.stem, provenance=provenance),)


def read_imb_results(source: Source, options: ReadOptions) -> Reading:
    return as_results(read_imb(source, options), source, k_origin="`#processes`")


OSU = Reader("osu", "OSU micro-benchmark", recognise_osu, read_osu)
OSU_RESULTS = Reader("osu", "OSU micro-benchmark", recognise_osu, read_osu_results)
IMB = Reader("imb", "Intel MPI Benchmarks", recognise_imb, read_imb)
IMB_RESULTS = Reader("imb", "Intel MPI Benchmarks", recognise_imb, read_imb_results)
