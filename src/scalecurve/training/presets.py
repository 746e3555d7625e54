"""Models, accelerators, clusters and stacks by name, read from the data files beside this module."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from scalecurve.hardware.accelerators import Accelerator, accelerator, accelerators, hardware_table
from scalecurve.hardware.accelerators import plain_name as plain
from scalecurve.hardware.accelerators import unknown_name as unknown
from scalecurve.hardware.networks import links
from scalecurve.training.cluster import Cluster
from scalecurve.training.stack import Stack
from scalecurve.training.transformer import Transformer


def data_text(name: str) -> str:
    return files("scalecurve.training").joinpath("data", name).read_text(encoding="utf-8")


@cache
def models() -> Mapping[str, Transformer]:
    entries = tomllib.loads(data_text("models.toml"))
    return {name: Transformer(name=name, **sizes) for name, sizes in entries.items()}


def model(name: str) -> Transformer:
    key = plain(name).replace("llama-", "llama").replace("llama3.1", "llama3").replace("llama3-1", "llama3")
    found = models().get(key)
    if found is None:
        raise unknown("model", name, models())
    return found


@cache
def stacks() -> Mapping[str, Stack]:
    """Every stack under its name and its aliases."""
    found: dict[str, Stack] = {}
    for name, entry in tomllib.loads(data_text("stacks.toml")).items():
        settings = entry | {"aliases": tuple(entry.get("aliases", ())), "constants": tuple(entry["constants"])}
        stack = Stack(name=name, **settings)
        found |= dict.fromkeys([name, *stack.aliases], stack)
    return found


def stack(name: str) -> Stack:
    found = stacks().get(plain(name))
    if found is None:
        raise unknown("stack", name, stacks())
    return found


@cache
def networks() -> Mapping[str, dict[str, Any]]:
    return tomllib.loads(hardware_table("clusters.toml"))


def cluster(name: str) -> Cluster:
    """`h100-ib400`: an accelerator and the network of each; `h100` alone takes the usual network of its servers."""
    key = plain(name)
    if key in networks():
        return _named_cluster(key)
    chip_name, _, network = key.rpartition("-")
    if chip_name in accelerators() and network in link_rates():
        return of_accelerator(accelerator(chip_name), name=key, outer_rate=link_rates()[network])
    if key.removeprefix("nvidia-").removeprefix("amd-") in accelerators():
        return of_accelerator(accelerator(key), name=key)
    known = [*networks(), *accelerators(), *(f"{chip}-{link}" for chip in accelerators() for link in link_rates())]
    raise unknown("cluster", name, known)


def link_rates() -> dict[str, float]:
    """Bytes/s per accelerator by the network's name."""
    return {name: link.bandwidth for name, link in links().items() if link.between_nodes}


def _named_cluster(key: str) -> Cluster:
    entry = networks()[key]
    chip = accelerator(entry["accelerator"])
    rate = entry.get("outer_gb_s")
    return of_accelerator(
        chip, name=key, outer_rate=rate * 1e9 if rate else None, node=entry.get("node"), source=entry["source"]
    )


def of_accelerator(
    chip: Accelerator,
    *,
    name: str | None = None,
    outer_rate: float | None = None,
    node: int | None = None,
    source: str | None = None,
) -> Cluster:
    return Cluster(
        name=name or chip.name,
        accelerator=chip,
        node=node or chip.node,
        inner_rate=chip.inner_rate,
        outer_rate=outer_rate or chip.outer_rate,
        source=source or chip.source,
    )
