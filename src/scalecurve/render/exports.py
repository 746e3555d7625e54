"""Every format a study can be exported to: data by `formats.writers`, text for people and dashboards by this module."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from scalecurve.analysis import SpeedupTable, TableRow, tabulate
from scalecurve.analysis.side_by_side import side_by_side
from scalecurve.document import Document, FindingList, Result, Table
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.formats.loading import StudyLike, load_any
from scalecurve.formats.writers import WRITERS, set_to_csv
from scalecurve.render.markup import markdown_text, to_latex, to_markdown
from scalecurve.study import Quantity, Study, StudySet
from scalecurve.study.file import json_bytes, set_to_dict, study_digest

BADGE_COLOURS = ((0.8, "brightgreen"), (0.6, "yellow"), (float("-inf"), "red"))


def export(study: StudyLike, to: str, *, regime: str | None = None) -> bytes:
    """The bytes of a study in another format: csv, json, parquet, markdown, latex ... (`export_formats()`).

    Parameters
    ----------
    study
        A study in any form that `load` takes.
    to
        csv, json, parquet, markdown, latex ... (`render.exports.export_formats()` lists all).
    regime
        "strong" or "weak", for a study that does not state it.

    Returns
    -------
    bytes
        What to write to a file.

    Raises
    ------
    InputError
        The study cannot be read, or there is no such format.

    Examples
    --------
    >>> import scalecurve as sc
    >>> sc.export({1: 100.0, 2: 52.0}, "csv", regime="strong").decode().splitlines()[0].split(",")[:2]
    ['workers', 'seconds']
    """
    if str(to) not in export_formats():
        hint = f"one of {', '.join(export_formats())}"
        raise InputError(Fault("unknown format", where="--to", value=str(to), remedy=hint))
    study = load_any(study, regime=regime)
    if isinstance(study, StudySet):
        return export_set(study, to)
    return WRITERS[to].write(study) if to in WRITERS else TEXTS[to][0](study).encode()


def export_set(studies: StudySet, to: str) -> bytes:
    """Several curves in one file: the formats that have a place for their names."""
    match to:
        case "csv":
            return set_to_csv(studies).encode()
        case "json":
            return json_bytes(set_to_dict(studies))
        case "markdown":
            return to_markdown(side_by_side(studies, tabulate).document()).encode()
        case "latex":
            return to_latex(tables_alone(side_by_side(studies, tabulate))).encode()
    names = ", ".join(studies.names[:10])
    remedy = f"csv, json, markdown and latex do; or choose one of {names} with --series"
    raise InputError(Fault("this format has no place for several curves", where="--to", value=to, remedy=remedy))


def tables_alone(result: Result) -> Document:
    """The tables of a result, without its answer, text and findings: what a paper includes."""
    return Document(None, tuple(block for block in result.body().blocks if isinstance(block, Table)))


def export_formats() -> dict[str, str]:
    """The names `export` takes, and what each is for."""
    data = {name: writer.purpose for name, writer in WRITERS.items()}
    return data | {name: purpose for name, (_, purpose) in TEXTS.items()}


def to_job_summary(study: Study) -> str:
    """GitHub-flavoured Markdown, to be appended: `export STUDY --to github-summary >> "$GITHUB_STEP_SUMMARY"`."""
    table = tabulate(study)
    last = table.rows[-1]
    efficiency = last.efficiency
    has_interval = efficiency.low is not None and efficiency.high is not None
    interval = f" ({efficiency.low:.2f} to {efficiency.high:.2f})" if has_interval else ""
    bend = f"bends at K = {table.bend.k}" if table.bend else "no bend within the data"
    parts = [
        f"## {markdown_text(study.name)}: {study.regime} scaling",
        f"**K = {last.k} {markdown_text(table.k_unit)}: efficiency {efficiency.value:.2f}{interval}**, {bend}",
        to_markdown(tables_alone(table)).strip(),
    ]
    if table.findings:
        listed = to_markdown(Document(None, (FindingList(table.findings),))).strip()
        parts.append(f"<details><summary>{len(table.findings)} findings</summary>\n\n{listed}\n\n</details>")
    parts.append(f"<sub>study {study_digest(study)[:12]}, {len(study.samples)} observations</sub>")
    return "\n\n".join(parts) + "\n"


def to_openmetrics(study: Study) -> str:
    """T, S and E of every K with their intervals, for dashboards.

    https://prometheus.io/docs/specs/om/open_metrics_spec/: families, label values escaped, `# EOF` at the end.
    """
    table = tabulate(study)
    is_time = study.quantity is Quantity.SECONDS
    first = "scalecurve_run_seconds" if is_time else "scalecurve_throughput"
    families: tuple[tuple[str, str, str, Callable[[TableRow], Estimate]], ...] = (
        (first, "seconds" if is_time else "", "Mean of the observations.", lambda row: row.mean),
        ("scalecurve_speedup", "", "Speedup against the baseline.", lambda row: row.speedup),
        ("scalecurve_efficiency_ratio", "ratio", "Parallel efficiency.", lambda row: row.efficiency),
    )
    lines = []
    for name, unit, text, pick in families:
        lines += [f"# TYPE {name} gauge", *([f"# UNIT {name} {unit}"] if unit else []), f"# HELP {name} {text}"]
        for row in table.rows:
            estimate = pick(row)
            bounds = (("mean", estimate.value), ("low", estimate.low), ("high", estimate.high))
            lines += [f"{name}{_labels(table, row, bound)} {value!r}" for bound, value in bounds if value is not None]
    name = "scalecurve_observations"
    lines += [f"# TYPE {name} gauge", f"# HELP {name} Observations behind each mean."]
    lines += [f"{name}{_labels(table, row)} {row.n}" for row in table.rows]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _labels(table: SpeedupTable, row: TableRow, bound: str | None = None) -> str:
    """The labels of a sample of OpenMetrics."""
    pairs = {"study": table.name, "regime": str(table.regime), "k": str(row.k), "k_unit": table.k_unit}
    pairs |= {} if bound is None else {"estimate": bound}
    escaped = {key: re.sub(r'[\\"]', r"\\\g<0>", value).replace("\n", "\\n") for key, value in pairs.items()}
    return "{" + ",".join(f'{key}="{value}"' for key, value in escaped.items()) + "}"


def to_action_benchmark(study: Study) -> str:
    """The mean at every K for github-action-benchmark: its tool is customSmallerIsBetter for times, else Bigger."""
    entries = []
    for row in tabulate(study).rows:
        entry: dict[str, Any] = {"name": f"{study.name} K={row.k}", "unit": study.unit or "s", "value": row.mean.value}
        if row.mean.low is not None and row.mean.high is not None:
            entry["range"] = f"{row.mean.low:.6g} to {row.mean.high:.6g}"
        entry["extra"] = f"efficiency {row.efficiency.value:.3f}, {row.n} runs"
        entries.append(entry)
    return json.dumps(entries, indent=1) + "\n"


def to_shields(study: Study) -> str:
    """The efficiency at the largest K as an endpoint of shields.io."""
    last = tabulate(study).rows[-1]
    colour = next(name for least, name in BADGE_COLOURS if last.efficiency.value >= least)
    message = f"E({last.k}) = {last.efficiency.value:.2f}"
    return json.dumps({"schemaVersion": 1, "label": "scaling", "message": message, "color": colour}) + "\n"


TEXTS: dict[str, tuple[Callable[[Study], str], str]] = {
    "markdown": (lambda study: to_markdown(tabulate(study).document()), "the speedup table for a README or an issue"),
    "latex": (lambda study: to_latex(tables_alone(tabulate(study))), "the speedup table for a paper (booktabs)"),
    "github-benchmark": (to_action_benchmark, "JSON for github-action-benchmark"),
    "shields": (to_shields, "a badge as an endpoint of shields.io (JSON)"),
    "github-summary": (to_job_summary, "verdict, table and findings for $GITHUB_STEP_SUMMARY"),
}
