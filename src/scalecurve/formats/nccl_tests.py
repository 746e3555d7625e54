"""nccl-tests: the table it prints, and its JSON (-J).

The JSON's `env` holds the whole environment of the run, secrets included: it is never read.
Sizes are the total array, also for all-gather and reduce-scatter.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.findings import Finding, error
from scalecurve.formats.text import read_text
from scalecurve.laws.collectives import as_operation
from scalecurve.study.file import parse_json
from scalecurve.study.message_sweep import MessageSweep, timings_from
from scalecurve.study.provenance import Provenance

_RANK = re.compile(r"#\s+Rank\s+(?P<rank>\d+)\s.*\bon\s+(?P<host>\S+)")
_ROW = re.compile(
    r"\s*(?P<size>\d+)\s+\d+\s+\w+\s+\S+\s+-?\d+\s+(?P<time>\d+(?:\.\d*)?)\s+[\d.]+\s+[\d.]+\s+(?P<wrong>\S+)"
)
_KINDS = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce")

Row = tuple[str, int, int | None, float, float]


def read_nccl_tests(path: Path, *, operation: str | None = None, ranks: int | None = None) -> MessageSweep:
    """Out-of-place times by size; the operation comes from the program's name in the output, the file's, or you."""
    text = read_text(path)
    if text.lstrip().startswith("{"):
        return _from_json(parse_json(text.encode(), subject=str(path)), path, operation)
    hosts = {match["rank"]: match["host"] for match in map(_RANK.match, text.splitlines()) if match}
    count = ranks or len(hosts)
    if not count:
        raise FormatError(Fault("no rank lines in the output", remedy="give --ranks"), subject=str(path))
    which = _operation(operation, text[:4000], path)
    rows = [match for match in map(_ROW.match, text.splitlines()) if match]
    nodes = len(set(hosts.values())) or None
    timings: list[Row] = [(which, count, nodes, float(m["size"]), float(m["time"]) * 1e-6) for m in rows]
    wrong = sum(match["wrong"] not in ("0", "N/A") for match in rows)
    return _sweep(timings, path, wrong)


def _from_json(data: Any, path: Path, operation: str | None) -> MessageSweep:
    try:
        devices, results = data["devices"], data["results"]
        hosts = {str(device.get("hostname")) for device in devices}
        named = " ".join(str(part) for part in (data.get("args") or []))
        which = _operation(operation, named, path)
        plain = [(float(each["size"]), each["out_of_place"]) for each in results]
        timings: list[Row] = [(which, len(devices), len(hosts), s, float(t["time"]) * 1e-6) for s, t in plain]
        wrong = sum(str(each.get("nwrong", 0)) not in ("0", "N/A", "None") for _, each in plain)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise FormatError(Fault("not the JSON of nccl-tests", seen=str(problem)), subject=str(path)) from None
    return _sweep(timings, path, wrong)


def _operation(stated: str | None, text: str, path: Path) -> str:
    if stated is not None:
        return str(as_operation(stated))
    for source in (text, path.name):
        for kind in _KINDS:
            if f"{kind}_perf" in source or (source == path.name and kind in source.replace("-", "_")):
                return str(as_operation(kind))
    hint = "nccl-tests does not print it; give --op allreduce"
    raise InputError(Fault("which operation was timed is not stated", remedy=hint), subject=str(path))


def _sweep(timings: list[Row], path: Path, wrong: int) -> MessageSweep:
    usable = [row for row in timings if row[3] > 0 and row[4] > 0]
    if not usable:
        raise FormatError(Fault("no sizes in the output; it may be truncated"), subject=str(path))
    found: tuple[Finding, ...] = ()
    if wrong:
        text = f"{wrong} sizes gave wrong values: these timings measure a broken collective"
        found = (error("wrong-results", text, remedy="mend the installation before trusting any of its times"),)
    provenance = Provenance(source=path.name, tool="nccl-tests")
    return MessageSweep(
        timings=timings_from(usable), system=path.stem, per_rank=False, provenance=provenance, findings=found
    )
