"""Fit the laws to a study and rank them by how well they predict K they were not fitted to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from scalecurve.analysis.checks import doubts
from scalecurve.analysis.curve import thinned
from scalecurve.distributions import fdtrc, stdtrit
from scalecurve.document import (
    Answer,
    Block,
    Cell,
    Column,
    Document,
    FindingList,
    JsonRecord,
    Paragraph,
    Result,
    and_list,
    table,
)
from scalecurve.errors import Fault, InputError, Undecided
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.fitting.models import free_parameters, law_times, laws_for
from scalecurve.fitting.solution import Solution, Solutions, refit_absolute, separating_k, solve_laws, tied_with_best
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study import Quantity, Regime, Study
from scalecurve.units import level_faults

WEIGHTINGS = ("relative", "absolute")
FEWEST = 4
SAME = 0.2  # relative difference at four times the largest K below which two nested laws are one
NOT_IDENTIFIED = "fewer worker counts than parameters"
BOOTSTRAP = "parametric bootstrap, Student-t noise"
LINEARISED = "linearised least squares, Student's t"
NO_SINGLE_K = "no single K up to 64 times the largest is sure to separate them; measure more K"


@dataclass(frozen=True, kw_only=True)
class Fit(JsonRecord):
    """One law fitted; `score` is its predictive log density (higher is better), `misfit` the relative residual."""

    name: str
    formula: str
    score: float
    parameters: Mapping[str, Estimate]
    misfit: float
    residuals: Mapping[int, float] = field(default_factory=dict)
    reduces_to: str | None = None

    JSON = "name formula score parameters misfit reduces_to"


@dataclass(frozen=True, kw_only=True, repr=False)
class Fits(Result):
    """All laws, best first.  `tied` names those the data cannot tell apart, `parting_k` the K that separates them."""

    name: str
    level: float
    laws: tuple[Fit, ...]
    tied: tuple[str, ...]
    parting_k: int | None
    findings: tuple[Finding, ...]

    REFUSAL = "No law can be chosen"
    JSON = "name level laws best=best_name tied parting_k findings"

    @property
    def best_name(self) -> str | None:
        return self.laws[0].name if len(self.tied) <= 1 else None

    @property
    def answer(self) -> Answer:
        codes = {finding.code: finding for finding in self.findings}
        best = self.laws[0]
        share = [(name, e) for name, e in best.parameters.items() if not name.endswith("_at_one")]
        values = ", ".join(f"{name} {_percent(e.value)}" for name, e in share)
        if len(self.tied) > 1:
            way_out = (
                f"`scalecurve next STUDY --separate {self.tied[0]},{self.tied[1]}` says which run decides between them"
            )
            decision = f"Do not choose a law yet: the data cannot tell {len(self.tied)} apart ({', '.join(self.tied)})."
            return Answer(decision=decision, reason=self.undecided_reason, next=way_out)
        if "lack-of-fit" in codes:
            none = f"{best.name} does not fit" if len(self.laws) == 1 else f"No law fits, not even {best.name}"
            decision = f"{none}: it misses the means by {best.misfit:.1%}, more than the noise."
            return Answer(decision=decision, next="`scalecurve diagnose STUDY` names what bends the curve instead")
        if "few-points" in codes:
            meaning = f": {best.name} would mean {values}." if values else f", not even {best.name}."
            decision = f"{len(best.residuals)} worker counts cannot test a law{meaning}"
            return Answer(decision=decision, next=codes["few-points"].remedy)
        decision = f"{best.name} explains the curve" + (f": {values}." if values else ".")
        if len(self.laws) == 1:
            decision = f"{best.name} was the only law fitted" + (f": {values}." if values else ".")
        ends = [f"{name} {_percent(e.low)} to {_percent(e.high)}" for name, e in share if e.low is not None and e.high]
        sure = f"At {self.level:.0%}: {', '.join(ends)}." if ends else None
        reason = f"It misses the measured means by {best.misfit:.1%}."
        return Answer(
            decision=decision, confidence=sure, reason=reason, next="`scalecurve forecast STUDY` says what comes next"
        )

    @property
    def undecided_reason(self) -> str:
        """What tied laws say beyond the data, in a word."""
        return f"All predict K that were left out about as well; {self.laws[0].name} does slightly best."

    def __getitem__(self, name: str) -> Fit:
        for fit in self.laws:
            if fit.name == name:
                return fit
        raise InputError(Fault("this law was not fitted", value=name, remedy=", ".join(f.name for f in self.laws)))

    def __iter__(self) -> Iterator[Fit]:
        return iter(self.laws)

    def __len__(self) -> int:
        return len(self.laws)

    @property
    def best(self) -> Fit:
        """The one law the data supports; raises Undecided where several explain it equally well."""
        if len(self.tied) > 1:
            raise Undecided(self.undecided(), self.tied)
        return self.laws[0]

    def undecided(self) -> str:
        """Which laws tie, and the run that separates them."""
        tie = next((finding.remedy for finding in self.findings if finding.code == "laws-tie"), None) or ""
        beyond = tie.partition(", ")[2] if self.parting_k else ""
        way_out = f"measuring K = {self.parting_k} would separate these laws" if self.parting_k else NO_SINGLE_K
        way_out += f" ({beyond})" if beyond else ""
        return f"the data cannot tell {and_list(self.tied)} apart; {way_out}"

    def records(self) -> list[dict[str, Any]]:
        return [
            {"law": fit.name, "score": fit.score, "parameter": name, "value": e.value, "low": e.low, "high": e.high}
            for fit in self.laws
            for name, e in fit.parameters.items()
        ]

    def body(self) -> Document:
        columns = [Column("law", "left"), Column("score", meaning="predictive log density, higher is better")]
        columns += [Column("misfit"), Column("parameter", "left"), Column("value"), Column("low"), Column("high")]
        rows: list[list[Cell | str | None]] = []
        for fit in self.laws:
            head = [fit.name, f"{fit.score:.2f}", f"{fit.misfit:.2%}"]
            for name, estimate in fit.parameters.items():
                ends = [None if end is None else f"{end:.4g}" for end in (estimate.low, estimate.high)]
                rows.append([*head, name, f"{estimate.value:.4g}", *ends])
                head = ["", "", ""]
        caption = f"Laws by predictive density of left-out K; intervals at {self.level:.0%}"
        blocks: list[Block] = [table(columns, rows, caption=caption)]
        same = [f"{fit.name} reduces to {fit.reduces_to}" for fit in self.laws if fit.reduces_to]
        details = (Paragraph(f"Larger laws whose extra terms add nothing: {', '.join(same)}."),) if same else ()
        return Document(f"Fits of {self.name}", (*blocks, FindingList(self.findings)), details)


def _percent(value: float | None) -> str:
    """A share of T(1) as people say it: 4.9 %; per mille and less keep three digits."""
    return "?" if value is None else f"{100 * value:.3g} %"


def fit(
    study: StudyLike,
    *,
    regime: str | None = None,
    law: str | Sequence[str] | None = None,
    level: float = 0.95,
    weighting: str = "relative",
    rng: np.random.Generator | None = None,
) -> Fits:
    """Laws ranked by predictive log density, with intervals at `level`.

    Parameters
    ----------
    study
        A study in any form that `load` takes.
    regime
        "strong" or "weak", for a study that does not state it.
    law
        The names of one law or some (default: all of the regime).
    level
        The level of intervals.
    weighting
        "relative", or "absolute" for plain squared errors of the values as measured.
    rng
        Draws the bootstrap behind the intervals.

    Returns
    -------
    Fits
        The laws with their parameters, the best first, and those that fit as well.

    Raises
    ------
    InputError
        The study cannot be read, or no law has this name.
    Refused
        The study has too few K for any law.

    Examples
    --------
    >>> import scalecurve as sc
    >>> times = {k: 100 * (0.05 + 0.95 / k) for k in (1, 2, 4, 8, 16)}
    >>> [law] = sc.fit(times, regime="strong", law="amdahl").laws
    >>> round(law.parameters["serial"].value, 3)
    0.05
    """
    study = thinned(as_study(study, regime=regime))
    faults = []
    faults += level_faults(level)
    if weighting not in WEIGHTINGS:
        hint = f"use one of {', '.join(WEIGHTINGS)}"
        faults.append(Fault("unknown weighting", where="weighting", value=weighting, remedy=hint))
    if faults:
        raise InputError(faults, subject="fit")
    solved = solve_laws(study, (law,) if isinstance(law, str) else law, rng)
    reduced = _reductions(solved)
    fits = []
    for name in solved.ranked:
        own = solved.by_law[name]
        fits.append(
            Fit(
                name=name,
                formula=own.law.formula,
                score=float(solved.densities[name].sum()),
                parameters=_parameters(study, solved, own, level, weighting),
                misfit=float(np.sqrt(np.mean(own.residuals**2))),
                residuals={int(k): float(r) for k, r in zip(solved.points.k, own.residuals, strict=True)},
                reduces_to=reduced.get(name),
            )
        )
    tied = tied_with_best({name: own for name, own in solved.densities.items() if name not in reduced})
    k = None
    if len(tied) > 1:
        k = separating_k([solved.by_law[n] for n in tied], [solved.draws[n] for n in tied], float(solved.points.k[-1]))
    findings = (*doubts(study), *study.findings, *_data_findings(study, solved, tied, k), *_law_findings(solved, fits))
    laws = tuple(sorted(fits, key=lambda own: own.reduces_to is not None))
    return Fits(name=study.name, level=level, laws=laws, tied=tied, parting_k=k, findings=findings)


def _reductions(solved: Solutions) -> dict[str, str]:
    """Laws that add nothing to a smaller law: the name of each, with the name of the smaller one.

    Its parameters contain those of the smaller law, the rest may be 0 within the noise, and even at four times the
    largest K their fits differ by less than 20 %: the larger law adds nothing that the data could show.
    """
    reduced: dict[str, str] = {}
    smaller = sorted(solved.by_law.values(), key=lambda own: -own.size)
    for name, own in solved.by_law.items():
        found = next((other.name for other in smaller if _adds_nothing(own, other, solved)), None)
        if found is not None:
            reduced[name] = found
    return {name: reduced.get(target, target) for name, target in reduced.items()}


def _adds_nothing(own: Solution, other: Solution, solved: Solutions) -> bool:
    """Whether a law contains another and differs from it by nothing that the data could show."""
    terms, kept = [term for _, term in own.law.terms], {term for _, term in other.law.terms}
    if other.law.closed or not kept < set(terms) or own.law.base != other.law.base:
        return False
    draws, at = solved.draws[own.name], 4.0 * solved.points.k[-1:]
    extra = [i + 1 for i, term in enumerate(terms) if term not in kept]
    apart = np.abs(own.log_times(at, draws)[:, 0] - other.log_time(at))
    return bool(np.all(np.percentile(draws[:, extra], 2.5, axis=0) <= 1e-12) and np.percentile(apart, 97.5) < SAME)


def _parameters(study: Study, solved: Solutions, own: Solution, level: float, weighting: str) -> dict[str, Estimate]:
    """The law's parameters, then its value at one worker; no interval where many values fit exactly."""
    timed = study.quantity is Quantity.SECONDS
    if weighting == "absolute":
        values, covariance, freedom = refit_absolute(own, solved.points, study.quantity)
        half = float(stdtrit(freedom, 0.5 + level / 2)) * np.sqrt(np.diag(covariance))
        low, high, method = np.maximum(values - half, 0.0), values + half, LINEARISED
    else:
        draws, sign = solved.draws[own.name], 1.0 if timed else -1.0
        values = np.r_[own.level**sign, own.ratios]
        samples = np.column_stack([draws[:, 0] ** sign, draws[:, 1:]])
        low, high = np.percentile(samples, [50 * (1 - level), 50 * (1 + level)], axis=0)
        low, high, method = np.minimum(low, values), np.maximum(high, values), BOOTSTRAP
    names = ("seconds_at_one" if timed else "throughput_at_one", *own.parameters)
    columns = zip(names, values.tolist(), low.tolist(), high.tolist(), strict=True)
    estimates = {name: Estimate(value, least, most, level, method) for name, value, least, most in columns}
    if own.size > len(solved.points):
        estimates = {name: Estimate(free.value, method=NOT_IDENTIFIED) for name, free in estimates.items()}
    share = estimates.get("serial")
    if share and share.low is not None and share.high is not None and share.value <= 1:
        estimates["serial"] = replace(share, low=max(share.low, 0.0), high=min(share.high, 1.0))
    return {name: estimates[name] for name in (*own.parameters, names[0])}


def beyond_reach(study: Study, k: int) -> str:
    """What to add to the advice to measure K where the machine of the study has too few cores for it; else empty."""
    reach = study.provenance.reach
    return f", on a larger machine: this one runs {reach} workers" if reach is not None and k > reach else ""


def _data_findings(study: Study, solved: Solutions, tied: Sequence[str], k: int | None) -> Iterator[Finding]:
    """What the data cannot decide."""
    points = solved.points
    if len(tied) > 1:
        message = f"the data cannot tell {and_list(tied)} apart"
        remedy = f"measure K = {k}{beyond_reach(study, k)}" if k else NO_SINGLE_K
        yield warning("laws-tie", message, remedy=remedy, laws=list(tied), parting_k=k)
    if len(points) < FEWEST:
        yield warning("few-points", f"{len(points)} worker counts cannot test a law", remedy="measure at least five")
    loose = [name for name in solved.ranked if solved.by_law[name].size > len(points)]
    if loose:
        message = f"{', '.join(loose)}: more parameters than worker counts, so many values fit and none has an interval"
        yield info("not-identified", message, remedy="measure more K", laws=loose)
    if study.regime is Regime.WEAK:
        message = "weak scaling cannot show a serial share, because it cancels"
        yield info("serial-not-identifiable", message, remedy="take the serial share from a strong-scaling study")
    if points.k[0] > 1:
        message = f"K = 1 was not measured; values at one worker are extrapolated from K = {points.k[0]:g}"
        yield info("one-not-measured", message)


def _law_findings(solved: Solutions, fits: Sequence[Fit]) -> Iterator[Finding]:
    """Misfit of the best law against the noise of repeats (F test), parameters at a bound, superlinear data."""
    points, best = solved.points, solved.by_law[fits[0].name]
    free = len(points) - best.size
    if points.noise is None:
        yield info("lack-of-fit-untested", "without repeats the misfit cannot be compared with the noise")
    elif free >= 1:
        ratio = float(np.sum(points.runs * best.residuals**2) / free / max(points.noise, 1e-6) ** 2)
        chance = float(fdtrc(free, points.freedom, ratio))
        if chance < 0.01:
            message = f"even the best law ({fits[0].name}) misses the means by more than noise (p = {chance:.2g})"
            remedy = "do not read its parameters as causes; run diagnose, and state the node size"
            yield warning("lack-of-fit", message, remedy=remedy, law=fits[0].name, f=ratio, p=chance)
    for own in fits:
        solution = solved.by_law[own.name]
        for name, value in zip(solution.parameters, solution.ratios.tolist(), strict=True):
            if value <= 1e-12:
                yield info("parameter-at-bound", f"{own.name}: {name} is at its bound 0", law=own.name, parameter=name)
            elif value > 1 and name in ("serial", "contention"):
                message = f"{own.name}: {name} = {value:.3g} is above 1: workers make this job slower"
                yield warning("parameter-above-one", message, law=own.name, parameter=name, value=value)
    gain = -(points.log_time[1:] - points.log_time[0]) - np.log(points.k[1:] / points.k[0])
    limit = 0.02 + (2 * points.noise if points.noise is not None else 0.0)
    if {"amdahl", "usl"} & set(solved.by_law) and float(gain.max()) > limit:
        k = int(points.k[1:][int(np.argmax(gain))])
        message = f"speedup is superlinear at K = {k} (by {float(np.expm1(gain.max())):.0%}); no law here allows that"
        yield warning("superlinear", message, remedy="check the baseline, caches and memory", k=k)


def fitted_curve(study: Study, fit: Fit, workers: Sequence[float]) -> list[dict[str, Any]]:
    """S and E of a fitted law at these K, relative to the law's own value at the study's baseline."""
    law = laws_for(study.regime, (fit.name,))[fit.name]
    free = [fit.parameters[parameter.name].value for parameter in free_parameters(law)]
    k = np.r_[float(study.baseline_k), np.asarray(workers, dtype=np.float64)]
    cost = law_times(law, k, np.array([[1.0, *free]]))[0] * (k if study.regime is Regime.STRONG else 1.0)
    efficiency = cost[0] / cost
    rows = zip(k[1:].tolist(), efficiency[1:].tolist(), strict=True)
    return [{"k": place, "speedup": place * share, "efficiency": share} for place, share in rows]
