"""A gated stack of experts: which simple extrapolation to believe for a curve, learned from published curves.

Every expert states a gain of log performance over the last measured point.  The point forecast is their weighted mean,

    gain = sum_j softmax_j(x A + b) e_j,

averaged over five gates that see different features x and are shrunk by different amounts; b = 2 for the panel's median
is its head start.  The interval comes from a mixture of Laplace densities centred on some experts and on quantiles of
the published shapes; their weights and scales depend on the same features, so it is wider towards what is likelier.
Everything is learned with whole sources left out (tools/learn_stack.py) and shipped in calibration.json.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from scalecurve.forecasting.curves import LN2, Array, Curves, Mask, last_slope, repeat_error, roughness
from scalecurve.forecasting.experts import (
    AMDAHL,
    LAW_SHARE,
    STRONG_FAMILIES,
    Shapes,
    Verdict,
    consult,
    positive,
    shape_quantiles,
)

LARGEST_GAIN = 3.0  # experts are cut to this change of log performance
MIXTURE_SHARE = 0.25  # of the mixture's median in the point forecast
SHAPE_LEVELS = (0.15, 0.5, 0.85)
RECENT = 0.2  # weight of a point per doubling back, for the Amdahl fit that forgets fast
EXPERTS = (*STRONG_FAMILIES, "published shapes", "smooth laws", "recent Amdahl", "panel", "last value")
PANEL, LAWS = EXPERTS.index("panel"), EXPERTS.index("smooth laws")
CENTRES = ("panel", "serial + shared + log K", "recent Amdahl", "last value", "fading trend")
BISECTIONS = 24  # leaves less than 1e-5 of log performance
LAW_POINTS = 6
UNSEEN, FLOOR_LEVEL = 0.4, 0.9
SMALL_NODE = 32
FALL, FALL_OF_LOAD = 0.5, 0.75  # log performance lost per doubling past the peak
STILL_RISING, LOAD_RISING = 0.05, 0.4  # the last slope above which a peak is not near
BEFORE_THE_FALL = 0.5  # doublings that a load which still rises has to its peak
ONWARD = 1.1  # of the last slope: how far the rate of a device may go on
NARROWER, CLEAN_LOW = 0.93, 0.2  # see `narrower_of`
SMOOTH, SMOOTH_LOW = 0.02, 0.4  # roughness at which a curve counts half as smooth; see `smooth_of`
SMOOTH_POINTS = (math.log(3.5), math.log(6.0))  # ln of the points from which and at which that counts
NARROWEST, WIDEST = -7.0, 2.0  # log scale of a mixture's component

FEATURES = (
    "last slope", "slope before", "change of slope", "curvature", "local misfit", "roughness", "ln spread of experts",
    "drop below best", "ln points", "span in doublings", "doublings ahead", "trust in a law", "misfit of the law",
    "halfway", "starts beyond 1", "is a time",
    "device rate", "server load", "threads", "clients", "gpus", "nodes", "ranks",
)  # fmt: skip
SLOPE, MISFIT, SPREAD, POINTS, AHEAD, TRUST = map(
    FEATURES.index,
    ("last slope", "local misfit", "ln spread of experts", "ln points", "doublings ahead", "trust in a law"),
)
IS_TIME, DEVICE, LOAD, THREADS, CLIENTS, NODES = map(
    FEATURES.index, ("is a time", "device rate", "server load", "threads", "clients", "nodes")
)
OCTAVES = 7


@dataclass(frozen=True)
class Circumstances:
    """What gates and mixture see of N curves asked at Q worker counts.

    `gains` is N x Q x experts, `centres` N x Q x components (gains too), `features` N x Q x 23, `octaves` N x 7,
    `slower` the gain N x Q that the smooth laws foresee behind a slower network.
    """

    gains: Array
    centres: Array
    features: Array
    octaves: Array
    noise: Array
    slower: Array
    verdict: Verdict

    def rows(self, chosen: Mask) -> Circumstances:
        """Some of the curves; the verdict stays that of all."""
        parts = self.gains, self.centres, self.features, self.octaves, self.noise, self.slower
        gains, centres, features, octaves, noise, slower = (part[chosen] for part in parts)
        return Circumstances(gains, centres, features, octaves, noise, slower, self.verdict)

    def for_gate(self, kind: str) -> Array:
        """The features of one kind of gate: all see the first 23, some see slopes by octave or units by slope."""
        f = self.features
        if kind == "octaves":
            slopes = np.broadcast_to(self.octaves[:, None, :], (*f.shape[:2], OCTAVES))
            return np.concatenate([f, slopes], axis=-1)
        if kind == "units":
            blocks = [f[..., i] for i in (DEVICE, LOAD, CLIENTS, THREADS, IS_TIME)]
            crossed = [block * f[..., SLOPE] for block in blocks] + [block * f[..., AHEAD] for block in blocks]
            crossed.append((1 - f[..., IS_TIME]) * f[..., NODES] * f[..., SLOPE])
            return np.concatenate([f, np.stack(crossed, axis=-1)], axis=-1)
        return f

    def for_scale(self) -> Array:
        """What the scale of the error depends on, N x Q x 11."""
        f = self.features
        t = np.maximum(f[..., AHEAD], 0.0)
        noise = np.broadcast_to(self.noise[:, None], t.shape)
        kept = [f[..., i] for i in (SPREAD, 13, POINTS, TRUST, DEVICE, LOAD, CLIENTS, 7)]
        return np.stack([np.log(t + 0.1), np.log(noise + 0.01), np.log(f[..., 12] + 0.005), *kept], axis=-1)


def circumstances(curves: Curves, at: Array, shapes: Shapes) -> Circumstances:
    """Experts and features of curves at the K asked for; `at` is N x Q."""
    quantiles = shape_quantiles(curves, at, shapes, SHAPE_LEVELS)
    verdict = consult(curves, at, STRONG_FAMILIES, shapes=quantiles[..., 1])
    laws, last = verdict.laws, curves.last
    if laws is None:
        raise ValueError("the stack needs the smooth laws")
    recent = positive(curves, at, AMDAHL, curves.weights(RECENT))
    experts = [*verdict.families, laws.ahead, recent, verdict.ahead, np.broadcast_to(last, at.shape)]
    gains = np.clip(np.stack(experts, axis=-1) - last[..., None], -LARGEST_GAIN, LARGEST_GAIN)
    chosen = [gains[..., EXPERTS.index(name)] for name in CENTRES]
    cut = np.clip(quantiles - last[..., None], -LARGEST_GAIN, LARGEST_GAIN)
    centres = np.concatenate([np.stack(chosen, axis=-1), cut], axis=-1)
    noise = np.hypot(roughness(curves), repeat_error(curves))
    features, slower = _features(curves, at, verdict), np.clip(laws.slower - last, -LARGEST_GAIN, 0.0)
    slower = np.where(curves.k[:, -1:] <= SMALL_NODE, slower, 0.0)
    return Circumstances(gains, centres, features, _octave_slopes(curves), noise, slower, verdict)


def _features(curves: Curves, at: Array, verdict: Verdict) -> Array:
    """N x Q x 23 numbers in the order of FEATURES, not standardised."""
    x, y, mask = np.log(curves.k), curves.y - curves.last, curves.mask
    slope = last_slope(curves)
    before = slope
    if x.shape[1] > 2:
        gap = x[:, -2] - x[:, -3]
        before = np.where(mask[:, -3], (y[:, -2] - y[:, -3]) / np.where(gap > 0, gap, 1.0), slope)
    t = (x - x[:, -1:]) / LN2
    weight = np.where(mask, 0.5**-t, 0.0)
    design = np.stack([np.ones_like(t), t, t * t], axis=-1)
    gram = np.einsum("npi,np,npj->nij", design, weight, design) + 1e-12 * np.eye(3)
    local = np.linalg.solve(gram, np.einsum("npi,np,np->ni", design, weight, y)[..., None])[..., 0]
    residual = y - np.einsum("npi,ni->np", design, local)
    misfit = np.sqrt((weight * residual**2).sum(axis=1) / weight.sum(axis=1))
    halfway = np.clip(slope, 0, 1) * (1 - np.clip(slope, 0, 1))
    best, law = np.where(mask, y, -np.inf).max(axis=1), verdict.laws
    zeros = np.zeros(len(curves))
    trust, law_misfit = (zeros, zeros) if law is None else (law.trust, np.minimum(law.misfit, 1.0))
    unit, worker, is_time = curves.traits.T
    columns = [slope, before, slope - before, local[:, 2], misfit, roughness(curves), zeros, best, np.log(curves.count)]
    columns += [-t[:, 0], zeros, trust, law_misfit, halfway, curves.k[:, 0] > 1, is_time, unit == 0, unit == 1]
    columns += [worker == i for i in range(5)]
    table = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=-1)
    out = np.repeat(table[:, None, :], at.shape[1], axis=1)
    out[..., SPREAD] = np.log(verdict.families.std(axis=0) + 0.02)
    out[..., AHEAD] = curves.doublings(at)
    return out


def _octave_slopes(curves: Curves) -> Array:
    """N x 7 slopes over the last doubling, the one before, and so on; before the first point the earliest repeats."""
    x = np.log2(curves.k)  # padded points repeat the first one, so that they change no interpolation
    first, last = x[:, :1], x[:, -1:]
    ends = np.maximum(last - np.arange(OCTAVES + 1), first)
    below = sum((column[:, None] < ends).astype(np.int64) for column in x.T)
    place = np.clip(below - 1, 0, x.shape[1] - 2)
    left, right = (np.take_along_axis(x, place + step, axis=1) for step in (0, 1))
    low, high = (np.take_along_axis(curves.y, place + step, axis=1) for step in (0, 1))
    share = np.where(right > left, (ends - left) / np.where(right > left, right - left, 1.0), 0.0)
    height = low + share * (high - low)
    width = ends[:, :-1] - ends[:, 1:]
    slopes = (height[:, :-1] - height[:, 1:]) / (np.where(width > 0, width, 1.0) * LN2)
    reached = np.maximum((width > 0).sum(axis=1, keepdims=True) - 1, 0)
    return np.asarray(np.take_along_axis(slopes, np.minimum(np.arange(OCTAVES), reached), axis=1))


@dataclass(frozen=True)
class Standard:
    """Features made comparable: (x - mean) / scale, cut to three, times an emphasis."""

    mean: Array
    scale: Array
    emphasis: Array

    def apply(self, features: Array) -> Array:
        return np.asarray(np.clip((features - self.mean) / self.scale, -3.0, 3.0) * self.emphasis)


@dataclass(frozen=True)
class ExpertGate:
    """One softmax over the experts; `weights` is features x experts, `bias` one number for each expert."""

    kind: str
    standard: Standard
    weights: Array
    bias: Array

    def shares(self, case: Circumstances) -> Array:
        """The weight of each expert, N x Q x experts."""
        return softmax(self.standard.apply(case.for_gate(self.kind)) @ self.weights + self.bias)


@dataclass(frozen=True)
class Mixture:
    """Laplace densities around the centres: softmax weights, log scale = features . slope + one offset a component."""

    standard: Standard
    weights: Array
    bias: Array
    scale_standard: Standard
    scale_slope: Array
    scale_offset: Array

    def density(self, case: Circumstances) -> Density:
        shares = softmax(self.standard.apply(case.features) @ self.weights + self.bias)
        log_scale = (self.scale_standard.apply(case.for_scale()) @ self.scale_slope)[..., None] + self.scale_offset
        return Density(shares, case.centres, np.exp(np.clip(log_scale, NARROWEST, WIDEST)))


@dataclass(frozen=True)
class Density:
    """A mixture of Laplace densities of the gain at each K; the last axis runs over components."""

    shares: Array
    centres: Array
    scales: Array

    def quantile(self, *levels: float) -> Array:
        """The gains below which each level of the probability lies, levels x N x Q, by bisection."""
        share = np.array(levels).reshape(-1, *(1,) * (self.centres.ndim - 1))
        low = np.broadcast_to(
            (self.centres - 14 * self.scales).min(axis=-1), np.broadcast(share, self.centres[..., 0]).shape
        )
        high = np.broadcast_to((self.centres + 14 * self.scales).max(axis=-1), low.shape)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            u = (middle[..., None] - self.centres) / self.scales
            tail = 0.5 * np.exp(-np.abs(u))
            below = (self.shares * np.where(u < 0, tail, 1 - tail)).sum(axis=-1) < share
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray((low + high) / 2)


@dataclass(frozen=True)
class ExpertStack:
    """The gates and the mixture; `sources` is the number of sources they were learned from."""

    gates: tuple[ExpertGate, ...]
    mixture: Mixture
    sources: int

    def shares(self, case: Circumstances) -> Array:
        """The mean weight of each expert over the gates, N x Q x experts."""
        return np.asarray(np.mean([gate.shares(case) for gate in self.gates], axis=0))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ExpertStack:
        def standard(part: Mapping[str, Any]) -> Standard:
            return Standard(*(np.array(part[name], dtype=np.float64) for name in ("mean", "scale", "emphasis")))

        gates = tuple(
            ExpertGate(part["kind"], standard(part["standard"]), np.array(part["weights"]), np.array(part["bias"]))
            for part in data["gates"]
        )
        mix = data["mixture"]
        mixture = Mixture(
            standard(mix["standard"]),
            np.array(mix["weights"]),
            np.array(mix["bias"]),
            standard(mix["scale_standard"]),
            np.array(mix["scale_slope"]),
            np.array(mix["scale_offset"]),
        )
        return cls(gates, mixture, int(data["sources"]))


class IntervalFloor(NamedTuple):
    """Where an end of a 90 % interval moves (a gain, N x Q) by a `share` of the way, if it lies within."""

    share: Array
    gain: Array


class GainInterval(NamedTuple):
    """Low and high gain, N x Q; `disagreement` is the width without what the floors add.

    `inside` is the low end where K is known to lie within one node, so that no slower network lies between.
    """

    low: Array
    high: Array
    disagreement: Array
    inside: Array


@dataclass(frozen=True)
class StackedGains:
    """Gains over the last point: `point` is N x Q, `density` their distribution, `shares` the weight of each expert.

    `floors` deepen the low end, see `floors_of`, and `ceiling` raises the high one, see `ceiling_of`.  `intervals`
    remembers those at each level asked for, so that a thousand curves cost one bisection.
    """

    point: Array
    median: Array
    density: Density
    shares: Array
    floors: tuple[IntervalFloor, ...]
    ceiling: IntervalFloor
    sources: int
    narrower: tuple[Array, Array]
    smooth: Array
    intervals: dict[float, GainInterval] = field(default_factory=dict, repr=False, compare=False)

    def interval(self, level: float) -> GainInterval:
        """The mixture's quantiles moved halfway to the point, the low end at least as deep as the floors.

        The mixture's level is raised by 1/sources: a new user is a new source, and few sources were learned from.
        Both ends are then drawn towards the point, see `narrower_of`, before the floors count; the low end of a smooth
        curve once more, see `smooth_of`, but for the floors of a peak that was passed.
        """
        if level not in self.intervals:
            shift = (self.point - self.median) / 2
            raised = min(level * (1 + 1 / self.sources), (1 + level) / 2)
            low, high = self.density.quantile((1 - raised) / 2, (1 + raised) / 2) + shift
            down, up = self.narrower
            low = self.point + down * np.minimum(low - self.point, 0.0)
            high = self.point + up * np.maximum(high - self.point, 0.0)
            tail = math.log(1 - level) / math.log(1 - FLOOR_LEVEL)  # as that of a Laplace density
            deeper = [low - floor.share * np.maximum(low - tail * floor.gain, 0.0) for floor in self.floors]
            higher = high + self.ceiling.share * np.maximum(tail * self.ceiling.gain - high, 0.0)
            unseen, network, *past = deeper
            lows = []
            for end, share in ((np.minimum(unseen, network), self.floors[1].share), (unseen, 0.0)):
                kept = 1 - SMOOTH_LOW * self.smooth * (1 - share / 2)
                lows.append(np.minimum.reduce([self.point + kept * (end - self.point), *past]))
            self.intervals[level] = GainInterval(lows[0], higher, high - low, lows[1])
        return self.intervals[level]


def stacked_gains(case: Circumstances, stack: ExpertStack) -> StackedGains:
    """The forecast of the stack.

    The rate of a device (bytes/s, I/O operations) is left to the panel, which knows its ceiling: one published source
    measures devices, so with it left out gates learn nothing of them.
    """
    experts, device = np.arange(len(EXPERTS)), case.features[..., DEVICE, None]
    density, law = stack.mixture.density(case), (1 - device) * law_share(case.features)[..., None]
    shares = (1 - law) * stack.shares(case) + law * (experts == LAWS)
    shares = shares + device * ((experts == PANEL) - shares)
    median = density.quantile(0.5)[0]
    share = (MIXTURE_SHARE * (1 - law) * (1 - device))[..., 0]
    point = (1 - share) * (shares * case.gains).sum(axis=-1) + share * median
    floors, ceiling, widths = floors_of(case), ceiling_of(case), (narrower_of(case.features), smooth_of(case))
    return StackedGains(np.asarray(point), median, density, shares, floors, ceiling, stack.sources, *widths)


def narrower_of(features: Array) -> tuple[Array, Array]:
    """What is kept of the low and the high half of the interval: less of the low where a law explains the curve.

    The raised level makes intervals of unseen sources hold more often than asked, most of all for clean curves.  The
    high half is not narrowed further: curves of laws that were not learned from left it in one case of four.
    """
    up = np.full(features.shape[:-1], NARROWER)
    return up * (1.0 - CLEAN_LOW * features[..., TRUST]), up


def smooth_of(case: Circumstances) -> Array:
    """How smooth a curve of many points is, N x Q: 1 without noise and scatter at six points, 0 with three or fewer.

    Published curves of left-out sources and clean simulated ones both score better with a low end drawn to the point,
    half as far where a slower network may lie beyond.
    """
    f, (few, many) = case.features, SMOOTH_POINTS
    rough = case.noise[:, None] + f[..., MISFIT]
    return np.asarray(np.clip((f[..., POINTS] - few) / (many - few), 0.0, 1.0) / (1 + (rough / SMOOTH) ** 2))


def law_share(features: Array) -> Array:
    """The share of the smooth laws beside the gates, N x Q: half where a clean curve of at least six K has bent.

    Few published curves are that clean, so gates learn nothing of it: errors there are the same with and without.
    """
    enough = features[..., POINTS] > math.log(LAW_POINTS - 0.5)
    return np.asarray(LAW_SHARE * features[..., TRUST] * enough * (1 - _rising(features)))


def _rising(features: Array) -> Array:
    """1 where the last slope is above 0.7, 0 where the curve has bent below 0.3."""
    return np.asarray(np.clip((features[..., SLOPE] - 0.3) / 0.4, 0.0, 1.0))


def floors_of(case: Circumstances) -> tuple[IntervalFloor, ...]:
    """What may lie beyond the largest measured K and shows in no point, so that published curves teach little of it.

    A curve that follows a law within its noise is no proof that it goes on.  While it rises, a full node or memory may
    end it: 0.4 below the last value.  Beyond the node the network is slower: everything beside the shared work costs
    more; not for K counted in nodes, clients or threads, nor beyond 32 workers, which are rarely all in one node.  A
    curve that is flat or falls may have passed its peak; servers then lose a little more than 1/K, as they thrash, and
    a load whose gains have shrunk may pass its peak within half a doubling.
    """
    f = case.features
    slope, ahead, trust = f[..., SLOPE], np.maximum(f[..., AHEAD], 0.0), f[..., TRUST]
    near, load = np.clip(ahead, 0.0, 1.0), np.maximum(f[..., LOAD], f[..., CLIENTS])
    one_node = 1 - np.maximum.reduce([f[..., kind] for kind in (NODES, CLIENTS, THREADS)])
    flat, shrunk = (np.clip(1 - slope / limit, 0.0, 1.0) for limit in (STILL_RISING, LOAD_RISING))
    return (
        IntervalFloor(trust * _rising(f) * near, np.full(near.shape, -UNSEEN)),
        IntervalFloor(np.clip(4 * trust, 0.0, 1.0) * near * one_node, case.slower),
        IntervalFloor(flat, -(FALL + load * (FALL_OF_LOAD - FALL)) * ahead),
        IntervalFloor(load * shrunk, -FALL_OF_LOAD * np.maximum(ahead - BEFORE_THE_FALL, 0.0)),
    )


def ceiling_of(case: Circumstances) -> IntervalFloor:
    """The rate of a device that still rises may go on as it did: the panel halves its gain, since devices fill up.

    Where that ceiling lies shows in no point: the rates of many nodes, disks or servers added up have none for long.
    """
    f = case.features
    onward = ONWARD * f[..., SLOPE] * f[..., AHEAD] * math.log(2.0)
    return IntervalFloor(f[..., DEVICE] * _rising(f), onward)


def softmax(logits: Array) -> Array:
    """Positive weights that sum to one along the last axis."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
