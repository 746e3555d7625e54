"""Files of load tools, benchmarks, system tools and program logs, against numbers read off them by hand.

samples/README.md says which were written by the real tool.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc
from scalecurve.errors import FormatError
from scalecurve.formats.imported import Imported
from scalecurve.formats.latencies import read_latencies
from scalecurve.formats.sweeps import read_sweeps
from scalecurve.study import Quantity

SAMPLES = Path(__file__).parent / "samples"


def imported(pattern: str, **settings: Any) -> Imported:
    files = sorted(SAMPLES.glob(pattern))
    assert files, pattern
    return sc.formats.import_results(*files, regime="strong", **settings)


def means(pattern: str, **settings: Any) -> dict[int, float]:
    return {row["k"]: row["mean"] for row in imported(pattern, **settings).records()}


def codes(result: Imported) -> set[str]:
    return {finding.code for finding in result.findings}


@pytest.mark.parametrize(
    ("pattern", "settings", "rates"),
    [
        ("wrk/*.txt", {}, {1: 40700.25, 2: 32795.97, 4: 22127.28}),  # Requests/sec
        ("ab/*.txt", {}, {1: 15070.11, 2: 13146.22, 4: 21510.0}),  # Requests per second
        ("hey/*.txt", {"k_from": r"c(\d+)"}, {1: 13952.4349, 2: 9853.3773, 4: 21403.4187}),  # Requests/sec
        ("autocannon/*.json", {}, {1: 24141 / 2.01, 2: (31398 - 2) / 2.02, 4: 31305 / 2.04}),
        ("locust/*u?_stats.csv", {"k_from": r"u(\d+)_"}, {1: 57.833, 2: 110.817, 4: 207.441}),  # Requests/s
        ("k6/*.txt", {}, {10: 96.6 * 0.99}),
        ("k6/*.csv", {}, {2: 3 / 4}),
        ("vegeta/*", {}, {100: 98.0, 200: 199.9}),
        ("oha/*.json", {"k_from": r"c(\d+)"}, {4: 394.8}),
        ("sysbench/*.txt", {}, {1: 2357.51, 2: 2330.96}),
        ("fio/*.json", {}, {1: 14194.805195, 2: 33755.244755}),
        ("vllm/*.txt", {}, {8: 719.03, 16: 1305.90}),
    ],
)
def test_rates_against_clients(pattern: str, settings: dict[str, str], rates: dict[int, float]) -> None:
    result = imported(pattern, **settings)
    assert result.study.quantity is Quantity.THROUGHPUT
    to_the_digit = pattern.startswith(("wrk", "ab", "hey"))
    measured = {row["k"]: row["mean"] for row in result.records()}
    assert measured == pytest.approx(rates, rel=1e-9 if to_the_digit else 2e-3)


def test_latencies_against_clients_and_failures_are_said() -> None:
    result = imported("wrk/*.txt", value_column="p99")
    assert result.study.quantity is Quantity.SECONDS
    assert result.study.samples.at(4).tolist() == pytest.approx([0.02513])
    assert "failed-requests" in codes(imported("autocannon/*.json"))
    assert means("locust/*history.csv") == pytest.approx({1: 57.5, 2: 111.0, 4: 206.0})  # K is in the history


def test_percentiles_of_more_load_tools() -> None:
    (ab,) = read_latencies(SAMPLES / "ab" / "ab_c4.txt")
    assert (ab.stated[0.5], ab.stated[0.99], ab.connections, ab.errors) == (0.0, 1e-3, 4, 0)
    (vegeta,) = read_latencies(SAMPLES / "vegeta" / "vegeta_200.txt")
    assert (vegeta.stated[0.99], vegeta.errors, vegeta.intended_rate) == (pytest.approx(0.01), 0, 200.1)
    (k6,) = read_latencies(SAMPLES / "k6" / "k6_vus10.txt")
    assert (k6.stated[0.95], k6.errors) == (pytest.approx(0.1217), 29)
    (hgrm,) = read_latencies(SAMPLES / "hgrm" / "latency.hgrm", unit=1e-3)
    assert hgrm.histogram is not None
    assert (hgrm.n, hgrm.histogram.most) == (1000, pytest.approx(0.02))
    with pytest.raises(FormatError, match="does not say the unit"):
        read_latencies(SAMPLES / "hgrm" / "latency.hgrm")


def test_go_writes_gomaxprocs_behind_the_name(tmp_path: Path) -> None:
    hashes = means("gobench/*", series="Hash")
    assert hashes[1] == pytest.approx((25494 + 24502 + 21931) / 3 * 1e-9)
    assert hashes[2] == pytest.approx((15608 + 20991 + 22186) / 3 * 1e-9)
    text = "BenchmarkA/size-10 \t 5 \t 100 ns/op\nBenchmarkA/size-10-2 \t 5 \t 60 ns/op\n"
    (tmp_path / "go.txt").write_text(text)
    study = sc.load(tmp_path / "go.txt", regime="strong")
    assert {k: round(v[0] * 1e9) for k, v in study.samples.by_k().items()} == {1: 100, 2: 60}


def test_jmh_times_are_of_one_thread() -> None:
    assert means("jmh/*.json") == pytest.approx(
        {1: 10e-6, 4: 12e-6 / 4}
    )  # four threads finish four operations in 12 us
    assert means("jmh/*.csv") == pytest.approx({1: 100e3, 4: 340e3})


def test_criterion_and_benchmarkdotnet() -> None:
    assert means("criterion/*/new/sample.json") == pytest.approx({1: 100.6667e-6, 2: 59.6667e-6}, rel=1e-4)
    assert means("dotnet/*.json") == pytest.approx({1: 1.01e-3, 2: 0.53e-3})


def test_gnu_time_reads_the_clock_the_command_and_the_status(tmp_path: Path) -> None:
    result = imported("gnutime/time_p*.txt", k_from=r"p(\d)")
    assert means("gnutime/time_p1.txt", k_from=r"p(\d)") == pytest.approx({1: 0.07})
    assert "clock-resolution" in codes(result)
    text = (SAMPLES / "gnutime" / "time_p1.txt").read_text()
    for k, clock in ((2, "1:02:03"), (4, "31:01.50")):
        edited = text.replace("0:00.07", clock).replace('"sh -c', f'"./solve --threads {k} input.dat; sh -c')
        (tmp_path / f"{k}.txt").write_text(edited)
    study = sc.formats.import_results(tmp_path, regime="strong").study
    assert {k: v.tolist() for k, v in study.samples.by_k().items()} == {2: [3723.0], 4: [1861.5]}
    both = text.replace("time_p1", "x") + (SAMPLES / "gnutime" / "time_fail.txt").read_text()
    (tmp_path / "both1.txt").write_text(both)
    runs = sc.formats.import_results(
        tmp_path / "both1.txt", regime="strong", k_from=r"both(\d)", series="sh -c i"
    ).study
    assert runs.all_k == (1,)


def test_perf_stat_has_no_elapsed_time_of_its_own(tmp_path: Path) -> None:
    assert means("perf/*.csv", k_from=r"t(\d)\.csv")[1] == pytest.approx(0.101620632)
    lines = (
        "# started on x\n\n95.0,msec,task-clock,,95000000,100.00,1.900,CPUs utilized\n1,,context-switches,,1,100.00,,\n"
    )
    (tmp_path / "t2.csv").write_text(lines)
    study = sc.load(tmp_path / "t2.csv", regime="strong", k_from=r"t(\d)\.csv")
    assert study.samples.at(2).tolist() == pytest.approx([0.05])  # 95 ms on 1.9 CPUs
    (tmp_path / "t2.csv").write_text("100,,cycles,,95000000,100.00,1.9,GHz\n2,,context-switches,,1,100.00,,\n")
    with pytest.raises(FormatError, match="no elapsed time"):
        sc.load(tmp_path / "t2.csv", regime="strong", k_from=r"t(\d)\.csv")


def test_lammps_has_its_phases(tmp_path: Path) -> None:
    result = imported("lammps/*.log")
    assert {row["k"]: row["mean"] for row in result.records()} == {1: 0.360717, 2: 1.24028}
    assert means("lammps/*.log", value_column="Pair max")[2] == 0.25485
    assert means("lammps/*.log", value_column="Comm avg")[2] == 0.88091
    alone = next(run for run in result.study.runs if run.k == 1)
    assert set(alone.ranks[0].phases) == {"Pair", "Neigh", "Comm", "Output", "Modify", "Other"}
    text = (SAMPLES / "lammps" / "lammps_n2.log").read_text()
    (tmp_path / "two.log").write_text(text + text.partition("\n")[2])  # two runs below one banner
    with pytest.raises(FormatError, match=r"'run 1', 'run 2'"):  # equilibration is not production
        sc.load(tmp_path / "two.log", regime="strong")


def test_gromacs_openfoam_and_namd() -> None:
    gromacs = imported("gromacs/*.log")
    assert {row["k"]: row["mean"] for row in gromacs.records()} == {1: 0.507, 2: 2.872}
    assert means("gromacs/*.log", value_column="ns/day")[2] == 6.047
    assert means("gromacs/*.log", value_column="PME mesh")[2] == 1.065
    foam = imported("openfoam/*.log")
    assert {row["k"]: row["mean"] for row in foam.records()} == {1: 0.01, 2: 0.03}
    assert "clock-resolution" in codes(foam)  # ClockTime is 0 s: the CPU time is taken, and said
    assert means("namd/*.log") == {4: 0.02, 8: 0.011}


def test_training_logs_leave_out_the_first_step() -> None:
    assert means("megatron/*.log") == {4: 2.0, 8: 1.1}
    assert means("megatron/*.log", value_column="TFLOP/s/GPU")[4] == pytest.approx((239.8 + 238.8) / 2)
    titan = imported("torchtitan/*.log")
    assert titan.study.quantity is Quantity.THROUGHPUT_PER_WORKER
    assert {row["k"]: row["mean"] for row in titan.records()} == {4: 10_000.0, 8: 9500.0}
    trainer = imported("hftrainer/*.log")
    assert {row["k"]: row["mean"] for row in trainer.records()} == {4: 120.5, 8: 60.5}
    assert "batch-changes" in codes(trainer)


def test_vllm_finds_the_concurrency_before_or_in_the_block() -> None:
    assert means("vllm/*.txt", value_column="mean_ttft") == pytest.approx({8: 0.20057, 16: 0.26057})
    assert "failed-requests" in codes(imported("vllm/*.txt"))


def test_google_benchmark_as_csv_and_with_aggregates_only() -> None:
    rates = means("googlebench/*.csv", value_column="items_per_second")
    assert rates[1] == pytest.approx((3.67813e7 + 3.77718e7 + 4.56716e7) / 3)
    with pytest.raises(FormatError, match="does not say its version"):
        imported("googlebench/*.csv")
    aggregates = imported("googlebench/*.json")
    assert {row["k"]: row["mean"] for row in aggregates.records()}[1] == pytest.approx(21098.53214754934e-9)
    assert "the mean over repetitions" in aggregates.sentence


def test_reframe_perflogs_of_both_layouts(tmp_path: Path) -> None:
    assert means("perflog/*.log") == {1: 8.0, 2: 4.0}
    line = (
        "2026-11-16T03:00:00|reframe 3.12.0|Solve on sys:part using gnu|jobid=1|num_tasks={}|time={}"
        "|ref=0 (l=null, u=null)|s\n"
    )
    (tmp_path / "old.log").write_text(line.format(1, 8.0) + line.format(2, 4.5))
    study = sc.load(tmp_path / "old.log", regime="strong")
    assert {k: v.tolist() for k, v in study.samples.by_k().items()} == {1: [8.0], 2: [4.5]}


def test_a_failed_command_is_no_observation(tmp_path: Path) -> None:
    (tmp_path / "fail1.txt").write_text((SAMPLES / "gnutime" / "time_fail.txt").read_text())
    with pytest.raises(FormatError, match="no run succeeded"):
        sc.load(tmp_path / "fail1.txt", regime="strong", k_from=r"fail(\d)")


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("Running 2s test @ http://h/\n2 connections\n\nReq/Bytes counts sampled once per second.\n", "--json"),
        ("<p>\n This is ApacheBench, Version 2.3\n</p>\n<table>\n<tr><th>Concurrency Level:</th></tr></table>\n", "-w"),
    ],
    ids=["autocannon", "ab -w"],
)
def test_output_that_says_too_little_names_the_option_that_says_more(tmp_path: Path, text: str, remedy: str) -> None:
    (tmp_path / "out.txt").write_text(text)

    with pytest.raises(sc.InputError, match=remedy):
        sc.load(tmp_path / "out.txt", regime="strong")


def test_sysbench_without_a_rate_is_read_by_its_totals(tmp_path: Path) -> None:
    (tmp_path / "mutex.txt").write_text(
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nNumber of threads: 2\n\nGeneral statistics:\n"
        "    total time:                          0.5000s\n    total number of events:              1000\n"
    )

    rates = sc.load(tmp_path / "mutex.txt", regime="strong").samples.by_k()

    assert rates[2].tolist() == [2000.0]


@pytest.mark.parametrize(
    "pattern",
    ["ab/*.txt", "wrk/*.txt", "sysbench/*.txt", "lammps/*.log", "gromacs/*.log", "openfoam/*.log", "namd/*.log",
     "megatron/*.log", "hftrainer/*.log"],
)  # fmt: skip
def test_reports_of_a_loop_in_one_file_are_read_as_their_files(tmp_path: Path, pattern: str) -> None:
    together = tmp_path / "loop.log"
    together.write_text("".join(path.read_text() for path in sorted(SAMPLES.glob(pattern))))
    rows = sc.formats.import_results(together, regime="strong").records()
    assert {row["k"]: row["mean"] for row in rows} == means(pattern)


def test_the_line_above_a_report_may_hold_k(tmp_path: Path) -> None:
    together = tmp_path / "hey.log"
    together.write_text("".join(f"c={k}\n" + (SAMPLES / "hey" / f"hey_c{k}.txt").read_text() for k in (1, 2, 4)))
    result = sc.formats.import_results(together, regime="strong", k_from=r"c=(\d+)")
    assert {row["k"]: row["mean"] for row in result.records()} == means("hey/*.txt", k_from=r"c(\d+)")
    assert len(read_latencies(together)) == 3


def test_results_of_several_runs_without_their_k_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "runs.log"
    log.write_text("".join((SAMPLES / "torchtitan" / f"titan_{k}.log").read_text() for k in (4, 8)))
    with pytest.raises(FormatError, match="several meshes"):
        sc.load(log, regime="weak")
    log.write_text("Throughput: 10.5 requests/s, 5000 total tokens/s\nThroughput: 20.1 requests/s, 9000 tokens/s\n")
    with pytest.raises(FormatError, match="2 results without their K"):
        sc.load(log, regime="strong", k_from=r"(\d+)")
    end = "{'train_runtime': 120.5, 'train_samples_per_second': %s}\n"
    log.write_text(end % "8.1" + end % "16.2")
    with pytest.raises(FormatError, match="the end of 2 runs"):
        sc.load(log, regime="strong", k_from=r"(\d+)")


def test_the_concurrency_of_a_vllm_result_is_that_of_its_own_block(tmp_path: Path) -> None:
    text = (SAMPLES / "vllm" / "serve.txt").read_text()
    (tmp_path / "twice.txt").write_text(text + text)
    study = sc.load(tmp_path / "twice.txt", regime="strong")
    assert isinstance(study, sc.Study)
    assert {k: set(values.tolist()) for k, values in study.samples.by_k().items()} == {8: {719.03}, 16: {1305.9}}


def test_sweeps_of_a_loop_in_one_file_keep_their_own_ranks(tmp_path: Path) -> None:
    log = tmp_path / "all_reduce_perf.log"
    log.write_text("".join((SAMPLES / "nccl" / f"all_reduce_perf_{k}gpus.txt").read_text() for k in (2, 4)))
    (sweep,) = read_sweeps([log])
    assert {timing.ranks for timing in sweep.timings} == {2, 4}
    log.write_text("".join((SAMPLES / f"osu_allreduce_n{k}.txt").read_text() for k in (2, 4)))
    with pytest.raises(sc.InputError, match="one --ranks would be given to both"):
        read_sweeps([log], ranks=2)
