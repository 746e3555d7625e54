"""Measured training steps in the common schema: a CSV row per configuration, blank where a source does not say.

A row becomes the jobs it can mean.  What is published is kept; recomputation, interleaving, micro-batch and
accumulation that are not published are filled in with the plausible values, and the row says which.  A row that cannot
be evaluated says why.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from scalecurve.document import JsonRecord
from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.hardware.accelerators import Accelerator, accelerator_in
from scalecurve.training.answers.evaluation import StepOutcome, TrainingJob
from scalecurve.training.answers.measured_layouts import Impossible, Unread, row_layouts, shards_weights, splits_model
from scalecurve.training.inputs.capabilities import capability_faults
from scalecurve.training.inputs.cluster import Cluster, cluster_preset
from scalecurve.training.inputs.layout import layout_faults
from scalecurve.training.inputs.measured_table import (
    NEEDED,
    SCHEMA,
    TIMES,
    batch_tokens,
    number,
    plain_row,
    read_table,
    whole,
)
from scalecurve.training.inputs.stack import ONLY_STACKS, Stack, read_stack, unseen_stack, usual_stack
from scalecurve.training.inputs.transformer import (
    DEFAULT_VOCABULARY,
    Transformer,
    models,
    preset_of,
    without_punctuation,
)
from scalecurve.training.inputs.written_network import network_rate
from scalecurve.words import workers_text

GIB = 2.0**30
SIZE_COLUMNS = {
    "hidden": "hidden", "layers": "layers", "heads": "heads", "kv_heads": "kv_heads", "head_dim": "head", "ffn": "ffn",
    "vocab": "vocab", "experts": "experts", "topk": "top_k", "moe_ffn": "expert_ffn",
}  # fmt: skip
STACK_WORDS = (  # the first word that a framework's name has decides; punctuation does not count
    ("nanotron", "nanotron"), ("primus", "primus"), ("maxtext", "maxtext"), ("paxml", "maxtext"), ("pax", "maxtext"),
    ("nemo", "nemo"), ("megatrondeepspeed", "megatron-deepspeed"), ("deepspeedmegatron", "megatron-deepspeed"),
    ("gptneox", "megatron-deepspeed"), ("haillm", "hai-llm"), ("megatron", "megatron-core"), ("mcore", "megatron-core"),
    ("megascale", "megatron-core"), ("torchtitan", "torchtitan"), ("fsdp", "fsdp"), ("llmfoundry", "fsdp"),
    ("composer", "fsdp"), ("litgpt", "fsdp"), ("olmocore", "fsdp"), ("deepspeed", "deepspeed-zero3"),
    ("zero3", "deepspeed-zero3"), ("levanter", "maxtext"), ("axlearn", "maxtext"),
)  # fmt: skip
FUSED = re.compile(r"flash|sdpa|cudnn|splash|fused|\bfa\d?\b|\bte\b", re.I)
UNFUSED = re.compile(r"unfused|eager|naive|baddbmm|no.?flash", re.I)
EARLY_GAUDI = re.compile(r"mlperf.*3\.0", re.I)  # run_gpt.sh of training_results_v3.0: plain attention, whole sequences
NVIDIA = re.compile(r"^g?b\d")
FOUR_BITS = re.compile(r"v?(5\.[1-9]|[6-9]\.)")  # rounds of MLPerf with submissions in four bits
RECIPE = re.compile(r"mxfp\d|nvfp4|current|delayed|block\w*|row.?wise|tensor.?wise|\bcs\b|\bds\b|\bsc\b")
DOUBTFUL = re.compile(r"\bCHECK\b")
FAILED = re.compile(r"fail|\boom\b|out of memory|crash|did not run", re.I)
TOLD = (*TIMES, "note", "step_ms", "steps_per_s", "tokens_per_s", "samples_per_s", "mem_gb")  # where a failure is told
USUAL_SEQS = (2048, 4096, 8192)  # where a source gives a rate and no sequence length
USUAL_NODE = 16  # accelerators of the largest server; larger fast domains are racks and pods
OPEN_LAYOUT = 0.3  # half of the range of log(step) over the layouts that one job may have had
LARGE_VOCABULARY = 65536  # a model with more words is of a time when gates were usual (Llama 3.2 1B: ffn = 4 hidden)
HOPPER = 900e12  # FLOP/s; from these accelerators on Megatron-LM is its core
VOCABULARIES = (
    32000, 32768, 50304, 51200, 65024, 92544, 100352, 103168, 128256, 131072, 151936, 201088, 256000, 262144,
)  # fmt: skip
SAME_FLOP = 0.01  # of the work of a token, by which a vocabulary is told
SAME_PEAK = 0.05  # of TFLOP/s over MFU, both rounded, from a peak
PUBLISHED_SHARE = 0.3  # a parameter count this far off the sizes is that of another (whole) model


TIMED_STEPS = 20  # of a run that is made to be measured
WORTH = 0.98  # of the interval, below which a run is worth its price
AS_TELLING = 1.05  # times the narrowest interval, up to which the cheapest run is taken


@dataclass(frozen=True, kw_only=True)
class NextRun(JsonRecord):
    """The run that would narrow the interval of another step most: half widths of it before and after."""

    outcome: StepOutcome
    before: float
    after: float

    JSON = """
        gpus=outcome.gpus layout=outcome.layout step_seconds=outcome.seconds usd half_width_before=before
        half_width_after=after"""

    @property
    def usd(self) -> float | None:
        return self.outcome.job.cluster.dollars(self.outcome.gpus, TIMED_STEPS * self.outcome.seconds)

    @property
    def sentence(self) -> str:
        """`time 20 steps on 64 GPUs ($3) and give them (--measured runs.csv): a factor of 1.35 becomes 1.15`."""
        counted = workers_text(self.outcome.gpus, self.outcome.unit)
        price = "" if self.usd is None else f" (${self.usd:,.0f})" if self.usd >= 1.0 else " (under $1)"
        return (
            f"time {TIMED_STEPS} steps on {counted}{price} and give them (--measured runs.csv): "
            f"a factor of {math.exp(self.before):.2f} becomes {math.exp(self.after):.2f}"
        )


def next_run(asked: StepOutcome, runs: Iterable[StepOutcome]) -> NextRun | None:
    """The cheapest of the runs that narrow the interval of a step about as much as any, on fewer accelerators where
    there are such; None where none is worth it."""
    some = list(runs)
    smaller = [run for run in some if run.gpus < asked.gpus]
    found = [
        NextRun(outcome=run, before=asked.half_width, after=asked.half_width_after(run)) for run in smaller or some
    ]
    least = min((one.after for one in found), default=math.inf)
    telling = [one for one in found if one.after <= min(AS_TELLING * least, WORTH * one.before)]
    return min(telling, key=lambda one: one.outcome.gpus * one.outcome.seconds, default=None)


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
    spread: float = 0.0  # half of the range of log(seconds) that what is not published leaves open
    reason: str | None = None
    impossible: bool = False  # the planner refuses the layout
    recipe: str = ""  # what its source says of the format: formats of eight bits differ
    doubtful: bool = False  # its collector notes that the source contradicts itself

    @property
    def configuration(self) -> tuple[object, ...]:
        """Equal for repeats of one configuration."""
        jobs = (
            (job.model, job.stack.name, job.cluster.name, job.cluster.outer_rate, job.layout, job.seq, job.precision,
             job.adapter)
            for job in self.jobs
        )  # fmt: skip
        return (self.source, self.recipe, *jobs)


def read_measurements(paths: Iterable[Path], cluster: Cluster | None = None) -> list[Measurement]:
    """Every row of these files; the source of a row is the name of its file.  `cluster` is where rows of its
    accelerator ran that do not tell their network."""
    rows: list[Measurement] = []
    faults: list[Fault] = []
    missing, unreadable = ", ".join(NEEDED), False
    for path in paths:
        source = path.stem.removesuffix("_failed")
        try:
            lines = read_table(path)
        except FormatError as problem:
            faults += [replace(fault, where=str(path)) for fault in problem.faults]
            unreadable = True
            continue
        if set(NEEDED) & set[str]().union(*lines):
            rows += [measurement(line, source, cluster) for line in lines]
            continue
        rows += [Measurement(source=source, label=source, reason=f"no column {missing}") for _ in lines]
        hint = f"a header with {', '.join(SCHEMA)} and step_s or tokens_per_s_per_accel"
        faults.append(Fault("columns missing", str(path), missing, hint))
    if unreadable or (faults and all(row.reason for row in rows)):
        raise FormatError(faults, subject="measured steps")
    return rows


def measurement(row: Mapping[str, Any], source: str, cluster: Cluster | None = None) -> Measurement:
    """One row as the jobs it can mean, on `cluster` where it has that accelerator and does not tell its network."""
    cells = plain_row(row)
    label = f"{cells.get('model', '')} on {cells.get('accels', '')} x {cells.get('accelerator', '')}"
    timed = any(number(cells, name) is not None for name in TIMES)
    failed = not timed and bool(FAILED.search(" ".join(cells.get(name, "") for name in TOLD)))
    try:
        jobs, assumed = row_jobs(cells, cluster)
        seconds, spread = (None, 0.0) if failed else measured_seconds(cells, jobs[0])
    except Unread as why:
        impossible = isinstance(why, Impossible)
        return Measurement(source=source, label=label, failed=failed, reason=str(why), impossible=impossible)
    except InputError as problem:
        return Measurement(source=source, label=label, failed=failed, reason=problem.faults[0].message)
    held = number(cells, "mem_gb")
    return Measurement(
        source=source, label=f"{label}: {jobs[0].layout.short()}", jobs=jobs, seconds=seconds, failed=failed,
        memory=None if held is None else held * GIB, assumed=(*assumed, *(["FLOP count"] if spread else [])),
        recipe=" ".join(RECIPE.findall(cells.get("precision", "").lower())),
        doubtful=bool(DOUBTFUL.search(cells.get("note", ""))),
        spread=math.hypot(spread, OPEN_LAYOUT if "layout" in assumed else 0.0),
    )  # fmt: skip


def measured_seconds(row: Mapping[str, str], job: TrainingJob) -> tuple[float, float]:
    """The step, or what tokens per second, TFLOP/s or MFU make of it; and half of the range of its logarithm, where
    FLOP may be counted with all scores of the attention or with the causal half."""
    seconds, rate = number(row, "step_s"), number(row, "tokens_per_s_per_accel")
    accels, tokens = number(row, "accels") or 1.0, job.layout.sequences * job.seq
    if seconds is None and rate is not None and rate > 0:
        seconds = tokens / (rate * accels)
    spread = 0.0
    if seconds is None and (speed := row_flop_rate(row, job)):
        shape = job.model.shape(job.seq)
        whole_count = float(shape.flop_per_token)
        spread = math.log(whole_count / (whole_count - float(shape.score_flop) / 2.0)) / 2.0
        seconds = whole_count * math.exp(-spread) * tokens / (speed * accels)
    if seconds is None or seconds <= 0:
        raise Unread("no step time measured")
    return seconds, spread


def row_flop_rate(row: Mapping[str, str], job: TrainingJob) -> float | None:
    """FLOP/s of one accelerator, as published or as a percentage of its peak."""
    tflops, used = number(row, "tflops_per_accel"), number(row, "mfu_pct")
    if tflops:
        return tflops * 1e12
    return None if not used else used / 100.0 * job.cluster.peak(job.precision)


def row_jobs(row: Mapping[str, str], machine: Cluster | None = None) -> tuple[tuple[TrainingJob, ...], tuple[str, ...]]:
    """The jobs a row can mean, and the names of what was not published."""
    chip, accels = row_accelerator(row.get("accelerator", "")), whole(row, "accels")
    if accels is None:
        raise Unread("the number of accelerators is not published")
    assumed: list[str] = []
    stack = row_stack(row, chip, assumed)
    seqs = row_seqs(row, accels, assumed)
    model = row_model(row, seqs[0])
    if not row.get("vocab") and model.name not in models():
        model = with_vocabulary(row, model)
        assumed.append("vocabulary")
    cluster, ranks = row_cluster(row, chip, accels, machine)
    precisions = row_precisions(row, cluster, stack, assumed)
    adapter, optimizer = "lora" in row.get("model", "").lower(), row_optimizer(row)
    jobs: list[TrainingJob] = []
    for place, seq in enumerate(seqs):
        shape, noted = replace(model, seq=seq), assumed if place == 0 else []
        layouts = row_layouts(row, stack, shape, ranks, seq, cluster, precisions[-1], noted)
        if usual_stack(chip) not in ONLY_STACKS and not any(
            not capability_faults(stack, one, shape, kind) for one, kind in product(layouts, precisions)
        ):  # whatever it calls itself, it is no stack that is known here
            assumed.append("stack")
            stack = unseen_stack(chip, sharded=not splits_model(row))
        jobs += [
            TrainingJob(model=shape, cluster=cluster, stack=stack, layout=one, seq=seq, precision=kind,
                        adapter=adapter, optimizer=optimizer)
            for one, kind in product(layouts, precisions)
            if not layout_faults(one, shape)
        ]  # fmt: skip
        if not jobs:
            raise Impossible(layout_faults(layouts[0], shape)[0].message)
    return tuple(jobs), tuple(dict.fromkeys(assumed))


def row_optimizer(row: Mapping[str, str]) -> str:
    """How optimiser states are kept, by a word of the row."""
    said = re.search(r"states in \w+", row.get("note", ""))
    words = f"{row.get('zero', '')} {row.get('optimizer', '')} {said[0] if said else ''}"
    kinds = {r"offload|\bcpu\b": "host", r"8.?bit": "8bit", r"mu.?b(?:float|f)16": "mixed", r"bf16|bfloat16": "bf16"}
    return next((kind for pattern, kind in kinds.items() if re.search(pattern, words, re.I)), "adamw")


def row_seqs(row: Mapping[str, str], accels: int, assumed: list[str]) -> tuple[int, ...]:
    """The sequence length: published, what batch, rate and step make of it, or the usual ones where only a rate per
    token was measured."""
    seq = whole(row, "seq")
    if seq is not None:
        return (seq,)
    step, rate = number(row, "step_s"), number(row, "tokens_per_s_per_accel")
    batch = None if batch_tokens(row) else whole(row, "global_batch_seqs")
    if step and rate and batch:
        return (max(round(rate * accels * step / batch / 64.0) * 64, 1),)
    if step is not None or rate is None or (batch is None and whole(row, "micro_batch") is None):
        raise Unread("the sequence length is not published")
    assumed.append("sequence length")
    return USUAL_SEQS


def row_accelerator(text: str) -> Accelerator:
    if not text:
        raise Unread("the accelerator is not named")
    chip = accelerator_in(text)
    if chip is None:
        raise Unread(f"no catalogue entry for {text}")
    return chip


def row_cluster(
    row: Mapping[str, str], chip: Accelerator, accels: int, machine: Cluster | None = None
) -> tuple[Cluster, int]:
    """The cluster and its ranks, on the network that the row names; where ranks are halves of a chip (NeuronCores,
    GCDs) the accelerator is halved."""
    cluster = machine if machine is not None and machine.accelerator.name == chip.name else cluster_preset(chip.name)
    node = whole(row, "node_size")
    if usual_stack(chip) not in ONLY_STACKS:
        rate = network_rate(row.get("network", ""), chip, node or min(chip.node, USUAL_NODE))
        cluster = cluster if rate is None else replace(cluster, outer_rate=rate)
    if (
        node is not None and chip.node <= USUAL_NODE and node <= USUAL_NODE
    ):  # a rack's fabric reaches beyond its servers
        cluster = replace(cluster, node=node)
    degrees = [whole(row, name, 1) or 1 for name in ("tp", "pp", "cp", "dp", "fsdp")]
    ranks = degrees[0] * degrees[1] * degrees[2] * degrees[3] * degrees[4]
    if "gcd" in row.get("accelerator", "").lower() and "gcd" not in chip.name:
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


def row_stack(row: Mapping[str, str], chip: Accelerator, assumed: list[str]) -> Stack:
    """The stack by accelerator, by the rules of MLPerf, or by a word of the framework's name.  A framework that is not
    calibrated here runs as the usual kind for its layout, with the interval of a stack that was never seen."""
    usual = usual_stack(chip)
    if usual in ONLY_STACKS:  # one stack, whatever it is called
        stack = read_stack(usual)
        first = usual == "gaudi" and EARLY_GAUDI.search(row.get("release", "")) is not None
        return replace(stack, fused_attention=False, splits_sequence=False) if first else stack
    framework = row.get("framework", "")
    if row.get("release", "").lower().startswith("mlperf"):
        return read_stack("mlperf")
    text = without_punctuation(framework or row.get("beside", ""))  # a caption or the file's name may tell
    name = next((name for word, name in STACK_WORDS if word in text), None)
    if text == "megatronlm" and chip.peak < HOPPER and not FUSED.search(row.get("attention_impl", "")):
        name = "megatron-lm"  # of the time before its core
    try:
        stack = read_stack(name or framework or "none")
    except InputError:
        assumed.append("stack")
        sharded = not splits_model(row) and (shards_weights(row) or usual == "megatron-core")
        stack = unseen_stack(chip, sharded=sharded)
    if "liger" in text:  # output layer and loss in parts: no scores are kept
        stack = replace(stack, logit_bytes=0.0)
    words = row.get("attention_impl", "")
    return replace(stack, fused_attention=not UNFUSED.search(words)) if FUSED.search(words) else stack


def row_model(row: Mapping[str, str], seq: int) -> Transformer:
    """The published sizes over those of the preset of that name; gate and tie from the published parameter count."""
    name = re.sub(r"[-_ ]?(lora|sft|qlora|full|proxy[-_ ]?\d*l?)$", "", row.get("model", "").lower())
    preset = preset_of(re.sub(r"^pax-|-\d+l$", "", name).replace("gpt175b", "gpt3-175b"))
    sizes: dict[str, Any] = {
        ours: value for theirs, ours in SIZE_COLUMNS.items() if (value := whole(row, theirs)) is not None
    }
    if preset is not None:
        own = {key: value for key, value in sizes.items() if key not in ("head", "expert_ffn", "kv_heads")
               or not preset.kv_rank}  # fmt: skip
        if preset.is_moe and "expert_ffn" not in sizes:
            own.pop("ffn", None)
        return replace(preset, **(own | {"seq": seq, "positions": seq if preset.positions else 0}))
    return model_of_sizes(name, sizes, seq, number(row, "params_b") if row.get("vocab") else None)


def model_of_sizes(name: str, sizes: dict[str, Any], seq: int, billions: float | None) -> Transformer:
    """A model of published sizes, gated and tied as its published count of parameters tells."""
    if not {"hidden", "layers", "heads"} <= set(sizes):
        raise Unread("the sizes of the model are not published")
    if sizes["hidden"] > sizes["heads"] and sizes["hidden"] % sizes["heads"]:
        sizes.setdefault("head", sizes["hidden"] // sizes["heads"])
    if "experts" in sizes:
        sizes.setdefault("expert_ffn", sizes.get("ffn", 4 * sizes["hidden"]))
    sizes.setdefault("vocab", DEFAULT_VOCABULARY)
    plain = sizes.get("ffn", 4 * sizes["hidden"]) == 4 * sizes["hidden"] and sizes["vocab"] <= LARGE_VOCABULARY
    gated = not plain or "experts" in sizes
    likely, *others = (
        Transformer(name=name, seq=seq, gated=gate, tied=tie, **sizes)
        for gate, tie in ((gated, False), (gated, True), (not gated, False), (not gated, True))
    )
    if not billions:
        return likely
    gaps = {model: abs(model.parameters / (billions * 1e9) - 1.0) for model in (likely, *others)}
    best = min(gaps, key=lambda model: gaps[model])
    return best if gaps[best] < PUBLISHED_SHARE else likely


def with_vocabulary(row: Mapping[str, str], model: Transformer) -> Transformer:
    """The model with the vocabulary that rate and FLOP/s of the row tell: FLOP of a token are their ratio, with all
    scores of the attention or the causal half.  As it is where they tell none."""
    rate, speed = number(row, "tokens_per_s_per_accel"), number(row, "tflops_per_accel")
    if not rate or not speed:
        return model
    gaps: dict[int, float] = {}
    for words in VOCABULARIES:
        shape = replace(model, vocab=words).shape(model.seq)
        for halved in (0.0, 0.5):
            flop = float(shape.flop_per_token) - halved * float(shape.score_flop)
            gap = abs(math.log(flop * rate / (speed * 1e12)))
            gaps[words] = min(gap, gaps.get(words, math.inf))
    best = min(gaps, key=lambda words: gaps[words])
    return replace(model, vocab=best) if gaps[best] < SAME_FLOP else model


def row_precisions(row: Mapping[str, str], cluster: Cluster, stack: Stack, assumed: list[str]) -> tuple[str, ...]:
    """What the products can run in: as published, else what the peak tells that the authors count against, else any."""
    text, chip = row.get("precision", "").lower(), cluster.accelerator
    if text and text not in ("-", "n/a", "na", "unknown"):
        return (said_precision(text, chip),)
    if chip.fp8_peak is None:
        return ("bf16",)
    rate, used = number(row, "tflops_per_accel"), number(row, "mfu_pct")
    peak = 1e14 * rate / used if rate and used else 0.0
    told = [kind for kind in ("bf16", "fp8") if abs(peak / cluster.peak(kind) - 1.0) < SAME_PEAK]
    if len(told) == 1:
        return (told[0],)
    assumed.append("precision")
    if stack.name != "mlperf":
        return ("bf16", "fp8")
    four = "fp4" in chip.peaks and NVIDIA.search(chip.name) and FOUR_BITS.search(row.get("release", ""))
    return ("nvfp4" if four else "fp8",)  # submissions use the fastest that their round has


def said_precision(text: str, chip: Accelerator) -> str:
    """The precision of the products by the words of a table."""
    if re.search(r"int8|fp8|float8|e4m3|e5m2|fp4|e2m1", text):
        if "int8" in text or chip.fp8_peak is None:
            raise Unread(f"{chip.name} has no peak for {text}")
        return "nvfp4" if re.search(r"fp4|e2m1", text) and "fp4" in chip.peaks else "fp8"
    if re.search(r"fp32|tf32|float32", text) and not re.search(r"16|mixed|amp|auto", text):
        raise Unread(f"{text} recipes are not calibrated")
    return "bf16"
