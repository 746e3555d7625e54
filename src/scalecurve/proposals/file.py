"""A proposal file: TOML, every fault reported at once, paths relative to the file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.hardware.accelerators import accelerator
from scalecurve.hardware.networks import network
from scalecurve.hardware.prices import find_offer, offer_findings
from scalecurve.laws.collectives import Link, Network
from scalecurve.planning.currency import Money as Amount
from scalecurve.planning.currency import parse_money, same_currency
from scalecurve.planning.tariff import Tariff
from scalecurve.proposals.known import Evidence, Known, Ranged
from scalecurve.proposals.proposal import (
    Batch,
    BigMachine,
    Claim,
    Exchange,
    Growth,
    Kernel,
    Money,
    Proposal,
)
from scalecurve.proposals.schema import (
    ClaimPart,
    CollectivePart,
    CurvePart,
    KernelPart,
    PointPart,
    PricePart,
    ProposalFile,
    RangedPart,
    ScaleUpPart,
    StragglersPart,
)
from scalecurve.study import Regime, Study
from scalecurve.study.file import faults_of

MAX_BYTES = 1_000_000
StudyReader = Callable[[Path, str], Study]
EvidenceMaker = Callable[[Study], Evidence]


def read_proposal(path: Path, *, read_study: StudyReader, evidence_of: EvidenceMaker) -> Proposal:
    """The proposal in a file; a study it names is read by `read_study(path, regime)` from beside the file."""
    data = _toml(path)
    try:
        parsed = ProposalFile.model_validate(data)
    except ValidationError as problem:
        raise FormatError(faults_of(problem), subject=str(path)) from None
    faults = [*_pair_faults(parsed), *_order_faults(parsed)]
    if faults:
        raise FormatError(faults, subject=str(path))
    try:
        return _build(parsed, path.parent, read_study, evidence_of)
    except InputError as problem:
        raise FormatError(problem.faults, subject=str(path)) from None


def _toml(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(
                Fault("the file is too large", remedy=f"the limit is {MAX_BYTES} bytes"), subject=str(path)
            )
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        hint = "scalecurve assess --init writes one to fill in"
        raise FormatError(Fault(f"cannot be read: {problem.strerror}", remedy=hint), subject=str(path)) from None
    except UnicodeDecodeError:
        raise FormatError("not text in UTF-8", subject=str(path)) from None
    except tomllib.TOMLDecodeError as problem:
        raise FormatError(f"not TOML: {problem}", subject=str(path)) from None


def _pair_faults(parsed: ProposalFile) -> list[Fault]:
    """What pydantic cannot say about one field alone."""
    faults = []
    if parsed.claim is not None and (parsed.claim.speedup is None) == (parsed.claim.efficiency is None):
        faults.append(Fault("give one of speedup and efficiency", where="claim"))
    if parsed.price is not None and (parsed.price.per_worker_hour is None) == (parsed.price.of is None):
        faults.append(Fault("give one of per_worker_hour and of", where="price", remedy='of = "h100@lambda"'))
    faults += [*_kernel_faults(parsed.kernel), *_network_faults(parsed.collective)]
    for name, curve in (("strong", parsed.strong), ("weak", parsed.weak)):
        if curve is None:
            continue
        if (curve.study is None) == (not curve.points):
            faults.append(Fault("give one of study and points", where=name))
        faults += [
            fault for i, point in enumerate(curve.points) if (fault := _point_fault(f"{name}.points.{i}", point))
        ]
    return faults


def _kernel_faults(part: KernelPart | None) -> list[Fault]:
    if part is None or _one_way(part.accelerator, part.peak_flops, part.bandwidth):
        return []
    hint = 'accelerator = "h100", or peak_flops = "989T" and bandwidth = "3.35TB/s"'
    return [Fault("give an accelerator by name, or its peak_flops and bandwidth", where="kernel", remedy=hint)]


def _one_way(name: str | None, first: float | None, second: float | None) -> bool:
    """Either by name or by both numbers."""
    typed = (first is not None, second is not None)
    return all(typed) if name is None else not any(typed)


def _network_faults(part: CollectivePart | None) -> list[Fault]:
    if part is None or _one_way(part.network, part.latency, part.bandwidth):
        return []
    hint = 'network = "nvlink+ib400", or latency = "2us" and bandwidth = "400Gb/s"'
    return [Fault("give a network by name, or its latency and bandwidth", where="collective", remedy=hint)]


def _point_fault(where: str, point: PointPart) -> Fault | None:
    stated = (point.efficiency, point.speedup, point.relative_speedup, point.at_least, point.below)
    if sum(value is not None for value in stated) == 1:
        return None
    return Fault(
        "state exactly one of efficiency, speedup, relative_speedup, at_least, below",
        where=where,
        seen=f"K = {point.k}",
    )


def _order_faults(parsed: ProposalFile) -> list[Fault]:
    faults = []
    for where, part, value in (
        ("serial", parsed.serial, parsed.serial.share if parsed.serial else None),
        ("stragglers", parsed.stragglers, parsed.stragglers.spread if parsed.stragglers else None),
    ):
        if part is None or value is None or (part.low is None and part.high is None):
            continue
        if part.low is None or part.high is None or not part.low <= value <= part.high:
            faults.append(
                Fault(
                    "a range is low <= value <= high, both given", where=where, seen=f"{part.low}, {value}, {part.high}"
                )
            )
    return faults


def _build(parsed: ProposalFile, folder: Path, read_study: StudyReader, evidence_of: EvidenceMaker) -> Proposal:
    stragglers = parsed.stragglers
    return Proposal(
        title=parsed.title,
        workers=parsed.workers,
        workers_today=parsed.workers_today,
        k_unit=parsed.k_unit,
        growth=Growth(parsed.regime),
        floor=parsed.floor,
        bend_below=parsed.bend_below if parsed.bend_below is not None else parsed.floor,
        least_gain=parsed.least_gain,
        buys_network=parsed.buys_faster_network,
        seconds_at_baseline=parsed.time_at_baseline,
        serial=None if parsed.serial is None else _ranged(parsed.serial, parsed.serial.share),
        strong=_evidence(parsed.strong, Regime.STRONG, folder, read_study, evidence_of),
        weak=_evidence(parsed.weak, Regime.WEAK, folder, read_study, evidence_of),
        claim=_claim(parsed.claim),
        batch=None if parsed.batch is None else Batch(size=parsed.batch.size, critical=parsed.batch.critical),
        kernel=_kernel(parsed.kernel),
        exchange=_exchange(parsed.collective),
        spread=None if stragglers is None or stragglers.spread is None else _ranged(stragglers, stragglers.spread),
        slow_chance=_slow(stragglers),
        money=_money(parsed.price, parsed.scale_up),
        big_machine=_big(parsed.scale_up),
    )


def _ranged(part: RangedPart | StragglersPart, value: float) -> Ranged:
    return Ranged(value=value, low=part.low, high=part.high, source=part.source)


def _slow(part: StragglersPart | None) -> Ranged | None:
    return None if part is None or part.slow_chance is None else Ranged(value=part.slow_chance, source=part.source)


def _evidence(
    curve: CurvePart | None, regime: Regime, folder: Path, read_study: StudyReader, evidence_of: EvidenceMaker
) -> Evidence | None:
    if curve is None:
        return None
    if curve.study is not None:
        study = read_study(folder / curve.study, str(regime))
        if study.regime is not regime:
            raise InputError(Fault("the study is of the other regime", where=str(regime), seen=str(study.regime)))
        return evidence_of(study)
    points = [_known(point, curve.baseline) for point in curve.points]
    if curve.baseline not in [point.k for point in points]:
        points.append(Known(k=curve.baseline, value=1.0, kind="by definition"))
    return Evidence(regime=regime, baseline_k=curve.baseline, points=tuple(points), source=curve.source)


def _known(point: PointPart, baseline: int) -> Known:
    if point.at_least is not None:
        return Known(k=point.k, low=point.at_least)
    if point.below is not None:
        return Known(k=point.k, high=point.below)
    if point.efficiency is not None:
        return Known(k=point.k, value=point.efficiency, low=point.low, high=point.high)
    speedup = point.speedup if point.speedup is not None else (point.relative_speedup or 0.0) * baseline
    return Known(k=point.k, value=speedup / point.k)


def _claim(claim: ClaimPart | None) -> Claim | None:
    if claim is None:
        return None
    efficiency = claim.efficiency if claim.efficiency is not None else (claim.speedup or 0.0) / claim.workers
    return Claim(workers=claim.workers, efficiency=efficiency, speedup=efficiency * claim.workers, source=claim.source)


def _exchange(part: CollectivePart | None) -> Exchange | None:
    if part is None:
        return None
    return Exchange(
        operation=part.operation,
        bytes=part.bytes,
        network=_network(part),
        step_seconds=part.step_time,
        algorithm=part.algorithm,
        hidden=part.hidden,
        source=part.source,
    )


def _kernel(part: KernelPart | None) -> Kernel | None:
    """The two ceilings as stated, or those of a named accelerator."""
    if part is None:
        return None
    peak, bandwidth, source = part.peak_flops, part.bandwidth, part.source
    if part.accelerator is not None:
        chip = accelerator(part.accelerator)
        peak, bandwidth, source = chip.peak, chip.memory_rate, f"{part.source}; {chip.name}: {chip.source}"
    return Kernel(flop_per_byte=part.flop_per_byte, peak_flops=peak or 0.0, bandwidth=bandwidth or 1.0, source=source)


def _network(part: CollectivePart) -> Network:
    """A network by name, `nvlink+ib400` or `2us/400Gb/s`, or from its latency and bandwidth."""
    if part.network is not None:
        return network(part.network, per_node=part.workers_per_node)
    return Network(inter=Link.of(part.latency or 0.0, part.bandwidth or 1.0))


def _amount(value: str | float | None) -> Amount | None:
    if value is None:
        return None
    return parse_money(value) if isinstance(value, str) else Amount(value)


def _money(price: PricePart | None, up: ScaleUpPart | None) -> Money | None:
    if price is None:
        return None
    offer = None if price.of is None else find_offer(price.of)
    hourly = Amount(offer.median, offer.currency) if offer is not None else _amount(price.per_worker_hour)
    budget, bigger = _amount(price.budget), _amount(up.per_hour if up is not None else None)
    amounts = (("price.per_worker_hour", hourly), ("price.budget", budget), ("scale_up.per_hour", bigger))
    tariff = Tariff(
        per_hour=0.0 if hourly is None else hourly.amount,
        currency=same_currency(*amounts, currency=price.currency),
        setup_seconds=price.setup,
        minimum_seconds=price.minimum,
        source=price.source if offer is None else offer.origin,
    )
    return Money(
        tariff=tariff,
        jobs=price.jobs,
        deadline=price.deadline,
        budget=None if budget is None else budget.amount,
        findings=() if offer is None else offer_findings(offer),
    )


def _big(up: ScaleUpPart | None) -> BigMachine | None:
    if up is None:
        return None
    price = _amount(up.per_hour)
    return BigMachine(times_faster=up.times_faster, per_hour=None if price is None else price.amount, source=up.source)
