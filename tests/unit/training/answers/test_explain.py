"""An explanation adds up: the numbers of each term, worked out as its formula says, are the value beside them."""

from __future__ import annotations

import math
import re

import pytest

from scalecurve.training import evaluate_layout, explain

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
SECONDS = r"([\d.,]+) (ns|us|ms|s|min|h|d)\b"
JOBS = [
    ("llama3-70b", "h100-ib400", "tp=4,pp=4,dp=16,micro=1,interleave=4", "1Mi", "nemo"),
    ("llama3-70b", "h200-ib400", "tp=8,pp=2,dp=8,micro=2,recompute=full", "2Mi", None),
    ("llama3-8b", "h100-ib400", "dp=64,zero=2,micro=1", "4Mi", None),
    ("llama3-8b", "a100-ib200", "dp=32,zero=3,micro=1,recompute=full", "2Mi", "fsdp"),
    ("llama3-8b", "b200-ib800", "dp=16,cp=4,zero=1,micro=1", "1Mi", "megatron-core"),
    ("mixtral-8x7b", "h100-ib400", "dp=64,ep=8,zero=1,micro=1", "2Mi", "megatron-core"),
    ("llama3-8b", "mi300x-ib400", "tp=2,dp=32,zero=0,micro=1", "1Mi", None),
    ("gpt3-175b", "selene", "tp=8,pp=12,dp=4,micro=1,recompute=full", "3Mi", "megatron-lm"),
]


def worked_out(term: str, text: str) -> float:
    """Seconds of the arithmetic in `text`: plain sums and products, or traffic beside its windows."""
    if term == "optimizer":
        held, _, rate = text.partition(" / ")
        times, _, count = held.partition(" x ")
        if count:
            held = str(float(times) * {"M": 1e6, "B": 1e9}[count[-1]] * float(count[:-1]))
        return float(held) / (float(rate.split()[0]) * 1e12)
    text, _, rest = text.partition(", contention ")
    gathered, traffic, moved = text.partition("traffic ")
    if traffic:
        first = product(gathered.partition(" gathering")[0]) if gathered else 0.0
        return first + sum(exposed(part, float(rest or 0)) for part in moved.partition(", not")[0].split(" + "))
    return product(text)


def exposed(part: str, contention: float) -> float:
    """`8 x 58.17 ms under 610.6 ms`: what outlasts its window, and what it costs to travel under it."""
    carried, under, window = part.partition(" under ")
    if carried == "none":
        return 0.0
    times, _, one = carried.rpartition(" x ")
    seconds, room = product(one), product(window) if under else 0.0
    return int(times or 1) * (max(seconds - room, 0.0) + contention * min(seconds, room))


def product(text: str) -> float:
    """Sums of products of plain numbers and times, with brackets."""
    plain = re.sub(SECONDS, lambda found: repr(float(found[1].replace(",", "")) * UNITS[found[2]]), text)
    while inner := re.search(r"\(([^()]*)\)", plain):
        plain = plain.replace(inner[0], repr(product(inner[1])))
    return sum(math.prod(map(float, part.split(" x "))) for part in plain.split(" + "))


@pytest.mark.parametrize(("model", "cluster", "layout", "batch", "stack"), JOBS)
def test_every_term_is_what_its_numbers_make(model: str, cluster: str, layout: str, batch: str, stack: str) -> None:
    outcome = evaluate_layout(model, cluster, layout, batch=batch, seq=2048 if "gpt3" in model else 8192, stack=stack)
    parts = {part.name: part for part in explain(outcome.outcome).parts}
    for term, seconds in outcome.outcome.breakdown.items():
        if not seconds or (term == "bubble" and "layers of" in parts[term].numbers):
            continue
        assert worked_out(term, parts[term].numbers) == pytest.approx(seconds, rel=0.01), parts[term]
    assert sum(outcome.outcome.breakdown.values()) == pytest.approx(outcome.step_seconds)
    held = [part for part in parts.values() if part.name.startswith("memory: ") and "fragmentation" not in part.name]
    assert len(held) == len(outcome.outcome.memory)
