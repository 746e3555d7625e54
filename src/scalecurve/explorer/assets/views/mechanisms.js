// @ts-check
/** Mechanisms: one picture for each reason why machines do not add up. */
import { ask } from "../api.js";
import { COLORS } from "../chart.js";
import { el } from "../dom.js";
import { formatBytes, formatSeconds, percent, short, whole } from "../format.js";
import { carried } from "../live.js";
import { Panel, tableOf } from "../panel.js";
import { View } from "../view.js";

/** @typedef {import("../types.js").Params} Params */

/** @type {Params} */
export const MECHANISMS = {
  topic: "roofline", peak: 989e12, bandwidth: 3.35e12, intensity: 60, reached: 0.5,
  operation: "allreduce", network: "nvlink+ib400", bytes: 350e6, ranks: 64,
  spread: 0.1, slow_chance: 0.01, workers: 1024, work: 1000, depth: 20, processors: 256,
};

/** @param {string} topic */
const on = (topic) => (/** @type {Params} */ params) => params.topic === topic;
const OPERATIONS = ["allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall"];
const NETWORKS = ["nvlink+ib400", "nvlink3+ib200", "nvlink5+ib800", "ib100", "ib400", "eth10", "eth25", "nvlink"];

/** @type {import("../types.js").Control[]} */
const CONTROLS = [
  { id: "topic", label: "Mechanism", kind: "choice", options: [
    { value: "roofline", label: "roofline: arithmetic or memory?" }, { value: "collectives", label: "collectives: which algorithm?" },
    { value: "slowest", label: "the slowest of K workers, tail fan-out" }, { value: "depth", label: "work and depth" }] },
  { id: "intensity", label: "Kernel intensity", kind: "range", min: 0.125, max: 16384, scale: "log", format: (value) => short(value), help: "FLOP per byte moved; drag the kernel in the chart", shown: on("roofline") },
  { id: "reached", label: "Share of its roof reached", kind: "range", min: 0.01, max: 1, step: 0.01, format: percent, shown: on("roofline") },
  { id: "peak", label: "Peak arithmetic", kind: "range", min: 1e9, max: 1e16, scale: "log", format: (value) => `${short(value)}`, help: "FLOP/s", shown: on("roofline") },
  { id: "bandwidth", label: "Memory bandwidth", kind: "range", min: 1e9, max: 1e14, scale: "log", format: (value) => `${short(value)}`, help: "bytes/s", shown: on("roofline") },
  { id: "operation", label: "Operation", kind: "choice", options: OPERATIONS.map((value) => ({ value, label: value.replace("_", "-") })), shown: on("collectives") },
  { id: "network", label: "Network", kind: "choice", options: NETWORKS.map((value) => ({ value, label: value })), shown: on("collectives") },
  { id: "bytes", label: "Message size", kind: "range", min: 64, max: 17179869184, scale: "log", format: formatBytes, help: "drag the line in the chart", shown: on("collectives") },
  { id: "ranks", label: "Ranks", kind: "range", min: 2, max: 16384, scale: "log2", format: whole, shown: on("collectives") },
  { id: "spread", label: "Spread of one worker's time", kind: "range", min: 0.005, max: 1, step: 0.005, format: percent, shown: on("slowest") },
  { id: "slow_chance", label: "Chance that one answer is slow", kind: "range", min: 0.0001, max: 0.2, scale: "log", format: (value) => `${short(value * 100)} %`, shown: on("slowest") },
  { id: "workers", label: "Largest K", kind: "range", min: 2, max: 65536, scale: "log2", format: whole, shown: on("slowest") },
  { id: "work", label: "Work", kind: "range", min: 1, max: 1e9, scale: "log", format: (value) => short(value), help: "all operations on one worker", shown: on("depth") },
  { id: "depth", label: "Depth", kind: "range", min: 1, max: 1e6, scale: "log", format: (value) => short(value), help: "the longest chain of them", shown: on("depth") },
  { id: "processors", label: "Largest P", kind: "range", min: 2, max: 65536, scale: "log2", format: whole, shown: on("depth") },
];

/** @type {Array<{label: string, params: Params}>} */
const PRESETS = [
  { label: "A memory-bound kernel on an H100", params: { topic: "roofline", intensity: 2, reached: 0.8 } },
  { label: "A large matrix product on an H100", params: { topic: "roofline", intensity: 1500, reached: 0.7 } },
  { label: "All-reduce of 350 MB of gradients on 64 GPUs", params: { topic: "collectives", bytes: 350e6, ranks: 64 } },
  { label: "A small all-reduce: latency decides", params: { topic: "collectives", bytes: 4096, ranks: 512, network: "ib400" } },
  { label: "One percent slow answers, fan-out of 100", params: { topic: "slowest", slow_chance: 0.01, workers: 128 } },
  { label: "A sum of 1,000 numbers as a tree", params: { topic: "depth", work: 999, depth: 10 } },
];

/** A page without a server has collectives of few kinds. @param {import("../types.js").Control} control */
function limited(control) {
  const few = carried()?.few?.[control.id];
  if (!few) return control;
  return control.kind === "choice" ? { ...control, options: few.map((/** @type {string} */ value) => ({ value, label: value })) } : { ...control, values: few };
}

export class MechanismsView extends View {
  /** @param {import("../state.js").Store} store */
  constructor(store) {
    super(store, "mechanisms", CONTROLS.map(limited), PRESETS);
    const change = this.dragged.bind(this);
    this.first = new Panel("first", "First", change);
    this.second = new Panel("second", "Second", change);
    this.lead.append(el("div", { class: "panels" }, this.first.element, this.second.element));
  }

  async refresh() {
    const params = this.params;
    const topics = { roofline: this.roofline, collectives: this.collectives, slowest: this.slowest, depth: this.depth };
    const show = topics[/** @type {keyof typeof topics} */ (params.topic)] ?? this.roofline;
    await show.call(this, params);
  }

  /** The answer for the current settings, then for each pin of the same mechanism. @param {string} question @param {(params: Params) => object} request */
  all(question, request) {
    const same = this.settings.filter((each) => each.params.topic === this.params.topic);
    return Promise.all(same.map((each) => ask(question, request(each.params))));
  }

  /** @param {any} answer @param {string[]} titles */
  head(answer, titles) {
    this.say(answer.sentences);
    this.showCommands(answer.commands, answer.files);
    const panels = [this.first, this.second];
    panels.forEach((panel, place) => {
      panel.element.hidden = place >= titles.length;
      const heading = panel.element.querySelector("h2");
      if (heading) heading.textContent = titles[place] ?? "";
      panel.element.setAttribute("aria-label", titles[place] ?? "");
    });
  }

  /** @param {Params} params */
  async roofline(params) {
    const { peak, bandwidth, intensity, reached } = params;
    const answers = await this.all("mechanisms/roofline", (each) => pick(each, ["peak", "bandwidth", "intensity", "reached"]));
    const answer = answers[0];
    this.head(answer, ["Roofline with your kernel"]);
    this.first.show({
      id: "roofline", title: "Roofline", alt: answer.sentences[0],
      x: { label: "intensity (FLOP per byte)", scale: "log2", min: 0.125, max: 16384 }, y: { label: "FLOP/s", scale: "log10", max: Math.max(...answers.map((each) => each.roof.at(-1).y)) * 2, min: Math.min(answer.kernel.y / 4, Number(bandwidth) / 8) },
      series: [{ name: "the machine's roof", points: answer.roof, color: "var(--blue)" },
        ...answers.slice(1).map((each, place) => ({ name: `pin ${"AB"[place]}`, points: each.roof, color: "var(--purple)", dash: "4 3" }))],
      marks: [{ x: answer.ridge, label: `ridge ${short(answer.ridge)} FLOP/byte`, color: "var(--green)" }],
      handles: [{ x: answer.kernel.x, y: answer.kernel.y, label: "your kernel", color: "var(--red)", param: "intensity", paramY: "kernel_y" }],
    }, tableOf(["FLOP/byte", "roof FLOP/s", "reached at this kernel's share"], answer.roof.filter((/** @type {any} */ _, /** @type {number} */ place) => place % 4 === 0).map((/** @type {any} */ point) => [short(point.x), short(point.y), short(point.y * Number(reached))])),
    answer.commands[0] ?? `# roof = min(${short(Number(peak))}, ${short(Number(intensity))} * ${short(Number(bandwidth))})`,
    "The kernel can be dragged: sideways changes its intensity, up and down how much of its roof it reaches.");
    this.roof = answer.kernel.roof;
  }

  /** A kernel dragged up or down changes the share of its roof. @param {Record<string, number>} changes */
  tidy(changes) {
    const { kernel_y, ...rest } = changes;
    const tidied = super.tidy(rest);
    if (kernel_y !== undefined) {
      const intensity = tidied.intensity ?? Number(this.params.intensity);
      const roof = Math.min(Number(this.params.peak), intensity * Number(this.params.bandwidth));
      tidied.reached = Math.min(1, Math.max(0.01, Number((kernel_y / roof).toPrecision(3))));
    }
    return tidied;
  }

  /** @param {Params} params */
  async collectives(params) {
    const [answer, ...others] = await this.all("mechanisms/collectives", (each) => pick(each, ["operation", "network", "bytes", "ranks"]));
    const fastest = (/** @type {any[]} */ rows) => rows.map((row) => ({ x: row.x, y: Math.min(.../** @type {number[]} */ (Object.values(row.algorithms))) }));
    this.head(answer, [`Against message size, at ${whole(Number(params.ranks))} ranks`, `Against ranks, at ${formatBytes(Number(params.bytes))}`]);
    const curves = (/** @type {any[]} */ rows) => [
      ...answer.algorithms.map((/** @type {string} */ name, /** @type {number} */ place) => ({ name, color: COLORS[place % COLORS.length], dash: place % 2 ? "8 3" : undefined,
        points: rows.filter((row) => row.algorithms[name] !== undefined).map((row) => ({ x: row.x, y: row.algorithms[name], label: formatSeconds(row.algorithms[name]) })) })),
      { name: "lower bound: no algorithm beats it", points: rows.map((row) => ({ x: row.x, y: row.bound, label: formatSeconds(row.bound) })), color: "var(--muted)", dash: "2 3", width: 1.5 }];
    const numbers = (/** @type {any[]} */ rows, /** @type {string} */ head) => tableOf([head, ...answer.algorithms, "bound"], rows.map((row) => [head === "bytes" ? formatBytes(row.x) : row.x, ...answer.algorithms.map((/** @type {string} */ name) => row.algorithms[name] === undefined ? null : formatSeconds(row.algorithms[name])), formatSeconds(row.bound)]));
    const alt = `${answer.sentences[0]} Curves: ${answer.algorithms.join(", ")}.`;
    this.first.show({ id: "size", title: "Against size", alt, x: { label: "message size", scale: "log10", format: formatBytes }, y: { label: "time", scale: "log10", format: formatSeconds }, series: [...curves(answer.by_size), ...pins(others, (other) => fastest(other.by_size), "fastest")], marks: [{ x: Number(params.bytes), label: `${formatBytes(Number(params.bytes))} (drag)`, param: "bytes" }] }, numbers(answer.by_size, "bytes"), answer.commands[0]);
    this.second.show({ id: "ranks", title: "Against ranks", alt, x: { label: "ranks", scale: "log2" }, y: { label: "time", scale: "log10", format: formatSeconds }, series: [...curves(answer.by_ranks), ...pins(others, (other) => fastest(other.by_ranks), "fastest")] }, numbers(answer.by_ranks, "ranks"), answer.commands[0]);
  }

  /** @param {Params} params */
  async slowest(params) {
    const [answer, ...others] = await this.all("mechanisms/slowest", ({ spread, slow_chance, workers }) => ({ spread, slow_chance, largest: workers }));
    this.head(answer, ["Expected slowest of K, in means", "Chance that a fan-out of K is slow"]);
    const rows = answer.rows;
    const curve = (/** @type {string} */ name) => rows.filter((/** @type {any} */ row) => row[name] !== null).map((/** @type {any} */ row) => ({ x: row.k, y: row[name] }));
    this.first.show({
      id: "slowest", title: "The slowest of K", alt: answer.sentences[0], x: { label: "K (workers)", scale: "log2" }, y: { label: "E[max of K] / mean", scale: "linear", min: 1 },
      series: [{ name: "normal", points: curve("normal"), color: "var(--blue)" }, { name: "lognormal", points: curve("lognormal"), color: "var(--orange)", dash: "8 3" }, { name: "exponential tail", points: curve("exponential"), color: "var(--red)", dash: "2 3" },
        ...pins(others, (other) => other.rows.map((/** @type {any} */ row) => ({ x: row.k, y: row.normal })), "normal")],
    }, tableOf(["K", "normal", "lognormal", "exponential tail", "efficiency (normal)"], rows.map((/** @type {any} */ row) => [row.k, row.normal.toFixed(4), row.lognormal.toFixed(4), row.exponential?.toFixed(4), percent(1 / row.normal)])), answer.commands[0], "A synchronous step waits for its slowest worker; more workers wait longer for a slower one.");
    this.second.show({
      id: "fanout", title: "Tail fan-out", alt: answer.sentences[0], x: { label: "K (answers waited for)", scale: "log2" }, y: { label: "P(at least one is slow)", scale: "linear", min: 0, max: 1, format: percent },
      series: [{ name: `1 - (1 - ${short(Number(params.slow_chance))})^K`, points: curve("any_slow"), color: "var(--purple)" },
        ...pins(others, (other) => other.rows.map((/** @type {any} */ row) => ({ x: row.k, y: row.any_slow })))],
      levels: [{ y: 0.5, label: "every second request is slow", color: "var(--muted)" }],
    }, tableOf(["K", "P(at least one is slow)"], rows.map((/** @type {any} */ row) => [row.k, percent(row.any_slow)])), answer.commands[0]);
  }

  /** @param {Params} params */
  async depth(params) {
    const [answer, ...others] = await this.all("mechanisms/depth", ({ work, depth, processors }) => ({ work, depth, largest: processors }));
    this.head(answer, ["Speedup that work and depth admit"]);
    const rows = answer.rows;
    const largest = rows.at(-1).k;
    const corner = answer.parallelism < largest ? [{ k: answer.parallelism, most: answer.parallelism, greedy: null }] : [];
    const most = [...rows, ...corner].sort((/** @type {any} */ one, /** @type {any} */ other) => one.k - other.k).map((/** @type {any} */ row) => ({ x: row.k, y: row.most }));
    this.first.show({
      id: "depth", title: "Work and depth", alt: answer.sentences[0], x: { label: "P (processors)", scale: "log2" }, y: { label: "speedup", scale: "log2", min: 1 },
      series: [{ name: "ideal S = P", points: rows.map((/** @type {any} */ row) => ({ x: row.k, y: row.k })), color: "var(--muted)", dash: "5 4", width: 1.3 },
        { name: "at most min(P, W/D)", points: most, color: "var(--blue)" },
        { name: "any greedy schedule reaches", points: rows.map((/** @type {any} */ row) => ({ x: row.k, y: row.greedy })), color: "var(--green)", dash: "8 3" },
        { name: "between the two", kind: "band", points: rows.map((/** @type {any} */ row) => ({ x: row.k, y: row.most, low: row.greedy, high: row.most })), color: "var(--green)" },
        ...pins(others, (other) => other.rows.map((/** @type {any} */ row) => ({ x: row.k, y: row.most })), "at most")],
      marks: answer.parallelism <= largest ? [{ x: answer.parallelism, label: `parallelism W/D = ${short(answer.parallelism)}` }] : [],
    }, tableOf(["P", "at most", "greedy at least", "time at least", "greedy time at most"], rows.map((/** @type {any} */ row) => [row.k, short(row.most), short(row.greedy), short(row.least_time), short(row.greedy_time)])), answer.commands[0]);
  }
}

/** Pinned settings as dashed lines. @param {any[]} others @param {(other: any) => any[]} points @param {string} [word] */
function pins(others, points, word = "") {
  return others.map((other, place) => ({ name: `pin ${"AB"[place]} ${word}`.trim(), points: points(other), color: place ? "var(--sky)" : "var(--ink)", dash: "3 3", width: 1.6 }));
}

/** @param {Params} params @param {string[]} names */
function pick(params, names) {
  return Object.fromEntries(names.map((name) => [name, params[name]]));
}
