"""The live display of a measurement: one moving line on a terminal, plain lines elsewhere; always standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scalecurve.units import format_seconds

if TYPE_CHECKING:
    from scalecurve.measurement.sweep import Progress


@contextmanager
def display(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """A listener that shows every launch, in the manner that suits where standard error goes."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _on_terminal() as listener:
            yield listener
    else:
        yield _plainly


def _plainly(progress: Progress) -> None:
    if progress.run is not None:
        print(line_of(progress), file=sys.stderr, flush=True)


@contextmanager
def _on_terminal() -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = (TextColumn("{task.completed:.0f}/{task.total:.0f}"), BarColumn(bar_width=24), TimeElapsedColumn())
    with Bars(*columns, TextColumn("{task.description}"), console=console, refresh_per_second=2) as bars:
        task = bars.add_task("starting", total=1)

        def show(progress: Progress) -> None:
            done = progress.number - (progress.run is None)
            bars.update(task, total=progress.total, completed=done, description=_now(progress))
            if progress.run is not None:
                console.print(line_of(progress), highlight=False, markup=False)

        yield show


def line_of(progress: Progress) -> str:
    """One finished launch: `[ 7/24] K = 4 repeat 2: T = 1.21 s  (load 0.8, about 12 s left)`."""
    width = len(str(progress.total))
    head = f"[{progress.number:>{width}}/{progress.total}] {_name(progress)}: {_outcome(progress)}"
    facts = [f"load {progress.load:.1f}"] if progress.load is not None else []
    facts += [f"elapsed {format_seconds(progress.elapsed)}"]
    facts += [f"about {format_seconds(progress.remaining)} left"] if progress.remaining else []
    return f"{head}  ({', '.join(facts)})"


def _now(progress: Progress) -> str:
    left = f", about {format_seconds(progress.remaining)} left" if progress.remaining else ""
    load = f", load {progress.load:.1f}" if progress.load is not None else ""
    return f"{_name(progress)}{left}{load}"


def _name(progress: Progress) -> str:
    planned = progress.planned
    what = f"K = {planned.point.k}" if planned.point.role == "scaling" else f"baseline {planned.point.role}"
    return f"{what} warm-up" if planned.is_warmup else f"{what} repeat {planned.repeat + 1}"


def _outcome(progress: Progress) -> str:
    run = progress.run
    if run is None:
        return "running"
    if run.value is not None:
        return f"T = {format_seconds(run.value)}"
    first = (run.error or "no time").strip().splitlines()[0]
    return f"{run.status}: {first[:120]}"
