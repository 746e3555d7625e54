"""Collectives run on simulated ranks with real data: one port, full duplex, synchronous rounds, every byte counted.

An algorithm is a generator over one group of ranks.  It yields the messages of a round and is handed what arrived;
`run` drives several groups in lock step, refuses a rank that sends or receives twice, and counts rounds and bytes.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np

Vector = np.ndarray[Any, Any]
Messages = dict[tuple[int, int], Vector]
Round = tuple[Messages, bool]  # messages, and whether the receiver combines what arrives
Group = Generator[Round, dict[int, Vector], None]
Data = dict[int, Vector]
Edge = tuple[int, int, int]  # tree (0 or 1), parent, child


@dataclass
class Counter:
    """Rounds, bytes of the busiest sender, bytes of the busiest reducer, by level."""

    rounds: dict[str, int] = field(default_factory=dict)
    sent: dict[str, float] = field(default_factory=dict)
    reduced: dict[str, float] = field(default_factory=dict)

    def add(self, level: str, sent: int, reduced: int) -> None:
        for book, amount in ((self.rounds, 1), (self.sent, sent), (self.reduced, reduced)):
            book[level] = book.get(level, 0) + amount


def run(groups: Sequence[Group], counter: Counter, level: str = "inter") -> None:
    """Drive groups in lock step until all are done."""
    pending = [(group, next(group, None)) for group in groups]
    while any(step is not None for _, step in pending):
        counter.add(level, *_busiest([step for _, step in pending if step is not None]))
        pending = [(group, _deliver(group, step)) for group, step in pending]


def _busiest(steps: Sequence[Round]) -> tuple[int, int]:
    senders: set[int] = set()
    receivers: set[int] = set()
    sent = reduced = 0
    for messages, combines in steps:
        for (source, target), payload in messages.items():
            assert source not in senders, f"rank {source} sends twice in one round"
            assert target not in receivers, f"rank {target} receives twice in one round"
            senders.add(source)
            receivers.add(target)
            sent = max(sent, len(payload))
            reduced = max(reduced, len(payload) if combines else 0)
    return sent, reduced


def _deliver(group: Group, step: Round | None) -> Round | None:
    if step is None:
        return None
    arrived = {target: payload.copy() for (_, target), payload in step[0].items()}
    try:
        return group.send(arrived)
    except StopIteration:
        return None


def padded(vector: Vector, parts: int) -> Vector:
    size = ceil(len(vector) / parts) * parts
    return np.concatenate([vector, np.zeros(size - len(vector), vector.dtype)])


def block(vector: Vector, parts: int, index: int) -> slice:
    size = len(vector) // parts
    return slice(index % parts * size, (index % parts + 1) * size)


# --- one group ------------------------------------------------------------------------------------------------------


def ring_reduce_scatter(ranks: Sequence[int], data: Data) -> Group:
    """Rank i ends with block i of the sum (vectors are padded to p blocks)."""
    p = len(ranks)
    for s in range(p - 1):
        messages = {
            (ranks[i], ranks[(i + 1) % p]): data[ranks[i]][block(data[ranks[i]], p, i - s - 1)] for i in range(p)
        }
        arrived = yield messages, True
        for i in range(p):
            data[ranks[i]][block(data[ranks[i]], p, i - s - 2)] += arrived[ranks[i]]


def ring_allgather(ranks: Sequence[int], data: Data) -> Group:
    """Rank i starts with block i in place."""
    p = len(ranks)
    for s in range(p - 1):
        messages = {(ranks[i], ranks[(i + 1) % p]): data[ranks[i]][block(data[ranks[i]], p, i - s)] for i in range(p)}
        arrived = yield messages, False
        for i in range(p):
            data[ranks[i]][block(data[ranks[i]], p, i - s - 1)] = arrived[ranks[i]]


def binomial_broadcast(ranks: Sequence[int], data: Data) -> Group:
    p, reach = len(ranks), 1
    while reach < p:
        messages = {(ranks[i], ranks[i + reach]): data[ranks[i]] for i in range(min(reach, p - reach))}
        arrived = yield messages, False
        data.update(arrived)
        reach *= 2


def binomial_reduce(ranks: Sequence[int], data: Data) -> Group:
    p = len(ranks)
    reach = 1 << ((p - 1).bit_length() - 1) if p > 1 else 0
    while reach:
        messages = {(ranks[i + reach], ranks[i]): data[ranks[i + reach]] for i in range(min(reach, p - reach))}
        arrived = yield messages, True
        for rank, payload in arrived.items():
            data[rank] = data[rank] + payload
        reach //= 2


def chain_broadcast(ranks: Sequence[int], data: Data, segments: int) -> Group:
    p = len(ranks)
    for t in range(p - 2 + segments):
        messages = {
            (ranks[i], ranks[i + 1]): data[ranks[i]][block(data[ranks[i]], segments, t - i)]
            for i in range(p - 1)
            if 0 <= t - i < segments
        }
        arrived = yield messages, False
        for i in range(1, p):
            if ranks[i] in arrived:
                data[ranks[i]][block(data[ranks[i]], segments, t - i + 1)] = arrived[ranks[i]]


def _scatter_moves(p: int) -> list[list[tuple[int, int, int]]]:
    """(from, to, end) of each round: `to` gets the blocks [to, end)."""
    moves, owned, span = [], {0: p}, 1 << max(0, (p - 1).bit_length() - 1)
    while span and p > 1:
        now = [(i, i + span, end) for i, end in owned.items() if i + span < end]
        for i, to, end in now:
            owned[i], owned[to] = to, end
        moves.append(now)
        span //= 2
    return moves


def binomial_scatter(ranks: Sequence[int], data: Data) -> Group:
    p = len(ranks)
    for now in _scatter_moves(p):
        size = len(data[ranks[0]]) // p
        arrived = yield {(ranks[i], ranks[to]): data[ranks[i]][to * size : end * size] for i, to, end in now}, False
        for _, to, end in now:
            data[ranks[to]][to * size : end * size] = arrived[ranks[to]]


def binomial_gather(ranks: Sequence[int], data: Data) -> Group:
    p = len(ranks)
    for now in reversed(_scatter_moves(p)):
        size = len(data[ranks[0]]) // p
        arrived = yield {(ranks[to], ranks[i]): data[ranks[to]][to * size : end * size] for i, to, end in now}, False
        for i, to, end in now:
            data[ranks[i]][to * size : end * size] = arrived[ranks[i]]


def bruck_allgather(ranks: Sequence[int], data: Data) -> Group:
    """Rank i starts with its own block in place; blocks are kept rotated while it runs."""
    p = len(ranks)
    held = {rank: [data[rank][block(data[rank], p, i)].copy()] for i, rank in enumerate(ranks)}
    reach = 1
    while reach < p:
        count = min(reach, p - reach)
        messages = {(ranks[i], ranks[(i - reach) % p]): np.concatenate(held[ranks[i]][:count]) for i in range(p)}
        arrived = yield messages, False
        for rank in ranks:
            held[rank] += np.split(arrived[rank], count)
        reach *= 2
    for i, rank in enumerate(ranks):
        for offset, piece in enumerate(held[rank]):
            data[rank][block(data[rank], p, i + offset)] = piece


def _fold(p: int) -> tuple[int, list[list[int]]]:
    """The q, and for each of the q participants, the members it stands for (two for the first r)."""
    q = 1 << (p.bit_length() - 1)
    r = p - q
    return q, [[2 * i, 2 * i + 1] if i < r else [i + r] for i in range(q)]


def doubling_allgather(ranks: Sequence[int], data: Data) -> Group:
    p = len(ranks)
    q, members = _fold(p)
    size = len(data[ranks[0]]) // p
    cut = lambda rank, first, last: data[ranks[rank]][first * size : last * size]  # noqa: E731
    pairs = [pair for pair in members if len(pair) == 2]
    if pairs:
        arrived = yield {(ranks[b], ranks[a]): cut(b, b, b + 1) for a, b in pairs}, False
        for a, b in pairs:
            cut(a, b, b + 1)[:] = arrived[ranks[a]]
    span = 1
    while span < q:
        ranges = {i: _members_range(members, i // span * span, span) for i in range(q)}
        messages = {
            (ranks[members[i][0]], ranks[members[i ^ span][0]]): cut(members[i][0], *ranges[i]) for i in range(q)
        }
        arrived = yield messages, False
        for i in range(q):
            cut(members[i][0], *ranges[i ^ span])[:] = arrived[ranks[members[i][0]]]
        span *= 2
    if pairs:
        whole = {
            (ranks[a], ranks[b]): np.concatenate([cut(a, 0, b), cut(a, b + 1, p)]) for a, b in pairs
        }  # all but what b brought itself
        arrived = yield whole, False
        for _, b in pairs:
            first, rest = np.split(arrived[ranks[b]], [b * size])
            cut(b, 0, b)[:], cut(b, b + 1, p)[:] = first, rest


def _members_range(members: list[list[int]], start: int, span: int) -> tuple[int, int]:
    return members[start][0], members[start + span - 1][-1] + 1


def halving_reduce_scatter(ranks: Sequence[int], data: Data) -> Group:
    p = len(ranks)
    q, members = _fold(p)
    size = len(data[ranks[0]]) // p
    cut = lambda rank, first, last: data[ranks[rank]][first * size : last * size]  # noqa: E731
    pairs = [pair for pair in members if len(pair) == 2]
    if pairs:
        arrived = yield {(ranks[b], ranks[a]): cut(b, 0, p) for a, b in pairs}, True
        for a, _ in pairs:
            cut(a, 0, p)[:] += arrived[ranks[a]]
    span = q // 2
    while span:
        ranges = {i: _members_range(members, i // span * span, span) for i in range(q)}
        messages = {
            (ranks[members[i][0]], ranks[members[i ^ span][0]]): cut(members[i][0], *ranges[i ^ span]) for i in range(q)
        }
        arrived = yield messages, True
        for i in range(q):
            cut(members[i][0], *ranges[i])[:] += arrived[ranks[members[i][0]]]
        span //= 2
    if pairs:
        arrived = yield {(ranks[a], ranks[b]): cut(a, b, b + 1) for a, b in pairs}, False
        for _, b in pairs:
            cut(b, b, b + 1)[:] = arrived[ranks[b]]


def recursive_doubling_allreduce(ranks: Sequence[int], data: Data) -> Group:
    q, members = _fold(len(ranks))
    pairs = [(ranks[pair[0]], ranks[pair[1]]) for pair in members if len(pair) == 2]
    chosen = [ranks[member[0]] for member in members]
    if pairs:
        arrived = yield {(b, a): data[b] for a, b in pairs}, True
        for a, _ in pairs:
            data[a] = data[a] + arrived[a]
    span = 1
    while span < q:
        arrived = yield {(chosen[i], chosen[i ^ span]): data[chosen[i]] for i in range(q)}, True
        for rank in chosen:
            data[rank] = data[rank] + arrived[rank]
        span *= 2
    if pairs:
        arrived = yield {(a, b): data[a] for a, b in pairs}, False
        data.update(arrived)


def rabenseifner_allreduce(ranks: Sequence[int], data: Data) -> Group:
    q, members = _fold(len(ranks))
    pairs = [(ranks[pair[0]], ranks[pair[1]]) for pair in members if len(pair) == 2]
    chosen = [ranks[member[0]] for member in members]
    n = len(data[ranks[0]])
    if pairs:
        arrived = yield {(b, a): data[b] for a, b in pairs}, True
        for a, _ in pairs:
            data[a] = data[a] + arrived[a]
    for rank in chosen:
        data[rank] = padded(data[rank], q)
    yield from halving_reduce_scatter(chosen, data)
    yield from doubling_allgather(chosen, data)
    for rank in chosen:
        data[rank] = data[rank][:n]
    if pairs:
        arrived = yield {(a, b): data[a] for a, b in pairs}, False
        data.update(arrived)


def binomial_allreduce(ranks: Sequence[int], data: Data) -> Group:
    yield from binomial_reduce(ranks, data)
    yield from binomial_broadcast(ranks, data)


def pairwise_alltoall(ranks: Sequence[int], data: Data) -> Group:
    """Block j of rank i ends as block i of rank j."""
    p = len(ranks)
    kept = {rank: data[rank].copy() for rank in ranks}
    for s in range(1, p):
        messages = {(ranks[i], ranks[(i + s) % p]): kept[ranks[i]][block(kept[ranks[i]], p, i + s)] for i in range(p)}
        arrived = yield messages, False
        for i in range(p):
            data[ranks[i]][block(data[ranks[i]], p, i - s)] = arrived[ranks[i]]


def bruck_alltoall(ranks: Sequence[int], data: Data) -> Group:
    p, reach = len(ranks), 1
    held = {
        rank: [data[rank][block(data[rank], p, i + j)].copy() for j in range(p)] for i, rank in enumerate(ranks)
    }  # held[rank][d]: for the rank at distance d
    while reach < p:
        marked = [d for d in range(p) if d & reach]
        messages = {
            (ranks[i], ranks[(i + reach) % p]): np.concatenate([held[ranks[i]][d] for d in marked]) for i in range(p)
        }
        arrived = yield messages, False
        for rank in ranks:
            for d, piece in zip(marked, np.split(arrived[rank], len(marked)), strict=True):
                held[rank][d] = piece
        reach *= 2
    for i, rank in enumerate(ranks):
        for d in range(p):
            data[rank][block(data[rank], p, i - d)] = held[rank][d]


def _parent(label: int, count: int) -> int:
    """Parent in the lowest-set-bit tree over labels 1 .. count; 0 is above the root."""
    bit = label & -label
    above = (label ^ bit) | (bit << 1)
    return above if above <= count else label ^ bit


def tree_edges(p: int) -> tuple[Edge, ...]:
    """Every (tree, parent, child) of the two trees over ranks 0 .. p-1."""
    count = p - 1
    listed: list[Edge] = []
    for label in range(1, count + 1):
        above = _parent(label, count)
        listed += [(0, above, label), (1, _second(above, count), _second(label, count))]
    return tuple(listed)


def _second(label: int, count: int) -> int:
    """A label of the first tree as a rank of the second: mirrored if the count is even, shifted by one if odd."""
    if label == 0:
        return 0
    return count + 1 - label if count % 2 == 0 else label % count + 1


def _colours(p: int) -> tuple[int, ...]:
    """0 or 1 for every edge, so that no rank sends or receives twice in one colour: a walk along paths and cycles."""
    listed = tree_edges(p)
    partners = _partners(listed, 1), _partners(listed, 2)
    colour = [-1] * len(listed)
    for start in range(len(listed)):
        if colour[start] >= 0:
            continue
        colour[start] = 1  # odd rounds come first
        for side in (0, 1):
            edge, turn = start, side
            while (following := partners[turn][edge]) >= 0 and colour[following] < 0:
                colour[following] = 1 - colour[edge]
                edge, turn = following, 1 - turn
    return tuple(colour)


def _partners(listed: tuple[Edge, ...], end: int) -> list[int]:
    """For every edge, the other edge that shares its parent (end 1) or its child (end 2); -1 where there is none."""
    partner = [-1] * len(listed)
    first: dict[int, int] = {}
    for i, edge in enumerate(listed):
        other = first.setdefault(edge[end], i)
        if other != i:
            partner[i], partner[other] = other, i
    return partner


def tree_arrivals(p: int) -> dict[tuple[int, int], int]:
    """The round in which the first segment of each tree reaches each rank: the next round of its edge's colour."""
    arrival: dict[tuple[int, int], int] = {(0, 0): 0, (1, 0): 0}
    by_parent: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (tree, parent, child), colour in zip(tree_edges(p), _colours(p), strict=True):
        by_parent.setdefault((tree, parent), []).append((child, colour))
    waiting = [(0, 0), (1, 0)]
    while waiting:
        tree, parent = waiting.pop()
        for child, colour in by_parent.get((tree, parent), ()):
            after = arrival[tree, parent] + 1
            arrival[tree, child] = after + (after - colour) % 2
            waiting.append((tree, child))
    return arrival


def tree_schedule(p: int, segments: int) -> list[list[tuple[int, int, int, int]]]:
    """(tree, parent, child, segment) of each round of a double binary tree broadcast."""
    from scalecurve.laws.collective_algorithms import fill_rounds

    came = tree_arrivals(p)
    rounds: list[list[tuple[int, int, int, int]]] = [[] for _ in range(fill_rounds(p) + 2 * (segments - 1))]
    for tree, parent, child in tree_edges(p):
        for segment in range(segments):
            assert came[tree, parent] < came[tree, child], "a segment cannot be passed on before it came"
            rounds[came[tree, child] - 1 + 2 * segment].append((tree, parent, child, segment))
    return rounds


def double_tree_broadcast(ranks: Sequence[int], data: Data, segments: int) -> Group:
    for now in tree_schedule(len(ranks), segments):
        messages = {
            (ranks[a], ranks[b]): data[ranks[a]][block(data[ranks[a]], 2 * segments, tree * segments + s)]
            for tree, a, b, s in now
        }
        arrived = yield messages, False
        for tree, _, b, s in now:
            data[ranks[b]][block(data[ranks[b]], 2 * segments, tree * segments + s)] = arrived[ranks[b]]


def double_tree_reduce(ranks: Sequence[int], data: Data, segments: int) -> Group:
    for now in reversed(tree_schedule(len(ranks), segments)):
        messages = {
            (ranks[b], ranks[a]): data[ranks[b]][block(data[ranks[b]], 2 * segments, tree * segments + s)]
            for tree, a, b, s in now
        }
        arrived = yield messages, True
        for tree, a, _, s in now:
            data[ranks[a]][block(data[ranks[a]], 2 * segments, tree * segments + s)] += arrived[ranks[a]]
