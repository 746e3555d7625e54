"""One table of readers, one detector that explains its choice."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from scalecurve import formats
from scalecurve.errors import FormatError, InputError
from scalecurve.formats.detection import PLAIN, READERS, STUDY, FileKind, detect
from scalecurve.formats.reading import ReadOptions
from scalecurve.formats.source import Source, sources_of
from scalecurve.study import Study
from scalecurve.study.file import MAX_UNPACKED, MOST_RATIO, save, unpacked_limit

SAMPLES = Path(__file__).parents[2] / "formats" / "samples"


@pytest.mark.parametrize("kind", list(FileKind))
def test_every_reader_of_the_table_is_there_once(kind: FileKind) -> None:
    readers = [entry.load() for entry in READERS[kind]]

    assert len({reader.name for reader in readers}) == len(readers)
    assert all(reader.title for reader in readers)


def test_the_choice_is_explained() -> None:
    detection = detect(Source.at(SAMPLES / "rccl_tests.jsonl"))

    assert (detection.name, detection.evidence) == ("rccl-tests", "JSON lines with algBw and busBw")
    assert [text.partition(":")[0] for text in detection.alternatives()] == ["JSON rows"]
    assert detect(Source.at(SAMPLES / "hyperfine.json")).alternatives() == ()
    shown = str(formats.import_results(SAMPLES / "rccl_tests.jsonl", series="1024 B"))
    assert "could also be" in shown


def test_one_file_is_several_kinds() -> None:
    trace = Source.at(SAMPLES / "trace" / "k1_rank0.json")

    assert detect(trace).name == "PyTorch trace"
    assert detect(trace, FileKind.GRAPHS).name == "Chrome trace"


def test_a_study_and_a_plain_table_are_told_apart(tmp_path: Path) -> None:
    save(Study.from_samples({1: [1.0], 2: [0.6]}, regime="strong"), tmp_path / "s.json")
    (tmp_path / "t.csv").write_text("K,seconds\n1,2\n")

    assert detect(Source.at(tmp_path / "s.json")).name == STUDY
    assert detect(Source.at(tmp_path / "t.csv")).name == PLAIN
    with pytest.raises(InputError, match="scalecurve study already"):
        formats.import_results(tmp_path / "s.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1}', "JSON of an unknown format"),
        (b'{"a": ', "truncated"),
        (b"\x00\x01\x02", "not a binary format"),
    ],
)
def test_an_unknown_file_says_what_it_seems_to_be(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x").write_bytes(content)

    with pytest.raises(FormatError, match=message):
        detect(Source.at(tmp_path / "x"))


def test_a_plain_table_imports_no_other_reader(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("K,seconds\n1,2\n2,1.1\n")
    program = (
        "import sys; from scalecurve.formats import load; load(sys.argv[1], regime='strong');"
        "print(*[name for name in sys.modules if name.startswith('scalecurve.formats.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "t.csv")], capture_output=True, text=True, check=True
    )

    names = {name.removeprefix("scalecurve.formats.") for name in done.stdout.split()}
    assert {name for name in names if not name.startswith("tables")} == {
        "detection", "headers", "loading", "objects", "reading", "regime", "source"
    }  # fmt: skip
    assert not names & {"tables.forms", "tables.markup"}


def test_load_and_import_are_the_same_way_in() -> None:
    for name in ("trace", "chrome_trace", "hyperfine.json", "talp"):
        loaded = formats.load(SAMPLES / name, regime="strong")
        imported = formats.import_results(SAMPLES / name, regime="strong").stated()
        assert loaded == imported
    assert formats.load(SAMPLES / "chrome_trace", regime="strong").k_unit == "ranks"
    assert formats.load(SAMPLES / "chrome_trace", regime="strong").name == "chrome_trace"


def test_all_options_are_checked_at_once() -> None:
    with pytest.raises(InputError) as caught:
        ReadOptions.checked(regime="medium", quantity="furlongs", k_from="n(", subject="runs.csv")

    assert len(caught.value.faults) == 3
    with pytest.raises(InputError, match="exactly one group"):
        ReadOptions.checked(k_from="n")


def test_one_policy_of_limits(tmp_path: Path) -> None:
    assert unpacked_limit(1000) == MAX_UNPACKED
    assert unpacked_limit(10_000_000) == MOST_RATIO * 10_000_000
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"K,seconds\n1,2\n2,1.1\n"))
    assert formats.load(tmp_path / "t.csv.gz", regime="strong").all_k == (1, 2)
    save(Study.from_samples({1: [1.0], 2: [0.6]}, regime="strong"), tmp_path / "s.json")
    (tmp_path / "s.json.gz").write_bytes(gzip.compress((tmp_path / "s.json").read_bytes()))
    assert formats.load(tmp_path / "s.json.gz") == formats.load(tmp_path / "s.json")


def test_a_folder_is_its_visible_files_three_levels_deep(tmp_path: Path) -> None:
    for name in ("a.txt", ".hidden", "b/c.txt", "b/.d/e.txt", "b/c/d/e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")

    assert [Path(source.name).name for source in sources_of([tmp_path])] == ["a.txt", "c.txt"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no files"):
        sources_of([tmp_path / "empty"])
