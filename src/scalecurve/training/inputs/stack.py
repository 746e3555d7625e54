"""A software stack on a cluster: what it does, the achieved shares fitted for it, and the rates that follow.

Shares come from `data/calibration.json` where published tables calibrate that accelerator and stack; otherwise from
other accelerators and stacks by ratio of published ceilings; otherwise from priors that no table was fitted to.  Where
nobody names the stack, the usual one of the accelerator is taken, as much slower as published runs are.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import fmean
from typing import Any

import numpy as np

from scalecurve.document import JsonRecord
from scalecurve.hardware.accelerators import Accelerator, accelerators, plain_name, unknown_name
from scalecurve.training.inputs.cluster import Cluster
from scalecurve.training.inputs.likeness import ErrorSpreads, OwnRuns, left_between
from scalecurve.training.inputs.transformer import training_table

ATTENTION_HALF = 2e-12  # keys per FLOP/s of peak: about 600 on A100 (FlashAttention-2, figure 5), 2,000 on H100 (3)
DEFAULT_CEILING = 0.80  # of peak, where no measured maximum is published
SCALED = ("matmul", "attention")  # constants that move with an accelerator's measured ceiling
HOSTED = ("launch", "expert_launch")  # constants that move with its host
HARDWARE = ("matmul", "ramp", "tail", "memory", "inner", "outer", "low_precision")
SOFTWARE = ("grouped", "attention", "contention", "imbalance", "launch", "expert_launch", "step", "micro")
BLENDED = (*HARDWARE, "attention")  # constants that both the accelerator and the stack decide
RATES, WAITS = ("matmul", "memory", "inner", "outer", "attention"), ("launch", "expert_launch", "step", "micro")
DOUBTS: Mapping[str, Mapping[str, float]] = {  # between sources: what a step that is longer by each moves
    "everything": dict.fromkeys(RATES, -1.0) | dict.fromkeys(WAITS, 1.0),
    "host": dict.fromkeys(WAITS, 1.0),
    "network": {"inner": -1.0, "outer": -1.0},
    "memory": {"memory": -1.0},
    "attention": {"attention": -1.0},
    "low precision": {"low_precision": -1.0},
    "experts": {"grouped": -1.0},
}
FEW_ROWS = 10  # below as many rows, constants are known no better than those of a like accelerator or stack
NORMAL_90 = 1.645  # standard deviations on either side that hold 90 %
FAMILIES = (  # accelerators with the same cores
    ("a100-80gb", "a100-40gb", "a800"), ("h100", "h100-96gb", "h200", "h800", "gh200", "h20", "h200-nvl"),
    ("b200", "gb200", "b300", "gb300"), ("mi250x-gcd", "mi250x", "mi210"), ("mi325x", "mi300x"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Stack(JsonRecord):
    """What a stack does; `constants` names what is fitted for it, at most six per accelerator."""

    name: str
    fused_attention: bool
    data_overlap: bool  # gradient traffic of data parallelism runs under the backward pass
    gradient_bytes: float  # bytes a gradient has in the data-parallel collective
    norm_traffic: float  # bytes per token and hidden element of norms, residuals and dropout, forward
    gate_traffic: float  # bytes per token and ffn element of the activation function, forward
    logit_bytes: float  # bytes kept per token and vocabulary entry around the loss
    launch: float  # host seconds per layer and forward pass
    zero: int  # the ZeRO stage it uses where a layout does not say
    four_bit: float = 1.0  # rate of products of four bits over those of eight
    routing_traffic: float = 8.0  # forward bytes per routed token and hidden element of sorting by expert and back
    latent_kernels: float = 2.0  # launches of a MoE layer with latent attention over one without
    tensor_overlap: float = 0.0  # share of tensor-parallel traffic hidden under matrix products
    expert_overlap: float = 0.0  # share of expert all-to-all traffic hidden
    pipeline_overlap: float = 0.0  # share of point-to-point traffic hidden
    scatter_gather: bool = False  # pipeline messages are split over the tensor-parallel ranks (SC21 section 4.1)
    gradient_held: float | None = None  # bytes of a gradient in memory, where not those of the collective
    weights_once: bool = False  # weights are kept once and cast as they are used: no 2-byte copy beside fp32 ones
    copy_below_zero3: bool = False  # weights kept once are split from ZeRO-2 on, with a whole 2-byte copy below ZeRO-3
    gradients_copied: bool = False  # gradients of 2 bytes are copied to fp32 where the optimiser holds them
    gathered: float = 1.0  # share of a layer that ZeRO-3 gathers at once
    bucket_parameters: float = 0.0  # parameters that fixed communication buffers hold at most, in 2 bytes
    dropout: bool = False  # dropout masks are kept
    norm_held: float = 4.0  # bytes per token and hidden element kept around the norms, beside the products' inputs
    copies_held: float = 1.0  # bytes kept inside a layer over those that its products and attention need
    recomputes: tuple[str, ...] = ("none", "selective", "full")  # what its recipes may do where they do not say
    gathers_fp8: bool = False  # weights travel in fp8 where products run in it
    interleaves: bool = False  # several chunks of layers a stage are usual
    splits_sequence: bool = False  # sequence parallelism beside tensor parallelism where a layout does not say
    either_sequence: bool = False  # a table that does not say may mean either
    tensor_wait: float = 0.0  # seconds per layer and rank of ZeRO's collectives where each tensor has its own
    slot_wait: float = 0.0  # host seconds per layer, forward, and tensor rank where stages are on different nodes
    head_wait: float = 0.0  # seconds per micro-batch at the output layer where tensor ranks are on many nodes
    weighs_stages: bool = False  # stages get equal shares of the weights, output layer included, not of the layers
    gradient_traffic: float = 0.0  # bytes per weight and step of copying, clipping and clearing gradients
    hop: float | None = None  # seconds per ring hop between nodes, where not the usual 6 microseconds
    stall: float = 0.0  # seconds that a message between stages stalls, in jobs of `stall_nodes` nodes and elsewhere
    stall_nodes: int = 1
    single_port: bool = False  # rings between nodes use one port of the node at a time
    selective_again: float = 0.0  # share of a layer's forward pass that selective recomputation repeats
    selective_kept: float = 1.0  # share of a layer's activations that selective recomputation keeps
    degrees: tuple[str, ...] = ("tp", "pp", "cp", "ep")  # what it can split
    stages: tuple[int, ...] = (0, 1)  # the ZeRO stages it has
    staged: tuple[int, ...] = (0, 1)  # those of them that go with pipeline stages
    hybrid: bool = False  # ZeRO may split over a part of the replicas
    schedules: tuple[str, ...] = ("1f1b",)  # pipeline schedules it has
    modes: tuple[str, ...] = ("none", "selective", "full")  # recomputation it has
    precisions: tuple[str, ...] = ("bf16", "fp16")  # of its matrix products
    sequence: bool = True  # it can split sequences beside tensors
    even_stages: bool = False  # stages have equal depth, micro-batches are a multiple of the stages
    expert_ranks: str = "any"  # `data`: expert ranks are data ranks and experts are split over all tensor ranks
    release: str = ""  # the version these rules are those of
    date: str = ""  # and its month
    dualpipe: bool = False  # pipelines of an even number of stages run from both ends (DeepSeek-V3, section 3.2.1)
    graphs: bool = True  # recipes that save launches (CUDA graphs) where they are usual on an accelerator
    grouped: float | None = None  # what of `matmul` its kernels for grouped products are published to reach
    narrow_expert: float | None = None  # the widest expert that calibrates `grouped`, where wider ones lose less
    family: str = ""  # stacks of one family share code, and where little is measured their constants
    aliases: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    source: str = "given"
    named: bool = True  # a user, a table or a cluster names it; otherwise it is only the usual one

    JSON = "name constants source"


@cache
def stacks() -> Mapping[str, Stack]:
    """Every stack under its name and its aliases."""
    catalogue: dict[str, Stack] = {}
    entries: dict[str, dict[str, Any]] = tomllib.loads(training_table("stacks.toml"))
    for name, entry in entries.items():
        base = entries.get(entry.get("like", ""), {})
        whole = {
            key: value for key, value in (base | entry).items() if key != "like" and (key in entry or key != "aliases")
        }
        lists = {key: tuple(value) for key, value in whole.items() if isinstance(value, list)}
        stack = Stack(name=name, **(whole | lists))
        catalogue |= dict.fromkeys([name, *stack.aliases], stack)
    return catalogue


USUAL_STACKS = (("gaudi", "gaudi"), ("trainium", "neuron"), ("tpu", "maxtext"), ("mi", "primus"))
ONLY_STACKS = ("gaudi", "neuron", "maxtext")  # jobs on their accelerators run under little else


def usual_stack(accelerator: Accelerator) -> str:
    """The stack that jobs on this accelerator mostly run under."""
    return next((stack for start, stack in USUAL_STACKS if accelerator.name.startswith(start)), "megatron-core")


UNSEEN = "another stack"


def unseen_stack(accelerator: Accelerator, *, sharded: bool) -> Stack:
    """What a framework that no table calibrates most likely does: shard the weights, or what is usual here."""
    base = read_stack("fsdp" if sharded else usual_stack(accelerator))
    lists = ("degrees", "stages", "staged", "schedules", "modes", "precisions")
    every: dict[str, Any] = {
        name: tuple(dict.fromkeys(each for one in stacks().values() for each in getattr(one, name))) for name in lists
    }
    return replace(
        base, name=UNSEEN, hybrid=True, sequence=True, expert_ranks="any", even_stages=False, weights_once=False,
        copy_below_zero3=False, gradients_copied=False, gradient_held=2.0, **every,
    )  # fmt: skip


def read_stack(stack: str | Stack | None, accelerator: Accelerator | None = None) -> Stack:
    """The stack of this name; without one the accelerator's usual, whatever the layout."""
    if isinstance(stack, Stack):
        return stack
    if stack is None and accelerator is not None:
        usual = stacks()[usual_stack(accelerator)]
        return replace(usual, named=usual.name in ONLY_STACKS)
    name = stack or "megatron-core"
    if plain_name(name) not in stacks():
        raise unknown_name("stack", name, stacks())
    return stacks()[plain_name(name)]


@dataclass(frozen=True, kw_only=True)
class Constants(JsonRecord):
    """Achieved shares of published figures."""

    matmul: float  # of peak FLOP/s
    ramp: float  # depth lost in a product
    tail: float  # waves lost at the end of a product
    memory: float  # of HBM bandwidth
    inner: float  # of the fast link
    outer: float  # of the network port
    attention: float  # of peak FLOP/s
    contention: float  # share of hidden traffic that is paid all the same
    imbalance: float  # busiest expert group over the mean
    launch: float  # host seconds per dense layer and forward pass
    expert_launch: float  # the same of a MoE layer
    step: float  # seconds a step takes beside everything that is modelled
    micro: float  # the same of a micro-batch
    low_precision: float  # what of `matmul` is left at fp8
    grouped: float  # what of `matmul` is left in the experts' grouped products


def host_factor(accelerator: Accelerator, stack: Stack) -> float:
    """What a launch costs on this accelerator, relative to an x86 server without graphs."""
    return accelerator.host if stack.graphs else 1.0


def prior_constants(accelerator: Accelerator, stack: Stack) -> Constants:
    """Nothing fitted: the measured ceiling of a matrix product, NCCL's 78 % of the link, and typical shares."""
    ceiling, host = accelerator.ceiling or DEFAULT_CEILING, host_factor(accelerator, stack)
    return Constants(
        matmul=ceiling, ramp=128.0, tail=1.5, memory=0.80, inner=0.82, outer=0.78, attention=0.45 * ceiling,
        contention=0.25, imbalance=1.1, launch=stack.launch * host,
        expert_launch=2.5e-3 * host, low_precision=0.75, grouped=0.8, step=0.0, micro=0.0,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class StackCalibration(JsonRecord):
    """Where constants come from, how many rows stand behind them, and how far off predictions were out of sample.

    The logarithm of a step is off by the DOUBTS about its source and by what is its own, with these `spreads`; `runs`
    of one's own narrow both.
    """

    constants: Constants
    evidence: str  # calibrated, transferred, assumed or measured here
    source: str
    spreads: ErrorSpreads
    runs: OwnRuns | None = field(default=None, compare=False)
    rows: int = 0
    fitted: tuple[str, ...] = ()  # constants that rows stand behind; the others are priors
    ratio_width: float = 0.1  # half of the 90 % interval of log(measured / predicted) of a ratio between two P

    JSON = "evidence source rows interval_half_width=half_width fitted constants"

    @property
    def half_width(self) -> float:
        """Half of the 90 % interval of log(measured / predicted): of a step like the runs of one's own, or of one that
        hangs on no single doubt."""
        if self.runs is not None:
            return self.interval(float(np.mean(np.diag(left_between(self.spreads, self.runs, self.runs.traits)))))
        return self.interval(self.spreads.doubts[0] ** 2 + self.spreads.own**2 + self.spreads.same**2)

    def interval(self, variance: float) -> float:
        """Half of the 90 % interval of log(measured / predicted) of a step that others tell of up to this variance."""
        return NORMAL_90 * math.hypot(self.spreads.within, math.sqrt(max(variance, 0.0)))

    def evidence_of(self, constant: str) -> str:
        """The evidence of one constant: a prior stays assumed whatever the others are."""
        return self.evidence if constant in self.fitted else "assumed"


@cache
def shipped_calibration() -> Mapping[str, Any]:
    """calibration.json: entries by tools/calibrate_training.py, widths by tools/training_left_out.py."""
    record: dict[str, Any] = json.loads(training_table("calibration.json"))
    return record


def known_shares(entry: Mapping[str, Any]) -> dict[str, float]:
    """Constants of a calibrated accelerator and stack: its own, and those that only its family of stacks tells."""
    shares: dict[str, float] = {**entry.get("family", {}), **entry["constants"]}
    return shares


def distance(accelerator: Accelerator, name: str) -> tuple[bool, float]:
    """How unlike the accelerator of this name is: another maker's, and by the ratio of the peaks."""
    makers = [
        next((start for start, _ in USUAL_STACKS if one.startswith(start)), "") for one in (accelerator.name, name)
    ]
    other = accelerators().get(name)
    return makers[0] != makers[1], math.inf if other is None else abs(math.log(other.peak / accelerator.peak))


def calibration_of(accelerator: Accelerator, stack: Stack, record: Mapping[str, Any] | None = None) -> StackCalibration:
    """This accelerator and stack, transferred where no table has both, and slower and less certain where nobody names
    the stack.  `record` takes the place of the shipped calibration."""
    calibration = shipped_calibration() if record is None else record
    entries, widths = calibration["entries"], calibration["widths"]
    own = next((e for e in entries if (e["accelerator"], e["stack"]) == (accelerator.name, stack.name)), None)
    if own is not None:
        known = StackCalibration(
            constants=replace(prior_constants(accelerator, stack), **known_shares(own)), evidence="calibrated",
            source=f"{', '.join(own['tables'])} ({own['rows']} rows)", rows=own["rows"],
            fitted=tuple(known_shares(own)),
            spreads=spreads_of("calibrated" if own["rows"] >= FEW_ROWS else "transferred", widths),
        )  # fmt: skip
    else:
        known = transferred(accelerator, stack, entries, widths)
    known = replace(known, ratio_width=widths["ratio"])
    return known if stack.named else of_no_name(known, accelerator, stack, widths)


def chip_family(name: str) -> str:
    """The first of the accelerators with the same cores."""
    return next((names[0] for names in FAMILIES if name in names), name)


def spreads_of(evidence: str, widths: Mapping[str, Any]) -> ErrorSpreads:
    """The spreads between sources, before any run of one's own."""
    doubts = {**widths["doubts"], "everything": widths["everything"][evidence]}
    return ErrorSpreads(tuple(doubts[name] for name in DOUBTS), widths["own"], widths["same"], widths["within"])


def moved_by(constants: Constants, shifts: Mapping[str, Any]) -> Constants:
    """Constants of a source whose steps differ by these doubts: by name, the logarithm of how much longer they are."""
    factors: dict[str, Any] = {}
    for doubt, shift in shifts.items():
        for name, sign in DOUBTS[doubt].items():
            factors[name] = factors.get(name, 0.0) + sign * shift
    return replace(constants, **{name: getattr(constants, name) * np.exp(by) for name, by in factors.items()})


def within_peaks(constants: Constants) -> Constants:
    """No share of a published rate is above 1."""
    return replace(constants, **{name: min(getattr(constants, name), 1.0) for name in RATES})


def of_no_name(
    known: StackCalibration, accelerator: Accelerator, stack: Stack, widths: Mapping[str, Any]
) -> StackCalibration:
    """The usual stack where nobody names one: published runs take longer than the layout picked under it, by `slower`
    in the median over sources, and spread more."""
    slow, unnamed = widths["slower"], widths["unnamed"]
    spread = unnamed.get(chip_family(accelerator.name), unnamed["any"])
    slower = f"{100.0 * math.expm1(slow):.0f} % slower, as published runs are"
    source = f"no stack is named, so those of {stack.name} made {slower}; from {known.source}"
    return replace(
        known, constants=moved_by(known.constants, {"everything": slow}), source=source,
        spreads=replace(known.spreads, doubts=(spread, *known.spreads.doubts[1:])),
        evidence="transferred" if known.evidence == "calibrated" else known.evidence,
    )  # fmt: skip


def moved_shares(
    entry: Mapping[str, Any], names: Sequence[str], accelerator: Accelerator, stack: Stack
) -> dict[str, float]:
    """These constants of an entry by the ratio of the ceilings and hosts; no share of a peak is above 1."""
    ratios = dict.fromkeys(SCALED, (accelerator.ceiling or DEFAULT_CEILING) / entry["ceiling"])
    ratios |= dict.fromkeys(HOSTED, host_factor(accelerator, stack) / entry["host"])
    shares = known_shares(entry)
    values = {name: shares[name] * ratios.get(name, 1.0) for name in names if name in shares}
    return values | {name: min(values[name], 1.0) for name in SCALED if name in values}


def transferred(
    accelerator: Accelerator, stack: Stack, entries: Sequence[Mapping[str, Any]], widths: Mapping[str, Any]
) -> StackCalibration:
    """Software from the stack, or its family, on the accelerator most like this one; hardware from this accelerator, or
    one with the same cores, under that family.  Where the family was never measured on it, hardware is halfway between
    this accelerator under all other stacks and the family on all other accelerators.  Else priors."""
    same_chip, same_stack = nearest_entries(accelerator, stack, entries)

    def shares(entry: Mapping[str, Any], names: Sequence[str]) -> dict[str, float]:
        return moved_shares(entry, names, accelerator, stack)

    values: dict[str, float] = {}
    for entry in same_stack[:1]:
        values |= shares(entry, SOFTWARE if same_chip else HARDWARE + SOFTWARE)
    for entry in same_chip[:1]:
        values |= shares(entry, HARDWARE)
    if same_chip and same_stack and same_chip[0] not in same_stack:
        values |= halfway([[shares(e, BLENDED) for e in side] for side in (same_chip, same_stack)])
    values |= {} if stack.grouped is None else {"grouped": stack.grouped}
    origin = " and ".join(
        dict.fromkeys(f"{e['stack']} on {e['accelerator']}" for e in (*same_chip[:1], *same_stack[:1]))
    )
    evidence = "transferred" if values else "assumed"
    spread = "unseen" if values and stack.name == UNSEEN else evidence
    return StackCalibration(
        constants=replace(prior_constants(accelerator, stack), **values), evidence=evidence, fitted=tuple(values),
        spreads=spreads_of(spread, widths),
        source=f"transferred from {origin} by ratio to published ceilings" if values
        else "published ceilings and typical shares; nothing fitted",
    )  # fmt: skip


Entries = list[Mapping[str, Any]]


def nearest_entries(
    accelerator: Accelerator, stack: Stack, entries: Sequence[Mapping[str, Any]]
) -> tuple[Entries, Entries]:
    """The calibrated entries of accelerators with the same cores, and those of the stack or its family; each by
    nearness, the stack before its family."""
    related = {one.name for one in stacks().values() if stack.family and one.family == stack.family} | {stack.name}
    by_nearness = sorted(
        entries,
        key=lambda e: (e["stack"] != stack.name, e["stack"] not in related, *distance(accelerator, e["accelerator"])),
    )
    cores = chip_family(accelerator.name)
    same_chip = [e for e in by_nearness if chip_family(e["accelerator"]) == cores]
    same_stack = [e for e in by_nearness if e["stack"] in related]
    if same_chip and same_chip[0]["stack"] == stack.name:
        same_stack.insert(0, same_chip[0])
    return same_chip, same_stack


def halfway(sides: Sequence[Sequence[Mapping[str, float]]]) -> dict[str, float]:
    """Each share at the mean over the sides of its mean on a side, where a side has it."""
    found: dict[str, float] = {}
    for name in BLENDED:
        means = [fmean(known) for side in sides if (known := [one[name] for one in side if name in one])]
        found |= {name: fmean(means)} if means else {}
    return found


@dataclass(frozen=True, kw_only=True)
class Device:
    """One accelerator of a cluster under a stack, as the physics takes it: published figures times achieved shares.

    Rates in FLOP/s and bytes/s, times in seconds, sizes in bytes; achieved, not peak.
    """

    matmul_rate: float  # FLOP/s a long product reaches
    grouped_rate: float  # FLOP/s of the experts' grouped products
    attention_rate: float  # FLOP/s of fused attention
    attention_half: float  # keys at which fused attention reaches half of its last rate
    memory_rate: float  # bytes/s of HBM as elementwise kernels see it
    capacity: float  # bytes of HBM
    cores: float  # streaming multiprocessors, compute units or matrix units
    tail: float  # waves lost at the end of a product
    ramp: float  # depth of a product lost to filling and draining
    operand_bytes: float  # bytes of an operand of a matrix product
    node: float  # accelerators that share the fast link
    inner_rate: float  # bytes/s one accelerator reaches in a ring on the fast link
    outer_rate: float  # bytes/s one accelerator reaches through the network
    pair_rate: float | None  # bytes/s between two accelerators of a node that are wired in pairs
    contention: float  # share of the hidden side of an overlap that is paid all the same
    launch: float  # host seconds per layer and pass that the accelerator must wait for at least
    expert_launch: float  # the same for a MoE layer, whose routing and expert kernels are many and small
    imbalance: float  # busiest expert group over the mean
    step: float  # seconds of a step beside everything that is modelled
    micro: float  # the same of a micro-batch
    stack: Stack
    inner_hop: float = 1.5e-6  # seconds per ring hop inside a node
    outer_hop: float = 6e-6  # seconds per ring hop between nodes
    start: float = 12e-6  # seconds to start a collective
    ramp_seconds: float = 35e-6  # extra seconds while a collective's bandwidth builds up
    ramp_bytes: float = 8e6  # message size at which half of `ramp_seconds` is paid
    weight_bytes: float = 2.0  # bytes a weight has in a parameter all-gather
    shared_ports: bool = False  # there are fewer network ports than accelerators
    frozen: bool = False  # weights have no gradients (low-rank adapters)
    optimizer: str = "adamw"  # how its states are kept (physics/memory.py)
    reserved: float = 1e9  # bytes the runtime and communication libraries hold


def device_of(
    cluster: Cluster,
    stack: Stack,
    constants: Constants,
    precision: str = "bf16",
    *,
    frozen: bool = False,
    optimizer: str = "adamw",
) -> Device:
    """The achieved rates of one accelerator of this cluster under this stack; `frozen` trains adapters only."""
    chip = cluster.accelerator
    low = precision in ("fp8", "nvfp4") and chip.fp8_peak is not None
    peak = cluster.peak("fp8" if low else precision)
    matmul_rate = peak * constants.matmul * (constants.low_precision if low else 1.0)
    matmul_rate *= stack.four_bit if precision == "nvfp4" else 1.0
    return Device(
        matmul_rate=matmul_rate, grouped_rate=matmul_rate * constants.grouped,
        attention_rate=chip.peak * constants.attention,
        attention_half=0.0 if stack.family == "xla" else ATTENTION_HALF * chip.peak,
        memory_rate=chip.memory_rate * constants.memory,
        capacity=chip.capacity, cores=float(chip.cores), tail=constants.tail, ramp=constants.ramp * peak / chip.peak,
        operand_bytes=1.0 if low else 2.0, node=float(cluster.node), inner_rate=cluster.inner_rate * constants.inner,
        pair_rate=None if chip.pair_rate is None else chip.pair_rate * constants.inner,
        outer_rate=cluster.outer_rate * constants.outer, contention=constants.contention, launch=constants.launch,
        expert_launch=constants.expert_launch, imbalance=constants.imbalance, step=constants.step,
        micro=constants.micro, stack=stack, frozen=frozen, optimizer=optimizer,
        outer_hop=6e-6 if stack.hop is None else stack.hop,
        shared_ports=cluster.outer_rate < chip.outer_rate, weight_bytes=1.0 if low and stack.gathers_fp8 else 2.0,
    )  # fmt: skip
