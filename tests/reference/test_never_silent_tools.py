"""No file of a tool becomes a confident wrong number: each test was a wrong answer once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc
from scalecurve.errors import FormatError, InputError
from scalecurve.formats.graphs import graph_from_trace, read_task_graph
from scalecurve.formats.latencies import read_latencies
from scalecurve.measurement.load_calibration import load_records, measure_load
from scalecurve.mechanisms import fit_collectives, load_curve, work_depth
from scalecurve.mechanisms.latencies import summarise_latencies

HEAD = '10.0.0.1 - - [15/Nov/2026:10:00:{:02d} +0000] "GET /a HTTP/1.1" {} 612 "-" "Mozilla/5.0 (X11; Linux) a/1.5"'
SAMPLES = Path(__file__).parents[1] / "formats" / "samples"


def lines(tmp_path: Path, tail: Any, *, statuses: tuple[int, ...] = (200, 200, 502)) -> Path:
    """An access log whose lines end in `tail`, a text or a function of the line's place."""
    text = "".join(
        HEAD.format(i, status) + " " + (tail(i) if callable(tail) else tail) + "\n" for i, status in enumerate(statuses)
    )
    (tmp_path / "access.log").write_text(text)
    return tmp_path / "access.log"


@pytest.mark.parametrize(
    "tail",
    [
        "rt=0.250 urt=-",
        'rt="0.250" uct="-" urt="-"',
        "0.250 -",
        "- 0.250",
        '"0.250" "-"',
        "0.250 0.100",
        "0.100 0.250",
        '"0.100, 0.050" 0.250',
        "request_time=250ms",
        "cs=HIT rt=0.250 .",
    ],
)
def test_the_request_time_is_read_wherever_it_stands(tmp_path: Path, tail: str) -> None:
    (record,) = read_latencies(lines(tmp_path, tail))
    assert record.histogram is not None
    assert (record.n, record.histogram.most) == (3, pytest.approx(0.25))
    assert record.errors == 1


def test_lines_without_a_time_are_counted(tmp_path: Path) -> None:
    (record,) = read_latencies(lines(tmp_path, lambda i: "rt=0.250" if i else "rt=-"))
    assert record.n == 2
    (finding,) = record.findings
    assert finding.code == "skipped-lines"
    assert finding.message.startswith("1 of 3 lines")


def test_a_ratio_or_two_unclear_times_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="may be any unit"):
        read_latencies(lines(tmp_path, '"3.14"'))  # $gzip_ratio has two decimals, a time of nginx three
    with pytest.raises(FormatError, match="2 fields could be"):
        read_latencies(lines(tmp_path, lambda i: "0.100 0.200" if i else "0.200 0.100"))


def test_zeros_are_below_the_clocks_resolution(tmp_path: Path) -> None:
    statuses = (200,) * 50
    path = lines(tmp_path, lambda i: "rt=0.000" if i < 44 else "rt=0.002", statuses=statuses)
    (summary,) = summarise_latencies(path).summaries
    median, nine = summary.percentiles[:2]
    assert median.estimate is None
    assert (median.below, str(median)) == (1e-3, "below 1 ms")
    assert nine.estimate is not None
    assert nine.estimate.value == pytest.approx(2e-3, rel=1e-3)
    assert nine.estimate.low == 0.0  # the interval reaches below the resolution
    assert "44 of 50 latencies are 0: below the clock's resolution of 1 ms" in str(summary)
    (tmp_path / "column.csv").write_text("latency_ms\n" + "0\n" * 30 + "1\n" * 10)
    assert "below 1 ms" in str(summarise_latencies(tmp_path / "column.csv"))


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        (
            {"time": "2026-11-16T03:04:43+00:00", "status": 200, "request_time": 0.25, "upstream_response_time": ""},
            0.25,
        ),
        ({"ts": 1763200000.5, "logger": "http.log.access", "status": 200, "duration": 0.25, "size": 5}, 0.25),
        ({"StartUTC": "2026-11-16T03:04:43Z", "DownstreamStatus": 200, "Duration": 250000000}, 0.25),
        ({"start_time": "2026-11-16T03:04:43Z", "response_code": 200, "response_flags": "-", "duration": 250}, 0.25),
        ({"status": "200", "duration_ms": "250"}, 0.25),
    ],
)
def test_json_access_logs(tmp_path: Path, row: dict[str, Any], seconds: float) -> None:
    (tmp_path / "access.json").write_text("".join(json.dumps(row) + "\n" for _ in range(3)))
    (record,) = read_latencies(tmp_path / "access.json")
    assert record.histogram is not None
    assert (record.n, record.histogram.most) == (3, pytest.approx(seconds))


def test_a_json_log_of_an_unknown_unit_asks(tmp_path: Path) -> None:
    (tmp_path / "access.json").write_text('{"status": 200, "latency": 250}\n' * 3)
    with pytest.raises(FormatError, match="unit= ms"):
        read_latencies(tmp_path / "access.json")


def test_work_is_the_self_time_of_every_slice() -> None:
    outer = {"ph": "X", "pid": 1, "tid": 1, "name": "step", "ts": 0, "dur": 1_000_000}
    inner = {"ph": "X", "pid": 1, "tid": 1, "name": "kernel", "ts": 500_000, "dur": 1000}
    profiler = {"ph": "X", "cat": "Trace", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 0, "dur": 9_000_000}
    found = work_depth(graph_from_trace([outer, inner, profiler]), [1])
    assert found.work == pytest.approx(1.0)
    pairs = [{"ph": "B", "pid": 1, "tid": 2, "ts": 0, "name": "a"}, {"ph": "E", "pid": 1, "tid": 2, "ts": 2_000_000}]
    assert work_depth(graph_from_trace([outer, inner, *pairs]), [1]).work == pytest.approx(3.0)
    late = {"ph": "X", "pid": 1, "tid": 1, "name": "overlap", "ts": 900_000, "dur": 300_000}
    assert work_depth(graph_from_trace([outer, inner, late]), [1]).work == pytest.approx(1.2)  # no moment twice


def test_tasks_with_seconds_print_seconds(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text(json.dumps({"tasks": [{"id": "a", "seconds": 3}, {"id": "b", "seconds": 4, "after": ["a"]}]}))
    assert "work W = 7 s" in str(work_depth(str(path), [1]))
    path.write_text(json.dumps({"tasks": [{"id": "a", "duration": 3}]}))
    with pytest.raises(InputError, match="it has duration"):
        read_task_graph(str(path))
    path.write_text(json.dumps({"tasks": [{"id": "a", "seconds": 3}, {"id": "b"}]}))
    with pytest.raises(InputError, match="no `seconds` although others do"):
        read_task_graph(str(path))


EXTRA_P = """PARAMETER p
POINTS (1) (2) (4) (8) (16)
REGION main
METRIC time
DATA 1.0 1.1
DATA 0.6 0.6
DATA 0.4 0.4
DATA 0.3 0.3
DATA 0.25 0.26
"""


def test_a_truncated_extra_p_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "extrap.txt"
    path.write_text(EXTRA_P)
    assert sc.load(path, regime="strong").all_k == (1, 2, 4, 8, 16)
    path.write_text(EXTRA_P[: EXTRA_P.index("0.6") + 2])
    with pytest.raises(FormatError, match="2 DATA lines for 5 POINTS"):
        sc.load(path, regime="strong")
    path.write_text(EXTRA_P + "METRIC flops\n")
    with pytest.raises(FormatError, match="0 DATA lines for 5 POINTS"):
        sc.load(path, regime="strong")
    path.write_text(EXTRA_P[:-2])
    assert "last-line-open" in {finding.code for finding in sc.load(path, regime="strong").findings}


def test_the_older_json_of_extra_p_is_read(tmp_path: Path) -> None:
    data = {
        "parameters": [{"id": 1, "name": "p"}],
        "metrics": [{"id": 1, "name": "time"}],
        "callpaths": [{"id": 1, "name": "main"}],
        "coordinates": [
            {"id": i, "parameter_value_pairs": [{"parameter_id": 1, "parameter_value": k}]} for i, k in ((1, 4), (2, 8))
        ],
        "measurements": [
            {"id": i, "coordinate_id": place, "callpath_id": 1, "metric_id": 1, "value": value}
            for i, (place, value) in enumerate(((1, 2.0), (1, 2.2), (2, 1.2)))
        ],
    }
    (tmp_path / "old.json").write_text(json.dumps(data))
    study = sc.load(tmp_path / "old.json", regime="strong")
    assert {k: values.tolist() for k, values in study.samples.by_k().items()} == {4: [2.0, 2.2], 8: [1.2]}


def test_each_osu_file_has_its_own_ranks() -> None:
    files = [SAMPLES / "osu_allreduce_n2.txt", SAMPLES / "osu_allreduce_n4.txt"]
    with pytest.raises(InputError, match="k_from="):
        fit_collectives(files, ranks=2)
    fitted = fit_collectives(files, k_from=r"_n(\d+)")
    assert fitted.systems


@pytest.fixture
def server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        count = 0

        def do_GET(self) -> None:
            Handler.count += 1
            if "hangs" in self.path and Handler.count % 2 == 0:
                time.sleep(1.5)
                self.close_connection = True
                return
            self.send_response(404 if "missing" in self.path else 200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, format: str, *args: Any) -> None:
            return None

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_address[1]}/"
    listening.shutdown()
    listening.server_close()


def test_answers_of_404_are_no_goodput(server: str) -> None:
    curve = measure_load(server + "missing", rates=[50], seconds=0.4, slo=0.1)
    assert curve.points[0].goodput == 0
    assert str(curve).splitlines()[0] == "No load can be recommended: 20 of 20 requests failed."
    assert curve.replicas == {}


def test_requests_that_hang_stay_in_the_percentiles(server: str) -> None:
    curve = measure_load(server + "hangs", rates=[40, 50], seconds=0.4, slo=0.1, timeout=0.5)
    first = curve.points[0]
    assert first.errors == first.timeouts
    assert (first.timeouts or 0) >= 8  # of 16; a busy machine may be late with others too
    assert curve.replicas == {}
    assert curve.servers is None
    (record,) = load_records(server + "hangs", [50], seconds=0.4, timeout=0.5)
    assert record.histogram is not None
    assert record.histogram.most >= 0.5
    assert record.good is not None
    assert record.good.n == 20 - (record.timeouts or 0) <= 10


def test_errors_in_files_are_no_goodput_either(tmp_path: Path) -> None:
    (record,) = read_latencies(lines(tmp_path, "rt=0.010", statuses=(200, 500, 500, 200)))
    assert load_curve(record, slo=0.1).points[0].goodput == pytest.approx(2 / 3)


SACCT_STEPS = """JobID|JobName|State|Elapsed|NTasks|AllocCPUS
8.batch|batch|COMPLETED|00:00:14|1|1
8.extern|extern|COMPLETED|00:00:14|1|1
8.0|solver|COMPLETED|00:00:13|2|2
9.batch|batch|COMPLETED|00:00:08|1|1
9.0|solver|COMPLETED|00:00:07|4|4
"""
SACCT_DEFAULT = """JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
8                solver      debug       root          2  COMPLETED      0:0
"""
SACCT_PROGRAMS = """JobID|JobName|State|Elapsed|NTasks|AllocCPUS
1|wrap|COMPLETED|00:00:14||1
1.0|solver|COMPLETED|00:00:13|1|1
2|wrap|COMPLETED|00:00:08||2
2.0|solver|COMPLETED|00:00:07|2|2
3|wrap|COMPLETED|00:50:00||2
3.0|backup|COMPLETED|00:50:00|2|2
"""


def test_steps_of_slurm_itself_are_no_runs(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(SACCT_STEPS)
    study = sc.load(tmp_path / "s.txt", regime="strong")
    assert {k: values.tolist() for k, values in study.samples.by_k().items()} == {2: [13.0], 4: [7.0]}


def test_sacct_as_it_prints_by_default_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(SACCT_DEFAULT)
    with pytest.raises(FormatError, match=r"no column Elapsed.*sacct -P --format"):
        sc.load(tmp_path / "s.txt", regime="strong")


def test_jobs_of_another_program_are_not_mixed_in(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(SACCT_PROGRAMS)
    study = sc.load(tmp_path / "s.txt", regime="strong", series="solver")
    assert {k: values.tolist() for k, values in study.samples.by_k().items()} == {1: [14.0], 2: [8.0]}


def test_sacct_json(tmp_path: Path) -> None:
    def job(number: int, cpus: int, seconds: int) -> dict[str, Any]:
        return {
            "job_id": number, "name": "solver", "state": {"current": ["COMPLETED"], "reason": "None"},
            "time": {"elapsed": seconds, "start": 1763200000, "end": 1763200000 + seconds}, "allocation_nodes": 1,
            "tres": {"allocated": [{"type": "cpu", "name": "", "count": cpus}, {"type": "node", "count": 1}]},
            "steps": [
                {"step": {"id": f"{number}.batch", "name": "batch"}, "tasks": {"count": 1}, "time": {"elapsed": 1}},
                {"step": {"id": f"{number}.0", "name": "a"}, "tasks": {"count": cpus}, "time": {"elapsed": seconds}},
            ],
        }  # fmt: skip

    (tmp_path / "s.json").write_text(json.dumps({"meta": {}, "errors": [], "jobs": [job(1, 2, 14), job(2, 4, 8)]}))
    study = sc.load(tmp_path / "s.json", regime="strong")
    assert {k: values.tolist() for k, values in study.samples.by_k().items()} == {2: [14.0], 4: [8.0]}
