"""The few causes behind most bends, in words; the measurement that tells them apart; and the way to an answer.

Causes, families of causes and measurements are listed in `causes.toml`.  Evidence is weighed: `weights.json` says for
each kind of record how far each number of the evidence speaks for each cause (log odds, one table a record), learned
from simulated programs whose mechanisms are known and shifted to how often each cause was the measured one in published
studies (`labelled_cases.csv`, unverified).  `tools/calibrate_diagnosis.py` writes it and prints how often the answers
are right on the simulator that was left out.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

_LISTED = tomllib.loads(files(__package__).joinpath("causes.toml").read_text(encoding="utf-8"))
ANSWERS = COMMUNICATION, STRAGGLER, JITTER, IMBALANCE, CONTENTION, SERIAL, REPEATED, OTHER, NONE = (
    "communication", "straggler", "jitter", "imbalance", "contention", "serial", "repeated-work", "other", "none",
)  # fmt: skip
CAUSES = ANSWERS[:-2]
UNDETERMINED = "undetermined"
UNLIKELY = 0.04  # the chance below which a cause is in no set: it costs a set 0.1 % of its coverage
LOAD_CAUSES = (CONTENTION, SERIAL, OTHER, NONE)  # clients do not wait for one another: what they share is in the server
FAMILIES: dict[str, tuple[str, ...]] = {name: tuple(own["members"]) for name, own in _LISTED["families"].items()}
WAITING_CAUSES = FAMILIES["waiting"]
WATCH_SERVER = "watch the server at the largest K: what is always busy is saturated; check the clients' machine too"
MEASURE_AGAIN = "measure again on a quiet machine with a core for every worker, all workers in one job"
PROFILE = "profile one run at the largest K: what was recorded cannot tell more"


def in_words(kind: str, *, load: bool) -> dict[str, str]:
    """The `meaning` or `remedy` of each cause and family, in the words of a job's workers or of a server's clients."""
    listed = _LISTED["causes"] | _LISTED["families"]
    return {name: (_LISTED["load"].get(name, {}) if load else {}).get(kind, own[kind]) for name, own in listed.items()}


@dataclass(frozen=True)
class Measurement:
    """Something to measure, and the groups of causes that it tells apart; see `causes.toml`."""

    text: str
    groups: list[list[str]]
    price: float
    after: str | None = None

    def separates(self, one: str, other: str) -> bool:
        if NONE in (one, other) and [NONE] not in self.groups:  # only repeats tell a loss from noise
            return False
        return self._place(one) != self._place(other)

    def _place(self, cause: str) -> int:
        return next((i for i, group in enumerate(self.groups) if cause in group), -1)


MEASUREMENTS = {key: Measurement(**own) for key, own in _LISTED["measurements"].items()}


def next_measurement(chances: Mapping[str, float], candidates: Collection[str], known: Collection[str]) -> str:
    """The measurement, among those not yet made, that tells most of the candidates apart."""
    best, most = PROFILE, 0.02
    for key, one in MEASUREMENTS.items():
        if key not in known and (one.after is None or one.after in known):
            worth = sum(chances[a] * chances[b] * one.separates(a, b) for a in candidates for b in candidates)
            if worth * (1.0 - one.price) > most:
                best, most = one.text, worth * (1.0 - one.price)
    return best


@dataclass(frozen=True, eq=False)
class Weights:
    """How far each number of the evidence speaks for each cause, for one kind of record.  A set is complete when the
    chances of its causes add up to `covered`; a cause or a family is named from the chance `named` on, a pair of causes
    from `pair` on."""

    evidence: tuple[str, ...]
    table: np.ndarray
    start: np.ndarray
    floor: float
    covered: float
    named: float
    pair: float

    def log_odds(self, numbers: Mapping[str, float]) -> dict[str, float]:
        values = np.array([numbers.get(name, 0.0) for name in self.evidence])
        return dict(zip(ANSWERS, (self.start + values @ self.table).tolist(), strict=True))


@cache
def weights(record: str) -> Weights:
    """The weights for one kind of record."""
    stored = json.loads(files(__package__).joinpath("weights.json").read_text(encoding="utf-8"))[record]
    table = np.array(list(stored["weights"].values()), dtype=np.float64)
    limits = (stored[name] for name in ("floor", "covered", "named", "pair"))
    return Weights(tuple(stored["weights"]), table, np.array(stored["start"]), *limits)


def chances_of(log_odds: Mapping[str, float], *, floor: float, allowed: Collection[str] = ANSWERS) -> dict[str, float]:
    """The chance of each cause; `floor` of the whole is shared evenly: the world has more mechanisms than models."""
    top = max(log_odds[name] for name in allowed)
    raised = {name: float(np.exp(log_odds[name] - top)) if name in allowed else 0.0 for name in ANSWERS}
    total = sum(raised.values())
    return {
        name: (1.0 - floor) * value / total + (floor / len(allowed) if name in allowed else 0.0)
        for name, value in raised.items()
    }


def held_to_loss(chances: Mapping[str, float], lost: float) -> dict[str, float]:
    """No cause is more likely than that anything was lost, a chance of `lost`."""
    claimed = 1.0 - chances[NONE]
    factor = min(1.0, lost / claimed) if claimed > 0 else 1.0
    held = {name: value * factor for name, value in chances.items() if name != NONE}
    return {**held, NONE: 1.0 - sum(held.values())}


@dataclass(frozen=True)
class CauseAnswer:
    """The causes that are stated (one, a family, a pair, or none) with their chance, and those that are still possible;
    `groups` are the same with families as one."""

    cause: str
    stated: tuple[str, ...]
    probability: float
    candidates: tuple[str, ...]
    groups: tuple[str, ...]


def by_family(chances: Mapping[str, float]) -> dict[str, float]:
    """The chances of the families, and of the causes that belong to none."""
    family_of = {member: family for family, members in FAMILIES.items() for member in members}
    groups: dict[str, float] = {}
    for name, chance in chances.items():
        groups[family_of.get(name, name)] = groups.get(family_of.get(name, name), 0.0) + chance
    return groups


def likeliest(chances: Mapping[str, float], covered: float) -> tuple[str, ...]:
    """The names with the largest chances, until these add up to `covered`; beside the first none that is unlikely."""
    ranked = sorted(chances, key=lambda own: -chances[own])
    total = np.cumsum([chances[name] for name in ranked])
    enough = ranked[: int(np.searchsorted(total, covered - 1e-12)) + 1]
    return (enough[0], *(name for name in enough[1:] if chances[name] >= UNLIKELY))


def answer(chances: Mapping[str, float], used: Weights) -> CauseAnswer:
    """The smallest statement that is likely enough: a cause, else a family, else a pair of causes.

    Where none is, the probability is that of the candidates together.
    """
    candidates, families = likeliest(chances, used.covered), by_family(chances)
    groups = likeliest(families, used.covered)
    one, family, pair = candidates[:1], FAMILIES.get(groups[0], ()), sorted(chances, key=lambda own: -chances[own])[:2]
    for cause, stated, least in (
        (one[0], one, 0.0 if len(candidates) == 1 else used.named),
        (groups[0], family, used.named),
        (" or ".join(pair), tuple(pair) if NONE not in pair or len(candidates) == 2 else (), used.pair),
        (UNDETERMINED, (), 0.0),
    ):
        chance = sum(chances[name] for name in stated or candidates)
        if chance >= least and (stated or cause == UNDETERMINED):
            break
    return CauseAnswer(cause, stated, min(chance, 1.0), candidates, groups)
