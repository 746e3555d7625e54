"""What `api.measure` and `api.look_ahead` do: settings from file and keywords, the real world, one sweep."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scalecurve.measurement.journal import done_before
from scalecurve.measurement.outlook import Outlook, look_ahead
from scalecurve.measurement.ports import World
from scalecurve.measurement.settings import Settings, make_settings, merged, read_settings
from scalecurve.measurement.sweep import Listener, measure
from scalecurve.measurement.system import real_world
from scalecurve.measurement.workspace import Workspace
from scalecurve.study import Study


def settings_from(file: Path | None, given: Mapping[str, Any]) -> Settings:
    """The file's settings with the given ones over them; study.toml gives study.json unless it says otherwise."""
    raw = {"output": file.with_suffix(".json"), **read_settings(file)} if file is not None else {}
    return make_settings(merged(raw, given), subject=str(file) if file else "measure")


def run_measurement(
    file: Path | None,
    given: Mapping[str, Any],
    *,
    resume: bool = False,
    force: bool = False,
    listener: Listener = lambda _: None,
    world: World | None = None,
) -> Study:
    """Measure, and write the study where the settings say; without a place it is only returned."""
    settings = settings_from(file, given)
    world = world or real_world()
    try:
        if settings.output is not None:
            return measure(settings, world, output=settings.output, resume=resume, force=force, listener=listener)
        with tempfile.TemporaryDirectory(prefix="scalecurve-") as folder:
            return measure(settings, world, output=Path(folder) / "study.json", listener=listener)
    finally:
        world.runner.close()


def run_outlook(file: Path | None, given: Mapping[str, Any]) -> Outlook:
    """What a measurement would do, with what an unfinished or finished one at its output already knows."""
    settings = settings_from(file, given)
    done = done_before(Workspace(settings.output)) if settings.output is not None else {}
    return look_ahead(settings, done)
