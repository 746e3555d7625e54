"""What is settled of a table so far: which rows are kept, the role of every column, and every doubt.

A doubt has a code; `--accept CODE` passes over it, and then it is a warning in the study.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault
from scalecurve.findings import Finding, warning
from scalecurve.formats.headers import Header, ValueColumn
from scalecurve.formats.reading import ColumnUse, ReadOptions, Role, Unclear
from scalecurve.formats.tables.candidates import Candidate
from scalecurve.formats.tables.cells import CellGrid
from scalecurve.formats.tables.facts import TableView

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Meaning:
    """What the observations are: `stated` is whether a unit is written anywhere, `origin` where; `bare` marks a column
    whose name only says `mean` or nothing; `from_cells`, that the numbers are seconds already."""

    column: ValueColumn
    stated: bool
    origin: str = "the header"
    bare: bool = False
    from_cells: bool = False
    unit_column: int | None = None


@dataclass
class TableWork:
    """What is settled of a table so far; `keep` marks the rows that are measurements."""

    chosen: Candidate
    keep: Mask
    uses: dict[int, ColumnUse] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    ways: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def view(self) -> TableView:
        return self.chosen.view

    @property
    def grid(self) -> CellGrid:
        return self.chosen.view.grid

    @property
    def options(self) -> ReadOptions:
        return self.chosen.view.options

    def head(self, i: int) -> Header:
        return self.view.heads[i]

    def use(self, i: int, role: Role, why: str) -> None:
        self.uses[i] = ColumnUse(self.name(i), role, why)

    def name(self, i: int) -> str:
        return self.view.name(i)

    def doubt(self, code: str, fault: Fault, *ways: Mapping[str, Any], offered: bool = True) -> None:
        """Ask about something, unless the user accepts it by its code; `ways` are options that may settle it.

        Where the table holds nothing that could settle it, accepting it is no way that is `offered`.
        """
        if code in self.options.accept:
            self.findings.append(warning("accepted-doubt", f"accepted by --accept {code}: {fault.message}", doubt=code))
            return
        self.faults.append(fault)
        self.ways += [*ways, *([{"accept": (*self.options.accept, code)}] if offered else [])]

    def stop_if_asked(self) -> None:
        if self.faults:
            raise Unclear(self.faults, ways=self.ways)
