"""TALP JSON of DLB 3.6: regions with elapsed, useful and MPI time in nanoseconds.

Efficiencies are printed with two decimals and are recomputed from the times:
PE = sum(useful)/(elapsed P) = CommE LB, CommE = max(useful)/elapsed, LB = sum(useful)/(max(useful) P), as in
DLB's perf_metrics.c.
"""

from __future__ import annotations

from typing import Any

from scalecurve.formats.coercion import as_count, as_dict, as_float, as_text, facts
from scalecurve.formats.reading import Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, RankRecord, Treatment

NANO = 1e-9
MOST_RANKS = 4096


def look(source: Source) -> str | None:
    if not {"Application", "resources"} <= source.keys and not {"dlbVersion", "Application"} <= source.keys:
        return None
    regions = as_dict(source.json["Application"]).values()
    return (
        "JSON with Application regions and elapsedTime" if any("elapsedTime" in as_dict(r) for r in regions) else None
    )


def read(source: Source, wishes: Wishes) -> Reading:
    data = source.json
    resources = as_dict(data.get("resources"))
    regions = {name: as_dict(region) for name, region in as_dict(data["Application"]).items()}
    processes = _processes(as_dict(data.get("Process")))
    chosen = {"Global": regions["Global"]} if "Global" in regions and wishes.series is None else regions
    points = [
        p for name, region in chosen.items() if (p := _point(name, region, resources, processes, data)) is not None
    ]
    return Reading(
        points=bounded(points, source.name),
        warmup=Treatment.UNKNOWN,
        setup=Treatment.INCLUDED,
        provenance=Provenance(
            tool="TALP",
            tool_version=as_text(data.get("dlbVersion")),
            created=as_text(data.get("timestamp")),
            settings=facts(resources, "numNodes", "numGpus"),
        ),
        assumed=("the region Global is the job",) if len(chosen) < len(regions) else (),
    )


def _point(
    name: str, region: dict[str, Any], resources: dict[str, Any], processes: list[dict[str, Any]], data: dict[str, Any]
) -> Point | None:
    elapsed = as_float(region.get("elapsedTime"))
    if elapsed is None:
        return None
    merged = {**resources, **{key: value for key, value in region.items() if key.startswith("num")}}
    names = ("numMpiRanks", "numCpus", "numNodes", "numGpus")
    fields = {key: count for key in names if (count := as_count(merged.get(key)))}
    ranks = tuple(_rank(i, as_dict(process.get(name))) for i, process in enumerate(processes[:MOST_RANKS]))
    observed = {
        key: region[key] for key in ("instructions", "cycles", "usefulTime") if as_float(region.get(key)) is not None
    }
    observed |= _efficiencies(region, elapsed, fields.get("numCpus"))
    details = {"ranks": ranks, "observed": observed, "started": as_text(data.get("timestamp"))}
    return Point(values=(elapsed * NANO,), series=name, name=name, metric="elapsedTime", fields=fields, details=details)


def _efficiencies(region: dict[str, Any], elapsed: float, cpus: int | None) -> dict[str, float]:
    useful = as_float(region.get("usefulTime"))
    if useful is None or not cpus or elapsed <= 0:
        return {}
    return {"parallel_efficiency": useful / (elapsed * cpus)}


def _processes(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [as_dict(process) for process in found.values() if isinstance(process, dict)]


def _rank(rank: int, region: dict[str, Any]) -> RankRecord:
    elapsed, useful, mpi = (as_float(region.get(name)) for name in ("elapsedTime", "usefulTime", "mpiTime"))
    phases = {"compute": useful, "communication": mpi}
    return RankRecord(
        rank=rank,
        seconds=None if elapsed is None else elapsed * NANO,
        host=as_text(region.get("hostname")),
        phases={name: value * NANO for name, value in phases.items() if value is not None},
    )


READER = Reader("talp", "TALP", look, read)
