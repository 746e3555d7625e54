"""Commands around the answers: report, try, explore, doctor, shell completion."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

import scalecurve as sc
from scalecurve.cli.inputs import NUMBER, READING, SECONDS, SHARE, Chosen, option, studies_options
from scalecurve.cli.main import app, run
from scalecurve.cli.output import Output, SectionedCommand, emit, note, output_options, working

if TYPE_CHECKING:
    from scalecurve.study import Study, StudySet


@click.command(cls=SectionedCommand)
@studies_options("STUDY [STUDY ...]", sets=True)
@option("-o --output file", Path, "Write to FILE: .html, .md, .tex, .pdf, .svg or .png.", "report.html", metavar="FILE")
@option("--threshold", SHARE, "Efficiency at which the curve bends.", "0.7")
@option("--price", NUMBER, "Dollars per worker-hour: adds what results cost.")
@option("--proposal", Path, "A proposal file: adds its assessment.")
@option("--history", Path, "Checks of `check --history`: adds T and E over the commits.")
@option(
    "--for purpose",
    ["proposal", "paper", "buyer"],
    "The section of a proposal, the methods of a paper, or one printable page.",
)
@option("--runs", int, "With --for proposal: production runs, for the resources requested.")
@option("--paper", ["a4", "letter"], "Of the printed page and the PDF.", "a4")
@option("-q --quiet", bool, "Print nothing on success.")
def report(studies: list[Study | StudySet], file: Path, quiet: bool, **chosen: Chosen) -> None:
    """Write one page, the answer first and its evidence below; two studies stand side by side.

    The ending of the file says the format: .html, .md, .tex (with figures beside it), .pdf, .svg or .png.
    """
    output = Output(quiet=quiet)
    with working("writing the report", output):
        written = sc.write_report(studies, file, **chosen)
    note(f"written: {', '.join(str(path) for path in written)}", output)


TRY_JOB = ("-m", "scalecurve.measurement.workloads.service", "--workers", "{workers}")
TRY_SWEEP = ("--regime", "strong", "--workers", "1,2,4,8,16", "--repeats", "3", "--k-unit", "clients", "--fresh")
TRY_TIME = ("--name", "requests to a slow service", "--time-pattern", r"in ([0-9.]+) seconds")


@click.command("try", cls=SectionedCommand)
@click.argument("folder", type=click.Path(path_type=Path), default="scalecurve-try", metavar="[FOLDER]")
def try_command(folder: Path) -> int:
    """Measure a small job that bends on any machine, and write its report: half a minute, no files needed.

    Threads ask a slow service and write each reply into one log, one at a time.
    FOLDER gets study.json and report.html.
    """
    folder.mkdir(parents=True, exist_ok=True)
    study, page = folder / "study.json", folder / "report.html"
    code = run(["measure", *TRY_SWEEP, *TRY_TIME, "--quiet", "-o", str(study), "--", sys.executable, *TRY_JOB])
    if code not in (0, 1):  # 1: other programs disturbed some rows, which are marked
        return code
    code = run(["table", str(study)]) or run(["report", str(study), "--quiet", "-o", str(page)])
    note(f"\nwritten: {page}; open it in a browser. The same for your job:", Output())
    note("  scalecurve measure --regime strong --workers 1,2,4 -o mine.json -- ./solver --threads {workers}", Output())
    return code


@click.command(cls=SectionedCommand)
@click.argument("study", required=False, type=click.Path(path_type=Path))
@option("--host", str, "Address to listen on; 0.0.0.0: any host.", "127.0.0.1")
@option("--port", int, "Port; 0 takes a free one.", 8777)
@option("--allow-host", str, "A further host name to answer to.", multiple=True)
@option("--regime", str, READING["regime"])
@option("--open/--no-open show", bool, "Open the browser.", True)
@option("--export", Path, "Write a page without a server, one .html.")
@option("--lesson", bool, "With --export: the lesson alone, one .html below 150 kB.")
@option("--models", str, "Models of the exported page, as llama3-8b,llama3-70b.")
@option("--clusters", str, "Clusters of the exported page, as h100-ib400,a100-ib200.")
def explore(
    study: Path | None,
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    regime: str | None,
    show: bool,
    export: Path | None,
    lesson: bool,
    models: str | None,
    clusters: str | None,
) -> None:
    """Open a page with sliders: a lesson, training scale, laws, your own data, mechanisms.  Ctrl-C stops it.

    STUDY is opened in the page; a file can also be dropped on it.  With --export nothing is served: the page
    is written with laws and mechanisms live, training computed in advance, and STUDY with its analysis.
    """
    if export is not None:
        from scalecurve.explorer import export as pages

        def progress(done: int, count: int) -> None:
            if done % 100 == 0 or done == count:
                click.echo(f"answered {done} of {count}", err=True)

        if lesson:
            page = pages.lesson()
        else:
            page = pages.explore(
                study, regime=regime, models=models.split(",") if models else pages.MODELS,
                clusters=clusters.split(",") if clusters else pages.CLUSTERS, progress=progress,
            )  # fmt: skip
        page.save(export)
        click.echo(f"written: {export}")
        return
    from scalecurve.explorer.server import Address, opening, redirect, serve

    # On Linux without a display a launcher only complains about the browsers it cannot find.
    screen = sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))

    def ready(address: str) -> None:
        click.echo(f"scalecurve explore: {address}  (Ctrl-C stops it)")
        sys.stdout.flush()
        if show and screen:
            click.launch(str(redirect(address)))  # a file of this user: a process list shows no token

    serve(Address(host=host, port=port, names=allow_host), start=opening(study, regime), ready=ready)


@click.command(cls=SectionedCommand)
@option("--noise-time", SECONDS, "Time to measure the noise floor.", "2s")
@output_options
def doctor(noise_time: float, output: Output) -> None:
    """List what this machine can measure: usable launchers (with the missing piece named) and the noise floor."""

    with working("measuring the noise of this machine", output):
        result = sc.measurement.doctor(seconds=noise_time)
    emit(result, output)


@click.command(cls=SectionedCommand)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL.

    bash: eval "$(scalecurve completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish: scalecurve completion
    fish > ~/.config/fish/completions/scalecurve.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is not None:
        script = kind(app, {}, "scalecurve", "_SCALECURVE_COMPLETE").source()
        # click's script for fish cuts a description at its first comma
        click.echo(script.replace('string split ","', 'string split -m 1 ","'))
