"""Timings of collectives as OSU, IMB, nccl-tests and rccl-tests print them.

MPI benchmarks as they print: OSU micro-benchmarks (collectives) and the Intel MPI Benchmarks (IMB-MPI1).

OSU does not print the number of ranks: it is stated (--ranks), or comes from the file's name (--k-from) in a study.

nccl-tests: the table it prints, and its JSON (-J); rccl-tests' JSON lines.

The JSON's `env` holds the whole environment of the run, secrets included: it is never read.
Sizes are the total array, also for all-gather and reduce-scatter.
"""

from __future__ import annotations

import re
from dataclasses import replace

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.findings import Finding, error
from scalecurve.formats.columns import as_count, as_float, as_text
from scalecurve.formats.reading import Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.sweeps import Row, Sweeps, as_results, known_operation
from scalecurve.laws.collectives import as_operation
from scalecurve.study import Provenance, Treatment
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
        elif operation and ranks and average > 0 and text[:1].isdecimal():
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


_OSU_BEGINS = re.compile(r"^# OSU MPI ", re.MULTILINE)
OSU = Reader("osu", "OSU micro-benchmark", recognise_osu, read_osu, begins=_OSU_BEGINS)
OSU_RESULTS = Reader("osu", "OSU micro-benchmark", recognise_osu, read_osu_results, begins=_OSU_BEGINS)
IMB = Reader("imb", "Intel MPI Benchmarks", recognise_imb, read_imb)
IMB_RESULTS = Reader("imb", "Intel MPI Benchmarks", recognise_imb, read_imb_results)


CORRECT = ("0", "N/A", "None")
KINDS = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce")
_RANK = re.compile(r"#?\s*Rank\s+(?P<rank>\d+)\s.*\bon\s+(?P<host>\S+)")
_ROW = re.compile(
    r"\s*(?P<size>\d+)\s+\d+\s+\w+\s+(?P<sums>\S+)(?:\s+(?P<root>-?\d+))?\s+(?P<time>\d+(?:\.\d*)?)"
    r"\s+(?P<alone>[\d.]+)\s+(?P<bus>[\d.]+)\s+(?P<wrong>\S+)(?:\s+[\d.]+){3}\s+\S+\s*$"
)
_PROGRAM = re.compile(r"\b([a-z_]+)_perf\b")
ROUNDED = 0.02  # of the ratio of two bandwidths that are printed with two decimals


def recognise_nccl(source: Source) -> str | None:
    if {"results", "devices"} <= source.keys:
        return "JSON of nccl-tests -J (its environment dump is not read)"
    head = source.head_text
    if re.search(r"^#?\s*nThread\s+\d+", head, re.MULTILINE) or (
        "algbw" in head and "busbw" in head and "#wrong" in head
    ):
        return "the columns of nccl-tests"
    return None


def read_nccl(source: Source, options: ReadOptions) -> Sweeps:
    """Out-of-place times by size."""
    rows, wrong = (_nccl_json if source.looks_like_json else _nccl_text)(source, options)
    usable = [row for row in rows if row[3] > 0 and row[4] > 0]
    if not usable:
        raise FormatError("no sizes in the output; it may be truncated")
    sweep = MessageSweep(
        timings=timings_from(usable),
        system=source.stem,
        per_rank=False,
        provenance=Provenance(source=source.file_name, tool="nccl-tests"),
        findings=_wrong_results(wrong),
    )
    return (sweep,)


def _nccl_json(source: Source, options: ReadOptions) -> tuple[list[Row], int]:
    """The rows of the JSON, and how many sizes gave wrong values."""
    data = source.required_json()
    try:
        hosts = {str(device.get("hostname")) for device in data["devices"]}
        operation = _operation(options, " ".join(str(part) for part in (data.get("args") or [])), source)
        ranks, results = len(data["devices"]), [(float(r["size"]), r["out_of_place"]) for r in data["results"]]
        rows: list[Row] = [(operation, ranks, len(hosts), n, float(times["time"]) * MICRO) for n, times in results]
        return rows, sum(str(times.get("nwrong", 0)) not in CORRECT for _, times in results)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise FormatError(Fault("not the JSON of nccl-tests", value=str(problem))) from None


def _nccl_text(source: Source, options: ReadOptions) -> tuple[list[Row], int]:
    """The rows of the printed table, and how many sizes gave wrong values."""
    lines = source.text.splitlines()
    host_of = {match["rank"]: match["host"] for match in map(_RANK.match, lines) if match}
    ranks = options.ranks or len(host_of)
    if not ranks:
        raise FormatError(Fault("no rank lines in the output", remedy="give --ranks"))
    nodes, matches = len(set(host_of.values())) or None, [match for match in map(_ROW.match, lines) if match]
    operation = _operation(options, source.text[:4000], source, _by_bandwidths(matches, ranks))
    rows: list[Row] = [(operation, ranks, nodes, float(m["size"]), float(m["time"]) * MICRO) for m in matches]
    errors = (as_float(match["wrong"]) for match in matches if match["wrong"] not in CORRECT)
    return rows, sum(error is None or error >= 1 for error in errors)  # the largest error before 2.13


def _by_bandwidths(matches: list[re.Match[str]], ranks: int) -> str | None:
    """The collective whose bus bandwidth has the printed ratio to the algorithm's; None where several may have it."""
    largest = max(matches, key=lambda match: float(match["size"]), default=None)
    if largest is None or not float(largest["alone"]) or largest["sums"] == "none" or ranks <= 2:
        return None
    ratio, is_rooted = float(largest["bus"]) / float(largest["alone"]), int(largest["root"] or -1) >= 0
    shares = {"all_reduce": 2 * (ranks - 1) / ranks, "reduce_scatter": (ranks - 1) / ranks}
    shares = {"reduce": 1.0} if is_rooted else shares  # sendrecv has 1 without a root
    return next((kind for kind, share in shares.items() if abs(ratio - share) < ROUNDED), None)


def read_nccl_results(source: Source, options: ReadOptions) -> Reading:
    return as_results(read_nccl(source, options), source, k_origin="the ranks listed")


def recognise_rccl(source: Source) -> str | None:
    first = source.head_text.lstrip().partition("\n")[0]
    is_rccl = '"algBw"' in first and '"busBw"' in first and source.json_lines
    return "JSON lines with algBw and busBw" if is_rccl else None


def read_rccl_results(source: Source, options: ReadOptions) -> Reading:
    rows = [row for row in source.json_lines or [] if row.get("inPlace") in (0, "0", False, None)]
    points: list[Point] = []
    for row in rows:
        size, micros, gpus = as_float(row.get("size")), as_float(row.get("time")), as_count(row.get("gpus"))
        if size is not None and micros is not None and gpus is not None:
            series = f"{as_text(row.get('name')) or 'collective'} {size:g} B"
            points.append(
                Point(
                    values=(micros * MICRO,),
                    series=series,
                    name=source.name,
                    metric="latency",
                    k=gpus,
                    fields={"gpus": gpus},
                )
            )
    return Reading(
        points=bounded(points),
        k_origin="`gpus`",
        k_unit="gpus",
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="rccl-tests"),
        findings=_wrong_results(sum(str(row.get("#wrong", "0")) not in CORRECT for row in rows)),
    )


def _operation(options: ReadOptions, text: str, source: Source, shown: str | None = None) -> str:
    """The collective that was timed: stated, `all_reduce_perf` in the output, all_reduce in the file's name, or the one
    that its bandwidths show."""
    if options.operation is not None:
        return str(as_operation(options.operation))
    name = source.file_name.replace("-", "_")
    kinds = _PROGRAM.findall(text) or [kind for kind in KINDS if kind in name] or ([shown] if shown else [])
    if not kinds:
        remedy = "nccl-tests does not print it; give --op allreduce"
        raise InputError(Fault("which operation was timed is not stated", remedy=remedy))
    return str(as_operation(kinds[0]))


def _wrong_results(count: int) -> tuple[Finding, ...]:
    if not count:
        return ()
    text = f"{count} sizes gave wrong values: these timings measure a broken collective"
    return (error("wrong-results", text, remedy="repair the installation before using any of its times"),)


_NCCL_BEGINS = re.compile(r"^(?:# Collective test starting: .*\n)?# nThread ", re.MULTILINE)
NCCL = Reader("nccl-tests", "nccl-tests", recognise_nccl, read_nccl, begins=_NCCL_BEGINS)
NCCL_RESULTS = Reader("nccl-tests", "nccl-tests", recognise_nccl, read_nccl_results, begins=_NCCL_BEGINS)
RCCL_RESULTS = Reader("rccl-tests", "rccl-tests", recognise_rccl, read_rccl_results)
