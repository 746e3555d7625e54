"""k6: the samples of `--out json` (one object a line), or the percentiles of `--summary-export`."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.text import read_text
from scalecurve.study.file import parse_json
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.study.provenance import Provenance

METRIC = "http_req_duration"
_SHARE = re.compile(r"p\((?P<share>[\d.]+)\)")


def read_k6(path: Path) -> LatencyRecord:
    """Samples where there are, else what the summary states; k6 counts milliseconds."""
    text = read_text(path)
    first = text.lstrip().partition("\n")[0]
    if '"type"' in first and '"metric"' in first:
        return _from_points(text, path)
    return _from_summary(parse_json(text.encode(), subject=str(path)), path)


def _from_points(text: str, path: Path) -> LatencyRecord:
    samples: list[float] = []
    times: list[datetime] = []
    faults: list[Fault] = []
    errors = 0
    for number, line in enumerate(text.splitlines(), 1):
        try:
            point = json.loads(line) if line.strip() else {}
            data = point.get("data", {})
            if point.get("type") == "Point" and point.get("metric") == METRIC:
                samples.append(float(data["value"]) / 1e3)
                times.append(datetime.fromisoformat(_micro(data["time"])))
                errors += str((data.get("tags") or {}).get("expected_response", "true")) == "false"
        except (json.JSONDecodeError, KeyError, TypeError, ValueError) as problem:
            faults.append(Fault(f"the line is damaged: {problem}", where=f"line {number}"))
    if faults or not samples:
        raise FormatError(faults[:20] or [Fault(f"no points of {METRIC}")], subject=str(path))
    span = (max(times) - min(times)).total_seconds() or None
    return LatencyRecord(
        name=path.stem,
        histogram=Histogram.of(samples),
        seconds=span,
        errors=errors,
        provenance=Provenance(source=path.name, tool="k6"),
    )


def _micro(stamp: str) -> str:
    """Go writes nanoseconds; Python reads microseconds."""
    return re.sub(r"(\.\d{6})\d+", r"\1", stamp)


def _from_summary(data: Any, path: Path) -> LatencyRecord:
    try:
        metrics = data["metrics"]
        values: dict[str, Any] = metrics[METRIC].get("values", metrics[METRIC])
        stated = {
            round(float(m["share"]) / 100, 9): float(v) / 1e3 for k, v in values.items() if (m := _SHARE.fullmatch(k))
        }
        if "med" in values:
            stated[0.5] = float(values["med"]) / 1e3
        requests = metrics["http_reqs"].get("values", metrics["http_reqs"])
        count, rate = int(requests["count"]), float(requests["rate"])
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        fault = Fault("not a summary of k6", seen=str(problem), remedy=f"expected metrics.{METRIC} and http_reqs")
        raise FormatError(fault, subject=str(path)) from None
    return LatencyRecord(
        name=path.stem,
        stated=dict(sorted(stated.items())),
        count=count,
        seconds=count / rate if rate > 0 else None,
        provenance=Provenance(source=path.name, tool="k6"),
    )
