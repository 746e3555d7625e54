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
    yield from _networks()
    yield from _loads()


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


GROWTH: dict[str, Callable[[Array], Array]] = {
    "a tree of messages": np.log2,
    "surfaces": lambda k: np.where(k > 1, 10 * k ** (-2 / 3), 0.0),
    "a constant": lambda k: np.where(k > 1, 2.5, 0.0),
    "a message to each": lambda k: (k - 1) / 5,
}


def _networks() -> Iterator[str]:
    """The same messages, four times slower beyond a node that nobody named; measured within the node."""
    yield f"### A network 4 times slower beyond an untold node: 0.5 % noise, {OUTSIDE_TRIALS} trials, 90 % intervals"
    yield ""
    table = {}
    for number, (name, growth) in enumerate(GROWTH.items()):
        rng = np.random.default_rng(50 + number)
        studies, truths = [], []
        for _ in range(OUTSIDE_TRIALS):
            node, serial, cost = int(rng.choice([8, 16, 32])), rng.uniform(0, 0.02), rng.uniform(0.001, 0.02)
            k = 2 ** np.arange(int(np.log2(node)) + 3)
            times = serial + (1 - serial) / k + cost * growth(k.astype(float)) * np.where(k > node, 4, 1)
            noise = np.exp(0.005 * rng.standard_normal((len(k) - 2, 3)))
            studies.append(_study(k[:-2], times[:-2, None] * noise, k_unit="ranks"))
            truths.append(times[-2:])
        table[name] = _held(studies, truths)
    yield from table_lines(table, "{:.1f}")


Throughput = Callable[[Array], Array]


def universal(rng: np.random.Generator) -> tuple[float, Throughput]:
    """USL: contention and coherence; where the peak lies and the throughput."""
    peak, contention = float(rng.choice([6, 8, 12, 16, 24, 32])), rng.uniform(0, 0.15)
    coherence = (1 - contention) / peak**2
    return peak, lambda k: k / (1 + contention * (k - 1) + coherence * k * (k - 1))


def thrashing(rng: np.random.Generator) -> tuple[float, Throughput]:
    """A server that pages once the clients outgrow its memory."""
    width, cost = float(rng.choice([4, 8, 12, 16])), rng.uniform(0.3, 1.2)
    room = width * rng.uniform(1, 2)
    return room, lambda k: k / (1 + (k / width) ** 4) ** 0.25 / (1 + cost * np.maximum(k / room - 1, 0))


def collapsing(rng: np.random.Generator) -> tuple[float, Throughput]:
    """A plateau, then a fall as a power of K."""
    width, power = float(rng.choice([4, 8, 12, 16])), rng.uniform(0.5, 1.2)
    edge = width * float(rng.choice([1.5, 2, 3]))
    return edge, lambda k: k / (1 + (k / width) ** 6) ** (1 / 6) * np.minimum(1, edge / k) ** power


def queueing(rng: np.random.Generator) -> tuple[float, Throughput]:
    """Clients that think, then wait for one of a few servers: a closed queue, solved exactly."""
    servers, think = int(rng.choice([1, 2, 4, 8, 16])), rng.uniform(0.5, 6)

    def busy(k: float) -> float:
        present = np.arange(int(k) + 1)
        steps = np.log((k - present[:-1]) / think / np.minimum(present[1:], servers))
        logs = np.r_[0.0, np.cumsum(steps)]
        share = np.exp(logs - logs.max())
        return float((share * np.minimum(present, servers)).sum() / share.sum())

    return servers * (1 + think), lambda k: np.array([busy(float(own)) for own in k])


def convoying(rng: np.random.Generator) -> tuple[float, Throughput]:
    """A lock whose waiters cost more the more they are."""
    held, cost, power = rng.uniform(0.03, 0.2), rng.uniform(0.02, 0.1), rng.uniform(0.7, 1.0)
    return 1.5 / held, lambda k: k / (1 + held * k) / (1 + cost * np.maximum(k - 1 / held, 0) ** power)


LOADS = {"USL": universal, "thrashing": thrashing, "plateau, then collapse": collapsing, "closed queue": queueing,
         "lock convoy": convoying}  # fmt: skip
STEPS = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128])
FLAT = 0.05  # the last slope below which a load is flat or falls


def _loads() -> Iterator[str]:
    """Clients against a server, measured to about the peak or beyond, and to just before it."""
    for what, seed, reach, rising in (
        ("flat or falling at their last K", 70, (1, 1.25, 1.5, 2, 3), False),
        (
            "that still rise at their last K and pass their peak within the next doubling",
            90,
            (0.5, 0.6, 0.75, 0.9),
            True,
        ),
    ):
        yield f"### Loads {what}: 1 % noise, {OUTSIDE_TRIALS} trials, 90 % intervals"
        yield ""
        table = {}
        for number, (name, kind) in enumerate(LOADS.items()):
            rng = np.random.default_rng(seed + number)
            studies, truths = [], []
            while len(studies) < OUTSIDE_TRIALS:
                peak, rate = kind(rng)
                end = max(4, peak * float(rng.choice(reach)))
                k = STEPS[: int(np.searchsorted(STEPS, end, side="right"))]
                logs = np.log(rate(k.astype(float)))
                if ((logs[-1] - logs[-2]) / np.log(k[-1] / k[-2]) > FLAT) == rising:
                    noise = np.exp(0.01 * rng.standard_normal((len(k), 3)))
                    studies.append(_load(k, np.exp(logs)[:, None] * noise))
                    truths.append(rate(np.array([2.0, 4.0]) * k[-1]))
            table[name] = _held(studies, truths)
        yield from table_lines(table, "{:.1f}")


def _load(k: Array, rates: Array) -> sc.Study:
    samples = dict(zip(k.tolist(), rates.tolist(), strict=True))
    facts = {"quantity": "throughput", "unit": "requests/s", "k_unit": "clients"}
    return sc.Study.from_samples(samples, regime="strong", **facts)  # type: ignore[arg-type]


def _held(studies: list[sc.Study], truths: list[Array]) -> dict[str, float]:
    """Coverage and median high/low of the 90 % intervals at 2 and 4 times the largest measured K."""
    forecasts, figures = forecast_all(studies), {}
    for i, ratio in enumerate((2, 4)):
        rows = [one[i] for one in forecasts]
        inside = [row.low <= true[i] <= row.high for row, true in zip(rows, truths, strict=True)]
        figures[f"{ratio}x covers, %"] = 100 * float(np.mean(inside))
        figures[f"{ratio}x high/low"] = float(np.median([row.high / row.low for row in rows]))
    return figures
