"""Laws fitted to studies whose truth is known."""

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.document import Paragraph
from scalecurve.fitting.fit import fit, fitted_curve

K = 2 ** np.arange(7)


def study(times: np.ndarray, noise: float = 0.01, repeats: int = 5, seed: int = 1, **more: object) -> sc.Study:
    rng = np.random.default_rng(seed)
    samples = {int(k): (t * (1 + noise * rng.standard_normal(repeats))).tolist() for k, t in zip(K, times, strict=True)}
    return sc.Study.from_samples(samples, regime=more.pop("regime", "strong"), **more)


AMDAHL = 0.04 + 0.96 / K
LOGCOMM = 0.04 + 0.96 / K + 0.01 * np.log2(K)
USL = (1 + 0.04 * (K - 1) + 0.002 * K * (K - 1)) / K


@pytest.mark.parametrize(
    ("times", "law", "truth"),
    [
        (AMDAHL, "amdahl", {"serial": 0.04}),
        (LOGCOMM, "logcomm", {"serial": 0.04, "comm": 0.01}),
        (USL, "usl", {"contention": 0.04, "coherency": 0.002}),
    ],
)
def test_the_true_law_wins_and_its_interval_holds(times: np.ndarray, law: str, truth: dict[str, float]) -> None:
    result = fit(study(times))

    assert result.best.name == law
    for name, value in truth.items():
        estimate = result.best.parameters[name]
        assert estimate.low <= value <= estimate.high
        assert estimate.low <= estimate.value <= estimate.high
    assert result.best.parameters["seconds_at_one"].value == pytest.approx(1.0, rel=0.02)


def test_intervals_cover_about_as_often_as_they_say() -> None:
    inside = 0
    for seed in range(60):
        estimate = fit(study(LOGCOMM, 0.02, seed=seed), law="logcomm")["logcomm"].parameters["comm"]
        inside += estimate.low <= 0.01 <= estimate.high
    assert inside >= 52


def test_ties_are_refused_and_the_k_that_would_part_them_is_named() -> None:
    few = sc.Study.from_samples({1: [1.0], 2: [0.52], 4: [0.285], 8: [0.17]}, regime="strong")
    result = fit(few)

    with pytest.raises(sc.Undecided) as caught:
        _ = result.best
    assert len(caught.value.laws) >= 2
    assert result.to_dict()["best"] is None
    assert "laws-tie" in [finding.code for finding in result.findings]
    assert result.parting_k is None or result.parting_k > 8


def test_a_law_that_reduces_to_a_smaller_one_is_not_its_rival() -> None:
    result = fit(study(AMDAHL, 0.001))

    assert {own.reduces_to for own in result if own.name != "amdahl" and own.misfit < 0.01} <= {None, "amdahl"}
    assert result.best.name == "amdahl"


def test_a_parameter_at_its_bound_is_reported() -> None:
    result = fit(study(1.0 / K, 0.0), law=["amdahl"])

    assert result["amdahl"].parameters["serial"].value == pytest.approx(0.0, abs=1e-9)
    assert "parameter-at-bound" in [finding.code for finding in result.findings]


def test_superlinear_data_is_reported_not_hidden() -> None:
    assert "superlinear" in [finding.code for finding in fit(study(K**-1.1)).findings]


def test_lack_of_fit_needs_repeats_and_finds_a_kink() -> None:
    kinked = np.where(K <= 8, 1.0 / K, 1.0 / 8 * (1 + 0.4 * (K > 16)))

    assert "lack-of-fit" in [finding.code for finding in fit(study(kinked, 0.005)).findings]
    assert "lack-of-fit" not in [finding.code for finding in fit(study(LOGCOMM, 0.02)).findings]
    single = sc.Study.from_samples({int(k): [float(t)] for k, t in zip(K, LOGCOMM, strict=True)}, regime="strong")
    assert "lack-of-fit-untested" in [finding.code for finding in fit(single).findings]


def test_weak_scaling_has_its_own_laws_and_says_what_it_cannot_see() -> None:
    result = fit(study(1 + 0.05 * np.log2(K), 0.005, regime="weak"))

    assert result.best.name == "logcomm"
    assert result.best.parameters["comm"].value == pytest.approx(0.05, rel=0.1)
    assert "serial-not-identifiable" in [finding.code for finding in result.findings]


def test_throughput_is_fitted_like_its_inverse() -> None:
    times, rates = study(USL), study(1 / USL, quantity="throughput")

    assert fit(rates)["usl"].parameters["coherency"].value == pytest.approx(
        fit(times)["usl"].parameters["coherency"].value, rel=0.1
    )
    assert "throughput_at_one" in fit(rates)["usl"].parameters


def test_per_worker_rates_and_weak_throughput() -> None:
    per_worker = study(1 / (USL * K), quantity="throughput_per_worker")
    total = study(K / (1 + 0.05 * np.log2(K)), quantity="throughput", regime="weak")

    assert fit(per_worker)["usl"].parameters["coherency"].value == pytest.approx(0.002, rel=0.1)
    assert fit(total)["logcomm"].parameters["comm"].value == pytest.approx(0.05, rel=0.2)


def test_the_same_study_gives_the_same_answer() -> None:
    assert fit(study(LOGCOMM)).to_dict() == fit(study(LOGCOMM)).to_dict()


def test_wrong_settings_are_all_named() -> None:
    with pytest.raises(sc.InputError) as caught:
        fit(study(LOGCOMM), level=2, weighting="none")
    assert len(caught.value.faults) == 2
    with pytest.raises(sc.InputError, match="no such law"):
        fit(study(LOGCOMM), law="moore")
    with pytest.raises(sc.InputError, match="two worker counts"):
        fit(sc.Study.from_samples({4: [1.0]}, regime="strong"))
    with pytest.raises(sc.InputError, match="not fitted"):
        fit(study(LOGCOMM), law="usl")["amdahl"]


def test_text_json_and_csv_say_the_same() -> None:
    result = fit(study(LOGCOMM))

    assert "logcomm explains the curve" in str(result)
    assert "usl does not fit" in str(fit(study(LOGCOMM), law="usl"))
    assert [law["name"] for law in result.to_dict()["laws"]] == [own.name for own in result]
    assert result.records()[0]["law"] == result.best.name
    assert len(result) == 5


def test_fewer_worker_counts_than_parameters_give_no_interval() -> None:
    result = fit(sc.Study.from_samples({1: [10.0, 10.1], 2: [6.0, 6.1]}, regime="strong"))

    assert all(own.low is None and own.high is None for own in result["usl"].parameters.values())
    assert result["amdahl"].parameters["serial"].has_interval
    told = [finding for finding in result.findings if finding.code == "not-identified"]
    assert set(told[0].evidence["laws"]) == {"logcomm", "usl", "root"}


def test_a_serial_share_stays_within_zero_and_one() -> None:
    wild = sc.Study.from_samples({1: [9.0, 11.0, 10.0], 2: [8.0, 12.0, 9.0], 4: [6.0, 14.0, 8.0]}, regime="strong")

    for own in fit(wild):
        share = own.parameters.get("serial")
        if share is not None and share.value <= 1:
            assert 0 <= share.low <= share.value <= share.high <= 1


def test_the_text_says_which_laws_reduce_to_another() -> None:
    result = fit(study(AMDAHL, 0.001))

    assert any(own.reduces_to for own in result)
    assert any("reduces to amdahl" in block.text for block in result.document().details if isinstance(block, Paragraph))


def test_a_fitted_curve_is_one_at_the_baseline_and_follows_the_law() -> None:
    exact = study(AMDAHL, 0.0005)

    rows = fitted_curve(exact, fit(exact, law="amdahl")["amdahl"], [1, 8, 32])

    assert rows[0]["efficiency"] == pytest.approx(1)
    assert rows[2]["speedup"] == pytest.approx(1 / (0.04 + 0.96 / 32), rel=0.01)
    assert rows[2]["speedup"] == pytest.approx(32 * rows[2]["efficiency"])


def test_the_repr_says_the_answer() -> None:
    assert repr(fit(study(AMDAHL, 0.001))).startswith("amdahl explains the curve: serial ")


def test_two_worker_counts_explain_nothing() -> None:
    """Any law of two numbers passes through two points."""
    answer = fit({1: [100.0, 101.0, 99.0], 8: [17.0, 16.9, 17.1]}).answer

    assert answer.decision.startswith("2 worker counts cannot test a law: ")
    assert answer.next == "measure at least five"
