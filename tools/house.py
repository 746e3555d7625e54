"""Count the rooms of the source tree: python tools/house.py [-v] [--record] [path-part ...]

Prints how large and how tangled the house is beside what is asked of it, then the number of files, lines of code (no
blanks, comments or docstrings), private functions with a single caller, public functions with an untyped `**name: Any`,
and class names used twice.  -v lists the last two; a path part lists the single-caller functions of the files that
contain it.  --record keeps in tools/measured.json what the last `make test` and `make mutants` here have found, with
date and commit; a clone without runs of its own prints that.

A public function is one that another module can name: of a module or a class.  A function inside a decorator takes
whatever it wraps, has the signature of that (functools.wraps), and cannot be called by name.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1] / "src" / "scalecurve"
NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
OUT = ROOT.parents[1] / "out"  # where make test and make mutants leave what they found
MEASURED = Path(__file__).with_name("measured.json")
RUNS = {
    "mutants.json": ("make mutants", ("died", "of", "spared")),
    "tests.json": ("make test", ("cpu_minutes", "skipped")),
}
CURVES = ("fitting/models.py", "forecasting/experts.py", "diagnosis/shapes.py")  # beside that of laws
SHARED = re.compile(r"laws\.terms|laws\.formula|every_law")
HEADERS = ("auditing/claim_table.py", "training/inputs/measured_table.py")  # beside the one of formats/headers.py
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text: str) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS))
            and ast.get_docstring(node, clean=False) is not None
        ):
            first = node.body[0]
            lines -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def tangled() -> tuple[int, float]:
    """Functions of radon grade D or worse, and the share of functions with a cognitive complexity above 15."""
    from complexipy import file_complexity
    from radon.complexity import cc_visit

    grades, cognitive = 0, []
    for path in ROOT.rglob("*.py"):
        blocks = cc_visit(path.read_text(encoding="utf-8"))
        grades += sum(block.complexity > 20 for block in blocks if type(block).__name__ == "Function")
        cognitive += [function.complexity for function in file_complexity(str(path)).functions]
    return grades, sum(each > 15 for each in cognitive) / len(cognitive)


def repeated(least: int = 6) -> int:
    """Runs of `least` equal lines of code that stand in two places, counted once each."""
    places: Counter[tuple[str, ...]] = Counter()
    for path in ROOT.rglob("*.py"):
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        lines = [line for line in lines if line and not line.startswith(("#", '"', "import ", "from "))]
        places.update(tuple(lines[i : i + least]) for i in range(len(lines) - least + 1))
    return sum(count > 1 for count in places.values())


def figures(total: int) -> list[tuple[str, str, str]]:
    """What is asked of the house: the row, how it stands, what is asked."""
    grades, share = tangled()
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in (*CURVES, *HEADERS) if (ROOT / path).exists()}
    catalogues = [path for path in CURVES if path in texts and not SHARED.search(texts[path])]
    engines = [path for path in HEADERS if path in texts and "formats.headers" not in texts[path]]
    schemas = ROOT / "schemas.json"
    tests = sum(code_lines(path.read_text(encoding="utf-8")) for path in (ROOT.parents[1] / "tests").rglob("*.py"))
    rows = [
        ("code lines under src", f"{total:,}", "<= 38,000"),
        ("functions of radon grade D or worse", str(grades), "<= 25"),
        ("functions above a cognitive complexity of 15", f"{share:.1%}", "<= 3%"),
        ("catalogues of curves", str(1 + len(catalogues)), "1"),
        ("header engines", str(1 + len(engines)), "1"),
        ("hand-written schema lines", str(len(schemas.read_text().splitlines()) if schemas.exists() else 0), "0"),
        ("runs of 6 lines that stand twice", str(repeated()), "fewer"),
        ("lines of tests per line of code", f"{tests / total:.2f}", ">= 0.45"),
    ]
    found = measured()
    if run := found.get("make mutants"):
        rows.append((f"sampled mutants killed ({run['date']})", f"{run['died']} of {run['of']}", ">= 90%"))
    if run := found.get("make test"):
        rows.append((f"CPU minutes of make test ({run['date']})", str(run["cpu_minutes"]), "<= 6"))
        rows.append(("tests skipped", str(run["skipped"]), "<= 10"))
    return rows


def measured() -> dict[str, dict[str, Any]]:
    """What the runs of the commands found, by command: as recorded, or here where they ran since."""
    found: dict[str, dict[str, Any]] = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    for name, (command, keys) in RUNS.items():
        if (OUT / name).exists():
            run = json.loads((OUT / name).read_text(encoding="utf-8"))
            day = date.fromtimestamp((OUT / name).stat().st_mtime).isoformat()
            found[command] = {"date": day, "commit": commit.strip()} | {key: run[key] for key in keys if key in run}
    return found


def main(arguments: list[str]) -> int:
    code: Counter[str] = Counter()
    files: Counter[str] = Counter()
    single: list[tuple[str, str]] = []
    untyped: list[str] = []
    classes: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        package = name.split("/")[0]
        code[package] += code_lines(text)
        files[package] += 1
        tree = ast.parse(text)
        nodes = list(ast.walk(tree))
        inner = {
            id(part)
            for node in nodes
            if isinstance(node, FUNCTIONS)
            for part in ast.walk(node)
            if part is not node and isinstance(part, FUNCTIONS)
        }
        uses = Counter(node.id for node in nodes if isinstance(node, ast.Name))
        uses += Counter(node.attr for node in nodes if isinstance(node, ast.Attribute))
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(name)
            if not isinstance(node, FUNCTIONS):
                continue
            private = node.name.startswith("_") and not node.name.startswith("__")
            if private and uses[node.name] == 1:
                single.append((name, node.name))
            keywords = node.args.kwarg
            if (
                not private
                and id(node) not in inner
                and keywords
                and isinstance(keywords.annotation, ast.Name)
                and keywords.annotation.id == "Any"
            ):
                untyped.append(f"{name}: {node.name}")
    total, twice = sum(code.values()), {name: where for name, where in classes.items() if len(where) > 1}
    by_package = Counter(name.split("/")[0] for name, _ in single)
    for row, stands, asked in figures(total):
        print(f"{row:46} {stands:>12}   asked {asked}")
    print(f"\n{sum(files.values())} files, {total} lines of code, {len(single)} private functions with a single caller")
    print(f"({1000 * len(single) / total:.1f} per 1,000 lines), {len(untyped)} public functions with **name: Any,")
    print(f"{len(twice)} class names used twice")
    for package, lines in code.most_common():
        print(f"  {package:16} {files[package]:3} files {lines:6} lines {by_package[package]:4} single-caller")
    if "--record" in arguments:
        MEASURED.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    if "-v" in arguments:
        print(*(f"untyped keywords  {place}" for place in untyped), sep="\n")
        print(*(f"class name twice  {name}: {', '.join(where)}" for name, where in twice.items()), sep="\n")
    for part in arguments:
        print(*(f"single caller  {name}: {function}" for name, function in single if part in name), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
