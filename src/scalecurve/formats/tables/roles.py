"""A role for every column of a table: what varies at one K is a filter, a repeat, a name of a curve, or asked about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, info, warning
from scalecurve.formats.headers import (
    CPU_WORDS,
    FAILED_WORDS,
    GOOD_WORDS,
    LABEL_WORDS,
    SERIES_WORDS,
    STATE_WORDS,
    WORKER_NOUNS,
    Header,
    Statistic,
    counted_per_worker,
    is_split,
    vocabulary,
)
from scalecurve.formats.reading import ColumnUse, ReadOptions, Role
from scalecurve.formats.tables.cells import (
    ABSENT,
    FAILED_MARK,
    NO_RESULT,
    SAMPLE_ROWS,
    CellGrid,
    Cells,
    DecimalMark,
    is_summary,
    labels_of,
    no_result,
    numbers_of,
)
from scalecurve.formats.tables.choice import Chosen
from scalecurve.study import Regime
from scalecurve.study.run import IntArray

_DATED = vocabulary("date datetime timestamp started start end ended finished created when day time")
# What the job is: these must not change with K unless the regime says so.
WORK_WORDS = vocabulary(
    "size sizes problem work batch gbs cells atoms particles tokens elements dof dofs unknowns grid mesh matrix "
    "resolution length rows images samples steps iterations epochs nx ny nz dim dims n m bytes events bodies points"
)
# Names of what is computed: another name at another K is another job.
JOB_WORDS = vocabulary(
    "benchmark bench case kernel function algorithm algo solver dataset data input problem matrix workload scenario "
    "experiment model method strategy approach program application app code routine task query operation op"
)
MACHINE_WORDS = vocabulary("host hostname machine system cluster platform hardware cpu processor arch node")
_WAYS_TO_RUN = vocabulary(
    "serial sequential seq single parallel par multi threaded thread threads core cores openmp omp mpi pthreads "
    "distributed multicore baseline multithreaded"
)
_IDENTIFIER = re.compile(r"\d+|\b[A-Za-z]\b|\b[0-9a-f]{6,}\b|[+-]\d")
_PATH_OR_DATE = re.compile(r".*[/\\].*|.*\.[a-z]{2,4}|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*|\d{1,2}:\d\d.*")
_UNSURE = vocabulary("n m i j x y z id idx index label name group type kind data input column value no nr")
YES = vocabulary("1 true yes y t x 1.0")
NO = vocabulary("0 false no n f 0.0")
EXIT_CODES = vocabulary("exit_code exitcode returncode return_code rc exit")
GOOD_STATES = vocabulary(
    "ok okay pass passed success successful succeeded complete completed done finished good valid true yes normal "
    "verified converged ✓ ✔ ✅"
)
BAD_STATES = vocabulary(
    "fail failed failure error errored timeout timedout timed_out crash crashed cancelled canceled killed "
    "aborted abort oom out_of_memory node_fail invalid bad skipped no false preempted "
    "unsuccessful diverged wrong incorrect mismatch not_converged nan ✗ ✘ ✖ ❌"
)
# Words that judge a run whatever their column is called; yes and no answer any question.
PASSED = vocabulary("ok okay pass passed success successful succeeded completed")
NOT_PASSED = BAD_STATES - vocabulary("no false bad skipped nan ✗ ✘ ✖ ❌")
WARM = vocabulary("warmup warm_up warming warm cold_start")
MEASURED = vocabulary("measure measured measurement timed run benchmark bench steady real hot main test")
_FILLERS = vocabulary("is has was run job test did the")
_NOTES = vocabulary("note notes comment comments remark remarks message info observation observations")
_WARM_MARK = re.compile(r"\bwarm(?:ing)?[\s_-]?up\b|\bdiscard(?:ed)?\b", re.IGNORECASE)
_RETRIED = re.compile(r"\b(?:first|1st|then|re-?ran|re-?run|retr(?:y|ied)|again|try|attempts?|worked)\b", re.IGNORECASE)

SPREAD_OR_MEAN = (Statistic.DEVIATION, Statistic.SPREAD, Statistic.MEAN)

Mask = npt.NDArray[np.bool_]


@dataclass
class TableWork:
    """What is settled of a table so far; `keep` marks the rows that are measurements."""

    grid: CellGrid
    options: ReadOptions
    mark: DecimalMark
    chosen: Chosen
    heads: Sequence[Header]
    keep: Mask
    uses: dict[int, ColumnUse] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def use(self, i: int, role: Role, why: str) -> None:
        self.uses[i] = ColumnUse(self.grid.headers[i].strip(), role, why)

    def name(self, i: int) -> str:
        return self.grid.headers[i].strip()


def filter_rows(work: TableWork) -> None:
    """Leave out the rows that a column marks as failed or as warm-up; a mark that is not understood is asked about."""
    faults = []
    for i, head in enumerate(work.heads):
        if i in (work.chosen.k, work.chosen.value):
            continue
        if not head.is_repeat and not may_filter(head, work.grid.columns[i]):
            continue
        labels = labels_of(work.grid.columns[i])
        verdicts = _without_summaries(labels) if head.is_repeat else keeps(head, labels)
        if verdicts is None:
            continue
        values = work.grid.columns[work.chosen.value]
        unclear = [
            label
            for label, value in zip(labels, values, strict=True)
            if verdicts[label] is None and not no_result(value)
        ]
        if unclear:
            remedy = "remove those rows, or write ok or failed"
            faults.append(
                Fault(f"the column {work.name(i)} does not say which rows count", value=unclear[0], remedy=remedy)
            )
            continue
        good = np.array([verdicts[label] is not False for label in labels], dtype=bool)
        dropped = int((~good).sum())
        words = ", ".join(sorted(label or "(empty)" for label, verdict in verdicts.items() if verdict is False)[:5])
        work.use(i, Role.FILTER, f"{dropped} rows left out ({words})" if dropped else "no row left out")
        if dropped:
            name = work.name(i) or f"column {i + 1}"
            text = f"{dropped} of {work.grid.rows} rows were left out: {name} is {words}"
            work.findings.append(warning("rows-left-out", text, column=work.name(i), count=dropped))
        work.keep &= good
    if faults:
        raise FormatError(faults)
    if not work.keep.any():
        raise FormatError(Fault("no run succeeded", remedy="a study needs at least one observation"))


def settle_others(work: TableWork, workers: IntArray) -> tuple[list[int], list[int]]:
    """A role for every other column: those that tell curves apart, and those that vary although they are ignored."""
    faults: list[Fault] = []
    unaccounted: list[int] = []
    settled = {work.chosen.k, work.chosen.value, *work.uses}
    left = [i for i, head in enumerate(work.heads) if i not in settled and not _is_spread_or_count(work, i, head)]
    places = np.unique(workers, return_inverse=True)[1] if left else workers
    for i in left:
        head = work.heads[i]
        if head.is_repeat:
            work.use(i, Role.REPEAT, "numbers the repeats")
            continue
        labels = labels_of(work.grid.columns[i])
        if not work.keep.all():
            labels = [label for label, kept in zip(labels, work.keep, strict=True) if kept]
        if head.says(SERIES_WORDS) and labels[0] and "" in labels:
            labels = _filled_down(work, i)
        codes = codes_of(labels)
        faults += _other_regime(work, i, labels)
        if codes.max() == 0:
            work.use(i, Role.CONSTANT, f"the same in every row: {labels[0][:60] or '(empty)'}")
        elif not _varies(codes, places):
            work.use(i, Role.IGNORED, "one value at each K")
            faults += _change_with_k(work, i, dict(zip(workers.tolist(), labels, strict=True)))
        elif i in work.chosen.candidates or _is_measurement(head):
            work.use(i, Role.IGNORED, "another measurement of the same runs")
        elif head.says(MACHINE_WORDS) and _pairs(codes, places) == (codes.max() + 1) * (places.max() + 1):
            work.use(i, Role.SERIES, f"tells {codes.max() + 1} curves apart")
        elif head.says(LABEL_WORDS) and not head.says(SERIES_WORDS) and not _counts_workers(work, head, labels):
            work.use(i, Role.IGNORED, "a label that tells no curves apart")
            unaccounted += [] if head.says(_DATED) else [i]
        else:
            _settle_by_cells(work, i, labels, places, unaccounted, faults)
    if faults:
        raise FormatError(faults)
    return [i for i, use in work.uses.items() if use.role is Role.SERIES], unaccounted


def _other_regime(work: TableWork, i: int, labels: list[str]) -> list[Fault]:
    """The fault where a column calls rows strong and others weak, or names the other regime than the user."""
    named = {label.lower().removesuffix("scaling").strip(" -_") for label in labels}
    regime = work.options.regime
    if work.options.series is not None or not named <= {"strong", "weak"} or named == {regime and regime.value}:
        return []
    if len(named) == 1 and regime is None:
        return []
    remedy = "choose the rows with --series strong or --series weak, and say their --regime"
    text = f"the column {work.name(i)} states the regime of each row"
    return [Fault(text, value=", ".join(sorted(named)), remedy=remedy)]


def _change_with_k(work: TableWork, i: int, by_k: dict[int, str]) -> list[Fault]:
    """What is said of a column that changes with K and names the machine or the program; another job is a fault."""
    head, name, regime = work.heads[i], work.name(i), work.options.regime
    if i in work.chosen.candidates or _is_measurement(head) or head.statistic is not None:
        return []
    pairs = ", ".join(f"{k}: {by_k[k][:40] or '(empty)'}" for k in sorted(by_k)[:8])
    if work.chosen.k is not None and is_split(work.name(work.chosen.k), name) and work.options.k_column is None:
        text = f"the column {name} counts workers too, and changes with K: their product may be K"
        return [
            Fault(text, value=pairs, remedy="add a column with the number of all workers, or name K with --k-column")
        ]
    if counted_per_worker(name):
        return []
    if head.says(MACHINE_WORDS):
        text = f"the machine changes with K, by the column {name} ({pairs}): K and the machine cannot be told apart"
        work.findings.append(warning("machine-changes", text, remedy="measure every K on one machine", column=name))
    elif head.says(JOB_WORDS) and regime is not Regime.WEAK and _names_jobs(work, by_k):
        remedy = f"keep the rows of one {name}, or rename the column to `note` if the job is the same at every K"
        return [Fault(f"different jobs were run at different K, by the column {name}", value=pairs, remedy=remedy)]
    elif head.says(WORK_WORDS) and regime is not Regime.WEAK:
        text = f"{name} changes with K ({pairs}); under strong scaling the job must stay the same"
        remedy = "if it is the problem size, the regime is weak; else keep the rows of one job"
        work.findings.append(warning("parameter-changes", text, remedy=remedy, column=name))
    elif (head.says(SERIES_WORDS) and not head.says(WORK_WORDS)) or (
        not head.says(LABEL_WORDS) and _names_jobs(work, by_k)
    ):
        text = f"{name} changes with K ({pairs}): what it does cannot be told apart from what K does"
        remedy = "keep it the same at every K, where it can be chosen"
        work.findings.append(info("parameter-changes", text, remedy=remedy, column=name))
    return []


def _names_jobs(work: TableWork, by_k: dict[int, str]) -> bool:
    """Whether the labels name jobs: words that are neither numbered, nor made of K, nor ways to run one job."""
    labels = list(by_k.values())
    words = {word for label in labels for word in re.findall(r"[a-z]+", label.lower())}
    with_k = all(str(k) in re.findall(r"\d+", label) for k, label in by_k.items())
    return _are_words(work, labels) and not with_k and not words <= _WAYS_TO_RUN


def _are_words(work: TableWork, labels: Sequence[str]) -> bool:
    """Whether labels are words that somebody chose: no numbers, dates or paths, and not one word that is numbered."""
    filled = [label for label in labels if label not in ABSENT]
    if 2 * len(filled) <= len(labels) or not numbers_of(filled, work.mark).bad.all():
        return False
    names = {_IDENTIFIER.sub("#", label) for label in filled}
    is_chosen = len(names) > 1 and any(sign.isalpha() for name in names for sign in name)
    return is_chosen and not any(_PATH_OR_DATE.fullmatch(label) for label in filled)


def _settle_by_cells(
    work: TableWork, i: int, labels: list[str], places: npt.NDArray[Any], unaccounted: list[int], faults: list[Fault]
) -> None:
    """What the cells of a column that varies at one K are: the names of curves, or another value in every row."""
    head, codes = work.heads[i], codes_of(labels)
    if work.options.series is None and _numbers_rows(head, labels, places):
        text = f"the column {work.name(i)} numbers the rows of each K: they may be repeats or different curves"
        remedy = f"rename {work.name(i)} to `repeat`, or to `series`"
        faults.append(Fault(text, value=labels[0], remedy=remedy))
    elif _tells_apart(head, codes, places):
        work.use(i, Role.SERIES, f"tells {codes.max() + 1} curves apart")
    elif _counts_workers(work, head, labels):
        text = f"the column {work.name(i)} counts workers too, and varies at one K: these are different splits"
        remedy = "keep the rows of one split, or name the split in one column instead of these"
        faults.append(Fault(text, value=labels[0], remedy=remedy))
    elif (
        _are_words(work, labels)
        or (
            numbers_of(labels, work.mark).bad.all() and 2 * _pairs(codes, places) <= len(codes)
        )  # words that name groups
        or (head.says(SERIES_WORDS) and not numbers_of(labels, work.mark).bad.any())
    ):
        text = f"the column {work.name(i)} varies at one K, and no value of it was measured at two K"
        remedy = f"keep the rows of one curve, or rename {work.name(i)} to `repeat` if the rows are repeats"
        faults.append(Fault(text, value=labels[0], remedy=remedy))
    else:
        work.use(i, Role.IGNORED, "another value in nearly every row")
        unaccounted.append(i)


def _counts_workers(work: TableWork, head: Header, labels: list[str]) -> bool:
    """Whether a column holds counts of workers, also for each node or rank: `threads`, `ranks_per_node`, `ppn`."""
    named = any(word in WORKER_NOUNS or word in ("ppn", "tpn", "tpp") for word in head.words)
    return named and not numbers_of(labels, work.mark).bad.any()


def _pairs(codes: IntArray, places: npt.NDArray[Any]) -> int:
    """How many different values of a column were measured at each K, added up over all K."""
    return len(np.unique(codes * (int(places.max()) + 1) + places))


def _numbers_rows(head: Header, labels: list[str], places: npt.NDArray[Any]) -> bool:
    """Whether a column whose name says nothing counts the rows of each K: 1, 2, 3 or 0, 1, 2."""
    if set(head.words) - _UNSURE and head.says(SERIES_WORDS):
        return False
    numbers: dict[int, list[str]] = {}
    for place, label in zip(places.tolist(), labels, strict=True):
        numbers.setdefault(place, []).append(label)
    first = labels[0]
    return first in ("0", "1") and all(
        same == [str(int(first) + j) for j in range(len(same))] for same in numbers.values()
    )


def _filled_down(work: TableWork, i: int) -> list[str]:
    """The labels of a column whose name stands only in the first row of each block."""
    filled: list[str] = []
    for label in labels_of(work.grid.columns[i]):
        filled.append(label or filled[-1])
    columns = list(work.grid.columns)
    columns[i] = filled
    work.grid = replace(work.grid, columns=tuple(columns))
    text = f"empty cells of the column {work.name(i)} were taken to repeat the name above them"
    work.findings.append(info("filled-down", text, column=work.name(i)))
    return [label for label, kept in zip(filled, work.keep, strict=True) if kept]


def _is_spread_or_count(work: TableWork, i: int, head: Header) -> bool:
    """Note spreads, extremes and counts that belong to the observations."""
    if head.statistic in (Statistic.DEVIATION, Statistic.SPREAD):
        work.use(i, Role.SPREAD, f"the {head.statistic} of the observations")
    elif head.statistic is not None and i in work.chosen.candidates:
        work.use(i, Role.SPREAD, f"the {head.statistic} beside the observations")
    elif (
        head.is_count
        and (head.words != ("n",) or any(other.statistic in SPREAD_OR_MEAN for other in work.heads))
        and not numbers_of(work.grid.columns[i]).bad.any()
    ):
        work.use(i, Role.COUNT, "how many runs stand behind each row")
    return i in work.uses


def _is_measurement(head: Header) -> bool:
    return head.is_derived or bool(head.other_unit) or head.says(CPU_WORDS) or head.unit is not None


def codes_of(labels: Sequence[str]) -> IntArray:
    """Each label as the number of its first appearance."""
    memo = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return np.fromiter(map(memo.__getitem__, labels), dtype=np.int64, count=len(labels))


def _varies(codes: IntArray, places: npt.NDArray[Any]) -> bool:
    """Whether a column has two values at one K."""
    first = np.zeros(int(places.max()) + 1, dtype=np.int64)
    first[places] = codes
    return bool((codes != first[places]).any())


def _tells_apart(head: Header, codes: IntArray, places: npt.NDArray[Any]) -> bool:
    """Whether the values of a column return at several K, as the names of curves do and measurements do not."""
    pairs = np.unique(codes * (int(places.max()) + 1) + places)
    at = np.bincount(pairs // (int(places.max()) + 1))
    if not (at > 1).any() or (head.says(SERIES_WORDS) is False and len(at) > max(2, len(codes) / 2)):
        return False
    return bool(at[codes].mean() >= min(2, int(places.max()) + 1))


def _without_summaries(labels: Sequence[str]) -> dict[str, bool | None] | None:
    """For each number of a run that it is one, and for avg, mean or a warm-up that it is none; None without any."""
    verdicts: dict[str, bool | None] = {
        label: not is_summary(label) and not _WARM_MARK.search(label) for label in set(labels)
    }
    return verdicts if not all(verdicts.values()) and any(verdicts.values()) else None


def _marks_rows(head: Header) -> bool:
    """Whether a column's name says that it marks rows: warm-up, failed, status."""
    words = {word for word in head.words if word not in _FILLERS}
    return bool(words and (words & WARM or words <= FAILED_WORDS or words <= GOOD_WORDS | STATE_WORDS))


def may_filter(head: Header, cells: Cells) -> bool:
    """Whether a column can mark rows: by its name, as notes, or by few values that are words."""
    if not isinstance(cells, np.ndarray) and _holds_notes(head):
        return True
    few = not isinstance(cells, np.ndarray) and len(set(cells[:SAMPLE_ROWS])) <= len(WARM | MEASURED)
    return _marks_rows(head) or few


def keeps(head: Header, labels: Sequence[str]) -> dict[str, bool | None] | None:
    """For each label whether its rows are measurements (None: it does not say); None where this is no such column."""
    words = {word for word in head.words if word not in _FILLERS}
    marks = set(labels)
    if _holds_notes(head):
        return _judged_notes(marks)
    if head.unit is not None or head.other_unit or (not _marks_rows(head) and len(marks) > len(WARM | MEASURED)):
        return None
    distinct = {label: label.strip().lower().replace("-", "_").replace(" ", "_") for label in marks}
    if words & WARM or (words and words <= FAILED_WORDS):
        # A number that is neither 0 nor 1 is a size (0.03, 2 %) or a count (11 failed requests), not a mark.
        if any(re.match(r"[\d.]+", plain) and plain not in YES | NO for plain in distinct.values()):
            return None
        return {label: plain in NO or plain in ABSENT for label, plain in distinct.items()}
    if words and words <= GOOD_WORDS | STATE_WORDS:
        judge = {label: _is_good(words, plain) for label, plain in distinct.items()}
        return judge if any(verdict is not None for verdict in judge.values()) else None
    judged = set(distinct.values())
    if judged & PASSED and judged & NOT_PASSED and judged <= PASSED | NOT_PASSED | ABSENT:
        return {label: plain in PASSED for label, plain in distinct.items()}
    if set(distinct.values()) & WARM and set(distinct.values()) <= WARM | MEASURED:
        return {label: plain not in WARM for label, plain in distinct.items()}
    return None


def _holds_notes(head: Header) -> bool:
    """Whether a column is one of remarks: by its name, or because it has none."""
    return not head.words or set(head.words) <= _NOTES


def _judged_notes(marks: set[str]) -> dict[str, bool | None] | None:
    """For each note whether its rows are measurements: not beside `crashed (OOM)`, unclear beside `node 7 crashed`."""
    plain = {label: label.strip(" .!()[]*").lower() for label in marks}
    words = NO_RESULT - {"x", "✗", "❌"} | {"total", "sum"}
    failed = {label: FAILED_MARK.search(note) for label, note in plain.items() if not _RETRIED.search(note)}
    bad = {label for label, note in plain.items() if note in words or _WARM_MARK.match(note)}
    bad |= {label for label, match in failed.items() if match and match.start() == 0 and match["ends"] is not None}
    unclear = {label for label in marks - bad if failed.get(label) or _WARM_MARK.search(label)}
    return {label: None if label in unclear else label not in bad for label in marks} if bad | unclear else None


def _is_good(words: set[str], plain: str) -> bool | None:
    if words & EXIT_CODES:
        return plain in ("0", "0.0") if plain.lstrip("-").replace(".", "", 1).isdecimal() else None
    if plain in GOOD_STATES:
        return True
    if plain in BAD_STATES or plain in WARM or plain.split("_")[0] in BAD_STATES:
        return False
    if words & GOOD_WORDS:
        return True if plain in YES else False if plain in NO else None
    return None
