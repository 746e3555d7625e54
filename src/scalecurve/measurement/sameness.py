"""Whether the job stayed the same at every K: its work, its answer, its threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scalecurve.findings import Finding, error
from scalecurve.measurement.settings import Settings
from scalecurve.study import Regime, Run
from scalecurve.study.run import SCALING
from scalecurve.units import format_count


def sameness_findings(runs: Sequence[Run], settings: Settings) -> list[Finding]:
    good = [run for run in runs if run.value is not None]
    return [*_work_findings(good, settings), *_digest_findings(good, settings), *_thread_findings(good)]


def _work_findings(runs: Sequence[Run], settings: Settings) -> Iterable[Finding]:
    """Strong: total work is equal.  Weak: work per worker is equal.  Beyond rounding, the study is broken."""
    weak = settings.regime is Regime.WEAK
    amounts = [(run.k, run.role, run.work / (run.k if weak else 1)) for run in runs if run.work is not None]
    if not amounts:
        return
    low, high = min(amounts, key=lambda each: each[2]), max(amounts, key=lambda each: each[2])
    if high[2] - low[2] <= settings.sameness.work_tolerance * max(abs(high[2]), abs(low[2])):
        return
    what = "work per worker" if weak else "total work"
    yield error(
        "work-differs",
        f"broken: the {what} was {format_count(low[2])} at K = {low[0]} and {format_count(high[2])} at K = {high[0]}, "
        f"so these are different jobs and not points of one {settings.regime} scaling curve",
        remedy="hold it fixed, or raise sameness.work_tolerance if the difference is rounding",
        low={"k": low[0], "role": low[1], "work": low[2]},
        high={"k": high[0], "role": high[1], "work": high[2]},
    )


def _digest_findings(runs: Sequence[Run], settings: Settings) -> Iterable[Finding]:
    """A faster job with another answer is no speedup.  The answer of a weak job grows with K, so there K by K."""
    groups: dict[int, list[Run]] = {}
    for run in runs:
        if run.digest is not None:
            groups.setdefault(run.k if settings.regime is Regime.WEAK else 0, []).append(run)
    for group in groups.values():
        other = next((run for run in group if not _agree(group[0], run, settings.sameness.digest_tolerance)), None)
        if other is not None:
            yield error(
                "answer-differs",
                f"broken: the answer was {group[0].digest} ({_name(group[0])}) and {other.digest} ({_name(other)})",
                remedy="mend the program, or allow a difference with sameness.digest_tolerance",
                first={"k": group[0].k, "digest": group[0].digest},
                other={"k": other.k, "digest": other.digest},
            )
            return


def _agree(one: Run, other: Run, tolerance: float) -> bool:
    if isinstance(one.digest, float | int) and isinstance(other.digest, float | int):
        return abs(one.digest - other.digest) <= tolerance * max(abs(one.digest), abs(other.digest))
    return one.digest == other.digest


def _name(run: Run) -> str:
    return f"K = {run.k}" if run.role == SCALING else f"baseline {run.role}"


def _thread_findings(runs: Sequence[Run]) -> Iterable[Finding]:
    """Threads per worker that change with K compare two machines, not two worker counts."""
    seen: dict[int, int] = {}
    for run in runs:
        if run.role == SCALING and (pools := run.observed.get("thread_pools")):
            seen.setdefault(max(pools.values()), run.k)
    if len(seen) > 1:
        (few, k_few), (many, k_many) = sorted(seen.items())[0], sorted(seen.items())[-1]
        yield error(
            "threads-differ",
            f"broken: a worker had {many} threads at K = {k_many} and {few} at K = {k_few}",
            remedy="set launcher.threads_per_worker, which is the same at every K",
            threads={str(k): threads for threads, k in seen.items()},
        )
