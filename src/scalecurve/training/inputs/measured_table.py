"""A table of measured training steps as rows of the common schema, whatever its collector called the columns.

CSV with commas, semicolons or tabs, JSON (a list, or one object a line) and Markdown tables are read; headings, units
and numbers as people write them become those of the schema.
"""

from __future__ import annotations

import csv
import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.files import read_text
from scalecurve.formats.headers import in_english, words_of
from scalecurve.hardware.accelerators import accelerator_in
from scalecurve.training.inputs.measured_log import log_row
from scalecurve.training.inputs.transformer import training_table

SCHEMA = ("model", "hidden", "layers", "seq", "global_batch_seqs", "tp", "pp", "accelerator", "accels", "framework")
NEEDED = ("accelerator", "accels")
TIMES = ("step_s", "tokens_per_s_per_accel", "tflops_per_accel", "mfu_pct")
DEGREES = ("tp", "pp", "vp", "cp", "ep", "etp", "dp", "fsdp")
TABLE = tomllib.loads(training_table("measured_columns.toml"))  # how collectors write, as data
WORDS = {other: word for word, others in TABLE["spellings"].items() for other in others.split()}
SHORT, FILLERS = TABLE["short"], frozenset(TABLE["fillers"]["words"].split())
LAST_FILLERS = (frozenset[str](), frozenset({"num"}), frozenset({"num", "parallel"}))  # words that tell, or do not
BY_WORDS = {frozenset(words.split()): column for column, ways in TABLE["columns"].items() for words in ways}
SCHEMA_NAMES = frozenset(TABLE["columns"]) | {"optimizer", "release", "attention_impl", "network", "provenance"}
SHARDS = (  # words of a strategy: ZeRO's stage that they mean
    (r"hybrid.?shard|hsdp", "3 in node"), (r"full.?shard|fsdp|zero.?3", "3"), (r"shard.?grad.?op|zero.?2", "2"),
    (r"zero.?1|distributed.?opt", "1"), (r"no.?shard|\bddp\b", "0"),
)  # fmt: skip
UNITS: Mapping[str, Mapping[str, float]] = TABLE["units"]  # what the word after a number makes of it
KINDS = {"bf16": "bf16", "bfloat16": "bf16", "fp16": "fp16", "float16": "fp16", "fp8": "fp8", "float8": "fp8",
         "mxfp8": "fp8", "nvfp4": "nvfp4"}  # fmt: skip
KIND = re.compile(r"(?<![a-z0-9])(?:" + "|".join(KINDS) + r")(?![a-z0-9])", re.I)
SAME = ('"', "''", "〃", "ditto", "idem", "same", "same as above", "as above")  # the cell above holds
LARGEST = 1e15  # no cell of a table means a number above this
NO = ("0", "no", "none", "null", "false", "off", "n/a", "na", "-", "disabled")
YES = ("yes", "true", "on", "enabled")


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a file by the columns of the schema.  With semicolons a comma may be the decimal point, and a column
    of MFU up to 1 is one of shares.  What no column says may stand beside the table, or in the name of the file."""
    text = read_text(path)
    if (run := log_row(text)) is not None:
        return [plain_row(run)]
    try:
        tables, separator = raw_tables(text)
    except (csv.Error, ValueError, RecursionError) as problem:
        raise FormatError(Fault("cannot read measured steps", value=str(problem)[:200]), subject=str(path)) from None
    lines = [line for rows, caption in tables for line in lines_of(rows, caption, path.stem)]
    if separator == ";":
        lines = [{name: re.sub(r"^(-?\d+),(\d+)$", r"\1.\2", cell) for name, cell in one.items()} for one in lines]
    return in_percent(lines)


def lines_of(rows: Sequence[Mapping[str, Any]], caption: str, file: str) -> list[dict[str, str]]:
    """The rows of one table by the columns of the schema, with what its caption or the name of its file says."""
    beside = (said_beside(caption) or said_beside(file)) | {"beside": f"{caption} {file}"}
    cells = [{name: cell for name, cell in plain_row(row).items() if cell} for row in repeated(rows)]
    named = {column_of(str(heading)) for row in rows[:1] for heading in row}
    if "precision" not in named and any(line.get("precision") == "fp8" for line in cells):
        beside["precision"] = "bf16"  # rows in words name what they differ in
    return [beside | line for line in cells if line]


def in_percent(lines: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows with MFU in percent: a column up to 1 is one of shares."""
    used = [number(line, "mfu_pct") for line in lines]
    if max((value for value in used if value is not None), default=math.inf) > 1.0:
        return lines
    return [line if value is None else line | {"mfu_pct": repr(100.0 * value)}
            for line, value in zip(lines, used, strict=True)]  # fmt: skip


def repeated(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with what a ditto mark stands for."""
    whole: list[dict[str, Any]] = []
    for row in rows:
        above = whole[-1] if whole else {}
        whole.append({key: above.get(key) if str(cell).strip().lower() in SAME else cell for key, cell in row.items()})
    return whole


def said_in_words(cells: Mapping[str, str]) -> dict[str, str]:
    """The precision and the sizes that a row names in words under other headings (`2D+compile+Float8`, `seq 4096`)."""
    text = " ".join(cell for name, cell in cells.items() if name not in ("note", "provenance", "beside"))
    kinds = {KINDS[word.lower()] for word in KIND.findall(text)}
    told = {"precision": kinds.pop()} if len(kinds) == 1 else {}
    for name, word in (("seq", r"seq(?:uence)?(?:[ _-]?len(?:gth)?)?"), ("vocab", r"vocab(?:ulary)?(?:[ _-]?size)?")):
        sizes = set(re.findall(rf"\b{word}[ =:]+(\d[\d,]*k?)\b", text, re.I))
        told |= {name: sizes.pop()} if len(sizes) == 1 else {}
    return {name: cell for name, cell in told.items() if not cells.get(name)}


def said_beside(text: str) -> dict[str, str]:
    """The accelerator that a caption names, and with it the precision, where it names one of each."""
    words = text.replace("_", " ")
    chips = {chip.name for part in re.split(r"[\n,;()]", words) if (chip := accelerator_in(part))}
    kinds = set(re.findall(r"bf16|fp16|fp8|nvfp4", words.lower()))
    if len(chips) != 1:
        return {}
    return {"accelerator": chips.pop()} | ({"precision": kinds.pop()} if len(kinds) == 1 else {})


def raw_tables(text: str) -> tuple[list[tuple[Sequence[Mapping[str, Any]], str]], str]:
    """The tables of a text, each with its rows under its own headings and the words beside it; and what parts cells."""
    if text.lstrip().startswith(("[", "{")):
        return [(json_objects(text), "")], "json"
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    if any(re.match(r"\s*\|.*\|\s*$", line) for line in lines):
        return markdown_tables(lines), "|"
    comments = [line for line in lines if line.lstrip().startswith("#") and not re.match(r"#[^,;\t]*[,;\t]", line)]
    lines = [line for line in lines if line not in comments]
    separator = max(",;\t", key=lines[0].count) if lines else ","
    return [(list(csv.DictReader(lines, delimiter=separator)), "".join(comments))], separator


def markdown_tables(lines: Sequence[str]) -> list[tuple[Sequence[Mapping[str, Any]], str]]:
    """The tables of Markdown; beside each are the lines before it and, after the last, those that follow."""
    tables: list[tuple[Sequence[Mapping[str, Any]], str]] = []
    groups = [(inside, list(part)) for inside, part in groupby(lines, lambda line: line.lstrip().startswith("|"))]
    for place, (inside, part) in enumerate(groups):
        if not inside:
            continue
        cells = [line.strip().strip("|") + "\n" for line in part if not re.fullmatch(r"[\s|:-]+", line)]
        beside = [text for other in groups[max(place - 1, 0) : place] for text in other[1]]
        beside += groups[-1][1] if place == len(groups) - 2 else []
        tables.append((list(csv.DictReader(cells, delimiter="|")), "".join(beside)))
    return tables


def json_objects(text: str) -> list[Mapping[str, Any]]:
    """The objects of a list, of an object, or of one line each; tables inside an object are part of it."""
    try:
        content = json.loads(text)
    except ValueError:
        content = [json.loads(line) for line in text.splitlines() if line.strip()]
    rows = rows_inside(content) if isinstance(content, Mapping) else content
    return [flat(row) for row in rows if isinstance(row, Mapping)]


def rows_inside(content: Mapping[str, Any]) -> Sequence[Any]:
    """The objects of an object of objects, of its first list of objects, or of its columns; else itself."""
    inside = list(content.values())
    lists = [value for value in inside if isinstance(value, list) and value]
    if inside and all(isinstance(value, Mapping) for value in inside):
        return inside
    if objects := [value for value in lists if isinstance(value[0], Mapping)]:
        shared = {key: value for key, value in content.items() if isinstance(value, (str, int, float))}
        return [{**shared, **row} for row in objects[0] if isinstance(row, Mapping)]
    if lists and len(lists) == len(inside):
        return [dict(zip(content, row, strict=False)) for row in zip(*lists, strict=False)]
    return [content]


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """An object with the members of the objects inside it; a name of its own wins."""
    members: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            inner = flat(value)
            members |= {key: inner.pop("name")} if "name" in inner else {}
            members |= {name: cell for name, cell in inner.items() if name not in row}
        else:
            members[key] = value
    return members


def column_of(heading: str) -> str:
    """The schema's name of a column: its heading's own, or the one that its words mean, in any order and spelling; the
    heading in plain letters where they mean none."""
    plain = re.sub(r"[^a-z0-9]+", "_", heading.lower()).strip("_")
    if plain in SCHEMA_NAMES:
        return plain
    if re.search(r"(?:step|iter|iteration|it)s?\s*(?:/|per|_per_)\s*s(?:ec(?:ond)?)?\b", heading.lower()):
        return "steps_per_s"
    written = [part for word in words_of(in_english(heading)) for part in SHORT.get(word, word).split()]
    words = frozenset(WORDS.get(word, word) for word in written)
    one = frozenset("accel" if word == "accels" else word for word in words)
    fewer = (left - FILLERS - other for left in (words, one) for other in LAST_FILLERS)
    return next((BY_WORDS[spelling] for spelling in (words, *fewer) if spelling in BY_WORDS), plain)


def _lacking(cells: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """What is found and does not stand in the cells."""
    return {name: text for name, text in found.items() if name and not cells.get(name)}


def plain_row(row: Mapping[str, Any]) -> dict[str, str]:
    """One row under the schema's headings, its cells without blanks around them; times in ms, rates of the whole job,
    nodes and batches in tokens become those of the schema."""
    cells: dict[str, str] = {}
    software = ""
    for key, value in row.items():
        found = schema_cells(str(key or ""), "" if value is None else str(value).strip(" \t\r\n*`"))
        if found.get("accelerator") and cells.get("accelerator") and accelerator_in(cells["accelerator"]) is None:
            software = cells.pop("accelerator")  # `system` may be the software, with the hardware in a later column
        if found.get("accels") and number(found, "accels") is None:
            found = {"accelerator": found["accels"]}
        cells |= _lacking(cells, found)
    if software and not cells.get("framework"):
        cells["framework"] = software
    cells |= said_in_words(cells)
    cells |= _lacking(cells, said_of_layout(cells))
    return cells | {name: repr(value) for name, value in derived(cells).items() if value and not cells.get(name)}


def schema_cells(heading: str, cell: str) -> dict[str, str]:
    """One cell by the columns of the schema that its heading means: several degrees in one (`TP/PP/DP: 8/4/2`), or a
    precision beside the column (`bf16_tflops_per_gpu`)."""
    several = [WORDS.get(word, word) for word in re.findall(r"[a-z]+", heading.lower())]
    if len(several) > 1 and set(several) <= set(DEGREES):
        return dict(zip(several, re.findall(r"\d+", cell), strict=False))
    kind = KIND.search(heading) if cell else None
    if kind is None:
        return {column_of(heading): cell}
    return {column_of(KIND.sub("", heading)): cell, "precision": KINDS[kind[0].lower()]}


def said_of_layout(cells: Mapping[str, str]) -> dict[str, str]:
    """Degrees and sharding from the words of a strategy, the batch in tokens, and the count beside an accelerator."""
    told: dict[str, str] = {}
    strategy = cells.get("parallelism", "").lower()
    for name, value in re.findall(r"(?<![a-z])(tp|pp|vp|cp|ep|dp|fsdp)\s*[-=:_]?\s*(\d+)", strategy):
        told.setdefault(name, value)
    sharding = next((stage for words, stage in SHARDS if re.search(words, strategy)), None)
    if sharding is not None and not (cells.get("fsdp") or told.get("fsdp")):
        told["zero"] = sharding
    if cells.get("global_batch_tokens"):
        told["global_batch_seqs"] = f"{cells['global_batch_tokens']} tokens"
    many = re.search(r"(?:^|\s)(\d+)\s*[x×*]\s*\D|[x×*]\s*(\d+)$", cells.get("accelerator", ""))
    if many:
        told["accels"] = many[1] or many[2]
    return told


def batch_tokens(cells: Mapping[str, str]) -> float | None:
    """The global batch in tokens, where it is written so."""
    return number(cells, "global_batch_seqs") if "tok" in cells.get("global_batch_seqs", "").lower() else None


def derived(cells: Mapping[str, str]) -> dict[str, float | None]:
    """What other columns make of those of the schema."""

    def cell(name: str) -> float:
        return number(cells, name) or 0.0

    accels = cell("accels") or cell("nodes") * cell("node_size")
    nodes = cell("nodes") or (accels / cell("node_size") if cell("node_size") else 0.0)
    rate = cell("tokens_per_s") or cell("samples_per_s") * cell("seq") or cell("tokens_per_s_per_node") * nodes
    rate = rate or cell("tokens_per_day") / 86400.0
    paid = cell("accel_hours") * 3600.0
    per_accel = (rate / accels if accels else 0.0) or cell("samples_per_s_per_accel") * cell("seq")
    steps = cell("steps_per_s")
    return {
        "accels": int(accels) or None,
        "step_s": cell("step_ms") / 1e3 or (1.0 / steps if steps else None),
        "tokens_per_s_per_accel": per_accel or (cell("tokens") / paid if paid else None),
        "micro_batch": cell("accel_batch") if cell("grad_accum") else None,
        "global_batch_seqs": None if cell("grad_accum") else cell("accel_batch") * accels,
    }


def number(row: Mapping[str, str], name: str) -> float | None:
    """The number a cell starts with, in the unit of its column; None where it is blank or a word."""
    pattern = r"[~≈<>=]*\s*(-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d*)(?:[.,]\d+)?(?:e[-+]?\d+)?)\s*([a-zµ]*)"
    match = re.match(pattern, (row.get(name) or "").lower())
    if match is None or not re.search(r"\d", match[1]):
        return None
    grouped = re.fullmatch(r"-?\d{1,3}(,\d{3})+(\..*)?", match[1])
    value = float(match[1].replace(",", "" if grouped else ".")) * UNITS.get(name, UNITS["other"]).get(match[2], 1.0)
    return value if abs(value) < LARGEST else None


def whole(row: Mapping[str, str], name: str, default: int | None = None) -> int | None:
    value = number(row, name)
    return default if value is None or value < 1 or value != int(value) else int(value)
