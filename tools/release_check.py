"""All of a release but the upload: make release-check

Builds the sdist and the wheel, looks inside and at their size, installs each in an empty environment, makes a small
study with each, runs the commands of README, and looks for a kind sentence where an extra is absent.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "out" / "dist"
LARGEST_WHEEL = 1.5e6
NEEDED = ("scalecurve/py.typed", "scalecurve/codes.toml", "scalecurve/cli/main.py")
STRAY = re.compile(r"(^|/)(tests|bench|tools|\.git|\.venv|__pycache__)/|\.pyc$")
JOB = "import sys; sum(i * i for i in range(200_000 // int(sys.argv[1])))"
ABSENT = {  # a command that needs an extra, and what its refusal must name
    "web": (["explore", "--no-open", "--port", "0"], "scalecurve[web]"),
    "parquet": (["export", "{study}", "--to", "parquet", "-o", "x.parquet"], "scalecurve[parquet]"),
}


def main() -> int:
    problems: list[str] = []
    wheel, sdist = build()
    problems += inside(wheel, sdist)
    for file in (wheel, sdist):
        with tempfile.TemporaryDirectory() as place:
            print(f"== {file.name} in an empty environment", flush=True)
            problems += attempt(file, Path(place))
    for problem in problems:
        print(f"release-check: {problem}", file=sys.stderr)
    print("release-check: " + ("failed" if problems else "all is well; the upload is the tag's"))
    return int(bool(problems))


def build() -> tuple[Path, Path]:
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(DIST)], cwd=ROOT, check=True)
    return next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))


def inside(wheel: Path, sdist: Path) -> list[str]:
    """What is missing from the archives, too much in them, or too large."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    with tarfile.open(sdist) as archive:
        sources = archive.getnames()
    problems = [f"{wheel.name} has no {name}" for name in NEEDED if name not in names]
    problems += [f"{wheel.name} has {name}" for name in names if STRAY.search(name)]
    if not any(name.endswith("share/man/man1/scalecurve-measure.1") for name in names):
        problems.append(f"{wheel.name} has no manual pages")
    problems += [
        f"{sdist.name} has no {name}" for name in ("README.md", "LICENSE") if not any(s.endswith(name) for s in sources)
    ]
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.2f} MB, {len(names)} files; {sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB")
    return [*problems, *([f"{wheel.name} is larger than {LARGEST_WHEEL / 1e6} MB"] if size > LARGEST_WHEEL else [])]


def attempt(file: Path, place: Path) -> list[str]:
    """A newcomer's first steps with one archive, far from the repository."""
    venv.create(place / "env", with_pip=True)
    python, home = place / "env" / "bin" / "python", place / "home"
    home.mkdir()
    env = {"HOME": str(home), "PATH": f"{place / 'env' / 'bin'}:/usr/bin:/bin", "LANG": "C.UTF-8"}
    env |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, str(file)], check=True, env={**os.environ, **env})

    def scalecurve(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["scalecurve", *words], cwd=home, env=env, capture_output=True, text=True, timeout=300)

    problems = []
    study = ["measure", "--regime", "strong", "--workers", "1,2", "--repeats", "2", "-o", "study.json"]
    steps = [
        ([*study, "--quiet-below", "1000", "--oversubscribe", "--", "python", "-c", JOB, "{workers}"], (0, 1)),
        (["table", "study.json"], (0,)),
        (["report", "study.json", "-o", "report.html"], (0,)),
    ]
    shutil.copytree(ROOT / "examples", home / "examples")
    shutil.copy(ROOT / "examples" / "reference" / "strong.csv", home / "times.csv")
    readme = re.findall(r"^\$ scalecurve (.+?)(?: \| head .*)?$", (ROOT / "README.md").read_text(), re.MULTILINE)
    lines = (shlex.split(line, comments=True) for line in readme)
    steps += [(words, (0, 1)) for words in lines if words[0] not in ("measure", "explore")]
    for words, good in steps:
        done = scalecurve(*words)
        if done.returncode not in good:
            problems.append(
                f"{file.name}: scalecurve {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}"
            )
    for extra, (words, name) in ABSENT.items():
        done = scalecurve(*(word.replace("{study}", "study.json") for word in words))
        if done.returncode != 2 or name not in done.stderr:
            problems.append(
                f"{file.name}: without {extra} the answer is {done.returncode}: {done.stderr.strip()[:200]}"
            )
    return problems


if __name__ == "__main__":
    sys.exit(main())
