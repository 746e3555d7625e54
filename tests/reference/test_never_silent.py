"""No file becomes a confident wrong number: every case here was read wrongly and silently once.

A case is either read with the true values, said where something was assumed or left out, or refused by a sentence
that names the column.  Tables are read by `scalecurve.load`, as every command reads them.
"""

from pathlib import Path

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.formats.loading import load_any
from scalecurve.study import Quantity, Study, StudySet

Values = dict[int, list[float]]


def load(folder: Path, text: str, *, series: str | None = None, unit: str | None = None) -> Study | StudySet:
    path = folder / "runs.csv"
    path.write_text(text, encoding="utf-8")
    return load_any(path, regime="strong", series=series, unit=unit)


def study(folder: Path, text: str, *, series: str | None = None, unit: str | None = None) -> Study:
    loaded = load(folder, text, series=series, unit=unit)
    assert isinstance(loaded, Study)
    return loaded


def values(one: Study) -> Values:
    return {k: np.round(column, 12).tolist() for k, column in one.samples.by_k().items()}


def codes(one: Study | StudySet) -> set[str]:
    return {finding.code for finding in one.findings}


# 1. `min` beside a mean or a median is a minimum, never minutes.


@pytest.mark.parametrize("header", ["threads,median,min", "threads,min,median", "threads,mean,min,max"])
def test_min_beside_a_central_value_is_a_minimum(tmp_path: Path, header: str) -> None:
    row = {"median": ("0.5", "0.3"), "mean": ("0.5", "0.3"), "min": ("0.45", "0.27"), "max": ("0.6", "0.4")}
    names = header.split(",")[1:]
    rows = [",".join([k, *(row[name][i] for name in names)]) for i, k in enumerate(("1", "2"))]
    read = study(tmp_path, "\n".join([header, *rows]) + "\n")

    assert values(read) == {1: [0.5], 2: [0.3]}
    assert {"seconds-assumed", "summary"} <= codes(read)


def test_hyperfine_writes_seconds_even_where_times_rise(tmp_path: Path) -> None:
    text = "command,mean,stddev,median,user,system,min,max,parameter_threads\n"
    read = study(tmp_path, text + "x,0.02,0,0.02,0,0,0.02,0.02,1\nx,0.05,0,0.05,0,0,0.05,0.05,2\n")

    assert values(read) == {1: [0.02], 2: [0.05]}


def test_hyperfine_writes_seconds_into_its_csv(tmp_path: Path) -> None:
    header = "command,mean,stddev,median,user,system,min,max,parameter_threads"
    rows = ["job 1,0.451,0.012,0.449,0.44,0.01,0.43,0.47,1", "job 2,0.263,0.008,0.262,0.45,0.01,0.25,0.28,2"]

    assert values(study(tmp_path, "\n".join([header, *rows]) + "\n")) == {1: [0.451], 2: [0.263]}


@pytest.mark.parametrize("header", ["min", "time_min"])
def test_min_alone_has_two_readings_and_is_asked_about(tmp_path: Path, header: str) -> None:
    with pytest.raises(sc.InputError, match=f"minutes or the minimum.*{header}"):
        load(tmp_path, f"threads,{header}\n1,10\n2,6\n")


# 2. A unit in the header, in a column or in the cell is honoured; where none is stated, that is said.


@pytest.mark.parametrize(
    ("header", "factor"),
    [
        ("latency_ms", 1e-3), ("avg (us)", 1e-6), ("step [ms]", 1e-3), ("mean [µs]", 1e-6), ("time/iter (ms)", 1e-3),
        ("time (ms), wall", 1e-3), ("wallTimeMs", 1e-3), ("Elapsed / ms", 1e-3), ("sec/step", 1.0), ("p99_ms", 1e-3),
        ("hour/ns", 3600.0), ("time in minutes", 60.0), ("duration_ns", 1e-9),
    ],
)  # fmt: skip
def test_the_unit_of_a_header_is_honoured(tmp_path: Path, header: str, factor: float) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(f'threads,"{header}"\n1,10\n2,6\n', encoding="utf-8")
    read = sc.load(path, regime="strong", value_column=header, quantity="seconds")

    assert isinstance(read, Study)
    assert values(read) == {1: [round(10 * factor, 12)], 2: [round(6 * factor, 12)]}
    assert "seconds-assumed" not in codes(read)


@pytest.mark.parametrize(
    ("cells", "seconds"),
    [
        (("1.3 ms", "0.7 ms"), (1.3e-3, 0.7e-3)), (("1.3 s", "700 ms"), (1.3, 0.7)), (("2m10s", "1m5s"), (130.0, 65.0)),
        (("00:02:10", "00:01:05"), (130.0, 65.0)), (("0:12.34", "0:06.50"), (12.34, 6.5)),
        (("1h2m", "31m"), (3720.0, 1860.0)),
    ],
)  # fmt: skip
def test_the_unit_of_a_cell_is_honoured(tmp_path: Path, cells: tuple[str, str], seconds: tuple[float, float]) -> None:
    read = study(tmp_path, f"threads,time\n1,{cells[0]}\n2,{cells[1]}\n")

    assert values(read) == {1: [round(seconds[0], 12)], 2: [round(seconds[1], 12)]}
    assert "seconds-assumed" not in codes(read)


def test_a_column_of_units_is_honoured_row_by_row(tmp_path: Path) -> None:
    assert values(study(tmp_path, "threads,time,unit\n1,1.5,s\n2,800,ms\n")) == {1: [1.5], 2: [0.8]}


def test_a_time_without_a_unit_says_that_seconds_are_assumed(tmp_path: Path) -> None:
    bare, stated = "threads,Wall Time\n1,10\n2,6\n", "threads,Wall Time (s)\n1,10\n2,6\n"

    assert "seconds-assumed" in codes(study(tmp_path, bare))
    assert "seconds-assumed" not in codes(study(tmp_path, stated))
    assert values(study(tmp_path, bare, unit="ms")) == {1: [0.01], 2: [0.006]}


@pytest.mark.parametrize("header", ["time (cycles)", "time_cycles", "time (a.u.)", "time_m", "elapsed [m]"])
def test_an_unknown_unit_is_never_seconds(tmp_path: Path, header: str) -> None:
    with pytest.raises(sc.InputError, match=r"unit|quantity="):
        load(tmp_path, f"threads,{header}\n1,10\n2,6\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("threads,time\n1,2:10\n2,1:05\n", "minutes:seconds or hours:minutes"),
        ("threads;time (ms)\n1;1,234\n2;1,111\n", "decimals or thousands"),
        ("threads,time\n1,1.3 s\n2,0.7\n", "states a unit in some cells"),
        ("threads,time (s),unit\n1,1,ms\n2,1,ms\n", "different units"),
    ],
)
def test_two_readings_are_asked_about(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(sc.InputError, match=words):
        load(tmp_path, text)


# 3. Different curves are never pooled as repeats.


@pytest.mark.parametrize("column", ["benchmark", "version", "size", "implementation", "anything"])
def test_a_column_that_tells_curves_apart_gives_a_set(tmp_path: Path, column: str) -> None:
    rows = [f"{name},{k},{scale / k}" for name, scale in (("a1", 10), ("b2", 100)) for k in (1, 2)]
    text = "\n".join([f"{column},threads,time (s)", *rows]) + "\n"
    loaded = load(tmp_path, text)

    assert isinstance(loaded, StudySet)
    assert {name: values(own) for name, own in loaded.items()} == {
        "a1": {1: [10.0], 2: [5.0]},
        "b2": {1: [100.0], 2: [50.0]},
    }
    assert loaded.axes["a1"] == {column: "a1"}
    assert values(study(tmp_path, text, series="b2")) == {1: [100.0], 2: [50.0]}


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [("status", "ok", "failed"), ("warmup", "0", "1"), ("exit_code", "0", "137"), ("valid", "yes", "no"),
     ("phase", "run", "warmup")],
)  # fmt: skip
def test_failed_runs_and_warm_ups_are_left_out_and_counted(tmp_path: Path, column: str, good: str, bad: str) -> None:
    rows = [f"1,10,{good}", f"1,100,{bad}", f"2,5,{good}", f"2,,{bad}"]
    read = study(tmp_path, "\n".join([f"threads,time (s),{column}", *rows]) + "\n")

    assert values(read) == {1: [10.0], 2: [5.0]}
    (finding,) = [finding for finding in read.findings if finding.code == "rows-left-out"]
    assert finding.evidence == {"column": column, "count": 2}


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("threads,status,time (s)\n1,odd,10\n1,ok,10\n2,ok,5\n", "status"),
        ("threads,foo,time (s)\n1,1,10\n1,2,100\n2,3,5\n2,4,50\n", "foo"),
        ("threads,size,time (s)\n1,10,10\n1,20,100\n2,30,5\n2,40,50\n", "size"),
        ("threads,solve (s),setup (s)\n1,4,10\n2,8,5\n", "setup"),
        ("strategy,cores,time (s)\nserial,1,455\nmclapply,8,66\nfuture,8,70\ntargets,1,448\n", "strategy"),
        ("dataset,gpus,time (s)\ncifar10,1,100\nimagenet,4,2400\n", "dataset"),
        ("threads,cpu time (ms),cuda time (ms)\n1,120,98\n2,70,51\n4,45,28\n", "cuda time"),
        ("# compile time in s, run time in ms\nthreads,time\n1,100\n2,53\n", "several units"),
    ],
)
def test_what_cannot_be_told_is_refused_by_its_column(tmp_path: Path, text: str, column: str) -> None:
    with pytest.raises(sc.InputError, match=column):
        load(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "# all times in milliseconds\nthreads,time\n1,10000\n2,5000\n",
        "Threads;Zeit\n1;10000\n2;5000\n\n# Zeiten in Millisekunden\n",
        "| threads | time |\n|---|---|\n| 1 | 10000 |\n| 2 | 5000 |\n\nTable 1: Runtime (in ms) of the solver.\n",
        "\\begin{table}\\caption{Time per step in milliseconds.}\n\\begin{tabular}{rr}\n"
        "threads & CG \\\\ \\hline \\hline\n"
        "1 & 10000 \\\\\n2 & 5000 \\\\\n\\end{tabular}\n\\end{table}\n",
    ],
)
def test_a_unit_beside_the_table_is_honoured(tmp_path: Path, text: str) -> None:
    assert values(study(tmp_path, text)) == {1: [10.0], 2: [5.0]}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("host,threads,time (s)\na1,1,10\na1,2,5\nb7,1,14\nb7,2,7\n", {"a1", "b7"}),
        ("threads,Copy MB/s,Scale MB/s\n1,12000,11800\n2,23500,23000\n4,44000,43000\n", {"Copy", "Scale"}),
        ("nodes,CPU (s),GPU (s)\n1,400,40\n2,210,22\n", {"CPU", "GPU"}),
        ("# A\n| np | s |\n|--|--|\n| 1 | 9 |\n| 2 | 5 |\n\n"
         "# B\n| np | s |\n|--|--|\n| 1 | 8 |\n| 2 | 4 |\n", {"A", "B"}),
    ],
)  # fmt: skip
def test_machines_columns_and_tables_are_curves(tmp_path: Path, text: str, names: set[str]) -> None:
    loaded = load(tmp_path, text)

    assert isinstance(loaded, StudySet)
    assert set(loaded.studies) == names


def test_of_counts_that_rise_together_the_finer_is_k(tmp_path: Path) -> None:
    read = study(tmp_path, "nodes,gpus,time (s)\n1,4,10\n2,8,5\n")

    assert (values(read), read.k_unit) == ({4: [10.0], 8: [5.0]}, "gpus")


@pytest.mark.parametrize(("regime", "truth"), [("strong", {1: [10.0], 2: [5.2]}), ("weak", {1: [10.0], 2: [10.4]})])
def test_of_rows_of_both_regimes_those_of_the_stated_one_are_read(tmp_path: Path, regime: str, truth: Values) -> None:
    text = "type,ranks,time (s)\nstrong,1,10\nstrong,2,5.2\nweak,1,10\nweak,2,10.4\n"
    read = _read(tmp_path, text, regime=regime)

    assert values(read) == truth
    (finding,) = [item for item in read.findings if item.code == "rows-left-out"]
    assert finding.message == f"2 of 4 rows were left out: type is not {regime}"


def test_columns_of_numbers_that_agree_at_every_k_are_repeats_and_that_is_said(tmp_path: Path) -> None:
    read = study(tmp_path, "threads,1,2,3\n1,10,11,10.5\n2,6,6.1,5.9\n")

    assert values(read) == {1: [10.0, 11.0, 10.5], 2: [6.0, 6.1, 5.9]}
    assert {"columns-are-repeats", "seconds-assumed"} <= codes(read)


def test_columns_of_numbers_that_differ_are_never_pooled(tmp_path: Path) -> None:
    loaded = load(tmp_path, "threads,1,2,3\n1,10,20,40\n2,5,10,21\n")

    assert isinstance(loaded, StudySet)
    assert [values(one) for one in loaded.studies.values()] == [
        {1: [a], 2: [b]} for a, b in ((10, 5), (20, 10), (40, 21))
    ]
    with pytest.raises(sc.InputError, match="times or rates"):
        load(tmp_path, "threads,1,2,3\n1,10,11,10.5\n2,19,18.5,19.3\n")


def test_a_text_that_names_the_other_regime_is_pointed_at(tmp_path: Path) -> None:
    assert "other-regime-in-text" in codes(load(tmp_path, "# Weak scaling\ncores,time (s)\n1,10\n2,10.4\n"))


def test_rows_that_sum_up_the_runs_are_no_runs(tmp_path: Path) -> None:
    text = "threads,1,2\nrun 1,10.2,5.3\nrun 2,10.0,5.4\navg,10.1,5.35\nstdev,0.14,0.07\n"
    read = study(tmp_path, text)

    assert values(read) == {1: [10.2, 10.0], 2: [5.3, 5.4]}


def test_rows_of_json_follow_the_same_rules(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [f'{{"bench": "{name}", "threads": {k}, "latency_ms": {1000 / k}}}' for name in "ab" for k in (1, 2)]
    path.write_text("\n".join(lines) + "\n")
    loaded = load_any(path, regime="strong")

    assert isinstance(loaded, StudySet)
    assert values(loaded["a"]) == {1: [1.0], 2: [0.5]}


def test_rates_stay_rates(tmp_path: Path) -> None:
    read = study(tmp_path, "nodes,ns/day\n1,10\n2,19\n")

    assert (read.quantity, values(read)) == (Quantity.THROUGHPUT, {1: [10.0], 2: [19.0]})


def _read(tmp_path: Path, text: str, **options: str) -> sc.Study:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    study = load_any(path, regime=options.pop("regime", "strong"), **options)
    assert isinstance(study, sc.Study)
    return study


@pytest.mark.parametrize(
    ("column", "cells", "code"),
    [
        ("size", (100, 200, 400), "parameter-changes"),
        ("batch", (32, 64, 128), "parameter-changes"),
        ("host", ("a", "b", "c"), "machine-changes"),
        ("compiler", ("gcc", "clang", "icx"), "parameter-changes"),
    ],
)
def test_what_changes_with_k_is_said(tmp_path: Path, column: str, cells: tuple[object, ...], code: str) -> None:
    rows = "".join(f"{k},{t},{cell}\n" for (k, t), cell in zip(((1, 9), (2, 5), (4, 3)), cells, strict=True))

    (finding,) = [item for item in _read(tmp_path, f"nodes,time (s),{column}\n{rows}").findings if item.code == code]

    assert f"1: {cells[0]}, 2: {cells[1]}, 4: {cells[2]}" in finding.message


def test_a_size_that_grows_is_what_weak_scaling_means(tmp_path: Path) -> None:
    text = "nodes,time (s),size\n1,9,100\n2,9.1,200\n4,9.3,400\n"

    assert "parameter-changes" not in {item.code for item in _read(tmp_path, text, regime="weak").findings}


def test_cells_without_a_measurement_are_counted_and_left_out(tmp_path: Path) -> None:
    study = _read(tmp_path, "gpus,time (s)\n1,>3600\n2,62.5\n4,34\n8,OOM\n16,n/a\nTotal,96.5\n")

    assert study.all_k == (2, 4)
    (finding,) = [item for item in study.findings if item.code == "rows-left-out"]
    assert finding.message.startswith("4 of 6 rows were left out: time (s) is >3600 at K = 1; time (s) is OOM at K = 8")


def test_a_mean_without_n_asks_for_it(tmp_path: Path) -> None:
    (finding,) = [
        item for item in _read(tmp_path, "gpus,time (s)\n1,9 ± 1\n2,5 ± 1\n").findings if item.code == "summary"
    ]

    assert finding.remedy is not None
    assert finding.remedy.startswith("add a column n")


def test_a_percentile_is_an_observation_and_no_spread(tmp_path: Path) -> None:
    study = _read(tmp_path, "clients,p50 (ms),p99 (ms)\n1,10,12\n2,11,15\n4,13,30\n")

    assert study.samples.values.tolist() == pytest.approx([0.010, 0.011, 0.013])
    assert not study.summary


def test_a_summary_is_used_by_forecast_and_diagnosis(tmp_path: Path) -> None:
    rows = "".join(f"{k},{t},{0.01 * t},5\n" for k, t in ((1, 120), (2, 62.5), (4, 34), (8, 20.5), (16, 14)))
    study = _read(tmp_path, "threads,mean (s),std (s),n\n" + rows)

    for verb in (sc.forecast, sc.diagnose):
        assert not {item.code for item in verb(study).findings} & {"no-repeats", "few-repeats"}


# 9. Units with a power of ten, functions of times, dates, parts of a file, counts of two things.


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("nodes,time (10^3 s)\n1,1.2\n2,0.63\n", {1: [1200.0], 2: [630.0]}),
        ("nodes,time (x1000 s)\n1,1.2\n2,0.63\n", {1: [1200.0], 2: [630.0]}),
        ("nodes,time [1e-3 s]\n1,1200\n2,630\n", {1: [1.2], 2: [0.63]}),
        ("cores\twall\tmem\n#\tmin\tGB\n1\t100\t30\n2\t52\t31\n", {1: [6000.0], 2: [3120.0]}),
        ("p,t(s)\n2⁰,10\n2¹,5.2\n2²,2.9\n", {1: [10.0], 2: [5.2], 4: [2.9]}),
        ("run,threads,time_s\n1,1,100\n2,1,102\navg,1,101\n1,2,52\n2,2,54\navg,2,53\n", {1: [100, 102], 2: [52, 54]}),
    ],
)
def test_powers_units_below_the_header_and_rows_of_means_are_understood(
    tmp_path: Path, text: str, truth: Values
) -> None:
    assert {k: sorted(v) for k, v in values(study(tmp_path, text)).items()} == truth


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("threads,1/time\n1,0.01\n2,0.0195\n4,0.036\n", "1/time"),
        ("nodes,log10(time/s)\n1,2.0\n2,1.7\n", "log10"),
        ("time,threads\n10:00:01,1\n10:00:02,2\n10:00:03,4\n", "times of day"),
        ("clients,seconds\n1,1794909505\n2,1794909557\n", "times of day or dates"),
        ("resources,time (s)\n1 core,100\n4 cores,27\n1 GPU,3\n", "resources"),
        ("node 1: time 3.2 s\nnode 2: time 3.3 s\nnode 4: time 3.1 s\n", "node"),
        ("clients,rate\n1,900 MB/s\n2,9 Gbit/s\n", "rate states a unit"),
        ("threads,idle time (s)\n1,0.1\n2,0.5\n", "idle time"),
        ("ranks,MPI wait time (s)\n1,0.1\n2,0.5\n", "wait time"),
        ("nodes,queue time (s)\n1,100\n2,500\n", "queue time"),
        ("ranks,startup [s]\n1,0.1\n2,0.5\n", "startup"),
        ("ranks,compute (s),comm (s)\n1,100,0\n2,50,3\n", "compute .s., comm .s."),
        ("GPUs,ETA (h)\n1,100\n2,55\n", "ETA"),
        ("nodes,timelimit\n1,01:00:00\n2,01:00:00\n", "timelimit"),
        ("instances,$/hour\n1,3.06\n2,6.12\n", "/hour"),
    ],
)
def test_what_is_no_elapsed_time_or_no_count_is_refused(tmp_path: Path, text: str, names: str) -> None:
    with pytest.raises(sc.InputError, match=names):
        load(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        '# "first"\n# threads time\n1 100.5\n2 52.3\n\n\n# "second"\n# threads time\n1 9.5\n2 5.3\n',
        "size\\threads,1,2\n1000,100.5,52.3\n2000,9.5,5.3\n",
        "Running first with 1 threads\ntime: 100.5 s\nRunning first with 2 threads\ntime: 52.3 s\n"
        "Running second with 1 threads\ntime: 9.5 s\nRunning second with 2 threads\ntime: 5.3 s\n",
        "N = 1000\nthreads = 1\nelapsed: 100.5 s\nthreads = 2\nelapsed: 52.3 s\n"
        "N = 2000\nthreads = 1\nelapsed: 9.5 s\nthreads = 2\nelapsed: 5.3 s\n",
    ],
    ids=["parts", "wide", "programs", "sizes"],
)
def test_parts_of_a_file_are_curves_and_never_repeats(tmp_path: Path, text: str) -> None:
    loaded = load(tmp_path, text)

    assert isinstance(loaded, StudySet)
    assert [values(one) for one in loaded.studies.values()] == [{1: [100.5], 2: [52.3]}, {1: [9.5], 2: [5.3]}]


@pytest.mark.parametrize(
    ("text", "truth", "quantity"),
    [
        ("GPUs,cells/us\n1,12.1\n2,23\n", {1: [12.1], 2: [23.0]}, Quantity.THROUGHPUT),
        ("threads,time (ms x 1000)\n1,100\n2,53\n", {1: [100.0], 2: [53.0]}, Quantity.SECONDS),
        ("np,max over ranks (s),avg over ranks (s)\n1,10,10\n2,6,5.5\n", {1: [10.0], 2: [6.0]}, Quantity.SECONDS),
        ("procs,time (s),time/iter (s)\n1,100,2\n2,56,1.08\n", {1: [100.0], 2: [56.0]}, Quantity.SECONDS),
        ("replicas,requests/s,p50 (ms),p99 (ms)\n1,100,9,12\n2,190,9,14\n", {1: [100.0], 2: [190.0]}, "throughput"),
        ("threads,start,elapsed_s\n1,10:00:00,100\n2,10:05:00,53\n", {1: [100.0], 2: [53.0]}, Quantity.SECONDS),
        ("nodes,rate Mean ± SD,Error\n1,9 ± 1 req/s,0%\n2,17 ± 1 req/s,0%\n", {1: [9.0], 2: [17.0]}, "throughput"),
        ("cores,time (s)\n1,12.3\ncores,time (s)\n2,6.7\n", {1: [12.3], 2: [6.7]}, Quantity.SECONDS),
    ],
    ids=["per us", "multiple", "slowest rank", "per item", "latency", "moment", "mean and spread", "header again"],
)  # fmt: skip
def test_the_column_that_is_the_result_is_read(tmp_path: Path, text: str, truth: Values, quantity: str) -> None:
    loaded = study(tmp_path, text)

    assert (values(loaded), loaded.quantity) == (truth, quantity)


@pytest.mark.parametrize(
    "text",
    [
        "threads,gcc time (s),clang time (s)\n1,100.5,9.5\n2,52.3,5.3\n",
        "threads,gcc (s),gcc std (s),clang (s),clang std (s)\n1,100.5,1,9.5,2\n2,52.3,1,5.3,2\n",
        "threads,master [s],PR #12 [s]\n1,100.5,9.5\n2,52.3,5.3\n",
        "cores,time (s)\n1,100.5\n2,52.3\n\ncores,time (s)\n1,9.5\n2,5.3\n",
    ],
    ids=["columns", "spreads between", "a number sign", "two tables"],
)
def test_columns_of_one_unit_and_tables_of_one_file_are_curves(tmp_path: Path, text: str) -> None:
    loaded = load(tmp_path, text)

    assert isinstance(loaded, StudySet)
    assert [values(one) for one in loaded.studies.values()] == [{1: [100.5], 2: [52.3]}, {1: [9.5], 2: [5.3]}]
    assert all(not one.summary for one in loaded.studies.values())  # the spread of one curve is not that of another


MARKED = "threads,time (s),{name}\n1,120,{good}\n2,62.5,{good}\n4,3,{bad}\n8,20.5,{good}\n"


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("comment", "", "TIMEOUT"),
        ("notes", "", "crashed (NCCL)"),
        ("", "", "total"),
        ("Verification", "SUCCESSFUL", "FAILED"),
        ("ok?", "✓", "✗"),
        ("residual", "PASSED", "FAILED"),
        ("iteration", "1", "0 (warmup)"),
        ("converged", "yes", "no"),
    ],
)
def test_a_row_that_its_table_calls_none_is_left_out_and_said(tmp_path: Path, name: str, good: str, bad: str) -> None:
    loaded = study(tmp_path, MARKED.format(name=name, good=good, bad=bad))

    assert values(loaded) == {1: [120.0], 2: [62.5], 8: [20.5]}
    assert "rows-left-out" in codes(loaded)


def test_a_note_that_may_mean_either_is_asked_about(tmp_path: Path) -> None:
    with pytest.raises(sc.InputError, match="notes does not say which rows count"):
        load(tmp_path, MARKED.format(name="notes", good="", bad="node 7 crashed"))
    assert 4 in values(study(tmp_path, MARKED.format(name="notes", good="", bad="OOM on first try")))


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("nodes,GPUs/node,time (s)\n1,1,120\n1,4,40\n2,4,20\n4,4,11\n", {1: 120.0, 4: 40.0, 8: 20.0, 16: 11.0}),
        ("nodes,ppn,time (s)\n1,1,120\n2,2,40\n4,4,15\n", {1: 120.0, 4: 40.0, 16: 15.0}),
        ("ranks,nt,time (s)\n1,1,120\n2,2,40\n4,4,15\n", {1: 120.0, 4: 40.0, 16: 15.0}),
        ("N NB P Q Time (s)\n9 1 1 1 120\n9 1 1 2 62.5\n9 1 2 2 34\n", {1: 120.0, 2: 62.5, 4: 34.0}),
        (
            "torchrun --nnodes=1 --nproc_per_node=4 a.py\nrate: 100 img/s\n"
            "torchrun --nnodes=2 --nproc_per_node=8 a.py\nrate: 190 img/s\n",
            {4: 100.0, 16: 190.0},
        ),
    ],
    ids=["GPUs/node", "ppn", "ranks and threads", "process grid", "torchrun"],
)
def test_k_is_the_product_where_no_column_counts_all_workers(
    tmp_path: Path, text: str, truth: dict[int, float]
) -> None:
    loaded = study(tmp_path, text)

    assert values(loaded) == {k: [value] for k, value in truth.items()}
    assert "k-is-product" in codes(loaded)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("nodes,ppn,time (s)\n1,8,120\n2,4,62.5\n4,2,34\n", "ppn counts workers too"),
        ("P,Q,time (s)\n1,8,120\n2,4,110\n2,8,62.5\n", "P x Q"),
        ("setup,time (s)\n1 node (4 GPUs),120\n1 node (8 GPUs),62.5\n2 nodes (16 GPUs),34\n", "setup"),
        ("ranks,rank0 samples/s\n1,100\n2,95\n4,87.5\n", "rank0"),
        ("threads,cumulative time (s)\n1,120\n2,182.5\n4,216.5\n", "cumulative"),
        ("threads,elapsed since start (s)\n1,120\n2,182.5\n4,216.5\n", "since start"),
        ("procs: 1\n[10 s] read\n[90 s] solved\n[99 s] end\nprocs: 2\n[6 s] read\n[7 s] solved\n[55 s] end\n", "rises"),
        ("ranks,total time over all ranks (s)\n1,9.6\n2,10.2\n", "all workers together"),
        ("threads,sum of thread times (s)\n1,9.6\n2,10.2\n", "all workers together"),
        ("threads,task-clock (msec)\n1,9600\n2,10200\n", "all workers together"),
    ],
)  # fmt: skip
def test_counts_and_times_of_two_readings_are_asked_about(tmp_path: Path, text: str, names: str) -> None:
    with pytest.raises(sc.InputError, match=names):
        load(tmp_path, text)


HYPERFINE = """Benchmark {n}: ./a --threads {k}
  Time (mean ± σ):     {mean} ms ±   2.1 ms    [User: 119.0 ms, System: 1.0 ms]
  Range (min … max):   {low} ms … {high} ms    10 runs

"""


def test_what_hyperfine_prints_is_its_mean(tmp_path: Path) -> None:
    text = HYPERFINE.format(n=1, k=1, mean=120.0, low=118.0, high=125.0)
    text += HYPERFINE.format(n=2, k=2, mean=62.5, low=61.0, high=65.0)
    text += "Summary\n  ./a --threads 2 ran\n    1.92 ± 0.05 times faster than ./a --threads 1\n"

    assert values(study(tmp_path, text)) == {1: [0.12], 2: [0.0625]}


@pytest.mark.parametrize("header", ["avg per-GPU throughput (img/s)", "each worker req/s", "GFLOPS/node"])
def test_the_rate_of_one_worker_is_no_total(tmp_path: Path, header: str) -> None:
    assert study(tmp_path, f"GPUs,{header}\n1,100\n2,98\n").quantity == Quantity.THROUGHPUT_PER_WORKER


LOG = "threads=1\n{one}threads=2\n{two}threads=4\n{four}"


@pytest.mark.parametrize(
    "end", ["FAILED after 0.5 s", "Segmentation fault (core dumped)\nreal 0m0.5s", "Killed\ntime: 1 s"]
)
def test_the_time_of_a_run_that_crashed_is_left_out_of_a_log(tmp_path: Path, end: str) -> None:
    real = "real 0m{}s\n" if "real" in end else "time: {} s\n"
    loaded = study(tmp_path, LOG.format(one=real.format(9.6), two=f"{end}\n", four=real.format(2.8)))

    assert values(loaded) == {1: [9.6], 4: [2.8]}
    assert "rows-left-out" in codes(loaded)


def test_a_warning_in_a_log_is_no_crash(tmp_path: Path) -> None:
    text = "WARNING: failed to load a plug-in\ntime: {} s\n"

    loaded = study(tmp_path, LOG.format(one=text.format(9.6), two=text.format(5.1), four=text.format(2.8)))

    assert values(loaded) == {1: [9.6], 2: [5.1], 4: [2.8]}


def test_the_total_of_a_run_is_read_and_not_its_steps(tmp_path: Path) -> None:
    steps = "iter 1: 1.0 s\niter 2: 0.5 s\niter 3: 0.5 s\ntotal: {} s\n"

    loaded = study(tmp_path, LOG.format(one=steps.format(2.0), two=steps.format(1.5), four=steps.format(1.2)))

    assert values(loaded) == {1: [2.0], 2: [1.5], 4: [1.2]}


def test_a_unit_of_a_thousand_seconds_in_the_title_is_read(tmp_path: Path) -> None:
    loaded = study(tmp_path, "Time in units of 1000 s\nranks,time\n1,0.12\n2,0.0625\n")

    assert values(loaded) == {1: [120.0], 2: [62.5]}
