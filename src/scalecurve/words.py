"""Numbers as sentences say them: `8 GPUs`, `83 %`, `probability 84 %`."""

from __future__ import annotations

import re

MOST_DECIMALS = 5
_PERCENT = re.compile(r"(--[\w-]+[ =]\S+)|(?<=\d)%(?!\w)")  # an option keeps what can be typed: --serial 5%


def unit_words(k_unit: str) -> str:
    """What a worker is, as people write it: `GPUs` of gpus."""
    return {"gpus": "GPUs", "cpus": "CPUs", "tpus": "TPUs"}.get(k_unit, k_unit)


def single(words: str) -> str:
    """One of several: `host` of hosts, `process` of processes."""
    return words.removesuffix("es") if words.endswith("sses") else words.removesuffix("s")


def workers_text(k: int, k_unit: str) -> str:
    """A number of workers: `1 GPU`, `8 GPUs`."""
    words = unit_words(k_unit)
    return f"{k:,} {single(words) if k == 1 else words}"


def share_text(share: float) -> str:
    """A share in percent: one decimal below 10 %, whole above."""
    percent = 100.0 * share
    return f"{percent:.1f} %" if abs(percent) < 9.95 else f"{percent:,.0f} %"


def percent(share: float, limit: float | None = None) -> str:
    """A share as whole percent: `83 %`; beside a limit, with the decimals that show on which side of it it lies."""
    return f"{100.0 * share:,.0f} %" if limit is None else f"{beside(100.0 * share, 100.0 * limit)} %"


def beside(value: float, limit: float, decimals: int = 0) -> str:
    """A value with as many decimals as show whether it is below a limit: `69.8` beside 70, and not `70`."""
    texts = [f"{value:,.{count}f}" for count in range(decimals, decimals + MOST_DECIMALS)]
    below = value < limit
    return next((text for text in texts if (float(text.replace(",", "")) < limit) == below), texts[-1])


def limit_words(limit: float) -> str:
    """A limit as it was stated, in percent: `70 %`, `72.5 %`."""
    return f"{100.0 * limit:.6g} %"


def chance_words(chance: float) -> str:
    """A probability in percent; no data make one certain, so its ends are `above 99 %` and `below 1 %`."""
    return "above 99 %" if chance > 0.99 else "below 1 %" if chance < 0.01 else percent(chance)


def spaced(text: str) -> str:
    """A text in which a percent sign stands apart from its number: `83 %` of 83%."""
    return _PERCENT.sub(lambda found: found[1] or " %", text) if "%" in text else text


def short_name(name: str, most: int = 32) -> str:
    """A name for a sentence: cut at a word where it is long."""
    if len(name) <= most:
        return name
    return f"{name[: most - 3].rsplit(' ', 1)[0].rstrip(' ,;:')}..."
