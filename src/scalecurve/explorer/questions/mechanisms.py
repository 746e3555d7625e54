"""The collectives of the Mechanisms view, by the formulas of `scalecurve collective cost`; the others compute there."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from scalecurve.explorer.formulas import NETWORKS
from scalecurve.explorer.questions.question import NAME, Question, Request
from scalecurve.hardware.networks import network
from scalecurve.laws.collectives import Operation, candidates, lower_bound
from scalecurve.units import format_bytes, format_seconds

SIZES = tuple(64 << power for power in range(29))  # bytes


class CollectivesRequest(Request):
    """An operation on a network."""

    operation: Operation = Operation.ALLREDUCE
    network: str = Field(NETWORKS[0], max_length=60, pattern=NAME)
    bytes: float = Field(350e6, ge=1, le=1e12, description="the full vector")
    ranks: int = Field(64, ge=2, le=16384)


def collectives(asked: CollectivesRequest) -> dict[str, Any]:
    """Seconds of every algorithm and the lower bound, over ranks at this size and over sizes at these ranks."""
    wires, size = network(asked.network), round(asked.bytes)
    ranks = [*(2 << power for power in range(14) if 2 << power < asked.ranks), asked.ranks]

    def row(x: int, p: int, n: int) -> dict[str, Any]:
        seconds = {one.algorithm: one.seconds for one in candidates(asked.operation, p, n, wires)}
        return {"x": x, "bound": lower_bound(asked.operation, p, n, wires).seconds, "algorithms": seconds}

    by_ranks = [row(p, p, size) for p in ranks]
    fastest, *_ = candidates(asked.operation, asked.ranks, size, wires)
    told = (
        f"{asked.operation} of {format_bytes(size)} over {asked.ranks} ranks: {fastest.algorithm} is fastest, "
        f"{format_seconds(fastest.seconds)}; no algorithm can beat {format_seconds(by_ranks[-1]['bound'])}."
    )
    options = f"--op {asked.operation} --bytes {size}B --ranks {','.join(map(str, ranks))} --network {asked.network}"
    return {
        "by_ranks": by_ranks,
        "by_size": [row(n, asked.ranks, n) for n in sorted({*SIZES, size})],
        "algorithms": sorted({name for each in by_ranks for name in each["algorithms"]}),
        "sentences": [told],
        "commands": [f"scalecurve collective cost {options}"],
    }


QUESTIONS = {"mechanisms/collectives": Question(CollectivesRequest, collectives)}
