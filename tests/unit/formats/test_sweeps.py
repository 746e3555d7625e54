"""Timings of collectives from OSU, IMB, nccl-tests and CSV."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalecurve.errors import FormatError, InputError
from scalecurve.formats.sweeps import read_sweeps
from scalecurve.study.message_sweep import MessageSweep, Timing, merged, write_sweep

HERE = Path(__file__).parents[2] / "formats" / "collectives"


def test_osu_needs_its_ranks_stated() -> None:
    (sweep,) = read_sweeps([HERE / "osu_allreduce.txt"], ranks=8)
    assert sweep.operations == ("allreduce",)
    assert [t.message for t in sweep.timings] == [4, 64, 1024, 65536]
    assert sweep.timings[-1].seconds == pytest.approx(60.1e-6)
    with pytest.raises(FormatError, match="give --ranks"):
        read_sweeps([HERE / "osu_allreduce.txt"])


def test_imb_blocks_of_known_collectives() -> None:
    (sweep,) = read_sweeps([HERE / "imb.txt"])
    assert sweep.operations == ("allreduce", "allgather")
    assert [(t.ranks, t.message) for t in sweep.of("allreduce")] == [(4, 4), (4, 1024), (4, 65536)]
    gather = sweep.of("allgather")[0]
    assert sweep.vector(gather) == 32  # four bytes from each of eight ranks


def test_nccl_table_and_json() -> None:
    (table,) = read_sweeps([HERE / "nccl_all_reduce.txt"])
    assert (table.timings[0].ranks, table.timings[0].nodes, table.per_rank) == (2, 1, False)
    assert [finding.code for finding in table.findings] == ["wrong-results"]
    (data,) = read_sweeps([HERE / "nccl.json"])
    assert data.operations == ("allgather",)
    assert "do-not-read" not in str(data.to_dict())


def test_csv_of_several_systems(tmp_path: Path) -> None:
    rows = "system,op,nodes,ranks,bytes,t_avg_us\na,Allreduce,1,2,8,5\na,PingPong,1,2,8,5\nb,Alltoall,2,4,16,7\n"
    (tmp_path / "x.csv").write_text(rows)
    first, second = read_sweeps([tmp_path / "x.csv"])
    assert (first.system, second.operations) == ("a", ("alltoall",))


def test_sweeps_are_written_and_read_again(tmp_path: Path) -> None:
    (sweep,) = read_sweeps([HERE / "imb.txt"])
    write_sweep(sweep, tmp_path / "s.json")
    assert read_sweeps([tmp_path / "s.json"])[0].timings == sweep.timings


def test_files_of_one_tool_are_merged(tmp_path: Path) -> None:
    (whole,) = read_sweeps([HERE / "imb.txt", HERE / "imb.txt"])
    assert len(whole.timings) == 8
    with pytest.raises(InputError, match="differ in what bytes mean"):
        merged([whole, read_sweeps([HERE / "nccl.json"])[0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "not timings"),
        ("op,ranks\nAllreduce,2\n", "no column for bytes, time"),
        ("op,ranks,bytes,t_us\nAllreduce,2,-8,5\n", "bytes from 0"),
        ("op,ranks,bytes,t_us\nAllreduce,two,8,5\n", "line 2"),
        ("# OSU MPI Allreduce Latency Test v5.3\n# Size\n", "truncated"),
        ("# OSU MPI Allreduce Latency Test v5.3\n4\n", "without a latency"),
        ("# OSU MPI Gossip Latency Test v5.3\n4 1\n", "unknown collective"),
        ("# Benchmarking Allreduce\n", "no timings"),
        ("# nThread 1\n", "no rank lines"),
        ('{"nccl_version": "2.21", "devices": [', "truncated"),
        ('{"format": "scalecurve-sweep", "version": 1, "timings": []}', "no timings"),
        ('{"format": "scalecurve-sweep", "version": 1, "timings": [{"operation": "allreduce"}]}', "ranks"),
    ],
)
def test_broken_files_say_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        read_sweeps([tmp_path / "x.txt"], ranks=4 if "OSU" in text else None)


def test_impossible_timings_are_named() -> None:
    with pytest.raises(InputError) as caught:
        MessageSweep(timings=(Timing(operation="allreduce", ranks=0, message=-1, seconds=0),))
    assert len(caught.value.faults) == 3
