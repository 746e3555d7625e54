from __future__ import annotations

import pytest

from scalecurve.errors import InputError
from scalecurve.integrations.torch_steps import LightningSteps, StepRecorder, study_of


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def run(recorder: StepRecorder, clock: Clock, durations: list[float]) -> StepRecorder:
    with recorder:
        for seconds in durations:
            with recorder.phase("forward"):
                clock.now += seconds / 4
            clock.now += seconds * 3 / 4
            recorder.step()
    return recorder


def test_the_schedule_waits_warms_up_and_stops() -> None:
    clock = Clock()
    recorder = run(StepRecorder(wait=1, warmup=2, active=3, clock=clock), clock, [9, 5, 4, 1, 2, 3, 7])

    assert recorder.steps == (1, 2, 3)
    record = recorder.record()
    assert record.warmup_steps == 2
    assert record.steps == (5, 4, 1, 2, 3)
    assert record.phases == {"forward": pytest.approx((1 + 2 + 3) / 4)}


def test_the_slowest_rank_is_the_time_of_the_job() -> None:
    records = []
    for durations in ([9, 1, 1], [9, 2, 2]):
        clock = Clock()
        records.append((2, run(StepRecorder(warmup=1, clock=clock), clock, durations).record()))
    clock = Clock()
    alone = [(1, run(StepRecorder(warmup=1, clock=clock), clock, [9, 3, 3]).record())]
    study = study_of([alone, records], regime="strong")

    assert study.samples.at(1).tolist() == [3.0]
    assert study.samples.at(2).tolist() == [2.0]
    assert study.k_unit == "ranks"


def test_a_callback_has_the_hooks_of_lightning() -> None:
    clock = Clock()
    recorder = StepRecorder(warmup=0, clock=clock)
    callback = LightningSteps(recorder)
    callback.on_train_start(object(), object())
    clock.now += 1.5
    callback.on_train_batch_end(object(), object(), None, None, 0)
    callback.on_train_end(object(), object())

    assert recorder.steps == (1.5,)


def test_wrong_schedules_and_steps_outside_are_refused() -> None:
    with pytest.raises(InputError, match="2 faults"):
        StepRecorder(wait=-1, active=0)
    with pytest.raises(InputError, match="outside"):
        StepRecorder().step()
    with pytest.raises(InputError, match="no step"):
        study_of([[(1, StepRecorder().record())]], regime="strong")


class Profiler:
    """Shaped like torch.profiler.profile; the real one is driven by a program of its own (examples/torch_steps.py)."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __enter__(self) -> None:
        self.calls.append("enter")

    def __exit__(self, *error: object) -> None:
        self.calls.append("exit")

    def step(self) -> None:
        self.calls.append("step")


def test_the_profiler_goes_along_step_by_step() -> None:
    clock, profiler = Clock(), Profiler()
    run(StepRecorder(warmup=1, active=2, profiler=profiler, clock=clock), clock, [1, 1, 1])

    assert profiler.calls == ["enter", "step", "step", "step", "exit"]
