"""Networks people name: dated presets, not constants of nature.

Latencies of NVLink and InfiniBand are the per-hop figures of NCCL's own tuner (src/graph/tuning.cc, commit b6475625:
ring LL / LL128 / Simple), whose protocols reach about 50, 95 and 100 % of the link.  Link rates are one direction of
the vendor's stated rate.  Ethernet and PCIe latencies are typical of TCP and of a copy through the host: marked
assumed. Measure your own with `scalecurve collective measure`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from scalecurve.errors import Fault, InputError
from scalecurve.laws.collectives import Link, Network, Protocol
from scalecurve.units import parse_bandwidth, parse_seconds

AS_OF = "2026-11"
NCCL = "NCCL src/graph/tuning.cc b6475625 (per-hop latency LL/LL128/Simple)"


@dataclass(frozen=True, kw_only=True)
class LinkPreset:
    """A link by name: bytes per second in one direction, seconds per message of each protocol, where they come from."""

    bandwidth: float
    latencies: tuple[float, ...]
    per_node: int | None = None
    source: str

    def link(self, name: str) -> Link:
        shares = (0.5, 0.95, 1.0) if len(self.latencies) == 3 else (1.0,)
        protocols = tuple(
            Protocol(alpha=alpha, beta=1.0 / (share * self.bandwidth))
            for alpha, share in zip(self.latencies, shares, strict=True)
        )
        return Link(protocols=protocols, name=name)


_NVLINK = (0.6e-6, 1.9e-6, 3.4e-6)
_FABRIC = (2.7e-6, 4.0e-6, 14.0e-6)
_TCP = (30e-6,)

LINKS: dict[str, LinkPreset] = {
    "nvlink3": LinkPreset(bandwidth=300e9, latencies=_NVLINK, per_node=8, source=f"NVIDIA A100 600 GB/s; {NCCL}"),
    "nvlink": LinkPreset(bandwidth=450e9, latencies=_NVLINK, per_node=8, source=f"NVIDIA H100 900 GB/s; {NCCL}"),
    "nvlink5": LinkPreset(bandwidth=900e9, latencies=_NVLINK, per_node=8, source=f"NVIDIA B200 1.8 TB/s; {NCCL}"),
    "pcie4": LinkPreset(
        bandwidth=25e9, latencies=(5e-6,), per_node=8, source="PCIe 4.0 x16, 80 % of 31.5 GB/s; assumed"
    ),
    "pcie5": LinkPreset(bandwidth=50e9, latencies=(5e-6,), per_node=8, source="PCIe 5.0 x16, 80 % of 63 GB/s; assumed"),
    "shm": LinkPreset(bandwidth=10e9, latencies=(0.5e-6,), per_node=64, source="shared memory of one host; assumed"),
    "ib100": LinkPreset(bandwidth=12.5e9, latencies=_FABRIC, source=f"InfiniBand EDR 100 Gb/s; {NCCL}"),
    "ib200": LinkPreset(bandwidth=25e9, latencies=_FABRIC, source=f"InfiniBand HDR 200 Gb/s; {NCCL}"),
    "ib400": LinkPreset(bandwidth=50e9, latencies=_FABRIC, source=f"InfiniBand NDR 400 Gb/s; {NCCL}"),
    "ib800": LinkPreset(bandwidth=100e9, latencies=_FABRIC, source=f"InfiniBand XDR 800 Gb/s; {NCCL}"),
    "eth1": LinkPreset(bandwidth=0.125e9, latencies=_TCP, source="Ethernet 1 Gb/s, TCP; latency assumed"),
    "eth10": LinkPreset(bandwidth=1.25e9, latencies=_TCP, source="Ethernet 10 Gb/s, TCP; latency assumed"),
    "eth25": LinkPreset(bandwidth=3.125e9, latencies=_TCP, source="Ethernet 25 Gb/s, TCP; latency assumed"),
    "eth100": LinkPreset(bandwidth=12.5e9, latencies=_TCP, source="Ethernet 100 Gb/s, TCP; latency assumed"),
}

_TYPED = re.compile(r"(?P<alpha>[\d.]+\s*(?:ns|us|ms|s))/(?P<rate>[\d.]+\s*[kKMGT]?i?[bB](?:its?)?(?:/s|ps))")


def network(text: str, *, per_node: int | None = None, adapters: int | None = None, gamma: float = 0.0) -> Network:
    """`ib400`, `nvlink+ib400` or typed `2us/400Gb/s`: between nodes, or inside a node + between nodes."""
    parts = [part.strip() for part in text.split("+")]
    if len(parts) > 2:
        raise InputError(Fault("a network has at most two levels", seen=text, remedy="write it like nvlink+ib400"))
    links = [_link(part) for part in parts]
    sources = tuple(LINKS[part].source for part in parts if part in LINKS)
    if len(links) == 1:
        return Network(inter=links[0], per_node=1, gamma=gamma, name=text, sources=sources)
    size = per_node or (LINKS[parts[0]].per_node if parts[0] in LINKS else None)
    if size is None:
        raise InputError(Fault("how many ranks share a node is not stated", seen=text, remedy="give --per-node 8"))
    return Network(
        inter=links[1], intra=links[0], per_node=size, adapters=adapters, gamma=gamma, name=text, sources=sources
    )


def _link(text: str) -> Link:
    if text in LINKS:
        return LINKS[text].link(text)
    typed = _TYPED.fullmatch(text)
    if typed:
        return Link.of(parse_seconds(typed["alpha"]), parse_bandwidth(typed["rate"]), name=text)
    hint = f"one of {', '.join(LINKS)}, or latency/rate such as 2us/400Gb/s (bits) or 2us/50GB/s (bytes)"
    raise InputError(Fault("unknown network", seen=text, remedy=hint))
