"""The four verdicts, from what is known and from what is not."""

from typing import Any

import pytest

import scalecurve as sc
from scalecurve.errors import InputError
from scalecurve.laws.stragglers import lognormal_maximum
from scalecurve.proposals.decision import ProposalVerdict as Verdict
from scalecurve.proposals.evidence import EfficiencyPoint, Evidence, SerialShare, time_ratio
from scalecurve.proposals.proposal import Proposal, StepExchange
from scalecurve.study import Regime


def evidence(regime: Regime = Regime.STRONG, **points: float | tuple[float, float, float]) -> Evidence:
    known = [
        EfficiencyPoint(k=int(name[1:]), value=value)
        if isinstance(value, float)
        else EfficiencyPoint(k=int(name[1:]), value=value[0], low=value[1], high=value[2], kind="measured")
        for name, value in points.items()
    ]
    return Evidence(regime=regime, baseline_k=known[0].k, points=tuple(known), source="test")


def proposal(*evidences: Evidence, **settings: Any) -> Proposal:
    stated = {"title": "test", "workers": 64, "regime": "strong"} | settings
    proposal = Proposal.model_validate(stated)
    proposal._evidence.update({one.regime: one for one in evidences})
    return proposal


def test_helps() -> None:
    assert sc.assess(proposal(evidence(k1=1.0, k64=0.8))).verdict is Verdict.HELPS


def test_wasteful() -> None:
    assert sc.assess(proposal(evidence(k1=1.0, k64=0.5))).verdict is Verdict.WASTEFUL


def test_does_not_help() -> None:
    """Twice the workers for 1 % more speed is below the least gain of 2 %."""
    result = sc.assess(proposal(evidence(k1=1.0, k32=0.5, k64=0.2525), workers_today=32))

    assert result.verdict is Verdict.NO_HELP
    assert "1.0 % faster, costs 1.98x as much per result" in result.decision


def test_slower_does_not_help() -> None:
    result = sc.assess(proposal(evidence(k1=1.0, k32=0.5, k64=0.2), workers_today=32))

    assert result.verdict is Verdict.NO_HELP
    assert "no faster" in result.decision


def test_a_first_study_ends_at_what_there_is_today() -> None:
    result = sc.assess({"workers": 64, "workers_today": 32, "regime": "strong", "k_unit": "gpus"})

    assert result.judgements[0].measure == (8, 16, 32)
    assert str(result.answer.next).startswith("measure K = 8, 16, 32: `scalecurve measure --init")
    assert "[strong]" in str(result.answer.next)


def test_cannot_tell_without_any_evidence() -> None:
    result = sc.assess(proposal())

    assert result.verdict is Verdict.CANNOT_TELL
    assert result.judgements[0].measure == (1, 2, 4, 8)
    assert "Measure K = 1, 2, 4, 8 first" in result.decision
    assert [answer.missing for answer in result.answers] == [True, False, True, True, True, True, True]


def test_cannot_tell_beyond_the_evidence_names_the_next_k() -> None:
    """From 8 measured to 256 proposed: 16, 32 and 64 bring a forecast within four times."""
    result = sc.assess(proposal(evidence(k1=1.0, k8=0.9), workers=256))

    assert result.verdict is Verdict.CANNOT_TELL
    assert result.judgements[0].measure == (16, 32, 64)


def test_cannot_tell_where_the_interval_contains_the_floor() -> None:
    result = sc.assess(proposal(evidence(k1=1.0, k64=(0.72, 0.66, 0.78))))

    assert result.verdict is Verdict.CANNOT_TELL
    assert result.judgements[0].measure == (64,)


def test_an_unknown_regime_counts_only_where_both_agree() -> None:
    strong, weak = evidence(k1=1.0, k64=0.5), evidence(Regime.WEAK, k1=1.0, k64=0.95)
    parted = sc.assess(proposal(strong, weak, regime="unknown"))
    agreed = sc.assess(proposal(evidence(k1=1.0, k64=0.9), weak, regime="unknown"))

    assert parted.verdict is Verdict.CANNOT_TELL
    assert "Say first whether the problem grows" in parted.decision
    assert agreed.verdict is Verdict.HELPS
    assert "regime-unknown" in [finding.code for finding in agreed.findings]


def test_the_model_is_amdahl_when_only_the_serial_share_is_known() -> None:
    result = sc.assess(proposal(serial=SerialShare(share=0.05)))
    [strong] = result.judgements

    assert strong.proposed is not None
    assert strong.proposed.value == pytest.approx(sc.law("amdahl").efficiency(64, serial=0.05))
    assert strong.proposed.low is None


def test_a_range_becomes_an_interval() -> None:
    result = sc.assess(proposal(serial=SerialShare(share=0.001, low=0.0005, high=0.002)))
    [strong] = result.judgements

    assert strong.efficiency is not None
    assert strong.efficiency.low == pytest.approx(sc.law("amdahl").efficiency(64, serial=0.002))
    assert strong.efficiency.high == pytest.approx(sc.law("amdahl").efficiency(64, serial=0.0005))


def test_the_parts_of_the_model_add_up() -> None:
    """Ring all-reduce of 1 GB over 50 GB/s among 8: 2 x 7/8 x 20 ms = 35 ms beside 1 s of work on one worker."""
    exchange = StepExchange(bytes=1e9, latency=1e-12, bandwidth=50e9, step_time=1.0, algorithm="ring")
    ratio = time_ratio(8, Regime.STRONG, serial=0.1, exchange=exchange, spread=None)

    assert ratio == pytest.approx(0.1 + 0.9 / 8 + 0.035)
    weak = time_ratio(8, Regime.WEAK, serial=0.1, exchange=exchange, spread=None)
    assert weak == pytest.approx(1.035)
    slow = time_ratio(8, Regime.WEAK, serial=0.0, exchange=None, spread=0.1)
    assert slow == pytest.approx(lognormal_maximum(8, 0.1))


def test_scale_up_against_scale_out() -> None:
    """Out wins on cost where p/E < p_up/r: 2.5/0.8 = 3.125 against 20/4 = 5."""
    price, machine = {"per_worker_hour": 2.5}, {"times_faster": 4, "per_hour": 20}
    result = sc.assess(proposal(evidence(k1=1.0, k64=0.8), price=price, scale_up=machine))
    answer = result.answers[6]

    assert answer.numbers["out_cost"] == pytest.approx(3.125)
    assert answer.numbers["up_cost"] == pytest.approx(5)
    assert "many are cheaper" in answer.text


def test_a_k_stated_twice() -> None:
    with pytest.raises(InputError, match="stated twice"):
        Evidence(
            regime=Regime.STRONG,
            baseline_k=1,
            points=(EfficiencyPoint(k=2, value=1.0), EfficiencyPoint(k=2, value=0.9)),
            source="x",
        )


def test_what_the_verdict_hangs_on_is_where_it_turns() -> None:
    result = sc.assess(proposal(evidence(k1=1.0, k64=0.5)))
    turns = {item.name: item.turns_at for item in result.sensitive_to}

    assert turns["strong efficiency at K = 64"] == pytest.approx(0.7, rel=1e-3)
    assert turns["efficiency floor"] == pytest.approx(0.5, rel=1e-3)


def test_efficiency_that_is_already_too_low_is_said_even_where_k_is_unknown() -> None:
    result = sc.assess(proposal(evidence(k1=1.0, k64=0.14), workers=100_000))

    assert result.verdict is Verdict.CANNOT_TELL
    assert result.judgements[0].measure == (128, 256, 512)
    assert "E(64) = 0.14 is already below 0.7 and does not rise with K" in result.decision


def test_a_wide_forecast_asks_for_the_next_doubling() -> None:
    known = EfficiencyPoint(k=256, value=0.8, low=0.5, high=1.1, kind="forecast")
    base = evidence(k1=1.0, k64=0.9)
    ahead = Evidence(regime=base.regime, baseline_k=1, points=base.points, source="test", beyond=lambda _: known)
    result = sc.assess(proposal(ahead, workers=256))

    assert result.judgements[0].measure == (128,)
