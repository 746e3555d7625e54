"""How often the gate fails identical code, how often it catches a true loss, and how often it sees a creep.

    python -m bench.gate [--trials 20000]      prints three tables in about two minutes
    python -m bench.gate --power               prints the table of docs/guide/gating.md

Strong scaling, K = 1 .. 64 or fewer, fresh noise in both studies.  The tests are those of `auditing.losses`, vectorised
over the trials.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from scalecurve.analysis.sessions import COMMON, shift_of_history
from scalecurve.auditing.gate import DRIFT_ALARM, FALSE_ALARM
from scalecurve.auditing.history import LEAST_CHECKS, scan
from scalecurve.auditing.losses import LogMeans, Shifts, losses_of
from scalecurve.study import Study

REPEATS = 10
WORKERS = (1, 2, 4, 8)
Noise = Callable[[np.random.Generator, np.ndarray, tuple[int, ...]], np.ndarray]


def normal(rng: np.random.Generator, k: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.abs(1 + 0.05 * rng.standard_normal(shape))


def skewed(rng: np.random.Generator, k: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return rng.lognormal(0, 0.15, shape)


def uneven(rng: np.random.Generator, k: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """From 1 % at K = 1 to 10 % at K = 64."""
    return np.abs(1 + 0.01 * 10 ** (np.log2(k)[:, np.newaxis] / 6) * rng.standard_normal(shape))


def quiet(rng: np.random.Generator, k: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.abs(1 + 0.01 * rng.standard_normal(shape))


def _two_modes(share: float, slower: float) -> Noise:
    def noise(rng: np.random.Generator, k: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        slow = rng.random(shape) < share
        return (1 + slower * slow) * np.abs(1 + 0.01 * rng.standard_normal(shape))

    return noise


def _shifted(noise: Noise, session: float) -> Noise:
    """The same noise, and a shift that all K of a session share."""

    def both(rng: np.random.Generator, k: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        shift = np.exp(session * rng.standard_normal((*shape[:-2], 1, 1)))
        return shift * noise(rng, k, shape)

    return both


NOISES: dict[str, Noise] = {
    "5 % normal": normal,
    "15 % lognormal": skewed,
    "1 to 10 % by K": uneven,
    "5 %, sessions 2 %": _shifted(normal, 0.02),
    "1 %, sessions 2 %": _shifted(quiet, 0.02),
    "two modes, 20 % at +15 %": _two_modes(0.2, 0.15),
    "two modes, 10 % at +50 %": _two_modes(0.1, 0.5),
    "two modes, half at +10 %": _two_modes(0.5, 0.1),
    "5 % of runs take 3 times": _two_modes(0.05, 2.0),
}


def draw(rng: np.random.Generator, noise: Noise, workers: tuple[int, ...], losses: dict[int, float], n: int) -> Study:
    """One study; `losses` are shares of speed lost by K."""
    k = np.array(workers)
    factors = noise(rng, k, (len(k), n))
    samples = {
        own: (_time(own) / (1 - losses.get(own, 0.0)) * row).tolist() for own, row in zip(workers, factors, strict=True)
    }
    return Study.from_samples(samples, regime="strong", name="job")


def _time(k: float) -> float:
    return float(0.04 + 0.96 / k + 0.01 * np.log2(k))


def log_means(rng: np.random.Generator, noise: Noise, workers: tuple[int, ...], n: int, trials: int) -> LogMeans:
    """The log means of many studies at once."""
    runs = noise(rng, np.array(workers), (trials, len(workers), n))
    mean = runs.mean(axis=-1)
    variance = runs.var(axis=-1, ddof=1) / mean**2 / n
    return LogMeans(np.log(mean), variance, np.full(mean.shape, n - 1.0))


def failing_share(
    trials: int, noise: Noise, workers: tuple[int, ...], losses: dict[int, float], seed: int, n: int = REPEATS
) -> float:
    """The share of trials in which the gate fails; with `losses`, in which it fails for speed that was lost."""
    rng = np.random.default_rng(seed)
    old, new = (log_means(rng, noise, workers, n, trials) for _ in range(2))
    lost = np.array([-np.log1p(-losses.get(k, 0.0)) for k in workers])
    new = LogMeans(new.value + lost, new.variance, new.degrees)
    tests = losses_of(new, old, false_alarm=FALSE_ALARM, shifts=Shifts(COMMON))
    return float(np.mean((tests.estimate > tests.limit).any(axis=-1)))


def by_k_share(trials: int, noise: Noise, network: float, seed: int, *, sessions: int, n: int = 5) -> float:
    """The share of checks of identical code that fail where the network of the day shifts the larger K by themselves.

    The shift grows from 0 at the smallest K to `network` at the largest; the history holds so many sessions, or none.
    """
    rng, failed = np.random.default_rng(seed), 0
    workers = (1, 2, 4, 8, 16, 32)
    slope = network * np.linspace(0.0, 1.0, len(workers))
    for _ in range(trials):
        day = rng.standard_normal((sessions + 2, 1)) * slope + COMMON / 4 * rng.standard_normal((sessions + 2, 1))
        runs = log_means(rng, noise, workers, n, sessions + 2)
        values = runs.value + day
        known = shift_of_history(list(workers), values[2:], runs.variance[2:]) if sessions else None
        own = np.zeros(len(workers)) if known is None else known.own_at(workers)
        degrees = np.inf if known is None or known.degrees is None else known.degrees
        shifts = Shifts(COMMON if known is None else known.common, own, degrees)
        new, old = (LogMeans(values[i], runs.variance[i], runs.degrees[i]) for i in range(2))
        tests = losses_of(new, old, false_alarm=FALSE_ALARM, shifts=shifts)
        failed += bool(np.any(tests.estimate > tests.limit))
    return failed / trials


def alarm_share(trials: int, noise: Noise, per_commit: float, seed: int, *, commits: int = 30, n: int = 5) -> float:
    """The share of histories in which one of the checks, each with all commits before it, reports a rise of T."""
    rng = np.random.default_rng(seed)
    alarms = 0
    for _ in range(trials):
        values = log_means(rng, noise, WORKERS, n, commits).value + per_commit * np.arange(commits)[:, np.newaxis]
        series = [*values.T, values.mean(axis=1)]
        alarms += any(
            len(series) * p_value <= DRIFT_ALARM and own[:end][place:].mean() > own[:end][:place].mean()
            for end in range(LEAST_CHECKS, commits + 1)
            for own in series
            for p_value, place, _ in [scan(own[:end])]
        )
    return alarms / trials


def power_table(trials: int) -> str:
    """The table of docs/guide/gating.md: loss, noise, repeats and K against the probability of detection."""
    lines = ["| loss at the largest K | noise | repeats | 4 K | 7 K |", "|---|---|---|---|---|"]
    for loss in (0.05, 0.1, 0.2):
        for spread in (0.01, 0.05, 0.1):
            for n in (3, 5, 10, 20):

                def noise(
                    rng: np.random.Generator, k: np.ndarray, shape: tuple[int, ...], spread: float = spread
                ) -> np.ndarray:
                    return np.abs(1 + spread * rng.standard_normal(shape))

                caught = [
                    failing_share(trials, _shifted(noise, COMMON), workers, {workers[-1]: loss}, 4, n)
                    for workers in (WORKERS, (1, 2, 4, 8, 16, 32, 64))
                ]
                shares = " | ".join(f"{share:.2f}" for share in caught)
                lines.append(f"| {loss:.0%} | {spread:.0%} | {n} | {shares} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--power", action="store_true")
    arguments = parser.parse_args()
    trials = arguments.trials
    if arguments.power:
        print(power_table(trials))
        return
    print(f"identical code fails, share of {trials} checks (asked: at most {FALSE_ALARM:g})")
    print(f"{'noise':26} {'K':>7} " + " ".join(f"n = {n:<4}" for n in (3, 5, 10)))
    for name, noise in NOISES.items():
        for workers in ((8,), (1, 8), WORKERS, (1, 2, 4, 8, 16, 32, 64)):
            shares = [failing_share(trials, noise, workers, {}, 1, n) for n in (3, 5, 10)]
            print(f"{name:26} {len(workers):>5} K " + " ".join(f"{share:8.4f}" for share in shares))
    print("a loss of 10 % is caught, 5 % normal noise, n = 10 (asked: at least 0.8)")
    for workers in (WORKERS, (1, 2, 4, 8, 16, 32, 64)):
        largest = workers[-1]
        places = {
            f"at K = {largest}": [largest], "at K = 1": [1], "at the two largest K": list(workers[-2:]),
            "at the larger half": list(workers[len(workers) // 2 :]), "at every K": list(workers),
        }  # fmt: skip
        for words, where in places.items():
            for noise in ("5 % normal", "5 %, sessions 2 %"):
                caught = failing_share(trials, NOISES[noise], workers, dict.fromkeys(where, 0.1), 2)
                print(f"{len(workers)} K, {noise:20} {words:24} {caught:.3f}")
    print("the network of the day shifts the largest K by 2 %, 6 K, n = 5: identical code fails (asked: at most 0.02)")
    for name in ("1 %", "5 % normal"):
        noise = NOISES.get(name, quiet)
        shares = [by_k_share(max(200, trials // 40), noise, 0.02, 6, sessions=count) for count in (0, 10, 20)]
        print(
            f"{name:26} "
            + "   ".join(f"{count} sessions {one:.4f}" for count, one in zip((0, 10, 20), shares, strict=True))
        )
    print("thirty checks in a row, n = 5: a drift is reported (asked: at most 0.01 at 0 %, at least 0.9 at 1 %)")
    for name in ("5 % normal", "5 %, sessions 2 %", "1 %, sessions 2 %", "two modes, 20 % at +15 %"):
        shares = [alarm_share(max(200, trials // 20), NOISES[name], creep, 3) for creep in (0.0, 0.01)]
        print(f"{name:26} 0 % per commit {shares[0]:.4f}   1 % per commit {shares[1]:.3f}")


if __name__ == "__main__":
    main()
