"""Networks in the words of published tables: bytes per second of one accelerator."""

from __future__ import annotations

import pytest

from scalecurve.hardware.accelerators import accelerator
from scalecurve.training.answers.measurements import measurement
from scalecurve.training.inputs.cluster import read_cluster
from scalecurve.training.inputs.written_network import network_rate

STORAGE = "NVLINK Gen4 900 GB/s | Storage: 2x CX-7 IB 400Gb/s, Compute: 4x CX-7 IB 400Gb/s, Management: 100Gb/s"


@pytest.mark.parametrize(
    ("chip", "node", "words", "gb_s"),
    [
        ("a100", 8, "4 x 100Gb RoCE per node", 6.25),
        ("h100", 8, STORAGE, 25.0),
        ("gb200", 4, "NVLINK Gen5 1800 GB/s + NVSWITCH | 4x ConnectX-8 IB XDR 800 Gb/s", 100.0),
        ("h100", 8, "1x Ethernet 100Gb/Sec, 8x Quantum-2 InfiniBand (400Gb/s)", 50.0),
        ("a100", 8, "1600 Gb/s RoCE", 25.0),  # of a node: no A100 has such a port
        ("h100", 8, "InfiniBand 3.2Tb/s per node", 50.0),
        ("a100", 8, "25 GB/s per GPU", 25.0),
        ("h100", 8, "A3 Mega", 25.0),
        ("a100", 8, "400Gbps (as printed)", None),  # of what?
        ("h100", 8, "NVLink | Gig Ethernet", None),
        ("a100", 8, "NVLink in node; 4 OmniPath links per node", 6.25),
        ("a100", 8, "4x HDR InfiniBand", 12.5),
        ("b200", 8, "NVLink | 100GbE InfiniBand", None),  # an eighth of the usual port: not the network of the job
    ],
)
def test_words_become_a_rate(chip, node, words, gb_s):
    rate = network_rate(words, accelerator(chip), node)
    assert rate is None if gb_s is None else rate == pytest.approx(gb_s * 1e9)


def test_a_row_without_a_network_ran_on_the_cluster_that_is_given():
    row = {"model": "llama3-8b", "seq": "8192", "global_batch_seqs": "64", "micro_batch": "1", "tp": "1", "pp": "1",
           "accelerator": "H100", "accels": "64", "framework": "NeMo", "step_s": "9", "precision": "fp8"}  # fmt: skip
    slow = read_cluster("h100-ib100")
    rates = [
        measurement(row | words, "here", cluster).jobs[0].cluster.outer_rate / 1e9
        for words, cluster in (({}, None), ({}, slow), ({"network": "8 x 200Gb/s"}, slow))
    ]
    assert rates == [50.0, 12.5, 25.0]
    round_ = row | {"accelerator": "B200", "precision": ""}
    told = {name: measurement(round_ | {"release": f"MLPerf {name}"}, "here").jobs[0].precision
            for name in ("v5.0", "v5.1")}  # fmt: skip
    assert told == {"v5.0": "fp8", "v5.1": "nvfp4"}
    formats = {measurement(row | {"precision": kind}, "here").configuration for kind in ("mxfp8", "fp8", "nvfp4")}
    assert len(formats) == 3
