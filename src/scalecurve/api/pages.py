"""Verbs of the report: everything that can be said of a study, on one page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.api.money import assess, cost
from scalecurve.api.studies import fit, forecast, tabulate
from scalecurve.api.trust import audit, compare, diagnose
from scalecurve.errors import InputError

if TYPE_CHECKING:
    from scalecurve.render.report import Material
    from scalecurve.study import Study


def gather(
    study: Study, *, threshold: float = 0.7, price: float | None = None, proposal: str | Path | None = None
) -> Material:
    """All that can be said about a study, for a report; what is refused stands there with its reason."""
    from scalecurve.render.report import Material

    priced = "" if price is None else f" --price {price:g}"
    priced += "" if proposal is None else " --proposal proposal.toml"
    return Material(
        study=study,
        table=tabulate(study, threshold=threshold),
        fits=_attempt(lambda: fit(study)),
        forecast=_attempt(lambda: forecast(study, at=_beyond(study))),
        diagnosis=_attempt(lambda: diagnose(study)),
        audit=_attempt(lambda: audit(study)),
        cost=None if price is None else _attempt(lambda: cost(study, price)),
        proposal=None if proposal is None else assess(proposal),
        command=f"scalecurve report study.json -o report.html --threshold {threshold:g}{priced}",
        made=f"scalecurve {_version()}",
    )


def _attempt(verb: Callable[[], Any]) -> Any:
    """The answer, or the reason why there is none."""
    from scalecurve.errors import ScalecurveError
    from scalecurve.render.report import Refusal

    try:
        return verb()
    except ScalecurveError as problem:
        return Refusal(str(problem))


def _beyond(study: Study) -> list[int]:
    """Twice to eight times the largest K measured: where people ask, and short of where answers are refused."""
    return [study.all_k[-1] * factor for factor in (2, 4, 8)]


def write_report(path: str | Path, *studies: Study, **settings: Any) -> list[Path]:
    """A page about one study, or several side by side; the ending says .html .md .tex .pdf .svg or .png."""
    from scalecurve.render.report import write

    if not studies:
        raise InputError("a report needs at least one study")
    compared = _attempt(lambda: compare(*studies)) if len(studies) == 2 else None
    return write(Path(path), [gather(study, **settings) for study in studies], compared)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("scalecurve")
    except PackageNotFoundError:  # run from a source tree
        return "from source"
