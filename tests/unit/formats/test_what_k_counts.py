"""A rate against clients has one meaning under every regime, so nobody is asked for it; a time still is."""

from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.errors import InputError


def test_a_rate_against_clients_needs_no_regime(tmp_path: Path) -> None:
    table = tmp_path / "load.csv"
    table.write_text("clients,tps\n1,220\n2,443\n4,852\n8,1610\n")

    study = sc.load(table)

    assert sc.tabulate(study).row(8).speedup.value == pytest.approx(1610 / 220)
    assert "one system, more clients" in str(sc.tabulate(study))


def test_times_that_rise_do_not_show_the_regime(tmp_path: Path) -> None:
    table = tmp_path / "times.csv"
    table.write_text("clients,seconds\n1,220\n2,443\n4,852\n")

    with pytest.raises(InputError, match="regime is not stated"):
        sc.load(table)


def test_a_rate_has_one_efficiency_under_both_regimes(tmp_path: Path) -> None:
    table = tmp_path / "rates.csv"
    table.write_text("threads,tps\n1,220\n2,443\n4,852\n")
    study = sc.load(table)

    assert "regime-of-a-rate" in {finding.code for finding in study.findings}
    rows = [sc.tabulate(sc.load(table, regime=regime)).row(4) for regime in ("strong", "weak")]
    assert {row.efficiency.value for row in rows} == {sc.tabulate(study).row(4).efficiency.value}


@pytest.mark.parametrize(
    "rows",
    [
        "nodes,ranks_per_node,threads,seconds\n1,1,8,10\n1,1,8,10.1\n1,2,4,9\n1,2,4,9.1\n1,8,1,9.5\n1,1,1,70\n1,1,1,71\n",
        "cores,split,seconds\n8,1x8,10\n8,1x8,10.1\n8,2x4,9\n8,2x4,9.1\n4,1x4,18\n4,1x4,18.1\n4,2x2,17\n4,2x2,17.1\n",
        "ranks,threads,seconds\n1,8,10\n1,4,19\n2,4,9\n2,2,18\n4,2,8.5\n4,1,17\n",
    ],
)
def test_splits_of_the_same_cores_are_no_repeats(tmp_path: Path, rows: str) -> None:
    table = tmp_path / "splits.csv"
    table.write_text(rows)

    with pytest.raises(InputError, match=r"ranks_per_node|split|threads|several columns could be"):
        sc.tabulate(sc.load(table, regime="strong"))


CAPTION = "Table 3: Strong scaling on 128M cells\n\n"
NODES_AND_CORES = (
    "| Nodes | Cores | Time/step [s] |\n|---|---|---|\n| 1 | 128 | 41.2 |\n| 2 | 256 | 20.9 |\n| 4 | 512 | 10.8 |\n"
)


def test_of_two_counts_that_rise_together_all_workers_are_k(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text(NODES_AND_CORES)
    assert sc.load(tmp_path / "t.md", regime="strong").all_k == (128, 256, 512)
    assert sc.load(tmp_path / "t.md", regime="strong", k_column="Nodes").all_k == (1, 2, 4)


def test_the_caption_states_the_regime(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text(CAPTION + NODES_AND_CORES)
    study = sc.load(tmp_path / "t.md", k_column="Nodes")

    assert (study.regime, study.k_unit) == ("strong", "nodes")
    assert "regime-in-text" in {finding.code for finding in study.findings}


@pytest.mark.parametrize("caption", ["", "Strong scaling beside weak scaling\n\n", "strong results\n\n"])
def test_a_regime_that_the_caption_does_not_settle_is_shown_by_the_times(tmp_path: Path, caption: str) -> None:
    (tmp_path / "t.md").write_text(caption + NODES_AND_CORES)
    assert "regime-from-times" in {finding.code for finding in sc.load(tmp_path / "t.md", k_column="Nodes").findings}


RATES = "gpus,images/s,{head}\n1,415,{cell}\n2,818,{cell}\n4,1602,{cell}\n8,3104,{cell}\n"


@pytest.mark.parametrize(
    "head", ["batch per gpu", "local batch", "local_batch_size", "micro batch", "cells/rank", "work per worker"]
)
def test_a_constant_column_of_work_per_worker_shows_weak_scaling(tmp_path: Path, head: str) -> None:
    table = tmp_path / "rates.csv"
    table.write_text(RATES.format(head=head, cell=256))

    study = sc.load(table)

    assert study.regime == "weak"
    assert "regime-of-a-rate" not in {finding.code for finding in study.findings}
    assert "work per worker fixed" in str(sc.tabulate(study))
    assert sc.load(table, regime="strong").regime == "strong"


def test_a_constant_total_shows_strong_scaling(tmp_path: Path) -> None:
    table = tmp_path / "rates.csv"
    table.write_text(RATES.format(head="global batch", cell=4096))
    assert "total work fixed" in str(sc.tabulate(table))


@pytest.mark.parametrize("head", ["batch", "memory per gpu", "threads per rank"])
def test_other_constant_columns_leave_the_regime_of_a_rate_open(tmp_path: Path, head: str) -> None:
    table = tmp_path / "rates.csv"
    table.write_text(RATES.format(head=head, cell=4))
    text = str(sc.tabulate(table))
    assert "strong or weak scaling, not stated" in text
    assert "total work fixed" not in text


def test_times_of_an_epoch_fall_with_the_same_batch_per_worker(tmp_path: Path) -> None:
    table = tmp_path / "epochs.csv"
    table.write_text("gpus,epoch time (s),batch per gpu\n1,800,32\n2,410,32\n4,210,32\n8,120,32\n")
    assert sc.load(table).regime == "strong"
    table.write_text("gpus,step time (s),batch per gpu\n1,8.0,32\n2,8.1,32\n4,8.3,32\n8,8.9,32\n")
    assert sc.load(table).regime == "weak"


def test_a_column_of_ranks_per_node_is_the_node_size(tmp_path: Path) -> None:
    table = tmp_path / "nodes.md"
    rows = "".join(f"| {k // 4} | 4 | {k} | {t} |\n" for k, t in ((4, 80.0), (8, 41.0), (16, 22.0)))
    table.write_text(f"| Nodes | Ranks/node | MPI ranks | Time [s] |\n|---|---|---|---|\n{rows}")
    assert sc.load(table, regime="strong").node_size == 4
    assert sc.load(table, regime="strong", node_size=8).node_size == 8
