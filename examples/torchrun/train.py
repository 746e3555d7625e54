"""Data-parallel training of a small network, in both regimes by one switch.

    --scaling strong   the global batch is fixed and shared out: the same optimisation at every K
    --scaling weak     the batch of a worker is fixed and the global batch grows: another optimisation at every K

In the weak case the learning rate follows the batch (linear rule with warm-up, Goyal et al. 2017), which holds only up
to the critical batch; --noise-scale estimates it for this very training from two batch sizes at once (McCandlish et
al. 2018, appendix A.1): each worker's gradient before the all-reduce, and the mean after it.
"""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from scalecurve import probe

CLASSES, FEATURES = 10, 64


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scaling", choices=["strong", "weak"], required=True)
    parser.add_argument("--batch", type=int, default=512, help="global batch (strong) or batch of a worker (weak)")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--base-rate", type=float, default=0.05, help="learning rate at --base-batch")
    parser.add_argument("--base-batch", type=int, default=512)
    parser.add_argument("--warmup", type=int, default=10, help="steps of rising learning rate")
    parser.add_argument("--noise-scale", action="store_true", help="report gradient norms for the noise scale")
    return parser.parse_args()


def batches(given: argparse.Namespace, rank: int, size: int) -> tuple[int, int]:
    """The batch of this worker and of all workers; strong scaling must divide exactly, or the job would change."""
    if given.scaling == "weak":
        return given.batch, given.batch * size
    if given.batch % size:
        raise SystemExit(f"the global batch {given.batch} cannot be shared out equally by {size} workers")
    return given.batch // size, given.batch


def explain(given: argparse.Namespace, local: int, total: int, size: int) -> None:
    if given.scaling == "strong":
        print(f"strong scaling: global batch {total} at every K, {local} per worker; learning rate {given.base_rate:g}")
        return
    rate = given.base_rate * total / given.base_batch
    print(f"weak scaling: {local} per worker, global batch {total} with {size} workers")
    print(f"learning rate: {given.base_rate:g} x {total}/{given.base_batch} = {rate:g} (linear rule),")
    print(f"reached after {given.warmup} steps of warm-up; Adam-like optimisers want the square root rule instead")
    print("limits: the rule fails beyond the critical batch (more workers then buy samples per second, not progress),")
    print("and a weak curve must not be reported alone; --noise-scale estimates the critical batch of this job")


def rate_at(step: int, given: argparse.Namespace, total: int) -> float:
    """Linear scaling of the rate with the batch, approached linearly during the warm-up."""
    goal = given.base_rate * (total / given.base_batch if given.scaling == "weak" else 1.0)
    start = min(given.base_rate, goal)
    return start + (goal - start) * min(1.0, (step + 1) / max(1, given.warmup))


def sample(step: int, first: int, count: int, teacher: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows first..first+count of the global batch of a step: the same data at every K, whoever computes it."""
    rows = []
    for row in range(first // 64, (first + count + 63) // 64):
        generator = torch.Generator().manual_seed(step * 1_000_003 + row)
        rows.append(torch.randn(64, FEATURES, generator=generator))
    inputs = torch.cat(rows)[first % 64 : first % 64 + count]
    return inputs, (inputs @ teacher).argmax(1)


def norm2(model: nn.Module) -> float:
    return float(sum(p.grad.pow(2).sum() for p in model.parameters() if p.grad is not None))


def main() -> None:
    given = options()
    distributed = "RANK" in os.environ
    if distributed:
        dist.init_process_group("gloo")
    rank, size = (dist.get_rank(), dist.get_world_size()) if distributed else (0, 1)
    local, total = batches(given, rank, size)
    if rank == 0:
        explain(given, local, total, size)
    train(given, rank, size, local, total, distributed)
    if distributed:
        dist.barrier()  # nobody leaves while another still talks to it: gloo aborts a rank whose peer has gone
        dist.destroy_process_group()


def train(given: argparse.Namespace, rank: int, size: int, local: int, total: int, distributed: bool) -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(FEATURES, given.width), nn.ReLU(), nn.Linear(given.width, given.width), nn.ReLU(),
                          nn.Linear(given.width, CLASSES))  # fmt: skip
    teacher = torch.randn(FEATURES, CLASSES, generator=torch.Generator().manual_seed(2))
    parallel = DistributedDataParallel(model) if distributed else model
    optimiser = torch.optim.SGD(model.parameters(), lr=given.base_rate, momentum=0.9)
    data = [sample(step, rank * local, local, teacher) for step in range(given.steps)]
    if distributed:
        dist.barrier()
    for step in probe.steps(range(given.steps), work=local):
        optimiser.param_groups[0]["lr"] = rate_at(step, given, total)
        loss = train_step(parallel, optimiser, data[step], given.noise_scale and size > 1, local, total)
    probe.digest(final_loss(loss, distributed, size))


def train_step(model, optimiser, batch, with_noise: bool, local: int, total: int) -> torch.Tensor:
    inputs, labels = batch
    optimiser.zero_grad(set_to_none=True)
    if with_noise:
        loss = noisy_backward(model, inputs, labels, local, total)
    else:
        with probe.phase("compute"):
            loss = nn.functional.cross_entropy(model(inputs), labels)
        with probe.phase("backward and communication"):
            loss.backward()
    with probe.phase("compute"):
        optimiser.step()
    return loss.detach()


def noisy_backward(model, inputs: torch.Tensor, labels: torch.Tensor, local: int, total: int) -> torch.Tensor:
    """Backward without DDP's all-reduce, so that both norms are seen; then the all-reduce by hand."""
    with model.no_sync(), probe.phase("compute"):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
    small = torch.tensor(norm2(model))
    with probe.phase("communication"):
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        dist.all_reduce(small)
    probe.record("gradient_small_norm2", float(small) / dist.get_world_size())
    probe.record("gradient_big_norm2", norm2(model))
    probe.record("gradient_small_batch", local)
    probe.record("gradient_big_batch", total)
    return loss


def final_loss(loss: torch.Tensor, distributed: bool, size: int) -> float:
    if distributed:
        dist.all_reduce(loss)
        loss /= size
    return float(loss)


if __name__ == "__main__":
    main()
