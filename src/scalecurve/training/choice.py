"""What is asked of a sweep, and the P that answers it best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scalecurve.errors import Fault
from scalecurve.findings import Finding, info, warning
from scalecurve.training.goodput import Reliability
from scalecurve.training.plan import PlanRow
from scalecurve.units import format_seconds

OBJECTIVES = {"time": "run_seconds", "cost": "run_usd", "energy": "run_joules"}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is asked of a sweep beside model, cluster and P; without an objective it is time."""

    regime: str = "strong"
    tokens: float | None = None
    objective: str | None = None
    deadline: float | None = None
    budget: float | None = None
    top: int = 1
    reliability: Reliability | None = None
    loss: str | None = None

    @property
    def limits(self) -> str:
        """`the deadline of 30 d and 5,000,000 USD`; empty where there is none."""
        time = [] if self.deadline is None else [f"the deadline of {format_seconds(self.deadline)}"]
        money = [] if self.budget is None else [f"{self.budget:,.0f} USD"]
        return " and ".join(time + money)

    @property
    def asks(self) -> bool:
        return bool(self.limits) or self.objective is not None


@dataclass(frozen=True)
class Choice:
    """The chosen P, a sentence saying why where something was asked, and what stood in the way."""

    gpus: int | None
    sentence: str | None
    findings: tuple[Finding, ...] = ()


def limit_faults(deadline: float | None, budget: float | None, top: int) -> list[Fault]:
    given = {"deadline": deadline, "budget": budget}
    faults = [
        Fault(f"a {name} is above 0", name, f"{value:g}")
        for name, value in given.items()
        if value is not None and not (math.isfinite(value) and value > 0)
    ]
    return faults + ([Fault("at least one layout is kept at each P", "top", str(top))] if top < 1 else [])


def choose(rows: Sequence[PlanRow], settings: Settings) -> Choice:
    """The P that is best by the objective among those within deadline and budget."""
    objective = settings.objective or "time"
    key = OBJECTIVES[objective]
    known = [row for row in rows if getattr(row, key) is not None and _judged(row, settings)]
    if not known:
        asked = "budget" if settings.budget is not None else f"objective {objective}"
        message = f"the {asked} needs a figure this cluster has not"
        return Choice(None, None, (info("no-price", message, remedy="give --price"),))
    allowed = [row for row in known if _excess(row, settings) <= 1.0]
    if not allowed:
        return _missed(known, settings)
    best = min(allowed, key=lambda row: (getattr(row, key), row.gpus))
    within = f" within {settings.limits}" if settings.limits else ""
    sentence = f"Best by {objective}{within}: P {best.gpus:,} ({_run(best)})."
    return Choice(best.gpus, sentence if settings.asks else None)


def _missed(rows: Sequence[PlanRow], settings: Settings) -> Choice:
    near = min(rows, key=lambda row: (_excess(row, settings), row.gpus))
    sentence = f"No P of the sweep meets {settings.limits}; the nearest is P {near.gpus:,} ({_run(near)})."
    finding = warning(
        "nothing-within-limits", sentence, remedy="a later deadline, a larger budget or fewer tokens", nearest=near.gpus
    )
    return Choice(None, sentence, (finding,))


def _judged(row: PlanRow, settings: Settings) -> bool:
    """Whether what the limits speak of is known here: a run without a price is not within a budget."""
    return (settings.deadline is None or row.run_seconds is not None) and (
        settings.budget is None or row.run_usd is not None
    )


def _excess(row: PlanRow, settings: Settings) -> float:
    """The larger of run time over deadline and price over budget: 1 just meets both."""
    late = 0.0 if settings.deadline is None else (row.run_seconds or 0.0) / settings.deadline
    dear = 0.0 if settings.budget is None else (row.run_usd or 0.0) / settings.budget
    return max(late, dear)


def _run(row: PlanRow) -> str:
    time = [] if row.run_seconds is None else [format_seconds(row.run_seconds)]
    money = [] if row.run_usd is None else [f"{row.run_usd:,.0f} USD"]
    return ", ".join(time + money)
