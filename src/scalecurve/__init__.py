"""Scalecurve: how far does adding machines get you, why does it stop, and what does it cost?

    import scalecurve as sc
    study = sc.load("runs.csv", regime="strong")
    print(sc.tabulate(study), sc.forecast(study, at=[128, 256]))

Names are loaded on first use, so that `import scalecurve` and `from scalecurve import probe` stay light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from scalecurve._version import __version__ as __version__

if TYPE_CHECKING:  # what editors and type checkers read; the same names as HOMES and MODULES below
    from scalecurve import auditing as auditing
    from scalecurve import diagnosis as diagnosis
    from scalecurve import forecasting as forecasting
    from scalecurve import formats as formats
    from scalecurve import laws as laws
    from scalecurve import measurement as measurement
    from scalecurve import mechanisms as mechanisms
    from scalecurve import planning as planning
    from scalecurve import probe as probe
    from scalecurve import study as study
    from scalecurve import training as training
    from scalecurve.analysis.comparison import compare as compare
    from scalecurve.analysis.merging import merge as merge
    from scalecurve.analysis.table import tabulate as tabulate
    from scalecurve.api import assess as assess
    from scalecurve.api import check as check
    from scalecurve.api import cost as cost
    from scalecurve.api import export as export
    from scalecurve.api import forecast as forecast
    from scalecurve.api import load as load
    from scalecurve.api import measure as measure
    from scalecurve.api import next_runs as next_runs
    from scalecurve.api import plot as plot
    from scalecurve.api import save as save
    from scalecurve.api import write_report as write_report
    from scalecurve.auditing.audit import audit as audit
    from scalecurve.diagnosis.diagnosis import diagnose as diagnose
    from scalecurve.errors import InputError as InputError
    from scalecurve.errors import MissingExtra as MissingExtra
    from scalecurve.errors import Refused as Refused
    from scalecurve.errors import ScalecurveError as ScalecurveError
    from scalecurve.errors import Undecided as Undecided
    from scalecurve.estimate import Estimate as Estimate
    from scalecurve.findings import Finding as Finding
    from scalecurve.fitting.fit import fit as fit
    from scalecurve.laws import law as law
    from scalecurve.study import Study as Study
    from scalecurve.training.planner import plan_training as plan_training

HOMES = {
    "Estimate": "scalecurve.estimate",
    "Finding": "scalecurve.findings",
    "InputError": "scalecurve.errors",
    "MissingExtra": "scalecurve.errors",
    "Refused": "scalecurve.errors",
    "ScalecurveError": "scalecurve.errors",
    "Study": "scalecurve.study",
    "Undecided": "scalecurve.errors",
    "assess": "scalecurve.api",
    "audit": "scalecurve.auditing.audit",
    "check": "scalecurve.api",
    "compare": "scalecurve.analysis.comparison",
    "cost": "scalecurve.api",
    "diagnose": "scalecurve.diagnosis.diagnosing",
    "export": "scalecurve.api",
    "fit": "scalecurve.fitting.fit",
    "forecast": "scalecurve.api",
    "law": "scalecurve.laws",
    "load": "scalecurve.api",
    "measure": "scalecurve.api",
    "merge": "scalecurve.analysis.merging",
    "next_runs": "scalecurve.api",
    "plan_training": "scalecurve.training.planner",
    "plot": "scalecurve.api",
    "save": "scalecurve.api",
    "tabulate": "scalecurve.analysis.table",
    "write_report": "scalecurve.api",
}
MODULES = (
    "auditing",
    "diagnosis",
    "forecasting",
    "formats",
    "laws",
    "measurement",
    "mechanisms",
    "planning",
    "probe",
    "study",
    "training",
)
MOVED = {  # former names of this module, for one release with a DeprecationWarning
    "Quantity": "scalecurve.study.Quantity",
    "Regime": "scalecurve.study.Regime",
    "Run": "scalecurve.study.Run",
    "Tariff": "scalecurve.planning.tariff.Tariff",
    "TaskGraph": "scalecurve.study.task_graph.TaskGraph",
    "TaskRecorder": "scalecurve.mechanisms.recorder.TaskRecorder",
    "compare_scaleup": "scalecurve.api.compare_scaleup",
    "cost_collective": "scalecurve.api.cost_collective",
    "cost_stragglers": "scalecurve.api.cost_stragglers",
    "cost_training_step": "scalecurve.api.cost_training_step",
    "curve_of_load": "scalecurve.api.curve_of_load",
    "doctor": "scalecurve.api.doctor",
    "evaluate_training": "scalecurve.api.evaluate_training",
    "examine_tails": "scalecurve.api.examine_tails",
    "export_formats": "scalecurve.api.export_formats",
    "fit_collectives": "scalecurve.api.fit_collectives",
    "fit_sweep": "scalecurve.api.fit_sweep",
    "import_results": "scalecurve.api.import_results",
    "load_claim": "scalecurve.api.load_claim",
    "look_ahead": "scalecurve.api.look_ahead",
    "measure_collectives": "scalecurve.api.measure_collectives",
    "measure_load": "scalecurve.api.measure_load",
    "measure_parallelism": "scalecurve.api.measure_parallelism",
    "measure_roofline": "scalecurve.api.measure_roofline",
    "place_kernels": "scalecurve.api.place_kernels",
    "place_torch_model": "scalecurve.api.place_torch_model",
    "plan": "scalecurve.api.plan",
    "plan_replicas": "scalecurve.api.plan_replicas",
    "price_curve": "scalecurve.api.price_curve",
    "price_law": "scalecurve.api.price_law",
    "regime": "scalecurve.api.regime",
    "save_sweep": "scalecurve.api.save_sweep",
    "stand": "scalecurve.api.stand",
    "summarise_latencies": "scalecurve.api.summarise_latencies",
    "tabulate_law": "scalecurve.api.tabulate_law",
}

__all__ = sorted(HOMES)


if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name

    def __getattr__(name: str) -> Any:
        if name in HOMES:
            value = getattr(import_module(HOMES[name]), name)
        elif name in MODULES:
            value = import_module(f"scalecurve.{name}")
        elif name in MOVED:
            from warnings import warn

            warn(f"scalecurve.{name} is now {MOVED[name]}", DeprecationWarning, stacklevel=2)
            module, _, new_name = MOVED[name].rpartition(".")
            return getattr(import_module(module), new_name)
        else:
            raise AttributeError(f"module 'scalecurve' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES, *MODULES})
