"""Networks by name (dated presets, not constants of nature), and clusters that users describe as a mapping or .toml.

`data/links.csv` holds them.  Latencies of NVLink and InfiniBand are the per-hop figures of NCCL's own tuner
(src/graph/tuning.cc, commit b6475625: ring LL / LL128 / Simple), whose protocols reach about 50, 95 and 100 % of the
link.  Bandwidths are one direction of the vendor's stated rate.  Measure your own with `scalecurve collective measure`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.errors import Fault, InputError
from scalecurve.files import read_toml
from scalecurve.hardware.accelerators import GIB, Accelerator, accelerator, describe_accelerator, hardware_table
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


FIELDS = (
    "name", "accelerator", "node", "inner", "outer", "inner_latency", "outer_latency", "memory", "gpus",
    "usd_per_gpu_hour", "pue", "gco2_per_kwh",
)  # fmt: skip
ALIASES = {
    "num_gpus": "gpus", "count": "gpus", "gpu_type": "accelerator", "internode": "outer", "intranode": "inner",
    "gpu": "accelerator", "chip": "accelerator", "hardware": "accelerator", "gpus_per_node": "node",
    "node_size": "node", "inter_node": "outer", "outer_rate": "outer", "network": "outer", "bandwidth": "outer",
    "outer_gb_s": "outer", "intra_node": "inner", "inner_rate": "inner", "nvlink": "inner", "inner_gb_s": "inner",
    "price": "usd_per_gpu_hour", "preset": "accelerator", "memory_gb": "memory",
}  # fmt: skip
BARE = 1e6  # a number below it is GB or GB/s, one from it bytes or bytes/s
HOW = "accelerator is a name (h100) or a table with bf16_tflops, memory_gb, memory_tb_s, node, inner_gb_s, outer_gb_s"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A described cluster: `node` accelerators share the fast link; rates in bytes/s of one accelerator and direction,
    latencies in seconds.  None was not described."""

    name: str | None
    accelerator: Accelerator
    node: int
    inner_rate: float
    outer_rate: float
    inner_latency: float | None = None
    outer_latency: float | None = None
    usd_per_gpu_hour: float | None = None
    pue: float | None = None
    gco2_per_kwh: float | None = None
    gpus: int | None = None  # of the whole cluster

    def links(self) -> tuple[LinkPreset, LinkPreset]:
        """The link inside a node and the one between nodes; latencies as NVLink's and InfiniBand's where not given."""
        near, far = links()["nvlink"], links()["ib400"]
        inside = (self.inner_latency,) if self.inner_latency else near.latencies
        between = (self.outer_latency,) if self.outer_latency else far.latencies
        source = f"described as {self.name or self.accelerator.name}"
        return (
            replace(
                near, name="inside", bandwidth=self.inner_rate, latencies=inside, per_node=self.node, source=source
            ),
            replace(far, name="between", bandwidth=self.outer_rate, latencies=between, source=source),
        )


def read_machine_file(path: str | Path) -> Machine:
    """The machine of a .toml: fields of a cluster with an [accelerator] table, or those of an accelerator alone."""
    place = Path(path)
    content = read_toml(place, hint="give a preset's name, or a file as docs/guide/adding-an-accelerator.md shows")
    keys = {ALIASES.get(key, key) for key in content}
    if "accelerator" not in keys:
        content = {"accelerator": {"name": place.stem} | content}
    return describe_machine({"name": place.stem} | content, subject=str(path))


def describe_machine(content: Mapping[str, Any], *, subject: str = "cluster", base: Machine | None = None) -> Machine:
    """The machine of a mapping by `FIELDS` and their aliases; `base` holds what it does not say.  A number below a
    million is GB or GB/s; a rate may also be text (400Gb/s) or a link's name (ib400)."""
    values = _known_fields(content, subject, complete=base is None)
    faults: list[Fault] = []
    chip = base.accelerator if base else _accelerator_of(_with_links(values, faults), subject)
    start = base or Machine(
        name=None, accelerator=chip, node=chip.node, inner_rate=chip.inner_rate, outer_rate=chip.outer_rate
    )
    if "memory" in values:
        held = _number(values, "memory", faults)
        chip = replace(chip, capacity=held * (GIB if held < BARE else 1.0))
    rates = {side: _rate(values, side, faults) for side in ("inner", "outer")}
    numbers = {
        key: _number(values, key, faults)
        for key in ("usd_per_gpu_hour", "pue", "gco2_per_kwh", "gpus")
        if key in values
    }
    waits = {key: _seconds(values, key, faults) for key in ("inner_latency", "outer_latency") if key in values}
    node = _number(values, "node", faults) if "node" in values else float(start.node)
    if not node.is_integer() or node < 1:
        faults.append(Fault("must be a whole number above 0", "node", str(values["node"])))
    size = numbers.pop("gpus", None)
    if size is not None and (not size.is_integer() or size < 1):
        faults.append(Fault("must be a whole number above 0", "gpus", str(values["gpus"])))
    if numbers.get("pue", 1.0) < 1.0:
        faults.append(Fault("power usage effectiveness is at least 1", "pue", str(values["pue"])))
    if faults:
        raise InputError(faults, subject=subject)
    return replace(
        start, name=str(values["name"]) if "name" in values else start.name, accelerator=chip, node=int(node),
        inner_rate=rates["inner"] or start.inner_rate, outer_rate=rates["outer"] or start.outer_rate,
        gpus=start.gpus if size is None else int(size), **numbers, **waits,
    )  # fmt: skip


def _known_fields(content: Mapping[str, Any], subject: str, *, complete: bool) -> dict[str, Any]:
    """The fields by their own names; unknown ones are refused, and a description without its accelerator."""
    values = {ALIASES.get(key, key): value for key, value in content.items() if value is not None}
    hint = f"known: {', '.join(FIELDS)}"
    faults = [Fault("unknown field of a cluster", key, remedy=hint) for key in values if key not in FIELDS]
    if complete and "accelerator" not in values:
        faults.append(Fault("missing", "accelerator", remedy=HOW))
    if faults:
        raise InputError(faults, subject=subject)
    return values


def _with_links(values: Mapping[str, Any], faults: list[Fault]) -> Any:
    """The accelerator as written; a table takes node, inner and outer from the cluster where it has none itself."""
    chip = values["accelerator"]
    if not isinstance(chip, Mapping):
        return chip
    sides = {f"{side}_gb_s": _rate(values, side, faults) for side in ("inner", "outer")}
    around = {name: rate / 1e9 for name, rate in sides.items() if rate}
    if "node" in values:
        around["node"] = values["node"]
    return around | {key: value for key, value in chip.items() if value is not None}


def _accelerator_of(value: Any, subject: str) -> Accelerator:
    """A catalogue's accelerator, a file's, or the one a table describes."""
    if isinstance(value, Accelerator):
        return value
    if isinstance(value, Mapping):
        return describe_accelerator(value, subject=f"{subject}, accelerator")
    if not isinstance(value, str):
        raise InputError(Fault("not an accelerator", "accelerator", repr(value), HOW), subject=subject)
    return accelerator(value)


def _number(values: Mapping[str, Any], key: str, faults: list[Fault]) -> float:
    """A number from 0; what is none becomes a fault and 1."""
    try:
        number = float(values[key])
    except (TypeError, ValueError):
        number = -1.0
    if not 0.0 <= number < float("inf") or (number == 0.0 and key in ("node", "memory", "pue")):
        faults.append(Fault("must be a number above 0", key, str(values[key])))
        return 1.0
    return number


def _seconds(values: Mapping[str, Any], key: str, faults: list[Fault]) -> float:
    value = values[key]
    try:
        return parse_seconds(value) if isinstance(value, str) else float(value)
    except (InputError, TypeError, ValueError):
        faults.append(Fault("not a time", key, str(value), "write 2us"))
        return 1.0


def _rate(values: Mapping[str, Any], side: str, faults: list[Fault]) -> float | None:
    """Bytes/s of a link by name, of text with a unit, or of a number in GB/s."""
    value = values.get(side)
    if value is None:
        return None
    if isinstance(value, str):
        named = links().get(value.strip().lower())
        try:
            return named.bandwidth if named else parse_bandwidth(value)
        except (InputError, ValueError):
            faults.append(Fault("not a rate", side, value, "write 400Gb/s, 50 (GB/s) or a link such as ib400"))
            return None
    number = _number(values, side, faults)
    if number == 0.0:
        faults.append(Fault("not above 0", side, str(value), "give a rate such as 400Gb/s"))
    return number * (1e9 if number < BARE else 1.0)
