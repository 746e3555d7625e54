"""How often the diagnosis is right on simulated studies whose cause is known.

    python -m bench.diagnosis [--per-cause 200] [--seed 1] [--detail samples|ranks|phases]

200 studies per cause, as many without any, and 200 mixtures of two (right: a cause within a fifth of the largest).
Prints, for each detail, the share right, and for answers with 0.8 or more from T(K) alone how many of them are.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bench.simulated_studies import CAUSES, Truth, draw_truth, simulate
from scalecurve.diagnosis import diagnose
from scalecurve.diagnosis.causes import UNDETERMINED

BANDS = ((0.0, 0.5), (0.5, 0.65), (0.65, 0.8), (0.8, 0.9), (0.9, 0.97), (0.97, 1.01))


@dataclass(frozen=True)
class Judged:
    truth: Truth
    answer: str
    probability: float
    right: bool

    @property
    def given(self) -> bool:
        return self.answer != UNDETERMINED


def truths(per_cause: int, rng: np.random.Generator) -> Iterator[Truth]:
    for causes in [*((cause,) for cause in CAUSES), ()]:
        for _ in range(per_cause):
            yield draw_truth(causes, rng)
    pairs = list(combinations(CAUSES, 2))
    for i in range(per_cause):
        yield draw_truth(pairs[i % len(pairs)], rng)


def judge(truth: Truth, detail: str, rng: np.random.Generator) -> Judged:
    found = diagnose(simulate(truth, rng, detail=detail))
    best = max(found.causes, key=lambda cause: cause.probability)
    return Judged(truth, found.cause, best.probability, best.name in truth.accepted())


def report(judged: list[Judged], detail: str) -> None:
    given = [case for case in judged if case.given]
    print(f"\n{detail}: {len(judged)} studies")
    print(f"  likeliest cause right      {share([each.right for each in judged])}")
    print(f"  answers given (>= 0.8)     {share([each.given for each in judged])}")
    print(f"  right among those given    {share([each.right for each in given])}")
    for name in (*CAUSES, "none", "mixture"):
        chosen = [case for case in judged if kind(case.truth) == name]
        sure = [case for case in chosen if case.given]
        wrong = Counter(case.answer for case in sure if not case.right)
        answered, correct = share([case.given for case in chosen]), share([case.right for case in sure])
        print(f"  {name:14} given {answered}  right {correct}  {dict(wrong)}")
    for low, high in BANDS:
        band = [case for case in judged if low <= case.probability < high]
        if band:
            mean = np.mean([case.probability for case in band])
            print(f"  said {mean:.2f}  right {share([each.right for each in band])}  of {len(band)}")


def kind(truth: Truth) -> str:
    return {0: "none", 1: truth.causes[0] if truth.causes else "none"}.get(len(truth.causes), "mixture")


def share(flags: list[bool]) -> str:
    return f"{np.mean(flags):.3f} ({sum(flags)}/{len(flags)})" if flags else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-cause", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--detail", action="append", choices=("samples", "ranks", "phases"))
    given = parser.parse_args()
    for detail in given.detail or ("phases", "ranks", "samples"):
        rng = np.random.default_rng(given.seed)
        report([judge(truth, detail, rng) for truth in truths(given.per_cause, rng)], detail)


if __name__ == "__main__":
    main()
