"""The StudySet: named curves with the same meaning of K, such as the benchmarks of one table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from scalecurve.document import Document, FindingList, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.study.study import Quantity, Regime, Study

MOST_NAMED = 20
PLACEMENT = ("nodes", "ranks_per_node", "ranks", "processes", "tasks", "threads", "threads_per_rank")
"""Axes that split the same cores."""
SIZE_WORDS = frozenset(
    ("size", "sizes", "n", "problem", "cells", "points", "elements", "particles", "atoms", "unknowns", "dofs", "rows")
)
_SIZE = re.compile(r"\s*([0-9][0-9_ ,]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([kKMGT]?)\s*")


@dataclass(frozen=True, kw_only=True, repr=False)
class StudySet(Result):
    """Several studies by name, in the order of the file; regime, quantity and the unit of K are common to all.

    `axes` holds, for each name, the cells of the columns that tell the curves apart: {"sort": {"benchmark": "sort"}}.
    """

    studies: Mapping[str, Study]
    axes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.studies:
            raise InputError(Fault("a set of curves holds at least one", remedy="give {name: Study}"))
        for what in ("regime", "quantity", "k_unit"):
            values = {name: str(getattr(study, what)) for name, study in self.studies.items()}
            if len(set(values.values())) > 1:
                text = ", ".join(f"{name}: {value}" for name, value in list(values.items())[:5])
                remedy = "curves side by side have the same meaning of K"
                raise InputError(
                    Fault(f"the curves differ in their {what.replace('_', ' ')}", value=text, remedy=remedy)
                )

    def __repr__(self) -> str:
        return f"<StudySet of {len(self)} curves over {self.k_unit} ({self.quantity}): {', '.join(self.names[:5])}>"

    def __len__(self) -> int:
        return len(self.studies)

    def __iter__(self) -> Iterator[str]:
        return iter(self.studies)

    def __getitem__(self, name: str) -> Study:
        if name not in self.studies:
            remedy = f"there are: {', '.join(self.names[:MOST_NAMED])}"
            raise InputError(Fault("no curve has this name", value=name, remedy=remedy))
        return self.studies[name]

    def items(self) -> tuple[tuple[str, Study], ...]:
        """Each name with its study."""
        return tuple(self.studies.items())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.studies)

    @property
    def first(self) -> Study:
        return next(iter(self.studies.values()))

    @property
    def regime(self) -> Regime:
        return self.first.regime

    @property
    def quantity(self) -> Quantity:
        return self.first.quantity

    @property
    def k_unit(self) -> str:
        return self.first.k_unit

    @property
    def name(self) -> str:
        return self.first.provenance.source or ", ".join(self.names[:3])

    @property
    def common_k(self) -> tuple[int, ...]:
        """The worker counts that every curve was measured at, rising."""
        return tuple(sorted(set.intersection(*(set(study.all_k) for study in self.studies.values()))))

    @cached_property
    def size_axis(self) -> str | None:
        """The axis that states problem sizes, or None: each curve has a number there, and they differ.

        It is named as a size (`size`, `n`, `cells` ...), or is the only axis.
        """
        names = list(dict.fromkeys(axis for cells in self.axes.values() for axis in cells))
        columns = {axis: {size_in(self.axes.get(name, {}).get(axis, "")) for name in self.names} for axis in names}
        numbers = [axis for axis, own in columns.items() if None not in own and len(own) > 1 and axis not in PLACEMENT]
        named = [axis for axis in numbers if SIZE_WORDS & set(re.split(r"[^a-z]+", axis.lower()))]
        chosen = named if named or len(names) > 1 else numbers
        return chosen[0] if len(chosen) == 1 else None

    @cached_property
    def sizes(self) -> Mapping[str, float]:
        """The problem size of each curve by name: total work, or that of a worker (weak); empty where none is."""
        axis = self.size_axis
        read = {} if axis is None else {name: size_in(self.axes[name][axis]) for name in self.names}
        return {name: size for name, size in read.items() if size is not None}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all curves, each once."""
        every = {(item.code, item.message): item for study in self.studies.values() for item in study.findings}
        return tuple(every.values())

    def only(self, *, subject: str | None = None) -> Study:
        """The study of a set of one; an InputError that names the curves where there are several."""
        if len(self) == 1:
            return self.first
        raise InputError(several_curves(self.names), subject=subject or self.name)

    def records(self) -> list[dict[str, Any]]:
        """One row for every observation, with the name of its curve."""
        return [{"series": name, **row} for name, study in self.studies.items() for row in study.records()]

    def to_dict(self) -> dict[str, Any]:
        from scalecurve.study.file import set_to_dict

        return set_to_dict(self)

    def document(self) -> Document:
        what = (
            f"{len(self)} curves, {self.regime} scaling ({self.regime.held_fixed}), {self.quantity.replace('_', ' ')}"
        )
        rows = [
            (name, ", ".join(map(str, study.all_k)), str(len(study.samples))) for name, study in self.studies.items()
        ]
        return Document(
            self.name,
            (Paragraph(what), table(("curve", f"K ({self.k_unit})", "observations"), rows), FindingList(self.findings)),
        )


def size_in(text: str) -> float | None:
    """A problem size as people write it: 1000000, 1_000_000, 1e6, 1M; None for anything else."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    factor = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[match[2]]
    value = float(re.sub(r"[_ ,]", "", match[1])) * factor
    return value if value > 0 else None


def several_curves(names: tuple[str, ...]) -> Fault:
    """The question to ask where one curve is needed and there are several."""
    listed = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    remedy = f"they are {listed}; choose with --series (series=...)"
    return Fault(f"there are {len(names)} curves", remedy=remedy)
