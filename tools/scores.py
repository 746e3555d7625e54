"""The figures a forecast is judged by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from scalecurve.forecasting.curves import Array
from tools.crossvalidation import Judged
from tools.published import Published, domains


def curve_errors(judged: Judged, ahead: Array | None = None) -> Array:
    """Median absolute percentage error of performance of each curve."""
    predicted = judged.ahead if ahead is None else ahead
    percent = 100 * np.abs(np.expm1(np.clip(predicted - judged.truth, -50, 50)))
    return np.array([np.median(percent[judged.curve == i]) for i in range(len(judged.curves))])


def balanced(curves: list[Published] | tuple[Published, ...], errors: Array, key: Callable[[Published], str]) -> float:
    """Median over groups of the group's median."""
    groups: dict[str, list[float]] = defaultdict(list)
    for curve, error in zip(curves, errors, strict=True):
        groups[key(curve)].append(float(error))
    return float(np.median([np.median(own) for own in groups.values()]))


CAP = 100.0  # percent: one source that is off by a factor does not decide the mean over sources


def mean_over_sources(curves: list[Published], errors: Array) -> float:
    """Mean over sources of the source's median error, each capped at 100 %."""
    source = np.array([curve.facts["source_repo"] for curve in curves])
    return float(np.mean([min(float(np.median(errors[source == name])), CAP) for name in np.unique(source)]))


def headline(judged: Judged, errors: Array) -> dict[str, float]:
    """Median, 90th percentile, study-balanced and by domain."""
    curves = list(judged.curves)
    figures = {
        "median": float(np.median(errors)),
        "p90": float(np.percentile(errors, 90)),
        "by study": balanced(curves, errors, lambda curve: curve.study),
        "by application": balanced(curves, errors, lambda curve: curve.facts["application"]),
        "by source": balanced(curves, errors, lambda curve: curve.facts["source_repo"]),
        "mean over sources": mean_over_sources(curves, errors),
    }
    domain = np.array([curve.facts["domain"] for curve in curves])
    return figures | {name: float(np.median(errors[domain == name])) for name in domains(curves)}


def distances(judged: Judged) -> dict[str, Array]:
    """Which points lie how many times beyond the last fitted K."""
    far = {
        "up to 2x": judged.ratio <= 2.001,
        "2-4x": (judged.ratio > 2.001) & (judged.ratio <= 4.001),
        "beyond 4x": judged.ratio > 4.001,
    }
    return {name: own for name, own in far.items() if own.any()}


def coverage(judged: Judged, low: Array, high: Array) -> dict[str, float]:
    """Share of points inside, overall, by domain and by range of extrapolation, and the median high/low."""
    inside = (judged.truth >= low) & (judged.truth <= high)
    domain = np.array([curve.facts["domain"] for curve in judged.curves])[judged.curve]
    source = np.array([curve.facts["source_repo"] for curve in judged.curves])[judged.curve]
    by_source = float(np.mean([inside[source == name].mean() for name in np.unique(source)]))
    figures = {"overall": float(inside.mean()), "by source": by_source}
    figures |= {name: float(inside[domain == name].mean()) for name in domains(judged.curves)}
    figures |= {name: float(inside[own].mean()) for name, own in distances(judged).items()}
    return figures | {"median high/low": float(np.median(np.exp(high - low)))}


RESAMPLES = 400


def cluster_errors(judged: Judged, errors: Array) -> dict[str, float]:
    """Standard error of every figure of `headline`: whole sources are drawn again, with replacement."""
    rng = np.random.default_rng(11)
    sources = np.array([curve.facts["source_repo"] for curve in judged.curves])
    domain = np.array([curve.facts["domain"] for curve in judged.curves])
    names = np.unique(sources)
    members = [np.flatnonzero(sources == name) for name in names]
    labels = {
        "by study": np.array([curve.study for curve in judged.curves]),
        "by application": np.array([curve.facts["application"] for curve in judged.curves]),
        "by source": sources,
    }
    groups = {key: [errors[label == name] for name in np.unique(label)] for key, label in labels.items()}
    medians = {key: np.array([np.median(own) for own in parts]) for key, parts in groups.items()}
    home = {key: [np.unique(label[own]) for own in members] for key, label in labels.items()}
    place = {key: {name: i for i, name in enumerate(np.unique(label))} for key, label in labels.items()}
    draws: dict[str, list[float]] = defaultdict(list)
    for _ in range(RESAMPLES):
        chosen = rng.integers(len(names), size=len(names))
        rows = np.concatenate([members[i] for i in chosen])
        own = errors[rows]
        draws["median"].append(float(np.median(own)))
        draws["p90"].append(float(np.percentile(own, 90)))
        for key, parts in home.items():
            drawn = [place[key][name] for i in chosen for name in parts[i]]
            draws[key].append(float(np.median(medians[key][drawn])))
        draws["mean over sources"].append(float(np.minimum(medians["by source"][chosen], CAP).mean()))
        for name in domains(judged.curves):
            inside = own[domain[rows] == name]
            draws[name] += [float(np.median(inside))] if len(inside) else []
    return {key: float(np.std(values)) for key, values in draws.items()}
