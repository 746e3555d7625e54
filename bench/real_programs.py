"""Real programs measured as a user would: `python -m bench.real_programs [NAME ...]` prints a table in Markdown.

Each row is one command (two where a server must run first).  The table has the command, what the answer says first, and
the codes of its findings.  A program that is not installed is left out.  Servers listen on ports of their own and are
ended with the harness.
"""

from __future__ import annotations

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
from contextlib import ExitStack, suppress
from pathlib import Path

TABLE = Path(__file__).with_suffix(".toml")
OPENMP = """
#include <stdio.h>
#include <omp.h>
int main(void) {
    double sum = 0, begin = omp_get_wtime();
    #pragma omp parallel for reduction(+:sum)
    for (long i = 1; i < 150000000L; i++) sum += 1.0 / i;
    printf("sum %.6f elapsed %.6f s\\n", sum, omp_get_wtime() - begin);
}
"""
MAKEFILE = "all: " + " ".join(f"t{i}" for i in range(8)) + "\nt%:\n\t@xz -9 -c data.small > /dev/null\n.PHONY: all\n"
SQLITE = """
import sqlite3, sys, threading, time
k, rows = int(sys.argv[1]), 2000
sqlite3.connect("w.db", isolation_level=None).executescript(
    "pragma journal_mode=wal; create table if not exists t(x)")
def write(count):
    own = sqlite3.connect("w.db", timeout=60, isolation_level=None)
    for i in range(count): own.execute("insert into t values (?)", (i,))
begin = time.perf_counter()
workers = [threading.Thread(target=write, args=(rows // k,)) for _ in range(k)]
[w.start() for w in workers]; [w.join() for w in workers]
print("rows written:", rows, "elapsed:", round(time.perf_counter() - begin, 6), "s")
"""
DUCKDB = """
import duckdb, sys, time
own = duckdb.connect(config={"threads": int(sys.argv[1])})
begin = time.perf_counter()
print(own.sql("select sum(hash(i) % 97) from range(60000000) t(i)").fetchall()[0], time.perf_counter() - begin)
"""
LIGHTGBM = """
import sys, time, numpy as np, lightgbm
rng = np.random.default_rng(0); x = rng.normal(size=(60000, 30)); y = x[:, 0] + rng.normal(size=len(x))
begin = time.perf_counter()
lightgbm.train({"num_threads": int(sys.argv[1]), "verbose": -1, "num_leaves": 63}, lightgbm.Dataset(x, y), 60)
print("train seconds:", time.perf_counter() - begin)
"""
LAMMPS = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 12 0 12 0 12
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 100
"""


def prepare(folder: Path) -> None:
    """The input of all programs."""
    text = " ".join(str(i * i % 7919) for i in range(2_000_000)).encode()
    (folder / "data").write_bytes(text)
    (folder / "data.small").write_bytes(text[:1_500_000])
    files = {"Makefile": MAKEFILE, "sqlite.py": SQLITE, "duck.py": DUCKDB, "gbm.py": LIGHTGBM, "in.lj": LAMMPS}
    for name, content in {**files, "openmp.c": OPENMP}.items():
        (folder / name).write_text(content)
    if shutil.which("gcc"):
        subprocess.run(["gcc", "-O2", "-fopenmp", "openmp.c", "-o", "openmp"], cwd=folder, check=True)


def start_server(kind: str, folder: Path, stack: ExitStack) -> None:
    """Start a server that ends with the stack."""
    home = folder / kind
    home.mkdir(mode=0o755)
    user = None
    if kind == "redis":
        words = ["redis-server", "--port", "16379", "--save", "", "--dir", str(home)]
    elif kind == "nginx":
        (home / "nginx.conf").write_text(
            f"daemon off; pid {home}/pid; error_log {home}/log; worker_processes 1; events {{}}\n"
            "http { access_log off; server { listen 18080; location / { return 200 'hello'; } } }\n"
        )
        words = ["nginx", "-c", str(home / "nginx.conf")]
    else:
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        with suppress(KeyError, PermissionError):
            user = pwd.getpwnam("postgres").pw_uid if os.geteuid() == 0 else None
            if user is not None:
                os.chown(home, user, -1)
        data = str(home / "data")
        subprocess.run([programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres"], user=user, check=True,
                       capture_output=True, cwd=home)  # fmt: skip
        words = [str(programs / "postgres"), "-D", data, "-p", "15432", "-k", "/tmp"]
    server = subprocess.Popen(words, cwd=home, user=user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(server.wait)
    stack.callback(server.terminate)
    time.sleep(2.0)
    if kind == "postgres":
        words = ["pgbench", "-h", "/tmp", "-p", "15432", "-U", "postgres", "-i", "-s", "5", "postgres"]
        subprocess.run(words, check=True, capture_output=True)


def main() -> None:
    asked = sys.argv[1:]
    python = os.environ.get("PROGRAMS_PYTHON", sys.executable)
    table = tomllib.loads(TABLE.read_text())
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)
        prepare(folder)
        started: set[str] = set()
        print("| program | command | what it said | findings |\n|---|---|---|---|")
        for program, row in table["programs"].items():
            if (asked and program not in asked) or shutil.which(row["needs"].replace("PYTHON", python)) is None:
                continue
            if row.get("server") and row["server"] not in started:
                start_server(row["server"], folder, stack)
                started.add(row["server"])
            text = row["words"].replace("STRONG", table["strong"]).replace("LOAD", table["load"])
            print(line_of(program, text, folder, python), flush=True)


def line_of(program: str, text: str, folder: Path, python: str) -> str:
    """Measure the program; the row of the table."""
    out = folder / "study.json"
    words = [sys.executable, "-m", "scalecurve", "measure", "--force", "-o", str(out)]
    words += shlex.split(text.replace("PYTHON", python))
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    said = next((line for line in (done.stdout or done.stderr).splitlines() if line.strip()), "nothing")
    findings = json.loads(out.read_text())["findings"] if out.exists() else []
    codes = ", ".join(sorted({f"`{item['code']}`" for item in findings if item["severity"] != "info"}))
    if os.environ.get("PROGRAMS_VERBOSE"):
        for item in findings:
            print("   ", item["code"], ":", item["message"], "->", item["remedy"])
    command = text.replace("PYTHON", "python").replace("|", "\\|")
    return f"| {program} | `measure {command}` | {said} | {codes or 'none'} |"


if __name__ == "__main__":
    main()
