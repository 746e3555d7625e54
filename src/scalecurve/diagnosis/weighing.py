"""The evidence of one study, weighed: the chances of the causes, and the causes of each term of a loss.

Workers with a machine each share no memory, and threads of one process send no messages: what would be messages between
processes is then what they share.  So it is with clients of a server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from scalecurve.analysis.curve import times_by_k
from scalecurve.diagnosis import evidence_in_phases, evidence_in_times
from scalecurve.diagnosis.accounting import Accounting
from scalecurve.diagnosis.causes import (
    ANSWERS,
    COMMUNICATION,
    CONTENTION,
    LOAD_CAUSES,
    NONE,
    OTHER,
    chances_of,
    weights,
)  # fmt: skip
from scalecurve.diagnosis.phases import Account, accounts, has_phases
from scalecurve.diagnosis.thread_states import ThreadLoss, thread_loss
from scalecurve.study import Regime, Study
from scalecurve.study.study import is_load

FROM_TIMES, FROM_PHASES, FROM_OWN_TIMES = "samples of T(K) only", "phases of every worker", "the workers' own times"
FROM_THREADS = "T(K) and the states of the threads"
MACHINES = re.compile(r"node|host|machine|instance|server", re.IGNORECASE)
THREADS = re.compile(r"thread|core", re.IGNORECASE)
MOST_SHARED = 128  # threads or cores of one process: what counts more cores counts those of many processes
APART, SHARED, ONE_PROCESS, LOAD, UNKNOWN = "a machine each", "threads or cores", "one process", "clients", "unknown"
POSSIBLE = {LOAD: LOAD_CAUSES, ONE_PROCESS: tuple(name for name in ANSWERS if name != COMMUNICATION)}
IMPOSSIBLE = -2.5  # log odds of a cause that the placement leaves no room for: a shared machine, or messages
MISFIT, OFF = 25.0, 0.25  # chi-square over degrees of freedom, and distance (strong), from which nothing is named
CLOSE = 0.7  # of the logarithm of the misfit: the sum of terms follows the times within their noise
LEAST_PART = 0.01
LESS = -0.5  # log odds of contention where processes would send messages
OWN_PART, BOTH = 0.2, 0.95  # of the loss: the least of a second term that has a cause, and of both terms together
CLEARLY = 2.0  # times as likely as a third cause


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """The evidence of one study before the answer: its numbers, where the workers are, and what is shown beside them.

    `parts` are those of the loss by term of the times, `shifts` log odds that measurements beside the study add; `fits`
    says that some sum of terms follows the times, and `outcast` is the one K that none follows.
    """

    record: str
    basis: str
    numbers: Mapping[str, float]
    parts: Mapping[str, float] = field(default_factory=dict)
    known: frozenset[str]
    placed: str = UNKNOWN
    counted: Accounting | ThreadLoss | None = None
    fits: bool = True
    outcast: int | None = None
    shifts: Mapping[str, float] = field(default_factory=dict)

    @property
    def accounting(self) -> Accounting | None:
        return self.counted if isinstance(self.counted, Accounting) else None

    @cached_property
    def chances(self) -> dict[str, float]:
        """The chance of each cause to be the main one."""
        chances = self._chances_by(self.numbers)
        return self.accounting.by_counted_work(chances, as_chances=True) if self.accounting else chances

    def _chances_by(self, numbers: Mapping[str, float]) -> dict[str, float]:
        used = weights(self.record)
        odds = used.log_odds(numbers)
        if self.accounting is None:
            odds = in_place(odds, self.placed)
        if isinstance(self.counted, ThreadLoss):
            beside = weights("threads").log_odds(self.counted.numbers)
            odds = {name: value + beside[name] for name, value in odds.items()}
        odds = {name: value + self.shifts.get(name, 0.0) for name, value in odds.items()}
        return chances_of(odds, floor=used.floor, allowed=POSSIBLE.get(self.placed, ANSWERS))

    @cached_property
    def terms(self) -> dict[str, tuple[float, dict[str, float]]]:
        """The terms of the loss in the times, the largest first: the part that each takes, and the chances of its
        causes, as if it were the whole loss."""
        rest = dict(self.numbers) | {f"loss in {name}": 0.0 for name in evidence_in_times.NAMES}
        found = {}
        for name, part in sorted(self.parts.items(), key=lambda own: -own[1]):
            own = self._chances_by(rest | {f"loss in {name}": 1.0})
            lost = {cause: 0.0 if cause == NONE else chance / (1.0 - own[NONE]) for cause, chance in own.items()}
            found[name] = part / sum(self.parts.values()), lost
        return found

    def shares(self, chances: Mapping[str, float]) -> dict[str, float]:
        """The share of the loss by cause: of each term as its causes are likely, or as the causes are where none is."""
        rest = 1.0 - min(chances[NONE], 1.0 - 1e-9)
        whole = {name: 0.0 if name == NONE else value / rest for name, value in chances.items()}
        parts = self.terms.values() or [(1.0, whole)]
        return {name: sum(part * own[name] for part, own in parts) for name in ANSWERS}

    def second(self, main: str) -> str | None:
        """The likeliest other cause where a constant part is the smaller of two terms that are the loss; else None."""
        first, own = [*list(self.terms.items()), *[("", (0.0, self.chances))] * 2][:2]
        (part, chances), close = own[1], self.numbers.get("misfit", 1.0) < CLOSE
        if not close or own[0] != evidence_in_times.CONSTANT or part < OWN_PART or first[1][0] + part < BOTH:
            return None
        cause, third = sorted((name for name in ANSWERS if name != main), key=lambda name: -chances[name])[:2]
        return cause if chances[cause] >= CLEARLY * chances[third] else None


def in_place(log_odds: Mapping[str, float], placed: str) -> dict[str, float]:
    """The log odds where the placement is known: messages need processes, contention a shared machine."""
    odds = dict(log_odds)
    if placed == APART:
        odds[CONTENTION] += IMPOSSIBLE
    if placed == LOAD:  # what requests queue for is shared
        odds[OTHER] += IMPOSSIBLE
    if placed in (SHARED, ONE_PROCESS, LOAD):
        odds[CONTENTION] = float(np.logaddexp(odds[CONTENTION], odds[COMMUNICATION] + LESS))
        odds[COMMUNICATION] += IMPOSSIBLE
    return odds


def placement_of(study: Study) -> str:
    """Where the workers of a study are, by what was recorded or by the name of K."""
    if is_load(study.k_unit):
        return LOAD
    placed = [run.placement for run in study.runs if run.counts and run.placement is not None]
    spread = bool(placed) and all(len(own.hosts) > 1 and len(set(own.hosts)) == len(own.hosts) for own in placed[-3:])
    if spread or MACHINES.search(study.k_unit):
        return APART
    if _is_one_process(study):
        return ONE_PROCESS
    return SHARED if THREADS.match(study.k_unit) and study.all_k[-1] <= MOST_SHARED else UNKNOWN


def _is_one_process(study: Study) -> bool:
    """Whether one process with a thread for every worker was seen at each K: it sends no messages to itself."""
    seen = [(run.k, run.observed) for run in study.runs if run.counts and run.k > 1]
    return bool(seen) and all(
        len(own.get("affinity") or ()) == 1 and own.get("threads", 0) >= k and not own.get("mpi_libraries")
        for k, own in seen
    )


def weigh(study: Study, shifts: Mapping[str, float]) -> Weighed:
    """The strongest evidence that a study holds: phases, the workers' own times, thread states, or T(K)."""
    weak = study.regime is Regime.WEAK
    recorded, phased = accounts(study), has_phases(study)
    # Workers' own seconds that all equal the run's seconds say no more than T(K) does.
    telling = phased or any(account.inside.max() > 0.02 * account.span for account in recorded)
    repeats = frozenset({"repeats"} if len(study.runs) >= 8 * len(study.all_k) else ())
    if telling and len({account.k for account in recorded}) >= 2:
        by_k = grouped(recorded)
        return Weighed(
            record="phases",
            basis=FROM_PHASES if phased else FROM_OWN_TIMES,
            numbers=evidence_in_phases.evidence(by_k, weak=weak),
            known=repeats | {"phases"} | _known(recorded),
            placed=placement_of(study),
            counted=Accounting(by_k, weak),
            shifts=shifts,
        )
    times = times_by_k(study)
    numbers, parts = evidence_in_times.evidence(times, weak=weak)
    if any(finding.code == "disturbed" for finding in study.findings):
        numbers |= dict.fromkeys(evidence_in_times.OF_THE_SPREAD, 0.0)
    threads = thread_loss(study, weak=weak)
    alone = evidence_in_times.outcast(times, weak=weak)
    strange = 10.0 ** numbers["misfit"] > MISFIT and len(times) > 3
    # Strong curves that no sum follows closely are named as rightly as others with every simulator left out.
    strange = strange and (weak or evidence_in_times.off_by(times, weak=weak) > OFF)
    return Weighed(
        record="times weak" if weak else "times strong",
        basis=FROM_TIMES if threads is None else FROM_THREADS,
        numbers=numbers,
        parts={name: part for name, part in parts.items() if part >= LEAST_PART},
        known=repeats,
        placed=placement_of(study),
        counted=threads,
        fits=not strange and alone is None,
        outcast=alone,
        shifts=shifts,
    )


def grouped(recorded: tuple[Account, ...]) -> evidence_in_phases.Runs:
    """Accounts by K, rising; runs of one K must have the same number of workers."""
    by_k: evidence_in_phases.Runs = {}
    for account in sorted(recorded, key=lambda own: own.k):
        by_k.setdefault(account.k, []).append(account)
    return by_k


def _known(recorded: tuple[Account, ...]) -> set[str]:
    known = {"apart"} if all(evidence_in_phases.tells_apart(account) for account in recorded) else set()
    return known | ({"work"} if all(account.work is not None for account in recorded) else set())
