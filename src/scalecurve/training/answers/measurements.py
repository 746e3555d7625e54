"""Measured training steps in the common schema: a CSV row per configuration, blank where a source does not say.

A row becomes the jobs it can mean.  What is published is kept; recomputation, interleaving, micro-batch and
accumulation that are not published are filled in with the plausible values, and the row says which.  A row that cannot
be evaluated says why.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.hardware.accelerators import Accelerator, accelerator_in
from scalecurve.training.answers.evaluation import TrainingJob
from scalecurve.training.inputs.cluster import Cluster, cluster_preset
from scalecurve.training.inputs.layout import Layout, layout_faults
from scalecurve.training.inputs.stack import Stack, calibration_of, read_stack, unseen_stack, usual_stack
from scalecurve.training.inputs.transformer import DEFAULT_VOCABULARY, Transformer, preset_of, without_punctuation

SCHEMA = ("model", "hidden", "layers", "seq", "global_batch_seqs", "tp", "pp", "accelerator", "accels", "framework")
NEEDED = ("model", "accelerator", "accels")
TIMES = ("step_s", "tokens_per_s_per_accel", "tflops_per_accel", "mfu_pct")
OTHER_HEADINGS = {  # how other collectors head the columns of the schema
    "hidden": "hidden_size d_model", "layers": "num_layers n_layers num_hidden_layers", "params_b": "params parameters",
    "heads": "num_heads n_heads num_attention_heads", "kv_heads": "num_kv_heads n_kv_heads num_key_value_heads",
    "ffn": "ffn_hidden_size intermediate_size", "moe_ffn": "moe_intermediate_size moe_ffn_hidden_size",
    "vocab": "vocab_size", "experts": "num_experts n_experts", "topk": "top_k moe_topk",
    "seq": "seq_len seq_length sequence_length", "global_batch_seqs": "global_batch global_batch_size gbs",
    "micro_batch": "micro_batch_size mbs local_batch local_batch_size",
    "parallelism": "layout parallelization strategy",
    "grad_accum": "gradient_accumulation gradient_accumulation_steps ga",
    "vp": "vpp virtual_pipeline interleave", "zero": "zero_stage", "sp": "sequence_parallel",
    "recompute": "activation_checkpointing remat activation_recompute", "precision": "dtype",
    "accelerator": "gpu gpu_type device hardware chip", "accels": "gpus num_gpus n_gpus world_size chips num_devices",
    "node_size": "gpus_per_node", "framework": "stack software library",
    "step_s": "step_time step_time_s step_seconds seconds_per_step iteration_time_s iter_time_s",
    "step_ms": "step_time_ms iteration_time_ms iter_ms iteration_ms",
    "tokens_per_s_per_accel": "tokens_per_s_per_gpu tokens_per_sec_per_gpu tokens_s_gpu tokens_per_second_per_gpu tgs",
    "tokens_per_s": "tokens_per_sec tokens_per_second", "tflops_per_accel": "tflops_per_gpu tflops tflop_s_gpu",
    "mfu_pct": "mfu mfu_percent", "mem_gb": "memory_gb peak_mem_gb mem_gib peak_memory_gb",
    "note": "notes comment status",
}  # fmt: skip
HEADINGS = {other: ours for ours, others in OTHER_HEADINGS.items() for other in others.split()}
UNITS: Mapping[str, Mapping[str, float]] = {  # what the word after a number makes of it; "" holds for all other columns
    "": {"k": 1e3, "ki": 1024.0, "m": 1e6, "mi": 2.0**20},
    "seq": {"k": 1024.0, "ki": 1024.0, "m": 2.0**20},
    "step_s": {"ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0},
    "mem_gb": {"mb": 1.0 / 1024.0, "mib": 1.0 / 1024.0, "tb": 1024.0},
    "params_b": {"m": 1e-3, "t": 1e3},
}
GIB = 2.0**30
LARGEST = 1e15  # no cell of a table means a number above this
SIZE_COLUMNS = {
    "hidden": "hidden", "layers": "layers", "heads": "heads", "kv_heads": "kv_heads", "head_dim": "head", "ffn": "ffn",
    "vocab": "vocab", "experts": "experts", "topk": "top_k", "moe_ffn": "expert_ffn",
}  # fmt: skip
STACK_WORDS = (  # the first word that a framework's name has decides; punctuation does not count
    ("nanotron", "nanotron"), ("primus", "primus"), ("maxtext", "maxtext"), ("paxml", "maxtext"), ("pax", "maxtext"),
    ("nemo", "nemo"), ("megatrondeepspeed", "megatron-deepspeed"), ("deepspeedmegatron", "megatron-deepspeed"),
    ("gptneox", "megatron-deepspeed"), ("haillm", "hai-llm"), ("megatron", "megatron-core"), ("mcore", "megatron-core"),
    ("megascale", "megatron-core"), ("torchtitan", "torchtitan"), ("fsdp", "fsdp"), ("llmfoundry", "fsdp"),
    ("composer", "fsdp"), ("deepspeed", "deepspeed-zero3"), ("zero3", "deepspeed-zero3"),
)  # fmt: skip
FUSED = re.compile(r"flash|sdpa|cudnn|splash|fused|\bfa\d?\b|\bte\b", re.I)
UNFUSED = re.compile(r"unfused|eager|naive|baddbmm|no.?flash", re.I)
FAILED = re.compile(r"fail|\boom\b|out of memory|crash|did not run", re.I)
NO = ("0", "no", "none", "null", "false", "off", "n/a", "na", "-", "disabled")
YES = ("yes", "true", "on", "enabled")
USUAL_SEQS = (2048, 4096, 8192)  # where a source gives a rate and no sequence length
USUAL_NODE = 16  # accelerators of the largest server; larger fast domains are racks and pods
OPEN_LAYOUT = 0.3  # half of the range of log(step) over the layouts that one job may have had
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
    spread: float = 0.0  # half of the range of log(seconds) that what is not published leaves open
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
            lines = read_lines(path)
        except (OSError, UnicodeDecodeError, csv.Error) as problem:
            faults.append(Fault("cannot read measured steps", str(path), str(problem)))
            continue
        names = {name for line in lines for name in line}
        missing = [name for name in NEEDED if name not in names]
        if missing:
            hint = f"a header with {', '.join(SCHEMA)} and step_s or tokens_per_s_per_accel"
            faults.append(Fault("columns missing", str(path), ", ".join(missing), hint))
            continue
        source = path.stem.removesuffix("_failed")
        rows += [measurement(line, source) for line in lines if any(line.values())]
    if faults:
        raise FormatError(faults, subject="measured steps")
    return rows


def read_lines(path: Path) -> list[dict[str, str]]:
    """The cells of a CSV by the columns of the schema, separated by commas, semicolons or tabs; with semicolons a
    comma may be the decimal point."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        separator = max(",;\t", key=first.count)
        file.seek(0)
        lines = [plain_row(line) for line in csv.DictReader(file, delimiter=separator)]
    if separator == ";":
        lines = [{name: re.sub(r"^(-?\d+),(\d+)$", r"\1.\2", cell) for name, cell in one.items()} for one in lines]
    used = [value for line in lines if (value := number(line, "mfu_pct")) is not None]
    if used and max(used) <= 1.0:  # a column of shares, not of percent
        lines = [line | {"mfu_pct": repr(100.0 * (number(line, "mfu_pct") or 0.0))} for line in lines]
    return lines


def plain_row(row: Mapping[str, Any]) -> dict[str, str]:
    """One row under the schema's headings, its cells without blanks around them; times in ms and rates of the whole job
    become those of the schema."""
    cells: dict[str, str] = {}
    for key, value in row.items():
        heading = re.sub(r"[^a-z0-9]+", "_", str(key or "").lower()).strip("_")
        heading = HEADINGS.get(heading, heading)
        if heading and not cells.get(heading):
            cells[heading] = "" if value is None else str(value).strip()
    for name, value in re.findall(r"\b(tp|pp|vp|cp|ep|dp|fsdp)\s*[=:]?\s*(\d+)", cells.get("parallelism", "").lower()):
        cells[name] = cells.get(name) or value
    milliseconds, rate, accels = (number(cells, name) for name in ("step_ms", "tokens_per_s", "accels"))
    if not cells.get("step_s") and milliseconds is not None:
        cells["step_s"] = repr(milliseconds / 1e3)
    if not cells.get("tokens_per_s_per_accel") and rate is not None and accels:
        cells["tokens_per_s_per_accel"] = repr(rate / accels)
    return cells


def measurement(row: Mapping[str, Any], source: str) -> Measurement:
    """One row as the jobs it can mean."""
    cells = plain_row(row)
    label = f"{cells.get('model', '')} on {cells.get('accels', '')} x {cells.get('accelerator', '')}"
    timed = any(number(cells, name) is not None for name in TIMES)
    failed = not timed and bool(FAILED.search(f"{cells.get('step_s', '')} {cells.get('note', '')}"))
    try:
        jobs, assumed = row_jobs(cells)
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
        spread=math.hypot(spread, OPEN_LAYOUT if "layout" in assumed else 0.0),
    )  # fmt: skip


def number(row: Mapping[str, str], name: str) -> float | None:
    """The number a cell starts with, in the unit of its column; None where it is blank or a word."""
    pattern = r"[~≈<>=]*\s*(-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d*)(?:[.,]\d+)?(?:e[-+]?\d+)?)\s*([a-zµ]*)"
    match = re.match(pattern, (row.get(name) or "").lower())
    if match is None or not re.search(r"\d", match[1]):
        return None
    grouped = re.fullmatch(r"-?\d{1,3}(,\d{3})+(\..*)?", match[1])
    value = float(match[1].replace(",", "" if grouped else ".")) * UNITS.get(name, UNITS[""]).get(match[2], 1.0)
    return value if abs(value) < LARGEST else None


def whole(row: Mapping[str, str], name: str, default: int | None = None) -> int | None:
    value = number(row, name)
    return default if value is None or value < 1 or value != int(value) else int(value)


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


def row_jobs(row: Mapping[str, str]) -> tuple[tuple[TrainingJob, ...], tuple[str, ...]]:
    """The jobs a row can mean, and the names of what was not published."""
    chip, accels = row_accelerator(row["accelerator"]), whole(row, "accels")
    if accels is None:
        raise Unread("the number of accelerators is not published")
    if re.search(r"offload|\bcpu\b", f"{row.get('zero', '')} {row.get('optimizer', '')}", re.I):
        raise Unread("optimiser states on the host are not modelled")
    assumed: list[str] = []
    stack = row_stack(row, chip, assumed)
    seqs = row_seqs(row, accels, assumed)
    model = row_model(row, seqs[0])
    cluster, ranks = row_cluster(row, chip, accels)
    precisions = row_precisions(row, cluster)
    if len(precisions) > 1:
        assumed.append("precision")
        precisions = precisions[-1:] if stack.name == "mlperf" else precisions  # submissions use the fastest there is
    adapter = "lora" in row["model"].lower()
    jobs: list[TrainingJob] = []
    for place, seq in enumerate(seqs):
        shape, noted = replace(model, seq=seq), assumed if place == 0 else []
        layouts = row_layouts(row, stack, shape, ranks, seq, cluster, noted)
        jobs += [
            TrainingJob(model=shape, cluster=cluster, stack=stack, layout=one, seq=seq, precision=kind, adapter=adapter)
            for one, kind in product(layouts, precisions)
            if not layout_faults(one, shape)
        ]
        if not jobs:
            raise Impossible(layout_faults(layouts[0], shape)[0].message)
    return tuple(jobs), tuple(dict.fromkeys(assumed))


def row_seqs(row: Mapping[str, str], accels: int, assumed: list[str]) -> tuple[int, ...]:
    """The sequence length: published, what batch, rate and step make of it, or the usual ones where only a rate per
    token was measured."""
    seq = whole(row, "seq")
    if seq is not None:
        return (seq,)
    step, rate = number(row, "step_s"), number(row, "tokens_per_s_per_accel")
    batch = whole(row, "global_batch_seqs")
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


def row_cluster(row: Mapping[str, str], chip: Accelerator, accels: int) -> tuple[Cluster, int]:
    """The cluster and its ranks; where ranks are halves of a chip (NeuronCores, GCDs) the accelerator is halved."""
    cluster = cluster_preset(chip.name)
    node = whole(row, "node_size")
    if (
        node is not None and chip.node <= USUAL_NODE and node <= USUAL_NODE
    ):  # a rack's fabric reaches beyond its servers
        cluster = replace(cluster, node=node)
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


def row_stack(row: Mapping[str, str], chip: Accelerator, assumed: list[str]) -> Stack:
    """The stack by accelerator, by the rules of MLPerf, or by a word of the framework's name.  A framework that is not
    calibrated here runs as the usual kind for its layout, with the interval of a stack that was never seen."""
    usual = usual_stack(chip)
    if usual in ("gaudi", "neuron", "maxtext"):  # one stack, whatever it is called
        return read_stack(usual)
    framework = row.get("framework", "")
    if row.get("release", "").lower().startswith("mlperf"):
        return read_stack("mlperf")
    text = without_punctuation(framework)
    name = next((name for word, name in STACK_WORDS if word in text), None)
    try:
        stack = read_stack(name or framework or "none")
    except InputError:
        assumed.append("stack")
        sharded = not splits_model(row) and (shards_weights(row) or usual == "megatron-core")
        stack = unseen_stack(chip, sharded=sharded)
    words = row.get("attention_impl", "")
    fused = stack.fused_attention if not words else bool(FUSED.search(words)) and not UNFUSED.search(words)
    return stack if fused == stack.fused_attention or not FUSED.search(words) else replace(stack, fused_attention=fused)


def splits_model(row: Mapping[str, str]) -> bool:
    return any((whole(row, name, 1) or 1) > 1 for name in ("tp", "pp", "ep"))


def shards_weights(row: Mapping[str, str]) -> bool:
    """Whether a row says that weights are sharded: a ZeRO stage 3, or FSDP."""
    fsdp = row.get("fsdp", "").lower()
    return stage_of(row.get("zero", "")) == 3 or (bool(fsdp) and fsdp not in (*NO, "1"))


def stage_of(text: str) -> int | None:
    """The ZeRO stage of a cell: `1`, `ZeRO-3`, `stage 2`, `3 in node`."""
    match = re.search(r"[0-3]", text)
    return int(match[0]) if match else 0 if text.lower() in NO else None


def row_model(row: Mapping[str, str], seq: int) -> Transformer:
    """The published sizes over those of the preset of that name; gate and tie from the published parameter count."""
    name = re.sub(r"[-_ ]?(lora|sft|qlora|full|proxy[-_ ]?\d*l?)$", "", row["model"].lower())
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
    if not {"hidden", "layers", "heads"} <= set(sizes):
        raise Unread("the sizes of the model are not published")
    if sizes["hidden"] > sizes["heads"] and sizes["hidden"] % sizes["heads"]:
        sizes.setdefault("head", sizes["hidden"] // sizes["heads"])
    if "experts" in sizes:
        sizes.setdefault("expert_ffn", sizes.get("ffn", 4 * sizes["hidden"]))
    sizes.setdefault("vocab", DEFAULT_VOCABULARY)
    gated = sizes.get("ffn", 4 * sizes["hidden"]) != 4 * sizes["hidden"] or "experts" in sizes
    models_it_can_be = [
        Transformer(name=name, seq=seq, gated=gate, tied=tie, **sizes)
        for gate, tie in ((gated, False), (gated, True), (not gated, False), (not gated, True))
    ]
    count = number(row, "params_b")
    if not count or not row.get("vocab"):
        return models_it_can_be[0]
    best = min(models_it_can_be, key=lambda model: abs(model.parameters / (count * 1e9) - 1.0))
    return best if abs(best.parameters / (count * 1e9) - 1.0) < PUBLISHED_SHARE else models_it_can_be[0]


def row_precisions(row: Mapping[str, str], cluster: Cluster) -> tuple[str, ...]:
    """What the products run in; recipes of four bits were measured as fast as those of eight (Megatron-Bridge)."""
    text = row.get("precision", "").lower()
    eight = cluster.accelerator.fp8_peak is not None
    if not text or text in ("-", "n/a", "na", "unknown"):
        return ("bf16", "fp8") if eight else ("bf16",)
    if re.search(r"int8|fp8|float8|e4m3|e5m2|fp4|e2m1", text):
        if "int8" in text or not eight:
            raise Unread(f"{cluster.accelerator.name} has no peak for {text}")
        return ("fp8",)
    if re.search(r"fp32|tf32|float32", text) and not re.search(r"16|mixed|amp|auto", text):
        raise Unread(f"{text} recipes are not calibrated")
    return ("bf16",)


def row_layouts(
    row: Mapping[str, str], stack: Stack, model: Transformer, ranks: int, seq: int, cluster: Cluster, assumed: list[str]
) -> list[Layout]:
    """The layouts a row can mean; `assumed` gets the names of what was not published of them."""
    tp, pp = row_degrees(row, stack, ranks, assumed)
    if tp is None:
        return searched_layouts(row, stack, model, ranks, seq, cluster)
    cp = whole(row, "cp", 1) or 1
    dp, left = divmod(ranks, tp * pp * cp)
    if left or dp < 1:
        raise Unread("the layout and the number of accelerators disagree")
    micros, counts = row_batches(row, dp, seq, assumed)
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
    words = row.get("sp", "").lower()
    split = words in (*YES, "1") or (words not in NO and stack.splits_sequence)
    return [
        Layout(
            tp=tp, pp=pp, cp=cp, dp=dp, ep=moe if model.is_moe else 1,
            etp=(whole(row, "etp", 1) or 1) if model.is_moe else 1, micro=micro, accumulation=count,
            interleave=chunk, zero=zero, shard=shard, recompute=mode, sequence_parallel=split and tp > 1,
        )
        for (micro, count), chunk, mode in product(zip(micros, counts, strict=True), chunks, modes)
    ]  # fmt: skip


def row_degrees(row: Mapping[str, str], stack: Stack, ranks: int, assumed: list[str]) -> tuple[int | None, int]:
    """Tp and pp: published, what the other degrees leave, 1 where weights are sharded over all; else (None, 1)."""
    tp, pp, dp, cp = (whole(row, name) for name in ("tp", "pp", "dp", "cp"))
    if tp is not None and pp is not None:
        return tp, pp
    fsdp = whole(row, "fsdp", 1) or 1
    known = (tp or 1) * (pp or 1) * (cp or 1)
    if dp is not None and ranks % (known * dp * fsdp) == 0:
        rest = ranks // (known * dp * fsdp)
        if rest == 1:
            return tp or 1, pp or 1
        if (tp is None) != (pp is None):
            return tp or rest, pp or rest
    assumed.append("layout")
    if tp is None and pp is None and not (shards_weights(row) or stack.zero == 3):
        return None, 1
    return tp or 1, pp or 1


def searched_layouts(
    row: Mapping[str, str], stack: Stack, model: Transformer, ranks: int, seq: int, cluster: Cluster
) -> list[Layout]:
    """The layouts that the planner would choose, where a row has the batch and not the degrees."""
    from scalecurve.training.search.search import SearchTask, search

    batch = row_batch(row, seq)
    if batch is None:
        raise Unread("neither layout nor batch is published")
    if "lora" in row["model"].lower():
        return adapter_layouts(stack, ranks, batch, cluster)
    calibration = calibration_of(cluster.accelerator, stack)
    kind = row_precisions(row, cluster)[-1]
    task = SearchTask(model=model, cluster=cluster, stack=stack, calibration=calibration, seq=seq, precision=kind)
    [best] = search(task, [(ranks, batch)])
    if not best.layouts:
        raise Unread("the layout is not published, and none fits")
    return list(best.layouts[:1])


def adapter_layouts(stack: Stack, ranks: int, batch: int, cluster: Cluster) -> list[Layout]:
    """The usual layouts of an adapter run: tensor ranks within a node, and context ranks where the batch has fewer
    sequences than replicas."""
    degrees = [
        (tp, cp, ranks // (tp * cp))
        for tp, cp in product((1, 2, 4, 8), (1, 2, 4, 8))
        if tp <= cluster.node and ranks % (tp * cp) == 0 and batch % (ranks // (tp * cp)) == 0
    ]
    if not degrees:
        raise Unread("the layout is not published, and no usual one has this batch")
    fewest = min(cp for _, cp, _ in degrees)
    return [
        Layout(tp=tp, cp=cp, dp=dp, micro=1, accumulation=batch // dp, zero=stack.zero, recompute=mode,
               sequence_parallel=tp > 1 and stack.splits_sequence)
        for (tp, cp, dp), mode in product(degrees, stack.recomputes)
        if cp == fewest
    ]  # fmt: skip


def row_batch(row: Mapping[str, str], seq: int, unit: int = 1) -> int | None:
    """Sequences of a step: published, in tokens, or what step and rate make of it as a multiple of `unit`."""
    batch = whole(row, "global_batch_seqs")
    if batch is not None and "tok" in row["global_batch_seqs"].lower():
        return max(batch // seq, 1)
    step, rate, accels = (number(row, name) for name in ("step_s", "tokens_per_s_per_accel", "accels"))
    if batch is None and step and rate and accels:
        return max(round(step * rate * accels / seq / unit), 1) * unit
    return batch


def row_batches(row: Mapping[str, str], dp: int, seq: int, assumed: list[str]) -> tuple[list[int], list[int]]:
    """Micro-batch and accumulation pairs that make the published batch."""
    micro, count = whole(row, "micro_batch"), whole(row, "grad_accum")
    batch = row_batch(row, seq, dp * (micro or 1))
    if batch is None and micro is not None and count is not None:
        batch = micro * count * dp
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
    stage = stage_of(text)
    zero = stack.zero if stage is None else stage
    if text in YES or "distrib" in text:
        zero = max(stack.zero, 1)
    shard: int | None = None
    if fsdp and fsdp not in (*NO, "1"):
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
    if not words or words in ("-", "n/a", "na", "unknown", "?"):
        return stack.recomputes
    if re.match(r"full.?block|block|partial", words):
        return ("selective", "full")
    if words in YES:
        return ("full", "selective")
    if words.startswith("full") or words in ("uniform", "1"):
        return ("full",)
    if words.startswith(("none", "null", "false", "no ", "without")) or words in NO:
        return ("none",)
    return ("selective",)
