"""Load by others marks runs and rows, is waited for where that is asked, and is retried."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from scalecurve.measurement import observation
from scalecurve.measurement.guard import busy_seconds, is_disturbed, wait_for_quiet
from scalecurve.measurement.observation import Observer, ProcessView, energy_now
from scalecurve.measurement.ports import LaunchJob, LaunchOutcome, World
from scalecurve.measurement.schedule import Made
from scalecurve.measurement.servers import Peer
from scalecurve.measurement.settings import MeasureSettings, make_settings
from scalecurve.measurement.sweep import run_sweep
from scalecurve.study import Run, RunStatus, Study
from tests.fakes.world import FakeClock, FakeLauncher, FakeMachine, FakeRunner

STAT = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 50 30 500 10 5 5 10 0 0\ncpu1 0 0 0 900 0 0 0 0 0 0\nctxt 5\n"


def settings_for(**more: object) -> MeasureSettings:
    base = {"regime": "strong", "workers": "1,2", "repeats": 4, "warmup_launches": 0, "command": ["x", "{workers}"]}
    return make_settings({**base, **more})


def run_with(foreign: float, wall: float = 1.0, k: int = 1) -> Run:
    return Run(k=k, value=wall, wall_seconds=wall, observed={"foreign_cpu_seconds": foreign})


def test_what_the_usable_cores_worked() -> None:
    assert busy_seconds(FakeMachine(1, {"/proc/stat": STAT})) == pytest.approx(2.0)  # with stolen time, without idle
    assert busy_seconds(FakeMachine(2, {"/proc/stat": STAT})) == pytest.approx(2.0)
    assert busy_seconds(FakeMachine(3, {"/proc/stat": STAT})) is None
    assert busy_seconds(FakeMachine(1)) is None


def test_a_run_is_disturbed_by_the_share_and_not_by_the_grain_of_the_clock() -> None:
    assert is_disturbed(run_with(1.0), 0.3)
    assert not is_disturbed(run_with(0.2), 0.3)
    assert not is_disturbed(run_with(0.02, wall=0.02), 0.3)
    assert not is_disturbed(replace(run_with(1.0), wall_seconds=None), 0.3)


def disturbed(runs: list[Run], **more: object) -> dict[int, float]:
    return {point.k: cores for point, cores in Made.of(settings_for(**more), runs).disturbed().items()}


def test_a_row_is_disturbed_by_many_runs_or_by_short_ones_together() -> None:
    assert disturbed([run_with(0.0)] * 4 + [run_with(0.9)]) == {}
    assert disturbed([run_with(0.9)] * 2 + [run_with(0.0)] * 3) == {1: pytest.approx(0.36)}
    assert disturbed([run_with(0.02, wall=0.02, k=2)] * 5) == {2: pytest.approx(1.0)}
    assert disturbed([run_with(0.9)] * 4, quiet_below=2) == {}
    assert disturbed([run_with(0.9)] * 4, launcher="slurm") == {}


@dataclass
class BusyLauncher(FakeLauncher):
    """A job beside which others use a number of cores, launch by launch; the last number stays."""

    foreign: list[float] = field(default_factory=list)

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        outcome = super().launch(job, settings, world)
        cores = self.foreign.pop(0) if len(self.foreign) > 1 else self.foreign[0]
        return replace(outcome, observed={"foreign_cpu_seconds": cores * (outcome.wall_seconds or 0.0)})


def measured(tmp_path: Path, foreign: list[float], **more: object) -> Study:
    launcher = BusyLauncher(lambda job: 1.0 / job.k, foreign=foreign)
    world = World(FakeClock(), FakeRunner(), FakeMachine(8))
    return run_sweep(settings_for(**more), world, output=tmp_path / "s.json", launcher=launcher)


def test_a_busy_sweep_is_marked_and_a_quiet_one_is_not(tmp_path: Path) -> None:
    busy = measured(tmp_path / "busy", [1.0])
    quiet = measured(tmp_path / "quiet", [0.01])
    finding = next(finding for finding in busy.findings if finding.code == "disturbed")

    assert finding.evidence["k"] == [1, 2]
    assert all(run.observed["disturbed"] for run in busy.runs)
    assert not any("disturbed" in run.observed for run in quiet.runs)
    assert "disturbed" not in {finding.code for finding in quiet.findings}


def test_a_disturbed_launch_is_made_again_where_quiet_is_asked_for(tmp_path: Path) -> None:
    study = measured(tmp_path, [1.0, 0.0], quiet_below=0.5)

    assert [run.status for run in study.runs].count(RunStatus.DISTURBED) == 1
    assert len([run for run in study.runs if run.counts]) == 8
    assert "disturbed" not in {finding.code for finding in study.findings}


def test_a_precision_spends_its_repeats_on_disturbed_rows(tmp_path: Path) -> None:
    study = measured(tmp_path, [1.0] * 8 + [0.0], precision=0.5, max_repeats=40)
    counts = [len([run for run in study.runs if run.counts and run.k == k]) for k in (1, 2)]

    assert all(16 <= count < 40 for count in counts)
    assert "disturbed" not in {finding.code for finding in study.findings}


@dataclass
class BusyUntil(FakeMachine):
    """A machine on which others use one core until a time on the clock."""

    clock: FakeClock = field(default_factory=FakeClock)
    until: float = 0.0

    def read(self, path: str) -> str | None:
        ticks = int(100 * (min(self.clock.time, self.until) - 1000.0))
        return f"cpu0 {ticks} 0 0 0 0 0 0 0 0 0\n" if path == "/proc/stat" else None


@pytest.mark.parametrize(("until", "quiet"), [(1000.0, True), (1010.0, True), (9000.0, False)])
def test_waiting_for_a_quiet_machine_ends(until: float, quiet: bool) -> None:
    clock = FakeClock()
    world = World(clock, FakeRunner(), BusyUntil(cores=1, clock=clock, until=until))

    assert wait_for_quiet(world, 0.5) is quiet
    assert clock.time <= 1062.0


def test_a_machine_that_never_gets_quiet_is_not_waited_for_beyond_the_budget(tmp_path: Path) -> None:
    clock = FakeClock()
    world = World(clock, FakeRunner(), BusyUntil(cores=1, clock=clock, until=9000.0))
    launcher = BusyLauncher(lambda job: 1.0, foreign=[1.0])
    settings = settings_for(workers="1", quiet_below=0.5, max_time=100)
    study = run_sweep(settings, world, output=tmp_path / "s.json", launcher=launcher)

    assert not any(run.status is RunStatus.DISTURBED for run in study.runs)  # made once: another would be no better
    assert "disturbed" in {finding.code for finding in study.findings}
    assert clock.time <= 1106.0


ZONE = "/sys/class/powercap/intel-rapl:0"


def powercap(package: int, memory: int, core: int = 5) -> FakeMachine:
    return FakeMachine(
        files={
            f"{ZONE}/name": "package-0\n",
            f"{ZONE}/energy_uj": f"{package}\n",
            f"{ZONE}/max_energy_range_uj": "1000000000\n",
            f"{ZONE}:0/name": "core\n",
            f"{ZONE}:0/energy_uj": f"{core}\n",
            f"{ZONE}:1/name": "dram\n",
            f"{ZONE}:1/energy_uj": f"{memory}\n",
        }
    )


class FakeNvml:
    """Two GPUs; the first counts its energy in millijoules, the second is too old."""

    def __init__(self, millijoules: int) -> None:
        self.millijoules = millijoules

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802 - the library names it
        count._obj.value = 2
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, place: int, device: Any) -> int:  # noqa: N802 - the library names it
        device._obj.value = place + 1
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, device: Any, energy: Any) -> int:  # noqa: N802 - the library names it
        energy._obj.value = self.millijoules
        return 0 if device.value == 1 else 3


def test_joules_of_packages_memory_and_gpus_over_a_counter_that_starts_anew() -> None:
    before = energy_now(powercap(999_000_000, 2_000_000), FakeNvml(10_000))
    after = energy_now(powercap(4_000_000, 3_500_000, core=99), FakeNvml(12_500))

    assert after.since(before) == {
        "joules": pytest.approx(5 + 1.5 + 2.5),
        "cpu_joules": pytest.approx(6.5),
        "gpu_joules": pytest.approx(2.5),
        "sources": ["RAPL", "NVML"],
    }


def test_a_machine_without_counters_has_no_energy() -> None:
    nothing = energy_now(FakeMachine())

    assert nothing.since(nothing) is None


def test_ranks_that_load_mpi_late_are_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports from a cold disk take seconds: the first looks, all within one second, come too early."""
    looks: list[int] = []

    def workers_below(tree: Any) -> tuple[ProcessView, ...]:
        looks.append(observer.looks)
        return (ProcessView(7, 1, (0,), ("/lib/libmpi.so.40",) if observer.looks >= 6 else ()),)

    monkeypatch.setattr(observation, "workers_below", workers_below)
    monkeypatch.setattr(observation, "starter_among", lambda tree: "/usr/bin/mpirun")
    observer = Observer()
    for _ in range(40):
        observer.look([7])

    assert looks == [1, 2, 3, 4, 8]  # rarely, and no more once it is known
    assert observer.facts([(1.0, [])], 0.0)[0]["mpi_libraries"] == ["/lib/libmpi.so.40"]


def test_a_job_that_connects_late_is_asked_again_whom_it_talks_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that fills its tables for seconds has no connection yet at the first looks."""
    looks: list[int] = []

    def peers_of(tree: Any) -> tuple[Peer, ...]:
        looks.append(observer.looks)
        return (Peer("memcached", 9),) if observer.looks >= 6 else ()

    monkeypatch.setattr(observation, "workers_below", lambda tree: ())
    monkeypatch.setattr(observation, "starter_among", lambda tree: None)
    monkeypatch.setattr(observation, "peers_of", peers_of)
    observer = Observer(asks_peers=True)
    for _ in range(40):
        observer.look([7])

    assert looks == [1, 2, 3, 4, 5, 6]
    assert observer.facts([(1.0, [])], 0.0)[0]["talks_to"] == [{"name": "memcached", "pid": 9}]
