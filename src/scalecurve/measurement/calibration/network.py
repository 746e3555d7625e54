"""Timing real collectives: starts the ranks, checks that as many run as were asked for, collects what they print."""

from __future__ import annotations

import json
import shlex
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.errors import Fault, InputError, MissingExtra, RunError
from scalecurve.laws.collectives import as_operation
from scalecurve.study.message_sweep import MessageSweep, Timing
from scalecurve.study.provenance import Provenance

WORKER = "scalecurve.measurement.calibration.collective_worker"
LAUNCH = {
    "mpi": "mpirun -n {k}",
    "torch": "{python} -m torch.distributed.run --standalone --nproc-per-node {k} --no-python",
}
MARK = "SCALECURVE "

Runner = Callable[[list[str], float], str]


@dataclass(frozen=True, kw_only=True)
class SweepPlan:
    """What to time: operations, sizes in bytes, ranks; `blocks` repeats, each about `block_seconds` long."""

    operations: tuple[str, ...] = ("allreduce",)
    sizes: tuple[int, ...] = tuple(4**i for i in range(1, 12))
    ranks: tuple[int, ...] = (2,)
    engine: str = "mpi"
    launch: str | None = None
    blocks: int = 7
    block_seconds: float = 0.05
    timeout: float = 600.0

    def __post_init__(self) -> None:
        faults = []
        if self.engine not in LAUNCH:
            faults.append(Fault("unknown engine", seen=self.engine, remedy=f"one of {', '.join(LAUNCH)}"))
        if not self.sizes or min(self.sizes) <= 0:
            faults.append(Fault("message sizes are positive numbers of bytes", where="sizes", seen=str(self.sizes)))
        if not self.ranks or min(self.ranks) < 2:
            faults.append(Fault("a collective is timed on two ranks or more", where="ranks", seen=str(self.ranks)))
        if faults:
            raise InputError(faults, subject="collective measure")


def measure_collectives(plan: SweepPlan, *, run: Runner | None = None) -> MessageSweep:
    """Time every operation at every size and number of ranks."""
    names = [str(as_operation(name)) for name in plan.operations]
    timings: list[Timing] = []
    for k in plan.ranks:
        timings += _timings(_run_ranks(plan, names, k, run or run_process), k)
    settings = {"engine": plan.engine, "blocks": plan.blocks, "block_seconds": plan.block_seconds}
    timing = "back-to-back loops, slowest rank, median over blocks"
    provenance = Provenance(
        tool="scalecurve", launcher=plan.launch or LAUNCH[plan.engine], timing=timing, settings=settings
    )
    return MessageSweep(timings=tuple(timings), system=f"{plan.engine} on this machine", provenance=provenance)


def _run_ranks(plan: SweepPlan, names: Sequence[str], k: int, run: Runner) -> list[dict[str, Any]]:
    order = {
        "operations": list(names),
        "sizes": list(plan.sizes),
        "blocks": plan.blocks,
        "block_seconds": plan.block_seconds,
    }
    output = run(command_for(plan, k, json.dumps(order)), plan.timeout)
    lines = [line[len(MARK) :] for line in output.splitlines() if line.startswith(MARK)]
    if not lines:
        raise RunError(
            f"the {plan.engine} job with {k} ranks printed no result: {output.strip()[-400:] or 'no output'}"
        )
    data = json.loads(lines[0])
    if data["size"] != k or len(lines) > 1:
        why = "the launcher and the library do not belong together" if data["size"] == 1 else "a wrong launch command"
        raise RunError(f"{k} ranks were asked for but {data['size']} started in {len(lines)} job(s): {why}")
    results: list[dict[str, Any]] = data["results"]
    return results


def command_for(plan: SweepPlan, k: int, order: str) -> list[str]:
    """The launch command with the worker behind it, as an argument list."""
    template = plan.launch or LAUNCH[plan.engine]
    start = [part.format(k=k, python=sys.executable) for part in shlex.split(template)]
    if shutil.which(start[0]) is None:
        if plan.launch is None:
            raise MissingExtra(f"timing collectives with {plan.engine}", plan.engine)
        raise InputError(Fault("the launch command does not exist", seen=start[0], remedy="check --launch"))
    return [*start, sys.executable, "-m", WORKER, plan.engine, order]


def run_process(command: list[str], timeout: float) -> str:
    """Run to the end and return what was printed; failures carry the tail of the error output."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise RunError(f"{command[0]} did not finish within {timeout:g} s") from None
    if done.returncode != 0:
        raise RunError(f"{command[0]} failed with code {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


def _timings(results: Sequence[dict[str, Any]], k: int) -> list[Timing]:
    found = []
    for each in results:
        samples = [float(value) for value in each["samples"]]
        middle = statistics.median(samples)
        spread = statistics.median([abs(value - middle) for value in samples])
        found.append(
            Timing(
                operation=each["operation"],
                ranks=k,
                message=float(each["message"]),
                seconds=middle,
                spread=spread,
                repeats=len(samples),
            )
        )
    return found
