"""Fit the laws to a study and rank them by how well they predict K they have not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.fitting.absolute import LINEARISED, refit
from scalecurve.fitting.comparison import parting_k, tied_with_best
from scalecurve.fitting.fits import NO_SINGLE_K, Fit, Fits
from scalecurve.fitting.models import models_for
from scalecurve.fitting.observations import Observations, observe
from scalecurve.fitting.positive import Array
from scalecurve.fitting.scoring import Solution, pointwise_density, solve
from scalecurve.fitting.uncertainty import BOOTSTRAP, draw
from scalecurve.study import Quantity, Regime, Study

SEED = 11
WEIGHTINGS = ("relative", "absolute")
FEWEST = 4
NOT_IDENTIFIED = "fewer worker counts than parameters"
SAME = 0.2  # relative difference at four times the largest K below which two nested laws are one


@dataclass(frozen=True)
class Solved:
    """All laws of one study, by name."""

    seen: Observations
    solutions: Mapping[str, Solution]
    densities: Mapping[str, Array]
    draws: Mapping[str, Array]

    @property
    def ranked(self) -> list[str]:
        return sorted(self.densities, key=lambda name: -float(self.densities[name].sum()))


def fit(
    study: Study,
    *,
    law: str | Sequence[str] | None = None,
    level: float = 0.95,
    weighting: str = "relative",
    rng: np.random.Generator | None = None,
) -> Fits:
    """Laws ranked by predictive log density, with intervals at `level`.

    `law` restricts to one or some; `weighting="absolute"` minimises plain squared errors of the values as measured.
    """
    _check(level, weighting)
    names = (law,) if isinstance(law, str) else tuple(law) if law is not None else None
    solved = _solve_all(study, names, rng if rng is not None else np.random.default_rng(SEED))
    reduced = _reductions(solved)
    fits = tuple(_fit(study, solved, name, level, weighting, reduced.get(name)) for name in solved.ranked)
    alive = {name: own for name, own in solved.densities.items() if name not in reduced}
    tied = tied_with_best(alive)
    part = _parting(solved, tied) if len(tied) > 1 else None
    ordered = sorted(fits, key=lambda own: own.reduces_to is not None)
    found = (*study.findings, *_findings(study, solved, fits, tied, part))
    return Fits(name=study.name, level=level, laws=tuple(ordered), tied=tied, parting_k=part, findings=found)


def solve_laws(study: Study, names: Sequence[str], rng: np.random.Generator | None = None) -> Solved:
    """The named laws fitted, with draws of their uncertainty: for questions about the laws themselves."""
    return _solve_all(study, tuple(names), rng if rng is not None else np.random.default_rng(SEED))


def _check(level: float, weighting: str) -> None:
    faults = []
    if not 0 < level < 1:
        faults.append(Fault("a level lies between 0 and 1", where="level", seen=f"{level:g}", remedy="0.95 is usual"))
    if weighting not in WEIGHTINGS:
        hint = f"one of {', '.join(WEIGHTINGS)}"
        faults.append(Fault("unknown weighting", where="weighting", seen=weighting, remedy=hint))
    if faults:
        raise InputError(faults, subject="fit")


def _solve_all(study: Study, names: tuple[str, ...] | None, rng: np.random.Generator) -> Solved:
    seen = observe(study)
    solutions = {model.name: solve(model, seen) for model in models_for(study.regime, names)}
    finest = min(solutions.values(), key=lambda own: own.scale)
    densities = {
        name: pointwise_density(own.model, seen, finest.scale, finest.freedom) for name, own in solutions.items()
    }
    return Solved(seen, solutions, densities, {name: draw(own, seen, rng) for name, own in solutions.items()})


def _reductions(solved: Solved) -> dict[str, str]:
    """Laws that are a smaller one again: not a rival, the same law twice.

    Its parameters contain those of the smaller law, the rest may be 0 within the noise, and even at four times the
    largest K their fits differ by less than 20 %: the larger law adds nothing the data could have shown.
    """
    reduced: dict[str, str] = {}
    for name, own in solved.solutions.items():
        smaller = [other for other in solved.solutions.values() if _contains(own, other)]
        for other in sorted(smaller, key=lambda one: -one.model.size):
            if name not in reduced and _same(solved, own, other):
                reduced[name] = other.model.name
    return {name: reduced.get(target, target) for name, target in reduced.items()}


def _contains(own: Solution, other: Solution) -> bool:
    terms = {term for _, term in own.model.terms}
    return {term for _, term in other.model.terms} < terms and own.model.base is other.model.base


def _same(solved: Solved, own: Solution, other: Solution) -> bool:
    kept = {term for _, term in other.model.terms}
    extra = [i + 1 for i, (_, term) in enumerate(own.model.terms) if term not in kept]
    draws = solved.draws[own.model.name]
    at = 4.0 * solved.seen.k[-1:]
    ahead = np.log(draws @ own.model.design(at).T)[:, 0] - other.log_time(at)
    nothing = np.percentile(draws[:, extra], 2.5, axis=0) <= 1e-12 * draws[:, 0].mean()
    return bool(np.all(nothing) and np.percentile(np.abs(ahead), 97.5) < SAME)


def _fit(study: Study, solved: Solved, name: str, level: float, weighting: str, reduces_to: str | None) -> Fit:
    own = solved.solutions[name]
    estimate = _absolute if weighting == "absolute" else _relative
    return Fit(
        name=name,
        formula=own.model.formula,
        score=float(solved.densities[name].sum()),
        parameters=_within_reason(estimate(study, solved, own, level), identified=_identified(solved, name)),
        misfit=float(np.sqrt(np.mean(own.residuals**2))),
        residuals={int(k): float(r) for k, r in zip(solved.seen.k, own.residuals, strict=True)},
        reduces_to=reduces_to,
    )


def _identified(solved: Solved, name: str) -> bool:
    return solved.solutions[name].model.size <= len(solved.seen)


def _within_reason(parameters: Mapping[str, Estimate], *, identified: bool) -> dict[str, Estimate]:
    """No interval where many values fit exactly; a serial share's interval ends at 1, unless the value is beyond it."""
    if not identified:
        return {name: Estimate(own.value, method=NOT_IDENTIFIED) for name, own in parameters.items()}
    return {name: _as_share(own) if name == "serial" else own for name, own in parameters.items()}


def _as_share(own: Estimate) -> Estimate:
    if own.low is None or own.high is None or own.value > 1:
        return own
    return replace(own, low=max(own.low, 0.0), high=min(own.high, 1.0))


def _level_name(study: Study) -> str:
    return "seconds_at_one" if study.quantity is Quantity.SECONDS else "throughput_at_one"


def _relative(study: Study, solved: Solved, own: Solution, level: float) -> dict[str, Estimate]:
    drawn = solved.draws[own.model.name]
    sign = 1.0 if study.quantity is Quantity.SECONDS else -1.0
    values = np.r_[own.level**sign, own.ratios]
    samples = np.column_stack([drawn[:, 0] ** sign, drawn[:, 1:] / drawn[:, :1]])
    low, high = np.percentile(samples, [50 * (1 - level), 50 * (1 + level)], axis=0)
    low, high = np.minimum(low, values), np.maximum(high, values)
    names = (_level_name(study), *own.model.parameters)
    columns = zip(names, values.tolist(), low.tolist(), high.tolist(), strict=True)
    made = {name: Estimate(value, least, most, level, BOOTSTRAP) for name, value, least, most in columns}
    return {name: made[name] for name in (*own.model.parameters, names[0])}


def _absolute(study: Study, solved: Solved, own: Solution, level: float) -> dict[str, Estimate]:
    from scipy.special import stdtrit

    made = refit(own, solved.seen, study.quantity)
    half = float(stdtrit(made.freedom, 0.5 + level / 2)) * np.sqrt(np.diag(made.covariance))
    names = (_level_name(study), *own.model.parameters)
    ends = np.maximum(made.parameters - half, 0.0), made.parameters + half
    columns = zip(names, made.parameters.tolist(), ends[0].tolist(), ends[1].tolist(), strict=True)
    estimates = {name: Estimate(value, low, high, level, LINEARISED) for name, value, low, high in columns}
    return {name: estimates[name] for name in (*own.model.parameters, names[0])}


def _parting(solved: Solved, tied: Sequence[str]) -> int | None:
    solutions = [solved.solutions[name] for name in tied]
    return parting_k(solutions, [solved.draws[name] for name in tied], float(solved.seen.k[-1]))


def _findings(
    study: Study, solved: Solved, fits: Sequence[Fit], tied: Sequence[str], part: int | None
) -> Iterator[Finding]:
    if len(tied) > 1:
        where = f"measure K = {part}" if part else NO_SINGLE_K
        message = f"the data cannot tell {', '.join(tied)} apart"
        yield warning("laws-tie", message, remedy=where, laws=list(tied), parting_k=part)
    if len(solved.seen) < FEWEST:
        yield warning(
            "few-points", f"{len(solved.seen)} worker counts cannot test a law", remedy="measure at least five"
        )
    loose = [own.name for own in fits if not _identified(solved, own.name)]
    if loose:
        message = f"{', '.join(loose)}: more parameters than worker counts, so many values fit and none has an interval"
        yield info("not-identified", message, remedy="measure more K", laws=loose)
    if study.regime is Regime.WEAK:
        message = "weak scaling cannot show a serial share: it cancels; take it from a strong-scaling run"
        yield info("serial-not-identifiable", message)
    if solved.seen.k[0] > 1:
        message = f"K = 1 was not measured; values at one worker are extrapolated from K = {solved.seen.k[0]:g}"
        yield info("one-not-measured", message)
    yield from _lack_of_fit(solved, fits)
    yield from _bounds(solved, fits)


def _lack_of_fit(solved: Solved, fits: Sequence[Fit]) -> Iterator[Finding]:
    """F test of the best law's misfit against the noise of repeats."""
    from scipy.special import fdtrc

    seen, best = solved.seen, solved.solutions[fits[0].name]
    free = len(seen) - best.model.size
    if seen.noise is None:
        yield info("lack-of-fit-untested", "without repeats the misfit cannot be compared with the noise")
        return
    if free < 1:
        return
    ratio = float(np.sum(seen.runs * best.residuals**2) / free / max(seen.noise, 1e-6) ** 2)
    chance = float(fdtrc(free, seen.freedom, ratio))
    if chance < 0.01:
        message = f"even the best law ({fits[0].name}) misses the means by more than noise (p = {chance:.2g})"
        remedy = "do not read its parameters as causes; see diagnose, and mark the node size"
        yield warning("lack-of-fit", message, remedy=remedy, law=fits[0].name, f=ratio, p=chance)


def _bounds(solved: Solved, fits: Sequence[Fit]) -> Iterator[Finding]:
    for own in fits:
        solution = solved.solutions[own.name]
        for name, ratio in zip(solution.model.parameters, solution.ratios.tolist(), strict=True):
            if ratio <= 1e-12:
                yield info("parameter-at-bound", f"{own.name}: {name} is at its bound 0", law=own.name, parameter=name)
            elif ratio > 1 and name in ("serial", "contention"):
                message = f"{own.name}: {name} = {ratio:.3g} is above 1: workers make this job slower"
                yield warning("parameter-above-one", message, law=own.name, parameter=name, value=ratio)
    yield from _superlinear(solved)


def _superlinear(solved: Solved) -> Iterator[Finding]:
    """Positive laws cannot bend upwards: say so when the data does."""
    seen = solved.seen
    gain = -(seen.log_time[1:] - seen.log_time[0]) - np.log(seen.k[1:] / seen.k[0])
    strong = "amdahl" in solved.solutions or "usl" in solved.solutions
    doubt = 0.02 + (2 * seen.noise if seen.noise is not None else 0.0)
    if strong and len(gain) and float(gain.max()) > doubt:
        k = int(seen.k[1:][int(np.argmax(gain))])
        message = f"speedup is superlinear at K = {k} (by {float(np.expm1(gain.max())):.0%}); no law here can be"
        yield warning("superlinear", message, remedy="check the baseline, caches and memory", k=k)
