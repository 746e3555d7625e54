"""Every format a study can be given out in: data from `formats.writers`, text for people from here."""

from __future__ import annotations

from collections.abc import Callable

from scalecurve.errors import Fault, InputError
from scalecurve.study import Study


def _markdown(study: Study) -> str:
    from scalecurve.analysis import tabulate
    from scalecurve.render.markdown import to_markdown

    return to_markdown(tabulate(study).document())


def _latex(study: Study) -> str:
    from scalecurve.analysis import tabulate
    from scalecurve.render.latex import to_latex

    return to_latex(tabulate(study).document())


def _job_summary(study: Study) -> str:
    from scalecurve.render.job_summary import to_job_summary

    return to_job_summary(study)


_TEXTS: dict[str, tuple[Callable[[Study], str], str]] = {
    "markdown": (_markdown, "the speedup table for a README or an issue"),
    "latex": (_latex, "the speedup table for a paper (booktabs)"),
    "github-summary": (_job_summary, "verdict, table and findings for $GITHUB_STEP_SUMMARY"),
}


def purposes() -> dict[str, str]:
    """What each name means, for `export --help` and the documentation."""
    from scalecurve.formats.writers import WRITERS

    data = {name: writer.purpose for name, writer in WRITERS.items()}
    return data | {name: purpose for name, (_, purpose) in _TEXTS.items()}


def write_as(study: Study, name: str) -> bytes:
    from scalecurve.formats.writers import WRITERS

    if name in WRITERS:
        return WRITERS[name].write(study)
    if name not in _TEXTS:
        raise InputError(Fault("unknown format", where="--to", seen=name, remedy=f"one of {', '.join(purposes())}"))
    return _TEXTS[name][0](study).encode()
