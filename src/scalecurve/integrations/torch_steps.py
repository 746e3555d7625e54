"""Steps of a PyTorch training loop, with torch.profiler's wait/warm-up/active schedule; DDP, FSDP, or a callback.

    recorder = StepRecorder(warmup=5, active=50)
    with recorder:
        for batch in loader:
            with recorder.phase("forward"):
                loss = model(batch)
            ...
            recorder.step()

    study_of(...)  # or let `scalecurve measure` collect: inside a measurement the probe records phases as well

`LightningSteps` has the hook names of Lightning-style trainers and needs no Lightning to be installed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from scalecurve import probe
from scalecurve.errors import Fault, InputError
from scalecurve.study import Provenance, RankRecord, Regime, Run, Study, Treatment, Workload
from scalecurve.study.study import as_regime


class StepRecorder:
    """Times steps: `wait` are ignored, `warmup` are kept apart, `active` count (None: all that follow).

    On a GPU the clock waits for the device, since kernels run on after the call that started them has returned.
    """

    def __init__(
        self,
        *,
        wait: int = 0,
        warmup: int = 1,
        active: int | None = None,
        profiler: Any = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        counts = (("wait", wait, 0), ("warmup", warmup, 0), ("active", 1 if active is None else active, 1))
        faults = [
            Fault("not a number of steps", where=name, value=str(count))
            for name, count, least in counts
            if count < least
        ]
        if faults:
            raise InputError(faults, subject="StepRecorder")
        self.wait, self.warmup, self.active = wait, warmup, active
        self.profiler = profiler
        torch = sys.modules.get("torch")
        on_gpu = torch is not None and torch.cuda.is_available()
        self._clock = clock or (_gpu_seconds if on_gpu else time.perf_counter)
        self._durations: list[float] = []
        self._phases: dict[str, float] = {}
        self._begun: float | None = None
        self._steps_ended = 0
        self.rank, self.world_size = 0, 1

    def __enter__(self) -> Self:
        group = sys.modules.get("torch.distributed")
        if group is not None and group.is_available() and group.is_initialized():
            self.rank, self.world_size = int(group.get_rank()), int(group.get_world_size())
        if self.profiler is not None:
            self.profiler.__enter__()
        self._begun = self._clock()
        return self

    def __exit__(self, *error: Any) -> None:
        if self.profiler is not None:
            self.profiler.__exit__(*error)

    @property
    def is_active(self) -> bool:
        """Whether the step under way will count."""
        place = self._steps_ended - self.wait - self.warmup
        return place >= 0 and (self.active is None or place < self.active)

    def step(self) -> None:
        """The end of one step and the beginning of the next."""
        if self._begun is None:
            raise InputError(Fault("step() outside the recorder", remedy="use `with recorder:` around the loop"))
        now = self._clock()
        if self._steps_ended >= self.wait and (self.is_active or self._steps_ended < self.wait + self.warmup):
            self._durations.append(now - self._begun)
        self._steps_ended += 1
        self._begun = now
        if self.profiler is not None:
            self.profiler.step()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time inside is added to `name` while steps count."""
        begin = self._clock()
        with probe.phase(name):
            yield
        if self.is_active:
            self._phases[name] = self._phases.get(name, 0.0) + self._clock() - begin

    @property
    def steps(self) -> tuple[float, ...]:
        """Seconds of the steps that count."""
        return tuple(self._durations[min(self.warmup, len(self._durations)) :])

    def record(self) -> RankRecord:
        """The steps and phases of this rank, warm-up steps first."""
        warmup = min(self.warmup, len(self._durations))
        return RankRecord(
            rank=self.rank,
            seconds=sum(self.steps) or None,
            steps=tuple(self._durations),
            warmup_steps=warmup,
            phases=dict(self._phases),
        )


class LightningSteps:
    """A callback for Lightning-style trainers: give it to `Trainer(callbacks=[...])`."""

    def __init__(self, recorder: StepRecorder) -> None:
        self.recorder = recorder

    def on_train_start(self, *_: Any) -> None:
        self.recorder.__enter__()

    def on_train_batch_end(self, *_: Any, **__: object) -> None:
        self.recorder.step()

    def on_train_end(self, *_: Any) -> None:
        self.recorder.__exit__(None, None, None)


def study_of(
    jobs: Iterable[Iterable[tuple[int, RankRecord]]], *, regime: Regime | str, name: str | None = None
) -> Study:
    """One run for every job: pairs of world size and record, one for each rank; T is the slowest rank's mean step."""
    runs = []
    for place, job in enumerate(jobs):
        pairs, where = list(job), f"job {place + 1}"
        sizes = {size for size, _ in pairs}
        if len(sizes) != 1:
            raise InputError(Fault("the ranks of one job have different world sizes", where=where, value=str(sizes)))
        counted = [record.steps[record.warmup_steps :] for _, record in pairs]
        if not all(counted):
            raise InputError(Fault("a rank recorded no step that counts", where=where, remedy="run more steps"))
        slowest = max(sum(steps) / len(steps) for steps in counted)
        runs.append(Run(k=sizes.pop(), value=slowest, order=place, ranks=tuple(record for _, record in pairs)))
    return Study(
        regime=as_regime(regime),
        runs=tuple(runs),
        k_unit="ranks",
        workload=Workload(name=name),
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="scalecurve torch steps", timing="mean step of the slowest rank"),
    )


def _gpu_seconds() -> float:
    """Seconds after the GPU has finished its work."""
    sys.modules["torch"].cuda.synchronize()
    return time.perf_counter()
