"""Build the site into out/site: docs/, the reports of the gallery and the static explorer; links are checked.

    python tools/site.py        needs requirements/site.txt; `make site` does it all

The result works from a folder without a server and without a network, search included.  Any warning, dead link, dead
anchor or file from elsewhere ends it with 1.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "out" / "site-source"
SITE = ROOT / "out" / "site"
REPORT = re.compile(r"<!-- report: (?P<line>.+?) -> (?P<file>\S+) -->")
OUTSIDE = re.compile(r"\]\((?:\.\./)+((?:examples|src|tests|bench|tools|action\.yml|README\.md|SECURITY\.md)[^)]*)\)")
REPOSITORY = "https://github.com/scalecurve/scalecurve/blob/main/"
CHARTS = {  # the state of the static explorer that belongs to a law's page
    "amdahl": "laws?serial=0.05&comm=0",
    "gustafson": "laws?serial=0.05&comm=0",
    "logcomm": "laws?serial=0.05&comm=0.01",
    "isoefficiency": "laws?serial=0.05&comm=0.01&hold=0.95",
    "karp-flatt": "laws?serial=0.05&comm=0.01",
    "collectives": "mechanisms?topic=collectives",
    "roofline": "mechanisms?topic=roofline",
    "stragglers": "mechanisms?topic=slowest",
    "queueing": "mechanisms?topic=slowest",
    "workdepth": "mechanisms?topic=depth",
}
DRAWN = {  # laws that the explorer does not have: the command of the page draws them
    "usl": "S over K: rises to the peak, then falls",
    "sun-ni": "S over K beside the ideal line",
}
FRAME = """
## Move the numbers

<iframe src="../explorer/index.html#{}" title="Live chart" width="100%" height="760"></iframe>
"""
GUIDES = (  # in the order in which a user meets them
    *("measuring", "import-export", "intervals", "diagnosing", "forecasting", "grids", "cost", "proposals", "auditing"),
    *("gating", "report", "explorer", "mechanisms", "planning-training"),
)
NAV: dict[str, str | list[str]] = {
    "Home": "README.md",
    "Tutorial": "tutorial.md",
    "Course": ["course"],
    "Gallery": ["gallery"],
    "Guides": [f"guide/{name}.md" for name in GUIDES],
    "Laws": ["laws"],
    "Reference": ["reference"],
    "How far off it was": "accuracy.md",
    "Reliability": "reliability.md",
    "Real programs": "real-programs.md",
    "Extending it": [
        f"guide/adding-{name}.md" for name in ("a-law", "a-reader", "a-launcher", "a-command", "an-accelerator")
    ],
    "Project": ["architecture.md", "project", "decisions"],
}
PROJECT_PAGES = {  # pages of the repository's root, and what they are called in docs/project
    name: name.lower().replace("_", "-")
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
}
SEARCH_SHIM = "https://unpkg.com/iframe-worker/shim"  # the theme would fetch it: docs/assets/folder-worker.js is ours


def main() -> int:
    prepare()
    make_reports()
    draw_laws()
    export_explorer()
    config = ROOT / "out" / "mkdocs.yml"
    config.write_text(f"INHERIT: ../mkdocs.yml\ndocs_dir: {SOURCE}\nsite_dir: {SITE}\nnav:\n{navigation()}")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(config)]
    if subprocess.run(words, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}).returncode:
        return 1
    keep_search_here()
    problems = dead_links()
    for problem in problems:
        print(problem, file=sys.stderr)
    pages = len(list(SITE.rglob("*.html")))
    print(f"{SITE.relative_to(ROOT)}: {pages} pages, {len(problems)} dead links")
    return int(bool(problems))


def prepare() -> None:
    """docs/ beside the pages of the project, with the links of the latter pointing where they now stand."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE, ignore=shutil.ignore_patterns("man"))
    for page in SOURCE.rglob("*.md"):
        inner = page.read_text().replace("](../CHANGELOG.md)", "](project/changelog.md)")
        page.write_text(OUTSIDE.sub(rf"]({REPOSITORY}\1)", inner))
    for name, state in CHARTS.items():
        page = SOURCE / "laws" / f"{name}.md"
        page.write_text(page.read_text() + FRAME.format(state))
    project = SOURCE / "project"
    project.mkdir(exist_ok=True)
    for name, page_name in PROJECT_PAGES.items():
        (project / page_name).write_text(project_links((ROOT / name).read_text()))


def project_links(text: str) -> str:
    """A page of the project with links that hold beside docs/project."""
    text = text.replace("](docs/", "](../")
    for name, page_name in PROJECT_PAGES.items():
        text = text.replace(f"]({name}", f"]({page_name}")
    return text


def make_reports() -> None:
    """Every `<!-- report: scalecurve report ... -> name.html -->` of a page, written beside the page."""
    from tools.generate_docs import output_of

    for page in SOURCE.rglob("*.md"):
        for match in REPORT.finditer(page.read_text()):
            target = page.parent / match["file"]
            with contextlib.chdir(ROOT):
                output_of(f"{match['line']} -o {target} -q")


def draw_laws() -> None:
    """A picture below the table of each law in `DRAWN`."""
    from tools.generate_docs import output_of

    for name, words in DRAWN.items():
        page = SOURCE / "laws" / f"{name}.md"
        command = re.search(r"^\$ (scalecurve law .+)$", page.read_text(), re.MULTILINE)
        if command is None:
            raise SystemExit(f"{page.name} shows no command")
        output_of(f"{command[1]} --plot {page.with_suffix('.svg')} -q")
        page.write_text(f"{page.read_text()}\n![{words}]({name}.svg)\n")


def export_explorer() -> None:
    from tools.generate_docs import output_of

    output_of(f"scalecurve explore --export {SOURCE / 'explorer'}")


def navigation() -> str:
    """The menu: a page, or all pages of folders by their titles, as YAML."""
    lines = []
    for title, entry in NAV.items():
        if isinstance(entry, str):
            lines.append(f"  - {title}: {entry}")
            continue
        lines.append(f"  - {title}:")
        for part in entry:
            pages = [SOURCE / part] if part.endswith(".md") else sorted((SOURCE / part).rglob("*.md"), key=_place)
            lines += [f"    - {json.dumps(short_title(page))}: {page.relative_to(SOURCE)}" for page in pages]
    return "\n".join(lines) + "\n"


def short_title(page: Path) -> str:
    """The heading of a page up to its colon."""
    heading = re.search(r"^# (.+)$", page.read_text(), re.MULTILINE)
    return heading[1].partition(": ")[0] if heading else page.stem


def keep_search_here() -> None:
    """Every page loads the helper of the search from the site itself."""
    for page in SITE.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if SEARCH_SHIM in text:
            here = os.path.relpath(SITE / "assets" / "folder-worker.js", page.parent)
            page.write_text(text.replace(SEARCH_SHIM, here), encoding="utf-8")


def _place(page: Path) -> tuple[bool, str]:
    return page.name != "README.md", str(page)


class Links(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.append(value)
            if value and (name == "src" or (name == "href" and tag == "link")):
                self.loaded.append(value)
            if name in ("id", "name") and value:
                self.anchors.add(value)


def dead_links() -> list[str]:
    """Links inside the site whose file or anchor is not there, and what a page would load from elsewhere."""
    pages: dict[Path, Links] = {}
    for path in SITE.rglob("*.html"):
        pages[path.resolve()] = parser = Links()
        parser.feed(path.read_text(encoding="utf-8"))
    problems = []
    for path, parser in pages.items():
        where = path.relative_to(SITE.resolve())
        problems += [f"{where}: loads {target}" for target in parser.loaded if target.startswith(("http", "//"))]
        if path.name == "404.html":
            continue
        for target in parser.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or target.startswith(("data:", "javascript:")):
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            file = file / "index.html" if file.is_dir() else file
            if not file.exists():
                problems.append(f"{where}: no file {target}")
            elif file in pages and "explorer" not in file.parts and not _there(parts.fragment, pages[file]):
                problems.append(f"{where}: no anchor {target}")
    return problems


def _there(fragment: str, page: Links) -> bool:
    return not fragment or unquote(fragment) in page.anchors


if __name__ == "__main__":
    sys.exit(main())
