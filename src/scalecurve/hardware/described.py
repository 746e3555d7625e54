"""Machines that users describe: an accelerator, or a cluster of them, as a mapping or a .toml in one schema."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.hardware.accelerators import GIB, Accelerator, accelerator, describe_accelerator
from scalecurve.hardware.networks import LinkPreset, links
from scalecurve.units import parse_bandwidth, parse_seconds

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
    try:
        content = tomllib.loads(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise FormatError(Fault("cannot read the description of a machine", str(path), str(problem))) from None
    keys = {ALIASES.get(key, key) for key in content}
    if "accelerator" not in keys:
        content = {"accelerator": {"name": place.stem} | content}
    return describe_machine({"name": place.stem} | content, subject=str(path))


def describe_machine(content: Mapping[str, Any], *, subject: str = "cluster", base: Machine | None = None) -> Machine:
    """The machine of a mapping by `FIELDS` and their aliases; `base` holds what it does not say.  A number below a
    million is GB or GB/s; a rate may also be text (400Gb/s) or a link's name (ib400)."""
    values = {ALIASES.get(key, key): value for key, value in content.items() if value is not None}
    faults = [
        Fault("unknown field of a cluster", key, remedy=f"known: {', '.join(FIELDS)}")
        for key in values
        if key not in FIELDS
    ]
    if "accelerator" not in values and base is None:
        faults.append(Fault("missing", "accelerator", remedy=HOW))
    if faults:
        raise InputError(faults, subject=subject)
    chip = base.accelerator if base else _accelerator_of(values["accelerator"], subject)
    start = base or Machine(
        name=None, accelerator=chip, node=chip.node, inner_rate=chip.inner_rate, outer_rate=chip.outer_rate
    )
    if "memory" in values:
        size = _number(values, "memory", faults)
        chip = replace(chip, capacity=size * (GIB if size < BARE else 1.0))
    rates = {side: _rate(values, side, faults) for side in ("inner", "outer")}
    numbers = {
        key: _number(values, key, faults) for key in ("usd_per_gpu_hour", "pue", "gco2_per_kwh") if key in values
    }
    waits = {key: _seconds(values, key, faults) for key in ("inner_latency", "outer_latency") if key in values}
    node = _number(values, "node", faults) if "node" in values else float(start.node)
    if not node.is_integer() or node < 1:
        faults.append(Fault("must be a whole number above 0", "node", str(values["node"])))
    if numbers.get("pue", 1.0) < 1.0:
        faults.append(Fault("power usage effectiveness is at least 1", "pue", str(values["pue"])))
    if faults:
        raise InputError(faults, subject=subject)
    return replace(
        start, name=str(values["name"]) if "name" in values else start.name, accelerator=chip, node=int(node),
        inner_rate=rates["inner"] or start.inner_rate, outer_rate=rates["outer"] or start.outer_rate, **numbers,
        **waits,
    )  # fmt: skip


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
        faults.append(Fault("must be above 0", side, str(value)))
    return number * (1e9 if number < BARE else 1.0)
