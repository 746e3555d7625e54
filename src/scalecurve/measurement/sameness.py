"""Whether the job stayed the same at every K: its work, its answer, its threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scalecurve.findings import Finding, error
from scalecurve.measurement.settings import Settings
from scalecurve.study import Regime, Run
from scalecurve.study.run import SCALING
from scalecurve.units import format_count


def sameness_findings(runs: Sequence[Run], settings: Settings) -> list[Finding]:
    good = [run for run in runs if run.value is not None and run.role == SCALING]
    return [*_work_findings(good, settings), *_digest_findings(good, settings), *_thread_findings(good)]


def _work_findings(runs: Sequence[Run], settings: Settings) -> Iterable[Finding]:
    """Strong: total work is equal.  Weak: work per worker is equal.  Beyond rounding, the study is broken."""
    weak = settings.regime is Regime.WEAK
    amounts = [(run.k, run.work / (run.k if weak else 1)) for run in runs if run.work is not None]
    if not amounts:
        return
    low, high = min(amounts, key=lambda each: each[1]), max(amounts, key=lambda each: each[1])
    if high[1] - low[1] <= settings.sameness.work_tolerance * max(abs(high[1]), abs(low[1])):
        return
    what = "work per worker" if weak else "total work"
    yield error(
        "work-differs",
        f"broken: the {what} was {format_count(low[1])} at K = {low[0]} and {format_count(high[1])} at K = {high[0]}, "
        f"so these are different jobs and not points of one {settings.regime} scaling curve",
        remedy="hold it fixed, or raise sameness.work_tolerance if the difference is rounding",
        low={"k": low[0], "work": low[1]},
        high={"k": high[0], "work": high[1]},
    )


def _digest_findings(runs: Sequence[Run], settings: Settings) -> Iterable[Finding]:
    """A faster job with another answer is no speedup.  The answer of a weak job grows with K, so there K by K."""
    groups: dict[int, list[Run]] = {}
    for run in runs:
        if run.digest is not None:
            groups.setdefault(run.k if settings.regime is Regime.WEAK else 0, []).append(run)
    for group in groups.values():
        tolerance = settings.sameness.digest_tolerance
        other = next((run for run in group if not digests_agree(group[0], run, tolerance)), None)
        if other is not None:
            yield error(
                "answer-differs",
                f"broken: the answer was {group[0].digest} at K = {group[0].k} and {other.digest} at K = {other.k}",
                remedy="mend the program, or allow a difference with sameness.digest_tolerance",
                first={"k": group[0].k, "digest": group[0].digest},
                other={"k": other.k, "digest": other.digest},
            )
            return


def digests_agree(one: Run, other: Run, tolerance: float) -> bool:
    """Equal, or both numbers and within the tolerance; an absent answer agrees with any."""
    if one.digest is None or other.digest is None:
        return True
    if isinstance(one.digest, float | int) and isinstance(other.digest, float | int):
        return abs(one.digest - other.digest) <= tolerance * max(abs(one.digest), abs(other.digest))
    return one.digest == other.digest


def works_agree(one: Run, other: Run, tolerance: float) -> bool:
    if one.work is None or other.work is None:
        return True
    return abs(one.work - other.work) <= tolerance * max(abs(one.work), abs(other.work))


def _thread_findings(runs: Sequence[Run]) -> Iterable[Finding]:
    """Threads per worker that change with K compare two machines, not two worker counts."""
    seen: dict[int, int] = {}
    for run in runs:
        if pools := run.observed.get("thread_pools"):
            seen.setdefault(max(pools.values()), run.k)
    if len(seen) > 1:
        (few, k_few), (many, k_many) = sorted(seen.items())[0], sorted(seen.items())[-1]
        yield error(
            "threads-differ",
            f"broken: a worker had {many} threads at K = {k_many} and {few} at K = {k_few}",
            remedy="set launcher.threads_per_worker, which is the same at every K",
            threads={str(k): threads for threads, k in seen.items()},
        )
