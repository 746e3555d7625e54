"""Rebuild forecasting/calibration.json from the published curves: python -m tools.calibrate_forecast DATA

Deterministic: the same data gives the same file, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scalecurve.forecasting.curves import Array, CurveKind
from scalecurve.forecasting.published import FORMAT, Width
from tools import crossvalidation as crossed
from tools.learn_stack import learn
from tools.published import (
    COLLECTIVES,
    FILE,
    LOADS,
    Published,
    balance,
    folder,
    judged,
    read,
    read_collectives,
    read_loads,
    weighted_quantile,
)

TARGET = Path(__file__).resolve().parents[1] / "src" / "scalecurve" / "forecasting" / "calibration.json"
MULTIPLES = tuple(2**i for i in range(1, 11))
PERCENTS = (5, 10, 25, 50, 75, 90, 95)
FEWEST_CURVES = 8


def main(arguments: Sequence[str]) -> int:
    data = folder(arguments[0] if arguments else None)
    if data is None:
        print(f"no {FILE} found; give its folder", file=sys.stderr)
        return 2
    TARGET.write_text(json.dumps(calibrate(data), indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"wrote {TARGET.name}, {TARGET.stat().st_size} bytes")
    return 0


def calibrate(data: Path) -> dict[str, Any]:
    curves = read(data)
    taught = crossed.lessons(curves, read_loads())
    shapes = taught.shapes(set())
    stack = learn(taught, taught.circumstances(set()), np.ones(len(taught.owner), dtype=bool))
    rows = np.column_stack([shapes.parameters, shapes.prior])
    return {
        "format": FORMAT,
        "provenance": provenance(data, curves),
        "stack": stored(stack),
        "shapes": {
            "columns": ["start slope", "drop", "ln x0", "sharpness", "prior"],
            "rows": [[_short(number, 5) for number in row] for row in rows.tolist()],
        },
        "widths": widths(curves, read_collectives(data)),
        "standing": {
            "percents": list(PERCENTS),
            "strong": standing(curves, CurveKind.STRONG),
            "weak": standing(curves, CurveKind.WEAK),
        },
    }


def stored(part: Any, digits: int = 5) -> Any:
    """A stack or a part of it as it is shipped: its fields by name, numbers with so many significant digits."""
    if is_dataclass(part):
        return {own.name: stored(getattr(part, own.name), digits) for own in fields(part)}
    if isinstance(part, np.ndarray):
        return stored(part.tolist(), digits)
    if isinstance(part, list | tuple):
        return [stored(own, digits) for own in part]
    return float(f"{part:.{digits}g}") if isinstance(part, float) else part


def provenance(data: Path, curves: list[Published]) -> dict[str, Any]:
    paths = (data / FILE, data / COLLECTIVES, LOADS)
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    return {
        "sha256": digests,
        "curves": len(curves),
        "judged": {str(path): len(judged(curves, path)) for path in CurveKind},
        "sources": sorted({curve.facts["source_repo"] for curve in curves}),
        "rebuilt_by": "python -m tools.calibrate_forecast DATA",
    }


def widths(curves: list[Published], collectives: list[Published]) -> dict[str, Any]:
    """Widths of the panels: weak curves and collectives."""
    parts: dict[str, Any] = {}
    for kind, own, by in (
        (CurveKind.WEAK, judged(curves, CurveKind.WEAK), "source_repo"),
        (CurveKind.COLLECTIVE, collectives, "system"),
    ):
        parts[kind] = _width_to_dict(crossed.width_of(crossed.judge_panel(own, kind, crossed.folds(own, by))))
    return parts


def _width_to_dict(width: Width) -> dict[str, Any]:
    return {
        "coefficients": [_short(c) for c in width.coefficients.tolist()],
        "levels": width.levels.tolist(),
        "quantiles": [_short(q) for q in width.quantiles.tolist()],
    }


def standing(curves: list[Published], path: CurveKind) -> dict[str, Any]:
    """Percentiles of efficiency at multiples of the smallest K, by domain and over all, balanced over applications."""
    regimes = ("strong", "throughput") if path is CurveKind.STRONG else ("weak",)
    own = [curve for curve in curves if curve.facts["regime"] in regimes and len(curve.k) >= 3]
    domains = sorted({curve.facts["domain"] for curve in own})
    groups = {"all": own} | {name: [c for c in own if c.facts["domain"] == name] for name in domains}
    return {name: _standing_of(group, path) for name, group in groups.items()}


def _standing_of(curves: list[Published], path: CurveKind) -> dict[str, Any]:
    table = {}
    for multiple in MULTIPLES:
        reached = [curve for curve in curves if curve.k[-1] / curve.k[0] >= multiple]
        if len(reached) < FEWEST_CURVES:
            break
        efficiency = np.array([_efficiency(curve, path, multiple) for curve in reached])
        weight = balance([curve.facts["application"] for curve in reached])
        shares = [weighted_quantile(efficiency, weight, percent / 100) for percent in PERCENTS]
        table[str(multiple)] = {"curves": len(reached), "efficiency": [_short(e) for e in shares]}
    return table


def _efficiency(curve: Published, path: CurveKind, multiple: int) -> float:
    log: Array = curve.whole(path).log_performance
    if path is CurveKind.STRONG:
        log = log - np.log(curve.k)
    return float(np.exp(np.interp(np.log(multiple * curve.k[0]), np.log(curve.k), log) - log[0]))


def _short(number: float, digits: int = 4) -> float:
    return float(f"{number:.{digits}g}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
