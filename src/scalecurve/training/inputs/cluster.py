"""A cluster: accelerators of one kind and the network between them, by name or described."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from scalecurve.document import JsonRecord
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info
from scalecurve.hardware.accelerators import (
    Accelerator,
    accelerator,
    accelerator_called,
    accelerators,
    hardware_table,
    plain_name,
    unknown_name,
)
from scalecurve.hardware.networks import ALIASES, Machine, describe_machine, links, read_machine_file

PRECISIONS = {  # as users write it: the precision of the matrix products
    "bf16": "bf16", "amp_bf16": "bf16", "fp16": "fp16", "amp_fp16": "fp16", "fp8": "fp8", "amp_fp8": "fp8",
    "fp8_full": "fp8", "mxfp8": "fp8", "nvfp4": "nvfp4", "mxfp4": "nvfp4", "fp4": "nvfp4",
}  # fmt: skip
MODERN = 900e12  # FLOP/s; accelerators from here on are named where nothing is like what was asked
UNITS = {"bf16": "bf16", "fp16": "fp16", "fp8": "fp8", "nvfp4": "fp4"}  # whose peak counts


@dataclass(frozen=True, kw_only=True)
class Cluster(JsonRecord):
    """`node` accelerators share the fast link; each has `outer_rate` bytes/s into the network.

    `usd_per_gpu_hour` is None where no price is known; `pue` (power of the hall over power of its machines) and
    `gco2_per_kwh` are None where nobody said them.
    """

    name: str
    accelerator: Accelerator
    node: int
    inner_rate: float
    outer_rate: float
    usd_per_gpu_hour: float | None = None
    price_source: str | None = None
    pue: float | None = None
    gco2_per_kwh: float | None = None
    stack: str | None = None  # the software of a machine that one publication describes
    gpus: int | None = None  # how many accelerators it has, where it says so
    source: str = "given"

    JSON = """
        name accelerator=accelerator.name node inner_gb_s outer_gb_s memory_bytes=accelerator.capacity
        usd_per_gpu_hour price_source pue gco2_per_kwh source"""

    def __post_init__(self) -> None:
        sizes = {"node": self.node, "inner_rate": self.inner_rate, "outer_rate": self.outer_rate}
        faults = [
            Fault("not above 0", name, str(value), "give a positive number")
            for name, value in sizes.items()
            if not value > 0
        ]
        if self.usd_per_gpu_hour is not None and self.usd_per_gpu_hour < 0:
            faults.append(Fault("a price is at least 0", "usd_per_gpu_hour", str(self.usd_per_gpu_hour)))
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
        return self if listed is None else self.with_price(*listed)

    def dollars(self, gpus: int, seconds: float | None) -> float | None:
        """What `gpus` accelerators cost for this long; None without a price."""
        if self.usd_per_gpu_hour is None or seconds is None:
            return None
        return gpus * self.usd_per_gpu_hour * (seconds / 3600.0)

    def peak(self, precision: str) -> float:
        """FLOP/s that MFU is measured against: the peak of the precision the products run in."""
        return self.accelerator.peaks.get(UNITS.get(precision, precision)) or self.accelerator.peak

    def precision(self, name: str | None = None) -> tuple[str, list[Fault]]:
        """`bf16`, `fp16`, `fp8` or `nvfp4` for what a user wrote, and what is wrong with it on this accelerator;
        without a name its 16-bit format, bf16 where it has both."""
        peaks = self.accelerator.peaks
        usual = "bf16" if "bf16" in peaks else "fp16"
        if name is None:
            return usual, []
        precision = PRECISIONS.get(name.lower())
        if precision is None:
            return usual, [Fault("unknown precision", "precision", name, f"use one of {', '.join(PRECISIONS)}")]
        if UNITS[precision] in peaks:
            return precision, []
        able = [word for word, unit in UNITS.items() if unit in peaks]
        message = f"{self.accelerator.name} has no {precision} matrix units"
        return precision, [Fault(message, "precision", name, f"use {' or '.join(able)}")]

    def precision_notes(self, precision: str) -> tuple[Finding, ...]:
        """What a reader must know of times at this precision."""
        if precision != "nvfp4":
            return ()
        message = "the gain of nvfp4 over fp8 is that of a few published pairs of steps (1.07 to 1.56 times as fast)"
        return (info("four-bit", message, remedy="give runs of your own: --measured runs.csv"),)

    @property
    def inner_gb_s(self) -> float:
        return self.inner_rate / 1e9

    @property
    def outer_gb_s(self) -> float:
        return self.outer_rate / 1e9


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
    rate: float | None = None
    if entry:
        chip, rate = accelerator(entry["accelerator"]), entry["outer_gb_s"] * 1e9
    elif chip_name in accelerators() and network is not None and network.between_nodes:
        chip, rate = accelerator(chip_name), network.bandwidth
    elif (called := accelerator_called(name)) is not None:
        chip = called
    else:
        raise _unknown_cluster(name)
    return Cluster(
        name=key,
        accelerator=chip,
        node=entry.get("node", chip.node),
        inner_rate=chip.inner_rate,
        outer_rate=rate or chip.outer_rate,
        stack=entry.get("stack"),
        source=entry.get("source", chip.source),
    )


def _unknown_cluster(name: str) -> InputError:
    """The nearest names: with the network it names, of accelerators before it, else of clusters and accelerators."""
    chip, _, link = plain_name(name).rpartition("-")
    choices = [*named_clusters(), *accelerators()]
    if not get_close_matches(plain_name(name), choices, n=1, cutoff=0.4):
        choices = [*{one.name: one for one in accelerators().values() if one.peak > MODERN}]
    otherwise = "; or write an accelerator and a network (h100-ib400), or a .toml that describes a cluster"
    if chip and link in links():
        near = get_close_matches(chip, list(accelerators()), n=3, cutoff=0.0)
        choices = [f"{one}-{link}" for one in near]
    elif chip in accelerators():
        networks = [one.name for one in links().values() if one.between_nodes]
        choices = [f"{chip}-{one}" for one in get_close_matches(link, networks, n=3, cutoff=0.0)]
    return unknown_name("cluster", name, choices, otherwise=otherwise)


ClusterLike = str | Path | Mapping[str, Any] | Cluster


def read_cluster(cluster: ClusterLike) -> Cluster:
    """The cluster of a preset's name (`h100-ib400`, `selene`, `a100`), of a .toml that describes one, or of a mapping:
    accelerator (a name, or a table of its figures), node, outer and inner (bandwidths per accelerator), memory,
    usd_per_gpu_hour, pue and gco2_per_kwh."""
    if isinstance(cluster, Cluster):
        return cluster
    if isinstance(cluster, Path) or (isinstance(cluster, str) and cluster.endswith(".toml")):
        return _cluster_of(read_machine_file(cluster))
    if isinstance(cluster, str):
        return cluster_preset(cluster)
    hint = "give a preset's name, a .toml, or a mapping with its accelerator"
    try:
        keys = list(cluster)
        chip = next((cluster[key] for key in keys if ALIASES.get(key, key) == "accelerator"), None)
    except (TypeError, KeyError, IndexError):
        raise InputError(Fault("not a cluster", "cluster", repr(cluster), hint)) from None
    if any(key.endswith("_tflops") for key in keys):  # the figures of an accelerator alone
        return _cluster_of(describe_machine({"accelerator": cluster}))
    if not isinstance(chip, str) or chip.endswith(".toml"):
        return _cluster_of(describe_machine(cluster))
    usual = cluster_preset(chip)
    base = Machine(
        name=usual.name, accelerator=usual.accelerator, node=usual.node, inner_rate=usual.inner_rate,
        outer_rate=usual.outer_rate,
    )  # fmt: skip
    return _cluster_of(describe_machine(cluster, base=base), source=usual.source)


def _cluster_of(machine: Machine, *, source: str | None = None) -> Cluster:
    """A described machine as a cluster, at its price where it has one."""
    cluster = Cluster(
        name=machine.name or machine.accelerator.name, accelerator=machine.accelerator, node=machine.node,
        inner_rate=machine.inner_rate, outer_rate=machine.outer_rate, pue=machine.pue,
        gco2_per_kwh=machine.gco2_per_kwh, gpus=machine.gpus, source=source or machine.accelerator.source,
    )  # fmt: skip
    price = machine.usd_per_gpu_hour
    return cluster if price is None else cluster.with_price(price)
