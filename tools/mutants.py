"""Break the code on purpose and see whether a test notices: python tools/mutants.py [--count 40] [--seed 1] [part ...]

A mutant is one small change of one expression under PLACES: a comparison, a sign, a number, min for max.  Each runs
only the tests that reached the changed line, nearest first, until one fails.  Which tests reach a line is taken from
out/coverage (`make coverage` writes it).  Survivors are printed with file, line and change; those that no test could
notice stand in tools/mutants.toml with the reason.  Everything runs in copies: the tree itself is not touched.
"""

from __future__ import annotations

import argparse
import ast
import copy
import dataclasses
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "src/scalecurve/"
PLACES = ("analysis", "auditing", "planning", "measurement", "mechanisms", "laws", "training/physics")
MAP = ROOT / "out" / "coverage"
ACCEPTED = ROOT / "tools" / "mutants.toml"
PASSED, NOT_RUN, LATE = "-", "?", "late"
MOST_TESTS = 400  # of those that reach a line; a fault that the nearest 400 pass is a survivor

SWAPS: dict[type[ast.AST], tuple[Any, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.Mult,), ast.Pow: (ast.Mult,),
}  # fmt: skip
NAMES = {
    "min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil", "minimum": "maximum",
    "maximum": "minimum", "mean": "median", "median": "mean", "argmin": "argmax", "argmax": "argmin", "exp": "expm1",
    "log2": "log", "fsum": "max",
}  # fmt: skip
WORDS = {"__repr__", "__str__", "document", "body", "details", "answer"}  # what they say is held by the golden files


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: where, what stood there and what stands there now."""

    path: str
    line: int
    before: str
    after: str
    content: str
    imported: bool  # the line runs when the module is imported, so no test is its own

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.before}  ->  {self.after}"


@dataclass(frozen=True, slots=True)
class Fate:
    mutant: Mutant
    tests: int
    killer: str | None  # the test that failed; None for a survivor
    seconds: float


def _comparison(node: ast.Compare) -> Iterator[ast.AST]:
    for place, old in enumerate(node.ops):
        for other in SWAPS.get(type(old), ())[: 2 if len(node.ops) == 1 else 1]:
            ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
            yield ast.Compare(node.left, ops, node.comparators)


def _arithmetic(node: ast.BinOp) -> Iterator[ast.AST]:
    if not _is_text(node.left) and not _is_text(node.right):
        yield from (ast.BinOp(node.left, other(), node.right) for other in SWAPS.get(type(node.op), ()))


def _number(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node.value, float):
        yield ast.Constant(node.value * 1.5 or 0.5)


def _call(node: ast.Call) -> Iterator[ast.AST]:
    field = {ast.Name: "id", ast.Attribute: "attr"}.get(type(node.func))
    if field is not None and getattr(node.func, field) in NAMES:
        func = copy.copy(node.func)
        setattr(func, field, NAMES[getattr(func, field)])
        yield ast.Call(func, node.args, node.keywords)


FORMS: dict[type[ast.AST], Callable[[Any], Iterator[ast.AST]]] = {
    ast.Compare: _comparison,
    ast.BinOp: _arithmetic,
    ast.Constant: _number,
    ast.Call: _call,
    ast.BoolOp: lambda node: iter([ast.BoolOp(SWAPS[type(node.op)][0](), node.values)]),
    ast.UnaryOp: lambda node: iter([node.operand] if isinstance(node.op, (ast.Not, ast.USub)) else []),
    ast.IfExp: lambda node: iter([ast.IfExp(node.test, node.orelse, node.body)]),
}


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Each other form of this node alone."""
    return FORMS.get(type(node), lambda _: iter(()))(node)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple)) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


SKIPPED = (ast.Raise, ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom, ast.arguments)


def sites(tree: ast.Module) -> Iterator[tuple[ast.AST, str, int | None, ast.AST, bool]]:
    """(parent, field, index, node, at import) of every expression that may be changed: no words, types or messages."""

    def walk(node: ast.AST, imported: bool) -> Iterator[tuple[ast.AST, str, int | None, ast.AST, bool]]:
        for field, value in ast.iter_fields(node):
            if field in {"annotation", "returns", "decorator_list", "bases", "keywords"} and not isinstance(
                node, ast.Call
            ):
                continue
            for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if not isinstance(child, ast.AST) or isinstance(child, SKIPPED):
                    continue
                if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                    continue
                if isinstance(child, ast.FunctionDef) and child.name in WORDS:
                    continue
                if isinstance(child, ast.expr):
                    yield node, field, index, child, imported
                yield from walk(
                    child, imported and not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
                )

    yield from walk(tree, True)


def count(parts: list[str]) -> list[tuple[str, int, int]]:
    """(path, number of the site, number of the change) of every possible mutant."""
    found = []
    for place in PLACES:
        for path in sorted((ROOT / SOURCE / place).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if parts and not any(part in name for part in parts):
                continue
            for number, (_, _, _, node, _) in enumerate(sites(ast.parse(path.read_text(encoding="utf-8")))):
                found += [(name, number, which) for which, _ in enumerate(changes(node))]
    return found


def mutant(path: str, number: int, which: int) -> Mutant:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    parent, field, index, node, imported = list(sites(tree))[number]
    other = list(changes(node))[which]
    before = ast.unparse(parent if isinstance(parent, ast.expr) else node)
    value = getattr(parent, field)
    if index is None:
        setattr(parent, field, other)
    else:
        value[index] = other
    after = ast.unparse(parent if isinstance(parent, ast.expr) else other)
    return Mutant(path, node.lineno, before, after, ast.unparse(ast.fix_missing_locations(tree)), imported)


class Reached:
    """Which tests reached a line, from the contexts of coverage."""

    def __init__(self, database: Path) -> None:
        from coverage import CoverageData

        self._data = CoverageData(basename=str(database))
        self._data.read()
        self._files = {name[name.index(SOURCE) :]: name for name in self._data.measured_files() if SOURCE in name}

    def __bool__(self) -> bool:
        return len(self._data.measured_contexts()) > 1

    def tests(self, change: Mutant) -> list[str]:
        """Tests that reached the line, or the module where the line runs at import; the nearest first."""
        name = self._files.get(change.path)
        if name is None:
            return []
        lines = self._data.contexts_by_lineno(name)
        contexts = {
            context.split("|")[0]
            for line, at_line in lines.items()
            if change.imported or line == change.line
            for context in at_line
            if context
        }
        package = change.path.removeprefix(SOURCE).rsplit("/", 1)[0]
        stem = Path(change.path).stem
        chosen = [test for test in contexts if (ROOT / test.split("::")[0]).exists()]

        def distance(test: str) -> tuple[bool, bool, bool, bool, str]:
            file = test.split("::")[0]
            return (
                f"test_{stem}" not in file,
                f"unit/{package}" not in file,
                "/unit/" not in file,
                "/functional/" in file,
                test,
            )

        return sorted(chosen, key=distance)[:MOST_TESTS]


def run_tests(copy_of_tree: Path, tests: list[str], seconds: int) -> str | None:
    """The first test that fails in this copy, None if all pass; in its own process.

    'CPU time' where they take too much of it, LATE where they took none and did not end.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        signal.alarm(20 * seconds)  # a job that sleeps; no verdict, because a busy machine looks the same
        answer = ""
        try:
            answer = _failure(copy_of_tree, tests)
        except BaseException as problem:  # the tests did not run: no verdict, whatever the reason
            answer = f"{NOT_RUN}{type(problem).__name__}: {problem}"
        finally:
            os.write(writer, answer.encode()[:4000])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # what a broken measurement left running
    said = answer.decode()
    if said.startswith(NOT_RUN):
        raise RuntimeError(f"the tests did not run: {said.removeprefix(NOT_RUN)}")
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return LATE
    return None if said == PASSED else said or "CPU time"  # nothing said: the limit of CPU time ended it


def _failure(copy_of_tree: Path, tests: list[str]) -> str:
    import pytest

    class First:
        name = PASSED

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed and self.name == PASSED:
                self.name = report.nodeid

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.failed and self.name == PASSED:
                self.name = f"collecting {report.nodeid}"

    os.chdir(copy_of_tree)
    os.environ["PYTHONPATH"] = str(copy_of_tree / "src")
    sys.path[:] = [str(copy_of_tree / "src"), *(part for part in sys.path if not part.endswith("/src"))]
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    first = First()
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header"]
        code = pytest.main([*options, *tests], [first])
        if code == pytest.ExitCode.USAGE_ERROR:  # a test of the map has another name now: run its whole file
            code = pytest.main([*options, *dict.fromkeys(test.split("::")[0] for test in tests)], [first])
    return first.name if code in (0, 1, 2) else f"{NOT_RUN}pytest ended with {code}"


def copied_tree() -> Path:
    """A copy of what git knows, as it stands in the working tree."""
    place = Path(tempfile.mkdtemp(prefix="mutants-"))
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    return place


def judge(change: Mutant, reached: Reached, place: Path, seconds: int) -> Fate:
    begin, tests = time.monotonic(), reached.tests(change)
    killer = None
    if tests:
        target = place / change.path
        original = target.read_text(encoding="utf-8")
        target.write_text(change.content, encoding="utf-8")
        try:
            killer = run_tests(place, tests, seconds)
        finally:
            target.write_text(original, encoding="utf-8")
    return Fate(change, len(tests), killer, time.monotonic() - begin)


def accepted() -> dict[tuple[str, str, str], str]:
    """The reason of each mutant that no test can notice."""
    if not ACCEPTED.exists():
        return {}
    rows = tomllib.loads(ACCEPTED.read_text(encoding="utf-8")).get("mutant", [])
    return {(row["path"], row["before"], row["after"]): row["why"] for row in rows}


def innocent(fates: list[Fate], place: Path, seconds: int) -> set[str]:
    """Killers that fail in the unchanged tree as well: they prove nothing."""
    killers = {fate.killer for fate in fates if fate.killer and "::" in fate.killer}
    return {killer for killer in killers if run_tests(place, [killer], seconds) is not None}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", help="only files whose path contains one of these")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=60, help="CPU seconds for one mutant; more means it hangs")
    parser.add_argument("--minutes", type=float, help="start no mutant after so many minutes")
    parser.add_argument("--least", type=float, default=0.0, help="exit 1 if a smaller share dies")
    parser.add_argument("--map", type=Path, default=MAP, help="coverage data with contexts")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutants.json")
    chosen = parser.parse_args(arguments)
    if not chosen.map.exists() or not (reached := Reached(chosen.map)):
        print(f"{chosen.map} does not say which test reached which line; run: make coverage", file=sys.stderr)
        return 2
    import numpy  # noqa: F401  # what every run needs is imported once; hypothesis must be left to pytest
    import pytest  # noqa: F401
    import scipy.optimize
    import scipy.stats  # noqa: F401

    possible = count(chosen.parts)
    known = accepted()
    picked = random.Random(chosen.seed).sample(possible, min(chosen.count, len(possible)))
    mutants = [mutant(*each) for each in picked]
    judged = [each for each in mutants if (each.path, each.before, each.after) not in known]
    place, fates = copied_tree(), []
    try:
        for change in judged[:1]:  # a control: what is said to kill must pass where nothing was changed
            original = dataclasses.replace(change, content=(ROOT / change.path).read_text(encoding="utf-8"))
            fate = judge(original, reached, place, chosen.seconds)
            if fate.killer not in (None, LATE):
                print(
                    f"the tests of {change.path} fail without any change ({fate.killer}); mend them first",
                    file=sys.stderr,
                )
                return 2
        begin = time.monotonic()
        for change in judged:
            if chosen.minutes is not None and time.monotonic() - begin > 60 * chosen.minutes:
                break
            fate = judge(change, reached, place, chosen.seconds)
            if fate.killer == LATE:
                print(f"no verdict {change}", flush=True)
                continue
            fates.append(fate)
            mark = "survived" if fates[-1].killer is None else "died"
            by = "" if fates[-1].killer is None else f", {fates[-1].killer}"
            print(f"{mark:9} {change}  ({fates[-1].tests} tests, {fates[-1].seconds:.1f} s{by})", flush=True)
        flaky = innocent(fates, place, chosen.seconds)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    dead = [fate for fate in fates if fate.killer is not None and fate.killer not in flaky]
    alive = [fate for fate in fates if fate not in dead]
    share = len(dead) / max(len(fates), 1)
    spared = len(mutants) - len(judged)
    print(f"\n{len(dead)} of {len(fates)} mutants died ({100 * share:.1f} %)", end="")
    print(f"; {spared} more change nothing that a test could see (tools/mutants.toml)" if spared else "")
    for fate in sorted(alive, key=lambda one: (one.mutant.path, one.mutant.line)):
        print(f"survived  {fate.mutant}  ({'no test reaches it' if not fate.tests else f'{fate.tests} tests'})")
    for killer in sorted(flaky):
        print(f"fails without a fault as well  {killer}")
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "path": fate.mutant.path,
            "line": fate.mutant.line,
            "before": fate.mutant.before,
            "after": fate.mutant.after,
            "tests": fate.tests,
            "killer": fate.killer,
        }
        for fate in fates
    ]
    chosen.out.write_text(
        json.dumps({"possible": len(possible), "died": len(dead), "of": len(fates), "mutants": rows}, indent=1),
        encoding="utf-8",
    )
    return int(share < chosen.least)


if __name__ == "__main__":
    raise SystemExit(main())
