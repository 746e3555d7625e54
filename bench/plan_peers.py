"""The planner, Calculon and llm-analysis on the same measured steps, in one run.

    python -m bench.plan_peers DATA CALCULON LLM_ANALYSIS [--json bench/plan_peers.json]

DATA are the training tables, the others checkouts.  The planner predicts each source by the constants of all others;
the peers run as they come, Calculon with the node and ports of the row, llm-analysis with the efficiencies of its
examples (0.5 of the peak, 0.9 of the memory).  A row counts for a peer where that can express it: Calculon plain
attention heads and no ZeRO-3, llm-analysis A100 and H100.  Errors are |predicted / measured - 1| in %, median / 90th
percentile.
"""

from __future__ import annotations

import json
import logging
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import training_left_out as left  # noqa: E402

from scalecurve.training.answers.evaluation import TrainingJob  # noqa: E402
from scalecurve.training.answers.score import by_configuration, score_rows  # noqa: E402
from scalecurve.training.inputs.stack import Stack, stacks  # noqa: E402

TABLES = ("sc21-t1", "sc21-t2", "korthikanti-t5", "vtrain-multi", "vtrain_single_node", "bloom_a100_sweep",
          "mpt-a100_80gb", "mpt-a100_40gb", "mpt-h100_80gb", "ultrascale_nanotron_h100", "nvidia_dgxc_benchmarking",
          "internevo_a100", "ibm_fms_fsdp")  # fmt: skip
SYSTEMS = {"a100-80gb": "a100_80g", "h100": "h100_80g_nvl8"}
CARDS = {"a100-80gb": "a100-sxm-80gb", "a100-40gb": "a100-sxm-40gb", "h100": "h100-sxm-80gb"}
Peer = Callable[[TrainingJob], float]


class NotExpressed(Exception):
    """A peer has no words for this job."""


def calculon(checkout: Path) -> Peer:
    """Seconds of a step by Calculon."""
    sys.path.insert(0, str(checkout))
    from calculon.llm.llm import Llm
    from calculon.system import System

    log = logging.getLogger("calculon")

    def seconds(job: TrainingJob) -> float:
        lay, model, chip = job.layout, job.model, job.cluster.accelerator.name
        if chip not in SYSTEMS or model.is_moe or lay.cp > 1 or lay.zero > 1 or model.groups != model.heads:
            raise NotExpressed
        described = json.loads((checkout / f"systems/{SYSTEMS[chip]}.json").read_text())
        described["mem1"]["GiB"] = 10_000  # the runs did fit
        for net, size in zip(described["networks"], (job.cluster.node, 100_000), strict=True):
            net["size"] = size
            net["must_be_filled"] = False
        described["networks"][1]["bandwidth"] = job.cluster.outer_rate / 1e9
        inside = lay.tp <= job.cluster.node
        app = Llm.Application({
            "hidden": model.hidden, "feedforward": model.ffn or 4 * model.hidden, "seq_size": job.seq,
            "attn_heads": model.heads, "attn_size": model.head_size, "num_blocks": model.layers,
        })  # fmt: skip
        exe = Llm.Execution.from_json({
            "num_procs": lay.gpus, "tensor_par": lay.tp, "pipeline_par": lay.pp, "data_par": lay.dp,
            "tensor_par_net": 0 if inside else 1,
            "pipeline_par_net": 0 if lay.gpus <= job.cluster.node else 1,
            "data_par_net": 0 if lay.tp * lay.dp <= job.cluster.node else 1, "batch_size": lay.sequences,
            "microbatch_size": lay.micro, "datatype": "float16", "fused_activation": True,
            "attention_type": "multihead",
            "activation_recompute": {"full": "full", "selective": "attn_only"}.get(lay.recompute, "none"),
            "pipeline_interleaving": lay.interleave, "optimizer_sharding": lay.zero > 0 and lay.dp > 1,
            "tensor_par_comm_type": "rs_ag" if lay.sequence_parallel else "ar", "tensor_par_overlap": "none",
            "seq_par_ag_redo": False, "data_par_overlap": job.stack.data_overlap and lay.dp > 1,
            "weight_offload": False, "activations_offload": False, "optimizer_offload": False, "training": True,
        })  # fmt: skip
        try:
            system, one = System(described), Llm(app, log)
            one.compile(system, exe)
            one.run(system)
        except (Llm.Error, AssertionError) as problem:
            raise NotExpressed from problem
        return float(one.get_total_time())

    return seconds


def llm_analysis(checkout: Path) -> Peer:
    """Seconds of a step by llm-analysis."""
    sys.path.insert(0, str(checkout))
    sys.modules.setdefault("fire", types.ModuleType("fire"))
    from llm_analysis import analysis as peer
    from llm_analysis import config as parts

    logging.disable(logging.CRITICAL)

    def seconds(job: TrainingJob) -> float:
        lay, model, chip = job.layout, job.model, job.cluster.accelerator.name
        if chip not in CARDS or model.is_moe or lay.cp > 1 or job.adapter:
            raise NotExpressed
        described = parts.ModelConfig(
            name=model.name, num_layers=model.layers, n_head=model.heads, hidden_dim=model.hidden,
            vocab_size=model.vocab, max_seq_len=job.seq, num_key_value_heads=model.groups,
            ffn_embed_dim=model.ffn or 4 * model.hidden, mlp_gated_linear_units=model.gated,
        )  # fmt: skip
        kind = "w8a8e16" if job.precision == "fp8" else "w16a16e16"
        try:
            one = peer.LLMAnalysis(
                described, parts.get_gpu_config_by_name(CARDS[chip]), parts.get_dtype_config_by_name(kind),
                parts.ParallelismConfig(tp_size=lay.tp, pp_size=lay.pp, dp_size=lay.dp,
                                        sp_size=lay.tp if lay.sequence_parallel else 1),
                flops_efficiency=0.5, hbm_memory_efficiency=0.9,
            )  # fmt: skip
            modes = peer.ActivationRecomputation
            said = one.training(
                batch_size_per_gpu=lay.micro, gradient_accumulation_steps=lay.accumulation, seq_len=job.seq,
                activation_recomputation={"full": modes.FULL, "selective": modes.ATTN_COMPUTE}.get(
                    lay.recompute, modes.NONE),
                ds_zero=peer.DSZeRO(lay.zero), flash_attn=job.stack.fused_attention,
            )  # fmt: skip
        except (AssertionError, ZeroDivisionError, ValueError) as problem:
            raise NotExpressed from problem
        return float(said["latency_per_iter"])

    return seconds


def compared(folder: Path, peers: dict[str, Peer]) -> list[dict[str, Any]]:
    """A row for each table and peer: how many steps both predict, and the errors of both."""
    rows = []
    left.WORK.extend(left.work_of(folder))
    for place, (source, _, tables) in enumerate(left.WORK):
        if not any(row.source in TABLES for row in tables):
            continue
        _, record, _ = left.without_source(place)
        usual = dict(stacks())
        left.forget_launch(source)
        scored = by_configuration(score_rows([row for row in tables if row.jobs], left.calibrations(record)))
        cast("dict[str, Stack]", stacks()).update(usual)
        for table in sorted({one.row.source for one in scored} & set(TABLES)):
            for name, peer in peers.items():
                pairs = []
                for one in scored:
                    first = one.row.jobs[0].layout.sequences
                    try:
                        theirs = peer(one.outcome.job) * first / one.outcome.layout.sequences
                    except NotExpressed:
                        continue
                    if one.row.source == table and one.row.seconds:
                        pairs.append((one.predicted / one.row.seconds, theirs / one.row.seconds))
                if pairs:
                    ours, other = (100.0 * np.abs(np.array(side) - 1.0) for side in zip(*pairs, strict=True))
                    rows.append({"table": table, "peer": name, "steps": len(pairs), "planner": pair(ours),
                                 "errors": pair(other)})  # fmt: skip
                    print(rows[-1], flush=True)
    return rows


def pair(errors: Any) -> list[float]:
    return [round(float(np.quantile(errors, level)), 1) for level in (0.5, 0.9)]


def main() -> None:
    folder, first, second = (Path(argument) for argument in sys.argv[1:4])
    rows = compared(folder, {"calculon": calculon(first), "llm-analysis": llm_analysis(second)})
    behind = [row for row in rows if row["planner"][0] > row["errors"][0]]
    print(f"ahead on {len(rows) - len(behind)} of {len(rows)} pairs of table and peer")
    if "--json" in sys.argv:
        target = Path(sys.argv[sys.argv.index("--json") + 1])
        target.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
