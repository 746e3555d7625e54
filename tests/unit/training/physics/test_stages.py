"""Layers of the stages where a stack weighs them by their weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scalecurve.training.inputs.cluster import cluster_preset
from scalecurve.training.inputs.layout import Layout, grid_of_layouts
from scalecurve.training.inputs.stack import device_of, prior_constants, read_stack
from scalecurve.training.inputs.transformer import Transformer
from scalecurve.training.physics.memory import stage_layers

H100 = cluster_preset("h100")
SMALL = Transformer(
    name="1b", hidden=2048, layers=16, heads=32, ffn=8192, vocab=131072, seq=4096, gated=True, tied=True
)


def stages(stack: str, pp: int) -> tuple[float, float]:
    software = read_stack(stack)
    device = device_of(H100, software, prior_constants(H100.accelerator, software))
    grid = grid_of_layouts([Layout(pp=pp)], 8, data_overlap=False, tensor_overlap=0.0)
    first, last = stage_layers(device, SMALL.shape(4096), grid)
    return float(np.squeeze(first)), float(np.squeeze(last))


@pytest.mark.parametrize(("pp", "first", "last"), [(1, 16, 16), (2, 10, 6), (4, 5, 1)])
def test_an_output_layer_of_four_layers_weight_takes_their_place(pp, first, last):
    """131072 x 2048 weights are those of four layers, so 20 shares are cut into equal stages."""
    assert stages("nanotron", pp) == (first, last)


def test_other_stacks_cut_by_layers():
    assert stages("megatron-core", 4) == (4, 4)


def test_uneven_stages_of_a_weighing_stack_cover_every_layer():
    for pp in (2, 4, 8, 16):
        model = replace(SMALL, layers=28, hidden=3072)
        software = read_stack("nanotron")
        device = device_of(H100, software, prior_constants(H100.accelerator, software))
        grid = grid_of_layouts([Layout(pp=pp)], 8, data_overlap=False, tensor_overlap=0.0)
        first, last = (float(np.squeeze(part)) for part in stage_layers(device, model.shape(4096), grid))
        assert 28 / pp <= first <= 28
        assert 0 <= last <= first
