"""Would one bigger machine do?  Many small workers against one that is r times as fast.

Out wins on time where S(K) > r, and on cost where K p T(K) < p_up T(1)/r, which is p/E(K) < p_up/r.
"""

from __future__ import annotations

from collections.abc import Sequence

from scalecurve.planning.currency import format_money
from scalecurve.planning.pricing import HOUR, price_job
from scalecurve.planning.tariff import Tariff
from scalecurve.proposals.money import baseline_seconds
from scalecurve.proposals.proposal import BigMachine, Money, Proposal
from scalecurve.proposals.questions import Answer, open_question
from scalecurve.proposals.verdict import Judgement

QUESTION = "Would one bigger machine do?"


def scale_up_question(proposal: Proposal, judgements: Sequence[Judgement]) -> Answer:
    """Time and cost of both ways, where both are known."""
    machine = proposal.big_machine
    if machine is None:
        return open_question(7, QUESTION, "state [scale_up] times_faster and per_hour")
    known = next((one for one in judgements if one.speedup is not None), None)
    if known is None or known.speedup is None:
        text = f"it is {machine.times_faster:g}x one worker; what {proposal.workers} workers reach is not known"
        return Answer(number=7, question=QUESTION, text=text, source=machine.source)
    out, up = known.speedup.value, machine.times_faster
    text = f"{proposal.workers} workers are {out:.4g}x one worker and it is {up:g}x, so "
    text += "many are faster" if out > up else "one big machine is as fast or faster"
    numbers = {"scale_out_speedup": out, "scale_up_speedup": up}
    if proposal.money is None or machine.per_hour is None:
        words = f"{text}; their cost is missing: both prices are needed"
        return Answer(number=7, question=QUESTION, text=words, source=machine.source, numbers=numbers)
    cost_text, costs = _costs(proposal, proposal.money, machine, known)
    words = f"{text}; {cost_text}"
    return Answer(number=7, question=QUESTION, text=words, source=machine.source, numbers=numbers | costs)


def _costs(proposal: Proposal, money: Money, machine: BigMachine, known: Judgement) -> tuple[str, dict[str, float]]:
    """Of one result where its time is known, else of one worker's hour of work at the bare price."""
    base = None if known.evidence is None else baseline_seconds(proposal, known.evidence)
    work = HOUR if base is None or known.evidence is None else base * known.evidence.baseline_k
    unit = "one worker's hour of work" if base is None else "result"
    small = money.tariff if base is not None else _bare(money.tariff)
    big = Tariff(per_hour=machine.per_hour or 0.0, currency=small.currency)
    speedup = known.speedup.value if known.speedup is not None else 1.0
    out = price_job(small, workers=proposal.workers, seconds=work / speedup).total
    up = price_job(big, workers=1, seconds=work / machine.times_faster).total
    winner = "many are" if out < up else "the big one is"
    amounts = f"{format_money(out, small.currency)} against {format_money(up, small.currency)} per {unit}"
    return f"{winner} cheaper ({amounts})", {"out_cost": out, "up_cost": up}


def _bare(tariff: Tariff) -> Tariff:
    """Without set-up and minimum billing, which mean nothing where the time of a job is not known."""
    return Tariff(per_hour=tariff.per_hour, currency=tariff.currency, workers_per_unit=tariff.workers_per_unit)
