"""Calculon's rate on a random sample of its own search space, with its logging off (it is faster so).

    python bench/plan_calculon.py CHECKOUT [CPU_SECONDS]

Prints configurations per CPU-second.  Run by plan_search.py where a checkout is given.
"""

from __future__ import annotations

import json
import logging
import random
import sys
import time
import types
from pathlib import Path


def main(checkout: Path, limit: float) -> None:
    sys.path.insert(0, str(checkout))
    logging.disable(logging.CRITICAL)
    for name in ("pandas", "plotly", "plotly.express", "matplotlib"):  # other commands of its import these
        sys.modules.setdefault(name, types.ModuleType(name))
    from calculon.llm.llm import Llm
    from calculon.llm.optimal_execution import OptimalExecution
    from calculon.system import System

    app = Llm.Application(json.loads((checkout / "models/gpt3-175B.json").read_text()))
    described = json.loads((checkout / "systems/a100_80g.json").read_text())
    described["mem2"]["GiB"] = 0  # no offload
    system = System(described)
    tasks = [
        (False, 1, False, 512, 512, "float16", app, system, tp, pp, dp, chunks,
         OptimalExecution.get_batch_size(dp, 512), recompute, sharded, kind, [True], False, True, True)
        for tp in Llm.get_all_tensor_parallelisms(512, app.hidden, app.attn_heads)
        for pp in Llm.get_all_pipeline_parallelisms(512, tp, app.num_blocks)
        for dp in [Llm.get_data_parallelism(512, tp, pp)]
        for chunks in Llm.get_valid_pipeline_interleavings(app.num_blocks, pp)
        for recompute in ("full", "attn_only", "none")
        for sharded in ([True, False] if dp > 1 else [False])
        for kind in ("ar", "p2p_rs_ag", "rs_ag")
    ]  # fmt: skip
    random.Random(11).shuffle(tasks)
    start, count = time.process_time(), 0
    for task in tasks:
        count += OptimalExecution.search(*task)[1]
        if time.process_time() - start > limit:
            break
    print(count / (time.process_time() - start))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 20.0)
