"""Results of Ramble and Benchpark (`results.*.json`): experiments with variables and figures of merit.

Repeats appear as experiments of their own (`name.1`, `name.2`) and as a summary (`N_REPEATS` above 0), which is left
out.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from scalecurve.formats.columns import as_count, as_dict, as_dicts, as_float, as_text, counts_in, metric_point
from scalecurve.formats.reading import Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, RunStatus, Treatment

COUNTS = ("n_ranks", "n_nodes", "n_threads", "n_gpus", "n_threads_per_proc")
BY_RAMBLE = re.compile(r"summary::|^n_(?:total|successful)_repeats$")


def recognise(source: Source) -> str | None:
    first = (as_dicts(source.json["experiments"]) or [{}])[0] if "experiments" in source.keys else {}
    return "JSON with experiments and RAMBLE_STATUS" if "RAMBLE_STATUS" in first else None


def read(source: Source, options: ReadOptions) -> Reading:
    points: list[Point] = []
    for experiment in as_dicts(source.json["experiments"]):
        if as_count(experiment.get("N_REPEATS")):
            continue
        name = as_text(experiment.get("name"), 500) or ""
        fields = counts_in({**experiment, **as_dict(experiment.get("RAMBLE_VARIABLES"))}, COUNTS)
        # The series is application.workload of `application.workload.experiment`, whose last part holds parameters.
        common: dict[str, Any] = {"name": name, "series": ".".join(name.split(".")[:2]), "fields": fields}
        if experiment.get("RAMBLE_STATUS") != "SUCCESS":
            details = {"error": f"RAMBLE_STATUS {as_text(experiment.get('RAMBLE_STATUS'))}"}
            points.append(Point(values=(), status=RunStatus.FAILED, details=details, **common))
            continue
        for context in as_dicts(experiment.get("CONTEXTS")):
            where = as_text(context.get("name"))
            for merit in as_dicts(context.get("foms")):
                metric, value = as_text(merit.get("name")), as_float(merit.get("value"))
                if metric is None or value is None or BY_RAMBLE.search(str(merit.get("origin_type", "")) + metric):
                    continue
                point = metric_point([value], metric, as_text(merit.get("units")), **common)
                points.append(point if where in (None, "null") else replace(point, metric=f"{metric} ({where})"))
    return Reading(
        points=bounded(points),
        setup=Treatment.UNKNOWN,
        provenance=Provenance(tool="Ramble", created=as_text(source.json.get("date"))),
    )


READER = Reader("ramble", "Ramble results", recognise, read)
