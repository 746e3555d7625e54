"""The two standard plots: the right ideal line for the right regime, the bend marked, the same file twice."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from scalecurve.analysis import tabulate
from scalecurve.errors import InputError
from scalecurve.laws import law_table
from scalecurve.render.curve_plots import curve
from scalecurve.render.plots import picture, plot, shortened
from scalecurve.study import Study
from tests.reference_study import strong_study, weak_study


def _svg(result: Any) -> str:
    return picture(result, "svg").decode().replace("\N{NO-BREAK SPACE}", " ")


def test_strong_scaling_is_drawn_against_the_diagonal() -> None:
    svg = _svg(tabulate(strong_study()))

    assert "ideal S = K" in svg
    assert "ideal E = 1" not in svg
    assert "bend at K = 8" in svg
    assert "first K with E &lt; 0.7" in svg
    assert "total work fixed" in svg
    assert "baseline K0 = 1" in svg


def test_weak_scaling_is_drawn_against_the_flat_line() -> None:
    svg = _svg(tabulate(weak_study()))

    assert "ideal E = 1" in svg
    assert "ideal S = K" not in svg
    assert "work per worker fixed" in svg


def test_a_law_shows_its_ceiling() -> None:
    svg = _svg(law_table("amdahl", [1, 2, 4, 8], serial=[0.05]))

    assert "ceiling 20" in svg
    assert "ideal S = K" in svg


def test_a_law_without_rows_has_no_picture() -> None:
    with pytest.raises(InputError, match="no curve to draw"):
        _svg(law_table("logcomm", None, serial=0.05, comm=0.01))


def test_both_regimes_share_one_efficiency_axis() -> None:
    svg = _svg(law_table("logcomm", [1, 2, 4], serial=[0.05], comm=[0.01], regime="both"))

    assert "strong, total work fixed" in svg
    assert "weak, work per worker fixed" in svg
    assert "ideal E = 1" in svg


def test_the_same_data_gives_the_same_picture() -> None:
    assert _svg(tabulate(strong_study())) == _svg(tabulate(strong_study()))


@pytest.mark.parametrize("name", ["</text><script>alert(1)</script>", "$x^2$ $", "\\frac", "a" * 10_000, "\u202eabc"])
def test_hostile_names_are_inert(name: str) -> None:
    svg = _svg(tabulate(Study.from_samples({1: [1.0], 2: [0.6]}, regime="strong", name=name, k_unit=name[:50])))

    assert "<script>" not in svg


def test_a_dollar_is_a_dollar() -> None:
    assert "$5 to $6" in _svg(tabulate(Study.from_samples({1: [1.0], 2: [0.6]}, regime="strong", name="$5 to $6")))


def test_what_has_no_picture_says_so() -> None:
    with pytest.raises(InputError, match="no picture"):
        picture(object(), "svg")


def test_a_study_is_drawn_as_its_table_and_the_ending_is_the_format(tmp_path: Path) -> None:
    plot(strong_study(), tmp_path / "curve.svg")

    assert (tmp_path / "curve.svg").read_bytes() == picture(tabulate(strong_study()), "svg")
    with pytest.raises(InputError, match=r"\.svg, \.png or \.pdf"):
        plot(strong_study(), tmp_path / "curve.gif")


def test_labels_of_many_k_do_not_touch() -> None:
    """Forty K on one axis: both ends and doublings are named, and no two names overlap."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from scalecurve.render.curve_plots import curve

    table = tabulate(Study.from_samples({k: [1 / k] for k in range(1, 41)}, regime="strong"))
    for size in ((9.4, 3.9), (3.7, 6.4)):
        figure = Figure(figsize=size, layout="constrained")
        curve(figure, [table], panels=("speedup", "efficiency"))
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        for axes in figure.axes:
            labels = axes.get_xticklabels()
            boxes = [label.get_window_extent(canvas.get_renderer()) for label in labels]
            assert all(one.x1 < other.x0 for one, other in pairwise(boxes))
            assert {"1", "2", "4", "8", "16"} < {label.get_text() for label in labels}


def test_four_curves_stand_two_by_two_each_with_its_k() -> None:
    from matplotlib.figure import Figure

    from scalecurve.render.curve_plots import curve

    tables = [tabulate(Study.from_samples({1: [1.0], 2: [0.6], 4: [0.4]}, regime="strong", name=n)) for n in "abcde"]
    for count, named in ((4, {2, 3}), (5, {2, 3, 4})):
        figure = Figure(figsize=(8.4, 5.2), layout="constrained")
        curve(figure, tables[:count])
        assert {i for i, axes in enumerate(figure.axes) if axes.get_xlabel()} >= named


def test_long_names_stay_different() -> None:
    names = ["OpenFOAM 2312 motorBike, GCC 13.2", "OpenFOAM 2312 motorBike, Intel 2024", "x"]
    assert shortened(names, 20) == ["OpenFOAM …, GCC 13.2", "OpenFOAM …Intel 2024", "x"]
    assert shortened(["a" * 40, "b"], 10) == ["a" * 9 + "…", "b"]


def test_a_legend_names_every_line_of_a_plot() -> None:
    from matplotlib.figure import Figure

    table = tabulate(weak_study())
    last = table.rows[-1]
    ends = {f"efficiency{end}": 0.7 * factor for end, factor in (("", 1.0), ("_low", 0.8), ("_high", 1.2))}
    ahead = [{"k": 2 * last.k, "speedup": 1.4 * last.k} | ends]  # it ends at the threshold
    figure = Figure(figsize=(7.6, 3.9), layout="constrained")
    curve(figure, [table], ahead, panels=("efficiency",))
    legend = figure.axes[0].get_legend()
    assert legend is not None
    names = {text.get_text() for text in legend.get_texts()}
    assert names == {"ideal E = 1", "threshold 0.7", "measured", "forecast, interval"}


def test_a_figure_without_its_title_and_along_linear_axes() -> None:
    times = {1: 8.0, 2: 4.2, 4: 2.3}
    usual, plain = (plot(times, regime="strong", **options) for options in ({}, {"title": "none", "scale": "linear"}))
    assert usual.get_suptitle()
    assert not plain.get_suptitle()
    assert usual.axes[0].get_xscale() == usual.axes[0].get_yscale() == "log"
    assert plain.axes[0].get_xscale() == plain.axes[0].get_yscale() == "linear"
    assert plain.axes[0].get_xlim()[0] == plain.axes[0].get_ylim()[0] == 0
    with pytest.raises(InputError, match="use one of log, linear"):
        plot(times, regime="strong", scale="cubic")
