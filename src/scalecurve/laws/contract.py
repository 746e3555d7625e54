"""What every law must do, executable: `check_law(law)` lists the promises it breaks (none, for a good one)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

from scalecurve.errors import InputError
from scalecurve.laws.law import Law, Parameter

WORKERS = (1, 2, 3, 7, 8, 64, 1000, 100_000)
UNBOUNDED_TRIALS = (0.0, 0.003, 1.0)


def check_law(law: Law) -> list[str]:
    """Every broken promise, in words: positive finite T, T(1) = T1, S and E consistent, bounds enforced."""
    broken = [problem for given in _trials(law) for k in WORKERS for problem in _check_point(law, k, given)]
    return [*broken, *_check_bounds(law), *_check_words(law)]


def _trials(law: Law) -> Iterator[dict[str, float]]:
    axes = [_values(parameter) for parameter in law.parameters]
    for values in itertools.product(*axes):
        yield {parameter.name: value for parameter, value in zip(law.parameters, values, strict=True)}


def _values(parameter: Parameter) -> tuple[float, ...]:
    if not math.isfinite(parameter.high):
        return tuple(parameter.low + value for value in UNBOUNDED_TRIALS)
    span = parameter.high - parameter.low
    return (parameter.low, parameter.low + 0.05 * span, parameter.low + 0.5 * span, parameter.high)


def _check_point(law: Law, k: int, given: Mapping[str, float]) -> Iterator[str]:
    where = f"{law.name} at K = {k}, {dict(given)}"
    time, speedup, efficiency = law.time(k, **given), law.speedup(k, **given), law.efficiency(k, **given)
    if not all(math.isfinite(value) and value > 0 for value in (time, speedup, efficiency)):
        yield f"{where}: T, S and E must be positive and finite, got {time}, {speedup}, {efficiency}"
        return
    if not math.isclose(efficiency * k, speedup, rel_tol=1e-12):
        yield f"{where}: E is not S/K"
    if k == 1 and not math.isclose(law.time(1, at_one=3.5, **given), 3.5, rel_tol=1e-9):
        yield f"{where}: T(1) is not T1"
    if not math.isclose(law.time(k, at_one=2.0, **given), 2.0 * time, rel_tol=1e-12):
        yield f"{where}: T does not scale with T(1)"


def _check_bounds(law: Law) -> Iterator[str]:
    inside = next(_trials(law))
    for parameter in law.parameters:
        for bad in (parameter.low - 0.1, math.nan, *((parameter.high + 0.1,) if math.isfinite(parameter.high) else ())):
            try:
                law.time(2, **(inside | {parameter.name: bad}))
            except InputError:
                continue
            yield f"{law.name}: {parameter.name} = {bad} was not refused"


def _check_words(law: Law) -> Iterator[str]:
    for name in ("title", "question", "formula", "source"):
        if not getattr(law, name):
            yield f"{law.name}: has no {name}"
