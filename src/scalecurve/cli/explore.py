"""`scalecurve explore`: the web page with sliders, for this machine only unless --host says otherwise."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click


@click.command()
@click.argument("study", required=False, type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others can reach 0.0.0.0.")
@click.option("--port", default=8777, show_default=True, help="0 for any free one.")
@click.option("--allow-host", multiple=True, help="A further host name to answer to.")
@click.option("--regime", help="strong or weak, where STUDY is a plain table.")
@click.option("--open/--no-open", "show", default=True, help="Open the browser.")
def command(
    study: Path | None, host: str, port: int, allow_host: tuple[str, ...], regime: str | None, show: bool
) -> None:
    """Sliders that answer at once: training scale, laws, your own data, mechanisms.  Ctrl-C stops it.

    STUDY is opened in the page; a file can also be dropped on it.
    """
    from scalecurve.explorer.server import Address, opening, serve

    def ready(address: str) -> None:
        click.echo(f"scalecurve explore: {address}  (Ctrl-C stops it)")
        sys.stdout.flush()
        # On Linux without a display a launcher only complains about the browsers it cannot find.
        if show and (sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            click.launch(address)

    serve(Address(host=host, port=port, names=allow_host), start=opening(study, regime), ready=ready)
