"""Tables as people write them, each with its true values: python -m bench.table_corpus [--list] [--seed N]

Every case is a small file made from known times: header spellings x units x layouts x dialects x extra columns.  A case
is *read* when every value comes back within the printed precision and in the right unit and quantity, *refused* when
loading raises an InputError whose text names a column, a cell or the choice to make, and *wrong* otherwise.  The run
prints the three counts and every wrong case; it exits 1 when any case is wrong or fewer than 90 % are read.

A new dialect is one line in one of the tables below.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from bench.written_tables import ANEW, FRESH, LATER, PER_WORKER, WRITTEN

KS = (1, 2, 4, 8, 16)
REPEATS = 3

Curve = dict[int, list[float]]  # K -> seconds, or rates in their own unit


@dataclass(frozen=True)
class Case:
    """One file: its name and content, the curves it holds (by series; "" for one), and what may be refused.

    `must_mention` lists words of which a refusal has to name one; `only_refuse` marks files whose reading would be a
    guess; `rate` says that the values are rates.
    """

    name: str
    filename: str
    content: str
    curves: Mapping[str, Curve]
    rate: bool = False
    summary: bool = False
    encoding: str = "utf-8"
    must_mention: tuple[str, ...] = ()
    only_refuse: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Value:
    """A header of a value column: what a printed 1 means in SI, and how many decimals are printed."""

    header: str
    factor: float
    decimals: int = 6
    rate: bool = False


K_HEADERS = (
    "threads", "Threads", "nproc", "np", "cores", "ranks", "nodes", "GPUs", "n_workers", "K", "processes", "num_gpus",
    "MPI ranks", "#threads", "Number of nodes", "workers", "procs",
)  # fmt: skip
TIMES = (
    Value("time (s)", 1), Value("time_s", 1), Value("seconds", 1), Value("Wall Time", 1), Value("elapsed", 1),
    Value("runtime", 1), Value("real", 1), Value("wall_clock_s", 1), Value("time [s]", 1), Value("t_sec", 1),
    Value("time_ms", 1e-3, 3), Value("time (ms)", 1e-3, 3), Value("wall [ms]", 1e-3, 3), Value("latency_ms", 1e-3, 3),
    Value("step [ms]", 1e-3, 3), Value("time/iter (ms)", 1e-3, 3), Value("milliseconds", 1e-3, 3),
    Value("elapsed (us)", 1e-6, 1), Value("avg (us)", 1e-6, 1), Value("mean [µs]", 1e-6, 1), Value("time_us", 1e-6, 1),
    Value("duration_ns", 1e-9, 0), Value("time (ns)", 1e-9, 0), Value("time (min)", 60, 8), Value("minutes", 60, 8),
    Value("time [h]", 3600, 10), Value("hours", 3600, 10), Value("Runtime, s", 1), Value("time in ms", 1e-3, 3),
)  # fmt: skip
RATES = (
    Value("throughput (img/s)", 1, rate=True), Value("samples/s", 1, rate=True), Value("tokens_per_sec", 1, rate=True),
    Value("MB/s", 1, rate=True), Value("GFLOPS", 1, rate=True), Value("req/s", 1, rate=True),
    Value("tps", 1, rate=True),
    Value("images/sec", 1, rate=True), Value("ops/s", 1, rate=True), Value("throughput", 1, rate=True),
)  # fmt: skip
PLAIN_K, PLAIN_TIME = "threads", TIMES[0]


def curve(rng: np.random.Generator, value: Value, scale: float = 1.0) -> Curve:
    """Amdahl times (or rates) with 2 % noise, rounded to what the file prints so that the truth is exact."""
    serial = float(rng.uniform(0.02, 0.1))
    out: Curve = {}
    for k in KS:
        seconds = scale * 2.345 * (serial + (1 - serial) / k) * np.exp(rng.normal(0, 0.02, REPEATS))
        raw = 1000 / seconds if value.rate else seconds / value.factor
        out[k] = [round(float(x), value.decimals) * value.factor for x in raw]
    return out


def printed(x: float, value: Value) -> str:
    return f"{x / value.factor:.{value.decimals}f}"


# Dialects: how rows of cells become text. Each takes a header and rows of cells.
def _joined(separator: str) -> Callable[[list[str], list[list[str]]], str]:
    def write(header: list[str], rows: list[list[str]]) -> str:
        cells = [[f'"{c}"' if separator in c else c for c in row] for row in [header, *rows]]
        return "".join(separator.join(row) + "\n" for row in cells)

    return write


def _comma_decimals(header: list[str], rows: list[list[str]]) -> str:
    return "".join(";".join(row) + "\n" for row in [header, *([c.replace(".", ",") for c in row] for row in rows)])


def _thousands(header: list[str], rows: list[list[str]]) -> str:
    def group(cell: str) -> str:
        whole, dot, rest = cell.partition(".")
        return f"{int(whole):,}{dot}{rest}" if whole.isdigit() and len(whole) > 3 else cell

    return "".join(";".join(row) + "\n" for row in [header, *([group(c) for c in row] for row in rows)])


def _markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in [header, *rows]]
    return "\n".join([lines[0], "|" + "|".join(" ---: " for _ in header) + "|", *lines[1:]]) + "\n"


def _latex(header: list[str], rows: list[list[str]]) -> str:
    def escape(cell: str) -> str:
        return cell.replace("_", r"\_").replace("%", r"\%").replace("#", r"\#").replace("µ", r"$\mu$")

    body = [" & ".join(escape(c) for c in row) + r" \\" for row in [header, *rows]]
    start = [r"\begin{tabular}{" + "r" * len(header) + "}", r"\toprule", body[0], r"\midrule"]
    return "\n".join([*start, *body[1:], r"\bottomrule", r"\end{tabular}"]) + "\n"


def _pipes(header: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    return "".join("|".join(c.rjust(w) for c, w in zip(r, widths, strict=True)) + "\n" for r in [header, *rows])


def _hashed(header: list[str], rows: list[list[str]]) -> str:
    names = [c.replace(" ", "_") for c in header]
    return "# " + " ".join(names) + "\n" + "".join(" ".join(row) + "\n" for row in rows)


def _commented(header: list[str], rows: list[list[str]]) -> str:
    return "# measured on 2026-01-05\n# host: n042\n" + _joined(",")(header, rows)


def _crlf_bom(header: list[str], rows: list[list[str]]) -> str:
    return "\ufeff" + _joined(",")(header, rows).replace("\n", "\r\n")


def _padded(header: list[str], rows: list[list[str]]) -> str:
    return "".join(" , ".join(row) + " \n" for row in [header, *rows])


DIALECTS: dict[str, tuple[str, Callable[[list[str], list[list[str]]], str]]] = {
    "csv": ("csv", _joined(",")),
    "tsv": ("tsv", _joined("\t")),
    "semicolon": ("csv", _joined(";")),
    "decimal comma": ("csv", _comma_decimals),
    "thousands": ("csv", _thousands),
    "markdown": ("md", _markdown),
    "latex": ("tex", _latex),
    "pipes": ("txt", _pipes),
    "hash header": ("dat", _hashed),
    "comment lines": ("csv", _commented),
    "crlf and bom": ("csv", _crlf_bom),
    "padded": ("csv", _padded),
}


def _long(c: Curve, v: Value, k_header: str) -> tuple[list[str], list[list[str]]]:
    return [k_header, v.header], [[str(k), printed(x, v)] for k in c for x in c[k]]


def _swapped(c: Curve, v: Value, k_header: str) -> tuple[list[str], list[list[str]]]:
    return [v.header, k_header], [[printed(x, v), str(k)] for k in c for x in c[k]]


def _repeat_column(c: Curve, v: Value, k_header: str) -> tuple[list[str], list[list[str]]]:
    return [k_header, "repeat", v.header], [[str(k), str(i + 1), printed(x, v)] for k in c for i, x in enumerate(c[k])]


def _runs_wide(c: Curve, v: Value, k_header: str) -> tuple[list[str], list[list[str]]]:
    unit = v.header.partition(" ")[2] or v.header
    names = [f"run{i + 1} {unit}" for i in range(REPEATS)]
    return [k_header, *names], [[str(k), *(printed(x, v) for x in c[k])] for k in c]


LAYOUTS = {"long": _long, "swapped": _swapped, "repeat column": _repeat_column, "runs wide": _runs_wide}

# Columns that say nothing about K and do not vary with it: they must not disturb the reading.
HARMLESS = {
    "host": lambda k, i: "n042",
    "date": lambda k, i: "2026-01-05",
    "commit": lambda k, i: "4be1a7c",
    "notes": lambda k, i: "" if i else "first of the day",
    "seed": lambda k, i: str(100 + 7 * k + i),
}


def cases(seed: int = 11) -> Iterator[Case]:
    """Every case of the corpus, deterministic for a seed."""
    rng = np.random.default_rng(seed)

    def make(
        name: str, dialect: str, header: list[str], rows: list[list[str]], curves: Mapping[str, Curve], **more: object
    ) -> Case:
        ending, write = DIALECTS[dialect]
        return Case(name, f"runs.{ending}", write(header, rows), curves, **more)  # type: ignore[arg-type]

    for k_header in K_HEADERS:
        c = curve(rng, PLAIN_TIME)
        yield make(f"K header {k_header!r}", "csv", *_long(c, PLAIN_TIME, k_header), {"": c}, must_mention=(k_header,))
    for value in (*TIMES, *RATES):
        c = curve(rng, value)
        yield make(
            f"value header {value.header!r}",
            "csv",
            *_long(c, value, PLAIN_K),
            {"": c},
            rate=value.rate,
            must_mention=(value.header,),
        )
    for dialect, value in product(DIALECTS, (TIMES[0], TIMES[10], TIMES[18], RATES[1])):
        c = curve(rng, value)
        header, rows = _long(c, value, PLAIN_K)
        if dialect == "hash header":
            header = [header[0], value.header.replace(" ", "")]
        yield make(
            f"{dialect}, {value.header}", dialect, header, rows, {"": c}, rate=value.rate, must_mention=(value.header,)
        )
    for (layout, write), dialect, value in product(
        LAYOUTS.items(), ("csv", "tsv", "semicolon", "markdown"), (TIMES[0], TIMES[11], TIMES[19])
    ):
        c = curve(rng, value)
        yield make(
            f"{layout}, {dialect}, {value.header}",
            dialect,
            *write(c, value, PLAIN_K),
            {"": c},
            must_mention=(value.header, "run1"),
        )
    for (extra, cell), dialect, value in product(
        HARMLESS.items(), ("csv", "tsv", "decimal comma"), (TIMES[0], TIMES[11])
    ):
        c = curve(rng, value)
        header, rows = _long(c, value, PLAIN_K)
        wide = [[*row, cell(int(row[0]), i % REPEATS)] for i, row in enumerate(rows)]
        yield make(
            f"harmless column {extra}, {dialect}, {value.header}",
            dialect,
            [*header, extra],
            wide,
            {"": c},
            must_mention=(extra,),
        )
    yield from _unit_cells(rng, make)
    yield from _wide_by_k(rng, make)
    yield from _summaries(rng, make)
    yield from _several_curves(rng, make)
    yield from _filters(rng, make)
    yield from _traps(rng, make)
    for written in (*WRITTEN, *PER_WORKER, *ANEW, *FRESH, *LATER):
        curves = {
            name: {k: v if isinstance(v, list) else [v] for k, v in truth.items()}
            for name, truth in (written.curves or {}).items()
        }
        yield Case(
            f"written: {written.name}",
            f"runs.{written.ending}",
            written.text,
            curves,
            rate=written.rate,
            encoding=written.encoding,
            must_mention=written.mention,
            only_refuse=written.curves is None,
        )


Make = Callable[..., Case]


def _unit_cells(rng: np.random.Generator, make: Make) -> Iterator[Case]:
    """Units in cells, in a column of units, and clock times."""
    styles: dict[str, Callable[[float], tuple[str, float]]] = {
        "1.3 ms": lambda s: (f"{1e3 * s:.3f} ms", round(1e3 * s, 3) / 1e3),
        "1.3ms": lambda s: (f"{1e3 * s:.3f}ms", round(1e3 * s, 3) / 1e3),
        "1300 us": lambda s: (f"{1e6 * s:.1f} us", round(1e6 * s, 1) / 1e6),
        "1.3 s": lambda s: (f"{s:.6f} s", round(s, 6)),
        "1.3 sec": lambda s: (f"{s:.6f} sec", round(s, 6)),
        "2m10s": lambda s: (f"{int(s * 100) // 60}m{int(s * 100) % 60}s", float(int(s * 100))),
        "2m10.5s": lambda s: (
            f"{int(s * 100) // 60}m{(s * 100) % 60:.3f}s",
            int(s * 100) // 60 * 60 + round((s * 100) % 60, 3),
        ),
        "00:02:10": lambda s: (
            f"{int(s * 1000) // 3600:02d}:{int(s * 1000) // 60 % 60:02d}:{int(s * 1000) % 60:02d}",
            float(int(s * 1000)),
        ),
        "0:12.34": lambda s: (
            f"{int(s * 100) // 60}:{(s * 100) % 60:05.2f}",
            int(s * 100) // 60 * 60 + round((s * 100) % 60, 2),
        ),
    }
    for (style, write), header, dialect in product(
        styles.items(), ("time", "elapsed", "Wall Time"), ("csv", "markdown")
    ):
        c = curve(rng, PLAIN_TIME)
        cells = {k: [write(x) for x in c[k]] for k in c}
        rows = [[str(k), text] for k in c for text, _ in cells[k]]
        truth = {k: [seconds for _, seconds in cells[k]] for k in c}
        yield make(
            f"cells as {style}, {header}, {dialect}",
            dialect,
            [PLAIN_K, header],
            rows,
            {"": truth},
            must_mention=(header,),
        )
    for unit, factor, decimals in (("ms", 1e-3, 3), ("s", 1, 6), ("us", 1e-6, 1), ("min", 60, 8), ("ns", 1e-9, 0)):
        value = Value("time", factor, decimals)
        c = curve(rng, value)
        header, rows = _long(c, value, PLAIN_K)
        yield make(
            f"unit column {unit}",
            "csv",
            [*header, "unit"],
            [[*row, unit] for row in rows],
            {"": c},
            must_mention=("unit",),
        )


def _wide_by_k(rng: np.random.Generator, make: Make) -> Iterator[Case]:
    """A column for each K, a row for each repeat."""
    for spelling, value, dialect in product(
        ("{k}", "p={k}", "{k} threads", "np{k}", "K={k}"), (TIMES[0], TIMES[10]), ("csv", "tsv", "markdown")
    ):
        c = curve(rng, value)
        header = ["time_ms" if value.factor != 1 else "time_s", *(spelling.format(k=k) for k in c)]
        rows = [[f"run {i + 1}", *(printed(c[k][i], value) for k in c)] for i in range(REPEATS)]
        yield make(
            f"column per K {spelling}, {value.header}, {dialect}",
            dialect,
            header,
            rows,
            {"": c},
            must_mention=(header[0], header[1]),
        )


def _summaries(rng: np.random.Generator, make: Make) -> Iterator[Case]:
    """Means with a spread and a count: the mean must come back, marked as a summary."""
    for value, dialect, style in product(
        (TIMES[0], TIMES[11], TIMES[19]), ("csv", "markdown", "tsv"), ("±", "+/-", "columns", "unit-less columns")
    ):
        c = curve(rng, value)
        mean = {k: round(float(np.mean(c[k])) / value.factor, value.decimals) for k in c}
        std = {k: round(float(np.std(c[k], ddof=1)) / value.factor, value.decimals) for k in c}
        truth = {k: [mean[k] * value.factor] for k in c}
        unit = value.header.partition(" ")[2]
        if style in ("±", "+/-"):
            header, rows = [PLAIN_K, value.header], [[str(k), f"{mean[k]} {style} {std[k]}"] for k in c]
        elif style == "columns":
            header = [PLAIN_K, f"mean {unit}", f"std {unit}", "n"]
            rows = [[str(k), str(mean[k]), str(std[k]), str(REPEATS)] for k in c]
        else:
            header = [PLAIN_K, value.header, "stddev", "runs"]
            rows = [[str(k), str(mean[k]), str(std[k]), str(REPEATS)] for k in c]
        yield make(
            f"summary {style}, {value.header}, {dialect}",
            dialect,
            header,
            rows,
            {"": truth},
            summary=True,
            must_mention=("mean", value.header, "std"),
        )


def _several_curves(rng: np.random.Generator, make: Make) -> Iterator[Case]:
    """A column that tells curves apart: a set of curves, or a refusal that names the column; never a mean of both."""
    for column, names in {
        "benchmark": ("sort", "scan"), "version": ("1.0", "1.1"), "size": ("1000", "4000"),
        "machine": ("epyc", "grace"),
        "compiler": ("gcc", "clang"), "problem_size": ("256", "512"), "implementation": ("omp", "tbb"),
        "config": ("a", "b"),
    }.items():  # fmt: skip
        for value, dialect in product((TIMES[0], TIMES[11]), ("csv", "markdown")):
            curves = {name: curve(rng, value, scale=3.0 if i else 1.0) for i, name in enumerate(names)}
            rows = [[name, str(k), printed(x, value)] for name, c in curves.items() for k in c for x in c[k]]
            yield make(
                f"curves by {column}, {value.header}, {dialect}",
                dialect,
                [column, PLAIN_K, value.header],
                rows,
                curves,
                must_mention=(column,),
            )


def _filters(rng: np.random.Generator, make: Make) -> Iterator[Case]:
    """Rows that are no measurements: failed runs, warm-ups."""
    for column, good, bad in (
        ("status", "ok", "failed"), ("status", "COMPLETED", "FAILED"), ("warmup", "0", "1"),
        ("warmup", "false", "true"),
        ("exit_code", "0", "1"), ("success", "True", "False"), ("state", "done", "timeout"), ("valid", "yes", "no"),
    ):  # fmt: skip
        for value in (TIMES[0], TIMES[11]):
            c = curve(rng, value)
            header, rows = _long(c, value, PLAIN_K)
            marked = [[*row, good] for row in rows] + [[str(k), printed(5 * c[k][0], value), bad] for k in (2, 8)]
            yield make(
                f"filter {column}={bad}, {value.header}",
                "csv",
                [*header, column],
                marked,
                {"": c},
                must_mention=(column,),
            )


def _traps(rng: np.random.Generator, make: Make) -> Iterator[Case]:
    """Columns whose names mislead: min is a minimum beside a median, not minutes; K beside another count."""
    for value in (TIMES[0], TIMES[3], TIMES[11]):
        c = curve(rng, value)
        median = {k: round(float(np.median(c[k])) / value.factor, value.decimals) for k in c}
        low = {k: round(min(c[k]) / value.factor, value.decimals) for k in c}
        truth = {k: [median[k] * value.factor] for k in c}
        unit = value.header.partition(" ")[2] if "(" in value.header else ""
        header = [PLAIN_K, f"median {unit}".strip(), f"min {unit}".strip()]
        rows = [[str(k), str(median[k]), str(low[k])] for k in c]
        yield make(f"median and min, {value.header}", "csv", header, rows, {"": truth}, must_mention=("median", "min"))
    c = curve(rng, PLAIN_TIME)
    rows = [[str(k), str(4 * k), printed(x, PLAIN_TIME)] for k in c for x in c[k]]
    yield make(
        "nodes and gpus",
        "csv",
        ["nodes", "gpus", "time (s)"],
        rows,
        {"": {4 * k: values for k, values in c.items()}},
        must_mention=("nodes", "gpus"),
    )
    rows = [[str(k), printed(x, PLAIN_TIME), printed(x / 2, PLAIN_TIME)] for k in c for x in c[k]]
    yield make(
        "two times",
        "csv",
        [PLAIN_K, "solve (s)", "setup (s)"],
        rows,
        {"": c},
        must_mention=("solve", "setup"),
        only_refuse=True,
    )


def check(case: Case, folder: Path) -> tuple[str, str]:
    """("read" | "refused" | "wrong", what happened)."""
    import scalecurve as sc
    from scalecurve.formats.loading import load_any

    path = folder / case.filename
    path.write_text(case.content, encoding=case.encoding, newline="")
    try:
        loaded = load_any(path, regime="strong", **case.options)
    except sc.InputError as problem:
        text = str(problem).lower()
        named = not case.must_mention or any(word.lower() in text for word in case.must_mention)
        return ("refused", str(problem)) if named else ("wrong", f"refused without naming the column: {problem}")
    except Exception as problem:  # an internal error is a wrong answer
        return "wrong", f"{type(problem).__name__}: {problem}"
    if case.only_refuse:
        return "wrong", "read, but two readings are possible"
    curves = dict(loaded.items()) if hasattr(loaded, "items") else {"": loaded}
    if set(curves) != set(case.curves):
        return "wrong", f"curves {sorted(curves)} instead of {sorted(case.curves)}"
    for name, truth in case.curves.items():
        study = curves[name]
        if (str(study.quantity) != "seconds") is not case.rate:
            return "wrong", f"quantity {study.quantity}"
        values = {k: sorted(v.tolist()) for k, v in study.samples.by_k().items()}
        if set(values) != set(truth):
            return "wrong", f"K {sorted(values)}"
        for k, expected in truth.items():
            if len(values[k]) != len(expected) or not np.allclose(values[k], sorted(expected), rtol=1e-9, atol=0):
                return "wrong", f"K = {k}: {values[k]} instead of {sorted(expected)}"
    return "read", ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print every case and its outcome")
    parser.add_argument("--why", action="store_true", help="print why tables were refused")
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    readable = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(options.seed):
            outcome, why = check(case, Path(folder))
            counts[outcome] += 1
            readable += not case.only_refuse
            if options.list or outcome == "wrong" or (options.why and outcome == "refused"):
                print(f"{outcome:8} {case.name}: {why}" if why else f"{outcome:8} {case.name}")
    total, share = sum(counts.values()), counts["read"] / sum(counts.values())
    print(f"{total} tables: {counts['read']} read ({share:.1%}), {counts['refused']} refused, {counts['wrong']} wrong")
    print(f"{readable} of them can be read by their text alone: {counts['read'] / readable:.1%} of these are read")
    return 1 if counts["wrong"] or share < 0.9 else 0


if __name__ == "__main__":
    raise SystemExit(main())
