"""What the ranks of a study reported: where their time went at each K, and how far each is from the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scalecurve.study import Study
from scalecurve.study.run import RankRecord, Run


@dataclass(frozen=True, kw_only=True)
class PhaseShares:
    """The mean share of a rank's time in each phase at one K; the shares add up to at most 1."""

    k: int
    shares: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class RankStrip:
    """Each rank's time over the mean of all ranks at one K (1 = as fast as the others), averaged over runs."""

    k: int
    relative: tuple[float, ...]


def phase_shares(study: Study) -> tuple[PhaseShares, ...]:
    """Where the time goes by K; empty where no rank reported phases."""
    found = []
    for k, runs in _runs_by_k(study).items():
        records = [rank for run in runs for rank in run.ranks if rank.phases and _total(rank)]
        if records:
            found.append(PhaseShares(k=k, shares=_mean_shares(records)))
    return tuple(found)


def rank_strips(study: Study) -> tuple[RankStrip, ...]:
    """Each rank's relative time by K; empty where fewer than two ranks reported."""
    strips = []
    for k, runs in _runs_by_k(study).items():
        rows = [row for run in runs if (row := _relative(run.ranks)) is not None]
        if rows:
            width = min(len(row) for row in rows)
            strips.append(RankStrip(k=k, relative=tuple(_mean(row[i] for row in rows) for i in range(width))))
    return tuple(strips)


def _runs_by_k(study: Study) -> dict[int, list[Run]]:
    grouped: dict[int, list[Run]] = defaultdict(list)
    for run in study.runs:
        if run.counts:
            grouped[run.k].append(run)
    return dict(sorted(grouped.items()))


def _total(rank: RankRecord) -> float:
    return max(rank.seconds or 0.0, sum(rank.phases.values()))


def _mean_shares(records: Sequence[RankRecord]) -> dict[str, float]:
    names = dict.fromkeys(name for rank in records for name in rank.phases)
    shares = {name: _mean(rank.phases.get(name, 0.0) / _total(rank) for rank in records) for name in names}
    rest = 1.0 - sum(shares.values())
    return shares | ({"other": rest} if rest > 1e-6 else {})


def _relative(ranks: Sequence[RankRecord]) -> list[float] | None:
    times = [rank.seconds for rank in sorted(ranks, key=lambda rank: rank.rank) if rank.seconds]
    if len(times) < 2:
        return None
    mean = sum(times) / len(times)
    return [time / mean for time in times]


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
