"""What was tried, with numbers: python -m bench.forecast_variants [DATA] [--write]

Each row changes one thing of the shipped forecast; everything learned is cross-validated by source.  `--write` puts the
table into docs/guide/forecasting.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from bench.forecast import table_lines, write_block
from scalecurve.forecasting import calibration, shapes
from scalecurve.forecasting.calibration import shipped
from scalecurve.forecasting.curves import Array
from scalecurve.forecasting.panel import NOISE_SCALE, strong_panel
from scalecurve.forecasting.view import CurveKind
from tools import crossvalidation as crossed
from tools.published import Published, folder, judged, read
from tools.scores import curve_errors, headline

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guide" / "forecasting.md"
Middle = Callable[[Array], Array]


def main(arguments: Sequence[str]) -> int:
    paths = [argument for argument in arguments if not argument.startswith("--")]
    data = folder(paths[0] if paths else None)
    if data is None:
        print("the published curves are not here; give their folder", file=sys.stderr)
        return 2
    curves = judged(read(data), CurveKind.STRONG)
    result = crossed.judge(curves, CurveKind.STRONG, crossed.folds(curves))
    rows = {name: headline(result, curve_errors(result, ahead)) for name, ahead in variants(result)}
    rows |= dict(priors(curves))
    lines = list(table_lines(rows, "{:.1f}"))
    print("\n".join(lines))
    if "--write" in arguments:
        write_block(PAGE, "bench.forecast_variants", lines)
    return 0


def variants(result: crossed.Judged) -> Iterator[tuple[str, Array]]:
    names = list(strong_panel(shipped().shapes))
    yield "**as shipped**", result.ahead
    for i, name in enumerate(names):
        yield f"only: {name}", result.families[:, i]
    for i, name in enumerate(names):
        rest = [j for j in range(len(names)) if j != i]
        yield f"without: {name}", _combine(result, np.median(result.families[:, rest], axis=1))
    yield "mean instead of median", _combine(result, result.families.mean(axis=1))
    trimmed = np.sort(result.families, axis=1)[:, 1:-1].mean(axis=1)
    yield "mean without the extremes", _combine(result, trimmed)
    middle = np.median(result.families, axis=1)
    for noise in (0.2, 0.4, np.inf):
        yield f"noise that halves the change {noise:g} (shipped {NOISE_SCALE:g})", _combine(result, middle, noise=noise)
    yield "no smooth laws", _combine(result, middle, laws=0.0)
    yield "no ceiling for shared devices (unit not stated)", _combine(result, middle, ceiling=False)
    yield "only 60 % of a forecast fall believed", _combine(result, middle, fall=0.6)
    yield "90 % of a forecast rise believed", _combine(result, middle, rise=0.9)
    yield "best family of each curve, with hindsight", _oracle(result)


def _combine(
    result: crossed.Judged,
    middle: Array,
    *,
    noise: float = NOISE_SCALE,
    laws: float = 1.0,
    ceiling: bool = True,
    rise: float = 1.0,
    fall: float = 1.0,
) -> Array:
    change = middle - result.last
    share = np.where(change > 0, rise, fall) * (result.believed if ceiling else 1.0)
    settled = result.last + share * change / (1 + (result.rough / noise) ** 2)
    return np.asarray(settled + laws * result.trust * (result.law - settled))


def _oracle(result: crossed.Judged) -> Array:
    errors = np.stack([curve_errors(result, result.families[:, i]) for i in range(result.families.shape[1])])
    best = errors.argmin(axis=0)[result.curve]
    return np.asarray(np.take_along_axis(result.families, best[:, None], axis=1)[:, 0])


def priors(curves: Sequence[Published]) -> Iterator[tuple[str, dict[str, float]]]:
    """Other ways to learn the prior over shapes."""
    usual_steps, usual_kept = calibration.STEPS, calibration.SHAPES_KEPT
    try:
        for steps in (1, 10):
            calibration.STEPS = steps
            yield f"prior learned in {steps} steps (shipped {usual_steps})", _judged(curves)
        calibration.STEPS = usual_steps
        calibration.SHAPES_KEPT = len(shapes.grid())
        yield f"all {len(shapes.grid())} shapes kept (shipped {usual_kept})", _judged(curves)
    finally:
        calibration.STEPS, calibration.SHAPES_KEPT = usual_steps, usual_kept


def _judged(curves: Sequence[Published]) -> dict[str, float]:
    result = crossed.judge(curves, CurveKind.STRONG, crossed.folds(curves))
    return headline(result, curve_errors(result))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
