// @ts-check
/** Collective algorithms as rounds of messages, as `laws/collectives.py` has them. */
import { formatBytes, formatSeconds } from "./format.js";

/** @typedef {{rounds: number, message: number, inside?: boolean}} Step */
/** @typedef {{alpha_seconds: number, beta_seconds_per_byte: number}} Protocol */

const block = (/** @type {number} */ n, /** @type {number} */ p) => Math.ceil(n / p);
const ceilLg = (/** @type {number} */ p) => Math.ceil(Math.log2(p));
const floorPower = (/** @type {number} */ p) => 2 ** Math.floor(Math.log2(p));
const range = (/** @type {number} */ count) => Array.from({ length: count }, (_, place) => place);
const on = (/** @type {Step[]} */ steps) => steps.filter((step) => step.rounds > 0).map((step) => ({ ...step, inside: true }));
const across = (/** @type {Step[]} */ steps) => steps.filter((step) => step.rounds > 0);

/** @type {(p: number, n: number) => Step[]} */
const ring = (p, n) => [{ rounds: p - 1, message: block(n, p) }];
/** @type {(p: number) => number[]} */
const doubledBlocks = (p) => range(Math.log2(floorPower(p))).map((k) => 2 ** k + Math.min(2 ** k, p - floorPower(p)));
/** @type {(p: number, n: number) => Step[]} */
const gatherDoubling = (p, n) => {
  const steps = doubledBlocks(p).map((count) => ({ rounds: 1, message: count * block(n, p) }));
  return p === floorPower(p) ? steps : [{ rounds: 1, message: block(n, p) }, ...steps, { rounds: 1, message: (p - 1) * block(n, p) }];
};
/** @type {(p: number, n: number) => Step[]} */
const scatterHalving = (p, n) => {
  const steps = doubledBlocks(p).reverse().map((count) => ({ rounds: 1, message: count * block(n, p) }));
  return p === floorPower(p) ? steps : [{ rounds: 1, message: p * block(n, p) }, ...steps, { rounds: 1, message: block(n, p) }];
};
/** @type {(p: number, n: number) => Step[]} */
const bruck = (p, n) => range(ceilLg(p)).map((k) => ({ rounds: 1, message: Math.min(2 ** k, p - 2 ** k) * block(n, p) }));
/** @type {(p: number, n: number) => Step[]} */
const rabenseifner = (p, n) => {
  const q = floorPower(p);
  const inner = [...scatterHalving(q, n), ...gatherDoubling(q, n)];
  return p === q ? inner : [{ rounds: 1, message: n }, ...inner, { rounds: 1, message: n }];
};
/** @type {(p: number, n: number) => Step[]} */
const scatterBinomial = (p, n) => {
  if (p === 1) return [];
  const half = 2 ** (ceilLg(p) - 1);
  return [p - half, ...range(ceilLg(p) - 1).map((shift) => half / 2 ** (shift + 1))].map((count) => ({ rounds: 1, message: count * block(n, p) }));
};
/** @type {(p: number, n: number) => Step[]} */
const binomial = (p, n) => [{ rounds: ceilLg(p), message: n }];
/** @type {(p: number, n: number) => Step[]} */
const allreduceDoubling = (p, n) => {
  const q = floorPower(p);
  const doubling = { rounds: Math.log2(q), message: n };
  return p === q ? [doubling] : [{ rounds: 1, message: n }, doubling, { rounds: 1, message: n }];
};
/** @type {(p: number, n: number) => Step[]} */
const alltoallBruck = (p, n) => range(ceilLg(p)).map((k) => ({ rounds: 1, message: (Math.floor(p / 2 ** (k + 1)) * 2 ** k + Math.max(0, p % 2 ** (k + 1) - 2 ** k)) * block(n, p) }));

/** @type {Record<string, Record<string, (p: number, n: number) => Step[]>>} */
const FLAT = {
  broadcast: { binomial, "scatter-allgather": (p, n) => [...scatterBinomial(p, n), ...ring(p, n)] },
  reduce: { binomial, "scatter-gather": (p, n) => [...ring(p, n), ...scatterBinomial(p, n).reverse()] },
  allreduce: { ring: (p, n) => [...ring(p, n), ...ring(p, n)], "recursive-doubling": allreduceDoubling, rabenseifner, binomial: (p, n) => [...binomial(p, n), ...binomial(p, n)] },
  allgather: { ring, bruck, "recursive-doubling": gatherDoubling },
  reduce_scatter: { ring, "recursive-halving": scatterHalving },
  alltoall: { pairwise: ring, bruck: alltoallBruck },
};

/** @type {(p: number, n: number, m: number) => Step[]} */
const doubleTree = (p, n, m) => (p === 1 ? [] : [{ rounds: fillRounds(p) + 2 * (m - 1), message: block(n, 2 * m) }]);
/** @type {(p: number, n: number, m: number) => Step[]} */
const chain = (p, n, m) => (p === 1 ? [] : [{ rounds: p - 2 + m, message: block(n, m) }]);
const halfEven = (/** @type {number} */ value) => (value % 1 === 0.5 ? 2 * Math.round(value / 2) : Math.round(value));
/** @type {(p: number, n: number, alpha: number, beta: number) => number} */
const treeSegments = (p, n, alpha, beta) => Math.max(1, Math.min(halfEven(Math.sqrt((p > 1 ? fillRounds(p) - 2 : 0) * n * beta / (4 * alpha))), Math.floor(n) || 1));
/** @type {(p: number, n: number, alpha: number, beta: number) => number} */
const chainSegments = (p, n, alpha, beta) => Math.max(1, Math.min(p > 2 ? halfEven(Math.sqrt((p - 2) * n * beta / alpha)) : 1, Math.floor(n) || 1));

/** @type {Record<string, Record<string, [(p: number, n: number, m: number) => Step[], (p: number, n: number, alpha: number, beta: number) => number]>>} */
const SEGMENTED = {
  broadcast: { chain: [chain, chainSegments], "double-tree": [doubleTree, treeSegments] },
  reduce: { "double-tree": [doubleTree, treeSegments] },
  allreduce: { "double-tree": [(p, n, m) => [...doubleTree(p, n, m), ...doubleTree(p, n, m)], treeSegments] },
};

/** @type {(nodes: number, g: number, n: number, flat: (p: number, n: number) => Step[]) => Step[]} */
const allreduceLevels = (nodes, g, n, flat) => [...on(ring(g, n)), ...across(flat(nodes, block(n, g))), ...on(ring(g, n))];
const share = (/** @type {number} */ nodes, /** @type {number} */ g, /** @type {number} */ n) => nodes * block(n, nodes * g);

/** @type {Record<string, Record<string, (nodes: number, g: number, n: number) => Step[]>>} */
const TWO_LEVEL = {
  broadcast: { "two-level": (nodes, g, n) => [...on(scatterBinomial(g, n)), ...across(binomial(nodes, block(n, g))), ...on(ring(g, n))] },
  reduce: { "two-level": (nodes, g, n) => [...on(ring(g, n)), ...across(binomial(nodes, block(n, g))), ...on(scatterBinomial(g, n).reverse())] },
  allreduce: { "two-level": (nodes, g, n) => allreduceLevels(nodes, g, n, FLAT.allreduce.ring), "two-level-halving": (nodes, g, n) => allreduceLevels(nodes, g, n, rabenseifner) },
  allgather: { "two-level": (nodes, g, n) => [...across(ring(nodes, share(nodes, g, n))), ...on(ring(g, share(nodes, g, n) * g))] },
  reduce_scatter: { "two-level": (nodes, g, n) => [...on(ring(g, share(nodes, g, n) * g)), ...across(ring(nodes, share(nodes, g, n)))] },
  alltoall: { "two-level": (nodes, g, n) => [...on(ring(g, block(n, nodes * g) * nodes * g)), ...across(ring(nodes, block(n, nodes * g) * nodes * g))] },
};

/** @type {Map<number, number>} */
const filled = new Map();

/** Rounds until the first segment of both trees has reached every rank, by walking the two trees. @param {number} p */
function fillRounds(p) {
  const before = filled.get(p);
  if (before !== undefined) return before;
  const count = p - 1;
  const second = (/** @type {number} */ label) => (label === 0 ? 0 : count % 2 === 0 ? count + 1 - label : label % count + 1);
  /** @type {number[][]} */
  const edges = [];
  for (let label = 1; label <= count; label += 1) {
    const bit = label & -label;
    const up = (label ^ bit) | (bit << 1);
    const above = up <= count ? up : label ^ bit;
    edges.push([0, above, label], [1, second(above), second(label)]);
  }
  const partners = [1, 2].map((end) => {
    const partner = edges.map(() => -1);
    const first = new Map();
    edges.forEach((edge, place) => {
      const other = first.get(edge[end]);
      if (other === undefined) first.set(edge[end], place);
      else [partner[place], partner[other]] = [other, place];
    });
    return partner;
  });
  const colour = edges.map(() => -1);
  for (let start = 0; start < edges.length; start += 1) {
    if (colour[start] >= 0) continue;
    colour[start] = 1;
    for (const side of [0, 1]) {
      let [edge, turn] = [start, side];
      for (let next = partners[turn][edge]; next >= 0 && colour[next] < 0; next = partners[turn][edge]) {
        colour[next] = 1 - colour[edge];
        [edge, turn] = [next, 1 - turn];
      }
    }
  }
  /** @type {Array<Map<number, Array<[number, number]>>>} */
  const children = [new Map(), new Map()];
  edges.forEach(([tree, parent, child], place) => children[tree].set(parent, [...(children[tree].get(parent) ?? []), [child, colour[place]]]));
  let most = 0;
  const waiting = [[0, 0, 0], [1, 0, 0]];
  while (waiting.length) {
    const [tree, parent, at] = /** @type {number[]} */ (waiting.pop());
    for (const [child, own] of children[tree].get(parent) ?? []) {
      const arrival = at + 1 + (((at + 1 - own) % 2) + 2) % 2;
      most = Math.max(most, arrival);
      waiting.push([tree, child, arrival]);
    }
  }
  filled.set(p, most);
  return most;
}

/** One network: its wires, its nodes and the seconds of steps on it. */
class Wires {
  /** @param {any} network  as the server describes it */
  constructor(network) {
    this.inter = network.inter.protocols;
    this.intra = network.intra?.protocols ?? null;
    this.perNode = network.per_node;
  }

  /** @param {number} p */
  nodes(p) { return this.intra === null || this.perNode === 1 || p % this.perNode || p <= this.perNode ? null : p / this.perNode; }

  /** @param {boolean} inside @param {number} p @returns {Protocol[]} */
  wire(inside, p) { return inside || (this.intra !== null && p <= this.perNode) ? this.intra ?? this.inter : this.inter; }

  /** @param {Step[]} steps @param {number} p */
  seconds(steps, p) {
    return steps.reduce((sum, step) => sum + step.rounds * Math.min(...this.wire(Boolean(step.inside), p).map((way) => way.alpha_seconds + step.message * way.beta_seconds_per_byte)), 0);
  }
}

const alpha = (/** @type {Protocol[]} */ wire) => Math.min(...wire.map((way) => way.alpha_seconds));
const beta = (/** @type {Protocol[]} */ wire) => Math.min(...wire.map((way) => way.beta_seconds_per_byte));

/** Every algorithm with its seconds, fastest first. @param {string} operation @param {number} p @param {number} n @param {Wires} wires @returns {Array<[string, number]>} */
function candidates(operation, p, n, wires) {
  const link = wires.wire(false, p);
  const nodes = wires.nodes(p);
  const steps = [
    ...Object.entries(FLAT[operation]).map(([name, make]) => ({ name, steps: make(p, n) })),
    ...Object.entries(SEGMENTED[operation] ?? {}).map(([name, [make, segments]]) => ({ name, steps: make(p, n, segments(p, n, alpha(link), beta(link))) })),
    ...(nodes === null ? [] : Object.entries(TWO_LEVEL[operation]).map(([name, make]) => ({ name, steps: make(nodes, wires.perNode, n) }))),
  ];
  const timed = steps.map((each) => /** @type {[string, number]} */ ([each.name, wires.seconds(each.steps, p)]));
  return timed.sort((one, other) => one[1] - other[1]);
}

/** @param {string} operation @param {number} p @param {number} n */
function leastBytes(operation, p, n) {
  if (p === 1) return 0;
  if (operation === "broadcast" || operation === "reduce") return n;
  return (operation === "allreduce" ? 2 : 1) * ((p - 1) / p) * n;
}

/** @param {string} operation @param {number} p @param {number} n @param {Wires} wires */
function lowerBound(operation, p, n, wires) {
  const nodes = wires.nodes(p);
  if (nodes === null) {
    const link = wires.wire(false, p);
    return Math.max(ceilLg(p) * alpha(link), leastBytes(operation, p, n) * beta(link));
  }
  const inside = wires.intra ?? wires.inter;
  const between = leastBytes(operation, nodes, n) * beta(wires.inter) / wires.perNode * (operation === "alltoall" ? wires.perNode : 1);
  const within = leastBytes(operation, wires.perNode, n) * beta(inside);
  const anywhere = leastBytes(operation, nodes * wires.perNode, n) * Math.min(beta(inside), beta(wires.inter));
  return Math.max(ceilLg(nodes) * alpha(wires.inter) + ceilLg(wires.perNode) * alpha(inside), Math.max(between, Math.min(within, anywhere)));
}

/** @param {{operation: string, network: string, bytes: number, ranks: number}} asked @param {Record<string, any>} networks */
export function collectives({ operation, network, bytes, ranks: most }, networks) {
  const wires = new Wires(networks[network]);
  const message = halfEven(bytes);
  const ranks = [];
  for (let p = 2; p < most; p *= 2) ranks.push(p);
  ranks.push(most);
  const row = (/** @type {number} */ x, /** @type {number} */ p, /** @type {number} */ n) => ({ x, bound: lowerBound(operation, p, n, wires), algorithms: Object.fromEntries(candidates(operation, p, n, wires)) });
  const byRanks = ranks.map((p) => row(p, p, message));
  const last = byRanks[byRanks.length - 1];
  const [name, seconds] = candidates(operation, most, message, wires)[0];
  const sizes = [...new Set([...range(29).map((power) => 2 ** (power + 6)), message])].sort((one, other) => one - other);
  return {
    by_ranks: byRanks, by_size: sizes.map((size) => row(size, most, size)),
    algorithms: [...new Set(byRanks.flatMap((each) => Object.keys(each.algorithms)))].sort(),
    best: { name, seconds, bound: last.bound },
    sentences: [`${operation} of ${formatBytes(message)} over ${most} ranks: ${name} is fastest, ${formatSeconds(seconds)}; no algorithm can beat ${formatSeconds(last.bound)}.`],
    commands: [`scalecurve collective cost --op ${operation} --bytes ${message}B --ranks ${ranks.join(",")} --network ${network}`],
  };
}
