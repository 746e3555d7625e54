// @ts-check
/** A chart with its title, its buttons and the table behind it. */
import { Chart } from "./chart.js";
import { el, showTable } from "./dom.js";
import { shareBar } from "./share.js";

/** @typedef {import("./types.js").ChartSpec} ChartSpec */
/** @typedef {import("./types.js").TableData} TableData */

export class Panel {
  /**
   * @param {string} id
   * @param {string} title
   * @param {(changes: Record<string, number>, done: boolean) => void} onChange
   */
  constructor(id, title, onChange) {
    this.chart = new Chart(onChange);
    /** @type {TableData | null} */
    this.table = null;
    this.command = "";
    this.holder = el("div");
    const details = el("details", { class: "behind", ontoggle: () => this.showTable() }, el("summary", {}, "Table behind this chart"), this.holder);
    this.details = details;
    this.note = el("p", { class: "note" });
    this.element = el("section", { class: "panel", id: `panel-${id}`, "aria-label": title }, el("h2", {}, title), this.chart.element, this.note,
      shareBar(() => this.chart.picture(this.command), () => this.table, () => this.command, `scalecurve-${id}`), details);
  }

  /** @param {ChartSpec} spec @param {TableData} table @param {string} command @param {string} [note] */
  show(spec, table, command, note = "") {
    this.chart.draw(spec);
    this.table = table;
    this.command = command;
    this.note.textContent = note;
    this.showTable();
  }

  /** Only an open table is kept up to date: a closed one costs nothing while dragging. */
  showTable() {
    if (this.table && this.details.open) this.holder.replaceChildren(showTable(this.table));
  }
}

/**
 * A table from columns of numbers.
 * @param {string[]} headers
 * @param {Array<Array<string | number | null | undefined>>} rows
 * @returns {TableData}
 */
export function tableOf(headers, rows) {
  return {
    columns: headers.map((header) => ({ header })),
    rows: rows.map((row) => row.map((value) => ({ text: value === null || value === undefined ? "-" : String(value) }))),
  };
}
