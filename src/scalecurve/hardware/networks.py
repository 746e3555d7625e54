"""Networks by name: latency and bandwidth of dated presets, not constants of nature.

`data/links.csv` holds them.  Latencies of NVLink and InfiniBand are the per-hop figures of NCCL's own tuner
(src/graph/tuning.cc, commit b6475625: ring LL / LL128 / Simple), whose protocols reach about 50, 95 and 100 % of the
link.  Bandwidths are one direction of the vendor's stated rate.  Measure your own with `scalecurve collective measure`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from scalecurve.errors import Fault, InputError
from scalecurve.hardware.accelerators import hardware_table
from scalecurve.units import parse_bandwidth, parse_seconds

if TYPE_CHECKING:
    from scalecurve.laws.collectives import Link, Network

PROTOCOL_SHARES = (0.5, 0.95, 1.0)  # of the bandwidth, by NCCL's LL, LL128 and Simple
_TYPED = re.compile(r"(?P<alpha>[\d.]+\s*(?:ns|us|ms|s))/(?P<rate>[\d.]+\s*[kKMGT]?i?[bB](?:its?)?(?:/s|ps))")


@dataclass(frozen=True, kw_only=True)
class LinkPreset:
    """A link by name: bytes/s in one direction, seconds per message of each protocol, and where they come from."""

    name: str
    between_nodes: bool
    bandwidth: float
    latencies: tuple[float, ...]
    per_node: int | None  # ranks that usually share a node with this link inside
    date: str
    source: str

    def link(self) -> Link:
        """Alpha and beta of each protocol, as the laws of collectives take them."""
        from scalecurve.laws.collectives import Link, Protocol

        shares = PROTOCOL_SHARES if len(self.latencies) == 3 else (1.0,)
        protocols = tuple(
            Protocol(alpha=alpha, beta=1.0 / (share * self.bandwidth))
            for alpha, share in zip(self.latencies, shares, strict=True)
        )
        return Link(protocols=protocols, name=self.name)


@cache
def links() -> Mapping[str, LinkPreset]:
    """Every link by name."""
    return {
        row["name"]: LinkPreset(
            name=row["name"],
            between_nodes=row["scope"] == "network",
            bandwidth=float(row["gb_s"]) * 1e9,
            latencies=tuple(float(value) * 1e-6 for value in row["latencies_us"].split()),
            per_node=int(row["per_node"]) if row["per_node"] else None,
            date=row["date"],
            source=row["source"],
        )
        for row in csv.DictReader(hardware_table("links.csv").splitlines())
    }


def network(text: str, *, per_node: int | None = None, adapters: int | None = None, gamma: float = 0.0) -> Network:
    """`ib400`, `nvlink+ib400` or typed `2us/400Gb/s`: between nodes, or inside a node + between nodes; or a .toml that
    describes a cluster."""
    from scalecurve.laws.collectives import Link, Network

    if text.endswith(".toml"):
        from scalecurve.hardware.described import read_machine_file

        near, far = read_machine_file(text).links()
        return Network(
            inter=far.link(), intra=near.link(), per_node=per_node or near.per_node or 1, adapters=adapters,
            gamma=gamma, name=text, sources=(near.source,),
        )  # fmt: skip
    parts = [part.strip() for part in text.split("+")]
    if len(parts) > 2:
        raise InputError(Fault("a network has at most two levels", value=text, remedy="write it like nvlink+ib400"))
    levels: list[Link] = []
    for part in parts:
        typed = _TYPED.fullmatch(part)
        if part in links():
            levels.append(links()[part].link())
        elif typed:
            levels.append(Link.of(parse_seconds(typed["alpha"]), parse_bandwidth(typed["rate"]), name=part))
        else:
            typing = "latency/rate such as 2us/400Gb/s (bits) or 2us/50GB/s (bytes), or a .toml"
            hint = f"one of {', '.join(links())}, {typing}"
            raise InputError(Fault("unknown network", value=part, remedy=hint))
    sources = tuple(links()[part].source for part in parts if part in links())
    if len(levels) == 1:
        return Network(inter=levels[0], per_node=1, gamma=gamma, name=text, sources=sources)
    size = per_node or (links()[parts[0]].per_node if parts[0] in links() else None)
    if size is None:
        raise InputError(Fault("how many ranks share a node is not stated", value=text, remedy="give --per-node 8"))
    return Network(
        inter=levels[1], intra=levels[0], per_node=size, adapters=adapters, gamma=gamma, name=text, sources=sources
    )
