"""What a user may write for a model, a cluster and a stack: a name, a mapping, a file or the thing itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.training import presets
from scalecurve.training.cluster import Cluster
from scalecurve.training.huggingface import from_config, is_config, read_config
from scalecurve.training.stack import Stack
from scalecurve.training.transformer import Transformer
from scalecurve.units import parse_bandwidth, parse_count, parse_workers

_MODEL_ALIASES = {
    "hidden_size": "hidden", "num_layers": "layers", "n_layers": "layers", "num_heads": "heads", "n_heads": "heads",
    "attention_heads": "heads", "num_kv_heads": "kv_heads", "n_kv_heads": "kv_heads", "ffn_hidden": "ffn",
    "ffn_hidden_size": "ffn", "intermediate": "ffn", "vocab_size": "vocab", "seq_len": "seq", "seq_length": "seq",
    "sequence_length": "seq", "head_dim": "head", "topk": "top_k", "num_experts": "experts", "swiglu": "gated",
    "moe_ffn": "expert_ffn", "ffn_hidden_moe": "expert_ffn", "kv": "kv_heads", "d_model": "hidden",
}  # fmt: skip


def read_model(given: str | Path | Mapping[str, Any] | Transformer, *, seq: int | None = None) -> Transformer:
    """A preset's name, a config.json, sizes (a mapping, or `hidden=8192,layers=80,heads=64`), or a Transformer.

    `seq` fills in for sizes without one.
    """
    if isinstance(given, Transformer):
        return given
    if isinstance(given, Path) or (isinstance(given, str) and given.endswith(".json")):
        return read_config(Path(given))
    if isinstance(given, str) and "=" in given:
        return _from_sizes(_spelled_sizes(given), seq)
    if isinstance(given, str):
        return presets.model(given)
    if not isinstance(given, Mapping):
        raise _strange("model", given, "a preset's name, sizes or a config.json")
    if is_config(given) and "hidden" not in given and "num_attention_heads" in given:
        return from_config(given, name=str(given.get("_name_or_path", "given")))
    return _from_sizes(given, seq)


def _strange(what: str, given: Any, remedy: str) -> InputError:
    return InputError(Fault(f"not a {what}", what, repr(given), f"give {remedy}"))


def read_counts(gpus: Any) -> tuple[int, ...]:
    """Accelerator counts: 512, "512", "8..16384" or a sequence of numbers, in rising order."""
    if isinstance(gpus, str):
        return parse_workers(gpus)
    try:
        values = [gpus] if isinstance(gpus, (int, float)) else list(gpus)
    except TypeError:
        raise _strange("list of accelerator counts", gpus, "8..16384 or 512") from None
    wrong = [value for value in values if not _is_count(value)]
    if wrong:
        raise InputError([Fault("accelerators are counted from 1", "gpus", str(value)) for value in wrong])
    return tuple(sorted({int(value) for value in values}))


def _is_count(value: Any) -> bool:
    """A whole number from 1; numpy's count too."""
    try:
        return not isinstance(value, (bool, str)) and int(value) == value and value >= 1
    except (TypeError, ValueError, OverflowError):
        return False


def _spelled_sizes(text: str) -> dict[str, Any]:
    """`hidden=8192,layers=80,heads=64` as sizes; `preset=llama3-70b,layers=100` starts from a preset."""
    sizes: dict[str, Any] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not name or not value:
            hint = "write hidden=8192,layers=80,heads=64"
            raise InputError(Fault("not a size of a model", seen=item, remedy=hint), subject="model")
        sizes[name] = value if name == "preset" else int(parse_count(value))
    return sizes


def _from_sizes(given: Mapping[str, Any], seq: int | None) -> Transformer:
    sizes = {_MODEL_ALIASES.get(key, key): value for key, value in given.items() if value is not None}
    base = sizes.pop("preset", None)
    known = {entry.name for entry in fields(Transformer)}
    strange = [
        Fault("unknown field of a model", key, remedy=f"known: {', '.join(sorted(known))}")
        for key in sizes
        if key not in known
    ]
    defaults = {"vocab": 51200, "seq": seq or 2048}
    missing = [] if base else [Fault("missing", key) for key in ("hidden", "layers", "heads") if key not in sizes]
    if strange or missing:
        raise InputError([*strange, *missing], subject="model")
    if base:
        return presets.model(str(base)).with_sizes(**sizes)
    return Transformer(**{**defaults, **sizes})


def read_cluster(given: str | Mapping[str, Any] | Cluster) -> Cluster:
    """A preset's name (`h100-ib400`, `selene`, `a100`), or a mapping: accelerator, node, outer (a bandwidth per
    accelerator), inner, usd_per_gpu_hour."""
    if isinstance(given, Cluster):
        return given
    if isinstance(given, str):
        return presets.cluster(given)
    if not isinstance(given, Mapping):
        raise _strange("cluster", given, "a preset's name, or a mapping with its accelerator")
    named = {_CLUSTER_ALIASES.get(key, key): value for key, value in given.items() if value is not None}
    strange = [
        key
        for key in named
        if key not in ("name", "gpus", "accelerator", "node", "outer", "inner", "usd_per_gpu_hour", "memory")
    ]
    if strange:
        hint = "known: accelerator, node, outer, inner, memory, usd_per_gpu_hour"
        raise InputError([Fault("unknown field of a cluster", key, remedy=hint) for key in strange], subject="cluster")
    return _cluster(named)


def gpus_of(given: Mapping[str, Any]) -> int | None:
    """How many accelerators a described cluster has, where it says so."""
    found = next((given[key] for key in ("gpus", "num_gpus", "count") if given.get(key) is not None), None)
    return None if found is None else int(found)


_CLUSTER_ALIASES = {
    "num_gpus": "gpus", "count": "gpus", "gpu_type": "accelerator", "internode": "outer", "intranode": "inner",
    "gpu": "accelerator", "chip": "accelerator", "hardware": "accelerator", "gpus_per_node": "node",
    "node_size": "node",
    "inter_node": "outer", "outer_rate": "outer", "network": "outer", "bandwidth": "outer", "outer_gb_s": "outer",
    "intra_node": "inner", "inner_rate": "inner", "nvlink": "inner", "inner_gb_s": "inner", "price": "usd_per_gpu_hour",
    "preset": "accelerator", "memory_gb": "memory",
}  # fmt: skip


def _cluster(named: dict[str, Any]) -> Cluster:
    from dataclasses import replace

    if "accelerator" not in named:
        raise InputError(Fault("missing", "accelerator", remedy="name one, such as h100"), subject="cluster")
    base = presets.cluster(str(named["accelerator"]))
    chip = base.accelerator
    if "memory" in named:
        chip = replace(chip, capacity=float(named["memory"]) * (1e9 if float(named["memory"]) < 1e6 else 1.0))
    price = named.get("usd_per_gpu_hour")
    return replace(
        base,
        name=str(named.get("name", base.name)),
        accelerator=chip,
        node=int(named.get("node", base.node)),
        inner_rate=_rate(named["inner"]) if "inner" in named else base.inner_rate,
        outer_rate=_rate(named["outer"]) if "outer" in named else base.outer_rate,
        usd_per_gpu_hour=float(price) if price is not None else base.usd_per_gpu_hour,
        price_source="given" if price is not None else base.price_source,
    )


def _rate(value: Any) -> float:
    """A bandwidth with its unit; a bare number below a million is GB/s."""
    if isinstance(value, str):
        text = value.strip().lower()
        rates = presets.link_rates()
        return rates[text] if text in rates else parse_bandwidth(value)
    return float(value) * (1e9 if float(value) < 1e6 else 1.0)


def read_stack(given: str | Stack | None, *, sharded: bool = False) -> Stack:
    """A stack by name; without one, FSDP for plain fully sharded jobs and Megatron core for the rest."""
    if isinstance(given, Stack):
        return given
    return presets.stack(given or ("fsdp" if sharded else "megatron-core"))
