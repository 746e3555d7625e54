"""Why a curve bends: what was recorded is counted, the rest is weighed, and the answer says how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scalecurve.analysis.checks import doubts
from scalecurve.analysis.curve import curve_of, thinned, times_by_k
from scalecurve.diagnosis import evidence_in_times
from scalecurve.diagnosis.accounting import ACCEPTABLE, PopMetrics
from scalecurve.diagnosis.causes import (
    ANSWERS,
    FAMILIES,
    MEASURE_AGAIN,
    NONE,
    OTHER,
    UNDETERMINED,
    WATCH_SERVER,
    answer,
    by_family,
    held_to_loss,
    in_words,
    next_measurement,
    weights,
)  # fmt: skip
from scalecurve.diagnosis.extensions import Extensions, extensions_of
from scalecurve.diagnosis.thread_states import CORE, STARVED, ThreadLoss, starved_share, without_starvation
from scalecurve.diagnosis.weighing import FROM_THREADS, FROM_TIMES, Weighed, weigh
from scalecurve.document import (
    MEASURE_NEXT,
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
)  # fmt: skip
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, Severity, info, warning
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study import Regime, Study
from scalecurve.study.study import is_load
from scalecurve.words import chance_words, unit_words

MOST_DIAGNOSED = 64  # worker counts
NEGLIGIBLE = 0.03  # a loss below 3 % of the worker-seconds is no bend
POOR = 0.6  # a POP efficiency
SMALL_SHARE = 0.1
DISTURBANCES = {  # findings of a measurement that leave no cause to name
    "disturbed": "the runs were disturbed",
    "oversubscribed": "there were more workers than cores",
    "singletons": "the runs seem to be K copies of a job of size 1",
    "starved": "the workers waited for a core {share:.0%} of worker time",
}
DISTURBED, LACK_OF_FIT, NOISE = "disturbed", "lack of fit", "noise"
IN_WORDS = {OTHER: "unknown", NONE: "no loss at all", "slower-compute": "slower compute"}
SURE, CLEAR = 0.9, 0.95  # chances: that of a cause, and that anything was lost
NOISY = 0.1  # a relative standard deviation of repeats that hides losses
REPEAT = f"repeat every K five times or more: {MEASURE_NEXT}"
WORTH_A_REMEDY = 0.75  # the chance from which work on the cause comes before another measurement
GROWING = {"log2 K": "a part that grows with every doubling", "K": "a part that grows with every worker"}
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
    """One cause: its share of the lost worker-time at the largest K, and the chance that it is the largest one."""

    name: str
    share: float
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


def _said(name: str) -> str:
    return IN_WORDS.get(name, name)


def either(words: list[str]) -> str:
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


@dataclass(frozen=True, kw_only=True, repr=False)
class Diagnosis(Result):
    """The cause of the bend, or the set that holds it; `basis` says what was looked at.

    `cause` is one of CAUSES, a family of them ("waiting", "slower-compute"), a pair ("serial or communication"), or
    "undetermined"; `stated` are its causes and `probability` their chance, or that of all candidates where it is
    undetermined.  `candidates` are the causes that are still possible,
    the likeliest first, and `groups` the same with families as one.  `second` is the cause of another term of the
    times, which adds to the main one.  `separate_by` is the one measurement, not yet made, that tells them apart.
    `reason` is "disturbed", "lack of fit" or "noise" where no cause can be named.  `repeats_spread` is the largest
    relative standard deviation of the repeats of a K; None without repeats.  `counted` is what was counted, in a
    sentence.
    """

    name: str
    k_unit: str
    regime: str
    cause: str
    stated: tuple[str, ...]
    probability: float
    candidates: tuple[str, ...]
    groups: tuple[str, ...]
    second: str | None
    separate_by: str | None
    reason: str | None
    repeats_spread: float | None
    basis: str
    causes: tuple[Cause, ...]
    by_k: tuple[CauseRow, ...]
    counted: str | None
    evidence: tuple[str, ...]
    findings: tuple[Finding, ...]

    REFUSAL = "No cause can be named"
    JSON = (  # fmt: skip
        "name regime cause stated probability candidates groups second separate_by reason basis counted causes by_k "
        "evidence remedy findings"
    )

    @property
    def remedy(self) -> str:
        if self.cause == NONE and (self.repeats_spread or 0.0) > NOISY:
            return REPEAT
        remedies = in_words("remedy", load=is_load(self.k_unit))
        return remedies.get(self.cause) or self.separate_by or MEASURE_AGAIN

    @property
    def meanings(self) -> Mapping[str, str]:
        """What each cause is, in the words of the job: workers that share it, or clients of a server."""
        return in_words("meaning", load=is_load(self.k_unit))

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        at = f"at K = {self.by_k[-1].k}"
        if self.reason == DISTURBED:
            return f"No cause named: {self._disturbance}."
        if self.reason == LACK_OF_FIT:
            return f"No cause named: {next(own.message for own in self.findings if own.code == 'lack-of-fit')}."
        if self.reason == NOISE:
            lost = f"{max(0.0, 1 - self.by_k[-1].efficiency):.0%}"
            return f"No cause can be named: a loss of {lost} {at} is not clear of the noise; {self._noise}."
        if self.cause == NONE:
            waited = self.by_k[-1].worker_time.get(CORE, (0.0,))[0]
            beside = f" and the waiting for cores ({waited:.0%} of worker time)" if waited > NEGLIGIBLE else ""
            noise = f", but {self._noise}" if (self.repeats_spread or 0.0) > NOISY else ""
            return f"Nothing is lost beyond the noise{beside} up to K = {self.by_k[-1].k}{noise}."
        if self.counted is not None:
            return self.counted
        lost = f"{max(0.0, 1 - self.by_k[-1].efficiency):.0%} of worker time is lost {at}"
        if is_load(self.k_unit):
            lost = f"{at} each gets {self.by_k[-1].efficiency:.0%} of what it gets at K = {self.by_k[0].k}"
        return f"{self._named[:1].upper()}{self._named[1:]}: {lost}."

    @property
    def _noise(self) -> str:
        known = self.repeats_spread is not None
        return f"repeats spread by up to {self.repeats_spread:.1%}" if known else "no K was repeated"

    @property
    def _named(self) -> str:
        """What is stated, with its chance; else the groups of causes that are possible."""
        if self.cause == UNDETERMINED:
            chances = by_family({one.name: one.probability for one in self.causes})
            return either([f"{_said(name)} ({chances[name]:.0%})" for name in self.groups[:3]])
        probably = "" if self.probability >= SURE else f", probably ({self.probability:.0%})"
        named = either([_said(name) for name in self.stated]) if len(self.stated) == 2 else _said(self.cause)
        return f"{named}{probably}" + (f", then {_said(self.second)}" if self.second else "")

    @property
    def _disturbance(self) -> str:
        """What disturbed the runs, with its size where it is known."""
        found = {own.code: own.evidence for own in self.findings if own.code in DISTURBANCES}
        cores = found.get("disturbed", {}).get("foreign_cores")
        if isinstance(cores, int | float):
            return f"other programs used {cores:.1f} of your cores"
        code = next(iter(found), "oversubscribed")
        places = found.get(code, {}).get("k") or [self.by_k[-1].k]
        return f"{DISTURBANCES[code].format(**found.get(code, {}))} (K = {', '.join(map(str, places))})"

    def believes(self, doubt: Finding) -> bool:
        return self.counted is not None or doubt.evidence.get("kind") == "slower-everywhere"

    @property
    def answer(self) -> Answer:
        if self.reason is not None:
            return Answer(decision=self.sentence, next=self.remedy)
        open_question = len(self.stated) > 1 or self.probability < WORTH_A_REMEDY
        following = (self.separate_by if open_question else None) or self.remedy
        reason = self.evidence[0] if self.evidence else None
        return Answer(decision=self.sentence, confidence=self._how_sure(), reason=reason, next=following)

    def _how_sure(self) -> str:
        """How likely the cause is, and the finer question: which others, or which of its family, it may be."""
        if self.cause == NONE:
            return f"That nothing is lost has probability {chance_words(self.probability)}."
        if len(self.candidates) == 1:
            return (
                f"{_said(self.cause).capitalize()} is the main cause with probability {chance_words(self.probability)}."
            )
        likely = self.causes[0]
        if self.cause in FAMILIES:
            own = [f"{c.name} ({c.probability:.0%})" for c in self.causes if c.name in self.stated]
            return (
                f"{_said(self.cause).capitalize()}: {self._meaning(self.cause)}; open is whether it is {either(own)}."
            )
        if len(self.stated) == 2:
            meant = "; ".join(f"{_said(name)}: {self._meaning(name)}" for name in self.stated)
            return f"{meant[:1].upper()}{meant[1:]}."
        if self.cause == UNDETERMINED and likely.name != NONE:
            return "What was recorded cannot tell these apart."
        rest = either([_said(name) for name in self.candidates if name not in (likely.name, NONE)][:3])
        return f"{_said(likely.name).capitalize()}: {self._meaning(likely.name)}; else the cause is {rest}."

    def _meaning(self, cause: str) -> str:
        return self.meanings[cause].split(" (")[0]

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
            if self._counts:
                details.append(self._shares())
        if all(row.pop for row in self.by_k):
            details.append(self._pop())
        shown = tuple(own for own in self.findings if own.severity is not Severity.INFO)
        details.append(FindingList(tuple(own for own in self.findings if own.severity is Severity.INFO)))
        title = f"{self.name}: why the curve bends"
        return Document(title, (*blocks, FindingList(shown)), details=tuple(details))

    @property
    def _counts(self) -> bool:
        """Whether shares were counted: from times alone they are those of terms, as far as their causes are likely."""
        return self.basis not in (FROM_TIMES, FROM_THREADS)

    def _causes(self) -> Block:
        heads = [Column("cause", "left"), Column("chance"), Column("share of the loss"), Column("meaning", "left")]
        shown = 3 if self._counts else 4  # what was counted says what it is above the table
        rows = [
            (c.name, f"{min(c.probability, 0.99):.0%}", f"{c.share:.0%}", self.meanings[c.name])[:shown]
            for c in self.causes
            if c.name in self.candidates or (c.share >= SMALL_SHARE and self.candidates[0] != NONE)
        ]
        return table(heads[:shown], rows)

    def _worker_time(self) -> Block:
        parts = [part for part in self.by_k[-1].worker_time if any(r.worker_time[part][2] > 0.005 for r in self.by_k)]
        rows = [
            [str(row.k), f"{row.efficiency:.2f}", *(_interval(row.worker_time[part]) for part in parts)]
            for row in self.by_k
        ]
        return table(
            [f"K ({unit_words(self.k_unit)})", "E", *parts], rows, caption="Shares of worker time, 90 % intervals"
        )

    def _shares(self) -> Block:
        shown = [c for c in self.causes if c.name in self.candidates or c.share >= SMALL_SHARE]
        rows = [
            [str(row.k), f"{row.efficiency:.3f}", *(f"{row.shares.get(c.name, 0.0):.0%}" for c in shown)]
            for row in self.by_k
        ]
        caption = "Shares of the lost worker-time at each K"
        return table([f"K ({unit_words(self.k_unit)})", "E", *(c.name for c in shown)], rows, caption=caption)

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


def diagnose(
    study: StudyLike,
    *,
    regime: str | None = None,
    extended_by: Mapping[str, StudyLike] | None = None,
) -> Diagnosis:
    """Why the curve bends, from the strongest evidence in a study: phases, workers' own times, thread states, or T(K).

    Parameters
    ----------
    study
        A study in any form that `load` takes.
    regime
        "strong" or "weak", for a study that does not state it.
    extended_by
        Measurements that an earlier diagnosis advised, by what they are: "spread" (the same K with fewer workers on
        each node), "network" (the collectives alone), "baseline" (the smallest K measured again).

    Returns
    -------
    Diagnosis
        The causes with their probabilities, and what would tell them apart.

    Raises
    ------
    InputError
        The study cannot be read.

    Examples
    --------
    >>> import scalecurve as sc
    >>> found = sc.diagnose({1: 100.0, 2: 60.0, 4: 40.0, 8: 30.0, 16: 25.0}, regime="strong")
    >>> sorted(cause.name for cause in found.causes[:2])
    ['communication', 'serial']
    """
    study = as_study(study, regime=regime)
    extra = extensions_of(study, extended_by or {})
    study = without_starvation(thinned(extra.study, MOST_DIAGNOSED))
    if len(study.all_k) < 2:
        fault = Fault("a diagnosis needs at least two worker counts", remedy="measure another K")
        raise InputError(fault, subject=study.name)
    weighed = weigh(study, extra.shifts)
    used, load = weights(weighed.record), is_load(study.k_unit)
    lost = evidence_in_times.loss_chance(times_by_k(study), weak=study.regime is Regime.WEAK, beyond=NEGLIGIBLE)
    chances = held_to_loss(weighed.chances, lost)
    verdict = answer(chances, used)
    rows = _rows(study, weighed, chances)
    separate_by = None
    if len(verdict.candidates) > 1:
        known = weighed.known | extra.known
        separate_by = WATCH_SERVER if load else next_measurement(chances, verdict.candidates, known)
    counted = None
    if weighed.counted is not None and verdict.candidates[0] != NONE:
        cause = verdict.cause if verdict.cause in FAMILIES else verdict.candidates[0]
        if verdict.cause == UNDETERMINED and weighed.accounting is not None:
            cause = weighed.accounting.largest_loss
        counted = weighed.counted.sentence(cause, study.k_unit)
    result = Diagnosis(
        name=study.name,
        k_unit=study.k_unit,
        regime=str(study.regime),
        cause=verdict.cause,
        stated=verdict.stated,
        probability=verdict.probability,
        candidates=verdict.candidates,
        groups=verdict.groups,
        second=weighed.second(verdict.cause) if len(verdict.stated) == 1 else None,
        separate_by=separate_by,
        reason=None,
        repeats_spread=max(_spreads(study).values(), default=None),
        basis=weighed.basis,
        causes=_causes(chances, rows),
        by_k=rows,
        counted=counted,
        evidence=tuple(_evidence(study, weighed, extra)),
        findings=(*doubts(study), *study.findings, *_findings(study, weighed, verdict.candidates), *extra.findings),
    )
    if _is_disturbed(study, result):
        return _refused(result, DISTURBED)
    if verdict.cause != NONE and (lost < CLEAR or NONE in verdict.candidates):
        again = REPEAT if rows[-1].efficiency < 1.0 - 2.0 * NEGLIGIBLE else in_words("remedy", load=load)[NONE]
        return replace(result, cause=UNDETERMINED, stated=(), reason=NOISE, separate_by=again, counted=None)
    return result if weighed.fits or verdict.cause == NONE else _refused(result, LACK_OF_FIT, weighed.outcast)


def _spreads(study: Study) -> dict[int, float]:
    """The relative standard deviation of the repeats of each K that has some."""
    return {k: float(v.std(ddof=1) / v.mean()) for k, v in times_by_k(study).items() if len(v) > 1}


def _is_disturbed(study: Study, result: Diagnosis) -> bool:
    """Whether the runs measured something else: more workers than cores, copies of one job, or other programs.

    Cores that others used are no disturbance where the job's own threads hardly waited for one; where they did, what is
    left without that waiting must name a cause.
    """
    codes = {finding.code for finding in result.findings}
    if codes & DISTURBANCES.keys() - {"disturbed"} or any(run.oversubscribed for run in study.runs if run.counts):
        return True
    if "disturbed" not in codes:
        return False
    share = starved_share(study)
    if share is None or (share > STARVED and result.basis != FROM_THREADS):
        return True
    return share > STARVED and result.cause in (UNDETERMINED, NONE)


def _rows(study: Study, weighed: Weighed, chances: Mapping[str, float]) -> tuple[CauseRow, ...]:
    curve, counted, own = curve_of(study), weighed.counted, weighed.accounting
    by_terms, rows = weighed.shares(chances), []
    for k, efficiency in zip(curve.k.tolist(), curve.efficiency.tolist(), strict=True):
        row = CauseRow(k=k, efficiency=efficiency, shares=dict.fromkeys(ANSWERS, 0.0) | {NONE: 1.0})
        lossy = k != study.baseline_k and efficiency < 1.0 - NEGLIGIBLE
        if own is not None and k in own.by_k:
            shares = own.shares(k, chances) if lossy else row.shares
            row = replace(row, shares=shares, seconds=own.seconds(k), pop=own.pop(k))
        elif lossy:
            row = replace(row, shares=counted.shares(chances) if isinstance(counted, ThreadLoss) else by_terms)
        rows.append(replace(row, worker_time=counted.worker_time(k) if counted is not None else {}))
    return tuple(rows)


def _causes(chances: Mapping[str, float], rows: tuple[CauseRow, ...]) -> tuple[Cause, ...]:
    shares = rows[-1].shares
    causes = [Cause(name=name, share=shares.get(name, 0.0), probability=chance) for name, chance in chances.items()]
    return tuple(sorted(causes, key=lambda own: (-own.probability, -own.share)))


def _evidence(study: Study, weighed: Weighed, extra: Extensions) -> list[str]:
    sentences = [*extra.sentences, *(weighed.counted.sentences() if weighed.counted is not None else ())]
    return sentences if weighed.accounting is not None else [*sentences, *_shape_sentences(study, weighed)]


def _shape_sentences(study: Study, weighed: Weighed) -> list[str]:
    """What the times show, in sentences."""
    leading = [(name, weighed.parts[name]) for name in weighed.terms if weighed.parts[name] >= 0.15][:3]
    words = [f"{GROWING.get(name, name)} ({part:.0%})" for name, part in leading]
    is_sum = len(words) == 2 and evidence_in_times.CONSTANT in dict(leading)
    joined = " and ".join(words) if is_sum else either(words) if words else ""
    shape = f"The loss is {joined}" if words else "No term stands out in the loss"
    values = list(_spreads(study).values())
    if values:
        band = f"repeats spread by {min(values):.1%} to {max(values):.1%}"
        shape += f"; {band}" + (" and more at large K" if weighed.numbers["spread grows"] > 0.25 else "")
    return [shape + "."]


def _findings(study: Study, weighed: Weighed, candidates: tuple[str, ...]) -> list[Finding]:
    """What a reader must know beside the answer."""
    findings: list[Finding] = []
    if weighed.counted is not None:
        findings += weighed.counted.findings(candidates)
    if is_load(study.k_unit):
        message = f"K counts {study.k_unit} of a server: they share no job, so only what they share in it can cost time"
        findings.append(info("load-on-a-server", message))
    times = times_by_k(study)
    findings += evidence_in_times.slow_run_findings(times)
    curve = curve_of(study)
    above = {k: e for k, e in zip(curve.k.tolist(), curve.efficiency.tolist(), strict=True) if e > 1.02}
    if above and weighed.accounting is None:
        listed, most = ", ".join(map(str, above)), max(above.values())
        message = f"E is above 1 at K = {listed} (at most {most:.4g}): there is no loss to explain there"
        remedy = "check the baseline, caches and memory: a slow K0 makes every other K look good"
        findings.append(warning("superlinear", message, remedy=remedy, efficiencies={str(k): above[k] for k in above}))
    if min(len(values) for values in times.values()) < 3 and weighed.accounting is None:
        message = "fewer than 3 repeats at a K say little of the noise"
        findings.append(info("few-repeats", message, remedy="repeat 5 times"))
    return findings


def _refused(judged: Diagnosis, reason: str, outcast: int | None = None) -> Diagnosis:
    """The same without a cause: every one alike, and what to do instead."""
    even = 1.0 / (len(ANSWERS) - 1)
    causes = tuple(replace(own, probability=0.0 if own.name == NONE else even) for own in judged.causes)
    findings, advice = judged.findings, MEASURE_AGAIN
    if reason == LACK_OF_FIT:
        message = "no sum of the terms that have a name follows these times"
        remedy = "record where each worker's time goes, and look for a K that ran elsewhere or otherwise"
        advice = WATCH_SERVER if is_load(judged.k_unit) else "record phases (scalecurve.probe), and check each K"
        if outcast is not None:
            message = f"K = {outcast} is slower than the K around it; without it a sum of terms follows the times"
            advice = f"measure K = {outcast} again, and look for what differed there"
        findings = (*findings, warning("lack-of-fit", message, remedy=remedy))
    return replace(
        judged,
        cause=UNDETERMINED,
        stated=(),
        probability=1.0,
        candidates=tuple(name for name in ANSWERS if name != NONE),
        groups=tuple(by_family(dict.fromkeys(ANSWERS[:-1], 1.0))),
        separate_by=advice,
        reason=reason,
        causes=causes,
        counted=None,
        findings=findings,
    )
