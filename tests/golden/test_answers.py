"""The answer of every command: of those that read a study on four (clean, noisy, disturbed, implausible), of the
others on four inputs each.

`SCALECURVE_UPDATE_GOLDEN=1 pytest tests/golden` rewrites answers.txt; read it aloud.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.cli.main import run
from scalecurve.findings import warning
from scalecurve.study import Study
from tests.reference_study import strong_samples, strong_study

FILE = Path(__file__).parent / "files/answers.txt"
COMMANDS = (
    "table", "fit", "forecast", "diagnose", "audit", "regime", "next", "check --min-efficiency 0.5@4", "compare STUDY",
    "cost --price 2.50", "scaleup --faster 4 --big-price 20 --small-price 2 --study", "regime --total 50000",
    "assess PROPOSAL", "report",
)  # fmt: skip
WITHOUT_STUDY = (
    "law amdahl --serial 5%", "law gustafson --serial 5%", "law usl --contention 3% --coherency 0.0001",
    "law karp-flatt --workers 1,2,4,8 --speedups 1,1.88,3.31,5.33",
    "collective cost --bytes 350MB --ranks 8..1024 --network nvlink+ib400",
    "collective cost --op alltoall --bytes 1MB --ranks 2..64 --network 2us/100Gb/s",
    "collective cost --bytes 1kB --ranks 64 --network ib400",
    "collective cost --bytes 350MB --ranks 2..256 --network ib400 --per-step --compute 1s",
    "roofline place --machine h100 --precision bf16 --kernel gemm:2T:300MB",
    "roofline place --machine h100 --precision bf16 --kernel add:1G:12GB",
    "roofline place --machine a100 --kernel gemm:2e9:24e6:0.05", "roofline place --machine h100",
    "straggler --distribution lognorm:s=0.3 --workers 1,8,64,512", "straggler --distribution expon --workers 100",
    "straggler --distribution norm:loc=1,scale=0.01 --workers 64 --slow-share 1%",
    "straggler --distribution pareto:b=2 --workers 8 --steps 10",
    "workdepth classic:reduction:1000", "workdepth classic:scan:64", "workdepth classic:matmul:8",
    "workdepth classic:pipeline:4,16 --workers 1..8",
    "latency replicas --rate 1000 --service 20ms --slo 100ms", "latency replicas --rate 5 --service 1s --slo 2s",
    "latency tails ROOT/examples/course/answers.csv", "latency summary ROOT/examples/course/answers.csv --slo 50ms",
    "audit --speedup 180 --workers 256", "audit --speedup 300 --workers 256", "audit --efficiency 1 --workers 8",
    "audit ROOT/examples/course/vendor.csv",
    "regime --workers 4,16,64 --total 50000", "regime --workers 8,64 --per-worker 256",
    "regime --workers 4,16,64 --total 50000 --times 10,3,1 --called weak",
    "regime ROOT/examples/course/strong_batch.csv",
    "scaleup --faster 4 --big-price 20 --small-price 2 --law amdahl --serial 5%",
    "scaleup --faster 40 --big-price 20 --small-price 2 --law amdahl --serial 5%",
    "cost --law amdahl --serial 5% --workers 1..64 --price 2.50 --deadline 10min",
    "cost --law amdahl --serial 5% --workers 1..64 --price 2.50 --budget 3",
    "assess ROOT/examples/proposals/doubling-256.toml", "assess ROOT/examples/proposals/vendor-180x.toml",
    "assess ROOT/examples/proposals/fixed-batch.toml", "assess ROOT/examples/proposals/honest-baseline.toml",
    "plan --model llama3-70b --cluster h100-ib400 --gpus 1024 --global-batch 4Mi",
    "plan --model llama3-8b --cluster h100-ib400 --gpus 64 --tokens 15T",
    "plan --model llama3-8b --cluster a100-ib200 --gpus 8..64", "plan --model llama3-70b --cluster h100-ib400 --gpus 8",
    "measure --workers 1,2 --regime strong --dry-run --expected-seconds 1s -o new.json -- sleep 0.{workers}",
    "import ROOT/examples/database/pgbench.csv --explain", "explain order-unknown",
    "fit ROOT/examples/grids/stencil.csv --regime strong --hold 80%",
)  # fmt: skip
ROOT = Path(__file__).parents[2]
PROPOSAL = """title = "Twice as many"
workers = 128
workers_today = 64
k_unit = "gpus"
regime = "strong"
[strong]
study = "{study}"
"""
NO_NUMBER = r"[0-9]|missing|measure|^(No|Cannot|Do not|One) "
LONGEST = 120  # characters of a decision


def noisy() -> Study:
    rng = np.random.default_rng(3)
    samples = {
        k: (np.mean(times) * np.exp(0.25 * rng.standard_normal(3))).tolist() for k, times in strong_samples().items()
    }
    return Study.from_samples(samples, regime="strong", k_unit="gpus", name="noisy")


def disturbed() -> Study:
    message = "Other processes used up to 1.6 cores during K = 4, K = 8"
    return strong_study().with_findings([warning("disturbed", message, k=[4, 8], cores=1.6)])


def implausible() -> Study:
    return Study.from_samples({1: [1.0], 2: [1.9], 4: [3.4], 8: [5.5]}, regime="strong", k_unit="gpus", name="speedups")


STUDIES = {"clean": strong_study, "noisy": noisy, "disturbed": disturbed, "implausible": implausible}


def said(command: str, path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], dict[str, str | None]]:
    """The lines of the terminal up to the first blank one, and the answer of the JSON; empty where it is refused."""
    proposal = path.with_suffix(".toml")
    proposal.write_text(PROPOSAL.format(study=path.name))
    words = [str(path) if word == "STUDY" else word for word in command.split()]
    if words[0] == "report":
        [page] = sc.write_report(path, path.with_suffix(".svg").with_suffix(".html"))
        return said_by_the_page(page), {}
    if "PROPOSAL" in words:
        words[words.index("PROPOSAL")] = str(proposal)
    else:
        words = [*words, str(path)] if words[-1] == "--study" else [words[0], str(path), *words[1:]]
    return answered(words, capsys)


def said_by_the_page(page: Path) -> list[str]:
    """The paragraphs of the answer at the head of a report."""
    text = page.read_text()
    box = text[text.index('class="answer"') :]
    return [re.sub(r"<[^>]+>|&#39;", "", line).strip() for line in re.findall(r"<p[^>]*>.*?</p>", box, re.DOTALL)[:3]]


def answered(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[list[str], dict[str, str | None]]:
    """The lines of the terminal up to the first blank one, and the answer of the JSON; empty where it is refused."""
    if run(words) == 2:
        return [capsys.readouterr().err.strip()], {}
    lines = capsys.readouterr().out.split("\n\n")[0].splitlines()
    place = words.index("--") if "--" in words else len(words)
    run([*words[:place], "--json", *words[place:]])
    return lines, json.loads(capsys.readouterr().out).get("answer") or {}


def judged(name: str, lines: list[str], answer: dict[str, str | None]) -> list[str]:
    """What is wrong with an answer: too long, no number and no word of what is missing, or another one in JSON."""
    decision = str(answer.get("decision", ""))
    if not decision:
        return []
    faults = [f"{name}: {len(decision)} characters: {decision}"] if len(decision) > LONGEST else []
    if not re.search(NO_NUMBER, decision):
        faults.append(f"{name}: no number: {decision}")
    return faults + ([] if " ".join(lines).startswith(decision) else [f"{name}: {lines[0]!r} is not {decision!r}"])


def test_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "examples").symlink_to(ROOT / "examples")  # how lines wrap must not depend on where the tree lies
    parts, faults = [], []
    for name, make in STUDIES.items():
        path = Path(f"{name}.json")
        sc.save(make(), path)
        for command in COMMANDS:
            lines, answer = said(command, path, capsys)
            parts.append("\n".join([f"## {command}: {name}", *lines]))
            faults += judged(f"{command}: {name}", lines, answer)
    for command in WITHOUT_STUDY:
        lines, answer = answered(command.replace("ROOT/", "").split(), capsys)
        parts.append("\n".join([f"## {command}", *(line.replace(str(ROOT), "ROOT") for line in lines)]))
        faults += judged(command, lines, answer)
    assert not faults, "\n".join(faults)
    text = "\n\n".join(parts) + "\n"
    if os.environ.get("SCALECURVE_UPDATE_GOLDEN"):
        FILE.write_text(text)
    assert FILE.read_text() == text


@pytest.mark.parametrize("name", STUDIES)
def test_table_report_and_python_say_one_decision(name: str, tmp_path: Path) -> None:
    study = STUDIES[name]()
    decision = sc.tabulate(study).answer.decision
    [page, *_] = sc.write_report(study, tmp_path / "report.md")
    assert decision in page.read_text().replace("\\", "")
    assert repr(sc.tabulate(study)).startswith(decision[:60])


def test_no_k_is_recommended_from_implausible_values(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "speedups.json"
    sc.save(implausible(), path)
    for command in (
        "table",
        "cost --price 2.50",
        "forecast",
        "fit",
        "diagnose",
        "next",
        "compare STUDY",
        "assess PROPOSAL",
    ):
        lines, answer = said(command, path, capsys)
        assert "speedups, not times" in str(answer["decision"]), (command, lines)
        assert lines[0].startswith(("No ", "Nothing ")), (command, lines)
