"""Real programs measured as a user would: `python -m bench.real_programs [NAME ...] [--minutes 20] [--record]`.

Each row of real_programs.toml is one command (two where a server must run first).  Rows are kept in
out/real_programs.json as they are made: another start goes on with what is missing, then measures again what others
disturbed.  `--record` puts the rows into bench/real_programs.json, from which docs/real-programs.md is made.  `--list`
says what is not installed and how to install it.  Servers listen on ports of their own and end with the harness.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

HERE = Path(__file__)
TABLE = tomllib.loads(HERE.with_suffix(".toml").read_text())
KEPT = HERE.parents[1] / "out" / "real_programs.json"
RECORD = HERE.with_suffix(".json")
LONGEST_SECONDS = 400
Row = dict[str, Any]


def missing(need: str, python: str) -> bool:
    """Whether a program is not on the path, or after a colon a package not in that Python."""
    program, _, package = need.partition(":")
    if not package:
        return shutil.which(program) is None
    return bool(subprocess.run([python_for(need, python), "-c", f"import {package}"], capture_output=True).returncode)


def python_for(need: str, python: str) -> str:
    """The Python that has the package: that of the tool for what the tool itself starts."""
    return sys.executable if need in (":torch", ":distributed", ":ray") else python


def prepare(folder: Path) -> None:
    """The input of all programs."""
    text = " ".join(str(i * i % 7919) for i in range(2_000_000)).encode()
    (folder / "data").write_bytes(text)
    (folder / "data.small").write_bytes(text[:1_500_000])
    (folder / "lines").write_bytes(text.replace(b" ", b"\n"))
    for name, content in TABLE["files"].items():
        (folder / name).write_text(content)
    if shutil.which("gcc"):
        subprocess.run(["gcc", "-O2", "-fopenmp", "openmp.c", "-o", "openmp"], cwd=folder, check=True)


def start_server(kind: str, folder: Path, stack: ExitStack) -> None:
    """Start a server that ends with the stack."""
    if kind == "slurm":
        from tests.testbed.slurm_cluster import slurm_cluster

        os.environ.update(stack.enter_context(slurm_cluster()))
        return
    row, home = TABLE["servers"][kind], folder / kind
    home.mkdir(mode=0o755)
    user = pwd.getpwnam(row["user"]).pw_uid if "user" in row and os.geteuid() == 0 else None
    if user is not None:
        os.chown(home, user, -1)
    if "file" in row:
        (home / row["file"]).write_text(TABLE["files"][row["file"]].replace("HOME", str(home)))
    path = os.pathsep.join([*map(str, Path("/usr/lib/postgresql").glob("*/bin")), os.environ["PATH"], "/usr/sbin"])

    def words(name: str) -> list[str]:
        own = [word.replace("HOME", str(home)) for word in shlex.split(row[name])]
        return [shutil.which(own[0], path=path) or own[0], *own[1:]]

    if "before" in row:
        subprocess.run(words("before"), user=user, check=True, capture_output=True, cwd=home)
    silent = subprocess.DEVNULL
    server = subprocess.Popen(words("start"), cwd=home, user=user, stdout=silent, stderr=silent)
    stack.callback(server.wait)
    stack.callback(server.terminate)
    time.sleep(2.0)
    if "after" in row:
        subprocess.run(words("after"), check=True, capture_output=True)


def measured(program: str, folder: Path, python: str) -> Row:
    """The row of a program: its command, what the answer says first, and every finding that is not information."""
    row, out = TABLE["programs"][program], folder / "study.json"
    out.unlink(missing_ok=True)
    text = row["words"].replace("STRONG", TABLE["strong"]).replace("LOAD", TABLE["load"])
    words = [sys.executable, "-m", "scalecurve", "measure", "--force", "--timeout", "120", "-o", str(out)]
    words += shlex.split(text.replace("PYTHON", python_for(row["needs"], python)))
    begin, load = time.time(), os.getloadavg()[0]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=LONGEST_SECONDS)
        refused = [line for line in done.stderr.splitlines() if line.startswith("scalecurve: ")]
        said, code = done.stdout or "\n".join(refused), done.returncode
    except subprocess.TimeoutExpired:
        said, code = f"no answer after {LONGEST_SECONDS} s", -1
    study = json.loads(out.read_text()) if out.exists() else {}
    findings = [item for item in study.get("findings", ()) if item["severity"] != "info"]
    busy = next((item["evidence"] for item in findings if item["code"] == "disturbed"), {})
    return {
        "command": "scalecurve measure " + text.replace("PYTHON", "python"),
        "said": next((line.strip() for line in said.splitlines() if line.strip()), "nothing"),
        "exit": code,
        "findings": [{name: item[name] for name in ("code", "message", "remedy")} for item in findings],
        "disturbed": bool(busy),
        "others": busy.get("foreign_cores"),
        "load_before": round(load, 2),
        "seconds": round(time.time() - begin, 1),
        "date": time.strftime("%Y-%m-%d"),
    }


def page() -> str:
    """docs/real-programs.md from the recorded rows."""
    rows = json.loads(RECORD.read_text())
    lines = [
        "# Real programs",
        "",
        "What `scalecurve measure` says of programs as they are installed, each by one command: `python -m",
        "bench.real_programs --record` measures them (bench/real_programs.toml has their input files and servers).",
        "Beside other programs an answer comes from bounds, by how long the job waited for cores; the machine had two",
        "cores, and `others` is how many of them other programs used. Another start measures such rows again.",
        "",
        f"{len(rows)} programs, {sum(not row['disturbed'] for row in rows.values())} of them undisturbed.",
        "",
        "| program | command | what it said | others | findings |",
        "|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        codes = ", ".join(f"`{item['code']}`" for item in row["findings"]) or "none"
        others = f"{row['others']:.1f}" if row.get("others") is not None else ""
        cells = (name, f"`{row['command']}`", row["said"], others, codes)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def in_order(rows: dict[str, Row], asked: list[str]) -> list[str]:
    """The programs to measure: those without a row, then those that others disturbed; all that were asked by name."""
    if asked:
        return [name for name in TABLE["programs"] if name in asked]
    fresh = [name for name in TABLE["programs"] if name not in rows]
    return fresh + [name for name in TABLE["programs"] if rows.get(name, {}).get("disturbed")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no further program after this long")
    parser.add_argument("--python", default=os.environ.get("PROGRAMS_PYTHON", sys.executable))
    parser.add_argument("--fresh", action="store_true", help="forget the rows of earlier starts")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    lacking = [name for name, row in TABLE["programs"].items() if missing(row["needs"], options.python)]
    print(f"{len(TABLE['programs']) - len(lacking)} of {len(TABLE['programs'])} programs are here", flush=True)
    if lacking:
        print(f"not here: {', '.join(lacking)}; apt-get install {TABLE['debian']}; pip install {TABLE['pip']}")
    rows: dict[str, Row] = json.loads(KEPT.read_text()) if KEPT.exists() and not options.fresh else {}
    if not options.list:
        measure_all([name for name in in_order(rows, options.names) if name not in lacking], rows, options)
    quiet = sum(not row["disturbed"] for row in rows.values())
    print(f"{len(rows)} programs have a row, {quiet} of them undisturbed")
    if options.record:
        RECORD.write_text(json.dumps(rows, indent=2) + "\n")


def measure_all(names: list[str], rows: dict[str, Row], options: argparse.Namespace) -> None:
    """Measure the programs one after the other and keep each row at once."""
    deadline, started = time.monotonic() + 60 * options.minutes, set[str]()
    KEPT.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)
        prepare(folder)
        for program in names:
            if time.monotonic() > deadline:
                print(f"{options.minutes:g} minutes are over; start again to go on")
                return
            server = TABLE["programs"][program].get("server")
            if server and server not in started:
                start_server(server, folder, stack)
                started.add(server)
            rows[program] = row = measured(program, folder, options.python)
            KEPT.write_text(json.dumps(rows, indent=2))
            print(f"{program} ({row['seconds']} s, load {row['load_before']}): {row['said']}")
            for item in row["findings"]:
                print(f"    [{item['code']}] {item['message']} -> {item['remedy']}", flush=True)


if __name__ == "__main__":
    main()
