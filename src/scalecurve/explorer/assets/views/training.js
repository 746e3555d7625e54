// @ts-check
/** Training scale: how far more GPUs get one model, and where the batch stops them. */
import { ask } from "../api.js";
import { el } from "../dom.js";
import { billions, dollars, duration, percent, short, whole } from "../format.js";
import { Panel, tableOf } from "../panel.js";
import { View } from "../view.js";

/** @typedef {import("../types.js").Params} Params */

/** @type {Params} */
export const TRAINING = { model: "size", size: 70e9, tokens_per_parameter: 20, batch_tokens: 16e6, pinned: false, critical_tokens: 8e6, cluster: "h100-ib400", seq: 8192, at: 1024, price: 2.5, measure: "efficiency" };
const TERMS = ["compute", "recompute", "tensor", "context", "expert", "data", "pipeline", "bubble", "optimizer"];

/** @type {import("../types.js").Control[]} */
const CONTROLS = [
  { id: "model", label: "Model", kind: "choice", group: "The job", options: [{ value: "size", label: "by its size" }] },
  { id: "size", label: "Parameters", kind: "range", min: 1e9, max: 1e12, scale: "log", format: billions, help: "tokens follow the model, so B_crit grows with it", shown: (params) => params.model === "size" },
  { id: "tokens_per_parameter", label: "Tokens per parameter", kind: "range", min: 1, max: 2000, scale: "log", format: (value) => short(value) },
  { id: "batch_tokens", label: "Target global batch", kind: "range", min: 1e5, max: 2e8, scale: "log", format: (value) => short(value), help: "tokens per step" },
  { id: "pinned", label: "Pin the critical batch", kind: "toggle" },
  { id: "critical_tokens", label: "Critical batch", kind: "range", min: 1e5, max: 2e8, scale: "log", format: (value) => short(value), help: "tokens; beyond it a larger batch hardly learns more", shown: (params) => Boolean(params.pinned) },
  { id: "seq", label: "Sequence length", kind: "range", min: 512, max: 131072, scale: "log2", format: whole },
  { id: "cluster", label: "Cluster", kind: "choice", group: "The machines", options: [{ value: "h100-ib400", label: "h100-ib400" }] },
  { id: "at", label: "Look closely at", kind: "range", min: 8, max: 65536, scale: "log2", format: (value) => `${whole(value)} GPUs`, help: "or click in the chart" },
  { id: "price", label: "Price of a GPU-hour", kind: "range", min: 0.1, max: 20, scale: "log", format: dollars },
  { id: "measure", label: "Shown as", kind: "choice", options: [{ value: "efficiency", label: "efficiency, 1/(1 + comm_frac)" }, { value: "mfu", label: "MFU, share of the peak" }, { value: "tokens_per_second", label: "tokens per second" }] },
];

/** @type {Array<{label: string, params: Params}>} */
const PRESETS = [
  { label: "A 70B model, 16M tokens a step", params: {} },
  { label: "The same with a small critical batch: the cheap zone collapses", params: { pinned: true, critical_tokens: 1e6 } },
  { label: "Llama 3 405B, 16M tokens a step", params: { model: "llama3-405b", batch_tokens: 16e6, at: 16384, tokens_per_parameter: 38 } },
  { label: "Llama 3 8B on 15T tokens", params: { model: "llama3-8b", batch_tokens: 4e6, tokens_per_parameter: 1875, at: 512 } },
  { label: "GPT-3 175B on A100, 3.2M tokens a step", params: { model: "gpt3-175b", cluster: "a100-ib200", seq: 2048, batch_tokens: 3.2e6, tokens_per_parameter: 1.7 } },
];

export class TrainingView extends View {
  /** @param {import("../state.js").Store} store */
  constructor(store) {
    super(store, "training", CONTROLS, PRESETS);
    const change = this.dragged.bind(this);
    this.curve = new Panel("training", "Efficiency over the size of the cluster", change);
    this.time = new Panel("step", "Where the step's time goes", change);
    this.facts = el("dl", { class: "facts" });
    this.formula = el("pre", { class: "formula", tabindex: "0" });
    this.left = el("ul", { class: "left-out" });
    this.lead.append(this.curve.element);
    this.stage.append(this.facts, el("h3", {}, "The formula with these numbers"), this.formula,
      el("div", { class: "panels" }, this.time.element), el("h3", {}, "What is left out"), this.left);
    this.choices();
  }

  async choices() {
    const { models, clusters } = await ask("training/choices", {});
    const fill = (/** @type {string} */ id, /** @type {string[]} */ names) => {
      const select = this.controls.element.querySelector(`#training-${id}`);
      const known = new Set([.../** @type {NodeListOf<HTMLOptionElement>} */ (this.controls.element.querySelectorAll(`#training-${id} option`))].map((option) => option.value));
      select?.append(...names.filter((name) => !known.has(name)).map((name) => el("option", { value: name }, name)));
    };
    fill("model", models);
    fill("cluster", clusters);
    this.controls.show();
  }

  async refresh() {
    const settings = this.settings;
    const exact = !this.store.moving;
    const answers = await Promise.all(settings.map((each) => ask("training", { ...request(each.params), exact })));
    const answer = answers[0];
    this.say(answer.sentences);
    this.showCommands(answer.commands);
    this.showCurve(answers, settings);
    if (answer.cursor) this.showCursor(answer);
    this.formula.textContent = answer.formula ?? "";
    if (!this.left.children.length) this.left.append(...answer.left_out.map((/** @type {string} */ words) => el("li", {}, words)));
  }

  /** @param {any[]} answers @param {any[]} settings */
  showCurve(answers, settings) {
    const now = answers[0];
    const measure = String(this.store.params.measure);
    const rate = measure === "tokens_per_second";
    const points = (/** @type {any[]} */ rows) => rows.map((row) => ({ x: row.gpus, y: row[measure] }));
    const cheap = now.rows.filter((/** @type {any} */ row) => row.regime === "data");
    const dear = now.rows.filter((/** @type {any} */ row) => row.regime === "model");
    const marks = [];
    if (now.cap_gpus !== null) marks.push({ x: now.cap_gpus, label: `cap: ${whole(now.cap_replicas)} replicas, ${whole(now.cap_gpus)} GPUs` });
    if (now.cost_effective_gpus !== null) marks.push({ x: now.cost_effective_gpus, label: `cost-effective: ${whole(now.cost_effective_gpus)}`, color: "var(--green)" });
    if (now.cursor) marks.push({ x: now.cursor.gpus, label: "", color: "var(--ink)", param: "at" });
    const format = rate ? (/** @type {number} */ value) => short(value) : percent;
    this.curve.show({
      id: "training", title: "Training scale", pick: "at",
      alt: `${now.sentences.join(" ")} ${now.rows.map((/** @type {any} */ row) => `${percent(row.efficiency)} at ${row.gpus} GPUs`).join(", ")}.`,
      x: { label: "P (GPUs)", scale: "log2", min: 8, max: 65536, format: (value) => (value >= 1024 ? `${value / 1024}k` : String(value)) },
      y: { label: { efficiency: "efficiency E", mfu: "MFU", tokens_per_second: "tokens per second" }[measure] ?? "", scale: rate ? "log10" : "linear", ...(rate ? {} : { min: 0, max: measure === "mfu" ? 0.7 : 1.02 }), format },
      series: [{ name: "data-parallel: cheap", points: points(dear.length ? [...cheap, dear[0]] : cheap), color: "var(--blue)", kind: "line", width: 3 },
        { name: "model-parallel: decaying", points: points(dear), color: "var(--orange)", kind: "line", dash: "7 4", width: 3 },
        { name: "", points: points(now.rows), color: "var(--ink)", kind: "points", quiet: true },
        ...settings.slice(1).map((each, place) => ({ name: `pin ${each.name}`, points: points(answers[place + 1].rows), color: place ? "var(--red)" : "var(--purple)", dash: "3 3", width: 1.8 }))],
      zones: now.cap_gpus === null ? [] : [{ from: 8, to: now.cap_gpus, label: "cheap zone", color: "var(--blue)" }, { from: now.cap_gpus, to: 65536, label: "split the model", color: "var(--orange)", high: true }],
      marks,
    }, tableOf(["P", "regime", "dp", "tp", "pp", "micro x accum", "step", "E", "MFU", "tokens/s", "memory"], now.rows.map((/** @type {any} */ row) => [row.gpus, row.regime, row.layout.dp, row.layout.tp, row.layout.pp, `${row.layout.micro} x ${row.layout.accumulation}`, duration(row.step_seconds), row.efficiency.toFixed(3), percent(row.mfu), short(row.tokens_per_second), `${short(row.memory_bytes / 1e9)} GB`])), now.commands[0]);
  }

  /** @param {any} answer */
  showCursor(answer) {
    const row = answer.cursor;
    const parts = TERMS.filter((term) => row.breakdown[term] > 0);
    const share = (/** @type {string} */ term) => row.breakdown[term] / row.step_seconds;
    this.time.show({
      id: "step", title: "The step", alt: `At ${row.gpus} GPUs a step takes ${duration(row.step_seconds)}: ${parts.map((term) => `${term} ${percent(share(term))}`).join(", ")}.`,
      x: { label: `at ${whole(row.gpus)} GPUs`, scale: "linear", categories: parts }, y: { label: "share of the step", scale: "linear", min: 0, max: 1, format: percent },
      series: [{ name: "computing", kind: "bars", color: "var(--blue)", points: parts.flatMap((term, place) => (["compute", "recompute", "optimizer"].includes(term) ? [{ x: place, y: share(term), label: duration(row.breakdown[term]) }] : [])) },
        { name: "waiting and talking", kind: "bars", color: "var(--orange)", points: parts.flatMap((term, place) => (["compute", "recompute", "optimizer"].includes(term) ? [] : [{ x: place, y: share(term), label: duration(row.breakdown[term]) }])) }],
    }, tableOf(["part", "time", "share"], parts.map((term) => [term, duration(row.breakdown[term]), percent(share(term))])), answer.commands[0]);
    const facts = [["Parameters", billions(answer.parameters)], ["Tokens", billions(answer.tokens)], ["Critical batch", `${short(answer.critical_tokens)} tokens`], ["Batch used", `${short(answer.batch_tokens)} tokens`],
      ["Step", duration(row.step_seconds)], ["Run takes", duration(row.run_seconds)], ["Run costs", dollars(row.run_dollars)], ["Per billion tokens", dollars(row.usd_per_billion_tokens)], ["MFU", percent(row.mfu)], ["Memory per GPU", `${short(row.memory_bytes / 1e9)} GB`]];
    this.facts.replaceChildren(...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", { class: "tone-assumed" }, value))));
  }
}

/** @param {Params} params */
function request(params) {
  const { measure: _, ...asked } = params;
  return asked;
}
