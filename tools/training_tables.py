"""Readers of the published training tables: each row becomes a job with what was measured.

Rules that leave a row out are written here, applied to every row, and reported with and without.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scalecurve.training.answers.evaluation import TrainingJob, evaluate_jobs
from scalecurve.training.answers.measurements import Measurement, read_measurements
from scalecurve.training.answers.score import by_configuration, plausible, score_rows
from scalecurve.training.inputs.cluster import Cluster, cluster_preset
from scalecurve.training.inputs.layout import Layout
from scalecurve.training.inputs.stack import Stack, calibration_of, read_stack
from scalecurve.training.inputs.transformer import Transformer, model_preset

GIB = 2.0**30
SOURCES = {
    "sc21-t1": "nvidia-megatron", "sc21-t2": "nvidia-megatron", "korthikanti-t5": "nvidia-megatron",
    "mpt-a100_40gb": "mpt", "mpt-a100_80gb": "mpt", "mpt-h100_80gb": "mpt", "bridge-dense": "bridge",
    "bridge-moe": "bridge", "simumax-dense": "simumax", "simumax-moe": "simumax", "vtrain-multi": "vtrain",
    "vtrain-single": "vtrain",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Row:
    """One published measurement: seconds per step (or its equivalent from tokens/s) and bytes where given."""

    table: str
    label: str
    model: Transformer
    cluster: Cluster
    stack: Stack
    layout: Layout
    seq: int
    seconds: float
    memory: float | None = None
    precision: str = "bf16"
    group: str = ""  # what leave-one-out leaves out within a table
    excluded: str | None = None  # the rule that leaves this row out, if any
    adapter: bool = False
    failed: bool = False

    @property
    def source(self) -> str:
        """Who measured: tables of one laboratory and machine are one source."""
        return SOURCES.get(self.table, self.table)

    @property
    def job(self) -> TrainingJob:
        return TrainingJob(
            model=self.model, cluster=self.cluster, stack=self.stack, layout=self.layout, seq=self.seq,
            precision=self.precision, adapter=self.adapter,
        )  # fmt: skip

    @property
    def multi_node(self) -> bool:
        return self.layout.gpus > self.cluster.node


def read(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def gpt(hidden: int, layers: int, heads: int, vocab: int = 51200, seq: int = 2048) -> Transformer:
    return Transformer(
        name=f"gpt-{hidden}x{layers}", hidden=hidden, layers=layers, heads=heads, vocab=vocab, seq=seq,
        positions=seq, tied=True,
    )  # fmt: skip


def sc21_weak(folder: Path) -> list[Row]:
    """SC21 table 1.  The micro-batch and interleaving are not published: v = 1, and micro-batches assumed here
    (SC21_MICRO), falling with the model's size."""
    rows = []
    for entry in read(folder, "megatron_sc21_table1_weak_scaling.csv"):
        model = gpt(int(entry["hidden"]), int(entry["layers"]), int(entry["heads"]))
        tp, pp, dp = (int(entry[name]) for name in ("tp", "pp", "dp"))
        micro = SC21_MICRO.get(entry["model"], 1)
        rows.append(
            Row(
                table="sc21-t1", label=entry["model"], model=model, cluster=cluster_preset("selene"),
                stack=read_stack("megatron-lm"), seq=2048, seconds=float(entry["iter_time_s_derived"]),
                layout=Layout(tp=tp, pp=pp, dp=dp, micro=micro, recompute="full",
                              accumulation=int(entry["global_batch_seqs"]) // dp // micro),
            )
        )  # fmt: skip
    return rows


SC21_MICRO = {"1.7B": 16, "3.6B": 16, "7.5B": 16, "18B": 8, "39B": 4, "76B": 2, "145B": 2}
SC21_MODELS = {"174.6": (12288, 96, 96), "529.6": (20480, 105, 128)}


def hardware_flop(model: Transformer, sequences: int) -> float:
    """SC21 equation 3: 96 B s l h^2 (1 + s/6h + V/16lh)."""
    s, h, deep, v = model.seq, model.hidden, model.layers, model.vocab
    return 96.0 * sequences * s * deep * h * h * (1 + s / (6 * h) + v / (16 * deep * h))


def sc21_strong(folder: Path) -> list[Row]:
    """SC21 table 2: TFLOP/s are hardware FLOP with full recomputation (equation 3)."""
    rows = []
    for entry in read(folder, "megatron_sc21_table2_strong_scaling_ptd_vs_zero3.csv"):
        model = gpt(*SC21_MODELS[entry["params_b"]])
        gpus, batch, micro = int(entry["gpus"]), int(entry["global_batch_seqs"]), int(entry["microbatch"])
        sharded = entry["scheme"] == "ZeRO-3"
        tp, pp = int(entry["tp"]), int(entry["pp"])
        dp = gpus // (tp * pp)
        layout = Layout(tp=tp, pp=pp, dp=dp, micro=micro, accumulation=max(batch // dp // micro, 1),
                        zero=3 if sharded else 0, recompute="full")  # fmt: skip
        seconds = hardware_flop(model, layout.sequences) / (gpus * float(entry["tflops_per_gpu_hw"]) * 1e12)
        rows.append(
            Row(
                table="sc21-t2-zero3" if sharded else "sc21-t2", label=entry["row"], model=model, layout=layout,
                cluster=cluster_preset("selene"), seq=2048, seconds=seconds,
                stack=read_stack("deepspeed-zero3" if sharded else "megatron-lm"), group=entry["params_b"],
            )
        )  # fmt: skip
    return rows


def korthikanti(folder: Path) -> list[Row]:
    rows = []
    for entry in read(folder, "korthikanti2022_table5.csv"):
        model = gpt(int(entry["hidden"]), int(entry["layers"]), int(entry["heads"]))
        shared: dict[str, Any] = {
            "tp": int(entry["tp"]), "pp": int(entry["pp"]), "dp": 1, "micro": int(entry["microbatch"]),
            "interleave": int(entry["interleave"]),
            "accumulation": int(entry["global_batch_seqs"]) // int(entry["microbatch"]),
        }  # fmt: skip
        for column, extra in (
            ("iter_s_full_recompute", {"recompute": "full"}),
            ("iter_s_seqpar_selective", {"recompute": "selective", "sequence_parallel": True}),
        ):
            rows.append(
                Row(
                    table="korthikanti-t5", label=f"{entry['model']} {extra['recompute']}", model=model, seq=2048,
                    cluster=cluster_preset("selene"), stack=read_stack("megatron-lm"),
                    layout=Layout(**shared, **extra), seconds=float(entry[column]),
                )
            )  # fmt: skip
    return rows


def vtrain(folder: Path, name: str) -> list[Row]:
    rows = []
    for entry in read(folder, f"vtrain_measured_{name}_node.csv"):
        seq = int(entry["sequence_length"])
        model = gpt(int(entry["hidden_size"]), int(entry["n_layers"]), int(entry["attention_heads"]), seq=seq)
        tp, pp, dp = (int(entry[f"{axis}_parallelism"]) for axis in ("tensor", "pipeline", "data"))
        micro, batch = int(entry["micro_batch"]), int(entry["global_batch"])
        rows.append(
            Row(
                table=f"vtrain-{name}", label=f"h{model.hidden} tp{tp} pp{pp} dp{dp} b{micro}", model=model, seq=seq,
                cluster=cluster_preset("a100-4nic"), stack=read_stack("megatron-lm"), group=str(model.hidden),
                layout=Layout(tp=tp, pp=pp, dp=dp, micro=micro, accumulation=batch // dp // micro,
                              recompute="full"),
                seconds=float(entry["iteration_time_(ms)"]) / 1e3,
            )
        )  # fmt: skip
    return mark_slow_micro_batches(rows)


def mark_slow_micro_batches(rows: list[Row]) -> list[Row]:
    """Rule: time corrected for the bubble that rises more than 3 % above a smaller micro-batch of the same layout."""
    best: dict[tuple[int, ...], float] = {}
    marked = []
    for row in sorted(rows, key=lambda row: row.layout.micro):
        lay = row.layout
        key = (row.model.hidden, row.model.layers, row.seq, lay.tp, lay.pp, lay.dp, lay.sequences)
        corrected = row.seconds * lay.accumulation / (lay.accumulation + lay.pp - 1)
        slow = corrected > 1.03 * best.get(key, float("inf"))
        best[key] = min(best.get(key, float("inf")), corrected)
        marked.append(replace(row, excluded="slower than a smaller micro-batch") if slow else row)
    return marked


MPT_CLUSTERS = {"a100_40gb": "mosaic-a100-40gb", "a100_80gb": "mosaic-a100-80gb", "h100_80gb": "mosaic-h100"}


def mpt(folder: Path) -> list[Row]:
    rows = []
    for entry in read(folder, "llm_foundry_mpt.csv"):
        seq, gpus = int(entry["seq"]), int(entry["gpus"])
        model = replace(model_preset(f"mpt-{entry['model']}"), seq=seq, positions=seq)
        layout = Layout(dp=gpus, micro=int(entry["microbatch"]), accumulation=int(entry["grad_accum"]), zero=3,
                        recompute="full" if entry["act_ckpt"] == "True" else "none")  # fmt: skip
        tokens = layout.sequences * seq
        stack = replace(read_stack("fsdp"), gradient_bytes=2.0 if entry["mp_mode"] == "PURE" else 4.0)
        rows.append(
            Row(
                table=f"mpt-{entry['gpu']}", label=f"{entry['model']} s{seq} x{gpus}", model=model, seq=seq,
                cluster=cluster_preset(MPT_CLUSTERS[entry["gpu"]]), stack=stack, layout=layout, group=entry["model"],
                seconds=tokens / float(entry["tokens_per_s"]),
                precision="fp8" if "fp8" in entry["precision"] else "bf16",
            )
        )  # fmt: skip
    return rows


def torchtitan(folder: Path) -> list[Row]:
    rows = []
    for entry in read(folder, "torchtitan.csv"):
        degrees = {kind.lower(): int(count) for kind, count in re.findall(r"(FSDP|TP|CP) (\d+)", entry["parallelism"])}
        seq, technique = int(entry["seq"]), entry["technique"].lower()
        full = entry["activation_ckpt"].startswith("full")
        layout = Layout(dp=degrees["fsdp"], tp=degrees.get("tp", 1), cp=degrees.get("cp", 1), zero=3,
                        micro=int(entry["local_batch"]), recompute="full" if full else "selective",
                        sequence_parallel=degrees.get("tp", 1) > 1)  # fmt: skip
        model = replace(model_preset("llama3-8b"), seq=seq)
        fp8 = "float8" in technique or "fp8" in technique
        eager = "compile" not in technique and "tp" not in technique
        rate = float(entry["tokens_per_s_per_gpu"]) * layout.gpus
        rows.append(
            Row(
                table="torchtitan", label=f"{entry['parallelism']} s{seq} {entry['technique']}", model=model, seq=seq,
                cluster=cluster_preset("torchtitan-h200" if "H200" in entry["hardware"] else "torchtitan-h100"),
                stack=read_stack("torchtitan-eager" if eager else "torchtitan"), layout=layout,
                seconds=layout.sequences * seq / rate, precision="fp8" if fp8 else "bf16",
                memory=float(entry["mem_gib"]) * GIB if entry["mem_gib"] else None, group=entry["technique"],
                excluded="row-wise fp8" if "rowwise" in technique else None,
            )
        )  # fmt: skip
    return rows


BRIDGE_MODELS = {
    "LLAMA3.1_405B": "llama3-405b", "LLAMA3_8B": "llama3-8b", "DeepSeekV3": "deepseek-v3",
    "GPT OSS 120B": "gpt-oss-120b", "Qwen3_30B_a3B": "qwen3-30b-a3b", "Qwen3_235B_a22B": "qwen3-235b-a22b",
}  # fmt: skip


def bridge(folder: Path) -> list[Row]:
    """Rules: hybrid Mamba models are no transformers; release 25.09 is shifted by a column, so is re-read; the newest
    release of each configuration counts."""
    newest: dict[tuple[Any, ...], Row] = {}
    for entry in read(folder, "megatron_bridge_perf.csv"):
        row = _bridge_row(_unshifted(entry))
        if row is not None:
            key = (row.model.name, row.cluster.name, row.precision, row.layout)
            newest.setdefault(key, row)
    return list(newest.values())


def _unshifted(entry: dict[str, str]) -> dict[str, str]:
    if not entry["model"].startswith("System: "):
        return entry
    names = ["gbs", "mbs", "seq", "fsdp", "tp", "pp", "cp", "vp", "ep"]
    values = [entry[name] for name in ("precision", "gbs", "mbs", "seq", "fsdp", "tp", "pp", "cp", "vp")]
    system = entry["model"].removeprefix("System: ")
    return entry | dict(zip(names, values, strict=True)) | {
        "model": entry["system"], "system": system, "precision": "FP8",
    }  # fmt: skip


def _bridge_row(entry: dict[str, str]) -> Row | None:
    name = BRIDGE_MODELS.get(entry["model"].removesuffix(" (tokendrop)"))
    if name is None or not entry["gpus"].isdigit():
        return None
    gpus, sizes = int(entry["gpus"]), {}
    for axis in ("tp", "pp", "cp", "ep"):
        sizes[axis] = int(entry[axis]) if entry[axis].isdigit() else 1
    dp = gpus // (sizes["tp"] * sizes["pp"] * sizes["cp"])
    micro, batch, seq = int(entry["mbs"]), int(entry["gbs"]), int(entry["seq"])
    layout = Layout(**sizes, dp=dp, micro=micro, accumulation=batch // dp // micro, zero=1,
                    interleave=int(entry["vp"]) if entry["vp"].isdigit() else 1,
                    sequence_parallel=sizes["tp"] > 1)  # fmt: skip
    rate = float(re.match(r"[\d.]+", entry["tokens_per_s_per_gpu"])[0])  # type: ignore[index]
    row = Row(
        table="bridge-moe" if model_preset(name).is_moe else "bridge-dense", model=model_preset(name), seq=seq,
        label=f"{entry['model']} {entry['system']} {entry['precision']} {entry['release']}",
        cluster=cluster_preset(entry["system"]), stack=read_stack("megatron-core"), layout=layout,
        seconds=batch * seq / (rate * gpus), precision="bf16" if entry["precision"] == "BF16" else "fp8",
        group=f"{entry['model']} {entry['system']}",
        excluded="token-drop recipe" if "tokendrop" in entry["model"] else None,
    )  # fmt: skip
    return with_recomputation(row)


def with_recomputation(row: Row) -> Row:
    """The row with the least recomputation that fits, where its source does not say."""
    jobs = [replace(row.job, layout=replace(row.layout, recompute=mode)) for mode in row.stack.recomputes]
    outcomes = evaluate_jobs(jobs, calibration_of(row.cluster.accelerator, row.stack))
    return replace(row, layout=plausible(outcomes)[0].layout)


SIMUMAX_MODELS = {
    "llama3_70b": ("llama3-70b", {}), "llama3_405b": ("llama3-405b", {"kv_heads": 16}),
    "deepseekv2": ("deepseek-v2", {}), "deepseekv3": ("deepseek-v3", {"dense_layers": 1, "mtp_layers": 0}),
}  # fmt: skip


def simumax(folder: Path) -> list[Row]:
    """Layer-reduced models on one B200 node: micro-batch 1, sequence parallelism, distributed optimiser, no overlap
    (docs/b200 of MooreThreads/SimuMax)."""
    rows = []
    for entry in read(folder, "simumax_b200_real_vs_pred.csv"):
        case = entry["case"]
        base, changes = next(found for key, found in SIMUMAX_MODELS.items() if case.startswith(key))
        found = dict(re.findall(r"_(l|tp|ep|cp|pp|dp|mbc|seq)(\d+)", case))
        seq = int(found.get("seq", 4096))
        model = replace(model_preset(base), layers=int(found["l"]), seq=seq, **changes)
        degrees = {axis: int(found.get(axis, 1)) for axis in ("tp", "cp", "pp", "dp", "ep")}
        layout = Layout(**degrees, accumulation=int(found["mbc"]), zero=1, sequence_parallel=degrees["tp"] > 1,
                        data_overlap=False, tensor_overlap=0.0)  # fmt: skip
        rows.append(
            Row(
                table="simumax-moe" if model.is_moe else "simumax-dense", label=case, model=model, seq=seq,
                cluster=cluster_preset("b200"),
                stack=replace(read_stack("megatron-core"), pipeline_overlap=0.0, gradient_held=4.0),
                layout=layout, seconds=float(entry["real_ms"]) / 1e3, memory=float(entry["real_alloc_gib"]) * GIB,
                group=base,
            )
        )  # fmt: skip
    return rows


def measurements(folder: Path) -> list[Measurement]:
    """Every row of the tables in the common schema."""
    paths = sorted(path for path in (folder / "measured").glob("*.csv") if path.stem != "accelerators")
    return read_measurements(paths)


GUESSED = {"layout", "stack", "sequence length", "FLOP count"}  # rows that lack these say nothing of constants
STALLED = 3.0
STALL_RULE = "stalled beside its neighbours"
DOUBT_RULE = "source contradicts itself (CHECK in its note)"


def measured(folder: Path) -> list[Row]:
    """One row per measured configuration, as the job that its blanks most plausibly mean."""
    known = [row for row in measurements(folder) if row.jobs and row.seconds and not GUESSED & set(row.assumed)]
    scored = by_configuration(score_rows(known))
    rows = [
        Row(
            table=one.row.source, label=one.row.label, model=job.model, cluster=job.cluster, stack=job.stack,
            layout=job.layout, seq=job.seq, seconds=one.row.seconds * job.layout.sequences / first.layout.sequences,
            memory=one.row.memory, precision=job.precision, group=job.model.name, adapter=job.adapter,
            excluded=DOUBT_RULE if one.row.doubtful else None,
        )
        for one in scored
        if one.row.seconds and (job := one.outcome.job) and (first := one.row.jobs[0])
    ]  # fmt: skip
    return mark_stalled(rows)


def mark_stalled(rows: list[Row]) -> list[Row]:
    """Rule: bubble-corrected time per sequence more than three times that of the same degrees with another ZeRO stage
    or twice or half the micro-batch."""
    times: dict[tuple[object, ...], float] = {}

    def key(row: Row, zero: int, micro: float) -> tuple[object, ...]:
        lay = row.layout
        return (row.table, row.model.name, row.cluster.name, row.precision, lay.tp, lay.pp, lay.dp, zero, micro,
                lay.sequences)  # fmt: skip

    def each(row: Row) -> float:
        lay = row.layout
        return row.seconds * lay.accumulation / (lay.accumulation + lay.pp - 1)

    for row in rows:
        times[key(row, row.layout.zero, row.layout.micro)] = each(row)
    marked = []
    for row in rows:
        zero, micro = row.layout.zero, row.layout.micro
        near = [times.get(key(row, 1 - zero, micro)), times.get(key(row, zero, micro * 2)),
                times.get(key(row, zero, micro / 2))]  # fmt: skip
        slow = any(other is not None and each(row) > STALLED * other for other in near)
        marked.append(replace(row, excluded=STALL_RULE) if slow and row.excluded is None else row)
    return marked


def all_rows(folder: Path) -> list[Row]:
    return [
        *sc21_weak(folder), *sc21_strong(folder), *korthikanti(folder), *vtrain(folder, "multi"),
        *vtrain(folder, "single"), *mpt(folder), *torchtitan(folder), *bridge(folder), *simumax(folder),
        *measured(folder),
    ]  # fmt: skip
