"""The seven questions asked of every proposal, each answered with a number and its source, or said to be open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scalecurve.laws.amdahl import ceiling, serial_for
from scalecurve.laws.karp_flatt import serial_fraction
from scalecurve.laws.stragglers import chance_of_any_slow, lognormal_maximum
from scalecurve.planning.choices import share_text
from scalecurve.proposals.known import Evidence, Known
from scalecurve.proposals.model import exchange_seconds
from scalecurve.proposals.proposal import Growth, Proposal
from scalecurve.proposals.verdict import Judgement, efficiency_text
from scalecurve.units import format_bytes, format_seconds

MISSING = "missing"
TAIL_MATTERS = 0.95  # a barrier efficiency below this is worth a look
NOTABLE_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One question with its answer; `source` None and a `missing` text where nobody has said."""

    number: int
    question: str
    text: str
    source: str | None
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def missing(self) -> bool:
        return self.source is None

    def to_dict(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "question": self.question,
            "answer": self.text,
            "source": self.source,
            "missing": self.missing,
            "numbers": dict(self.numbers),
        }


def open_question(number: int, question: str, remedy: str) -> Answer:
    return Answer(number=number, question=question, text=f"{MISSING}: {remedy}", source=None)


def serial_question(proposal: Proposal) -> Answer:
    question = "What is the serial fraction?"
    share = proposal.serial or (None if proposal.strong is None else proposal.strong.serial)
    if share is not None:
        top = ceiling(share.value)
        needed, limit = _needed(proposal, 1)
        words = f"{share.value:.4g}{_range(share.low, share.high)}{limit}"
        words += "" if top is None else f"; the speedup never exceeds {top:.4g}"
        numbers = {"serial": share.value, "low": share.low, "high": share.high, "ceiling": top, "needed": needed}
        return Answer(number=1, question=question, text=words, source=share.source, numbers=numbers)
    implied = None if proposal.strong is None else implied_serial(proposal.strong)
    if implied is None or proposal.strong is None:
        return open_question(1, question, "state [serial] share, or give a strong-scaling study")
    known, share_value = implied
    needed, limit = _needed(proposal, proposal.strong.baseline_k)
    words = f"{share_value:.3g} implied by {efficiency_text(known)} (Karp-Flatt){limit}"
    numbers = {"serial": share_value, "at_k": known.k, "needed": needed}
    return Answer(number=1, question=question, text=words, source=proposal.strong.source, numbers=numbers)


def _needed(proposal: Proposal, baseline_k: int) -> tuple[float | None, str]:
    """The largest share of T(K0) that still reaches the floor, so that it compares with a share of the same T(K0)."""
    ratio = proposal.workers / baseline_k
    needed = serial_for(proposal.floor, ratio) if ratio > 1 else None
    if needed is None:
        return None, ""
    of = f" of T({baseline_k})" if baseline_k > 1 else ""
    return needed, f"; E({proposal.workers}) >= {proposal.floor:g} needs at most {needed:.2g}{of}"


def implied_serial(evidence: Evidence) -> tuple[Known, float] | None:
    """The serial share that would explain the efficiency at the largest K, in units of the baseline's workers."""
    larger = [point for point in evidence.points if point.value and point.k > evidence.baseline_k]
    if not larger:
        return None
    last = larger[-1]
    ratio = last.k / evidence.baseline_k
    share = serial_fraction(ratio, ratio * (last.value or 1.0))
    return None if share is None else (last, share)


def growth_question(proposal: Proposal, judgements: Sequence[Judgement]) -> Answer:
    question = "Does the problem grow with the cluster?"
    words = {
        Growth.STRONG: "no: strong scaling, total work fixed; E = K0 T(K0)/(K T(K)) applies",
        Growth.WEAK: "yes: weak scaling, work per worker fixed; E = T(K0)/T(K) applies",
        Growth.MIXED: "both: part of the load grows with the cluster and part does not",
    }
    if proposal.growth is Growth.UNKNOWN:
        return open_question(2, question, "say regime = strong, weak or mixed; it is never guessed")
    found = [efficiency_text(one.proposed) + f" {one.regime}" for one in judgements if one.proposed is not None]
    text = "; ".join([words[proposal.growth], *found])
    numbers: dict[str, Any] = {"regime": str(proposal.growth)}
    if proposal.batch is not None and judgements:
        today = judgements[0].today_k
        each = (proposal.batch.size / today, proposal.batch.size / proposal.workers)
        shares = f"{each[0]:g} per worker at {today}, {each[1]:g} at {proposal.workers}"
        text += f"; a global batch of {proposal.batch.size:,} is {shares}"
        numbers |= {"batch_per_worker_today": each[0], "batch_per_worker_proposed": each[1]}
    return Answer(number=2, question=question, text=text, source="stated", numbers=numbers)


def kernel_question(proposal: Proposal) -> Answer:
    """Roofline: attainable = min(peak, intensity x bandwidth) (Williams, Waterman, Patterson 2009)."""
    question = "Is the kernel compute or memory bound?"
    kernel = proposal.kernel
    if kernel is None:
        return open_question(3, question, "state [kernel] flop_per_byte and accelerator")
    ridge = kernel.peak_flops / kernel.bandwidth
    attainable = min(kernel.peak_flops, kernel.flop_per_byte * kernel.bandwidth)
    bound = "compute" if kernel.flop_per_byte >= ridge else "memory"
    text = (
        f"{bound} bound: {kernel.flop_per_byte:.4g} FLOP per byte against a ridge of {ridge:.4g}, so at most "
        f"{share_text(attainable / kernel.peak_flops)} of the peak"
    )
    text += "; workers that share one memory add nothing" if bound == "memory" else ""
    numbers = {"bound": bound, "ridge": ridge, "attainable_flops": attainable}
    return Answer(number=3, question=question, text=text, source=kernel.source, numbers=numbers)


def exchange_question(proposal: Proposal) -> Answer:
    question = "What will the collectives cost?"
    exchange = proposal.exchange
    if exchange is None:
        return open_question(4, question, "state [collective] bytes, network and step_time")
    algorithm, seconds = exchange_seconds(exchange, proposal.workers)
    grows = proposal.growth is Growth.WEAK
    work = exchange.step_seconds / (1 if grows else proposal.workers)
    sent = f"{algorithm} {exchange.operation} of {format_bytes(exchange.bytes)} over {exchange.network.name}"
    what = f"{sent}, {share_text(exchange.hidden)} hidden"
    beside = f"beside {format_seconds(work)} of work a worker"
    text = f"{format_seconds(seconds)} per step at K = {proposal.workers} ({what}) {beside}"
    text += "; communication exceeds the work" if seconds > work else ""
    numbers = {"seconds": seconds, "algorithm": algorithm, "work_seconds": work, "share": seconds / (seconds + work)}
    source = "; ".join([exchange.source, *exchange.network.sources])
    return Answer(number=4, question=question, text=text, source=source, numbers=numbers)


def straggler_question(proposal: Proposal) -> Answer:
    question = "Do stragglers and tails matter at this K?"
    if proposal.spread is None and proposal.slow_chance is None:
        return open_question(5, question, "state [stragglers] spread or slow_chance")
    texts: list[str] = []
    numbers: dict[str, float] = {}
    sources: list[str] = []
    if proposal.spread is not None:
        slowest = lognormal_maximum(proposal.workers, proposal.spread.value)
        matters = "yes" if 1.0 / slowest < TAIL_MATTERS else "little"
        wait = f"a barrier waits {slowest:.3f} means for the slowest of {proposal.workers}"
        texts.append(f"{matters}: {wait}, so E <= {1 / slowest:.2f}")
        numbers |= {"slowest": slowest, "barrier_efficiency": 1.0 / slowest}
        sources.append(proposal.spread.source)
    if proposal.slow_chance is not None:
        chance = chance_of_any_slow(proposal.workers, proposal.slow_chance.value)
        texts.append(f"at least one of {proposal.workers} is slow with probability {chance:.2f}")
        numbers["any_slow"] = chance
        sources.append(proposal.slow_chance.source)
    return Answer(
        number=5, question=question, text="; ".join(texts), source=", ".join(dict.fromkeys(sources)), numbers=numbers
    )


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({low:.4g} to {high:.4g})"
