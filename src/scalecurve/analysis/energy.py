"""Energy to solution against K: joules of each launch, where the machine counted them.

The counters are of processors (RAPL: packages and memory), GPUs (NVML) or whole nodes (Slurm's ConsumedEnergy), over
the launch from its start to its end; what else the machine did meanwhile is in them.  Nothing is estimated: without a
counter the answer is "not measured".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scalecurve.document import Answer, Cell, Column, Document, FindingList, JsonRecord, Result, table
from scalecurve.errors import Refused
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study import Run, Study
from scalecurve.units import level_faults

NOT_MEASURED = (
    "energy was not measured: no run holds joules; measure where /sys/class/powercap can be read (RAPL), with NVIDIA "
    "GPUs (NVML), or by Slurm with an energy plugin (sacct ConsumedEnergy)"
)


@dataclass(frozen=True)
class EnergyRow(JsonRecord):
    """Joules of a launch at K, mean watts, and the joules divided by those at the smallest K."""

    k: int
    runs: int
    joules: Estimate
    watts: float | None
    ratio: float

    JSON = "k runs joules* watts ratio"


@dataclass(frozen=True, repr=False)
class EnergyTable(Result):
    """Energy to solution at every K where it was counted."""

    rows: tuple[EnergyRow, ...]
    sources: tuple[str, ...]
    findings: tuple[Finding, ...]

    quantity = "joules"
    JSON = "quantity sources rows findings"

    @property
    def answer(self) -> Answer:
        """The K that needs the least energy."""
        best, last = min(self.rows, key=lambda row: row.joules.value), self.rows[-1]
        more = f"; K = {last.k:,} needs {last.joules.value / best.joules.value:.2g}x" if last is not best else ""
        interval = best.joules.span("{:.4g}".format)
        return Answer(
            decision=f"K = {best.k:,} needs the least energy: {best.joules.value:.4g} J a result{more}.",
            confidence=interval and f"{interval} J.",
            reason=f"Counted by {', '.join(self.sources)}.",
            next="`scalecurve table STUDY` shows the times beside it",
        )

    def body(self) -> Document:
        columns = [Column(name, "right") for name in ("K", "runs", "joules", "interval", "watts", "of the first")]
        rows: list[list[Cell | str | None]] = [
            [
                str(row.k),
                str(row.runs),
                f"{row.joules.value:.4g}",
                row.joules.span("{:.4g}".format),
                None if row.watts is None else f"{row.watts:.4g}",
                f"{row.ratio:.3g}x",
            ]
            for row in self.rows
        ]
        return Document("Energy to solution", (table(columns, rows), FindingList(self.findings)))


def tabulate_energy(study: StudyLike, *, level: float = 0.95) -> EnergyTable:
    """Joules to solution at every K, mean over launches with Student's t; Refused where none was counted."""
    level_faults(level)
    whole = as_study(study)
    rows = energy_rows(whole, level)
    if not rows:
        raise Refused(NOT_MEASURED)
    counted = [run for run in whole.runs if _joules(run) is not None]
    sources = sorted({str(source) for run in counted for source in run.observed["energy"]["sources"]})
    findings = [
        info("whole-launch", "The joules cover the whole launch and everything else that its machines did meanwhile.")
    ]
    missing = sorted({run.k for run in whole.runs if run.counts} - {row.k for row in rows})
    if missing:
        listed = ", ".join(map(str, missing))
        findings.append(warning("energy-not-measured", f"Energy was not measured at K = {listed}."))
    return EnergyTable(rows, tuple(sources), tuple(findings))


def energy_rows(study: Study, level: float) -> tuple[EnergyRow, ...]:
    """A row for every K whose runs hold joules; none where the study has none."""
    groups: dict[int, list[Run]] = {}
    for run in study.runs:
        if run.counts and _joules(run) is not None:
            groups.setdefault(run.k, []).append(run)
    rows: list[EnergyRow] = []
    for k, runs in sorted(groups.items()):
        joules = _mean_of([value for run in runs if (value := _joules(run)) is not None], level)
        seconds = math.fsum(run.wall_seconds or 0.0 for run in runs)
        watts = joules.value * len(runs) / seconds if seconds > 0 else None
        first = rows[0].joules.value if rows else joules.value
        rows.append(EnergyRow(k, len(runs), joules, watts, joules.value / first))
    return tuple(rows)


def energy_findings(study: Study | None) -> tuple[Finding, ...]:
    """For answers about cost: the energy of a result at every K where it was counted; nothing where it was not."""
    rows = energy_rows(study, 0.95) if study is not None else ()
    if not rows:
        return ()
    shown = ", ".join(f"{row.joules.value / 3.6e6:.3g} kWh at K = {row.k}" for row in rows)
    joules = {str(row.k): row.joules.value for row in rows}
    return (info("energy", f"Energy of one result, as counted: {shown}.", joules=joules),)


def _joules(run: Run) -> float | None:
    energy = run.observed.get("energy")
    value = energy.get("joules") if isinstance(energy, dict) else None
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _mean_of(values: Sequence[float], level: float) -> Estimate:
    """The mean with Student's t interval; without one for a single value."""
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return Estimate(mean, method="a single launch")
    from scalecurve.distributions import stdtrit

    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    half = float(stdtrit(len(values) - 1, (1 + level) / 2)) * spread
    return Estimate(mean, mean - half, mean + half, level, "Student's t over launches")
