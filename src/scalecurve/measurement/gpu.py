"""GPU model and clocks, as nvidia-smi tells them.  Verified with recorded output only; no GPU was at hand."""

from __future__ import annotations

from typing import Any

from scalecurve.measurement.ports import Runner

_FIELDS = ("name", "driver_version", "memory.total", "clocks.sm", "clocks.max.sm", "power.limit", "persistence_mode")


def gpus_of(runner: Runner) -> list[dict[str, Any]] | None:
    """One entry per GPU; None where there is no nvidia-smi or no GPU."""
    query = ["nvidia-smi", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits"]
    code, text = runner.capture(query, timeout=20)
    if code != 0:
        return None
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    found = [_entry(row) for row in rows if len(row) == len(_FIELDS)]
    return found or None


def _entry(row: list[str]) -> dict[str, Any]:
    name, driver, memory, clock, most, power, persistence = row
    return {
        "model": name,
        "driver": driver,
        "memory_mib": _number(memory),
        "sm_clock_mhz": _number(clock),
        "sm_clock_max_mhz": _number(most),
        "power_limit_watts": _number(power),
        "persistence": persistence,
    }


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
