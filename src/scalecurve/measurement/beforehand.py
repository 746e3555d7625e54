"""What a measurement is refused for before anything starts; a dry run is refused for the same, all of it at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError, RunError
from scalecurve.measurement.axes import faults_of_grid
from scalecurve.measurement.journal import Workspace, existing
from scalecurve.measurement.launchers import launcher_named
from scalecurve.measurement.ports import Launcher, World
from scalecurve.measurement.servers import Servers
from scalecurve.measurement.settings import MeasureSettings, draft_of, raw_settings
from scalecurve.study.run import SCALING


def checked_settings(
    file: str | Path | None, values: Mapping[str, Any], world: World, *, resume: bool = False, force: bool = False
) -> MeasureSettings:
    """The settings of a file and of the values beside it; InputError with every fault of them, of the output file and
    of this machine."""
    raw = raw_settings(file, values)
    settings, faults = draft_of(raw)
    wrong = {str(fault.where).partition(".")[0] for fault in faults}
    if settings is not None:
        rest = [*faults_beforehand(settings, world), *faults_of_programs(settings)]
        rest += existing_output(settings, resume=resume, force=force)
        faults += [fault for fault in rest if str(fault.where).partition(".")[0] not in wrong]
    if faults or settings is None:
        raise InputError(faults, subject=str(file or "measure"))
    if missing := launcher_named(settings.launcher.name).missing(world):
        raise RunError(f"launcher {settings.launcher.name} cannot be used here: {missing}")
    return settings


def faults_beforehand(settings: MeasureSettings, world: World, launcher: Launcher | None = None) -> Iterator[Fault]:
    """What this machine and this folder do not allow."""
    try:
        os.getcwd()
    except OSError:
        yield Fault("the current folder was removed", remedy="change to another one")
    if settings.axes is not None:
        yield from faults_of_grid(settings, world)
    else:
        yield from faults_of_cores(settings, world)
    if settings.serves:
        yield from Servers(settings.serves).faults()
    if SCALING in settings.baseline:
        yield Fault("this name is taken", where=f"baseline.{SCALING}", remedy="choose another name")
    if launcher is None:
        try:
            launcher_named(settings.launcher.name)
        except InputError as problem:
            yield from problem.faults


def faults_of_cores(settings: MeasureSettings, world: World) -> Iterator[Fault]:
    """Worker counts beyond the cores of this machine; clients and rates are load, which needs none."""
    cores, threads = len(world.machine.usable_cores()), settings.launcher.threads_per_worker or 1
    beyond = ", ".join(str(k) for k in settings.workers if k * threads > cores)
    if beyond and settings.is_local and not settings.oversubscribe and not settings.k_is_load:
        hint = "leave them out, or add --oversubscribe, which marks these points; load is --k-unit clients"
        each = f" with {threads} threads each" if threads > 1 else ""
        yield Fault(f"too few cores for K = {beyond}{each} ({cores} here)", where="workers", remedy=hint)


def faults_of_programs(settings: MeasureSettings) -> list[Fault]:
    """Programs that the commands name and this machine lacks."""
    launcher = settings.launcher
    if launcher.name != "local" or launcher.wrap or launcher.prologue or settings.shell:
        return []
    commands = [settings.filled(settings.command[:1], k) for k in settings.workers]
    commands += [settings.filled(candidate.command[:1], 1) for candidate in settings.baseline.values()]
    faults = [fault_of_program(word, settings) for word in dict.fromkeys(words[0] for words in commands)]
    return [fault for fault in faults if fault is not None]


def fault_of_program(word: str, settings: MeasureSettings) -> Fault | None:
    """Why a program cannot be started; None where it can, or where the set-up command may build it in its folder."""
    folder, name = os.path.split(word)
    path = settings.env.get("PATH", os.environ.get("PATH", os.defpath))
    places = [os.path.join(settings.folder or "", folder)] if folder else path.split(os.pathsep)
    is_built = folder and settings.timing.setup_command
    if is_built or any(os.access(os.path.join(place, name), os.X_OK) for place in places):
        return None
    near = get_close_matches(
        name, [each for place in places if os.path.isdir(place) for each in os.listdir(place)], n=1
    )
    hint = f"did you mean {near[0]}?" if near else "check its name, the folder and PATH"
    return Fault("no such program here", where="command", value=word, remedy=hint)


def existing_output(settings: MeasureSettings, *, resume: bool, force: bool) -> list[Fault]:
    """A study or an unfinished measurement where this one would write, unless it is continued or replaced."""
    if settings.output is None:
        return []
    if settings.output.suffix != ".json":
        hint = f"write -o {settings.output.with_suffix('.json')}"
        return [Fault("the name of a study ends in .json", where="output", value=str(settings.output), remedy=hint)]
    fault = Workspace(settings.output).held()
    fault = fault or existing(settings.output, is_grid=settings.axes is not None, resume=resume, force=force)
    return [replace(fault, where=str(settings.output))] if fault else []
