"""Damaged files of every kind that the product reads, and what follows loading them.

    python -m bench.file_fuzz [--count 100000] [--seed 1] [--keep FOLDER] [--figures FILE] [--record]
    python -m bench.file_fuzz --sum FILE... --record

Every input is one damaged file and one command line over it: studies and their sidecars, journals, settings, claims,
proposals, plans, model configurations, machines, histories, every sample and dialect of another tool's output, and
packed copies (gzip, bzip2, xz) damaged inside and outside.  A failure is an internal error (exit 70 or an exception), a
refusal without a message, or more than 5 s; the run fails also above 1 GB of memory.  `--record` writes the figures to
bench/reliability.json, from which docs/reliability.md is made; `--sum` adds up the figures
of several runs, each with a seed of its own.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.mutation import mutated
from bench.reliability import add_options, figures_of, record, runs_of
from bench.written_tables import ANEW, FRESH, LATER, PER_WORKER, WRITTEN
from scalecurve.cli.main import run
from scalecurve.errors import ScalecurveError

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "tests" / "formats" / "samples"
FORMATS, EXAMPLES = SAMPLES.parent, ROOT / "examples"
MOST_SECONDS = 5.0
MOST_BYTES = 1024**3
RARELY = 0.01  # a report takes as long as a hundred tables
PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
STRONG = ("--regime", "strong")
# What a sample needs to become a study, so that damage beyond the first question is met as well.
KNOWN: dict[str, tuple[str, ...]] = {
    "osu": ("--k-from", r"_n(\d+)", "--series", "1024"),
    "imb": ("--series", "allreduce 1024 B"),
    "all_reduce": ("--series", "1024 B"),
    "nccl": ("--series", "1024 B"),
    "rccl": ("--series", "1024 B"),
    "google": ("--series", "Sqrt"),
    "pytest": ("--series", "test_hash"),
    "caliper": ("--series", "main", "--value-column", "Max time/rank"),
    "hyperfine_two": ("--series", "size=10"),
    "hey": ("--k-from", r"c(\d+)"),
    "oha": ("--k-from", r"c(\d+)"),
    "go_bench": ("--series", "Hash"),
    "time_": ("--k-from", r"p(\d)"),
    "perf_": ("--k-from", r"t(\d)\.csv"),
    "sample": ("--k-from", r"(\d)"),
    "google_benchmark.csv": ("--value-column", "items_per_second"),
    "gromacs": ("--value-column", "ns/day"),
    "lammps": ("--value-column", "Comm avg"),
    "n16": ("--k-from", r"n(\d+)_"),
    "n8": ("--k-from", r"n(\d+)_"),
}
TABLES_APART = 12  # every twelfth of the written tables is a seed
ANY: tuple[tuple[str, ...], ...] = ((), (), ("--k-from", r"(\d+)"), ("--series", "main"), ("--k-column", "threads"))


@dataclass(frozen=True)
class Seed:
    """A good file: its kind and name, its content, the lines that may follow (FILE is its path), and files beside it.

    A call instead of lines is made with the path; `packs` says whether packed copies are read as well.
    """

    kind: str
    name: str
    content: bytes
    lines: tuple[tuple[str, ...], ...] = ()
    call: Callable[[Path], object] | None = None
    beside: tuple[tuple[str, bytes], ...] = ()
    packs: bool = False


def seeds() -> list[Seed]:
    """A seed for every kind of file, from the examples, the samples of the tests and the product's own templates."""
    study_lines = tuple(
        line
        for line, weight in (
            (("table", "FILE"), 6), (("table", "FILE", "--json"), 2), (("audit", "FILE"), 3), (("diagnose", "FILE"), 1),
            (("export", "FILE", "--to", "csv"), 1), (("export", "FILE", "--to", "json"), 1),
            (("export", "FILE", "--to", "extra-p"), 1), (("fit", "FILE"), 1),
        )
        for _ in range(weight)
    )  # fmt: skip
    table_lines = tuple((*line, *STRONG) for line in study_lines if line[0] != "audit") + (("audit", "FILE"),) * 3
    found = [
        Seed("study", path.name, path.read_bytes(), study_lines, packs=True)
        for path in sorted(EXAMPLES.rglob("*.json"))
        if b'"format": "scalecurve' in path.read_bytes()[:4096]
    ]
    found += _made_by_the_product(study_lines)
    for path in sorted(EXAMPLES.rglob("*.toml")):
        if path.parent.name == "proposals":
            beside = tuple((f.name, f.read_bytes()) for f in sorted(path.parent.iterdir()) if f.suffix != ".toml")
            found.append(Seed("proposal", path.name, path.read_bytes(), (("assess", "FILE"),), beside=beside))
        else:
            dry = ("measure", "FILE", "--dry-run", "--expected-seconds", "1s")
            found.append(Seed("settings", path.name, path.read_bytes(), (dry,)))
    from scalecurve.auditing.claim import claim_template

    everything = "\n".join(line.removeprefix("# ") for line in claim_template().splitlines()[2:])
    found.append(Seed("claim", "claim.toml", everything.encode(), (("audit", "FILE"),)))
    found.append(Seed("claim", "bare.toml", claim_template().encode(), (("audit", "FILE"),)))
    history = EXAMPLES / "reference" / "history.jsonl"
    found.append(Seed("history", history.name, history.read_bytes(), (("history", "FILE"),)))
    for path in sorted((EXAMPLES / "reference").glob("*.csv")):
        found.append(Seed("table", path.name, path.read_bytes(), table_lines, packs=True))
    for i, table in enumerate((*WRITTEN, *PER_WORKER, *ANEW, *FRESH, *LATER)):
        if i % TABLES_APART == 0:
            content = table.text.encode(table.encoding)
            found.append(Seed("table", f"written-{i}.{table.ending}", content, table_lines, packs=True))
    for path in sorted(SAMPLES.rglob("*")):
        if path.is_file() and path.name != "README.md":
            found.append(Seed("tool", path.name, path.read_bytes(), (), packs=True))
    from tests.formats.test_dialects import LOADS, STUDIES  # reports of other versions, of which there is no file

    for name, (text, *_) in {**STUDIES, **LOADS}.items():
        found.append(Seed("tool", f"{name.replace(' ', '-')}.txt", text.encode(), packs=True))
    for path in sorted((FORMATS / "latency").iterdir()):
        lines = (("latency", "summary", "FILE", "--unit", "ms"), ("latency", "tails", "FILE", "--unit", "ms"))
        found.append(Seed("latency", path.name, path.read_bytes(), lines, packs=True))
    for path in sorted((FORMATS / "collectives").iterdir()):
        found.append(
            Seed(
                "sweep",
                path.name,
                path.read_bytes(),
                (("collective", "fit", "FILE", "--op", "allreduce", "--ranks", "8"),),
            )
        )
    for path in sorted((FORMATS / "roofline").iterdir()):
        line = ("roofline", "place", "--machine", "h100", "--precision", "fp32", "--file", "FILE")
        found.append(Seed("kernels", path.name, path.read_bytes(), (line,)))
    return found


def _made_by_the_product(study_lines: tuple[tuple[str, ...], ...]) -> list[Seed]:
    """Files that the product writes, or reads from a user's hand: sets, sidecars, journals, templates, machines."""
    import scalecurve as sc
    from scalecurve.study import RankRecord, Run

    found: list[Seed] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = tuple(
            Run(k=k, value=10.0 / k, ranks=(RankRecord(rank=0, steps=tuple(0.001 for _ in range(30_000))),))
            for k in (1, 2, 4)
        )
        sc.save(sc.Study(regime=sc.load({1: 1.0}, regime="strong").regime, runs=runs), folder / "long.json")
        parts = {path.name: path.read_bytes() for path in folder.iterdir()}
        for path, content in parts.items():
            others = tuple((other, data) for other, data in parts.items() if other != path)
            line = tuple(tuple("long.json" if word == "FILE" else word for word in line) for line in study_lines)
            found.append(Seed("sidecar" if path.endswith(".npz") else "study", path, content, line, beside=others))
        table = folder / "curves.csv"
        table.write_text("bench,threads,time (s)\n" + "".join(f"{b},{k},{9 / k}\n" for b in "ab" for k in (1, 2, 4)))
        sc.save(sc.load_all(table, regime="strong"), folder / "set.json")
        found.append(Seed("study", "set.json", (folder / "set.json").read_bytes(), study_lines, packs=True))
    study = (EXAMPLES / "local" / "study.json").read_bytes()
    rows = [json.dumps({"run": row}) for row in json.loads(study)["runs"]]
    head = json.dumps({"header": {"version": 1, "job": {}, "seed": 1, "machine": {}, "software": {}}})
    found.append(Seed("journal", "journal.jsonl", "\n".join([head, *rows, ""]).encode(), call=_read_journal))
    plan = b'model = "llama3-8b"\ncluster = "h100-ib400"\ngpus = "8,16"\nglobal_batch = "4Mi"\n'
    found.append(Seed("plan", "plan.toml", plan, (("plan", "FILE"),)))
    config = {
        "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256,
        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "max_position_embeddings": 8192,
        "model_type": "llama", "tie_word_embeddings": False,
    }  # fmt: skip
    line = ("plan", "--model", "FILE", "--cluster", "h100-ib400", "--gpus", "8", "--global-batch", "4Mi")
    found.append(Seed("model config", "config.json", json.dumps(config).encode(), (line,)))
    cluster = b'name = "mine"\naccelerator = "h100"\nnode = 8\ninner = 450\nouter = 50\n'
    line = ("plan", "--model", "llama3-8b", "--cluster", "FILE", "--gpus", "8", "--global-batch", "4Mi")
    found.append(Seed("machine", "cluster.toml", cluster, (line,)))
    machine = b'name = "mine"\nfp64_tflops = 1.5\nbf16_tflops = 100\nmemory_gb = 80\nmemory_tb_s = 0.2\nnode = 8\n'
    machine += b"inner_gb_s = 100\nouter_gb_s = 25\n"
    line = ("roofline", "place", "--machine", "FILE", "--precision", "fp64", "--kernel", "gemm:2T:300MB")
    found.append(Seed("machine", "machine.toml", machine, (line,)))
    graph = json.dumps({"tasks": [{"id": n, "work": 1.0, "after": ["a"] * (n > "a")} for n in "abc"]}).encode()
    found.append(Seed("graph", "graph.json", graph, (("workdepth", "FILE"),)))
    found.append(Seed("graph", "graph.dot", b"digraph { a -> b; a -> c; b -> d; c -> d }", (("workdepth", "FILE"),)))
    found.append(Seed("samples", "steps.txt", b"1.0\n1.1\n1.05\n2.0\n" * 20, (("straggler", "--samples", "FILE"),)))
    steps = (
        b"model,hidden,layers,heads,seq,global_batch_seqs,tp,pp,dp,micro,accelerator,accels,framework,step_s\n"
        b"llama3-8b,4096,32,32,8192,512,8,1,1,1,h100,8,megatron-core,30.5\n"
        b"llama3-8b,4096,32,32,8192,512,8,1,2,1,h100,16,megatron-core,15.8\n"
    )
    found.append(Seed("measured steps", "steps.csv", steps, (("plan", "--score", "FILE"),)))
    return found


def _read_journal(path: Path) -> object:
    """What a resumed measurement does first: every line of the journal, then the runs in them."""
    from scalecurve.measurement.journal import Workspace

    space = Workspace(path.parent / "study.json")
    space.folder.mkdir(exist_ok=True)
    space.journal.write_bytes(path.read_bytes())
    return space.contents()


def lines_for(seed: Seed, chance: random.Random) -> tuple[str, ...]:
    """The command line to try; a sample of a tool is mostly read with what it needs."""
    if seed.kind in ("study", "table") and chance.random() < RARELY:
        return ("report", "FILE", *(STRONG if seed.kind == "table" else ()), "-o", "report.html")
    if seed.kind != "tool":
        return chance.choice(seed.lines)
    fitting = [words for start, words in KNOWN.items() if seed.name.startswith(start)]
    words = fitting[-1] if fitting and chance.random() < 0.7 else chance.choice(ANY)
    verb = chance.choice(("table", "table", "import", "import", "latency", "workdepth"))
    if verb == "latency":
        return ("latency", "summary", "FILE", "--unit", "ms")
    return (verb, "FILE") if verb == "workdepth" else (verb, "FILE", *STRONG, *words)


def damaged(seed: Seed, chance: random.Random) -> tuple[str, bytes]:
    """The name and the content of a damaged copy, packed now and then."""
    content = mutated(seed.content, chance)
    if not seed.packs or chance.random() > 0.1:
        return seed.name, content
    ending, pack = chance.choice(tuple(PACKERS.items()))
    packed = pack(content if chance.random() < 0.5 else seed.content)
    return seed.name + ending, mutated(packed, chance) if chance.random() < 0.7 else packed


def attempt(seed: Seed, path: Path, chance: random.Random) -> str:
    """read, refused, or what should not have been."""
    line = () if seed.call is not None else tuple(str(path) if w == "FILE" else w for w in lines_for(seed, chance))
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    home = os.getcwd()
    try:
        os.chdir(path.parent)
        if seed.call is not None:
            with contextlib.suppress(ScalecurveError):
                seed.call(path)
                return "read"
            return "refused"
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(list(line))
        if code not in (0, 1, 2):
            return f"exit {code} of {line[0]}: {err.getvalue().strip()[:300]}"
        return "read" if code < 2 else "refused" if err.getvalue().strip() else f"{line[0]} refused without a message"
    except BaseException as problem:
        if isinstance(problem, KeyboardInterrupt):
            raise
        place = traceback.extract_tb(problem.__traceback__)[-1]
        return f"{type(problem).__name__} of {line[:1]} in {Path(place.filename).name}:{place.lineno}: {problem}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        os.chdir(home)


def too_long(*_: object) -> None:
    raise TimeoutError(f"more than {MOST_SECONDS:g} s of CPU")


def fuzz(
    all_seeds: Sequence[Seed], count: int, seed: int, keep: Path | None = None, minutes: float | None = None
) -> dict[str, Any]:
    """Try `count` inputs in turn over all seeds, or as many as `minutes` allow; the figures, with every failure."""
    ends = None if minutes is None else time.monotonic() + 60 * minutes
    chance = random.Random(seed)
    outcomes: Counter[tuple[str, str]] = Counter()
    failures: Counter[str] = Counter()
    slowest = (0.0, "")
    signal.signal(signal.SIGVTALRM, too_long)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        for number in range(count):
            if ends is not None and time.monotonic() > ends:
                break
            one = all_seeds[number % len(all_seeds)]
            target_name, content = damaged(one, chance)
            target = folder / target_name
            for other, data in one.beside:
                (folder / other).write_bytes(data)
            target.write_bytes(content)
            begin = time.process_time()
            outcome = attempt(one, target, chance)
            slowest = max(slowest, (time.process_time() - begin, target_name))
            outcomes[one.kind, outcome if outcome in ("read", "refused") else "failed"] += 1
            if outcome not in ("read", "refused"):
                failures[outcome] += 1
                if failures[outcome] <= 2:
                    print(f"FAILED input {number}, {one.kind} {target_name}: {outcome}", file=sys.stderr, flush=True)
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{number}-{target_name}").write_bytes(content)
            target.unlink(missing_ok=True)
            if number % 5000 == 4999:
                print(f"{number + 1} inputs, {sum(failures.values())} failures", file=sys.stderr, flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    kinds = {kind: {w: outcomes[kind, w] for w in ("read", "refused", "failed")} for kind, _ in sorted(outcomes)}
    return {
        "tried": sum(outcomes.values()),
        "failed": sum(failures.values()),
        "failures": dict(failures.most_common()),
        "slowest_seconds": round(slowest[0], 3),
        "peak_megabytes": round(peak / 1e6),
        "kinds": kinds,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("--minutes", type=float, default=None, help="stop after this long")
    add_options(parser)
    options = parser.parse_args()
    figures = figures_of(options, lambda: fuzz(seeds(), options.count, options.seed, options.keep, options.minutes))
    for kind, counts in figures["kinds"].items():
        print(f"{kind:<20} " + ", ".join(f"{word} {number}" for word, number in counts.items()))
    for message, number in figures["failures"].items():
        print(f"{number:6} {message}")
    print(
        f"{figures['tried']} inputs, {figures['failed']} failures, slowest {figures['slowest_seconds']} s, "
        f"peak memory {figures['peak_megabytes']} MB"
    )
    if options.record:
        kept = {name: value for name, value in figures.items() if name != "failures"}  # messages hold paths
        record("files", kept, f"python -m bench.file_fuzz --count {figures['tried']}{runs_of(options)}")
    return 1 if figures["failed"] or figures["peak_megabytes"] * 1e6 > MOST_BYTES else 0


if __name__ == "__main__":
    raise SystemExit(main())
