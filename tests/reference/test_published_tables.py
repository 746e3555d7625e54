"""Tables as papers print them, cut from published curves: no accusation where they are right, the fault where not.

The curves are made up here, with the K, noise and losses that published ones have; `make test-data` takes those of the
shared data instead (56 public repositories, each curve with its source).
"""

from __future__ import annotations

import csv
import math
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scalecurve.auditing.audit import RULES, Audit, audit
from scalecurve.auditing.claim_table import read_claim_table
from scalecurve.formats.reading import ReadOptions
from scalecurve.formats.source import Source
from scalecurve.render.terminal import to_text

FOLDER = Path(os.environ.get("SCALECURVE_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
DATA = FOLDER / "curves_open.csv"
PUBLISHED = pytest.param(
    "published",
    marks=[
        pytest.mark.data,
        pytest.mark.skipif(not DATA.exists(), reason="the published curves are not on this machine"),
    ],
)
ARITHMETIC = {rule.code for rule in RULES if rule.contradiction}
Curve = dict[int, float]
MOST_CURVES = 60


def made_up(regime: str) -> list[Curve]:
    """Serial parts, overheads that grow with log K or K, superlinear starts, noise; from K = 1, 2, 24 or 64 on."""
    chance, chosen = random.Random(f"tables {regime}"), []
    for place in range(24):
        start, points = chance.choice((1, 1, 1, 2, 24, 64)), chance.randint(4, 8)
        serial, logs, linear = chance.uniform(0, 0.05), chance.uniform(0, 0.01), chance.choice((0, 0, 2e-5))
        workers = [start * (2**i if place % 3 else i + 1) for i in range(points)]
        seconds = 10 ** chance.uniform(-1, 3.5)
        curve = {}
        for k in workers:
            share = (1 - serial) / k if regime == "strong" else 1 - serial
            cache = 0.93 if place % 5 == 0 and k > start else 1.0
            curve[k] = seconds * (cache * share + serial + logs * math.log2(k) + linear * k) * chance.gauss(1, 0.01)
        chosen.append(curve)
    return chosen


def curves(regime: str = "strong") -> list[Curve]:
    """Mean times of published curves with four or more K, at most two of a source, K rising."""
    sums: dict[str, dict[int, list[float]]] = {}
    sources: dict[str, str] = {}
    with DATA.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["regime"] == regime and row["quantity"] == "time_s" and float(row["value"]) > 0:
                sums.setdefault(row["curve_id"], {}).setdefault(int(float(row["K"])), []).append(float(row["value"]))
                sources[row["curve_id"]] = row["source_repo"]
    chosen: list[Curve] = []
    used: dict[str, int] = {}
    for name, values in sums.items():
        source = sources[name]
        if len(values) >= 4 and used.get(source, 0) < 6 and len(chosen) < MOST_CURVES:
            used[source] = used.get(source, 0) + 1
            chosen.append({k: sum(values[k]) / len(values[k]) for k in sorted(values)})
    return chosen


def printed(curve: Curve, *, decimals: int, percent: bool, relative: bool, weak: bool = False) -> str:
    """A table with K, seconds, S and E, every figure rounded by itself from the exact one."""
    k0 = min(curve)
    lines = ["K,seconds,speedup,efficiency" + (" (%)" if percent and decimals == 2 else "")]
    for k, time in curve.items():
        e = curve[k0] / time if weak else curve[k0] * k0 / (k * time)
        speedup = e * k / (k0 if relative else 1)
        share = f"{100 * e:.{max(0, decimals - 1)}f}" if percent else f"{e:.{max(2, decimals)}f}"
        lines.append(f"{k},{time:.{decimals + 2}f},{speedup:.{decimals}f},{share}")
    return "\n".join(lines) + "\n"


def codes(result: Audit) -> set[str]:
    return {finding.code for finding in (*result.findings, *result.violations)}


@pytest.mark.parametrize("source", ["made up", PUBLISHED])
@pytest.mark.parametrize("regime", ["strong", "weak"])
def test_no_correct_table_is_accused_of_arithmetic(regime: str, source: str) -> None:
    tables, accused = 0, []
    for place, curve in enumerate(curves(regime) if source == "published" else made_up(regime)):
        for decimals in (1, 2, 3):
            percent, relative = bool((place + decimals) % 2), bool((place // 2) % 2)
            text = printed(curve, decimals=decimals, percent=percent, relative=relative, weak=regime == "weak")
            for stated in (regime, None):
                result = audit(read_claim_table(Source("table", raw=text.encode()), ReadOptions.checked(regime=stated)))
                tables += 1
                if blamed := ARITHMETIC & codes(result):
                    accused.append((blamed, text, [str(finding) for finding in result.violations]))
    assert not accused, f"{len(accused)} of {tables}: {accused[:3]}"
    assert tables >= (40 if regime == "strong" else 12)


def test_scores_differ_between_tables_with_more_and_less_in_them() -> None:
    curve = {1: 812.4, 2: 421.7, 4: 222.9, 8: 122.6}
    bare = audit(
        read_claim_table(Source("bare", raw=printed(curve, decimals=2, percent=False, relative=False).encode()))
    )
    k0 = min(curve)
    lines = ["K,seconds,std,n,efficiency,work"]
    lines += [f"{k},{t:.4f},{t / 50:.4f},5,{curve[k0] * k0 / (k * t):.3f},100" for k, t in curve.items()]
    full = audit(read_claim_table(Source("full", raw="\n".join(lines).encode()), ReadOptions.checked(regime="strong")))

    assert full.score >= bare.score + 30
    assert bare.grade == full.grade == "not stated"
    assert f"Next: ask: {bare.questions[0]}" in " ".join(str(bare).split())
    whole = to_text(bare.document(), whole=True)
    asked = [line for line in whole.splitlines() if re.match(r"\d\. ", line)]
    assert len(asked) == 3, "the three questions that would change the verdict most"


TIMES = {1: 812.4, 2: 421.7, 4: 222.9, 8: 122.6, 16: 71.8, 32: 46.5}


def rows(times: Curve = TIMES, **columns: Callable[[int], object]) -> str:
    """A table with K, seconds and the columns as asked."""
    header = ["K", "seconds", *(name.replace("_", " ") for name in columns)]
    body = [[k, time, *(column(k) for column in columns.values())] for k, time in times.items()]
    return "\n".join(",".join(map(str, row)) for row in [header, *body]) + "\n"


def s(k: int) -> float:
    return round(TIMES[1] / TIMES[k], 2)


def e(k: int) -> float:
    return round(TIMES[1] / TIMES[k] / k, 3)


def flat(share: float, start: int) -> Curve:
    """Times whose efficiency stays at `share` from K = `start` to 1,024."""
    ks = [k for k in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if k >= start]
    return {k: t for k, t in TIMES.items() if k < start} | {k: round(812.4 / (share * k), 4) for k in ks}


RATES = {k: round(1e5 / t, 1) for k, t in TIMES.items()}
NOISY = "K,seconds,speedup\n" + "".join(
    f"{k},{a},{m}\n{k},{b},{m}\n{k},{c},{m}\n"
    for k, a, b, c, m in (
        (1, 100, 130, 160, 1), (2, 50, 70, 90, 1.88), (4, 30, 60, 45, 3.01), (8, 15, 35, 20, 6.68),
    )
)  # fmt: skip
PLANTED: dict[str, tuple[str, set[str]]] = {
    "one speedup is off by a tenth": (
        rows(speedup=lambda k: 6.63 if k == 8 else 7.29 if k == 80 else s(k) * (1.1 if k == 16 else 1)),
        {"speedup-does-not-add-up"},
    ),
    "two digits swapped in a speedup": (rows(speedup=lambda k: 1.39 if k == 2 else s(k)), {"speedup-does-not-add-up"}),
    "speedups over a slower program": (
        rows(speedup=lambda k: 1 if k == 1 else round(1.3 * s(k), 2)),
        {"speedup-does-not-add-up"},
    ),
    "speedups over the second row": (
        rows(speedup=lambda k: 1 if k == 1 else round(TIMES[2] / TIMES[k] * 3, 2)),
        {"speedup-does-not-add-up"},
    ),
    "one efficiency is off": (
        rows(speedup=s, efficiency=lambda k: 0.91 if k == 8 else e(k)), {"efficiency-does-not-add-up"},
    ),
    "one efficiency is off, in percent": (
        rows(efficiency=lambda k: 60 if k == 4 else round(100 * e(k))), {"efficiency-does-not-add-up"},
    ),
    "efficiency from the neighbour": (
        rows(speedup=s, efficiency=lambda k: e(max(1, k // 2))), {"efficiency-does-not-add-up"},
    ),
    "weak formula under a strong label": (
        rows(efficiency=lambda k: round(TIMES[1] / TIMES[k], 3)),
        {"efficiency-does-not-add-up", "speedup-as-efficiency"},
    ),
    "speedups as efficiencies": (rows(efficiency=s), {"speedup-as-efficiency"}),
    "speedups as efficiencies, nothing else": (
        "gpus,efficiency\n1,1\n2,1.89\n4,3.45\n8,6.1\n", {"speedup-as-efficiency"},
    ),
    "speedups as efficiencies beside rates": (
        rows(efficiency=s).replace("seconds", "samples/s").replace("812.4", "812.4"),
        {"speedup-as-efficiency", "time-and-rate-swapped"},
    ),
    "efficiencies as speedups": (rows(speedup=e), {"efficiency-as-speedup"}),
    "share and percent mixed": (
        rows(efficiency=lambda k: e(k) if k < 8 else round(100 * e(k), 1)), {"mixed-units"},
    ),
    "share and percent mixed, alone": ("K,efficiency\n1,1\n2,96\n4,91\n8,0.83\n16,71\n", {"mixed-units"}),
    "percent signs in half of the rows": ("K,efficiency\n1,100%\n2,96%\n4,0.91\n8,0.83\n", {"mixed-units"}),
    "rates in the column of times": (rows(RATES, speedup=s), {"time-and-rate-swapped"}),
    "times in the column of rates": (
        rows(speedup=s).replace("seconds", "throughput"), {"time-and-rate-swapped"},
    ),
    "rates in the column of times, nothing else": (rows(RATES), {"time-rises-like-a-rate"}),
    "flat from 8 to 1,024": (rows(flat(0.83, 8)), {"unmarked-extrapolation"}),
    "flat from 64 on, as speedups": (
        "K,speedup\n" + "".join(f"{k},{round(812.4 / t, 1)}\n" for k, t in flat(0.61, 64).items()),
        {"unmarked-extrapolation"},
    ),
    "flat in the efficiency column": (
        "K,efficiency\n1,1.00\n2,0.97\n4,0.93\n8,0.88\n64,0.88\n512,0.88\n4096,0.88\n", {"unmarked-extrapolation"},
    ),
    "no repeats beyond 16": (
        "K,seconds,std,n\n1,812,9,5\n2,421,4,5\n4,223,3,5\n8,122,2,5\n16,72,1,5\n32,44,,\n64,27,,\n",
        {"unmarked-extrapolation"},
    ),
    "means of ratios": (NOISY, {"average-of-ratios"}),
    "a row of averages": ("K,speedup\n2,1.9\n4,3.6\n8,6.6\nmean,4.03\n", {"average-of-ratios"}),
    "two digits swapped in a time": (
        rows(TIMES | {8: 162.2}, speedup=s), {"speedup-does-not-add-up"},
    ),
    "percent of percent": (
        rows(speedup=s, efficiency=lambda k: f"{e(k) / 100:.5f}"), {"efficiency-does-not-add-up"},
    ),
    "efficiency over K - 1": (
        rows(speedup=s, efficiency=lambda k: round(s(k) / max(k - 1, 1), 3)), {"efficiency-does-not-add-up"},
    ),
    "efficiency over the second row": (
        rows(efficiency=lambda k: 1 if k == 1 else round(2 * TIMES[2] / (k * TIMES[k]), 3)),
        {"efficiency-does-not-add-up"},
    ),
    "rates of one worker as totals": (
        rows({k: round(rate / k, 2) for k, rate in RATES.items()}, speedup=s).replace("seconds", "tokens/s"),
        {"speedup-does-not-add-up"},
    ),
    "logarithms of speedups": (rows(speedup=lambda k: round(math.log2(s(k)), 2)), {"speedup-does-not-add-up"}),
    "the gain in percent as a speedup": (
        rows(speedup=lambda k: f"{100 * (s(k) - 1):.0f}%"), {"speedup-does-not-add-up"},
    ),
    "time saved as a speedup": (
        rows(speedup=lambda k: round(1 - TIMES[k] / TIMES[1], 3)), {"speedup-does-not-add-up"},
    ),
    "the ratio upside down": (
        rows(speedup=lambda k: round(TIMES[k] / TIMES[1], 3)), {"time-and-rate-swapped", "speedup-does-not-add-up"},
    ),
    "steps from K/2 as speedups": (
        rows(speedup=lambda k: 1 if k == 1 else round(TIMES[k // 2] / TIMES[k], 2)), {"speedup-does-not-add-up"},
    ),
    "milliseconds in two rows": (
        rows({k: t if k < 16 else 1000 * t for k, t in TIMES.items()}, speedup=s), {"speedup-does-not-add-up"},
    ),
    "the decimal point lost": (rows(speedup=lambda k: 663 if k == 8 else s(k)), {"speedup-does-not-add-up"}),
    "what is lost as efficiency": (
        rows(speedup=s, efficiency=lambda k: round(1 - e(k), 3)), {"efficiency-does-not-add-up"},
    ),
    "efficiency per GPU of eight in a node": (
        rows(speedup=s, efficiency=lambda k: round(e(k) / 8, 4)), {"efficiency-does-not-add-up"},
    ),
    "a column of average speedups": (
        rows(average_speedup=s), {"average-of-ratios"},
    ),
    "a row of geometric means": ("K,speedup\n2,1.9\n4,3.6\n8,6.6\ngeomean,3.56\n", {"average-of-ratios"}),
    "speedups over another program": (rows(speedup=lambda k: round(1.42 * s(k), 2)), {"other-baseline"}),
    "points computed by Amdahl's law": (
        "K,speedup\n" + "".join(f"{k},{1 / (0.03 + 0.97 / k):.3f}\n" for k in (1, 2, 4, 8, 16, 32, 64)),
        {"unmarked-extrapolation"},
    ),
    "an impossible efficiency": (rows(TIMES | {32: 11.0}), {"impossible-efficiency"}),
    "work shrinks with K": (rows(work=lambda k: 1000 - 10 * k), {"workload-changed"}),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_named(name: str) -> None:
    text, expected = PLANTED[name]

    result = audit(read_claim_table(Source(name, raw=text.encode()), ReadOptions.checked(regime="strong")))

    assert expected & codes(result)
    unsure = {"unmarked-extrapolation", "time-rises-like-a-rate", "other-baseline"}
    assert result.grade in ("wrong", "contradictory") or expected & unsure
