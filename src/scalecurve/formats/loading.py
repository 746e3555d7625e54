"""Any file a command accepts as a study: a study file, or a plain table with its regime stated."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.formats.plain import PlainTable, read_plain
from scalecurve.study import Baseline, Provenance, Quantity, Study, Workload
from scalecurve.study.file import MAX_BYTES, parse_json, read_study, study_from_dict
from scalecurve.study.study import as_quantity, as_regime

PEEK = 64


def load_study(
    source: str | Path,
    *,
    regime: str | None = None,
    quantity: str | None = None,
    k_column: str | None = None,
    value_column: str | None = None,
    k_unit: str | None = None,
    baseline_k: int | None = None,
    node_size: int | None = None,
) -> Study:
    """A study from a path, or from standard input for `-`."""
    raw = _standard_input() if str(source) == "-" else None
    subject = "standard input" if raw is not None else str(source)
    if _looks_like_json(source, raw):
        study = (
            read_study(Path(source))
            if raw is None
            else study_from_dict(parse_json(raw, subject=subject), subject=subject)
        )
        return _restated(study, regime, quantity, baseline_k, node_size, subject)
    faults = _setting_faults(regime, quantity)
    if faults:
        raise InputError(faults, subject=subject)
    table = read_plain(
        raw if raw is not None else Path(source),
        subject=subject,
        k_column=k_column,
        value_column=value_column,
        quantity=None if quantity is None else as_quantity(quantity),
    )
    return _from_plain(table, subject, regime, k_unit, baseline_k, node_size)


def _standard_input() -> bytes:
    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise FormatError(Fault("too much input", remedy=f"the limit is {MAX_BYTES} bytes"), subject="standard input")
    return raw


def _looks_like_json(source: str | Path, raw: bytes | None) -> bool:
    """By content, not by name: a study starts with a brace."""
    head = raw[:PEEK] if raw is not None else _head(Path(source))
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[") or str(source).endswith(".json")


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(PEEK)
    except OSError as problem:
        raise FormatError(f"cannot be read: {problem.strerror}", subject=str(path)) from None


def _setting_faults(regime: str | None, quantity: str | None) -> list[Fault]:
    faults: list[Fault] = []
    for check in (lambda: as_regime(regime), lambda: quantity is None or as_quantity(quantity)):
        try:
            check()
        except InputError as problem:
            faults += problem.faults
    return faults


def _restated(
    study: Study, regime: str | None, quantity: str | None, baseline_k: int | None, node_size: int | None, subject: str
) -> Study:
    """A study file says what it is; only the baseline and the node size may be chosen anew."""
    faults = []
    if regime is not None and as_regime(regime) is not study.regime:
        faults.append(Fault("the file states another regime", seen=f"{study.regime}, asked for {regime}"))
    if quantity is not None and as_quantity(quantity) is not study.quantity:
        faults.append(Fault("the file states another quantity", seen=f"{study.quantity}, asked for {quantity}"))
    if faults:
        raise InputError(faults, subject=subject)
    if baseline_k is not None:
        study = replace(study, baseline=Baseline(k=baseline_k, description=study.baseline.description))
    return study if node_size is None else replace(study, node_size=node_size)


def _from_plain(
    table: PlainTable,
    subject: str,
    regime: str | None,
    k_unit: str | None,
    baseline_k: int | None,
    node_size: int | None,
) -> Study:
    name = Path(subject).stem if subject != "standard input" else subject
    notes = f"columns {table.headers[table.columns.k].strip()} and {table.headers[table.columns.value].strip()}"
    quantity: Quantity = table.columns.meaning.quantity
    return Study(
        regime=as_regime(regime),
        quantity=quantity,
        k_unit=k_unit or table.columns.k_unit,
        unit=table.columns.meaning.unit,
        bulk=table.samples,
        baseline=Baseline(k=baseline_k),
        node_size=node_size,
        workload=Workload(name=name),
        provenance=Provenance(source=Path(subject).name, tool="plain table", notes=(notes,)),
    )
