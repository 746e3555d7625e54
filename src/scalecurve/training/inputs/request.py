"""The settings of a plan: one schema for the options of `scalecurve plan`, the keys of a plan.toml, its template and
the keywords of `plan_training`; and token counts as users write them."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
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
LARGEST_BATCH = 1e12  # tokens or sequences, ten thousand times the largest published
LARGEST = 1e30  # of any number of a plan: products of several stay finite
KINDS: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
OBJECTIVES = {"time": "run_seconds", "cost": "run_usd", "energy": "run_joules"}


@dataclass(frozen=True)
class Setting:
    """A row of settings.toml: `meaning` is its help, `example` what the template shows, `kind` its type on the command
    line (bool is a switch), `option` its name there where that differs from the field's."""

    meaning: str
    example: str
    kind: type = str
    option: str = ""
    metavar: str | None = None


@cache
def settings() -> Mapping[str, Setting]:
    """Every setting of a plan by the name of its field."""
    text = files("scalecurve.training").joinpath("data", "settings.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text).items()
    return {name: Setting(**(row | {"kind": KINDS[row.get("kind", "str")]})) for name, row in rows}


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """What is asked of the planner; a field that is None was not given."""

    model: ModelLike = ""
    cluster: ClusterLike = ""
    gpus: WorkersLike | None = None
    seq: int | None = None
    global_batch: float | str | None = None
    critical_batch: float | str | None = None
    definition: str | None = None
    batch_grows: bool = False
    weak: bool = False
    compute_optimal: str | None = None
    tokens: float | str | None = None
    learning_rate: str | None = None
    loss: float | None = None
    objective: str | None = None
    deadline: float | str | None = None
    budget: float | str | None = None
    price: float | None = None
    top: int | None = None
    stack: str | Stack | None = None
    precision: str | None = None
    adapters: bool = False
    layout: LayoutLike | None = None
    explain: int | None = None
    measured: str | Path | None = None
    reliability: str | bool | Mapping[str, Any] | Reliability | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that are none, and limits that cannot be met."""
        faults = []
        for entry in fields(self):
            value, kind = getattr(self, entry.name), settings()[entry.name].kind
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
        if self.batch_grows and self.global_batch is not None:
            both = "a batch that grows has no largest one; leave out --batch-grows or --global-batch"
            faults.append(Fault("two limits of the batch", "batch_grows", str(self.global_batch), both))
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
    if "cluster" in values and "layout" not in values and "gpus" not in values:
        from scalecurve.training.inputs.cluster import read_cluster

        values["gpus"] = read_cluster(values["cluster"]).gpus
    if "layout" not in values and values.get("gpus") is None:
        missing.append(Fault("missing", "gpus", remedy="give --gpus 8..16384, or --layout"))
    if missing:
        raise InputError(missing, subject="plan")
    return PlanRequest(**values)


def plan_template() -> str:
    """A commented plan.toml with every setting; model, cluster, gpus and batch are filled in."""
    lines = ["# Settings of `scalecurve plan plan.toml`; options on the command line win over this file.", ""]
    for entry in fields(PlanRequest):
        about = settings()[entry.name]
        ready = "" if entry.name in ("model", "cluster", "gpus", "seq", "global_batch") else "# "
        lines += [f"# {about.meaning}", f"{ready}{entry.name} = {about.example}", ""]
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
    if value > LARGEST_BATCH:
        raise InputError(Fault("no run takes so large a batch", "batch", f"{value:g}", "write at most 1T tokens"))
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
