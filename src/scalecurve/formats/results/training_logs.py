"""Logs of training and serving: Megatron-LM, torchtitan, the Trainer of Hugging Face, vLLM's benchmark.

The first logged step compiles and fills caches, and is left out.  All steps of one log share one launch: their mean is
one observation.

MLPerf training logs: lines `:::MLLOG {...}`, alone or after other text; one log is one run.

Time to train is run_start to run_stop; init_start to init_stop is set-up and not part of it.  A run counts only when
run_stop says success.  The global batch size and the samples trained are compared over K: a batch that grows with the
machine is another optimisation problem, and more samples another amount of work.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import as_count, as_dict, as_float, as_text, counts_in
from scalecurve.formats.reading import FormatNote, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Quantity, RunStatus, Treatment, Workload

MILLI = 1e-3
ONE_LOG = "give a log for each run"
MEAN_OF_STEPS = "the mean over the steps of one launch, without the first, is one observation"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_MEGATRON = re.compile(r"iteration\s+\d+/\s*\d+ \|.*?elapsed time per iteration \(ms\): ([\d.]+) \|(.*)$", re.MULTILINE)
_MEGATRON_WORLD = re.compile(r"using world size: (\d+)")
_MEGATRON_BATCH = re.compile(r"global batch size:\s*(\d+)")
_MEGATRON_SPEED = re.compile(r"throughput per GPU \(TFLOP/s/GPU\): ([\d.]+)")
_TITAN = re.compile(r"step:\s*(\d+)\s.*?\btps:\s*([\d,]+)")
_TITAN_RANK = re.compile(r"^\[rank(\d+)\]")
_TITAN_MESH = re.compile(r"Building \d+-D device mesh with \[[^\]]*\], \[([\d, ]+)\]")
_TITAN_WORLD = re.compile(r"\b(?:world[_ ]size|WORLD_SIZE)\W{1,3}(\d+)")
_TRAINER = re.compile(r"['\"](train_runtime|train_samples_per_second|train_steps_per_second)['\"]: ['\"]?([\d.e+-]+)")
_TRAINER_BATCH = re.compile(r"Total train batch size \(w\. parallel, distributed & accumulation\) = ([\d,]+)")
_TRAINER_DEVICE = re.compile(r"Instantaneous batch size per device = ([\d,]+)")
_TRAINER_STEPS = re.compile(r"Gradient Accumulation steps = (\d+)")
_VLLM_LINE = re.compile(r"^\s*([A-Z][\w .()/%-]*?):\s+([\d.]+|not set|inf)\s*$", re.MULTILINE)
_VLLM_TITLE = re.compile(r"=+ Serving Benchmark Result =+")
_VLLM_OFFLINE = re.compile(r"^Throughput: ([\d.]+) requests/s, ([\d.]+) (?:total )?tokens/s", re.MULTILINE)
_VLLM_CONCURRENCY = re.compile(r"Max(?:imum)? request concurrency:\s+(\d+)")
_VLLM_KEYS = {
    "request_throughput": "req/s",
    "output_throughput": "output tok/s",
    "total_token_throughput": "total tok/s",
}


def _mean(values: Sequence[float]) -> tuple[float, dict[str, Any]]:
    """The mean of the steps without the first, and how many they are with their spread."""
    kept = values[1:] if len(values) > 1 else values
    mean = sum(kept) / len(kept)
    spread = math.sqrt(sum((value - mean) ** 2 for value in kept) / (len(kept) - 1)) if len(kept) > 1 else None
    return mean, {"steps": len(kept)} | ({} if spread is None else {"step_spread": spread})


def _reading(tool: str, points: Sequence[Point], findings: tuple[Finding, ...] = (), **said: Any) -> Reading:
    return Reading(
        points=bounded(points),
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool=tool),
        findings=findings,
        **said,
    )


def recognise_megatron(source: Source) -> str | None:
    return "lines with `elapsed time per iteration (ms)`" if _MEGATRON.search(source.text) else None


def read_megatron(source: Source, options: ReadOptions) -> Reading:
    text = source.text
    lines = _MEGATRON.findall(text)
    seconds, facts = _mean([float(milliseconds) * MILLI for milliseconds, _ in lines])
    world = _MEGATRON_WORLD.search(text)
    batches = {int(match[1]) for _, rest in lines if (match := _MEGATRON_BATCH.search(rest))}
    facts |= {"global_batch_size": batches.copy().pop()} if len(batches) == 1 else {}
    findings: tuple[Finding, ...] = ()
    if len(batches) > 1:
        message = f"the global batch size changes within the log ({min(batches)} to {max(batches)})"
        findings = (warning("batch-changes", message, remedy="cut the log to the steps of one batch size"),)
    k = as_count(world[1]) if world else None
    common: dict[str, Any] = {"name": source.name, "k": k, "details": {"observed": facts}}
    points = [Point(values=(seconds,), metric="iteration", main=True, **common)]
    speeds = [float(match[1]) for match in _MEGATRON_SPEED.finditer(text)]
    if speeds:
        rate: dict[str, Any] = {"quantity": Quantity.THROUGHPUT_PER_WORKER, "unit": "TFLOP/s/GPU"}
        points.append(Point(values=(_mean(speeds)[0],), metric="TFLOP/s/GPU", **rate, **common))
    return _reading("Megatron-LM", points, findings, k_origin="`world size`", k_unit="gpus", assumed=(MEAN_OF_STEPS,))


def recognise_titan(source: Source) -> str | None:
    plain = _COLOURS.sub("", source.head_text)
    return "torchtitan's steps with tps and mfu" if "mfu:" in plain and _TITAN.search(plain) else None


def read_titan(source: Source, options: ReadOptions) -> Reading:
    """Tokens per second of one device (tps).  Where several ranks log, each step is their mean."""
    text = _COLOURS.sub("", source.text)
    steps: dict[int, list[float]] = {}
    for match in _TITAN.finditer(text):
        steps.setdefault(int(match[1]), []).append(float(match[2].replace(",", "")))
    speed, facts = _mean([sum(values) / len(values) for _, values in sorted(steps.items())])
    meshes = set(_TITAN_MESH.findall(text))
    if len(meshes) > 1:
        raise FormatError(
            Fault("the log holds runs on several meshes", value="; ".join(sorted(meshes)), remedy=ONE_LOG)
        )
    mesh, world = _TITAN_MESH.search(text), _TITAN_WORLD.search(text)
    k = as_count(math.prod(int(part) for part in mesh[1].split(",") if part.strip())) if mesh else None
    k = k or (as_count(world[1]) if world else None)
    point = Point(
        values=(speed,),
        name=source.name,
        metric="tps",
        quantity=Quantity.THROUGHPUT_PER_WORKER,
        unit="tokens/s/gpu",
        k=k,
        details={"observed": facts},
    )
    return _reading("torchtitan", [point], k_origin="the device mesh", k_unit="gpus", assumed=(MEAN_OF_STEPS,))


def recognise_trainer(source: Source) -> str | None:
    return (
        "train_runtime and train_samples_per_second"
        if "train_runtime" in source.head_text and _TRAINER.search(source.text)
        else None
    )


def read_trainer(source: Source, options: ReadOptions) -> Reading:
    """The end of a log, or train_results.json; K from the batch sizes the Trainer prints, or from the name."""
    text = source.text
    numbers = {name: as_float(value) for name, value in _TRAINER.findall(text)}
    ends = len({value for name, value in _TRAINER.findall(text) if name == "train_samples_per_second"})
    if ends > 1:
        raise FormatError(Fault(f"the log holds the end of {ends} runs", remedy=ONE_LOG))
    total, device, steps = _TRAINER_BATCH.search(text), _TRAINER_DEVICE.search(text), _TRAINER_STEPS.search(text)
    k = None
    if total and device:
        share = float(total[1].replace(",", "")) / (float(device[1].replace(",", "")) * float(steps[1] if steps else 1))
        k = as_count(share)
    facts = {"global_batch_size": int(total[1].replace(",", ""))} if total else {}
    common: dict[str, Any] = {"name": source.name, "k": k, "details": {"observed": facts} if facts else {}}
    points = []
    runtime = numbers.get("train_runtime")
    if runtime is not None:
        points.append(Point(values=(runtime,), metric="train_runtime", main=True, **common))
    for name, unit in (("train_samples_per_second", "samples/s"), ("train_steps_per_second", "steps/s")):
        value = numbers.get(name)
        if value is not None:
            points.append(Point(values=(value,), metric=name, quantity=Quantity.THROUGHPUT, unit=unit, **common))
    origin = None if k is None else "total batch / (batch per device x accumulation)"
    assumed = ("train_runtime includes the first steps",)
    return _reading("Hugging Face Trainer", points, k_origin=origin, k_unit="gpus", assumed=assumed)


def recognise_vllm(source: Source) -> str | None:
    if _VLLM_TITLE.search(source.head_text):
        return "vLLM's Serving Benchmark Result"
    if {"request_throughput", "output_throughput", "completed"} <= source.keys:
        return "JSON with request_throughput and output_throughput"
    return "vLLM's throughput in requests/s and tokens/s" if _VLLM_OFFLINE.search(source.head_text) else None


def read_vllm(source: Source, options: ReadOptions) -> Reading:
    """One or several results of `vllm bench serve` (or sglang's), as printed or as JSON; K is the concurrency."""
    points: list[Point] = []
    findings: list[Finding] = []
    blocks = [source.json] if isinstance(source.json, dict) else _vllm_blocks(source.text)
    for block in blocks:
        k, failed = as_count(block.get("max_concurrency")), as_float(block.get("failed"))
        if failed:
            message = f"{failed:g} requests failed" + (f" at K = {k}" if k else "")
            findings.append(warning("failed-requests", message, remedy="the rates count only what succeeded"))
        common: dict[str, Any] = {"name": source.name, "k": k}
        for key, unit in _VLLM_KEYS.items():
            value = as_float(block.get(key))
            if value is not None:
                rate: dict[str, Any] = {
                    "quantity": Quantity.THROUGHPUT,
                    "unit": unit,
                    "main": key == "output_throughput",
                }
                points.append(Point(values=(value,), metric=unit, **rate, **common))
        for key, value in block.items():
            number = as_float(value)
            if number and re.fullmatch(r"(?:mean|median|p\d+)_(?:ttft|tpot|itl|e2el)_ms", key):
                points.append(Point(values=(number * MILLI,), metric=key.removesuffix("_ms"), **common))
    if not points:
        raise FormatError(Fault("no throughput in the result; it may be cut short"))
    return _reading(
        "vLLM",
        points,
        tuple(findings),
        k_origin="the request concurrency",
        k_unit="clients",
        assumed=("one test is one observation",),
    )


def _vllm_blocks(text: str) -> list[dict[str, Any]]:
    """The printed results in the words of the JSON; the concurrency may stand before the block or in it."""
    offline = _VLLM_OFFLINE.findall(text)
    if len(offline) > 1:
        raise FormatError(Fault(f"there are {len(offline)} results without their K in the file", remedy=ONE_LOG))
    if offline:
        return [{"request_throughput": offline[0][0], "output_throughput": offline[0][1]}]
    blocks: list[dict[str, Any]] = []
    end = 0
    for title in _VLLM_TITLE.finditer(text):
        before, rule = text[end : title.start()], text.find("=" * 20, title.end())
        end = rule if rule >= 0 else len(text)  # what follows belongs to the next result
        body = text[title.end() : end]
        lines = {name.lower(): value for name, value in _VLLM_LINE.findall(body)}
        concurrency = _VLLM_CONCURRENCY.search(body) or _VLLM_CONCURRENCY.search(before)
        block: dict[str, Any] = {
            "request_throughput": lines.get("request throughput (req/s)"),
            "output_throughput": lines.get("output token throughput (tok/s)"),
            "total_token_throughput": lines.get("total token throughput (tok/s)"),
            "failed": lines.get("failed requests"),
            "max_concurrency": concurrency[1] if concurrency else None,
        }
        for name, value in lines.items():
            if match := re.fullmatch(r"(mean|median|p\d+) (ttft|tpot|itl|e2el) \(ms\)", name):
                block[f"{match[1]}_{match[2]}_ms"] = value
        blocks.append(block)
    return blocks


MEGATRON = Reader(
    "megatron",
    "Megatron-LM",
    recognise_megatron,
    read_megatron,
    FormatNote(
        tried="no version run; written from log lines in public issues of 2023 and 2024",
        real=False,
        k="world size, or --k-from",
        value="time of one iteration, or TFLOP/s/GPU",
        keeps="global batch size",
    ),
    begins=re.compile(r"^.*using world size: \d", re.MULTILINE),
)
TITAN = Reader(
    "torchtitan",
    "torchtitan",
    recognise_titan,
    read_titan,
    FormatNote(
        tried="no version run; written from log lines in public pull requests of 2026; the mesh line from memory",
        real=False,
        k="the device mesh, or --k-from",
        value="tokens per second of one GPU",
        keeps="number of steps, spread",
    ),
)
TRAINER = Reader(
    "hf-trainer",
    "Hugging Face Trainer",
    recognise_trainer,
    read_trainer,
    FormatNote(
        tried="no version run; written from its documented log and train_results.json",
        real=False,
        k="total batch / (per device x accumulation), or --k-from",
        value="train_runtime, or samples per second",
        keeps="global batch size",
    ),
    begins=re.compile(r"^.*\*\*\*\*\* Running training \*\*\*\*\*", re.MULTILINE),
)
VLLM = Reader(
    "vllm",
    "vLLM benchmark",
    recognise_vllm,
    read_vllm,
    FormatNote(
        tried="no version run; written from results in public issues of vLLM and sglang",
        real=False,
        k="the request concurrency, or --k-from",
        value="output tokens per second, or a latency",
        keeps="TTFT, TPOT, ITL",
    ),
)


MARK = ":::MLLOG"
OF_WORKERS = ("number_of_nodes", "accelerators_per_node", "num_gpus", "world_size", "num_nodes")


def recognise_mllog(source: Source) -> str | None:
    return "lines marked :::MLLOG" if MARK in source.head_text else None


def read_mllog(source: Source, options: ReadOptions) -> Reading:
    events: list[dict[str, Any]] = []
    for line in source.text.splitlines():
        _, mark, rest = line.partition(MARK)
        try:
            event = json.JSONDecoder().raw_decode(rest.strip())[0] if mark else None
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            events.append(event)
    values = {key: e["value"] for e in events if (key := as_text(e.get("key"))) and e.get("value") is not None}
    batch = as_float(values.get("global_batch_size"))
    fields = counts_in(values, OF_WORKERS)
    nodes, per_node = fields.get("number_of_nodes"), fields.get("accelerators_per_node")
    if nodes and per_node and as_count(nodes * per_node):
        fields["gpus"] = nodes * per_node
    start, stop = _time(events, "run_start"), _time(events, "run_stop")
    seconds = (stop - start) * MILLI if start is not None and stop is not None and stop > start else None
    outcomes = [as_dict(event.get("metadata")).get("status") for event in events if event.get("key") == "run_stop"]
    succeeded = seconds is not None and outcomes[0] == "success"
    begin, end = _time(events, "init_start"), _time(events, "init_stop") or start
    observed: dict[str, Any] = {"global_batch_size": batch} if batch is not None else {}
    quality = _last_number(events, "eval_accuracy")
    if quality is not None:
        observed["eval_accuracy"] = quality
    details: dict[str, Any] = {
        "observed": observed,
        "setup_seconds": (end - begin) * MILLI if begin is not None and end is not None else None,
        "work": _last_number(events, "train_samples"),
    }
    if not succeeded:
        details["error"] = "run_stop does not say success" if seconds is not None else "no run_start and run_stop"
    benchmark = as_text(values.get("submission_benchmark")) or ""
    point = Point(
        values=(seconds,) if seconds is not None else (),
        series=benchmark,
        name=source.name,
        fields=fields,
        status=RunStatus.OK if succeeded else RunStatus.FAILED,
        details=details,
    )
    return Reading(
        points=(point,),
        workload=Workload(name=benchmark or None, description="time to train"),
        warmup=Treatment.INCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="mllog", timing="run_start to run_stop"),
        assumed=("time to train from run_start to run_stop, init excluded",),
        missing=() if batch is not None else ("the global batch size",),
    )


def _time(events: list[dict[str, Any]], key: str) -> float | None:
    """The first event of that name, in milliseconds since 1970; only differences are turned into seconds."""
    stamps = (as_float(event.get("time_ms")) for event in events if event.get("key") == key)
    return next((stamp for stamp in stamps if stamp is not None), None)


def _last_number(events: list[dict[str, Any]], key: str) -> float | None:
    numbers = [as_float(event.get("value")) for event in events if event.get("key") == key]
    return numbers[-1] if numbers else None


MLLOG = Reader("mllog", "MLPerf log", recognise_mllog, read_mllog)
