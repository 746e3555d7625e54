"""The regime from a sentence's worth of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from scalecurve.diagnosis.regimes import RegimeVerdict, classify_regime
from scalecurve.errors import Fault, InputError


def regime_of_sentence(
    *,
    workers: Sequence[int] | None,
    total: Sequence[float] | None = None,
    per_worker: Sequence[float] | None = None,
    times: Sequence[float] | None = None,
    called: str | None = None,
    name: str = "job",
) -> RegimeVerdict:
    """One number stands for all K; otherwise one for each."""
    if not workers or (total is None) == (per_worker is None):
        raise InputError(
            Fault(
                "give worker counts and the work",
                remedy="--workers 4,16,64 with either --total 50000 or --per-worker 128",
            )
        )
    faults: list[Fault] = []
    amounts = _spread(total if total is not None else per_worker or (), workers, "work", faults)
    seconds = _spread(times, workers, "times", faults) if times is not None else []
    if faults:
        raise InputError(faults)
    work = {k: amount if total is not None else amount * k for k, amount in zip(workers, amounts, strict=True)}
    return classify_regime(work, name=name, declared=called, times=dict(zip(workers, seconds, strict=False)))


def _spread(values: Sequence[float], workers: Sequence[int], what: str, faults: list[Fault]) -> list[float]:
    if len(values) == 1 and what == "work":
        return list(values) * len(workers)
    if len(values) != len(workers):
        faults.append(Fault(f"one number of {what} for each K", seen=f"{len(values)} for {len(workers)} worker counts"))
    return list(values)
