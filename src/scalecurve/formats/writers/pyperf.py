"""pyperf JSON: one benchmark for every K, one run for every observation; `pyperf show` and `compare_to` read it."""

from __future__ import annotations

import json
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.study import Quantity, Study

VERSION = "1.0"


def to_pyperf(study: Study) -> str:
    if study.quantity is not Quantity.SECONDS:
        hint = "rates are not times; export them as csv or extra-p"
        raise InputError(Fault("pyperf holds times only", seen=str(study.quantity), remedy=hint), subject=study.name)
    benchmarks = [_benchmark(study, k, values.tolist()) for k, values in study.samples.by_k().items()]
    metadata = {"unit": "second", "loops": 1, "inner_loops": 1}
    return json.dumps({"version": VERSION, "metadata": metadata, "benchmarks": benchmarks}, indent=1) + "\n"


def _benchmark(study: Study, k: int, values: list[float]) -> dict[str, Any]:
    name = f"{' '.join(study.name.split()) or 'study'} {'_'.join(study.k_unit.split())}={k}"
    return {"metadata": {"name": name}, "runs": [{"values": [value]} for value in values]}
