"""Random command lines over every command: python -m bench.cli_fuzz [--count 2000] [--seed 1]

Half of the lines are random options, half are the examples of the JSON reference with one or two words replaced.
Each line runs in this process, in an empty folder with a few study files.  A failure is an internal error (exit 70), a
traceback, a refusal without a message, an exit code that no command has, a line that takes more than 10 s, or a file
written outside the folder's own outputs.  Commands that start programs or servers are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from scalecurve.cli.main import app, run

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES, SCHEMAS = ROOT / "examples", ROOT / "src" / "scalecurve" / "schemas.json"
LEFT_OUT = {
    "measure",
    "explore",
    "doctor",
    "collective measure",
    "roofline measure",
    "roofline torch",
    "latency measure",
}
EXITS = {0, 1, 2, 130}
SECONDS = 10
WORDS = (
    "0", "1", "2", "-1", "64", "1e12", "1e308", "-1e308", "1e-320", "nan", "inf", "-inf", "0.5", "5%", "100%", "200%",
    "1,2,4,8", "1..64", "1..8:1", "8..1", "1..100000000", ",", "", " ", "-", "--", "x", "é", "=1+1", "\x1b[31m", "1h",
    "0s", "10ms", "-5ms", "1e400s", "2.5", "1e9999", "strong", "weak", "amdahl", "usl", "allreduce", "h100-ib400",
    "llama3-8b", "4Mi", "1Gi", "-4Mi", "tp=8", "dp=2,tp=2", "a=b", "gemm:1T:1GB", ":", "0x10", "1_000", "runs.csv",
    "study.json", "broken.json", "missing.csv", ".", "/dev/null", "out.txt", "out.json", "out.csv", "out.svg", "{}",
    "[]",
)  # fmt: skip


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that is not a group, with the words that call it."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        if child is not None:
            yield from leaves(child, (*path, name))


def example_lines() -> list[list[str]]:
    """The lines of the JSON reference that need no file of a test and start nothing."""
    schemas = json.loads(SCHEMAS.read_text(encoding="utf-8"))["commands"]
    lines = [shlex.split(line) for part in schemas.values() for line in part["examples"]]
    names = {"examples/reference/strong.csv": "runs.csv", "examples/local/study.json": "study.json"}
    kept = [[names.get(word, word) for word in line] for line in lines if line[0] not in LEFT_OUT]
    return [line for line in kept if not any("/" in word for word in line) and " ".join(line[:2]) not in LEFT_OUT]


def mutated(rng: random.Random, line: list[str]) -> list[str]:
    words = list(line)
    for _ in range(rng.choice((1, 1, 2))):
        words[rng.randrange(1, len(words))] = rng.choice(WORDS)
    return words


def random_line(rng: random.Random, path: tuple[str, ...], command: click.Command) -> list[str]:
    line = list(path)
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            if rng.random() < 0.9:
                likely = ("runs.csv", "study.json", *WORDS) if rng.random() < 0.5 else ("runs.csv", "study.json")
                line.append(rng.choice(likely))
        elif rng.random() < (0.9 if parameter.required else 0.25):
            line.append(rng.choice(parameter.opts))
            if not getattr(parameter, "is_flag", False):
                good = [str(parameter.default)] if isinstance(parameter.default, str | int | float) else []
                line.append(rng.choice([*WORDS, *good * 20]))
    if rng.random() < 0.5:
        line += ["--regime", "strong"]
    return line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    commands = [(path, command) for path, command in leaves(app) if " ".join(path) not in LEFT_OUT]
    examples = example_lines()
    failures: Counter[str] = Counter()
    slowest = (0.0, "")

    def too_long(*_: object) -> None:
        raise TimeoutError(f"more than {SECONDS} s")

    signal.signal(signal.SIGALRM, too_long)
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number in range(options.count):
            if number % 200 == 0:  # outputs of earlier lines may have replaced the files
                shutil.copy(EXAMPLES / "reference" / "strong.csv", "runs.csv")
                shutil.copy(EXAMPLES / "local" / "study.json", "study.json")
                Path("broken.json").write_text('{"regime": "strong", "runs": [{"k": 1')
            path, command = rng.choice(commands)
            line = random_line(rng, path, command) if rng.random() < 0.5 else mutated(rng, rng.choice(examples))
            out, err, begin = io.TextIOWrapper(io.BytesIO()), io.StringIO(), time.process_time()
            signal.alarm(SECONDS)
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    code = run(line)
                wrong = "" if code in EXITS else f"exit {code}: {err.getvalue()[:160]}"
                if code == 2 and not err.getvalue().strip():
                    wrong = "refused without a message"
            except BaseException as problem:
                wrong = f"{type(problem).__name__}: {problem}"
            finally:
                signal.alarm(0)
            slowest = max(slowest, (time.process_time() - begin, " ".join(line)))
            if wrong:
                failures[wrong.splitlines()[0]] += 1
                print(f"FAILED {wrong.strip()}\n    scalecurve {' '.join(map(repr, line))}", file=sys.stderr)
        os.chdir(home)
    print(f"{options.count} lines over {len(commands)} commands: {sum(failures.values())} failures; "
          f"slowest {slowest[0]:.1f} s of CPU: {slowest[1][:120]!r}")  # fmt: skip
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
