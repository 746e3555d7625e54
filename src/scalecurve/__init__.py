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
    from scalecurve import hardware as hardware
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
    from scalecurve.auditing.audit import audit as audit
    from scalecurve.auditing.gate import check as check
    from scalecurve.diagnosis.diagnosis import diagnose as diagnose
    from scalecurve.errors import InputError as InputError
    from scalecurve.errors import MissingExtra as MissingExtra
    from scalecurve.errors import Refused as Refused
    from scalecurve.errors import ScalecurveError as ScalecurveError
    from scalecurve.errors import Undecided as Undecided
    from scalecurve.estimate import Estimate as Estimate
    from scalecurve.explorer.export import explore as explore
    from scalecurve.findings import Finding as Finding
    from scalecurve.fitting.fit import fit as fit
    from scalecurve.fitting.grid_fit import fit_grid as fit_grid
    from scalecurve.fitting.grid_forecast import forecast_grid as forecast_grid
    from scalecurve.forecasting.forecast import forecast as forecast
    from scalecurve.formats.loading import load as load
    from scalecurve.formats.loading import load_all as load_all
    from scalecurve.laws import law as law
    from scalecurve.measurement.sweep import measure as measure
    from scalecurve.planning.cost import cost as cost
    from scalecurve.planning.next_runs import next_runs as next_runs
    from scalecurve.proposals.assessment import assess as assess
    from scalecurve.render.exports import export as export
    from scalecurve.render.plots import plot as plot
    from scalecurve.render.report.writing import write_report as write_report
    from scalecurve.study import Study as Study
    from scalecurve.study import StudySet as StudySet
    from scalecurve.study.file import save as save
    from scalecurve.training.answers.plan import plan_training as plan_training

HOMES = {
    "Estimate": "scalecurve.estimate",
    "Finding": "scalecurve.findings",
    "InputError": "scalecurve.errors",
    "MissingExtra": "scalecurve.errors",
    "Refused": "scalecurve.errors",
    "ScalecurveError": "scalecurve.errors",
    "Study": "scalecurve.study",
    "StudySet": "scalecurve.study",
    "Undecided": "scalecurve.errors",
    "assess": "scalecurve.proposals.assessment",
    "audit": "scalecurve.auditing.audit",
    "check": "scalecurve.auditing.gate",
    "compare": "scalecurve.analysis.comparison",
    "cost": "scalecurve.planning.cost",
    "diagnose": "scalecurve.diagnosis.diagnosis",
    "explore": "scalecurve.explorer.export",
    "export": "scalecurve.render.exports",
    "fit": "scalecurve.fitting.fit",
    "fit_grid": "scalecurve.fitting.grid_fit",
    "forecast": "scalecurve.forecasting.forecast",
    "forecast_grid": "scalecurve.fitting.grid_forecast",
    "law": "scalecurve.laws",
    "load": "scalecurve.formats.loading",
    "load_all": "scalecurve.formats.loading",
    "measure": "scalecurve.measurement.sweep",
    "merge": "scalecurve.analysis.merging",
    "next_runs": "scalecurve.planning.next_runs",
    "plan_training": "scalecurve.training.answers.plan",
    "plot": "scalecurve.render.plots",
    "save": "scalecurve.study.file",
    "tabulate": "scalecurve.analysis.table",
    "write_report": "scalecurve.render.report.writing",
}
MODULES = (
    "auditing",
    "diagnosis",
    "forecasting",
    "formats",
    "hardware",
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
    "Tariff": "scalecurve.planning.Tariff",
    "TaskGraph": "scalecurve.study.task_graph.TaskGraph",
    "TaskRecorder": "scalecurve.mechanisms.TaskRecorder",
    "compare_scaleup": "scalecurve.planning.compare_scaleup",
    "cost_collective": "scalecurve.mechanisms.collective_cost",
    "cost_stragglers": "scalecurve.mechanisms.straggler_cost",
    "cost_training_step": "scalecurve.mechanisms.training_step_cost",
    "curve_of_load": "scalecurve.mechanisms.load_curve",
    "doctor": "scalecurve.measurement.doctor",
    "evaluate_training": "scalecurve.training.evaluate_layout",
    "examine_tails": "scalecurve.mechanisms.tail_latency",
    "export_formats": "scalecurve.render.exports.export_formats",
    "fit_collectives": "scalecurve.mechanisms.fit_collectives",
    "fit_sweep": "scalecurve.mechanisms.fit_sweep",
    "import_results": "scalecurve.formats.import_results",
    "load_claim": "scalecurve.auditing.load_claim",
    "look_ahead": "scalecurve.measurement.preview",
    "measure_collectives": "scalecurve.measurement.measure_collectives",
    "measure_load": "scalecurve.measurement.measure_load",
    "measure_parallelism": "scalecurve.mechanisms.work_depth",
    "measure_roofline": "scalecurve.measurement.measure_roofline",
    "place_kernels": "scalecurve.mechanisms.place_kernels",
    "plan_replicas": "scalecurve.mechanisms.replicas_needed",
    "regime": "scalecurve.diagnosis.classify_regime",
    "save_sweep": "scalecurve.mechanisms.save_sweep",
    "summarise_latencies": "scalecurve.mechanisms.summarise_latencies",
    "tabulate_law": "scalecurve.laws.law_table",
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
    return sorted({*HOMES, *MODULES, "__version__"})
