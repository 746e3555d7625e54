"""The regime of a file that states none: shown by its values, or asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from statistics import median

from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.formats.headers import pattern
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.run import FloatArray
from scalecurve.study.study import REGIME_HELP, StudySet

CLEAR_FALL = 0.8  # of the time at the fewest workers: work that grows with K never gets faster than that
WEAK = "--regime weak if the work per worker was the same at every K"


def regime_in(text: str, form: str = "decision.regime") -> Regime | None:
    """The regime that a text states; None where it names none or both."""
    words = {word.lower() for word in pattern(form).findall(text)}
    return Regime(words.pop()) if len(words) == 1 else None


def regime_named(label: str) -> Regime | None:
    """The regime that a short name states: weak, strong_4, results-weak-mpi."""
    return regime_in(label, "decision.regime_name")


def regime_of_columns(constant: Iterable[str]) -> tuple[Regime, str] | None:
    """What columns with the same cell in every row hold fixed, with the name of the one that says so: work per worker
    is weak scaling, unless the total is the same too."""
    held = {
        regime: next(filter(pattern(f"decision.work_{name}").search, constant), None)
        for regime, name in ((Regime.STRONG, "in_total"), (Regime.WEAK, "per_worker"))
    }
    return next(((regime, column) for regime, column in held.items() if column is not None), None)


def falls(curves: Iterable[Mapping[int, FloatArray]]) -> float | None:
    """The least time as a share of that at the fewest workers, of most curves; None without a curve of several K."""
    times = [{k: float(values.mean()) for k, values in curve.items()} for curve in curves]
    shares = [min(own.values()) / own[min(own)] for own in times if len(own) > 1]
    return median(shares) if shares else None


def with_shown_regime(read: Study | StudySet, subject: str) -> Study | StudySet:
    """Curves read as strong scaling, with a finding that says why; an InputError where the values do not show it.

    Times that fall are those of a total that is fixed.  A rate has S = X(K)/X(K0) and the same E under both regimes.
    """
    curves = read.studies.values() if isinstance(read, StudySet) else (read,)
    finding = _reason(curves)
    if finding is None:
        message = "the scaling regime is not stated, and the times do not show it: they do not fall as K grows"
        raise InputError(Fault(message, remedy=REGIME_HELP), subject=subject)
    if isinstance(read, StudySet):
        return replace(read, studies={name: study.with_findings((finding,)) for name, study in read.items()})
    return read.with_findings((finding,))


def _reason(curves: Iterable[Study]) -> Finding | None:
    curves = tuple(curves)
    if any(study.quantity is not Quantity.SECONDS for study in curves):
        message = "The regime is not stated: S and E of a rate are the same under both, laws assume strong scaling"
        return warning("regime-of-a-rate", message, remedy=WEAK)
    share = falls(study.samples.by_k() for study in curves)
    if share is None or share > CLEAR_FALL:
        return None
    message = f"The regime is not stated: the times fall to {share:.0%}, so the total work is taken as fixed"
    return info("regime-from-times", message, remedy=WEAK, share=share)
