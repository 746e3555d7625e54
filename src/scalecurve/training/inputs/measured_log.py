"""The log of a training framework as one measured run: its step, and what it says of layout and batch.

Megatron-LM, NeMo, nanotron, torchtitan, MaxText and DeepSpeed write a line for every step.  The median over the steps
without the first counts, since kernels are compiled and caches filled in the first.
"""

from __future__ import annotations

import re
from math import prod
from statistics import median

STEPS = {  # column of the schema: how a framework writes it once a step
    "step_ms": r"elapsed[ _]time[ _]per[ _]iteration[ _]\(?ms\)?: *(\d[\d,]*\.?\d*)",
    "step_s": r"(?:completed step: \d+, seconds|train_step_timing in s)[:=] *(\d+\.?\d*)",
    "tokens_per_s_per_accel": r"\btps: *(\d[\d,]*\.?\d*)",
    "samples_per_s": r"CurrSamplesPerSec=(\d+\.?\d*)",
}
ONCE = {  # what stands in the log once, in the lines of a start or a dump of the arguments
    "accels": r"\bworld[ _]size\W+(\d+)",
    "tp": r"tensor[-_]model[-_]parallel[-_ ]size\W+(\d+)",
    "pp": r"pipeline[-_]model[-_]parallel[-_ ]size\W+(\d+)",
    "cp": r"context[-_]parallel[-_ ]size\W+(\d+)",
    "ep": r"expert[-_]model[-_]parallel[-_ ]size\W+(\d+)",
    "dp": r"data[-_]parallel[-_ ]size\W+(\d+)",
    "vp": r"virtual_pipeline_model_parallel_size\W+(\d+)",
    "micro_batch": r"\bmicro[ _]batch[ _]size\W+(\d+)",
    "global_batch_seqs": r"(?:global[ _]batch[ _]size|train_batch_size)\W+(\d+)(?![\d.]*[KM])",
    "seq": r"\bseq(?:uence)?_len(?:gth)?\W+(\d+)",
    "recompute": r"recompute_granularity\W+(full|selective)",
    "precision": r"\bparams_dtype\W+torch\.(bfloat16|float16)",
}
SAID = {"zero": (r"use_distributed_optimizer\W+True", "1"), "sp": (r"\bsequence_parallel\W+True", "1")}
MESH = re.compile(r"device mesh with \[([^\]]*)\], \[([\d, ]+)\]")  # torchtitan


def log_row(text: str) -> dict[str, str] | None:
    """The run of a log by the columns of the schema; None where no two lines of it tell a step."""
    told = {name: re.findall(pattern, text) for name, pattern in STEPS.items()}
    name = next((name for name, steps in told.items() if len(steps) > 1), None)
    if name is None:
        return None
    row = {name: repr(median(float(step.replace(",", "")) for step in told[name][1:]))}
    row |= {name: found[1] for name, pattern in ONCE.items() if (found := re.search(pattern, text, re.I))}
    row |= {name: value for name, (pattern, value) in SAID.items() if re.search(pattern, text, re.I)}
    mesh = MESH.search(text)
    return row if mesh is None else row | mesh_cells(re.findall(r"\w+", mesh[1]), re.findall(r"\d+", mesh[2]))


def mesh_cells(axes: list[str], sizes: list[str]) -> dict[str, str]:
    """The degrees of a device mesh; replicas are those of all its data axes."""
    degrees = dict(zip(axes, map(int, sizes), strict=False))
    cells = {name: str(size) for name, size in degrees.items() if name in ("tp", "pp", "cp")}
    cells["dp"] = str(prod(size for name, size in degrees.items() if name.startswith("dp")))
    cells["accels"] = str(prod(degrees.values()))
    return cells | ({"zero": "3"} if "dp_shard" in degrees else {})
