"""One schema of plan settings: options, file, template and keywords say the same."""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import fields

import pytest

from scalecurve.cli.plan import command
from scalecurve.errors import FormatError, InputError
from scalecurve.training import plan_template, plan_training
from scalecurve.training.inputs.layout import Layout, read_layout
from scalecurve.training.inputs.request import PlanRequest, read_request

NAMES = {entry.name for entry in fields(PlanRequest)}


def test_every_setting_is_an_option_a_key_of_the_file_and_a_keyword():
    options = {parameter.name for parameter in command.params}
    assert options >= NAMES
    assert options - NAMES == {
        "files", "score", "anchors", "init", "as_json", "as_csv", "file", "quiet", "verbose", "export",
        "why_not", "against", "plot_path", "plot_width", "font", "font_size", "plot_title", "scale",
    }  # fmt: skip
    keywords = set(inspect.signature(plan_training).parameters)
    assert keywords - NAMES == {"batch", "calibration", "axes"}
    assert NAMES - keywords == {"global_batch", "layout", "explain", "measured"}


def test_the_template_names_every_setting_and_is_a_plan(tmp_path):
    text = plan_template()
    everything = tomllib.loads("\n".join(line.removeprefix("# ") for line in text.splitlines() if " = " in line))
    assert set(everything) == NAMES
    path = tmp_path / "plan.toml"
    path.write_text(text)
    request = read_request({}, file=path)
    assert (request.model, request.cluster, request.global_batch) == ("llama3-70b", "h100-ib400", "4Mi")
    assert request.counts[0] == 32


def test_numbers_and_limits_are_checked_together():
    with pytest.raises(InputError) as caught:
        PlanRequest(model="llama3-8b", cluster="h100", price="much", objective="fame", top=0, budget=-1.0)
    for words in ("price: must be a number", "unknown objective", "at least one layout", "a budget is above 0"):
        assert words in str(caught.value)


def test_options_win_over_the_file_and_unknown_keys_are_all_named(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('model = "llama3-8b"\ncluster = "h100"\ngpus = "8..32"\nglobal-batch = "1Mi"\n')
    assert read_request({"gpus": "64", "weak": False, "seq": None}, file=path).counts == (64,)
    path.write_text("modle = 1\nclster = 2\n")
    with pytest.raises(FormatError, match=r"(?s)modle.*clster"):
        read_request({}, file=path)


@pytest.mark.parametrize(
    "layout",
    [
        Layout(tp=8, pp=4, dp=2, interleave=2, micro=2, accumulation=8, zero=3, shard=2, sequence_parallel=True),
        Layout(pp=16, dp=128, ep=64, schedule="dualpipe", zero=1, recompute="selective"),
        Layout(),
    ],
)
def test_a_layout_is_read_as_it_is_printed(layout):
    assert Layout(**read_layout(layout.short())) == layout


@pytest.mark.parametrize(
    "text", ["tp8pp4dp2", "TP8-PP4-DP2", "tp8/pp4/dp2", "tp8_pp4_dp2", "tp=8;pp=4;dp=2", "tp8xpp4xdp2"]
)
def test_degrees_written_together_are_told_apart(text):
    assert read_layout(text) == {"tp": 8, "pp": 4, "dp": 2}
