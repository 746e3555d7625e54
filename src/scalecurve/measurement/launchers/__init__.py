"""One small file per launcher behind one port; a name, a module, a class."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from scalecurve.errors import Fault, InputError
from scalecurve.measurement.ports import Launcher

LAUNCHERS = {
    "local": "local.Local",
    "mpi": "mpi.Mpi",
    "torchrun": "torchrun.Torchrun",
    "slurm": "slurm.Slurm",
    "ray": "ray.Ray",
    "dask": "dask.Dask",
}


def launcher_named(name: str) -> Launcher:
    """A launcher; its engine is not imported here."""
    if name not in LAUNCHERS:
        near = get_close_matches(name, LAUNCHERS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(LAUNCHERS)}"
        raise InputError(Fault("unknown launcher", where="launcher.name", seen=name, remedy=hint))
    module, _, kind = LAUNCHERS[name].partition(".")
    found: Launcher = getattr(import_module(f"{__name__}.{module}"), kind)()
    return found
