"""Which of the curves in foreign files is meant: one metric of one series, chosen or asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scalecurve.errors import Fault, InputError
from scalecurve.formats.reading import Point
from scalecurve.formats.source import Source
from scalecurve.formats.workers import Located, Settled
from scalecurve.study import Quantity, RunStatus

MOST_LISTED = 20


@dataclass(frozen=True)
class Placed:
    """A point whose K is settled and whose curve has a name."""

    k: int
    label: str
    point: Point
    source: Source


def of_metric(found: Sequence[Located], wanted: str | None) -> list[Located]:
    """The points of one metric: the one asked for, the only one, or the only one that is a time.

    A run that failed has no metric and goes with any.
    """
    good = [point for point, _ in found if point.status is RunStatus.OK]
    metrics = list(dict.fromkeys(point.metric for point in good))
    if wanted is None and len(metrics) > 1:
        times = list(dict.fromkeys(point.metric for point in good if point.quantity is Quantity.SECONDS))
        if len(times) != 1:
            hint = f"they are {_listed(times or metrics)}; choose with --value-column"
            raise InputError(Fault("several metrics could be the observations", remedy=hint))
        wanted = times[0]
    if wanted is not None and wanted not in metrics:
        hint = f"there are: {_listed(metrics)}"
        raise InputError(Fault("--value-column names no metric of the file", seen=wanted, remedy=hint))
    return [
        (point, source) for point, source in found if wanted in (None, point.metric) or point.status is not RunStatus.OK
    ]


def of_wished_series(found: Sequence[Located], wanted: str | None) -> list[Located]:
    """A first sieve by the benchmark's own name, before K is settled; parameters come after."""
    if wanted is None:
        return list(found)
    near = [
        (point, source)
        for point, source in found
        if wanted in point.series or (point.series and point.series in wanted)
    ]
    return near or list(found)


def place(found: Sequence[Located], settled: Settled) -> list[Placed]:
    """Every point that has a K, with the name of its curve: the series and the parameters that vary within one K."""
    telling = _telling_fields(found, settled)
    placed = []
    for i, (point, source) in enumerate(found):
        k = settled.k[i]
        if k is None:
            continue
        name = settled.labels[i] if settled.labels is not None else point.series
        parts = [name, *(f"{field}={point.fields[field]}" for field in telling if field in point.fields)]
        placed.append(Placed(k, " ".join(part for part in parts if part), point, source))
    return placed


def _telling_fields(found: Sequence[Located], settled: Settled) -> list[str]:
    """Parameters with several values at one K of one series: another problem, not another observation."""
    values: dict[tuple[str, str, int | None], str] = {}
    telling: dict[str, None] = {}
    for i, (point, _) in enumerate(found):
        for name, value in point.fields.items():
            if name != settled.field and values.setdefault((name, point.series, settled.k[i]), str(value)) != str(
                value
            ):
                telling[name] = None
    return list(telling)


def of_series(placed: Sequence[Placed], wanted: str | None) -> tuple[list[Placed], tuple[str, ...]]:
    """The points of one curve and the names of those left out."""
    labels = list(dict.fromkeys(each.label for each in placed))
    chosen = _wanted(labels, wanted) if wanted is not None else _scaling(placed, labels)
    return [each for each in placed if each.label == chosen], tuple(label for label in labels if label != chosen)


def _wanted(labels: list[str], wanted: str) -> str:
    exact = [label for label in labels if label == wanted]
    near = exact or [label for label in labels if wanted in label]
    if len(near) != 1:
        what = "--series names no curve of the file" if not near else "--series fits several curves"
        raise InputError(Fault(what, seen=wanted, remedy=f"there are: {_listed(near or labels)}"))
    return near[0]


def _scaling(placed: Sequence[Placed], labels: list[str]) -> str:
    """The only curve, or the only one measured at more than one K."""
    if len(labels) == 1:
        return labels[0]
    counts: dict[str, set[int]] = {}
    for each in placed:
        counts.setdefault(each.label, set()).add(each.k)
    several = [label for label in labels if len(counts[label]) > 1]
    if len(several) == 1:
        return several[0]
    hint = (
        f"they are {_listed(several or labels)}; choose with --series, or join them by --k-from if K is in their names"
    )
    raise InputError(Fault(f"there are {len(several or labels)} curves", remedy=hint))


def _listed(names: Sequence[str]) -> str:
    shown = [f"'{name}'" if " " in name or not name else name for name in names[:MOST_LISTED]]
    return ", ".join(shown) + (f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else "")
