"""What published result files hold beside their numbers: each case states by hand which curves a reader sees in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import scalecurve as sc

Curves = dict[str, dict[int, list[float]]]  # the values at each K of each curve; a file of one curve names it ""

BROKEN_TABLE = """# Stencil

| Host | Note |
|---|---|
| a | b | c | d |

| Threads | Time (s) |
|---|---|
| 1 | 9.0 |
| 2 | 4.7 |
| 4 | 2.6 |
"""
PICTURE = """# Stencil

![speedup](plot.png)

| Threads | Time (s) |
|---|---|
| 1 | 9.0 |
| 2 | 4.7 |
"""
MEANS_AGAIN = """## Runs

| Threads | Run | Time (s) |
|---|---|---|
| 1 | 1 | 8.0 |
| 1 | 2 | 8.2 |
| 2 | 1 | 4.1 |
| 2 | 2 | 4.3 |

## Summary

| Threads | Time (s) |
|---|---|
| 1 | 8.1 |
| 2 | 4.2 |
"""
LISTS = json.dumps(
    {
        "host": "a",
        "walk": [{"threads": 1, "time_s": 6.0}, {"threads": 2, "time_s": 3.1}],
        "sort": [{"threads": 1, "time_s": 2.0}, {"threads": 2, "time_s": 1.2}],
    }
)
ROWS_IN_A_LOG = """Solver 2.1 on host a
warm caches: yes

threads,time_s
1,7.5
warm caches: yes
2,3.9
warm caches: yes
4,2.1
"""
REFERENCE = """threads,plain (s),team (s),speedup
1,10.0,10.4,0.96
2,10.0,5.3,1.89
4,10.0,2.8,3.57
"""
FIXED_DURATION = """threads,duration (s),ops/s
1,30,1000
2,30,1900
4,30,3500
"""
RATIO = """threads, T(n, 1) s, T(n, p) s, S(n, p)
1, 6.5, 6.6, 0.98
2, 6.5, 3.4, 1.91
4, 6.5, 1.9, 3.42
"""
SIZES = "filter,time (s)\n3x3,2.0\n5x5,5.0\n7x7,9.1\n"
NO_CLOCK = """size,threads,time (s)
small,1,0.00
small,2,0.00
large,1,4.2
large,2,2.2
large,4,1.2
"""
FAR_APART = """threads,time (s)
1,2.0
1,90.0
2,1.1
2,47.0
4,0.6
4,25.0
"""
OUTCOMES = """threads,run,time (s),sweeps
1,1,8.0,12
1,2,8.2,13
1,3,8.1,12
2,1,4.1,13
2,2,4.3,14
2,3,4.2,13
4,1,2.1,14
4,2,2.3,12
4,3,2.2,14
"""
FALLS = "threads,result\n1,9.0\n2,4.7\n4,2.6\n"
LABELS = """version,time (s)
serial,9.1
omp_2,4.8
omp_4,2.5
mpi_2,5.0
mpi_8,1.4
"""
NO_COUNT = """threads,time (s)
n/a,9.5
1,9.8
2,5.0
4,2.6
-,9.4
"""

READ: dict[str, tuple[str, str, Curves]] = {
    "a broken table spoils no other": ("a.md", BROKEN_TABLE, {"": {1: [9.0], 2: [4.7], 4: [2.6]}}),
    "a picture is no wiki": ("a.md", PICTURE, {"": {1: [9.0], 2: [4.7]}}),
    "means of runs above": ("a.md", MEANS_AGAIN, {"": {1: [8.0, 8.2], 2: [4.1, 4.3]}}),
    "lists of rows in JSON": ("a.json", LISTS, {"walk": {1: [6.0], 2: [3.1]}, "sort": {1: [2.0], 2: [1.2]}}),
    "commas in brackets": (
        "a.csv",
        "threads, sum(a, b), sort(a, b)\n1, 6.5, 9.5\n2, 3.4, 5.0\n4, 1.9, 2.8\n",
        {"sum(a, b)": {1: [6.5], 2: [3.4], 4: [1.9]}, "sort(a, b)": {1: [9.5], 2: [5.0], 4: [2.8]}},
    ),
    "a ratio of two arguments": ("a.csv", RATIO, {"": {1: [6.6], 2: [3.4], 4: [1.9]}}),
    "commas in numbers": (
        "a.txt",
        "threads, N=1,000, N=10,000\n1, 2.0, 20.5\n2, 1.1, 10.5\n4, 0.6, 5.5\n",
        {"N=1,000": {1: [2.0], 2: [1.1], 4: [0.6]}, "N=10,000": {1: [20.5], 2: [10.5], 4: [5.5]}},
    ),
    "names behind #": (
        "a.dat",
        "# a100 host\n# threads #time_s\n1 6.5\n2 3.4\n4 1.9\n",
        {"": {1: [6.5], 2: [3.4], 4: [1.9]}},
    ),
    "no name at the end": ("a.csv", "threads,time (s)\n1,6.5,0.11\n2,3.4,0.12\n", {"": {1: [6.5], 2: [3.4]}}),
    "rows in a log": ("a.txt", ROWS_IN_A_LOG, {"": {1: [7.5], 2: [3.9], 4: [2.1]}}),
    "a remark in a list": ("a.txt", "- 4 threads: 1.60 s\n- 8 threads (HT): 0.95 s\n", {"": {4: [1.60], 8: [0.95]}}),
    "a serial reference": ("a.csv", REFERENCE, {"": {1: [10.4], 2: [5.3], 4: [2.8]}}),
    "a fixed duration": ("a.csv", FIXED_DURATION, {"": {1: [1000], 2: [1900], 4: [3500]}}),
    "results of repeats": ("a.csv", OUTCOMES, {"": {1: [8.0, 8.2, 8.1], 2: [4.1, 4.3, 4.2], 4: [2.1, 2.3, 2.2]}}),
    "labels with counts": ("a.csv", LABELS, {"omp": {2: [4.8], 4: [2.5]}, "mpi": {2: [5.0], 8: [1.4]}}),
    "values that fall": ("a.csv", FALLS, {"": {1: [9.0], 2: [4.7], 4: [2.6]}}),
    "rows without a count": ("a.csv", NO_COUNT, {"": {1: [9.8], 2: [5.0], 4: [2.6]}}),
}


def curves_of(path: Path) -> Curves:
    loaded = sc.load_all(path, regime="strong")
    return {
        name if len(loaded) > 1 else "": {k: values.tolist() for k, values in study.samples.by_k().items()}
        for name, study in loaded.studies.items()
    }


@pytest.mark.parametrize("what", READ)
def test_what_a_reader_sees_is_read(tmp_path: Path, what: str) -> None:
    name, text, truth = READ[what]
    (tmp_path / name).write_text(text)

    assert curves_of(tmp_path / name) == truth


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SIZES, "no column of worker counts"),
        (FAR_APART, "rows of one K differ more than 3 times, and no column says why"),
        (NO_CLOCK, "2 of 5 cells of time (s) are 0: they are shorter than the clock can tell"),
    ],
    ids=["3x3 is a size", "rows far apart", "times of 0"],
)
def test_what_no_reader_could_tell_stops(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.csv").write_text(text)

    with pytest.raises(sc.InputError) as refused:
        sc.load_all(tmp_path / "a.csv", regime="strong")

    assert said in str(refused.value)
    assert len(refused.value.faults) == 1


def test_rows_far_apart_are_read_once_they_are_called_repeats(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(FAR_APART)

    study = sc.load(tmp_path / "a.csv", regime="strong", accept=["rows-far-apart"])

    assert {k: len(values) for k, values in study.samples.by_k().items()} == {1: 2, 2: 2, 4: 2}


def test_times_of_zero_are_left_out_as_the_refusal_offers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(NO_CLOCK)

    with pytest.raises(sc.InputError, match="--where size=large"):
        sc.load_all(tmp_path / "a.csv", regime="strong")

    study = sc.load(tmp_path / "a.csv", regime="strong", where=["size=large"])
    assert {k: values.tolist() for k, values in study.samples.by_k().items()} == {1: [4.2], 2: [2.2], 4: [1.2]}


@pytest.mark.parametrize(
    ("text", "quantity"), [(FIXED_DURATION, "throughput"), (FALLS, "seconds"), (NO_COUNT, "seconds")]
)
def test_the_quantity_of_the_observations(tmp_path: Path, text: str, quantity: str) -> None:
    (tmp_path / "a.csv").write_text(text)

    assert sc.load(tmp_path / "a.csv", regime="strong").quantity == quantity


def test_rows_without_a_count_are_said(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(NO_COUNT)

    left_out = [own for own in sc.load(tmp_path / "a.csv", regime="strong").findings if own.code == "rows-left-out"]

    assert [own.severity for own in left_out] == ["warning"]
    assert "2 of 5 rows" in left_out[0].message
