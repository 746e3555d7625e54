"""`scalecurve report`: a study as one HTML page, or as Markdown, LaTeX, PDF, SVG or PNG by the file's name."""

from __future__ import annotations

from pathlib import Path

import click

import scalecurve as sc
from scalecurve.cli.inputs import Parsed
from scalecurve.cli.output import Output, note
from scalecurve.units import parse_share


@click.command()
@click.argument("studies", metavar="STUDY [STUDY ...]", nargs=-1, required=True)
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), default="report.html", show_default=True)
@click.option("--regime", help="strong or weak, where a plain table does not say.")
@click.option(
    "--threshold", type=Parsed("share", parse_share), default="0.7", show_default=True, help="Efficiency floor."
)
@click.option("--price", type=float, help="Dollars per worker-hour: adds what results cost.")
@click.option("--proposal", type=click.Path(path_type=Path), help="A proposal file: adds its assessment.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
def command(
    studies: tuple[str, ...],
    file: Path,
    regime: str | None,
    threshold: float,
    price: float | None,
    proposal: Path | None,
    quiet: bool,
) -> None:
    """One page that answers first and shows what the answer rests on; two studies stand side by side.

    The ending of the file is the format: .html, .md, .tex (with figures beside it), .pdf, .svg or .png.
    """
    from scalecurve.render.report.writing import write_report

    loaded = [sc.load(name, regime=regime) for name in studies]
    files = write_report(file, *loaded, threshold=threshold, price=price, proposal=proposal)
    note(f"written: {', '.join(str(name) for name in files)}", Output(quiet=quiet))
