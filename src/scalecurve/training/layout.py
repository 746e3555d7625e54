"""How a job is split: the degrees of each kind of parallelism and the choices beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.training.arrays import as_array
from scalecurve.training.grid import Grid, Recompute, TensorTraffic, place
from scalecurve.training.transformer import Transformer

RECOMPUTE = {"none": Recompute.NONE, "selective": Recompute.SELECTIVE, "full": Recompute.FULL}
_ALIASES = {
    "tensor": "tp", "pipeline": "pp", "data": "dp", "context": "cp", "expert": "ep", "micro_batch": "micro",
    "microbatch": "micro", "mbs": "micro", "micro_batch_size": "micro", "vpp": "interleave", "vp": "interleave",
    "v": "interleave", "virtual_pipeline": "interleave", "sp": "sequence_parallel", "ga": "accumulation",
    "gas": "accumulation", "accum": "accumulation", "grad_accum": "accumulation", "zero_stage": "zero",
    "activation_checkpointing": "recompute", "shard_group": "shard",
    "tensor_parallel": "tp", "pipeline_parallel": "pp", "data_parallel": "dp", "context_parallel": "cp",
    "expert_parallel": "ep", "fsdp": "dp",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Degrees and choices.  `shard` None splits ZeRO's states over all of dp; `data_overlap` and `tensor_overlap` None
    follow the stack."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int = 1
    micro: int = 1
    accumulation: int = 1
    interleave: int = 1
    zero: int = 0
    recompute: str = "none"
    sequence_parallel: bool = False
    shard: int | None = None
    data_overlap: bool | None = None
    tensor_overlap: float | None = None

    def __post_init__(self) -> None:
        faults = [
            Fault("must be a whole number above 0", name, str(getattr(self, name)))
            for name in ("tp", "pp", "dp", "cp", "ep", "micro", "accumulation", "interleave")
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1
        ]
        if self.zero not in (0, 1, 2, 3):
            faults.append(Fault("ZeRO stages are 0 to 3", "zero", str(self.zero)))
        if self.recompute not in RECOMPUTE:
            faults.append(Fault("unknown recomputation", "recompute", self.recompute, "use none, selective or full"))
        if self.shard is not None and (self.shard < 1 or self.dp % self.shard):
            faults.append(Fault("the sharding group must divide dp", "shard", f"{self.shard} of {self.dp}"))
        if faults:
            raise InputError(faults, subject="layout")

    @property
    def gpus(self) -> int:
        return self.tp * self.pp * self.dp * self.cp

    @property
    def sequences(self) -> int:
        return self.dp * self.micro * self.accumulation

    def to_dict(self) -> dict[str, Any]:
        named = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return named | {"micro_batch": self.micro}

    def short(self) -> str:
        """`tp8 pp4 dp16 micro 1 x 32 zero1 full`: what differs from the plainest layout."""
        degrees = [f"{name}{getattr(self, name)}" for name in ("tp", "pp", "dp", "cp", "ep") if getattr(self, name) > 1]
        chunks = [f"v{self.interleave}"] if self.interleave > 1 else []
        zero = [f"zero{self.zero}" + (f"/{self.shard}" if self.shard else "")] if self.zero else []
        words = [*(degrees or ["dp1"]), *chunks, f"micro {self.micro}x{self.accumulation}", *zero]
        words += ["sp"] if self.sequence_parallel else []
        return " ".join(words if self.recompute == "none" else [*words, self.recompute])


def read_layout(given: Layout | str | Mapping[str, Any]) -> dict[str, Any]:
    """Fields as a user names them: a Layout, `tp=8,pp=12,micro=1`, or a mapping with the usual aliases."""
    if isinstance(given, Layout):
        return {entry.name: getattr(given, entry.name) for entry in fields(given)}
    if not isinstance(given, (str, Mapping)):
        raise InputError(Fault("not a layout", "layout", repr(given), "write tp=8,pp=4,micro=1"))
    items = _split(given) if isinstance(given, str) else list(given.items())
    known = {entry.name for entry in fields(Layout)}
    named = _plain_names(items)
    strange = [name for name in named if name not in known]
    if strange:
        hint = f"known: {', '.join(sorted(known))}"
        raise InputError([Fault("unknown layout field", name, remedy=hint) for name in strange], subject="layout")
    present = {name: value for name, value in named.items() if value is not None}
    return {name: _value(name, value) for name, value in present.items()}


def _plain_names(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """Aliases resolved; a field named twice (also by its alias) is refused, since one of the two would be lost."""
    names = [_ALIASES.get(key.strip().lower(), key.strip().lower()) for key, _ in items]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError([Fault("layout field given twice", name) for name in twice], subject="layout")
    return {name: value for name, (_, value) in zip(names, items, strict=True)}


def _split(text: str) -> list[tuple[str, str]]:
    parts = [part for part in re.split(r"[,\s]+", text.strip()) if part]
    wrong = [part for part in parts if "=" not in part]
    if wrong:
        raise InputError([Fault("not a layout field", seen=part, remedy="write tp=8,pp=4,micro=1") for part in wrong])
    return [(name, value) for name, _, value in (part.partition("=") for part in parts)]


_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _value(name: str, value: Any) -> Any:
    text = str(value).strip().lower()
    if name in ("sequence_parallel", "data_overlap"):
        return _truth(name, text)
    if name == "recompute":
        return {"false": "none", "0": "none", "off": "none", "true": "full", "attn": "selective"}.get(text, text)
    try:
        number = float(text)
    except ValueError:
        raise InputError(Fault("not a number", name, text), subject="layout") from None
    return _share(name, number) if name == "tensor_overlap" else _whole(name, number, text)


def _truth(name: str, text: str) -> bool:
    if text not in _TRUTH:
        raise InputError(Fault("neither true nor false", name, text, "write true or false"), subject="layout")
    return _TRUTH[text]


def _whole(name: str, number: float, text: str) -> int:
    if not number.is_integer():  # infinities and NaN are not integers either
        raise InputError(Fault("must be a whole number", name, text), subject="layout")
    return int(number)


def _share(name: str, number: float) -> float:
    if not 0.0 <= number <= 1.0:
        raise InputError(Fault("a share lies between 0 and 1", name, f"{number:g}"), subject="layout")
    return number


def layout_faults(layout: Layout, model: Transformer) -> list[Fault]:
    """What this model cannot be split by."""
    checks = [
        (model.heads % layout.tp, "heads are not divisible by tp", "tp", f"{model.heads} heads, tp {layout.tp}"),
        (model.hidden % layout.tp, "hidden is not divisible by tp", "tp", f"hidden {model.hidden}, tp {layout.tp}"),
        (layout.pp > model.layers, "more pipeline stages than layers", "pp", f"{model.layers} layers, pp {layout.pp}"),
        (layout.ep > 1 and not model.is_moe, "expert parallelism on a dense model", "ep", str(layout.ep)),
        (model.is_moe and (model.experts or 1) % layout.ep, "experts are not divisible by ep", "ep", str(layout.ep)),
        (
            layout.tp * layout.cp * layout.dp % layout.ep,
            "ep does not divide the accelerators of a stage (tp x cp x dp)",
            "ep",
            f"ep {layout.ep}, {layout.tp * layout.cp * layout.dp} accelerators a stage",
        ),
        (
            layout.interleave > 1 and layout.pp == 1,
            "interleaving needs pp above 1",
            "interleave",
            str(layout.interleave),
        ),
        (layout.interleave * layout.pp > model.layers, "more chunks than layers", "interleave", str(layout.interleave)),
    ]
    faults = [Fault(message, where, seen) for wrong, message, where, seen in checks if wrong]
    return faults + _pipeline_faults(layout, model)


def _pipeline_faults(layout: Layout, model: Transformer) -> list[Fault]:
    """Stages of unequal depth are evaluated only where one layer's place at either end evens them out (126 layers in
    128 places, DeepSeek-V3's 61 in 64); anything else is a mistake in the layout."""
    if layout.pp == 1:
        return []
    if _uneven(model.layers, layout.pp):
        near = [pp for pp in range(1, model.layers + 1) if model.layers % pp == 0]
        hint = f"pipeline degrees that divide it: {', '.join(map(str, near[:12]))}"
        return [Fault("layers are not divisible by pp", "pp", f"{model.layers} layers, pp {layout.pp}", hint)]
    if _uneven(model.layers, layout.pp * layout.interleave):
        depth = -(-model.layers // layout.pp)
        hint = f"interleave by {', '.join(str(v) for v in range(1, depth + 1) if depth % v == 0)}"
        seen = f"{depth} layers a stage, interleave {layout.interleave}"
        return [Fault("layers per stage are not divisible by interleave", "interleave", seen, hint)]
    return []


def _uneven(layers: int, places: int) -> bool:
    return -layers % places > max(3, places // 16)


def grid_of(layout: Layout, node: int, *, data_overlap: bool, tensor_overlap: float) -> Grid:
    """One configuration as the physics takes it."""
    numbers = {
        name: as_array(getattr(layout, name))
        for name in ("tp", "pp", "dp", "cp", "ep", "interleave", "micro", "accumulation", "zero")
    }
    overlap = data_overlap if layout.data_overlap is None else layout.data_overlap
    hidden = tensor_overlap if layout.tensor_overlap is None else layout.tensor_overlap
    traffic = TensorTraffic.SEQUENCE if layout.sequence_parallel else TensorTraffic.ALL_REDUCE
    return Grid(
        **numbers,
        shard=as_array(layout.shard or layout.dp),
        recompute=as_array(RECOMPUTE[layout.recompute]),
        traffic=as_array(traffic),
        regather=as_array(1.0),
        data_overlap=as_array(overlap),
        tensor_overlap=as_array(hidden),
        **place(numbers["tp"], numbers["cp"], numbers["dp"], numbers["pp"], numbers["ep"], float(node)),
    )


def stack_grids(grids: list[Grid]) -> Grid:
    """One Grid whose entries are columns, a row per given configuration."""
    names = [entry.name for entry in fields(Grid)]
    return Grid(**{name: np.array([float(getattr(grid, name)) for grid in grids]) for name in names})
