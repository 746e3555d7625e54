"""Dialects, layouts, summaries, packed files and several files: the same numbers whatever they are written in."""

import bz2
import gzip
import lzma
import math
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

import scalecurve as sc
from bench.table_corpus import cases, check
from scalecurve.errors import FormatError, InputError
from scalecurve.formats.tables.cells import DecimalMark, numbers_of, parse_cell
from scalecurve.study import Study, StudySet

TRUTH = {1: [0.0105], 2: [0.0053]}


def values(loaded: Study | StudySet) -> dict[int, list[float]]:
    assert isinstance(loaded, Study)
    return {k: [round(float(value), 12) for value in column] for k, column in loaded.samples.by_k().items()}


@pytest.mark.parametrize(
    "text",
    [
        " threads | time_ms \n---------+---------\n       1 |    10.5\n       2 |     5.3\n(2 rows)\n",
        "+---------+---------+\n| threads | time_ms |\n+---------+---------+\n| 1 | 10.5 |\n| 2 | 5.3 |\n+---+---+\n",
        "# Results\n\nProse, commas.\n\n| Threads | Time (ms) |\n|---|---|\n| 1 | 10.5 |\n| 2 | 5.3 |\n\nend\n",
        "Threads Time (ms)\n1 10.5\n2 5.3\n",
        "=======  =========\nthreads  time (ms)\n=======  =========\n1        10.5\n2        5.3\n=======  =========\n",
        "threads,time\n-,ms\n1,10.5\n2,5.3\n",
        "threads,1,2\ntime (ms),10.5,5.3\nspeedup,1,1.98\n",
        "sep=;\nthreads;time (ms)\n1;10,5\n2;5,3\n",
        "\\begin{tabular}{rr}\nK & T [ms] \\\\\\hline\n1 & \\textbf{10.5}\\\\\n2 & \\num{5.3}\\\\\n\\end{tabular}\n",
        "Strong scaling of X\n\nthreads,time (ms)\n1,10.5\n2,5.3\n",
        "config,time (ms)\n1 threads,10.5\n2 threads,5.3\n",
    ],
)
def test_dialects(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.txt").write_text(text)

    assert values(sc.load(tmp_path / "t.txt", regime="strong")) == TRUTH


def test_the_corpus_has_no_wrong_table(tmp_path: Path) -> None:
    outcomes = [check(case, tmp_path)[0] for case in list(cases(seed=5))[::9]]

    assert outcomes.count("wrong") == 0
    assert outcomes.count("read") >= 0.9 * len(outcomes)


def test_a_summary_gives_intervals_from_n_and_std(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("threads,mean (ms),std (ms),n\n1,100,2,5\n2,52,1,5\n")
    study = sc.load(tmp_path / "t.csv", regime="strong")
    assert isinstance(study, Study)
    row = sc.tabulate(study).row(2)

    # Student's t(0.975, 4) = 2.776 on the log scale: 1/sqrt(5) ms of 52 ms
    assert row.n == 5
    assert row.mean.high == pytest.approx(0.052 * math.exp(2.7764451 * 0.001 / 0.052 / 5**0.5), rel=1e-6)
    assert "summary" in {finding.code for finding in study.findings}
    sc.save(study, tmp_path / "s.json")
    back = sc.load(tmp_path / "s.json")
    assert isinstance(back, Study)
    assert back.summary == study.summary
    (tmp_path / "back.csv").write_bytes(sc.export(study, "csv"))
    again = sc.load(tmp_path / "back.csv", regime="strong")
    assert isinstance(again, Study)
    assert again.summary == study.summary


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_packed_files(tmp_path: Path, ending: str, pack: object) -> None:
    path = tmp_path / f"t.csv.{ending}"
    path.write_bytes(pack(b"threads,time (ms)\n1,10.5\n2,5.3\n"))  # type: ignore[operator]

    assert values(sc.load(path, regime="strong")) == TRUTH
    path.write_bytes(path.read_bytes()[:12])
    with pytest.raises(sc.InputError):
        sc.load(path, regime="strong")


def test_a_pipe_is_read_once() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"threads,time (ms)\n1,10.5\n2,5.3\n")
    os.close(writer)
    try:
        assert values(sc.load(f"/dev/fd/{reader}", regime="strong")) == TRUTH
    finally:
        os.close(reader)


def test_one_file_for_each_k_and_one_for_each_curve(tmp_path: Path) -> None:
    for k, value in ((1, 10.5), (2, 5.3)):
        (tmp_path / f"n{k}_run.csv").write_text(f"time (ms)\n{value}\n")
    files = sorted(tmp_path.iterdir())
    assert values(sc.load(files, regime="strong", k_from=r"n(\d+)_")) == TRUTH
    assert values(sc.load(tmp_path, regime="strong", k_from=r"n(\d+)_")) == TRUTH
    folder = tmp_path / "curves"
    folder.mkdir()
    for name in ("gcc", "clang"):
        (folder / f"{name}.csv").write_text("threads,time (ms)\n1,10.5\n2,5.3\n")
    both = sc.load_all(folder, regime="strong")
    assert isinstance(both, StudySet)
    assert both.names == ("clang", "gcc")


def test_our_own_parquet_reads_back(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow.parquet")
    study = Study.from_samples({1: [1.0, 1.1], 2: [0.6]}, regime="weak", k_unit="gpus", name="job")
    (tmp_path / "s.parquet").write_bytes(sc.export(study, "parquet"))
    back = sc.load(tmp_path / "s.parquet")

    assert isinstance(back, Study)
    assert (back.samples, back.regime, back.k_unit, back.name) == (study.samples, study.regime, "gpus", "job")


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_columns_that_unpack_to_too_much_are_refused(tmp_path: Path, ending: str) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    feather = pytest.importorskip("pyarrow.feather")
    rows = 40_000_000
    table = pyarrow.table({"threads": np.ones(rows, dtype=np.int64), "seconds": np.ones(rows)})
    path = tmp_path / f"bomb.{ending}"
    if ending == "parquet":
        parquet.write_table(table, path, compression="zstd")
    else:
        feather.write_feather(table, path, compression="zstd")

    with pytest.raises(InputError, match="unpack to too much"):
        sc.load(path, regime="strong")


def test_workbooks(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("threads", "time (ms)"), (1, 10.5), (2, 5.3)):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")

    assert values(sc.load(tmp_path / "t.xlsx", regime="strong")) == TRUTH


def test_a_binary_table_without_its_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1" + bytes(20))

    with pytest.raises(sc.MissingExtra, match=r"scalecurve\[parquet\]"):
        sc.load(tmp_path / "t.parquet", regime="strong")


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("$ ./sweep.sh\nthreads=1 elapsed=10.31s\nthreads=4 elapsed=2.95s\n", {1: 10.31, 4: 2.95}),
        ("threads: 1, time: 10.3 s\ndone\nthreads: 4, time: 2900 ms\n", {1: 10.3, 4: 2.9}),
        ("ranks=1 wall=0:01:10.5\nranks=2 wall=0:00:37.2\n", {1: 70.5, 2: 37.2}),
    ],
)
def test_lines_of_a_log_with_labels_are_a_table(tmp_path: Path, text: str, times: dict[int, float]) -> None:
    path = tmp_path / "log.txt"
    path.write_text(text)
    study = sc.load(path, regime="strong")

    assert values(study) == {k: [value] for k, value in times.items()}


@pytest.mark.parametrize("lines", [1, 2000])
def test_a_line_that_lacks_a_label_is_not_passed_over(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "log.txt"
    path.write_text("threads=1 elapsed=10.3s\n" * lines + "threads=2 elapsed=5.2s\nthreads=4 FAILED\n")

    read = sc.load(path, regime="strong")
    (finding,) = [item for item in read.findings if item.code == "rows-left-out"]
    assert "K = 4" in finding.message


@pytest.mark.parametrize("name", ["core-hours", "node hours", "GPU-Stunden", "gpu_h", "cost (core-h)"])
def test_the_time_of_all_workers_together_is_not_taken_for_elapsed_time(tmp_path: Path, name: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"cores,{name}\n1,10\n2,10.4\n4,11.5\n")
    with pytest.raises(InputError, match="all workers together, not the elapsed time"):
        sc.load(path, regime="strong")

    path.write_text(f"cores,{name},walltime (h)\n1,10,10\n2,10.4,5.2\n")
    assert values(sc.load(path, regime="strong")) == {1: [36000.0], 2: [18720.0]}


def test_cpu_time_counts_as_elapsed_time_only_where_it_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("cores,CPU time (s)\n1,10\n2,10.4\n")
    with pytest.raises(InputError, match="CPU time is not elapsed time"):
        sc.load(path, regime="strong")

    assert values(sc.load(path, regime="strong", value_column="CPU time (s)")) == {1: [10.0], 2: [10.4]}


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["0:01:10.250", "1:02:03"], DecimalMark.POINT),
        (["1:10.25", "0:36.50"], DecimalMark.POINT),
        (["10.25 ± 0.12", "5 ± 0.5"], DecimalMark.POINT),
        (["12,345.5", "900.25", "1,234,567"], DecimalMark.POINT),
        (["12.345,5", "900,25", "7"], DecimalMark.COMMA),
    ],
)
def test_columns_of_one_shape_are_read_as_their_cells(cells: list[str], mark: DecimalMark) -> None:
    single = [parse_cell(cell, mark) for cell in cells]
    column = numbers_of(cells, mark)
    assert column.values.tolist() == pytest.approx([one.value for one in single if one is not None])
    assert not column.bad.any()
    assert column.unit == (single[0] and single[0].unit)
    if column.spread is not None:
        assert column.spread.tolist() == pytest.approx([one.spread for one in single if one is not None])


def test_points_that_may_part_thousands_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "zeiten.csv"
    path.write_text("Kerne;Laufzeit (ms)\n1;12.345\n2;6.300\n")
    with pytest.raises(InputError, match="the point may part decimals or thousands"):
        sc.load(path, regime="strong")
    path.write_text("cores;execution time (ms)\n1;12.345\n2;6.300\n")
    assert values(sc.load(path, regime="strong")) == {1: [0.012345], 2: [0.0063]}


@pytest.mark.parametrize(("member", "name"), [("xl/workbook.xml", "t.xlsx"), ("content.xml", "t.ods")])
def test_a_workbook_that_unpacks_to_too_much_says_so(tmp_path: Path, member: str, name: str) -> None:
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, b" " * 60_000_000)
    with pytest.raises(FormatError, match=r"the workbook unpacks to too much .*; save the sheet with the runs as CSV"):
        sc.load(tmp_path / name, regime="strong")
