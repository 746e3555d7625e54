"""The `scalecurve` program: every command with its help, and running one; each error is one message and an exit code.

`--help` loads no command.  To add one: a function in a file of `cli`, and a line in COMMANDS.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from importlib import import_module
from typing import NamedTuple, NoReturn

import click

from scalecurve._version import __version__
from scalecurve.errors import ON_COMMAND_LINE, TYPED, ScalecurveError

MOST_WAYS = 3
LOOKS = ("--json", "--csv", "--quiet", "-q", "--verbose", "--markdown")  # left out of a command that is proposed
INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h: a fault of ours, not of the input

FIRST_STEPS = """\
Start with one of these; --help lists all commands.

  scalecurve try                                                              see it work: half a minute
  scalecurve table times.csv --regime strong                                  times you have: K, seconds
  scalecurve measure --regime strong --workers 1,2,4 -- ./solver {workers}    times you need
  scalecurve plan --model llama3-70b --cluster h100-ib400 --gpus 512          a training run
  scalecurve audit --speedup 180 --workers 256                                a claim somebody made

strong: the whole job stays the same while workers are added; weak: the work of each worker does."""


class Entry(NamedTuple):
    """A command's group in `--help`, its summary, and its `file:function` (default `<name>:command`)."""

    group: str
    summary: str
    place: str | None = None


GROUPS = ("study", "trust", "money", "mechanisms", "training", "tools")

COMMANDS: dict[str, Entry] = {
    "import": Entry("study", "read the results of other tools into a study; --explain shows how", "exchange:import_"),
    "export": Entry("study", "write a study in another tool's format", "exchange:export"),
    "completion": Entry("tools", "print the completion script for bash, zsh or fish", "tools:completion"),
    "measure": Entry("study", "run a job at several K with repeats, and store the study"),
    "table": Entry("study", "show time T, speedup S and efficiency E with intervals, and the bend", "study:table"),
    "cost": Entry("money", "price a result at every K; find the K for a deadline or a budget", "money:cost"),
    "assess": Entry("money", "judge a proposal: will this cluster size help?", "money:assess"),
    "fit": Entry("study", "rank scaling laws by how well they predict", "study:fit"),
    "forecast": Entry("study", "predict T, S and E at larger K, with intervals", "study:forecast"),
    "regime": Entry("study", "tell strong from weak scaling, and which plot applies", "study:regime"),
    "diagnose": Entry("trust", "say why the curve bends", "study:diagnose"),
    "audit": Entry("trust", "check whether a study, a table or a bare claim can be believed"),
    "explain": Entry("trust", "say what the code of a finding means and what to do", "audit:explain"),
    "compare": Entry("trust", "compare studies at each K", "study:compare"),
    "merge": Entry("trust", "join several studies of the same job", "exchange:merge"),
    "check": Entry("trust", "fail a CI job when scaling got worse"),
    "history": Entry("trust", "show T and E over the commits, and where they changed", "check:history"),
    "next": Entry("money", "say which K to measure next, and how often", "money:next_command"),
    "plan": Entry("training", "find the best layout of a training run on 8 to 100,000 accelerators"),
    "law": Entry("mechanisms", "tabulate a scaling law, without data"),
    "report": Entry("tools", "write one page, the answer first (.html .md .tex .pdf .svg .png)", "tools:report"),
    "explore": Entry("tools", "open a local page with sliders: training, laws, your data, mechanisms", "tools:explore"),
    "scaleup": Entry("money", "compare one big machine with many small ones", "money:scaleup"),
    "roofline": Entry("mechanisms", "tell whether kernels are bound by compute or by memory", "mechanisms:roofline"),
    "workdepth": Entry("mechanisms", "find the speedup that a task graph allows", "mechanisms:workdepth"),
    "straggler": Entry("mechanisms", "say what waiting for the slowest of K costs", "mechanisms:straggler"),
    "latency": Entry("mechanisms", "load a server; percentiles, tails, replicas for an SLO", "mechanisms:latency"),
    "collective": Entry(
        "mechanisms", "price an all-reduce and other collectives; measure a network", "mechanisms:collective"
    ),
    "try": Entry("tools", "measure a small job that bends on any machine, and write its report", "tools:try_command"),
    "doctor": Entry("tools", "list what this machine can measure, and how noisy it is", "tools:doctor"),
}


def load_command(name: str) -> click.Command:
    """The command itself; only its own file is imported."""
    file, _, function = (COMMANDS[name].place or f"{name}:command").partition(":")
    command: click.Command = getattr(import_module(f"scalecurve.cli.{file}"), function)
    command.short_help = COMMANDS[name].summary
    return command


class LazyGroup(click.Group):
    """Loads a command's module only when that command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=2)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(problem.message + hint, ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group in GROUPS:
            rows = [(name, entry.summary) for name, entry in COMMANDS.items() if entry.group == group]
            if rows:
                with formatter.section(group.capitalize()):
                    formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Begin with: scalecurve table times.csv --regime strong (a column of workers, a column of seconds).  "
    "Worker counts: 1,2,4,8 or 1..512 (doubling) or 1..8:1 (step).  "
    "Exit codes: 0 fine, 1 a gate or audit failed, 2 wrong input, 130 interrupted.",
)
@click.version_option(__version__, prog_name="scalecurve")
@click.pass_context
def app(context: click.Context) -> None:
    """How far does adding machines get you, why does it stop, and what does it cost?"""
    if context.invoked_subcommand is None:
        click.echo(FIRST_STEPS)


def main() -> NoReturn:
    """The entry point: every error ends as a message and an exit code, never as a traceback."""
    mend_streams()
    sys.exit(run(sys.argv[1:]))


def mend_streams() -> None:
    """Standard streams that can be used: a closed one fails when it is read or written, and a character that the
    encoding of the terminal lacks is written as its code."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest free number is that of the closed stream: no file of a command can become it.
            os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_WRONLY)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - until the end
        if mode == "w":
            getattr(sys, name).reconfigure(errors="backslashreplace")


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; messages go to standard error."""
    speaks = ON_COMMAND_LINE.set(True)
    end = arguments.index("--") if "--" in arguments else len(arguments)  # what follows are words of a job
    kept = [word for word in arguments[:end] if word not in LOOKS] + arguments[end:]
    typed = TYPED.set((None, shlex.join(["scalecurve", *kept])))
    try:
        return _run(arguments)
    finally:
        ON_COMMAND_LINE.reset(speaks)
        TYPED.reset(typed)


def _run(arguments: list[str]) -> int:
    try:
        code = app.main(arguments, prog_name="scalecurve", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:  # the reader (head, less) has gone
        discard(1)
        return 0
    except (Exception, KeyboardInterrupt) as problem:
        if os.environ.get("SCALECURVE_DEBUG") and not isinstance(problem, EXPECTED):
            raise
        if isinstance(problem, OSError):
            try:
                sys.stdout.flush()
            except OSError:
                discard(1)
        return complain(*explained(problem, arguments))


EXPECTED = (ScalecurveError, click.ClickException, click.Abort, KeyboardInterrupt)


def explained(problem: BaseException, arguments: list[str]) -> tuple[str, int]:
    """What to say of an error, and the exit code."""
    match problem:
        case ScalecurveError():
            return "\n  ".join([str(problem), *ways_out(arguments, str(problem))]), problem.exit_code
        case click.ClickException():
            context = problem.ctx if isinstance(problem, click.UsageError) else None
            return problem.format_message() + (f"\nTry '{context.command_path} --help'." if context else ""), 2
        case KeyboardInterrupt() | click.Abort():
            signal = problem.__cause__ or problem.__context__ or problem  # 143 after SIGTERM
            return str(signal) or "interrupted", getattr(signal, "exit_code", 130)
        case ArithmeticError() | MemoryError() | RecursionError():
            is_deep = isinstance(problem, RecursionError)
            how = "nested too deeply" if is_deep else "too large or too small to compute with"
            return f"an input is {how} ({type(problem).__name__}: {problem}); give another", 2
        case OSError():
            what = f"{problem.filename or 'standard input or output'}: {problem.strerror or problem}"
            return f"{what}; check the path, its permissions and the free space", 2
    text = f"internal error, a fault of scalecurve and not of your input: {type(problem).__name__}: {problem}"
    return f"{text}\n{error_report(arguments)}", INTERNAL_ERROR


VALUES = {  # what an option can be offered with, unless it stands in quotes: other words are prose
    "regime": "strong|weak",
    "quantity": "seconds|throughput|throughput_per_worker|joules",
    "unit": "ns|us|ms|s|min|h",
    "table": r"\d+",
    "accept": "[a-z][a-z-]+",
    "series|k-column|value-column": "(?!)",
    "work-per-job|deadline|budget": r"\d[\w.]*",
}
LIMITS = ("--deadline", "--budget")  # offered with another value than the one that was typed
WAY_OUT = re.compile("|".join(rf"--(?:{options}) (?:'[^']+'|(?:{value})\b)" for options, value in VALUES.items()))


def ways_out(arguments: list[str], message: str) -> list[str]:
    """The command that was typed with each option that the message offers, ready to be typed; none where the message
    has commands of its own."""
    if "\n    scalecurve " in message:
        return []
    pairs = (way[0].split(" ", 1) for way in WAY_OUT.finditer(message))
    offered = dict.fromkeys((option, value) for option, value in pairs if option not in arguments or option in LIMITS)
    known = load_command(arguments[0]).params if arguments and arguments[0] in COMMANDS else ()
    if not {option for option, _ in offered} <= {name for parameter in known for name in parameter.opts}:
        return []
    words = [word for word in arguments if word != "-"]
    if not offered or "--" in words or len(words) < len(arguments) or len({option for option, _ in offered}) > 1:
        return []  # standard input is used up; several options at once are no single way
    commands = []
    for option, value in list(offered)[:MOST_WAYS]:
        at = words.index(option) if option in words else len(words)  # said again
        commands.append(f"{shlex.join(['scalecurve', *words[:at], *words[at + 2 :]])} {option} {value}")
    return commands


def error_report(arguments: list[str]) -> str:
    """Write where an internal error happened to a file, and say which."""
    import tempfile
    import traceback

    text = f"scalecurve {__version__}, Python {sys.version}\n{arguments}\n\n{traceback.format_exc()}"
    try:
        with tempfile.NamedTemporaryFile("w", prefix="scalecurve-error-", suffix=".txt", delete=False) as file:
            file.write(text)
    except OSError:
        return "SCALECURVE_DEBUG=1 shows where; please report it."
    return f"{file.name} says where; please report it with that file."


def complain(message: str, code: int) -> int:
    """Print a message without control characters on standard error, and return the exit code."""
    from scalecurve.cli.output import without_commands
    from scalecurve.document import safe_lines

    try:
        print(without_commands("\n".join(safe_lines(f"scalecurve: {message}"))), file=sys.stderr, flush=True)
    except OSError:  # a full disk behind standard error does not change the exit code
        discard(2)
    return code


def discard(stream: int) -> None:
    """Point standard output (1) or standard error (2) elsewhere, so that the flush at the end cannot fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
