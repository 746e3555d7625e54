"""Parquet of every observation, for data frames and lakes; needs the extra `parquet`."""

from __future__ import annotations

import io

from scalecurve.errors import MissingExtra
from scalecurve.study import Study
from scalecurve.study.file import study_digest


def to_parquet(study: Study) -> bytes:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("writing Parquet", "parquet") from None
    columns = {"k": study.samples.k, str(study.quantity): study.samples.values}
    facts = {"scalecurve.regime": str(study.regime), "scalecurve.k_unit": study.k_unit, "scalecurve.name": study.name}
    facts["scalecurve.sha256"] = study_digest(study)
    table = arrow.table(columns).replace_schema_metadata(facts)
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()
