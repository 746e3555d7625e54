"""Real programs whose cause is known, measured here as a user would and diagnosed.

    python -m bench.known_causes [NAME ...] [--again] [--record]

Each row of known_causes.toml is one command of `scalecurve measure`; its study is kept in out/known_causes, so that a
second start only diagnoses.  `--again` measures anew, `--record` writes the table to bench/known_causes.json.  A cause
is named rightly where the answer is one of `right`, "one of two" where it is a pair that holds it; an answer without a
name is not wrong, one with another is.  On a shared machine give the harness a share of the cores: start it in a group
with a large cpu.shares (cgroup v1) or cpu.weight (v2).
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import ExitStack
from pathlib import Path

from scalecurve.diagnosis import diagnose
from scalecurve.diagnosis.causes import UNDETERMINED

HERE = Path(__file__)
TABLE = tomllib.loads(HERE.with_suffix(".toml").read_text())
KEPT = HERE.parents[1] / "out" / "known_causes"
LONGEST_SECONDS = 240
COMPILERS = {"openmp.c": "gcc -O2 -fopenmp", "mutex.c": "gcc -O2 -pthread", "alltoall.c": "mpicc.mpich -O1"}


def prepare(folder: Path) -> None:
    """The programs and their input."""
    for name, text in TABLE["files"].items():
        (folder / name).write_text(text)
        if name in COMPILERS and shutil.which(COMPILERS[name].split()[0]):  # else its programs are not measured
            own = [*shlex.split(COMPILERS[name]), name, "-o", name.removesuffix(".c")]
            subprocess.run(own, cwd=folder, check=False, stderr=subprocess.DEVNULL)
    (folder / "small").write_bytes(" ".join(str(i * i % 7919) for i in range(600_000)).encode())


def measured(program: str, folder: Path, output: Path) -> str:
    """The last words of the measurement, whose study is then in `output`."""
    row = TABLE["programs"][program]
    words = [sys.executable, "-m", "scalecurve", "measure", "--regime", "strong", "--repeats", "3", "--timeout", "120"]
    words += ["--force", "-o", str(output)] if "--repeats" not in row["words"] else []
    words += shlex.split(row["words"].replace("python3", sys.executable))
    with ExitStack() as stack:
        if "server" in row:
            server = subprocess.Popen(shlex.split(row["server"]), cwd=folder, stdout=subprocess.DEVNULL)
            stack.callback(server.wait)
            stack.callback(server.terminate)
            time.sleep(1.0)
        try:
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            return f"no answer after {LONGEST_SECONDS} s"
    return (done.stderr or done.stdout).strip().splitlines()[-1]


def judged(program: str, study: Path) -> dict[str, object]:
    """What the diagnosis says of a study, and whether that is right."""
    result, right = diagnose(str(study)), TABLE["programs"][program]["right"]
    codes = {finding.code for finding in result.findings}
    named = result.cause
    if result.reason and "oversubscribed" in codes:
        named = "oversubscribed"
    verdict = "not named" if named == UNDETERMINED else "wrong"
    if named in right or set(result.stated) & set(right):
        verdict = "right" if named in right else "one of two"
    return {
        "cause": TABLE["programs"][program]["why"], "right": right, "named": named,
        "chance": round(result.probability, 2), "verdict": verdict, "said": result.sentence,
        "date": time.strftime("%Y-%m-%d", time.gmtime(study.stat().st_mtime)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--kept", type=Path, default=KEPT)
    options = parser.parse_args()
    options.kept.mkdir(parents=True, exist_ok=True)
    rows: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for program in options.names or TABLE["programs"]:
            study = options.kept / f"{program.replace(' ', '-').replace(',', '')}.json"
            begin = time.time()
            last = measured(program, folder, study) if options.again or not study.exists() else ""
            if not study.exists():
                print(f"{program}: not measured ({last})", flush=True)
                continue
            rows[program] = row = judged(program, study)
            load = f"{time.time() - begin:.0f} s, load {os.getloadavg()[0]:.0f}"
            print(f"{row['verdict']:10} {program}: {row['named']} {row['chance']}: {row['said']} ({load})", flush=True)
    counts = {
        verdict: sum(row["verdict"] == verdict for row in rows.values())
        for verdict in ("right", "one of two", "not named", "wrong")
    }
    print(f"{len(rows)} programs: {counts}")
    if options.record:
        HERE.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
