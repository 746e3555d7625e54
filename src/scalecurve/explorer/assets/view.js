// @ts-check
/** What the four views share: presets, settings, pins, a summary that is read aloud, and commands. */
import { Silence, alive, latest } from "./api.js";
import { Controls, nearest } from "./controls.js";
import { el, toast } from "./dom.js";
import { copyText } from "./share.js";
import { PIN_NAMES } from "./state.js";

/** @typedef {import("./state.js").Store} Store */
/** @typedef {import("./types.js").Params} Params */
/** @typedef {import("./types.js").Control} Control */

const AGAIN = 1500; // milliseconds until a silent server is asked again
const PATIENCE = 100; // milliseconds after which what is not recomputed turns grey

export class View {
  /**
   * @param {Store} store
   * @param {string} name
   * @param {Control[]} controls
   * @param {Array<{label: string, params: Params}>} presets
   */
  constructor(store, name, controls, presets) {
    this.store = store;
    this.name = name;
    this.waiting = 0;
    this.turn = 0; // changes so far
    /** When each change was made that has no answer yet. @type {Map<number, number>} */
    this.unanswered = new Map();
    this.clock = 0;
    this.controls = new Controls(controls, store, name);
    this.summary = el("div", { class: "summary", role: "status", "aria-live": "polite" });
    this.why = el("details", { class: "why", open: matchMedia("(min-width: 52rem)").matches });
    this.problem = el("p", { class: "problem", role: "alert", hidden: true });
    this.taken = el("p", { class: "took", role: "status", hidden: true });
    this.computing = el("p", { class: "computing", role: "status" });
    this.stage = el("div", { class: "stage" });
    this.commands = el("div", { class: "commands" });
    this.pins = el("ul");
    const pin = el("button", { type: "button", class: "pin", onclick: () => { store.pin(); toast("Pinned; change the settings to compare"); } }, "Pin these settings to compare");
    this.lead = el("div", { class: "lead" });
    this.side = el("div", { class: "side" }, this.presetBox(presets), this.controls.element, el("div", { class: "pins" }, pin, this.pins));
    const foot = el("div", { class: "foot" }, this.commands);
    this.element = el("div", { class: "view", role: "tabpanel", id: `view-${name}`, "aria-labelledby": `tab-${name}` }, this.taken, this.summary, this.computing, this.problem,
      el("div", { class: "split" }, el("div", { class: "left-half" }, this.side, foot), el("div", { class: "right-half" }, this.lead, this.stage)));
  }

  /** The settings of this view, whichever is open when an answer comes. */
  get params() { return this.store.now.params[this.name]; }
  get pinned() { return this.store.now.pins[this.name] ?? []; }

  /** The current settings first, then each pin. @returns {Array<{name: string, params: Params, pin: boolean}>} */
  get settings() {
    return [{ name: "", params: { ...this.params }, pin: false }, ...this.pinned.map((params, place) => ({ name: PIN_NAMES[place], params, pin: true }))];
  }

  /** @param {Array<{label: string, params: Params}>} presets */
  presetBox(presets) {
    if (!presets.length) return el("div");
    const id = `${this.name}-preset`;
    const select = el("select", { id }, el("option", { value: "" }, "choose a worked case"), ...presets.map((preset, place) => el("option", { value: place }, preset.label)));
    select.addEventListener("change", () => {
      const preset = presets[Number(select.value)];
      if (select.value !== "" && preset) this.store.set({ ...this.store.defaults[this.name], ...preset.params });
      select.value = "";
    });
    return el("div", { class: "control choice" }, el("label", { for: id }, "Worked cases"), select);
  }

  /** Show the settings now and the answer when it comes. */
  update() {
    this.mend();
    this.controls.show();
    this.showPins();
    this.unanswered.set(this.turn += 1, performance.now());
    this.watch();
    latest(this.name, async () => {
      const turn = this.turn;
      try {
        await this.refresh();
        this.fresh();
      } catch (error) {
        this.stale(error);
      }
      for (const each of this.unanswered.keys()) if (each <= turn) this.unanswered.delete(each);
      this.watch();
    });
  }

  /** Grey as soon as a change has waited too long for its answer. */
  watch() {
    clearTimeout(this.clock);
    const [oldest] = this.unanswered.values();
    const left = oldest === undefined ? Infinity : oldest + PATIENCE - performance.now();
    this.pending(left <= 0);
    if (left > 0 && left < Infinity) this.clock = setTimeout(() => this.watch(), left);
  }

  /** What is shown answers other settings, until the answer comes: nothing of it can be saved. @param {boolean} waits */
  pending(waits) {
    this.element.classList.toggle("pending", waits);
    const words = waits ? `computing ${this.subject} ...` : "";
    if (this.computing.textContent !== words) this.computing.textContent = words;
    this.lock();
  }

  lock() {
    const outdated = this.element.matches(".pending, .stale");
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (this.element.querySelectorAll("[data-share]"))) button.disabled = outdated || Boolean(button.closest(".panel.stale"));
  }

  /** What is being computed, in a word or two. */
  get subject() { return "the answer"; }

  /** What a link or a worked case asks for and this page does not have becomes the usual; the page says what it took. */
  mend() {
    const standard = this.store.defaults[this.name];
    for (const params of [this.params, ...this.pinned]) {
      for (const { id, label, kind, options, open, frozen } of this.controls.controls) {
        const asked = params[id];
        const known = kind !== "choice" || open || options?.some(({ value }) => value === asked);
        if (asked === standard[id] || (known && !frozen)) continue;
        const why = frozen ? "is not on this page, which has no server: run scalecurve explore" : "is not known";
        this.store.said.push(`${label}: "${String(asked).slice(0, 40)}" ${why}; took "${options?.find(({ value }) => value === standard[id])?.label ?? standard[id]}".`);
        params[id] = standard[id];
      }
    }
    this.taken.textContent = this.store.said.join("\n");
    this.taken.hidden = !this.store.said.length;
  }

  fresh() {
    this.problem.hidden = true;
    this.element.classList.remove("stale");
    this.lock();
  }

  /** What is shown is not the answer to the settings: grey it, say why, and try again if the server is silent. @param {unknown} error */
  stale(error) {
    const silent = error instanceof Silence;
    const words = error instanceof Error ? error.message : String(error);
    const kept = this.summary.children.length ? "\nWhat stands below in grey is the last answer, to other settings." : "";
    this.problem.textContent = `${silent ? `${words}: trying again by itself.` : words}${kept}`;
    this.problem.hidden = false;
    this.element.classList.add("stale");
    this.lock();
    if (silent) this.wait();
  }

  /** Ask again as soon as the server answers. */
  wait() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(async () => {
      if (this.store.view !== this.name) return;
      if (await alive()) this.update();
      else this.wait();
    }, AGAIN);
  }

  /** @returns {Promise<void>} */
  async refresh() {}

  showPins() {
    const key = JSON.stringify(this.pinned);
    if (this.pins.dataset.key === key) return;
    this.pins.dataset.key = key;
    const rows = this.pinned.map((pin, place) => el("li", {}, el("b", {}, PIN_NAMES[place]), ` ${this.describe(pin)} `,
      el("button", { type: "button", onclick: () => this.store.unpin(place), "aria-label": `Remove pin ${PIN_NAMES[place]}` }, "remove")));
    this.pins.replaceChildren(...rows);
  }

  /** What differs from the defaults, in words. @param {Params} params */
  describe(params) {
    const standard = this.store.defaults[this.name];
    const changed = this.controls.controls.filter((control) => control.kind !== "text" && params[control.id] !== standard[control.id]);
    const words = changed.map((control) => `${control.label.toLowerCase()} ${typeof params[control.id] === "number" && control.format ? control.format(Number(params[control.id])) : params[control.id]}`);
    return words.join(", ") || "as at the start";
  }

  /** The answer, its figures (name, value, what it means), then why. @param {string[]} sentences @param {string[][]} [tiles] */
  say(sentences, tiles = []) {
    const [answer, ...rest] = sentences.map((sentence) => el("p", {}, sentence));
    this.why.replaceChildren(el("summary", {}, "Why, and what next"), ...rest);
    this.why.hidden = !rest.length;
    this.summary.replaceChildren(answer, ...(tiles.length ? [tileList(tiles)] : []), this.why);
  }

  /** @param {string[]} commands @param {Record<string, string>} [files]  that the commands read */
  showCommands(commands, files = {}) {
    const key = JSON.stringify([commands, files]);
    if (this.commands.dataset.key === key) return;
    this.commands.dataset.key = key;
    const blocks = [...Object.entries(files).map(([name, text]) => ({ what: name, text: `# ${name}\n${text.trim()}` })), ...commands.map((text) => ({ what: "Command", text }))];
    this.commands.replaceChildren(el("h2", {}, "The same on the command line"), ...blocks.map(({ what, text }) =>
      el("div", { class: "command" }, el("pre", { tabindex: "0", role: "group", "aria-label": what }, ...unbroken(text)), el("button", { type: "button", "aria-label": `Copy ${what}`, onclick: () => copyText(text, what) }, "Copy"))));
  }

  /** Dragging a handle in a chart. @param {Record<string, number>} changes @param {boolean} done */
  dragged(changes, done) {
    if (done) this.store.commit();
    else this.store.adjust(this.tidy(changes));
  }

  /** Whole numbers and ranges for what was dragged. @param {Record<string, number>} changes */
  tidy(changes) {
    /** @type {Record<string, number>} */
    const tidied = {};
    for (const [id, value] of Object.entries(changes)) {
      const control = this.controls.controls.find((each) => each.id === id);
      const limited = Math.min(Math.max(value, control?.min ?? -Infinity), control?.max ?? Infinity);
      tidied[id] = control?.values ? nearest(control, limited) : control?.scale === "log2" ? 2 ** Math.round(Math.log2(limited)) : control?.step ? Number((Math.round(limited / control.step) * control.step).toPrecision(6)) : Number(limited.toPrecision(3));
    }
    return tidied;
  }
}

/** @param {string[][]} tiles  name, value, what it means */
export function tileList(tiles) {
  return el("dl", { class: "facts" }, ...tiles.map(([name, value, meaning = ""]) => el("div", meaning ? { title: meaning } : {}, el("dt", {}, name), el("dd", {}, value))));
}

/** A command whose options are not broken at their hyphens; its text stays the same. @param {string} text */
function unbroken(text) {
  return text.split(/([ \n]+)/).map((word) => (word.trim() ? el("span", { class: "word" }, word) : word));
}
