"""Random command lines over every command.

    python -m bench.cli_fuzz [--count 2000] [--seed 1] [--figures FILE] [--record]
    python -m bench.cli_fuzz --sum FILE... --record

Half of the lines are random options, half are the examples of the JSON reference with one or two words replaced.
Each line runs in this process, in an empty folder with a few study files.  A failure is an internal error (exit 70), a
traceback, a refusal without a message or without a way out, an exit code that no command has, a line that takes more
than 10 s of CPU or two minutes, or a file written outside the folder.  Commands that start programs or servers are left
out.  `--record` writes the figures to bench/reliability.json, from which docs/reliability.md is made; `--sum` adds up
the figures of several runs, each with a seed of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import math
import os
import random
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from bench.reliability import add_options, figures_of, record, runs_of
from scalecurve.cli.main import app, run
from tools import json_page

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
LEFT_OUT = {
    "measure",
    "try",
    "explore",
    "doctor",
    "collective measure",
    "roofline measure",
    "roofline torch",
    "latency measure",
}
MATPLOTLIB = tuple(str(Path.home() / name / "matplotlib") for name in (".cache", ".config"))  # its cache of fonts
EXITS = {0, 1, 2, 130}
SECONDS, WALL_SECONDS = 10, 120
WORDS = (
    "0", "1", "2", "-1", "64", "1e12", "1e308", "-1e308", "1e-320", "nan", "inf", "-inf", "0.5", "5%", "100%", "200%",
    "1,2,4,8", "1..64", "1..8:1", "8..1", "1..100000000", ",", "", " ", "-", "--", "x", "é", "=1+1", "\x1b[31m", "1h",
    "0s", "10ms", "-5ms", "1e400s", "2.5", "1e9999", "strong", "weak", "amdahl", "usl", "allreduce", "h100-ib400",
    "llama3-8b", "4Mi", "1Gi", "-4Mi", "tp=8", "dp=2,tp=2", "a=b", "gemm:1T:1GB", ":", "0x10", "1_000", "runs.csv",
    "study.json", "broken.json", "missing.csv", ".", "/dev/null", "out.txt", "out.json", "out.csv", "out.svg", "{}",
    "[]", "-0", "1e-5", "99999999999999999999", "9" * 5000, "１２", "(a+)+$", "0.8@8", "1..1e9", "a" * 300, "5 %",
    "b\n::error::c", "\u202ex", "plan.toml", "folder", "runs.csv.gz", "../up.json", "%s%n", "NaN", "true", "null", "'",
    "$(id)", "1,5",
)  # fmt: skip

NUMBERS = (
    "0", "-0", "1", "2", "3", "7", "64", "1000", "-1", "0.5", "2.5", "1e-5", "1e12", "1e308", "-1e308", "1e-320", "nan",
    "inf", "1e9", "100000", "5%", "100%", "200%", "1h", "0s", "10ms", "4Mi", "1Gi", "1,2,4,8", "1..64", "1..8:1",
    "1..100000000", "1e100",
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
    lines = [shlex.split(line) for entry in json_page.COMMANDS.values() for line in entry["examples"]]
    names = {"examples/reference/strong.csv": "runs.csv", "examples/local/study.json": "study.json"}
    kept = [[names.get(word, word) for word in line] for line in lines if line[0] not in LEFT_OUT]
    return [line for line in kept if not any("/" in word for word in line) and " ".join(line[:2]) not in LEFT_OUT]


def has_way_out(message: str) -> bool:
    """Whether a refusal says what to do: after a semicolon, in its first words, as a rule, or where the help is."""
    rule = r"\b(is|are|lies|go|must be|has|holds|needs) (a|an|one|above|between|at least|whole|positive|finite|up to)\b"
    return bool(
        re.search(rf";|Try 'scalecurve|\. (Measure|Give|State) |^scalecurve: (give|choose|name) |{rule}", message)
    )


class Outside:
    """Files that were opened for writing, made or renamed outside of a folder, by Python's audit events."""

    def __init__(self, folder: str) -> None:
        self.folder, self.paths = os.path.realpath(folder), set[str]()
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        writes = event in ("os.rename", "os.mkdir", "os.symlink", "os.link") or (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        )
        target = arguments[1 if event in ("os.rename", "os.symlink", "os.link") else 0] if writes else None
        if isinstance(target, str) and not target.startswith("/dev/"):
            self.paths.add(target if os.path.isabs(target) else os.path.join(os.getcwd(), target))

    def left(self) -> list[str]:
        """Those of the last line that still exist; files in a temporary folder that was removed are fine."""
        paths, self.paths = self.paths, set()
        places = {os.path.realpath(path) for path in paths if os.path.exists(path)}
        return sorted(path for path in places if not path.startswith((self.folder + "/", "/proc/", *MATPLOTLIB)))


def lay_out_files() -> None:
    """The files that lines name; earlier lines may have replaced them."""
    raw = (EXAMPLES / "reference" / "strong.csv").read_bytes()
    Path("runs.csv").write_bytes(raw)
    Path("runs.csv.gz").write_bytes(gzip.compress(raw))
    shutil.copy(EXAMPLES / "local" / "study.json", "study.json")
    Path("broken.json").write_text('{"regime": "strong", "runs": [{"k": 1')
    Path("plan.toml").write_text('model = "llama3-8b"\ncluster = "h100-ib400"\ngpus = "8..32"\nglobal_batch = "1Mi"\n')
    Path("folder").mkdir(exist_ok=True)
    Path("folder/a.csv").write_bytes(raw)


def mutated(rng: random.Random, line: list[str]) -> list[str]:
    """A line with one or two words replaced, more often a value than the name of an option."""
    words = list(line)
    values = [place for place in range(1, len(words)) if not words[place].startswith("--")]
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.choice(values) if values and rng.random() < 0.8 else rng.randrange(1, len(words))
        words[place] = odd_word(rng, words[place])
    return words


def odd_word(rng: random.Random, usual: str) -> str:
    """A word to try in place of a usual one: mostly another number for a number, so that it reaches the arithmetic."""
    return rng.choice(NUMBERS if usual[:1].isdigit() and rng.random() < 0.7 else WORDS)


def usual_values(lines: list[list[str]]) -> dict[str, list[str]]:
    """What the examples give to each option."""
    usual: dict[str, list[str]] = {"--regime": ["strong", "weak"], "--level": ["0.9", "99%"], "--at": ["64", "32..256"]}
    for line in lines:
        for option, value in pairwise(line):
            if option.startswith("--") and not value.startswith("--"):
                usual.setdefault(option, []).append(value)
    return usual


def random_line(
    rng: random.Random, path: tuple[str, ...], command: click.Command, usual: dict[str, list[str]]
) -> list[str]:
    """A call with a few random options, most of which have a value that they take."""
    line = list(path)
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            if rng.random() < 0.9:
                line.append(rng.choice(WORDS if rng.random() < 0.2 else ("runs.csv", "study.json")))
        elif rng.random() < (0.95 if parameter.required else 0.12):
            line.append(rng.choice(parameter.opts))
            if not getattr(parameter, "is_flag", False):
                good = [str(parameter.default)] if isinstance(parameter.default, str | int | float) else []
                good += [value for name in parameter.opts for value in usual.get(name, ())]
                good += parameter.type.choices if isinstance(parameter.type, click.Choice) else ()
                is_number = isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType)
                word = rng.choice(good or ["2" if is_number else "x"])
                line.append(word if good and rng.random() < 0.7 else odd_word(rng, word))
    if rng.random() < 0.7 and any("--regime" in parameter.opts for parameter in command.params):
        line += ["--regime", "strong"]
    return line


def too_long(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s of CPU or {WALL_SECONDS} s")


def what_is_wrong(line: list[str]) -> tuple[int, str]:
    """The exit code of one line, and what is wrong with the answer, if anything."""
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    signal.alarm(WALL_SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(line)
    except BaseException as problem:
        if isinstance(problem, KeyboardInterrupt):
            raise
        return -1, f"{type(problem).__name__}: {problem}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.alarm(0)
    if code not in EXITS:
        return code, f"exit {code}: {err.getvalue()[:160]}"
    if code == 2 and not has_way_out(err.getvalue()):
        return code, f"refused without a way out: {err.getvalue()[:160]}"
    return code, ""


def fuzz(count: int, seed: int, minutes: float) -> dict[str, Any]:
    """Try `count` lines, or as many as `minutes` allow, and print every failure; the figures."""
    rng = random.Random(seed)
    commands = [(path, command) for path, command in leaves(app) if " ".join(path) not in LEFT_OUT]
    examples = example_lines()
    usual = usual_values(examples)
    codes: Counter[int] = Counter()
    failed, slowest = 0, (0.0, "")
    signal.signal(signal.SIGALRM, too_long)
    signal.signal(signal.SIGVTALRM, too_long)
    end = time.monotonic() + 60 * minutes
    sys.dont_write_bytecode = True  # of modules that a line is the first to import
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("work").mkdir()
        os.chdir("work")
        outside = Outside(folder)
        for number in range(count):
            if number % 200 == 0:
                lay_out_files()
                if time.monotonic() > end:
                    break
            path, command = rng.choice(commands)
            line = random_line(rng, path, command, usual) if rng.random() < 0.5 else mutated(rng, rng.choice(examples))
            begin = time.process_time()
            code, wrong = what_is_wrong(line)
            codes[code] += 1
            if not wrong and (written := outside.left()):
                wrong = f"written outside: {written}"
            spent = time.process_time() - begin
            if not wrong and spent > SECONDS:
                wrong = f"{spent:.1f} s of CPU"
            slowest = max(slowest, (spent, " ".join(line)))
            if wrong:
                failed += 1
                shown = " ".join(map(repr, line))
                print(f"FAILED {wrong.strip()}\n    scalecurve {shown}", file=sys.stderr, flush=True)
    return {
        "tried": sum(codes.values()),
        "failed": failed,
        "commands": len(commands),
        "slowest_seconds": round(slowest[0], 1),
        "slowest_line": slowest[1][:120],
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "answered": codes[0] + codes[1],
        "refused": codes[2],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf, help="Stop after these, whatever is left.")
    add_options(parser)
    options = parser.parse_args()
    figures = figures_of(options, lambda: fuzz(options.count, options.seed, options.minutes))
    print(
        f"{figures['tried']} lines over {figures['commands']} commands: {figures['failed']} failures; answered "
        f"{figures['answered']}, refused {figures['refused']}; peak {figures['peak_megabytes']} MB; slowest "
        f"{figures['slowest_seconds']} s of CPU: {figures['slowest_line']!r}"
    )
    if options.record:
        kept = ("tried", "failed", "answered", "refused", "peak_megabytes", "slowest_seconds")
        entry = {
            "asked": "internal errors 0, every refusal with a message and a way out, nothing written outside",
            "what": f"random lines over {figures['commands']} commands, none of which starts a program",
            **{name: figures[name] for name in kept},
        }
        record("command lines", entry, f"python -m bench.cli_fuzz --count {figures['tried']}{runs_of(options)}")
    return 1 if figures["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
