"""Every export is read back by the tool it is meant for, or by ourselves, with nothing lost."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scalecurve as sc
from scalecurve.errors import InputError, MissingExtra
from scalecurve.render.exports import export_formats
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.file import study_digest

TIMES = {1: [10.125, 9.5], 2: [5.25, 5.5, 5.0], 8: [1.75]}


def study(**more: Any) -> Study:
    settings: dict[str, Any] = {"regime": "strong", "name": "my job", "k_unit": "gpus", "unit": "s"} | more
    return Study.from_samples(TIMES, **settings)


def back(exported: bytes, path: Path, **how: Any) -> Study:
    path.write_bytes(exported)
    return sc.load(path, **how)


def same(one: Study, other: Study) -> bool:
    """What an Extra-P file can carry of a study: all observations and all that says what they are."""
    facts = [
        (s.regime, s.quantity, s.unit, s.k_unit, s.name, s.warmup, s.setup, s.samples.by_k()) for s in (one, other)
    ]
    numbers = [{k: values.tolist() for k, values in each[-1].items()} for each in facts]
    return facts[0][:-1] == facts[1][:-1] and numbers[0] == numbers[1]


values = st.floats(min_value=1e-9, max_value=1e9, allow_nan=False)
samples = st.dictionaries(st.integers(1, 10**6), st.lists(values, min_size=1, max_size=4), min_size=1, max_size=5)


@given(samples, st.sampled_from(Regime), st.sampled_from(Quantity), st.sampled_from(["gpus", "my workers", "K"]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@pytest.mark.parametrize("format", ["extra-p", "extra-p-jsonl", "json"])
def test_export_and_import_give_the_same_study(
    tmp_path: Path, format: str, observed: dict[int, list[float]], regime: Regime, quantity: Quantity, k_unit: str
) -> None:
    unit = "s" if quantity is Quantity.SECONDS else "images/s"
    before = Study.from_samples(observed, regime=regime, quantity=quantity, name="a job", k_unit=k_unit, unit=unit)

    assert same(before, back(sc.export(before, format), tmp_path / "exported"))


def test_the_csv_is_a_plain_table(tmp_path: Path) -> None:
    after = back(sc.export(study(), "csv"), tmp_path / "a.csv", regime="strong")

    assert {k: v.tolist() for k, v in after.samples.by_k().items()} == TIMES
    assert after.k_unit == "gpus"


def test_extrap_itself_reads_the_text_and_the_lines(tmp_path: Path) -> None:
    reader = pytest.importorskip("extrap.fileio.file_reader.text_file_reader").TextFileReader()
    lines = pytest.importorskip("extrap.fileio.file_reader.json_file_reader").JsonFileReader()
    (tmp_path / "a.txt").write_bytes(sc.export(study(), "extra-p"))
    (tmp_path / "a.jsonl").write_bytes(sc.export(study(), "extra-p-jsonl"))

    for experiment in (reader.read_experiment(tmp_path / "a.txt"), lines.read_experiment(tmp_path / "a.jsonl")):
        (measurements,) = experiment.measurements.values()
        assert [m.mean for m in measurements] == pytest.approx([np.mean(v) for v in TIMES.values()])
        assert [tuple(m.coordinate) for m in measurements] == [(1.0,), (2.0,), (8.0,)]


def test_pyperf_itself_reads_its_json(tmp_path: Path) -> None:
    pyperf = pytest.importorskip("pyperf")
    (tmp_path / "a.json").write_bytes(sc.export(study(), "pyperf"))

    suite = pyperf.BenchmarkSuite.load(str(tmp_path / "a.json"))
    assert [b.get_name() for b in suite.get_benchmarks()] == ["my job gpus=1", "my job gpus=2", "my job gpus=8"]
    assert suite.get_benchmarks()[1].mean() == pytest.approx(5.25)
    assert {k: v.tolist() for k, v in sc.load(tmp_path / "a.json", regime="strong").samples.by_k().items()} == TIMES
    with pytest.raises(InputError, match="times only"):
        sc.export(Study.from_samples(TIMES, regime="weak", quantity="throughput"), "pyperf")


def test_r_usl_data_is_load_and_throughput(tmp_path: Path) -> None:
    text = sc.export(Study.from_samples({1: [64.9], 18: [995.9]}, regime="strong", quantity="throughput"), "r-usl")
    after = back(text, tmp_path / "a.csv", regime="strong")

    assert text.decode().splitlines()[1:] == ["load,throughput", "1,64.9", "18,995.9"]
    assert text.decode().startswith("# R: summary(usl::usl(throughput ~ load")
    assert after.quantity is Quantity.THROUGHPUT
    assert b"1,0.1\n" in sc.export(Study.from_samples({1: [10.0], 2: [5.0]}, regime="strong"), "r-usl")
    assert b"2,0.4\n" in sc.export(Study.from_samples({1: [10.0], 2: [5.0]}, regime="weak"), "r-usl")


def test_openmetrics_is_well_formed() -> None:
    text = sc.export(study(name='a "name"\nwith \\ breaks'), "openmetrics").decode()

    sample = re.compile(r'[a-z_]+\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)+\} \S+')
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(sample.fullmatch(row) for row in rows)
    assert text.endswith("# EOF\n")
    assert sum('estimate="mean"' in row and "efficiency" in row for row in rows) == 3


def test_bibtex_names_exactly_this_study() -> None:
    entry = sc.export(study(name="50% of {x}_y"), "bibtex").decode()

    assert study_digest(study(name="50% of {x}_y")) in entry
    assert r"50\% of \{x\}\_y" in entry
    assert study_digest(study()) != study_digest(study(regime="weak"))


def test_texts_for_people() -> None:
    assert "| K (GPUs) |" in sc.export(study(), "markdown").decode()
    latex = sc.export(study(), "latex").decode()
    assert latex.startswith(r"\begin{table}")
    assert latex.endswith("\\end{table}\n")
    summary = sc.export(study(name="<script>"), "github-summary").decode()
    assert "**K = 8 gpus: efficiency" in summary
    assert "<script>" not in summary


def test_parquet_keeps_every_observation(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "a.parquet").write_bytes(sc.export(study(), "parquet"))

    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.column("k").to_pylist() == [1, 1, 2, 2, 2, 8]
    assert table.schema.metadata[b"scalecurve.regime"] == b"strong"


def test_parquet_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)

    with pytest.raises(MissingExtra, match=r"scalecurve\[parquet\]"):
        sc.export(study(), "parquet")


def test_unknown_formats_are_refused_with_the_list() -> None:
    with pytest.raises(InputError, match="openmetrics"):
        sc.export(study(), "excel")
    assert set(export_formats()) >= {"csv", "json", "parquet", "markdown", "latex", "extra-p", "r-usl", "bibtex"}


def test_frames_without_any_library_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalecurve.document.find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match=r"scalecurve\[frames\]"):
        study().to_frame()


@pytest.mark.parametrize("library", ["pandas", "polars", "xarray"])
def test_frames_where_a_library_is_installed(library: str) -> None:
    pytest.importorskip(library)
    frame = sc.tabulate(study()).to_frame(library)

    assert list(frame["k"]) == [1, 2, 8]


def test_every_format_answers_json(tmp_path: Path) -> None:
    assert json.loads(sc.export(study(), "json"))["samples"]["8"] == [1.75]
