"""The evidence for one reading of a table: small functions, each a log-likelihood; cells before words.

A function answers one question and knows nothing of the others; `weigh` adds them up.  To teach the reader something
new, add a word to `vocabulary.toml` or a function here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from scalecurve.formats.headers import (
    LOAD_NAMES,
    WORDS,
    WORKER_NOUNS,
    Header,
    Statistic,
    ValueColumn,
    is_of_one_worker,
    k_unit_of,
    pattern,
    printed_ratio,
    value_meaning,
    worker_unit,
)
from scalecurve.formats.tables.candidates import HEADER, Candidate
from scalecurve.formats.tables.cells import are_sizes, numbers_of
from scalecurve.formats.tables.facts import Kind, distinct, is_cpu_time
from scalecurve.study import Quantity, Regime
from scalecurve.study.run import FloatArray

# Where several counts rise together, the one that names what is paid for is K.
UNITS = {"gpus": 0.4, "ranks": 0.3, "processes": 0.3, "workers": 0.3, "cores": 0.35, "threads": 0.0, "nodes": -0.3}
CERTAIN, SURE, LIKELY, HINT = 6.0, 4.0, 2.0, 1.0
CLOSE = 0.05  # how far a printed ratio may be from what follows from the times, on the log scale


def name_of_k(own: Candidate) -> float:
    """Whether the header of K counts workers or the load on a server, or says that the column is something else."""
    if own.k is None:
        return CERTAIN
    head, text = own.view.heads[own.k], own.view.name(own.k)
    if own.view.options.k_column is not None:
        return CERTAIN
    if own.long.how == "product":
        parts = [worker_unit(own.view.name(i)) is not None for i in own.long.parts]
        return CERTAIN + (LIKELY + 0.5 if any(parts) else 0.0)
    if own.long.how == "k-in-headers":
        return _name_of_header_row(own, text)
    if are_sizes(own.view.labels(own.k)) and not any(word in WORKER_NOUNS for word in head.words):  # 3x3, 5x5
        return -LIKELY
    names_noun = re.search(r"[A-Za-z][^A-Za-z]*[A-Za-z]", own.view.labels(own.k)[0]) is not None  # 5p may be particles
    if names_noun and own.view.numbers(own.k).bad.all():  # the cells name what they count: 4 nodes, np=4, 2N8G
        return CERTAIN
    if unit := worker_unit(text):
        return CERTAIN + UNITS.get(unit, 0.0) - (HINT if len(text) == 1 else 0.0)
    if k_unit_of(text):
        return SURE + 0.5
    return _words_of_k(own, head)


def _words_of_k(own: Candidate, head: Header) -> float:
    """The same by the single words of a header that names no count as a whole."""
    if head.says("work", "series", "dated") or head.is_repeat or head.is_count:
        return -LIKELY - HINT
    if any(word in WORKER_NOUNS for word in head.words) and not {*head.words} & {"per", "id"}:
        return SURE - 0.5
    if {*head.words} & WORDS["perhaps_workers"] or _is_t_beside_times(own):
        return LIKELY + 0.5
    if head.says("label", "time", "rate"):
        return -LIKELY - HINT
    return 0.0


def _is_t_beside_times(own: Candidate) -> bool:
    """Whether a column is called t, and another one states the unit of its times: t counts threads there."""
    heads = own.view.heads
    return heads[own.k or 0].words == ("t",) and any(i != own.k and head.unit for i, head in enumerate(heads))


def _name_of_header_row(own: Candidate, text: str) -> float:
    words = own.family.words if own.family else ()
    if own.view.options.k_column == HEADER or k_unit_of(text) not in (None, "workers") or text.lower() == "workers":
        return CERTAIN
    if any(word in WORKER_NOUNS for word in words):
        return SURE + HINT if max(map(len, words)) > 1 else SURE
    return SURE if words else LIKELY - 0.5


def cells_of_k(own: Candidate) -> float:
    """Whether the cells of K look like worker counts: a few small whole numbers, often doubling, often from 1."""
    if own.k is None:
        return 0.0
    counts = own.workers
    values = distinct(counts[np.isfinite(counts)])
    if len(values) < 2:
        return -LIKELY if worker_unit(own.view.name(own.k)) else -CERTAIN
    doubling = np.mean([float(v).is_integer() and (int(v) & (int(v) - 1)) == 0 for v in values])
    score = HINT * float(doubling) + (0.5 if values[0] == 1 else 0.0)
    score -= LIKELY if values[-1] > 1e6 else HINT if values[0] >= 100 else 0.0
    score -= LIKELY * float(np.mean(~np.isfinite(counts)))
    return score - (0.5 if len(values) > 12 and len(values) == len(counts) else 0.0)


def in_order(own: Candidate) -> float:
    """Whether K mostly rises from row to row and is round, as people choose it: 48, 100, 4096; not 567, 655, 668."""
    counts = own.workers[np.isfinite(own.workers)]
    steps = np.diff(counts)
    if own.k is None or not len(steps):
        return 0.0
    is_round = [k <= 32 or k % 8 == 0 or k % 10 == 0 or k % 12 == 0 for k in distinct(counts)]
    rises = 10 * int((steps >= 0).sum()) >= 6 * len(steps)
    return (HINT if rises else -HINT) - (0.0 if np.mean(is_round) > 0.5 else LIKELY)


def product_of_others(own: Candidate) -> float:
    """Whether K is the product of two other columns, as the cores of ranks and threads are."""
    return LIKELY + HINT if own.long.parts and own.long.how != "product" else 0.0


def name_of_value(own: Candidate) -> float:
    """Whether the header of the observations says time or rate, of the whole run, and no summary but the mean."""
    head, meaning = own.value_head, own.meaning
    if own.view.options.value_column is not None:
        return CERTAIN
    if meaning is None:
        laid_out = own.long.value is not None or head.statistic is not None
        return (LIKELY if laid_out else 0.0) + _statistic(head) - (LIKELY if is_setting(own) else 0.0)
    return SURE + _statistic(head) + sum(weight for holds, weight in _said_of_value(own, meaning) if holds)


def _said_of_value(own: Candidate, meaning: ValueColumn) -> tuple[tuple[bool, float], ...]:
    """What the name of a time or a rate says besides, each with what it weighs."""
    head, view, is_time = own.value_head, own.view, meaning.quantity is Quantity.SECONDS
    of_load = own.k is not None and view.name(own.k).lower() in LOAD_NAMES  # against clients a rate is meant
    has_unit = head.unit is not None or view.numbers(own.value).unit is not None
    is_per = "per" in head.words and (is_time or not has_unit)
    is_other = is_cpu_time(view, own.value) or head.says("before") or is_of_one_worker(head.text)
    plain = {*head.base} <= WORDS["time"] | WORDS["whole"] | WORDS["rate"] | WORDS["metric"]
    return (
        (is_time, 0.5),
        (is_time and plain, HINT),
        (has_unit, 0.5 if is_time or not of_load else HINT),
        (head.says("whole") and not head.is_part, LIKELY),
        (head.is_part, -LIKELY - HINT),
        (is_other, -SURE),
        (is_setting(own), -SURE),
        (_is_time_of_day(own), -CERTAIN),
        (meaning.quantity is Quantity.THROUGHPUT_PER_WORKER, -HINT),
        (is_per or "/" in head.text.rstrip(")]s"), -HINT),
        (head.says("one_worker"), -LIKELY),
        (of_load and not is_time, LIKELY + HINT),
        (of_load and is_time and head.says("latency"), -LIKELY),
        (_is_latency_beside_rate(own), -SURE),
        (is_time and _is_of_other_sizes(own), -SURE),
    )


def is_setting(own: Candidate) -> bool:
    """Whether the observations are no measurement: sizes and other settings without a unit, or labels."""
    head = own.value_head
    if own.view.options.value_column is not None or head.unit is not None or own.long.value is not None:
        return False
    settled = own.view.kinds(own.k).get(own.value) in (Kind.CONSTANT, Kind.FACTOR, Kind.REPEAT)
    is_named = head.says("series", "work", "label", "count") or head.is_repeat or bool({*head.words} & {*WORKER_NOUNS})
    return settled or (is_named and (own.meaning is None or not head.says("time", "rate", "latency")))


def _is_of_other_sizes(own: Candidate) -> bool:
    """Whether sizes and times rise with K, and a rate stands beside the time: the rate is comparable."""
    view, kinds = own.view, (Kind.FOLLOWS_K, Kind.MEASURED, Kind.UNCLEAR)
    sizes = any(view.heads[i].says("work") and kind in kinds and view.has_counts(i) for i, kind in own.kinds.items())
    if not sizes or (slope_of(own) or 0.0) <= 0:
        return False
    others = [value_meaning(view.name(i)) for i in range(view.width) if i != own.value]
    return any(one is not None and one.quantity is Quantity.THROUGHPUT for one in others)


def _is_latency_beside_rate(own: Candidate) -> bool:
    """Whether the observations are latencies or percentiles of requests whose rate stands beside them."""
    view, head = own.view, own.value_head
    is_time = own.meaning is not None and own.meaning.quantity is Quantity.SECONDS
    is_latency = head.says("latency") or head.statistic in (Statistic.MEDIAN, Statistic.QUANTILE)
    if not is_time or not is_latency:
        return False
    others = [view.numbers(i).unit or value_meaning(view.name(i)) for i in range(view.width) if i != own.value]
    return any(one is not None and one.quantity is not Quantity.SECONDS for one in others)


def _is_time_of_day(own: Candidate) -> bool:
    """Whether the observations are h:mm:ss beside a column of dates."""
    dated = any("date" in head.words for head in own.view.heads)
    return dated and all(pattern("evidence.clock").fullmatch(label) for label in own.view.labels(own.value)[:20])


def _statistic(head: Header) -> float:
    """The mean stands for several runs; of the ranks of one run the slowest ends it."""
    over_workers = any(word in WORKER_NOUNS and len(word) > 1 for word in head.words)
    if over_workers and head.statistic is Statistic.MAXIMUM:
        return HINT
    weights = {None: 0.0, Statistic.MEAN: 0.3, Statistic.MEDIAN: 0.1, Statistic.MINIMUM: -LIKELY}
    return weights.get(head.statistic, -LIKELY - HINT) - (HINT if over_workers and head.statistic else 0.0)


def cells_of_value(own: Candidate) -> float:
    """Whether the observations are positive numbers that vary, and no worker counts or row numbers."""
    good = own.values[own.usable]
    if not len(good):
        return -LIKELY
    share = len(good) / max(len(own.values), 1)
    is_whole = bool((good == np.floor(good)).all()) and float(good.max()) < 1e4
    score = HINT * share - (0.5 if is_whole and own.meaning is None else 0.0)
    return score - (LIKELY if len(distinct(good)) == 1 and len(good) > 2 else 0.0)


def _ratios(own: Candidate) -> Iterator[tuple[str, FloatArray]]:
    """The columns that print speedups or efficiencies, as numbers; an efficiency in percent as a share."""
    for i, head in enumerate(own.view.heads):
        joined = "".join(head.words)
        kind = "speedup" if "speedup" in joined else "efficiency" if "eff" in joined else printed_ratio(head.text)
        if kind and not has_other_meaning(own, i):
            numbers = numbers_of([label.rstrip("x×% ") for label in own.view.labels(i)], own.view.mark)
            if not numbers.bad.all():
                yield kind, numbers.values


def has_other_meaning(own: Candidate, i: int) -> bool:
    """Whether a column beside the observations is one of times after all."""
    return i in (own.k, own.value) or value_meaning(own.view.name(i)) is not None


def follows_printed_ratio(own: Candidate) -> float:
    """Whether a printed speedup or efficiency follows from these observations at this K, up to its baseline."""
    if own.k is None:
        return 0.0
    if own.meaning is None:
        as_time, as_rate = (follows_as(own, is_rate) for is_rate in (False, True))
        return max(as_time, as_rate) if max(as_time, as_rate) > 0 else 0.0
    return follows_as(own, own.meaning.quantity is not Quantity.SECONDS)


def follows_as(own: Candidate, is_rate: bool) -> float:
    """The same where the observations are rates, or times."""
    score = 0.0
    for kind, printed in _ratios(own):
        with np.errstate(all="ignore"):
            per_k = own.workers if kind == "efficiency" else 1.0
            base = np.log(printed * per_k * (1 / own.values if is_rate else own.values))
            moves = np.log(printed * per_k)
        rows = own.usable & np.isfinite(base)
        rows &= np.isin(own.groups, own.groups[rows][np.bincount(own.groups[rows])[own.groups[rows]] > 1])
        if rows.sum() < 3 or np.ptp(moves[rows]) < 0.1:
            continue
        spread = float(np.median(np.abs(_within(base[rows], own.groups[rows]))))
        beside = min((_apart(base, np.log(other)) for other in _other_times(own)), default=np.inf)
        score += SURE if min(spread, beside) < CLOSE else -LIKELY if spread > 4 * CLOSE else 0.0
    return max(-SURE, min(score, CERTAIN))


def _other_times(own: Candidate) -> Iterator[FloatArray]:
    """The other columns of times, one of which may be the serial time behind a speedup."""
    for i in range(own.view.width):
        if i not in (own.k, own.value) and value_meaning(own.view.name(i)) is not None and own.view.is_numeric(i):
            with np.errstate(invalid="ignore"):
                yield np.where(own.view.numbers(i).values > 0, own.view.numbers(i).values, np.nan)


def _apart(a: FloatArray, b: FloatArray) -> float:
    rows = np.isfinite(a) & np.isfinite(b)
    return float(np.median(np.abs(a[rows] - b[rows]))) if rows.sum() > 2 else np.inf


def _within(values: FloatArray, groups: np.ndarray) -> FloatArray:
    """The values without the mean of their group."""
    count = np.maximum(np.bincount(groups), 1)
    means: FloatArray = (np.bincount(groups, weights=values) / count)[groups]
    return np.subtract(values, means)


def efficiency_is_speedup_per_k(own: Candidate) -> float:
    """Whether a printed efficiency is the printed speedup divided by this K."""
    columns = dict(_ratios(own))
    if len(columns) < 2 or own.k is None:
        return 0.0
    with np.errstate(all="ignore"):
        base = np.log(columns["speedup"] / own.workers / columns["efficiency"])
    rows = np.isfinite(base)
    if rows.sum() < 3 or len(distinct(own.workers[rows])) < 2:
        return 0.0
    return LIKELY + HINT if float(np.ptp(base[rows])) < CLOSE else -HINT


def is_proven_k(own: Candidate) -> bool:
    """Whether printed ratios leave no doubt about K, whatever its name: E = S/K, or E follows from T and K."""
    by_times = any(kind == "efficiency" for kind, _ in _ratios(own)) and follows_printed_ratio(own) > 0
    return by_times or efficiency_is_speedup_per_k(own) > 0


def moves_with_k(own: Candidate) -> float:
    """Whether times fall or stay with K, and rates rise or stay; a time that grows like K is more likely a size."""
    slope = slope_of(own)
    if slope is None:
        return 0.0
    is_rate = own.meaning is not None and own.meaning.quantity is not Quantity.SECONDS
    if own.meaning is None and (own.long.value is None or own.long.how == "curves"):
        return HINT if abs(slope) > 0.3 else 0.0
    falls = -slope if is_rate else slope
    if own.view.options.regime is Regime.WEAK and not is_rate:
        return 0.0
    weight = HINT if own.view.options.k_column or name_of_k(own) >= SURE else 2 * LIKELY
    return HINT if falls < -0.2 else 0.0 if falls < 0.6 else -weight


def slope_of(own: Candidate) -> float | None:
    """The middle slope of log T over log K within the curves; None where no curve has two K."""
    rows = own.usable
    if own.k is None or not rows.any():
        return None
    k, t = np.log(own.workers[rows]), np.log(own.values[rows])
    groups = np.unique(own.groups[rows], return_inverse=True)[1]
    dk, dt = _within(k, groups), _within(t, groups)
    above = np.bincount(groups, weights=dk * dt)
    below = np.bincount(groups, weights=dk * dk)
    slopes = above[below > 1e-9] / below[below > 1e-9]
    return float(np.median(slopes)) if len(slopes) else None


def whole_of_phases(own: Candidate) -> float:
    """Whether the observations are the sum of other columns of times, or exceed all of them."""
    if own.k is None:
        return 0.0
    if own.meaning is None:
        return SURE + LIKELY if sums_up_unnamed(own) else 0.0
    if own.meaning.quantity is not Quantity.SECONDS:
        return 0.0
    head, others = own.value_head, _other_seconds(own, own.meaning.factor)
    if not others:
        return 0.0
    rows = own.usable
    parts = np.nan_to_num(np.array([own.view.numbers(i).values[rows] for i in others]))
    if not rows.any():
        return 0.0
    if len(others) > 1 and np.allclose(parts.sum(axis=0), own.values[rows], rtol=0.03):
        return SURE
    mine = {*head.words} - WORDS["whole"] - WORDS["time"]
    is_whole = head.says("whole") or all(mine < {*own.view.heads[i].words} for i in others)
    if is_whole:
        rivals = head.says("whole") and any(own.view.heads[i].says("whole") for i in others)
        return LIKELY if bool((parts <= own.values[rows] * 1.0001).all()) and not rivals else 0.0
    return 0.0


def _other_seconds(own: Candidate, factor: float) -> list[int]:
    """The other columns of times in the same unit and of the same statistic."""
    return [
        i
        for i in range(own.view.width)
        if i not in (own.k, own.value)
        and own.view.is_numeric(i)
        and own.view.heads[i].statistic == own.value_head.statistic
        and (value := own.view.numbers(i).unit or value_meaning(own.view.name(i))) is not None
        and value.quantity is Quantity.SECONDS
        and np.isclose(value.factor, factor)
    ]


def lacks_whole(own: Candidate) -> list[int]:
    """The other times that are parts of a run as the observations are, where nothing in the table is its whole."""
    head, meaning = own.value_head, own.meaning
    if meaning is None or meaning.quantity is not Quantity.SECONDS or own.long.how == "curves" or head.statistic:
        return []
    plain = WORDS["time"] | WORDS["metric"] | WORDS["whole"]
    if head.says("whole") or {*head.base} <= plain:
        return []
    others = _other_seconds(own, meaning.factor)
    parts = [i for i in others if own.view.heads[i].is_part or is_cpu_time(own.view, i)]
    rows = own.usable
    is_sum = len(others) > 1 and whole_of_phases(own) >= SURE
    has_whole = any(own.view.heads[i].says("whole") or {*own.view.heads[i].base} <= plain for i in others)
    return parts if parts and rows.any() and not is_sum and not has_whole else []


def sums_up_unnamed(own: Candidate) -> bool:
    """Whether columns whose names say nothing are the phases of which the observations are the sum."""
    rows = own.usable
    kinds = own.view.kinds(own.k)
    others = [
        i
        for i in range(own.view.width)
        if i not in (own.k, own.value, *own.long.parts) and kinds.get(i) in (Kind.MEASURED, Kind.FOLLOWS_K)
    ]
    numbers = [own.view.numbers(i).values[rows] for i in others if own.view.is_numeric(i)]
    broken = [own for own in map(np.nan_to_num, numbers) if bool((own != np.floor(own)).any())]
    if len(broken) < 2 or rows.sum() < 3 or bool((own.values[rows] == np.floor(own.values[rows])).all()):
        return False
    return bool(np.allclose(np.sum(broken, axis=0), own.values[rows], rtol=0.03))


def curves_reach_several_k(own: Candidate) -> float:
    """Whether the curves have points at several K, and few rows fall out for want of them."""
    rows = own.usable
    if own.k is None or not rows.any():
        return -LIKELY if own.k is not None else 0.0
    groups = own.groups[rows]
    codes_of_k = codes(own.workers[rows])
    points = np.bincount(distinct(groups * (codes_of_k.max() + 1) + codes_of_k) // (codes_of_k.max() + 1))
    alone = float(np.mean(points[groups] < 2))
    unclear = sum(kind is Kind.UNCLEAR for kind in own.kinds.values())
    return -LIKELY * (1 + HINT) * alone - 0.5 * min(unclear, 3)


def codes(values: FloatArray) -> np.ndarray:
    return np.unique(values, return_inverse=True)[1]


def simple_shape(own: Candidate) -> float:
    """A table is read as it stands unless something speaks for another layout."""
    alike = LIKELY if own.long.how == "curves" else 0.0  # no column like the observations is left aside
    return alike + {"": 0.3, "runs": 0.5}.get(own.long.how, 0.0)


def fixed_duration(own: Candidate) -> float:
    """Whether every run was given the same time, as load generators give it, and a rate stands beside it."""
    is_time = own.meaning is not None and own.meaning.quantity is Quantity.SECONDS
    good = own.values[own.usable]
    if not is_time or len(good) < 3 or own.view.options.value_column is not None or own.k is None:
        return 0.0
    low, high = np.quantile(good, [0.1, 0.7])
    rates = [i for i in range(own.view.width) if i not in (own.k, own.value) and own.view.is_numeric(i)]
    meanings = [value_meaning(own.view.name(i)) for i in rates]
    has_rate = any(one is not None and one.quantity is not Quantity.SECONDS for one in meanings)
    return -SURE if has_rate and high < (1 + CLOSE) * low else 0.0


def known_quantity(own: Candidate) -> Quantity | None:
    """What the observations are where no word says it: phases add up to a time, a printed ratio follows from one."""
    if own.k is None:
        return None
    if sums_up_unnamed(own):
        return Quantity.SECONDS
    as_time, as_rate = (follows_as(own, is_rate) for is_rate in (False, True))
    if max(as_time, as_rate) <= 0 or as_time == as_rate:
        return None
    return Quantity.SECONDS if as_time > as_rate else Quantity.THROUGHPUT


EVIDENCE: tuple[Callable[[Candidate], float], ...] = (
    name_of_k,
    cells_of_k,
    product_of_others,
    name_of_value,
    cells_of_value,
    simple_shape,
    follows_printed_ratio,
    efficiency_is_speedup_per_k,
    moves_with_k,
    whole_of_phases,
    fixed_duration,
    curves_reach_several_k,
)


def weigh(own: Candidate) -> Candidate:
    """The candidate with the sum of the evidence and the largest pieces of it."""
    pieces = {function.__name__: function(own) for function in EVIDENCE}
    largest = sorted(pieces, key=lambda name: -abs(pieces[name]))[:4]
    reasons = tuple(f"{name.replace('_', ' ')} {pieces[name]:+.1f}" for name in largest if abs(pieces[name]) >= 0.5)
    return replace(own, score=sum(pieces.values()), reasons=reasons)
