"""Was speed lost between two sessions, at one K, at the larger K, or everywhere: tests that know three kinds of noise.

The log ratio of means at each K, d = ln T(new)/T(old), holds the true change, the noise of the runs, a shift that all K
of a session share, and one of each K by itself (`analysis.sessions`).  A shift of the difference has sqrt(2) times the
standard deviation of that of a session.  Own shifts of several K are taken to go together, as those of a network do.

    one K       d minus what the other K say of the shift (its posterior mean)
    larger K    the mean of d over the m largest K minus what the smaller K say of the shift
    all K       the mean of d, against noise and shift together

Only K that agree with each other, and with no shift as one more of them, say what the session did: where the code
became faster at some K, the others have lost nothing. A loss must also be one by itself: a K that is not slower has
lost nothing, however much faster the others became.

With few runs noise is judged twice, by the spread of the K itself and by that of all K together, and both must call
the loss large: three runs that happen to be close (a program with a fast and a slow mode) do not make noise small, and
quiet small K do not hide the noise of large ones.  From `MANY` degrees of freedom on the spread of each K is drawn
towards that of all K as far as they agree (moderated t; G. K. Smyth, 2004), which finds smaller losses at the same
false alarms; what that saves goes to the test of all K.

Against a shift of 2 % no test finds 10 % lost at every K more often than .87 of the time at 1 % false alarms (5 %
noise, 4 K, n = 10), and less where single K are watched as well.  The functions work on arrays whose last axis is K, so
that simulations use them as the gate does.  Welch 1947 and Satterthwaite 1946 for the degrees of freedom; Chen and
Revels 2016 for noise that comes from outside the program.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from scalecurve.analysis.curve import Curve, curve_of
from scalecurve.analysis.sessions import LEAST_SESSIONS, SessionShift
from scalecurve.document import JsonRecord
from scalecurve.errors import Fault, InputError, Refused
from scalecurve.findings import Finding, info, warning
from scalecurve.study import Study
from scalecurve.study.run import FloatArray

BoolArray = npt.NDArray[np.bool_]

FEW_SHARES = {"one": 0.83, "larger": 0.04, "all": 0.13}  # of the false alarms, by kind of test
MANY_SHARES = {"one": 0.37, "larger": 0.04, "all": 0.45}
MANY = 8.0  # degrees of freedom of every mean, from which spreads are moderated
MOST_PRIOR = 40.0  # degrees of freedom that all K may lend to one
LEAST_SAID = 0.0005  # a change that is 0.0 %
TOO_LARGE = 3.0  # standard deviations of noise and shift
SLOWER = 0.02  # a K that is not slower beyond this level by its own noise has lost nothing
BOTH = 1.3  # two judgements of noise must agree, so each may be this much laxer from five runs on (bench/gate.py)
ENOUGH = 4.0  # degrees of freedom of a mean, from which that holds
FEW = 0.7  # below, two modes make Student's t too sure by this much
THREE_RUNS = 0.2  # ... and below LEAST_DEGREES the spread of all K by this much: three slow runs are no rarity
WIDE, WIDE_SHARE = 0.25, 0.5  # the relative spread from which means are so skewed that half the alarms are admitted
LEAST_DEGREES = 3.0  # of a mean: with fewer, and at most FEW_K, chance alone passes 1 % ...
FEW_K = 2
TWO_SPEEDS = math.log(1.3)  # ... so that a loss must be larger than what parts the two speeds of most programs
POWER = 0.8
LEAST_P = 1e-4
LEAST_ERROR = 0.002
NO_BOUND = 700.0  # the logarithm of a gain that no number can hold: the interval has no lower end
MOST_GATED = 2000  # tests of several K together grow with its square


@dataclass(frozen=True, eq=False)
class LogMeans:
    """Log means of one study, the variance of each and its degrees of freedom; the last axis is K."""

    value: FloatArray
    variance: FloatArray
    degrees: FloatArray


@dataclass(frozen=True, eq=False)
class Losses:
    """For each test: the estimated log loss, its standard error, and the limit above which it is called a loss.

    The last axis is the test: every K by itself, then the 2 to m - 1 largest K together, then all K.
    """

    estimate: FloatArray
    error: FloatArray
    limit: FloatArray
    degrees: FloatArray


def sets_of(count: int) -> list[tuple[int, ...]]:
    """The sets of places that are tested together, in the order of `Losses`."""
    every = tuple(range(count))
    if count == 1:
        return [every]
    return [*((i,) for i in every), *(every[start:] for start in range(count - 2, 0, -1)), every]


def has_many(new: LogMeans, old: LogMeans) -> bool:
    """Whether every mean of both studies comes from so many runs that spreads are moderated."""
    return new.value.shape[-1] > 1 and float(min(new.degrees.min(), old.degrees.min())) >= MANY


def needs_more(new: LogMeans, old: LogMeans) -> BoolArray:
    """Whether the runs are too few for a test of this level: three fast and three slow ones part in 1 of 20 orders."""
    least = np.minimum(new.degrees, old.degrees).min(axis=-1)
    few: BoolArray = (least < LEAST_DEGREES) & (new.value.shape[-1] <= FEW_K)
    return few


def alphas(count: int, false_alarm: float, *, many: bool) -> FloatArray:
    """The false alarms admitted for each test of `sets_of`; together they are at most `false_alarm`."""
    if count == 1:
        return np.array([false_alarm])
    shares, larger = MANY_SHARES if many else FEW_SHARES, count - 2
    one = shares["one"] + (shares["larger"] if larger == 0 else 0.0)
    parts = [*[one / count] * count, *[shares["larger"] / max(larger, 1)] * larger, shares["all"]]
    return false_alarm * np.array(parts)


@dataclass(frozen=True, eq=False)
class Shifts:
    """The session shifts of one gate: `common` to all K, `own` at each K, and the degrees of freedom of both."""

    common: float
    own: FloatArray | float = 0.0
    degrees: float = math.inf


@dataclass(frozen=True, eq=False)
class _Judgement:
    """The variance of each difference by one view of the noise; `laxer` widens the share of false alarms it admits."""

    variance: FloatArray
    degrees: FloatArray
    laxer: FloatArray


def losses_of(new: LogMeans, old: LogMeans, *, false_alarm: float, shifts: Shifts) -> Losses:
    """Every test of `sets_of` at once."""
    change, count = new.value - old.value, new.value.shape[-1]
    own = np.broadcast_to(shifts.own, (count,))
    own = np.maximum(own, math.sqrt(float(np.mean(own**2))))  # few sessions tell that of one K badly
    shifts = replace(shifts, own=own)
    judgements = _judgements(new, old, shifts)
    by_itself = _with_own(*_sum(new.variance, old.variance, new.degrees, old.degrees), shifts)
    careful = np.max([one.variance for one in judgements], axis=0)
    shift = 2.0 * shifts.common**2
    shared = np.abs(change) <= TOO_LARGE * np.sqrt(careful + shift)  # a larger change is the program's, no shift
    least_limit = np.where(needs_more(new, old), TWO_SPEEDS, 0.0)
    columns = []
    for places, alpha in zip(sets_of(count), alphas(count, false_alarm, many=has_many(new, old)), strict=True):
        inside = np.zeros(count, dtype=bool)
        inside[list(places)] = True
        weights = ~inside * shared / careful
        if not inside.all():
            others = change[..., ~inside]
            middle = np.median(np.append(others, np.zeros_like(others[..., :1]), axis=-1), axis=-1, keepdims=True)
            weights = weights * (np.abs(change - middle) <= TOO_LARGE * np.sqrt(careful))
        precision = weights.sum(axis=-1) + (1.0 / shift if shift > 0 else 1e30)
        mean = change[..., inside].mean(axis=-1)
        estimate = mean - (weights * change).sum(axis=-1) / precision
        others = weights**2 * careful / precision[..., np.newaxis] ** 2  # the part of the shift's variance from noise
        beside = (others**2 / judgements[0].degrees).sum(axis=-1)
        beside = beside + (1.0 / precision - others.sum(axis=-1)) ** 2 / shifts.degrees
        together = 2.0 * (own[inside].max() ** 2 - (own[inside] ** 2).mean() / inside.sum())  # they may go together
        tests = [_limit(one, inside, 1.0 / precision + together, beside, alpha) for one in judgements]
        last = tests[-1][1] > tests[0][1]
        errors, limits, degrees = (np.where(last, tests[-1][i], tests[0][i]) for i in range(3))
        noise = by_itself[0][..., inside].sum(axis=-1) / inside.sum() ** 2
        slower = mean > _quantile(by_itself[1][..., inside].sum(axis=-1), SLOWER) * np.sqrt(noise)
        estimate = np.where(slower, estimate, np.minimum(estimate, 0.0))
        columns.append((estimate, errors, np.maximum(limits, least_limit), degrees))
    return Losses(*(np.stack(parts, axis=-1) for parts in zip(*columns, strict=True)))


def _judgements(new: LogMeans, old: LogMeans, shifts: Shifts) -> list[_Judgement]:
    """The views of the noise that must agree on a loss, each with the own shifts of the sessions added."""
    many, lone = has_many(new, old), new.value.shape[-1] == 1  # of one K both judgements of noise are the same
    least = np.minimum(new.degrees, old.degrees).min(axis=-1)
    laxer = np.where(least >= (MANY if lone else ENOUGH), 1.0 if many or lone else BOTH, FEW)
    laxer = laxer * np.where(_spread(new, old)[..., 0] > WIDE**2, WIDE_SHARE, 1.0)
    if many:
        return [_Judgement(*_with_own(*_moderated(new, old), shifts), laxer)]
    by_all = np.where(least < LEAST_DEGREES, np.minimum(laxer, THREE_RUNS), laxer)
    single = _sum(new.variance, old.variance, new.degrees, old.degrees)
    return [_Judgement(*_with_own(*single, shifts), laxer), _Judgement(*_with_own(*_pooled(new, old), shifts), by_all)]


def _with_own(variance: FloatArray, degrees: FloatArray, shifts: Shifts) -> tuple[FloatArray, FloatArray]:
    """The variance of a difference with the own shift of two sessions, and its degrees of freedom."""
    own = np.broadcast_to(2.0 * np.square(shifts.own), variance.shape)
    return (
        _sum(variance, own, degrees, np.full(variance.shape, shifts.degrees))
        if np.any(own > 0)
        else (variance, degrees)
    )


def _limit(
    one: _Judgement, inside: BoolArray, shift: FloatArray, beside: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The standard error of a loss, the limit above which it is called one, and the degrees of freedom."""
    part = one.variance[..., inside] / inside.sum() ** 2
    total = part.sum(axis=-1) + shift
    fourth = (part**2 / one.degrees[..., inside]).sum(axis=-1) + beside
    freedom = np.where(fourth > 0, total**2 / np.maximum(fourth, 1e-300), one.degrees[..., inside].min(axis=-1))
    error = np.sqrt(total)
    return error, _quantile(freedom, one.laxer * alpha) * error, freedom


def _sum(first: FloatArray, second: FloatArray, one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The variance of a difference with Welch's degrees of freedom."""
    total = first + second
    fourth = first**2 / one + second**2 / other
    return total, np.where(fourth > 0, total**2 / np.maximum(fourth, 1e-300), one + other)


def _pooled(new: LogMeans, old: LogMeans) -> tuple[FloatArray, FloatArray]:
    """The variance of each difference from the relative spread of all K of both studies together."""
    variance = _spread(new, old) * (1 / (new.degrees + 1) + 1 / (old.degrees + 1))
    freedom = new.degrees + old.degrees
    return variance, np.broadcast_to(freedom.sum(axis=-1, keepdims=True), variance.shape).astype(np.float64)


def _spread(new: LogMeans, old: LogMeans) -> FloatArray:
    """The relative variance of one run, from all K of both studies; the last axis has one place."""
    squares = sum(study.variance * (study.degrees + 1) * study.degrees for study in (new, old))
    mean: FloatArray = np.sum(squares, axis=-1, keepdims=True) / np.sum(
        new.degrees + old.degrees, axis=-1, keepdims=True
    )
    return mean


def _moderated(new: LogMeans, old: LogMeans) -> tuple[FloatArray, FloatArray]:
    """The variance of each difference with every spread drawn towards all of them, as far as they agree.

    Spreads are taken as drawn around a common one; how far they differ beyond chance says how many degrees of freedom
    the common one is worth (Smyth's estimate by the variance of the logarithms).
    """
    from scipy.special import digamma, polygamma

    count = new.value.shape[-1]
    degrees = np.concatenate([new.degrees, old.degrees], axis=-1)
    runs = degrees + 1.0
    spread = np.maximum(np.concatenate([new.variance, old.variance], axis=-1) * runs, 1e-12)
    logs = np.log(spread) - digamma(degrees / 2) + np.log(degrees / 2)
    beyond = logs.var(axis=-1, ddof=1, keepdims=True) - polygamma(1, degrees / 2).mean(axis=-1, keepdims=True)
    target = np.maximum(beyond, 1e-3)
    half = 0.5 + 1.0 / target  # Newton steps to trigamma(half) = target
    for _ in range(6):
        value = polygamma(1, half)
        half = half + value * (1.0 - value / target) / polygamma(2, half)
    prior = np.where(beyond > 1e-3, np.minimum(2.0 * half, MOST_PRIOR), MOST_PRIOR)
    common = np.exp(logs.mean(axis=-1, keepdims=True) + digamma(prior / 2) - np.log(prior / 2))
    variance = (prior * common + degrees * spread) / (prior + degrees) / runs
    total = prior + degrees
    return _sum(variance[..., :count], variance[..., count:], total[..., :count], total[..., count:])


def _quantile(degrees: FloatArray, tail: FloatArray | float) -> FloatArray:
    from scipy.special import stdtrit

    return np.asarray(stdtrit(degrees, 1.0 - tail), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Regression(JsonRecord):
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

    kind = "regression"

    @property
    def is_faster(self) -> bool:
        """Whether it gained more than a loss needs to be seen."""
        return self.detectable is not None and self.loss < -self.detectable

    JSON = "kind k tests loss alpha low p_value detectable passed together"

    def __str__(self) -> str:
        quantity = "loss of speed" if self.tests == "T" else "loss of efficiency"
        if self.together:
            listed = ", ".join(map(str, self.together))
            return f"K = {listed} together: {self.loss:.1%} {quantity}, beyond noise ({_chance(self.p_value)})"
        if self.detectable is None:
            return f"K = {self.k}: {self.loss:+.1%} {quantity}, one sample only: not tested"
        smallest = f"smallest detectable loss {self.detectable:.1%}"
        gain = f"{-self.loss:.1%} {'faster' if self.tests == 'T' else 'more efficient'}"
        if self.is_faster:
            return f"K = {self.k}: {gain} ({smallest})"
        if self.passed:
            measured = f"{self.loss:.1%} slower" if self.tests == "T" else f"{self.loss:.1%} lower"
            measured = "equal" if abs(self.loss) < LEAST_SAID else gain if self.loss < 0 else measured
            return f"K = {self.k}: no {quantity} beyond noise ({measured}; {smallest})"
        return f"K = {self.k}: {self.loss:.1%} {quantity}, beyond noise ({_chance(self.p_value)}; {smallest})"


def _chance(p_value: float | None) -> str:
    """A p-value, no smaller than a test of so few runs can mean."""
    return f"p = {p_value:.2g}" if p_value is not None and p_value >= LEAST_P else f"p < {LEAST_P:g}"


@dataclass(frozen=True, eq=False)
class Pair:
    """Two studies at the K that are gated: log means with their variances, and the shift between sessions."""

    workers: tuple[int, ...]
    single: tuple[int, ...]
    equal: tuple[int, ...]
    baseline_k: int | None
    new: LogMeans
    old: LogMeans
    session: SessionShift

    def rows(self, gate: str, false_alarm: float) -> list[Regression]:
        """The tests of T, of E or of both, those of K with a single sample left open."""
        budget = false_alarm / 2 if gate == "both" else false_alarm
        rows = self.time_rows(budget) if gate in ("time", "both") else []
        rows += self.efficiency_rows(budget) if gate in ("efficiency", "both") else []
        return rows

    @property
    def repeated(self) -> list[int]:
        """The places of the K that have more than one sample; `pair_of` refuses studies without any."""
        return [i for i, k in enumerate(self.workers) if k not in self.single]

    @property
    def ends(self) -> tuple[LogMeans, LogMeans]:
        """The new and the old study at those K."""
        keep = self.repeated
        new, old = (LogMeans(one.value[keep], one.variance[keep], one.degrees[keep]) for one in (self.new, self.old))
        return new, old

    def shifts(self, session: SessionShift) -> Shifts:
        """The shifts at the K that are tested."""
        own = session.own_at([self.workers[i] for i in self.repeated])
        return Shifts(session.common, own, math.inf if session.degrees is None else session.degrees)

    def rests_on_one_session(self, rows: Sequence[Regression], false_alarm: float) -> bool:
        """Whether the failed tests of T would pass if sessions also shifted single K by as much as all K together."""
        if self.session.is_known or not any(row.tests == "T" and row.passed is False for row in rows):
            return False
        shifts = Shifts(self.session.common, np.full(len(self.repeated), self.session.common))
        tests = losses_of(*self.ends, false_alarm=false_alarm, shifts=shifts)
        return not bool(np.any(tests.estimate > tests.limit))

    def time_rows(self, false_alarm: float) -> list[Regression]:
        """A row for each K; one for several K together where only that test fails."""
        keep, places = self.repeated, sets_of(len(self.repeated))
        change = self.new.value - self.old.value
        tests = losses_of(*self.ends, false_alarm=false_alarm, shifts=self.shifts(self.session))
        levels = alphas(len(keep), false_alarm, many=has_many(*self.ends))
        rows = []
        for i, k in enumerate(self.workers):
            loss = -math.expm1(-float(change[i]))
            if i not in keep:
                rows.append(Regression(k=k, tests="T", loss=loss, alpha=float(levels[0])))
                continue
            rows.append(_tested(k, "T", loss, tests, keep.index(i), float(levels[0])))
        if all(row.passed is not False for row in rows):
            for place in range(len(keep), len(places)):
                several = tuple(self.workers[keep[j]] for j in places[place])
                loss = -math.expm1(-float(np.mean([change[keep[j]] for j in places[place]])))
                row = _tested(several[-1], "T", loss, tests, place, float(levels[place]), several)
                if row.passed is False:
                    rows.append(row)
        return rows

    def efficiency_rows(self, false_alarm: float) -> list[Regression]:
        """A row for each K beyond the baseline: E compares two K of one session, so that no common shift enters."""
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
            own = float(np.hypot(*self.session.own_at([self.workers[i], self.baseline_k])))
            degrees = math.inf if self.session.degrees is None else self.session.degrees
            tests = losses_of(*ends, false_alarm=alpha, shifts=Shifts(0.0, own, degrees))
            rows.append(_tested(self.workers[i], "E", loss, tests, 0, alpha))
        return rows

    def session_finding(self) -> Finding:
        """How far sessions are taken to differ, and where that is known from."""
        session, own = self.session, float(max(self.session.own_at(self.workers), default=0.0))
        if not session.is_known:
            message = f"T of all K may shift by {session.common:.1%} between sessions (assumed)"
            remedy = f"--history FILE estimates it, K by K, from {LEAST_SESSIONS} checks on"
            return info("session-shift", message, remedy=remedy, shift=session.common, source="assumed")
        message = f"T of all K shifts by {session.common:.1%} between sessions, single K by up to {own:.1%} (history)"
        return info("session-shift", message, shift=session.common, own=own, source="from the history")

    def findings(self, rows: list[Regression]) -> list[Finding]:
        """What a reader of the tests must know: the shift assumed, K not tested, equal repeats, E that fell alone."""
        findings = []
        if any(row.tests == "T" for row in rows):
            findings.append(self.session_finding())
            if needs_more(*self.ends):
                repeated = _listed(self.workers[i] for i in self.repeated)
                message = (
                    f"the runs at K = {repeated} are so few that a program with a fast and a slow mode would fail by "
                    f"chance: only a loss above {-math.expm1(-TWO_SPEEDS):.0%} fails"
                )
                findings.append(warning("few-repeats", message, remedy="repeat 5 times, or gate 3 K or more"))
        if self.single:
            message = f"K = {_listed(self.single)} has one sample only and was not tested"
            findings.append(warning("not-tested", message, remedy="repeat 5 times", k=list(self.single)))
        if self.equal:
            message = (
                f"the repeats at K = {_listed(self.equal)} are all equal: noise is taken as {LEAST_ERROR:.1%} or the "
                "last digit"
            )
            hint = "use a finer timer, or longer runs"
            findings.append(warning("no-spread", message, remedy=hint, k=list(self.equal)))
        if all(row.tests == "T" and row.passed is not False for row in rows):
            findings += self._fell_alone()
        return findings

    def _fell_alone(self) -> list[Finding]:
        """Efficiency that fell although no time rose: T at the baseline became faster."""
        fell = [row for row in self.efficiency_rows(0.01) if row.passed is False]
        if not fell:
            return []
        losses = ", ".join(f"E({row.k}) by {row.loss:.1%}" for row in fell)
        message = f"efficiency fell ({losses}) because T({self.baseline_k}) became faster; no T(K) became slower"
        return [info("efficiency-fell", message, remedy="--gate both fails on this too", k=[row.k for row in fell])]


def _listed(workers: Iterable[int]) -> str:
    return ", ".join(map(str, workers))


def pair_of(new: Study, old: Study, workers: tuple[int, ...], session: SessionShift) -> Pair:
    """The gated K of two studies; Refused where none of them can be tested."""
    common = _gated(new, old, workers)
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


def _gated(new: Study, old: Study, workers: tuple[int, ...]) -> list[int]:
    """The K of both studies that are gated; a K that one of them lacks is refused."""
    chosen_k, measured_k = set(workers), set(old.all_k)
    common = [k for k in new.all_k if k in measured_k and (not chosen_k or k in chosen_k)]
    absent = [k for k in workers if k not in common]
    if absent or not common:
        raise InputError(
            Fault(
                "a gated K was not measured in both studies",
                value=", ".join(map(str, absent)) or "no common K",
                remedy="gate K that both studies measured",
            ),
            subject=f"{new.name} and {old.name}",
        )
    if len(common) > MOST_GATED:
        remedy = f"at most {MOST_GATED}; name those that matter with --workers"
        raise InputError(Fault("too many K to gate", value=f"{len(common)} K", remedy=remedy))
    return common


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
    room = limit - estimate
    return Regression(
        k=k,
        tests=tests,
        loss=loss,
        low=-math.expm1(room) if room < NO_BOUND else None,
        p_value=float(stdtr(degrees, -estimate / error)) if error > 0 else None,
        alpha=alpha,
        detectable=-math.expm1(-(limit + float(stdtrit(degrees, POWER)) * error)),
        passed=estimate <= limit,
        together=together,
    )
