"""Logs of training frameworks as measured runs: their lines as the frameworks print them."""

from __future__ import annotations

import pytest

from scalecurve.training.answers.measured import calibrate
from scalecurve.training.inputs.measured_table import read_table

MEGATRON = """\
using world size: 64, data-parallel size: 4, tensor-model-parallel size: 8, pipeline-model-parallel size: 2
  seq_length ...................................... 8192
  micro_batch_size ................................ 1
  sequence_parallel ............................... True
  use_distributed_optimizer ....................... True
 iteration  1/ 500 | consumed samples: 256 | elapsed time per iteration (ms): 98112.3 | global batch size:   256 |
 iteration  2/ 500 | consumed samples: 512 | elapsed time per iteration (ms): 37012.0 | global batch size:   256 |
 iteration  3/ 500 | consumed samples: 768 | elapsed time per iteration (ms): 37000.0 | global batch size:   256 |
"""
TITAN = """[rank0]:Building 2-D device mesh with ['dp_shard', 'tp'], [8, 2]
[rank0]:step:  1  loss: 12.2  memory: 40.1GiB(50.6%)  tps: 200  tflops: 69.1  mfu: 7.0%
[rank0]:step: 10  loss: 10.2  memory: 47.4GiB(59.9%)  tps: 5,762  tflops: 333.7  mfu: 33.7%
[rank0]:step: 20  loss: 9.2  memory: 47.4GiB(59.9%)  tps: 5,764  tflops: 334.7  mfu: 33.8%
"""
NANOTRON = """world_size: 16
iteration: 1 / 100 | tokens_per_sec: 1M | elapsed_time_per_iteration_ms: 900 | model_tflops_per_gpu: 300
iteration: 2 / 100 | tokens_per_sec: 2M | elapsed_time_per_iteration_ms: 500 | model_tflops_per_gpu: 400
"""
MAXTEXT = """completed step: 0, seconds: 44.1, TFLOP/s/device: 10.0, Tokens/s/device: 90.0
completed step: 1, seconds: 4.5, TFLOP/s/device: 100.0, Tokens/s/device: 900.0
completed step: 2, seconds: 4.5, TFLOP/s/device: 100.0, Tokens/s/device: 900.0
"""


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        (MEGATRON, {"tp": "8", "pp": "2", "dp": "4", "accels": "64", "seq": "8192", "micro_batch": "1", "sp": "1",
                    "zero": "1", "global_batch_seqs": "256", "step_s": "37.006"}),
        (TITAN, {"tp": "2", "dp": "8", "accels": "16", "zero": "3", "tokens_per_s_per_accel": "5763.0"}),
        (NANOTRON, {"accels": "16", "step_s": "0.5"}),
        (MAXTEXT, {"step_s": "4.5"}),
    ],
)  # fmt: skip
def test_a_log_is_one_run_without_its_first_step(tmp_path, text, cells):
    path = tmp_path / "train.log"
    path.write_text(text)
    [row] = read_table(path)
    assert {name: row.get(name) for name in cells} == cells


def test_a_run_from_its_log_is_the_same_run_from_a_table(tmp_path):
    log, table = tmp_path / "train.log", tmp_path / "runs.csv"
    log.write_text(MEGATRON)
    table.write_text("gpus,tp,pp,micro_batch,global_batch,seq,sp,zero,step_seconds\n64,8,2,1,256,8192,1,1,37.006\n")
    job = {"model": "llama3-70b", "cluster": "h100-ib400", "stack": "megatron-core"}
    assert calibrate(read_table(log), **job) == calibrate(read_table(table), **job)


def test_a_table_with_one_such_line_in_a_note_stays_a_table(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("gpus,layout,global_batch,step_seconds,note\n8,tp=8,64,30,elapsed time per iteration (ms): 30000\n")
    [row] = read_table(path)
    assert row["step_s"] == "30"
