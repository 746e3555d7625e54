"""A plain table as a study."""

from __future__ import annotations

from pathlib import Path

from scalecurve.formats.imported import Imported
from scalecurve.formats.plain import read_plain
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Baseline, Provenance, Regime, Study, Workload


def import_plain(source: Source, evidence: str, wishes: Wishes) -> Imported:
    """Read by numpy as a whole; nothing of it is copied into Python objects."""
    table = read_plain(
        source.path if source.path is not None and source.raw is None else source.content,
        subject=source.name,
        k_column=wishes.k_column,
        value_column=wishes.value_column,
        quantity=wishes.quantity,
    )
    k_name, value_name = (table.headers[place].strip() for place in (table.columns.k, table.columns.value))
    meaning = table.columns.meaning
    study = Study(
        regime=wishes.regime or Regime.STRONG,
        quantity=meaning.quantity,
        k_unit=wishes.k_unit or table.columns.k_unit,
        unit=meaning.unit,
        bulk=table.samples,
        baseline=Baseline(k=wishes.baseline_k),
        node_size=wishes.node_size,
        workload=Workload(name=Path(source.name).stem),
        provenance=Provenance(
            source=Path(source.name).name, tool="plain table", notes=(f"columns {k_name} and {value_name}",)
        ),
    )
    return Imported(
        study=study,
        regime_stated=wishes.regime is not None,
        format="plain table",
        evidence=evidence,
        files=(source.name,),
        k_origin=f"column `{k_name}`",
        value_origin=f"column `{value_name}`",
        series="",
        left_out=(),
        assumed=(),
        missing=(),
    )
