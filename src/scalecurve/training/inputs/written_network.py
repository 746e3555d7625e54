"""The network of a machine from the words of a table: `4 x 100Gb RoCE per node`, `8x ConnectX-7 IB NDR 400Gb/s`."""

from __future__ import annotations

import re

from scalecurve.hardware.accelerators import Accelerator

INSIDE = re.compile(r"nvlink|nvswitch|xgmi|infinity|pcie|\bici\b|slice|\bmanagement\b|\bstorage:|\bhccs\b", re.I)
COMPUTE = re.compile(r"(?:compute|east.?west|\bew\b)\s*[:=]?\s*([^,;|]+)", re.I)
RATE = r"(\d+(?:\.\d+)?)\s*(GB|GiB|Gb|Gib|gb|G|Tb)(?:/s|ps|E|it/s|/sec|/Sec|bps)?(?![a-zA-Z0-9])"
MANY = re.compile(r"(\d+)\s*[x×*]\s*(?:[^|;,]*?)" + RATE)
AFTER = re.compile(RATE + r"\s*[x×*]\s*(\d+)(?!\d)")
ALONE = re.compile(RATE)
PORTS = r"(?:(\d+)\s*[x×*]?\s*(?:[a-z-]+[ -])?)?\b"  # how many there are, before a generation
GENERATIONS = {  # Gb/s of a port
    "xdr": 800.0, "ndr": 400.0, "hdr": 200.0, "edr": 100.0, "fdr": 56.0, "omni-?path": 100.0,
}  # fmt: skip
MACHINES = {  # Gb/s of one accelerator of machines that clouds rent by name
    "a3 mega": 200.0, "a3 high": 125.0, "a3 ultra": 400.0, "a4x": 400.0, "a4": 400.0, "p4d": 50.0, "p4de": 50.0,
    "p5": 400.0, "p5e": 400.0, "p5en": 400.0, "ndv4": 200.0, "nd96asr": 200.0, "nd96amsr": 200.0, "ndv5": 400.0,
    "nd96isr": 400.0,
}  # fmt: skip
PORT = 1.05  # times the usual port of an accelerator, up to which a rate alone is that of a port; above it of a node
LEAST = 0.4  # of the usual port, which a node's rate must leave each accelerator for it to be meant
LARGEST_NODE = 16


def network_rate(text: str, chip: Accelerator, node: int) -> float | None:
    """Bytes per second of one accelerator into the network; None where the words do not tell.  `node` accelerators
    share the ports that are counted."""
    words = text.strip()
    named = next((rate for name, rate in MACHINES.items() if re.search(rf"\b{name}\b", words, re.I)), None)
    if named is not None:
        return named * 1e9 / 8.0
    compute = COMPUTE.search(words)
    parts = [compute[1]] if compute else [part for part in re.split(r"[|;,]", words) if not INSIDE.search(part)]
    share = min(node, LARGEST_NODE)
    totals = [int(many) * bytes_of(rate, unit) for part in parts for many, rate, unit in MANY.findall(part)]
    totals += [int(many) * bytes_of(rate, unit) for part in parts for rate, unit, many in AFTER.findall(part)]
    if totals and max(totals) > 0:
        return max(totals) / share  # the others are for storage and management
    for part in parts:
        if found := ALONE.search(part):
            return rate_alone(part, bytes_of(found[1], found[2]), share, chip)
        if rate := rate_of_generation(part, share):
            return rate
    return None


def rate_of_generation(part: str, share: int) -> float | None:
    """Bytes per second of one of `share` accelerators by the name of the ports, and how many there are."""
    for name, gigabits in GENERATIONS.items():
        if port := re.search(rf"{PORTS}{name}\b", part, re.I):
            return gigabits * 1e9 / 8.0 * (int(port[1]) / share if port[1] else 1.0)
    return None


def rate_alone(part: str, rate: float, share: int, chip: Accelerator) -> float | None:
    """A rate without a count: of a node, of an accelerator, or of a port; far below the usual port it is of another
    network."""
    whole = re.search(r"per (?:node|server|host)|/\s*node", part, re.I)
    each = re.search(r"per (?:gpu|card|accel|device|npu|chip)|/\s*gpu", part, re.I)
    if whole or (not each and rate > PORT * chip.outer_rate):
        return rate / share if whole or rate / share > LEAST * chip.outer_rate else None
    if not each and rate < LEAST * chip.outer_rate:
        return None
    return rate if each or re.search(r"infiniband|\bib\b|roce|efa|rdma|slingshot|hdr|ndr", part, re.I) else None


def bytes_of(amount: str, unit: str) -> float:
    """Bytes per second: a capital B is bytes, everything else bits."""
    scale = 1e12 if unit.startswith("T") else 1e9
    return float(amount) * scale / (1.0 if unit.endswith("B") else 8.0)
