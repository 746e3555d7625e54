"""What a column's name says: a worker count, a time with its unit, a rate, or nothing certain."""

from __future__ import annotations

import re
from dataclasses import dataclass

from scalecurve.errors import Fault, InputError
from scalecurve.study import Quantity

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

# Names that count workers in load tests and in R's usl; they mean K only where no plainer name is there.
LOAD_NAMES = ("load", "concurrency", "clients", "users", "vus", "connections")

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
    return WORKER_NAMES.get(_plain(header))


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


def _plain(header: str) -> str:
    return re.sub(r"[\s-]+", "_", header.strip().strip("\"'#").strip().lower())


def choose_columns(
    headers: list[str], *, k_column: str | None, value_column: str | None, quantity: Quantity | None, subject: str
) -> Columns:
    """The two columns, named or recognised; all that is unclear is asked about at once."""
    faults: list[Fault] = []
    k = _choose_k(headers, k_column, faults)
    value = _choose_value(headers, value_column, quantity, k, faults)
    if faults or k is None or value is None:
        raise InputError(faults, subject=subject)
    meaning = _meaning(headers[value], quantity)
    return Columns(k, worker_unit(headers[k]) or "workers", value, meaning)


def _seen(headers: list[str]) -> str:
    return "columns seen: " + ", ".join(header.strip() or "(empty)" for header in headers[:40])


def _choose_k(headers: list[str], named: str | None, faults: list[Fault]) -> int | None:
    if named is not None:
        return _named(headers, named, "--k-column", faults)
    found = [i for i, header in enumerate(headers) if worker_unit(header)]
    found = found or [i for i, header in enumerate(headers) if _plain(header) in LOAD_NAMES]
    if len(found) == 1:
        return found[0]
    what = "no column of worker counts" if not found else "several columns could be the worker counts"
    which = _seen(headers) if not found else "they are " + ", ".join(headers[i].strip() for i in found)
    faults.append(Fault(what, remedy=f"{which}; name it with --k-column (K, workers, gpus, nodes, ranks, threads ...)"))
    return None


def _choose_value(
    headers: list[str], named: str | None, quantity: Quantity | None, k: int | None, faults: list[Fault]
) -> int | None:
    if named is not None:
        place = _named(headers, named, "--value-column", faults)
        if place is not None and quantity is None and value_meaning(headers[place]) is None:
            faults.append(_ask_quantity(headers[place]))
            return None
        return place
    others = [i for i, header in enumerate(headers) if i != k and not worker_unit(header)]
    found = [i for i in others if (meaning := value_meaning(headers[i])) and quantity in (None, meaning.quantity)]
    if len(found) == 1:
        return found[0]
    if not found and quantity is not None and len(others) == 1:
        return others[0]
    faults.append(_value_fault(headers, found, others))
    return None


def _value_fault(headers: list[str], found: list[int], others: list[int]) -> Fault:
    if found:
        which = ", ".join(headers[i].strip() for i in found)
        return Fault(
            "several columns could be the observations", remedy=f"they are {which}; choose with --value-column"
        )
    if len(others) == 1:
        return _ask_quantity(headers[others[0]])
    return Fault(
        "no column of times or rates",
        remedy=f"{_seen(headers)}; name it with --value-column and say --quantity seconds, throughput or "
        "throughput_per_worker",
    )


def _ask_quantity(header: str) -> Fault:
    return Fault(
        "the column's name does not say whether it holds times or rates",
        seen=header.strip(),
        remedy="say --quantity seconds, throughput (of all workers together) or throughput_per_worker",
    )


def _named(headers: list[str], name: str, option: str, faults: list[Fault]) -> int | None:
    matches = [i for i, header in enumerate(headers) if header.strip() == name.strip()]
    if len(matches) == 1:
        return matches[0]
    faults.append(Fault(f"{option} names no single column", seen=name, remedy=_seen(headers)))
    return None


def _meaning(header: str, quantity: Quantity | None) -> ValueColumn:
    known = value_meaning(header)
    if quantity is None or (known is not None and known.quantity is quantity):
        if known is None:
            raise InputError(_ask_quantity(header))
        return known
    unit = "s" if quantity is Quantity.SECONDS else header.strip()
    return ValueColumn(quantity, unit=unit)
