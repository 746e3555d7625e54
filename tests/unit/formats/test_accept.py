"""What every verb takes as a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalecurve.errors import InputError
from scalecurve.formats import load, load_all
from scalecurve.formats.loading import as_study
from scalecurve.study import Quantity, Study

STUDY = Study.from_samples({1: [10.0, 11.0], 2: [5.5]}, regime="strong")


class Column:
    """A column of a frame: pandas and polars both have to_numpy."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def to_numpy(self) -> Any:
        return np.array(self.values)


class ListColumn:
    """A column of a library without numpy."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def to_list(self) -> list[Any]:
        return self.values


class Frame:
    """As much of a frame as is read."""

    def __init__(self, columns: dict[str, list[Any]], kind: type = Column) -> None:
        self._columns = {name: kind(values) for name, values in columns.items()}

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]


def numbers(study: Study) -> dict[int, list[float]]:
    return {k: values.tolist() for k, values in study.samples.by_k().items()}


def test_a_study_is_itself() -> None:
    assert as_study(STUDY) is STUDY
    assert as_study(STUDY, regime="strong") == STUDY
    with pytest.raises(InputError, match="another regime"):
        as_study(STUDY, regime="weak")


def test_a_path_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("gpus,time_ms\n1,10000\n1,11000\n2,5500\n")

    for path in (tmp_path / "runs.csv", str(tmp_path / "runs.csv")):
        assert numbers(as_study(path, regime="strong")) == numbers(STUDY)


@pytest.mark.parametrize(
    "samples",
    [
        {1: [10.0, 11.0], 2: [5.5]},
        {1: (10, 11), 2: 5.5},
        {np.int64(1): np.array([10.0, 11.0]), np.int64(2): np.float64(5.5)},
        {"1": [10.0, 11.0], "2": [5.5]},
    ],
)
def test_a_mapping_of_k_to_samples_or_a_number(samples: Any) -> None:
    study = as_study(samples, regime="strong")

    assert numbers(study) == numbers(STUDY)
    assert load(samples, regime="weak", k_unit="gpus", quantity="throughput").quantity is Quantity.THROUGHPUT


@pytest.mark.parametrize("kind", [Column, ListColumn])
def test_a_frame_is_read_by_the_rules_of_a_plain_table(kind: type) -> None:
    frame = Frame({"host": ["a", "b", "c"], "gpus": [1, 1, 2], "time_ms": [10000.0, 11000.0, 5500.0]}, kind)
    study = as_study(frame, regime="strong")

    assert numbers(study) == numbers(STUDY)
    assert (study.k_unit, study.unit) == ("gpus", "s")
    with pytest.raises(InputError, match="quantity="):
        as_study(Frame({"gpus": [1, 2], "value": [1.0, 2.0]}), regime="strong")
    with pytest.raises(InputError, match="not all numbers"):
        as_study(Frame({"gpus": [1, 2], "seconds": ["fast", "slow"]}), regime="strong")


def test_a_wide_frame_of_numbers_has_a_curve_in_each_row() -> None:
    loaded = load_all(Frame({"algo": ["a", "b"], "1 thread": [10.0, 20.0], "2 threads": [5.2, 11.0]}), regime="strong")

    assert {name: numbers(study) for name, study in loaded.items()} == {
        "a": {1: [10.0], 2: [5.2]}, "b": {1: [20.0], 2: [11.0]}
    }  # fmt: skip


def test_the_named_index_of_a_frame_and_of_a_series_is_a_column() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"gpus": [1, 1, 2], "time_ms": [10000.0, 11000.0, 5500.0]}).set_index("gpus")

    assert numbers(as_study(frame, regime="strong")) == numbers(STUDY)
    assert numbers(as_study(frame["time_ms"], regime="strong")) == numbers(STUDY)


@pytest.mark.parametrize("source", [{1: [1.0], 2: [0.9]}, Frame({"gpus": [1, 2], "seconds": [1.0, 0.9]})])
def test_times_that_hardly_fall_do_not_show_the_regime(source: Any) -> None:
    with pytest.raises(InputError, match="regime is not stated"):
        as_study(source)


@pytest.mark.parametrize("source", [{1: [1.0], 2: [0.6]}, Frame({"gpus": [1, 2], "seconds": [1.0, 0.6]})])
def test_times_that_fall_are_those_of_fixed_work(source: Any) -> None:
    study = as_study(source)

    assert study.regime == "strong"
    assert "regime-from-times" in {finding.code for finding in study.findings}


@pytest.mark.parametrize("source", [3, None, [1.0, 2.0], object()])
def test_a_wrong_type_says_what_is_accepted(source: Any) -> None:
    with pytest.raises(InputError, match=r"a Study, a path, a list of paths, .* or a pandas or polars frame"):
        as_study(source)


@pytest.mark.parametrize("samples", [{"one": [1.0]}, {1: ["fast"]}, {1: None}])
def test_a_mapping_of_anything_else_is_refused(samples: Any) -> None:
    with pytest.raises(InputError, match="not numbers"):
        as_study(samples, regime="strong")
