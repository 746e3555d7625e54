"""Four purchases whose right decision is known, each from its file in examples/proposals."""

from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.proposals.decision import ProposalVerdict as Verdict

EXAMPLES = Path(__file__).parents[3] / "examples" / "proposals"


def test_a_fixed_batch_that_gained_two_and_a_half_times() -> None:
    """Batch 1,024 from 8 to 64 GPUs: E relative to 8 GPUs is 0.31.  The network is not the cure: weak scaling is."""
    result = sc.assess(EXAMPLES / "fixed-batch.toml")
    [strong] = result.judgements

    assert strong.proposed is not None
    assert strong.proposed.value == pytest.approx(0.3125)
    assert strong.gain == pytest.approx(1.5)
    assert result.verdict is Verdict.WASTEFUL
    assert "Do not buy a faster network" in result.decision
    assert "at most 3.5x (E = 0.43)" in result.decision
    assert "Reassess as weak scaling at 128 per GPU, a global batch of 8,192" in result.decision
    assert "efficiency is above 90 %" in result.decision
    assert "Scale the learning rate by 8 with a warm-up" in result.decision


def test_the_free_network_by_hand() -> None:
    """T(64) = 0.4 T(8); weak scaling lost at most 1/0.9 - 1 = 0.111 T(8); so at best 0.289 T(8), 3.46x, E = 0.43."""
    from scalecurve.proposals.decision import network_relief

    result = sc.assess(EXAMPLES / "fixed-batch.toml")
    relief = network_relief(result.proposal, result.judgements[0])

    assert relief is not None
    assert relief.speedup == pytest.approx(1 / (0.4 - (1 / 0.9 - 1)))
    assert relief.efficiency == pytest.approx(relief.speedup / 8)


def test_a_vendors_180x_on_256() -> None:
    """E = 0.70; above 0.85 only to 64; weak above 0.9 to 256: buy for weak loads, part off 64 for strong ones."""
    result = sc.assess(EXAMPLES / "vendor-180x.toml")
    strong, weak = result.judgements

    assert strong.proposed is not None
    assert strong.proposed.value == pytest.approx(180 / 256)
    assert strong.verdict is Verdict.WASTEFUL
    assert weak.verdict is Verdict.HELPS
    assert result.decision.startswith(
        "Buy 256 GPUs for weak-scaling workloads and reserve a 64-GPU partition for strong ones."
    )
    assert "180x on 256 is an efficiency of 0.70: 30 % of the fleet idle" in result.decision
    assert result.bend == {"k": 128, "after": 64, "threshold": 0.85, "regime": "strong"}
    assert result.recommended == {"strong": 64, "weak": 256}


def test_an_honest_baseline() -> None:
    """0.90, 0.83, 0.72, 0.50: bends at 16 with threshold 0.85; 32 GPUs, not the 64 sold with a reported 0.9."""
    result = sc.assess(EXAMPLES / "honest-baseline.toml")

    assert result.bend is not None
    assert result.bend["k"] == 16
    assert result.verdict is Verdict.WASTEFUL
    assert result.recommended == {"strong": 32}
    assert "Take 32 GPUs instead of 64: E(32) = 0.72 is still above 0.7." in result.decision
    assert "says 0.50 there and not 0.90" in result.decision


def test_doubling_with_five_percent_serial() -> None:
    """256 to 512 GPUs, billed linearly: 3.6 % faster at 1.93x the cost per result, and 20x is the ceiling."""
    result = sc.assess(EXAMPLES / "doubling-256.toml")
    [strong] = result.judgements

    assert strong.gain == pytest.approx(0.0358, abs=1e-4)
    assert strong.cost_change == pytest.approx(0.931, abs=1e-3)
    assert result.verdict is Verdict.WASTEFUL
    assert result.decision.startswith(
        "From 256 to 512 GPUs: 3.6 % faster, costs 1.93x as much per result when billed linearly."
    )
    assert "the speedup never exceeds 20" in result.answers[0].text
    assert result.sensitive_to[0].name == "serial share"
    assert result.sensitive_to[0].becomes == "does not help"
    assert result.sensitive_to[0].turns_at == pytest.approx(0.0873, abs=1e-4)


def test_what_is_missing_is_said_to_be_missing() -> None:
    result = sc.assess(EXAMPLES / "doubling-256.toml")
    missing = {answer.number: answer.missing for answer in result.answers}

    assert missing == {1: False, 2: False, 3: True, 4: True, 5: True, 6: False, 7: True}
    assert all(answer.text.startswith("missing: ") for answer in result.answers if answer.missing)
    assert all(answer.source for answer in result.answers if not answer.missing)
    assert "upper-bound" in [finding.code for finding in result.findings]


def test_a_page_with_every_part() -> None:
    result = sc.assess(EXAMPLES / "every-part.toml")

    assert not [answer for answer in result.answers if answer.missing]
    [strong] = result.judgements
    assert strong.efficiency is not None
    assert strong.efficiency.has_interval
    assert strong.proposed is not None
    assert strong.proposed.seconds is not None
    assert strong.proposed.seconds.has_interval
    assert result.verdict is Verdict.CANNOT_TELL
    assert strong.measure == (16, 32, 64)
    assert len(result.sensitive_to) == 2
    assert result.recommended == {"strong": 256}
    assert result.cost is not None


def test_a_study_behind_a_proposal() -> None:
    result = sc.assess(EXAMPLES / "measured.toml")
    [strong] = result.judgements

    assert strong.proposed is not None
    assert strong.proposed.kind == "forecast"
    assert strong.efficiency is not None
    assert strong.efficiency.has_interval
    assert result.bend is not None
    assert result.bend["k"] == 8
    assert result.answers[0].source is not None
    assert "fit of" in result.answers[0].source


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_example_shows_itself(path: Path) -> None:
    result = sc.assess(path)

    assert len(result.answer.decision) <= 120
    assert result.to_dict()["verdict"] == str(result.verdict)
    assert len(result.records()) == 7
    assert "<script" not in result._repr_html_()


def test_both_serial_shares_are_of_the_same_time() -> None:
    """Against T(8), 64 workers are 8 times as many: E >= 0.7 needs (1/0.7 - 1)/(8 - 1) = 0.061."""
    first = sc.assess(EXAMPLES / "fixed-batch.toml").answers[0]

    assert first.numbers["needed"] == pytest.approx((1 / 0.7 - 1) / 7)
    assert "needs at most 0.061 of T(8)" in first.text
