"""Results of Ramble and Benchpark (`results.*.json`): experiments with variables and figures of merit.

Repeats appear as experiments of their own (`name.1`, `name.2`) and as a
summary (`N_REPEATS` above 0), which is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scalecurve.formats.coercion import as_count, as_dict, as_float, as_list, as_text
from scalecurve.formats.meaning import meaning_of
from scalecurve.formats.reading import Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, RunStatus, Treatment

COUNTS = ("n_ranks", "n_nodes", "n_threads", "n_gpus", "n_threads_per_proc")
BY_RAMBLE = re.compile(r"summary::|^n_(?:total|successful)_repeats$")


def look(source: Source) -> str | None:
    if "experiments" not in source.keys:
        return None
    first = as_dict(next(iter(as_list(source.json["experiments"])), None))
    return "JSON with experiments and RAMBLE_STATUS" if "RAMBLE_STATUS" in first else None


def read(source: Source, wishes: Wishes) -> Reading:
    experiments = [as_dict(experiment) for experiment in as_list(source.json["experiments"])]
    launched = [each for each in experiments if not as_count(each.get("N_REPEATS"))]
    return Reading(
        points=bounded((point for experiment in launched for point in _points(experiment)), source.name),
        setup=Treatment.UNKNOWN,
        provenance=Provenance(tool="Ramble", created=as_text(source.json.get("date"))),
    )


def _points(experiment: dict[str, Any]) -> Iterator[Point]:
    name = as_text(experiment.get("name"), 500) or ""
    variables = {**experiment, **as_dict(experiment.get("RAMBLE_VARIABLES"))}
    fields: dict[str, Any] = {key: count for key in COUNTS if (count := as_count(variables.get(key)))}
    common: dict[str, Any] = {"name": name, "series": _series(name, fields), "fields": fields}
    if experiment.get("RAMBLE_STATUS") != "SUCCESS":
        details = {"error": f"RAMBLE_STATUS {as_text(experiment.get('RAMBLE_STATUS'))}"}
        yield Point(values=(), status=RunStatus.FAILED, details=details, **common)
        return
    for context in map(as_dict, as_list(experiment.get("CONTEXTS"))):
        for merit in map(as_dict, as_list(context.get("foms"))):
            if (point := _merit(merit, as_text(context.get("name")), common)) is not None:
                yield point


def _merit(merit: dict[str, Any], context: str | None, common: dict[str, Any]) -> Point | None:
    metric, value = as_text(merit.get("name")), as_float(merit.get("value"))
    if metric is None or value is None or BY_RAMBLE.search(str(merit.get("origin_type", "")) + metric):
        return None
    meaning = meaning_of(metric, as_text(merit.get("units")))
    shown = metric if context in (None, "null") else f"{metric} ({context})"
    return Point(
        values=(value * (meaning.factor if meaning else 1.0),),
        metric=shown,
        quantity=meaning.quantity if meaning else None,
        unit=(meaning.unit if meaning else None) or as_text(merit.get("units")),
        **common,
    )


def _series(name: str, fields: dict[str, Any]) -> str:
    """application.workload of `application.workload.experiment`: the experiment's own name holds its parameters."""
    return ".".join(name.split(".")[:2])


READER = Reader("ramble", "Ramble results", look, read)
