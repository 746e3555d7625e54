"""Random settings of the explorer's page, and what differs between its answers and the commands it prints."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from scalecurve.cli.main import run
from scalecurve.explorer.questions.training import CLUSTERS, SHOWN, STACKS
from scalecurve.explorer.worker import answer
from scalecurve.training.inputs.transformer import models
from scalecurve.training.physics.run import critical_batch_laws

States = dict[str, Any]
State = tuple[str, States]
Ask = Callable[[str, States], tuple[int, States]]
OPERATIONS = ["allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall"]
NETWORKS = ["nvlink+ib400", "nvlink3+ib200", "nvlink5+ib800", "ib100", "ib400", "eth10", "eth25", "nvlink"]
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


def log_between(rng: random.Random, low: float, high: float, digits: int = 3) -> float:
    """A value as a logarithmic slider gives it."""
    return float(f"{low * (high / low) ** rng.random():.{digits}g}")


def training(rng: random.Random) -> State:
    body: dict[str, Any] = {
        "model": rng.choice(["size", "size", "size", *models()]),
        "size": log_between(rng, 8e8, 3e12),
        "tokens_per_parameter": log_between(rng, 1, 2000),
        "batch_tokens": log_between(rng, 65536, 2e9),
        "grows": rng.random() < 0.3,
        "weak": rng.random() < 0.25,
        "critical": rng.choice(["zhang", "measured", *critical_batch_laws()]),
        "critical_tokens": log_between(rng, 1e5, 5e8),
        "loss": round(rng.uniform(1, 6), 2),
        "cluster": rng.choice([*CLUSTERS, "own"]),
        "own_tflops": log_between(rng, 10, 20000),
        "own_memory": log_between(rng, 8, 1024),
        "own_memory_rate": log_between(rng, 0.1, 50),
        "own_inner": log_between(rng, 10, 5000),
        "own_outer": log_between(rng, 1, 1000),
        "own_node": rng.choice([1, 2, 4, 8, 16, 32, 64, 72]),
        "seq": 2 ** rng.randint(9, 17),
        "precision": rng.choice(["usual", "usual", "bf16", "fp16", "fp8"]),
        "stack": rng.choice([*["usual"] * 4, *STACKS]),
        "price": log_between(rng, 0.1, 20),
        "deadline_days": rng.choice([0, 0, 7, 30, 90]),
        "budget": rng.choice([0, 0, 1e5, 1.5e6, 3e7]),
    }
    return "training", body


def laws(rng: random.Random) -> State:
    serial, comm = rng.choice([0.0, round(rng.uniform(0, 0.5), 3)]), rng.choice([0.0, round(rng.uniform(0, 0.1), 4)])
    return "laws", {
        "serial": serial,
        "comm": comm,
        "largest": 2 ** rng.randint(3, 16),
        "hold": rng.randint(5, 99) / 100,
    }


def mechanisms(rng: random.Random) -> State:
    topic = rng.choice(["collectives", "slowest", "depth", "roofline"])
    bodies: dict[str, dict[str, Any]] = {
        "collectives": {
            "operation": rng.choice(OPERATIONS),
            "network": rng.choice(NETWORKS),
            "bytes": log_between(rng, 64, 1.7e10),
            "ranks": 2 ** rng.randint(1, 12),
        },
        "slowest": {
            "spread": rng.randint(1, 200) / 200,
            "slow_chance": log_between(rng, 0.0001, 0.2),
            "largest": 2 ** rng.randint(1, 10),
        },
        "depth": {
            "work": log_between(rng, 1, 1e9),
            "depth": log_between(rng, 1, 1e6),
            "largest": 2 ** rng.randint(1, 16),
        },
        "roofline": {
            "peak": log_between(rng, 1e9, 1e16),
            "bandwidth": log_between(rng, 1e9, 1e14),
            "intensity": log_between(rng, 0.125, 16384),
            "reached": rng.randint(1, 100) / 100,
        },
    }
    return f"mechanisms/{topic}", bodies[topic]


def dressed(rng: random.Random, heads: list[str], rows: list[list[float]]) -> tuple[str, str]:
    """A table as people keep it, and the ending of its name."""
    kind = rng.choice(["csv", "csv", "tsv", "german.csv", "md", "txt"])
    cells = [heads, *([f"{row[0]:.0f}", f"{row[1]:.6f}"] for row in rows)]
    if kind == "md":
        cells.insert(1, ["---", "---"])
        return kind, "".join(f"| {' | '.join(row)} |\n" for row in cells)
    if kind == "german.csv":
        cells = [[cell.replace(".", ",") for cell in row] for row in cells]
    between = {"csv": ",", "tsv": "\t", "german.csv": ";", "txt": "  "}[kind]
    return kind, "".join(between.join(row) + "\n" for row in cells)


def data(rng: random.Random) -> State:
    """Runs that scale or not, from one worker or many, as times or rates, repeated or not, in files of all kinds."""
    serial, noise, regime = rng.uniform(0, 0.2), rng.uniform(0.002, 0.05), rng.choice(["strong", "weak"])
    first, repeats, is_rate = rng.choice([1, 1, 1, 8, 64]), rng.randint(1, 5), rng.random() < 0.25
    rows = []
    for k in (1, 2, 4, 8, 16, 32)[: rng.randint(2, 6)]:
        for _ in range(repeats):
            time = ((serial + (1 - serial) / k) if regime == "strong" else 1 + serial * k**0.3) * rng.gauss(1, noise)
            work = 1.0 if regime == "strong" else float(k)
            rows.append([float(first * k), 1000.0 * work / time if is_rate else time])
    ending, text = dressed(rng, ["gpus", "images_per_second" if is_rate else "seconds"], rows)
    body: dict[str, Any] = {"text": text, "name": f"run {rng.randint(1, 99)}.{ending}", "regime": regime}
    part = rng.choice(["table", "table", "forecast", "cost", "fits", "diagnosis", "audit"])
    if part == "table":
        rules = ["efficiency", "marginal", "knee"]
        body |= {"threshold": rng.randint(5, 100) / 100, "rule": rng.choice(rules), "level": rng.randint(50, 99) / 100}
    if part == "forecast":
        body |= {"reach": rng.choice([2, 4, 8, 16])}
    if part == "cost":
        body |= {"price": log_between(rng, 0.01, 100), "jobs": round(log_between(rng, 1, 1e6))}
    return f"data/{part}", body


VIEWS = {"training": training, "laws": laws, "mechanisms": mechanisms, "data": data}


def states(seed: int, counts: dict[str, int]) -> Iterator[State]:
    """`counts` random states of each view."""
    rng = random.Random(seed)
    for view, count in counts.items():
        for _ in range(count):
            yield VIEWS[view](rng)


def ask(question: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    status, content = answer(question, json.dumps(body).encode())
    return status, json.loads(content)


def command_line(command: str, files: dict[str, str], folder: Path, *options: str) -> tuple[int, str, str]:
    """Exit code, output and complaints of a printed command, run where its files are; everything it can print, as the
    page shows the details too."""
    for name, text in files.items():
        (folder / name).write_text(text)
    out, complaints = io.StringIO(), io.StringIO()
    words = shlex.split(command)
    with chdir(folder), redirect_stdout(out), redirect_stderr(complaints):
        if words[0] == "python":
            exec(words[2], {})  # the page's own one-liner: workdepth has no options for W and D
            return 0, out.getvalue(), ""
        width = os.environ.pop("COLUMNS", None)
        os.environ["COLUMNS"] = "2000"
        try:
            code = run([*words[1:], *(options or ("--verbose",))])
        finally:
            os.environ.pop("COLUMNS")
            if width is not None:
                os.environ["COLUMNS"] = width
    return code, out.getvalue(), complaints.getvalue()


def printed(command: str, files: dict[str, str], folder: Path) -> Any:
    """The JSON of a printed command; audits exit with 1 when a result is not publishable."""
    code, out, complaints = command_line(command, files, folder, "--json")
    assert code in (0, 1), f"{command}\n{complaints}"
    return json.loads(out)


def unlike(name: str, page: Any, command: Any) -> list[str]:
    """Where two values differ, by path."""
    if isinstance(page, dict) and isinstance(command, dict):
        return [found for key in page for found in unlike(f"{name}.{key}", page[key], command.get(key, "absent"))]
    if isinstance(page, list) and isinstance(command, list):
        if len(page) != len(command):
            return [f"{name}: {len(page)} entries on the page, {len(command)} printed"]
        return [
            found
            for place, (a, b) in enumerate(zip(page, command, strict=True))
            for found in unlike(f"{name}[{place}]", a, b)
        ]
    if isinstance(page, float) and isinstance(command, int | float) and not isinstance(command, bool):
        return (
            [] if page == command or abs(page - command) <= 1e-12 * abs(command) else [f"{name}: {page} and {command}"]
        )
    return [] if page == command else [f"{name}: {page!r} on the page, {command!r} printed"]


def table_lines(table: dict[str, Any]) -> list[list[str]]:
    return [" ".join(cell["text"] for cell in row).split() for row in table["rows"]]


def is_printed(row: list[str], lines: list[list[str]]) -> bool:
    """Whether a command prints the words of a row of the page: in one line, or in the lines of two tables that begin
    alike, the first of which may hold further words."""
    if row in lines:
        return True
    alike = [line for line in lines if row[:1] == line[:1]]
    ends = [len(line) - 1 for line in alike if len(line) > 1 and row[1 - len(line) :] == line[1:]]
    return any(_in_order(row[:-count], line) for count in ends for line in alike)


def _in_order(words: list[str], line: list[str]) -> bool:
    rest = iter(line)
    return all(word in rest for word in words)


def missing_numbers(sentences: list[str], text: str) -> list[str]:
    """Numbers of sentences that are no rounding of a printed number, be it in percent or with another prefix."""
    values = sorted({float(number.replace(",", "").rstrip(".")) for number in NUMBER.findall(text)})
    wrong = []
    for sentence in sentences:
        for number in NUMBER.findall(sentence):
            plain = number.replace(",", "").rstrip(".")
            mantissa, _, power = plain.partition("e")
            half = 0.5000001 * 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
            scales = (1.0, 100.0, *(1000.0**step for step in range(-5, 4) if step))
            if not any(abs(value * scale - float(plain)) <= half for scale in scales for value in values):
                wrong.append(f"{number} of {sentence!r} is not printed")
    return wrong


def differences(question: str, body: dict[str, Any], folder: Path, ask: Ask = ask) -> list[str]:
    """What the page shows for these settings and the printed commands do not."""
    status, page = ask(question, body)
    topic, _, part = question.partition("/")
    if status == 422 and topic == "data":
        return unlike_refusal(part, body, page["error"], folder)
    if status != 200:
        return [f"status {status}: {page}"]
    compare = {"training": unlike_plan, "laws": unlike_laws, "mechanisms": unlike_mechanism, "data": unlike_data}[topic]
    return [f"{question}: {found}" for found in compare(question, body, page, folder)]


def unlike_refusal(part: str, body: dict[str, Any], error: str, folder: Path) -> list[str]:
    """Whether the command refuses too, in the same words."""
    verb = {"fits": "fit", "diagnosis": "diagnose"}.get(part, part)
    options = f" --price {body['price']}" if part == "cost" else ""
    command = f"scalecurve {verb} {shlex.quote(body['name'])} --regime {body['regime']}{options}"
    code, _, complaints = command_line(command, {body["name"]: body["text"]}, folder)
    told, refused = ("".join(text.split()) for text in (complaints, error))
    return [] if code == 2 and refused[:80] in told else [f"{part}: {error!r} and {code}, {complaints!r}"]


def unlike_plan(_: str, body: dict[str, Any], page: dict[str, Any], folder: Path) -> list[str]:
    command = page["commands"][0]
    if not page["rows"]:
        code, _, complaints = command_line(command, page["files"], folder)
        told = re.sub(r"\s+", " ", complaints)
        refused = re.sub(r"\s+", " ", page["refused"])
        return [] if code == 2 and refused.partition(":")[2].strip()[:60] in told else [f"{refused!r} and {told!r}"]
    plan = printed(command, page["files"], folder)
    found = unlike("rows", [{key: row[key] for key in SHOWN} for row in page["rows"]], plan["rows"])
    found += unlike("strong", [{key: row[key] for key in SHOWN} for row in page["strong"]], plan["strong_rows"])
    for key, name in (
        ("marks", "marks"),
        ("cost_effective_gpus",) * 2,
        ("chosen_gpus",) * 2,
        ("choice",) * 2,
        ("findings",) * 2,
        ("critical", "critical_batch"),
    ):
        found += unlike(key, page[key], plan[name])
    _, text, _ = command_line(command, page["files"], folder, "--verbose")  # the page shows the details
    lines = [line.split() for line in text.splitlines()]
    found += [f"row {row} is not printed" for row in table_lines(page["table"]) if not is_printed(row, lines)]
    return found + missing_numbers(page["sentences"], text + json.dumps(plan))


def unlike_laws(_: str, body: dict[str, Any], page: dict[str, Any], folder: Path) -> list[str]:
    both, ceiling, held = (printed(command, {}, folder) for command in page["commands"])
    found = []
    for place, name in enumerate(("strong", "weak")):
        rows = both["cases"][place]["rows"]
        wanted = {row["k"]: row for row in rows}
        found += unlike(name, [row for row in page[name]["rows"] if row["k"] in wanted], rows)
        _, text, _ = command_line(page["commands"][0], {}, folder)
        lines = [line.split() for line in text.splitlines()]
        found += [f"{name} row {row} is not printed" for row in table_lines(page[name]["table"]) if row not in lines]
    found += unlike(
        "isoefficiency",
        [{key: row[key] for key in ("k", "time", "work")} for row in page["isoefficiency"]["rows"]],
        held["rows"],
    )
    found += unlike("optimum", page["optimum"], both["cases"][0]["answers"]["optimum"])
    found += unlike("ceiling", page["ceiling"], ceiling["answers"]["ceiling"])
    strong = {row["k"]: row["efficiency"] for row in both["cases"][0]["rows"]}
    below = [k for k, efficiency in strong.items() if efficiency < body["hold"]]
    if page["first_below"] != (below[0] if below else None):
        found.append(f"first K below: {page['first_below']} and {below[:1]}")
    tiles = [f"{name}: {value}" for name, value in page["tiles"]]
    everything = json.dumps([both, ceiling, held, body]) + "1 "
    return found + missing_numbers([*page["sentences"], *tiles], everything)


def unlike_mechanism(question: str, body: dict[str, Any], page: dict[str, Any], folder: Path) -> list[str]:
    command = page["commands"][0]
    if question.endswith("depth"):
        _, text, _ = command_line(command, {}, folder)
        rows = [[float(word) for word in line.split()] for line in text.splitlines()[1:]]
        shown = [[float(row[key]) for key in ("k", "most", "least_time", "greedy_time")] for row in page["rows"]]
        return unlike("rows", shown, rows) + missing_numbers(page["sentences"], text + json.dumps(body))
    if question.endswith("slowest"):
        normal, lognormal, tail = (printed(one, {}, folder)["rows"] for one in page["commands"])
        found = []
        for name, rows, key in (
            ("normal", normal, "slowest"),
            ("lognormal", lognormal, "slowest"),
            ("exponential", tail, "slowest"),
            ("any_slow", normal, "any_slow"),
        ):
            for row, other in zip(page["rows"], rows, strict=True):
                if row[name] is not None and abs(row[name] - other[key]) > 1e-7 * abs(other[key]):  # two quadratures
                    found.append(f"{name} at {row['k']}: {row[name]} and {other[key]}")
        return found + missing_numbers(page["sentences"], json.dumps([normal, body]))
    if question.endswith("roofline"):
        told = printed(command, page["files"], folder)
        kernel = told["kernels"][0]
        pairs = [
            (page["ridge"], told["ridge"]["memory"]), (page["kernel"]["roof"], kernel["attainable_flops_per_second"]),
            (page["kernel"]["y"], kernel["achieved_flops_per_second"]), (page["kernel"]["x"], kernel["intensity"]),
        ]  # fmt: skip
        found = [f"roofline: {one} and {other}" for one, other in pairs if abs(one - other) > 1e-9 * abs(other)]
        _, text, _ = command_line(command, page["files"], folder)
        found += missing_numbers(page["sentences"], text + json.dumps(told))
        near = abs(page["kernel"]["x"] / page["ridge"] - 1) < 1e-9
        return found + (
            [] if near or kernel["bound"] == page["bound"] else [f"{page['bound']} and {kernel['bound']} bound"]
        )
    told = printed(command, {}, folder)
    found = []
    for row, other in zip(page["by_ranks"], told["rows"], strict=True):
        found += unlike(f"at {row['x']} ranks", row["algorithms"], other["algorithms"])
        found += unlike(f"bound at {row['x']}", row["bound"], other["lower_bound"])
    for row in page["by_size"][:: max(1, len(page["by_size"]) // 4)]:
        size = re.sub(r"--bytes \d+B", f"--bytes {row['x']:.0f}B", command)
        last = printed(size, {}, folder)["rows"][-1]
        found += unlike(f"at {row['x']} bytes", row["algorithms"], last["algorithms"])
    _, text, _ = command_line(command, {}, folder)
    return found + missing_numbers(page["sentences"], text + json.dumps(told))


def unlike_data(question: str, body: dict[str, Any], page: dict[str, Any], folder: Path) -> list[str]:
    files = {body["name"]: body["text"]}
    told = printed(page["commands"][0], files, folder)
    _, text, _ = command_line(page["commands"][0], files, folder, "--verbose")  # the page shows the details
    known = re.sub(r"[\s─━-]+", "", text)
    plain = (
        re.sub(r"<[^>]+>", "\n", page["html"])
        .replace("&#34;", '"')
        .replace("&quot;", '"')
        .replace("&#39;", "'")
        .replace("&gt;", ">")
        .replace("&lt;", "<")
        .replace("&amp;", "&")
    )
    pieces = [re.sub(r"[\s-]+", "", piece) for piece in plain.split("\n")]
    found = [
        f"{piece!r} is not printed"
        for piece in pieces
        if piece and any(c.isdigit() for c in piece) and piece not in known
    ]
    results = {
        "data/table": "table",
        "data/cost": "cost",
        "data/fits": "fits",
        "data/diagnosis": "diagnosis",
        "data/audit": "audit",
    }
    if question in results:
        found += unlike(question, page[results[question]], told)
    return found
