"""Headings, cells and machines as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalecurve.auditing.audit import Audit, audit
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
        ("p3.2xlarge", "p3.8xlarge", "p3.16xlarge"),
        ("c7i.large", "c7i.metal-24xl"),
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


def codes(result: Audit) -> set[str]:
    return {finding.code for finding in (*result.findings, *result.violations)}


def said(table: str, place: Path) -> Audit:
    (place / "table.csv").write_text(table)
    return audit(place / "table.csv")


@pytest.mark.parametrize(
    ("statement", "regime"),
    [("a scaled speedup of 1021", "weak"), ("weak scaling to 512 GPUs", "weak"), ("strong scaling", "strong"),
     ("against a strong single-GPU baseline", None), ("strong and weak scaling", None)],
)  # fmt: skip
def test_the_words_of_a_claim_state_its_regime(statement: str, regime: str | None) -> None:
    assert Claim.model_validate({"statement": statement, "workers": 1024, "speedup": 1021}).regime == regime


@pytest.mark.parametrize(
    "head", ["batch per GPU", "batch/GPU", "local batch size", "device batch size", "batch (per device)"]
)
def test_a_batch_of_each_worker_grows_with_them(tmp_path: Path, head: str) -> None:
    (tmp_path / "table.csv").write_text(f"GPUs,images/sec,{head}\n1,219,64\n2,422,64\n8,1734,64\n")

    claim = load_claim(tmp_path / "table.csv")

    assert isinstance(claim, Claim)
    assert [size for _, size in claim.sizes] == [64, 128, 512]
    assert claim.may_be_weak


@pytest.mark.parametrize(
    ("head", "cells", "sizes"),
    [
        ("grid points", ("1000", "8000"), [1000, 8000]),
        ("mesh", ("64^3", "128^3"), [262144, 2097152]),
        ("grid", ("64x64", "128x64"), [4096, 8192]),
        ("mesh", ("coarse", "fine"), []),
    ],
)
def test_a_size_is_read_under_the_names_that_tables_know(
    tmp_path: Path, head: str, cells: tuple[str, str], sizes: list[float]
) -> None:
    (tmp_path / "table.csv").write_text(f"ranks,time (s),{head}\n1,50,{cells[0]}\n8,52,{cells[1]}\n")

    claim = load_claim(tmp_path / "table.csv")

    assert isinstance(claim, Claim)
    assert [size for _, size in claim.sizes] == sizes


def test_epochs_to_a_target_are_iterations(tmp_path: Path) -> None:
    result = said(
        "gpus,batch,step time (ms),epochs to target\n1,256,410,90\n8,2048,432,90\n64,16384,471,110\n", tmp_path
    )

    assert "workload-changed" in codes(result)


def test_speedups_upside_down_are_called_so(tmp_path: Path) -> None:
    result = said("threads,time_ms,speedup\n1,850,1\n2,440,0.52\n4,236,0.28\n8,141,0.17\n", tmp_path)

    assert result.answer is not None
    assert "upside down" in result.answer.decision


def test_threads_of_a_rank_are_part_of_k_where_k_counts_cores(tmp_path: Path) -> None:
    points = [{"k": 32 * n, "threads": n, "seconds": 512 / n} for n in (1, 2, 4)]

    assert "threads-changed" not in codes(audit({"k_unit": "cores", "points": points}))
    assert "threads-changed" in codes(audit({"k_unit": "ranks", "points": points}))


def test_the_best_of_several_runs_hides_their_spread() -> None:
    points = [{"k": k, "seconds": seconds} for k, seconds in ((1, 81.2), (4, 21.5), (16, 6.4))]
    result = audit({"statement": "best of 5 runs", "regime": "strong", "points": points})

    assert any("best of 5 runs" in finding.message for finding in result.violations)


def test_a_claim_without_a_figure_says_so_first() -> None:
    answer = audit({"statement": "near-linear scalability", "workers": 256}).answer

    assert answer is not None
    assert answer.decision.startswith("Do not rely on it: no speedup")
    assert answer.next is not None
    assert "Which speedup or efficiency" in answer.next


def test_a_long_reason_gives_way_to_what_its_rule_looks_for() -> None:
    points = [{"k": 2100, "seconds": 4320}, {"k": 206, "seconds": 1380}]
    hardware = {"hardware": "206 EC2 i2.8xlarge nodes in one placement group"}
    baseline = {"k": 2100, "description": "the record", "hardware": "2100 dedicated nodes with 64 GB of memory each"}
    answer = audit({"points": points, "baseline": baseline, "environment": hardware}).answer

    assert answer is not None
    assert answer.decision == "Do not believe it: baseline and scaled runs differ in more than K."


def test_work_that_grows_under_a_strong_claim_comes_before_slower_times(tmp_path: Path) -> None:
    table = "# strong scaling\nranks,grid points,time (s)\n1,1000000,50\n8,8000000,52\n64,64000000,55\n"
    answer = said(table, tmp_path).answer

    assert answer is not None
    assert "the total work goes from 1M" in answer.decision


def test_another_precision_at_another_k_is_another_job(tmp_path: Path) -> None:
    answer = said("gpus,dtype,time (s)\n1,fp32,800\n2,fp32,410\n4,fp16,120\n8,fp16,66\n", tmp_path).answer

    assert answer is not None
    assert answer.decision == "Do not believe it: the precision differs: fp32 at K = 1, fp16 at K = 4."
    scores = said("gpus,precision,recall,time (s)\n1,0.91,0.8,800\n2,0.92,0.8,410\n4,0.9,0.8,220\n", tmp_path)
    assert "baseline-differs" not in codes(scores)


def test_the_shortest_and_the_longest_run_are_a_spread(tmp_path: Path) -> None:
    result = said("ranks,avg (s),min (s),max (s)\n1,50.2,50.0,50.5\n8,7.1,6.4,9.9\n64,1.6,1.1,4.2\n", tmp_path)

    assert "wide-spread" in codes(result)
    assert "spread-missing" not in codes(result)
    assert result.answer is not None
    assert "runs differ by 97 % at K = 64" in result.answer.decision


@pytest.mark.parametrize("head", ["max memory (GB)", "max load", "max (MB)", "std energy"])
def test_the_largest_of_something_else_is_no_spread(tmp_path: Path, head: str) -> None:
    (tmp_path / "table.csv").write_text(f"ranks,time (s),min time (s),{head}\n1,50,49,900\n8,7,6,100\n")

    claim = load_claim(tmp_path / "table.csv")

    assert isinstance(claim, Claim)
    assert all(point.spread is None for point in claim.points)


def test_slower_with_more_workers_is_said_although_nobody_can_check_it(tmp_path: Path) -> None:
    answer = said("threads,speedup\n1,1.0\n2,1.9\n4,3.6\n8,5.2\n16,5.0\n", tmp_path).answer

    assert answer is not None
    assert answer.decision == "Do not rely on it: nobody can check it, and K = 16 is slower than K = 8."
