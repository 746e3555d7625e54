"""Steps of a PyTorch training loop, with torch.profiler's wait/warm-up/active schedule; DDP, FSDP, or a callback.

    recorder = StepRecorder(warmup=5, active=50)
    with recorder:
        for batch in loader:
            with recorder.phase("forward"):
                loss = model(batch)
            ...
            recorder.step()

    study_of(recorders...)  # or let `scalecurve measure` collect: inside a measurement the probe is told as well

`LightningSteps` has the hook names of Lightning-style trainers and needs no Lightning to be installed.
"""

from __future__ import annotations

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
        _check(wait, warmup, active)
        self.wait, self.warmup, self.active = wait, warmup, active
        self.profiler = profiler
        self._clock = clock or _device_clock()
        self._durations: list[float] = []
        self._phases: dict[str, float] = {}
        self._begun: float | None = None
        self._seen = 0
        self.rank, self.world_size = 0, 1

    def __enter__(self) -> Self:
        self.rank, self.world_size = _identity()
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
        place = self._seen - self.wait - self.warmup
        return place >= 0 and (self.active is None or place < self.active)

    def step(self) -> None:
        """The end of one step and the beginning of the next."""
        if self._begun is None:
            raise InputError(Fault("step() outside the recorder", remedy="use `with recorder:` around the loop"))
        now = self._clock()
        if self._seen >= self.wait and (self.is_active or self._seen < self.wait + self.warmup):
            self._durations.append(now - self._begun)
        self._seen += 1
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
        """What this rank saw, warm-up steps first."""
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

    def on_train_batch_end(self, *_: Any, **__: Any) -> None:
        self.recorder.step()

    def on_train_end(self, *_: Any) -> None:
        self.recorder.__exit__(None, None, None)


def study_of(
    jobs: Iterable[Iterable[tuple[int, RankRecord]]], *, regime: Regime | str, name: str | None = None
) -> Study:
    """One run for every job: pairs of world size and record, one for each rank; the slowest rank's mean step is T."""
    runs = [_run(list(job), place) for place, job in enumerate(jobs)]
    return Study(
        regime=as_regime(regime),
        runs=tuple(runs),
        k_unit="ranks",
        workload=Workload(name=name),
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="scalecurve torch steps", timing="mean step of the slowest rank"),
    )


def _run(job: list[tuple[int, RankRecord]], place: int) -> Run:
    sizes = {size for size, _ in job}
    if len(sizes) != 1:
        raise InputError(
            Fault("the ranks of one job state different world sizes", where=f"job {place + 1}", seen=str(sizes))
        )
    means = [_mean(record) for _, record in job]
    if any(mean is None for mean in means):
        raise InputError(
            Fault("a rank recorded no step that counts", where=f"job {place + 1}", remedy="run more steps")
        )
    slowest = max(mean for mean in means if mean is not None)
    return Run(k=sizes.pop(), value=slowest, order=place, ranks=tuple(record for _, record in job))


def _mean(record: RankRecord) -> float | None:
    counted = record.steps[record.warmup_steps :]
    return sum(counted) / len(counted) if counted else None


def _check(wait: int, warmup: int, active: int | None) -> None:
    faults = [
        Fault("not a number of steps", where=name, seen=str(value))
        for name, value in (("wait", wait), ("warmup", warmup), ("active", 1 if active is None else active))
        if value < (1 if name == "active" else 0)
    ]
    if faults:
        raise InputError(faults, subject="StepRecorder")


def _device_clock() -> Callable[[], float]:
    import sys

    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return time.perf_counter

    def now() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return now


def _identity() -> tuple[int, int]:
    import sys

    group = sys.modules.get("torch.distributed")
    if group is not None and group.is_available() and group.is_initialized():
        return int(group.get_rank()), int(group.get_world_size())
    return 0, 1
