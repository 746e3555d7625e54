"""Pictures of results: which painter draws what, at which size, in which look; and what all painters share.

The title or the caption says what was held fixed.  Colours are from the Okabe-Ito set, which colour-blind readers can
tell apart, and every series also differs by marker or dash.  Legends stand inside the axes, where no points are.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.analysis import tabulate
from scalecurve.analysis.side_by_side import SideBySide, side_by_side
from scalecurve.document import Result, safe_lines
from scalecurve.errors import Fault, InputError
from scalecurve.formats.loading import StudyLike, load_any
from scalecurve.study import Study, StudySet
from scalecurve.study.atomic import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Size = tuple[float, float]
Painter = Callable[["Figure"], None]
Curve = tuple[str | None, str, str, Iterable[tuple[float, float | None]]]

BLUE, ORANGE, GREEN, PURPLE, GREY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#6b6b6b", "#D55E00"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, RED, "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
FORMATS = ("svg", "png", "pdf")
NAME_LENGTH = 24
USUAL: Size = (7.0, 4.8)
WIDE_GRID: Size = (9.5, 4.6)
MANY_DOUBLINGS = 2.0**11  # beyond it powers of ten are read more easily
NARROW_INCHES = 5.0  # a figure below this width is for a phone: one legend column, few ticks
STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "svg.hashsalt": "scalecurve",  # so that the same data gives the same file
    "svg.fonttype": "none",
    "legend.frameon": True,  # no line runs through its words
    "legend.framealpha": 0.8,
    "legend.edgecolor": "none",
    "legend.facecolor": "white",
    "legend.fancybox": False,
    "legend.borderaxespad": 0.4,
    "pdf.fonttype": 42,  # whole TrueType fonts, which publishers ask for
    "ps.fonttype": 42,
}
WIDTHS: dict[str, float | None] = {"screen": None, "column": 3.4, "page": 7.0}  # inches
FONTS = {"sans": "DejaVu Sans", "serif": "DejaVu Serif"}
CHOICES = {"width": tuple(WIDTHS), "font": tuple(FONTS), "title": ("usual", "none"), "scale": ("log", "linear")}
METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A plot that can be painted at any size.  `alt` describes it; its numbers are in a table beside it.

    `panels` are its parts where a page may set them side by side or one below the other; each is painted once, `wide`.
    """

    name: str
    alt: str
    painter: Painter
    wide: Size = (7.6, 4.2)
    narrow: Size = (3.7, 3.7)
    panels: tuple[Picture, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a picture is set: for the screen, or for one column or the whole page of a paper.

    `font_size` is in points (default 10, in a column 8), `font` is "sans" or "serif".  `title` "none" leaves titles
    to the caption; `scale` "linear" draws K, speedups, times and costs along linear axes from 0.
    """

    width: str = "screen"
    font_size: float | None = None
    font: str = "sans"
    title: str = "usual"
    scale: str = "log"

    def __post_init__(self) -> None:
        faults = []
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                faults.append(Fault(f"unknown {name}", name, getattr(self, name), f"use one of {', '.join(known)}"))
        if self.font_size is not None and not 4 <= self.font_size <= 40:
            faults.append(Fault("not a font size in points", "font size", f"{self.font_size:g}", "use 4 to 40"))
        if faults:
            raise InputError(faults)

    def size(self, usual: Size) -> Size:
        """The size in inches: the usual one on a screen, else the width of the paper's column or page."""
        inches = WIDTHS[self.width]
        return usual if inches is None else (inches, max(2.4, inches * min(0.72, usual[1] / usual[0])))

    @property
    def style(self) -> dict[Any, Any]:
        """The settings of matplotlib."""
        size = self.font_size or (8.0 if self.width == "column" else 10.0)
        small = {"legend.fontsize": size - 1, "axes.titlesize": size, "xtick.labelsize": size - 0.5}
        small |= {"ytick.labelsize": size - 0.5, "lines.markersize": 3.5 if self.width == "column" else 5}
        return STYLE | {"font.family": FONTS[self.font], "font.size": size, "mathtext.fontset": "dejavusans"} | small


SCREEN = Look()


def plot(
    result: Result | StudyLike,
    path: str | Path | None = None,
    *,
    regime: str | None = None,
    width: str = "screen",
    font_size: float | None = None,
    font: str = "sans",
    title: str = "usual",
    scale: str = "log",
) -> Figure:
    """Draw a result, or a study's speedup table.

    Parameters
    ----------
    result
        What a verb returned, or a study in any form that `load` takes.
    path
        Where to write the picture; its ending (.svg .png .pdf) is the format.
    regime
        "strong" or "weak", for a source that does not state it.
    width
        "screen", or "column" (3.4 inches) or "page" (7 inches) of a paper.
    font_size, font
        In points; "sans" or "serif".
    title
        "none" leaves titles to the caption of a paper.
    scale
        "log", or "linear" for K, speedups, times and costs along linear axes from 0.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; a notebook shows it.

    Raises
    ------
    InputError
        There is no picture of such a result, or the ending is none of the three.

    Examples
    --------
    >>> import scalecurve as sc
    >>> figure = sc.plot({1: 8.0, 2: 4.2, 4: 2.3}, regime="strong")
    >>> len(figure.axes) > 0
    True
    """
    target = None if path is None else Path(path)
    kind = "svg" if target is None else target.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        hint = "name the file .svg, .png or .pdf"
        raise InputError(Fault("unknown picture format", value=Path(path or "").suffix or str(path), remedy=hint))
    result = result if isinstance(result, Result) and regime is None else load_any(result, regime=regime)  # type: ignore[arg-type]
    look = Look(width=width, font_size=font_size, font=font, title=title, scale=scale)
    figure = drawn(*painter_of(drawable(result)), look)
    figure._repr_png_ = lambda: file_of(figure, "png", look)  # type: ignore[attr-defined]  # a notebook shows the figure
    if target is not None:
        write_atomically(target, file_of(figure, kind, look))
    return figure


def picture(result: Result, kind: str, look: Look = SCREEN) -> bytes:
    """A result, or a study's speedup table, as the bytes of an SVG, PNG or PDF."""
    painter, size = painter_of(drawable(result))
    return paint(painter, kind, size, look)


def drawable(result: Result) -> Result:
    """What is drawn of a result: of a study its speedup table."""
    if isinstance(result, StudySet):
        return side_by_side(result, tabulate)
    return tabulate(result) if isinstance(result, Study) else result


def painter_of(result: Any) -> tuple[Painter, Size]:
    """What draws a result, and its size in inches on a screen; InputError where there is no picture of it."""
    name = type(result).__name__
    if name not in PAINTERS:
        raise InputError(f"there is no picture of a {name}")
    module, function, *size = PAINTERS[name]
    pictures = import_module(f"scalecurve.render.{module}")  # late: a report needs few of them
    inches = pictures.multiples_size(len(result.answers)) if isinstance(result, SideBySide) else (*size, USUAL)[0]
    paint = getattr(pictures, function)
    return (lambda figure: paint(figure, result)), inches


PAINTERS: dict[str, tuple[Any, ...]] = {  # of each result: the module, what paints there, and inches that are not USUAL
    "SpeedupTable": ("curve_plots", "paint_tables"),
    "SideBySide": ("curve_plots", "paint_tables"),
    "LawTable": ("curve_plots", "paint_law"),
    "Forecast": ("curve_plots", "paint_forecast"),
    "GridFit": ("curve_plots", "paint_grid", WIDE_GRID),
    "GridForecast": ("curve_plots", "paint_grid", WIDE_GRID),
    "Cost": ("planning_plots", "paint_cost"),
    "History": ("planning_plots", "paint_history", (8.5, 6.0)),
    "Plan": ("planning_plots", "paint_plan", (8.5, 6.8)),
    "CollectiveCost": ("mechanism_plots", "paint_collective"),
    "StepCost": ("mechanism_plots", "paint_step"),
    "LoadCurve": ("mechanism_plots", "paint_load"),
    "Roofline": ("mechanism_plots", "paint_roofline"),
    "StragglerCost": ("mechanism_plots", "paint_straggler"),
    "WorkDepth": ("mechanism_plots", "paint_work_depth"),
}


def paint(painter: Painter, kind: str, size: Size, look: Look = SCREEN) -> bytes:
    """Run a painter on a fresh figure in the house style and return the bytes of the file."""
    return file_of(drawn(painter, size, look), kind, look)


def drawn(painter: Painter, size: Size, look: Look) -> Figure:
    """A painter's figure in the house style, laid out."""
    import matplotlib as mpl

    with mpl.rc_context(look.style):
        from matplotlib.figure import Figure as NewFigure

        figure = NewFigure(figsize=look.size(size), layout="constrained")
        painter(figure)
        dress(figure, look)
        make_texts_plain(figure)
        if (layout := figure.get_layout_engine()) is not None:
            layout.execute(figure)  # laid out here and once; savefig would draw everything twice for it
            figure.set_layout_engine(None)
    return figure


def dress(figure: Figure, look: Look) -> None:
    """A painted figure without its titles, or along linear axes, where its look asks for that."""
    from matplotlib.ticker import FuncFormatter

    if look.title == "none":
        figure.suptitle("")
        for axes in figure.axes:
            axes.set_title("", loc="left")
            axes.set_title("")
    for axes in figure.axes if look.scale == "linear" else []:
        for name in ("x", "y"):
            if getattr(axes, f"get_{name}scale")() == "log":
                axis = getattr(axes, f"{name}axis")
                write = axis.get_major_formatter()  # with a unit, where it is a function
                axes.set(**{f"{name}scale": "linear"})
                axes.set(**{f"{name}lim": (0, None)})
                axis.set_major_formatter(write if isinstance(write, FuncFormatter) else "{x:,.9g}")


def file_of(figure: Figure, kind: str, look: Look) -> bytes:
    """The bytes of a figure's file."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context(look.style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a name in another script is drawn as boxes
        figure.savefig(buffer, format=kind, dpi=200 if kind == "png" else 150, metadata=METADATA[kind])
    return buffer.getvalue()


def make_texts_plain(figure: Figure) -> None:
    """Names come from files: no dollar sign starts a formula, and no control character reaches an SVG."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if (words := text.get_text()) and not words.startswith(r"$\mathdefault"):  # the formulas of logarithmic axes
            text.set_parse_math(False)
            text.set_text("\n".join(safe_lines(words)))


def xy(points: Iterable[tuple[float, float | None]]) -> tuple[list[float], list[float]]:
    """The x and the y of points, without those that have no y."""
    pairs = [(x, y) for x, y in points if y is not None]
    return [x for x, _ in pairs], [y for _, y in pairs]


def lines(axes: Axes, curves: Iterable[Curve], **style: Any) -> None:
    """Draw curves, each a label, a colour, a form (marker and dash as matplotlib writes them: `o--`) and points; one
    without points is left out."""
    for label, colour, form, points in curves:
        if (pairs := xy(points))[0]:
            axes.plot(*pairs, form, color=colour, label=label, **style)


def area(
    axes: Axes, ends: Iterable[Sequence[float | None]], colour: str, alpha: float, label: str | None = None
) -> None:
    """Shade what lies between two ends at each x (x, low, high), where both are known."""
    known = [end for end in ends if None not in end]
    if known:
        axes.fill_between(*zip(*known, strict=True), color=colour, alpha=alpha, linewidth=0, label=label)  # type: ignore[arg-type]


def rules(axes: Axes, along: str, marks: Iterable[tuple[float | None, str, str]], dash: str = ":") -> None:
    """Straight lines at places of the x or the y axis, each with its colour and label; absent ones are left out."""
    draw = axes.axvline if along == "x" else axes.axhline
    for place, colour, label in marks:
        if place is not None:
            draw(place, color=colour, linestyle=dash, label=label)


def name_axes(axes: Axes, x: str, y: str, title: str = "", *, log: bool = False, legend: Any = "best") -> None:
    """The names of both axes, the title and the legend; `log` is the scale of y."""
    axes.set(xlabel=x, ylabel=y)
    if log:
        axes.set_yscale("log")
    if title:
        axes.set_title(title, loc="left", fontsize="medium")
    axes.legend(loc=legend)


def wrapped(text: str, figure: Figure) -> str:
    """A title on as many lines as the width of the figure asks for."""
    from textwrap import fill

    import matplotlib as mpl

    size = mpl.rcParams["font.size"]
    whole = text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")  # K = 8 stays on one line
    return fill(whole, max(20, int(figure.get_figwidth() * 72 / (0.56 * size))))


def log_axis(axes: Axes, workers: Sequence[int], *, both: bool = False) -> None:
    """Powers of two along K, with ticks at the measured K whose labels do not touch."""
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullFormatter, NullLocator

    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(_apart(axes, sorted(set(workers)))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    if both:
        low, high = axes.get_ylim()
        axes.set_yscale("log", base=2 if high < MANY_DOUBLINGS * low else 10)
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(NullFormatter())


def _apart(axes: Axes, workers: Sequence[int]) -> list[int]:
    """The K whose labels have room along a logarithmic axis: the ends, then doublings of the first, then the others."""
    import matplotlib as mpl

    first, last = workers[0], workers[-1]
    spec = axes.get_subplotspec()
    columns = 1 if spec is None else spec.get_gridspec().ncols
    inches = 0.8 * axes.figure.bbox.width / axes.figure.dpi / columns
    letter = 0.65 * mpl.rcParams["font.size"] / 72 * math.log(last / first) / inches  # in units of the axis
    doublings = [k for k in workers if k % first == 0 and (k // first).bit_count() == 1]
    kept: list[int] = []
    for k in dict.fromkeys([first, last, *doublings, *workers]):
        width = [letter * (len(f"{k}") + len(f"{other}") + 1.5) / 2 for other in kept]
        if all(abs(math.log(k / other)) >= room for other, room in zip(kept, width, strict=True)):
            kept.append(k)
    return sorted(kept)


def plain_numbers(axis: Any, *, few: bool = False) -> None:
    """Numbers as people write them along a logarithmic axis, also where it spans less than a decade."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(base=10, subs=(1.0,) if few else (1.0, 2.0, 5.0), numticks=5 if few else 12))
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_minor_formatter(NullFormatter())


def shorten(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def shortened(names: Sequence[str], length: int = NAME_LENGTH) -> list[str]:
    """Names of at most this length that still differ: where the starts are alike, the middle is left out."""
    cut = [name if len(name) <= length else name[: length - 1] + "…" for name in names]
    if len(set(cut)) == len(set(names)):
        return cut
    end = length // 2
    return [name if len(name) <= length else f"{name[: length - end - 1]}…{name[-end:]}" for name in names]
