"""The scaling section of a proposal: the job size by hand, and what is missing said."""

from __future__ import annotations

from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.errors import InputError
from scalecurve.proposals.section import MISSING, methods_text, scaling_section

TIMES = {2: [36.0, 36.2, 35.8], 4: [20.0, 20.1, 19.9], 8: [15.0, 15.1, 14.9]}


def _section(**options: int) -> object:
    study = sc.load(TIMES, regime="strong", k_unit="gpus", node_size=2)
    return scaling_section([(study, sc.tabulate(study))], **options)


def test_the_size_is_the_largest_that_keeps_the_efficiency_and_the_hours_follow() -> None:
    made = _section(runs=100)
    # E(4) = 36/20/2 = 0.9, E(8) = 36/15/4 = 0.6; four GPUs are two nodes: 2 x 20 s x 100 / 3600 node-hours.
    assert (made.size, made.efficiency) == (4, pytest.approx(0.9, abs=0.01))
    assert made.requested == pytest.approx(2 * 20 * 100 / 3600, rel=0.01)
    assert made.answer.decision.startswith("Request jobs of 4 GPUs: efficiency 90 %; 100 runs need 1.111 node-hours")


def test_speedup_is_over_the_smallest_run() -> None:
    [(_, rows)] = _section().tables
    assert [row.nodes for row in rows] == [1, 2, 4]
    assert rows[0].speedup == pytest.approx(1.0)
    assert rows[1].speedup == pytest.approx(1.8, abs=0.01)


def test_what_is_missing_is_said_with_what_to_do() -> None:
    made = _section()
    absent = {item.name for item in made.items if item.text is None}
    assert {"weak scaling", "resources requested", "problem treated", "storage and I/O"} <= absent
    text = str(made)
    assert f"{MISSING}: say --runs" in text
    assert "strong scaling" not in absent


def test_no_size_where_no_run_keeps_the_efficiency() -> None:
    study = sc.load({1: 10.0, 2: 9.0, 4: 8.8}, regime="strong")
    assert scaling_section([(study, sc.tabulate(study))]).answer.decision.startswith("No job size is justified")


def test_a_number_of_runs_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="number of runs"):
        _section(runs=0)


def test_methods_say_what_was_held_fixed() -> None:
    study = sc.load(TIMES, regime="strong", k_unit="gpus")
    text = methods_text(study, sc.tabulate(study))
    assert "held the total work fixed" in text
    assert "3 times each" in text
    assert "K0 = 2" in text


@pytest.mark.parametrize("ending", ["tex", "md", "html"])
def test_a_proposal_is_written_in_every_format(tmp_path: Path, ending: str) -> None:
    study = sc.load(TIMES, regime="strong", k_unit="gpus", node_size=2)
    [page, *_] = sc.write_report(study, tmp_path / f"p.{ending}", purpose="proposal", runs=10)
    text = page.read_text()
    assert "Request jobs of 4 GPUs" in text
    assert MISSING in text


def test_a_paper_and_a_buyer_get_their_sections_only(tmp_path: Path) -> None:
    study = sc.load(TIMES, regime="strong", k_unit="gpus")
    [paper, *_] = sc.write_report(study, tmp_path / "paper.md", purpose="paper")
    [buyer, *_] = sc.write_report(study, tmp_path / "buyer.md", purpose="buyer", price=2.5)
    assert "## Methods" in paper.read_text()
    assert "## Raw samples" not in paper.read_text()
    assert "USD" in buyer.read_text()
    with pytest.raises(InputError, match="unknown purpose"):
        sc.write_report(study, tmp_path / "x.md", purpose="boss")


def test_methods_claim_neither_intervals_of_single_runs_nor_a_regime_that_nobody_stated(tmp_path: Path) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text("gpus,images/s\n1,415\n2,818\n4,1602\n")
    study = sc.load(rates)
    text = methods_text(study, sc.tabulate(study))
    assert text.startswith("We ran the job at K = 1, 2, 4 GPUs, once each")
    assert "no interval can be given" in text
    assert "95" not in text
    repeated = sc.load({1: [8.0, 8.1], 2: [4.2], 4: [2.3, 2.4, 2.2]}, regime="strong")
    text = methods_text(repeated, sc.tabulate(repeated))
    assert "1 to 3 times each" in text
    assert "where runs were repeated" in text


def test_runs_that_were_stated_are_not_missing() -> None:
    study = sc.load(TIMES, regime="strong", k_unit="gpus")
    item = next(
        one
        for one in scaling_section([(study, sc.tabulate(study))], runs=100).items
        if one.name == "resources requested"
    )
    assert item.text is None
    assert "--node-size" in item.remedy
    assert "--runs" not in item.remedy


def test_the_page_of_a_buyer_leads_with_the_verdict_on_the_proposal(tmp_path: Path) -> None:
    proposal = tmp_path / "proposal.toml"
    proposal.write_text(
        'workers = 64\nworkers_today = 8\nk_unit = "gpus"\nregime = "strong"\n[strong]\n'
        "points = [{ k = 8, efficiency = 0.9 }, { k = 16, efficiency = 0.83 }, { k = 64, efficiency = 0.5 }]\n"
    )
    study = sc.load(TIMES, regime="strong", k_unit="gpus")
    for sources in (study, [study, study]):
        [page, *_] = sc.write_report(sources, tmp_path / "buyer.md", purpose="buyer", proposal=proposal)
        first = page.read_text().partition("The answer")[2].strip().splitlines()[0]
        assert first.startswith("Do not buy 64 GPUs")
        assert "## The proposal" in page.read_text()
