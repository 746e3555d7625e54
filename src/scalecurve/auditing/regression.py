"""Losses between two studies: the test of T at every gated K, that of E, and what makes a test doubtful."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scalecurve.analysis.curve import Curve, curve_of
from scalecurve.auditing.losses import SESSION, LogMeans, Losses, alphas, losses_of, sets_of
from scalecurve.errors import Fault, InputError, Refused
from scalecurve.findings import Finding, info, warning
from scalecurve.study import Study
from scalecurve.study.samples import FloatArray

POWER = 0.8
LEAST_ERROR = 0.002


@dataclass(frozen=True, kw_only=True)
class Regression:
    """Loss of speed at K (0.1: 10 % less done per second), tested on `tests` (T or E); `passed` is None where n = 1.

    `together` are the K of a test of several at once, which has a row only where it fails.
    """

    k: int
    tests: str
    loss: float
    alpha: float
    low: float | None = None
    p_value: float | None = None
    detectable: float | None = None
    passed: bool | None = None
    together: tuple[int, ...] = ()

    def __str__(self) -> str:
        quantity = "loss of speed" if self.tests == "T" else "loss of efficiency"
        if self.together:
            listed = ", ".join(map(str, self.together))
            return f"K = {listed} together: {self.loss:.1%} {quantity}, beyond noise (p = {self.p_value or 0:.2g})"
        if self.detectable is None:
            return f"K = {self.k}: {self.loss:+.1%} {quantity}, one sample only: not tested"
        smallest = f"smallest detectable loss {self.detectable:.1%}"
        if self.passed:
            return f"K = {self.k}: no {quantity} beyond noise ({self.loss:+.1%}; {smallest})"
        chance = "" if self.p_value is None else f"p = {self.p_value:.2g}; "
        return f"K = {self.k}: {self.loss:.1%} {quantity}, beyond noise ({chance}{smallest})"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "regression", **asdict(self), "together": list(self.together)}


@dataclass(frozen=True, eq=False)
class Pair:
    """Two studies at the K that are gated: log means with their variances, and the shift between sessions."""

    workers: tuple[int, ...]
    single: tuple[int, ...]
    equal: tuple[int, ...]
    baseline_k: int | None
    new: LogMeans
    old: LogMeans
    session: tuple[float, float] | None

    def rows(self, gate: str, false_alarm: float) -> list[Regression]:
        """The tests of T, of E or of both, those of K with a single sample left open."""
        budget = false_alarm / 2 if gate == "both" else false_alarm
        rows = self.time_rows(budget) if gate in ("time", "both") else []
        rows += self.efficiency_rows(budget) if gate in ("efficiency", "both") else []
        return rows

    def time_rows(self, false_alarm: float) -> list[Regression]:
        """A row for each K; one for several K together where only that test fails."""
        keep = [i for i, k in enumerate(self.workers) if k not in self.single]
        change = self.new.value - self.old.value
        tests, places = None, sets_of(len(keep))
        levels = alphas(len(keep), false_alarm)
        if keep:
            session, degrees = self.session or (SESSION, math.inf)
            ends = [LogMeans(one.value[keep], one.variance[keep], one.degrees[keep]) for one in (self.new, self.old)]
            tests = losses_of(*ends, false_alarm=false_alarm, session=session, session_degrees=degrees)
        rows = []
        for i, k in enumerate(self.workers):
            loss = -math.expm1(-float(change[i]))
            if tests is None or i not in keep:
                rows.append(Regression(k=k, tests="T", loss=loss, alpha=float(levels[0])))
                continue
            rows.append(_tested(k, "T", loss, tests, keep.index(i), float(levels[0])))
        if tests is not None and all(row.passed is not False for row in rows):
            for place in range(len(keep), len(places)):
                several = tuple(self.workers[keep[j]] for j in places[place])
                loss = -math.expm1(-float(np.mean([change[keep[j]] for j in places[place]])))
                row = _tested(several[-1], "T", loss, tests, place, float(levels[place]), several)
                if row.passed is False:
                    rows.append(row)
        return rows

    def efficiency_rows(self, false_alarm: float) -> list[Regression]:
        """A row for each K beyond the baseline: E compares two K of one session, so that no shift enters."""
        if self.baseline_k is None:
            return []
        base = self.workers.index(self.baseline_k)
        change = self.new.value - self.old.value
        beyond = [i for i in range(len(self.workers)) if i != base]
        alpha = false_alarm / max(1, len(beyond))
        rows = []
        for i in beyond:
            loss = -math.expm1(-float(change[i] - change[base]))
            if self.workers[i] in self.single or self.baseline_k in self.single:
                rows.append(Regression(k=self.workers[i], tests="E", loss=loss, alpha=alpha))
                continue
            ends = [
                LogMeans(
                    np.array([one.value[i] - one.value[base]]),
                    np.array([one.variance[i] + one.variance[base]]),
                    np.array([one.degrees[i] + one.degrees[base]]),
                )
                for one in (self.new, self.old)
            ]
            tests = losses_of(*ends, false_alarm=alpha, session=0.0, session_degrees=math.inf)
            rows.append(_tested(self.workers[i], "E", loss, tests, 0, alpha))
        return rows

    def findings(self, rows: list[Regression]) -> list[Finding]:
        """What a reader of the tests must know: the shift assumed, K not tested, equal repeats, E that fell alone."""
        findings = []
        if any(row.tests == "T" for row in rows):
            shift, source = (SESSION, "assumed") if self.session is None else (self.session[0], "from the history")
            message = f"T of all K may shift by {shift:.1%} between sessions ({source})"
            remedy = "--history FILE estimates it from 8 checks on" if self.session is None else None
            findings.append(info("session-shift", message, remedy=remedy, shift=shift, source=source))
        if self.single:
            message = f"K = {', '.join(map(str, self.single))} has one sample only and was not tested"
            findings.append(warning("not-tested", message, remedy="repeat 5 times", k=list(self.single)))
        if self.equal:
            listed = ", ".join(map(str, self.equal))
            message = (
                f"the repeats at K = {listed} are all equal: noise is taken as {LEAST_ERROR:.1%} or the last digit"
            )
            findings.append(
                warning("no-spread", message, remedy="use a finer timer, or longer runs", k=list(self.equal))
            )
        if all(row.tests == "T" and row.passed is not False for row in rows):
            fell = [row for row in self.efficiency_rows(0.01) if row.passed is False]
            if fell:
                listed = ", ".join(f"E({row.k}) by {row.loss:.1%}" for row in fell)
                message = (
                    f"efficiency fell ({listed}) because T({self.baseline_k}) became faster; no T(K) became slower"
                )
                remedy = "--gate both fails on this too"
                findings.append(info("efficiency-fell", message, remedy=remedy, k=[row.k for row in fell]))
        return findings


def pair_of(new: Study, old: Study, workers: tuple[int, ...], session: tuple[float, float] | None) -> Pair:
    """The gated K of two studies; Refused where none of them can be tested."""
    common = [k for k in new.all_k if k in old.all_k and (not workers or k in workers)]
    absent = [k for k in workers if k not in common]
    if absent or not common:
        raise InputError(
            Fault("a gated K was not measured in both studies", value=", ".join(map(str, absent)) or "no common K"),
            subject=f"{new.name} and {old.name}",
        )
    k0 = new.baseline_k if new.baseline_k == old.baseline_k else None
    curves = [curve_of(study) for study in (new, old)]
    digit = _last_digit(np.concatenate([new.samples.values, old.samples.values]))
    sign = -1.0 if new.quantity.higher_is_better else 1.0
    ends = [_log_means(curve, common, sign, digit) for curve in curves]
    single = tuple(k for i, k in enumerate(common) if min(end.degrees[i] for end in ends) < 1)
    if len(single) == len(common):  # a gate that tests nothing must not pass
        raise Refused("one sample per K: nothing can be tested; repeat 5 times")
    equal = tuple(k for k in common if k not in single and any(_no_spread(curve, k) for curve in curves))
    return Pair(tuple(common), single, equal, k0 if k0 in common else None, ends[0], ends[1], session)


def _log_means(curve: Curve, workers: list[int], sign: float, last_digit: float) -> LogMeans:
    """Log means that rise where the job gets slower; equal repeats have the least error."""
    places = [curve.index(k) for k in workers]
    mean = curve.mean[places]
    variance = np.nan_to_num(curve.log_se[places]) ** 2
    least = np.maximum(LEAST_ERROR**2, (last_digit / mean) ** 2 / 12)
    flat = np.array([_no_spread(curve, k) for k in workers])
    return LogMeans(sign * np.log(mean), np.where(flat, np.maximum(variance, least), variance), curve.degrees[places])


def _last_digit(samples: FloatArray) -> float:
    """The decimal step in which all samples are written; 0 where there is none."""
    scaled = ((digits, samples * 10.0**digits) for digits in range(9))
    digits = next((d for d, values in scaled if np.all(np.abs(values - np.rint(values)) < 1e-6)), None)
    return 0.0 if digits is None else 10.0**-digits


def _no_spread(curve: Curve, k: int) -> bool:
    i = curve.index(k)
    return bool(curve.n[i] > 1 and curve.log_se[i] < 1e-9)


def _tested(
    k: int, tests: str, loss: float, losses: Losses, place: int, alpha: float, together: tuple[int, ...] = ()
) -> Regression:
    """One test as a row."""
    from scipy.special import stdtr, stdtrit

    estimate, error, limit, degrees = (
        float(part[..., place].item()) for part in (losses.estimate, losses.error, losses.limit, losses.degrees)
    )
    return Regression(
        k=k,
        tests=tests,
        loss=loss,
        low=-math.expm1(-(estimate - limit)),
        p_value=float(stdtr(degrees, -estimate / error)) if error > 0 else None,
        alpha=alpha,
        detectable=-math.expm1(-(limit + float(stdtrit(degrees, POWER)) * error)),
        passed=estimate <= limit,
        together=together,
    )
