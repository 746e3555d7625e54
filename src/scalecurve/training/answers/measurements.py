"""Measured training steps in the common schema: a CSV row per configuration, blank where a source does not say.

A row becomes the jobs it can mean.  What is published is kept; recomputation, interleaving, micro-batch and
accumulation that are not published are filled in with the plausible values, and the row says which.  A row that cannot
be evaluated says why.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.hardware.accelerators import Accelerator, accelerators
from scalecurve.training.answers.evaluation import TrainingJob
from scalecurve.training.inputs.cluster import Cluster, cluster_preset
from scalecurve.training.inputs.layout import Layout, layout_faults
from scalecurve.training.inputs.stack import Stack, read_stack, usual_stack
from scalecurve.training.inputs.transformer import DEFAULT_VOCABULARY, Transformer, models

SCHEMA = ("model", "hidden", "layers", "seq", "global_batch_seqs", "tp", "pp", "accelerator", "accels", "framework")
GIB = 2.0**30
SIZE_COLUMNS = {
    "hidden": "hidden", "layers": "layers", "heads": "heads", "kv_heads": "kv_heads", "head_dim": "head", "ffn": "ffn",
    "vocab": "vocab", "experts": "experts", "topk": "top_k", "moe_ffn": "expert_ffn",
}  # fmt: skip
STACK_WORDS = (  # the first word that a framework's name has decides
    ("nanotron", "nanotron"), ("primus", "primus"), ("maxtext", "maxtext"), ("pax", "maxtext"), ("nemo", "nemo"),
    ("megatron-deepspeed", "megatron-deepspeed"), ("megatron-bridge", "megatron-core"), ("megatron", "megatron-core"),
    ("torchtitan", "torchtitan"), ("fsdp", "fsdp"), ("llm-foundry", "fsdp"), ("deepspeed", "deepspeed-zero3"),
)  # fmt: skip
WORTH_INTERLEAVING = 0.25  # a bubble above this share of the step is not left without interleaving
PUBLISHED_SHARE = 0.3  # a parameter count this far off the sizes is that of another (whole) model


class Unread(Exception):
    """Why a row cannot be evaluated."""


class Impossible(Unread):
    """Why the model cannot be split as a row says."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One row: the jobs it can mean (none where `reason` says why not), and what was measured.

    `seconds` is the step, `memory` bytes of the fullest accelerator; a run that failed has neither.
    """

    source: str
    label: str
    jobs: tuple[TrainingJob, ...] = ()
    seconds: float | None = None
    memory: float | None = None
    failed: bool = False
    assumed: tuple[str, ...] = ()
    reason: str | None = None
    impossible: bool = False  # the planner refuses the layout

    @property
    def configuration(self) -> tuple[object, ...]:
        """Equal for repeats of one configuration."""
        return (self.source, *((job.model, job.stack.name, job.cluster.name, job.layout, job.seq, job.precision,
                                job.adapter) for job in self.jobs))  # fmt: skip


def has_schema(columns: Iterable[str]) -> bool:
    return set(SCHEMA) <= set(columns)


def read_measurements(paths: Iterable[Path]) -> list[Measurement]:
    """Every row of these files; the source of a row is the name of its file."""
    rows: list[Measurement] = []
    faults: list[Fault] = []
    for path in paths:
        try:
            with path.open(encoding="utf-8", newline="") as file:
                reader = csv.DictReader(file)
                lines, names = list(reader), reader.fieldnames or ()
        except (OSError, UnicodeDecodeError, csv.Error) as problem:
            faults.append(Fault("cannot read measured steps", str(path), str(problem)))
            continue
        missing = [name for name in SCHEMA if name not in names]
        if missing:
            hint = f"a header with {', '.join(SCHEMA)} and step_s or tokens_per_s_per_accel"
            faults.append(Fault("columns missing", str(path), ", ".join(missing), hint))
        source = path.stem.removesuffix("_failed")
        rows += [measurement({key: (value or "").strip() for key, value in line.items() if key}, source)
                 for line in lines if not missing]  # fmt: skip
    if faults:
        raise FormatError(faults, subject="measured steps")
    return rows


def measurement(row: Mapping[str, str], source: str) -> Measurement:
    """One row as the jobs it can mean."""
    label = f"{row['model']} on {row['accels']} x {row['accelerator']}"
    failed = not row.get("step_s") and "failed" in row.get("note", "").lower()
    try:
        seconds = None
        jobs, assumed = row_jobs(row)
        if not failed:
            seconds = measured_seconds(row, jobs[0])
    except Unread as why:
        impossible = isinstance(why, Impossible)
        return Measurement(source=source, label=label, failed=failed, reason=str(why), impossible=impossible)
    except InputError as problem:
        return Measurement(source=source, label=label, failed=failed, reason=problem.faults[0].message)
    held = number(row, "mem_gb")
    return Measurement(
        source=source, label=f"{label}: {jobs[0].layout.short()}", jobs=jobs, seconds=seconds, failed=failed,
        memory=None if held is None else held * GIB, assumed=assumed,
    )  # fmt: skip


def number(row: Mapping[str, str], name: str) -> float | None:
    """The number a cell starts with; None where it is blank or a word."""
    match = re.match(r"-?\d+(\.\d+)?", row.get(name) or "")
    return float(match[0]) if match else None


def whole(row: Mapping[str, str], name: str, default: int | None = None) -> int | None:
    value = number(row, name)
    return default if value is None or value < 1 or value != int(value) else int(value)


def measured_seconds(row: Mapping[str, str], job: TrainingJob) -> float:
    """The step, or what tokens per second and accelerator make of it."""
    seconds, rate = number(row, "step_s"), number(row, "tokens_per_s_per_accel")
    if seconds is None and rate is not None and rate > 0:
        seconds = job.layout.sequences * job.seq / (rate * float(row["accels"]))
    if seconds is None or seconds <= 0:
        raise Unread("no step time measured")
    return seconds


def row_jobs(row: Mapping[str, str]) -> tuple[tuple[TrainingJob, ...], tuple[str, ...]]:
    """The jobs a row can mean, and the names of what was not published."""
    chip, accels = row_accelerator(row["accelerator"]), whole(row, "accels")
    if accels is None:
        raise Unread("the number of accelerators is not published")
    stack = row_stack(row, chip)
    seq = whole(row, "seq")
    if seq is None:
        raise Unread("the sequence length is not published")
    if not row["tp"] or not row["pp"]:
        raise Unread("the layout is not published")
    model = row_model(row, seq)
    cluster, ranks = row_cluster(row, chip, accels)
    precisions = row_precisions(row, cluster)
    layouts, assumed = row_layouts(row, stack, model, ranks)
    if len(precisions) > 1:
        assumed = (*assumed, "precision")
    adapter = "lora" in row["model"].lower()
    jobs = [
        TrainingJob(model=model, cluster=cluster, stack=stack, layout=layout, seq=seq, precision=kind, adapter=adapter)
        for layout, kind in product(layouts, precisions)
        if not layout_faults(layout, model)
    ]
    if not jobs:
        raise Impossible(layout_faults(layouts[0], model)[0].message)
    return tuple(jobs), assumed


def plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def row_accelerator(text: str) -> Accelerator:
    """The catalogue's accelerator whose name or alias is the longest that the text contains."""
    if not text:
        raise Unread("the accelerator is not named")
    names = sorted((name for name in accelerators() if plain(name) in plain(text)), key=len)
    if not names:
        raise Unread(f"no catalogue entry for {text}")
    return accelerators()[names[-1]]


def row_cluster(row: Mapping[str, str], chip: Accelerator, accels: int) -> tuple[Cluster, int]:
    """The cluster and its ranks; where ranks are halves of a chip (NeuronCores, GCDs) the accelerator is halved."""
    cluster = cluster_preset(chip.name)
    degrees = [whole(row, name, 1) or 1 for name in ("tp", "pp", "cp", "dp", "fsdp")]
    ranks = degrees[0] * degrees[1] * degrees[2] * degrees[3] * degrees[4]
    if "gcd" in row["accelerator"].lower() and "gcd" not in chip.name:
        return half_cluster(cluster), accels
    if ranks == 2 * accels or (chip.name.startswith("trainium") and degrees[0] > 1):
        return half_cluster(cluster), 2 * accels
    return cluster, accels


def half_cluster(cluster: Cluster) -> Cluster:
    """Ranks that are half a chip: half of its rates and memory, twice as many in a node."""
    chip = cluster.accelerator
    half = replace(
        chip, peaks={name: peak / 2.0 for name, peak in chip.peaks.items()}, capacity=chip.capacity / 2.0,
        memory_rate=chip.memory_rate / 2.0, cores=max(chip.cores // 2, 1), node=chip.node * 2,
        inner_rate=chip.inner_rate / 2.0, outer_rate=chip.outer_rate / 2.0,
    )  # fmt: skip
    return replace(
        cluster, name=f"{cluster.name} halves", accelerator=half, node=cluster.node * 2,
        inner_rate=cluster.inner_rate / 2.0, outer_rate=cluster.outer_rate / 2.0,
    )  # fmt: skip


def row_stack(row: Mapping[str, str], chip: Accelerator) -> Stack:
    """The stack by accelerator, by the rules of MLPerf, or by a word of the framework's name."""
    usual = usual_stack(chip)
    if usual in ("gaudi", "neuron", "maxtext"):  # one stack, whatever it is called
        return read_stack(usual)
    framework = row["framework"].lower()
    if row.get("release", "").lower().startswith("mlperf"):
        return read_stack("mlperf")
    for word, name in STACK_WORDS:
        if word in framework:
            return read_stack(name)
    try:
        return read_stack(row["framework"])
    except InputError:
        raise Unread(f"no stack for the framework {row['framework'] or 'that is not named'}") from None


def row_model(row: Mapping[str, str], seq: int) -> Transformer:
    """The published sizes over those of the preset of that name; gate and tie from the published parameter count."""
    name = re.sub(r"[- ]?(lora|sft|qlora|full)$", "", row["model"].lower())
    base = re.sub(r"-proxy\d+l$|^pax-|-\d+l$", "", name)
    key = base.replace("llama-", "llama").replace("llama3.1", "llama3").replace("gpt175b", "gpt3-175b")
    preset = models().get(key)
    sizes: dict[str, Any] = {
        ours: value for theirs, ours in SIZE_COLUMNS.items() if (value := whole(row, theirs)) is not None
    }
    if preset is not None:
        own = {key: value for key, value in sizes.items() if key not in ("head", "expert_ffn", "kv_heads")
               or not preset.kv_rank}  # fmt: skip
        if preset.is_moe and "expert_ffn" not in sizes:
            own.pop("ffn", None)
        return replace(preset, **(own | {"seq": seq, "positions": seq if preset.positions else 0}))
    if not {"hidden", "layers", "heads"} <= set(sizes):
        raise Unread("the sizes of the model are not published")
    if "experts" in sizes:
        sizes.setdefault("expert_ffn", sizes.get("ffn", 4 * sizes["hidden"]))
    sizes.setdefault("vocab", DEFAULT_VOCABULARY)
    gated = sizes.get("ffn", 4 * sizes["hidden"]) != 4 * sizes["hidden"] or "experts" in sizes
    models_it_can_be = [
        Transformer(name=name, seq=seq, gated=gate, tied=tie, **sizes)
        for gate, tie in ((gated, False), (gated, True), (not gated, False), (not gated, True))
    ]
    count = number(row, "params_b")
    if count is None or not row.get("vocab"):
        return models_it_can_be[0]
    best = min(models_it_can_be, key=lambda model: abs(model.parameters / (count * 1e9) - 1.0))
    return best if abs(best.parameters / (count * 1e9) - 1.0) < PUBLISHED_SHARE else models_it_can_be[0]


def row_precisions(row: Mapping[str, str], cluster: Cluster) -> tuple[str, ...]:
    text = row.get("precision", "").lower()
    eight = cluster.accelerator.fp8_peak is not None
    if not text:
        return ("bf16", "fp8") if eight else ("bf16",)
    if "fp4" in text:
        raise Unread("four-bit recipes are not calibrated")
    if "int8" in text or ("fp8" in text and not eight):
        raise Unread(f"{cluster.accelerator.name} has no peak for {text}")
    return ("fp8",) if "fp8" in text else ("bf16",)


def row_layouts(
    row: Mapping[str, str], stack: Stack, model: Transformer, ranks: int
) -> tuple[list[Layout], tuple[str, ...]]:
    """The layouts a row can mean, and what was not published of them."""
    tp, pp, cp = (whole(row, name, 1) or 1 for name in ("tp", "pp", "cp"))
    dp, left = divmod(ranks, tp * pp * cp)
    if left or dp < 1:
        raise Unread("the layout and the number of accelerators disagree")
    assumed: list[str] = []
    micros, counts = row_batches(row, dp, assumed)
    zero, shard = row_sharding(row, stack, dp)
    ep = whole(row, "ep", 1) or 1
    moe = 1 if model.is_moe and model.experts and model.experts % ep else ep
    chunks: tuple[int, ...] = (whole(row, "vp", 1) or 1,) if pp > 1 else (1,)
    if pp > 1 and not row.get("vp") and stack.interleaves:
        depth, idle = model.layers // pp, (pp - 1) / min(counts)
        plain_too = {1} if idle <= WORTH_INTERLEAVING else set()
        chunks = tuple(sorted({max(depth // 2, 1), max(depth, 1)} | plain_too))
        assumed.append("interleave")
    modes = recompute_modes(row.get("recompute", ""), stack)
    if len(modes) > 1:
        assumed.append("recompute")
    split = {"true": True, "1": True, "false": False, "0": False}.get(row.get("sp", "").lower(), stack.splits_sequence)
    layouts = [
        Layout(
            tp=tp, pp=pp, cp=cp, dp=dp, ep=moe if model.is_moe else 1,
            etp=(whole(row, "etp", 1) or 1) if model.is_moe else 1, micro=micro, accumulation=count,
            interleave=chunk, zero=zero, shard=shard, recompute=mode, sequence_parallel=split and tp > 1,
        )
        for (micro, count), chunk, mode in product(zip(micros, counts, strict=True), chunks, modes)
    ]  # fmt: skip
    return layouts, tuple(assumed)


def row_batches(row: Mapping[str, str], dp: int, assumed: list[str]) -> tuple[list[int], list[int]]:
    """Micro-batch and accumulation pairs that make the published batch."""
    batch, micro, count = whole(row, "global_batch_seqs"), whole(row, "micro_batch"), whole(row, "grad_accum")
    if batch is None:
        if micro is None:
            raise Unread("neither batch nor micro-batch is published")
        assumed.append("accumulation")
        return [micro] * 2, [1, 8]
    share, left = divmod(batch, dp)
    if left or share < 1:
        raise Unread("the batch does not divide over the replicas")
    if row.get("micro_batch") and (micro is None or share % micro):  # a part of a sequence, or counted per core
        micro = share // count if count and share % count == 0 else share
    elif micro is not None and count == 1 and share != micro:
        micro = share
    if micro is not None:
        return [micro], [share // micro]
    if count is not None and share % count == 0:
        return [share // count], [count]
    assumed.append("micro-batch")
    sizes = [size for size in (1, 2, 4) if share % size == 0]
    return sizes, [share // size for size in sizes]


def row_sharding(row: Mapping[str, str], stack: Stack, dp: int) -> tuple[int, int | None]:
    """The ZeRO stage and the group it splits over; FSDP columns say how many ranks share a copy (-1: all)."""
    text, fsdp = row.get("zero", "").lower(), row.get("fsdp", "").lower()
    stage = number(row, "zero")
    zero = stack.zero if stage is None else int(stage)
    if text == "true":
        zero = max(stack.zero, 1)
    shard: int | None = None
    if fsdp and fsdp not in ("0", "1"):
        zero = 3
        size = number(row, "fsdp")
        if size is not None and 1 < size < dp and dp % size == 0:
            shard = int(size)
    if "hsdp" in fsdp or "in node" in text:
        zero, shard = 3, min(8, dp)
    return min(zero, 3), shard


def recompute_modes(text: str, stack: Stack) -> tuple[str, ...]:
    """What a source's words can mean; where it says nothing, what recipes of the stack may do."""
    words = text.lower()
    if not words:
        return stack.recomputes
    if words.startswith("full block"):
        return ("selective", "full")
    if words.startswith("full"):
        return ("full",)
    if words.startswith(("none", "null", "false")):
        return ("none",)
    return ("selective",)
