// @ts-check
/** Laws: one serial share, one communication coefficient, and the two questions side by side. */
import { ask } from "../api.js";
import { el } from "../dom.js";
import { percent, short, whole } from "../format.js";
import { Panel } from "../panel.js";
import { View, tileList } from "../view.js";

/** @typedef {import("../types.js").Params} Params */

/** @type {Params} */
export const LAWS = { serial: 0.05, comm: 0.01, largest: 128, hold: 0.8 };

/** @type {import("../types.js").Control[]} */
const CONTROLS = [
  { id: "serial", label: "Serial fraction s", kind: "range", min: 0, max: 0.5, step: 0.001, format: (value) => short(value, 3), help: "share of the one-worker time that does not divide" },
  { id: "comm", label: "Communication coefficient c", kind: "range", min: 0, max: 0.1, step: 0.0005, format: (value) => short(value, 3), help: "added at each doubling of K, as a share of T(1)" },
  { id: "largest", label: "Largest K", kind: "range", min: 8, max: 65536, scale: "log2", format: whole },
  { id: "hold", label: "Efficiency to hold", kind: "range", min: 0.05, max: 0.99, step: 0.01, format: percent },
];

/** @type {Array<{label: string, params: Params}>} */
const PRESETS = [
  { label: "5 % serial, c = 0.01: fails strong, passes weak", params: { serial: 0.05, comm: 0.01, largest: 128 } },
  { label: "5 % serial alone, to K = 512: a ceiling of 20", params: { serial: 0.05, comm: 0, largest: 512 } },
  { label: "1 % serial, cheap network", params: { serial: 0.01, comm: 0.005, largest: 1024 } },
  { label: "1 % serial, dear network: the best K comes early", params: { serial: 0.01, comm: 0.02, largest: 1024 } },
  { label: "20 % serial", params: { serial: 0.2, comm: 0, largest: 512 } },
];

export class LawsView extends View {
  /** @param {import("../state.js").Store} store */
  constructor(store) {
    super(store, "laws", CONTROLS, PRESETS);
    const change = this.dragged.bind(this);
    this.strong = new Panel("strong", "Strong: a fixed job, speedup against S = K", change);
    this.weak = new Panel("weak", "Both questions, efficiency against 1", change);
    this.iso = new Panel("iso", "Isoefficiency: work per worker that holds the efficiency", change);
    this.facts = el("div");
    this.formula = el("pre", { class: "formula", tabindex: "0", role: "group", "aria-label": "Formula" });
    this.lead.append(el("div", { class: "panels" }, this.strong.element, this.weak.element));
    this.stage.append(this.facts, this.formula, el("div", { class: "panels" }, this.iso.element));
  }

  async refresh() {
    const settings = this.settings;
    const answers = await Promise.all(settings.map((each) => ask("laws", each.params)));
    const answer = answers[0];
    this.say(answer.sentences, answer.tiles.slice(0, 3));
    this.showCommands(answer.commands);
    this.formula.textContent = answer.formula;
    this.facts.replaceChildren(tileList(answer.tiles.slice(3)));
    this.showStrong(answers, settings);
    this.showWeak(answers, settings);
    this.showIso(answers, settings);
  }

  /** @param {any[]} answers @param {any[]} settings */
  showStrong(answers, settings) {
    const now = answers[0];
    const largest = now.strong.rows.at(-1).k;
    const points = (/** @type {any} */ answer) => answer.strong.rows.map((/** @type {any} */ row) => ({ x: row.k, y: row.speedup }));
    const optimum = now.optimum;
    const ceiling = now.ceiling;
    const marks = optimum !== null && optimum <= largest ? [{ x: optimum, label: `best K = ${whole(optimum)}`, color: "var(--green)" }] : [];
    this.strong.show({
      id: "strong", title: "Strong scaling", alt: `Speedup by K up to ${largest}, reaching ${short(now.strong.rows.at(-1).speedup)}; ceiling ${ceiling === null ? "none" : short(ceiling)}.`,
      x: { label: "K (workers)", scale: "log2" }, y: { label: "speedup S(K)", scale: "log2", min: 1 },
      series: [{ name: "ideal S = K", points: now.strong.rows.map((/** @type {any} */ row) => ({ x: row.k, y: row.k })), color: "var(--muted)", dash: "5 4", width: 1.3 },
        { name: "strong S(K)", points: points(now), color: "var(--blue)" }, ...pinned(answers, settings, points)],
      levels: ceiling === null || ceiling > largest ? [] : [{ y: ceiling, label: `Amdahl's ceiling 1/s = ${short(ceiling)}`, color: "var(--red)" }], marks,
    }, now.strong.table, now.commands[0]);
  }

  /** @param {any[]} answers @param {any[]} settings */
  showWeak(answers, settings) {
    const now = answers[0];
    const curve = (/** @type {any} */ rows) => rows.map((/** @type {any} */ row) => ({ x: row.k, y: row.efficiency }));
    const last = [now.strong.rows.at(-1), now.weak.rows.at(-1)];
    this.weak.show({
      id: "weak", title: "Efficiency under both questions", alt: `At K = ${last[0].k} strong efficiency is ${percent(last[0].efficiency)}, weak efficiency ${percent(last[1].efficiency)}.`,
      x: { label: "K (workers)", scale: "log2" }, y: { label: "efficiency E(K)", scale: "linear", min: 0, max: 1.05, format: percent },
      series: [{ name: "strong (total work fixed)", points: curve(now.strong.rows), color: "var(--blue)" }, { name: "weak (work per worker fixed)", points: curve(now.weak.rows), color: "var(--green)", dash: "8 3" },
        ...pinned(answers, settings, (answer) => curve(answer.strong.rows), "strong"), ...pinned(answers, settings, (answer) => curve(answer.weak.rows), "weak")],
      levels: [{ y: 1, label: "ideal E = 1", color: "var(--muted)" }, { y: Number(this.params.hold), label: "held efficiency (drag)", color: "var(--red)", param: "hold" }],
      marks: now.first_below === null ? [] : [{ x: now.first_below, label: `strong E below ${percent(Number(this.params.hold))} from K = ${whole(now.first_below)}`, color: "var(--red)" }],
    }, now.weak.table, now.commands[0], "The same system fails one plot and passes the other: they answer different questions.");
  }

  /** @param {any[]} answers @param {any[]} settings */
  showIso(answers, settings) {
    const points = (/** @type {any} */ answer) => answer.isoefficiency.rows.filter((/** @type {any} */ row) => row.work !== null && row.work !== undefined).map((/** @type {any} */ row) => ({ x: row.k, y: row.work }));
    const now = answers[0];
    const last = points(now).at(-1);
    this.iso.show({
      id: "iso", title: "Isoefficiency", alt: last ? `Work per worker that holds ${percent(Number(this.params.hold))}: ${short(last.y)} at K = ${last.x}.` : "No amount of work holds the efficiency.",
      x: { label: "K (workers)", scale: "log2" }, y: { label: "work per worker w(K)", scale: "linear", min: 0 },
      series: [{ name: `w(K) that holds E = ${percent(Number(this.params.hold))}`, points: points(now), color: "var(--blue)", kind: "both" }, ...pinned(answers, settings, points)],
    }, now.isoefficiency.table, now.commands[2], "In units of the work one worker does in T(1); 0 where the serial part alone keeps workers busy.");
  }
}

/** The pinned settings as dashed curves. @param {any[]} answers @param {any[]} settings @param {(answer: any) => any[]} points @param {string} [word] */
function pinned(answers, settings, points, word = "") {
  return settings.slice(1).map((each, place) => ({ name: `pin ${each.name}${word ? ` ${word}` : ""}`, points: points(answers[place + 1]), color: place ? "var(--orange)" : "var(--purple)", dash: word === "weak" ? "2 3" : "4 3", width: 1.7 }));
}
