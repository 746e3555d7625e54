"""Reports as other versions of the tools print them: each gives its K and its main value, in seconds or as a rate.

The texts are written by hand after the layouts that the tools are known to print; no tool was run for them.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.errors import InputError
from scalecurve.formats.detection import detect
from scalecurve.formats.latencies import read_latencies
from scalecurve.formats.reading import Point, ReadOptions
from scalecurve.formats.source import Source

HPL = """\
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       29184   192     2     2              53.50              3.098e+02
HPL_pdgesv() start time Tue Nov 18 10:00:00 2025
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0028 ...... PASSED
"""
HPL_NVIDIA = """\
================================================================================
T/V                N    NB     P     Q         Time          Gflops (   per GPU)
--------------------------------------------------------------------------------
WC0           264192  1024     4     2       40.11      3.065e+05 ( 3.831e+04)
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   0.0001 ...... PASSED
"""
HPL_OLD = """\
============================================================================
T/V                N    NB     P     Q               Time             Gflops
----------------------------------------------------------------------------
W11R2C4        10000   128     1     4              31.22          2.136e+01
"""
HPCG_3 = """\
HPCG-Benchmark
version=3.1
Release date=March 28, 2019
Machine Summary=
Machine Summary::Distributed Processes=8
Machine Summary::Threads per processes=4
Final Summary=
Final Summary::HPCG result is VALID with a GFLOP/s rating of=12.3456
"""
HPCG_2 = """\
HPCG-Benchmark version: 2.4
Machine Summary:
  Distributed Processes: 16
  Threads per processes: 1
__________ Final Summary __________:
  HPCG result is VALID with a GFLOP/s rating of: 7.25
"""
STREAM = """\
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
Number of Threads requested = 8
Number of Threads counted = 8
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           91234.1     0.017600     0.017537     0.017700
Scale:          90000.5     0.017900     0.017778     0.018000
Add:            98765.4     0.024400     0.024300     0.024500
Triad:          99001.2     0.024300     0.024242     0.024400
"""
STREAM_OLD = """\
Number of Threads requested = 4
Function      Rate (MB/s)   Avg time     Min time     Max time
Copy:       11000.0000       0.0030       0.0029       0.0031
Triad:      12000.5000       0.0041       0.0040       0.0042
"""
NPB_MPI = """\
 NAS Parallel Benchmarks 3.4 -- CG Benchmark
 CG Benchmark Completed.
 Class           =                        C
 Size            =                   150000
 Iterations      =                       75
 Time in seconds =                     6.74
 Total processes =                       16
 Active processes=                       16
 Mop/s total     =                 21276.66
 Mop/s/process   =                  1329.79
 Verification    =               SUCCESSFUL
 Version         =                    3.4.2
"""
NPB_C = NPB_MPI.replace("Total processes", "Threads        ").replace(
    " Active processes=                       16\n", ""
)
HPCG_LINE = """\
HPCG result is VALID with a GFLOP/s rating of 3.289080
Machine Summary:
  Distributed Processes: 8
  Threads per processes: 1
"""
NPB_OMP = NPB_MPI.replace("Total processes", "Total threads  ").replace("Active processes", "Avail threads   ")
IOR_3 = """\
IOR-3.3.0: MPI Coordinated Test of Parallel I/O
Options:
api                 : POSIX
nodes               : 2
tasks               : 32
clients per node    : 16
Results:
access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     1500.25    1500.40    0.02        1048576    1024.00    0.001      0.68       0.0003     0.68       0
read      2500.75    2501.00    0.01        1048576    1024.00    0.001      0.41       0.0003     0.41       0
Max Write: 1500.25 MiB/sec (1573.13 MB/sec)
Max Read:  2500.75 MiB/sec (2622.23 MB/sec)
"""
IOR_2 = """\
IOR-2.10.3: MPI Coordinated Test of Parallel I/O

Summary:
\tapi                = POSIX
\tclients            = 8 (8 per node)
access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s) iter
------    ---------  ---------- ---------  --------   --------   --------   -------- ----
write     410.50     1048576    1024.00    0.000321   2.49       0.000452   2.49     0
Max Write: 410.50 MiB/sec (430.44 MB/sec)
"""
MDTEST = """\
-- started at 11/18/2025 10:00:00 --

mdtest-3.3.0 was launched with 64 total task(s) on 4 node(s)
Command line used: mdtest '-n' '1000'
SUMMARY rate: (of 3 iterations)
   Operation                      Max            Min           Mean        Std Dev
   ---------                      ---            ---           ----        -------
   Directory creation        :      20000.100      19000.200      19500.150        500.000
   File creation             :      15000.500      14000.500      14500.500        400.000
   File stat                 :      60000.000      50000.000      55000.000       4000.000
"""
GRAPH500 = """\
SCALE:                          26
edgefactor:                     16
NBFS:                           64
num_mpi_processes:              128
bfs  min_time:                  0.5
bfs  mean_time:                 0.62
bfs  harmonic_mean_TEPS:     !  1.73e+09
sssp harmonic_mean_TEPS:     !  4.1e+08
"""
GRAPH500_OLD = """\
SCALE: 20
edgefactor: 16
num_mpi_processes: 4
mean_time: 0.1
harmonic_mean_TEPS: 1.5e+08
"""
PGBENCH_15 = """\
pgbench (15.4)
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 100
query mode: simple
number of clients: 16
number of threads: 4
maximum number of tries: 1
duration: 60 s
number of transactions actually processed: 60000
number of failed transactions: 0 (0.000%)
latency average = 15.990 ms
initial connection time = 20.100 ms
tps = 1000.625391 (without initial connection time)
"""
PGBENCH_9 = """\
transaction type: TPC-B (sort of)
scaling factor: 10
number of clients: 8
number of threads: 1
tps = 800.100000 (including connections establishing)
tps = 802.500000 (excluding connections establishing)
"""
YCSB = """\
/usr/bin/java -cp x site.ycsb.Client -t -db site.ycsb.db.RedisClient -threads 32 -P workloads/workloada
[OVERALL], RunTime(ms), 10000
[OVERALL], Throughput(ops/sec), 98765.4
[READ], AverageLatency(us), 310.5
[READ], 99thPercentileLatency(us), 900
"""
SYSBENCH_04 = """\
sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 4

OLTP test statistics:
    transactions:                        10000  (512.34 per sec.)
    deadlocks:                           0      (0.00 per sec.)
    read/write requests:                 190000 (9734.46 per sec.)
"""
SYSBENCH_CPU_04 = """\
sysbench 0.4.12:  multi-threaded system evaluation benchmark
Number of threads: 2
Test execution summary:
    total time:                          10.0000s
    total number of events:              5000
    total time taken by event execution: 19.9
"""
LAMMPS_KOKKOS = """\
LAMMPS (2 Aug 2023)
Loop time of 0.01 on 8 procs for 0 steps with 32000 atoms
99.0% CPU use with 4 MPI tasks x 2 OpenMP threads
Loop time of 12.5 on 8 procs for 1000 steps with 32000 atoms

Performance: 6912.0 tau/day, 80.0 timesteps/s, 2.56 Matom-step/s
99.0% CPU use with 4 MPI tasks x 2 OpenMP threads
MPI task timing breakdown:
Section |  min time  |  avg time  |  max time  |%varavg| %total
---------------------------------------------------------------
Pair    | 8.1        | 8.5        | 9.0        |  11.0 | 68.00
Comm    | 1.0        | 1.5        | 2.0        |  21.0 | 12.00
"""
GROMACS_PME = """\
                      :-) GROMACS - gmx mdrun, 2023.2 (-:
GROMACS version:    2023.2
       R E A L   C Y C L E   A N D   T I M E   A C C O U N T I N G

On 12 MPI ranks doing PP, each using 2 OpenMP threads, and
on 4 MPI ranks doing PME, each using 2 OpenMP threads

               Core t (s)   Wall t (s)        (%)
       Time:     1600.000       50.000     3200.0
                 (ns/day)    (hour/ns)
Performance:      172.801        0.139
"""
TRAINER = """\
***** Running training *****
  Num examples = 51,200
  Instantaneous batch size per device = 8
  Total train batch size (w. parallel, distributed & accumulation) = 64
  Gradient Accumulation steps = 2
***** train metrics *****
  epoch                    =        1.0
  train_loss               =      2.345
  train_runtime            = 0:02:05.50
  train_samples            =      51200
  train_samples_per_second =    407.968
  train_steps_per_second   =      6.375
"""
VLLM = """\
Maximum request concurrency: 64
============ Serving Benchmark Result ============
Successful requests:                     500
Benchmark duration (s):                  50.00
Request throughput (req/s):              10.00
Output token throughput (tok/s):         2150.50
Peak output token throughput (tok/s):    3000.00
Total Token throughput (tok/s):          4300.00
---------------Time to First Token----------------
Mean TTFT (ms):                          85.10
P99 TTFT (ms):                           210.00
==================================================
"""
VLLM_OFFLINE = "Throughput: 12.5 requests/s, 6400.00 total tokens/s, 3200.00 output tokens/s\n"

CRITERION = """\
Benchmarking sort/threads/4: Analyzing
sort/threads/4          time:   [26.029 us 26.251 us 26.505 us]
                        change: [-1.2% -0.1% +1.0%] (p = 0.81 > 0.05)
"""
PYTEST_TABLE = """\
Name (time in ms)        Min                 Max                Mean            StdDev     Rounds  Iterations
test_solve[4]     1,350.1000 (1.67)   1,355.0000 (1.66)   1,352.0000 (1.67)   1.9000 (1.58)      5           1
"""
JMH_TABLE = """\
# JMH version: 1.36
# Threads: 1 thread, will synchronize iterations
Iteration   1: 1229.000 ms/op
Iteration   2: 1231.000 ms/op

Benchmark  (threads)  Mode  Cnt     Score    Error  Units
Solve.run          4  avgt    5  1230.000 \u00b1  5.000  ms/op
"""
PERF_STAT = """\
 Performance counter stats for './solve --threads 4' (5 runs):

         12,345.67 msec task-clock                #    3.456 CPUs utilized
            2,1100 +- 0,0123 seconds time elapsed  ( +-  0,59% )
"""
UNIX_TIME = """\
residual 1e-9
12.34user 0.05system 0:03.21elapsed 385%CPU (0avgtext+0avgdata 12345maxresident)k
0inputs+0outputs (0major+1234minor)pagefaults 0swaps
"""
ZSH_TIME = """\
residual 1e-9
mpirun -np 4 ./solve  12.34s user 0.05s system 385% cpu 3.210 total
"""
LOCUST = """\
All users spawned: {"WebsiteUser": 10} (10 total users)
Type     Name         # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s
--------|------------|-------|-------------|-------|-------|-------|-------|--------|-----------
         Aggregated     2715     0(0.00%) |     12       1     340     10 |   90.50        0.00
"""
GO_YCSB = """\
***************** properties *****************
"threadcount"="8"
**********************************************
TOTAL  - Takes(s): 10.0, Count: 50000, OPS: 5000.1, Avg(us): 851, Min(us): 200, Max(us): 9900
TOTAL  - Takes(s): 16.7, Count: 100000, OPS: 6000.2, Avg(us): 851, Min(us): 200, Max(us): 9900
"""
SGLANG = """\
============ Serving Benchmark Result ============
Backend:                                 sglang
Max reqeust concurrency:                 32
Request throughput (req/s):              12.50
Output token throughput (tok/s):         1600.75
==================================================
"""
STUDIES = {
    "criterion": (CRITERION, None, 26.251e-6),
    "pytest-benchmark": (PYTEST_TABLE, None, 1.352),
    "jmh": (JMH_TABLE, None, 1.23),
    "perf stat": (PERF_STAT, None, 2.11),
    "time": (UNIX_TIME, None, 3.21),
    "time of zsh": (ZSH_TIME, None, 3.21),
    "locust": (LOCUST, 10, 90.5),
    "go-ycsb": (GO_YCSB, 8, 6000.2),
    "sglang": (SGLANG, 32, 1600.75),
    "hpl": (HPL, 4, 309.8),
    "hpl of nvidia": (HPL_NVIDIA, 8, 306500.0),
    "hpl 1": (HPL_OLD, 4, 21.36),
    "hpcg 3": (HPCG_3, 32, 12.3456),
    "hpcg 2": (HPCG_2, 16, 7.25),
    "stream 5.10": (STREAM, 8, 99001.2),
    "stream 5.8": (STREAM_OLD, 4, 12000.5),
    "npb mpi": (NPB_MPI, 16, 6.74),
    "npb in C": (NPB_C, 16, 6.74),
    "hpcg as a line": (HPCG_LINE, 8, 3.28908),
    "npb openmp": (NPB_OMP, 16, 6.74),
    "ior 3": (IOR_3, 32, 1500.25),
    "ior 2": (IOR_2, 8, 410.5),
    "mdtest": (MDTEST, 64, 14500.5),
    "graph500 3": (GRAPH500, 128, 1.73e9),
    "graph500 2": (GRAPH500_OLD, 4, 1.5e8),
    "pgbench 15": (PGBENCH_15, 16, 1000.625391),
    "pgbench 9": (PGBENCH_9, 8, 802.5),
    "ycsb": (YCSB, 32, 98765.4),
    "sysbench 0.4": (SYSBENCH_04, 4, 512.34),
    "sysbench 0.4 cpu": (SYSBENCH_CPU_04, 2, 500.0),
    "lammps": (LAMMPS_KOKKOS, 8, 12.5),
    "gromacs": (GROMACS_PME, 32, 50.0),
    "trainer": (TRAINER, 4, 125.5),
    "vllm": (VLLM, 64, 2150.5),
    "vllm offline": (VLLM_OFFLINE, None, 3200.0),
}


def main_point(text: str) -> Point:
    """The point that is meant where no metric is named."""
    (report,) = detect(Source("run.txt", raw=text.encode())).reports()
    points: tuple[Point, ...] = report.read(ReadOptions()).points
    return next((point for point in points if point.main), points[0])


@pytest.mark.parametrize(("text", "k", "value"), STUDIES.values(), ids=STUDIES.keys())
def test_a_report_gives_its_workers_and_its_value(text: str, k: int | None, value: float) -> None:
    point = main_point(text)
    assert point.k == k
    assert list(point.values) == pytest.approx([value])


OHA_TEXT = """\
Summary:
  Success rate: 100.00%
  Total:        2.0000 secs
  Slowest:      0.0300 secs
  Requests/sec: 500.0000

Response time histogram:
  0.001 [1]   |

Response time distribution:
  10.00% in 0.0010 secs
  50.00% in 0.0020 secs
  99.00% in 0.0110 secs

Status code distribution:
  [200] 990 responses
  [503] 10 responses
"""
OHA_UNITS = OHA_TEXT.replace("0.0110 secs", "11.0000 ms").replace(
    "Total:        2.0000 secs", "Total:        2.0000 sec"
)
BOMBARDIER = """\
Bombarding http://localhost:8080 for 2s using 25 connection(s)
Done!
Statistics        Avg      Stdev        Max
  Reqs/sec       500.00      10.00     600.00
  Latency        2.00ms   442.59us    42.20ms
  Latency Distribution
     50%     1.55ms
     99%    11.00ms
  HTTP codes:
    1xx - 0, 2xx - 990, 3xx - 0, 4xx - 0, 5xx - 10
    others - 0
  Throughput:    15.26MB/s
"""
VEGETA_OLD = """\
Requests      [total, rate]            1000, 500.25
Duration      [total, attack, wait]    2s, 1.999s, 1ms
Latencies     [mean, 50, 95, 99, max]  2ms, 1.5ms, 5ms, 11ms, 20ms
Success       [ratio]                  99.00%
Status Codes  [code:count]             200:990  503:10
"""
K6_1 = """\
  █ TOTAL RESULTS

    HTTP
    http_req_duration..............: avg=2ms min=1ms med=1.5ms max=20ms p(90)=4ms p(95)=5ms p(99)=11ms
      { expected_response:true }...: avg=2ms min=1ms med=1.4ms max=20ms p(90)=4ms p(95)=5ms p(99)=12ms
    http_req_failed................: 1.00%  10 out of 1000
    http_reqs......................: 1000   500/s

    EXECUTION
    vus............................: 8      min=8         max=8
    vus_max........................: 8      min=8         max=8
"""
AB_OLD = """\
This is ApacheBench, Version 2.0.40-dev <$Revision: 1.146 $> apache-2.0
Concurrency Level:      16
Time taken for tests:   2.000 seconds
Complete requests:      1000
Failed requests:        10
   (Connect: 10, Length: 0, Exceptions: 0)
Requests per second:    500.00 [#/sec] (mean)
Percentage of the requests served within a certain time (ms)
  50%      2
  99%     11
 100%     20 (longest request)
"""
WRK_LUA = """\
Running 2s test @ http://127.0.0.1:8080/
  2 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.00ms    1.00ms  20.00ms   90.00%
    Req/Sec   250.00     10.00   300.00     70.00%
  Latency Distribution
     50%    1.50ms
     99%   11.00ms
  1000 requests in 2.00s, 1.00MB read
  Non-2xx or 3xx responses: 10
Requests/sec:    500.00
Transfer/sec:    512.00KB
"""
LOADS = {
    "oha text": (OHA_TEXT, None),
    "oha units": (OHA_UNITS, None),
    "bombardier": (BOMBARDIER, 25),
    "vegeta 6": (VEGETA_OLD, None),
    "k6 1": (K6_1, 8),
    "ab 2.0": (AB_OLD, 16),
    "wrk": (WRK_LUA, 64),
}


@pytest.mark.parametrize(("text", "k", "value"), [case for case in STUDIES.values() if case[0].count("\n") > 2])
@pytest.mark.parametrize(
    "margin",
    [
        "    ", "> ", "\t", "# ", "bench-1  | ", "[1,0]<stdout>:", "[0] ", " 0: ", "2025-11-19T22:27:05.1234567Z ",
        "2025-11-19T22:27:05.1Z stdout F ", "[2025-11-19 22:27:05] ", "Nov 19 22:27:05 ",
        "Nov 19 22:27:05 node1 bench[123]: ", "\r 10%|#    |\r 50%|###  |\r",
    ],
)  # fmt: skip
def test_what_stands_before_every_line_changes_nothing(text: str, k: int | None, value: float, margin: str) -> None:
    point = main_point("".join(margin + line for line in text.splitlines(keepends=True)))
    assert point.k == k
    assert list(point.values) == pytest.approx([value])


@pytest.mark.parametrize(("text", "clients"), LOADS.values(), ids=LOADS.keys())
def test_a_load_test_gives_rate_errors_and_percentile(text: str, clients: int | None, tmp_path: Path) -> None:
    (tmp_path / "load.txt").write_text(text)
    (record,) = read_latencies(tmp_path / "load.txt")
    assert (record.connections, record.errors) == (clients, 10)
    assert record.stated[0.99] == pytest.approx(0.011)
    assert record.seconds == pytest.approx(2.0, rel=0.02)
    assert record.n in (990, 1000)


def test_counts_in_names_commands_and_columns_are_fields() -> None:
    fields = {text: main_point(text).fields for text in (CRITERION, PYTEST_TABLE, JMH_TABLE, PERF_STAT, ZSH_TIME)}
    assert [int(next(iter(own.values()))) for own in fields.values()] == [4] * 5


def test_a_missing_count_ends_in_the_command_that_reads_it(tmp_path: Path) -> None:
    for k in (1, 2, 4):
        (tmp_path / f"solve_run3_np{k}_20260603.txt").write_text(UNIX_TIME.replace("3.21", f"{9 / k:.2f}"))
    with pytest.raises(InputError) as caught:
        sc.load(tmp_path, regime="strong")
    (command,) = re.findall(r"scalecurve table .*", str(caught.value))
    words = shlex.split(command)
    assert words[-2:] == ["--k-from", r"np(\d+)"]
    assert sc.load(words[2], regime="strong", k_from=words[-1]).all_k == (1, 2, 4)


def test_a_warm_up_above_a_report_is_no_curve(tmp_path: Path) -> None:
    reports = {k: PGBENCH_15.replace("number of clients: 16", f"number of clients: {k}") for k in (1, 8)}
    text = "".join(f"=== WARMUP ===\n{own}=== RUN ===\n{own}" for own in reports.values())
    (tmp_path / "loop.txt").write_text(text)
    study = sc.load(tmp_path / "loop.txt")
    assert study.samples.by_k().keys() == {1, 8}
    assert study.name == "RUN"


def test_splits_of_the_same_cores_are_no_repeats(tmp_path: Path) -> None:
    for ranks, threads in ((4, 1), (2, 2), (8, 1), (4, 2)):
        said = f"On {ranks} MPI ranks, each using {threads} OpenMP threads"
        text = re.sub(r"On 12 MPI[^\n]*\n[^\n]*", said, GROMACS_PME)
        (tmp_path / f"{ranks}x{threads}.log").write_text(text)
    assert set(sc.load_all(tmp_path, regime="strong").names) == {"threads=1", "threads=2"}


@pytest.mark.parametrize(("ratio", "operation"), [(1.75, "allreduce"), (0.875, "reduce_scatter")])
def test_nccl_tests_show_their_collective_by_two_bandwidths(ratio: float, operation: str) -> None:
    ranks = "".join(f"#  Rank {i} Group  0 Pid 1 on host-0 device  {i} [0x8d] NVIDIA H100\n" for i in range(8))
    row = f"  1048576  262144  float  sum  -1  100.0  10.00  {10 * ratio:.2f}  0  101.0  10.00  {10 * ratio:.2f}  0\n"
    text = f"# nThread 1 nGpus 1 minBytes 8\n{ranks}# size count type redop root time algbw busbw #wrong\n{row}"
    assert main_point(text).series.startswith(operation)
