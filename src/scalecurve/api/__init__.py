"""The verbs, each a few lines: the joint between the edges (command line, page, notebooks) and the core."""

from typing import Any

from scalecurve.api import mechanisms
from scalecurve.api.mechanisms import measure_collectives, measure_load, measure_roofline, place_torch_model
from scalecurve.api.money import assess, compare_scaleup, cost, load_for_proposal, price_curve, price_law
from scalecurve.api.pages import write_report
from scalecurve.api.studies import (
    doctor,
    export,
    export_formats,
    fit,
    forecast,
    import_results,
    load,
    look_ahead,
    measure,
    next_runs,
    plot,
    regime,
    save,
    stand,
    tabulate,
)
from scalecurve.api.training import evaluate_training, plan, plan_training, plot_plan
from scalecurve.api.trust import (
    append_history,
    audit,
    check,
    compare,
    diagnose,
    load_claim,
    merge,
    write_badge,
    write_claim_template,
    write_junit,
)

__all__ = [
    "append_history",
    "assess",
    "audit",
    "check",
    "compare",
    "compare_scaleup",
    "cost",
    "cost_collective",
    "cost_stragglers",
    "cost_training_step",
    "curve_of_load",
    "diagnose",
    "doctor",
    "evaluate_training",
    "examine_tails",
    "export",
    "export_formats",
    "fit",
    "fit_collectives",
    "fit_sweep",
    "forecast",
    "import_results",
    "law",
    "load",
    "load_claim",
    "look_ahead",
    "measure",
    "measure_collectives",
    "measure_load",
    "measure_parallelism",
    "measure_roofline",
    "merge",
    "next_runs",
    "place_kernels",
    "place_torch_model",
    "plan",
    "plan_replicas",
    "plan_training",
    "plot",
    "plot_plan",
    "regime",
    "save",
    "save_sweep",
    "stand",
    "summarise_latencies",
    "tabulate",
    "tabulate_law",
    "write_badge",
    "write_claim_template",
    "write_junit",
    "write_report",
]


def __getattr__(name: str) -> Any:
    return getattr(mechanisms, name)
