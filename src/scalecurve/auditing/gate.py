"""A gate for continuous integration: efficiency floors, and regressions beyond the noise from run to run.

Regression at K is tested on the logarithm of T(K) (or of the rate), new against old, one-sided.  Only where the
baselines themselves differ (two-sided, at a level that is part of the budget) is E(K) tested instead, whose interval
is wider.  The chance that identical code fails is at most `FALSE_ALARM` over all gated K together: Bonferroni's share
for each test, plus the share of the baseline test.

Each K keeps its own spread (Welch): pooling them catches more with three repeats, but failed identical code in 3 % of
invocations where noise grows with K.  Printed with every K is the smallest loss that would have been seen with a
chance of `POWER`.

Repeats that are all equal (a coarse timer, a copied number) show no noise, which does not mean there is none: there the
standard error is at least `LEAST_ERROR`, or what rounding to the last digit given leaves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scalecurve.analysis.curve import Curve, LogRatio, curve_of, log_ratio
from scalecurve.analysis.merging import differences, mixed_finding, require_sameness
from scalecurve.analysis.table import tabulate
from scalecurve.auditing.gate_result import Floor, Gate, Regression
from scalecurve.errors import Fault, InputError, Refused
from scalecurve.findings import Finding, info, warning
from scalecurve.study import Study

FALSE_ALARM = 0.01
BASELINE_SHARE = 0.15  # of the budget, spent on asking whether the baseline changed
POWER = 0.8
LEAST_ERROR = 0.002
HIGHEST_FLOOR = 1.5


@dataclass(frozen=True, eq=False)
class _Pair:
    new: Study
    old: Study
    new_summary: Curve
    old_summary: Curve

    def silent(self, k: int) -> bool:
        """Whether the repeats of K are all equal in one of the studies."""
        return any(_no_spread(summary, k) for summary in (self.new_summary, self.old_summary) if k in summary.k)


def check(
    new: Study,
    *,
    against: Study | None = None,
    floors: Mapping[int, float] | None = None,
    workers: Sequence[int] | None = None,
    false_alarm: float = FALSE_ALARM,
    allow_mixed: bool = False,
) -> Gate:
    """Hold floors and, against an older study, regressions at every gated K (all K both measured by default)."""
    floors = dict(floors or {})
    if against is None and not floors:
        raise InputError(
            Fault("there is nothing to check", remedy="--min-efficiency 0.8@8, --against old.json, or both")
        )
    found: list[Finding] = []
    rows: list[Regression] = []
    if against is not None:
        found += require_sameness(new, against, allow_mixed=allow_mixed, kinds=("machine", "workload"))
        found += _software(new, against)
        rows = _regressions(new, against, tuple(workers or ()), false_alarm)
        found += [*_untested(rows), *_silent(new, against, rows)]
    return Gate(
        name=new.name,
        against=against.name if against else None,
        floors=tuple(_floor(new, k, floor) for k, floor in sorted(floors.items())),
        regressions=tuple(rows),
        false_alarm=false_alarm,
        findings=tuple(found),
    )


def _software(new: Study, old: Study) -> list[Finding]:
    """Other versions are what a gate is for: a note, not a refusal."""
    found = [each for each in differences(new, old) if each.kind == "software"]
    return [info("versions-differ", mixed_finding(found).message, **mixed_finding(found).evidence)] if found else []


def _untested(rows: Sequence[Regression]) -> list[Finding]:
    """A gate that tests nothing must not pass."""
    single = [row.k for row in rows if row.passed is None]
    if len(single) == len(rows):
        raise Refused("one sample per K: nothing can be tested; repeat 5 times")
    listed = ", ".join(map(str, single))
    message = f"K = {listed} has one sample only and was not tested"
    return [warning("not-tested", message, remedy="repeat 5 times", k=single)] if single else []


def _silent(new: Study, old: Study, rows: Sequence[Regression]) -> list[Finding]:
    pair = _pair(new, old)
    equal = [row.k for row in rows if row.passed is not None and pair.silent(row.k)]
    listed = ", ".join(map(str, equal))
    message = f"the repeats at K = {listed} are all equal: noise is taken as {LEAST_ERROR:.1%} or the last digit given"
    return [warning("no-spread", message, remedy="use a finer timer, or longer runs", k=equal)] if equal else []


def _no_spread(summary: Curve, k: int) -> bool:
    i = summary.index(k)
    return bool(summary.n[i] > 1 and summary.log_se[i] < 1e-9)


def _pair(new: Study, old: Study) -> _Pair:
    return _Pair(new, old, curve_of(new), curve_of(old))


def _floor(study: Study, k: int, floor: float) -> Floor:
    row = tabulate(study).row(k)
    sure = None if row.efficiency.low is None else not row.efficiency.low < floor <= (row.efficiency.high or math.inf)
    return Floor(k=k, floor=floor, efficiency=row.efficiency, passed=row.efficiency.value >= floor, sure=sure)


def _regressions(new: Study, old: Study, workers: tuple[int, ...], false_alarm: float) -> list[Regression]:
    common = [k for k in new.all_k if k in old.all_k and (not workers or k in workers)]
    absent = [k for k in workers if k not in common]
    if absent or not common:
        raise InputError(
            Fault("a gated K was not measured in both studies", seen=", ".join(map(str, absent)) or "no common K"),
            subject=f"{new.name} and {old.name}",
        )
    pair = _pair(new, old)
    changed = _baseline_changed(pair, BASELINE_SHARE * false_alarm)
    alpha = (1.0 - BASELINE_SHARE) * false_alarm / len(common)
    return [_regression(pair, k, alpha, changed and k != new.baseline_k) for k in common]


def _baseline_changed(pair: _Pair, alpha: float) -> bool:
    k0, old_k0 = pair.new.baseline_k, pair.old.baseline_k
    if k0 != old_k0:
        return True
    ratio = _ratio(pair, (pair.new_summary, k0, 1.0), (pair.old_summary, k0, -1.0))
    return ratio.degrees >= 1 and abs(ratio.value) > _quantile(ratio.degrees, alpha / 2) * ratio.error


def _ratio(pair: _Pair, *ends: tuple[Curve, int, float]) -> LogRatio:
    """As `log_ratio`, with the least standard error where the repeats of one end are all equal."""
    ratio = log_ratio(*ends)
    if ratio.degrees < 1 or not any(_no_spread(summary, k) for summary, k, _ in ends):
        return ratio
    step = _last_digit(pair)
    rounding = sum((step / float(summary.mean[summary.index(k)])) ** 2 / 12 for summary, k, _ in ends)
    least = max(LEAST_ERROR**2, rounding)
    if ratio.variance >= least:
        return ratio
    degrees = sum(float(summary.degrees[summary.index(k)]) for summary, k, _ in ends)
    return LogRatio(ratio.value, least, degrees)


def _last_digit(pair: _Pair) -> float:
    """The decimal step in which every sample of both studies is written: 0.1 where all have one digit."""
    values = np.concatenate([pair.new.samples.values, pair.old.samples.values])
    for digits in range(9):
        scaled = values * 10.0**digits
        if np.all(np.abs(scaled - np.rint(scaled)) < 1e-6):
            return float(10.0**-digits)
    return 0.0


def _regression(pair: _Pair, k: int, alpha: float, by_efficiency: bool) -> Regression:
    """Positive loss means slower: T up, or a rate down."""
    sign = -1.0 if pair.new.quantity.higher_is_better else 1.0
    ends = [(pair.new_summary, k, sign), (pair.old_summary, k, -sign)]
    if by_efficiency:
        ends += [(pair.new_summary, pair.new.baseline_k, -sign), (pair.old_summary, pair.old.baseline_k, sign)]
    ratio = _ratio(pair, *ends)
    if ratio.degrees < 1:
        return Regression(k=k, tests="E" if by_efficiency else "T", loss=-math.expm1(-ratio.value), alpha=alpha)
    limit = _quantile(ratio.degrees, alpha) * ratio.error
    from scipy.special import stdtr

    return Regression(
        k=k,
        tests="E" if by_efficiency else "T",
        loss=-math.expm1(-ratio.value),
        low=-math.expm1(-(ratio.value - limit)),
        p_value=float(stdtr(ratio.degrees, -ratio.value / ratio.error)) if ratio.error > 0 else None,
        alpha=alpha,
        detectable=-math.expm1(-(limit + _quantile(ratio.degrees, 1 - POWER) * ratio.error)),
        passed=ratio.value <= limit,
    )


def _quantile(degrees: float, tail: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 1.0 - tail))


def parse_floors(items: Sequence[str]) -> dict[int, float]:
    """`0.8@8` as {8: 0.8}; every bad item is reported."""
    from scalecurve.units import parse_share

    floors: dict[int, float] = {}
    faults: list[Fault] = []
    for item in items:
        share, _, k = item.partition("@")
        try:
            if not k.strip().isdigit() or int(k) < 1:
                raise InputError("no K")
            floors[int(k)] = parse_share(share)
            if floors[int(k)] > HIGHEST_FLOOR:
                raise InputError("no efficiency")
        except InputError:
            faults.append(
                Fault(
                    "not an efficiency floor",
                    seen=item,
                    remedy=f"write it like 0.8@8 or 80%@8, at most {HIGHEST_FLOOR:g}",
                )
            )
    if faults:
        raise InputError(faults)
    return floors
