"""The `scalecurve` program: every command with its help, and running one; each error is one message and an exit code.

`--help` loads no command.  To add one: a function in a file of `cli`, and a line in COMMANDS.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import NamedTuple, NoReturn

import click

from scalecurve._version import __version__
from scalecurve.errors import ScalecurveError

INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h: a fault of ours, not of the input


class Entry(NamedTuple):
    """A command's group in `--help`, its summary, and its `file:function` (default `<name>:command`)."""

    group: str
    summary: str
    place: str | None = None


GROUPS = ("study", "trust", "money", "mechanisms", "training", "tools")

COMMANDS: dict[str, Entry] = {
    "import": Entry("study", "results of other tools as a study; --explain shows the mapping", "exchange:import_"),
    "export": Entry("study", "a study in other tools' formats", "exchange:export"),
    "completion": Entry("tools", "shell completion for bash, zsh and fish", "tools:completion"),
    "measure": Entry("study", "run a scaling study: K x repeats with a real launcher"),
    "table": Entry("study", "T, S and E with intervals, and where the curve bends", "study:table"),
    "cost": Entry("money", "what a result costs at every K; which K meets a deadline or a budget", "money:cost"),
    "assess": Entry("money", "a proposal: will this cluster size help?", "money:assess"),
    "fit": Entry("study", "laws ranked by how well they predict, with intervals", "study:fit"),
    "forecast": Entry("study", "T, S and E at larger K, with intervals that hold", "study:forecast"),
    "regime": Entry("study", "strong, weak, mixed or neither, and which plot applies", "study:regime"),
    "diagnose": Entry("trust", "why the curve bends", "study:diagnose"),
    "audit": Entry("trust", "whether a study, a paper's table or a bare claim can be believed"),
    "explain": Entry("trust", "what the code of a finding means and what to do", "audit:explain"),
    "compare": Entry("trust", "two studies side by side", "study:compare"),
    "merge": Entry("trust", "several studies of one question joined", "exchange:merge"),
    "check": Entry("trust", "a gate for continuous integration"),
    "history": Entry("trust", "T and E over the commits of a history, and where they changed", "check:history"),
    "next": Entry("money", "which K to measure next, and how often", "money:next_command"),
    "plan": Entry("training", "how far more accelerators get a training run, from 8 to 100,000"),
    "law": Entry("mechanisms", "tables and answers of the scaling laws themselves"),
    "report": Entry("tools", "one HTML page, the answer first (also .md .tex .pdf .svg .png)", "tools:report"),
    "explore": Entry(
        "tools", "a local web page with sliders: training scale, laws, your data, mechanisms", "tools:explore"
    ),
    "scaleup": Entry("money", "one big machine against many small ones", "money:scaleup"),
    "roofline": Entry("mechanisms", "machine ceilings, kernels placed under them", "mechanisms:roofline"),
    "workdepth": Entry("mechanisms", "work, depth and the speedup a task graph admits", "mechanisms:workdepth"),
    "straggler": Entry("mechanisms", "what the slowest of K costs", "mechanisms:straggler"),
    "latency": Entry("mechanisms", "percentiles, tails, fan-out, SLO; an open-loop load test", "mechanisms:latency"),
    "collective": Entry("mechanisms", "cost of collectives; measure and fit a network", "mechanisms:collective"),
    "doctor": Entry("tools", "what this machine can measure, and how noisy it is", "tools:doctor"),
}


def load_command(name: str) -> click.Command:
    """The command itself; only its own file is imported."""
    file, _, function = (COMMANDS[name].place or f"{name}:command").partition(":")
    command: click.Command = getattr(import_module(f"scalecurve.cli.{file}"), function)
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
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Worker counts: 1,2,4,8 or 1..512 (doubling) or 1..8:1 (step).  "
    "Exit codes: 0 fine, 1 a gate or audit failed, 2 wrong input, 130 interrupted.",
)
@click.version_option(__version__, prog_name="scalecurve")
def app() -> None:
    """How far does adding machines get you, why does it stop, and what does it cost?"""


def main() -> NoReturn:
    """Entry point: never a traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; messages go to standard error."""
    try:
        code = app.main(arguments, prog_name="scalecurve", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except ScalecurveError as problem:
        return complain(str(problem), problem.exit_code)
    except click.ClickException as problem:
        context = problem.ctx if isinstance(problem, click.UsageError) else None
        hint = f"\nTry '{context.command_path} --help'." if context else ""
        return complain(problem.format_message() + hint, 2)
    except (KeyboardInterrupt, click.Abort) as end:
        signal = end.__cause__ or end.__context__ or end  # click wraps it; 143 after SIGTERM, 129 after SIGHUP
        return complain(str(signal) or "interrupted", getattr(signal, "exit_code", 130))
    except BrokenPipeError:
        # The reader (head, less) has gone: point stdout elsewhere so that the flush at exit cannot fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except (ArithmeticError, MemoryError) as problem:
        if os.environ.get("SCALECURVE_DEBUG"):
            raise
        kind = "an input is too large or too small to compute with"
        return complain(f"{kind} ({type(problem).__name__}: {problem}); give a smaller or a larger one", 2)
    except OSError as problem:
        if os.environ.get("SCALECURVE_DEBUG"):
            raise
        place = f"{problem.filename}: " if problem.filename else ""
        return complain(f"{place}{problem.strerror or problem}; check the path, its permissions and the free space", 2)
    except Exception as problem:
        if os.environ.get("SCALECURVE_DEBUG"):
            raise
        text = f"internal error, a fault of scalecurve and not of your input: {type(problem).__name__}: {problem}"
        return complain(f"{text}\nSCALECURVE_DEBUG=1 shows where; please report it.", INTERNAL_ERROR)


def complain(message: str, code: int) -> int:
    """Print a message without control characters on standard error, and return the exit code."""
    from scalecurve.document import safe_lines

    print("\n".join(safe_lines(f"scalecurve: {message}")), file=sys.stderr)
    return code
