"""Reading what jobs leave behind, in any language, whole or broken."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalecurve.measurement import evidence
from scalecurve.measurement.evidence import Unreadable, Worker, read_workers


def worker(rank: int, begin: int, end: int, **more: object) -> Worker:
    base = {"rank": rank, "size": 2, "host": "h", "boot": "b", "begin": begin / 1e9, "end": end / 1e9}
    return Worker(**{**base, "begin_ns": begin, "end_ns": end, **more})  # type: ignore[arg-type]


def test_the_two_line_protocol_of_a_shell_script(tmp_path: Path) -> None:
    (tmp_path / "rank-0.jsonl").write_text('{"rank": 0, "size": 1, "begin": 100.5}\n{"end": 103.0, "work": 5}\n')
    (found,) = read_workers(tmp_path)

    assert found.duration == 2.5
    assert found.work == 5


def test_seconds_alone_are_enough(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"seconds": 0.25}\n')

    assert read_workers(tmp_path)[0].duration == 0.25
    assert read_workers(tmp_path / "nowhere") == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"begin": 1.0}\n', "did not write its last line"),
        ("oops\n", "not a JSON object"),
        ("[1]\n", "not a JSON object"),
        ('{"begin": 2, "end": 1}\n', "took -1"),
        ('{"seconds": 0}\n', "took 0"),
        ('{"seconds": 1, "steps": "many"}\n', "steps"),
        ('{"seconds": 1, "rank": "first"}\n', "rank"),
    ],
)
def test_what_cannot_be_understood_is_said(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "rank-0.jsonl").write_text(text)
    with pytest.raises(Unreadable, match=words):
        read_workers(tmp_path)


@hypothesis.settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_give_a_reading_or_unreadable(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    folder = tmp_path_factory.mktemp("probe")
    (folder / "x.jsonl").write_bytes(raw)
    with suppress(Unreadable):
        read_workers(folder)


def test_the_common_time_is_from_the_first_begin_to_the_last_end() -> None:
    workers = [worker(0, 10**9, 3 * 10**9), worker(1, 2 * 10**9, 5 * 10**9)]

    assert evidence.common_seconds(workers) == 4.0
    assert evidence.start_skew(workers) == 1.0


def test_clocks_of_different_machines_are_not_compared() -> None:
    workers = [worker(0, 10**9, 3 * 10**9), worker(1, 7 * 10**9, 10 * 10**9, boot="other")]

    assert evidence.common_seconds(workers) == 3.0
    assert evidence.start_skew(workers) is None


def test_the_mean_step_of_the_slowest_worker() -> None:
    series = ((9.0, 1.0, 1.0), (9.0, 2.0, 4.0))
    workers = [worker(rank, 0, 9, steps=steps, warmup_steps=1) for rank, steps in enumerate(series)]

    assert evidence.step_seconds(workers) == 3.0
    with pytest.raises(Unreadable, match="no steps"):
        evidence.step_seconds([worker(0, 0, 9)])


def test_time_to_a_target() -> None:
    rising = worker(0, 0, 9, quality=((1.0, 0.5), (2.0, 0.92), (3.0, 0.95)))
    falling = worker(0, 0, 9, quality=((1.0, 2.0), (2.0, 0.4)))

    assert evidence.seconds_to_target([rising], 0.9, True) == 2.0
    assert evidence.seconds_to_target([falling], 0.5, False) == 2.0
    with pytest.raises(Unreadable, match=r"not reached; the best was 0\.95"):
        evidence.seconds_to_target([rising], 0.99, True)
    with pytest.raises(Unreadable, match="no quality"):
        evidence.seconds_to_target([worker(0, 0, 9)], 0.9, True)


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "LARGEST_FILE", 10)
    (tmp_path / "x.jsonl").write_text(json.dumps({"seconds": 1.0, "digest": "long"}))
    with pytest.raises(Unreadable, match="larger"):
        read_workers(tmp_path)
