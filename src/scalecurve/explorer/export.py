"""The explorer as a page without a server: one HTML file, or a cell of a notebook.

Laws and mechanisms compute in the page (`assets/live.js`).  Collectives and training come from a computed grid, a study
with its whole analysis; sliders move over what was computed, so that every number is exact.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import html
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.explorer.formulas import laws_script
from scalecurve.explorer.pool import Pool
from scalecurve.explorer.questions.data import page_study
from scalecurve.explorer.questions.question import Nothing
from scalecurve.explorer.questions.training import choices
from scalecurve.explorer.worker import answer
from scalecurve.formats.loading import StudyLike
from scalecurve.laws.collectives import Operation
from scalecurve.render.html import stylesheet
from scalecurve.study.atomic import write_atomically
from scalecurve.training.inputs.cluster import read_cluster
from scalecurve.training.inputs.transformer import model_preset

MODELS = ("llama3-70b", "llama3-8b")
CLUSTERS = ("h100-ib400",)
BROKEN = 500  # the HTTP status from which a question was not answered
LONGEST = 600.0  # seconds of one answer of a page that is written
HIGHEST = 100_000  # pixels of the page in a notebook
BATCHES = tuple(float(mega << 20) for mega in (1, 4, 16, 64))  # tokens
LONGEST_SEQ = 8192
DATA_PARTS = ("table", "diagnosis", "forecast", "fits", "cost", "audit")
FEW: dict[str, tuple[Any, ...]] = {  # collectives of a page without a server
    "network": ("nvlink+ib400", "ib400", "eth25"), "ranks": (8, 64, 512, 4096),
    "bytes": (4096, 1 << 16, 1 << 20, 1 << 24, 350_000_000),
}  # fmt: skip
FROZEN = (
    "size", "grows", "tokens_per_parameter", "seq", "critical", "critical_tokens", "loss", "precision", "stack",
    "price", "deadline_days", "budget",
)  # fmt: skip
IMPORT = re.compile(r'^import \{([^}]*)\} from "\.{1,2}/(views/)?([^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
COMMENT = re.compile(r"^\s*/\*\*(?:(?!\*/).)*\*/\n|^// @ts-check\n", re.MULTILINE | re.DOTALL)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>Scalecurve explorer</title>
<style>{style}</style>
</head>
{body}
{scripts}
</html>
"""

POLICY = "default-src 'none'; script-src {script}; style-src {style}; img-src data: blob:"

Progress = Callable[[int, int], None]
Asked = tuple[str, str, dict[str, Any]]  # the key in the page, the question, and its body


@dataclass(frozen=True)
class ExplorerPage:
    """A page that stands alone; a notebook shows it in a frame."""

    html: str
    height: int = 900

    def __repr__(self) -> str:
        return f"<ExplorerPage of {len(self.html) / 1e6:.1f} MB>"

    def _repr_html_(self) -> str:
        text = html.escape(self.html, quote=True)
        frame = f'width="100%" height="{self.height}" style="border: 1px solid #ccc"'
        return f'<iframe title="Scalecurve explorer" srcdoc="{text}" {frame}></iframe>'

    def save(self, path: str | Path) -> None:
        """Write the page as one file."""
        target = Path(path)
        if target.suffix not in (".html", ".htm") or target.is_dir():
            raise InputError(Fault("cannot write the page there", str(path), remedy="name a file that ends in .html"))
        write_atomically(target, self.html.encode())


def explore(
    study: StudyLike | None = None,
    *,
    regime: str | None = None,
    models: Sequence[str] = MODELS,
    clusters: Sequence[str] = CLUSTERS,
    height: int = 900,
    progress: Progress | None = None,
) -> ExplorerPage:
    """The explorer in a notebook: live laws and mechanisms, the planner's grid, and a study with its analysis."""
    if not 1 <= height <= HIGHEST:
        raise InputError(Fault("the height is in pixels", "height", str(height), f"from 1 to {HIGHEST}"))
    if not models or not clusters:
        raise InputError(Fault("the page needs a model and a cluster", remedy="name at least one of each"))
    names = [model_preset(name).name for name in models]  # an unknown name is refused before anything is computed
    for cluster in clusters:
        read_cluster(cluster)
    start, cases = {}, _answered("data/cases", {})["cases"]
    usual = {"model": names[0], "cluster": clusters[0], "batch_tokens": BATCHES[len(BATCHES) // 2]}
    if study is not None:
        start = {"data": page_study(study, regime)}
        cases = [start["data"] | {"label": f"{start['data']['name']}: the study of this page"}, *cases]
    parts = (asked for case in cases for asked in _parts(case))
    answers = _all_answered([*_plans(names, clusters), *parts, *_collectives()], progress)
    limited = {"models": names, "clusters": list(clusters), "batches": list(BATCHES), "frozen": list(FROZEN)}
    everything = {"choices": choices(Nothing()) | limited, "cases": cases, "answers": answers}
    packed = gzip.compress(json.dumps(everything, separators=(",", ":"), default=str).encode(), 9, mtime=0)
    carried = {"few": FEW, "start": start, "defaults": {"training": usual}, "packed": base64.b64encode(packed).decode()}
    return ExplorerPage(_single_page(carried), height)


def lesson() -> ExplorerPage:
    """The lesson alone, below 150 kB, to embed in a course."""
    return ExplorerPage(_single_page({"start": {}, "defaults": {}}, "lesson.js"))


def _plans(models: Sequence[str], clusters: Sequence[str]) -> Iterator[Asked]:
    """Every setting of the training view that the page can be asked."""
    for model, cluster, batch, weak in itertools.product(models, clusters, BATCHES, (True, False)):
        seq = min(model_preset(model).seq, LONGEST_SEQ)
        request = {"model": model, "cluster": cluster, "batch_tokens": batch, "seq": seq, "weak": weak}
        yield f"training {model} {cluster} {batch:.0f} {'weak' if weak else 'strong'}", "training", request


def _parts(case: dict[str, Any]) -> Iterator[Asked]:
    """Every part of the analysis of every curve of a case."""
    body = {name: case[name] for name in ("text", "name", "regime")}
    curves = _answered("data/table", body).get("curves") or {"names": [""]}
    for curve, part in itertools.product(curves["names"], DATA_PARTS):
        yield f"data/{part} {case['name']} {curve}", f"data/{part}", body | {"series": curve}


def _collectives() -> Iterator[Asked]:
    """Every collective of the page."""
    for operation, network, ranks, size in itertools.product(Operation, *FEW.values()):
        request = {"operation": operation, "network": network, "ranks": ranks, "bytes": size}
        yield f"mechanisms/collectives {operation} {network} {ranks} {size}", "mechanisms/collectives", request


def _all_answered(asked: Sequence[Asked], progress: Progress | None) -> dict[str, Any]:
    """The answers by their keys in the page, from as many of the server's processes as this machine has cores."""
    done = 0

    async def answered(pool: Pool, question: str, body: dict[str, Any]) -> Any:
        nonlocal done
        status, content = await pool.ask(question, json.dumps(body).encode())
        data = json.loads(content)
        if status >= BROKEN:  # no answer and no refusal
            raise InputError(Fault("the page cannot be written", value=question, remedy=data["error"]))
        done += 1
        if progress is not None:
            progress(done, len(asked))
        return data

    async def all_of_them() -> list[Any]:
        pool = Pool(size=os.cpu_count() or 1, compute_seconds=LONGEST, wait_seconds=LONGEST)
        try:
            return await asyncio.gather(*(answered(pool, question, body) for _, question, body in asked))
        finally:
            await pool.stop()

    with ThreadPoolExecutor(1) as thread:  # a notebook has a loop of its own
        answers = thread.submit(asyncio.run, all_of_them()).result()
    return {key: content for (key, _, _), content in zip(asked, answers, strict=True)}


def _answered(question: str, body: dict[str, Any]) -> dict[str, Any]:
    """The answer of the server's own question; a refusal is kept in its words."""
    _, content = answer(question, json.dumps(body).encode())
    data: dict[str, Any] = json.loads(content)
    return data


def _single_page(carried: dict[str, Any], root: str = "app.js") -> str:
    """The page with its data inside; it may load nothing from anywhere."""
    data = json.dumps(carried).replace("<", "\\u003c")  # no text of a study can end its element
    style, script, body = stylesheet() + _asset("app.css"), bundle(root), _asset("index.html")
    return PAGE.format(
        policy=POLICY.format(script=_source(script), style=_source(style)),
        style=style,
        body=body[body.index("<body>") : body.index("</html>")].strip(),
        scripts=f'<script type="application/json" id="carried">{data}</script>\n<script>{script}</script>',
    )


def _source(text: str) -> str:
    """The one script or stylesheet that a policy lets into the page, by its digest."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    if name == "laws.js":
        return laws_script()
    return files("scalecurve.explorer").joinpath("assets", *PurePosixPath(name).parts).read_text(encoding="utf-8")


@cache
def bundle(root: str = "app.js") -> str:
    """The modules of a page as one script, each after its imports: a file opened from disk can load no modules."""
    made: dict[str, str] = {}

    def add(name: str) -> None:
        if name in made:
            return
        text = _asset(name)
        needs = [(wanted, f"{folder}{path}") for wanted, folder, path in IMPORT.findall(text)]
        for _, path in needs:
            add(path)
        names = EXPORT.findall(text)
        plain = IMPORT.sub("", text)
        plain = re.sub(r"^export (?=async |function|class|const|let)", "", plain, flags=re.MULTILINE)
        inputs = "\n".join(f'const {{{wanted}}} = modules["{path}"];' for wanted, path in needs)
        outputs = ", ".join(word.strip() for word in names)
        plain = COMMENT.sub("", plain)
        made[name] = f'modules["{name}"] = (() => {{\n{inputs}\n{plain}\nreturn {{ {outputs} }};\n}})();'

    add(root)
    script = '"use strict";\nconst modules = {};\n' + "\n".join(made.values())
    script = script.encode("ascii", "backslashreplace").decode()  # its digest is the same in a page of any encoding
    if "</script" in script:
        raise ValueError("a module would end the script of the page")
    return script
