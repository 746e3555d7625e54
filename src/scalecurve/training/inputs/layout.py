"""How a job is split: one Layout as a user writes it, and a Grid of many as arrays that broadcast."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.training.inputs.transformer import Array, Transformer, as_array


class Recompute(IntEnum):
    NONE = 0
    SELECTIVE = 1
    FULL = 2
    OFFLOAD = 3  # as selective, and what is kept waits on the host but for two layers


class Schedule(IntEnum):
    ONE_F_ONE_B = 0  # one forward, one backward (Narayanan et al. 2021); interleaved where a stage has several chunks
    ZERO_BUBBLE = 1  # ZB-H1 of Qi et al. 2023: gradients by weight fill the bubble, memory as 1F1B
    DUALPIPE = 2  # DeepSeek-V3, section 3.2.1: from both ends, expert traffic under compute, weights held twice


SCHEDULES = {"1f1b": Schedule.ONE_F_ONE_B, "zero-bubble": Schedule.ZERO_BUBBLE, "dualpipe": Schedule.DUALPIPE}
_SCHEDULE_ALIASES = {"zb": "zero-bubble", "zb-h1": "zero-bubble", "zbh1": "zero-bubble", "zero_bubble": "zero-bubble",
                     "zerobubble": "zero-bubble", "interleaved": "1f1b", "interleaved-1f1b": "1f1b"}  # fmt: skip
RECOMPUTE = {mode.name.lower(): mode for mode in Recompute}
_ALIASES = {
    "tensor": "tp", "pipeline": "pp", "data": "dp", "context": "cp", "expert": "ep", "micro_batch": "micro",
    "microbatch": "micro", "mbs": "micro", "micro_batch_size": "micro", "vpp": "interleave", "vp": "interleave",
    "v": "interleave", "virtual_pipeline": "interleave", "sp": "sequence_parallel", "ga": "accumulation",
    "gas": "accumulation", "accum": "accumulation", "grad_accum": "accumulation", "zero_stage": "zero",
    "activation_checkpointing": "recompute", "shard_group": "shard", "pipeline_schedule": "schedule",
    "tensor_parallel": "tp", "pipeline_parallel": "pp", "data_parallel": "dp", "context_parallel": "cp",
    "expert_parallel": "ep", "fsdp": "dp",
}  # fmt: skip
_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
_RECOMPUTE_ALIASES = {"false": "none", "0": "none", "off": "none", "true": "full", "attn": "selective"}


NOT_PRINTED = {"zero": 0, "sequence_parallel": False, "schedule": "1f1b", "recompute": "none"}  # by Layout.short
ENDS = 2  # chunks that hold only the embedding or the output layer: 126 layers in 128 places


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Degrees and choices.  `etp` splits each expert over tensor ranks.  `shard` None splits ZeRO's states over all of
    dp; `data_overlap` and `tensor_overlap` None follow the stack."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int = 1
    etp: int = 1
    micro: int = 1
    accumulation: int = 1
    interleave: int = 1
    schedule: str = "1f1b"
    zero: int = 0
    recompute: str = "none"
    sequence_parallel: bool = False
    shard: int | None = None
    data_overlap: bool | None = None
    tensor_overlap: float | None = None

    def __post_init__(self) -> None:
        faults = [
            Fault("must be a whole number above 0", name, str(getattr(self, name)))
            for name in ("tp", "pp", "dp", "cp", "ep", "etp", "micro", "accumulation", "interleave")
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1
        ]
        if self.zero not in (0, 1, 2, 3):
            faults.append(Fault("ZeRO stages are 0 to 3", "zero", str(self.zero)))
        if self.recompute not in RECOMPUTE:
            faults.append(
                Fault("unknown recomputation", "recompute", self.recompute, "use none, selective, full or offload")
            )
        if self.schedule not in SCHEDULES:
            hint = f"use {', '.join(SCHEDULES)}"
            faults.append(Fault("unknown pipeline schedule", "schedule", self.schedule, hint))
        elif self.schedule != "1f1b" and (self.pp < 2 or self.interleave > 1):
            value = f"pp {self.pp}, interleave {self.interleave}"
            faults.append(Fault(f"{self.schedule} needs pp above 1 and no interleaving", "schedule", value))
        elif self.schedule == "dualpipe" and self.pp % 2:
            faults.append(Fault("dualpipe needs an even number of stages", "pp", str(self.pp)))
        if self.shard is not None and (self.shard < 1 or self.dp % self.shard):
            faults.append(Fault("the sharding group must divide dp", "shard", f"{self.shard} of {self.dp}"))
        if faults:
            raise InputError(faults, subject="layout")

    @property
    def gpus(self) -> int:
        return self.tp * self.pp * self.dp * self.cp

    @property
    def sequences(self) -> int:
        """The global batch in sequences."""
        return self.dp * self.micro * self.accumulation

    def to_dict(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)} | {"micro_batch": self.micro}

    def short(self) -> str:
        """`tp8 pp4 dp16 micro 1x32 zero1 full`: what differs from the plainest layout."""
        degrees = [f"{name}{getattr(self, name)}" for name in ("tp", "pp", "dp", "cp", "ep", "etp")
                   if getattr(self, name) > 1]  # fmt: skip
        chunks = [f"v{self.interleave}"] if self.interleave > 1 else []
        chunks += [self.schedule] if self.schedule != "1f1b" else []
        zero = [f"zero{self.zero}" + (f"/{self.shard}" if self.shard else "")] if self.zero else []
        words = [*(degrees or ["dp1"]), *chunks, f"micro {self.micro}x{self.accumulation}", *zero]
        words += ["sp"] if self.sequence_parallel else []
        return " ".join(words if self.recompute == "none" else [*words, self.recompute])


HOW = "write tp=8,pp=4,micro=1 or tp8 pp4 micro 1x32"
LayoutLike = str | Mapping[str, Any] | Layout


def read_layout(layout: LayoutLike) -> dict[str, Any]:
    """The fields a user names: of a Layout, of `tp=8,pp=12,micro=1`, of `tp8 pp12 micro 1x32` as a plan prints it, or
    of a mapping with the usual aliases.  What a plan does not print is off, whatever the habits of the stack."""
    if isinstance(layout, Layout):
        return {entry.name: getattr(layout, entry.name) for entry in fields(layout)}
    if not isinstance(layout, (str, Mapping)):
        raise InputError(Fault("not a layout", "layout", repr(layout), HOW))
    items = _written_fields(layout) if isinstance(layout, str) else list(layout.items())
    names = [_field(key) for key, _ in items]
    allowed = sorted(entry.name for entry in fields(Layout))
    twice = sorted({name for name in names if names.count(name) > 1})
    faults = [Fault("layout field given twice", name) for name in twice]
    hint = f"known: {', '.join(allowed)}"
    faults += [Fault("unknown layout field", name, remedy=hint) for name in names if name not in allowed]
    if faults:
        raise InputError(faults, subject="layout")
    pairs = zip(names, items, strict=True)
    return {name: _layout_value(name, value) for name, (_, value) in pairs if value is not None}


def _field(name: str) -> str:
    """The field of a Layout that a name means."""
    plain = name.strip().lower()
    return _ALIASES.get(plain, plain)


def _written_fields(layout: str) -> list[tuple[str, Any]]:
    """Names and values of a layout in words."""
    parts = [_assignment(part) for part in re.split(r"[,;\s]+", _spelled_out(layout)) if part]
    faults = [Fault("not a layout field", value=part, remedy=HOW) for part in parts if "=" not in part]
    if faults:
        raise InputError(faults)
    items: list[tuple[str, Any]] = [(name, value) for name, _, value in (part.partition("=") for part in parts)]
    if re.search(r"micro \d+x\d+", layout):
        said = {_field(name) for name, _ in items}
        items += [(name, value) for name, value in NOT_PRINTED.items() if name not in said]
    return items


def _spelled_out(layout: str) -> str:
    """The pairs of `short`, micro 1x32 and zero3/8, as fields, and degrees written together (tp8pp4, TP8-PP4)."""
    pairs = re.sub(r"micro[-_ ]?(\d+) ?x ?(\d+)", r"micro=\1 accumulation=\2", layout.strip(), flags=re.I)
    pairs = re.sub(r"zero-?(\d)/(\d+)", r"zero=\1 shard=\2", pairs, flags=re.I)
    return re.sub(
        r"(?<=\d)[-_/+x.]?(?=(?:tp|pp|dp|cp|ep|etp|vpp|vp|v|mbs|ga|fsdp|zero)[-=]?\d)", " ", pairs, flags=re.I
    )


def _assignment(part: str) -> str:
    """One word of a layout as `short` writes it, as name=value; other words as they are."""
    word = part.lower()
    if match := re.fullmatch(r"(tp|pp|dp|cp|ep|etp|vpp|vp|v|zero|mbs|ga|fsdp)-?(\d+)", word):
        return f"{match[1]}={match[2]}"
    if word in RECOMPUTE:
        return f"recompute={word}"
    schedule = _SCHEDULE_ALIASES.get(word, word)
    return f"schedule={schedule}" if schedule in SCHEDULES else "sp=1" if word == "sp" else part


def _layout_value(name: str, value: Any) -> bool | str | int | float:
    """One field's value from text or number."""
    text = str(value).strip().lower()
    if name in ("sequence_parallel", "data_overlap"):
        if text not in _TRUTH:
            raise InputError(Fault("neither true nor false", name, text, "write true or false"), subject="layout")
        return _TRUTH[text]
    if name == "schedule":
        return _SCHEDULE_ALIASES.get(text, text)
    if name == "recompute":
        return _RECOMPUTE_ALIASES.get(text, text)
    try:
        number = float(text)
    except ValueError:
        raise InputError(Fault("not a number", name, text), subject="layout") from None
    if name == "tensor_overlap":
        if not 0.0 <= number <= 1.0:
            raise InputError(Fault("a share lies between 0 and 1", name, f"{number:g}"), subject="layout")
        return number
    if not number.is_integer():  # infinities and NaN are not integers either
        raise InputError(Fault("must be a whole number", name, text), subject="layout")
    return int(number)


def layout_faults(layout: Layout, model: Transformer) -> list[Fault]:
    """Why this model cannot be split this way; empty where it can."""
    ranks = layout.tp * layout.cp * layout.dp
    checks = [
        (model.heads % layout.tp, "heads are not divisible by tp", "tp", f"{model.heads} heads, tp {layout.tp}"),
        (model.hidden % layout.tp, "hidden is not divisible by tp", "tp", f"hidden {model.hidden}, tp {layout.tp}"),
        (layout.pp > model.layers, "more pipeline stages than layers", "pp", f"{model.layers} layers, pp {layout.pp}"),
        (layout.ep > 1 and not model.is_moe, "expert parallelism on a dense model", "ep", str(layout.ep)),
        (model.is_moe and (model.experts or 1) % layout.ep, "experts are not divisible by ep", "ep", str(layout.ep)),
        (ranks % layout.ep, "ep does not divide the accelerators of a stage (tp x cp x dp)", "ep",
         f"ep {layout.ep}, {ranks} accelerators a stage"),
        (layout.etp > 1 and ranks % (layout.ep * layout.etp), "ep x etp does not divide the accelerators of a stage",
         "etp", f"ep {layout.ep}, etp {layout.etp}, {ranks} accelerators a stage"),
        (layout.interleave > 1 and layout.pp == 1, "interleaving needs pp above 1", "interleave",
         str(layout.interleave)),
        (layout.interleave * layout.pp > model.layers + ENDS, "more chunks than layers", "interleave",
         str(layout.interleave)),
    ]  # fmt: skip
    return [Fault(message, where, value) for wrong, message, where, value in checks if wrong]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Configurations as broadcastable arrays: one entry, a column per row of a table, or a whole search space.

    `*_inner` is how many ranks of that group share a node; counts are whole numbers kept as floats.  `micro` is
    sequences per micro-batch and `accumulation` the micro-batches per step and replica.  `shard` is the size of the
    group that ZeRO splits states over (all of dp, or a part with hybrid sharding).
    """

    tp: Array
    pp: Array
    dp: Array
    cp: Array
    ep: Array
    etp: Array
    interleave: Array
    micro: Array
    accumulation: Array
    zero: Array
    shard: Array
    recompute: Array
    sequence_parallel: Array  # 1: the sequence is split between tensor ranks (Korthikanti et al. 2022)
    regather: Array  # 1: the gathered activation is not kept but gathered again in the backward pass
    data_overlap: Array  # 1: gradient traffic under the backward pass
    tensor_overlap: Array  # share of tensor-parallel traffic hidden (0 to 1)
    tp_inner: Array
    cp_inner: Array
    ep_inner: Array
    dp_inner: Array
    pp_crosses: Array  # 1: neighbouring stages are on different nodes
    schedule: Array = field(default_factory=lambda: as_array(Schedule.ONE_F_ONE_B))


def place_ranks(tp: Array, cp: Array, dp: Array, pp: Array, ep: Array, node: float) -> dict[str, Array]:
    """The usual placement: tensor ranks nearest, then context, then data, pipeline stages farthest apart."""
    tp_inner = np.where(tp <= node, np.minimum(tp, node), np.gcd(tp.astype(np.int64), int(node)).astype(np.float64))
    left = np.maximum(np.floor(node / tp), 1.0)
    cp_inner = np.minimum(cp, left)
    left = np.maximum(np.floor(left / cp), 1.0)
    ep_inner = np.minimum(ep, np.maximum(np.floor(node / np.where(ep > tp * cp * dp, tp, 1.0)), 1.0))
    return {
        "tp_inner": tp_inner,
        "cp_inner": cp_inner,
        "dp_inner": np.minimum(dp, left),
        "ep_inner": ep_inner,
        "pp_crosses": np.where(tp * cp * dp * pp <= node, 0.0, 1.0),
    }


def grid_of_layouts(layouts: list[Layout], node: int, *, data_overlap: bool, tensor_overlap: float) -> Grid:
    """The layouts as columns of a Grid; the two overlaps are the stack's, where a layout does not say."""
    numbers = {
        name: as_array([getattr(layout, name) for layout in layouts])
        for name in ("tp", "pp", "dp", "cp", "ep", "etp", "interleave", "micro", "accumulation", "zero")
    }
    overlaps = [data_overlap if layout.data_overlap is None else layout.data_overlap for layout in layouts]
    shares = [tensor_overlap if layout.tensor_overlap is None else layout.tensor_overlap for layout in layouts]
    return Grid(
        **numbers,
        shard=as_array([layout.shard or layout.dp for layout in layouts]),
        recompute=as_array([RECOMPUTE[layout.recompute] for layout in layouts]),
        schedule=as_array([SCHEDULES[layout.schedule] for layout in layouts]),
        sequence_parallel=as_array([layout.sequence_parallel for layout in layouts]),
        regather=as_array([1.0] * len(layouts)),
        data_overlap=as_array(overlaps),
        tensor_overlap=as_array(shares),
        **place_ranks(numbers["tp"], numbers["cp"], numbers["dp"], numbers["pp"], numbers["ep"], float(node)),
    )
