"""What differs between sessions: one model for merged studies, comparisons, the gate and its history.

The mean of ln T at K in one session is

    curve(K) + common shift of the session + own shift of the session at K + noise of the runs

The common shift is another day, another neighbour, another temperature; the own shift is what hits some K only, such as
the network of the day at the largest.  Repeats within a session show neither.  A history of checks says how large both
are; without one `COMMON` and `OWN` are assumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from scalecurve.findings import Finding, info, warning
from scalecurve.study import Run, Study
from scalecurve.study.run import FloatArray, IntArray

COMMON, OWN = 0.02, 0.005
LABEL = "session"  # of `Run.observed`
LEAST_SPREAD = 0.005  # of single runs, where nothing was repeated within a session
LEAST_SESSIONS = 8  # fewer say too little about the shifts
SMALLEST = 0.002
MEDIAN_OF_SQUARES = 0.455  # the median of chi-square with one degree of freedom


@dataclass(frozen=True)
class SessionShift:
    """Standard deviations of ln T between sessions: shared by all K (`common`), and at single K (`own`, by K).

    `degrees` are those of both estimates; None where they are assumed.
    """

    common: float = COMMON
    own: Mapping[int, float] | None = None
    degrees: float | None = None

    @property
    def is_known(self) -> bool:
        return self.degrees is not None

    def own_at(self, workers: Sequence[int]) -> FloatArray:
        """The own shift at each K; one that no history has counts as the largest."""
        if not self.own:
            return np.zeros(len(workers))
        most = max(self.own.values())
        return np.array([self.own.get(k, most) for k in workers])


def shift_of_history(workers: Sequence[int], logs: FloatArray, noise: FloatArray) -> SessionShift | None:
    """The shifts that a history shows: ln T and the variance of its mean, sessions x K; None with few sessions.

    From squared differences of neighbours, which a slow drift hardly touches.  The common shift takes their median, so
    that a few true changes do not count; the own shift takes the mean of all but the largest, which is steadier.
    """
    sessions, count = logs.shape
    if sessions < LEAST_SESSIONS:
        return None
    steps, degrees = np.diff(logs, axis=0), 2 * (sessions - 1) / 3 - 1
    together = float(np.median(steps.mean(axis=1) ** 2)) / MEDIAN_OF_SQUARES / 2 - float(noise.mean()) / count
    common = max(SMALLEST, float(np.sqrt(max(together, 0.0))))
    if count == 1:
        return SessionShift(common, {}, degrees)
    apart = np.sort((steps - np.median(steps, axis=1, keepdims=True)) ** 2, axis=0)
    trimmed = apart[:-1].mean(axis=0) / _trimmed_share(sessions - 1)
    own = np.sqrt(np.maximum(trimmed / 2 - noise.mean(axis=0), 0.0))
    return SessionShift(common, dict(zip(workers, own.tolist(), strict=True)), degrees)


def _trimmed_share(count: int) -> float:
    """The mean of all but the largest of so many squared normal numbers, for numbers of variance 1."""
    from scalecurve.distributions import ndtri

    scores = ndtri((np.arange(1, 100 * count + 1) - 0.5) / (200 * count) + 0.5) ** 2
    top = scores[-100:].mean()  # about the expected largest of `count`
    return float((count - top) / (count - 1))


@dataclass(frozen=True, eq=False)
class SessionFit:
    """ln of the mean at each K in an average session with its covariance; `shifts` of each session from the first.

    `shifts` hold None for a session that shares no K with those before it.
    """

    k: IntArray
    log_mean: FloatArray
    covariance: FloatArray
    shifts: tuple[float | None, ...]


def session_of(run: Run) -> str | None:
    """The session a run belongs to, if studies of several were merged."""
    label = run.observed.get(LABEL)
    return None if label is None else str(label)


def sessions_of(study: Study) -> dict[str, dict[int, list[float]]]:
    """The values of each K in each session; empty where the runs are of one session."""
    found: dict[str, dict[int, list[float]]] = {}
    for run in study.runs:
        label = session_of(run)
        if label is not None and run.value is not None and run.counts_as(study.role_at(run.k)):
            found.setdefault(label, {}).setdefault(run.k, []).append(run.value)
    return found if len(found) > 1 else {}


def fit_sessions(study: Study) -> SessionFit | None:
    """The curve of an average session by generalised least squares; None where all runs are of one session."""
    sessions = sessions_of(study)
    if not sessions:
        return None
    k = np.array(study.all_k, dtype=np.int64)
    cells = [
        (j, int(np.searchsorted(k, own)), values)
        for j, by_k in enumerate(sessions.values())
        for own, values in by_k.items()
    ]
    session, place = np.array([cell[:2] for cell in cells]).T
    runs = np.array([len(values) for *_, values in cells], dtype=np.float64)
    mean = np.array([np.mean(values) for *_, values in cells])
    spread = np.array([np.std(values, ddof=1) / np.mean(values) if len(values) > 1 else 0.0 for *_, values in cells])
    every = float(np.sqrt((spread**2 * (runs - 1)).sum() / max((runs - 1).sum(), 1.0))) or LEAST_SPREAD
    noise = np.where(runs > 1, np.maximum(spread, every), every) ** 2 / runs
    logs = np.log(mean)
    shifts = [_shift(session, place, logs, j) for j in range(len(sessions))]
    apart = [
        logs[i] - logs[j] for i, j in combinations(range(len(cells)), 2) if place[i] == place[j]
    ]  # of two sessions at one K
    common = max(COMMON, float(np.sqrt(np.mean(np.square(apart)) / 2)) if apart else 0.0)
    same = session[:, None] == session
    variance = common**2 * same + np.diag(noise + OWN**2)
    design = (place[:, None] == np.arange(len(k))).astype(np.float64)
    weighted = np.linalg.solve(variance, design)
    covariance = np.linalg.inv(design.T @ weighted)
    return SessionFit(k, covariance @ (weighted.T @ logs), covariance, tuple(shifts))


def _shift(session: IntArray, place: IntArray, logs: FloatArray, number: int) -> float | None:
    """How far a session lies above the earlier ones at the K they share; None without any, 0 for the first."""
    if number == 0:
        return 0.0
    earlier = {int(p): float(np.mean(logs[(session < number) & (place == p)])) for p in place[session < number]}
    mine = (session == number) & np.isin(place, list(earlier))
    return float(np.mean([logs[i] - earlier[int(place[i])] for i in np.flatnonzero(mine)])) if mine.any() else None


def session_findings(study: Study) -> tuple[Finding, ...]:
    """What merged sessions mean for T and E."""
    fit = fit_sessions(study)
    if fit is None:
        return ()
    known = [shift for shift in fit.shifts[1:] if shift is not None]
    listed = ", ".join(f"{np.expm1(shift):+.1%}" for shift in known)
    if len(known) < len(fit.shifts) - 1:
        message = f"two of {len(fit.shifts)} sessions share no K: a shift of {COMMON:.0%} between them is assumed"
        return (warning("sessions-apart", message, remedy="measure one K in every session", shifts=list(fit.shifts)),)
    message = f"{len(fit.shifts)} sessions, {listed} against the first at the K they share; T and E are of their mean"
    return (info("sessions-merged", message, shifts=list(fit.shifts)),)


def overlap(first: Study, second: Study) -> bool:
    """Whether the runs of two studies were made during the same hours, by their stored times."""
    spans = [sorted(run.started for run in study.runs if run.started) for study in (first, second)]
    return all(spans) and spans[0][0] <= spans[1][-1] and spans[1][0] <= spans[0][-1]
