// @ts-check
/** Sliders with a number beside them, choices and switches; all native inputs, so that the keyboard just works. */
import { el } from "./dom.js";
import { short } from "./format.js";

/** @typedef {import("./types.js").Control} Control */
/** @typedef {import("./state.js").Store} Store */

const STEPS = 1000;

/** The nearest of the values the control takes. @param {Control} control @param {number} value */
export function nearest(control, value) {
  const values = control.values ?? [];
  const apart = (/** @type {number} */ one) => (one > 0 && value > 0 ? Math.abs(Math.log(one / value)) : Math.abs(one - value));
  return values.reduce((best, one) => (apart(one) < apart(best) ? one : best), values[0]);
}

/** @param {Control} control @param {number} value */
function toPlace(control, value) {
  const { min = 0, max = 1 } = control;
  if (control.values) return STEPS * control.values.indexOf(nearest(control, value)) / Math.max(1, control.values.length - 1);
  if (control.scale === "log" || control.scale === "log2") return STEPS * Math.log(Math.max(value, min) / min) / Math.log(max / min);
  return STEPS * (value - min) / (max - min);
}

/** @param {Control} control @param {number} place */
function fromPlace(control, place) {
  const { min = 0, max = 1 } = control;
  const share = place / STEPS;
  if (control.values) return control.values[Math.round(share * (control.values.length - 1))];
  if (control.scale === "log2") return 2 ** Math.round(Math.log2(min * (max / min) ** share));
  if (control.scale === "log") return Number((min * (max / min) ** share).toPrecision(3));
  const step = control.step ?? (max - min) / STEPS;
  return Number((Math.round((min + share * (max - min)) / step) * step).toPrecision(6));
}

/** How far one press of an arrow key goes. @param {Control} control */
function keyStep(control) {
  const { min = 0, max = 1 } = control;
  if (control.values) return STEPS / Math.max(1, control.values.length - 1);
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
    /** The value that each control shows. @type {Map<string, any>} */
    this.shown = new Map();
    /** @type {Map<string, HTMLElement>} */
    this.rows = new Map();
    /** @type {Map<string, HTMLElement>} */
    this.headings = new Map();
    this.element = el("form", { class: "controls", "aria-label": "Settings", onsubmit: (/** @type {Event} */ event) => event.preventDefault() });
    let group = "";
    for (const control of controls) {
      if (control.group && control.group !== group) {
        group = control.group;
        const heading = el("h2", {}, group);
        this.headings.set(group, heading);
        this.element.append(heading);
      }
      const row = this.row(control);
      this.rows.set(control.id, row);
      this.element.append(row);
    }
  }

  /** The controls under a heading: from the one that names it to the next that names another. @param {string} name */
  inGroup(name) {
    const first = this.controls.findIndex((control) => control.group === name);
    const next = this.controls.findIndex((control, place) => place > first && control.group && control.group !== name);
    return this.controls.slice(first, next < 0 ? undefined : next);
  }

  /** @param {string} id */
  control(id) { return this.controls.find((control) => control.id === id); }

  show() {
    const params = this.store.now.params[this.view];
    for (const control of this.controls) {
      const value = params[control.id];
      if (this.shown.get(control.id) !== value || control.kind === "text") this.setters.get(control.id)?.(value);
      this.shown.set(control.id, value);
      const row = this.rows.get(control.id);
      if (row) row.hidden = control.shown ? !control.shown(params) : false;
    }
    for (const [name, heading] of this.headings) heading.hidden = !this.inGroup(name).some((control) => !this.rows.get(control.id)?.hidden);
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
    const write = control.format ?? ((/** @type {number} */ value) => short(value, 4));
    const shown = (/** @type {number} */ value) => write(control.values ? nearest(control, value) : value);
    const told = el("p", { class: "told", role: "status", id: `${id}-told` });
    number.setAttribute("aria-describedby", told.id);
    slider.addEventListener("input", () => this.store.adjust({ [control.id]: fromPlace(control, Number(slider.value)) }));
    slider.addEventListener("change", () => {
      this.shown.delete(control.id); // a slider let go between two values stands on the nearer one
      this.store.commit();
    });
    slider.addEventListener("keydown", (event) => this.step(event, control));
    for (const end of ["keyup", "blur"]) slider.addEventListener(end, () => { if (this.store.moving) this.store.commit(); });
    number.addEventListener("input", () => { number.dataset.typing = "1"; });
    number.addEventListener("change", () => {
      delete number.dataset.typing;
      const { value, words } = take(control, number.value, write);
      number.setAttribute("aria-invalid", String(value === null));
      told.dataset.words = words;
      told.textContent = words;
      if (value === null) number.value = shown(Number(this.store.now.params[this.view][control.id]));
      else {
        number.value = shown(value);
        this.store.set({ [control.id]: value });
      }
    });
    this.setters.set(control.id, (value) => {
      slider.value = String(toPlace(control, value));
      slider.setAttribute("aria-valuetext", shown(value));
      if (!number.dataset.typing) number.value = shown(value);
      if (told.dataset.at !== String(value)) {
        if (told.dataset.at !== undefined && document.activeElement !== number) told.textContent = "";
        told.dataset.at = String(value);
      }
      const always = control.say?.(value);
      if (always && !told.textContent) told.textContent = always;
      else if (always && document.activeElement !== number) told.textContent = always;
    });
    return el("div", { class: "control" }, el("label", { for: id }, control.label), number, slider, told, this.help(control));
  }

  /** Arrow keys move by a sensible step in the value, not in pixels; a key held down is one step of undo. @param {KeyboardEvent} event @param {Control} control */
  step(event, control) {
    const directions = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 });
    const direction = directions[event.key];
    if (direction === undefined) return;
    event.preventDefault();
    const before = Number(this.store.now.params[this.view][control.id]);
    const place = toPlace(control, before) + direction * keyStep(control);
    const after = fromPlace(control, Math.min(STEPS, Math.max(0, place)));
    this.store.adjust({ [control.id]: after });
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

/**
 * What a field takes from what was typed: the value, or null, and a sentence if it is not just what was typed.
 * @param {Control} control @param {string} text @param {(value: number) => string} shown
 * @returns {{value: number | null, words: string}}
 */
export function take(control, text, shown) {
  const typed = readNumber(text);
  if (typed === null) return { value: null, words: `"${text.trim().slice(0, 40)}" is not a number; write ${shown(control.values?.[0] ?? control.min ?? 1)}, 13B, 70 billion, 4M, 5 %, 1,024 or 2 weeks` };
  const [least, most] = control.values ? [control.values[0], control.values[control.values.length - 1]] : [control.min ?? -Infinity, control.max ?? Infinity];
  const limited = Math.min(Math.max(typed, least), most);
  const value = control.values ? nearest(control, limited) : control.scale === "log2" ? 2 ** Math.round(Math.log2(limited)) : limited;
  if (typed < least) return { value, words: `${shown(typed)} is too small: took ${shown(value)}, the smallest here` };
  if (typed > most) return { value, words: `${shown(typed)} is too large: took ${shown(value)}, the largest here` };
  return { value, words: Math.abs(value - typed) > 1e-9 * Math.abs(typed) ? `took ${shown(value)}, the nearest to ${shown(typed)}` : "" };
}

/** Words that multiply; a time is in days. @type {Record<string, number>} */
const WORDS = { thousand: 1e3, million: 1e6, billion: 1e9, trillion: 1e12, weeks: 7, week: 7, months: 30, month: 30 };

/** `4M`, `1.5e9`, `13b`, `70 billion`, `2 weeks`, `5%`, `1,024`, `2,50`, `$2.50`; null for anything else. @param {string} text @returns {number | null} */
export function readNumber(text) {
  const spoken = /^(.*\d)\s*(thousand|million|billion|trillion|weeks?|months?)(?:\s+(?:tokens|parameters))?\s*$/i.exec(text);
  if (spoken) {
    const number = readNumber(spoken[1]);
    return number === null ? null : number * WORDS[spoken[2].toLowerCase()];
  }
  if (/^\D*\d+,\d{1,2}(?!\d)\D*$/.test(text)) text = text.replace(",", "."); // a decimal comma
  const match = /^\s*\$?\s*([-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(ki|mi|gi|ti|[kmgbtpe%])?\s*(?:tokens?|parameters|gpus?|b|bytes|flop\/s|times|days?|s|years?)?\s*$/i.exec(text);
  if (!match) return null;
  const factors = /** @type {Record<string, number>} */ ({ k: 1e3, m: 1e6, g: 1e9, b: 1e9, t: 1e12, p: 1e15, e: 1e18, ki: 1024, mi: 1024 ** 2, gi: 1024 ** 3, ti: 1024 ** 4, "%": 0.01 });
  const value = Number(match[1].replace(/,/g, "")) * (factors[(match[2] ?? "").toLowerCase()] ?? 1);
  return Number.isFinite(value) ? value : null;
}
