// @ts-check
/** My data: a dropped or pasted file, its points with error bars, and what can be said about them. */
import { ask } from "../api.js";
import { el, showBlocks, toast } from "../dom.js";
import { percent, short, whole } from "../format.js";
import { Panel } from "../panel.js";
import { View } from "../view.js";

/** @typedef {import("../types.js").Params} Params */

/** @type {Params} */
export const DATA = { text: "", name: "pasted.csv", regime: "strong", threshold: 0.7, rule: "efficiency", level: 0.95 };
const MOST_TEXT = 2_000_000;

/** @type {import("../types.js").Control[]} */
const CONTROLS = [
  { id: "regime", label: "What was held fixed", kind: "choice", options: [{ value: "strong", label: "the total work (strong)" }, { value: "weak", label: "the work per worker (weak)" }], help: "never guessed; a study file states its own" },
  { id: "threshold", label: "Efficiency threshold", kind: "range", min: 0.05, max: 1, step: 0.01, format: percent, help: "the bend is the first K below it; drag the line in the chart" },
  { id: "rule", label: "Rule of the bend", kind: "choice", options: [{ value: "efficiency", label: "first K below the threshold" }, { value: "marginal", label: "first step that gains too little" }, { value: "knee", label: "largest S times E" }] },
  { id: "level", label: "Level of intervals", kind: "range", min: 0.5, max: 0.99, step: 0.01, format: percent },
  { id: "text", label: "The data (paste here, or drop a file anywhere on this view)", kind: "text", help: "a column of worker counts and one of times or rates, or a study file" },
];

export class DataView extends View {
  /** @param {import("../state.js").Store} store */
  constructor(store) {
    super(store, "data", CONTROLS, []);
    this.curve = new Panel("curve", "The curve", this.dragged.bind(this));
    this.efficiency = new Panel("efficiency", "Efficiency", this.dragged.bind(this));
    this.table = el("section", { class: "block", "aria-label": "Table", id: "data-table" });
    this.empty = el("p", { class: "empty" }, "Drop a CSV or a study file here, or paste one on the left. Nothing leaves this machine.");
    this.charts = el("div", { class: "panels" }, this.curve.element, this.efficiency.element);
    this.filled = el("div", {}, this.table);
    this.lead.append(this.empty, this.charts);
    this.stage.append(this.filled);
    this.side.prepend(this.chooser());
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => this.dropped(event));
    this.examples();
  }

  chooser() {
    const file = el("input", { type: "file", id: "data-file", accept: ".csv,.tsv,.txt,.json" });
    file.addEventListener("change", () => { if (file.files?.[0]) this.read(file.files[0]); });
    this.cases = el("select", { id: "data-case" }, el("option", { value: "" }, "choose a worked case"));
    return el("div", {}, el("div", { class: "control" }, el("label", { for: "data-file" }, "Open a file"), file),
      el("div", { class: "control choice" }, el("label", { for: "data-case" }, "Worked cases"), this.cases));
  }

  /** Worked cases are made by the server, so that their numbers come from the formulas they illustrate. */
  async examples() {
    const { cases } = await ask("data/cases", {});
    this.cases?.append(...cases.map((/** @type {any} */ each, /** @type {number} */ place) => el("option", { value: place }, each.label)));
    this.cases?.addEventListener("change", () => {
      const chosen = cases[Number(this.cases?.value)];
      if (this.cases?.value && chosen) this.store.set({ text: chosen.text, name: chosen.name, regime: chosen.regime });
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
    if (file.size > MOST_TEXT) return toast(`${file.name} is larger than the page takes (2 MB); use the command line`);
    this.store.set({ text: await file.text(), name: file.name });
  }

  async refresh() {
    const { text, name, regime, threshold, rule, level } = this.store.params;
    this.empty.hidden = Boolean(text);
    this.filled.hidden = !text;
    this.charts.hidden = !text;
    if (!text) return this.say(["Your own measurements, with the intervals they deserve."]);
    const answer = await ask("data/table", { text, name, regime, threshold, rule, level });
    this.say(answer.sentences);
    this.showCommands(answer.commands);
    this.table.replaceChildren(el("h3", {}, "Table"), ...showBlocks(answer.blocks));
    this.draw(answer);
  }

  /** @param {any} answer */
  draw(answer) {
    const table = answer.table;
    const shown = answer.blocks.find((/** @type {any} */ block) => block.kind === "table");
    const strong = table.regime === "strong";
    const bend = table.bend ? [{ x: table.bend.k, label: `bend at K = ${whole(table.bend.k)}${table.bend.probability === null ? "" : `, p = ${table.bend.probability.toFixed(2)}`}` }] : [];
    const points = (/** @type {string} */ what) => table.rows.map((/** @type {any} */ row) => ({ x: row.k, y: row[what], low: row[`${what}_low`], high: row[`${what}_high`] }));
    this.curve.element.hidden = !strong;
    if (strong) {
      this.curve.show({
        id: "curve", title: table.name, alt: `Speedup of ${table.name}: ${points("speedup").map((/** @type {any} */ point) => `${short(point.y)} at K = ${point.x}`).join(", ")}.`,
        x: { label: `K (${table.k_unit})`, scale: "log2" }, y: { label: "speedup S(K)", scale: "log2" },
        series: [{ name: "ideal S = K", points: points("speedup").map((/** @type {any} */ point) => ({ x: point.x, y: point.x })), color: "var(--muted)", dash: "5 4", width: 1.3 },
          { name: "measured S", points: points("speedup"), color: "var(--blue)", kind: "both" }, ...this.beyond(answer, "speedup")], marks: bend,
      }, shown, answer.commands[0], "Strong scaling: total work fixed.");
    }
    this.efficiency.show({
      id: "efficiency", title: table.name, alt: `Efficiency of ${table.name}: ${points("efficiency").map((/** @type {any} */ point) => `${percent(point.y)} at K = ${point.x}`).join(", ")}.`,
      x: { label: `K (${table.k_unit})`, scale: "log2" }, y: { label: strong ? "efficiency E(K)" : "weak-scaling efficiency E(K)", scale: "linear", min: 0, max: Math.max(1.05, ...table.rows.map((/** @type {any} */ row) => row.efficiency_high ?? row.efficiency)), format: percent },
      series: [{ name: "measured E", points: points("efficiency"), color: strong ? "var(--blue)" : "var(--green)", kind: "both", marker: strong ? "" : "square" }, ...this.beyond(answer, "efficiency")],
      levels: [{ y: 1, label: "ideal E = 1", color: "var(--muted)" }, { y: table.threshold, label: "threshold (drag)", color: "var(--red)", param: "threshold" }], marks: bend,
    }, shown, answer.commands[0], strong ? "" : "Weak scaling: work per worker fixed.");
  }

  /** Series beyond the data, when there is a forecast. @param {any} answer @param {string} what @returns {any[]} */
  beyond(answer, what) { return answer && what ? [] : []; }
}
