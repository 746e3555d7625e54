"""Verbs of money: what a result costs, whether a proposal helps, one big machine or many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.api.mechanisms import law
from scalecurve.api.studies import load
from scalecurve.errors import InputError

if TYPE_CHECKING:
    from scalecurve.findings import Finding
    from scalecurve.forecasting.forecast import Forecast
    from scalecurve.planning.cost import CostTable
    from scalecurve.planning.curve import TimeCurve
    from scalecurve.planning.scaleup import ScaleUp
    from scalecurve.planning.tariff import Tariff
    from scalecurve.proposals.assessment import Assessment
    from scalecurve.proposals.known import Evidence
    from scalecurve.proposals.proposal import Proposal
    from scalecurve.study import Study


def price_curve(
    source: Study | Forecast | Mapping[str, Any] | Any,
    *,
    at: Sequence[int] | None = None,
    work_per_job: float | None = None,
    level: float = 0.95,
) -> TimeCurve:
    """The time of one result over K, from a study, a forecast, or a training plan (as noun or as its JSON)."""
    from scalecurve.forecasting.forecast import Forecast as ForecastNoun
    from scalecurve.planning.curve_sources import curve_of_study
    from scalecurve.planning.forecasts import curve_of_forecast, forecast_rows
    from scalecurve.planning.plan_curve import curve_of_plan
    from scalecurve.study import Study as StudyNoun

    match source:
        case StudyNoun():
            return curve_of_study(source, at=at, work_per_job=work_per_job, level=level, forecaster=forecast_rows)
        case ForecastNoun():
            return curve_of_forecast(source, work_per_job=work_per_job)
        case Mapping():
            return curve_of_plan(source, tokens_per_job=work_per_job)
    return curve_of_plan(source.to_dict(), tokens_per_job=work_per_job)


def price_law(
    name: str,
    workers: Sequence[int],
    *,
    seconds_at_one: float = 3600.0,
    k_unit: str = "workers",
    **parameters: float,
) -> TimeCurve:
    """The time of one result over K by a law: `price_law("amdahl", [256, 512], serial=0.05)`."""
    from scalecurve.planning.curve_sources import curve_of_law

    return curve_of_law(law(name), workers, parameters, seconds_at_one=seconds_at_one, k_unit=k_unit)


def cost(
    source: Study | Forecast | TimeCurve | Mapping[str, Any] | Any,
    price: float | Tariff,
    *,
    jobs: int = 1,
    fleet: int | None = None,
    one_rental: bool = False,
    deadline: float | None = None,
    budget: float | None = None,
    value_per_hour: float | None = None,
    chance: float | None = None,
    notes: Sequence[Finding] = (),
    **curve: Any,
) -> CostTable:
    """What a result costs at every K, and which K to choose: `cost(study, 2.50, jobs=1000, deadline=5 * 3600)`.

    `price` is dollars per worker-hour or a Tariff, and `notes` what is to be known of it; `curve` as in `price_curve`.
    """
    from scalecurve.planning.campaign import Campaign
    from scalecurve.planning.cost import Goal
    from scalecurve.planning.cost import cost as verb
    from scalecurve.planning.curve import TimeCurve as Curve
    from scalecurve.planning.tariff import Tariff as PriceList

    tariff = price if isinstance(price, PriceList) else PriceList(per_hour=price)
    times = source if isinstance(source, Curve) else price_curve(source, **curve)
    goal = Goal(deadline=deadline, budget=budget, value_per_hour=value_per_hour, chance=chance)
    campaign = Campaign(jobs=jobs, fleet=fleet, one_rental=one_rental)
    return verb(times, tariff, campaign=campaign, goal=goal, notes=notes)


def assess(proposal: str | Path | Proposal) -> Assessment:
    """Will this cluster size help?  A proposal file or a Proposal, judged by the checklist."""
    from scalecurve.proposals import assess as verb
    from scalecurve.proposals.file import read_proposal
    from scalecurve.proposals.proposal import Proposal as ProposalNoun

    if isinstance(proposal, ProposalNoun):
        return verb(proposal)
    return verb(read_proposal(Path(proposal), read_study=load_for_proposal, evidence_of=_with_forecasts))


def _with_forecasts(study: Study) -> Evidence:
    from scalecurve.planning.forecasts import forecast_rows
    from scalecurve.proposals.study_evidence import evidence_of_study

    return evidence_of_study(study, forecaster=forecast_rows)


def load_for_proposal(path: Path, regime: str) -> Study:
    """A study a proposal names: a study file says its own regime, a plain table takes the section's."""
    try:
        return load(path)
    except InputError:
        return load(path, regime=regime)


def compare_scaleup(
    *,
    faster: float,
    big_price: float,
    small_price: float,
    workers: Sequence[int] | None = None,
    law_name: str | None = None,
    parameters: Mapping[str, float] | None = None,
    study: Study | None = None,
) -> ScaleUp:
    """One machine `faster` times as fast against K small ones; E(K) from a law, or a study and its forecast.

    `workers` are the K to compare (default: 1, 2, 4 ... 64 for a law, the measured ones of a study).
    """
    from scalecurve.planning.scaleup import compare_scaleup as verb
    from scalecurve.planning.scaleup import efficiency_of_forecast, efficiency_of_law

    if (law_name is None) == (study is None):
        from scalecurve.errors import Fault, InputError

        raise InputError(Fault("E(K) comes from a law or from a study", remedy="give exactly one of the two"))
    if study is not None:
        known, notes = efficiency_of_forecast(study, workers)
    else:
        law_k = workers if workers is not None else [2**power for power in range(7)]
        known, notes = efficiency_of_law(law_name or "", parameters or {}, law_k), ()
    return verb(known, faster=faster, big_price=big_price, small_price=small_price, notes=notes)
