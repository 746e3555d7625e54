"""A study as the curve that is forecast: units and machine facts survive reading."""

from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.forecasting.curves import Traits, view


@pytest.mark.parametrize(
    ("header", "k_unit", "traits"),
    [
        ("clients,tps", "clients", Traits(1, 1, False)),
        ("users,transactions_per_second", "users", Traits(1, 1, False)),
        ("connections,requests/s", "connections", Traits(1, 1, False)),
        ("threads,MiB/s", "threads", Traits(0, 0, False)),
        ("concurrency,iops", "clients", Traits(0, 1, False)),
        ("gpus,images_per_second", "gpus", Traits(2, 2, False)),
        ("nodes,seconds", "nodes", Traits(2, 3, True)),
        ("ranks,time_ms", "ranks", Traits(2, 4, True)),
    ],
)
def test_the_units_of_a_table_reach_the_forecast(tmp_path: Path, header: str, k_unit: str, traits: Traits) -> None:
    file = tmp_path / "table.csv"
    file.write_text(header + "\n1,100\n2,190\n4,350\n8,600\n")

    study = sc.load(file, regime="strong", node_size=8)

    assert study.k_unit == k_unit
    assert view(study).points.traits == traits
    assert view(study).node_size == 8
    saved = tmp_path / "study.json"
    sc.save(study, saved)
    assert view(sc.load(saved)).points.traits == traits
