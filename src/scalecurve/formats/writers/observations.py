"""CSV of every observation: the plain table that every command reads back."""

from __future__ import annotations

import csv
import io

from scalecurve.study import Quantity, Study


def value_column(study: Study) -> str:
    """A header that says what the numbers are, so that the file is read back without further words."""
    return str(study.quantity)


def to_csv(study: Study) -> str:
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    writer.writerow([study.k_unit if _readable(study.k_unit) else "K", value_column(study)])
    for k, values in study.samples.by_k().items():
        writer.writerows((k, repr(value)) for value in values.tolist())
    return rows.getvalue()


def _readable(k_unit: str) -> bool:
    from scalecurve.formats.headers import worker_unit

    return worker_unit(k_unit) == k_unit


def metric_of(study: Study) -> str:
    return "time" if study.quantity is Quantity.SECONDS else str(study.quantity)
