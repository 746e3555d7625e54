"""Names and values of foreign files: which column is a worker count, a time or a rate, and numbers made safe."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.formats.reading import Point, ReadOptions
from scalecurve.study import Quantity
from scalecurve.study.samples import MAX_K

WORKER_NAMES = {
    "k": "workers", "workers": "workers", "worker": "workers", "gpus": "gpus", "gpu": "gpus", "num_gpus": "gpus",
    "n_gpus": "gpus", "ngpus": "gpus", "nodes": "nodes", "n_nodes": "nodes", "num_nodes": "nodes", "nnodes": "nodes",
    "ranks": "ranks", "n_ranks": "ranks", "nranks": "ranks", "mpi_ranks": "ranks", "procs": "processes",
    "nprocs": "processes", "n_procs": "processes", "num_procs": "processes", "np": "processes",
    "processes": "processes", "n_processes": "processes", "num_processes": "processes", "threads": "threads",
    "n_threads": "threads", "nthreads": "threads", "num_threads": "threads", "cores": "cores", "n_cores": "cores",
    "ncores": "cores", "num_cores": "cores", "num_workers": "workers", "n_workers": "workers", "cpus": "cores",
    "world_size": "ranks", "num_tasks": "ranks", "ntasks": "ranks", "n_tasks": "ranks", "tasks": "ranks",
    "nummpiranks": "ranks", "mpi.world.size": "ranks", "mpi_world_size": "ranks", "jobsize": "ranks",
    "alloccpus": "cores", "ncpus": "cores", "numcpus": "cores", "allocnodes": "nodes", "numnodes": "nodes",
    "numhosts": "nodes", "numgpus": "gpus", "gres/gpu": "gpus", "omp_num_threads": "threads",
    "omp.num.threads": "threads", "n_threads_per_proc": "threads", "jobs": "workers", "p": "processes",
}  # fmt: skip

# Names that count workers in load tests and in R's usl; they are K only where no plainer name is there.
LOAD_NAMES = {
    "load": "workers", "concurrency": "clients", "clients": "clients", "num_clients": "clients", "n_clients": "clients",
    "nclients": "clients", "users": "users", "vus": "users", "connections": "connections", "conns": "connections",
    "num_connections": "connections", "sessions": "sessions", "terminals": "terminals",
}  # fmt: skip

TIME_UNITS = {
    "ns": 1e-9, "nanoseconds": 1e-9, "us": 1e-6, "µs": 1e-6, "microseconds": 1e-6, "ms": 1e-3, "msec": 1e-3,
    "milliseconds": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "min": 60.0,
    "minutes": 60.0, "h": 3600.0, "hours": 3600.0,
}  # fmt: skip

_TIME_WORDS = (
    r"(?:mean_|avg_|average_|median_|min_|total_|step_|wall_?|wall_?clock_?|elapsed_?|run_?|exec_|execution_|real_|iter_"
    r"|iteration_|epoch_|solve_|solver_)?(?:time|clock)|t|wall|elapsed|runtime|duration|real|makespan"
)
_TIME = re.compile(rf"(?:{_TIME_WORDS})(?:[_ ]?(?:in_)?[\[(]?(?P<unit>{'|'.join(TIME_UNITS)})[\])]?)?$")
_BARE_UNIT = re.compile(rf"(?P<unit>{'|'.join(unit for unit in TIME_UNITS if len(unit) > 1)}|s)$")
_RATE_WORDS = r"throughput|rate|bandwidth|busbw|algbw|qps|tps|rps|fps|iops|[kmgtp]?flops"
_PER_SECOND = r".+?(?:/s|/sec|/second|_per_s|_per_sec|_per_second|_s-1|ps)"
_WORKER = r"(?:/|_per_|_)(?:gpu|worker|node|rank|core|thread|process|proc|device|chip|tpu|cpu)s?"
_RATE_PER_WORKER = re.compile(rf"(?:{_RATE_WORDS}|{_PER_SECOND}){_WORKER}$|.+{_WORKER}(?:/s|_per_s|_per_second|/sec)$")
_RATE = re.compile(rf"(?:\w+_)?(?:{_RATE_WORDS})(?:[_ ]?[\[(].+[\])])?$|{_PER_SECOND}$")
_RATE_UNIT = re.compile(r".{1,60}?(?:/s|/sec|/second|ps|\s?s\^?-1|Hz)$", re.IGNORECASE)
_PARAMETER = re.compile(r"[\s,/_-]?\b([A-Za-z][A-Za-z_]{0,30})[=:](\d{1,12})\b")
MOST_NAME = 500
MOST_DIGITS = 40


@dataclass(frozen=True)
class ValueColumn:
    """What a column of observations holds; times are multiplied by `factor` to give seconds."""

    quantity: Quantity
    factor: float = 1.0
    unit: str | None = None


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are the worker counts and the observations."""

    k: int
    k_unit: str
    value: int
    meaning: ValueColumn


def worker_unit(header: str) -> str | None:
    """What a column of that name counts (gpus, ranks ...); None where it is not a worker count."""
    return WORKER_NAMES.get(_plain(header))


def k_unit_of(header: str) -> str | None:
    """What a column of that name counts where it is K: workers, or the load on a server (clients, connections ...)."""
    return worker_unit(header) or LOAD_NAMES.get(_plain(header))


def value_meaning(header: str) -> ValueColumn | None:
    """Time, rate or rate per worker; None where the name does not say."""
    name = _plain(header)
    if match := _TIME.match(name) or _BARE_UNIT.match(name):
        return ValueColumn(Quantity.SECONDS, TIME_UNITS[match["unit"] or "s"], "s")
    if _RATE_PER_WORKER.match(name):
        return ValueColumn(Quantity.THROUGHPUT_PER_WORKER, unit=header.strip())
    if _RATE.match(name):
        return ValueColumn(Quantity.THROUGHPUT, unit=header.strip())
    return None


def metric_meaning(metric: str, unit: str | None = None) -> ValueColumn | None:
    """Time or rate by the unit where one is stated, else by the metric's name; None where neither says."""
    plain = (unit or "").strip().strip("()[]").lower()
    if plain in TIME_UNITS:
        return ValueColumn(Quantity.SECONDS, TIME_UNITS[plain], "s")
    if plain and _RATE_UNIT.fullmatch(plain):
        return ValueColumn(Quantity.THROUGHPUT, unit=unit)
    return value_meaning(metric) if not plain else None


def metric_point(
    values: Iterable[float], metric: str, unit: str | None = None, *, series: str, name: str, fields: Mapping[str, Any]
) -> Point:
    """A point of a metric whose name or unit says what it is; times are converted to seconds."""
    meaning = metric_meaning(metric, unit)
    factor = meaning.factor if meaning else 1.0
    return Point(
        values=tuple(values) if factor == 1 else tuple(value * factor for value in values),
        metric=metric,
        quantity=meaning.quantity if meaning else None,
        unit=(meaning.unit if meaning else None) or unit,
        series=series,
        name=name,
        fields=fields,
    )


def split_name(name: str) -> tuple[str, dict[str, str]]:
    """A benchmark's name without the parameters written into it (`threads=2`, `/threads:2`), and the parameters."""
    name = name[:MOST_NAME]
    fields = {match[1]: match[2] for match in _PARAMETER.finditer(name)}
    return _PARAMETER.sub("", name).strip(" ,[]") or name, fields


def _plain(header: str) -> str:
    return re.sub(r"[\s-]+", "_", header.strip().strip("\"'#").strip().lower())


def choose_columns(headers: list[str], options: ReadOptions) -> Columns:
    """The two columns, named or recognised; everything that is unclear is asked about at once."""
    faults: list[Fault] = []
    k = _choose_k(headers, options.k_column, faults)
    value = _choose_value(headers, options, k, faults)
    if faults or k is None or value is None:
        raise InputError(faults)
    meaning, quantity = value_meaning(headers[value]), options.quantity
    if meaning is None or quantity not in (None, meaning.quantity):
        unit = "s" if quantity is Quantity.SECONDS else headers[value].strip()
        meaning = ValueColumn(quantity or Quantity.SECONDS, unit=unit)
    return Columns(k, k_unit_of(headers[k]) or "workers", value, meaning)


def _choose_k(headers: list[str], name: str | None, faults: list[Fault]) -> int | None:
    if name is not None:
        return _named(headers, name, "--k-column", faults)
    places = [i for i, header in enumerate(headers) if worker_unit(header)]
    places = places or [i for i, header in enumerate(headers) if _plain(header) in LOAD_NAMES]
    if len(places) == 1:
        return places[0]
    what = "no column of worker counts" if not places else "several columns could be the worker counts"
    which = _listed(headers) if not places else "they are " + ", ".join(headers[i].strip() for i in places)
    faults.append(Fault(what, remedy=f"{which}; name it with --k-column (K, workers, gpus, nodes, ranks, threads ...)"))
    return None


def _choose_value(headers: list[str], options: ReadOptions, k: int | None, faults: list[Fault]) -> int | None:
    quantity = options.quantity
    if options.value_column is not None:
        place = _named(headers, options.value_column, "--value-column", faults)
        if place is not None and quantity is None and value_meaning(headers[place]) is None:
            faults.append(_unclear_quantity(headers[place]))
            return None
        return place
    others = [i for i, header in enumerate(headers) if i != k and not worker_unit(header)]
    places = [i for i in others if (meaning := value_meaning(headers[i])) and quantity in (None, meaning.quantity)]
    if not places and quantity is not None and len(others) == 1:
        places = others
    if len(places) == 1:
        return places[0]
    if places:
        remedy = f"they are {', '.join(headers[i].strip() for i in places)}; choose with --value-column"
        faults.append(Fault("several columns could be the observations", remedy=remedy))
    elif len(others) == 1:
        faults.append(_unclear_quantity(headers[others[0]]))
    else:
        options_text = "name it with --value-column and say --quantity seconds, throughput or throughput_per_worker"
        faults.append(Fault("no column of times or rates", remedy=f"{_listed(headers)}; {options_text}"))
    return None


def _named(headers: list[str], name: str, option: str, faults: list[Fault]) -> int | None:
    places = [i for i, header in enumerate(headers) if header.strip() == name.strip()]
    if len(places) == 1:
        return places[0]
    faults.append(Fault(f"{option} names no single column", value=name, remedy=_listed(headers)))
    return None


def _listed(headers: list[str]) -> str:
    return "the columns are: " + ", ".join(header.strip() or "(empty)" for header in headers[:40])


def _unclear_quantity(header: str) -> Fault:
    remedy = "say --quantity seconds, throughput (of all workers together) or throughput_per_worker"
    return Fault("the column's name does not say whether it holds times or rates", value=header.strip(), remedy=remedy)


def csv_rows(lines: Iterable[str], *, delimiter: str = ",") -> Iterator[list[str]]:
    """The fields of every record; what Python's csv cannot split is a FormatError."""
    try:
        yield from csv.reader(lines, delimiter=delimiter)
    except csv.Error as problem:
        raise FormatError(f"not delimited text: {problem}") from None


def as_float(value: Any) -> float | None:
    """A finite number from a number or a numeral; None for everything else, booleans included."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and (len(value) > MOST_DIGITS or "_" in value):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_count(value: Any) -> int | None:
    """A worker count: a whole number from 1 that a Study accepts."""
    number = as_float(value)
    if number is None or number != int(number) or not 1 <= number <= MAX_K:
        return None
    return int(number)


def as_list(value: Any) -> list[Any]:
    """The list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    """The mapping, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_dicts(values: Any) -> list[dict[str, Any]]:
    """The items of a list as mappings, each empty where it is not one."""
    return [as_dict(value) for value in as_list(values)]


def as_text(value: Any, most: int = 200) -> str | None:
    """The text, cut at `most` characters; None for anything else and for empty text."""
    return value[:most] if isinstance(value, str) and value else None


def as_floats(values: Any) -> tuple[float, ...]:
    """Every finite number of a list; the rest is left out."""
    items = as_list(values)
    if all(type(item) is float for item in items):  # the usual case, and much faster to ask once
        return tuple(item for item in items if math.isfinite(item))
    return tuple(number for value in items if (number := as_float(value)) is not None)


def counts_in(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The named fields that hold a worker count."""
    return {name: count for name in names if (count := as_count(values.get(name)))}


def facts(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The named scalar facts: an allow-list, so that nothing else of a foreign file is copied."""
    kept = {name: values.get(name) for name in names}
    return {
        name: value[:300] if isinstance(value, str) else value
        for name, value in kept.items()
        if isinstance(value, str | bool) or as_float(value) is not None
    }
