"""PyTorch profiler traces: a real one of DDP on gloo, and constructed ones with NCCL and overlap.

The samples under samples/chrome_trace are traces of a two-layer model under DistributedDataParallel on gloo, torch
2.13, three active steps; rank 1 has three times the batch.  Events under 20 us and arguments were dropped to keep them
small.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc
from scalecurve.errors import FormatError, InputError
from scalecurve.formats.results import torch_traces
from scalecurve.formats.results.torch_traces import RankTrace
from scalecurve.formats.source import Source

SAMPLES = Path(__file__).parent / "samples" / "chrome_trace"


def read_trace(path: Path) -> RankTrace:
    return torch_traces.read_trace(Source.at(path))


def adds_up(trace: RankTrace) -> None:
    for step in trace.steps:
        assert step.compute + step.exposed + step.data + step.idle == pytest.approx(step.seconds, rel=1e-9)
        assert 0 <= step.hidden <= step.compute + 1e-12


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.json")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_real_traces_on_gloo(path: Path) -> None:
    trace = read_trace(path)

    adds_up(trace)
    assert trace.backend == "gloo"
    assert [step.number for step in trace.steps] == [2, 3, 4]
    if trace.world_size > 1:
        assert all(step.exposed > 0 for step in trace.steps)


def test_the_rank_with_more_work_waits_less() -> None:
    light, heavy = (read_trace(SAMPLES / "k2" / f"rank{rank}.json") for rank in (0, 1))

    assert sum(s.compute for s in heavy.steps) > sum(s.compute for s in light.steps)
    assert sum(s.exposed for s in heavy.steps) < sum(s.exposed for s in light.steps)


def test_a_folder_of_traces_is_a_study() -> None:
    study = sc.load(SAMPLES, regime="strong")

    assert study.all_k == (1, 2)
    found = sc.diagnose(study)
    assert found.basis == "phases of every worker"
    assert found.by_k[-1].pop is not None
    with pytest.raises(InputError, match="regime"):
        sc.load(SAMPLES)


def event(name: str, cat: str, ts: float, dur: float, tid: int = 1) -> dict[str, Any]:
    return {"ph": "X", "name": name, "cat": cat, "ts": ts, "dur": dur, "pid": 1, "tid": tid}


def write(path: Path, events: list[dict[str, Any]], rank: int = 0, size: int = 1) -> Path:
    data = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": size}, "traceEvents": events}
    path.write_text(json.dumps(data))
    return path


def test_overlap_of_nccl_and_compute_is_hidden(tmp_path: Path) -> None:
    events = [
        event("ProfilerStep#7", "user_annotation", 0, 1000),
        event("aten::mm", "cpu_op", 0, 900),  # launching: not compute where there is a GPU
        event("enumerate(DataLoader)#_SingleProcess.__next__", "user_annotation", 0, 120),
        event("sgemm", "kernel", 100, 400, tid=7),
        event("sgemm", "kernel", 400, 200, tid=8),  # overlaps itself: counted once
        event("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel", 500, 300, tid=20),
        event("Memcpy HtoD", "gpu_memcpy", 850, 50, tid=7),
    ]

    (step,) = read_trace(write(tmp_path / "rank0.json", events)).steps

    assert step.compute == pytest.approx(550e-6)
    assert step.hidden == pytest.approx(100e-6)
    assert step.exposed == pytest.approx(200e-6)
    assert step.data == pytest.approx(100e-6)
    assert step.idle == pytest.approx(150e-6)


def test_compressed_traces_are_read(tmp_path: Path) -> None:
    raw = (SAMPLES / "k1" / "rank0.json").read_bytes()
    (tmp_path / "rank0.json.gz").write_bytes(gzip.compress(raw))

    assert read_trace(tmp_path / "rank0.json.gz").steps == read_trace(SAMPLES / "k1" / "rank0.json").steps
    assert sc.load(tmp_path, regime="strong").all_k == (1,)


def test_a_missing_rank_is_a_fault(tmp_path: Path) -> None:
    write(tmp_path / "rank0.json", [event("ProfilerStep#1", "user_annotation", 0, 10)], size=2)

    with pytest.raises(FormatError, match="2 ranks took part, but the files of 1"):
        sc.load(tmp_path, regime="strong")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a Chrome trace"),
        (b'{"traceEvents": []}', "no timed events"),
        (b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 0, "dur": 1}]}', "marks no steps"),
        (b"\x1f\x8bbroken", "gzip file is damaged"),
    ],
)
def test_damaged_traces(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "rank0.json").write_bytes(content)

    with pytest.raises(FormatError, match=message):
        read_trace(tmp_path / "rank0.json")


def test_hidden_communication_is_no_loss() -> None:
    study = sc.load(SAMPLES, regime="strong")
    rank = study.runs[-1].ranks[0]

    assert rank.phases["communication (hidden)"] >= 0
    kinds = {"compute", "communication (exposed)", "data loading", "idle"}
    assert sum(rank.phases[kind] for kind in kinds) == pytest.approx(rank.seconds)
