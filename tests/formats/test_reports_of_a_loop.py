"""Several reports in one file or folder: each K stays with its report, and other words are another curve."""

from __future__ import annotations

from pathlib import Path

import pytest

import scalecurve as sc

CLIENTS = {1: 900.0, 4: 3000.0, 16: 9000.0}
TWICE = {k: 2 * rate for k, rate in CLIENTS.items()}


def wrk(k: int, rate: float, port: int = 80) -> str:
    return (
        f"Running 10s test @ http://localhost:{port}/\n  2 threads and {k} connections\n"
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   635.91us    0.89ms  12.92ms   93.69%\n"
        "    Req/Sec    56.20k     8.07k   62.00k    86.54%\n"
        f"  {10 * rate:.0f} requests in 10.00s, {rate / 1000:.2f}MB read\nRequests/sec: {rate:10.2f}\n"
        f"Transfer/sec: {rate / 10:.2f}{'KB' if rate < 5000 else 'MB'}\n"
    )


def ycsb(k: int, rate: float, *, says_k: bool = True) -> str:
    command = f"Command line: -db site.ycsb.BasicDB -P workloads/workloada -threads {k} -t\n" if says_k else ""
    return (
        f"{command}YCSB Client 0.17.0\nLoading workload...\nStarting test.\n[OVERALL], RunTime(ms), 1000\n"
        f"[OVERALL], Throughput(ops/sec), {rate}\n[READ], Operations, 500\n[READ], AverageLatency(us), 250.5\n"
    )


def stream(rate: float) -> str:
    return (
        "STREAM version $Revision: 5.10 $\nArray size = 10000000 (elements), Offset = 0 (elements)\n"
        f"Function    Best Rate MB/s  Avg time     Min time     Max time\nCopy:  {rate - 1}  0.014  0.013  0.015\n"
        f"Triad:          {rate}     0.014     0.013     0.015\nSolution Validates: error less than 1e-13\n"
    )


def curves(path: Path, **words: str) -> dict[str, dict[int, float]]:
    loaded = sc.load_all(path, regime="strong", **words)  # type: ignore[arg-type]
    return {
        name: {row.k: row.mean.value for row in sc.tabulate(study).rows if row.mean} for name, study in loaded.items()
    }


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    return folder / next(iter(files)) if len(files) == 1 else folder


HEADED = {
    "a line above all reports of a server": {
        "w.log": "".join(
            f"=== {server} ===\n" + "".join(wrk(k, factor * rate) for k, rate in CLIENTS.items())
            for server, factor in (("nginx", 1), ("caddy", 2))
        )
    },
    "a line above every report": {
        "w.log": "".join(
            f"--- {server} with {k} connections ---\n{wrk(k, factor * rate)}"
            for server, factor in (("nginx", 1), ("caddy", 2))
            for k, rate in CLIENTS.items()
        )
    },
    "titles of a document": {
        "w.md": "# Results\n\n"
        + "".join(
            f"## {server}\n\n"
            + "".join(f"### {k} connections\n\n```\n{wrk(k, factor * rate)}```\n\n" for k, rate in CLIENTS.items())
            for server, factor in (("nginx", 1), ("caddy", 2))
        )
    },
    "folders": {
        f"{server}/c{k}.txt": wrk(k, factor * rate)
        for server, factor in (("nginx", 1), ("caddy", 2))
        for k, rate in CLIENTS.items()
    },
    "names of files": {
        f"{server}_{k}.txt": wrk(k, factor * rate)
        for server, factor in (("nginx", 1), ("caddy", 2))
        for k, rate in CLIENTS.items()
    },
}


@pytest.mark.parametrize("files", HEADED.values(), ids=HEADED)
def test_words_that_differ_at_one_k_make_curves(tmp_path: Path, files: dict[str, str]) -> None:
    found = curves(written(tmp_path, files))
    assert sorted(name.split()[0] for name in found) == ["caddy", "nginx"]
    assert {name.split()[0]: curve for name, curve in found.items()} == {"nginx": CLIENTS, "caddy": TWICE}


def test_two_addresses_are_two_curves(tmp_path: Path) -> None:
    text = "".join(wrk(k, rate) for k, rate in CLIENTS.items()) + "".join(wrk(k, v, 81) for k, v in TWICE.items())
    found = curves(written(tmp_path, {"w.txt": text}))
    assert list(found.values()) == [CLIENTS, TWICE]


def test_numbers_and_dates_that_differ_do_not(tmp_path: Path) -> None:
    days = (("Mon", 1), ("Tue", 2))
    files = {
        f"run{day}.log": "".join(f"{name} May {day} 10:00:00 UTC 2024\n{wrk(k, rate)}" for k, rate in CLIENTS.items())
        for name, day in days
    }
    assert list(curves(written(tmp_path, files)).values()) == [CLIENTS]


def test_k_above_a_report_is_not_that_of_the_report_before(tmp_path: Path) -> None:
    path = written(tmp_path, {"y.log": "".join(ycsb(k, rate) for k, rate in CLIENTS.items())})
    assert list(curves(path).values()) == [CLIENTS]
    unknown = "".join(ycsb(k, rate, says_k=k != 4) for k, rate in CLIENTS.items())
    assert list(curves(written(tmp_path, {"y.log": unknown})).values()) == [{1: 900.0, 16: 9000.0}]


def test_k_that_a_loop_prints_far_above_is_found_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, {"s.txt": "".join(f"OMP_NUM_THREADS={k}\n{stream(v)}" for k, v in CLIENTS.items())})
    assert list(curves(path, k_from=r"THREADS=(\d+)").values()) == [CLIENTS]


def test_an_aborted_run_of_pgbench_does_not_count(tmp_path: Path) -> None:
    def pgbench(k: int, rate: float) -> str:
        end = "pgbench: error: Run was aborted; the above results are incomplete.\n" if k == 4 else ""
        return (
            f"transaction type: <builtin: select only>\nscaling factor: 100\nnumber of clients: {k}\n"
            f"latency average = 1.0 ms\ntps = {rate} (without initial connection time)\n{end}"
        )

    path = written(tmp_path, {"p.txt": "".join(pgbench(k, rate) for k, rate in CLIENTS.items())})
    assert list(curves(path).values()) == [{1: 900.0, 16: 9000.0}]


def test_lines_of_grep_are_read_like_the_logs(tmp_path: Path) -> None:
    text = "".join(
        f"log.{k}:Loop time of {v} on {k} procs for 1000 steps with 32000 atoms\n" for k, v in CLIENTS.items()
    )
    assert list(curves(written(tmp_path, {"loop.txt": text})).values()) == [CLIENTS]


def test_fio_as_printed(tmp_path: Path) -> None:
    def fio(k: int) -> str:
        jobs = "".join(f"read: (groupid=0, jobs=1): err= 0: pid={n}\n  read: IOPS=80.0k\n" for n in range(k))
        return (
            f"read: (g=0): rw=randread, bs=(R) 4096B-4096B, ioengine=libaio, iodepth=32\nfio-3.33\nStarting {k} "
            f"process{'es' * (k > 1)}\n\n{jobs}\nRun status group 0 (all jobs):\n"
            f"   READ: bw={313 * k}MiB/s ({328 * k}MB/s), 1MiB/s-2MiB/s (1MB/s-2MB/s), io=1GiB (1GB), run=1-1msec\n"
        )

    found = curves(written(tmp_path, {f"f{k}.txt": fio(k) for k in (1, 2, 4)}))
    assert list(found.values()) == [{k: 328e6 * k for k in (1, 2, 4)}]
