"""T(N, K) at four times both axes against Extra-P's multi-parameter models: python -m bench.two_parameters

Truths are drawn, measured once on 5 x 5 points with 5 % noise, and predicted at four times the largest N and K.
`choose` is the generator on which the constants of fitting/surface.py were chosen; `verify` draws other exponents,
ranges and seeds, but its strong sums and its outside families have the same forms.  Families whose terms are not in the
library are marked `outside`.  Extra-P gets the same numbers, with and without negative exponents; the better counts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.extrap_model import extrap_available, fit_extrap_grid
from scalecurve.fitting.surface import Array, SurfacePoints, fit_surface

Truth = Callable[[Array, Array], Array]
Rng = np.random.Generator

NOISE, LEVELS, AHEAD, LEVEL = 0.05, 5, 4.0, 0.9
EXTRAP_POWERS = (1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1, 5 / 4, 4 / 3, 3 / 2, 5 / 3, 7 / 4, 2)


@dataclass(frozen=True)
class Case:
    """One truth with its measured points and what it is at four times both axes."""

    size: Array
    k: Array
    time: Array
    at: tuple[float, float]
    true: float


def product_term(rng: Rng, *, falls: bool, powers: tuple[float, ...] = EXTRAP_POWERS) -> Truth:
    """N^a log^b N K^c log^d K; `falls` for strong scaling, where c is negative and there is no log K."""
    a, b, d = rng.choice(powers), rng.choice([0, 0, 1, 2]), rng.choice([0, 0, 1, 2])
    c = rng.choice(powers)
    if falls:
        c, d, b = -rng.choice((1 / 3, 1 / 2, 2 / 3, 3 / 4, 1, 1)), 0, rng.choice([0, 0, 1])
    return lambda n, k: n**a * np.log2(n) ** b * k**c * np.log2(k) ** d


def cost_terms(rng: Rng) -> Truth:
    """One of the overheads of parallel programs."""
    every: list[Truth] = [
        lambda n, k: np.log2(k) + 0 * n,
        lambda n, k: np.sqrt(n / k),
        lambda n, k: (n / k) ** (2 / 3),
        lambda n, k: np.sqrt(n) * np.log2(k),
        lambda n, k: k + 0 * n,
        lambda n, k: 1 + 0 * n * k,
        lambda n, k: np.sqrt(k) + 0 * n,
        lambda n, k: n + 0 * k,
    ]
    return every[rng.integers(len(every))]


def stencil_outside(rng: Rng, middle: tuple[float, float]) -> Truth:
    """A + b N/K + c (N/K)^(2/3) + d log K: four terms together are more than the library tries from the start."""
    share, (n0, k0) = rng.dirichlet([1, 3, 2, 1]), middle
    return lambda n, k: (
        share[0]
        + share[1] * (n / n0) * (k0 / k)
        + share[2] * ((n / n0) * (k0 / k)) ** (2 / 3)
        + share[3] * np.log2(k) / np.log2(k0)
    )


def odd_powers(rng: Rng, middle: tuple[float, float]) -> Truth:
    """Sums of powers with exponents drawn from intervals, and log(1 + K)."""
    share, (n0, k0) = rng.dirichlet([3, 1, 1, 1]), middle
    work, halo, wide = rng.uniform(0.8, 1.3), rng.uniform(0.3, 0.9), rng.uniform(0.1, 1.0)
    return lambda n, k: (
        share[0] * (n / n0) ** work * (k0 / k)
        + share[1] * (n / n0) ** halo * (k / k0) ** -0.5
        + share[2] * (k / k0) ** wide
        + share[3] * np.log2(1 + k) / np.log2(1 + k0)
    )


def saturating(rng: Rng, middle: tuple[float, float]) -> Truth:
    """Work that leaves the cache: N (1 + c N/(N + K m)) / K, and a reduction of sqrt K."""
    (n0, k0), slow, cost = middle, rng.uniform(0.2, 2.0), rng.uniform(0.05, 0.5)
    cache = n0 / k0 * rng.uniform(0.3, 3.0)
    return lambda n, k: (n / n0) * (k0 / k) * (1 + slow * (n / k) / (n / k + cache)) + cost * np.sqrt(k / k0)


def draw(rng: Rng, family: str, *, verify: bool) -> Case:
    """One case of a family; `verify` takes the other generator."""
    n0 = float(rng.choice([1000, 20_000, 300_000]) if verify else 2 ** rng.integers(3, 15) * rng.choice([1, 3, 5]))
    k0 = float(rng.choice([2, 3, 6] if verify else [2, 4, 8]))
    if family not in ("product", "sum of products"):
        k0 = float(rng.choice([1, 2] if verify else [1, 2, 4]))
    ratio = float(rng.choice([1.5, 2.0, 3.0])) if verify else 2.0
    sizes, workers = n0 * ratio ** np.arange(LEVELS), k0 * 2.0 ** np.arange(LEVELS)
    middle = (float(sizes[2]), float(workers[2]))
    powers = (1 / 3, 1 / 2, 2 / 3, 1, 4 / 3, 3 / 2, 2, 5 / 2) if verify else EXTRAP_POWERS

    def part(term: Truth) -> Truth:
        unit = max(float(term(*(np.array([own]) for own in middle))[0]), 1e-12)
        return lambda n, k: term(n, k) / unit

    share, constant = float(rng.uniform(0.05, 1.0)), float(rng.choice([0.0, rng.uniform(0.05, 1.0)]))
    first = part(product_term(rng, falls=family.startswith("strong"), powers=powers))
    if family in ("product", "strong product"):
        truth = first
    elif family == "sum of products":
        second = part(product_term(rng, falls=False, powers=powers))
        truth = lambda n, k: first(n, k) + share * second(n, k) + constant  # noqa: E731
    elif family == "strong sum":
        a, b, second = rng.choice([1, 1, 4 / 3, 3 / 2, 2]), rng.choice([0, 0, 1]), part(cost_terms(rng))
        work = part(lambda n, k: n**a * np.log2(n) ** b / k)
        truth = lambda n, k: work(n, k) + share * second(n, k)  # noqa: E731
    else:
        makers = {"outside: stencil": stencil_outside, "outside: odd powers": odd_powers, "outside: cache": saturating}
        truth = makers[family](rng, middle)
    size, k = (own.ravel() for own in np.meshgrid(sizes, workers, indexing="ij"))
    exact = truth(size, k)
    noisy = exact * np.maximum(1 + NOISE * rng.standard_normal(len(exact)), 0.5)
    at = (AHEAD * float(sizes[-1]), AHEAD * float(workers[-1]))
    return Case(size, k, noisy, at, float(truth(np.array([at[0]]), np.array([at[1]]))[0]))


PEER = ("extrap_median", "extrap_p90")
FAMILIES = (
    "product",
    "sum of products",
    "strong product",
    "strong sum",
    "outside: stencil",
    "outside: odd powers",
    "outside: cache",
)


def predicted(case: Case) -> tuple[float, float, float]:
    """Ours at the far corner: middle, low and high."""
    points = SurfacePoints(case.size, case.k, np.log(case.time), np.ones(len(case.size)), None, 0.0)
    row = fit_surface(points).quantiles(*(np.array([own]) for own in case.at), LEVEL)[0]
    middle, low, high = np.exp(row).tolist()
    return middle, low, high


def relative(values: list[float], truths: list[float]) -> Array:
    """Errors as factors less 1, so that half and double are the same error."""
    ratio = np.maximum(np.array(values), 1e-300) / np.array(truths)
    return np.asarray(np.expm1(np.abs(np.log(ratio))))


def figures(family: str, trials: int, *, verify: bool, seed: int, peer: bool) -> dict[str, float | str | None]:
    """Median errors, 90th percentiles and coverage of one family."""
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    cases = [draw(rng, family, verify=verify) for _ in range(trials)]
    truths = [case.true for case in cases]
    rows = [predicted(case) for case in cases]
    errors = relative([row[0] for row in rows], truths)
    inside = [low <= true <= high for (_, low, high), true in zip(rows, truths, strict=True)]
    others = [
        relative([fit_extrap_grid(case.size, case.k, case.time, negative=own)(*case.at) for case in cases], truths)
        for own in ((False, True) if peer else ())
    ]
    best = min(others, key=lambda own: float(np.median(own)), default=None)
    return {
        "family": family,
        "median": float(np.median(errors)),
        "p90": float(np.quantile(errors, 0.9)),
        "coverage": float(np.mean(inside)),
        "width": float(np.median([high / low for _, low, high in rows])),
        "extrap_median": None if best is None else float(np.median(best)),
        "extrap_p90": None if best is None else float(np.quantile(best, 0.9)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seed", type=int, default=2027)
    parser.add_argument("--generator", choices=["choose", "verify"], default="verify")
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    peer = extrap_available()
    if not peer:
        print("Extra-P (PyPI extrap) is not installed: nothing to compare with")
    shown = ("median", "8.1%"), ("p90", "8.1%"), ("coverage", "8.2f"), ("width", "9.2f")
    print(f"{'family':22} {'median':>8} {'p90':>8} {'covered':>8} {'high/low':>9} {'Extra-P':>9} {'p90':>9}")
    rows = []
    for family in FAMILIES:
        row = figures(family, options.trials, verify=options.generator == "verify", seed=options.seed, peer=peer)
        rows.append(row)
        theirs = [
            f"{row[name]:9.1%}" if row[name] is not None else f"{'-':>9}" for name in ("extrap_median", "extrap_p90")
        ]
        print(f"{family:22}", *(format(row[name], form) for name, form in shown), *theirs, flush=True)
    covered = float(np.mean([float(row["coverage"] or 0.0) for row in rows]))
    print(f"covered in all: {covered:.3f}")
    if options.json:
        from pathlib import Path

        facts = {"trials": options.trials, "seed": options.seed, "generator": options.generator, "covered": covered}
        Path(options.json).write_text(json.dumps({**facts, "families": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
