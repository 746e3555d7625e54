"""The Training scale view: one model, one batch, one cluster, and the efficiency over its size.

The answers are those of the planner; while a slider moves (`exact` false) it tries fewer layouts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import Field

from scalecurve.errors import InputError
from scalecurve.explorer.questions.question import Nothing, Question, Request
from scalecurve.training.answers.curve import PAYS, PlanRow, smallest_replica
from scalecurve.training.answers.plan import Plan, plan_training
from scalecurve.training.inputs.cluster import Cluster, cluster_preset
from scalecurve.training.inputs.transformer import Transformer, model_preset, models
from scalecurve.training.physics.run import read_critical_batch
from scalecurve.training.search.search import COARSE, FULL

BY_SIZE = "size"
SMALLEST_P, LARGEST_P = 8, 65_536
VOCABULARY = 128_256
CLUSTERS = ("h100-ib400", "a100-ib200", "h200-ib400", "b200-ib800", "mi300x-ib400", "h100-eth100", "v100-ib100")
LEFT_OUT = (
    "failures, checkpoints and stragglers (scalecurve plan --goodput)",
    "whether the larger batch trains as well: B_crit is a guide that differs by a factor of eight between papers",
    "data loading, evaluation and logging",
)


class TrainingRequest(Request):
    """A model, its batch and a cluster."""

    model: str = Field(BY_SIZE, max_length=60, description="a preset's name, or `size`")
    size: float = Field(70e9, ge=1e8, le=5e12, description="parameters, where model is `size`")
    tokens_per_parameter: float = Field(20.0, ge=0.1, le=10_000)
    batch_tokens: float = Field(16e6, ge=1e3, le=1e10, description="target global batch")
    pinned: bool = Field(False, description="whether the critical batch is given rather than derived from the data")
    critical_tokens: float = Field(8e6, ge=1e3, le=1e11, description="critical batch, where it is pinned")
    cluster: str = Field("h100-ib400", max_length=60)
    seq: int = Field(8192, ge=128, le=1_048_576)
    at: int = Field(1024, ge=1, le=1_000_000, description="the P looked at closely")
    price: float = Field(2.5, ge=0, le=1000, description="dollars per GPU-hour")
    exact: bool = Field(True, description="every layout; false tries fewer, for answers while a slider moves")


def choices(_: Nothing) -> dict[str, Any]:
    """The names a reader may choose from."""
    return {"models": [BY_SIZE, *models()], "clusters": list(CLUSTERS)}


def answer(asked: TrainingRequest) -> dict[str, Any]:
    """The planner's sweep at B = min(target, critical), evened to each P, and the P looked at closely."""
    model, cluster = _named(asked.model, asked.size, asked.seq, asked.cluster)
    tokens = asked.tokens_per_parameter * model.parameters
    law = asked.critical_tokens if asked.pinned else "zhang"
    critical = read_critical_batch(law, tokens=tokens)
    limit = critical.tokens.value if critical else asked.batch_tokens
    batch = max(min(asked.batch_tokens, limit), asked.seq)
    replicas = int(batch // asked.seq)
    common: dict[str, Any] = {
        "critical_tokens": limit,
        "tokens": tokens,
        "batch_tokens": replicas * asked.seq,
        "cap_replicas": replicas,
        "parameters": model.parameters,
        "left_out": list(LEFT_OUT),
        "commands": [
            f"scalecurve plan --model {model.name if asked.model != BY_SIZE else _sizes(model)} --cluster "
            f"{asked.cluster} --gpus {SMALLEST_P}..{LARGEST_P} --seq {asked.seq} --tokens {tokens:.0f} --global-batch "
            f"{batch:.0f} --critical-batch {batch:.0f} --batch-grows --price {asked.price:g}"
        ],
    }
    try:
        plan = plan_training(
            model, cluster, gpus=f"{SMALLEST_P}..{LARGEST_P}", seq=asked.seq, tokens=tokens, batch=batch,
            critical_batch=batch, batch_grows=True, price=asked.price, axes=FULL if asked.exact else COARSE,
        )  # fmt: skip
    except InputError as problem:
        nothing: dict[str, Any] = {
            "rows": [],
            "cap_gpus": None,
            "smallest_gpus": None,
            "cost_effective_gpus": None,
            "cursor": None,
        }
        fault = problem.faults[0]
        return common | nothing | {"sentences": [f"{fault.message}; {fault.remedy or ''}"], "formula": None}
    return common | _page_of(plan, asked, limit, replicas)


def _page_of(plan: Plan, asked: TrainingRequest, critical: float, replicas: int) -> dict[str, Any]:
    """What the page draws of a plan."""
    smallest = smallest_replica(plan.rows)
    cap = replicas * smallest
    paying = plan.cost_effective_gpus
    row = min(plan.rows, key=lambda row: abs(row.gpus - asked.at))
    one, layout = row.outcome, row.outcome.layout
    batch = replicas * asked.seq
    kind = "critical batch" if critical < asked.batch_tokens else "target batch"
    return {
        "rows": [_row(row, cap) for row in plan.rows],
        "cap_gpus": cap,
        "smallest_gpus": smallest,
        "cost_effective_gpus": paying,
        "cursor": _row(row, cap) | {
            "run_seconds": row.run_seconds,
            "run_dollars": row.run_usd,
            "usd_per_billion_tokens": one.usd_per_billion_tokens,
            "steps": (row.run_tokens or 0.0) / one.tokens,
        },
        "sentences": [
            f"The {kind} allows {replicas:,} replicas, {cap:,} GPUs: up to there data parallelism is cheap, beyond it "
            "the model must be split further and every doubling pays less.",
            f"The cost-effective scale is {paying:,} GPUs: the last doubling that gave at least {PAYS:g} times the "
            "tokens per second.",
        ],
        "formula": "\n".join(
            [
                f"E = 1/(1 + comm_frac) = 1/(1 + {one.seconds - one.compute_seconds:.4g} s/{one.compute_seconds:.4g} s)"
                f" = {one.efficiency:.3f} at P = {row.gpus}",
                f"B = min(B_target, B_crit) = min({asked.batch_tokens:.4g}, {critical:.4g}) = {batch:.4g} tokens",
                f"cap: dp <= B/(micro accum seq) = {batch:.4g}/(1 x 1 x {asked.seq}) = {replicas:,} replicas x "
                f"{smallest} GPUs each = {cap:,} GPUs",
                f"split at P = {row.gpus}: {layout.short()}",
            ]
        ),
    }  # fmt: skip


def _row(row: PlanRow, cap: int) -> dict[str, Any]:
    """One P; the regime is data while replicas can still be added, model beyond the cap."""
    one = row.outcome
    return {
        "gpus": row.gpus,
        "regime": "data" if row.gpus <= cap else "model",
        "layout": one.layout.to_dict(),
        "step_seconds": one.seconds,
        "breakdown": one.breakdown,
        "comm_frac": one.comm_frac,
        "efficiency": one.efficiency,
        "mfu": one.mfu,
        "memory_bytes": one.memory_bytes,
        "batch_tokens": one.tokens,
        "tokens_per_second": one.tokens_per_second,
    }


@lru_cache(maxsize=64)
def _named(model: str, size: float, seq: int, cluster: str) -> tuple[Transformer, Cluster]:
    return transformer_of_size(size, seq) if model == BY_SIZE else model_preset(model), cluster_preset(cluster)


def transformer_of_size(parameters: float, seq: int) -> Transformer:
    """A plain decoder of about this size: width about 128 times depth, as published models have.

    12 L h^2 parameters in the layers (Kaplan et al. 2020); widths are multiples that tensor parallelism divides.
    """
    depth = (parameters / (12 * 128**2)) ** (1 / 3)
    step, head = (2048, 128) if depth * 128 >= 4096 else (512, 64)
    hidden = max(step, round(depth * 128 / step) * step)
    layers = parameters / (12 * hidden**2)
    even = 16 if layers >= 64 else 8 if layers >= 24 else 4
    count = max(even, round(layers / even) * even)
    name = f"{parameters / 1e9:.3g}B by size"
    return Transformer(name=name, hidden=hidden, layers=count, heads=hidden // head, vocab=VOCABULARY, seq=seq)


def _sizes(model: Transformer) -> str:
    return f"hidden={model.hidden},layers={model.layers},heads={model.heads},vocab={model.vocab}"


QUESTIONS = {
    "training": Question("Efficiency of training over the size of the cluster.", TrainingRequest, answer),
    "training/choices": Question("Models and clusters by name.", Nothing, choices),
}
