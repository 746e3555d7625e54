"""Break the code on purpose and see whether a test notices: python tools/mutants.py [--count 40] [--seed 1] [part ...]

A mutant is one small change of one expression under PLACES: a comparison, a sign, a number, min for max.  Each runs
only the tests that reached the changed line, nearest first, until one fails.  Which tests reach a line is taken from
out/coverage (`make coverage` writes it, or `--baseline tests/unit/laws ...` for some tests alone); lines that moved
since are found again.  A test that fails in the unchanged tree too is put aside and the mutant is judged without it.

Nothing depends on how busy the machine is: a test that uses far more CPU time than any of ours hangs, and so does one
whose processes all sleep; a process that waits for a core does neither.  Each verdict is written to
out/mutants.json at once, and a run that was ended goes on where it stopped.  The sample is drawn by a hash of each
change, so that it stays the same where the code around it moves.  Survivors are printed with file, line and change;
those that no test could notice stand in tools/mutants.toml with the reason.  Everything runs in copies of the tree.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "src/scalecurve/"
PLACES = ("analysis", "auditing", "planning", "measurement", "mechanisms", "laws", "training/physics")
MAP = ROOT / "out" / "coverage"
SNAPSHOT = ROOT / "out" / "mutants-src"  # the sources as they were when the map was made
ACCEPTED = ROOT / "tools" / "mutants.toml"
PASSED, NOT_RUN = "-", "?"
HANGS = "hangs"
ASLEEP = 240  # looks, one a second, at processes of which none runs or waits for a core
NEAREST = 40  # tests that are collected and run first; most faults die there
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
    """One change: where, what stood there and what stands there now; `key` names it wherever its line moves to."""

    key: str
    path: str
    line: int
    before: str
    after: str
    number: int  # of the site in its file, and of the change there
    which: int
    imported: bool  # the line runs when the module is imported, so no test is its own

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.before}  ->  {self.after}"


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


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every change of a file."""
    name, tree, again = str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8")), Counter[str]()
    for number, (parent, field, index, node, imported) in enumerate(sites(tree)):
        whole = parent if isinstance(parent, ast.expr) else node
        for which, other in enumerate(changes(node)):
            before = ast.unparse(whole)
            _put(parent, field, index, other)
            after = ast.unparse(parent if whole is parent else other)
            _put(parent, field, index, node)
            text = f"{name} {before} -> {after}"
            again[text] += 1
            key = hashlib.sha256(f"{text} {again[text]}".encode()).hexdigest()[:16]
            yield Mutant(key, name, node.lineno, before, after, number, which, imported)  # type: ignore[attr-defined]


def _put(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def broken(change: Mutant, tree_of_files: Path) -> str:
    """The text of the file with the change in it."""
    tree = ast.parse((tree_of_files / change.path).read_text(encoding="utf-8"))
    parent, field, index, node, _ = list(sites(tree))[change.number]
    _put(parent, field, index, list(changes(node))[change.which])
    return ast.unparse(ast.fix_missing_locations(tree))


def sample(parts: list[str], count: int, seed: int) -> tuple[list[Mutant], int]:
    """`count` mutants of the files whose path contains one of the parts, and how many there could be."""
    paths = [path for place in PLACES for path in sorted((ROOT / SOURCE / place).rglob("*.py"))]
    every = [
        change
        for path in paths
        if not parts or any(part in str(path.relative_to(ROOT)) for part in parts)
        for change in mutants_of(path)
    ]
    every.sort(key=lambda change: hashlib.sha256(f"{seed} {change.key}".encode()).digest())
    return every[:count], len(every)


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
        here = set(lines) if change.imported else _old_lines(change)
        contexts = {context.split("|")[0] for line in here for context in lines.get(line, ()) if context}
        package = change.path.removeprefix(SOURCE).rsplit("/", 1)[0]
        stem = Path(change.path).stem

        def distance(test: str) -> tuple[bool, bool, bool, bool, str]:
            file = test.split("::")[0]
            near = (f"test_{stem}" not in file, f"unit/{package}" not in file, "/unit/" not in file)
            return (*near, "/functional/" in file, test)

        return sorted((test for test in contexts if (ROOT / test.split("::")[0]).exists()), key=distance)[:MOST_TESTS]


def _old_lines(change: Mutant) -> set[int]:
    """The lines of the map that stand for the changed line: the same line before it moved, or what it replaced."""
    old = SNAPSHOT / Path(change.path).relative_to("src")
    if not old.exists():
        return {change.line}
    before, now = (path.read_text(encoding="utf-8").splitlines() for path in (old, ROOT / change.path))
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if c < change.line <= d:
            return {a + change.line - c} if tag == "equal" else set(range(a, b + 2))
    return {change.line}


def run_tests(copy_of_tree: Path, tests: list[str], seconds: int) -> str | None:
    """The first test that fails in this copy, None if all pass, HANGS if one does not end; in its own process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setsid()
        answer = ""
        try:
            answer = _failure(copy_of_tree, tests, writer)
        except BaseException as problem:  # the tests did not run: no verdict, whatever the reason
            answer = f"{NOT_RUN}{type(problem).__name__}: {problem}"
        finally:
            os.write(writer, answer.encode()[:4000])
            os._exit(0)
    os.close(writer)
    verdict = _heard(child, reader, seconds)
    os.close(reader)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # what a broken measurement left running
    os.waitpid(child, 0)
    if verdict.startswith(NOT_RUN) or not verdict:
        raise RuntimeError(f"the tests did not run: {verdict.removeprefix(NOT_RUN)}")
    return None if verdict == PASSED else verdict


def _heard(child: int, pipe: int, seconds: int) -> str:
    """What the child says last; HANGS if one test used `seconds` of CPU, or nothing ran for ASLEEP looks in a row."""
    text, asleep, before, begin = b"", 0, -1.0, 0.0
    while True:
        if select.select([pipe], [], [], 1.0)[0]:
            if not (part := os.read(pipe, 65536)):
                return text.rpartition(b"\n")[2].decode()
            text, begin = text + part, max(before, 0.0)  # a test ended, and the account starts anew
            continue
        runs, used = _activity(child)
        asleep, before = 0 if runs or used > before else asleep + 1, used
        if used - begin > seconds or asleep > ASLEEP:
            return HANGS


def _activity(child: int) -> tuple[bool, float]:
    """Whether a process of the child runs or waits for a core or a disk, and the CPU seconds of all of them."""
    states, used = set(), 0.0
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(child)
        used = sum(parent.cpu_times())  # with the children it has waited for
        for process in (parent, *parent.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                states.add(process.status())
                used += 0.0 if process is parent else sum(process.cpu_times())
    return bool(states & {psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP}), used


def _failure(copy_of_tree: Path, tests: list[str], heard_by: int) -> str:
    """The first test that fails; each that ends is told to `heard_by` by a line end."""
    import pytest

    class First:
        name = PASSED

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed and self.name == PASSED:
                self.name = report.nodeid

        def pytest_runtest_logfinish(self) -> None:
            os.write(heard_by, b"\n")

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


def accepted() -> dict[tuple[str, str, str], str]:
    """The reason of each mutant that no test can notice."""
    if not ACCEPTED.exists():
        return {}
    rows = tomllib.loads(ACCEPTED.read_text(encoding="utf-8")).get("mutant", [])
    return {(row["path"], row["before"], row["after"]): row["why"] for row in rows}


class Judge:
    """A copy of the tree in which one mutant after the other is tried."""

    def __init__(self, reached: Reached, also: list[str], seconds: int) -> None:
        self.reached, self.also, self.seconds, self.place = reached, also, seconds, copied_tree()
        self.unfit: dict[str, bool] = {}  # whether a test fails in the unchanged tree too

    def verdict(self, change: Mutant) -> dict[str, Any]:
        """What became of a mutant: the number of tests and the one that failed, None for a survivor."""
        tests = [*self.also, *self.reached.tests(change)]
        killer, text = None, broken(change, self.place)
        while tests and (killer := self._killer(change, text, tests)) is not None and self._is_unfit(killer):
            tests = [test for test in tests if test != killer]
        row = {name: getattr(change, name) for name in ("key", "path", "line", "before", "after")}
        return row | {"tests": len(tests), "killer": killer}

    def _killer(self, change: Mutant, text: str, tests: list[str]) -> str | None:
        target = self.place / change.path
        original = target.read_text(encoding="utf-8")
        target.write_text(text, encoding="utf-8")
        try:
            parts = (part for part in (tests[:NEAREST], tests[NEAREST:]) if part)
            return next((failed for part in parts if (failed := run_tests(self.place, part, self.seconds))), None)
        finally:
            target.write_text(original, encoding="utf-8")

    def _is_unfit(self, killer: str) -> bool:
        if "::" in killer and killer not in self.unfit:
            self.unfit[killer] = run_tests(self.place, [killer], self.seconds) is not None
        return self.unfit.get(killer, False)


def baseline(tests: list[str]) -> int:
    """Run the tests once for the map; one that fails is no reason to stop, since it is put aside where it matters."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-m", "not engine and not browser and not data"]
    command += ["--cov", "--cov-context=test", "--cov-report=", "--cov-fail-under=0", *tests]
    code = subprocess.run(command, cwd=ROOT).returncode
    shutil.rmtree(SNAPSHOT, ignore_errors=True)
    shutil.copytree(ROOT / "src", SNAPSHOT, ignore=shutil.ignore_patterns("__pycache__"))
    return 0 if code in (0, 1) else 2


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", help="only files whose path contains one of these")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=60, help="CPU seconds for one test; more means it hangs")
    parser.add_argument("--minutes", type=float, help="start no mutant after so many minutes; the next run goes on")
    parser.add_argument("--least", type=float, default=0.0, help="exit 1 if a smaller share dies")
    parser.add_argument("--baseline", nargs="+", metavar="TESTS", help="make the map from these tests, and end")
    parser.add_argument("--also", nargs="+", default=[], metavar="TESTS", help="tests newer than the map, run first")
    parser.add_argument("--survivors", action="store_true", help="judge those again that survived an earlier run")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutants.json")
    options = parser.parse_args(arguments)
    if options.baseline:
        return baseline(options.baseline)
    if not MAP.exists() or not (reached := Reached(MAP)):
        print(f"{MAP} does not say which test reached which line; run: make coverage", file=sys.stderr)
        return 2
    import numpy  # noqa: F401  # what every run needs is imported once; hypothesis must be left to pytest
    import pytest  # noqa: F401
    import scipy.optimize
    import scipy.stats  # noqa: F401

    drawn, possible = sample(options.parts, options.count, options.seed)
    spared = accepted()
    mutants = [each for each in drawn if (each.path, each.before, each.after) not in spared]
    verdicts = {row["key"]: row for row in _stored(options.out)}
    verdicts = {
        each.key: verdicts[each.key] | {"line": each.line}
        for each in mutants
        if each.key in verdicts and (verdicts[each.key]["killer"] or not options.survivors)
    }
    judge, begin = Judge(reached, options.also, options.seconds), time.monotonic()
    try:
        for change in mutants:
            if options.minutes is not None and time.monotonic() - begin > 60 * options.minutes:
                break
            if change.key in verdicts:
                continue
            row = verdicts[change.key] = judge.verdict(change)
            fate = f"died      {change}  ({row['killer']})" if row["killer"] else f"survived  {change}"
            print(fate, flush=True)
            _store(options.out, possible, len(drawn) - len(mutants), verdicts)
    finally:
        shutil.rmtree(judge.place, ignore_errors=True)
    return _summary(verdicts, len(mutants), len(drawn) - len(mutants), judge.unfit, options.least)


def _stored(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    rows = json.loads(path.read_text(encoding="utf-8"))["mutants"]
    return [row for row in rows if "key" in row]


def _store(path: Path, possible: int, spared: int, verdicts: dict[str, dict[str, Any]]) -> None:
    died = sum(row["killer"] is not None for row in verdicts.values())
    counts = {"possible": possible, "died": died, "of": len(verdicts), "spared": spared}
    result = counts | {"mutants": list(verdicts.values())}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".new").write_text(json.dumps(result, indent=1), encoding="utf-8")
    path.with_suffix(".new").replace(path)


def _summary(verdicts: dict[str, dict[str, Any]], asked: int, spared: int, unfit: dict[str, bool], least: float) -> int:
    """Print what died and what did not; 1 where less than `least` of them died."""
    alive = [row for row in verdicts.values() if row["killer"] is None]
    share = 1 - len(alive) / max(len(verdicts), 1)
    print(f"\n{len(verdicts) - len(alive)} of {len(verdicts)} mutants died ({100 * share:.1f} %)", end="")
    print(f"; {asked - len(verdicts)} not judged yet" if len(verdicts) < asked else "", end="")
    print(f"; {spared} more change nothing that a test could see (tools/mutants.toml)" if spared else "")
    for row in sorted(alive, key=lambda row: (row["path"], row["line"])):
        why = "no test reaches it" if not row["tests"] else f"{row['tests']} tests pass"
        print(f"survived  {row['path']}:{row['line']}  {row['before']}  ->  {row['after']}  ({why})")
    for killer in sorted(name for name, fails in unfit.items() if fails):
        print(f"put aside, fails without a fault  {killer}")
    return int(share < least)


if __name__ == "__main__":
    raise SystemExit(main())
