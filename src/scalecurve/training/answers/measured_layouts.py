"""The layouts that a row of a table of measured steps can mean.

What is published is kept; degrees that are not follow from the others or from a search, and interleaving, micro-batch
and recomputation take their plausible values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import product

from scalecurve.training.inputs.cluster import Cluster
from scalecurve.training.inputs.layout import Layout
from scalecurve.training.inputs.measured_table import NO, YES, batch_tokens, number, whole
from scalecurve.training.inputs.stack import Stack, calibration_of
from scalecurve.training.inputs.transformer import Transformer

ROUNDED = 0.06  # a batch in tokens is written with few digits, or 2^20 as a million
LARGE_MICRO = 16384  # tokens up to which more than four short sequences are a plausible micro-batch
WORTH_INTERLEAVING = 0.25  # a bubble above this share of the step is not left without interleaving


class Unread(Exception):
    """Why a row cannot be evaluated."""


class Impossible(Unread):
    """Why the model cannot be split as a row says."""


def degree(row: Mapping[str, str], name: str) -> int:
    """A degree of parallelism as published, else 1."""
    return whole(row, name, 1) or 1


def row_layouts(
    row: Mapping[str, str], stack: Stack, model: Transformer, ranks: int, seq: int, cluster: Cluster, kind: str,
    assumed: list[str],
) -> list[Layout]:  # fmt: skip
    """The layouts a row can mean, products running in precision `kind`; `assumed` gets the names of what was not
    published of them."""
    tp, pp = row_degrees(row, stack, ranks, assumed)
    if tp is None:
        return searched_layouts(row, stack, model, ranks, seq, cluster, kind)
    cp = degree(row, "cp")
    dp, left = divmod(ranks, tp * pp * cp)
    if left or dp < 1:
        raise Unread("the layout and the number of accelerators disagree")
    micros, counts = row_batches(row, pp, dp, seq, assumed)
    zero, shard = row_sharding(row, stack, dp)
    ep, etp = (degree(row, "ep"), degree(row, "etp")) if model.is_moe else (1, 1)
    if model.experts and model.experts % ep:
        ep = 1
    chunks = row_chunks(row, stack, model.layers // pp, pp, min(counts), assumed)
    modes = recompute_modes(row.get("recompute", ""), stack)
    if len(modes) > 1:
        assumed.append("recompute")
    return [
        Layout(
            tp=tp, pp=pp, cp=cp, dp=dp, ep=ep, etp=etp, micro=micro, accumulation=count, interleave=chunk, zero=zero,
            shard=shard, recompute=mode, sequence_parallel=part,
        )
        for (micro, count), chunk, mode, part in product(
            zip(micros, counts, strict=True), chunks, modes, row_sequence_splits(row, stack, tp, assumed)
        )
    ]  # fmt: skip


def row_chunks(
    row: Mapping[str, str], stack: Stack, depth: int, pp: int, count: int, assumed: list[str]
) -> tuple[int, ...]:
    """Chunks of a stage of so many layers: published, else what a pipeline of `count` micro-batches may use."""
    if pp == 1 or row.get("vp") or not stack.interleaves:
        return (degree(row, "vp") if pp > 1 else 1,)
    assumed.append("interleave")
    plain_too = {1} if (pp - 1) / count <= WORTH_INTERLEAVING else set()
    return tuple(sorted({max(depth // 2, 1), max(depth, 1)} | plain_too))


def row_sequence_splits(row: Mapping[str, str], stack: Stack, tp: int, assumed: list[str]) -> tuple[bool, ...]:
    """Whether tensor ranks split the sequence too: published, the stack's habit, or both where it has none."""
    words = row.get("sp", "").lower()
    if tp > 1 and stack.either_sequence and not words:
        assumed.append("sequence parallelism")
        return (False, True)
    return (tp > 1 and (words in (*YES, "1") or (words not in NO and stack.splits_sequence)),)


def row_degrees(row: Mapping[str, str], stack: Stack, ranks: int, assumed: list[str]) -> tuple[int | None, int]:
    """Tp and pp: published, what the other degrees leave, 1 where weights are sharded over all; else (None, 1)."""
    tp, pp, dp = (whole(row, name) for name in ("tp", "pp", "dp"))
    if tp is not None and pp is not None:
        return tp, pp
    plain = degree(row, "tp"), degree(row, "pp")
    copies = (dp or 1) * degree(row, "fsdp")
    named = copies * math.prod(plain) * degree(row, "cp")
    rest, left = divmod(ranks, named)
    if named > 1 and not left and (copies > 1 or dp is not None):
        if rest == 1:
            return plain
        if (tp is None) != (pp is None):
            return tp or rest, pp or rest
    assumed.append("layout")
    searched = tp is None and pp is None and not (shards_weights(row) or stack.zero == 3)
    return (None, 1) if searched else plain


def searched_layouts(
    row: Mapping[str, str], stack: Stack, model: Transformer, ranks: int, seq: int, cluster: Cluster, kind: str
) -> list[Layout]:
    """The layouts that the planner would choose, where a row has the batch and not the degrees."""
    from scalecurve.training.search.search import SearchTask, search

    batch = row_batch(row, seq)
    if batch is None:
        raise Unread("neither layout nor batch is published")
    if "lora" in row.get("model", "").lower():
        return adapter_layouts(stack, ranks, batch, cluster)
    calibration = calibration_of(cluster.accelerator, stack)
    task = SearchTask(model=model, cluster=cluster, stack=stack, calibration=calibration, seq=seq, precision=kind)
    [best] = search(task, [(ranks, batch)])
    if not best.layouts:
        raise Unread("the layout is not published, and none fits")
    return list(best.layouts[:1])


def adapter_layouts(stack: Stack, ranks: int, batch: int, cluster: Cluster) -> list[Layout]:
    """The usual layouts of an adapter run: tensor ranks within a node, and context ranks where the batch has fewer
    sequences than replicas."""
    degrees = [
        (tp, cp, ranks // (tp * cp))
        for tp, cp in product((1, 2, 4, 8), (1, 2, 4, 8))
        if tp <= cluster.node and ranks % (tp * cp) == 0 and batch % (ranks // (tp * cp)) == 0
    ]
    if not degrees:
        raise Unread("the layout is not published, and no usual one has this batch")
    fewest = min(cp for _, cp, _ in degrees)
    return [
        Layout(tp=tp, cp=cp, dp=dp, micro=1, accumulation=batch // dp, zero=stack.zero, recompute=mode,
               sequence_parallel=tp > 1 and stack.splits_sequence)
        for (tp, cp, dp), mode in product(degrees, stack.recomputes)
        if cp == fewest
    ]  # fmt: skip


def row_batch(row: Mapping[str, str], seq: int, unit: int = 1) -> int | None:
    """Sequences of a step: published, in tokens, or what step and rate make of it as a multiple of `unit`."""
    tokens = batch_tokens(row)
    if tokens is not None:
        binary = (2.0**20 / 1e6,) if math.log2(tokens / 1e6).is_integer() else ()  # 4M tokens may be 4,194,304
        whole_ones = (tokens * scale / seq for scale in (1.0, *binary))
        exact = next((int(count) for count in whole_ones if count >= 1 and count % unit == 0), None)
        near = exact or max(round(tokens / seq / unit), 1) * unit
        return near if abs(near * seq / tokens - 1.0) <= ROUNDED else max(int(tokens // seq), 1)
    batch = whole(row, "global_batch_seqs")
    step, rate, accels = (number(row, name) for name in ("step_s", "tokens_per_s_per_accel", "accels"))
    if batch is None and step and rate and accels:
        return max(round(step * rate * accels / seq / unit), 1) * unit
    return batch


def row_batches(row: Mapping[str, str], pp: int, dp: int, seq: int, assumed: list[str]) -> tuple[list[int], list[int]]:
    """Micro-batch and accumulation pairs that make the published batch."""
    micro, count = whole(row, "micro_batch"), whole(row, "grad_accum")
    local = whole(row, "local_batch")  # of a replica and step: one micro-batch, unless a pipeline splits it
    if pp == 1:
        micro = micro or local
    share = share_of_batch(row, dp, seq, micro) or local or (micro * count if micro and count else None)
    if share is None and micro is not None:
        assumed.append("accumulation")
        fewest = 2 * pp if pp > 1 else 1  # nobody runs a pipeline that is mostly empty
        return [micro] * 2, [fewest, 8 * fewest]
    if share is None:
        raise Unread("neither batch nor micro-batch is published")
    known = micro_of_share(row, share, micro, count)
    if known is not None:
        return [known], [share // known]
    assumed.append("micro-batch")
    sizes = [size for size in (1, 2, 4, 8, 16) if share % size == 0 and (size <= 4 or size * seq <= LARGE_MICRO)]
    return sizes, [share // size for size in sizes]


def share_of_batch(row: Mapping[str, str], dp: int, seq: int, micro: int | None) -> int | None:
    """Sequences of a replica and step by the global batch; None where none is published."""
    batch = row_batch(row, seq, dp * (micro or 1))
    if batch is None:
        return None
    if batch % dp or batch < dp:
        raise Unread("the batch does not divide over the replicas")
    return batch // dp


def micro_of_share(row: Mapping[str, str], share: int, micro: int | None, count: int | None) -> int | None:
    """The micro-batch of a replica that has `share` sequences a step, from it and the accumulation as published."""
    by_count = share // count if count and share % count == 0 else None
    if row.get("micro_batch") and (micro is None or share % micro):  # a part of a sequence, or counted per core
        return by_count or share
    if micro is not None and count == 1:
        return share
    return micro or by_count


def row_sharding(row: Mapping[str, str], stack: Stack, dp: int) -> tuple[int, int | None]:
    """The ZeRO stage and the group it splits over; FSDP columns say how many ranks share a copy (-1: all)."""
    text, fsdp = row.get("zero", "").lower(), row.get("fsdp", "").lower()
    stage = stage_of(text)
    zero = stack.zero if stage is None else stage
    if text in YES or "distrib" in text:
        zero = max(stack.zero, 1)
    shard: int | None = None
    if fsdp and fsdp not in (*NO, "1"):
        zero = 3
        size = number(row, "fsdp")
        if size is not None and 1 < size < dp and dp % size == 0:
            shard = int(size)
    if "hsdp" in fsdp or "in node" in text:
        zero, shard = 3, min(8, dp)
    return min(zero, 3), shard


def recompute_modes(text: str, stack: Stack) -> tuple[str, ...]:
    """What a source's words can mean; where it says nothing, what recipes of the stack may do."""
    words = text.lower()
    if not words or words in ("-", "n/a", "na", "unknown", "?"):
        return stack.recomputes
    if "offload" in stack.modes and re.search(r"custom|offload", words):
        return ("selective", "offload")
    if re.match(r"full.?block|block|partial", words):
        return ("selective", "full")
    if words in YES:
        return ("full", "selective")
    if words.startswith("full") or words in ("uniform", "1"):
        return ("full",)
    if words.startswith(("none", "null", "false", "no ", "without")) or words in NO:
        return ("none",)
    return ("selective",)


def splits_model(row: Mapping[str, str]) -> bool:
    return any(degree(row, name) > 1 for name in ("tp", "pp", "ep"))


def shards_weights(row: Mapping[str, str]) -> bool:
    """Whether a row says that weights are sharded: a ZeRO stage 3, or FSDP."""
    fsdp = row.get("fsdp", "").lower()
    return stage_of(row.get("zero", "")) == 3 or (bool(fsdp) and fsdp not in (*NO, "1"))


def stage_of(text: str) -> int | None:
    """The ZeRO stage of a cell: `1`, `ZeRO-3`, `stage 2`, `3 in node`."""
    match = re.search(r"[0-3]", text)
    return int(match[0]) if match else 0 if text.lower() in NO else None
