"""The regime of a file that states none: shown by its values, or asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from statistics import median

from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.formats.headers import pattern
from scalecurve.study import Quantity, Regime, Study
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
    shares = []
    for study in curves:
        if study.quantity is not Quantity.SECONDS:
            message = "The regime is not stated: S and E of a rate are the same under both, laws assume strong scaling"
            return warning("regime-of-a-rate", message, remedy=WEAK)
        times = {k: float(values.mean()) for k, values in study.samples.by_k().items()}
        if len(times) > 1:
            shares.append(min(times.values()) / times[min(times)])
    if not shares or median(shares) > CLEAR_FALL:
        return None
    message = f"The regime is not stated: the times fall to {median(shares):.0%}, so the total work is taken as fixed"
    return info("regime-from-times", message, remedy=WEAK, share=median(shares))
