"""oha's JSON (`oha --json` or `--output-format json`), after its documented fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.text import read_text
from scalecurve.study.file import parse_json
from scalecurve.study.latency_record import LatencyRecord
from scalecurve.study.provenance import Provenance


def read_oha(path: Path) -> LatencyRecord:
    """Stated percentiles, throughput and errors."""
    data = parse_json(read_text(path).encode(), subject=str(path))
    try:
        summary, stated = data["summary"], data["latencyPercentiles"]
        codes: dict[str, int] = data.get("statusCodeDistribution") or {}
        failed = sum(int(count) for count in (data.get("errorDistribution") or {}).values())
        seconds = float(summary["total"])
        shares = {round(float(name.lstrip("p")) / 100, 9): float(v) for name, v in stated.items() if v is not None}
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        fault = Fault("not the JSON of oha", seen=str(problem), remedy="expected summary and latencyPercentiles")
        raise FormatError(fault, subject=str(path)) from None
    return LatencyRecord(
        name=path.stem,
        stated=shares,
        count=sum(int(count) for count in codes.values()) or None,
        seconds=seconds,
        errors=failed + _refused(codes),
        provenance=Provenance(source=path.name, tool="oha"),
    )


def _refused(codes: dict[str, Any]) -> int:
    return sum(int(count) for code, count in codes.items() if int(code) >= 400)
