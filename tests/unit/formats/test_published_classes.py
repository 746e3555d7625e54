"""Classes of published tables: the table itself states the truth, in its heading or its printed columns."""

from __future__ import annotations

from pathlib import Path

import pytest

import scalecurve as sc

HEADING = "## Rendering (12 pages, ms)\n\n| Workers | Time |\n|---|---|\n| 1 | 386.6 |\n| 2 | 194.0 |\n| 4 | 109.7 |\n"
PROVEN = "q,T,speedup,efficiency\n3,90,1.0,0.3333\n6,50,1.8,0.3\n12,30,3.0,0.25\n"
PARTED = 'threads,time (ms)\n1,"8,200"\n2,"4,300"\n4,"2,100"\n'
SHARE = "concurrency,requests_per_second,response_rate\n1,10,1.0\n2,19,0.99\n4,33,0.97\n"
MODELS = "model size,gpus,tokens/s\n1B,2,15000\n7B,8,12000\n70B,32,8500\n"


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
    ],
)
def test_the_table_says_what_it_holds(tmp_path: Path, name: str, text: str, truth: dict[int, float]) -> None:
    assert read(tmp_path, name, text) == pytest.approx(truth)


def test_another_model_at_each_k_is_no_curve(tmp_path: Path) -> None:
    with pytest.raises(sc.InputError, match="different jobs"):
        read(tmp_path, "models.csv", MODELS)
