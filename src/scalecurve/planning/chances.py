"""How likely is a deadline met, given what is known about T(K)?

Measured K: with n runs of mean m and standard deviation s, the mean of J further runs is m + s sqrt(1/n + 1/J) t with
Student's t at n - 1 degrees of freedom, so

    P(J runs within D) = F_t((D/J - m)/(s sqrt(1/n + 1/J)))

With several lanes the slowest counts; they share the unknown mean and spread, over which the product is averaged.
Forecast and interpolated K: the interval is read as that of a lognormal.  No interval: no probability.
"""

from __future__ import annotations

import math

import numpy as np

from scalecurve.errors import Refused
from scalecurve.planning.curve import CurvePoint, Repeats
from scalecurve.planning.pricing import Campaign
from scalecurve.planning.tariff import Tariff

SEED = 7
DRAWS = 20_000
BISECTIONS = 80


def chance_by(point: CurvePoint, deadline: float, campaign: Campaign, tariff: Tariff) -> float | None:
    """P(the campaign is done by `deadline`); None where nothing is known about the spread."""
    from scipy.special import ndtr, ndtri, stdtr

    seconds, repeats = point.seconds, point.repeats
    allowed = allowed_seconds(point.k, deadline, campaign, tariff)
    if allowed is None:
        return None if repeats is None and not seconds.has_interval else 0.0
    if repeats is not None:
        waves, lanes = campaign.waves(point.k), campaign.full_lanes(point.k)
        if repeats.std == 0:
            return 1.0 if seconds.value <= allowed else 0.0
        if lanes > 1:
            return slowest_lane_chance(seconds.value, repeats, allowed, waves, lanes)
        error = repeats.std * math.sqrt(1.0 / repeats.n + 1.0 / waves)
        return float(stdtr(repeats.n - 1, (allowed - seconds.value) / error))
    if seconds.low is None or seconds.high is None or seconds.level is None or seconds.low <= 0:
        return None
    if allowed <= 0:
        return 0.0
    spread = math.log(seconds.high / seconds.low) / (2.0 * float(ndtri(0.5 + seconds.level / 2.0)))
    if spread == 0:
        return 1.0 if seconds.value <= allowed else 0.0
    return float(ndtr(math.log(allowed / seconds.value) / spread))


def slowest_lane_chance(mean: float, repeats: Repeats, allowed: float, waves: int, lanes: int) -> float:
    """P(every lane stays within `allowed` seconds per job), averaged over the unknown mean and spread."""
    from scipy.special import ndtr

    rng = np.random.default_rng(SEED)
    degrees = repeats.n - 1
    std = repeats.std * np.sqrt(degrees / rng.chisquare(degrees, DRAWS))
    centre = mean + std / math.sqrt(repeats.n) * rng.standard_normal(DRAWS)
    one = ndtr((allowed - centre) * math.sqrt(waves) / std)
    return float(np.mean(one**lanes))


def allowed_seconds(k: int, deadline: float, campaign: Campaign, tariff: Tariff) -> float | None:
    """The longest T(K) in seconds with which the campaign meets the deadline; None where even T = 0 does not."""
    setup = campaign.elapsed(tariff, k, 0.0)
    if setup > deadline:
        return None
    if tariff.spot is None:
        return (deadline - setup) / campaign.waves(k)
    # With interruptions the time of a campaign grows faster than T, but it always grows.
    low, high = 0.0, deadline
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        try:
            fits = campaign.elapsed(tariff, k, middle) <= deadline
        except Refused:
            fits = False
        low, high = (middle, high) if fits else (low, middle)
    return low
