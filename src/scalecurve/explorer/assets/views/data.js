// @ts-check
/** My data: a dropped or pasted file, its points with error bars, and what can be said about them. */
import { ask, latest } from "../api.js";
import { el, showDocument, toast } from "../dom.js";
import { dollars, formatSeconds, percent, short, whole } from "../format.js";
import { carried } from "../live.js";
import { Panel } from "../panel.js";
import { View } from "../view.js";

/** @typedef {import("../types.js").Params} Params */

/** @type {Params} */
export const DATA = { text: "", name: "pasted.csv", series: "", regime: "", threshold: 0.7, rule: "efficiency", level: 0.95, reach: 4, price: 2.5, jobs: 1 };
const MOST_TEXT = 2_000_000;
/** Rows of a cost table by where they come from. @type {Record<string, {name: string, color: string, marker: string}>} */
const KINDS = { measured: { name: "measured", color: "var(--green)", marker: "dot" }, interpolated: { name: "interpolated between measured K", color: "var(--blue)", marker: "square" }, forecast: { name: "forecast (not measured)", color: "var(--orange)", marker: "diamond" } };
const MOST_TICKS = 14; // from which round values are easier to read than those measured
const FAR = 5; // times between costs from which a linear axis would press the small ones together

const ONLY = "the only curve";

/** @type {import("../types.js").Control[]} */
const CONTROLS = [
  { id: "series", label: "Curve", kind: "choice", open: true, options: [{ value: "", label: ONLY }], help: "this file holds several", shown: () => false },
  { id: "regime", label: "What was held fixed", kind: "choice", options: [{ value: "", label: "as a study file states" }, { value: "strong", label: "the total work (strong)" }, { value: "weak", label: "the work per worker (weak)" }], help: "a plain table cannot say" },
  { id: "threshold", label: "Efficiency threshold", kind: "range", min: 0.05, max: 1, step: 0.01, format: percent, help: "the bend is the first K below it; drag the line in the chart" },
  { id: "rule", label: "Rule of the bend", kind: "choice", options: [{ value: "efficiency", label: "first K below the threshold" }, { value: "marginal", label: "first step that gains too little" }, { value: "knee", label: "largest S times E" }] },
  { id: "reach", label: "Forecast up to", kind: "range", min: 2, max: 16, scale: "log2", format: (value) => `${value} times` , help: "multiples of the largest K measured" },
  { id: "price", label: "Price of a worker-hour", kind: "range", min: 0.01, max: 100, scale: "log", format: dollars },
  { id: "jobs", label: "Results wanted", kind: "range", min: 1, max: 1000000, scale: "log", format: whole },
  { id: "level", label: "Level of intervals", kind: "range", min: 0.5, max: 0.99, step: 0.01, format: percent },
  { id: "text", label: "The data (paste here, or drop a file anywhere on this view)", kind: "text", help: "a column of worker counts and one of times or rates, or a study file" },
];

const PARTS = [
  { name: "diagnosis", title: "Why it bends", settings: ["threshold", "rule", "level"] },
  { name: "forecast", title: "Forecast beyond the data", settings: ["reach"] },
  { name: "fits", title: "Laws fitted to the data", settings: [] },
  { name: "cost", title: "What it costs", settings: ["price", "jobs"] },
  { name: "audit", title: "The checklist", settings: [] },
];

export class DataView extends View {
  /** @param {import("../state.js").Store} store */
  constructor(store) {
    super(store, "data", CONTROLS, []);
    /** What came later than the table, by part. @type {Record<string, any>} */
    this.more = {};
    /** @type {any} */
    this.answer = null;
    /** Pinned settings with their tables. @type {Array<{name: string, answer: any}>} */
    this.others = [];
    this.curve = new Panel("curve", "The curve", this.dragged.bind(this));
    this.efficiency = new Panel("efficiency", "Efficiency", this.dragged.bind(this));
    this.table = el("section", { class: "block", "aria-label": "Table", id: "data-table" });
    this.empty = el("p", { class: "empty" }, carried() ? "Choose a study on the left." : "Drop a CSV or a study file here, or paste one on the left. Nothing leaves this machine.");
    this.charts = el("div", { class: "panels" }, this.curve.element, this.efficiency.element);
    this.money = new Panel("cost", "Time against cost", this.dragged.bind(this));
    this.money.element.hidden = true;
    this.parts = new Map(PARTS.map(({ name, title }) => [name, el("section", { class: "block", id: `data-${name}`, "aria-label": title })]));
    this.filled = el("div", {}, this.table, el("div", { class: "panels" }, this.money.element), ...this.parts.values());
    this.regimes = el("div", { class: "regimes", hidden: true }, this.picture("strong", "The whole job stays the same", "Ideally the time T falls as 1/K", "M10 12C22 48 50 62 110 66"), this.picture("weak", "The work of each worker stays the same", "Ideally the time T stays flat", "M10 36L110 36"));
    this.lead.append(this.empty, this.regimes, this.charts);
    this.stage.append(this.filled);
    this.side.prepend(this.chooser());
    if (carried()) for (const control of this.controls.controls) Object.assign(control, { frozen: !["text", "regime", "series"].includes(control.id), shown: () => false }); // computed with the usual settings
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => this.dropped(event));
    this.examples();
  }

  /** A choice of what was held fixed, with the time it should give. @param {string} regime @param {string} title @param {string} words @param {string} path */
  picture(regime, title, words, path) {
    const button = el("button", { type: "button", "data-regime": regime, onclick: () => this.store.set({ regime }) }, el("b", {}, title), el("span", {}, words));
    const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, value] of Object.entries({ viewBox: "0 0 120 80", width: "180", height: "120", "aria-hidden": "true" })) drawing.setAttribute(name, value);
    drawing.innerHTML = `<path d="M10 6V72H114" fill="none" stroke="var(--edge)"/><path d="${path}" fill="none" stroke="var(--blue)" stroke-width="3"/>`;
    button.prepend(drawing);
    return button;
  }

  chooser() {
    const file = el("input", { type: "file", id: "data-file", accept: ".csv,.tsv,.txt,.json" });
    file.addEventListener("change", () => { if (file.files?.[0]) this.read(file.files[0]); });
    this.cases = el("select", { id: "data-case" }, el("option", { value: "" }, "choose a worked case"));
    const open = el("div", { class: "control" }, el("label", { for: "data-file" }, "Open a file"), file);
    return el("div", {}, carried() ? el("p", { class: "note" }, "This page has no server: it shows studies that were analysed when it was made. For others run scalecurve explore.") : open,
      el("div", { class: "control choice" }, el("label", { for: "data-case" }, "Worked cases"), this.cases));
  }

  /** Worked cases are made by the server, so that their numbers come from the formulas they illustrate. */
  async examples() {
    const { cases } = await ask("data/cases", {});
    this.cases?.append(...cases.map((/** @type {any} */ each, /** @type {number} */ place) => el("option", { value: place }, each.label)));
    this.cases?.addEventListener("change", () => {
      const chosen = cases[Number(this.cases?.value)];
      if (this.cases?.value && chosen) this.store.set({ text: chosen.text, name: chosen.name, regime: chosen.regime, series: "" });
    });
  }

  /** @param {DragEvent} event */
  dropped(event) {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) this.read(file);
  }

  /** @param {File} file */
  async read(file) {
    if (carried()) return toast("This page has no server to analyse a file: run scalecurve explore");
    if (file.size > MOST_TEXT) return toast(`${file.name} is larger than the page takes (2 MB); use the command line`);
    this.store.set({ text: await file.text(), name: file.name, series: "", regime: "" });
  }

  async refresh() {
    const { text, regime } = this.params;
    this.empty.hidden = Boolean(text);
    this.filled.hidden = !text;
    this.charts.hidden = !text;
    if (!text) return this.say(["Your own measurements, with the intervals they deserve."]);
    const undecided = !regime && !/^\s*\{/.test(String(text)); // a study file states its own
    this.regimes.hidden = !undecided;
    this.filled.hidden = this.charts.hidden = undecided;
    if (undecided) return this.say(["What did you hold fixed while you added workers? Nothing can be said before that: the same times are good under one and bad under the other."]);
    const answer = await ask("data/table", tableRequest(this.params));
    this.answer = answer;
    this.others = await Promise.all(this.settings.slice(1).map(async (each) => ({ name: each.name, answer: await ask("data/table", tableRequest(each.params)) })));
    this.offer(answer.curves);
    if (!this.more.diagnosis) this.tell(answer.sentences);
    this.showCommands(answer.commands);
    this.table.replaceChildren(el("h2", {}, "Table"), showDocument(answer.html));
    this.sayOnce();
    this.draw(answer);
    for (const part of PARTS) this.fill(part);
  }

  /** The curves of a file that holds several, to choose from. @param {{names: string[], shown: string} | null} curves */
  offer(curves) {
    const names = curves?.names ?? [""];
    const control = this.controls.control("series");
    const select = /** @type {HTMLSelectElement | null} */ (this.controls.element.querySelector("#data-series"));
    if (!control || !select) return;
    control.shown = () => names.length > 1;
    if (JSON.stringify([...select.options].map((option) => option.value)) !== JSON.stringify(names)) select.replaceChildren(...names.map((value) => el("option", { value }, value || ONLY)));
    this.controls.shown.delete("series");
    this.controls.show();
    select.value = curves?.shown ?? "";
  }

  /** The answer, of which curve it is, and which of several to use. @param {string[]} sentences */
  tell(sentences) {
    const { curves } = this.answer;
    this.told = sentences;
    this.say(curves ? [`${curves.shown}: ${sentences[0]}`, ...curves.sentences, ...sentences.slice(1)] : sentences, this.tiles());
  }

  /** The largest useful K with its speedup, and what it costs once that is known. @returns {string[][]} */
  tiles() {
    const { tiles, useful, table } = this.answer;
    const priced = this.more.cost?.cost.rows.find((/** @type {any} */ row) => row.k === useful);
    const [name, work] = table.regime === "weak" ? ["cost per result", `the work of the run at K0 = ${table.baseline_k}, `] : ["cost there", ""];
    return priced && tiles.length ? [...tiles.slice(0, 2), [name, dollars(priced.cost), `${work}at ${dollars(Number(this.params.price))} for each worker and hour`]] : tiles;
  }

  /** A part that takes longer comes when it comes; the table and the curve do not wait. @param {typeof PARTS[number]} part */
  fill(part) {
    const { text, name, regime, series } = this.params;
    const asked = { text, name, regime: regime || null, series, ...Object.fromEntries(part.settings.map((setting) => [setting, this.params[setting]])) };
    const box = /** @type {HTMLElement} */ (this.parts.get(part.name));
    const key = JSON.stringify(asked);
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    box.classList.add("stale");
    if (!box.children.length) box.replaceChildren(el("h2", {}, part.title), el("p", { class: "tone-muted" }, "computing"));
    latest(`data-${part.name}`, async () => {
      const found = await ask(`data/${part.name}`, asked).catch((error) => ({ error: error.message }));
      if (box.dataset.key !== key) return;
      const shown = found.error ? el("p", { class: "tone-warn" }, `Refused: ${found.error}`) : showDocument(found.html);
      box.classList.remove("stale");
      box.replaceChildren(el("h2", {}, part.title), shown);
      this.sayOnce();
      this.more[part.name] = found.error ? null : found;
      if (part.name === "cost") {
        this.drawCost(found);
        this.tell(this.told ?? []);
      }
      else if (part.name === "diagnosis" && found.sentences) this.tell(found.sentences);
      else if (this.answer) this.draw(this.answer);
    });
  }

  /** A finding of several parts is shown with the first of them. */
  sayOnce() {
    const before = new Set();
    for (const finding of /** @type {NodeListOf<HTMLElement>} */ (this.filled.querySelectorAll(".findings li"))) {
      finding.hidden = before.has(finding.textContent);
      before.add(finding.textContent);
    }
  }

  /** @param {any} found */
  drawCost(found) {
    this.money.element.hidden = Boolean(found.error);
    if (found.error) return;
    const { rows, cheapest } = found.cost;
    const points = (/** @type {string} */ kind) => rows.filter((/** @type {any} */ row) => row.kind === kind).map((/** @type {any} */ row) => ({ x: row.elapsed_seconds, y: row.cost, low: row.cost_low, high: row.cost_high, label: `${dollars(row.cost)} (K = ${whole(row.k)})` }));
    const costs = rows.map((/** @type {any} */ row) => row.cost);
    const apart = Math.max(...costs) > FAR * Math.min(...costs);
    const least = rows.find((/** @type {any} */ row) => row.k === cheapest);
    this.money.show({
      id: "cost", title: "Time against cost", alt: rows.map((/** @type {any} */ row) => `K = ${row.k}: ${dollars(row.cost)} in ${formatSeconds(row.elapsed_seconds)}`).join("; "),
      x: { label: "time of all results", scale: "log10", format: formatSeconds }, y: { label: "cost, USD", ...(apart ? { scale: "log10" } : { scale: "linear", min: 0 }), format: dollars },
      series: Object.entries(KINDS).map(([kind, style]) => ({ ...style, points: points(kind), kind: /** @type {const} */ ("points") })).filter((each) => each.points.length),
      labels: rows.map((/** @type {any} */ row) => ({ x: row.elapsed_seconds, y: row.cost, text: `K = ${whole(row.k)}${row === least ? ", cheapest" : ""}`, color: KINDS[row.kind]?.color })),
    }, { columns: ["K", "time", "cost", "cost/cost(K0)", "kind"].map((header) => ({ header })), rows: rows.map((/** @type {any} */ row) => [String(row.k), formatSeconds(row.elapsed_seconds), dollars(row.cost), row.relative_cost.toFixed(3), row.kind].map((text) => ({ text, tone: row.kind === "measured" ? "plain" : "assumed" }))) }, found.commands[0]);
  }

  /** @param {any} answer */
  draw(answer) {
    const table = answer.table;
    const shown = answer.shown;
    const strong = table.regime === "strong";
    const bend = table.bend ? [{ x: table.bend.k, label: `bend at K = ${whole(table.bend.k)}: ${ruleWords(this.params)}` }] : [];
    const decades = table.rows.length > 1 && table.rows.every((/** @type {any} */ row) => Number.isInteger(Math.log10(row.k)));
    const measured = table.rows.map((/** @type {any} */ row) => row.k);
    const ticks = [...measured, ...(this.more.forecast?.bands ?? []).map((/** @type {any} */ row) => row.k).filter((/** @type {number} */ k) => k > measured.at(-1))];
    const axis = { label: `K (${answer.unit})`, scale: /** @type {"log10" | "log2"} */ (decades ? "log10" : "log2"), ...(ticks.length <= MOST_TICKS ? { ticks } : {}) };
    const points = (/** @type {string} */ what) => table.rows.map((/** @type {any} */ row) => ({ x: row.k, y: row[what], low: row[`${what}_low`], high: row[`${what}_high`] }));
    this.curve.element.hidden = !strong;
    if (strong) {
      this.curve.show({
        id: "curve", title: table.name, alt: `Speedup of ${table.name}: ${points("speedup").map((/** @type {any} */ point) => `${short(point.y)} at K = ${point.x}`).join(", ")}.`,
        x: axis, y: { label: "speedup S(K)", scale: axis.scale },
        series: [{ name: "ideal S = K", points: points("speedup").map((/** @type {any} */ point) => ({ x: point.x, y: point.x })), color: "var(--muted)", dash: "5 4", width: 1.3 },
          { name: "measured S", points: points("speedup"), color: "var(--blue)", kind: "both" }, ...this.beyond(answer, "speedup")], marks: bend,
      }, shown, answer.commands[0], "Strong scaling: total work fixed.");
    }
    this.efficiency.show({
      id: "efficiency", title: table.name, alt: `Efficiency of ${table.name}: ${points("efficiency").map((/** @type {any} */ point) => `${percent(point.y)} at K = ${point.x}`).join(", ")}.`,
      x: axis, y: { label: strong ? "efficiency E(K)" : "weak-scaling efficiency E(K)", scale: "linear", min: 0, max: Math.max(1.05, ...table.rows.map((/** @type {any} */ row) => row.efficiency_high ?? row.efficiency)), format: percent },
      series: [{ name: "measured E", points: points("efficiency"), color: strong ? "var(--blue)" : "var(--green)", kind: "both", marker: strong ? "" : "square" }, ...this.beyond(answer, "efficiency")],
      levels: [{ y: 1, label: "ideal E = 1", color: "var(--muted)" }, { y: table.threshold, label: "threshold (drag)", color: "var(--red)", param: "threshold" }], marks: bend,
    }, shown, answer.commands[0], strong ? "" : "Weak scaling: work per worker fixed.");
  }

  /** Pinned studies of the same regime, to compare with. @param {any} answer @param {string} what @returns {any[]} */
  pinnedSeries(answer, what) {
    return this.others.filter((other) => other.answer.table.regime === answer.table.regime).map((other, place) => ({
      name: `pin ${other.name}`, kind: "both", marker: "diamond", color: place ? "var(--sky)" : "var(--green)", dash: "4 3",
      points: other.answer.table.rows.map((/** @type {any} */ row) => ({ x: row.k, y: row[what], low: row[`${what}_low`], high: row[`${what}_high`] })),
    }));
  }

  /** The other curves of the file, thin. @param {any} answer @param {string} what @returns {any[]} */
  otherCurves({ curves }, what) {
    return Object.entries(curves?.rows ?? {}).filter(([name]) => name !== curves.shown).map(([name, rows]) => ({
      name: "other curves of the file", points: rows.map((/** @type {any} */ row) => ({ x: row.k, y: row[what] })), color: "var(--muted)", width: 1, quiet: true,
    }));
  }

  /** Fitted laws within the data and the forecast beyond it. @param {any} answer @param {string} what @returns {any[]} */
  beyond(answer, what) {
    const drawn = [...this.otherCurves(answer, what), ...this.pinnedSeries(answer, what)];
    const best = this.more.fits ? this.more.fits.fits.laws[0].name : null;
    if (best) drawn.push({ name: `law: ${best}`, points: this.more.fits.curves[best].map((/** @type {any} */ row) => ({ x: row.k, y: row[what] })), color: "var(--purple)", dash: "2 3", width: 1.5, quiet: true });
    if (!this.more.forecast) return drawn;
    const last = answer.table.rows.at(-1);
    const bands = [{ k: last.k, [what]: last[what], [`${what}_low`]: last[`${what}_low`] ?? last[what], [`${what}_high`]: last[`${what}_high`] ?? last[what] }, ...this.more.forecast.bands];
    const points = bands.map((row) => ({ x: row.k, y: row[what], low: row[`${what}_low`], high: row[`${what}_high`] }));
    return [...drawn, { name: "forecast interval", points, color: "var(--orange)", kind: "band" },
      { name: "forecast (not measured)", points: points.map(({ x, y }) => ({ x, y })), color: "var(--orange)", dash: "6 4", kind: "line" }];
  }
}

/** The rule that named the bend. @param {Params} params */
function ruleWords({ rule, threshold }) {
  return { efficiency: `E below ${percent(Number(threshold))}`, marginal: "the step gained too little", knee: "largest S times E" }[String(rule)] ?? String(rule);
}

/** @param {Params} params */
function tableRequest({ text, name, series, regime, threshold, rule, level }) {
  return { text, name, series, regime: regime || null, threshold, rule, level };
}
