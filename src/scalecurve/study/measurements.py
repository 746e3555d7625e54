"""Measurement objects of torch.utils.benchmark as samples, by their shape and without importing torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scalecurve.errors import Fault, InputError


def samples_of(measurements: Mapping[int, Any] | Iterable[Any]) -> dict[int, list[float]]:
    """Seconds per run by K: K is the mapping's key, or each Measurement's `num_threads`."""
    if isinstance(measurements, Mapping):
        pairs = [(k, each) for k, given in measurements.items() for each in _listed(given)]
    else:
        pairs = [(getattr(each, "num_threads", None), each) for each in measurements]
    samples: dict[int, list[float]] = {}
    for place, (k, each) in enumerate(pairs):
        times = getattr(each, "times", None)
        if not isinstance(k, int) or times is None:
            hint = "give torch.utils.benchmark Measurements, or a mapping from K to them"
            raise InputError(
                Fault("not a measurement", where=f"item {place + 1}", seen=type(each).__name__, remedy=hint)
            )
        samples.setdefault(k, []).extend(float(time) for time in times)
    return samples


def task_name(measurements: Mapping[int, Any] | Iterable[Any]) -> str | None:
    """The label or statement that all of them share."""
    given = measurements.values() if isinstance(measurements, Mapping) else measurements
    titles = {getattr(each, "title", None) for item in given for each in _listed(item)}
    title = titles.pop() if len(titles) == 1 else None
    return title if isinstance(title, str) else None


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]
