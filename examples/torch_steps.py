"""Steps of a DDP training loop, timed with torch.profiler's schedule beside them.

    torchrun --nproc_per_node 2 examples/torch_steps.py

Rank 0 prints the study's rows; run it at several counts, or under `scalecurve measure`, for a curve.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

from scalecurve.integrations.torch_steps import StepRecorder, study_of

WARMUP, ACTIVE = 2, 8


def main() -> None:
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    model = DistributedDataParallel(torch.nn.Linear(128, 128))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    plan = schedule(wait=0, warmup=WARMUP, active=ACTIVE)
    recorder = StepRecorder(
        warmup=WARMUP, active=ACTIVE, profiler=profile(activities=[ProfilerActivity.CPU], schedule=plan)
    )
    with recorder:
        for _ in range(WARMUP + ACTIVE):
            optimizer.zero_grad()
            with recorder.phase("compute"):
                model(torch.randn(256 // dist.get_world_size(), 128)).sum().backward()
            optimizer.step()
            recorder.step()
    records = [None] * dist.get_world_size()
    dist.all_gather_object(records, (recorder.world_size, recorder.record()))
    if dist.get_rank() == 0:
        print(study_of([records], regime="strong").records())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
