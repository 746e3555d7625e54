"""What the runs of a study say of one another: the same job at every K, or another one?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scalecurve.findings import Finding, warning
from scalecurve.study import Run


def compare_runs(runs: Sequence[Run]) -> tuple[Finding, ...]:
    """A batch that grows with K is another optimisation problem, and more samples are more work."""
    batches = _by_k(runs, lambda run: run.observed.get("global_batch_size"))
    work = _by_k(runs, lambda run: run.work)
    found = []
    if len({value for values in batches.values() for value in values}) > 1:
        text = (
            f"the global batch size changes with K ({_listed(batches)}): the runs solve different optimisation problems"
        )
        hint = "compare time to the same quality, and see `scalecurve plan` for the batch that still pays"
        found.append(
            warning("batch-changes", text, remedy=hint, batches={str(k): sorted(v) for k, v in batches.items()})
        )
    if len({value for values in work.values() for value in values}) > 1:
        text = f"the samples trained on change with K ({_listed(work)}): a larger batch may need more of them"
        found.append(warning("work-changes", text, work={str(k): sorted(v) for k, v in work.items()}))
    return tuple(found)


def _by_k(runs: Sequence[Run], fact: Callable[[Run], Any]) -> dict[int, set[float]]:
    values: dict[int, set[float]] = {}
    for run in runs:
        value = fact(run)
        if run.counts and isinstance(value, int | float):
            values.setdefault(run.k, set()).add(float(value))
    return dict(sorted(values.items()))


def _listed(values: dict[int, set[float]]) -> str:
    return ", ".join(f"K = {k}: {'/'.join(f'{v:g}' for v in sorted(each)[:3])}" for k, each in list(values.items())[:8])
