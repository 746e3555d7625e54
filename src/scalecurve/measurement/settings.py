"""What a user may say about a study, from a TOML file, the command line or keywords; all faults at once."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, ValidationError

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.measurement import placeholders
from scalecurve.measurement.system import SystemMachine
from scalecurve.study import Regime
from scalecurve.study.file import faults_of
from scalecurve.units import parse_seconds, parse_share, parse_workers

DEFAULT_SEED = 20_260_101


def _seconds(value: Any) -> Any:
    return _or_value_error(parse_seconds, value)


def _share(value: Any) -> Any:
    return _or_value_error(parse_share, value)


def _workers(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(sorted(set(value)))
    return _or_value_error(parse_workers, _with_cores(value) if isinstance(value, str) else value)


def _with_cores(text: str) -> str:
    """`1..cores` and `2xcores`: a study file that suits every machine."""
    cores = len(SystemMachine().usable_cores())
    return re.sub(r"(?:(\d{1,4})x)?cores", lambda match: str(int(match[1] or 1) * cores), text)


def _or_value_error(parse: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except InputError as problem:
        raise ValueError("; ".join(str(fault) for fault in problem.faults)) from None


Seconds = Annotated[FiniteFloat, Field(gt=0), BeforeValidator(_seconds)]
Share = Annotated[FiniteFloat, Field(gt=0, lt=1), BeforeValidator(_share)]
Positive = Annotated[FiniteFloat, Field(gt=0)]
Workers = Annotated[tuple[Annotated[int, Field(ge=1, le=10**6)], ...], Field(min_length=1), BeforeValidator(_workers)]
Arguments = Annotated[tuple[str, ...], Field(min_length=1)]


class Table(BaseModel):
    """A part of the file: a misspelt key is a fault, not a silence."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Timing(Table):
    """Where T comes from.  `auto`: the probe if the job wrote one, else the pattern, else the wall time."""

    source: Literal["auto", "probe", "pattern", "wall"] = "auto"
    what: Literal["region", "step", "target"] = "region"
    pattern: str | None = None
    unit: Literal["s", "ms", "us"] = "s"
    setup_command: tuple[str, ...] = ()


class Sameness(Table):
    """How to see that the job stayed the same: work done and a digest of the answer."""

    work_pattern: str | None = None
    digest_pattern: str | None = None
    work_tolerance: Annotated[FiniteFloat, Field(ge=0, lt=1)] = 1e-9
    digest_tolerance: Annotated[FiniteFloat, Field(ge=0)] = 0.0


class Target(Table):
    """The quality a run must reach; T is the time at which it did."""

    quality: FiniteFloat
    higher_is_better: bool = True


class Candidate(Table):
    """A single-worker program that might be the fastest; threads as stated."""

    command: Arguments
    threads: Annotated[int, Field(ge=1)] | None = None
    env: dict[str, str] = {}


class SlurmOptions(Table):
    """What sbatch is told; `allocation` is one job per run, one array per K, or one allocation for all runs."""

    allocation: Literal["run", "array", "all"] = "run"
    partition: str | None = None
    account: str | None = None
    time_limit: str | None = None
    nodes: int | None = None
    tasks_per_node: Annotated[int, Field(ge=1)] | None = None
    throttle: Annotated[int, Field(ge=1)] = 1
    mpi: str | None = None
    launch: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    poll: Seconds = 1.0


class LauncherSettings(Table):
    """How K workers are started."""

    name: str = "local"
    mode: Literal["command", "processes"] = "command"
    threads_per_worker: Annotated[int, Field(ge=1)] | None = None
    pin: Literal["none", "compact", "spread"] = "none"
    wrap: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    workers_per_node: Annotated[int, Field(ge=1)] | None = None
    program: str | None = None
    address: str | None = None
    extra: tuple[str, ...] = ()
    endpoint: str | None = None
    size_pattern: str | None = None
    slurm: SlurmOptions = SlurmOptions()


class Settings(Table):
    """A whole study as asked for."""

    regime: Regime
    workers: Workers
    command: Arguments
    name: str | None = None
    description: str | None = None
    output: Path | None = None
    folder: Path | None = None
    k_unit: str = "workers"
    total: Positive | None = None
    per_worker: Positive | None = None
    work_unit: str | None = None
    shell: bool = False
    env: dict[str, str] = {}
    repeats: Annotated[int, Field(ge=1, le=10_000)] = 5
    precision: Share | None = None
    level: Share = 0.95
    max_repeats: Annotated[int, Field(ge=1, le=100_000)] | None = None
    max_time: Seconds | None = None
    timeout: Seconds | None = None
    warmup_launches: Annotated[int, Field(ge=0, le=1000)] = 1
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    seed: int = DEFAULT_SEED
    oversubscribe: bool = False
    timing: Timing = Timing()
    sameness: Sameness = Sameness()
    target: Target | None = None
    baseline: dict[str, Candidate] = {}
    launcher: LauncherSettings = LauncherSettings()
    expected_seconds: Seconds | None = None
    expected_cv: Share | None = None
    usd_per_worker_hour: Positive | None = None
    keep_files: bool = False

    @property
    def most_repeats(self) -> int:
        """The budget of fresh launches per point: repeats alone unless a precision is asked for."""
        if self.precision is None:
            return self.repeats
        return max(self.repeats, self.max_repeats or 4 * self.repeats)

    def filled(self, texts: tuple[str, ...], k: int) -> tuple[str, ...]:
        values = placeholders.values_at(k, self.regime, self.total, self.per_worker)
        return tuple(placeholders.fill(text, values) for text in texts)

    def env_at(self, k: int) -> dict[str, str]:
        names = tuple(self.env)
        return dict(zip(names, self.filled(tuple(self.env.values()), k), strict=True))

    def job(self) -> dict[str, Any]:
        """What makes this job this job: two measurements may be joined only when all of it is equal."""
        same = {"regime", "command", "total", "per_worker", "shell", "env", "warmup_steps", "timing", "launcher"}
        return self.model_dump(mode="json", include=same | {"target", "baseline", "sameness"})


def make_settings(given: Mapping[str, Any], *, subject: str = "measure") -> Settings:
    """Checked settings, or every fault."""
    try:
        settings = Settings.model_validate(dict(given))
    except ValidationError as problem:
        raise InputError(faults_of(problem), subject=subject) from None
    faults = _faults_of_job(settings) + _faults_of_timing(settings)
    if faults:
        raise InputError(faults, subject=subject)
    return settings


def _faults_of_job(settings: Settings) -> list[Fault]:
    texts = [*settings.command, *settings.env.values(), *settings.launcher.wrap]
    faults = placeholders.faults_in(texts, "command")
    used = placeholders.used_in(texts)
    held = "total" if settings.regime is Regime.STRONG else "per_worker"
    if used & {"total", "per_worker"} and getattr(settings, held) is None:
        hint = f"{settings.regime} scaling holds it fixed; placeholders {{total}} and {{per_worker}} follow from it"
        faults.append(Fault(f"{held} is not given", where=held, remedy=hint))
    if _nothing_differs(settings, used):
        faults.append(_fault_of_sameness(used))
    if settings.regime is Regime.WEAK and len(settings.workers) > 1 and settings.launcher.mode == "command":
        faults += _faults_of_growth(settings, used)
    return faults


def _fault_of_sameness(used: set[str]) -> Fault:
    """A command that is told its work but not its workers would run larger jobs on as many workers as ever."""
    hint = "put {workers} into the command or env, or set launcher.mode = 'processes'"
    told = [f"{{{name}}}" for name in ("total", "per_worker") if name in used]
    what = f"the command is told {' and '.join(told)} but not how many workers to use" if told else ""
    return Fault(what or "nothing would differ between points", where="command", remedy=hint)


def _nothing_differs(settings: Settings, used: set[str]) -> bool:
    """Between points the workers must differ; that the work does is not enough."""
    starts_k_itself = settings.launcher.name != "local" or settings.launcher.mode == "processes"
    return not starts_k_itself and len(settings.workers) > 1 and "workers" not in used


def _faults_of_growth(settings: Settings, used: set[str]) -> list[Fault]:
    """Weak scaling of one command: its total must be told to grow, unless each worker is told its own part."""
    if settings.launcher.name != "local" or used & {"total", "per_worker"} or settings.per_worker is None:
        return []
    hint = "use {total} or {per_worker} in the command; the work done is compared as well"
    return [Fault("per_worker is given but the command does not use it", where="command", remedy=hint)]


def _faults_of_timing(settings: Settings) -> list[Fault]:
    faults = []
    if settings.timing.source == "pattern" and not settings.timing.pattern:
        faults.append(Fault("timing.source is 'pattern' but there is no pattern", where="timing.pattern"))
    if (settings.timing.what == "target") != (settings.target is not None):
        hint = "time to a target needs both timing.what = 'target' and [target] quality = ..."
        faults.append(Fault("a target is half given", where="target", remedy=hint))
    for where, pattern in _patterns(settings).items():
        faults += _faults_of_pattern(where, pattern)
    return faults


def _patterns(settings: Settings) -> dict[str, str]:
    given = {
        "timing.pattern": settings.timing.pattern,
        "sameness.work_pattern": settings.sameness.work_pattern,
        "sameness.digest_pattern": settings.sameness.digest_pattern,
        "launcher.size_pattern": settings.launcher.size_pattern,
    }
    return {where: pattern for where, pattern in given.items() if pattern is not None}


def _faults_of_pattern(where: str, pattern: str) -> list[Fault]:
    hint = r"one group must catch the value, like 'elapsed: ([0-9.]+)'"
    try:
        groups = re.compile(pattern).groups
    except re.error as problem:
        return [Fault(f"not a regular expression: {problem}", where=where, seen=pattern, remedy=hint)]
    return [] if groups >= 1 else [Fault("the pattern has no group", where=where, seen=pattern, remedy=hint)]


def read_settings(path: Path) -> dict[str, Any]:
    """The raw tables of a TOML file; relative `folder` and `output` are beside the file."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise FormatError(f"cannot be read: {problem.strerror}", subject=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        hint = "scalecurve measure --init writes a commented example"
        raise FormatError(Fault(f"not TOML: {problem}", remedy=hint), subject=str(path)) from None
    for name in ("folder", "output"):
        if isinstance(raw.get(name), str):
            raw[name] = os.path.join(path.parent, raw[name])
    raw.setdefault("folder", str(path.parent))
    return raw


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Tables joined key by key; what is given later wins, None means not given."""
    result = dict(base)
    for name, value in over.items():
        if isinstance(value, Mapping) and isinstance(result.get(name), Mapping):
            result[name] = merged(result[name], value)
        elif value is not None:
            result[name] = value
    return result


def template() -> str:
    """A commented study file with every option."""
    from importlib.resources import files

    return (files("scalecurve.measurement") / "template.toml").read_text(encoding="utf-8")
