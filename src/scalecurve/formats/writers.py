"""A study in the formats of other tools; `WRITERS` is the table of them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from scalecurve.document import spreadsheet_safe
from scalecurve.errors import Fault, InputError, MissingExtra
from scalecurve.formats.headers import k_unit_of
from scalecurve.study import Quantity, Regime, Study, StudySet
from scalecurve.study.file import json_bytes, study_digest, study_to_dict

PYPERF_VERSION = "1.0"
_HERE = "scalecurve.formats.writers"


class Writer(NamedTuple):
    """Where a format is written, the endings that suggest it, and what it is for."""

    module: str
    function: str
    endings: tuple[str, ...]
    purpose: str

    def write(self, study: Study) -> bytes:
        """The study as the bytes of a file."""
        function: Callable[[Study], str | bytes] = getattr(import_module(self.module), self.function)
        content = function(study)
        return content if isinstance(content, bytes) else content.encode()


WRITERS: dict[str, Writer] = {
    "csv": Writer(_HERE, "to_csv", (".csv",), "every observation, one row each"),
    "json": Writer(_HERE, "to_json", (".json",), "the study itself, with all that is known of it"),
    "parquet": Writer(_HERE, "to_parquet", (".parquet",), "every observation, for data frames"),
    "extra-p": Writer(_HERE, "to_extrap_text", (), "Extra-P text"),
    "extra-p-jsonl": Writer(_HERE, "to_extrap_lines", (".jsonl",), "Extra-P JSON Lines"),
    "r-usl": Writer(_HERE, "to_r_usl", (), "load and throughput for R's usl package, with the line of R"),
    "pyperf": Writer(_HERE, "to_pyperf", (), "pyperf JSON, one benchmark per K"),
    "openmetrics": Writer("scalecurve.render.exports", "to_openmetrics", (".prom", ".om"), "T, S and E for dashboards"),
    "bibtex": Writer(_HERE, "to_bibtex", (".bib",), "a reference with the study's hash"),
}


def to_csv(study: Study) -> str:
    """The plain table that every command reads back; its header says what the numbers are."""
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    summary = {item.k: ("" if item.std is None else repr(item.std), item.n or "") for item in study.summary}
    writer.writerow([_k_header(study), str(study.quantity), *(("std", "runs") if summary else ())])
    for k, values in study.samples.by_k().items():
        writer.writerows((k, repr(value), *(summary.get(k, ("", "")) if summary else ())) for value in values.tolist())
    return rows.getvalue()


def set_to_csv(studies: StudySet) -> str:
    """The curves of a set in one plain table, with a column for their names; every command reads it back."""
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    writer.writerow(["series", _k_header(studies.first), str(studies.quantity)])
    for name, study in studies.items():
        for k, values in study.samples.by_k().items():
            writer.writerows((spreadsheet_safe(name), k, repr(value)) for value in values.tolist())
    return rows.getvalue()


def _k_header(study: Study) -> str:
    return study.k_unit if k_unit_of(study.k_unit) == study.k_unit else "K"


def to_json(study: Study) -> bytes:
    """The study file with all raw observations inline: standard output has no place for a sidecar."""
    return json_bytes(study_to_dict(study))


def to_parquet(study: Study) -> bytes:
    """Every observation, for data frames and lakes; needs the extra `parquet`."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("writing Parquet", "parquet") from None
    columns = {"k": study.samples.k, str(study.quantity): study.samples.values}
    facts = {"scalecurve.regime": str(study.regime), "scalecurve.k_unit": study.k_unit, "scalecurve.name": study.name}
    facts["scalecurve.sha256"] = study_digest(study)
    buffer = io.BytesIO()
    parquet.write_table(arrow.table(columns).replace_schema_metadata(facts), buffer)
    return buffer.getvalue()


def to_extrap_text(study: Study) -> str:
    """One DATA line for every K, the repeats on it; `extrap --text FILE` reads it."""
    by_k = study.samples.by_k()
    lines = [
        f"# scalecurve {json.dumps(_facts(study))}",
        f"PARAMETER {_word(study.k_unit)}",
        "POINTS " + " ".join(f"({k})" for k in by_k),
        f"REGION {' '.join(study.name.split()) or 'study'}",
        f"METRIC {_metric(study)}",
        *("DATA " + " ".join(repr(value) for value in values.tolist()) for values in by_k.values()),
    ]
    return "\n".join(lines) + "\n"


def to_extrap_lines(study: Study) -> str:
    """One line for every K; `extrap --json FILE` reads it."""
    lines: list[dict[str, Any]] = []
    for k, values in study.samples.by_k().items():
        point = {_word(study.k_unit): k}
        lines.append({"params": point, "callpath": study.name, "metric": _metric(study), "value": values.tolist()})
    if lines:
        lines[0]["scalecurve"] = _facts(study)
    return "".join(json.dumps(line) + "\n" for line in lines)


def _facts(study: Study) -> dict[str, Any]:
    """What an Extra-P file cannot say of a study; our reader takes it from a comment or a further field."""
    return {
        "regime": str(study.regime),
        "quantity": str(study.quantity),
        "unit": study.unit,
        "k_unit": study.k_unit,
        "name": study.name,
        "warmup": str(study.warmup),
        "setup": str(study.setup),
    }


def _word(text: str) -> str:
    """A parameter's name is one word to Extra-P."""
    return "_".join(text.split()) or "K"


def _metric(study: Study) -> str:
    return "time" if study.quantity is Quantity.SECONDS else str(study.quantity)


def to_r_usl(study: Study) -> str:
    """A CSV of load and throughput X(K), and the line of R that fits it; times become 1/T (strong) or K/T (weak)."""
    if not len(study.samples):
        raise InputError(
            Fault("there are no observations to export", remedy="measure, or choose a study with finished runs"),
            subject=study.name,
        )
    lines = ['# R: summary(usl::usl(throughput ~ load, read.csv("FILE", comment.char = "#")))', "load,throughput"]
    for k, values in study.samples.by_k().items():
        for value in values.tolist():
            throughput = (k if study.regime is Regime.WEAK else 1) / value
            if study.quantity is not Quantity.SECONDS:
                throughput = value if study.quantity is Quantity.THROUGHPUT else k * value
            lines.append(f"{k},{throughput!r}")
    return "\n".join(lines) + "\n"


def to_pyperf(study: Study) -> str:
    """One benchmark for every K, one run for every observation; `pyperf show` and `compare_to` read it."""
    if study.quantity is not Quantity.SECONDS:
        remedy = "rates are not times; export them as csv or extra-p"
        raise InputError(Fault("pyperf holds times only", value=str(study.quantity), remedy=remedy), subject=study.name)
    name, unit = " ".join(study.name.split()) or "study", "_".join(study.k_unit.split())
    benchmarks = [
        {"metadata": {"name": f"{name} {unit}={k}"}, "runs": [{"values": [value]} for value in values.tolist()]}
        for k, values in study.samples.by_k().items()
    ]
    metadata = {"unit": "second", "loops": 1, "inner_loops": 1}
    return json.dumps({"version": PYPERF_VERSION, "metadata": metadata, "benchmarks": benchmarks}, indent=1) + "\n"


def to_bibtex(study: Study) -> str:
    """A reference to cite: what was measured, with the hash that names exactly this study."""
    digest = study_digest(study)
    workers = ", ".join(str(k) for k in study.all_k)
    created = (study.provenance.created or "")[:4]
    title = f"{_tex(study.name)}: {study.regime} scaling at {workers} {_tex(study.k_unit)}"
    lines = [
        f"@misc{{scalecurve-{digest[:12]}",
        f"  title = {{{title}}}",
        *([f"  year = {{{created}}}"] if created.isdecimal() else []),
        f"  howpublished = {{Scalecurve study, {len(study.samples)} observations}}",
        f"  note = {{SHA-256 {digest}}}",
    ]
    return ",\n".join(lines) + "\n}\n"


def _tex(text: str) -> str:
    plain = text.replace("\\", "/").replace("~", "-").replace("^", "")
    return re.sub(r"([&%$#_{}])", r"\\\1", " ".join(plain.split()))
