"""The settings of a plan: one schema for the options of `scalecurve plan`, the keys of a plan.toml, its template and
the keywords of `plan_training`; and token counts as users write them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.files import read_toml
from scalecurve.units import WorkersLike, as_number, as_workers, format_count, parse_count, parse_seconds

if TYPE_CHECKING:
    from scalecurve.training.inputs.cluster import ClusterLike
    from scalecurve.training.inputs.layout import LayoutLike
    from scalecurve.training.inputs.stack import Stack
    from scalecurve.training.inputs.transformer import ModelLike
    from scalecurve.training.physics.run import Reliability

TOKENS_FROM = 16_384  # a bare number of at least this size is tokens: no published batch has so many sequences
SURELY_TOKENS = 262_144  # below it such a number must be whole sequences, since it could be either
_BATCH_UNIT = re.compile(
    r"(?P<amount>.*?[\dkKMGTi.])\s*(?P<unit>tok(?:ens?)?|seq(?:uences?|s)?|samples?)", re.IGNORECASE
)
LARGEST = 1e30  # of any number of a plan: products of several stay finite
OBJECTIVES = {"time": "run_seconds", "cost": "run_usd", "energy": "run_joules"}


def about(meaning: str, example: str, *, kind: type = str, option: str = "", metavar: str = "") -> dict[str, Any]:
    """A field of the schema: `meaning` is its help, `example` what the template shows, `kind` its type on the command
    line (bool is a switch), `option` its name there where that differs from the field's."""
    return {"meaning": meaning, "example": example, "kind": kind, "option": option, "metavar": metavar}


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """What is asked of the planner; a field that is None was not given."""

    model: ModelLike = field(
        default="",
        metadata=about(
            "A preset (llama3-70b), hidden=8192,layers=80,heads=64, or a Hugging Face config.json.", '"llama3-70b"'
        ),
    )
    cluster: ClusterLike = field(
        default="",
        metadata=about(
            "An accelerator and its network (h100-ib400), a named cluster, or a .toml that describes one.",
            '"h100-ib400"',
        ),
    )
    gpus: WorkersLike | None = field(
        default=None, metadata=about("Accelerator counts: 8..16384 (doubling) or 256,512,1024.", '"32..16384"')
    )
    seq: int | None = field(
        default=None, metadata=about("Sequence length in tokens (default: the model's).", "8192", kind=int)
    )
    global_batch: float | str | None = field(
        default=None,
        metadata=about("Largest global batch: 4Mi (tokens) or '512 sequences'; fixed:4Mi holds it.", '"4Mi"'),
    )
    critical_batch: float | str | None = field(
        default=None,
        metadata=about(
            "Critical batch in tokens, a law (zhang, merrill, kaplan, ...), or a file with your gradient noise.",
            '"8Mi"',
        ),
    )
    definition: str | None = field(
        default=None,
        metadata=about("What the critical batch means: double (2x data) or overhead (20 % more steps).", '"double"'),
    )
    batch_grows: bool = field(
        default=False, metadata=about("No largest batch: only the critical batch limits it.", "false", kind=bool)
    )
    weak: bool = field(
        default=False, metadata=about("Grow model, tokens and batch with P; shows both curves.", "false", kind=bool)
    )
    compute_optimal: str | None = field(
        default=None, metadata=about("Loss reached against P by a law: chinchilla.", '"chinchilla"', metavar="LAW")
    )
    tokens: float | str | None = field(
        default=None,
        metadata=about("Tokens that small batches would need (default 20 per parameter); 15T@16Mi: at 16Mi.", '"15T"'),
    )
    learning_rate: str | None = field(
        default=None, metadata=about("Learning rate and its batch, to scale with the batch: 3e-4@4Mi.", '"3e-4@4Mi"')
    )
    loss: float | None = field(
        default=None, metadata=about("Loss, for critical-batch laws that are functions of it.", "2.0", kind=float)
    )
    objective: str | None = field(default=None, metadata=about("time, cost or energy.", '"time"'))
    deadline: float | str | None = field(default=None, metadata=about("Time for the run, such as 30d.", '"30d"'))
    budget: float | str | None = field(default=None, metadata=about("Dollars for the run, such as 5M.", '"5M"'))
    price: float | None = field(
        default=None, metadata=about("Dollars per accelerator-hour (default: the dated catalog).", "2.5", kind=float)
    )
    top: int | None = field(default=None, metadata=about("Layouts to keep at each P.", "1", kind=int))
    stack: str | Stack | None = field(
        default=None, metadata=about("megatron-lm, megatron-core, fsdp, torchtitan, deepspeed-zero3, jax.", '"fsdp"')
    )
    precision: str | None = field(
        default=None, metadata=about("bf16, fp16, fp8 or nvfp4, as far as the accelerator has it.", '"bf16"')
    )
    adapters: bool = field(
        default=False, metadata=about("Train low-rank adapters (LoRA) beside frozen weights.", "false", kind=bool)
    )
    layout: LayoutLike | None = field(
        default=None, metadata=about("Evaluate this one: tp=8,pp=12,dp=4,micro=1,recompute=full.", '"tp=8,pp=4"')
    )
    explain: int | None = field(
        default=None,
        metadata=about("Show every term of the step at P, with its numbers.", "512", kind=int, metavar="P"),
    )
    measured: str | Path | None = field(
        default=None,
        metadata=about(
            "Runs of your own (layout, batch, step_seconds) to calibrate on.", '"runs.csv"', metavar="RUNS.CSV"
        ),
    )
    reliability: str | bool | Mapping[str, Any] | Reliability | None = field(
        default=None, metadata=about("Count failures, checkpoints and stragglers.", "true", kind=bool, option="goodput")
    )

    def __post_init__(self) -> None:
        """Refuse numbers that are none, and limits that cannot be met."""
        faults = []
        for entry in fields(self):
            value, kind = getattr(self, entry.name), entry.metadata["kind"]
            if kind in (int, float) and value is not None and not isinstance(value, Real):
                faults.append(Fault("must be a number", entry.name, repr(value)))
            elif kind is not bool and isinstance(value, Real) and not abs(as_number(value, entry.name)) < LARGEST:
                faults.append(
                    Fault(
                        "must be a finite number",
                        entry.name,
                        f"{as_number(value, entry.name):g}",
                        remedy="write a smaller one",
                    )
                )
            elif kind is int and value is not None and not isinstance(value, Integral):
                faults.append(Fault("must be a whole number", entry.name, repr(value)))
            elif entry.name == "top" and value is not None and value < 1:
                faults.append(Fault("at least one layout is kept at each P", "top", str(value)))
        if self.objective is not None and self.objective not in OBJECTIVES:
            faults.append(Fault("unknown objective", "objective", self.objective, f"use {', '.join(OBJECTIVES)}"))
        for name, limit in (("deadline", self.deadline_seconds), ("budget", self.budget_dollars)):
            if limit is not None and not 0 < as_number(limit, name) < math.inf:
                faults.append(Fault(f"a {name} is above 0", name, f"{as_number(limit, name):g}"))
        if faults:
            raise InputError(faults, subject="plan")

    @property
    def regime(self) -> str:
        return "weak" if self.weak else "batch grows" if self.batch_grows else "strong"

    @property
    def deadline_seconds(self) -> float | None:
        return parse_seconds(self.deadline) if isinstance(self.deadline, str) else self.deadline

    @property
    def budget_dollars(self) -> float | None:
        return parse_count(self.budget) if isinstance(self.budget, str) else self.budget

    @property
    def counts(self) -> tuple[int, ...]:
        """The accelerator counts in rising order."""
        if self.gpus is None:
            hint = "write 8..16384 or 512"
            raise InputError(Fault("no accelerator counts given", "gpus", remedy=hint), subject="plan")
        return tuple(sorted(set(as_workers(self.gpus))))


def read_request(options: Mapping[str, Any], *, file: str | Path | None = None) -> PlanRequest:
    """The request of a plan.toml and of options, which win over it; every unknown key at once.

    The file has the options by name, with tables [model], [cluster] and [reliability] where sizes are written out.
    """
    content: dict[str, Any] = {}
    if file is not None:
        content = read_toml(Path(file), hint="scalecurve plan --init plan.toml writes one to start from")
    values = {key.replace("-", "_"): value for key, value in content.items()}
    names = [entry.name for entry in fields(PlanRequest)]
    hint = f"known: {', '.join(names)}"
    faults = [Fault("unknown key", key, remedy=hint) for key in values if key not in names]
    if faults:
        raise FormatError(faults, subject=str(file))
    values |= {key: value for key, value in options.items() if value is not None and value is not False}
    missing = [Fault("missing", key, remedy=f"give --{key}") for key in ("model", "cluster") if key not in values]
    if "layout" not in values and "gpus" not in values:
        missing.append(Fault("missing", "gpus", remedy="give --gpus 8..16384, or --layout"))
    if missing:
        raise InputError(missing, subject="plan")
    return PlanRequest(**values)


def plan_template() -> str:
    """A commented plan.toml with every setting; model, cluster, gpus and batch are filled in."""
    lines = ["# Settings of `scalecurve plan plan.toml`; options on the command line win over this file.", ""]
    for entry in fields(PlanRequest):
        about = entry.metadata
        ready = "" if entry.name in ("model", "cluster", "gpus", "seq", "global_batch") else "# "
        lines += [f"# {about['meaning']}", f"{ready}{entry.name} = {about['example']}", ""]
    return "\n".join(lines)


@dataclass(frozen=True)
class GlobalBatch:
    """`asked` tokens as `sequences` whole sequences of `seq`."""

    asked: float
    sequences: int
    seq: int

    @property
    def tokens(self) -> int:
        return self.sequences * self.seq

    @property
    def sentence(self) -> str:
        exact = "exactly" if self.tokens == self.asked else f"rounded from {self.asked:,.0f}:"
        whole = f"{self.sequences:,} sequences of {self.seq:,} = {self.tokens:,} tokens"
        return f"{exact} {whole} ({format_count(self.tokens)})"


def read_count(value: float | str, name: str | None = None, *, above: float = -math.inf) -> float:
    """A number, or text with a decimal (4M) or binary (4Mi) suffix; infinities and NaN count nothing."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise InputError(Fault("not a count", name, repr(value), "write 4Mi, 1.5k or 70B"))
    try:
        number = parse_count(value) if isinstance(value, str) else float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(Fault("a count is finite", name, str(value)))
    if number <= above:
        raise InputError(Fault("not above 0", name, str(value), "give a positive number"))
    return number


def sequence_length(seq: int | str | None, default: int) -> int:
    """The length asked for in tokens, or the model's."""
    if seq is None:
        return default
    number = read_count(seq, "seq")
    if number < 1 or not number.is_integer():
        raise InputError(Fault("a sequence is a whole number of tokens from 1", "seq", str(seq)))
    return int(number)


def whole_sequences(tokens: float | str, seq: int) -> GlobalBatch:
    """A batch in tokens as whole sequences."""
    count = read_count(tokens, "batch")
    if count < seq:
        hint = f"a batch holds at least one sequence: {seq} tokens"
        raise InputError(Fault("the batch is smaller than one sequence", "batch", str(tokens), hint))
    return GlobalBatch(count, max(round(count / seq), 1), seq)


def read_batch(batch: float | str, seq: int) -> GlobalBatch:
    """A global batch as every verb takes it: `512 sequences`, `4Mi tokens`, or text with a suffix, which is tokens.  A
    bare number is sequences below 16,384 and tokens from there on, where it must be whole sequences up to 262,144."""
    unit = _BATCH_UNIT.fullmatch(batch.strip()) if isinstance(batch, str) else None
    amount = unit["amount"].strip() if unit else batch
    value = read_count(amount, "batch")
    bare = unit is None and (not isinstance(batch, str) or batch.strip().isdecimal())
    if unit and unit["unit"].lower().startswith("tok"):
        return whole_sequences(amount, seq)
    if unit or (bare and value < TOKENS_FROM):
        if value < 1 or value != int(value):
            hint = "a batch is a whole number of sequences, or tokens with a suffix"
            raise InputError(Fault("not a whole number of sequences", "batch", str(batch), hint))
        return GlobalBatch(value * seq, int(value), seq)
    if bare and value < SURELY_TOKENS and value % seq:
        hint = f"write '{value:g} sequences' or '{value:g} tokens'"
        raise InputError(Fault(f"no whole number of sequences of {seq:,} tokens", "batch", str(batch), hint))
    return whole_sequences(batch, seq)


@dataclass(frozen=True)
class BatchChoice:
    """The largest batch that a user accepts, and whether it must be exactly this one."""

    largest: GlobalBatch
    fixed: bool

    @property
    def sentence(self) -> str:
        return f"{'batch' if self.fixed else 'largest batch'} {self.largest.sentence}"


def read_batch_choice(batch: float | str, seq: int) -> BatchChoice:
    """`4Mi` is the largest batch accepted; `fixed:4Mi` is the batch."""
    held, colon, size = batch.strip().partition(":") if isinstance(batch, str) else ("", "", "")
    if colon and held.strip().lower() != "fixed":
        raise InputError(Fault("not a batch", "batch", str(batch), "write 4Mi, or fixed:4Mi"))
    return BatchChoice(read_batch(size if colon else batch, seq), bool(colon))


@dataclass(frozen=True)
class Target:
    """How far a run trains: as far as `tokens` get it at a batch of `at_batch` tokens, or, where that is None, at a
    batch far below the critical one.  `stated` is False for the rule of tokens per parameter."""

    tokens: float
    at_batch: float | None = None
    stated: bool = True

    @property
    def words(self) -> str:
        """`15T tokens at a batch of 16.78M`."""
        at = "small batches" if self.at_batch is None else f"a batch of {format_count(self.at_batch)}"
        return f"{format_count(self.tokens)} tokens at {at}"


def read_target(tokens: float | str, seq: int) -> Target:
    """`15T`, or `15T@16Mi` for a recipe that is known."""
    amount, at, batch = tokens.partition("@") if isinstance(tokens, str) else (tokens, "", "")
    count = read_count(amount, "tokens", above=0.0)
    return Target(count, float(read_batch(batch, seq).tokens) if at else None)


def batch_sequences(batch: float | str, seq: int) -> int:
    """The sequences of a global batch."""
    return read_batch(batch, seq).sequences
