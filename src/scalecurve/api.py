"""The verbs, each a few lines: the joint between the edges (command line, page, notebooks) and the core."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.analysis import SpeedupTable
    from scalecurve.laws import Law
    from scalecurve.laws.tables import LawTable
    from scalecurve.render.report import Material
    from scalecurve.study import Study


def load(
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
    """A study from a study file or a plain table; a table needs its regime stated."""
    from scalecurve.formats import load_study

    return load_study(
        source,
        regime=regime,
        quantity=quantity,
        k_column=k_column,
        value_column=value_column,
        k_unit=k_unit,
        baseline_k=baseline_k,
        node_size=node_size,
    )


def save(study: Study, path: str | Path) -> None:
    """Write a study file, atomically."""
    from scalecurve.study.file import write_study

    write_study(study, Path(path))


def tabulate(study: Study, **settings: Any) -> SpeedupTable:
    """T, S and E with intervals, and the bend; settings as in `scalecurve.analysis.tabulate`."""
    from scalecurve.analysis import tabulate as verb

    return verb(study, **settings)


def law(name: str) -> Law:
    """A law in closed form: `law("amdahl").speedup(64, serial=0.05)`."""
    from scalecurve.laws import law as verb

    return verb(name)


def tabulate_law(name: str, workers: Sequence[int], **given: Any) -> LawTable:
    """A law's rows and answers: `tabulate_law("amdahl", [1, 2, 4], serial=[0.05], below=0.5)`."""
    from scalecurve.errors import Fault, InputError
    from scalecurve.laws.answers import TABULATE

    if name not in TABULATE:
        raise InputError(Fault("unknown law", seen=name, remedy=f"one of {', '.join(TABULATE)}"))
    table: LawTable = TABULATE[name](workers, **given)
    return table


def plot(result: Any, path: str | Path) -> None:
    """Draw a result; the ending of the path (.svg .png .pdf) says how."""
    from scalecurve.render.plots import draw

    draw(result, Path(path))


def gather(study: Study, *, threshold: float = 0.7) -> Material:
    """All that can be said about a study, for a report; what is refused stands there with its reason."""
    from scalecurve.render.report import Material

    return Material(
        study=study,
        table=tabulate(study, threshold=threshold),
        command=f"scalecurve report study.json -o report.html --threshold {threshold:g}",
        made=f"scalecurve {_version()}",
    )


def write_report(path: str | Path, *studies: Study, **settings: Any) -> list[Path]:
    """A page about one study, or several side by side; the ending says .html .md .tex .pdf .svg or .png."""
    from scalecurve.errors import InputError
    from scalecurve.render.report import write

    if not studies:
        raise InputError("a report needs at least one study")
    return write(Path(path), [gather(study, **settings) for study in studies])


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("scalecurve")
    except PackageNotFoundError:  # run from a source tree
        return "from source"
