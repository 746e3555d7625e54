"""Claims: the template, bare claims, tables."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from scalecurve.auditing.claim import Claim, claim_template, load_claim
from scalecurve.errors import InputError


def test_the_template_is_a_claim_and_so_is_every_line_of_it() -> None:
    lines = claim_template().splitlines()
    everything = "\n".join(line.removeprefix("# ") for line in lines[2:])

    bare = Claim.model_validate(tomllib.loads(claim_template()))
    whole = Claim.model_validate(tomllib.loads(everything))

    assert [(point.k, point.speedup) for point in bare.points] == [(256, 180.0)]
    assert {point.k for point in whole.points} == {8, 256}
    assert whole.measurement.repeats == 5


def test_a_bare_claim_names_itself_and_all_its_faults() -> None:
    claim = load_claim(workers=256, speedup=180, k_unit="gpus")

    assert claim.name == "180x on 256 gpus"
    with pytest.raises(InputError) as caught:
        load_claim(workers=0, speedup=-1)
    assert len(caught.value.faults) == 2


def test_rows_of_one_k_are_repeats_and_percent_is_understood(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("gpus,seconds,efficiency\n1,100,100\n1,102,100\n4,30,83\n4,,83\n")

    claim = load_claim(path)

    assert isinstance(claim, Claim)
    assert [(p.k, p.seconds, p.n) for p in claim.points] == [(1, 101.0, 2), (4, 30.0, 1)]
    assert claim.points[0].std == pytest.approx(2**0.5)
    assert claim.points[1].efficiency == pytest.approx(0.83)
