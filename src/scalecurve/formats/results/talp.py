"""TALP JSON of DLB 3.6: regions with elapsed, useful and MPI time in nanoseconds.

Efficiencies are printed with two decimals and are recomputed from the times:
PE = sum(useful)/(elapsed P) = CommE LB, CommE = max(useful)/elapsed, LB = sum(useful)/(max(useful) P), as in
DLB's perf_metrics.c.
"""

from __future__ import annotations

from typing import Any

from scalecurve.formats.columns import as_dict, as_float, as_text, counts_in, facts
from scalecurve.formats.reading import Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, RankRecord, Treatment

NANO = 1e-9
MOST_RANKS = 4096
COUNTS = ("numMpiRanks", "numCpus", "numNodes", "numGpus")


def recognise(source: Source) -> str | None:
    if not {"Application", "resources"} <= source.keys and not {"dlbVersion", "Application"} <= source.keys:
        return None
    regions = as_dict(source.json["Application"]).values()
    timed = any("elapsedTime" in as_dict(region) for region in regions)
    return "JSON with Application regions and elapsedTime" if timed else None


def read(source: Source, options: ReadOptions) -> Reading:
    data = source.json
    resources = as_dict(data.get("resources"))
    regions = {name: as_dict(region) for name, region in as_dict(data["Application"]).items()}
    processes = [process for process in as_dict(data.get("Process")).values() if isinstance(process, dict)]
    chosen = {"Global": regions["Global"]} if "Global" in regions and options.series is None else regions
    points: list[Point] = []
    for name, region in chosen.items():
        elapsed = as_float(region.get("elapsedTime"))
        if elapsed is None:
            continue
        stated = {key: value for key, value in region.items() if key.startswith("num")}
        fields = counts_in({**resources, **stated}, COUNTS)
        observed: dict[str, Any] = {
            key: region[key]
            for key in ("instructions", "cycles", "usefulTime")
            if as_float(region.get(key)) is not None
        }
        useful, cpus = as_float(region.get("usefulTime")), fields.get("numCpus")
        if useful is not None and cpus and elapsed > 0:
            observed["parallel_efficiency"] = useful / (elapsed * cpus)
        ranks: list[RankRecord] = []
        for i, process in enumerate(processes[:MOST_RANKS]):
            own = as_dict(process.get(name))
            seconds, *phases = (as_float(own.get(key)) for key in ("elapsedTime", "usefulTime", "mpiTime"))
            named = zip(("compute", "communication"), phases, strict=True)
            ranks.append(
                RankRecord(
                    rank=i,
                    seconds=None if seconds is None else seconds * NANO,
                    host=as_text(own.get("hostname")),
                    phases={phase: value * NANO for phase, value in named if value is not None},
                )
            )
        details = {"ranks": tuple(ranks), "observed": observed, "started": as_text(data.get("timestamp"))}
        points.append(
            Point(
                values=(elapsed * NANO,), series=name, name=name, metric="elapsedTime", fields=fields, details=details
            )
        )
    return Reading(
        points=bounded(points),
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


READER = Reader("talp", "TALP", recognise, read)
