"""The role of every column beside K and the observations: what tells curves apart, follows K, or is asked about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from scalecurve.errors import Fault
from scalecurve.findings import info, warning
from scalecurve.formats.headers import counted_per_worker, is_split, pattern, value_meaning, worker_unit
from scalecurve.formats.reading import Role
from scalecurve.formats.tables.candidates import column_named, telling_apart
from scalecurve.formats.tables.cells import ABSENT, numbers_of
from scalecurve.formats.tables.evidence import slope_of
from scalecurve.formats.tables.facts import Kind, codes_of, has_spread, kind_of
from scalecurve.formats.tables.kept_rows import kept_labels
from scalecurve.formats.tables.meanings import RISES
from scalecurve.formats.tables.shapes import MODEL
from scalecurve.formats.tables.work import TableWork
from scalecurve.study import Quantity, Regime
from scalecurve.study.run import IntArray

GROWS = 0.3  # slope of log T over log K at which a count beside K is more likely the size of the job
_PLAIN_ROLES = {
    Kind.CONSTANT: (Role.CONSTANT, "the same in every row"),
    Kind.REPEAT: (Role.REPEAT, "numbers the repeats"),
    Kind.FOLLOWS_K: (Role.IGNORED, "one value at each K"),
    Kind.LABEL: (Role.IGNORED, "a label that tells no curves apart"),
    Kind.MEASURED: (Role.IGNORED, "another measurement of the same runs"),
}


def settle_others(work: TableWork, workers: IntArray) -> dict[str, list[str]]:
    """A role for every other column; the labels of those that tell curves apart, by name, of the rows kept."""
    settled = {work.chosen.k, work.chosen.value, *work.uses, *work.chosen.long.parts}
    ignored = {column_named(work.grid.headers, name, "--ignore") for name in work.options.ignore}
    left = [i for i in range(work.view.width) if i not in settled]
    places = np.unique(workers, return_inverse=True)[1] if left else workers
    is_time = work.chosen.meaning is not None and work.chosen.meaning.quantity is Quantity.SECONDS
    rises = is_time and (slope_of(work.chosen) or 0.0) > GROWS
    open_ones: dict[Kind, dict[int, list[str]]] = {Kind.FACTOR: {}, Kind.UNCLEAR: {}}
    for i in left:
        if i in ignored:
            work.use(i, Role.IGNORED, "left out by --ignore")
            continue
        labels = kept_labels(work, i)
        if work.head(i).says("series") and labels[0] and "" in labels:
            labels = _filled_down(work, i, labels)
        kind = kind_of(work.view, i, labels, places)
        if kind is not Kind.FACTOR and _is_spread_or_count(work, i):
            continue
        if kind in open_ones:
            open_ones[kind][i] = labels
            continue
        role, why = _PLAIN_ROLES[kind]
        work.use(i, role, f"{why}: {labels[0][:60] or '(empty)'}" if kind is Kind.CONSTANT else why)
        if kind is Kind.FOLLOWS_K:
            _change_with_k(work, i, dict(zip(workers.tolist(), labels, strict=True)), rises)
    factors = _without_outcomes(work, places, open_ones[Kind.FACTOR])
    return _name_curves(work, workers, places, factors, open_ones[Kind.UNCLEAR])


def _without_outcomes(work: TableWork, places: IntArray, factors: dict[int, list[str]]) -> dict[int, list[str]]:
    """The factors without numbers that vary from repeat to repeat: what came out of a run is no setting of it.

    Where numbered repeats and the factors that stand at every K part all rows already, nothing else set them.
    """
    repeats = [kept_labels(work, i) for i, use in work.uses.items() if use.role is Role.REPEAT]
    for i, labels in list(factors.items()):
        if any(len(set(zip(labels, own, strict=True))) == len(set(labels)) for own in repeats) and not _is_whole(
            labels
        ):
            work.use(i, Role.IGNORED, "one value for each repeat")
            del factors[i]
    crossed = {i: labels for i, labels in factors.items() if _stands_at_every_k(labels, places)}
    rest = [i for i in factors if i not in crossed and work.view.is_numeric(i)]
    if not repeats or not rest or not all(_stands_at_every_k(labels, places) for labels in repeats):
        return factors
    rows = list(zip(places.tolist(), *repeats, *crossed.values(), strict=True))
    if len(set(rows)) < len(rows):
        return factors
    for i in rest:
        work.use(i, Role.IGNORED, "varies from repeat to repeat, as a result does")
    return {i: labels for i, labels in factors.items() if i not in rest}


def _is_whole(labels: Sequence[str]) -> bool:
    """Whether some labels are words or whole numbers, as people choose them."""
    return any(re.fullmatch(r"[-+]?\d*\.\d*(?:[eE][-+]?\d+)?|[\d.]+[eE]-\d+", label) is None for label in labels)


def _stands_at_every_k(labels: Sequence[str], places: IntArray) -> bool:
    at: dict[str, set[int]] = {}
    for label, place in zip(labels, places.tolist(), strict=True):
        at.setdefault(label, set()).add(place)
    return all(len(own) == int(places.max()) + 1 for own in at.values())


def _name_curves(
    work: TableWork, workers: IntArray, places: IntArray, factors: dict[int, list[str]], unclear: dict[int, list[str]]
) -> dict[str, list[str]]:
    """The labels of the columns that tell curves apart; what varies beside them without need is said or asked about."""
    series: dict[str, list[str]] = {}
    needed = telling_apart(work.view, factors, places)
    for i, labels in factors.items():
        if i not in needed:
            work.use(i, Role.IGNORED, "changes with the columns that tell the curves apart")
            continue
        work.use(i, Role.SERIES, f"tells {len(set(labels))} curves apart")
        series[_free_name(work.name(i) or f"column {i + 1}", series)] = labels
        if worker_unit(work.name(i)) and work.options.k_column is None and work.chosen.k is not None:
            names = [work.name(work.chosen.k), work.name(i)]
            text = f"{names[0]} and {names[1]} both count workers, and vary apart from each other"
            fault = Fault(text, remedy="say which of them is K with --k-column")
            work.doubt("several-splits", fault, *({"k_column": own} for own in names))
    if not unclear:
        return series | _splits(work, workers, series)
    groups = codes_of(list(zip(places.tolist(), *needed.values(), strict=True)))
    for i, labels in unclear.items():
        if len(set(zip(groups.tolist(), labels, strict=True))) == int(groups.max()) + 1:
            work.use(i, Role.IGNORED, "changes with K and with the columns that tell the curves apart")
        elif len(set(zip(places.tolist(), labels, strict=True))) > len(set(labels)):  # one at several K is a curve
            work.use(i, Role.SERIES, f"tells {len(set(labels))} curves apart")
            series[_free_name(work.name(i) or f"column {i + 1}", series)] = labels
        else:
            _doubt_column(work, i, labels)
    return series | _splits(work, workers, series)


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    return name if name not in taken else f"{name} ({len(taken) + 1})"


def _doubt_column(work: TableWork, i: int, labels: Sequence[str]) -> None:
    """Ask about a column that varies at one K without telling curves apart."""
    name = work.name(i)
    text = f"the column {name} varies at one K, and no value of it was measured at two K"
    remedy = f"keep the rows of one curve, or rename {name} to `repeat` if the rows are repeats"
    way = {"ignore": (*work.options.ignore, name or str(i + 1))}
    work.doubt("varies-at-one-k", Fault(text, value=labels[0], remedy=remedy), way)


def _splits(work: TableWork, workers: IntArray, series: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Where K is a product, the split of the workers that tells runs of one K apart; empty where K tells all."""
    if not work.chosen.long.parts:
        return {}
    outer, inner = work.chosen.long.parts
    for i in (outer, inner):
        work.use(i, Role.WORKERS, "a factor of K")
    groups = codes_of(list(zip(*series.values(), strict=True))) if series else np.zeros(len(workers), dtype=np.int64)
    inner_labels = kept_labels(work, inner)
    at: dict[tuple[int, int], set[str]] = {}
    for group, k, label in zip(groups.tolist(), workers.tolist(), inner_labels, strict=True):
        at.setdefault((group, k), set()).add(label)
    torn = {group for (group, _), labels in at.items() if len(labels) > 1}
    if not torn:
        return {}
    if work.options.k_column is None and work.chosen.long.how == "product":
        names = [work.name(i) for i in (outer, inner)]
        text = f"the same number of workers is split in several ways, by {names[0]} and {names[1]}"
        fault = Fault(text, remedy="say which of them is K: their product, or one of them")
        ways = [{"k_column": own} for own in ("*".join(names), *names)]
        work.doubt("several-splits", fault, *ways)
    text = f"the same number of workers is split in several ways: each {work.name(inner)} is a curve"
    remedy = f"--k-column '{work.name(outer)}' or '{work.name(inner)}' reads one of them as K"
    work.findings.append(info("splits-side-by-side", text, remedy=remedy))
    labels = [label if group in torn else "" for group, label in zip(groups.tolist(), inner_labels, strict=True)]
    return {work.name(inner): labels}


def _change_with_k(work: TableWork, i: int, by_k: dict[int, str], rises: bool) -> None:
    """What is said of a column that changes with K and names the machine or the program; another job is asked about."""
    head, name, regime = work.head(i), work.name(i), work.options.regime
    if counted_per_worker(name):
        _doubt_split(work, i)
        return
    if work.view.is_measured(i):
        return
    pairs = ", ".join(f"{k}: {by_k[k][:40] or '(empty)'}" for k in sorted(by_k)[:8])
    if name.endswith(MODEL):
        text = f"several models stand in one column, and no two of them at one K ({pairs})"
        work.faults.append(Fault(text, remedy="keep the rows of one model"))
        models = [own for own, count in Counter(by_k.values()).items() if count > 1]
        work.ways += [{"where": (*work.options.where, f"{name}={own}")} for own in models]
    elif head.says("machine") and not head.says("cpu"):
        text = f"the machine changes with K, by the column {name} ({pairs}): K and the machine cannot be told apart"
        work.findings.append(warning("machine-changes", text, remedy="measure every K on one machine", column=name))
    elif regime is not Regime.WEAK and (
        (head.says("job") and _names_jobs(work, by_k)) or ((rises or "model" in head.words) and name and _grows(by_k))
    ):
        remedy = f"keep the rows of one {name}, or rename the column to `note` if the job is the same at every K"
        text = f"different jobs were run at different K, by the column {name}"
        way = {"ignore": (*work.options.ignore, name)}
        work.doubt("other-jobs", Fault(text, value=pairs, remedy=remedy), way)
    elif head.says("work") and regime is not Regime.WEAK:
        text = f"{name} changes with K ({pairs}); under strong scaling the job must stay the same"
        remedy = "if it is the problem size, the regime is weak; else keep the rows of one job"
        work.findings.append(warning("parameter-changes", text, remedy=remedy, column=name))
    elif (head.says("series") and not head.says("work")) or (not head.says("label") and _names_jobs(work, by_k)):
        text = f"{name} changes with K ({pairs}): what it does cannot be told apart from what K does"
        remedy = "keep it the same at every K, where it can be chosen"
        work.findings.append(info("parameter-changes", text, remedy=remedy, column=name))


def _grows(by_k: dict[int, str]) -> bool:
    """Whether the labels are sizes that rise from K to K and not as K does: 10,000, 50,000, 200,000; 1B, 7B params."""
    sizes = []
    for k in sorted(by_k):
        match = pattern("observations.size").match(by_k[k].replace(",", ""))
        if match is None:
            return False
        sizes.append(float(match["size"]) * {"K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}.get(match["by"], 1.0))
    per_k = [size / k for k, size in zip(sorted(by_k), sizes, strict=True)]
    is_weak = max(per_k) < RISES * min(per_k)  # the work of each worker stays the same
    return len(sizes) > 2 and not is_weak and all(b > a for a, b in pairwise(sizes))


def _doubt_split(work: TableWork, i: int) -> None:
    """Ask where K counts the nodes and each K has another number of workers on a node."""
    k, name = work.chosen.k, work.name(i)
    if k is None or work.options.k_column is not None or not is_split(work.name(k), name):
        return
    text = f"{name} counts workers too and changes with {work.name(k)}"
    fault = Fault(text, remedy="say which of them is K, or their product, with --k-column")
    ways = [{"k_column": own} for own in (work.name(k), f"{work.name(k)}*{name}", name)]
    work.doubt("several-splits", fault, *ways)


def _names_jobs(work: TableWork, by_k: dict[int, str]) -> bool:
    """Whether the labels name jobs: words that are neither numbered, nor made of K, nor ways to run one job."""
    from scalecurve.formats.headers import WORDS

    labels = list(by_k.values())
    words = {word for label in labels for word in re.findall(r"[a-z]+", label.lower())}
    with_k = all(str(k) in re.findall(r"\d+", label) for k, label in by_k.items())
    return _are_words(work, labels) and not with_k and not words <= WORDS["ways_to_run"]


def _are_words(work: TableWork, labels: Sequence[str]) -> bool:
    """Whether labels are words that somebody chose: no numbers, dates or paths, and not one word that is numbered."""
    filled = [label for label in labels if label not in ABSENT]
    if 2 * len(filled) <= len(labels) or not numbers_of(filled, work.view.mark).bad.all():
        return False
    names = {pattern("observations.identifier").sub("#", label) for label in filled}
    is_chosen = len(names) > 1 and any(sign.isalpha() for name in names for sign in name)
    return is_chosen and not any(pattern("observations.path_or_date").fullmatch(label) for label in filled)


def _filled_down(work: TableWork, i: int, labels: Sequence[str]) -> list[str]:
    """The labels of a column whose name stands only in the first row of each block."""
    filled: list[str] = []
    for label in labels:
        filled.append(label or filled[-1])
    text = f"empty cells of the column {work.name(i)} were taken to repeat the name above them"
    work.findings.append(info("filled-down", text, column=work.name(i)))
    return filled


def _is_spread_or_count(work: TableWork, i: int) -> bool:
    """Note spreads, extremes and counts that belong to the observations."""
    head = work.head(i)
    numeric = work.view.is_numeric(i)
    if has_spread(head) and numeric:
        work.use(i, Role.SPREAD, f"the {head.statistic} of the observations")
    elif head.statistic is not None and numeric and value_meaning(work.name(i)) is not None:
        work.use(i, Role.SPREAD, f"the {head.statistic} beside the observations")
    elif head.is_count and numeric and (head.words != ("n",) or any(own.statistic for own in work.view.heads)):
        if numbers_of(work.grid.columns[i]).bad.any():
            return False
        work.use(i, Role.COUNT, "how many runs stand behind each row")
    return i in work.uses
