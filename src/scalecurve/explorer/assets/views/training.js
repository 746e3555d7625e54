// @ts-check
/** Training scale: how far more accelerators get one model, what stops them, and what a growing model changes. */
import { Silence, ask, latest } from "../api.js";
import { el, showTable } from "../dom.js";
import { beside, billions, dollars, formatSeconds, percent, short, whole } from "../format.js";
import { Panel, tableOf } from "../panel.js";
import { View, tileList } from "../view.js";

/** @typedef {import("../types.js").Params} Params */

/** @type {Params} */
export const TRAINING = {
  model: "size", size: 70e9, tokens_per_parameter: 20, batch_tokens: 16777216, grows: true, seq: 8192, critical: "zhang", critical_tokens: 8e6, loss: 2,
  cluster: "h100-ib400", own_tflops: 1000, own_memory: 96, own_memory_rate: 4, own_inner: 450, own_outer: 50, own_node: 8, precision: "usual", stack: "usual",
  price: 2.5, deadline_days: 0, budget: 0, at: 0, measure: "useful_efficiency",
};
const LARGEST = 131072;
const COUNTS = Array.from({ length: 15 }, (_, power) => 8 << power);
const DAYS = [0, 1, 2, 3, 5, 7, 10, 14, 21, 30, 45, 60, 90, 120, 180, 365];
const BUDGETS = [0, ...[4, 5, 6, 7, 8].flatMap((power) => [1, 1.5, 2, 3, 5, 7].map((digit) => digit * 10 ** power))];
const BATCHES = Array.from({ length: 16 }, (_, power) => 65536 * 2 ** power).flatMap((size) => [size, size * 1.25, size * 1.5, size * 1.75, size * 1.875]);
const WORTH = 1.7; // times the useful work that a doubling must give, as the planner's cost-effective P has it
/** What a buyer compares, as headings of a narrow table. @type {Record<string, string>} */
const RENT = { GPUs: "accelerators", run: "time", USD: "cost, USD", useful: "useful work", memory: "memory" };
const COMMUNICATION = ["tensor", "context", "expert", "data", "pipeline", "bubble"];
const PART_COLORS = /** @type {Record<string, string>} */ ({ tensor: "var(--blue)", context: "var(--sky)", expert: "var(--red)", data: "var(--green)", pipeline: "var(--purple)", bubble: "var(--orange)" });
const MEASURES = /** @type {Record<string, {label: string, short: string, format: (value: number) => string, scale: "linear" | "log10", max?: number}>} */ ({
  useful_efficiency: { label: "useful work per accelerator", short: "useful efficiency", format: percent, scale: "linear", max: 1 },
  efficiency: { label: "compute share, 1/(1 + comm_frac)", short: "compute share", format: percent, scale: "linear", max: 1 },
  mfu: { label: "MFU, share of the peak", short: "MFU", format: percent, scale: "linear" },
  tokens_per_second: { label: "tokens per second", short: "tokens/s", format: (value) => short(value), scale: "log10" },
  run_seconds: { label: "time of the run", short: "time of the run", format: formatSeconds, scale: "log10" },
  run_usd: { label: "dollars of the run", short: "cost of the run", format: dollars, scale: "log10" },
});

/** Columns of the plan as the tiles name them. @type {Record<string, string>} */
const TILES = { GPUs: "accelerators", layout: "split", step: "time of a step", "90 %": "90 % interval of it", charged: "data needed, against a small batch", useful: "useful efficiency", "next x2": "useful work of twice as many", cap: "side of the cap", compute: "compute share", run: "time of the run", USD: "cost of the run, USD", memory: "memory used on each" };

/** @param {string} value */
const same = (value) => ({ value, label: value });
const own = (/** @type {Params} */ params) => params.cluster === "own";

/** @type {import("../types.js").Control[]} */
const CONTROLS = [
  { id: "measure", label: "Shown as", kind: "choice", options: Object.entries(MEASURES).map(([value, { label }]) => ({ value, label })) },
  { id: "at", label: "Look closely at", kind: "range", values: [0, ...COUNTS], format: (value) => (value ? `${whole(value)} GPUs` : "the answer"), help: "or click in a chart" },
  { id: "model", label: "Model", kind: "choice", open: true, group: "The job", options: [{ value: "size", label: "plain decoder by its size" }] },
  { id: "size", label: "Parameters", kind: "range", values: [70e9], format: billions, shown: (params) => params.model === "size" },
  { id: "batch_tokens", label: "Largest global batch", kind: "range", values: BATCHES, format: (value) => short(value), help: "tokens per step, in whole sequences that replicas divide" },
  { id: "grows", label: "Choose the batch at each P, up to this one", kind: "toggle" },
  { id: "tokens_per_parameter", label: "Tokens per active parameter", kind: "range", min: 1, max: 2000, scale: "log", format: (value) => short(value) },
  { id: "seq", label: "Sequence length", kind: "range", min: 512, max: 131072, scale: "log2", format: whole },
  { id: "critical", label: "Critical batch", kind: "choice", open: true, options: ["zhang", "merrill", "kaplan", "deepseek"].map(same), help: "published laws differ by a factor of eight and more" },
  { id: "critical_tokens", label: "Gradient noise scale, measured", kind: "range", min: 1e5, max: 5e8, scale: "log", format: (value) => short(value), help: "tokens; or drag the cap in the chart", shown: (params) => params.critical === "measured" },
  { id: "loss", label: "Loss at that time", kind: "range", min: 1, max: 6, step: 0.05, format: (value) => short(value), shown: (params) => ["kaplan", "mccandlish", "minicpm"].includes(String(params.critical)) },
  { id: "cluster", label: "Cluster", kind: "choice", open: true, group: "The machines", options: [same("h100-ib400")] },
  { id: "own_tflops", label: "bf16 peak, TFLOP/s", kind: "range", min: 10, max: 20000, scale: "log", shown: own },
  { id: "own_memory", label: "Memory, GB", kind: "range", min: 8, max: 1024, scale: "log", shown: own },
  { id: "own_memory_rate", label: "Memory, TB/s", kind: "range", min: 0.1, max: 50, scale: "log", shown: own },
  { id: "own_inner", label: "Inside a node, GB/s", kind: "range", min: 10, max: 5000, scale: "log", shown: own },
  { id: "own_outer", label: "Between nodes, GB/s", kind: "range", min: 1, max: 1000, scale: "log", shown: own },
  { id: "own_node", label: "Accelerators of a node", kind: "range", values: [1, 2, 4, 8, 16, 32, 64, 72], format: whole, shown: own },
  { id: "precision", label: "Precision", kind: "choice", options: ["usual", "bf16", "fp16", "fp8"].map(same) },
  { id: "stack", label: "Software", kind: "choice", open: true, options: [same("usual")] },
  { id: "price", label: "Price of a GPU-hour", kind: "range", group: "Limits", min: 0.1, max: 20, scale: "log", format: dollars },
  { id: "deadline_days", label: "Deadline", kind: "range", values: DAYS, format: (value) => (value ? `${whole(value)} days` : "none"), help: "a line to drag where time is shown" },
  { id: "budget", label: "Budget", kind: "range", values: BUDGETS, format: (value) => (value ? dollars(value) : "none"), help: "a line to drag where dollars are shown" },
];

/** @type {Array<{label: string, params: Params}>} */
const PRESETS = [
  { label: "A 70B model, 16M tokens a step", params: {} },
  { label: "The same with a critical batch of 1M: the cap comes early", params: { critical: "measured", critical_tokens: 1e6 } },
  { label: "The same with the batch held at 16M tokens", params: { grows: false } },
  { label: "Llama 3 405B, 16M tokens a step, with the published MFU", params: { model: "llama3-405b", grows: false, measure: "mfu", at: 16384, tokens_per_parameter: 38 } },
  { label: "GPT-3 175B on A100 as in 2021, with the published MFU", params: { model: "gpt3-175b", cluster: "a100-ib200", stack: "megatron-lm", seq: 2048, batch_tokens: 3145728, grows: false, tokens_per_parameter: 1.7, measure: "mfu" } },
  { label: "MegaScale 175B on A100, with the published MFU", params: { model: "gpt3-175b", cluster: "a100-ib200", stack: "megatron-core", seq: 2048, batch_tokens: 12582912, grows: false, tokens_per_parameter: 1.7, measure: "mfu", at: 8192 } },
  { label: "DeepSeek-V3 on H800, experts, with the published rate", params: { model: "deepseek-v3", cluster: "h800-ib400", precision: "fp8", seq: 4096, batch_tokens: 62914560, grows: false, tokens_per_parameter: 400, measure: "tokens_per_second", at: 2048 } },
  { label: "Llama 3 8B on 15T tokens, in 30 days", params: { model: "llama3-8b", batch_tokens: 4194304, tokens_per_parameter: 1875, deadline_days: 30, measure: "run_seconds", at: 2048 } },
];

export class TrainingView extends View {
  /** @param {import("../state.js").Store} store */
  constructor(store) {
    super(store, "training", CONTROLS, PRESETS);
    const change = this.dragged.bind(this);
    /** @type {any} */
    this.names = null;
    /** The settings of the last exact answer: looking at another P needs no new one. */
    this.exactly = "";
    /** And of the last weak one. */
    this.weakly = "";
    this.curve = new Panel("training", "Strong: the job is fixed", change);
    this.grown = new Panel("weak", "Weak: model, tokens and batch grow with P", change);
    this.shares = new Panel("shares", "Where the step goes, over P", change);
    this.parts = new Panel("step", "The step at one P", change);
    this.tilesHead = el("summary", { class: "tiles-head" });
    this.facts = el("div");
    this.rent = el("section", { class: "panel", "aria-label": "Half as many, this many, twice as many" });
    this.figures = el("details", { class: "behind" }, this.tilesHead, this.facts);
    this.formula = el("pre", { class: "formula", tabindex: "0", role: "group", "aria-label": "Formula" });
    this.notes = el("div", { class: "notes" });
    this.lead.append(el("div", { class: "panels" }, this.curve.element, this.grown.element));
    this.stage.append(this.rent, this.figures, el("div", { class: "panels" }, this.shares.element, this.parts.element), el("h2", {}, "The formula with these numbers"), this.formula, this.notes);
    this.choices = this.fill();
    /** What was last computed in full. @type {Record<string, {zones: any[], cheap: number}>} */
    this.kept = {};
    this.best = LARGEST;
  }

  get subject() { return this.params.model === "size" ? billions(Number(this.params.size)) : String(this.params.model); }

  /** Names to choose from; a page without a server has fewer, those that were computed. */
  async fill() {
    const names = await ask("training/choices", {});
    this.names = names;
    const put = (/** @type {string} */ id, /** @type {string[]} */ values, /** @type {(value: string) => string} */ label = (value) => value) => {
      const select = this.controls.element.querySelector(`#training-${id}`);
      select?.replaceChildren(...values.map((value) => el("option", { value }, label(value))));
    };
    const experts = new Set(names.experts);
    put("model", names.models, (value) => (value === "size" ? "plain decoder by its size" : experts.has(value) ? `${value} (experts)` : value));
    put("cluster", names.clusters, (value) => (value === "own" ? "an accelerator of my own" : value));
    put("stack", names.stacks);
    put("critical", [...names.laws.map((/** @type {any} */ law) => law.name), "measured"], (value) => (value === "measured" ? "my own gradient noise scale" : `law of ${value[0].toUpperCase()}${value.slice(1)}`));
    const size = this.controls.control("size");
    if (size) {
      size.values = names.shapes.map((/** @type {any} */ shape) => shape.parameters);
      size.say = (value) => this.shapeWords(value);
    }
    const batch = this.controls.control("batch_tokens");
    if (names.batches && batch) batch.values = names.batches;
    for (const id of names.frozen ?? []) {
      const control = this.controls.control(id);
      if (control) Object.assign(control, { frozen: true, shown: () => false });
    }
    this.controls.shown.clear(); // other values to choose from
    this.controls.show();
  }

  /** Whether the page has only what was computed with the usual settings. */
  get still() { return Boolean(this.names?.frozen); }

  /** @param {number} value */
  shapeWords(value) {
    const shape = this.names?.shapes.reduce((/** @type {any} */ best, /** @type {any} */ one) => (Math.abs(Math.log(one.parameters / value)) < Math.abs(Math.log(best.parameters / value)) ? one : best));
    return shape ? `${billions(shape.parameters)} parameters: hidden ${whole(shape.hidden)}, ${shape.layers} layers, ${shape.heads} heads` : "";
  }

  async refresh() {
    await this.choices.catch((error) => { this.choices = this.fill(); throw error; });
    this.mend(); // now it is known what this page has
    const settings = this.settings;
    const key = JSON.stringify(settings.map((each) => request(each.params)));
    const exact = !this.store.moving || key === this.exactly;
    if (exact) this.exactly = key;
    this.element.classList.toggle("moving", !exact);
    for (const panel of exact ? [this.grown] : [this.grown, this.shares, this.parts]) panel.element.classList.toggle("stale", !exact || this.weakly !== key);
    const answers = await Promise.all(settings.map((each) => ask("training", { ...request(each.params), exact })));
    const answer = answers[0];
    this.said = answer.sentences;
    this.showAll(answers, settings);
    if (exact) this.growing(settings, key);
  }

  /** The weak answer comes on its own, so that the strong one does not wait for it. @param {any[]} settings @param {string} key */
  growing(settings, key) {
    latest("training-weak", async () => {
      try {
        const asked = settings.map((each) => ask("training", { ...request(each.params), grows: true, weak: true, exact: true }));
        const answers = await Promise.all(asked);
        if (JSON.stringify(request(this.params)) !== JSON.stringify(request(settings[0].params))) return;
        this.drawCurve(this.grown, answers, settings, true);
        this.say([...(this.said ?? []), `Growing with P instead: ${answers[0].sentences[0]}`], this.headline);
        this.showCommands([...(this.mine ?? []), ...answers[0].commands], answers[0].files);
        this.weakly = key;
        this.grown.element.classList.remove("stale");
        this.lock();
      } catch (error) {
        this.grown.element.classList.add("stale");
        if (error instanceof Silence) return this.stale(error);
        this.problem.textContent = `The growing job: ${error instanceof Error ? error.message : String(error)}`; // the other answers stand
        this.problem.hidden = false;
      }
    });
  }

  /** @param {any[]} answers @param {any[]} settings */
  showAll(answers, settings) {
    const answer = answers[0];
    this.mine = answer.commands;
    if (answer.exact) { // while dragging the sentences and the command wait, so that nothing jumps under the pointer
      this.best = decided(answer);
      this.headline = headline(answer, this.best);
      this.say(answer.sentences, this.headline);
      this.showCommands(answer.commands, answer.files);
    }
    const heading = this.curve.element.querySelector("h2");
    if (heading) heading.textContent = this.params.grows ? "Strong: one model, the batch chosen at each P" : "Strong: one model, one batch";
    this.drawCurve(this.curve, answers, settings, false);
    const none = !answer.rows.length;
    for (const element of [this.shares.element, this.parts.element, this.rent, this.figures, this.formula]) element.hidden = none;
    if (none) return;
    const row = this.row(answer);
    this.showTiles(answer, row);
    this.showRent(answer, row);
    for (const panel of [this.shares, this.parts]) panel.element.classList.toggle("stale", !answer.exact);
    if (!answer.exact) return; // while dragging only the curve and the tiles follow
    this.showShares(answer);
    this.showParts(answer, row);
    this.formula.textContent = `${row.formula}\nlargest batch: ${whole(answer.sequences)} sequences of ${whole(answer.seq)} = ${whole(answer.batch_tokens)} tokens; model: ${answer.model.words}`;
    this.showNotes(answer);
  }

  /** The P asked for, or that of the answer. */
  get at() { return Number(this.params.at) || this.best; }

  /** The row looked at: the nearest P that has a layout. @param {any} answer */
  row(answer) {
    const at = this.at;
    return answer.rows.reduce((/** @type {any} */ best, /** @type {any} */ one) => (Math.abs(Math.log(one.gpus / at)) < Math.abs(Math.log(best.gpus / at)) ? one : best));
  }

  /** @param {Panel} panel @param {any[]} answers @param {any[]} settings @param {boolean} weak */
  drawCurve(panel, answers, settings, weak) {
    const now = answers[0];
    const params = this.params;
    const name = String(params.measure);
    const measure = MEASURES[name] ?? MEASURES.useful_efficiency;
    const points = (/** @type {any[]} */ rows) => rows.filter((row) => row[name] !== null).map((row) => ({ x: row.gpus, y: row[name], low: row.ends[name]?.[0], high: row.ends[name]?.[1] }));
    const rows = now.rows;
    const plain = (/** @type {any[]} */ list) => points(list).map(({ x, y }) => ({ x, y }));
    /** @type {import("../types.js").Series[]} */
    const series = [
      { name: "90 % band", kind: "band", points: points(rows), color: weak ? "var(--green)" : "var(--blue)" },
      { name: weak ? "grown job" : "this job", kind: "dotted", points: points(rows), color: weak ? "var(--green)" : "var(--blue)", width: 2.4, tag: weak ? "growing" : "this job" },
      ...(weak && now.strong?.length ? [{ name: "the fixed job", points: plain(now.strong), color: "var(--muted)", dash: "5 4", width: 1.6, tag: "fixed" }] : []),
      ...settings.slice(1).map((each, place) => ({ name: `pin ${each.name}`, points: plain(answers[place + 1].rows), color: place ? "var(--red)" : "var(--orange)", dash: "3 3", width: 2 })),
    ];
    const real = weak ? [] : this.published(name);
    if (real.length) series.push({ name: "published", kind: "points", marker: "star", color: "var(--red)", points: real.map((run) => ({ x: run.gpus, y: run[name], label: `${measure.format(run[name])}: ${run.name}, ${whole(run.sequences)} sequences; ${run.source}` })) });
    const rebuilt = real.flatMap((run) => { const same = now.published?.find((/** @type {any} */ one) => one.name === run.name); return same?.[name] ? [{ x: run.gpus, y: same[name], label: `${measure.format(same[name])} with the published layout (${Object.entries(run.layout).map(([part, size]) => `${part} ${size}`).join(", ")})` }] : []; });
    if (rebuilt.length) series.push({ name: "the planner with the published layout", kind: "points", marker: "diamond", color: "var(--purple)", points: rebuilt });
    const limits = { run_seconds: { param: "deadline_days", factor: 1 / 86400, y: (Number(params.deadline_days) || 30) * 86400, word: "deadline", set: Number(params.deadline_days) }, run_usd: { param: "budget", factor: 1, y: Number(params.budget) || 1e6, word: "budget", set: Number(params.budget) } };
    const limit = weak || this.still ? undefined : limits[/** @type {keyof typeof limits} */ (name)];
    const levels = limit ? [{ y: limit.y, label: limit.set ? `${limit.word} (drag)` : `${limit.word}: none yet (drag to set)`, color: limit.set ? "var(--red)" : "var(--muted)", param: limit.param, factor: limit.factor }] : [];
    panel.show({
      id: weak ? "weak" : "training", title: measure.label, pick: "at",
      alt: rows.length ? `${measure.short}: ${rows.map((/** @type {any} */ row) => `${measure.format(row[name])} at ${row.gpus}`).join(", ")}.` : now.sentences[0],
      x: { label: "P (accelerators)", scale: "log2", min: 8, max: LARGEST, format: thousands },
      y: { label: measure.short, scale: measure.scale, ...(measure.scale === "linear" ? { min: 0, max: measure.max } : {}), format: measure.format },
      series, levels, zones: this.zones(now, weak), marks: this.marks(now, weak), hints: hints(rows, weak),
      labels: real.map((run) => ({ x: run.gpus, y: run[name], text: `${measure.format(run[name])}${run.differs ? `: ${run.differs}` : ""}`, color: "var(--red)" })),
    }, now.table ?? tableOf([], []), now.commands[0], rows.length ? this.noteOf(now, weak) : now.sentences[0]);
  }

  /** Runs of this model with a published figure. @param {string} measure @returns {any[]} */
  published(measure) {
    const { model, cluster } = this.params;
    return (this.names?.published ?? []).filter((/** @type {any} */ run) => run.model === model && run[measure] !== undefined && String(cluster).startsWith(run.accelerator));
  }

  /** @param {any} answer @param {boolean} weak */
  noteOf(answer, weak) {
    const first = answer.rows[0].gpus;
    const parts = [weak ? `The model grows from ${billions(answer.rows[0].parameters)} to ${billions(answer.rows.at(-1).parameters)}.` : "Point at the curve for the split at each P."];
    if (first > 8 && answer.exact) parts.push(`Below ${whole(first)} no layout fits.`);
    if (answer.critical && !weak) parts.push(`The bar at the cap spans the published laws.`);
    if (!answer.exact) parts.push("While you drag: fewer layouts, every second P.");
    return parts.join(" ");
  }

  /** What each doubling gives; a preview keeps the last that was computed. @param {any} answer @param {boolean} weak */
  zones(answer, weak) {
    if (answer.exact) this.kept[weak ? "weak" : "strong"] = { zones: gains(answer.rows), cheap: answer.cost_effective_gpus };
    return this.kept[weak ? "weak" : "strong"]?.zones ?? [];
  }

  /** @param {any} answer @param {boolean} weak @returns {import("../types.js").Mark[]} */
  marks(answer, weak) {
    /** @type {import("../types.js").Mark[]} */
    const marks = [];
    if (!answer.rows.length) return marks;
    const cap = answer.marks.find((/** @type {any} */ mark) => mark.name === "statistical cap");
    if (cap && answer.critical && !weak) {
      const perToken = cap.gpus / answer.critical.tokens.value;
      const laws = answer.laws.map((/** @type {any} */ law) => law.value);
      marks.push({ x: cap.gpus, label: cap.gpus <= LARGEST ? `cap by the critical batch ${whole(cap.gpus)}${this.still ? "" : " (drag)"}` : "", low: Math.min(...laws) * perToken, high: Math.max(...laws) * perToken, param: this.still ? undefined : "critical_tokens", factor: 1 / perToken, color: "var(--red)" });
    }
    const cheap = this.kept[weak ? "weak" : "strong"]?.cheap;
    if (cheap) marks.push({ x: cheap, label: `cost-effective ${whole(cheap)}${answer.exact ? "" : " before"}`, color: "var(--green)" });
    if (answer.exact && answer.choice && answer.chosen_gpus) marks.push({ x: answer.chosen_gpus, label: `chosen ${whole(answer.chosen_gpus)}`, color: "var(--purple)" });
    const looked = this.looked(answer);
    return marks.some((mark) => mark.x === looked.x) ? marks : [...marks, looked];
  }

  /** The line at the P looked at. @param {any} answer @returns {import("../types.js").Mark} */
  looked(answer) {
    const at = this.row(answer).gpus;
    return { x: at, label: `P = ${whole(at)}`, color: "var(--ink)" };
  }

  /** @param {any} answer @param {any} row */
  showTiles(answer, row) {
    const at = this.at;
    const place = answer.rows.indexOf(row);
    const cells = answer.table.rows[place];
    this.tilesHead.textContent = row.gpus === at || !answer.exact ? `At ${whole(row.gpus)} accelerators: every figure` : `At ${whole(row.gpus)} accelerators: no layout at ${whole(at)} fits and divides the batch, this is the nearest`;
    const tiles = answer.table.columns.map((/** @type {any} */ column, /** @type {number} */ index) => [column.header === "speedup" ? `speedup over ${whole(answer.rows[0].gpus)}` : TILES[column.header] ?? column.header, cells[index].text]);
    if (row.chance !== null && row.chance !== undefined) tiles.push(["meets the deadline", `${Math.round(100 * row.chance)} %`]);
    this.facts.replaceChildren(tileList(tiles));
  }

  /** What a buyer compares: half as many accelerators, this many, and twice as many. @param {any} answer @param {any} row */
  showRent(answer, row) {
    const place = answer.rows.indexOf(row);
    const near = [place - 1, place, place + 1].filter((at) => answer.rows[at]);
    const columns = Object.keys(RENT).map((header) => answer.table.columns.findIndex((/** @type {any} */ column) => column.header === header)).filter((at) => at >= 0);
    const worth = near.slice(1).map((at) => {
      const [less, more] = [answer.rows[at - 1], answer.rows[at]];
      const gain = more.speedup / less.speedup;
      const [times, bills] = [[less, more].map((one) => one.run_seconds), [less, more].map((one) => one.run_usd)];
      const spent = times[0] && bills[0] ? `: ${formatSeconds(times[0], 3)} becomes ${formatSeconds(times[1], 3)}, ${dollars(bills[0])} becomes ${dollars(bills[1])}` : "";
      const least = WORTH ** Math.log2(more.gpus / less.gpus);
      return `${whole(more.gpus)} instead of ${whole(less.gpus)} do ${beside(gain, least, 2)} times the work${spent}; ${gain >= least ? "worth it" : "not worth it"}, if a doubling must give ${WORTH} times.`;
    });
    const shown = { columns: columns.map((at) => ({ ...answer.table.columns[at], header: RENT[answer.table.columns[at].header] })), rows: near.map((row) => columns.map((at) => answer.table.rows[row][at])) };
    this.rent.replaceChildren(el("h2", {}, `Which to rent: ${near.map((at) => whole(answer.rows[at].gpus)).join(", ")}?`), ...worth.map((words) => el("p", {}, words)), showTable(shown));
  }

  /** @param {any} answer */
  showShares(answer) {
    const used = COMMUNICATION.filter((part) => answer.rows.some((/** @type {any} */ row) => row.breakdown[part] > 0));
    const share = (/** @type {any} */ row, /** @type {string} */ part) => row.breakdown[part] / row.step_seconds;
    const under = (/** @type {any} */ row, /** @type {number} */ place) => used.slice(0, place).reduce((sum, part) => sum + share(row, part), 0);
    this.shares.show({
      id: "shares", title: "Communication and waiting", alt: answer.rows.map((/** @type {any} */ row) => `${percent(1 - row.efficiency)} at ${row.gpus}`).join(", "),
      x: { label: "P (accelerators)", scale: "log2", min: 8, max: LARGEST, format: thousands }, y: { label: "share of the step", scale: "linear", min: 0, max: 1, format: percent }, pick: "at",
      series: used.map((part, place) => ({ name: part, kind: /** @type {const} */ ("area"), color: PART_COLORS[part], points: answer.rows.map((/** @type {any} */ row) => ({ x: row.gpus, y: under(row, place) + share(row, part), low: under(row, place), high: under(row, place) + share(row, part), label: `${percent(share(row, part))}, ${formatSeconds(row.breakdown[part])}` })) })),
      marks: [this.looked(answer)],
    }, tableOf(["P", ...used, "all of it"], answer.rows.map((/** @type {any} */ row) => [row.gpus, ...used.map((part) => percent(share(row, part))), percent(1 - row.efficiency)])), answer.commands[0], "What is not computing, from tensor parallelism up to the pipeline's bubble; above it the accelerators compute.");
  }

  /** @param {any} answer @param {any} row */
  showParts(answer, row) {
    const parts = Object.keys(row.breakdown).filter((part) => row.breakdown[part] > 0);
    const share = (/** @type {string} */ part) => row.breakdown[part] / row.step_seconds;
    const computes = (/** @type {string} */ part) => !COMMUNICATION.includes(part);
    const bars = (/** @type {(part: string) => boolean} */ chosen) => parts.flatMap((part, place) => (chosen(part) ? [{ x: place, y: share(part), label: `${percent(share(part))}, ${formatSeconds(row.breakdown[part])}` }] : []));
    this.parts.show({
      id: "step", title: "The step", alt: `At ${row.gpus} accelerators a step takes ${formatSeconds(row.step_seconds)}: ${parts.map((part) => `${part} ${percent(share(part))}`).join(", ")}.`,
      x: { label: `at ${whole(row.gpus)} accelerators, step ${formatSeconds(row.step_seconds)}`, scale: "linear", categories: parts }, y: { label: "share of the step", scale: "linear", min: 0, max: 1, format: percent },
      series: [{ name: "computing", kind: "bars", color: "var(--blue)", points: bars(computes) }, { name: "waiting and talking", kind: "bars", color: "var(--orange)", points: bars((part) => !computes(part)) }],
    }, tableOf(["part", "time", "share"], parts.map((part) => [part, formatSeconds(row.breakdown[part]), percent(share(part))])), `${answer.commands[0]} --explain ${row.gpus}`);
  }

  /** @param {any} answer */
  showNotes(answer) {
    const key = JSON.stringify([answer.findings, answer.laws]);
    if (this.notes.dataset.key === key) return;
    this.notes.dataset.key = key;
    const list = (/** @type {Array<string | HTMLElement>} */ items) => el("ul", {}, ...items.map((item) => el("li", {}, item)));
    this.notes.replaceChildren(
      el("h2", {}, "What a reader must know"), list(answer.findings.map((/** @type {any} */ one) => `${one.severity === "info" ? "" : `${one.severity}: `}${one.message}${one.remedy ? `; ${one.remedy}` : ""}`)),
      el("h2", {}, "The critical batch, by paper"), list(answer.laws.map((/** @type {any} */ law) => `${law.name}: ${short(law.value)} tokens (${short(law.low)} to ${short(law.high)}; stated as ${law.definition}). ${law.source}`)),
      el("h2", {}, "What is left out"), list(this.names?.left_out ?? []), el("p", { class: "note" }, `Constants: ${answer.evidence}.`));
  }

  /** Dragging the cap says what the critical batch is. @param {Record<string, number>} changes */
  tidy(changes) {
    const tidied = super.tidy(changes);
    return "critical_tokens" in changes ? { ...tidied, critical: "measured" } : tidied;
  }
}

/** @param {number} value */
const thousands = (value) => (value >= 1024 && value % 1024 === 0 ? `${value / 1024}k` : String(Math.round(value)));

/** Stretches of P by what a doubling gives there. @param {any[]} rows */
function gains(rows) {
  const kinds = [{ least: WORTH, label: `a doubling gives ${WORTH}x or more`, color: "var(--green)" }, { least: 1.3, label: `a doubling gives 1.3x to ${WORTH}x`, color: "var(--orange)" }, { least: -Infinity, label: "a doubling gives less than 1.3x", color: "var(--red)" }];
  /** @type {Array<{from: number, to: number, label: string, color: string}>} */
  const zones = [];
  rows.slice(1).forEach((row, place) => {
    if (row.doubling_speedup === null) return;
    const kind = kinds.find((each) => row.doubling_speedup >= each.least) ?? kinds[2];
    const last = zones.at(-1);
    if (last && last.label === kind.label && last.to === rows[place].gpus) last.to = row.gpus;
    else zones.push({ from: rows[place].gpus, to: row.gpus, label: kind.label, color: kind.color });
  });
  return zones;
}

/** @param {any[]} rows @param {boolean} weak */
function hints(rows, weak) {
  return new Map(rows.map((row) => [row.gpus, [
    ...(weak ? [`model ${billions(row.parameters)}`] : []),
    `split: ${["tp", "pp", "cp", "ep", "dp"].filter((name) => row.layout[name] > 1).map((name) => `${name} ${row.layout[name]}`).join(", ")}`,
    ...(row.doubling_speedup === null ? [] : [`the last doubling gave ${row.doubling_speedup.toFixed(2)}x`]),
  ]]));
}

/** The P that the answer names: the one chosen within deadline and budget, or the cost-effective one. @param {any} answer @returns {number} */
const decided = (answer) => (answer.choice && answer.chosen_gpus) || answer.cost_effective_gpus || LARGEST;

/** The three figures that decide, at the P that the answer names. @param {any} answer @param {number} best @returns {string[][]} */
function headline(answer, best) {
  const place = answer.rows.findIndex((/** @type {any} */ row) => row.gpus === best);
  if (place < 0) return [];
  const cell = (/** @type {string} */ header) => answer.table.rows[place][answer.table.columns.findIndex((/** @type {any} */ column) => column.header === header)].text;
  const chosen = answer.choice && answer.chosen_gpus === best;
  return [[chosen ? "chosen P" : "largest useful P", cell("GPUs"), chosen ? answer.choice : `cost-effective: up to here a doubling gives at least ${WORTH} times the useful work`], [`speedup over ${whole(answer.rows[0].gpus)}`, `${short(answer.rows[place].speedup)}x`, "useful work in the same time, against the smallest P that holds the model"],
    ["cost of the run", dollars(answer.rows[place].run_usd), `it takes ${cell("run")}`]];
}

/** What the planner is asked: all but what only the page shows. @param {Params} params */
function request(params) {
  const { measure: _, at: __, ...asked } = params;
  return asked;
}
