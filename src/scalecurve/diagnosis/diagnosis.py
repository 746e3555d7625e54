"""Why a curve bends: what was recorded is counted, the rest is weighed, and the answer says how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scalecurve.analysis.curve import curve_of, thinned, times_by_k
from scalecurve.diagnosis import evidence_in_phases, evidence_in_times
from scalecurve.diagnosis.accounting import ACCEPTABLE, Accounting, PopMetrics, account_for
from scalecurve.diagnosis.causes import (
    ANSWERS,
    LOAD_CAUSES,
    LOAD_MEANINGS,
    LOAD_REMEDIES,
    MEANINGS,
    MEASURE_AGAIN,
    NONE,
    OTHER,
    REMEDIES,
    UNDETERMINED,
    WATCH_SERVER,
    answer,
    chances_of,
    held_to_loss,
    next_measurement,
    weights,
)
from scalecurve.diagnosis.extensions import Extensions, extensions_of
from scalecurve.diagnosis.phases import Account, accounts, has_phases
from scalecurve.diagnosis.thread_states import ThreadLoss, thread_loss
from scalecurve.document import (
    Answer,
    Block,
    Cell,
    Column,
    Document,
    FindingList,
    JsonRecord,
    Paragraph,
    Result,
    Tone,
    table,
)
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, Severity, info, warning
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study import Regime, Study
from scalecurve.study.study import is_load

MOST_DIAGNOSED = 64  # worker counts
NEGLIGIBLE = 0.03  # a loss below 3 % of the worker-seconds is no bend
MISFIT = 25.0  # chi-square over degrees of freedom from which no sum of terms follows the times
POOR = 0.6  # a POP efficiency
SMALL_SHARE = 0.05
DISTURBANCES = (
    "disturbed",
    "oversubscribed",
    "singletons",
    "starved",
)  # findings of a measurement that leave no cause to name
DISTURBED, LACK_OF_FIT = "disturbed", "lack of fit"
FROM_TIMES, FROM_PHASES, FROM_OWN_TIMES = "samples of T(K) only", "phases of every worker", "the workers' own times"
FROM_THREADS = "T(K) and the states of the threads"
IN_WORDS = {OTHER: "something without a name here", NONE: "no loss at all"}
_POP_ROWS = (
    ("global efficiency", "global_efficiency"),
    ("- parallel efficiency", "parallel_efficiency"),
    ("  - load balance", "load_balance"),
    ("  - communication efficiency", "communication_efficiency"),
    ("    - serialisation efficiency", "serialisation_efficiency"),
    ("    - transfer efficiency", "transfer_efficiency"),
    ("- computation scalability", "computation_scalability"),
)


@dataclass(frozen=True, kw_only=True)
class Cause(JsonRecord):
    """One cause: its share of the lost worker-time at the largest K, and the chance that it is the largest one.

    `share_low` to `share_high` holds the share with a chance of 90 %, as far as the evidence can tell causes apart.
    """

    name: str
    share: float
    share_low: float
    share_high: float
    probability: float


@dataclass(frozen=True, kw_only=True)
class CauseRow:
    """One K: shares of the lost worker-time by cause (with `none` they add up to 1), mean seconds of a worker by kind,
    and shares of all worker-seconds with their 90 % intervals (share, low, high)."""

    k: int
    efficiency: float
    shares: Mapping[str, float]
    seconds: Mapping[str, float] = field(default_factory=dict)
    worker_time: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    pop: PopMetrics | None = None

    def to_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {"k": self.k, "efficiency": self.efficiency, "shares": dict(self.shares)}
        counted = {
            part: dict(zip(("share", "low", "high"), own, strict=True)) for part, own in self.worker_time.items()
        }
        row |= {"seconds": dict(self.seconds) or None, "worker_time": counted or None}
        return row | {"pop": self.pop.to_dict() if self.pop else None}


def in_words(probability: float) -> str:
    """A probability as people say it."""
    levels = (
        (0.98, "almost certain"),
        (0.9, "very likely"),
        (0.75, "likely"),
        (0.5, "more likely than not"),
        (0.0, "the likeliest"),
    )
    return next(words for least, words in levels if probability >= least)


def either(words: list[str]) -> str:
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


@dataclass(frozen=True, kw_only=True, repr=False)
class Diagnosis(Result):
    """The cause of the bend, or the set that holds it; `basis` says what was looked at.

    `cause` is "undetermined" unless one cause is likely enough alone.  `candidates` are the causes that are still
    possible, the likeliest first; they hold the true one with the chance `probability`.  `separate_by` is the one
    measurement, not yet made, that tells them apart.  `reason` is "disturbed" or "lack of fit" where nothing can be
    said at all.  `counted` is what was counted, in a sentence.
    """

    name: str
    k_unit: str
    regime: str
    cause: str
    probability: float
    candidates: tuple[str, ...]
    separate_by: str | None
    reason: str | None
    basis: str
    causes: tuple[Cause, ...]
    by_k: tuple[CauseRow, ...]
    counted: str | None
    evidence: tuple[str, ...]
    findings: tuple[Finding, ...]

    JSON = (
        "name regime cause probability candidates separate_by reason basis counted causes by_k evidence remedy findings"
    )

    @property
    def remedy(self) -> str:
        if self.cause == UNDETERMINED:
            return self.separate_by or MEASURE_AGAIN
        return (REMEDIES | LOAD_REMEDIES if is_load(self.k_unit) else REMEDIES)[self.cause]

    @property
    def meanings(self) -> Mapping[str, str]:
        """What each cause is, in the words of the job: workers that share it, or clients of a server."""
        return MEANINGS | LOAD_MEANINGS if is_load(self.k_unit) else MEANINGS

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        at = f"at K = {self.by_k[-1].k}"
        if self.reason == DISTURBED:
            return f"No cause named: {self._disturbance}."
        if self.reason == LACK_OF_FIT:
            return "No cause named: the times follow no mechanism, and no sum of two, that has a name here."
        lost = f"{max(0.0, 1 - self.by_k[-1].efficiency):.0%} of worker time is lost {at}"
        if self.cause == NONE:
            return f"Nothing is lost beyond the noise up to K = {self.by_k[-1].k}."
        if self.candidates[0] == NONE:
            return f"Perhaps nothing is lost beyond the noise: E = {self.by_k[-1].efficiency:.2f} {at}."
        if self.counted is not None:
            return self.counted
        if self.cause != UNDETERMINED:
            return f"{self.cause.capitalize()}: {lost} to {self.meanings[self.cause].split(' (')[0]}."
        words = either([IN_WORDS.get(name, name) for name in self.candidates[:3]])
        return f"{words.capitalize()}: {lost}."

    @property
    def _disturbance(self) -> str:
        """What disturbed the runs, with its size where it is known."""
        found = {own.code: own.evidence for own in self.findings if own.code in DISTURBANCES}
        cores = found.get("disturbed", {}).get("foreign_cores")
        if isinstance(cores, int | float):
            return f"other programs used {cores:.1f} of your cores"
        if "starved" in found:
            return f"the workers waited for a core {found['starved']['share']:.0%} of worker time"
        words = {
            "disturbed": "the runs were disturbed",
            "singletons": "the runs seem to be K copies of a job of size 1",
        }
        return next((words[code] for code in found if code in words), "there were more workers than cores")

    @property
    def answer(self) -> Answer:
        if self.reason is not None:
            return Answer(decision=self.sentence, next=self.remedy)
        if self.cause == UNDETERMINED:
            likely = self.causes[0]
            first = f"{IN_WORDS.get(likely.name, likely.name).capitalize()} is {in_words(likely.probability)}"
            rest = either([IN_WORDS.get(name, name) for name in self.candidates[1:4]])
            confidence = f"{first} ({likely.probability:.0%}), else {rest}."
        else:
            confidence = f"{self.cause.capitalize()} is {in_words(self.probability)} the main cause."
        reason = self.evidence[0] if self.evidence else None
        return Answer(decision=self.sentence, confidence=confidence, reason=reason, next=self.remedy)

    @property
    def ruled_out(self) -> tuple[str, ...]:
        """The causes outside the set, in the order of their chances; none where nothing can be said."""
        return tuple(c.name for c in self.causes if c.name not in self.candidates) if self.reason is None else ()

    def records(self) -> list[dict[str, Any]]:
        return [
            {
                "k": row.k,
                "efficiency": row.efficiency,
                **{f"share_{name}": row.shares.get(name, 0.0) for name in ANSWERS},
                **(row.pop.to_dict() if row.pop else {}),
            }
            for row in self.by_k
        ]

    def body(self) -> Document:
        blocks: list[Block] = []
        details: list[Block] = [Paragraph(sentence) for sentence in self.evidence[1:]]
        if any(row.worker_time for row in self.by_k):
            (blocks if self.reason is None else details).append(self._worker_time())
        if self.reason is None:
            blocks.append(self._causes())
            if self.basis not in (
                FROM_TIMES,
                FROM_THREADS,
            ):  # from times alone shares would show the models, not the runs
                meanings = [(c.name, self.meanings[c.name]) for c in self.causes]
                details += [self._shares(), table([Column("cause", "left"), Column("meaning", "left")], meanings)]
        if all(row.pop for row in self.by_k):
            details.append(self._pop())
        shown = tuple(own for own in self.findings if own.severity is not Severity.INFO)
        details.append(FindingList(tuple(own for own in self.findings if own.severity is Severity.INFO)))
        title = f"{self.name}: why the curve bends"
        return Document(title, (*blocks, FindingList(shown)), details=tuple(details))

    def _causes(self) -> Block:
        shown = [c for c in self.causes if c.name in self.candidates or c.share >= SMALL_SHARE]
        if self.basis in (FROM_TIMES, FROM_THREADS):
            rows = [(c.name, f"{min(c.probability, 0.99):.0%}", self.meanings[c.name]) for c in shown]
            return table([Column("cause", "left"), "chance", Column("meaning", "left")], rows)
        heads: list[Column | str] = [Column("cause", "left"), "chance", "share of the loss", "90 %"]
        own = [
            (c.name, f"{min(c.probability, 0.99):.0%}", f"{c.share:.0%}", f"{c.share_low:.0%} to {c.share_high:.0%}")
            for c in shown
        ]
        return table(heads, own)

    def _worker_time(self) -> Block:
        parts = [
            name for name in self.by_k[-1].worker_time if any(row.worker_time[name][2] > 0.005 for row in self.by_k)
        ]
        rows = [
            [str(row.k), f"{row.efficiency:.2f}", *(_interval(row.worker_time[name]) for name in parts)]
            for row in self.by_k
        ]
        return table([f"K ({self.k_unit})", "E", *parts], rows, caption="Shares of worker time, 90 % intervals")

    def _shares(self) -> Block:
        shown = [c for c in self.causes if c.name in self.candidates or c.share_high >= SMALL_SHARE]
        rows = [
            [str(row.k), f"{row.efficiency:.3f}", *(f"{row.shares.get(c.name, 0.0):.0%}" for c in shown)]
            for row in self.by_k
        ]
        caption = "Shares of the lost worker-time at each K"
        return table([f"K ({self.k_unit})", "E", *(c.name for c in shown)], rows, caption=caption)

    def _pop(self) -> Block:
        cells = []
        for title, name in _POP_ROWS:
            values = [getattr(row.pop, name) for row in self.by_k]
            if any(value is not None for value in values):
                cells.append([Cell(title), *(_graded(value) for value in values)])
        columns = [Column("POP metric", "left"), *(Column(str(row.k)) for row in self.by_k)]
        caption = (
            f"POP efficiencies by K; {ACCEPTABLE} and above is acceptable. They count the phases of the parallel "
            "program alone: time outside phases is useful to them"
        )
        return table(columns, cells, caption=caption)


def _interval(own: tuple[float, float, float]) -> str:
    share, low, high = own
    return f"{share:.0%}" if high - low < 0.02 else f"{share:.0%} ({low:.0%}-{high:.0%})"


def _graded(value: float | None) -> Cell:
    if value is None:
        return Cell("-")
    tone: Tone = "good" if value >= ACCEPTABLE else "warn" if value >= POOR else "bad"
    return Cell(f"{value:.2f}", tone)


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """The evidence of one study before the answer: log odds by cause, and what is shown beside them."""

    record: str
    basis: str
    log_odds: Mapping[str, float]
    known: frozenset[str]
    accounting: Accounting | None = None
    threads: ThreadLoss | None = None
    misfit: float = 0.0
    numbers: Mapping[str, float] = field(default_factory=dict)


def diagnose(
    study: StudyLike,
    *,
    regime: str | None = None,
    extended_by: Mapping[str, StudyLike] | None = None,
) -> Diagnosis:
    """Why the curve bends, from the strongest evidence in a study: phases, workers' own times, thread states, or T(K).

    `extended_by` are measurements that an earlier diagnosis advised, by what they are: "spread" (the same K with fewer
    workers on each node), "network" (the collectives alone), "baseline" (the smallest K measured again).
    """
    study = as_study(study, regime=regime)
    extra = extensions_of(study, extended_by or {})
    study = thinned(extra.study, MOST_DIAGNOSED)
    if len(study.all_k) < 2:
        fault = Fault("a diagnosis needs at least two worker counts", remedy="measure another K")
        raise InputError(fault, subject=study.name)
    weighed = weigh(study)
    log_odds = extra.shift(weighed.log_odds)
    used = weights(weighed.record)
    load = is_load(study.k_unit)
    chances = chances_of(log_odds, floor=used.floor, allowed=LOAD_CAUSES if load else ANSWERS)
    weak = study.regime is Regime.WEAK
    chances = held_to_loss(chances, evidence_in_times.loss_chance(times_by_k(study), weak=weak, beyond=NEGLIGIBLE))
    verdict = answer(chances, used.covered)
    rows = _rows(study, weighed, chances)
    findings = (*study.findings, *_findings(study, weighed, verdict.candidates), *extra.findings)
    codes = {finding.code for finding in findings}
    reason = None
    if codes & set(DISTURBANCES) or any(run.oversubscribed for run in study.runs if run.counts):
        reason = DISTURBED
    elif weighed.misfit > MISFIT and verdict.cause != NONE:
        reason = LACK_OF_FIT
    separate_by = None
    if verdict.cause == UNDETERMINED:
        known = weighed.known | extra.known
        separate_by = WATCH_SERVER if load else next_measurement(chances, verdict.candidates, known)
    result = Diagnosis(
        name=study.name,
        k_unit=study.k_unit,
        regime=str(study.regime),
        cause=verdict.cause,
        probability=verdict.probability,
        candidates=verdict.candidates,
        separate_by=separate_by,
        reason=None,
        basis=weighed.basis,
        causes=_causes(chances, rows, weighed),
        by_k=rows,
        counted=_counted(study, weighed, verdict.candidates[0]),
        evidence=tuple(_evidence(study, weighed, extra)),
        findings=findings,
    )
    return result if reason is None else _refused(result, reason)


def weigh(study: Study) -> Weighed:
    """The log odds of the causes from the strongest evidence that a study holds."""
    weak = study.regime is Regime.WEAK
    recorded = accounts(study)
    phased = has_phases(study)
    # Workers' own seconds that all equal the run's seconds say no more than T(K) does.
    telling = phased or any(account.inside.max() > 0.02 * account.span for account in recorded)
    repeats = frozenset({"repeats"} if len(study.runs) >= 8 * len(study.all_k) else ())
    if telling and len({account.k for account in recorded}) >= 2:
        by_k = grouped(recorded)
        numbers = evidence_in_phases.evidence(by_k, weak=weak)
        known = repeats | {"phases"} | _known(recorded)
        return Weighed(
            record="phases",
            basis=FROM_PHASES if phased else FROM_OWN_TIMES,
            log_odds=weights("phases").log_odds(numbers),
            known=known,
            accounting=account_for(by_k, weak=weak),
            numbers=numbers,
        )
    times = times_by_k(study)
    numbers = evidence_in_times.evidence(times, weak=weak)
    record = "times weak" if weak else "times strong"
    log_odds = weights(record).log_odds(numbers)
    threads = thread_loss(study, weak=weak)
    basis = FROM_TIMES
    if threads is not None:
        basis, log_odds = FROM_THREADS, threads.shift(log_odds)
    misfit = 10.0 ** numbers["misfit"] if len(times) > 3 else 0.0
    return Weighed(
        record=record, basis=basis, log_odds=log_odds, known=repeats, threads=threads, misfit=misfit, numbers=numbers
    )


def grouped(recorded: tuple[Account, ...]) -> evidence_in_phases.Runs:
    """Accounts by K, rising; runs of one K must have the same number of workers."""
    by_k: evidence_in_phases.Runs = {}
    for account in sorted(recorded, key=lambda own: own.k):
        by_k.setdefault(account.k, []).append(account)
    return by_k


def _known(recorded: tuple[Account, ...]) -> set[str]:
    known = set()
    if all(evidence_in_phases.tells_apart(account) for account in recorded):
        known.add("apart")
    if all(account.work is not None for account in recorded):
        known.add("work")
    return known


def _rows(study: Study, weighed: Weighed, chances: Mapping[str, float]) -> tuple[CauseRow, ...]:
    curve = curve_of(study)
    efficiencies = dict(zip(curve.k.tolist(), curve.efficiency.tolist(), strict=True))
    own = weighed.accounting
    rows = []
    for k, efficiency in efficiencies.items():
        lost = k != study.baseline_k and efficiency < 1.0 - NEGLIGIBLE
        shares = dict.fromkeys(ANSWERS, 0.0) | {NONE: 1.0}
        if lost and own is not None and k in own.by_k:
            shares = own.shares(k, chances)
        elif lost:
            named = {name: value + 1e-9 for name, value in chances.items() if name != NONE}
            shares = {name: value / sum(named.values()) for name, value in named.items()} | {NONE: 0.0}
        counted: Mapping[str, tuple[float, float, float]] = (
            own.worker_time(k) if own is not None and k in own.by_k else {}
        )
        if weighed.threads is not None:
            counted = weighed.threads.by_k.get(k, {})
        rows.append(
            CauseRow(
                k=k,
                efficiency=efficiency,
                shares=shares,
                seconds=own.seconds(k) if own is not None and k in own.by_k else {},
                worker_time=counted,
                pop=own.pop(k) if own is not None and k in own.by_k else None,
            )
        )
    return tuple(rows)


def _causes(chances: Mapping[str, float], rows: tuple[CauseRow, ...], weighed: Weighed) -> tuple[Cause, ...]:
    causes = []
    for name in ANSWERS:
        share = rows[-1].shares.get(name, 0.0)
        low, high = (0.0 if chances[name] < 0.95 else 0.5), (1.0 if chances[name] > 0.05 else 0.5 * (share > 0))
        if weighed.accounting is not None:
            low, high = weighed.accounting.share_interval(name, chances)
        causes.append(
            Cause(
                name=name,
                share=share,
                share_low=min(low, share),
                share_high=max(high, share),
                probability=chances[name],
            )
        )
    return tuple(sorted(causes, key=lambda own: (-own.probability, -own.share)))


def _counted(study: Study, weighed: Weighed, cause: str) -> str | None:
    """What was counted at the largest K, in a sentence about the cause; None where nothing was."""
    if weighed.accounting is not None and cause != NONE:
        return weighed.accounting.sentence(cause, study.k_unit)
    if weighed.threads is not None and cause != NONE:
        return weighed.threads.sentence(cause, study.k_unit)
    return None


def _evidence(study: Study, weighed: Weighed, extra: Extensions) -> list[str]:
    sentences = list(extra.sentences)
    if weighed.accounting is not None:
        return [*weighed.accounting.sentences(), *sentences]
    if weighed.threads is not None:
        sentences += weighed.threads.sentences()
    return [*sentences, *_shape_sentences(study, weighed.numbers)]


def _shape_sentences(study: Study, numbers: Mapping[str, float]) -> list[str]:
    """What the times show, in sentences."""
    terms = {name: numbers[f"loss in {name}"] for name in evidence_in_times.NAMES}
    leading = sorted((name for name in terms if terms[name] >= 0.15), key=lambda name: -terms[name])
    words = [f"{name} ({terms[name]:.0%})" for name in leading[:3]]
    shape = f"The loss grows as {either(words)}" if words else "No term stands out in the loss"
    spreads = {k: float(v.std(ddof=1) / v.mean()) for k, v in times_by_k(study).items() if len(v) > 1}
    if spreads:
        values = list(spreads.values())
        band = f"repeats spread by {min(values):.1%} to {max(values):.1%}"
        shape += f"; {band}" + (" and more at large K" if numbers["spread grows"] > 0.25 else "")
    return [shape + "."]


def _findings(study: Study, weighed: Weighed, candidates: tuple[str, ...]) -> list[Finding]:
    """What a reader must know beside the answer."""
    findings: list[Finding] = []
    if weighed.accounting is not None:
        findings += weighed.accounting.findings(candidates)
    if weighed.threads is not None:
        findings += weighed.threads.findings()
    if is_load(study.k_unit):
        message = f"K counts {study.k_unit} of a server: they share no job, so only what they share in it can cost time"
        findings.append(info("load-on-a-server", message))
    times = times_by_k(study)
    findings += evidence_in_times.slow_run_findings(times)
    curve = curve_of(study)
    above = {k: e for k, e in zip(curve.k.tolist(), curve.efficiency.tolist(), strict=True) if e > 1.02}
    if above and weighed.accounting is None:
        listed, most = ", ".join(map(str, above)), max(above.values())
        findings.append(
            warning(
                "superlinear",
                f"E is above 1 at K = {listed} (at most {most:.4g}): there is no loss to explain there",
                remedy="check the baseline, caches and memory: a slow K0 makes every other K look good",
                efficiencies={str(k): e for k, e in above.items()},
            )
        )
    if min(len(values) for values in times.values()) < 3 and weighed.accounting is None:
        findings.append(
            info("few-repeats", "fewer than 3 repeats at a K say little of the noise", remedy="repeat 5 times")
        )
    return findings


def _refused(judged: Diagnosis, reason: str) -> Diagnosis:
    """The same without a cause: every one alike, and what to do instead."""
    even = 1.0 / (len(ANSWERS) - 1)
    causes = tuple(
        replace(own, share_low=0.0, share_high=1.0, probability=0.0 if own.name == NONE else even)
        for own in judged.causes
    )
    findings = judged.findings
    if reason == LACK_OF_FIT:
        findings = (
            *findings,
            warning(
                "lack-of-fit",
                "no sum of the terms that have a name follows these times",
                remedy="record where each worker's time goes, and look for a K that ran elsewhere or otherwise",
            ),
        )
    advice = MEASURE_AGAIN
    if reason == LACK_OF_FIT:
        advice = WATCH_SERVER if is_load(judged.k_unit) else "record phases (scalecurve.probe), and check each K"
    return replace(
        judged,
        cause=UNDETERMINED,
        probability=1.0,
        candidates=tuple(name for name in ANSWERS if name != NONE),
        separate_by=advice,
        reason=reason,
        causes=causes,
        counted=None,
        findings=findings,
    )
