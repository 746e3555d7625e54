"""Budgets of machine time: `8 gpu-hours` as worker-seconds."""

from __future__ import annotations

import re

from scalecurve.errors import Fault, InputError
from scalecurve.units import parse_seconds

_BUDGET = re.compile(r"\s*([\d._]+(?:e[-+]?\d+)?)\s*(?:([a-z]+?)s?[- ])?([a-zµ]+)\s*", re.IGNORECASE)


def parse_worker_seconds(text: str) -> float:
    """`8 gpu-hours`, `30 core-min`, `2 node h` or `3600 worker-seconds` as worker-seconds."""
    match = _BUDGET.fullmatch(text)
    try:
        value = parse_seconds(f"{match[1]}{match[3].lower()}") if match else 0.0
    except InputError:
        value = 0.0
    if value <= 0:
        raise InputError(Fault("not a budget of machine time", seen=text, remedy="write it like '8 gpu-hours'"))
    return value
