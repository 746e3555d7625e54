"""Classes of published tables: the table itself states the truth, in its heading or its printed columns."""

from __future__ import annotations

from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.errors import InputError
from scalecurve.formats.loading import load_any

HEADING = "## Rendering (12 pages, ms)\n\n| Workers | Time |\n|---|---|\n| 1 | 386.6 |\n| 2 | 194.0 |\n| 4 | 109.7 |\n"
PROVEN = "q,T,speedup,efficiency\n3,90,1.0,0.3333\n6,50,1.8,0.3\n12,30,3.0,0.25\n"
PARTED = 'threads,time (ms)\n1,"8,200"\n2,"4,300"\n4,"2,100"\n'
SHARE = "concurrency,requests_per_second,response_rate\n1,10,1.0\n2,19,0.99\n4,33,0.97\n"
MODELS = "model size,gpus,tokens/s\n1B,2,15000\n7B,8,12000\n70B,32,8500\n"
GERMAN = "|Clients|TPS|Latenz|\n|---|---|---|\n|5|5.070|0,58 ms|\n|20|6.385|2,99 ms|\n|50|9.943|8,1 ms|\n"
SPANISH = "Es 3,04 veces menor.\n\n|Hilos|Tiempo|\n|---|---|\n|1|296,508 s|\n|2|190,435 s|\n|4|97,577 s|\n"
SERIAL_ABOVE = (
    "serial:\nfft - 9s\n\nOMP_NUM_THREADS=1\nfft - 10s\n\nOMP_NUM_THREADS=2\nfft - 6s\n\nOMP_NUM_THREADS=4\nfft - 4s\n"
)
WITH_RATE = "run:\n" + "".join(
    f" {k} threads {t} sec ({800 / t:.0f} lines/s)\n" for k, t in ((1, 8.0), (2, 4.4), (4, 2.5))
)
WITH_COMM = "procs,t_wall_with_comm,t_wall_no_comm\n1,92.0,91.9\n2,46.6,46.5\n4,25.1,24.4\n"
BY_RATIO = "hebras,secuencial,paralelo,S(n)\n1,4.9,5.06,0.9684\n2,4.9,2.5,1.96\n4,4.9,1.4,3.5\n"
BARE = "".join(f"--- # Threads = {k} ---\n\n{t}\n{t}\n\n" for k, t in ((1, 150.5), (2, 95.5), (4, 63.5)))
RATE_BESIDE = (
    "|Processes|Time|Speed|\n|---|---|---|\n|4|~2 hours|1,700 q/s|\n|8|~1 hour|3,500 q/s|\n|16|~30 min|7,000 q/s|\n"
)
WRITERS = '{"bench": "c", "results": [{"writers": 1, "wall_s": 4}, {"writers": 2, "wall_s": 3}]}'
GRID = "px,py,nx,total_ms\n1,1,512,9000\n1,2,512,4700\n2,2,512,2500\n2,4,512,1400\n"
TUPLES = "size | ranks | min | median | mean\n-- | -- | -- | -- | --\n" + "".join(
    f"(64, {64 * k}) | (1, {k}) | {t} s | {t + 0.1} s | {t + 0.2} s\n" for k, t in ((1, 2), (2, 3), (4, 4))
)
RATIO_IN_LOG = "".join(f"time with {k} threads: {t} ms\n" for k, t in ((1, 820), (4, 270))) + (
    "Speedup: 820 ms / 270 ms = 3.04\n"
)
LABELLED_BARS = "".join(f"MPI ranks {k} | run 3 | wall time = {t} seconds\n" for k, t in ((1, 6.5), (2, 3.6), (4, 2.1)))
LATENCIES = "workers,throughput (req/s),median rt (ms),p99 rt (ms)\n1,66,714,884\n4,240,198,256\n8,469,99,136\n"
NOTHING_FAILED = "".join(
    f"Number of MPI processes: {k}\nTotal time (seconds): {t}\nAssembly time (seconds): 0.9 (Failed: 0.0; 0.0%)\n"
    for k, t in ((1, 17.2), (2, 9.1))
)
T_COUNTS = "t,serial_ms,thread_ms,speedup\n1,441,442,1.00\n2,441,223,1.98\n4,441,121,3.64\n"
TITLES = "".join(
    f"### Config: jobs=20, concurrency={k}\n\n| N | time (s) |\n|---|---|\n| 100 | {t} |\n\n"
    for k, t in ((1, 1.5), (2, 0.8))
)
WITH_RANGE = "".join(
    f"  {k}   threads:  Avg: {t}us  Range: [{t - 0.1:.1f}us, {t + 0.1:.1f}us]\n"
    for k, t in ((1, 8.0), (2, 4.5), (4, 2.5))
)
FAR_APART = "Blocks,Threads,time (ms)\n1,1,246\n1,128,11\n512,128,3\n256,256,2.9\n"
NUMBERED = "name_it,threads,time (s)\n1,8,3.5\n2,8,3.7\n3,8,1.2\n"


def read(folder: Path, name: str, text: str) -> dict[int, float]:
    (folder / name).write_text(text)
    study = sc.load(folder / name, regime="strong")
    return {k: float(values[0]) for k, values in study.samples.by_k().items()}


@pytest.mark.parametrize(
    ("name", "text", "truth"),
    [
        ("heading.md", HEADING, {1: 0.3866, 2: 0.194, 4: 0.1097}),
        ("proven.csv", PROVEN, {3: 90, 6: 50, 12: 30}),
        ("parted.csv", PARTED, {1: 8.2, 2: 4.3, 4: 2.1}),
        ("share.csv", SHARE, {1: 10, 2: 19, 4: 33}),
        ("german.md", GERMAN, {5: 5070, 20: 6385, 50: 9943}),
        ("spanish.md", SPANISH, {1: 296.508, 2: 190.435, 4: 97.577}),
        ("serial.txt", SERIAL_ABOVE, {1: 10, 2: 6, 4: 4}),
        ("rate.txt", WITH_RATE, {1: 8.0, 2: 4.4, 4: 2.5}),
        ("comm.csv", WITH_COMM, {1: 92.0, 2: 46.6, 4: 25.1}),
        ("grid.csv", GRID, {1: 9.0, 2: 4.7, 4: 2.5, 8: 1.4}),
        ("tuples.md", TUPLES, {1: 2.2, 2: 3.2, 4: 4.2}),
        ("ratio.txt", RATIO_IN_LOG, {1: 0.82, 4: 0.27}),
        ("bars.txt", LABELLED_BARS, {1: 6.5, 2: 3.6, 4: 2.1}),
        ("latencies.csv", LATENCIES, {1: 66, 4: 240, 8: 469}),
        ("failed.txt", NOTHING_FAILED, {1: 17.2, 2: 9.1}),
        ("t.csv", T_COUNTS, {1: 0.442, 2: 0.223, 4: 0.121}),
        ("titles.md", TITLES, {1: 1.5, 2: 0.8}),
        ("range.txt", WITH_RANGE, {1: 8e-6, 2: 4.5e-6, 4: 2.5e-6}),
        ("ratio.csv", BY_RATIO, {1: 5.06, 2: 2.5, 4: 1.4}),
        (
            "writers.json",
            '{"bench": "c", "results": [{"writers": 1, "wall_s": 4}, {"writers": 2, "wall_s": 3}]}',
            {1: 4, 2: 3},
        ),
    ],
)
def test_the_table_says_what_it_holds(tmp_path: Path, name: str, text: str, truth: dict[int, float]) -> None:
    assert read(tmp_path, name, text) == pytest.approx(truth)


def test_another_model_at_each_k_is_no_curve(tmp_path: Path) -> None:
    with pytest.raises(sc.InputError, match="different jobs"):
        read(tmp_path, "models.csv", MODELS)


@pytest.mark.parametrize("name", ["Num Execution", "Execution"])
def test_the_number_of_an_execution_is_no_worker_count(tmp_path: Path, name: str) -> None:
    with pytest.raises(sc.InputError):
        read(tmp_path, "runs.csv", NUMBERED.replace("name_it", name))


def test_one_count_with_two_remarks_is_never_pooled(tmp_path: Path) -> None:
    text = "procs,time (s)\n1,4.0\n4 (same node),1.1\n4 (2 nodes),9.0\n"
    with pytest.raises(sc.InputError, match="split in several ways") as refusal:
        read(tmp_path, "runs.csv", text)
    assert "--accept" not in str(refusal.value)


def test_times_of_years_are_asked_for_their_unit(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("threads,time\n1,44869891889\n2,24847953266\n4,13875652811\n")
    with pytest.raises(sc.InputError, match="--unit ns"):
        sc.load(path)
    assert sc.load(path, unit="ns").samples.by_k()[1][0] == pytest.approx(44.869891889)


def test_a_title_between_two_tables_parts_them(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    rows = "| {0} | Time |\n|---|---|\n| 5 | {1} s |\n| 10 | {2} s |\n"
    path.write_text("Threads:\n" + rows.format("Threads", 0.2, 0.1) + "Processes:\n" + rows.format("Processes", 3, 2))
    curves = sc.load_all(path, regime="strong")
    assert {name: study.samples.values.tolist() for name, study in curves.items()} == {
        "Threads": [0.2, 0.1],
        "Processes": [3.0, 2.0],
    }


def test_models_in_one_column_are_never_one_curve(tmp_path: Path) -> None:
    """Two models at K of their own are asked about; each is a curve where they share a K."""
    path = tmp_path / "a.md"
    path.write_text("| GPUs | img/s |\n|---|---|\n| 1x A100 | 100 |\n| 4x A100 | 380 |\n| 8x H100 | 1500 |\n")
    with pytest.raises(InputError, match="several models stand in one column"):
        load_any(str(path), regime="strong")
    path.write_text(
        "| GPUs | img/s |\n|---|---|\n| 1x A100 | 100 |\n| 4x A100 | 380 |\n| 1x H100 | 200 |\n| 4x H100 | 720 |\n"
    )
    read = load_any(str(path), regime="strong")
    assert sorted(float(own.samples.by_k()[4].mean()) for own in read.studies.values()) == [380, 720]


def test_bounds_of_a_loop_are_no_worker_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    lines = [f"steps for {k} threads, N = 8: steps: {8 / k}s" for k in (1, 2, 4)]
    path.write_text("\n".join(["Running", "  MIN_THREADS = 1, MAX_THREADS = 4", *lines]) + "\n")
    read = load_any(str(path), regime="strong")
    assert {k: float(v.mean()) for k, v in read.samples.by_k().items()} == {1: 8.0, 2: 4.0, 4: 2.0}


def test_a_file_named_weak_is_doubted_under_strong(tmp_path: Path) -> None:
    path = tmp_path / "weak_mpi.csv"
    path.write_text("ranks,seconds\n1,10\n2,10.2\n4,11\n")
    assert "other-regime-in-text" in {item.code for item in load_any(str(path), regime="strong").findings}


def test_no_offer_pools_rows_that_lie_far_apart(tmp_path: Path) -> None:
    (tmp_path / "blocks.csv").write_text(FAR_APART)
    with pytest.raises(InputError) as refusal:
        sc.load(tmp_path / "blocks.csv", regime="strong")
    offers = [line for line in str(refusal.value).splitlines() if "scalecurve table" in line]
    assert offers
    assert all("--where" in line and "--accept" not in line for line in offers)
