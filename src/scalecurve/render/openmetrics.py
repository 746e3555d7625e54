"""OpenMetrics text for dashboards: T, S and E of every K with their intervals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from scalecurve.analysis import SpeedupTable, TableRow, tabulate
from scalecurve.estimate import Estimate
from scalecurve.study import Quantity, Study

Pick = Callable[[TableRow], Estimate]


def to_openmetrics(study: Study) -> str:
    """https://prometheus.io/docs/specs/om/open_metrics_spec/: families, label values escaped, `# EOF` at the end."""
    table = tabulate(study)
    is_time = study.quantity is Quantity.SECONDS
    first = "scalecurve_run_seconds" if is_time else "scalecurve_throughput"
    families: tuple[tuple[str, str, str, Pick], ...] = (
        (first, "seconds" if is_time else "", "Mean of the observations.", lambda row: row.mean),
        ("scalecurve_speedup", "", "Speedup against the baseline.", lambda row: row.speedup),
        ("scalecurve_efficiency_ratio", "ratio", "Parallel efficiency.", lambda row: row.efficiency),
    )
    lines = [line for family in families for line in _family(table, *family)]
    lines += _counts(table)
    return "\n".join([*lines, "# EOF"]) + "\n"


def _family(table: SpeedupTable, name: str, unit: str, text: str, pick: Pick) -> Iterator[str]:
    yield f"# TYPE {name} gauge"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {text}"
    for row in table.rows:
        estimate = pick(row)
        for bound, value in (("mean", estimate.value), ("low", estimate.low), ("high", estimate.high)):
            if value is not None:
                yield f"{name}{_labels(table, row, bound)} {value!r}"


def _counts(table: SpeedupTable) -> list[str]:
    name = "scalecurve_observations"
    head = [f"# TYPE {name} gauge", f"# HELP {name} Observations behind each mean."]
    return head + [f"{name}{_labels(table, row, None)} {row.n}" for row in table.rows]


def _labels(table: SpeedupTable, row: TableRow, bound: str | None) -> str:
    pairs = {"study": table.name, "regime": str(table.regime), "k": str(row.k), "k_unit": table.k_unit}
    if bound is not None:
        pairs["estimate"] = bound
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in pairs.items()) + "}"


def _escaped(value: str) -> str:
    return re.sub(r'[\\"]', r"\\\g<0>", value).replace("\n", "\\n")
