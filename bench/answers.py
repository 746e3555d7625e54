"""Lines and CPU of every command on the shipped examples: `python -m bench.answers [NAME ...]`.

A line count is that of a pipe at 100 columns.  CPU is user + sys of a fresh process, the least of three, in seconds and
as a ratio to `python -c "import numpy"` of the same run, because seconds of another machine mean little.
"""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_LINES = 24
STRONG = "examples/reference/strong.csv --regime strong"
COMMANDS = {  # name: (arguments, CPU seconds asked for where issue and guide name a figure)
    "table": (f"table {STRONG}", 0.40),
    "forecast": (f"forecast {STRONG} --at 128,256", 0.40),
    "audit": ("audit --speedup 180 --workers 256", 0.40),
    "audit study": (f"audit {STRONG}", 0.40),
    "cost": (f"cost {STRONG} --price 2.50", 0.40),
    "diagnose": (f"diagnose {STRONG}", 0.60),
    "fit": (f"fit {STRONG}", 0.60),
    "straggler": ("straggler --distribution lognorm:s=0.3 --workers 1,8,64,512 --backups 0,1,4", 0.50),
    "report": (f"report {STRONG.split()[0]} --regime strong -o {{out}}/report.html", 1.50),
    "next": (f"next {STRONG}", None),
    "regime": ("regime --workers 4,16,64 --total 50000", None),
    "regime file": ("regime examples/course/strong_batch.csv", None),
    "compare": ("compare examples/local/study.json examples/openmp/study.json --allow-mixed", None),
    "check": ("check examples/local/study.json --against examples/local/study.json", None),
    "assess": ("assess examples/proposals/doubling-256.toml", None),
    "scaleup": ("scaleup --faster 4 --big-price 20 --small-price 2 --law amdahl --serial 5%", None),
    "law": ("law amdahl --serial 5% --workers 1..512", None),
    "collective": ("collective cost --bytes 350MB --ranks 8..1024 --network nvlink+ib400", None),
    "roofline": (
        "roofline place --machine h100 --precision bf16 --kernel gemm:2T:300MB",
        None,
    ),
    "workdepth": ("workdepth classic:reduction:1000 --workers 1..64", None),
    "latency": ("latency replicas --rate 1000 --service 20ms --slo 100ms", None),
    "latency tails": ("latency tails examples/course/answers.csv --fan-out 1,10,100", None),
    "fit grid": ("fit examples/grids/stencil.csv --regime strong --hold 80%", None),
    "assess vendor": ("assess examples/proposals/vendor-180x.toml", None),
    "assess every part": ("assess examples/proposals/every-part.toml", None),
    "audit table": ("audit examples/course/vendor.csv", None),
    "diagnose hosts": ("diagnose examples/hosts/study.json", None),
    "measure dry": ("measure examples/local/study.toml --dry-run --expected-seconds 1s -o {out}/new.json", None),
    "plan": ("plan --model llama3-70b --cluster h100-ib400 --gpus 1024 --global-batch 4Mi", None),
    "weak": ("table examples/weak/study.json", None),
    "diagnose measured": ("diagnose examples/mpi/study.json", None),
    "import": ("import examples/database/pgbench.csv --explain", None),
    "doctor": ("doctor", None),
}


def spent(arguments: list[str]) -> tuple[float, str, int]:
    """CPU seconds (user + sys) of a process, its standard output and its exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["COLUMNS"] = "100"
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return cpu, done.stdout or done.stderr, done.returncode


def least(arguments: list[str]) -> tuple[float, str, int]:
    """The least CPU of three runs, with the output and exit code of the last."""
    runs = [spent(arguments) for _ in range(3)]
    return min(run[0] for run in runs), runs[-1][1], runs[-1][2]


def main(names: list[str]) -> int:
    """Print the table; the exit code is 1 where a command is longer or slower than asked."""
    numpy, _, _ = least([sys.executable, "-c", "import numpy"])
    print(f"import numpy: {numpy:.2f} s of CPU\n")
    print(f"{'command':<18} {'lines':>5} {'CPU s':>6} {'/ numpy':>7} {'asked':>6}  first line")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, asked) in COMMANDS.items():
            if names and name not in names:
                continue
            words = shlex.split(text.replace("{out}", folder))
            cpu, output, code = least([sys.executable, "-m", "scalecurve", *words])
            lines = len(output.splitlines())
            missed += lines > MOST_LINES or (asked is not None and cpu > asked) or code not in (0, 1)
            marks = ("" if code in (0, 1) else f" EXIT {code}") + (" LONG" if lines > MOST_LINES else "")
            limit = "" if asked is None else f"{asked:.2f}"
            first = output.splitlines()[0] if output else ""
            print(f"{name:<18} {lines:>5} {cpu:>6.2f} {cpu / numpy:>7.1f} {limit:>6}  {first[:90]}{marks}", flush=True)
    print(f"\n{missed} of the commands miss what is asked." if missed else "\nAll as asked.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
