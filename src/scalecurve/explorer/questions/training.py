"""The Training scale view: the planner's sweep from 8 to 131,072 accelerators, as the printed command gives it.

The request becomes the options of one `scalecurve plan` line, and the answer is the plan of exactly these options: page
and command line cannot differ.  While a slider moves (`exact` false) fewer layouts are tried at every second P, and
the page says so.
"""

from __future__ import annotations

import json
import math
import shlex
import tempfile
import tomllib
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from scalecurve.document import Table
from scalecurve.errors import InputError
from scalecurve.explorer.questions.question import NAME, Nothing, Question, Request, table_of
from scalecurve.training.answers.curve import PlanRow
from scalecurve.training.answers.evaluation import LEFT_OUT, StepOutcome, evaluate_jobs
from scalecurve.training.answers.plan import Plan, sweep
from scalecurve.training.inputs.cluster import read_cluster
from scalecurve.training.inputs.layout import Layout
from scalecurve.training.inputs.request import PlanRequest, settings
from scalecurve.training.inputs.transformer import Transformer, model_preset, models
from scalecurve.training.physics.run import critical_batch_laws, read_critical_batch
from scalecurve.training.search.search import COARSE, FULL
from scalecurve.units import format_count

BY_SIZE, OWN, MEASURED = "size", "own", "measured"
COUNTS = tuple(8 << power for power in range(15))  # 8 to 131,072
QUICK = COUNTS[::2]
VOCABULARY = 128_256
CLUSTERS = (
    "h100-ib400", "a100-ib200", "h200-ib400", "b200-ib800", "mi300x-ib400", "h800-ib400", "h100-eth100", "v100-ib100",
)  # fmt: skip
OWN_FILE = ("--cluster own ", "--cluster own.toml ")  # a printed command reads the file that the page offers
DRAGGING = "While you drag: fewer layouts at every second P; on release the planner's own answer."
JOBS = {"strong": "The fixed job", "weak": "With the model growing"}
STACKS = ("usual", "megatron-core", "megatron-lm", "fsdp", "torchtitan", "deepspeed-zero3", "jax")
SIXTEENTHS = (8, 10, 12, 14, 15)  # a batch is one of these times a power of two, so that replicas divide it
SHOWN = (
    "gpus", "layout", "global_batch_sequences", "global_batch_tokens", "step_seconds", "step_low", "step_high",
    "breakdown", "comm_frac", "efficiency", "mfu", "memory_bytes", "tokens_per_second", "usd_per_billion_tokens",
    "tokens_factor", "speedup", "useful_efficiency", "past_cap", "doubling_speedup", "next_doubling_speedup",
    "run_tokens", "run_seconds", "run_usd",
)  # fmt: skip


class TrainingRequest(Request):
    """A model, its batch and a cluster."""

    model: str = Field(BY_SIZE, max_length=60, pattern=NAME, description="a preset's name, or `size`")
    size: float = Field(70e9, ge=1e8, le=5e12, description="parameters, where model is `size`: the nearest shape")
    tokens_per_parameter: float = Field(20.0, ge=0.1, le=10_000, description="tokens per active parameter")
    batch_tokens: float = Field(
        16_777_216, ge=1e3, le=1e10, description="largest global batch; the nearest that replicas divide"
    )
    grows: bool = Field(True, description="the batch is chosen at each P, up to this one; false holds it")
    critical: str = Field(
        "zhang", max_length=20, pattern=NAME, description="a law of the critical batch, or `measured`"
    )
    critical_tokens: float = Field(8e6, ge=1e3, le=1e11, description="your gradient-noise scale, where it is measured")
    loss: float = Field(2.0, gt=0, le=20, description="for laws that are functions of the loss")
    cluster: str = Field("h100-ib400", max_length=60, pattern=NAME, description="a preset, or `own`")
    own_tflops: float = Field(1000.0, gt=0, le=1e6, description="bf16 peak of an accelerator of your own")
    own_memory: float = Field(96.0, gt=0, le=1e5, description="its memory in GB")
    own_memory_rate: float = Field(4.0, gt=0, le=1e4, description="its memory's TB/s")
    own_inner: float = Field(450.0, gt=0, le=1e6, description="GB/s of one accelerator inside a node")
    own_outer: float = Field(50.0, gt=0, le=1e6, description="GB/s of one accelerator into the network")
    own_node: int = Field(8, ge=1, le=1024, description="accelerators of a node")
    seq: int = Field(8192, ge=128, le=1_048_576)
    precision: Literal["usual", "bf16", "fp16", "fp8"] = Field("usual", description="of the matrix products")
    stack: str = Field(
        "usual", max_length=30, pattern=NAME, description="a software stack, or the accelerator's usual one"
    )
    price: float = Field(2.5, ge=0, le=1000, description="dollars per accelerator-hour")
    deadline_days: float = Field(0, ge=0, le=100_000, description="0 is none")
    budget: float = Field(0, ge=0, le=1e12, description="dollars; 0 is none")
    weak: bool = Field(False, description="model, tokens and batch grow with P; the fixed job beside it")
    exact: bool = Field(True, description="every layout at every P; false answers sooner, while a slider moves")

    @cached_property
    def transformer(self) -> Transformer:
        return nearest_shape(self.size) if self.model == BY_SIZE else model_preset(self.model)

    @cached_property
    def sequences(self) -> int:
        """The global batch as whole sequences that replicas divide: the nearest of SIXTEENTHS times a power of two."""
        wanted = max(self.batch_tokens / self.seq, 1.0)
        counts = {max(part << power >> 3, 1) for power in range(40) for part in SIXTEENTHS}
        return min(counts, key=lambda count: (abs(count - wanted), count))

    @cached_property
    def tokens(self) -> float:
        """Tokens of the run, to four digits, so that the command can say them."""
        return float(f"{self.tokens_per_parameter * self.transformer.active_parameters:.4g}")

    @property
    def files(self) -> dict[str, str]:
        """What the command reads: the description of an accelerator of one's own."""
        if self.cluster != OWN:
            return {}
        lines = {
            "bf16_tflops": self.own_tflops, "memory_gb": self.own_memory, "memory_tb_s": self.own_memory_rate,
            "node": self.own_node, "inner_gb_s": self.own_inner, "outer_gb_s": self.own_outer,
        }  # fmt: skip
        return {"own.toml": "".join(f"{name} = {value:g}\n" for name, value in lines.items())}

    def options(self) -> dict[str, str]:
        """The options of `scalecurve plan` as texts; an empty text is a switch."""
        model = self.transformer
        sizes = f"hidden={model.hidden},layers={model.layers},heads={model.heads},vocab={model.vocab}"
        named = sizes if self.model == BY_SIZE else model.name
        own = self.cluster == OWN
        measured = self.critical == MEASURED
        held = "" if self.grows or self.weak else "fixed:"
        options = {
            "model": named, "cluster": "own.toml" if own else self.cluster, "gpus": f"{COUNTS[0]}..{COUNTS[-1]}",
            "seq": str(self.seq), "global_batch": f"{held}{self.sequences}seq", "tokens": f"{self.tokens:.0f}",
            "critical_batch": f"{self.critical_tokens:.0f}" if measured else self.critical, "price": f"{self.price:g}",
        }  # fmt: skip
        if not measured and critical_batch_laws().get(self.critical, {}).get("variable") == "loss":
            options["loss"] = f"{self.loss:g}"
        options |= {name: getattr(self, name) for name in ("precision", "stack") if getattr(self, name) != "usual"}
        if self.deadline_days:
            options["deadline"] = f"{self.deadline_days:g}d"
        if self.budget:
            options["budget"] = f"{self.budget:.0f}"
        if self.weak:
            options["weak"] = ""
        return options

    @property
    def command(self) -> str:
        words = [
            word for name, text in self.options().items() for word in (f"--{name.replace('_', '-')}", text) if word
        ]
        return "scalecurve plan " + " ".join(shlex.quote(word) for word in words)

    def plan(self) -> Plan:
        """The plan of the command's own options."""
        kinds = {name: setting.kind for name, setting in settings().items()}
        values: dict[str, Any] = {
            name: True if kinds[name] is bool else kinds[name](text) for name, text in self.options().items()
        }
        if self.cluster == OWN:
            with tempfile.TemporaryDirectory(prefix="scalecurve-") as folder:  # a file, as the command line reads it
                path = Path(folder) / "own.toml"
                path.write_text(self.files["own.toml"], encoding="utf-8")
                values["cluster"] = read_cluster(path)
        if not self.exact:
            values["gpus"] = QUICK
        return sweep(PlanRequest(**values), axes=FULL if self.exact else COARSE)


def choices(_: Nothing) -> dict[str, Any]:
    """What a reader may choose from: models, shapes by size, clusters, laws of the critical batch, published points."""
    return {
        "models": [BY_SIZE, *models()],
        "experts": [name for name, model in models().items() if model.is_moe],
        "shapes": [
            {"parameters": shape.parameters, "hidden": shape.hidden, "layers": shape.layers, "heads": shape.heads}
            for shape in shapes()
        ],
        "clusters": [*CLUSTERS, OWN],
        "stacks": list(STACKS),
        "laws": [
            {"name": name, "definition": law["definition"], "variable": law["variable"], "source": law["source"]}
            for name, law in critical_batch_laws().items()
        ],
        "published": published(),
        "left_out": list(LEFT_OUT),
    }


@cache
def published() -> list[dict[str, Any]]:
    """Runs with a published MFU or rate, each with its source."""
    text = files("scalecurve.explorer").joinpath("published.toml").read_text(encoding="utf-8")
    runs: list[dict[str, Any]] = tomllib.loads(text)["run"]
    return runs


def answer(asked: TrainingRequest) -> dict[str, Any]:
    """The plan as the page draws it; a plan that is refused is told in its own words."""
    model = asked.transformer
    experts = f", {model.experts} experts, {format_count(model.active_parameters)} active" if model.is_moe else ""
    words = (
        f"{format_count(model.parameters)} parameters (hidden {model.hidden:,}, {model.layers} layers, {model.heads} "
        f"heads{experts})"
    )
    common: dict[str, Any] = {
        "model": {"parameters": model.parameters, "active": model.active_parameters, "words": words},
        "tokens": asked.tokens,
        "sequences": asked.sequences,
        "seq": asked.seq,
        "batch_tokens": asked.sequences * asked.seq,
        "commands": [asked.command],
        "files": asked.files,
        "exact": asked.exact,
    }
    try:
        plan = asked.plan()
    except InputError as problem:
        sentence = "; ".join(
            part for fault in problem.faults for part in (fault.message, fault.value, fault.remedy) if part
        )
        return common | {"rows": [], "refused": str(problem), "sentences": [f"The planner refuses: {sentence}."]}
    lines = _whole_table(plan)
    rows = [_row(row, asked.deadline_days * 86400.0) for row in plan.rows]
    return common | {
        "rows": rows,
        "published": _rebuilt(asked, plan.rows[0].outcome) if asked.exact else [],
        "strong": [_row(row) for row in plan.strong],
        "table": lines,
        "regime": plan.regime,
        "marks": [{"name": mark.name, "gpus": mark.gpus, "meaning": mark.meaning} for mark in plan.marks],
        "critical": None if plan.critical is None else plan.critical.to_dict(),
        "laws": _laws(asked),
        "cost_effective_gpus": plan.cost_effective_gpus,
        "chosen_gpus": plan.chosen_gpus,
        "choice": plan.choice,
        "evidence": f"{plan.evidence} ({plan.source})",
        "findings": json.loads(json.dumps([finding.to_dict() for finding in plan.findings]).replace(*OWN_FILE)),
        "sentences": [text.replace(*OWN_FILE) for text in _sentences(plan)] if asked.exact else [DRAGGING],
    }


def _whole_table(plan: Plan) -> dict[str, Any]:
    """The table that decides and the raw figures as one, the split in full."""
    body = plan.body()
    raw_blocks = (block for block in body.details if isinstance(block, Table) and block.columns[1].header == "layout")
    first, raw = table_of(body), table_of(replace(body, blocks=tuple(raw_blocks)))
    kept = [place for place, column in enumerate(first["columns"]) if column["header"] != "split"]
    return first | {
        "columns": [first["columns"][place] for place in kept] + raw["columns"][1:],
        "rows": [
            [row[place] for place in kept] + more[1:] for row, more in zip(first["rows"], raw["rows"], strict=True)
        ],
    }


def _row(row: PlanRow, deadline: float = 0.0) -> dict[str, Any]:
    """One P: the planner's figures, what kind of split it is, and the ends of the 90 % interval of each measure."""
    values = row.to_dict()
    one = row.outcome
    slow, fast = one.step.high or one.seconds, one.step.low or one.seconds
    shares = {name: (values[name], 1.0) for name in ("useful_efficiency", "efficiency")}
    rates = shares | {name: (values[name], math.inf) for name in ("mfu", "tokens_per_second")}
    ends = {name: [value * one.seconds / slow, min(value * one.seconds / fast, most)]
            for name, (value, most) in rates.items() if value is not None}  # fmt: skip
    ends |= {name: [values[name] * fast / one.seconds, values[name] * slow / one.seconds]
             for name in ("run_seconds", "run_usd") if values[name] is not None}  # fmt: skip
    chance = row.chance_within(deadline) if deadline else None
    shown = {name: values[name] for name in SHOWN}
    return shown | {
        "parameters": one.job.model.parameters,
        "ends": ends,
        "chance": chance,
        "formula": (
            f"compute share = 1/(1 + comm_frac) = 1/(1 + {one.seconds - one.compute_seconds:.4g} s/"
            f"{one.compute_seconds:.4g} s) = {one.efficiency:.3f}\nP = {row.gpus:,}: {one.layout.short()}, so "
            f"{one.layout.dp} replicas x {one.layout.micro} x {one.layout.accumulation} sequences "
            f"= {one.layout.sequences:,} a step"
        ),
    }


def _rebuilt(asked: TrainingRequest, like: StepOutcome) -> list[dict[str, Any]]:
    """The planner's figures for the published layouts of this model on this accelerator, where they are known."""
    runs = [run for run in published() if run["model"] == asked.model and "layout" in run]
    runs = [run for run in runs if asked.cluster.startswith(run["accelerator"]) and run["sequences"] == asked.sequences]
    jobs = [replace(like.job, layout=Layout(**run["layout"])) for run in runs]
    outcomes = evaluate_jobs(jobs, like.calibration) if jobs else []
    return [{"name": run["name"], "mfu": one.mfu} for run, one in zip(runs, outcomes, strict=True)]


def _laws(asked: TrainingRequest) -> list[dict[str, Any]]:
    """The critical batch by every published law, to show how far they are apart."""
    compute = 6.0 * asked.transformer.active_parameters * asked.tokens
    answers = []
    for name in critical_batch_laws():
        law = read_critical_batch(name, tokens=asked.tokens, loss=asked.loss, compute=compute)
        if law is not None:
            answers.append({"name": name, "definition": law.given_as, **law.tokens.to_dict(), "source": law.source})
    return answers


def _sentences(plan: Plan) -> list[str]:
    """How far, what the batch allows, and what was chosen."""
    first, last = plan.rows[0], plan.rows[-1]
    told = plan.answer
    why = " ".join(part for part in (told.reason, told.confidence) if part)
    spread = (
        f"{JOBS[plan.regime]}: from {first.gpus:,} to {last.gpus:,} the useful efficiency goes from "
        f"{100 * first.useful_efficiency:.0f} % to {100 * last.useful_efficiency:.0f} % and MFU from "
        f"{100 * first.mfu:.1f} % to {100 * last.mfu:.1f} %."
    )
    return [text for text in (told.decision, why, spread, plan.choice) if text]


@cache
def shapes() -> tuple[Transformer, ...]:
    """Plain decoders that exist as shapes, smallest first: depth about width / 128, as published models have."""
    made = {}
    for step in range(8 * 4 + 4):
        shape = transformer_of_size(10 ** (8.6 + step / 9))
        made[shape.hidden, shape.layers] = shape
    return tuple(sorted(made.values(), key=lambda shape: shape.parameters))


@lru_cache(maxsize=64)
def nearest_shape(parameters: float) -> Transformer:
    """The shape whose true count is nearest, in ratio."""
    return min(shapes(), key=lambda shape: max(shape.parameters / parameters, parameters / shape.parameters))


def transformer_of_size(parameters: float) -> Transformer:
    """A plain decoder of about this size: width about 128 times depth, as published models have.

    12 L h^2 parameters in the layers (Kaplan et al. 2020); widths are multiples that tensor parallelism divides.
    """
    depth = (parameters / (12 * 128**2)) ** (1 / 3)
    step, head = (4096, 128) if depth * 128 >= 16384 else (2048, 128) if depth * 128 >= 4096 else (512, 64)
    hidden = max(step, round(depth * 128 / step) * step)
    layers = parameters / (12 * hidden**2)
    even = 32 if layers >= 128 else 16 if layers >= 64 else 8 if layers >= 24 else 4
    count = max(even, round(layers / even) * even)
    return Transformer(hidden=hidden, layers=count, heads=hidden // head, vocab=VOCABULARY, seq=8192)


QUESTIONS = {
    "training": Question(TrainingRequest, answer),
    "training/choices": Question(Nothing, choices),
}
