"""The few words a study is described by."""

from __future__ import annotations

from enum import StrEnum


class Regime(StrEnum):
    """What is held fixed while workers are added: the total work (strong) or the work per worker (weak)."""

    STRONG = "strong"
    WEAK = "weak"

    @property
    def held_fixed(self) -> str:
        return "total work fixed" if self is Regime.STRONG else "work per worker fixed"


class Quantity(StrEnum):
    """What one observation is."""

    SECONDS = "seconds"
    THROUGHPUT = "throughput"
    THROUGHPUT_PER_WORKER = "throughput_per_worker"

    @property
    def higher_is_better(self) -> bool:
        return self is not Quantity.SECONDS


class RunStatus(StrEnum):
    """Only `ok` runs count as times; the others are kept as evidence."""

    OK = "ok"
    WARMUP = "warmup"
    FAILED = "failed"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"


class Treatment(StrEnum):
    """What was done with warm-up or set-up time."""

    EXCLUDED = "excluded"
    INCLUDED = "included"
    UNKNOWN = "unknown"
