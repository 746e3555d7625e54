// @ts-check
/** Sliders with a number beside them, choices and switches; all native inputs, so that the keyboard just works. */
import { el } from "./dom.js";
import { short } from "./format.js";

/** @typedef {import("./types.js").Control} Control */
/** @typedef {import("./state.js").Store} Store */

const STEPS = 1000;

/** @param {Control} control @param {number} value */
function toPlace(control, value) {
  const { min = 0, max = 1 } = control;
  if (control.scale === "log" || control.scale === "log2") return STEPS * Math.log(Math.max(value, min) / min) / Math.log(max / min);
  return STEPS * (value - min) / (max - min);
}

/** @param {Control} control @param {number} place */
function fromPlace(control, place) {
  const { min = 0, max = 1 } = control;
  const share = place / STEPS;
  if (control.scale === "log2") return 2 ** Math.round(Math.log2(min * (max / min) ** share));
  if (control.scale === "log") return Number((min * (max / min) ** share).toPrecision(3));
  const step = control.step ?? (max - min) / STEPS;
  return Number((Math.round((min + share * (max - min)) / step) * step).toPrecision(6));
}

/** How far one press of an arrow key goes. @param {Control} control */
function keyStep(control) {
  const { min = 0, max = 1 } = control;
  if (control.scale === "log2") return STEPS / Math.log2(max / min);
  return control.scale === "log" ? 10 : Math.max(1, STEPS * (control.step ?? 0) / (max - min));
}

export class Controls {
  /** @param {Control[]} controls @param {Store} store @param {string} view */
  constructor(controls, store, view) {
    this.controls = controls;
    this.store = store;
    this.view = view;
    /** @type {Map<string, (value: any) => void>} */
    this.setters = new Map();
    /** @type {Map<string, HTMLElement>} */
    this.rows = new Map();
    this.element = el("form", { class: "controls", "aria-label": "Settings", onsubmit: (/** @type {Event} */ event) => event.preventDefault() });
    let group = "";
    for (const control of controls) {
      if (control.group && control.group !== group) {
        group = control.group;
        this.element.append(el("h3", {}, group));
      }
      const row = this.row(control);
      this.rows.set(control.id, row);
      this.element.append(row);
    }
  }

  show() {
    const params = this.store.now.params[this.view];
    for (const control of this.controls) {
      this.setters.get(control.id)?.(params[control.id]);
      const row = this.rows.get(control.id);
      if (row) row.hidden = control.shown ? !control.shown(params) : false;
    }
  }

  /** @param {Control} control */
  row(control) {
    if (control.kind === "choice") return this.choice(control);
    if (control.kind === "toggle") return this.toggle(control);
    if (control.kind === "text") return this.text(control);
    return this.range(control);
  }

  /** @param {Control} control */
  range(control) {
    const id = `${this.view}-${control.id}`;
    const slider = el("input", { type: "range", id, min: 0, max: STEPS, step: "any", "data-param": control.id });
    const number = el("input", { type: "text", inputmode: "decimal", class: "number", "aria-label": `${control.label}, exact value`, "data-exact": control.id });
    const shown = control.format ?? ((value) => short(value, 4));
    slider.addEventListener("input", () => this.store.adjust({ [control.id]: fromPlace(control, Number(slider.value)) }));
    slider.addEventListener("change", () => this.store.commit());
    slider.addEventListener("keydown", (event) => this.step(event, control));
    number.addEventListener("change", () => {
      const typed = readNumber(number.value);
      if (typed === null) return this.show();
      this.store.set({ [control.id]: Math.min(Math.max(typed, control.min ?? -Infinity), control.max ?? Infinity) });
    });
    this.setters.set(control.id, (value) => {
      slider.value = String(toPlace(control, value));
      slider.setAttribute("aria-valuetext", shown(value));
      if (document.activeElement !== number) number.value = shown(value);
    });
    return el("div", { class: "control" }, el("label", { for: id }, control.label), number, slider, this.help(control));
  }

  /** Arrow keys move by a sensible step in the value, not in pixels. @param {KeyboardEvent} event @param {Control} control */
  step(event, control) {
    const directions = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 });
    const direction = directions[event.key];
    if (direction === undefined) return;
    event.preventDefault();
    const before = Number(this.store.params[control.id]);
    const place = toPlace(control, before) + direction * keyStep(control);
    const after = fromPlace(control, Math.min(STEPS, Math.max(0, place)));
    this.store.set({ [control.id]: after });
  }

  /** @param {Control} control */
  choice(control) {
    const id = `${this.view}-${control.id}`;
    const select = el("select", { id, "data-param": control.id }, ...(control.options ?? []).map((option) => el("option", { value: option.value }, option.label)));
    select.addEventListener("change", () => this.store.set({ [control.id]: select.value }));
    this.setters.set(control.id, (value) => { select.value = String(value); });
    return el("div", { class: "control choice" }, el("label", { for: id }, control.label), select, this.help(control));
  }

  /** @param {Control} control */
  toggle(control) {
    const id = `${this.view}-${control.id}`;
    const box = el("input", { type: "checkbox", id, "data-param": control.id });
    box.addEventListener("change", () => this.store.set({ [control.id]: box.checked }));
    this.setters.set(control.id, (value) => { box.checked = Boolean(value); });
    return el("div", { class: "control toggle" }, box, el("label", { for: id }, control.label), this.help(control));
  }

  /** @param {Control} control */
  text(control) {
    const id = `${this.view}-${control.id}`;
    const area = el("textarea", { id, rows: 6, spellcheck: "false", "data-param": control.id });
    area.addEventListener("change", () => this.store.set({ [control.id]: area.value }));
    this.setters.set(control.id, (value) => { if (document.activeElement !== area) area.value = String(value); });
    return el("div", { class: "control text" }, el("label", { for: id }, control.label), area, this.help(control));
  }

  /** @param {Control} control */
  help(control) { return control.help ? el("p", { class: "help" }, control.help) : null; }
}

/** `4M`, `1.5e9`, `5%`, `1,024`. @param {string} text */
export function readNumber(text) {
  const match = /^\s*\$?([-+]?[\d.,]+(?:e[-+]?\d+)?)\s*([KMGT]i|[kKMGBTPE%]?)/.exec(text);
  if (!match) return null;
  const factors = /** @type {Record<string, number>} */ ({ k: 1e3, K: 1e3, M: 1e6, G: 1e9, B: 1e9, T: 1e12, P: 1e15, E: 1e18, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, Ti: 1024 ** 4, "%": 0.01 });
  const value = Number(match[1].replace(/,/g, "")) * (factors[match[2]] ?? 1);
  return Number.isFinite(value) ? value : null;
}
