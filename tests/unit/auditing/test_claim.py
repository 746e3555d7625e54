"""Claims: the template, bare claims, tables."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from scalecurve.auditing.audit import audit
from scalecurve.auditing.claim import Claim, claim_template, load_claim
from scalecurve.errors import InputError
from scalecurve.formats.reading import ReadOptions
from scalecurve.study import Placement, Regime, Run, Study


def test_the_template_is_a_claim_and_so_is_every_line_of_it() -> None:
    lines = claim_template().splitlines()
    everything = "\n".join(line.removeprefix("# ") for line in lines[2:])

    bare = Claim.model_validate(tomllib.loads(claim_template()))
    whole = Claim.model_validate(tomllib.loads(everything))

    assert [(point.k, point.speedup) for point in bare.points] == [(256, 180.0)]
    assert {point.k for point in whole.points} == {8, 256}
    assert whole.measurement.repeats == 5


def test_a_bare_claim_names_itself_and_all_its_faults() -> None:
    claim = load_claim(workers=256, speedup=180, options=ReadOptions(k_unit="gpus"))

    assert claim.name == "180x on 256 gpus"
    with pytest.raises(InputError) as caught:
        load_claim(workers=0, speedup=-1)
    assert len(caught.value.faults) == 2


def test_rows_of_one_k_are_repeats_and_percent_is_understood(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("gpus,seconds,efficiency\n1,100,100\n1,102,100\n4,30,83\n4,,83\n")

    claim = load_claim(path)

    assert isinstance(claim, Claim)
    assert [(p.k, p.seconds, p.n) for p in claim.points] == [(1, 101.0, 2), (4, 30.0, 1)]
    assert claim.points[0].std == pytest.approx(2**0.5)
    assert claim.points[1].efficiency == pytest.approx(0.83)


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("md", "| **GPUs** | Time (s) | Speedup | Efficiency |\n|--|--|--|--|\n| 1 | 120 ± 2 | 1.0× | 100 % |\n"
               "| 2 | 62.5 ± 1 | 1.9× | 96 % |\n"),
        ("csv", "GPUs;Laufzeit (s);Beschleunigung;Effizienz\n1;120,0;1,0;1,00\n2;62,5;1,9;0,96\n"),
        ("tex", "\\begin{tabular}{rrrr}\nGPUs & Time (s) & Speedup & Efficiency (\\%) \\\\\n\\midrule\n"
                "1 & 120.0 & $1.0\\times$ & 100 \\\\\n2 & 62.5 & $1.9\\times$ & 96 \\\\\n\\end{tabular}\n"),
        ("csv", "GPUs,1,2\ntime (s),120,62.5\nspeedup,1.0,1.9\nefficiency,1.00,0.96\n"),
        ("csv", "gpus,time,speedup,efficiency\n1,2m0s,1.0x,100%\n2,62.5 s,1.9x,96%\n4,OOM,,\n"),
    ],
)  # fmt: skip
def test_the_audit_reads_every_table_that_table_reads(tmp_path: Path, ending: str, text: str) -> None:
    path = tmp_path / f"claim.{ending}"
    path.write_text(text)

    claim = load_claim(path)

    assert isinstance(claim, Claim)
    figures = [(point.k, point.seconds, point.speedup, point.efficiency) for point in claim.points]
    assert figures == [(1, 120.0, 1.0, 1.0), (2, 62.5, 1.9, 0.96)]
    assert claim.points[1].last_digit["speedup"] == pytest.approx(0.1)
    assert claim.k_unit == "gpus"


def test_a_comma_of_two_readings_in_a_speedup_is_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "claim.csv"
    path.write_text("GPUs;speedup\n1;1,000\n2;1,923\n")

    with pytest.raises(InputError, match="decimals or thousands"):
        load_claim(path)


def test_times_without_a_regime_are_read_only_where_one_regime_fits() -> None:
    """Flat times are E = 0.92 under weak and 0.115 under strong scaling; growing sizes, or times that fall, decide."""
    flat, falling = {1: 100.2, 8: 109.3}, {1: 100.2, 8: 14.0}

    def efficiency(times: dict[int, float], sizes: dict[int, float] | None = None) -> float | None:
        points = [{"k": k, "seconds": t, "batch": (sizes or {}).get(k)} for k, t in times.items()]
        claim = Claim.model_validate({"points": points})
        return claim.efficiency_of(claim.points[-1])

    assert efficiency(flat) is None
    assert efficiency(flat, {1: 32, 8: 256}) == pytest.approx(0.917, abs=1e-3)
    assert efficiency(flat, {1: 32, 8: 32}) == pytest.approx(0.115, abs=1e-3)
    assert efficiency(falling) == pytest.approx(0.895, abs=1e-3)


def test_an_audit_of_flat_times_names_both_readings() -> None:
    answer = audit({"points": [{"k": 1, "seconds": 100.2}, {"k": 8, "seconds": 109.3}]})
    row = next(row for row in answer.checklist if "efficiency" in row.item)

    assert row.status == "missing"
    assert "0.115 if the total work was fixed, 0.917 if the work per worker was" in row.evidence
    assert "mostly-idle" not in {finding.code for finding in answer.findings}


@pytest.mark.parametrize(("unit", "violated"), [("cores", False), ("threads", False), ("ranks", True)])
def test_more_threads_are_a_larger_k_where_k_counts_them(unit: str, violated: bool) -> None:
    runs = tuple(Run(k=k, value=1 / k, placement=Placement(ranks=1, threads_per_rank=k)) for k in (1, 2, 4))
    answer = audit(Study(regime=Regime.STRONG, runs=runs, k_unit=unit))

    assert ("threads-changed" in {finding.code for finding in answer.violations}) is violated


@pytest.mark.parametrize("name", ["E (%)", "E [%]", "E_p (%)", "PE (%)", "par. eff. (%)", "η (%)"])
def test_a_wrong_efficiency_is_seen_under_every_name_that_papers_use(tmp_path: Path, name: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"cores,time (s),S_p,{name}\n1,80.1,1.00,100.0\n2,42.0,1.91,95.4\n4,22.9,3.50,97.4\n")

    assert audit(path).grade == "contradictory"


def test_finer_figures_that_agree_with_rounded_times_decide_the_efficiency(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("gpus,seconds,speedup,efficiency\n1,0.3,1.00,1.00\n2,0.1,1.95,0.97\n4,0.1,3.71,0.93\n")

    answer = audit(path)

    assert "superlinear" not in {item.code for item in (*answer.violations, *answer.findings)}
    assert [round(e, 3) for _, e in answer.claim.curve] == [0.975, 0.927]


def test_rounded_times_alone_prove_neither_superlinear_nor_impossible_nor_perfect_scaling(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    suspected = {"superlinear", "impossible-efficiency", "perfectly-linear"}
    for text in ("1,0.3\n2,0.1\n4,0.1\n", "1,1\n4,0.1\n8,0.1\n", "1,0.4\n2,0.2\n4,0.1\n"):
        path.write_text(f"gpus,seconds\n{text}")
        answer = audit(path)
        assert not suspected & {item.code for item in (*answer.violations, *answer.findings)}, text

    path.write_text("gpus,seconds\n1,300.0\n2,100.0\n4,30.0\n")
    answer = audit(path)
    assert {"superlinear", "impossible-efficiency"} <= {item.code for item in (*answer.violations, *answer.findings)}


def test_a_claim_and_a_table_may_be_json(tmp_path: Path) -> None:
    claim, rows = tmp_path / "claim.json", tmp_path / "rows.json"
    claim.write_text('{"statement": "near-linear", "workers": 256, "speedup": 180}')
    rows.write_text('[{"gpus": 1, "time_s": 100}, {"gpus": 2, "time_s": 52}]'.replace("}", ', "speedup": 1.0}'))

    said, table = load_claim(claim, regime="strong"), load_claim(rows, regime="strong")

    assert isinstance(said, Claim)
    assert (said.regime, said.points[0].speedup) == ("strong", 180.0)
    assert isinstance(table, Claim)
    assert [point.seconds for point in table.points] == [100.0, 52.0]


def test_a_contradiction_says_which_column_gives_what_in_its_own_unit(tmp_path: Path) -> None:
    path = tmp_path / "rates.csv"
    path.write_text("gpus,images/s,efficiency (%)\n8,2400,100\n16,4500,93.8\n32,8100,99.0\n")

    found = audit(load_claim(path, regime="strong"))

    messages = [finding.message for finding in found.violations]
    assert "at K = 32 E is published as 99.0, the rates give 84.4 %" in messages
    assert any("S(8) = 8" in str(block) for block in found.document().details)


def test_a_table_is_audited_with_the_columns_that_table_would_choose(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("ranks,threads,comm (s),total (s),speedup\n1,4,1,100,1\n2,8,4,54,1.85\n4,16,6,31,3.23\n")

    assert [point.k for point in load_claim(path).points] == [1, 2, 4]  # E is the same by either count
    claim = load_claim(path, options=ReadOptions(k_column="threads", k_unit="threads"))

    assert isinstance(claim, Claim)
    assert [(point.k, point.seconds, point.speedup) for point in claim.points] == [
        (4, 100, 1),
        (8, 54, 1.85),
        (16, 31, 3.23),
    ]
    assert claim.k_unit == "threads"
    rows = tmp_path / "rows.json"
    rows.write_text('{"threads": [1, 2], "time_s": [10.2, 5.5]}')
    listed = load_claim(rows)
    assert isinstance(listed, Claim)
    assert [(point.k, point.seconds) for point in listed.points] == [(1, 10.2), (2, 5.5)]


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ("nodes,time (s),note\n1,640,measured\n2,330,measured\n4,172,projected\n", "extrapolation-as-result"),
        ("ranks,threads per rank,time (s)\n1,1,400\n2,4,110\n4,4,60\n", "threads-changed"),
    ],
)
def test_what_a_column_beside_the_figures_says(tmp_path: Path, table: str, code: str) -> None:
    (tmp_path / "table.csv").write_text(table)

    assert code in {finding.code for finding in audit(tmp_path / "table.csv", regime="strong").violations}


@pytest.mark.parametrize(
    "table",
    [
        "threads,input,time,speedup\n1,a,100,1\n1,b,10,1\n4,a,50,2\n4,b,2,5\n",
        "solver,cores,speedup\ncg,1,1\ncg,2,1.9\nmg,1,1\nmg,2,1.7\n",
    ],
)
def test_rows_of_different_curves_are_not_pooled(tmp_path: Path, table: str) -> None:
    (tmp_path / "table.csv").write_text(table)

    with pytest.raises(InputError, match=r"several curves|keep the rows of one curve"):
        audit(tmp_path / "table.csv")


def test_digits_of_a_division_are_not_called_too_precise(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("K,time (s),speedup\n128,29,128.000\n256,16,232.000\n512,10,371.200\n")

    assert "superhuman-precision" not in {finding.code for finding in audit(tmp_path / "table.csv").violations}


def test_a_single_point_far_out_without_a_loss_is_doubted() -> None:
    assert "perfectly-linear" in str(audit(load_claim(workers=256, speedup=256)))
    assert "perfectly-linear" not in str(audit(load_claim(workers=2, speedup=2)))


def test_a_single_figure_is_asked_for_what_it_does_not_state() -> None:
    bare = {"workers": 256, "efficiency": 0.9}
    stated = bare | {"regime": "weak", "baseline": {"k": 8, "description": "one server of 8 GPUs"}}

    assert "Relative to what" in str(audit(bare).answer.next)
    assert "Relative to what" not in str(audit(stated).answer.next)
