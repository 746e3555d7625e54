"""The seven questions asked of every proposal, each answered with a number and its source, or listed as missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scalecurve.document import JsonRecord
from scalecurve.estimate import Estimate
from scalecurve.laws.amdahl import ceiling, serial_for, serial_fraction
from scalecurve.laws.stragglers import chance_of_any_slow, lognormal_maximum
from scalecurve.planning.cost import Cost, cost
from scalecurve.planning.cost_rows import cost_text
from scalecurve.planning.curve import CurvePoint, TimeCurve, TimeSource
from scalecurve.planning.pricing import HOUR, price_job
from scalecurve.planning.tariff import Tariff, format_amount, format_money
from scalecurve.proposals.decision import Judgement
from scalecurve.proposals.evidence import Evidence, exchange_seconds
from scalecurve.proposals.proposal import Proposal, ProposedRegime
from scalecurve.study import Regime
from scalecurve.units import format_bytes, format_seconds
from scalecurve.words import share_text

QUESTIONS = (
    "What is the serial fraction?",
    "Does the problem grow with the cluster?",
    "Is the kernel compute or memory bound?",
    "What will the collectives cost?",
    "Do stragglers and tails matter at this K?",
    "Does the efficiency justify the dollars?",
    "Would one bigger machine do?",
)
TAIL_MATTERS = 0.95  # a barrier efficiency below this is worth a look


@dataclass(frozen=True, kw_only=True)
class ProposalAnswer(JsonRecord):
    """One question with its answer; `source` is None and the text says what to state where the answer is missing."""

    number: int
    text: str
    source: str | None
    numbers: Mapping[str, Any] = field(default_factory=dict)

    JSON = "number question answer=text source missing numbers"

    @property
    def question(self) -> str:
        return QUESTIONS[self.number - 1]

    @property
    def missing(self) -> bool:
        return self.source is None


def missing_answer(number: int, remedy: str) -> ProposalAnswer:
    return ProposalAnswer(number=number, text=f"missing: {remedy}", source=None)


def answer_questions(
    proposal: Proposal, judgements: Sequence[Judgement], priced: Cost | None
) -> tuple[ProposalAnswer, ...]:
    return (
        serial_answer(proposal),
        regime_answer(proposal, judgements),
        kernel_answer(proposal),
        exchange_answer(proposal),
        straggler_answer(proposal),
        money_answer(proposal, judgements[0], priced),
        scale_up_answer(proposal, judgements),
    )


def serial_answer(proposal: Proposal) -> ProposalAnswer:
    """Stated, fitted to a study, or implied by the efficiency at the largest K (Karp-Flatt)."""
    strong = proposal.evidence(Regime.STRONG)
    share = proposal.serial or (None if strong is None else strong.serial)
    if share is not None:
        top = ceiling(share.share)
        needed, limit = _needed(proposal, 1)
        span = "" if share.low is None or share.high is None else f" ({share.low:.4g} to {share.high:.4g})"
        text = f"{share.share:.4g}{span}{limit}" + ("" if top is None else f"; the speedup never exceeds {top:.4g}")
        numbers = {"serial": share.share, "low": share.low, "high": share.high, "ceiling": top, "needed": needed}
        return ProposalAnswer(number=1, text=text, source=share.source, numbers=numbers)
    larger = [] if strong is None else [point for point in strong.points if point.value and point.k > strong.baseline_k]
    if strong is not None and larger:
        last, ratio = larger[-1], larger[-1].k / strong.baseline_k
        implied = serial_fraction(ratio, ratio * (last.value or 1.0))
        if implied is not None:
            needed, limit = _needed(proposal, strong.baseline_k)
            text = f"{implied:.3g} implied by {last.text} (Karp-Flatt){limit}"
            numbers = {"serial": implied, "at_k": last.k, "needed": needed}
            return ProposalAnswer(number=1, text=text, source=strong.source, numbers=numbers)
    return missing_answer(1, "state [serial] share, or give a strong-scaling study")


def _needed(proposal: Proposal, baseline_k: int) -> tuple[float | None, str]:
    """The largest serial share of T(K0) that still reaches the floor."""
    ratio = proposal.workers / baseline_k
    needed = serial_for(proposal.floor, ratio) if ratio > 1 else None
    if needed is None:
        return None, ""
    of = f" of T({baseline_k})" if baseline_k > 1 else ""
    return needed, f"; E({proposal.workers}) >= {proposal.floor:g} needs at most {needed:.2g}{of}"


def regime_answer(proposal: Proposal, judgements: Sequence[Judgement]) -> ProposalAnswer:
    words = {
        ProposedRegime.STRONG: "no: strong scaling, total work fixed; E = K0 T(K0)/(K T(K)) applies",
        ProposedRegime.WEAK: "yes: weak scaling, work per worker fixed; E = T(K0)/T(K) applies",
        ProposedRegime.MIXED: "both: part of the load grows with the cluster and part does not",
    }
    if proposal.regime is ProposedRegime.UNKNOWN:
        return missing_answer(2, "say regime = strong, weak or mixed; it is never guessed")
    efficiencies = [f"{one.proposed.text} {one.regime}" for one in judgements if one.proposed is not None]
    text = "; ".join([words[proposal.regime], *efficiencies])
    numbers: dict[str, Any] = {"regime": str(proposal.regime)}
    if proposal.batch is not None and judgements:
        today, size = judgements[0].today_k, proposal.batch.size
        before, after = size / today, size / proposal.workers
        text += f"; a global batch of {size:,} is {before:g} per worker at {today}, {after:g} at {proposal.workers}"
        numbers |= {"batch_per_worker_today": before, "batch_per_worker_proposed": after}
    return ProposalAnswer(number=2, text=text, source="stated", numbers=numbers)


def kernel_answer(proposal: Proposal) -> ProposalAnswer:
    """Roofline: attainable = min(peak, intensity x bandwidth) (Williams, Waterman, Patterson 2009)."""
    kernel = proposal.kernel
    if kernel is None:
        return missing_answer(3, "state [kernel] flop_per_byte and accelerator")
    peak, bandwidth, source = kernel.ceilings
    ridge = peak / bandwidth
    attainable = min(peak, kernel.flop_per_byte * bandwidth)
    bound = "compute" if kernel.flop_per_byte >= ridge else "memory"
    text = (
        f"{bound} bound: {kernel.flop_per_byte:.4g} FLOP per byte against a ridge of {ridge:.4g}, so at most "
        f"{share_text(attainable / peak)} of the peak"
    )
    text += "; workers that share one memory add nothing" if bound == "memory" else ""
    numbers = {"bound": bound, "ridge": ridge, "attainable_flops": attainable}
    return ProposalAnswer(number=3, text=text, source=source, numbers=numbers)


def exchange_answer(proposal: Proposal) -> ProposalAnswer:
    exchange = proposal.collective
    if exchange is None:
        return missing_answer(4, "state [collective] bytes, network and step_time")
    algorithm, seconds = exchange_seconds(exchange, proposal.workers)
    work = exchange.step_time / (1 if proposal.regime is ProposedRegime.WEAK else proposal.workers)
    message = f"{algorithm} {exchange.operation} of {format_bytes(exchange.bytes)} over {exchange.links.name}"
    message += f", {share_text(exchange.hidden)} hidden"
    text = (
        f"{format_seconds(seconds)} per step at K = {proposal.workers} ({message}) "
        f"beside {format_seconds(work)} of work a worker"
    )
    text += "; communication exceeds the work" if seconds > work else ""
    numbers = {"seconds": seconds, "algorithm": algorithm, "work_seconds": work, "share": seconds / (seconds + work)}
    source = "; ".join([exchange.source, *exchange.links.sources])
    return ProposalAnswer(number=4, text=text, source=source, numbers=numbers)


def straggler_answer(proposal: Proposal) -> ProposalAnswer:
    part, workers = proposal.stragglers, proposal.workers
    if part is None or (part.spread is None and part.slow_chance is None):
        return missing_answer(5, "state [stragglers] spread or slow_chance")
    texts: list[str] = []
    numbers: dict[str, float] = {}
    if part.spread is not None:
        slowest = lognormal_maximum(workers, part.spread)
        matters = "yes" if 1.0 / slowest < TAIL_MATTERS else "little"
        wait = f"a barrier waits {slowest:.3f} means for the slowest of {workers}"
        texts.append(f"{matters}: {wait}, so E <= {1 / slowest:.2f}")
        numbers |= {"slowest": slowest, "barrier_efficiency": 1.0 / slowest}
    if part.slow_chance is not None:
        chance = chance_of_any_slow(workers, part.slow_chance)
        texts.append(f"at least one of {workers} is slow with probability {chance:.2f}")
        numbers["any_slow"] = chance
    return ProposalAnswer(number=5, text="; ".join(texts), source=part.source, numbers=numbers)


def price_proposal(proposal: Proposal, judgement: Judgement) -> Cost | None:
    """Every K of the evidence priced; None without a price, T(K0), or an efficiency at the proposed K."""
    evidence, tariff = judgement.evidence, proposal.tariff
    if proposal.price is None or tariff is None or evidence is None:
        return None
    base = baseline_seconds(proposal, evidence)
    if base is None or judgement.proposed is None or judgement.proposed.value is None:
        return None
    by_k = {
        point.k: point for point in (*evidence.points, judgement.proposed, judgement.today) if point and point.value
    }
    kinds = {"measured": TimeSource.MEASURED, "interpolated": TimeSource.INTERPOLATED, "forecast": TimeSource.FORECAST}
    points = []
    for point in by_k.values():
        work = base * evidence.baseline_k / point.k  # seconds per result: T(K0) K0/(K E), in both regimes
        low, high = None if point.high is None else work / point.high, work / point.low if point.low else None
        seconds = Estimate(work / (point.value or 1.0), low, high, None, point.kind)
        points.append(CurvePoint(k=point.k, seconds=seconds, kind=kinds.get(point.kind, TimeSource.LAW)))
    k0, unit = evidence.baseline_k, proposal.k_unit
    curve = TimeCurve(name=proposal.title, points=tuple(points), baseline_k=k0, k_unit=unit)
    return cost(curve, tariff, jobs=proposal.price.jobs)


def baseline_seconds(proposal: Proposal, evidence: Evidence) -> float | None:
    """T(K0): measured, or stated."""
    base = evidence.at(evidence.baseline_k)
    if base is not None and base.seconds is not None:
        return base.seconds.value
    return proposal.time_at_baseline


def money_answer(proposal: Proposal, judgement: Judgement, priced: Cost | None) -> ProposalAnswer:
    """Cost per result at the proposed K against today's and against the best K."""
    gain, change, today = judgement.gain, judgement.cost_change, judgement.today_k
    if change is None or gain is None:
        return missing_answer(6, f"there is no efficiency at K = {proposal.workers} or {today}")
    speed = f"{share_text(abs(gain))} {'more' if gain >= 0 else 'less'} speed"
    speed = f"{gain + 1:.3g} times the speed" if gain > 1 else speed
    text = f"{cost_text(1.0 + change)} as at K = {today} for {speed}, at a linear price"
    numbers: dict[str, Any] = {"dearer": change, "gain": gain}
    source = "1/E at a linear price" if proposal.tariff is None else proposal.tariff.source
    if proposal.tariff is None or priced is None:
        absent = (
            "the price itself is missing"
            if proposal.tariff is None
            else "the amount is missing: state time_at_baseline"
        )
        return ProposalAnswer(number=6, text=f"{text}; {absent}", source=source, numbers=numbers)
    row, best, currency = priced.row(proposal.workers), priced.cheapest, priced.tariff.currency
    amount = format_money(row.job_cost.value, currency)
    amount += f" ({row.job_cost.span(format_amount)})" if row.job_cost.ends else ""
    text += f"; {amount} a result"
    before = next((one.job_cost.value for one in priced.rows if one.k == today), None)
    text += "" if before is None else f" against {format_money(before, currency)} at K = {today}"
    text += f", {format_money(best.job_cost.value, currency)} at the cheapest K = {best.k}"
    numbers |= {"job_cost": row.job_cost.value, "best_k": best.k, "best_job_cost": best.job_cost.value}
    return ProposalAnswer(number=6, text=text, source=source, numbers=numbers | {"currency": currency})


def scale_up_answer(proposal: Proposal, judgements: Sequence[Judgement]) -> ProposalAnswer:
    """Time and cost of many small workers against one that is r times as fast.

    Out wins on time where S(K) > r, and on cost where K p T(K) < p_up T(1)/r, which is p/E(K) < p_up/r.
    """
    machine, small = proposal.scale_up, proposal.tariff
    if machine is None:
        return missing_answer(7, "state [scale_up] times_faster and per_hour")
    judged = next((one for one in judgements if one.speedup is not None), None)
    if judged is None or judged.speedup is None or judged.evidence is None:
        text = f"it is {machine.times_faster:g}x one worker; the speedup of {proposal.workers} workers is unknown"
        return ProposalAnswer(number=7, text=text, source=machine.source)
    out, up = judged.speedup.value, machine.times_faster
    text = f"{proposal.workers} workers are {out:.4g}x one worker and it is {up:g}x, so "
    text += "many are faster" if out > up else "one big machine is as fast or faster"
    numbers = {"scale_out_speedup": out, "scale_up_speedup": up}
    if small is None or machine.per_hour is None:
        text += "; their cost is missing: both prices are needed"
        return ProposalAnswer(number=7, text=text, source=machine.source, numbers=numbers)
    base = baseline_seconds(proposal, judged.evidence)
    work, unit = HOUR, "one worker's hour of work"
    if base is not None:
        work, unit = base * judged.evidence.baseline_k, "result"
    else:  # set-up and minimum billing mean nothing without the time of a job
        small = Tariff(per_hour=small.per_hour, currency=small.currency, workers_per_unit=small.workers_per_unit)
    big = Tariff(per_hour=machine.per_hour.amount, currency=small.currency)
    out_cost = price_job(small, workers=proposal.workers, seconds=work / out).total
    up_cost = price_job(big, workers=1, seconds=work / up).total
    winner = "many are" if out_cost < up_cost else "the big one is"
    amounts = f"{format_money(out_cost, small.currency)} against {format_money(up_cost, small.currency)} per {unit}"
    numbers |= {"out_cost": out_cost, "up_cost": up_cost}
    text += f"; {winner} cheaper ({amounts})"
    return ProposalAnswer(number=7, text=text, source=machine.source, numbers=numbers)
