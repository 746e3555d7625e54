"""The measure file: one schema for the TOML file, its commented template, the keywords of `measure` and the options of
`scalecurve measure`.  Every fault is reported at once.

A command may differ between points only by its placeholders: `{workers}`, `{total}` and `{per_worker}`.  `{python}` is
the Python that runs the tool, so that a study file needs no path of one machine.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from scalecurve.errors import Fault, InputError
from scalecurve.files import read_toml
from scalecurve.measurement.figures import metric_from
from scalecurve.measurement.machine import SystemMachine
from scalecurve.measurement.masking import masked, secrets_in
from scalecurve.patterns import fault_in
from scalecurve.study import Regime
from scalecurve.study.file import faults_of, read_study
from scalecurve.study.unfinished import header_of, work_folder
from scalecurve.units import WorkersLike, as_workers, parse_count, parse_seconds, parse_share

PLACED = ("nodes", "ranks_per_node", "threads", "size")
PLACEHOLDERS = ("workers", "total", "per_worker", "rank", "host", "python", *PLACED)
_MARK = re.compile(r"\{\{([a-z_]+)\}\}|\{([a-z_]+)\}")
LOCAL_LAUNCHERS = ("local", "mpi", "torchrun", "ray", "dask")
REQUIRED = {"regime": "strong", "workers": (1,), "command": ("true", "{workers}")}
"""Stand in for what is missing while the rest is checked."""
LOAD_UNITS = ("client", "connection", "user", "request", "session", "stream", "qp", "rp", "tp", "caller", "customer")
"""Units of K, without their s, that are load on a server; so are rates."""
_COMMENT_COLUMN = 29
_LINE = 120
_EXAMPLE_NAMES = {"baseline": ("threads",), "metrics": ("speed",)}


def _reading(parse: Callable[[Any], Any], *, only_text: bool = True) -> BeforeValidator:
    """A value is parsed by `parse` before it is checked; its complaint becomes the message of the field."""

    def read(value: Any) -> Any:
        try:
            return parse(value) if isinstance(value, str) or not only_text else value
        except InputError as problem:
            text = "; ".join(part for fault in problem.faults for part in (fault.message, fault.remedy) if part)
            raise PydanticCustomError("unreadable", "{text}", {"text": text}) from None

    return BeforeValidator(read)


def _workers_here(value: WorkersLike) -> tuple[int, ...]:
    """Worker counts; in text, `cores` is the number of cores here, so that a file suits every machine."""
    if isinstance(value, str):
        cores = len(SystemMachine().usable_cores())
        value = re.sub(r"(?:(\d{1,4})x)?cores", lambda match: str(int(match[1] or 1) * cores), value)
    return tuple(sorted(set(as_workers(value))))


_LISTED = _reading(lambda text: tuple(word.strip() for word in text.split(",") if word.strip()))
_METRICS = _reading(  # a table, or texts NAME=PATTERN
    lambda value: dict(map(metric_from, value)) if isinstance(value, list | tuple) else value, only_text=False
)


def _sizes(value: Any) -> Any:
    """Problem sizes as numbers, or as text: 1e6,4e6 or 1M,4M."""
    if isinstance(value, str):
        return tuple(parse_count(word) for word in value.split(",") if word.strip())
    return (value,) if isinstance(value, int | float) else value


# The word in capitals is what the help of a flag shows.
Seconds = Annotated[FiniteFloat, Field(gt=0), _reading(parse_seconds), "DURATION"]
Share = Annotated[FiniteFloat, Field(gt=0, lt=1), _reading(parse_share), "SHARE"]
Positive = Annotated[FiniteFloat, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
Counts = tuple[Annotated[int, Field(ge=1, le=10**6)], ...]
Workers = Annotated[Counts, Field(min_length=1), _reading(_workers_here, only_text=False), "WORKERS"]
Levels = Annotated[Counts, _reading(as_workers, only_text=False), "COUNTS"]
Sizes = Annotated[tuple[Annotated[FiniteFloat, Field(gt=0)], ...], _reading(_sizes, only_text=False), "SIZES"]
Arguments = Annotated[tuple[str, ...], Field(min_length=1)]
Words = Annotated[tuple[str, ...], _reading(shlex.split)]


def _option(default: Any, text: str, example: str | None = None, flag: str | None = None, *, live: bool = False) -> Any:
    """A field: its description, its TOML example, its command-line flag, and whether the template sets it."""
    return Field(default, description=text, json_schema_extra={"example": example, "flag": flag, "live": live})


def _flag(default: Any, text: str, example: str | None = None, *, live: bool = False) -> Any:
    """A field whose command-line flag is its own name."""
    return _option(default, text, example, "", live=live)


class SettingsSection(BaseModel):
    """A table of the file.  An unknown key is a fault."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)  # built on first use, not on import


class TimingSettings(SettingsSection):
    """where T comes from"""

    source: Literal["auto", "probe", "pattern", "wall"] = _option(
        "auto", "auto: the probe if the job writes its files, else the pattern, else the wall time"
    )
    what: Literal["region", "step", "target"] = _option(
        "region", "region: first step to last; step: mean step; target: until a quality is reached"
    )
    pattern: str | None = _option(
        None,
        "A regular expression whose group is the time printed by the job.",
        "'elapsed: ([0-9.]+)'",
        "--time-pattern",
    )
    unit: Literal["s", "ms", "us", "ns", "min", "h"] = _option(
        "s", "The unit of the number that the pattern matches; h:mm:ss says its own.", flag="--time-unit"
    )
    rate_pattern: str | None = _flag(
        None,
        "Instead of a time: the group is a rate of all workers together.  Beside --time-pattern it is only kept.",
        "'([0-9.]+) steps/s'",
    )
    rate_unit: str | None = _flag(None, "The unit of that rate.", '"steps/s"')
    take: Literal["last", "first", "max", "min", "sum", "mean"] | None = _flag(
        None, "Which of several matches of the time or rate counts (default: the last, and a finding says so).", '"max"'
    )
    read_from: Annotated[tuple[str, ...], Field(min_length=1)] = _option(
        ("stdout",),
        "Where patterns are searched: stdout, stderr, and files that the job writes.",
        '["stdout", "log.lammps"]',
        flag="--from",
    )
    setup_command: Words = _flag((), "Run before each launch and timed separately.", '["./prepare", "{workers}"]')
    timer_excludes: Annotated[tuple[Literal["setup", "io"], ...], _LISTED] = _flag(
        (), "What the program's own timer leaves out, as you state it: setup, io.", '["setup", "io"]'
    )

    @property
    def measures_rate(self) -> bool:
        """Whether the value of a run is a rate, not a time."""
        return self.rate_pattern is not None and self.pattern is None


class MetricSettings(SettingsSection):
    """a further figure that the job prints, kept with every run; NAME[:TAKE]=PATTERN[:UNIT] on the command line"""

    pattern: str = _option(..., "A regular expression whose group is the number.", r"'Performance: (\S+) tau/day'")
    unit: str | None = _option(None, "The unit of the number, recorded as written.", '"tau/day"')
    take: Literal["last", "first", "max", "min", "sum", "mean"] = _option("last", "Which of several matches counts.")


class SamenessSettings(SettingsSection):
    """how to check that the job is the same at every K"""

    work_pattern: str | None = _flag(
        None,
        "A regular expression whose group is the work done, which must not change with K.",
        "'cells updated: ([0-9]+)'",
    )
    digest_pattern: str | None = _flag(None, "The same for the answer or its checksum.", r"'checksum: (\S+)'")
    work_tolerance: Annotated[FiniteFloat, Field(ge=0, lt=1)] = _option(
        1e-9, "Relative difference of the work that counts as rounding."
    )
    digest_tolerance: Annotated[FiniteFloat, Field(ge=0)] = _option(0.0, "The same for answers that are numbers.")


class TargetSettings(SettingsSection):
    """with timing.what = "target": T is the time until probe.quality(...) reaches it"""

    quality: FiniteFloat = _option(..., "The quality to reach.", "0.93")
    higher_is_better: bool = _option(True, "Write false for a loss.")


class BaselineCandidate(SettingsSection):
    """a candidate for T(1): a fast single-worker program; the fastest correct one is T(1)"""

    command: Arguments = _option(..., "A list of words, as above.", '["./solver-serial", "--cells", "{total}"]')
    threads: Count | None = _option(None, "Threads of this program, recorded with the study.", "4")
    env: dict[str, str] = _option({}, "Environment of this program.", '{ MODE = "serial" }')


class SlurmSettings(SettingsSection):
    """what sbatch and srun get"""

    allocation: Literal["run", "array", "all"] = _option(
        "run", "run: one job per launch; array: one array per K; all: one allocation for all launches"
    )
    partition: str | None = _option(None, "", '"batch"')
    account: str | None = _option(None, "", '"project"')
    time_limit: str | None = _option(None, "Time limit of one job.", '"00:10:00"')
    nodes: int | None = _option(None, 'Nodes of the allocation (allocation = "all").', "4")
    tasks_per_node: Count | None = _option(None, "", "2")
    throttle: Count = _option(1, "Arrays: how many launches of one K may run at once.")
    mpi: str | None = _option(None, "The TYPE of srun --mpi.", '"pmi2"', flag="--srun-mpi")
    launch: tuple[str, ...] = _option((), "What starts the ranks instead of srun.", '["mpirun", "-n", "{workers}"]')
    extra: tuple[str, ...] = _option((), "More arguments of sbatch.", '["--exclusive"]')
    poll: Seconds = _option(1.0, "Time between two questions to the queue.", '"1s"')


class BatchSettings(SettingsSection):
    """pbs, torque, lsf, sge, flux, template: {job}, {script}, {out}, {err}, {workers}, {threads} are filled in"""

    queue: str | None = _option(None, "", '"normal"')
    account: str | None = _option(None, "", '"project"')
    time_limit: str | None = _option(None, "Time limit of one job, as the system writes it.", '"00:10:00"')
    submit: tuple[str, ...] = _option(
        (), "The command that submits a job, instead of the system's own.", '["qsub", "-o", "{out}", "{script}"]'
    )
    status: tuple[str, ...] = _option((), "The command that asks whether the job waits or runs.", '["qstat", "{job}"]')
    cancel: tuple[str, ...] = _option((), "", '["qdel", "{job}"]')
    number_pattern: str | None = _option(None, "Its group is the job's number in the answer of submit.", r"'(\d+)'")
    alive_pattern: str | None = _option(None, "Matches the answer of status until the job has ended.", "'QUEUED|RUN'")
    start: tuple[str, ...] = _option((), "Starts K workers inside the job.", '["mpirun", "-n", "{workers}"]')
    extra: tuple[str, ...] = _option((), "More arguments of submit.", '["-pe", "mpi", "{workers}"]')
    image: str | None = _option(None, "kubernetes: the image of the pods.", '"registry/solver:1.2"')
    namespace: str | None = _option(None, "kubernetes: the namespace.", '"team"')
    poll: Seconds = _option(2.0, "Time between two questions to the queue.", '"2s"')


class LauncherSettings(SettingsSection):
    """how K workers are started"""

    name: str = _option(
        "local",
        "local, mpi, torchrun, ssh, slurm, ray, dask, pbs, torque, lsf, sge, flux, kubernetes or template.",
        flag="--launcher",
    )
    mode: Literal["command", "processes"] = _option(
        "command", "local: command (is told {workers}) or processes (K copies that meet at the first step)"
    )
    threads_per_worker: Count | None = _flag(
        None, "Threads of a worker, the same at every K (sets OMP_NUM_THREADS and others).", "1"
    )
    pin: Literal["none", "compact", "spread"] = _flag(
        "none", "local, mpi, slurm: bind workers to cores; the cores they got are recorded."
    )
    wrap: tuple[str, ...] = _option((), "A prefix of every process; with hosts.", '["ssh", "{host}"]')
    hosts: tuple[str, ...] = _option((), "Host names; each is filled before the next.", '["node1", "node2"]')
    workers_per_node: Count | None = _flag(
        None, "Workers on a node; inside a Slurm allocation torchrun then finds its nodes by itself.", "4"
    )
    program: str | None = _option(
        None, "mpi, torchrun: which program starts the ranks.", '"mpirun.mpich"', flag="--mpirun"
    )
    address: str | None = _option(None, "ray, dask: an existing cluster instead of a local one.", '"10.0.0.1:6379"')
    extra: tuple[str, ...] = _option((), "More arguments of the launcher.", '["--bind-to", "core"]')
    endpoint: str | None = _option(None, "torchrun: rendezvous of several nodes.", '"node1:29500"')
    size_pattern: str | None = _flag(
        None, "Finds the number of workers in the output of a job without the probe.", "'ranks: ([0-9]+)'"
    )
    size_check: Literal["on", "off"] = _flag(
        "on", "off: measure although the job does not seem to run at size K; the study is marked."
    )
    prologue: tuple[str, ...] = _option(
        (), "Lines that a login shell runs before the job starts.", '["module load gromacs/2024"]'
    )
    container: Annotated[str, Field(pattern=r"^(apptainer|singularity|docker|podman):\S+$")] | None = _flag(
        None, "Run the job in an image, ENGINE:IMAGE; its digest is recorded.", '"apptainer:solver.sif"'
    )
    slurm: SlurmSettings = SlurmSettings()
    batch: BatchSettings = BatchSettings()


class AxesSettings(SettingsSection):
    """several axes at once; a set of curves comes out, with K in cores"""

    nodes: Levels = _option((), "Nodes; workers are nodes x ranks per node.", "[1, 2, 4]", "--axis-nodes")
    ranks_per_node: Levels = _option((), "Ranks on a node.", "[1, 2]", "--axis-ranks-per-node")
    threads: Levels = _option((), "Threads of a rank (OMP_NUM_THREADS, srun -c).", "[1, 2, 4]", "--axis-threads")
    size: Sizes = _option(
        (), "Problem sizes: {size}, and {total} or, under weak scaling, {per_worker}.", "[1e6, 4e6]", "--axis-size"
    )
    design: Literal["full", "one-at-a-time", "latin"] = _flag(
        "full", "full: every cell; one-at-a-time: each axis from the first levels; latin: every level equally often."
    )
    points: Count | None = _option(None, "latin: at most this many cells.", "12", "--design-points")
    budget: Seconds | None = _option(
        None, "latin: at most this much time of cores; needs expected_seconds.", '"40h"', "--design-budget"
    )


class MeasureSettings(SettingsSection):
    """A whole study as asked for."""

    regime: Regime = _flag(
        ..., "strong (total work fixed) or weak (work per worker fixed); never guessed.", '"strong"', live=True
    )
    workers: Workers = _flag(
        ..., "Worker counts: 1,2,4,8 or 1..64 or 1..8:1 or 1..cores,2xcores.", '"1,2,4"', live=True
    )
    repeats: Annotated[int, Field(ge=1, le=10_000)] = _flag(5, "Fresh launches per point, at least.", live=True)
    output: Path | None = _option(None, "The study file to write.", '"study.json"', live=True)
    command: Arguments = _option(
        ...,
        "The job, once, as a list of words; no shell.  Only {workers}, {total} and {per_worker} may differ between "
        "points.\n# {python} is the Python that runs scalecurve, {{word}} a literal {word}.",
        '["{python}", "-m", "scalecurve.measurement.workloads.heat", "--workers", "{workers}", "--cells", "1000", '
        '"--sweeps", "60"]',
        live=True,
    )
    shell: bool = _option(False, "true: join the words of `command` and run them by /bin/sh.")
    folder: Path | None = _option(None, "Where the command runs (default: the folder of this file).", '"."')
    env: dict[str, str] = _option({}, "Added to the environment of the job.", '{ MY_THREADS = "{workers}" }')
    name: str | None = _flag(None, "The name of the job.", '"heated plate"')
    description: str | None = _option(None, "", '"..."')
    total: Positive | None = _flag(None, "Strong scaling: the fixed total, for {total} and {per_worker}.", "1000000")
    per_worker: Positive | None = _flag(None, "Weak scaling: the fixed work of one worker.", "250000")
    work_unit: str | None = _option(None, "", '"cells"')
    k_unit: str = _flag(
        "workers", "What K counts: ranks, gpus, nodes, threads; clients, connections or users are load, not cores."
    )
    serves: Annotated[tuple[str, ...], _LISTED] = _flag(
        (),
        "Servers that the job uses, which count as part of it: a process number, a program name, a systemd unit or a "
        "container.",
        '["postgres"]',
    )
    warmup_launches: Annotated[int, Field(ge=0, le=1000)] = _flag(
        1, "Launches of each point that are recorded but not counted.", live=True
    )
    warmup_steps: Natural = _flag(0, "First steps of each run that do not count.")
    precision: Share | None = _flag(None, "Launch again until the interval of T is within this share.", '"2%"')
    level: Share = _option(0.95, "The confidence of that interval.", '"95%"')
    max_repeats: Annotated[int, Field(ge=1, le=100_000)] | None = _flag(
        None, "Most launches per point when a precision is asked for.", "20"
    )
    max_time: Seconds | None = _flag(None, "Stop after this long, such as 30m.", '"1h"')
    timeout: Seconds | None = _flag(None, "End a launch that takes longer, with everything it started.", '"10m"')
    seed: int = _flag(20_260_101, "Seed of the launch order: each block holds every point once, shuffled.")
    oversubscribe: bool = _flag(False, "Also measure K above the number of cores; these points are marked.")
    quiet_below: Positive | None = _flag(
        None,
        "Wait before each launch until others use fewer cores, and repeat a launch that they disturbed; without it "
        "such launches are only marked.",
        "0.3",
    )
    expected_seconds: Seconds | None = _flag(None, "T(1), for --dry-run.", '"30s"')
    expected_cv: Share | None = _option(None, "Run-to-run spread, for --dry-run.", '"5%"')
    usd_per_worker_hour: Positive | None = _flag(None, "Price, for --dry-run.", "2.5")
    keep_files: bool = _option(False, "Keep the output of every run in <output>.work/.")
    timing: TimingSettings = TimingSettings()
    sameness: SamenessSettings = SamenessSettings()
    target: TargetSettings | None = None
    baseline: dict[str, BaselineCandidate] = {}
    metrics: Annotated[dict[str, MetricSettings], _METRICS] = {}
    launcher: Annotated[LauncherSettings, _reading(lambda name: {"name": name})] = LauncherSettings()
    axes: AxesSettings | None = None

    @property
    def most_repeats(self) -> int:
        """The most fresh launches of a point: `repeats` unless a precision is asked for."""
        if self.precision is None:
            return self.repeats
        return max(self.repeats, self.max_repeats or 4 * self.repeats)

    @property
    def k_is_load(self) -> bool:
        """Whether K counts what asks for work and not what does it, so that cores are no limit of K."""
        return self.k_unit.lower().rstrip("s") in LOAD_UNITS or bool(re.search(r"/\s*s(ec)?$|per second$", self.k_unit))

    @property
    def is_local(self) -> bool:
        """Whether all workers share this machine, so that its cores are the limit."""
        return self.launcher.name in LOCAL_LAUNCHERS and not self.launcher.hosts and self.launcher.address is None

    def values_at(self, k: int) -> dict[str, object]:
        """Placeholder values at K.  Strong: the total is fixed and divided.  Weak: the total grows with K."""
        values: dict[str, object] = {"workers": k, "python": sys.executable}
        if self.regime is Regime.STRONG and self.total is not None:
            values |= {"total": _plain(self.total), "per_worker": _plain(self.total / k)}
        if self.regime is Regime.WEAK and self.per_worker is not None:
            values |= {"per_worker": _plain(self.per_worker), "total": _plain(self.per_worker * k)}
        if self.axes is not None:  # of one sweep of a grid: every axis but the nodes has one level
            ranks = (self.axes.ranks_per_node or (1,))[0] if self.axes.nodes else k
            values |= {"nodes": k // ranks, "ranks_per_node": ranks, "threads": (self.axes.threads or (1,))[0]}
            values |= {"size": _plain(self.axes.size[0])} if self.axes.size else {}
        return values

    def filled(self, texts: tuple[str, ...], k: int) -> tuple[str, ...]:
        values = self.values_at(k)
        return tuple(fill(text, values) for text in texts)

    def job(self) -> dict[str, Any]:
        """What makes two measurements the same job, without secrets; they are joined only when all of it is equal."""
        same = {"regime", "command", "total", "per_worker", "shell", "env", "warmup_steps", "timing", "launcher"}
        named = {"metrics"} if self.metrics else set()
        whole = same | {"target", "baseline", "sameness"} | named
        job: dict[str, Any] = masked(self.model_dump(mode="json", include=whole))
        return job

    def asked(self) -> dict[str, Any]:
        """What the user gave, without secrets, so that `--resume` needs nothing again."""
        given = self.model_dump(mode="json", exclude_unset=True, exclude={"output"})
        folder = {"folder": str((self.folder or Path.cwd()).absolute())}
        return {**masked(given), **folder, **({"masked": True} if self.secrets() else {})}

    def secrets(self) -> tuple[str, ...]:
        """The values that are masked wherever the study would record them."""
        fields = self.model_dump(mode="json", include={"command", "env", "baseline", "timing", "launcher"})
        return tuple(secrets_in(fields, masked(fields)))


def _plain(number: float) -> str:
    """A whole number without a point, so that `--cells {total}` reads `4096`."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def fill(text: str, values: Mapping[str, object]) -> str:
    """The text with its placeholders replaced; `{{word}}` is a literal `{word}`, unknown placeholders stay."""

    def value_of(match: re.Match[str]) -> str:
        if match[1]:
            return "{" + match[1] + "}"
        return str(values[match[2]]) if match[2] in values else match[0]

    return _MARK.sub(value_of, text) if "{" in text else text


def make_settings(values: Mapping[str, Any], *, subject: str = "measure") -> MeasureSettings:
    """Checked settings; raises InputError with every fault."""
    settings, faults = draft_of(values)
    if faults or settings is None:
        raise InputError(faults, subject=subject)
    return settings


def draft_of(values: Mapping[str, Any]) -> tuple[MeasureSettings | None, list[Fault]]:
    """The settings and every fault of them; a value with a fault is left out, so that the others are checked too."""
    try:
        settings, faults = MeasureSettings.model_validate(_with_workers(values)), []
    except ValidationError as problem:
        faults = faults_of(problem)
        wrong = {str(error["loc"][0]) for error in problem.errors(include_url=False)}
        sound = {name: value for name, value in values.items() if name not in wrong}
        try:
            settings = MeasureSettings.model_validate(_with_workers({**REQUIRED, **sound}))
        except ValidationError:
            return None, faults
    rest = _faults_of_command(settings) + _faults_of_timing(settings) + _faults_of_axes(settings)
    hint = "a name that begins with - would be read as an option of ssh or mpirun"
    rest += [
        Fault("not a host name", where="launcher.hosts", value=host, remedy=hint)
        for host in settings.launcher.hosts
        if not re.fullmatch(r"[A-Za-z0-9_.@\[\]:%][\w.@\[\]:%-]*", host)
    ]
    known = {str(fault.where).partition(".")[0] for fault in faults}
    return settings, faults + [fault for fault in rest if str(fault.where).partition(".")[0] not in known]


def _with_workers(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values; where the axes place the workers and their counts are not given, the axes say them."""
    axes = values.get("axes")
    if values.get("workers") is not None or not axes:
        return dict(values)
    own = axes if isinstance(axes, AxesSettings) else AxesSettings.model_validate(axes)
    placed = {nodes * ranks for nodes in own.nodes or (1,) for ranks in own.ranks_per_node or (1,)}
    axis_counts = own.nodes or own.ranks_per_node or own.threads
    return {**values, "workers": tuple(sorted(placed))} if axis_counts else dict(values)


def _faults_of_axes(settings: MeasureSettings) -> list[Fault]:
    axes, faults = settings.axes, []
    if axes is None:
        return []
    if not (axes.nodes or axes.ranks_per_node or axes.threads or axes.size):
        faults.append(Fault("the axes are empty", where="axes", remedy="give nodes, ranks_per_node, threads or size"))
    placed = {nodes * ranks for nodes in axes.nodes or (1,) for ranks in axes.ranks_per_node or (1,)}
    if (axes.nodes or axes.ranks_per_node) and set(settings.workers) - placed:
        hint = "leave workers out: they are nodes x ranks per node"
        faults.append(Fault("the axes say how many workers there are", where="workers", remedy=hint))
    if axes.size and (settings.total is not None or settings.per_worker is not None):
        hint = "leave total and per_worker out: each size is one of them"
        faults.append(Fault("sizes are given twice", where="axes.size", remedy=hint))
    if axes.design == "latin" and axes.budget is not None and settings.expected_seconds is None:
        hint = "say the time of one worker at the first size with --expected-seconds"
        faults.append(Fault("a budget of time needs the time of a launch", where="axes.budget", remedy=hint))
    texts = " ".join((*settings.command, *settings.env.values()))
    if len(axes.size) > 1 and not any(f"{{{name}}}" in texts for name in ("size", "total", "per_worker")):
        hint = "put {size}, {total} or {per_worker} into the command"
        faults.append(Fault("the command is not told the size", where="command", remedy=hint))
    return faults


def _faults_of_command(settings: MeasureSettings) -> list[Fault]:
    """A misspelt placeholder would measure another job, and a command without {workers} the same job at every K."""
    texts = [*settings.command, *settings.env.values(), *settings.launcher.wrap]
    used = {match[2] for text in texts for match in _MARK.finditer(text) if match[2]}
    hint = f"use {', '.join('{' + name + '}' for name in PLACEHOLDERS)}; write {{{{word}}}} for literal braces"
    faults = [
        Fault("unknown placeholder", where="command", value="{" + name + "}", remedy=hint)
        for name in sorted(used - set(PLACEHOLDERS))
    ]
    fixed = "total" if settings.regime is Regime.STRONG else "per_worker"
    sized = settings.axes is not None and bool(settings.axes.size)
    if used & {"total", "per_worker"} and getattr(settings, fixed) is None and not sized:
        hint = f"{settings.regime} scaling holds it fixed; {{total}} and {{per_worker}} follow from it"
        faults.append(Fault(f"{fixed} is not given", where=fixed, remedy=hint))
    one_command = settings.launcher.name == "local" and settings.launcher.mode == "command"
    if not one_command or len(settings.workers) == 1:
        return faults
    sizes = [f"{{{name}}}" for name in ("total", "per_worker") if name in used]
    if "workers" not in used:
        what = f"the command is told {' and '.join(sizes)} but not how many workers to use" if sizes else ""
        hint = "put {workers} into it, as in `env OMP_NUM_THREADS={workers} ./solver`; or start K copies: --processes"
        faults.append(Fault(what or "the command is the same at every K", where="command", remedy=hint))
    if settings.regime is Regime.WEAK and settings.per_worker is not None and not sizes:
        hint = "put {total} or {per_worker} into the command"
        faults.append(Fault("per_worker is given but the command does not use it", where="command", remedy=hint))
    return faults


def _faults_of_timing(settings: MeasureSettings) -> list[Fault]:
    faults = []
    if settings.timing.source == "pattern" and not settings.timing.pattern:
        faults.append(
            Fault(
                "timing.source is 'pattern' but there is no pattern",
                where="timing.pattern",
                remedy="add timing.pattern, or take another source",
            )
        )
    if (settings.timing.what == "target") != (settings.target is not None):
        hint = "time to a target needs both timing.what = 'target' and [target] quality = ..."
        faults.append(Fault("only half of a target is given", where="target", remedy=hint))
    if settings.timing.measures_rate and settings.baseline:
        hint = "measure times with --time-pattern; the rate is kept beside them"
        faults.append(Fault("baselines are compared by time, not by rate", where="timing.rate_pattern", remedy=hint))
    batch = settings.launcher.batch
    patterns = {
        "timing.pattern": settings.timing.pattern,
        "timing.rate_pattern": settings.timing.rate_pattern,
        **{f"metrics.{name}": metric.pattern for name, metric in settings.metrics.items()},
        "sameness.work_pattern": settings.sameness.work_pattern,
        "sameness.digest_pattern": settings.sameness.digest_pattern,
        "launcher.size_pattern": settings.launcher.size_pattern,
        "launcher.batch.number_pattern": batch.number_pattern,
    }
    hint = r"one group must match the value, like 'elapsed: ([0-9.]+)'"
    wrong = [fault_in(pattern, where, hint) for where, pattern in patterns.items() if pattern]
    if batch.alive_pattern:
        wrong.append(fault_in(batch.alive_pattern, "launcher.batch.alive_pattern", "like 'QUEUED|RUN'", fewest=0))
    return faults + [fault for fault in wrong if fault is not None]


def raw_settings(file: str | Path | None, values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a file, replaced by the values given beside it; study.toml writes study.json by default.

    Of a study that was measured, or is half measured, they are those that it was measured with.
    """
    if file is None:
        return merged({}, values)
    path = Path(file)
    raw = settings_of_study(path) if path.suffix == ".json" else read_settings(path)
    return merged({"output": path.with_suffix(".json"), **raw}, values)


def settings_of_study(path: Path) -> dict[str, Any]:
    """What was asked for when the study was measured; InputError where the file does not say all of it."""
    recorded: Any = header_of(path).get("settings")
    if recorded is None and (path.exists() or not work_folder(path).exists()):
        recorded = read_study(path).provenance.settings.get("asked")
    asked = dict(recorded) if isinstance(recorded, Mapping) else {}
    if not asked or asked.pop("masked", False):
        why = "it holds secrets, which are not recorded" if asked else "the file does not say how it was measured"
        remedy = "give the file or the options that it was begun with beside --resume and -o"
        raise InputError(Fault(f"the settings are not known: {why}", remedy=remedy), subject=str(path))
    return asked


def read_settings(path: Path) -> dict[str, Any]:
    """The raw tables of a TOML file; relative `folder` and `output` are relative to the file."""
    raw = read_toml(path, hint="scalecurve measure --init writes a commented example")
    for name in ("folder", "output"):
        if isinstance(raw.get(name), str):
            raw[name] = os.path.join(path.parent, raw[name])
    raw.setdefault("folder", str(path.parent))
    return raw


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Tables joined key by key; `over` wins, None means not given."""
    result = dict(base)
    for name, value in over.items():
        if isinstance(value, Mapping):
            table = result.get(name)
            value = merged(table if isinstance(table, Mapping) else {}, value) or None
        if value is not None:
            result[name] = value
    return result


class MeasureKeywords(TypedDict, total=False):
    """The keywords of `measure` and `preview`: the names of the measure file; tables are dictionaries."""

    regime: Regime | str | None
    workers: WorkersLike | None
    command: Sequence[str] | None
    output: str | Path | None
    repeats: int | None
    name: str | None
    description: str | None
    folder: str | Path | None
    shell: bool | None
    env: Mapping[str, str] | None
    total: float | None
    per_worker: float | None
    work_unit: str | None
    k_unit: str | None
    serves: str | Sequence[str] | None
    warmup_launches: int | None
    warmup_steps: int | None
    precision: float | str | None
    level: float | str | None
    max_repeats: int | None
    max_time: float | str | None
    timeout: float | str | None
    seed: int | None
    oversubscribe: bool | None
    quiet_below: float | None
    expected_seconds: float | str | None
    expected_cv: float | str | None
    usd_per_worker_hour: float | None
    keep_files: bool | None
    timing: TimingSettings | Mapping[str, Any] | None
    sameness: SamenessSettings | Mapping[str, Any] | None
    target: TargetSettings | Mapping[str, Any] | None
    baseline: Mapping[str, BaselineCandidate | Mapping[str, Any]] | None
    metrics: Mapping[str, MetricSettings | Mapping[str, Any]] | Sequence[str] | None
    launcher: str | LauncherSettings | Mapping[str, Any] | None
    axes: AxesSettings | Mapping[str, Any] | None


class SettingsOption(NamedTuple):
    """A field of the schema: its path in the file, its flag (or None), its TOML example."""

    path: tuple[str, ...]
    field: FieldInfo
    flag: str | None
    example: str
    live: bool

    @property
    def text(self) -> str:
        return self.field.description or ""

    @property
    def metavar(self) -> str:
        """The kind of value: DURATION, SHARE, WORKERS, INTEGER, FLOAT or TEXT."""
        parts = [self.field.annotation, *self.field.metadata, *get_args(self.field.annotation)]
        parts += [part for kind in parts for part in get_args(kind)]
        words = [part for part in parts if isinstance(part, str)] + ["INTEGER"] * (int in parts)
        return (words + ["FLOAT"] * (float in parts) + ["TEXT"])[0]


def options(section: type[SettingsSection] = MeasureSettings, path: tuple[str, ...] = ()) -> Iterator[SettingsOption]:
    """Every field of the schema in order, the fields of its tables after its own."""
    tables = []
    for name, field in section.model_fields.items():
        kinds = (field.annotation, *get_args(field.annotation))
        table = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, SettingsSection)), None)
        if table is not None:
            tables.append((table, (*path, name, *_EXAMPLE_NAMES.get(name, ()))))
            continue
        extra: Any = field.json_schema_extra
        example = extra["example"] or json.dumps(field.default)
        flag = f"--{name.replace('_', '-')}" if extra["flag"] == "" else extra["flag"]
        yield SettingsOption((*path, name), field, flag, example, extra["live"])
    for table, place in tables:
        yield from options(table, place)


def template() -> str:
    """A commented study file with every option."""
    lines = [
        "# A scaling study, for `scalecurve measure study.toml`.  A line that begins with `# name =` is an option with",
        "# its default or an example; remove the `# ` to use it.  A misspelt name is reported, not ignored.",
        "",
    ]
    sections = {"timing": TimingSettings, "sameness": SamenessSettings, "target": TargetSettings}
    sections |= {"metrics.speed": MetricSettings}
    sections |= {"baseline.threads": BaselineCandidate, "launcher": LauncherSettings, "launcher.slurm": SlurmSettings}
    sections |= {"launcher.batch": BatchSettings}
    sections |= {"axes": AxesSettings}
    table: tuple[str, ...] = ()
    for option in options():
        if option.path[:-1] != table:
            table = option.path[:-1]
            name = ".".join(table)
            lines += ["", f"# [{name}]".ljust(_COMMENT_COLUMN) + f"# {sections[name].__doc__}"]
        setting = f"{'' if option.live else '# '}{option.path[-1]} = {option.example}"
        comment = f"# {option.text}" if option.text else ""
        whole = f"{setting.ljust(_COMMENT_COLUMN - 1)} {comment}".rstrip()
        lines += [whole] if len(whole) <= _LINE else [comment, setting]
    return "\n".join(lines) + "\n"
