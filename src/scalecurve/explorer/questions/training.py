"""The Training scale view: one model, one batch, one cluster, and the efficiency over its size."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import Field

from scalecurve import api
from scalecurve.explorer.questions.question import Nothing, Question, Request
from scalecurve.training import presets
from scalecurve.training.cluster import Cluster
from scalecurve.training.quick import PAYING, QuickRow, QuickSweep
from scalecurve.training.quick_model import critical_batch, transformer_of_size
from scalecurve.training.transformer import Transformer

BY_SIZE = "size"
SMALLEST_P, LARGEST_P = 8, 65_536
CLUSTERS = ("h100-ib400", "a100-ib200", "h200-ib400", "b200-ib800", "mi300x-ib400", "h100-eth100", "v100-ib100")
LEFT_OUT = (
    "experts, context parallelism and ZeRO-2 or 3 (scalecurve plan searches them)",
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


def choices(_: Nothing) -> dict[str, Any]:
    dense = [name for name, model in presets.models().items() if not model.is_moe]
    return {"models": [BY_SIZE, *dense], "clusters": list(CLUSTERS)}


def answer(asked: TrainingRequest) -> dict[str, Any]:
    model = _model(asked.model, asked.size, asked.seq)
    tokens = asked.tokens_per_parameter * model.parameters
    critical = asked.critical_tokens if asked.pinned else critical_batch(tokens)
    sweep = _sweep(asked, model, critical)
    row = min(sweep.rows, key=lambda each: abs(each.gpus - asked.at), default=None)
    return {
        **sweep.to_dict(),
        "critical_tokens": critical,
        "tokens": tokens,
        "batch_tokens": sweep.cap_replicas * asked.seq,
        "cursor": None if row is None else _closer(row, asked, tokens),
        "sentences": _sentences(asked, sweep, critical),
        "formula": None if row is None else _formula(row, asked, sweep, critical),
        "left_out": list(LEFT_OUT),
        "commands": [_command(asked, critical)],
    }


@lru_cache(maxsize=64)
def _model(name: str, size: float, seq: int) -> Transformer:
    return transformer_of_size(size, seq) if name == BY_SIZE else presets.model(name)


@lru_cache(maxsize=16)
def _cluster(name: str) -> Cluster:
    return presets.cluster(name)


def _sweep(asked: TrainingRequest, model: Transformer, critical: float) -> QuickSweep:
    counts = [SMALLEST_P << step for step in range((LARGEST_P // SMALLEST_P).bit_length())]
    return api.sweep_training(
        model,
        _cluster(asked.cluster),
        seq=asked.seq,
        batch_tokens=asked.batch_tokens,
        critical_tokens=critical,
        gpus=counts,
    )


def _closer(row: QuickRow, asked: TrainingRequest, tokens: float) -> dict[str, Any]:
    """What the run would take at this P."""
    seconds = tokens / row.tokens_per_second
    return {
        **row.to_dict(),
        "run_seconds": seconds,
        "run_dollars": seconds / 3600 * row.gpus * asked.price,
        "usd_per_billion_tokens": 1e9 / row.tokens_per_second / 3600 * row.gpus * asked.price,
        "steps": tokens / row.tokens,
    }


def _sentences(asked: TrainingRequest, sweep: QuickSweep, critical: float) -> list[str]:
    if not sweep.rows:
        return ["No split of this model fits the memory of this cluster; try a larger cluster or a smaller model."]
    limit = "critical batch" if critical < asked.batch_tokens else "target batch"
    first = (
        f"The {limit} allows {sweep.cap_replicas:,} replicas, {sweep.cap_gpus:,} GPUs: up to there data parallelism is "
        f"cheap, beyond it the model must be split further and every doubling pays less."
    )
    paying = sweep.cost_effective_gpus
    second = f"The cost-effective scale is {paying:,} GPUs: the last doubling that still brought {PAYING:g} times the "
    return [first, second + "tokens per second." if paying else "No doubling pays."]


def _formula(row: QuickRow, asked: TrainingRequest, sweep: QuickSweep, critical: float) -> str:
    layout, parts = row.layout, row.breakdown
    compute = parts["compute"] + parts["recompute"] + parts["optimizer"]
    exposed = row.step_seconds - compute
    batch = sweep.cap_replicas * asked.seq
    return "\n".join(
        [
            f"E = 1/(1 + comm_frac) = 1/(1 + {exposed:.4g} s/{compute:.4g} s) = {row.efficiency:.3f} at P = {row.gpus}",
            f"B = min(B_target, B_crit) = min({asked.batch_tokens:.4g}, {critical:.4g}) = {batch:.4g} tokens",
            f"cap: dp <= B/(micro accum seq) = {batch:.4g}/(1 x 1 x {asked.seq}) = {sweep.cap_replicas:,} replicas "
            f"x {sweep.smallest_gpus} GPUs each = {sweep.cap_gpus:,} GPUs",
            f"split at P = {row.gpus}: dp {layout['dp']} x tp {layout['tp']} x pp {layout['pp']}, "
            f"micro-batch {layout['micro']}, accumulation {layout['accumulation']}",
        ]
    )


def _command(asked: TrainingRequest, critical: float) -> str:
    model = asked.model if asked.model != BY_SIZE else _sizes(_model(asked.model, asked.size, asked.seq))
    return (
        f"scalecurve plan --model {model} --cluster {asked.cluster} --gpus {SMALLEST_P}..{LARGEST_P} "
        f"--seq {asked.seq} --global-batch {min(asked.batch_tokens, critical):.0f} --critical-batch {critical:.0f}"
    )


def _sizes(model: Transformer) -> str:
    return f"hidden={model.hidden},layers={model.layers},heads={model.heads},vocab={model.vocab}"


QUESTIONS = {
    "training": Question("Efficiency of training over the size of the cluster.", TrainingRequest, answer),
    "training/choices": Question("Models and clusters by name.", Nothing, choices),
}
