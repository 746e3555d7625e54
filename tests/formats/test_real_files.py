"""Files written by the real tools, against numbers read off them by hand; samples/README.md says how each was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc
from scalecurve.errors import FormatError, InputError
from scalecurve.formats.imported import Imported
from scalecurve.study import Quantity, RunStatus, StudySet, Treatment

SAMPLES = Path(__file__).parent / "samples"
US = 1e-6


def imported(*names: str, **settings: Any) -> Imported:
    return sc.formats.import_results(*(SAMPLES / name for name in names), **settings)


def means(result: Imported) -> dict[int, float]:
    return {row["k"]: row["mean"] for row in result.records()}


def test_hyperfine_takes_k_from_its_string_parameter() -> None:
    result = imported("hyperfine.json", regime="strong")

    assert means(result) == pytest.approx({1: 0.23009165516, 2: 0.21196718476})  # the "mean" fields of the file
    assert result.sentence.startswith("hyperfine: 5 runs each, K from `threads`")
    assert "no warm-up recorded" in result.sentence
    assert result.study.setup is Treatment.INCLUDED


def test_hyperfine_failed_runs_are_kept_but_do_not_count() -> None:
    study = imported("hyperfine_failed.json", regime="strong").study

    assert study.all_k == (1,)
    assert [run.status for run in study.runs if run.k == 2] == [RunStatus.FAILED] * 3
    assert any(finding.code == "assumed-workers" for finding in study.findings)


def test_hyperfine_a_second_parameter_is_another_curve() -> None:
    both = imported("hyperfine_two_parameters.json", regime="strong")
    assert isinstance(both.study, StudySet)
    assert both.study.names == ("sleep 0.01 size=10", "sleep 0.01 size=20")

    result = imported("hyperfine_two_parameters.json", regime="strong", series="size=20")
    assert [row["n"] for row in result.records()] == [3, 3]
    assert result.left_out == ("sleep 0.01 size=10",)


def test_pyperf_one_observation_is_one_process() -> None:
    result = imported("pyperf.json", regime="strong")

    first = (0.011271892999999977 + 0.010850055375001944 + 0.010898636250004756) / 3
    assert result.study.samples.at(1)[0] == pytest.approx(first)
    assert {k: round(mean * 1e3, 2) for k, mean in means(result).items()} == {1: 11.04, 2: 9.18}  # as pyperf prints
    assert [len(values) for values in result.study.samples.by_k().values()] == [3, 3]
    assert result.study.warmup is Treatment.EXCLUDED
    assert result.study.provenance.machine["cpu_model_name"] == "AMD EPYC"


def test_pytest_benchmark_uses_the_rounds_of_one_test() -> None:
    result = imported("pytest_benchmark.json", regime="strong", series="test_hash")

    rounds = [0.007217838000087795, 0.005919897000012497, 0.00588945499998772]
    rounds += [0.0060889769999903365, 0.0058177920000161976, 0.005789724000123897]
    assert result.study.samples.at(1).tolist() == pytest.approx(rounds)
    assert result.study.k_unit == "workers"
    assert "share one process" in result.sentence


def test_google_benchmark_before_1_9_1_divides_real_time_by_the_threads() -> None:
    result = imported("google_benchmark.json", regime="strong", series="BM_Sqrt")

    # real_time of four repetitions in us; with two threads version 1.7.1 prints half of the wall time
    one = (2038.6397777782704 + 2117.9713611066595 + 2033.0461111118186 + 1944.4860833333323) / 4 * US
    two = 2 * (498.13796875023786 + 504.31145833269085 + 485.39033680583543 + 495.4259652786656) / 4 * US
    assert means(result) == pytest.approx({1: one, 2: two})
    assert two == pytest.approx(972.4e-6, rel=0.03)  # cpu_time per thread and iteration says the same
    assert [finding.code for finding in result.findings[1:]] == ["debug-build"]


def test_google_benchmark_since_1_9_1_prints_wall_time(tmp_path: Path) -> None:
    text = (SAMPLES / "google_benchmark.json").read_text()
    newer = text.replace(
        '"library_build_type": "debug"', '"library_version": "v1.9.1", "library_build_type": "release"'
    )
    (tmp_path / "new.json").write_text(newer)

    result = sc.formats.import_results(tmp_path / "new.json", regime="strong", series="BM_Sqrt")
    assert means(result)[2] == pytest.approx(495.81643229185744 * US)


def test_asv_reads_samples_and_the_names_of_parameters() -> None:
    result = imported("asv/vm/9bd3dc62-existing.json", regime="strong")

    assert result.k_origin == "`threads`"
    assert result.study.samples.at(1)[:2].tolist() == pytest.approx([0.007417691000000559, 0.006051253999999062])
    assert [row["n"] for row in result.records()] == [10, 10]


def test_imb_blocks_are_ranks() -> None:
    result = imported("imb.txt", regime="weak", series="allreduce 16384 B")

    assert means(result) == pytest.approx({1: 0.27 * US, 2: 7.77 * US, 4: 46441.77 * US})  # the column t_avg
    assert result.study.k_unit == "ranks"


def test_osu_needs_the_ranks_from_the_file_names() -> None:
    with pytest.raises(FormatError, match="k_from="):
        imported("osu_allreduce_n2.txt", "osu_allreduce_n4.txt", regime="weak")

    pattern = r"_n(\d+)"
    result = imported("osu_allreduce_n2.txt", "osu_allreduce_n4.txt", regime="weak", k_from=pattern, series="1024 B")
    assert means(result) == pytest.approx({2: 1.12 * US, 4: 2.30 * US})


def test_mllog_time_to_train_without_init_and_with_its_batches() -> None:
    result = imported("mllog", regime="strong", k_from=r"n(\d+)_")

    # run_stop - run_start in ms: 7855-7031 and 8946-8115 at 8, 9727-9303 and 0503-0079 at 16; the aborted run is out
    assert means(result) == pytest.approx({8: (0.824 + 0.831) / 2, 16: 0.424})
    assert [run.setup_seconds for run in result.study.runs if run.k == 8] == pytest.approx([0.055, 0.051])
    assert sum(run.status is RunStatus.FAILED for run in result.study.runs) == 1
    found = {finding.code: finding for finding in result.findings}
    assert found["batch-changes"].evidence["batches"] == {"8": [256.0], "16": [512.0]}


def test_extrap_text() -> None:
    result = imported("extrap.txt", regime="strong")

    assert result.study.samples.at(4).tolist() == [0.2660, 0.2671, 0.2644, 0.2659, 0.2668]
    assert means(result)[1] == pytest.approx(1.00082)


def test_extrap_json_lines_and_saved_experiment() -> None:
    assert means(imported("extrap.json", regime="strong"))[2] == pytest.approx(0.515)
    assert means(imported("extrap.jsonl", regime="strong"))[2] == pytest.approx(0.51)
    saved = means(imported("experiment.extra-p", regime="strong"))  # written by Extra-P 4.2.5 from extrap.txt
    assert saved == pytest.approx(means(imported("extrap.txt", regime="strong")))


def test_traces_of_the_ranks_are_one_run() -> None:
    result = imported("trace", regime="strong")

    one = (16212.681 + 7743.443 + 8297.236 + 14109.588) / 4 * US
    two = (26071.309 + 18994.149 + 24341.763 + 26545.855) / 4 * US  # rank 0, slower on average than rank 1
    assert means(result) == pytest.approx({1: one, 2: two})
    run = next(run for run in result.study.runs if run.k == 2)
    assert [rank.rank for rank in run.ranks] == [0, 1]
    assert sum(run.ranks[0].phases.values()) >= sum(
        run.ranks[0].steps
    )  # compute, exposed, data and idle add up to them
    assert run.ranks[1].steps == pytest.approx([24349.227 * US, 15737.875 * US, 27954.793 * US, 23965.03 * US])


@pytest.mark.parametrize(
    ("name", "k_origin"),
    [("sacct.txt", "`AllocCPUS`"), ("sacct_steps.txt", "`NTasks`"), ("sacct_columns.txt", "`AllocCPUS`")],
)
def test_sacct_counts_completed_jobs_once(name: str, k_origin: str) -> None:
    result = imported(name, regime="strong")

    assert {k: values.tolist() for k, values in result.study.samples.by_k().items()} == {
        1: [14.0, 13.0],
        2: [7.0, 7.0],
        4: [5.0, 5.0],
    }
    assert result.k_origin == k_origin
    assert result.study.setup is Treatment.INCLUDED


def test_reframe_takes_the_time_among_its_performance_variables() -> None:
    result = imported("reframe.json", regime="strong")
    rates = imported("reframe.json", regime="strong", value_column="cells")

    assert means(result) == {1: 8.5, 2: 4.5, 4: 2.5}
    assert means(rates) == {1: 10.0, 2: 20.0, 4: 40.0}
    assert rates.study.quantity is Quantity.THROUGHPUT


def test_written_from_documented_formats() -> None:
    assert means(imported("nccl", regime="weak", series="1024 B")) == pytest.approx({2: 15.10 * US, 4: 18.42 * US})
    assert means(imported("rccl_tests.jsonl", regime="weak", series="1024 B")) == pytest.approx(
        {2: 19.18 * US, 4: 24.5 * US}
    )
    assert means(imported("talp", regime="strong")) == pytest.approx({2: 12.0, 4: 6.75, 8: 4.125})
    assert means(imported("cilkscale.csv", regime="strong")) == {1: 25.0, 2: 13.5, 4: 7.75}
    assert means(imported("ramble.json", regime="strong")) == pytest.approx({8: 4.1, 16: 2.25})
    caliper = imported("caliper.csv", regime="strong", value_column="Max time/rank", series="main")
    assert means(caliper) == {36: 10.9, 72: 6.0}
    assert means(imported("rows.jsonl", regime="strong")) == pytest.approx({1: 8.1e-3, 2: 4.3e-3, 4: 2.5e-3})


def test_the_environment_that_nccl_tests_dumps_is_dropped(tmp_path: Path) -> None:
    result = imported("nccl_json_2.json", "nccl_json_8.json", regime="weak", series="65536 B")
    sc.save(result.study, tmp_path / "study.json")

    assert means(result) == pytest.approx({2: 23.0 * US, 8: 30.5 * US})
    assert "do-not-keep" not in (tmp_path / "study.json").read_text()
    assert "hf_do_not" not in (tmp_path / "study.json").read_text()


def test_throughput_of_the_usl_example_loads_as_it_is() -> None:
    study = sc.load(SAMPLES / "specsdm91.csv", regime="strong")

    assert study.quantity is Quantity.THROUGHPUT
    assert study.samples.at(72).tolist() == [1853.2]


def test_the_regime_is_asked_for_where_times_do_not_fall() -> None:
    with pytest.raises(InputError, match="regime is not stated"):
        sc.load(SAMPLES / "hyperfine.json")
    assert imported("hyperfine.json").to_dict()["regime"] is None  # the mapping can be shown without it
