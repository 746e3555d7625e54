"""Forecast accuracy on published curves, side by side with what people use: python -m bench.forecast [DATA] [--write]

Everything learned is cross-validated by source repository.  `--write` puts the tables into docs/accuracy.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

import scalecurve as sc
from bench.baselines import BASELINES, predict_all
from bench.extrap_model import extrap_available
from bench.nested import nested
from scalecurve.forecasting.curves import Array
from scalecurve.forecasting.forecast import forecast_all
from scalecurve.forecasting.view import CurveKind
from tools import crossvalidation as crossed
from tools.published import Published, domains, folder, judged, read, read_collectives
from tools.scores import coverage, curve_errors, headline

PAGE = Path(__file__).resolve().parents[1] / "docs" / "accuracy.md"
TRIALS, RESAMPLES = 2000, 2000
OURS = "scalecurve"


def main(arguments: Sequence[str]) -> int:
    paths = [argument for argument in arguments if not argument.startswith("--")]
    data = folder(paths[0] if paths else None)
    if data is None:
        print("the published curves are not here; give their folder", file=sys.stderr)
        return 2
    lines: list[str] = []
    for line in report(read(data), read_collectives(data)):
        print(line, flush=True)
        lines.append(line)
    if "--write" in arguments:
        write_block(PAGE, "bench.forecast", lines)
    return 0


def report(curves: list[Published], sweeps: list[Published]) -> Iterator[str]:
    strong = judged(curves, CurveKind.STRONG)
    result = crossed.judge(strong, CurveKind.STRONG, crossed.folds(strong))
    errors = {name: curve_errors(result, ahead) for name, ahead in _baselines(result)}
    errors[OURS] = curve_errors(result)
    yield from _accuracy(result, errors)
    yield from _by_domain(result, errors)
    yield from _nested(result)
    yield from _intervals(result)
    yield from _other_panels(curves, sweeps, crossed.width_of(result).coefficients)
    yield from _synthetic()


def _baselines(result: crossed.Judged) -> Iterator[tuple[str, Array]]:
    splits = [curve.split(CurveKind.STRONG) for curve in result.curves]
    for name, baseline in BASELINES.items():
        if "Extra-P" not in name or extrap_available():
            yield name, predict_all(baseline, splits)


def _accuracy(result: crossed.Judged, errors: Mapping[str, Array]) -> Iterator[str]:
    yield f"### Strong scaling and throughput: {len(result.curves)} curves"
    yield ""
    yield "Median absolute percentage error of a curve, then over curves; learned parts never saw the curve's source."
    yield ""
    yield from table_lines({name: headline(result, own) for name, own in errors.items()}, "{:.1f}")


def _by_domain(result: crossed.Judged, errors: Mapping[str, Array]) -> Iterator[str]:
    """Paired bootstrap by study: is the best single predictor of a domain clearly better there?"""
    yield "### Against the best single predictor of each domain (paired bootstrap by study)"
    yield ""
    rng = np.random.default_rng(5)
    singles = [name for name in errors if name != OURS]
    table = {}
    for domain in domains(result.curves):
        own = np.array([curve.facts["domain"] == domain for curve in result.curves])
        best = min(singles, key=lambda name: float(np.median(errors[name][own])))
        studies = np.array([curve.study for curve, kept in zip(result.curves, own, strict=True) if kept])
        low, high = _paired(errors[OURS][own], errors[best][own], studies, rng)
        verdict = "clearly worse" if low > 0 else "clearly better" if high < 0 else "no clear difference"
        medians = [f"{np.median(errors[name][own]):.1f}" for name in (OURS, best)]
        table[domain] = {"ours": medians[0], "best single": best, "its error": medians[1],
                         "difference, 95 %": f"{low:+.1f} to {high:+.1f}", "verdict": verdict}  # fmt: skip
    yield from table_lines(table, "{}")


def _paired(ours: Array, theirs: Array, studies: Array, rng: np.random.Generator) -> tuple[float, float]:
    names, place = np.unique(studies, return_inverse=True)
    members = [np.flatnonzero(place == i) for i in range(len(names))]
    differences = []
    for _ in range(RESAMPLES):
        rows = np.concatenate([members[i] for i in rng.integers(len(names), size=len(names))])
        differences.append(np.median(ours[rows]) - np.median(theirs[rows]))
    low, high = np.percentile(differences, [2.5, 97.5])
    return float(low), float(high)


def _nested(result: crossed.Judged) -> Iterator[str]:
    yield "### Nested: structure chosen on half of the applications, scored on the other half"
    yield ""
    yield from table_lines({OURS: nested(result)}, "{:.1f}")


def _intervals(result: crossed.Judged) -> Iterator[str]:
    yield "### Intervals: share of held-out points inside (strong and throughput)"
    yield ""
    rows = {
        f"{level:.0%}": coverage(result, *crossed.crossed_intervals(result, level)) for level in (0.5, 0.8, 0.9, 0.95)
    }
    yield from table_lines(rows, "{:.3f}")


def _other_panels(curves: list[Published], sweeps: list[Published], borrowed: Array) -> Iterator[str]:
    yield "### Weak scaling and collectives"
    yield ""
    table = {}
    for name, path, own, by in (
        ("weak", CurveKind.WEAK, judged(curves, CurveKind.WEAK), "source_repo"),
        ("collective", CurveKind.COLLECTIVE, judged(curves, CurveKind.COLLECTIVE), "application"),
        ("collective, all message sizes", CurveKind.COLLECTIVE, sweeps, "system"),
    ):
        result = crossed.judge(own, path, crossed.folds(own, by))
        inside = coverage(result, *crossed.crossed_intervals(result, 0.9, borrowed))
        figures = headline(result, curve_errors(result))
        table[f"{name} ({len(own)} curves)"] = {key: figures[key] for key in ("median", "p90", "by study")} | {
            "90 % covers, in %": 100 * inside["overall"],
            "median high/low": inside["median high/low"],
        }
    yield from table_lines(table, "{:.2f}")


def _synthetic() -> Iterator[str]:
    """T = 0.04 + 0.96/K + 0.01 log2 K, K = 1..64, 5 repeats, 2 % noise."""
    yield f"### A known law: T = 0.04 + 0.96/K + 0.01 log2 K, 5 repeats, 2 % noise, K to 64, {TRIALS} trials"
    yield ""
    rng = np.random.default_rng(17)
    k, at = 2 ** np.arange(7), (128, 256, 512, 1024)
    noise = 1 + 0.02 * rng.standard_normal((TRIALS, len(k), 5))
    studies = [
        sc.Study.from_samples(dict(zip(k.tolist(), own.tolist(), strict=True)), regime="strong")
        for own in _truth(k)[:, None] * noise
    ]
    forecasts = forecast_all(studies, at=at, level=0.95)
    table = {}
    for i, (q, truth) in enumerate(zip(at, _truth(np.array(at)), strict=True)):
        rows = [one[i] for one in forecasts]
        error = np.array([abs(row.value / truth - 1) for row in rows])
        inside = np.mean([row.low <= truth <= row.high for row in rows])
        width = np.median([row.high / row.low for row in rows])
        table[f"K = {q}"] = {
            "median error, %": 100 * np.median(error),
            "95 % covers, %": 100 * inside,
            "high/low": width,
        }
    yield from table_lines(table, "{:.2f}")


def _truth(k: Array) -> Array:
    return np.asarray(0.04 + 0.96 / k + 0.01 * np.log2(k))


def table_lines(rows: Mapping[str, Mapping[str, object]], form: str) -> Iterator[str]:
    columns = list(next(iter(rows.values())))
    yield f"| | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, own in rows.items():
        yield f"| {name} | {' | '.join(form.format(own[column]) for column in columns)} |"
    yield ""


def write_block(page: Path, command: str, lines: list[str]) -> None:
    """Replace the part of a page that a command generates, or add it at the end."""
    begin, end = f"<!-- generated by python -m {command} --write -->", f"<!-- end of {command} -->"
    text = page.read_text(encoding="utf-8") if page.exists() else f"# {page.stem.capitalize()}\n"
    block = "\n".join([begin, "", *lines, end])
    if begin in text:
        head, rest = text.split(begin, 1)
        text = head + block + rest.split(end, 1)[1]
    else:
        text = text.rstrip("\n") + "\n\n" + block + "\n"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
