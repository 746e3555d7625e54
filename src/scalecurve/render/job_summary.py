"""The summary of a CI job: the verdict first, then the table, then what a reader must know."""

from __future__ import annotations

from scalecurve.analysis import SpeedupTable, tabulate
from scalecurve.document import Document, FindingList, Table
from scalecurve.render.markdown import escape, to_markdown
from scalecurve.study import Study
from scalecurve.study.file import study_digest


def to_job_summary(study: Study) -> str:
    """GitHub-flavoured Markdown, to be appended: `export STUDY --to github-summary >> "$GITHUB_STEP_SUMMARY"`."""
    table = tabulate(study)
    shown = table.document()
    tables = tuple(block for block in shown.blocks if isinstance(block, Table))
    parts = [
        f"## {escape(study.name)}: {study.regime} scaling",
        _verdict(table),
        to_markdown(Document(None, tables)).strip(),
    ]
    if table.findings:
        listed = to_markdown(Document(None, (FindingList(table.findings),))).strip()
        parts.append(f"<details><summary>{len(table.findings)} findings</summary>\n\n{listed}\n\n</details>")
    parts.append(f"<sub>study {study_digest(study)[:12]}, {len(study.samples)} observations</sub>")
    return "\n\n".join(parts) + "\n"


def _verdict(table: SpeedupTable) -> str:
    last = table.rows[-1]
    efficiency = last.efficiency
    interval = (
        f" ({efficiency.low:.2f} to {efficiency.high:.2f})"
        if efficiency.low is not None and efficiency.high is not None
        else ""
    )
    bend = f"bends at K = {table.bend.k}" if table.bend else "no bend within the data"
    return f"**K = {last.k} {escape(table.k_unit)}: efficiency {efficiency.value:.2f}{interval}**, {bend}"
