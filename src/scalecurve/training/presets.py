"""Models, accelerators, clusters and stacks by name, read from the data files beside this module."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.training.cluster import Accelerator, Cluster
from scalecurve.training.stack import Stack
from scalecurve.training.transformer import Transformer


def data_text(name: str) -> str:
    return files("scalecurve.training").joinpath("data", name).read_text(encoding="utf-8")


def plain(name: str) -> str:
    """Names are compared without case, and with _ and space as -."""
    return name.strip().lower().replace("_", "-").replace(" ", "-")


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """An unknown name, with the nearest known ones."""
    names = sorted(known)
    near = get_close_matches(plain(name), names, n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(names)}"
    return InputError(Fault(f"unknown {kind}", seen=name, remedy=hint))


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


def _number(text: str, factor: float) -> float | None:
    return float(text) * factor if text else None


def _accelerator(row: dict[str, str]) -> Accelerator:
    return Accelerator(
        name=row["name"],
        peak=float(row["bf16_tflops"]) * 1e12,
        fp8_peak=_number(row["fp8_tflops"], 1e12),
        capacity=float(row["memory_gb"]) * 1e9,
        memory_rate=float(row["memory_tb_s"]) * 1e12,
        cores=int(row["cores"]),
        node=int(row["node"]),
        inner_rate=float(row["inner_gb_s"]) * 1e9,
        outer_rate=float(row["outer_gb_s"]) * 1e9,
        ceiling=_number(row["ceiling"], 1.0),
        watts=_number(row["watts"], 1.0),
        host=float(row["host"]),
        source=row["source"],
    )


@cache
def accelerators() -> Mapping[str, Accelerator]:
    """Every accelerator under its name and its aliases."""
    found: dict[str, Accelerator] = {}
    for row in csv.DictReader(data_text("accelerators.csv").splitlines()):
        chip = _accelerator(row)
        found |= dict.fromkeys([row["name"], *row["aliases"].split()], chip)
    return found


def accelerator(name: str) -> Accelerator:
    key = plain(name).removeprefix("nvidia-").removeprefix("amd-")
    found = accelerators().get(key)
    if found is None:
        raise unknown("accelerator", name, accelerators())
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
    return tomllib.loads(data_text("networks.toml"))


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
    """Bytes/s per accelerator by the network's name: ib and roce with the Gb/s of one accelerator's port."""
    speeds = (25, 50, 100, 200, 400, 800)
    return {f"{kind}{speed}": speed / 8 * 1e9 for kind in ("ib", "roce", "eth", "efa") for speed in speeds}


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
