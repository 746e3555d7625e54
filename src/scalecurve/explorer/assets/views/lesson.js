// @ts-check
/** The lesson: one chart, three sliders, and the cap of data parallelism to drag.  A smooth closed form, computed here. */
import { ask, latest } from "../api.js";
import { el } from "../dom.js";
import { billions, dollars, formatSeconds, percent, short, whole } from "../format.js";
import { CONSTANTS, STEP_WORDS, larger, steps } from "../laws.js";
import { carried } from "../live.js";
import { Panel, tableOf } from "../panel.js";
import { View } from "../view.js";

/** @typedef {{N: number, critical: number, P: number}} Job */

/** @type {import("../types.js").Params} */
export const LESSON = { N: 70e9, critical: 4e6, P: 4096, layouts: false };
const [SMALLEST, LARGEST] = [8, 131072];
const POINTS = 140;
const FAR = 0.05; // from where a difference between lesson and planner is explained
const GROWS = 800; // milliseconds in which a prediction comes true

/** @type {import("../types.js").Control[]} */
const CONTROLS = [
  { id: "N", label: "Model size", kind: "range", min: 1e9, max: 1e12, scale: "log", format: billions, help: "parameters" },
  { id: "critical", label: "Critical batch", kind: "range", min: 2e5, max: 6e7, scale: "log", format: (value) => short(value), help: "tokens of a step beyond which a larger batch hardly learns faster; or drag the cap" },
  { id: "P", label: "Accelerators", kind: "range", min: SMALLEST, max: LARGEST, scale: "log", format: whole },
  { id: "layouts", label: "Show real layouts", kind: "toggle", help: "what the planner finds for this job on H100 with 400 Gb/s InfiniBand" },
];

/** What the planner counts and the smooth form does not, or counts otherwise. @type {Record<string, string>} */
const REASONS = {
  tensor: "tensor parallelism, which the lesson lets overlap inside a node only", data: "gradient exchange that is not hidden, which the lesson leaves out", bubble: "the pipeline's bubble in whole stages and micro-batches",
  pipeline: "messages between pipeline stages, which the lesson leaves out", context: "splitting the sequence, which the lesson never does", expert: "experts",
};

/** Predict, then see: the settings before and after, the choices (the first is right), and what the numbers say. */
const QUESTIONS = [
  { ask: "The critical batch halves. Where does green end now?", from: { N: 70e9, critical: 4e6, P: 4096 }, to: { critical: 2e6 },
    choices: ["at half as many accelerators", "where it ended before", "at twice as many accelerators"], order: [1, 0, 2],
    say: (/** @type {any} */ was, /** @type {any} */ now) => `Green ends at ${whole(now.cap)} instead of ${whole(was.cap)}: each replica needs a share of the batch, and there is half the batch.` },
  { ask: "The model becomes ten times as large, the critical batch stays. What happens to the curve?", from: { N: 7e9, critical: 4e6, P: 16384 }, to: { N: 70e9 },
    choices: ["it bends later, and lifts beyond the bend", "it bends earlier: there is more to send", "it stays where it is"], order: [1, 2, 0],
    say: (/** @type {any} */ was, /** @type {any} */ now) => `At ${whole(now.P)} accelerators ${percent(was.efficiency)} becomes ${percent(now.efficiency)}, and the cap moves from ${whole(was.cap)} to ${whole(now.cap)}: compute grows faster than traffic.` },
  { ask: "You are past the cap and double the accelerators. What happens to the run?", from: { N: 70e9, critical: 4e6, P: 8192 }, to: { P: 16384 },
    choices: ["a little faster, and dearer", "twice as fast at the same price", "slower"], order: [1, 0, 2],
    say: (/** @type {any} */ was, /** @type {any} */ now) => `Twice the accelerators are ${(was.seconds / now.seconds).toFixed(2)} times as fast: ${dollars(was.usd)} becomes ${dollars(now.usd)}.` },
];

/** Every step for a job, with the efficiency against the smallest P that holds the model. @param {Job} job */
export function strong(job) {
  const now = steps(job);
  return { ...now, efficiency: relative(now, job) };
}

/** The same for a model that grew with P. @param {Job} job */
export function weak(job) {
  const now = steps({ P: job.P, ...larger({ ...job, smallest: steps(job).smallest }) });
  return { ...now, efficiency: relative(now, job) };
}

/** @param {Record<string, number>} now @param {Job} job */
function relative(now, job) {
  const first = steps({ ...job, P: steps(job).smallest });
  return now.compute * now.useful / (first.compute * first.useful);
}

/** Points of a curve from one P to another, evenly apart on the axis. @param {Job} job @param {(job: Job) => any} curve @param {number} from @param {number} to */
function points(job, curve, from, to) {
  const count = Math.max(2, Math.ceil(POINTS * Math.log(to / from) / Math.log(LARGEST / SMALLEST)));
  return to <= from ? [] : Array.from({ length: count + 1 }, (_, step) => from * (to / from) ** (step / count)).map((P) => ({ x: P, y: curve({ ...job, P }).efficiency }));
}

export class LessonView extends View {
  /** @param {import("../state.js").Store} store */
  constructor(store) {
    super(store, "lesson", CONTROLS, []);
    this.side.querySelector(".pins")?.remove();
    this.panel = new Panel("lesson", "How much useful work each accelerator still does", this.dragged.bind(this));
    this.quiz = el("section", { class: "quiz", "aria-label": "Predict first" });
    this.formula = el("pre", { class: "formula", tabindex: "0", role: "group", "aria-label": "Formula" });
    this.place = -1; // of the question asked; -1 before the first, 3 after the last
    this.lead.append(this.panel.element);
    this.side.prepend(this.quiz);
    this.stage.append(el("details", { class: "behind", ontoggle: () => this.update() }, el("summary", {}, "The formula with these numbers"), this.formula,
      el("p", { class: "note" }, "Smooth on purpose. Left out: gradient exchange that is not hidden, whole numbers, slower links between nodes. The batch is held at the critical batch, where a run needs twice the tokens of a small batch, at every P alike. Weak: the model grows as the square root of P, the critical batch as its fourth root.")));
    /** The planner's rows and the job they are for. @type {{key: string, rows: any[], commands: string[], files: any} | null} */
    this.real = null;
    this.offer();
  }

  /** @returns {Job} */
  get job() {
    const { N, critical, P } = this.params;
    return { N: Number(N), critical: Number(critical), P: Number(P) };
  }

  /** What was shown before this change. @returns {Job | null} */
  get before() {
    const text = this.store.moving ? this.store.committed : this.store.past.at(-1);
    const past = text && JSON.parse(text).params.lesson;
    return past && (past.N !== this.params.N || past.critical !== this.params.critical) ? { N: past.N, critical: past.critical, P: past.P } : null;
  }

  async refresh() {
    const job = this.job;
    const now = strong(job);
    const first = strong({ ...job, P: now.smallest });
    const fits = job.P >= now.smallest * 0.999;
    const tiles = [["green ends at P", whole(now.cap), "the cap: up to here replicas share the critical batch; beyond it the model itself must be split further"], [`useful work of each at ${whole(job.P)}`, fits ? percent(now.efficiency) : "does not fit", "useful work of each accelerator, against the smallest cluster that holds the model"], ["cost of the run", fits ? `${dollars(now.usd)} in ${formatSeconds(now.seconds, 2)}` : "-", `at ${dollars(CONSTANTS.price)} for each accelerator and hour`]];
    const ghost = this.before;
    this.say(sentences(job, now, first, weak(job), ghost && strong(ghost)), tiles);
    this.draw(job, now);
    if (this.formula.closest("details")?.open) this.formula.textContent = Object.entries(STEP_WORDS).map(([name, words]) => `${name} = ${words} = ${short(now[name], 4)}`).join("\n");
    if (this.params.layouts && !this.store.moving) this.overlay(job);
  }

  /** @param {Job} job @param {any} now */
  draw(job, now) {
    const [from, cap] = [Math.max(SMALLEST, now.smallest), Math.min(LARGEST, now.cap)];
    const ghost = this.before;
    const was = ghost && strong(ghost);
    const rows = this.params.layouts && this.real?.key === keyOf(job) ? this.real.rows : [];
    const table = Array.from({ length: 15 }, (_, power) => SMALLEST * 2 ** power).filter((P) => P >= from).map((P) => ({ one: strong({ ...job, P }), two: weak({ ...job, P }) }));
    this.panel.show({
      id: "lesson", title: "The training ceiling", tall: true, alt: `Efficiency over accelerators for ${billions(job.N)} parameters: green up to ${whole(now.cap)}, ${percent(now.efficiency)} at ${whole(job.P)}.`,
      x: { label: "accelerators P", scale: "log10", min: SMALLEST, max: LARGEST, format: thousands }, y: { label: "useful work of each", scale: "linear", min: 0, max: 1.05, format: percent },
      series: [
        ...(was && ghost ? [{ name: "before", points: points(ghost, strong, Math.max(SMALLEST, was.smallest), LARGEST), color: "var(--muted)", width: 1.6, dash: "3 3", quiet: true, tag: "before" }] : []),
        { name: "weak: the model grows with P", points: points(job, weak, from, LARGEST), color: "var(--blue)", dash: "9 4", width: 2, tag: "weak" },
        { name: "strong: replicas share the batch", points: points(job, strong, from, cap), color: "var(--green)", width: 4.5 },
        { name: "strong, past the cap: the model is split further", points: points(job, strong, Math.max(from, cap), LARGEST), color: "var(--orange)", width: 3.4, tag: "strong" },
        ...(rows.length ? [{ name: "real layouts, by the planner", kind: /** @type {const} */ ("points"), marker: "diamond", color: "var(--purple)", points: rows.map((row) => ({ x: row.gpus, y: row.useful_efficiency, label: `${percent(row.useful_efficiency)}: ${row.words}` })) }] : []),
      ],
      zones: [{ from, to: cap, label: "", color: "var(--green)", wash: true }],
      marks: [{ x: Math.min(now.cap, LARGEST), label: `cap ${whole(now.cap)} (drag)`, param: "critical", factor: job.critical / now.cap, color: "var(--green)" }, { x: job.P, label: `P = ${whole(job.P)}`, param: "P", color: "var(--ink)" }],
      labels: [zoneName(from, cap, "cheap: replicas share the batch", "var(--green)"), zoneName(Math.max(from, cap), LARGEST, "dear: the model is split further", "var(--orange)")],
      handles: job.P >= from ? [{ x: job.P, y: now.efficiency, label: percent(now.efficiency), color: "var(--ink)" }] : [],
    }, tableOf(["P", "strong", "weak", "run", "USD"], table.map(({ one, two }) => [whole(one.P), percent(one.efficiency), percent(two.efficiency), formatSeconds(one.seconds), dollars(one.usd)])), command(job), this.compared(job, rows));
  }

  /** The planner's answer for the same job, when it comes. @param {Job} job */
  overlay(job) {
    const key = keyOf(job);
    this.showCommands(this.real?.key === key ? this.real.commands : [command(job)], this.real?.key === key ? this.real.files : {});
    if (this.real?.key === key || carried()) return;
    this.panel.note.textContent = `computing the planner's layouts for ${billions(job.N)} ...`;
    latest("lesson-layouts", async () => {
      const asked = { model: "size", size: job.N, batch_tokens: job.critical, grows: false, critical: "measured", critical_tokens: job.critical, seq: CONSTANTS.seq, tokens_per_parameter: CONSTANTS.tokens_per_parameter, price: CONSTANTS.price };
      const answer = await ask("training", asked).catch((error) => ({ rows: [], commands: [], refused: error.message }));
      const words = (/** @type {any} */ row) => ["tp", "pp", "dp"].map((name) => `${name} ${row.layout[name]}`).join(", ");
      this.real = { key, rows: answer.rows.map((/** @type {any} */ row) => ({ ...row, words: words(row) })), commands: answer.commands, files: answer.files };
      if (answer.refused) this.panel.note.textContent = answer.refused;
      if (keyOf(this.job) === key && this.params.layouts) this.update();
    });
  }

  /** Where lesson and planner differ most, and why. @param {Job} job @param {any[]} rows */
  compared(job, rows) {
    if (!this.params.layouts) return "";
    if (carried()) return "Real layouts need the planner: run the command below.";
    if (!rows.length) return this.store.moving ? "real layouts come when you let go" : this.real?.key === keyOf(job) ? "The planner finds no layout for this job." : `computing the planner's layouts for ${billions(job.N)} ...`;
    const apart = rows.map((row) => ({ row, lesson: strong({ ...job, P: row.gpus }).efficiency })).filter(({ row, lesson }) => Math.abs(row.useful_efficiency - lesson) > FAR);
    if (!apart.length) return `The planner agrees within ${100 * FAR} points at every P.`;
    const { row, lesson } = apart.reduce((most, one) => (Math.abs(one.row.useful_efficiency - one.lesson) > Math.abs(most.row.useful_efficiency - most.lesson) ? one : most));
    const [part, seconds] = Object.entries(row.breakdown).filter(([name]) => REASONS[name]).reduce((most, one) => (Number(one[1]) > Number(most[1]) ? one : most));
    const lower = row.useful_efficiency < lesson;
    const why = lower ? `${percent(Number(seconds) / row.step_seconds)} of its step is ${REASONS[part]}` : "it finds splits that the smooth form does not try: larger pipelines of interleaved chunks, and more shards of memory";
    return `They differ most at ${whole(row.gpus)}: planner ${percent(row.useful_efficiency)} (${row.words}), lesson ${percent(lesson)}; ${why}.`;
  }

  /** The next question, or the way to it. @param {HTMLElement} [verdict] */
  offer(verdict) {
    const button = (/** @type {string} */ label, /** @type {() => void} */ action) => el("button", { type: "button", onclick: action }, label);
    const question = QUESTIONS[this.place];
    const next = (/** @type {number} */ place) => () => { this.place = place; this.pose(); };
    const kids = verdict ? [verdict, this.place < QUESTIONS.length - 1 ? button("Next question", next(this.place + 1)) : button("Now play", next(QUESTIONS.length))]
      : question ? [el("h2", {}, `Predict first: ${this.place + 1} of ${QUESTIONS.length}`), el("p", {}, question.ask), ...question.order.map((which) => button(question.choices[which], () => this.reveal(which)))]
        : [el("p", {}, this.place < 0 ? "Before you pull a slider: can you say what it will do?" : "Pull the sliders, or drag the cap in the chart."), button(this.place < 0 ? "Three predictions" : "Again", next(0))];
    this.quiz.replaceChildren(...kids);
  }

  /** Set the scene of the question. */
  pose() {
    const question = QUESTIONS[this.place];
    if (question) this.store.set({ ...question.from, layouts: false });
    this.offer();
  }

  /** Let the prediction come true before the reader's eyes, then say who was right. @param {number} chosen */
  reveal(chosen) {
    const question = QUESTIONS[this.place];
    const was = strong(question.from);
    const to = { ...question.from, ...question.to };
    const began = performance.now();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const frame = (/** @type {number} */ time) => {
      const share = still ? 1 : Math.min(1, Math.max(0, (time - began) / GROWS));
      this.store.adjust(Object.fromEntries(Object.entries(question.to).map(([name, end]) => [name, share === 1 ? end : /** @type {any} */ (question.from)[name] * (end / /** @type {any} */ (question.from)[name]) ** share])));
      if (share < 1) requestAnimationFrame(frame);
      else {
        this.store.commit();
        this.offer(el("p", { role: "status" }, el("b", {}, chosen ? "Not quite. " : "Right. "), question.say(was, strong(to))));
      }
    };
    requestAnimationFrame(frame);
  }
}

/** @param {Job} job @param {any} now @param {any} first @param {any} loose @param {any} was  before the last change */
function sentences(job, now, first, loose, was) {
  const model = `A ${billions(job.N)} model with a critical batch of ${short(job.critical)} tokens`;
  if (job.P < now.smallest * 0.999) return [`${model} does not fit on ${whole(job.P)} accelerators; it needs about ${whole(now.smallest)}.`];
  const dearer = now.usd / first.usd - 1;
  const side = now.cap <= now.smallest ? "has no cheap zone: the batch is smaller than the smallest cluster needs" : `is cheap to scale up to ${whole(now.cap)} accelerators`;
  const where = job.P > now.cap * 1.005 ? `${(job.P / now.cap).toPrecision(2)} times as many` : "below it";
  return [`${model} ${side}. At ${whole(job.P)}, ${where}, each does ${percent(now.efficiency)} of what it could, and the run costs ${dearer < 0.005 ? "no more" : `${percent(dearer)} more`} than on ${whole(now.smallest)}.`,
    ...(was ? [`Before this change green ended at ${whole(was.cap)}${was.cap === now.cap ? " too" : `: the cheap zone is now ${Number((now.cap / was.cap).toPrecision(2))} times as long`}.`] : []),
    `Strong: one model is split further, so each doubling gives less. Weak: a model that grew to ${billions(loose.N)} keeps ${percent(loose.efficiency)} there.`];
}

/** The name of a stretch in its middle, in a word where the stretch is narrow. @param {number} from @param {number} to @param {string} text @param {string} color */
function zoneName(from, to, text, color) {
  const wide = Math.log(to / from) > 0.3 * Math.log(LARGEST / SMALLEST);
  return { x: Math.sqrt(from * to), y: 0.1, text: wide ? text : text.split(":")[0], color };
}

/** @param {Job} job */
const keyOf = ({ N, critical }) => `${N} ${critical}`;

/** The planner's own answer to a job of this shape. @param {Job} job */
function command(job) {
  const layers = Math.max(8, 8 * Math.round(steps(job).hidden / 1024));
  const sequences = Math.max(1, Math.round(job.critical / CONSTANTS.seq));
  return `scalecurve plan --model hidden=${128 * layers},layers=${layers},heads=${layers} --cluster h100-ib400 --gpus 8..131072 --seq ${CONSTANTS.seq} --global-batch fixed:${sequences}seq --critical-batch ${Math.round(job.critical)}`;
}

/** @param {number} value */
const thousands = (value) => (value >= 1000 ? `${Number((value / 1000).toPrecision(3))}k` : String(Math.round(value)));
