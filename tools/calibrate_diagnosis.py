"""Weighs the evidence of the diagnosis: writes src/scalecurve/diagnosis/weights.json and prints how well it does.

    python tools/calibrate_diagnosis.py --cases /tmp/cases [--programs 500] [--write]

Programs whose mechanisms are known come from six simulators (`bench`).  For each kind of record a table of log odds
(evidence x cause) is fitted by maximum likelihood; it starts from JUDGED, what each number means by its definition, and
moves from there as far as the programs say (quadratic penalty), so that a mechanism which no simulator has is still
read as defined.  What is printed is by leave-one-simulator-out: table, temper and threshold come from the others.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bench import (
    arrival_simulator,
    bsp_simulator,
    clock_simulator,
    event_simulator,
    job_simulator,
    simulated_studies,
)
from scalecurve.analysis.curve import times_by_k
from scalecurve.diagnosis import evidence_in_phases, evidence_in_times
from scalecurve.diagnosis.causes import ANSWERS, Weights, answer, likeliest
from scalecurve.diagnosis.phases import Account, accounts
from scalecurve.diagnosis.thread_states import thread_loss
from scalecurve.diagnosis.weighing import grouped

HOME = Path(__file__).resolve().parents[1] / "src" / "scalecurve" / "diagnosis"
MODULES: dict[str, Any] = {
    "bsp": bsp_simulator,
    "event": event_simulator,
    "job": job_simulator,
    "arrival": arrival_simulator,
    "classic": simulated_studies,
    "clock": clock_simulator,
}
SIMULATORS = tuple(MODULES)
MOST_REPEATS = 4
RECORDINGS = ("own", "mpi", "barrier", "steps", "work")
COVERED = 0.953
LEAST_PUBLISHED = 3
COMM, STRAG, JIT, IMB, CONT, SER, REP, OTH, NON = ANSWERS
IN_TIMES: dict[str, dict[str, float]] = {
    "loss in a constant part": {SER: 3.0, COMM: 1.5, CONT: 1.0},
    "loss in log2 K": {COMM: 3.0, JIT: 1.0},
    "loss in K": {COMM: 2.5, CONT: 1.5},
    "loss in surfaces of blocks": {COMM: 2.5, CONT: 1.0, REP: 1.0},
    "loss in surfaces of squares": {COMM: 2.5, CONT: 1.5, REP: 1.0},
    "loss in bisection of a torus": {COMM: 2.5, CONT: 1.0, REP: 1.0},
    "loss in bisection of a mesh": {COMM: 2.5, CONT: 1.5, REP: 1.0},
    "loss in one heavier share": {IMB: 3.0, STRAG: 2.0},
    "loss in the largest of K shares": {IMB: 2.0, JIT: 1.0, CONT: 1.0},
    "loss in compute times log2 K": {CONT: 2.0, IMB: 2.0, REP: 1.5},
    "loss in full from some K on": {CONT: 3.0, IMB: 1.0},
    "loss in a step at one K": {COMM: 3.0},
    "loss in compute slower from one K on": {CONT: 2.0, STRAG: 2.0, IMB: 1.0},
    "loss beyond noise": {NON: -2.0},
    "spread grows": {STRAG: 2.0},
    "slow runs": {STRAG: 1.0},
}
IN_PHASES: dict[str, dict[str, float]] = {
    "lost in collectives": {COMM: 3.0, OTH: 0.5},
    "lost in waiting": {STRAG: 2.5, JIT: 2.5, IMB: 2.5, SER: 1.0, OTH: 0.5},
    "lost in compute": {CONT: 3.0, REP: 2.5},
    "lost in serial phases": {SER: 5.0},
    "lost in loading": {OTH: 3.0, CONT: 2.5},
    "lost in outside phases": {SER: 3.0, OTH: 1.5},
    "loss": {NON: -4.0},
    "loss beyond noise": {NON: -3.0},
    "waiting: always the same worker": {STRAG: 1.0, IMB: 1.5, SER: 1.0, JIT: -3.0},
    "waiting: one worker in each run": {STRAG: 2.0, IMB: 0.5, JIT: -2.0},
    "waiting: one worker apart": {STRAG: 0.5, SER: 0.5},
    "waiting: some workers apart": {STRAG: 1.0},
    "waiting: one host apart": {STRAG: 4.0},
    "waiting: first worker": {SER: 2.0},
    "waiting: counted work explains it": {IMB: 4.0, STRAG: -3.0, SER: -2.0},
    "waiting: equal work, unequal time": {STRAG: 3.0, SER: 1.5, IMB: -4.0},
    "waiting: passing, by counted work": {IMB: 3.0, JIT: -2.0, STRAG: -2.0},
    "waiting: extra seconds of the slowest shrink": {SER: -3.0},
    "waiting: explained by busy time": {OTH: -2.0},
    "waiting: more than noise at barriers can": {OTH: 4.0, JIT: -3.0},
    "waiting: spread of a step shrinks with K": {IMB: 2.0, JIT: -2.0, STRAG: -1.0},
    "compute: more work or steps": {REP: 6.0, CONT: -4.0},
    "compute: same work": {CONT: 3.0, REP: -6.0},
    "compute: on the fastest worker too": {CONT: 2.0, STRAG: -2.0},
    "collectives: from one worker to the next": {OTH: 1.0},
    "collectives: from one worker to the next, as a chain fills": {OTH: 5.0, COMM: -3.0},
    "collectives: named collectives": {COMM: 2.0, OTH: -3.0},
    "collectives: as a chain fills": {OTH: 1.0},
    "collectives: as a share of the compute": {IMB: 2.0},
    "collectives: known apart": {COMM: 2.0, IMB: -2.0, JIT: -2.0, STRAG: -2.0},
}
IN_THREADS: dict[str, dict[str, float]] = {
    "lost running": {CONT: 4.0, REP: 3.0, COMM: -0.5, SER: -2.0, IMB: -2.5, JIT: -2.0, STRAG: -1.0, OTH: -1.0},
    "lost running, in a library that waits by running": {
        CONT: -3.5, REP: -2.5, COMM: 2.0, SER: 1.5, IMB: 2.0, JIT: 1.5, STRAG: 1.0,
    },
    "lost running there, more than waiting explains": {COMM: 0.8, IMB: -0.4, STRAG: -0.6, JIT: -1.5},
    "lost idle": {COMM: 1.5, SER: 1.5, IMB: 1.5, STRAG: 1.0, JIT: 0.5, OTH: 0.5, CONT: -3.0, REP: -4.0},
    "lost idle, one alone": {SER: 2.5, IMB: 1.5, STRAG: 0.5, COMM: -2.5, JIT: -2.0, OTH: -1.0},
    "lost idle, one alone of two": {SER: -1.0},
    "lost idle, only one ever runs": {SER: 3.0, IMB: -2.0, STRAG: -2.0, COMM: -2.0},
    "lost idle, all ran alike": {IMB: -2.5, STRAG: -1.5, SER: 1.0, OTH: 0.5},
    "lost idle, workers not there": {SER: 3.0, IMB: -2.0, STRAG: -2.0, COMM: -2.0},
    "lost idle, while one waits for a disk": {OTH: 3.0, COMM: -2.0, IMB: -2.0, STRAG: -2.0, JIT: -2.0},
    "lost waiting for a disk": {OTH: 4.0, CONT: 1.0},
    "slower than K0": {COMM: 2.0, CONT: 1.0, OTH: 1.0, SER: -3.0, IMB: -3.0},
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of record: what each number means by its definition, in log odds (0 where it is not listed), how hard the
    table is held there, and the share of chances that is spread evenly; both chosen by leave-one-simulator-out.
    `named` is the chance from which a cause or a family is named: with phases so that 92 % of the names are right, from
    times alone where the name is likelier than all others together; the sentence says how likely."""

    recordings: tuple[str, ...]
    judged: dict[str, dict[str, float]]
    penalty: float
    floor: float
    named: float
    pair: float


KINDS = {
    "times strong": Kind(("times strong",), IN_TIMES, 3.0, 0.06, 0.5, 0.65),
    "times weak": Kind(("times weak",), IN_TIMES, 12.0, 0.06, 0.55, 0.8),
    "phases": Kind(RECORDINGS, IN_PHASES, 1.0, 0.02, 0.75, 0.8),
}


@dataclass(frozen=True)
class Case:
    """One recorded program: its evidence, and the causes that are right."""

    simulator: str
    recording: str
    numbers: dict[str, float]
    right: tuple[str, ...]
    program: int


def programs(simulator: str, count: int, seed: int) -> Iterator[tuple[Any, Any]]:
    """Programs with at most MOST_REPEATS repeats, to save time."""
    rng = np.random.default_rng([seed, SIMULATORS.index(simulator)])
    for i in range(count):
        program: Any
        if simulator == "bsp":
            program = bsp_simulator.draw((bsp_simulator.DESIGN, bsp_simulator.HELD)[i % 2], rng)
        else:
            program = MODULES[simulator].draw(rng)
        yield MODULES[simulator], replace(program, repeats=min(program.repeats, MOST_REPEATS))


def stripped(recorded: tuple[Account, ...], recording: str) -> tuple[Account, ...]:
    """The same accounts as if less had been recorded."""
    if recording == "work":
        return recorded
    plain = tuple(replace(own, work=None, hosts=(None,) * len(own.hosts)) for own in recorded)
    if recording == "steps":
        return plain
    plain = tuple(replace(own, transfer=None, busy_steps=None, steps=None) for own in plain)
    if recording == "mpi":
        return plain
    nothing = [np.zeros_like(own.compute) for own in plain]
    return tuple(
        replace(
            own, compute=own.busy, communication=own.span - own.busy, data=zero, wait=zero, serial=zero, outside=0.0,
            waits_apart=False, pairwise=False, collective=False,
        )
        for own, zero in zip(plain, nothing, strict=True)
    )  # fmt: skip


def classic_cases(count: int, seed: int) -> Iterator[Case]:
    """Few barriers and wide spreads, which the other simulators do not draw; totals with or without waiting apart."""
    rng = np.random.default_rng([seed, 9])
    for place in range(count):
        names = rng.choice(simulated_studies.CAUSES, size=int(rng.choice(3, p=[0.05, 0.65, 0.3])), replace=False)
        truth = simulated_studies.draw_truth(tuple(map(str, names)), rng)
        workers = ((1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8), (1, 2, 4, 8, 16))[place % 3]
        right = truth.accepted(workers[-1])
        right |= {"jitter"} if "straggler" in right and truth.barriers > 3 else set()
        study = simulated_studies.simulate(truth, rng, workers=workers, repeats=4)
        times, _ = evidence_in_times.evidence(times_by_k(study), weak=False)
        yield Case("classic", "times strong", times, tuple(sorted(right)), place)
        recorded = accounts(study)
        for recording in ("own", "barrier" if recorded[0].waits_apart else "mpi"):
            own = stripped(recorded, recording) if recording == "own" else recorded
            numbers = evidence_in_phases.evidence(grouped(own), weak=False)
            yield Case("classic", recording, numbers, tuple(sorted(right)), place)


def cases_of(simulator: str, count: int, seed: int) -> Iterator[Case]:
    """Every program in every recording."""
    if simulator == "classic":
        yield from classic_cases(count, seed)
        return
    for place, (module, program) in enumerate(programs(simulator, count, seed)):
        right = tuple(sorted(module.truth(program)))
        study = module.simulate(program, "work")
        times = "times weak" if program.weak else "times strong"
        numbers, _ = evidence_in_times.evidence(times_by_k(study), weak=program.weak)
        yield Case(simulator, times, numbers, right, place)
        if simulator == "job":
            threads = thread_loss(module.simulate(program, "threads"), weak=program.weak)
            if threads is not None and not program.weak:
                yield Case(simulator, "threads", numbers | dict(threads.numbers), right, place)
        recorded = accounts(study)
        apart = accounts(module.simulate(program, "barrier"))
        for recording in RECORDINGS:
            own = apart if recording == "barrier" else stripped(recorded, recording)
            numbers = evidence_in_phases.evidence(grouped(own), weak=program.weak)
            yield Case(simulator, recording, numbers, right, place)


def softmax(scores: np.ndarray) -> np.ndarray:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: np.ndarray = raised / raised.sum(axis=1, keepdims=True)
    return shares


@dataclass(frozen=True, eq=False)
class Table:
    """Log odds by evidence and cause."""

    evidence: tuple[str, ...]
    weights: np.ndarray
    start: np.ndarray

    def chances(self, cases: list[Case], floor: float) -> np.ndarray:
        chances: np.ndarray = (1 - floor) * softmax(rows(cases, self.evidence) @ self.weights + self.start)
        return chances + floor / len(ANSWERS)


def rows(cases: list[Case], evidence: tuple[str, ...]) -> np.ndarray:
    return np.array([[case.numbers.get(name, 0.0) for name in evidence] for case in cases])


def right_of(cases: list[Case]) -> np.ndarray:
    return np.array([[name in case.right for name in ANSWERS] for case in cases], dtype=float)


def fit(cases: list[Case], judged: dict[str, dict[str, float]], penalty: float) -> Table:
    """The table that makes the right causes likeliest, drawn to what is judged; each simulator counts alike."""
    evidence = tuple(dict.fromkeys(name for case in cases for name in case.numbers))
    first = np.array([[judged.get(name, {}).get(cause, 0.0) for cause in ANSWERS] for name in evidence])
    first = np.vstack([first, np.zeros(len(ANSWERS))])
    numbers, right = np.hstack([rows(cases, evidence), np.ones((len(cases), 1))]), right_of(cases)
    sizes = {name: sum(case.simulator == name for case in cases) for name in SIMULATORS}
    weight = np.array([1000.0 / sizes[case.simulator] for case in cases]) / sum(size > 0 for size in sizes.values())
    pull = np.full((len(evidence) + 1, 1), penalty)
    pull[-1] *= 0.1
    known = {name: right[[case.simulator == name for case in cases]].any(axis=0) for name in sizes if sizes[name]}
    absent = -50.0 * np.array([~known[case.simulator] for case in cases])  # a simulator says nothing of others' causes

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        table = flat.reshape(first.shape)
        chances = softmax(numbers @ table + absent)
        hit = (chances * right).sum(axis=1) + 1e-12
        slope = numbers.T @ ((chances - chances * right / hit[:, None]) * weight[:, None]) + pull * (table - first)
        return float(-(weight * np.log(hit)).sum() + 0.5 * (pull * (table - first) ** 2).sum()), slope.ravel()

    table = minimize(loss, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x.reshape(first.shape)
    return Table(evidence, table[:-1], table[-1])


def covered_by(chances: np.ndarray, right: np.ndarray) -> float:
    """The sum of chances from which a set is complete, so that COVERED of the sets hold a right cause."""
    for covered in np.arange(0.8, 0.98, 0.01):
        chosen = sets(chances, float(covered))
        if np.mean([right[i, own].any() for i, own in enumerate(chosen)]) >= COVERED:
            break
    return round(float(covered), 2)


def sets(chances: np.ndarray, covered: float) -> list[list[int]]:
    """The likeliest causes until their chances add up to `covered`."""
    return [
        [ANSWERS.index(name) for name in likeliest(dict(zip(ANSWERS, own, strict=True)), covered)]
        for own in chances.tolist()
    ]


def report(title: str, chances: np.ndarray, right: np.ndarray, used: Weights) -> None:
    """How often the set holds a right cause; how often one cause, a pair or a family is stated and right, in all and
    where it is stated with 0.9 or more."""
    said = [answer(dict(zip(ANSWERS, row, strict=True)), used) for row in chances.tolist()]
    truths = [{name for name, own in zip(ANSWERS, row, strict=True) if own} for row in right.tolist()]
    held = [bool(truth & set(own.candidates)) for own, truth in zip(said, truths, strict=True)]
    hits = [(own, bool(truth & set(own.stated))) for own, truth in zip(said, truths, strict=True) if own.stated]
    groups = {
        "one": [hit for own, hit in hits if len(own.stated) == 1],
        "one or two": [hit for own, hit in hits if len(own.stated) <= 2],
        "any": [hit for _, hit in hits],
        "at 0.9": [hit for own, hit in hits if own.probability >= 0.9],
    }
    words = "  ".join(
        f"{name} {len(g) / len(said):.2f} right {np.mean(g) if g else 1:.3f}" for name, g in groups.items()
    )
    sizes = np.mean([len(own.candidates) for own in said])
    print(f"{title:24} {len(said):5}  in the set {np.mean(held):.3f} (mean {sizes:.2f})  stated: {words}")


def left_out(cases: list[Case], kind: Kind) -> tuple[np.ndarray, np.ndarray]:
    """Chances of each simulator's cases by the table of the others, and what is right; printed by recording."""
    chances, right = {}, {}
    used = [case for case in cases if case.recording in kind.recordings]
    present = tuple(dict.fromkeys(case.simulator for case in used))
    for held in present:
        own = [case for case in used if case.simulator == held]
        table = fit([case for case in used if case.simulator != held], kind.judged, kind.penalty)
        chances[held], right[held] = table.chances(own, kind.floor), right_of(own)
    for held in present:
        others = [name for name in present if name != held]
        limit = covered_by(np.vstack([chances[n] for n in others]), np.vstack([right[n] for n in others]))
        own = [case for case in used if case.simulator == held]
        for recording in kind.recordings:
            places = [i for i, case in enumerate(own) if case.recording == recording]
            if places:
                limits = Weights((), np.zeros(0), np.zeros(0), kind.floor, limit, kind.named, kind.pair)
                report(f"{recording}, {held} left out", chances[held][places], right[held][places], limits)
    reliability(np.vstack(list(chances.values())), np.vstack(list(right.values())))
    return np.vstack(list(chances.values())), np.vstack(list(right.values()))


def reliability(chances: np.ndarray, right: np.ndarray) -> None:
    """Said against true, over all causes of all cases."""
    edges = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 1.01)
    bands = [(chances >= low) & (chances < high) for low, high in pairwise(edges)]
    print("  said:true ", "  ".join(f"{chances[b].mean():.2f}:{right[b].mean():.2f}" for b in bands if b.any()))


def report_threads(cases: list[Case], stored: dict[str, dict[str, Any]]) -> None:
    """The states of the threads beside the times, by the tables as they are."""
    if not cases:
        return
    times, threads = stored["times strong"], stored["threads"]
    scores = sum(
        rows(cases, tuple(own["weights"])) @ np.array(list(own["weights"].values())) + np.array(own["start"])
        for own in (times, threads)
    )
    chances = (1 - times["floor"]) * softmax(np.asarray(scores)) + times["floor"] / len(ANSWERS)
    limits = (times[name] for name in ("floor", "covered", "named", "pair"))
    report("states of the threads", chances, right_of(cases), Weights((), np.zeros(0), np.zeros(0), *limits))


def published_shift(cases: list[Case]) -> np.ndarray:
    """Log odds to add: how often each cause was the measured one in published studies, against the programs here; among
    the causes that papers report often enough, so that serial work, seldom what a paper is about, keeps its share."""
    with (HOME / "labelled_cases.csv").open(encoding="utf-8", newline="") as handle:
        counted = [row["cause"] for row in csv.DictReader(handle)]
    often = np.array([counted.count(cause) >= LEAST_PUBLISHED for cause in ANSWERS])
    published = np.array([counted.count(cause) + 1.0 for cause in ANSWERS])
    here = (right_of(cases) / right_of(cases).sum(axis=1, keepdims=True)).sum(axis=0) + 1.0
    shares = [own / own[often].sum() for own in (published, here)]
    return np.where(often, np.log(shares[0]) - np.log(shares[1]), 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, required=True, help="folder of simulated cases, made where it has none")
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--only", choices=SIMULATORS, help="simulate these and stop")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    options.cases.mkdir(parents=True, exist_ok=True)
    cases: list[Case] = []
    for simulator in (options.only,) if options.only else SIMULATORS:
        store = options.cases / f"{simulator}-{options.seed}.json"
        if not store.exists():
            made = [vars(case) for case in cases_of(simulator, options.programs, options.seed)]
            store.write_text(json.dumps(made), encoding="utf-8")
        cases += [Case(**own) for own in json.loads(store.read_text(encoding="utf-8"))]
    if options.only:
        return
    stored = {}
    for record, kind in KINDS.items():
        own = [case for case in cases if case.recording in kind.recordings]
        covered = covered_by(*left_out(cases, kind))
        table = fit(own, kind.judged, kind.penalty)
        start = table.start + (published_shift(own) if record != "phases" else 0.0)
        weights = {name: np.round(row, 2).tolist() for name, row in zip(table.evidence, table.weights, strict=True)}
        stored[record] = {
            "floor": kind.floor, "covered": covered, "named": kind.named, "pair": kind.pair,
            "start": np.round(start, 2).tolist(), "weights": weights,
        }  # fmt: skip
    no_start = dict.fromkeys(("floor", "covered", "named", "pair"), 0.0) | {"start": [0.0] * len(ANSWERS)}
    meant = {name: [own.get(cause, 0.0) for cause in ANSWERS] for name, own in IN_THREADS.items()}
    stored["threads"] = no_start | {"weights": meant}  # beside those of the times; as defined, fitted to nothing
    report_threads([case for case in cases if case.recording == "threads"], stored)
    if options.write:
        body = json.dumps(stored).replace('"weights": {', '"weights": {\n').replace("], ", "],\n")
        (HOME / "weights.json").write_text(body + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
