"""K copies of size 1 are never taken for a job of size K: each sign alone, and what they say together."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.measurement import size_evidence, worker_site
from scalecurve.measurement.ports import Launcher, LaunchJob, LaunchOutcome, World
from scalecurve.measurement.settings import MeasureSettings, make_settings
from scalecurve.measurement.size_evidence import (
    SizeRefused,
    SizeSign,
    SizeVerdict,
    banners_in,
    copy_signs,
    judge,
    shape_of,
)
from scalecurve.measurement.sweep import run_sweep
from scalecurve.measurement.worker_site import (
    MpiLibrary,
    library_in_errors,
    library_in_file,
    library_of_starter,
    program_in,
    starter_in,
    words_of,
)
from scalecurve.study import Run, RunStatus
from tests.fakes.world import FakeClock, FakeMachine, FakeRunner

OPEN_MPI = MpiLibrary("Open MPI", "/lib/libmpi.so.40")
MPICH = MpiLibrary("MPICH", "/lib/libmpich.so.12")
HYDRA = (0, "HYDRA build details:\n    Version:                                 4.0.2\n")


@pytest.mark.parametrize(
    ("text", "program", "sizes"),
    [
        ("Loop time of 0.2 on 4 procs for 100 steps with 4000 atoms", "LAMMPS", (4,)),
        ("99.8% CPU use with 4 MPI tasks x 1 OpenMP threads", "LAMMPS", (4,)),
        ("Using 4 MPI processes\nUsing 1 OpenMP thread per MPI process", "GROMACS", (4,)),
        ("Using 4 MPI threads\nUsing 4 MPI threads", "GROMACS", (1, 1)),
        ("Host   : \"a\"\nPID    : 1\nnProcs : 4\nSlaves : 3", "OpenFOAM", (4,)),
        ("     Parallel version (MPI & OpenMP), running on       4 processor cores", "Quantum ESPRESSO", (4,)),
        ("     Parallel version (MPI), running on     4 processors", "Quantum ESPRESSO", (4,)),
        (" GLOBAL| Total number of message passing processes                 4", "CP2K", (4,)),
        ("Info: Running on 4 processors, 4 nodes, 1 physical nodes.", "NAMD", (4,)),
        (" Total processes =                        4", "NAS benchmarks", (4,)),
        ("solver on a arch named host with 4 processors, by user", "PETSc", (4,)),
        ("Doing 30.0 seconds of 'work' on 4 processors,", None, (4,)),
        ("hello from rank 1 of 4\nhello from rank 0 of 4", None, (4, 4)),
    ],
)  # fmt: skip
def test_banners_of_known_programs(text: str, program: str | None, sizes: tuple[int, ...]) -> None:
    banners = [(banner.program, banner.sizes) for banner in banners_in(text)]

    assert (program, sizes) in banners


def sign(*, agrees: bool, direct: bool) -> SizeSign:
    return SizeSign(agrees, direct, "x")


def test_direct_signs_outweigh_the_others() -> None:
    yes, no = sign(agrees=True, direct=True), sign(agrees=False, direct=True)
    maybe, hardly = sign(agrees=True, direct=False), sign(agrees=False, direct=False)

    assert judge([]) is SizeVerdict.UNKNOWN
    assert judge([yes, hardly]) is SizeVerdict.SHOWN
    assert judge([no, maybe]) is SizeVerdict.CONTRADICTED
    assert judge([yes, no]) is SizeVerdict.DOUBTFUL
    assert judge([maybe]) is SizeVerdict.SHOWN
    assert judge([hardly]) is SizeVerdict.CONTRADICTED
    assert judge([maybe, hardly]) is SizeVerdict.DOUBTFUL


def run_of(k: int, seconds: float, cpu: float) -> Run:
    return Run(k=k, value=seconds, observed={"cpu_seconds": cpu})


def test_copies_show_in_their_output_and_their_cpu_time() -> None:
    alone, once = run_of(1, 10.0, 9.0), shape_of("start\nelapsed 10.0 s\n")
    both = shape_of("start\nstart\nelapsed 10.1 s\nelapsed 9.9 s\n")

    assert len(copy_signs(run_of(2, 10.1, 18.0), alone, both, once, strong=True)) == 2
    assert copy_signs(run_of(2, 5.2, 9.5), alone, both, once, strong=True) == []  # each rank prints, and it is faster
    assert (
        copy_signs(run_of(2, 10.1, 9.5), alone, once, once, strong=True) == []
    )  # a serial part: slow, but not twice the CPU time
    assert (
        len(copy_signs(run_of(2, 10.1, 18.0), alone, both, once, strong=False)) == 1
    )  # weak: equal times are what a good job has
    assert (
        copy_signs(run_of(2, 0.01, 0.02), run_of(1, 0.01, 0.01), Counter(), Counter(), strong=True) == []
    )  # too short to tell
    started = [replace(run_of(k, 10.1, 18.0 * k), wall_seconds=20.1) for k in (1, 2)]
    assert copy_signs(started[1], started[0], Counter(), Counter(), strong=True)[0].text.startswith("T(2) is 1.00 T(1)")
    imports = [replace(run_of(k, 1.0, 4.5 * k), wall_seconds=5.5) for k in (1, 2)]
    assert copy_signs(imports[1], imports[0], Counter(), Counter(), strong=True) == []  # all but T is start and imports
    busy = [replace(one, observed={**one.observed, "foreign_cpu_seconds": 15.0}) for one in started]
    assert copy_signs(busy[1], busy[0], Counter(), Counter(), strong=True) == []  # others had the second core


def test_libraries_are_told_apart_by_what_is_in_them(tmp_path: Path) -> None:
    for name, inside, expected in [
        ("libmpi.so.12", b"..MPICH Version:\t%s..", "MPICH"),
        ("libmpi.so.40", b"..Open MPI v%d.%d.%d..", "Open MPI"),
        ("libmpi.so", b"Intel(R) MPI Library %s MPICH Version", "Intel MPI"),
    ]:
        file = tmp_path / name
        file.write_bytes(b"\x7fELF" + inside)
        library = library_in_file(str(file))
        assert library is not None
        assert library.name == expected
    assert library_in_file(str(tmp_path / "nothing")) is None
    assert MPICH.pairs_with(MpiLibrary("Intel MPI", "x"))
    assert not MPICH.pairs_with(OPEN_MPI)


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("mpirun (Open MPI) 4.1.4\n\nReport bugs to", "Open MPI", "4.1.4"),
        ("mpirun.openmpi (OpenRTE) 4.1.4\n", "Open MPI", "4.1.4"),
        (HYDRA[1], "MPICH", "4.0.2"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 2023", "Intel MPI", "2021.9"),
    ],
)
def test_an_mpirun_says_which_library_it_belongs_to(text: str, name: str, version: str) -> None:
    library = library_of_starter("mpirun", FakeRunner(answers={"mpirun": (0, text)}))

    assert library is not None
    assert (library.name, library.version) == (name, version)
    assert library_of_starter("mpirun", FakeRunner(answers={"mpirun": (0, "something else")})) is None


def test_the_starter_of_a_command_is_looked_for_behind_wrappers() -> None:
    assert starter_in(["env", "A=1", "/opt/bin/mpiexec", "-n", "4", "./app"]) == "/opt/bin/mpiexec"
    assert starter_in(["./app", "4"]) is None


def test_a_sum_of_the_shell_is_not_the_program() -> None:
    words = words_of(["sh", "-c", "OMP_NUM_THREADS=$(({workers} * {threads})) ./app x"], shell=False)

    assert program_in(words, Path()) == "./app"


@dataclass
class OutputLauncher(Launcher):
    """A job that writes no probe files: its output, its seconds and its CPU seconds are functions of K."""

    output: Callable[[int], str]
    seconds: Callable[[int], float] = lambda k: 10.0 / k
    cpu: Callable[[int], float] = lambda k: 10.0
    name: str = "mpi"
    launched: list[int] = field(default_factory=list)

    def missing(self, world: World) -> str | None:
        return None

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        self.launched.append(job.k)
        return LaunchOutcome(
            status=RunStatus.OK,
            launched=world.clock.unix(),
            wall_seconds=self.seconds(job.k),
            output=self.output(job.k),
            observed={"cpu_seconds": self.cpu(job.k)},
        )


def settings_for(**launcher: object) -> MeasureSettings:
    return make_settings(
        {
            "regime": "strong",
            "workers": "1,2,4",
            "repeats": 2,
            "command": ["./app"],
            "launcher": {"name": "mpi", "program": "mpirun", **launcher},
        }
    )


def sweep(tmp_path: Path, launcher: OutputLauncher, mpirun: tuple[int, str] = (127, ""), **more: object) -> set[str]:
    world = World(FakeClock(), FakeRunner(answers={"mpirun": mpirun}), FakeMachine(8))
    study = run_sweep(settings_for(**more), world, output=tmp_path / "s.json", launcher=launcher)
    return {finding.code for finding in study.findings}


def test_singletons_with_a_banner_are_refused_after_one_launch_and_leave_nothing(tmp_path: Path) -> None:
    job = OutputLauncher(lambda k: "Loop time of 1.0 on 1 procs for 100 steps\n" * k)
    with pytest.raises(SizeRefused, match=r"LAMMPS says 2 times that it ran on 1, not 2 .* --size-check off"):
        sweep(tmp_path, job)
    assert job.launched == [1, 2]
    assert list(tmp_path.iterdir()) == []


def test_a_right_size_at_one_worker_does_not_vouch_for_more(tmp_path: Path) -> None:
    job = OutputLauncher(lambda k: "Loop time of 1.0 on 1 procs for 100 steps\n" * k)
    world = World(FakeClock(), FakeRunner(answers={"mpirun": (127, "")}), FakeMachine(8))
    settings = settings_for().model_copy(update={"warmup_launches": 0})
    with pytest.raises(SizeRefused):
        run_sweep(settings, world, output=tmp_path / "s.json", launcher=job)


def test_copies_without_a_banner_are_refused_by_output_and_cpu_time(tmp_path: Path) -> None:
    job = OutputLauncher(lambda k: "elapsed 10.0\n" * k, seconds=lambda k: 10.0, cpu=lambda k: 10.0 * k)
    with pytest.raises(SizeRefused, match=r"2 times as often .* T\(2\) is 1.00 T\(1\), with 2.0 times its CPU time"):
        sweep(tmp_path, job)


def test_a_job_that_says_its_size_is_measured_however_badly_it_scales(tmp_path: Path) -> None:
    flat = OutputLauncher(lambda k: f"nProcs : {k}\n", seconds=lambda k: 10.0, cpu=lambda k: 10.0 * k)

    assert not {"singletons", "size-unproven"} & sweep(tmp_path, flat)


def test_without_evidence_the_study_says_so(tmp_path: Path) -> None:
    assert "size-unproven" in sweep(tmp_path, OutputLauncher(lambda k: "done"))


@pytest.mark.parametrize("times", [1, 2])
def test_processes_that_print_one_time_are_one_job(tmp_path: Path, times: int) -> None:
    """As PyTorch does, where rank 0 prints; copies would print it once each."""
    job = OutputLauncher(lambda k: f"trained in {8.0 / k} s\n" * (1 if times == 1 else k))
    world = World(FakeClock(), FakeRunner(answers={"mpirun": (127, "")}), FakeMachine(8))
    pattern = {"timing": {"pattern": r"trained in ([\d.]+)"}}
    settings = make_settings({**settings_for().model_dump(exclude_unset=True), **pattern})
    study = run_sweep(settings, world, output=tmp_path / "s.json", launcher=job)

    assert ("size-unproven" in {finding.code for finding in study.findings}) is (times == 2)


def test_copies_are_the_job_where_each_brings_its_own_work(tmp_path: Path) -> None:
    """K times `sha256sum file` is weak scaling; under strong scaling it would be the same work K times."""
    copies = OutputLauncher(lambda k: "sum of file\n" * k, seconds=lambda k: 10.0, cpu=lambda k: 10.0 * k)
    copies.name = "local"
    world = World(FakeClock(), FakeRunner(), FakeMachine(8))
    base = {"workers": "1,2", "repeats": 2, "command": ["./app"], "launcher": {"name": "local", "mode": "processes"}}
    for regime in ("weak", "strong"):
        settings = make_settings({"regime": regime, **base})
        with nullcontext() if regime == "weak" else pytest.raises(SizeRefused):
            run_sweep(settings, world, output=tmp_path / f"{regime}.json", launcher=copies)
    assert not {"singletons", "size-unproven"} & {item.code for item in sc.load(tmp_path / "weak.json").findings}


def test_the_check_can_be_switched_off_and_then_marks_the_study(tmp_path: Path) -> None:
    job = OutputLauncher(lambda k: "Loop time of 1.0 on 1 procs for 100 steps\n" * k)

    assert "singletons" in sweep(tmp_path, job, size_check="off")


def test_two_libraries_are_refused_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_evidence, "program_and_library", lambda *words: ("./app", OPEN_MPI))
    monkeypatch.setattr(worker_site.shutil, "which", lambda name: None)
    job = OutputLauncher(lambda k: "done")
    with pytest.raises(SizeRefused, match=r"mpirun \(MPICH 4.0.2, mpirun\) does not belong .* \(Open MPI, /lib"):
        sweep(tmp_path, job, HYDRA)
    assert job.launched == []
    right = replace(job, output=lambda k: f"ranks {k}")
    assert not {"singletons", "size-unproven"} & sweep(tmp_path, right, HYDRA, size_pattern=r"ranks (\d+)")


def test_singletons_that_report_their_library_are_told_which_mpirun_they_need(tmp_path: Path) -> None:
    """The workers' own word counts: a look at a short or slowly starting job may come before it has loaded MPI."""
    library = tmp_path / "libmpi.so.40"
    library.write_bytes(b"\x7fELF..Open MPI v%d.%d.%d..")

    class Singletons(OutputLauncher):
        def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
            job.probe_folder.mkdir(parents=True, exist_ok=True)
            for copy in range(job.k):
                first = {"rank": 0, "size": 1, "begin": 1.0, "mpi_libraries": [str(library)]}
                lines = (json.dumps(first), json.dumps({"end": 2.0}))
                (job.probe_folder / f"rank-0-{copy}.jsonl").write_text("\n".join(lines))
            return super().launch(job, settings, world)

    output = tmp_path / "out"
    output.mkdir()
    with pytest.raises(SizeRefused, match=r"mpirun \(MPICH 4.0.2, .*does not belong to the MPI library of .*Open MPI"):
        sweep(output, Singletons(lambda k: "done"), HYDRA)


def test_a_job_that_stops_at_its_start_names_its_library_in_its_messages() -> None:
    aborts = "check_MPIR_CVAR_PMI_VERSION(167): Runtime environment uses unsupported PMI version PMIx. Aborting."
    by_message = library_in_errors(aborts, OPEN_MPI)

    assert by_message is not None
    assert by_message.name == "MPICH"
    assert library_in_errors(aborts, MPICH) is None  # its own mpirun fails for another reason
    assert library_in_errors("prterun: one process exited\nompi_mpi_init: ompi_rte_init failed", OPEN_MPI) is None
    assert library_in_errors("Segmentation fault", OPEN_MPI) is None


def test_srun_without_process_management_is_refused_for_an_mpi_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size_evidence, "program_and_library", lambda *words: ("./app", OPEN_MPI))
    runner = FakeRunner(answers={"scontrol": (0, "MaxTasks = 512\nMpiDefault              = none\n")})
    world = World(FakeClock(), runner, FakeMachine(8))
    job = OutputLauncher(lambda k: "done", name="slurm")
    with pytest.raises(SizeRefused, match=r"MpiDefault = none.* --srun-mpi"):
        run_sweep(settings_for(name="slurm"), world, output=tmp_path / "s.json", launcher=job)
    assert job.launched == []
