"""How long a job takes on machines that may be taken away: how much work is lost?

A job of T seconds writes a checkpoint every tau seconds, which takes C; interruptions come at rate L (all units
together) and each costs the work since the last checkpoint and R seconds to restart.  Expected elapsed time:

    T_elapsed = (T/tau) exp(L R) (exp(L (tau + C)) - 1)/L,        L -> 0:  T (1 + C/tau)

Without checkpoints tau = T and C = 0: everything since the start is lost.
Source: J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, Future Generation
Computer Systems 22, 2006 (the complete model, for interruptions that are independent of time).
Worked number: T = 10 h, one loss in 10 h, no checkpoint, R = 0: 10 (e - 1) = 17.2 h.
Limits: losses are independent of one another; spot markets also take many machines back at once.
"""

from __future__ import annotations

import math

LARGEST_EXPONENT = 700.0


def expected_elapsed(
    seconds: float,
    rate_per_second: float,
    *,
    checkpoint_every: float | None = None,
    checkpoint_seconds: float = 0.0,
    restart_seconds: float = 0.0,
) -> float | None:
    """Expected seconds until the job is done; None where it would in practice never finish."""
    saves = checkpoint_every is not None and checkpoint_every < seconds
    every = checkpoint_every if saves and checkpoint_every is not None else seconds
    written = checkpoint_seconds if saves else 0.0
    if rate_per_second == 0 or seconds == 0:
        return seconds * (1.0 + written / every) if seconds else 0.0
    exponent = rate_per_second * (every + written)
    if exponent > LARGEST_EXPONENT or rate_per_second * restart_seconds > LARGEST_EXPONENT:
        return None
    tries = math.expm1(exponent) / rate_per_second
    elapsed = seconds / every * math.exp(rate_per_second * restart_seconds) * tries
    return elapsed if math.isfinite(elapsed) else None


def young_interval(checkpoint_seconds: float, rate_per_second: float) -> float:
    """The checkpoint interval that loses least, sqrt(2 C/L), valid for C well below 1/L (Young 1974)."""
    return math.sqrt(2.0 * checkpoint_seconds / rate_per_second)
