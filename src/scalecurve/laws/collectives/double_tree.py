"""Double binary tree: two trees, each carrying half of the vector, no rank interior in both.

Source: Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan" (2009), which
NCCL follows.  Rank 0 feeds both trees over the ranks 1 .. p-1.  In the first tree a rank's parent follows from its
lowest set bit, so every odd rank is a leaf; the second is its mirror (p odd) or its shift (p even), so every even
rank is a leaf.

A rank has at most two receivers and two senders over both trees together, so the messages can be two-coloured (a
bipartite graph of degree two): odd rounds carry one colour, even rounds the other, and nobody sends or receives twice
in a round.
"""

from __future__ import annotations

import math
from functools import lru_cache

from scalecurve.laws.collectives.steps import Step, Steps, block

Edge = tuple[int, int, int]  # tree (0 or 1), parent, child


def broadcast_double_tree(p: int, n: float, segments: int = 1) -> Steps:
    """(fill + 2(m-1)) rounds of n/(2m) bytes, m segments in each tree: about 2 lg p alpha + n beta + filling."""
    if p == 1:
        return ()
    return (Step(rounds=fill_rounds(p) + 2 * (segments - 1), message=block(n, 2 * segments)),)


def reduce_double_tree(p: int, n: float, segments: int = 1) -> Steps:
    """The broadcast run backwards: the same rounds, every message combined where it arrives."""
    return tuple(
        Step(rounds=step.rounds, message=step.message, reduced=step.message)
        for step in broadcast_double_tree(p, n, segments)
    )


def allreduce_double_tree(p: int, n: float, segments: int = 1) -> Steps:
    """Reduce, then broadcast: 2(fill + 2(m-1))(alpha + n beta/(2m)), so 2 n beta and a logarithmic latency."""
    return reduce_double_tree(p, n, segments) + broadcast_double_tree(p, n, segments)


def tree_segments(p: int, n: float, alpha: float, beta: float) -> int:
    """The m minimising (F - 2 + 2m)(alpha + n beta/(2m)), F = fill: m = sqrt((F-2) n beta / (4 alpha))."""
    spare = fill_rounds(p) - 2 if p > 1 else 0
    if alpha <= 0:
        return max(1, int(min(n, 1e6)))
    return max(1, min(round(math.sqrt(spare * n * beta / (4 * alpha))), int(n) or 1))


def parent_of(label: int, count: int) -> int:
    """Parent in the lowest-set-bit tree over labels 1 .. count; 0 is above the root."""
    bit = label & -label
    above = (label ^ bit) | (bit << 1)
    return above if above <= count else label ^ bit


@lru_cache(maxsize=64)
def edges(p: int) -> tuple[Edge, ...]:
    """Every (tree, parent, child) of the two trees over ranks 0 .. p-1."""
    count = p - 1
    found: list[Edge] = []
    for label in range(1, count + 1):
        above = parent_of(label, count)
        found.append((0, above, label))
        found.append((1, _second(above, count), _second(label, count)))
    return tuple(found)


def _second(label: int, count: int) -> int:
    """A label of the first tree as a rank of the second: mirrored if the count is even, shifted by one if odd."""
    if label == 0:
        return 0
    return count + 1 - label if count % 2 == 0 else label % count + 1


@lru_cache(maxsize=64)
def colours(p: int) -> tuple[int, ...]:
    """A colour for every edge, different at both ends of it: the walk along paths and even cycles never fails."""
    listed = edges(p)
    at_sender, at_receiver = _partners(listed, 1), _partners(listed, 2)
    colour = [-1] * len(listed)
    for start in range(len(listed)):
        if colour[start] < 0:
            _walk(start, colour, (at_sender, at_receiver))
    return tuple(colour)


def _partners(listed: tuple[Edge, ...], end: int) -> list[int]:
    """For every edge, the other edge that shares its parent (end 1) or its child (end 2); -1 where there is none."""
    partner = [-1] * len(listed)
    seen: dict[int, int] = {}
    for i, edge in enumerate(listed):
        other = seen.setdefault(edge[end], i)
        if other != i:
            partner[i], partner[other] = other, i
    return partner


def _walk(start: int, colour: list[int], partners: tuple[list[int], list[int]]) -> None:
    colour[start] = 1  # odd rounds come first
    for side in (0, 1):
        edge, turn = start, side
        while (following := partners[turn][edge]) >= 0 and colour[following] < 0:
            colour[following] = 1 - colour[edge]
            edge, turn = following, 1 - turn


@lru_cache(maxsize=64)
def arrivals(p: int) -> dict[tuple[int, int], int]:
    """The round in which the first segment of each tree reaches each rank: the next round of its edge's colour."""
    came: dict[tuple[int, int], int] = {(0, 0): 0, (1, 0): 0}
    by_parent: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (tree, parent, child), colour in zip(edges(p), colours(p), strict=True):
        by_parent.setdefault((tree, parent), []).append((child, colour))
    waiting = [(0, 0), (1, 0)]
    while waiting:
        tree, parent = waiting.pop()
        for child, colour in by_parent.get((tree, parent), ()):
            after = came[tree, parent] + 1
            came[tree, child] = after + (after - colour) % 2
            waiting.append((tree, child))
    return came


@lru_cache(maxsize=1024)
def fill_rounds(p: int) -> int:
    """Rounds until the first segment of both trees has reached every rank; between lg p and 2 lg p + 2."""
    return max(arrivals(p).values()) if p > 1 else 0
