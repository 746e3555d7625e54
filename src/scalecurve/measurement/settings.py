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
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from scalecurve.errors import Fault, InputError
from scalecurve.files import may_replace, read_toml
from scalecurve.measurement.figures import metric_from
from scalecurve.measurement.machine import SystemMachine
from scalecurve.measurement.masking import masked, secrets_in
from scalecurve.patterns import fault_in
from scalecurve.study import Regime
from scalecurve.study.file import faults_of, read_study
from scalecurve.study.study import is_load
from scalecurve.study.unfinished import header_of, work_folder
from scalecurve.units import WorkersLike, as_workers, parse_count, parse_seconds, parse_share

PLACED = ("nodes", "ranks_per_node", "threads", "size")
PLACEHOLDERS = ("workers", "total", "per_worker", "rank", "host", "python", *PLACED)
_MARK = re.compile(r"\{\{([a-z_]+)\}\}|\{([a-z_]+)\}")
LOCAL_LAUNCHERS = ("local", "mpi", "torchrun", "ray", "dask")
REQUIRED = {"regime": "strong", "workers": (1, 2), "command": ("true", "{workers}")}
"""Stand in for what is missing while the rest is checked."""
WANTED: dict[tuple[str | None, str], str] = {
    (
        "regime",
        "missing",
    ): "say --regime: strong where the whole job stays the same, weak where each worker's work does",
    ("workers", "missing"): "name the worker counts, like --workers 1,2,4",
    ("command", "missing"): "put the job behind --, like -- ./solver --threads {workers}",
}
_COMMENT_COLUMN = 29
_LINE = 120


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


class SettingsSection(BaseModel):
    """A table of the file.  An unknown key is a fault."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)  # built on first use, not on import


class TimingSettings(SettingsSection):
    """where T comes from"""

    source: Literal["auto", "probe", "pattern", "wall"] = "auto"
    what: Literal["region", "step", "target"] = "region"
    pattern: str | None = None
    unit: Literal["s", "ms", "us", "ns", "min", "h"] = "s"
    rate_pattern: str | None = None
    rate_unit: str | None = None
    take: Literal["last", "first", "max", "min", "sum", "mean"] | None = None
    read_from: Annotated[tuple[str, ...], Field(min_length=1)] = ("stdout",)
    setup_command: Words = ()
    timer_excludes: Annotated[tuple[Literal["setup", "io"], ...], _LISTED] = ()

    @property
    def measures_rate(self) -> bool:
        """Whether the value of a run is a rate, not a time."""
        return self.rate_pattern is not None and self.pattern is None


class MetricSettings(SettingsSection):
    """a further figure that the job prints, kept with every run; NAME[:TAKE]=PATTERN[:UNIT] on the command line"""

    pattern: str
    unit: str | None = None
    take: Literal["last", "first", "max", "min", "sum", "mean"] = "last"


class SamenessSettings(SettingsSection):
    """how to check that the job is the same at every K"""

    work_pattern: str | None = None
    digest_pattern: str | None = None
    work_tolerance: Annotated[FiniteFloat, Field(ge=0, lt=1)] = 1e-9
    digest_tolerance: Annotated[FiniteFloat, Field(ge=0)] = 0.0


class TargetSettings(SettingsSection):
    """with timing.what = "target": T is the time until probe.quality(...) reaches it"""

    quality: FiniteFloat
    higher_is_better: bool = True


class BaselineCandidate(SettingsSection):
    """a candidate for T(1): a fast single-worker program; the fastest correct one is T(1)"""

    command: Arguments
    threads: Count | None = None
    env: dict[str, str] = {}


class QueueSettings(SettingsSection):
    """what every queue is told"""

    account: str | None = None
    time_limit: str | None = None
    extra: tuple[str, ...] = ()


class SlurmSettings(QueueSettings):
    """what sbatch and srun get"""

    allocation: Literal["run", "array", "all"] = "run"
    partition: str | None = None
    nodes: int | None = None
    tasks_per_node: Count | None = None
    throttle: Count = 1
    mpi: str | None = None
    launch: tuple[str, ...] = ()
    poll: Seconds = 1.0


class BatchSettings(QueueSettings):
    """pbs, torque, lsf, sge, flux, template: {job}, {script}, {out}, {err}, {workers}, {threads} are filled in"""

    queue: str | None = None
    submit: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    cancel: tuple[str, ...] = ()
    number_pattern: str | None = None
    alive_pattern: str | None = None
    start: tuple[str, ...] = ()
    kind: Literal["Job", "JobSet", "PyTorchJob", "MPIJob"] = "Job"
    image: str | None = None
    resources: dict[str, str | int] = {}
    pod: dict[str, Any] = {}
    namespace: str | None = None
    poll: Seconds = 2.0


class LauncherSettings(SettingsSection):
    """how K workers are started"""

    name: str = "local"
    mode: Literal["command", "processes"] = "command"
    threads_per_worker: Count | None = None
    pin: Literal["none", "compact", "spread"] = "none"
    wrap: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    workers_per_node: Count | None = None
    program: str | None = None
    address: str | None = None
    extra: tuple[str, ...] = ()
    endpoint: str | None = None
    size_pattern: str | None = None
    size_check: Literal["on", "off"] = "on"
    prologue: tuple[str, ...] = ()
    slurm: SlurmSettings = SlurmSettings()
    batch: BatchSettings = BatchSettings()


class AxesSettings(SettingsSection):
    """several axes at once; a set of curves comes out, with K in cores"""

    nodes: Levels = ()
    ranks_per_node: Levels = ()
    threads: Levels = ()
    size: Sizes = ()
    design: Literal["full", "one-at-a-time"] = "full"


class MeasureSettings(SettingsSection):
    """A whole study as asked for."""

    regime: Regime
    workers: Workers
    repeats: Annotated[int, Field(ge=1, le=10_000)] = 5
    output: Path | None = None
    command: Arguments
    shell: bool = False
    folder: Path | None = None
    env: dict[str, str] = {}
    name: str | None = None
    description: str | None = None
    total: Positive | None = None
    per_worker: Positive | None = None
    work_unit: str | None = None
    k_unit: str = "workers"
    serves: Annotated[tuple[str, ...], _LISTED] = ()
    warmup_launches: Annotated[int, Field(ge=0, le=1000)] = 1
    warmup_steps: Natural = 0
    precision: Share | None = None
    level: Share = 0.95
    max_repeats: Annotated[int, Field(ge=1, le=100_000)] | None = None
    max_time: Seconds | None = None
    timeout: Seconds | None = None
    seed: int = 20_260_101
    oversubscribe: bool = False
    quiet_below: Positive | None = None
    expected_seconds: Seconds | None = None
    expected_cv: Share | None = None
    usd_per_worker_hour: Positive | None = None
    keep_files: bool = False
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
        return is_load(self.k_unit)

    @property
    def is_local(self) -> bool:
        """Whether all workers share this machine, so that its cores are the limit."""
        elsewhere = self.launcher.hosts or self.launcher.address is not None or self.in_allocation
        return self.launcher.name in LOCAL_LAUNCHERS and not elsewhere

    @property
    def in_allocation(self) -> bool:
        """Whether torchrun starts its workers on the nodes of the Slurm allocation around the tool."""
        own = self.launcher
        return bool(
            own.name == "torchrun"
            and own.workers_per_node
            and not (own.hosts or own.wrap)
            and "SLURM_JOB_NODELIST" in os.environ
        )

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
        told = faults_of(problem)
        faults = [replace(own, remedy=WANTED.get((own.where, own.message), own.remedy)) for own in told]
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


def faults_where(*rows: tuple[object, str, str, str]) -> list[Fault]:
    """The faults of rows (whether it is one, what, where, the way out)."""
    return [Fault(text, where=where, remedy=hint) for wrong, text, where, hint in rows if wrong]


def _faults_of_axes(settings: MeasureSettings) -> list[Fault]:
    axes = settings.axes
    if axes is None:
        return []
    placed = {nodes * ranks for nodes in axes.nodes or (1,) for ranks in axes.ranks_per_node or (1,)}
    texts = " ".join((*settings.command, *settings.env.values()))
    told = any(f"{{{name}}}" in texts for name in ("size", "total", "per_worker"))
    return faults_where(
        (not (axes.nodes or axes.ranks_per_node or axes.threads or axes.size), "the axes are empty", "axes",
         "give nodes, ranks_per_node, threads or size"),
        ((axes.nodes or axes.ranks_per_node) and set(settings.workers) - placed,
         "the axes say how many workers there are", "workers", "leave workers out: they are nodes x ranks per node"),
        (axes.size and (settings.total is not None or settings.per_worker is not None), "sizes are given twice",
         "axes.size", "leave total and per_worker out: each size is one of them"),
        (len(axes.size) > 1 and not told, "the command is not told the size", "command",
         "put {size}, {total} or {per_worker} into the command"),
    )  # fmt: skip


def _faults_of_command(settings: MeasureSettings) -> list[Fault]:
    """A misspelt placeholder would measure another job, and a command without {workers} the same job at every K."""
    texts = [*settings.command, *settings.env.values(), *settings.launcher.wrap]
    used = {match[2] for text in texts for match in _MARK.finditer(text) if match[2]}
    hint = f"use {', '.join('{' + name + '}' for name in PLACEHOLDERS)}; write {{{{word}}}} for literal braces"
    unknown = [
        Fault("unknown placeholder", where="command", value=f"{{{name}}}", remedy=hint)
        for name in sorted(used.difference(PLACEHOLDERS))
    ]
    fixed = "total" if settings.regime is Regime.STRONG else "per_worker"
    amount, sizes = getattr(settings, fixed), [name for name in ("total", "per_worker") if name in used]
    listed = " and ".join(f"{{{name}}}" for name in sizes)
    told_once = (settings.launcher.name, settings.launcher.mode) == ("local", "command") and len(settings.workers) > 1
    told = f"the command is told {listed} but not how many workers to use"
    return unknown + faults_where(
        (sizes and amount is None and not (settings.axes and settings.axes.size), f"{fixed} is not given", fixed,
         f"{settings.regime} scaling holds it fixed; {{total}} and {{per_worker}} follow from it"),
        (told_once and "workers" not in used, told if sizes else "the command is the same at every K", "command",
         "put {workers} into it, as in `env OMP_NUM_THREADS={workers} ./solver`; or start K copies: --processes"),
        (told_once and settings.regime is Regime.WEAK and amount is not None and not sizes,
         "per_worker is given but the command does not use it", "command",
         "put {total} or {per_worker} into the command"),
    )  # fmt: skip


def _faults_of_timing(settings: MeasureSettings) -> list[Fault]:
    timing, batch = settings.timing, settings.launcher.batch
    faults = faults_where(
        (timing.source == "pattern" and not timing.pattern, "timing.source is 'pattern' but there is no pattern",
         "timing.pattern", "add timing.pattern, or take another source"),
        ((timing.what == "target") != (settings.target is not None), "only half of a target is given", "target",
         "time to a target needs both timing.what = 'target' and [target] quality = ..."),
        (timing.measures_rate and settings.baseline, "baselines are compared by time, not by rate",
         "timing.rate_pattern", "measure times with --time-pattern; the rate is kept beside them"),
    )  # fmt: skip
    patterns = {
        "timing.pattern": timing.pattern,
        "timing.rate_pattern": timing.rate_pattern,
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
        may_replace(path)
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
    """A field of the schema: its path in the file, its text, its flag (or None), its TOML example."""

    path: tuple[str, ...]
    field: FieldInfo
    text: str
    example: str
    flag: str | None
    live: bool

    @property
    def metavar(self) -> str:
        """The kind of value: DURATION, SHARE, WORKERS, INTEGER, FLOAT or TEXT."""
        parts = [self.field.annotation, *self.field.metadata, *get_args(self.field.annotation)]
        parts += [part for kind in parts for part in get_args(kind)]
        words = [part for part in parts if isinstance(part, str)] + ["INTEGER"] * (int in parts)
        return (words + ["FLOAT"] * (float in parts) + ["TEXT"])[0]


def options() -> Iterator[SettingsOption]:
    """Every field of the schema in the order of settings.toml."""
    for name, rows in tomllib.loads(files("scalecurve.measurement").joinpath("settings.toml").read_text()).items():
        table = section_at(name)
        for key, row in rows.items():
            field = table.model_fields[key]
            example = row.get("example") or json.dumps(field.default)
            path = (*name.split("."), key) if name else (key,)
            yield SettingsOption(path, field, row["text"], example, row.get("flag"), row.get("live", False))


def section_at(name: str) -> type[SettingsSection]:
    """The class of a table of the file; `metrics.speed` and `baseline.threads` are examples of names."""
    table: type[SettingsSection] = MeasureSettings
    for word in name.split(".") if name else ():
        if word in table.model_fields:
            kind = table.model_fields[word].annotation
            kinds = [own for own in (kind, *get_args(kind)) if isinstance(own, type)]
            table = next((own for own in kinds if issubclass(own, SettingsSection)), table)
    return table


def template(given: Mapping[str, Any] | None = None) -> str:
    """A commented study file with every option; those given, and those of the recipe of their launcher, are set."""
    asked = merged({}, given or {})
    launcher = asked.get("launcher", {})
    batch, name = launcher.get("batch", {}), launcher.get("name")
    recipes = tomllib.loads(files("scalecurve.measurement").joinpath("recipes.toml").read_text())
    chosen = merged(recipes.get(name, {}), merged(recipes.get(batch.get("kind", name), {}), asked))
    lines = [
        "# A scaling study, for `scalecurve measure study.toml`.  A line that begins with `# name =` is an option with",
        "# its default or an example; remove the `# ` to use it.  A misspelt name is reported, not ignored.",
        "",
    ]
    table = ""
    for option in options():
        name = ".".join(option.path[:-1])
        if name != table:
            table = name
            mark = "" if value_at(chosen, option.path[:-1]) else "# "
            lines += ["", f"{mark}[{name}]".ljust(_COMMENT_COLUMN) + f"# {section_at(name).__doc__}"]
        own = value_at(chosen, option.path)
        is_set = option.live if own is None else True
        setting = f"{'' if is_set else '# '}{option.path[-1]} = {option.example if own is None else as_toml(own)}"
        comment = f"# {option.text}" if option.text else ""
        whole = f"{setting.ljust(_COMMENT_COLUMN - 1)} {comment}".rstrip()
        lines += [whole] if len(whole) <= _LINE else [comment, setting]
    return "\n".join(lines) + "\n"


def value_at(table: Mapping[str, Any], path: Sequence[str]) -> Any:
    """The value at a path through tables; None where there is none."""
    for name in path:
        table = table.get(name, {}) if isinstance(table, Mapping) else {}
    return None if table == {} else table


def as_toml(value: Any) -> str:
    """A value as a line of TOML holds it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {as_toml(own)}" for name, own in value.items()) + " }"
    return json.dumps(list(value) if isinstance(value, tuple) else value)
