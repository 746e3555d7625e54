"""A cluster: accelerators of one kind and the network between them, by name or described."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.hardware.accelerators import (
    GIB,
    Accelerator,
    accelerator,
    accelerators,
    hardware_table,
    plain_name,
    unknown_name,
)
from scalecurve.hardware.networks import links
from scalecurve.units import parse_bandwidth

PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8", "nvfp4", "amp_bf16", "amp_fp8")


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """`node` accelerators share the fast link; each has `outer_rate` bytes/s into the network.

    `usd_per_gpu_hour` is None where no price is known.
    """

    name: str
    accelerator: Accelerator
    node: int
    inner_rate: float
    outer_rate: float
    usd_per_gpu_hour: float | None = None
    price_source: str | None = None
    source: str = "given"

    def __post_init__(self) -> None:
        sizes = {"node": self.node, "inner_rate": self.inner_rate, "outer_rate": self.outer_rate}
        faults = [Fault("must be above 0", name, str(value)) for name, value in sizes.items() if not value > 0]
        if self.usd_per_gpu_hour is not None and self.usd_per_gpu_hour < 0:
            faults.append(Fault("a price cannot be negative", "usd_per_gpu_hour", str(self.usd_per_gpu_hour)))
        if faults:
            raise InputError(faults, subject=f"cluster {self.name}")

    def with_price(self, usd_per_gpu_hour: float | None = None, source: str = "given") -> Cluster:
        """This cluster at a price per accelerator-hour; without one, at its own or the catalogue's."""
        if usd_per_gpu_hour is not None:
            return replace(self, usd_per_gpu_hour=usd_per_gpu_hour, price_source=source)
        if self.usd_per_gpu_hour is not None:
            return self
        from scalecurve.hardware.prices import gpu_price

        listed = gpu_price(self.accelerator.name)
        return self if listed is None else self.with_price(listed.usd_per_hour, listed.source)

    def dollars(self, gpus: int, seconds: float | None) -> float | None:
        """What `gpus` accelerators cost for this long; None without a price."""
        if self.usd_per_gpu_hour is None or seconds is None:
            return None
        return gpus * self.usd_per_gpu_hour * (seconds / 3600.0)

    def peak(self, precision: str) -> float:
        """FLOP/s that MFU is measured against: the peak of the precision the products run in."""
        chip = self.accelerator
        return chip.fp8_peak if precision == "fp8" and chip.fp8_peak else chip.peak

    def precision(self, name: str) -> tuple[str, list[Fault]]:
        """`bf16` or `fp8` for what a user wrote, and what is wrong with it on this accelerator."""
        precision = "fp8" if "8" in name or "fp4" in name.lower() else "bf16"
        if name.lower() not in PRECISIONS:
            return precision, [Fault("unknown precision", "precision", name, f"use one of {', '.join(PRECISIONS)}")]
        if precision == "fp8" and self.accelerator.fp8_peak is None:
            message = f"{self.accelerator.name} has no fp8 matrix units"
            return precision, [Fault(message, "precision", name, "use bf16")]
        return precision, []

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "accelerator": self.accelerator.name,
            "node": self.node,
            "inner_gb_s": self.inner_rate / 1e9,
            "outer_gb_s": self.outer_rate / 1e9,
            "memory_bytes": self.accelerator.capacity,
            "usd_per_gpu_hour": self.usd_per_gpu_hour,
            "price_source": self.price_source,
            "source": self.source,
        }


@cache
def named_clusters() -> Mapping[str, dict[str, Any]]:
    """Clusters that differ from the usual server of their accelerator."""
    return tomllib.loads(hardware_table("clusters.toml"))


def cluster_preset(name: str) -> Cluster:
    """`selene`, `h100-ib400` (an accelerator and its network), or `h100` with the usual network of its servers."""
    key = plain_name(name)
    entry = named_clusters().get(key, {})
    chip_name, _, link = key.rpartition("-")
    network = links().get(link)
    bare = key.removeprefix("nvidia-").removeprefix("amd-")
    rate: float | None = None
    if entry:
        chip, rate = accelerator(entry["accelerator"]), entry["outer_gb_s"] * 1e9
    elif chip_name in accelerators() and network is not None and network.between_nodes:
        chip, rate = accelerator(chip_name), network.bandwidth
    elif bare in accelerators():
        chip = accelerator(bare)
    else:
        networks = [link.name for link in links().values() if link.between_nodes]
        pairs = (f"{chip}-{link}" for chip in accelerators() for link in networks)
        raise unknown_name("cluster", name, [*named_clusters(), *accelerators(), *pairs])
    return Cluster(
        name=key,
        accelerator=chip,
        node=entry.get("node", chip.node),
        inner_rate=chip.inner_rate,
        outer_rate=rate or chip.outer_rate,
        source=entry.get("source", chip.source),
    )


ClusterLike = str | Mapping[str, Any] | Cluster
_FIELDS = ("name", "gpus", "accelerator", "node", "outer", "inner", "usd_per_gpu_hour", "memory")
_ALIASES = {
    "num_gpus": "gpus", "count": "gpus", "gpu_type": "accelerator", "internode": "outer", "intranode": "inner",
    "gpu": "accelerator", "chip": "accelerator", "hardware": "accelerator", "gpus_per_node": "node",
    "node_size": "node",
    "inter_node": "outer", "outer_rate": "outer", "network": "outer", "bandwidth": "outer", "outer_gb_s": "outer",
    "intra_node": "inner", "inner_rate": "inner", "nvlink": "inner", "inner_gb_s": "inner", "price": "usd_per_gpu_hour",
    "preset": "accelerator", "memory_gb": "memory",
}  # fmt: skip


def _in_giga(value: Any, giga: float = 1e9) -> float:
    """Bytes or bytes/s; a number below a million is in GB or GB/s."""
    return float(value) * (giga if float(value) < 1e6 else 1.0)


def read_cluster(cluster: ClusterLike) -> Cluster:
    """The cluster of a preset's name (`h100-ib400`, `selene`, `a100`), or of a mapping: accelerator, node, outer and
    inner (bandwidths per accelerator), memory, usd_per_gpu_hour."""
    if isinstance(cluster, Cluster):
        return cluster
    if isinstance(cluster, str):
        return cluster_preset(cluster)
    try:
        values = {_ALIASES.get(key, key): value for key, value in cluster.items() if value is not None}
    except AttributeError:
        hint = "give a preset's name, or a mapping with its accelerator"
        raise InputError(Fault("not a cluster", "cluster", repr(cluster), hint)) from None
    hint = "known: accelerator, node, outer, inner, memory, usd_per_gpu_hour"
    faults = [Fault("unknown field of a cluster", key, remedy=hint) for key in values if key not in _FIELDS]
    if "accelerator" not in values and not faults:
        faults = [Fault("missing", "accelerator", remedy="name one, such as h100")]
    if faults:
        raise InputError(faults, subject="cluster")
    base = cluster_preset(str(values["accelerator"]))
    chip = base.accelerator
    if "memory" in values:
        chip = replace(chip, capacity=_in_giga(values["memory"], GIB))
    rates = {"inner": base.inner_rate, "outer": base.outer_rate}
    for side in rates:
        rate = values.get(side)
        if isinstance(rate, str):
            link = links().get(rate.strip().lower())
            rates[side] = link.bandwidth if link else parse_bandwidth(rate)
        elif rate is not None:
            rates[side] = _in_giga(rate)
    described = replace(
        base, name=str(values.get("name", base.name)), accelerator=chip, node=int(values.get("node", base.node)),
        inner_rate=rates["inner"], outer_rate=rates["outer"],
    )  # fmt: skip
    price = values.get("usd_per_gpu_hour")
    return described if price is None else described.with_price(float(price))


def cluster_gpus(cluster: object) -> int | None:
    """How many accelerators a described cluster has, where it says so."""
    if not isinstance(cluster, Mapping):
        return None
    count = next((cluster[key] for key in ("gpus", "num_gpus", "count") if cluster.get(key) is not None), None)
    return None if count is None else int(count)
