"""Headings, cells and machines as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalecurve.auditing.audit import audit
from scalecurve.auditing.claim import Claim, load_claim
from scalecurve.auditing.job_rules import machine_kind


@pytest.mark.parametrize("head", ["std (s)", "Std. Dev. (s)", "Std Dev [s]", "σ (s)", "standard deviation (s)", "sd"])
def test_a_spread_is_read_under_every_heading(tmp_path: Path, head: str) -> None:
    (tmp_path / "table.csv").write_text(
        f"ranks,mean time (s),{head},runs\n1,84.2,0.5,10\n2,43.9,0.4,10\n4,23.7,0.3,10\n"
    )

    claim = load_claim(tmp_path / "table.csv")

    assert isinstance(claim, Claim)
    assert [(point.std, point.n) for point in claim.points] == [(0.5, 10), (0.4, 10), (0.3, 10)]


def test_a_spread_has_the_unit_of_its_times_where_it_states_none(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("ranks,time (ms),std\n1,840,5\n2,439,4\n4,237,3\n")

    claim = load_claim(tmp_path / "table.csv")

    assert isinstance(claim, Claim)
    assert claim.points[0].seconds == pytest.approx(0.84)
    assert claim.points[0].std == pytest.approx(0.005)


def test_a_remark_in_a_cell_is_no_part_of_its_number(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("nodes,time (s)\n1,320\n2,165\n4,88\n64,9.5 (projected)\n")

    assert "extrapolation-as-result" in {one.code for one in audit(tmp_path / "table.csv", regime="strong").violations}


@pytest.mark.parametrize(
    "names",
    [
        ("8x H100 SXM", "2 x 8 H100 SXM", "8 nodes of 8x H100 SXM", "16×H100 SXM"),
        ("DGX H100", "4 DGX H100 nodes", "DGX H100 (8 GPUs)", "DGX H100 x 8"),
        ("TPU v4-32", "TPU v4-64"),
        ("A100-80GB", "8x A100 80GB", "16 A100-80GB GPUs"),
        ("Xeon Gold 6148", "2x Xeon Gold 6148", "2 nodes, Xeon Gold 6148"),
    ],
)
def test_a_count_is_no_machine(names: tuple[str, ...]) -> None:
    assert len({machine_kind(name) for name in names}) == 1


@pytest.mark.parametrize(
    "names", [("DGX A100", "DGX H100"), ("Xeon Gold 6148", "Xeon Gold 6248"), ("A100-40GB", "A100-80GB")]
)
def test_other_machines_differ(names: tuple[str, str]) -> None:
    assert machine_kind(names[0]) != machine_kind(names[1])


def test_the_decision_names_what_is_doubted() -> None:
    table = {
        "regime": "strong",
        "points": [{"k": k, "seconds": s} for k, s in ((1, 1000), (2, 470), (4, 240), (8, 150))],
    }

    assert "E = 1.06 at K = 2 is above 1" in audit(table).answer.decision


def test_two_percent_above_one_are_noise_where_no_spread_is_stated() -> None:
    points = [{"k": k, "efficiency": e} for k, e in ((1, 1.0), (2, 1.01), (4, 0.99), (8, 0.95))]

    found = audit({"regime": "strong", "points": points})

    assert "superlinear" not in {one.code for one in (*found.findings, *found.violations)}
