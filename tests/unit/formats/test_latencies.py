"""Latencies of other tools: real output of wrk and hey as run, documented formats of the others, broken files."""

from __future__ import annotations

import base64
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from scalecurve.errors import FormatError
from scalecurve.formats.latencies import read_latencies, read_numbers
from scalecurve.formats.latencies.hdr_log import decode
from scalecurve.mechanisms.latencies import percentiles

HERE = Path(__file__).parents[2] / "formats" / "latency"
DATA = Path(os.environ.get("SCALECURVE_DATA", Path(__file__).parents[3].parent / "shared" / "data")) / "latency"


def test_wrk_states_percentiles_and_is_a_closed_loop() -> None:
    (record,) = read_latencies(HERE / "wrk.txt")
    assert record.n == 272
    assert record.stated[0.99] == pytest.approx(0.05786)
    assert record.connections == 4
    assert [finding.code for finding in record.findings] == ["closed-loop"]


def test_wrk2_gives_a_histogram() -> None:
    (record,) = read_latencies(HERE / "wrk2.txt", rate=2000)
    assert record.histogram is not None
    assert (record.histogram.n, record.errors, record.intended_rate) == (2000, 7, 2000)
    found = percentiles(record.histogram, [0.5, 0.99])
    assert found[1].estimate is not None
    assert found[1].estimate.value == pytest.approx(11.18e-3, rel=1e-3)


def test_hey_as_summary_and_as_samples() -> None:
    (summary,) = read_latencies(HERE / "hey.txt")
    assert (summary.n, summary.errors) == (500, 0)
    assert summary.stated[0.95] == pytest.approx(0.0519)
    (samples,) = read_latencies(HERE / "hey.csv")
    assert samples.histogram is not None
    assert samples.histogram.n == 119


def test_oha_and_k6() -> None:
    (oha,) = read_latencies(HERE / "oha.json")
    assert (oha.n, oha.errors, oha.stated[0.999]) == (1000, 13, 0.1)
    (summary,) = read_latencies(HERE / "k6_summary.json")
    assert (summary.n, summary.seconds, summary.stated[0.5]) == (3000, 30.0, 0.01)
    (points,) = read_latencies(HERE / "k6_points.json")
    assert (points.n, points.errors, points.seconds) == (2, 1, 2.0)


def test_access_logs_carry_seconds_or_a_stated_unit() -> None:
    (nginx,) = read_latencies(HERE / "nginx.log")
    assert nginx.histogram is not None
    assert (nginx.n, nginx.errors, nginx.seconds, nginx.histogram.most) == (3, 1, 4.0, 1.5)
    with pytest.raises(FormatError, match="may be any unit"):
        read_latencies(HERE / "apache.log")
    (apache,) = read_latencies(HERE / "apache.log", unit=1e-6)
    assert apache.histogram is not None
    assert apache.histogram.most == pytest.approx(2.5e-3)


@pytest.mark.parametrize(
    ("text", "most"),
    [("latency_ms\n1\n20\n", 0.02), ("id,duration_s\n1,0.5\n2,0.7\n", 0.7), ("response_time[us],x\n100,1\n", 1e-4)],
)
def test_columns_say_their_unit(tmp_path: Path, text: str, most: float) -> None:
    (tmp_path / "x.csv").write_text(text)
    (record,) = read_latencies(tmp_path / "x.csv")
    assert record.histogram is not None
    assert record.histogram.most == pytest.approx(most)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latency\n1\n", "unit of the latencies"),
        ("1\n2\n", "unit of the latencies"),
        ("name\nx\n", "no column"),
        ("latency_ms\nfast\n", "no number"),
        ("latency_ms\n-5\n", "not negative"),
        ("Running 3s test @ http://x/\n  1 threads and 4 connections\n", "truncated"),
        ('{"latencyPercentiles": 3}', "not the JSON of oha"),
        ('{"metrics": {"http_req_duration": {}}}', "not a summary of k6"),
        ("\nSummary:\n  Total:\t1.0 secs\n\nResponse time histogram:\n", "truncated"),
    ],
)
def test_broken_files_say_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_latencies(tmp_path / "x.txt")


def _encoded(counts: list[int], *, digits: int = 3) -> str:
    """A V2 histogram as Java writes it."""
    payload = b""
    for count in counts:
        value = (count << 1) ^ (count >> 63)
        while value >= 0x80:
            payload += bytes([value & 0x7F | 0x80])
            value >>= 7
        payload += bytes([value])
    inner = struct.pack(">iiiiqqd", 0x1C849303, len(payload), 0, digits, 1, 10**9, 1.0) + payload
    packed = zlib.compress(inner)
    return base64.b64encode(struct.pack(">ii", 0x1C849304, len(packed)) + packed).decode()


def test_a_histogram_is_decoded_value_by_value() -> None:
    values, counts = decode(_encoded([-1000, 5, -1, 2]))
    assert values.tolist() == [1000.0, 1002.0]
    assert counts.tolist() == [5, 2]


def test_tags_become_records_and_units_are_told(tmp_path: Path) -> None:
    body = _encoded([-1000, 5])
    log = f"#[Histogram log format version 1.2]\n0.0,1.0,0.001,{body}\nTag=B,1.0,1.0,0.001,{body}\n"
    (tmp_path / "x.hlog").write_text(log)
    records = read_latencies(tmp_path / "x.hlog")
    assert [record.name for record in records] == ["untagged", "B"]
    assert records[0].histogram is not None
    assert records[0].histogram.most == pytest.approx(1e-6)  # 1000 raw units are 0.001 ms: nanoseconds
    stated = read_latencies(tmp_path / "x.hlog", unit=1e-3)[0].histogram
    assert stated is not None
    assert stated.most == pytest.approx(1.0)


def test_a_truncated_log_is_refused_with_its_lines(tmp_path: Path) -> None:
    body = _encoded([-1000, 5])
    lines = [f"0.0,1.0,0.001,{body[:-9]}", "0.0,1.0", f"x,1.0,0.001,{body}", "0.0,1.0,0.001,AAAA"]
    (tmp_path / "x.hlog").write_text("#[Histogram log format version 1.2]\n" + "\n".join(lines) + "\n")
    with pytest.raises(FormatError) as caught:
        read_latencies(tmp_path / "x.hlog")
    assert [fault.where for fault in caught.value.faults] == ["line 2", "line 3", "line 4", "line 5"]
    (tmp_path / "empty.hlog").write_text("#[Histogram log format version 1.2]\n")
    with pytest.raises(FormatError, match="no intervals"):
        read_latencies(tmp_path / "empty.hlog")


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason=f"published logs are not at {DATA}; set SCALECURVE_DATA")
@pytest.mark.parametrize(
    ("name", "count"),
    [("jHiccup-2.0.7S.logV2.hlog", 48761), ("ycsb.logV1.hlog", 300056), ("tagged-Log.logV2.hlog", 16145)],
)
def test_published_logs(name: str, count: int) -> None:
    record = read_latencies(DATA / name)[0]
    assert record.histogram is not None
    assert record.histogram.n == count


def test_bare_numbers_for_stragglers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2.5\n")
    (tmp_path / "b.csv").write_text("step\n1\n2.5\n")
    assert read_numbers(tmp_path / "a.txt") == read_numbers(tmp_path / "b.csv") == [1.0, 2.5]
    with pytest.raises(FormatError):
        read_numbers(tmp_path / "missing")
    assert np.isfinite(read_numbers(tmp_path / "a.txt")).all()
