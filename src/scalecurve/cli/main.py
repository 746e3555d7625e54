"""The `scalecurve` program: find the command, run it, turn every error into one message and an exit code."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import click

from scalecurve._version import __version__
from scalecurve.cli.registry import COMMANDS, GROUPS, load_command
from scalecurve.errors import ScalecurveError

INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h: a fault of ours, not of the input


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
    except (KeyboardInterrupt, click.Abort):
        return complain("interrupted", 130)
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
