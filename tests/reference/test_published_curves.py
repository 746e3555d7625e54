"""What the forecast promises on published curves, cross-validated by source; needs the data (tools/published.py)."""

import numpy as np
import pytest

from scalecurve.forecasting.view import Path as Panel
from tools import crossvalidation as crossed
from tools.calibrate_forecast import TARGET, calibrate
from tools.published import folder, judged, read
from tools.scores import coverage, curve_errors, headline

DATA = folder()
pytestmark = pytest.mark.skipif(DATA is None, reason="the published curves are not beside the repository")


@pytest.fixture(scope="module")
def strong() -> crossed.Judged:
    curves = judged(read(DATA), Panel.STRONG)
    return crossed.judge(curves, Panel.STRONG, crossed.folds(curves))


def test_accuracy_on_strong_and_throughput_curves(strong: crossed.Judged) -> None:
    figures = headline(strong, curve_errors(strong))

    assert len(strong.curves) == 436
    assert figures["median"] <= 11
    assert figures["p90"] <= 46
    assert figures["by study"] <= 12
    assert figures["by application"] <= 12


def test_intervals_hold(strong: crossed.Judged) -> None:
    figures = coverage(strong, *crossed.crossed_intervals(strong, 0.9))

    assert 0.88 <= figures["overall"] <= 0.94
    assert min(figures[name] for name in ("database", "dl-training", "hpc", "storage", "threads")) >= 0.80
    assert min(figures[name] for name in ("up to 2x", "2-4x", "beyond 4x")) >= 0.85
    assert figures["median high/low"] <= 2.4


@pytest.mark.parametrize(
    ("path", "by", "limit"), [(Panel.WEAK, "source_repo", 4.5), (Panel.COLLECTIVE, "application", 9)]
)
def test_weak_and_collective_curves(path: Panel, by: str, limit: float) -> None:
    curves = judged(read(DATA), path)

    assert np.median(curve_errors(crossed.judge(curves, path, crossed.folds(curves, by)))) <= limit


def test_the_shipped_calibration_is_what_the_script_builds() -> None:
    import json

    built, shipped = calibrate(DATA), json.loads(TARGET.read_text())

    assert built["provenance"] == shipped["provenance"]
    assert built["standing"] == shipped["standing"]
    assert np.array(built["shapes"]["rows"]) == pytest.approx(np.array(shipped["shapes"]["rows"]), rel=1e-3)
    for path, width in built["widths"].items():
        assert width["quantiles"] == pytest.approx(shipped["widths"][path]["quantiles"], rel=0.02)
