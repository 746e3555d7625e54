"""A request for the planner as a mapping, from a plan.toml and from options; options win."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.training.evaluate import Evaluation, evaluate_training
from scalecurve.training.explain import Explanation, explain
from scalecurve.training.goodput import Reliability
from scalecurve.training.inputs import read_counts, read_model
from scalecurve.training.measured import calibrate, read_runs
from scalecurve.training.plan import Plan
from scalecurve.training.planner import plan_training
from scalecurve.training.tokens import count, sequence_length, whole_sequences
from scalecurve.units import parse_seconds

KEYS = (
    "model", "cluster", "gpus", "seq", "global_batch", "critical_batch", "definition", "batch_grows", "weak",
    "compute_optimal", "tokens", "objective", "deadline", "budget", "top", "stack", "precision", "layout", "explain",
    "measured", "price", "loss", "reliability", "max_tp",
)  # fmt: skip


def read_plan_file(path: Path) -> dict[str, Any]:
    """plan.toml: the options by name, with tables [model], [cluster] and [reliability] where sizes are spelt out."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise FormatError(Fault("cannot read the plan file", str(path), str(problem))) from None
    named = {key.replace("-", "_"): value for key, value in content.items()}
    strange = [Fault("unknown key", key, remedy=f"known: {', '.join(KEYS)}") for key in named if key not in KEYS]
    if strange:
        raise FormatError(strange, subject=str(path))
    return named


def answer(request: Mapping[str, Any]) -> Plan | Evaluation | Explanation:
    """Evaluate a given layout, explain one P, or sweep."""
    given = {key: value for key, value in request.items() if value is not None and value is not False}
    missing = [Fault("missing", key, remedy=f"give --{key}") for key in ("model", "cluster") if key not in given]
    if "layout" not in given and "gpus" not in given:
        missing.append(Fault("missing", "gpus", remedy="give --gpus 8..16384, or --layout"))
    if missing:
        raise InputError(missing, subject="plan")
    calibration = _calibration(given)
    if "layout" in given:
        found = _evaluate(given, calibration)
        return explain(found.outcome) if "explain" in given else found
    plan = _sweep(given, calibration)
    return _explained(plan, int(given["explain"])) if "explain" in given else plan


def _calibration(given: Mapping[str, Any]) -> Any:
    if "measured" not in given:
        return None
    return calibrate(
        read_runs(Path(given["measured"])), model=given["model"], cluster=given["cluster"], stack=given.get("stack"),
        precision=given.get("precision", "bf16"),
    )  # fmt: skip


def _evaluate(given: Mapping[str, Any], calibration: Any) -> Evaluation:
    counts = read_counts(given["gpus"]) if "gpus" in given else ()
    if len(counts) > 1:
        raise InputError(Fault("a given layout is evaluated at one P", "gpus", str(given["gpus"])))
    batch = given.get("global_batch")
    return evaluate_training(
        model=given["model"], cluster=given["cluster"], layout=given["layout"], batch=_tokens(batch, given),
        seq=given.get("seq"), stack=given.get("stack"), precision=given.get("precision", "bf16"),
        gpus=counts[0] if counts else None, calibration=calibration, price=given.get("price"),
    )  # fmt: skip


def _tokens(batch: Any, given: Mapping[str, Any]) -> int | None:
    """On the command line a global batch is always tokens; as sequences it is what the evaluation takes."""
    if batch is None:
        return None
    seq = sequence_length(given.get("seq"), read_model(given["model"]).seq)
    return whole_sequences(batch, seq).sequences


def _sweep(given: Mapping[str, Any], calibration: Any) -> Plan:
    named = (
        "critical_batch", "definition", "seq", "stack", "precision", "tokens", "objective", "top", "price", "loss",
        "max_tp", "compute_optimal",
    )  # fmt: skip
    settings = {name: given[name] for name in named if name in given}
    return plan_training(
        given["model"], given["cluster"], gpus=read_counts(given["gpus"]), batch=given.get("global_batch"),
        batch_grows=bool(given.get("batch_grows")), weak=bool(given.get("weak")), calibration=calibration,
        deadline=_seconds(given.get("deadline")), budget=_money(given.get("budget")),
        reliability=read_reliability(given.get("reliability")), **settings,
    )  # fmt: skip


def _seconds(value: Any) -> float | None:
    return parse_seconds(value) if isinstance(value, str) else value


def _money(value: Any) -> float | None:
    return None if value is None else count(value)


def read_reliability(given: Any) -> Reliability | None:
    """None: no losses; "default" or True: the published rates; a mapping: by field, `false` switching one off."""
    if given is None or isinstance(given, Reliability):
        return given
    if given in ("default", True):
        return Reliability()
    known = {entry.name for entry in fields(Reliability)}
    strange = [
        Fault("unknown field of reliability", key, remedy=f"known: {', '.join(known)}")
        for key in given
        if key not in known
    ]
    if strange:
        raise InputError(strange)
    values: dict[str, Any] = {key: None if value is False else float(value) for key, value in given.items()}
    return Reliability(**values)


def _explained(plan: Plan, gpus: int) -> Explanation:
    row = plan.row(gpus)
    if row is None:
        known = ", ".join(str(other.gpus) for other in plan.rows)
        raise InputError(Fault("nothing planned at this P", "explain", str(gpus), f"rows are at {known}"))
    return explain(row.outcome)
