"""Commands that read studies and answer: table, fit, forecast, regime, diagnose, compare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

import scalecurve as sc
from scalecurve.analysis.side_by_side import for_each_curve, side_by_side
from scalecurve.cli.inputs import COUNTS, SHARE, WORKERS, Chosen, curves_options, level_option, option, studies_options
from scalecurve.cli.output import (
    Output,
    Plot,
    SectionedCommand,
    emit,
    emit_drawn,
    output_options,
    plot_option,
    working,
)
from scalecurve.document import Result
from scalecurve.errors import Fault, InputError
from scalecurve.study import Study, StudySet

if TYPE_CHECKING:
    from scalecurve.analysis.table import SpeedupTable
    from scalecurve.formats.imported import Imported


@click.command(cls=SectionedCommand)
@curves_options
@option("--threshold", SHARE, "Efficiency at which a curve bends.", "0.7")
@level_option("0.95")
@option("--bend", str, "Rule of the bend: efficiency, marginal or knee.", "efficiency")
@option("--karp-flatt", bool, "Add the serial share that each row implies.")
@option(
    "--statistic",
    ["mean", "median"],
    "T, S and E from means, or from medians: rare slow runs do not move them.",
    "mean",
)
@option("--simultaneous", bool, "Intervals that hold for all K together.")
@option("--interval", ["student", "normal"], "Student's, or mean +- z std/sqrt(n): too narrow for few runs.", "student")
@option("--energy", bool, "Joules to solution, where counted; also --quantity joules.")
@option("--explain explain_columns", bool, "Only show how each column was read.")
@plot_option
@output_options
def table(
    study: Study | StudySet | Imported, level: float, energy: bool, plot: Plot | None, output: Output, **chosen: Chosen
) -> None:
    """Show T, S and E with intervals for every K, and where the curve bends.

    STUDY is a study file, a plain table (CSV, Markdown, LaTeX ...) with worker counts and times or rates, or - for
    standard input.  A table with several curves is answered curve by curve.
    """
    if not isinstance(study, Study | StudySet):  # --explain
        emit(study, output)
        return
    if energy:
        from scalecurve.analysis.energy import tabulate_energy

        emit(for_each_curve(study, lambda one: tabulate_energy(one, level=level)), output)
        return
    emit_drawn(for_each_curve(study, lambda one: with_mfu(sc.tabulate(one, level=level, **chosen), one)), plot, output)


def with_mfu(table: SpeedupTable, study: Study) -> SpeedupTable:
    """The table with the MFU at each K, where the study is of a training job whose model and accelerator are named."""
    if "tok" not in (study.unit or "").lower() and study.unit != "tps":
        return table
    from scalecurve.training.answers.measured import mfu_of_study

    return replace(table, mfu=mfu_of_study(study, {row.k: row.mean.value for row in table.rows}))


@click.command(cls=SectionedCommand)
@curves_options
@option("--law", str, "Only this law; may be repeated.", multiple=True)
@level_option("0.95")
@option("--weighting", ["relative", "absolute"], "Of errors; absolute: least squares as other tools do.", "relative")
@option("--hold", SHARE, "Efficiency that isoefficiency holds (default 0.7); may be repeated.", multiple=True)
@option("--each-curve", bool, "Fit every curve by itself, also where the curves differ in size.")
@plot_option
@output_options
def fit(
    study: Study | StudySet,
    law: tuple[str, ...],
    weighting: str,
    level: float,
    hold: tuple[float, ...],
    each_curve: bool,
    plot: Plot | None,
    output: Output,
) -> None:
    """Rank laws by how well they predict K they were not fitted to, with intervals of their parameters.

    Curves that differ in problem size (a column `size`, or --axis-size) are fitted together: T(N, K), and the size that
    holds an efficiency at each K.
    """
    if isinstance(study, StudySet) and study.sizes and not law and not each_curve:
        with working("fitting T(N, K)", output):
            grid = sc.fit_grid(study, level=level, hold=hold or (0.7,))
        emit_drawn(grid, plot, output)
        return
    if plot is not None:
        raise InputError(Fault("only T(N, K) has a picture here", where="--plot", remedy="draw `table` or `forecast`"))
    with working("fitting laws", output):
        result = for_each_curve(study, lambda one: sc.fit(one, law=law or None, level=level, weighting=weighting))
    emit(result, output)


@click.command(cls=SectionedCommand)
@curves_options
@option("--at", WORKERS, "Worker counts, as 64,128 or 64..512 (default: 2 and 4 times the largest).")
@option("--size", COUNTS, "Problem sizes, where curves differ in size: predicts T(N, K).")
@level_option("0.9")
@option("--extrapolate", bool, "Answer even beyond 16 times the largest measured K.")
@option("--kind", ["strong", "weak", "collective"], "Treat the study as this kind of curve.")
@option("--cores", int, "Cores that all workers share: more threads than cores gain nothing.")
@option("--like", str, "A study of the same program at larger K.", multiple=True, metavar="FILE")
@plot_option
@output_options
def forecast(
    study: Study | StudySet,
    size: tuple[float, ...] | None,
    like: tuple[str, ...],
    plot: Plot | None,
    output: Output,
    **chosen: Chosen,
) -> None:
    """Predict T (or throughput), S and E at larger K, with intervals.

    The forecast is tried on the study itself.

    Beyond 4 times the largest measured K a row is shown in grey, beyond 16 times it is refused.  With --size,
    curves that differ in problem size are predicted together.
    """
    if size is not None:
        shared = {name: chosen[name] for name in ("at", "level", "extrapolate")}
        with working("forecasting T(N, K)", output):
            grid = sc.forecast_grid(study, size=size, **shared)
        emit_drawn(grid, plot, output)
        return
    from scalecurve.forecasting.prediction import siblings_in

    def answer(one: Study) -> Result:
        siblings = siblings_in(study, one) if isinstance(study, StudySet) else ()
        return sc.forecast(one, like=(*like, *siblings), **chosen)

    with working("forecasting", output):
        result = for_each_curve(study, answer)
    emit_drawn(result, plot, output)


@click.command(cls=SectionedCommand)
@click.argument("study", required=False, type=click.Path(path_type=Path))
@option("--workers", WORKERS, "Worker counts, such as 4,16,64.")
@option("--total", COUNTS, "Total work: one number for all K, or one for each.")
@option("--per-worker", COUNTS, "Work per worker: one number, or one for each.")
@option("--times", COUNTS, "Seconds at each K; shows the speedup under each regime.")
@option("--called --regime called", ["strong", "weak"], "The regime that is claimed.")
@option("--name", str, "Name of the job.", "job")
@output_options
def regime(study: Path | None, output: Output, **chosen: Chosen) -> None:
    """Tell strong, weak and mixed scaling apart: which work is fixed, and which efficiency and plot apply.

    From a STUDY that counts its work, from a table with a column of work or batch, or from numbers:
    --workers 4,16,64 --total 50000.
    """
    emit(sc.diagnosis.classify_regime(study, **chosen), output)


@click.command(cls=SectionedCommand)
@curves_options
@option(
    "--with beside",
    str,
    "An advised measurement: spread, network or baseline (KIND, or the name of the file).",
    multiple=True,
    metavar="[KIND=]FILE",
)
@output_options
def diagnose(study: Study | StudySet, beside: tuple[str, ...], output: Output) -> None:
    """Say why the curve bends: communication, stragglers, jitter, imbalance, contention, serial or repeated work.

    Uses the strongest evidence the study holds: phases of every worker, the workers' own times, the states of the
    threads, or the shape and noise of T(K).  Where several causes remain, the answer is the set and the one measurement
    that tells them apart.
    """
    extended_by = {}
    for entry in beside:
        kind, _, path = entry.rpartition("=")
        extended_by[kind or Path(path).stem] = path
    with working("weighing causes", output):
        result = for_each_curve(study, lambda one: sc.diagnose(one, extended_by=extended_by))
    emit(result, output)


@click.command(cls=SectionedCommand)
@studies_options("FIRST [SECOND ...]")
@level_option("0.95")
@option("--allow-mixed", bool, "Compare other machines, versions or workloads; leaves a finding.")
@output_options
def compare(studies: list[Study], level: float, allow_mixed: bool, output: Output) -> None:
    """Compare T and E of two studies at each K: the ratios SECOND over FIRST, with intervals.

    With more than two studies, or a file with several curves, each is compared with the first.  Studies from
    different machines, versions or workloads are refused unless --allow-mixed.
    """
    first, *others = studies
    if not others:
        raise InputError(Fault("there is one curve", remedy="give a second study, or a file with several curves"))
    if len(others) == 1:
        emit(sc.compare(first, others[0], level=level, allow_mixed=allow_mixed), output)
        return
    rest = StudySet(studies={study.name: study for study in others})
    emit(side_by_side(rest, lambda one: sc.compare(first, one, level=level, allow_mixed=allow_mixed)), output)
