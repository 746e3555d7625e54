"""Commands around the answers: report, explore, doctor."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

import scalecurve as sc
from scalecurve.cli.inputs import SECONDS, SHARE, studies_options
from scalecurve.cli.output import Output, emit, note, output_options

if TYPE_CHECKING:
    from scalecurve.study import Study


@click.command()
@studies_options("STUDY [STUDY ...]")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), default="report.html", show_default=True)
@click.option("--threshold", type=SHARE, default="0.7", show_default=True, help="Efficiency floor.")
@click.option("--price", type=float, help="Dollars per worker-hour: adds what results cost.")
@click.option("--proposal", type=click.Path(path_type=Path), help="A proposal file: adds its assessment.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
def report(
    studies: list[Study], file: Path, threshold: float, price: float | None, proposal: Path | None, quiet: bool
) -> None:
    """One page with the answer first and its evidence below; two studies stand side by side.

    The ending of the file says the format: .html, .md, .tex (with figures beside it), .pdf, .svg or .png.
    """
    written = sc.write_report(file, *studies, threshold=threshold, price=price, proposal=proposal)
    note(f"written: {', '.join(str(path) for path in written)}", Output(quiet=quiet))


@click.command()
@click.argument("study", required=False, type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others can reach 0.0.0.0.")
@click.option("--port", default=8777, show_default=True, help="0 for any free one.")
@click.option("--allow-host", multiple=True, help="A further host name to answer to.")
@click.option("--regime", help="strong or weak, where STUDY is a plain table.")
@click.option("--open/--no-open", "show", default=True, help="Open the browser.")
def explore(
    study: Path | None, host: str, port: int, allow_host: tuple[str, ...], regime: str | None, show: bool
) -> None:
    """Sliders that answer at once: training scale, laws, your own data, mechanisms.  Ctrl-C stops it.

    STUDY, if given, is opened in the page; a file can also be dropped on it.
    """
    from scalecurve.explorer.server import Address, opening, serve

    # On Linux without a display a launcher only complains about the browsers it cannot find.
    screen = sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))

    def ready(address: str) -> None:
        click.echo(f"scalecurve explore: {address}  (Ctrl-C stops it)")
        sys.stdout.flush()
        if show and screen:
            click.launch(address)

    serve(Address(host=host, port=port, names=allow_host), start=opening(study, regime), ready=ready)


@click.command()
@click.option("--noise-time", type=SECONDS, default="2s", show_default=True, help="Time to measure the noise floor.")
@output_options
def doctor(noise_time: float, output: Output) -> None:
    """What this machine can measure: usable launchers (with the missing piece named) and the noise floor."""

    emit(sc.measurement.doctor(seconds=noise_time), output)
