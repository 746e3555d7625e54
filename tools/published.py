"""The published curves and the protocol they are judged by: fit the smaller 60 % of K, predict the rest."""

from __future__ import annotations

import csv
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from scalecurve.forecasting.curves import MEDIAN_PENALTY, Array, CurveKind, LogCurve, Traits
from scalecurve.formats.headers import unit_of
from scalecurve.study import Quantity

FILE = "curves_open.csv"
COLLECTIVES = "collectives_open.csv"
LOADS = Path(__file__).parent / "loads" / "load_curves.csv"
HERE = "measured: "  # begins the source of curves that tools/measure_loads.py measured
FARTHEST = 64.001  # targets beyond six doublings are neither learned from nor judged
FIELDS = ("domain", "application", "regime", "system", "quantity", "unit", "k_unit", "source_repo")


@dataclass(frozen=True)
class Published:
    """One published curve: medians and log standard errors at each K, in its own quantity."""

    curve_id: str
    facts: dict[str, str]
    k: Array
    value: Array
    error: Array
    samples: dict[int, list[float]]

    @property
    def study(self) -> str:
        return " | ".join(self.facts[name] for name in ("application", "system", "source_repo"))

    @property
    def measured_here(self) -> bool:
        return self.facts["source_repo"].startswith(HERE)

    @property
    def is_time(self) -> bool:
        return self.facts["quantity"] == "time_s"

    @property
    def is_per_worker(self) -> bool:
        """Whether the unit says that the values are rates of one worker, as M-particle-steps/s/node does."""
        unit = unit_of(self.facts["unit"])
        return unit is not None and unit.quantity is Quantity.THROUGHPUT_PER_WORKER

    def whole(self, path: CurveKind) -> LogCurve:
        """Log performance: in total, or per worker for weak scaling and collectives.

        Strong curves whose unit is per worker are taken as they are: the shipped stack learned them so.
        """
        log = -np.log(self.value) if self.is_time else np.log(self.value)
        if path is not CurveKind.STRONG and not self.is_time and not self.is_per_worker:
            log = log - np.log(self.k)
        traits = Traits.of(self.facts["unit"], self.facts["k_unit"], is_time=self.is_time)
        return LogCurve(self.k, log, self.error, traits)

    def split(self, path: CurveKind) -> tuple[LogCurve, Array, Array]:
        """The fitted part, the K to predict (at most six doublings ahead) and the log performance measured there."""
        curve, n = self.whole(path), max(3, math.ceil(0.6 * len(self.k)))
        near = self.k[n:] <= FARTHEST * self.k[n - 1]
        return curve.part(slice(n)), self.k[n:][near], curve.log_performance[n:][near]


def folder(given: str | None = None) -> Path | None:
    """Where the data is: the argument, $SCALECURVE_DATA or ../shared/data beside the repository; None if nowhere."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    for candidate in (given, os.environ.get("SCALECURVE_DATA"), beside):
        if candidate and (Path(candidate) / FILE).is_file():
            return Path(candidate)
    return None


def read(directory: Path) -> list[Published]:
    """Every curve with at least two K, in the order of the file."""
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    with (directory / FILE).open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            rows[row["curve_id"]].append(row)
    curves = [_curve(curve_id, own) for curve_id, own in rows.items()]
    return [curve for curve in curves if len(curve.k) >= 2]


def read_loads(path: Path = LOADS) -> list[Published]:
    """The load curves measured for this project: at each K the best of the repeats, since other users only slow it."""
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            rows[row["curve_id"]].append(row)
    curves = []
    for curve_id, own in rows.items():
        curve = _curve(curve_id, own)
        best = [(min if curve.is_time else max)(curve.samples[int(k)]) for k in curve.k]
        curves.append(replace(curve, value=np.array(best), error=np.full(len(best), math.nan)))
    return curves


def read_collectives(directory: Path) -> list[Published]:
    """The message-size sweeps as time against ranks: one curve per system, operation and size with at least five K."""
    rows: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    with (directory / COLLECTIVES).open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if float(row["bytes"]) > 0:
                rows[row["system"], row["op"], row["bytes"]].append(_collective_row(row))
    curves = [_curve("-".join(name), own) for name, own in rows.items()]
    return [curve for curve in curves if len(curve.k) >= 5]


def _collective_row(row: dict[str, str]) -> dict[str, str]:
    named = {"domain": "collective", "regime": "collective", "quantity": "time_s", "unit": "us", "k_unit": "ranks"}
    application = f"{row['op']} {row['system']}"
    return row | named | {"application": application, "K": row["ranks"], "value": row["t_avg_us"]}


def _curve(curve_id: str, rows: list[dict[str, str]]) -> Published:
    samples: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        k, value = float(row["K"]), float(row["value"])
        if k >= 1 and value > 0:
            samples[int(k)].append(value)
    ks = sorted(samples)
    facts = {name: rows[0][name] for name in FIELDS}
    medians = np.array([np.median(samples[k]) for k in ks])
    errors = np.array([_standard_error(samples[k]) for k in ks])
    return Published(curve_id, facts, np.array(ks, dtype=float), medians, errors, {k: samples[k] for k in ks})


def _standard_error(values: list[float]) -> float:
    if len(values) < 2:
        return math.nan
    penalty = MEDIAN_PENALTY if len(values) > 2 else 1.0
    return float(penalty * np.std(np.log(values), ddof=1) / math.sqrt(len(values)))


def judged(curves: list[Published], path: CurveKind) -> list[Published]:
    """The curves of one panel with at least five K."""
    regimes = {
        CurveKind.STRONG: ("strong", "throughput"),
        CurveKind.WEAK: ("weak",),
        CurveKind.COLLECTIVE: ("collective",),
    }[path]
    return [curve for curve in curves if curve.facts["regime"] in regimes and len(curve.k) >= 5]


def domains(curves: Iterable[Published]) -> list[str]:
    """The domains of these curves, in alphabetical order."""
    return sorted({curve.facts["domain"] for curve in curves})


def teachers(curves: list[Published]) -> list[Published]:
    """The strong and throughput curves the stack learns from: one K more than the fewest that can be fitted."""
    return [curve for curve in curves if curve.facts["regime"] in ("strong", "throughput") and len(curve.k) >= 4]


def balance(labels: Sequence[str], power: float = 0.5) -> Array:
    """Weights that keep a study with many curves from speaking for all: n_label^-power."""
    counts = {label: labels.count(label) for label in set(labels)}
    return np.array([counts[label] ** -power for label in labels])


def weighted_quantile(values: Array, weight: Array, level: float) -> float:
    """The smallest value with at least `level` of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weight[order])
    place = np.searchsorted(cumulative, level * cumulative[-1] * (1 - 1e-12))
    return float(values[order][min(int(place), len(values) - 1)])
