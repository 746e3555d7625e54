"""Forecasts of curves with a known truth: one inside the library of laws, several outside it, nearly free of noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import scalecurve as sc
from scalecurve.forecasting.curves import Array
from scalecurve.forecasting.forecast import forecast_all
from tools.pages import table_lines

TRIALS, OUTSIDE_TRIALS = 1000, 200
TimeLaw = Callable[[Array], Array]


def synthetic() -> Iterator[str]:
    """All tables of this file."""
    yield from _inside()
    yield from _outside()
    yield from _boundaries()


def _inside() -> Iterator[str]:
    yield f"### A known law: T = 0.04 + 0.96/K + 0.01 log2 K, 5 repeats, 2 % noise, K to 64, {TRIALS} trials"
    yield ""
    rng = np.random.default_rng(17)
    k, at = 2 ** np.arange(7), (128, 256, 512, 1024)

    def truth(workers: Array) -> Array:
        return np.asarray(0.04 + 0.96 / workers + 0.01 * np.log2(workers))

    noise = 1 + 0.02 * rng.standard_normal((TRIALS, len(k), 5))
    forecasts = forecast_all([_study(k, own) for own in truth(k)[:, None] * noise], at=at, level=0.95)
    table = {}
    for i, (q, exact) in enumerate(zip(at, truth(np.array(at)), strict=True)):
        rows = [one[i] for one in forecasts]
        error = [abs(row.value / exact - 1) for row in rows if row.value is not None]
        table[f"K = {q}"] = {
            "median error, %": 100 * np.median(error),
            "95 % covers, %": 100 * np.mean([row.low <= exact <= row.high for row in rows]),
            "high/low": np.median([row.high / row.low for row in rows]),
        }
    yield from table_lines(table, "{:.2f}")


def _study(k: Array, values: Array, **facts: object) -> sc.Study:
    samples = dict(zip(k.tolist(), values.tolist(), strict=True))
    return sc.Study.from_samples(samples, regime="strong", **facts)  # type: ignore[arg-type]


def memory_saturation(rng: np.random.Generator) -> TimeLaw:
    """The parallel part stops gaining at a K that the memory sets, sharply."""
    serial, bend, sharp = rng.uniform(0, 0.02), rng.choice([4, 6, 8, 12, 20, 24]), rng.choice([4.0, 8.0])
    return lambda k: serial + (1 - serial) / k * (1 + (k / bend) ** sharp) ** (1 / sharp)


def node_boundary(rng: np.random.Generator) -> TimeLaw:
    """Messages cost nothing within a node of 16 to 32 workers and much beyond."""
    serial, node, cost = rng.uniform(0, 0.02), rng.choice([16, 24, 32]), rng.uniform(0.02, 0.15)

    def time(k: Array) -> Array:
        outside = np.log2(np.maximum(k / node, 1) + 1) / np.minimum(k, 64) ** 0.3
        return np.asarray(serial + (1 - serial) / k + np.where(k > node, cost * outside, 0.0))

    return time


def halo_surface(rng: np.random.Generator) -> TimeLaw:
    """Neighbours exchange surfaces, K^(-2/3)."""
    cost = rng.uniform(0.005, 0.05)
    return lambda k: 1 / k + np.where(k > 1, cost * k ** (-2 / 3), 0.0)


def barrier_noise(rng: np.random.Generator) -> TimeLaw:
    """Every worker waits for the slowest of K: the harmonic numbers."""
    serial, cost = rng.uniform(0, 0.02), rng.uniform(0.001, 0.02)
    return lambda k: serial + 1 / k + cost * np.array([np.sum(1 / np.arange(1, int(v) + 1)) for v in k])


OUTSIDE = {
    "memory saturation": memory_saturation,
    "node boundary": node_boundary,
    "halo surface": halo_surface,
    "noise at barriers": barrier_noise,
}


def _outside() -> Iterator[str]:
    yield f"### Clean curves outside the library: K to 16, 0.5 % noise, {OUTSIDE_TRIALS} trials, 90 % intervals"
    yield ""
    k, at = 2 ** np.arange(5), (32, 64)
    table = {}
    for number, (name, kind) in enumerate(OUTSIDE.items()):
        rng = np.random.default_rng(number)
        laws = [kind(rng) for _ in range(OUTSIDE_TRIALS)]
        noise = 1 + 0.005 * rng.standard_normal((OUTSIDE_TRIALS, len(k), 3))
        forecasts = forecast_all(
            [_study(k, law(k)[:, None] * own) for law, own in zip(laws, noise, strict=True)], at=at
        )
        figures: dict[str, float] = {}
        for i, q in enumerate(at):
            exact = [float(law(np.array([q]))[0]) for law in laws]
            rows = [one[i] for one in forecasts]
            inside = [row.low <= true <= row.high for row, true in zip(rows, exact, strict=True)]
            off = [abs(row.value / true - 1) for row, true in zip(rows, exact, strict=True) if row.value is not None]
            figures |= {
                f"{q // 16}x covers, %": 100 * float(np.mean(inside)),
                f"{q // 16}x median error, %": 100 * float(np.median(off)),
                f"{q // 16}x high/low": float(np.median([row.high / row.low for row in rows])),
            }
        table[name] = figures
    yield from table_lines(table, "{:.1f}")


def _boundaries() -> Iterator[str]:
    """What is known of the machine: threads beyond their cores, ranks beyond their node."""
    yield f"### What the user knows: K to 16, 0.5 % noise, asked at K = 64, {OUTSIDE_TRIALS} trials, 90 % intervals"
    yield ""
    k = 2 ** np.arange(5)
    table = {}
    for name, unit, known in (
        ("threads beyond 16 to 32 cores", "threads", "cores"),
        ("ranks beyond a node of 16 to 32", "ranks", "node_size"),
    ):
        for told in (False, True):
            rng = np.random.default_rng(7)
            errors, inside, widths = [], [], []
            for _ in range(OUTSIDE_TRIALS):
                limit = int(rng.choice([16, 24, 32]))
                serial, cost = rng.uniform(0, 0.05), rng.uniform(0.02, 0.15)
                ends = np.minimum(k, limit), min(64, limit)
                times = serial + (1 - serial) / ends[0]
                truth = serial + (1 - serial) / ends[1]
                if unit == "ranks":
                    truth = serial + (1 - serial) / 64 + cost * np.log2(64 / limit + 1) / 64**0.3
                noise = 1 + 0.005 * rng.standard_normal((len(k), 3))
                study = _study(k, times[:, None] * noise, k_unit=unit)
                row = sc.forecast(study, at=[64], **({known: limit} if told else {}))[0]
                inside.append(row.low <= truth <= row.high)
                widths.append(row.high / row.low)
                if row.value is not None:
                    errors.append(abs(row.value / truth - 1))
            told_name = f"{name}, {'told' if told else 'not told'}"
            table[told_name] = {
                "covers, %": 100 * np.mean(inside),
                "median error, %": 100 * np.median(errors) if errors else np.nan,
                "high/low": np.median(widths),
            }
    yield from table_lines(table, "{:.1f}")
