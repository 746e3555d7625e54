"""Plain tables: what is recognised, what is asked about, and every fault with its line."""

import re
from pathlib import Path

import pytest

from scalecurve.errors import FormatError, InputError
from scalecurve.formats import load
from scalecurve.formats.headers import value_meaning, worker_unit
from scalecurve.formats.loading import load_all
from scalecurve.study import Quantity


def _write(folder: Path, text: str, name: str = "runs.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "K,seconds\n1,10\n1,11\n2,5.5\n",
        "K\tseconds\n1\t10\n1\t11\n2\t5.5\n",
        "K;seconds\n1;10\n1;11\n2;5.5\n",
        "K   seconds\n1   10\n1   11\n2   5.5\n",
        "# K seconds\n1 10\n\n1 11\n# a comment\n2 5.5\n",
        "\ufeffK,seconds\r\n1,10\r\n1,11\r\n2,5.5\r\n",
        '"K","name","seconds"\n1,"a, b",10\n1,"a, b",11\n2,"a, b",5.5\n',
        "K,time_ms\n1,10000\n1,11000\n2,5500\n",
        "K,time [ms]\n1,10000\n1,11000\n2,5500\n",
    ],
)
def test_tables_in_many_dresses(tmp_path: Path, text: str) -> None:
    study = load(_write(tmp_path, text), regime="strong")

    assert {k: v.tolist() for k, v in study.samples.by_k().items()} == {1: [10.0, 11.0], 2: [5.5]}
    assert study.quantity is Quantity.SECONDS


NAMES = ["K", "workers", "gpus", "nodes", "ranks", "procs", "processes", "threads", "cores", "GPUs", "num_gpus"]


@pytest.mark.parametrize("name", NAMES)
def test_worker_columns(name: str) -> None:
    assert worker_unit(name) is not None


@pytest.mark.parametrize(
    ("header", "quantity"),
    [
        ("time", Quantity.SECONDS),
        ("T", Quantity.SECONDS),
        ("seconds", Quantity.SECONDS),
        ("wall_time_s", Quantity.SECONDS),
        ("elapsed (ms)", Quantity.SECONDS),
        ("throughput", Quantity.THROUGHPUT),
        ("tokens/s", Quantity.THROUGHPUT),
        ("images_per_second", Quantity.THROUGHPUT),
        ("gflops", Quantity.THROUGHPUT),
        ("tokens/s/GPU", Quantity.THROUGHPUT_PER_WORKER),
        ("throughput_per_worker", Quantity.THROUGHPUT_PER_WORKER),
        ("tokens_per_gpu_per_second", Quantity.THROUGHPUT_PER_WORKER),
    ],
)
def test_value_columns(header: str, quantity: Quantity) -> None:
    meaning = value_meaning(header)

    assert meaning is not None
    assert meaning.quantity is quantity


@pytest.mark.parametrize("header", ["value", "performance", "result", "score", "speed", "std", "speedup", "efficiency"])
def test_headers_that_do_not_say(header: str) -> None:
    assert value_meaning(header) is None


def test_an_ambiguous_header_is_asked_about(tmp_path: Path) -> None:
    path = _write(tmp_path, "gpus,value\n1,10\n2,19\n")

    with pytest.raises(InputError, match="quantity="):
        load(path, regime="strong")
    assert load(path, regime="strong", quantity="throughput").quantity is Quantity.THROUGHPUT


def test_a_refusal_shows_readings_with_commands_that_work(tmp_path: Path) -> None:
    path = _write(tmp_path, "ranks,threads,time (s)\n1,2,10\n2,1,9\n2,2,6\n1,1,18\n4,1,5\n4,2,3\n")

    with pytest.raises(InputError) as caught:
        load(path, regime="strong")

    commands = re.findall(r"scalecurve table (\S+) --regime strong (.*)", str(caught.value))
    assert [options for _, options in commands] == [
        "--k-column 'ranks*threads'",
        "--k-column ranks",
        "--k-column threads",
    ]
    by_product = load_all(path, regime="strong", k_column="ranks*threads")
    assert {name: study.all_k for name, study in by_product.items()} == {"1": (1, 2, 4), "2": (2, 4, 8)}


def test_missing_columns_list_the_others(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the columns are: alpha, beta"):
        load(_write(tmp_path, "alpha,beta\n1,2\n"), regime="strong")


def test_every_fault_has_its_line(tmp_path: Path) -> None:
    rows = ["1,10", "0,10", "-2,10", "1.5,10", "x,10", "2,0", "2,-1", "2,inf", "2,abc"]
    with pytest.raises(FormatError) as caught:
        load(_write(tmp_path, "K,seconds\n" + "\n".join(rows) + "\n"), regime="strong")

    assert [fault.where for fault in caught.value.faults] == [f"line {number}" for number in range(3, 11)]


def test_a_million_faults_are_counted_not_listed(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        load(_write(tmp_path, "K,seconds\n" + "1,-1\n" * 500), regime="strong")

    assert len(caught.value.faults) == 21
    assert "480 more" in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n\n", "K,seconds\n"])
def test_empty_files(tmp_path: Path, text: str) -> None:
    with pytest.raises(FormatError):
        load(_write(tmp_path, text), regime="strong")


def test_no_regime_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="regime is not stated") as caught:
        load(_write(tmp_path, "K,seconds\n1,2\n2,2\n"))

    assert "strong" in str(caught.value)


def test_binary_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_bytes(b"\xff\xfa\x00\x01" * 100)

    with pytest.raises(FormatError, match="UTF-8"):
        load(tmp_path / "b.csv", regime="strong")
    with pytest.raises(FormatError, match="No such file"):
        load(tmp_path / "missing.csv", regime="strong")
    with pytest.raises(FormatError, match=r"b\.csv.*UTF-8"):
        load(tmp_path, regime="strong")  # a folder stands for the files in it


def test_a_study_file_keeps_its_own_word(tmp_path: Path) -> None:
    from scalecurve.study import Study
    from scalecurve.study.file import save

    path = tmp_path / "s.json"
    save(Study.from_samples({2: [1.0], 4: [0.6]}, regime="strong"), path)

    assert load(path, baseline_k=4).baseline_k == 4
    with pytest.raises(InputError, match="another regime"):
        load(path, regime="weak")


def test_a_decimal_comma_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="decimals with a point"):
        load(_write(tmp_path, "K,seconds\n1,1,5\n2,0,8\n"), regime="strong")


@pytest.mark.parametrize("value", ["1e300", "1e-300", "5e-324"])
def test_values_no_timer_gives_are_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(FormatError, match="line 3"):
        load(_write(tmp_path, f"K,seconds\n1,1\n2,{value}\n"), regime="strong")


@pytest.mark.parametrize(
    "text",
    [
        "# cores   time[s]   speedup\n1  310.1 1.00\n2  158.4 1.96\n4   82.7 3.75\n",
        "   n_jobs  name  fit_time_mean\n0     1   cov   310.1\n1     2   cov   158.4\n2     4   cov    82.7\n",
    ],
    ids=["blanks of any width", "a frame with row numbers"],
)
def test_rows_are_parted_by_what_makes_them_numbers(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.dat").write_text(text)

    study = load(tmp_path / "t.dat", regime="strong")

    assert {k: float(values[0]) for k, values in study.samples.by_k().items()} == {1: 310.1, 2: 158.4, 4: 82.7}
