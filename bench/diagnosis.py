"""How often the diagnosis is right on simulated programs whose mechanisms are known.

    python -m bench.diagnosis [--programs 400] [--seed 1] [--ranges held|design] [--recording times ...]

Programs come from one of five simulators, each recorded as times only, as MPI timers see it (waiting inside
communication), with a barrier before the collective, step by step, and with counted work.  For each recording:

    informative  one cause or a pair is stated
    right        how many of those hold a true cause, in all and where stated with 0.9 or more
    in the set   the true cause is among the candidates, over all answers
    reliability  how often what was stated with p is right

The table that ships was fitted on programs of all of them (`tools/calibrate_diagnosis.py`, which judges by leaving one
simulator out): give another seed here.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from bench import arrival_simulator, bsp_simulator, clock_simulator, event_simulator, job_simulator
from bench.bsp_simulator import DESIGN, HELD, RECORDINGS
from scalecurve.diagnosis import diagnose

SIMULATORS = {
    "bsp": bsp_simulator,
    "event": event_simulator,
    "job": job_simulator,
    "arrival": arrival_simulator,
    "clock": clock_simulator,
}
RANGES = {"design": DESIGN, "held": HELD}
BANDS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 1.01)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One program, what is true of it, and what was said."""

    mechanism: str
    accepted: frozenset[str]
    stated: tuple[str, ...]
    probability: float
    candidates: tuple[str, ...]
    chances: dict[str, float]
    reason: str | None
    seconds: float

    @property
    def right(self) -> bool:
        return bool(self.accepted & set(self.candidates))

    @property
    def informative(self) -> bool:
        return self.reason is None and 0 < len(self.stated) <= 2

    @property
    def stated_right(self) -> bool:
        return bool(self.accepted & set(self.stated))


def judge(simulator: Any, program: Any, recording: str) -> Judged:
    study, accepted = simulator.simulate(program, recording), simulator.truth(program)
    begin = perf_counter()
    result = diagnose(study)
    return Judged(
        mechanism=max(program.sizes, key=lambda name: program.sizes[name], default="none"),
        accepted=accepted,
        stated=result.stated,
        probability=result.probability,
        candidates=result.candidates,
        chances={cause.name: cause.probability for cause in result.causes},
        reason=result.reason,
        seconds=perf_counter() - begin,
    )


def report(judged: list[Judged], recording: str) -> None:
    named = [case for case in judged if len(case.stated) == 1]
    pairs = [case for case in judged if case.informative]
    sure = [case for case in judged if case.informative and case.probability >= 0.9]
    print(f"\n{recording}: {len(judged)} programs, {np.mean([case.seconds for case in judged]):.2f} s each")
    print(f"  one cause named            {share(len(case.stated) == 1 for case in judged)}")
    print(f"    right among those        {share(case.stated_right for case in named)}")
    print(f"  one or a pair at p >= 0.9  {share(case.informative and case.probability >= 0.9 for case in judged)}")
    print(f"    right among those        {share(case.stated_right for case in sure)}")
    print(f"  true cause in the set      {share(case.right for case in judged)}")
    print(f"  informative                {share(case.informative for case in judged)}")
    print(f"    right among those        {share(case.stated_right for case in pairs)}")
    print(f"  lack of fit                {share(case.reason is not None for case in judged)}")
    for name in sorted({case.mechanism for case in judged}):
        own = [case for case in judged if case.mechanism == name]
        said = Counter("/".join(sorted(case.stated)) for case in own if case.informative)
        wrong = Counter("/".join(sorted(case.candidates)) for case in own if not case.right)
        listed = ", ".join(f"{words} {count}" for words, count in said.most_common(3))
        missed = f"  WRONG {dict(wrong)}" if wrong else ""
        informative = np.mean([case.informative for case in own])
        print(f"    {name:16} {len(own):3}  informative {informative:.2f}  {listed}{missed}")


def reliability(judged: list[Judged]) -> None:
    """Every chance of every cause: said against true.  Causes accepted as equals share what is true."""
    said = [(chance, name in case.accepted) for case in judged for name, chance in case.chances.items()]
    print("\nreliability: said, true, how many")
    for low, high in pairwise(BANDS):
        band = [(chance, true) for chance, true in said if low <= chance < high]
        if band:
            mean, true = np.mean([chance for chance, _ in band]), np.mean([true for _, true in band])
            bar = "#" * round(40 * true)
            print(f"  {mean:.3f}  {true:.3f}  {len(band):6}  {bar}")


def share(flags: Iterable[bool]) -> str:
    every = list(flags)
    return f"{np.mean(every):.3f} ({sum(every)}/{len(every)})" if every else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--simulator", choices=SIMULATORS, default="bsp")
    parser.add_argument("--ranges", choices=RANGES, default="held", help="of the bsp simulator")
    parser.add_argument("--recording", action="append", choices=RECORDINGS)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    simulator: Any = SIMULATORS[options.simulator]
    ranges = (RANGES[options.ranges],) if options.simulator == "bsp" else ()
    programs = [simulator.draw(*ranges, rng) for _ in range(options.programs)]
    every: list[Judged] = []
    for recording in options.recording or RECORDINGS:
        judged = [judge(simulator, program, recording) for program in programs]
        report(judged, recording)
        every += judged
    reliability(every)


if __name__ == "__main__":
    main()
