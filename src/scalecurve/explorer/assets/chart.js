// @ts-check
/** One chart: drawn whole as SVG at every change, which for these sizes takes a few milliseconds. */
import { scale } from "./axes.js";
import { el } from "./dom.js";
import { count, escape, visible } from "./format.js";

/** @typedef {import("./types.js").ChartSpec} ChartSpec */
/** @typedef {import("./types.js").Series} Series */
/** @typedef {import("./types.js").Mark} Mark */

export const COLORS = ["var(--blue)", "var(--orange)", "var(--green)", "var(--purple)", "var(--red)", "var(--sky)", "var(--ink)"];
const LETTER = 6.7; // pixels a letter takes at 12 px, a little too wide on purpose
const LINE = 16;
const ZOOMS = 14; // pixels from which a drag over the plot is a zoom, not a click
const NARROW = 440; // pixels below which a plot has no room for texts beside its points
const SMALL = 132; // pixels of a plot there, so that a chart with its texts takes about 220
const PALE = 0.12; // opacity of a shaded stretch
const STRIP = 5; // pixels of a stretch along the axis
const HALO = 'stroke="var(--paper)" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'; // behind letters
const REACH = 16; // pixels within which a handle can be grabbed

export class Chart {
  /** @param {(changes: Record<string, number>, done: boolean) => void} onChange  a handle was dragged */
  constructor(onChange) {
    this.onChange = onChange;
    this.paper = el("div");
    this.readout = el("div", { class: "readout", hidden: true });
    this.host = el("div", { class: "chart" }, this.paper, this.readout);
    /** Where the pointer is, in pixels. @type {{px: number, py: number} | null} */
    this.pointer = null;
    this.legend = el("div", { class: "legend", role: "group", "aria-label": "Curves shown" });
    this.back = el("button", { type: "button", class: "unzoom", hidden: true, onclick: () => this.zoom(null) }, "Whole axis");
    this.element = el("div", { class: "chart-box" }, this.host, el("div", { class: "under" }, this.legend, this.back));
    /** @type {ChartSpec | null} */
    this.spec = null;
    /** @type {Drawing | null} */
    this.drawing = null;
    /** @type {Mark | null} */
    this.held = null;
    /** Where a drag over the empty plot began, in pixels. @type {number | null} */
    this.from = null;
    /** The part of the x axis shown. @type {{min: number, max: number} | null} */
    this.range = null;
    /** Names switched off in the legend. @type {Set<string>} */
    this.off = new Set();
    this.width = 0;
    new ResizeObserver(() => this.resized()).observe(this.host);
    this.host.addEventListener("pointerdown", (event) => this.grab(event));
    this.host.addEventListener("pointermove", (event) => this.move(event));
    this.host.addEventListener("pointerup", (event) => this.drop(event));
    this.host.addEventListener("pointercancel", () => { this.held = null; this.from = null; });
    this.host.addEventListener("pointerleave", () => { this.readout.hidden = true; });
    this.host.addEventListener("dblclick", () => this.zoom(null));
  }

  resized() {
    const width = Math.round(this.host.clientWidth);
    if (!width || width === this.width) return;
    this.width = width;
    if (this.spec) this.draw(this.spec);
  }

  /** @param {ChartSpec} spec */
  draw(spec) {
    this.spec = spec;
    this.width ||= Math.round(this.host.clientWidth); // then told by the observer: asking again would lay the page out twice
    this.drawing = new Drawing(this.shown(spec), this.width || 640, false);
    this.paper.innerHTML = this.drawing.svg(); // every text inside went through `escape`
    if (this.pointer && !this.readout.hidden) this.read(this.pointer.px, this.pointer.py);
    this.host.dataset.drawn = String(Number(this.host.dataset.drawn ?? 0) + 1);
    this.showLegend(spec);
  }

  /** The chart to be taken away: with its legend and the command that made it, without what can be dragged. @param {string} settings */
  picture(settings) { return this.spec ? new Drawing(unheld(this.shown(this.spec)), Math.max(this.width, 560), true, settings).svg() : ""; }

  /** Without the curves that are switched off, and on the part of the axis that was zoomed to. @param {ChartSpec} spec @returns {ChartSpec} */
  shown(spec) {
    const series = spec.series.map((each, place) => ({ ...each, color: each.color ?? COLORS[place % COLORS.length] })).filter((each) => !this.off.has(each.name));
    return { ...spec, series, x: this.range ? { ...spec.x, ...this.range } : spec.x };
  }

  /** @param {{min: number, max: number} | null} range */
  zoom(range) {
    this.range = range;
    this.back.hidden = !range;
    if (this.spec) this.draw(this.spec);
  }

  /** @param {ChartSpec} spec */
  showLegend(spec) {
    const entries = legendOf(spec);
    const key = entries.map((entry) => `${entry.name}${entry.color}`).join("|");
    if (this.legend.dataset.key === key) return;
    this.legend.dataset.key = key;
    this.legend.replaceChildren(...entries.map((entry) => {
      const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      swatch.setAttribute("width", "22");
      swatch.setAttribute("height", "10");
      swatch.setAttribute("aria-hidden", "true");
      swatch.innerHTML = swatchOf(entry, 1, 9); // only colours and dashes of our own
      if (entry.fixed) return el("span", {}, swatch, entry.name);
      const button = el("button", { type: "button", "aria-pressed": String(!this.off.has(entry.name)), onclick: () => {
        if (!this.off.delete(entry.name)) this.off.add(entry.name);
        button.setAttribute("aria-pressed", String(!this.off.has(entry.name)));
        if (this.spec) this.draw(this.spec);
      } }, swatch, entry.name);
      return button;
    }));
  }

  /** @param {PointerEvent | MouseEvent} event */
  spot(event) {
    const box = this.host.getBoundingClientRect();
    return { px: event.clientX - box.left, py: event.clientY - box.top };
  }

  /** @param {PointerEvent} event */
  grab(event) {
    if (!this.spec || !this.drawing || event.button > 0) return;
    const { px, py } = this.spot(event);
    const { x, y } = this.drawing;
    const near = (/** @type {Mark} */ mark) => (mark.x === undefined || Math.abs(x.place(mark.x) - px) < REACH)
      && (mark.y === undefined || Math.abs(y.place(mark.y) - py) < REACH);
    const movable = [...(this.spec.handles ?? []), ...(this.spec.marks ?? []), ...(this.spec.levels ?? [])].filter((mark) => mark.param);
    this.held = movable.find(near) ?? null;
    this.host.setPointerCapture(event.pointerId);
    if (this.held) this.drag(px, py);
    else if (!this.spec.x.categories) this.from = px;
    this.read(px, py);
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { px, py } = this.spot(event);
    if (this.held) this.drag(px, py);
    else this.read(px, py);
    if (this.from !== null) this.drawing?.select(this.host, this.from, px);
  }

  /** @param {number} px @param {number} py */
  drag(px, py) {
    if (!this.held?.param || !this.drawing) return;
    const inside = (/** @type {import("./axes.js").Scale} */ axis, /** @type {number} */ place) => Math.min(axis.max, Math.max(axis.min, axis.value(place)));
    /** @type {Record<string, number>} */
    const changes = {};
    if (this.held.x !== undefined) changes[this.held.param] = inside(this.drawing.x, px) * (this.held.factor ?? 1);
    if (this.held.y !== undefined) changes[this.held.paramY ?? this.held.param] = inside(this.drawing.y, py) * (this.held.factor ?? 1);
    this.onChange(changes, false);
  }

  /** A drag over the plot zooms, a click picks. @param {PointerEvent} event */
  drop(event) {
    const { px } = this.spot(event);
    const from = this.from;
    this.from = null;
    if (this.held) this.onChange({}, true);
    else if (from !== null && this.drawing && this.spec) {
      const [start, end] = [Math.min(from, px), Math.max(from, px)].map((place) => this.drawing?.x.value(place) ?? 0);
      if (Math.abs(px - from) > ZOOMS) this.zoom({ min: Math.max(start, this.drawing.x.min), max: Math.min(end, this.drawing.x.max) });
      else if (this.spec.pick) {
        this.onChange({ [this.spec.pick]: end }, false);
        this.onChange({}, true);
      } else this.draw(this.spec);
    }
    this.held = null;
  }

  /** The values under the pointer, with their intervals. @param {number} px @param {number} py */
  read(px, py) {
    this.pointer = { px, py };
    if (!this.spec || !this.drawing) return;
    const { x, y, spec } = this.drawing;
    const read = spec.series.filter((series) => !series.quiet && series.kind !== "band");
    const places = read.flatMap((series) => series.points.map((point) => point.x)).filter((value) => value >= x.min && value <= x.max);
    if (!places.length) return;
    const nearest = places.reduce((best, value) => (Math.abs(x.place(value) - px) < Math.abs(x.place(best) - px) ? value : best));
    const lines = read.flatMap((series) => {
      const point = series.points.find((each) => each.x === nearest);
      if (!point || !series.name) return [];
      const spread = point.low != null && point.high != null && series.kind !== "area" && series.kind !== "bars" ? ` (${y.label(point.low)} to ${y.label(point.high)})` : "";
      return [`${series.name}: ${point.label ?? y.label(point.y) + spread}`];
    });
    const more = spec.hints?.get(nearest) ?? [];
    this.readout.replaceChildren(el("b", {}, `${axisName(spec.x.label)} = ${spec.x.categories ? x.label(nearest) : count(nearest)}`), ...[...lines, ...more].map((line) => el("div", {}, line)));
    this.readout.hidden = false;
    const left = Math.min(Math.max(4, px + 14), this.width - this.readout.offsetWidth - 4);
    this.readout.style.left = `${px > this.width / 2 ? Math.max(4, px - this.readout.offsetWidth - 14) : left}px`;
    this.readout.style.top = `${Math.max(0, Math.min(py - 10, this.host.clientHeight - this.readout.offsetHeight))}px`;
  }
}

/** @typedef {{name: string, color: string, dash?: string, filled: boolean, opacity?: number, marker?: string, fixed: boolean}} Entry */

/** Curves that can be switched off, and lines that cannot. @param {ChartSpec} spec @returns {Entry[]} */
function legendOf(spec) {
  const seen = new Set();
  const series = spec.series.map((each, place) => ({ name: each.name, color: each.color ?? COLORS[place % COLORS.length], dash: each.dash, filled: ["band", "area", "bars"].includes(each.kind ?? ""), marker: each.kind === "points" ? each.marker ?? "dot" : undefined, fixed: false }));
  const levels = (spec.levels ?? []).map((each) => ({ name: each.label, color: each.color ?? "var(--muted)", dash: "6 4", filled: false, fixed: true }));
  const zones = (spec.zones ?? []).map((each) => ({ name: each.label, color: each.color, filled: true, opacity: 0.75, fixed: true }));
  return [...series, ...levels, ...zones].filter((each) => each.name && !seen.has(each.name) && seen.add(each.name));
}

/** @param {Entry} entry @param {number} x @param {number} y */
function swatchOf(entry, x, y) {
  if (entry.marker) return dot(x + 10, y - 4, entry.color, entry.marker);
  if (entry.filled) return `<rect x="${round(x)}" y="${y - 9}" width="20" height="9" fill="${entry.color}" fill-opacity="${entry.opacity ?? 0.6}"/>`;
  return `<path d="M${round(x)} ${y - 4}h20" stroke="${entry.color}" stroke-width="2.4"${entry.dash ? ` stroke-dasharray="${entry.dash}"` : ""}/>`;
}

/** @param {number} cx @param {number} cy @param {string} color @param {string} [marker] */
function dot(cx, cy, color, marker) {
  if (marker === "square") return `<rect x="${cx - 3.5}" y="${cy - 3.5}" width="7" height="7" fill="${color}"/>`;
  if (marker === "diamond") return `<path d="M${cx} ${cy - 5}l5 5-5 5-5-5z" fill="${color}"/>`;
  if (marker === "triangle") return `<path d="M${cx} ${cy - 5}l5 9h-10z" fill="${color}"/>`;
  if (marker === "star") return `<path d="M${cx} ${cy - 6}l1.8 4 4.2.4-3.2 2.8 1 4.2-3.8-2.2-3.8 2.2 1-4.2-3.2-2.8 4.2-.4z" fill="${color}" stroke="var(--paper)" stroke-width=".7"/>`;
  return `<circle cx="${cx}" cy="${cy}" r="3.8" fill="${color}"/>`;
}

/** @param {string} label */
const axisName = (label) => label.split(/[ (,]/)[0];

let clips = 0; // clip paths have names that are unique in the page

/** The geometry and the SVG of one chart. */
class Drawing {
  /** @param {ChartSpec} spec @param {number} width @param {boolean} alone  the legend inside, for a picture to take away @param {string} [settings]  told under it */
  constructor(spec, width, alone, settings = "") {
    this.spec = spec;
    this.width = width;
    this.legend = alone ? this.legendRows() : [];
    this.crowded = Boolean(spec.x.categories) && (spec.x.categories ?? []).some((name) => name.length * LETTER > (width - 70) / (spec.x.categories?.length ?? 1) - 4);
    this.drop = this.crowded ? LINE : 0;
    this.settings = broken(settings, Math.floor((width - 20) / LETTER));
    const foot = 44 + this.drop + (this.legend.length + this.settings.length) * LINE;
    const [from, to] = [spec.x.min ?? -Infinity, spec.x.max ?? Infinity];
    const visiblePoints = spec.series.flatMap((series) => series.points.filter((point) => point.x >= from && point.x <= to));
    const yValues = [...visiblePoints.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y]),
      ...(spec.levels ?? []).map((level) => level.y ?? NaN), ...(spec.handles ?? []).map((mark) => mark.y ?? NaN)];
    const xValues = [...spec.series.flatMap((series) => series.points.map((point) => point.x)), ...(spec.handles ?? []).map((mark) => mark.x ?? NaN)];
    const plot = width < NARROW ? SMALL : Math.round(Math.min(spec.tall ? 430 : 330, width * 0.44));
    this.y = scale(spec.y, yValues, plot, 0, 42);
    this.left = 30 + Math.max(...this.y.ticks.map((tick) => this.y.label(tick).length)) * LETTER;
    this.right = width - 14;
    this.x = scale(spec.x, xValues, this.left + 6, this.right - 6, 46);
    this.notes = this.noteRows();
    this.top = 8 + Math.max(this.notes.count, spec.tall ? 2 : 0) * LINE; // the one chart of a view keeps its place while names move
    this.bottom = this.top + plot;
    this.height = this.bottom + foot;
    this.y = scale(spec.y, yValues, this.bottom, this.top, 42);
    this.clip = `clip${clips += 1}`;
    /** Where texts stand inside the plot. @type {Array<{left: number, right: number, y: number}>} */
    this.taken = [];
  }

  svg() {
    const { width, height, spec } = this;
    const drawn = spec.series.map((series, place) => this.series(series, place)).join("");
    const clip = `<clipPath id="${this.clip}"><rect x="${this.left}" y="${this.top - 6}" width="${this.right - this.left}" height="${this.bottom - this.top + 6}"/></clipPath>`;
    const parts = [clip, this.grid(), this.zones(), this.levels(), `<g clip-path="url(#${this.clip})">${drawn}</g>`, this.marks(), this.labels(), this.handles(), this.frame(), this.legendText(), this.settingsText()];
    return `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${escape(visible(spec.alt))}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, DejaVu Sans, sans-serif" font-size="12">${parts.join("")}</svg>`;
  }

  /** The stretch that a drag would zoom to. @param {HTMLElement} host @param {number} from @param {number} to */
  select(host, from, to) {
    const svg = host.querySelector("svg");
    let box = svg?.querySelector(".zooming");
    if (!box) {
      box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      box.setAttribute("class", "zooming");
      svg?.append(box);
    }
    const [start, end] = [Math.max(this.left, Math.min(from, to)), Math.min(this.right, Math.max(from, to))];
    for (const [name, value] of Object.entries({ x: start, y: this.top, width: Math.max(0, end - start), height: this.bottom - this.top, fill: "var(--blue)", "fill-opacity": 0.15 })) box.setAttribute(name, String(value));
  }

  /** Texts beside points, left out where they would touch another text or a curve. */
  labels() {
    const beside = (this.width < NARROW ? [] : this.spec.labels ?? []).map((label) => this.label(label.text, this.x.place(label.x), this.y.place(label.y), label.color));
    const areas = this.spec.series.filter((series) => series.kind === "area").map((series) => this.areaName(series));
    const tags = this.spec.series.map((series) => this.tag(series));
    return `<g font-size="11" ${HALO}>${[...tags, ...beside, ...areas].join("")}</g>`;
  }

  /** What a curve is, beside it: as far right as there is room. @param {Series} series */
  tag({ tag, points, color }) {
    const inside = points.filter((point) => point.x >= this.x.min && point.x <= this.x.max);
    for (const share of tag ? [0.94, 0.8, 0.65, 0.5, 0.35] : []) {
      const at = inside[Math.floor(share * (inside.length - 1))];
      const found = at ? this.label(tag ?? "", this.x.place(at.x), this.y.place(at.y), color) : "";
      if (found) return found;
    }
    return "";
  }

  /** A text above or below a place, at the first height that is free. @param {string} words @param {number} x @param {number} y @param {string} [color] */
  label(words, x, y, color = "var(--ink)") {
    if (x < this.left || x > this.right || y < this.top - 4 || y > this.bottom + 4) return "";
    const half = words.length * LETTER / 2;
    const inside = (/** @type {number} */ at) => Math.min(Math.max(at, this.left + half + 2), this.right - half - 2);
    const heights = [-12, 20, -26, 34, -40, 48].map((apart) => y + apart).filter((at) => at > this.top + 8 && at < this.bottom - 2);
    const places = [x, x - half, x + half].flatMap((at) => heights.map((height) => ({ middle: inside(at), free: height })));
    const place = places.find(({ middle, free }) => this.isFree(middle - half, middle + half, free));
    if (place === undefined) return "";
    const { middle, free } = place;
    this.taken.push({ left: middle - half, right: middle + half, y: free });
    const far = Math.abs(free - y) > 22 ? `<path d="M${round(x)} ${round(free < y ? free + 3 : free - 11)}V${round(free < y ? y - 5 : y + 5)}" stroke="${color}" stroke-width="0.8"/>` : "";
    return far + text(middle, free, words, "middle", color);
  }

  /** Whether a line of text on this base line touches no other text and no curve. @param {number} left @param {number} right @param {number} y */
  isFree(left, right, y) {
    if (this.taken.some((box) => box.right > left && box.left < right && Math.abs(box.y - y) < 14)) return false;
    if (this.upright.some((x) => x > left - 2 && x < right + 2)) return false;
    return this.curves.every((curve) => curve.every((point, place) => {
      const next = curve[place + 1] ?? point;
      const [from, to] = [Math.max(left, point.x), Math.min(right, next.x)];
      if (from > to) return true;
      const at = (/** @type {number} */ x) => point.y + (next.x > point.x ? (next.y - point.y) * (x - point.x) / (next.x - point.x) : 0);
      return Math.min(at(from), at(to)) > y + 5 || Math.max(at(from), at(to)) < y - 13;
    }));
  }

  /** Where vertical lines stand. */
  get upright() { return (this.spec.marks ?? []).map((mark) => this.x.place(mark.x ?? 0)); }

  /** The curves that are drawn as lines or points, in pixels. */
  get curves() {
    return this.spec.series.filter((series) => !["band", "area", "bars"].includes(series.kind ?? "line"))
      .map((series) => series.points.map((point) => ({ x: this.x.place(point.x), y: this.y.place(point.y) })));
  }

  /** The name of a stacked area where it is widest, if it is wide enough there. @param {Series} series */
  areaName(series) {
    const thick = (/** @type {import("./types.js").Point} */ point) => this.y.place(point.low ?? 0) - this.y.place(point.high ?? point.y);
    const widest = series.points.reduce((best, point) => (thick(point) > thick(best) ? point : best), series.points[0]);
    if (!widest || thick(widest) < 18) return "";
    const half = series.name.length * LETTER / 2;
    const x = Math.min(Math.max(this.x.place(widest.x), this.left + half + 4), this.right - half - 4);
    const y = (this.y.place(widest.low ?? 0) + this.y.place(widest.high ?? widest.y)) / 2 + 4;
    if (this.taken.some((box) => box.right > x - half && box.left < x + half && Math.abs(box.y - y) < 14)) return ""; // the legend has it
    this.taken.push({ left: x - half, right: x + half, y });
    return text(x, y, series.name, "middle", "var(--ink)", "600");
  }

  grid() {
    const vertical = this.spec.x.categories ? [] : this.fitted(this.x.ticks);
    const lines = [...vertical.map((tick) => `M${round(this.x.place(tick))} ${this.top}V${this.bottom}`), ...this.y.ticks.map((tick) => `M${this.left} ${round(this.y.place(tick))}H${this.right}`)];
    return `<path d="${lines.join("")}" stroke="var(--grid)" stroke-width="1" fill="none"/>`;
  }

  frame() {
    const { left, right, bottom, top } = this;
    const ticks = this.spec.x.categories ? this.x.ticks : this.fitted(this.x.ticks);
    const below = ticks.map((tick, place) => text(this.x.place(tick), bottom + 16 + (this.crowded && place % 2 ? LINE : 0), this.x.label(tick), "middle", "var(--ink)"));
    const beside = this.y.ticks.map((tick) => text(left - 6, this.y.place(tick) + 4, this.y.label(tick), "end", "var(--ink)"));
    const middle = (top + bottom) / 2;
    const name = `<text transform="translate(12 ${round(middle)}) rotate(-90)" text-anchor="middle" fill="var(--muted)">${escape(this.spec.y.label)}</text>`;
    return `<path d="M${left} ${top}V${bottom}H${right}" stroke="var(--edge)" fill="none"/>${below.join("")}${beside.join("")}${text((left + right) / 2, bottom + 34 + this.drop, this.spec.x.label, "middle", "var(--muted)")}${name}`;
  }

  /** The ticks whose labels do not touch the one before. @param {number[]} ticks */
  fitted(ticks) {
    let end = -Infinity;
    return ticks.filter((tick) => {
      const half = this.x.label(tick).length * LETTER / 2 + 3;
      const free = this.x.place(tick) - half >= end;
      if (free) end = this.x.place(tick) + half;
      return free;
    });
  }

  /** @param {Series} series @param {number} place */
  series(series, place) {
    const color = series.color ?? COLORS[place % COLORS.length];
    const points = series.points.filter((point) => Number.isFinite(point.y) && Number.isFinite(point.x));
    switch (series.kind ?? "line") {
      case "band": return this.band(points, color, 0.07) + ["low", "high"].map((end) => this.line(points.map((point) => ({ ...point, y: point[/** @type {"low" | "high"} */ (end)] ?? point.y })), color, { ...series, width: 0.9, dash: "" })).join("");
      case "area": return this.band(points, color, 0.75);
      case "bars": return points.map((point) => this.bar(point, color, series)).join("");
      case "points": return this.bars(points, color) + this.dots(points, color, series.marker);
      case "dotted": return this.line(points, color, series) + this.dots(points, color, series.marker);
      case "both": return this.line(points, color, series) + this.bars(points, color) + this.dots(points, color, series.marker);
      default: return this.line(points, color, series);
    }
  }

  /** @param {import("./types.js").Point[]} points @param {string} color @param {Series} series */
  line(points, color, series) {
    const path = points.map((point, place) => `${place ? "L" : "M"}${round(this.x.place(point.x))} ${round(this.y.place(point.y))}`).join("");
    return `<path d="${path}" fill="none" stroke="${color}" stroke-width="${series.width ?? 2.2}" stroke-linejoin="round"${series.dash ? ` stroke-dasharray="${series.dash}"` : ""}/>`;
  }

  /** @param {import("./types.js").Point[]} points @param {string} color @param {number} opacity */
  band(points, color, opacity) {
    const at = (/** @type {import("./types.js").Point} */ point, /** @type {number} */ value) => `${round(this.x.place(point.x))} ${round(this.y.place(value))}`;
    const upper = points.map((point) => at(point, point.high ?? point.y));
    const lower = points.map((point) => at(point, point.low ?? point.y)).reverse();
    return points.length ? `<path d="M${[...upper, ...lower].join("L")}Z" fill="${color}" fill-opacity="${opacity}" stroke="none"/>` : "";
  }

  /** Error bars. @param {import("./types.js").Point[]} points @param {string} color */
  bars(points, color) {
    const lines = points.filter((point) => point.low != null && point.high != null)
      .map((point) => `M${round(this.x.place(point.x))} ${round(this.y.place(point.low ?? 0))}V${round(this.y.place(point.high ?? 0))}`);
    return `<path d="${lines.join("")}" stroke="${color}" stroke-width="4" stroke-opacity="0.45" fill="none"/>`;
  }

  /** @param {import("./types.js").Point[]} points @param {string} color @param {string} [marker] */
  dots(points, color, marker) {
    return points.map((point) => dot(round(this.x.place(point.x)), round(this.y.place(point.y)), color, marker)).join("");
  }

  /** A stacked piece from `low` to `high`. @param {import("./types.js").Point} point @param {string} color @param {Series} series */
  bar(point, color, series) {
    const width = (this.right - this.left) / (this.spec.x.categories?.length ?? 8) * 0.62;
    const [above, under] = [this.y.place(point.high ?? point.y), this.y.place(point.low ?? 0)];
    const left = this.x.place(point.x) - width / 2;
    const dash = series.dash ? ` stroke="${color}" stroke-dasharray="${series.dash}" fill-opacity="0.35"` : "";
    const value = this.y.label(point.y);
    const fits = point.low === undefined && value.length * LETTER < width / 0.62;
    return `<rect x="${round(left)}" y="${round(above)}" width="${round(width)}" height="${round(Math.max(0, under - above))}" fill="${color}"${dash}/>${fits ? text(this.x.place(point.x), above - 5, value, "middle", "var(--ink)") : ""}`;
  }

  zones() {
    return (this.spec.zones ?? []).map((zone) => {
      const left = Math.max(this.left, this.x.place(Math.max(zone.from, this.x.min)));
      const right = Math.min(this.right, this.x.place(Math.min(zone.to, this.x.max)));
      const wash = zone.wash ? `<rect x="${round(left)}" y="${this.top}" width="${round(right - left)}" height="${this.bottom - this.top}" fill="${zone.color}" fill-opacity="${PALE}"/>` : "";
      return right > left ? `${wash}<rect x="${round(left)}" y="${this.bottom - STRIP}" width="${round(right - left)}" height="${STRIP}" fill="${zone.color}" fill-opacity="0.75"/>` : "";
    }).join("");
  }

  levels() {
    return (this.spec.levels ?? []).map((level) => {
      const y = this.y.place(level.y ?? 0);
      if (y < this.top - 1 || y > this.bottom + 1) return "";
      const color = level.color ?? "var(--muted)";
      const grip = level.param ? `<rect x="${this.right - 10}" y="${round(y - 8)}" width="10" height="16" rx="3" fill="${color}"/>` : "";
      return `<path d="M${this.left} ${round(y)}H${this.right}" stroke="${color}" stroke-width="${level.param ? 1.8 : 1.2}" stroke-dasharray="6 4"/>${grip}`;
    }).join("");
  }

  /** Labels of vertical marks in rows above the plot, so that they never cover one another. */
  noteRows() {
    const marks = (this.spec.marks ?? []).filter((mark) => mark.x !== undefined && mark.label && this.x.place(mark.x) >= this.left - 1 && this.x.place(mark.x) <= this.right + 1);
    /** @type {number[]} */
    const ends = [];
    const places = new Map();
    for (const mark of [...marks].sort((one, other) => (one.x ?? 0) - (other.x ?? 0))) {
      const width = mark.label.length * LETTER;
      const start = Math.max(2, Math.min(Math.max(this.left, this.x.place(mark.x ?? 0) - width / 2), this.width - width - 4));
      let row = ends.findIndex((end) => end < start - 8);
      if (row < 0) row = ends.length;
      ends[row] = start + width;
      places.set(mark, { row, start });
    }
    return { count: ends.length, places };
  }

  /** Vertical lines, and above all of them their names on the colour of the paper: no line strikes a name through. */
  marks() {
    const { places } = this.notes;
    /** @type {string[]} */
    const names = [];
    const lines = (this.spec.marks ?? []).map((mark) => {
      const x = this.x.place(mark.x ?? 0);
      if (x < this.left - 1 || x > this.right + 1) return "";
      const color = mark.color ?? "var(--red)";
      const note = places.get(mark);
      const high = note ? 12 + note.row * LINE : this.top;
      if (note) names.push(`<rect x="${round(note.start - 2)}" y="${high - 12}" width="${round(mark.label.length * LETTER + 2)}" height="${LINE}" fill="var(--paper)"/>${text(Math.max(2, note.start), high, mark.label, "start", color)}`);
      const inside = (/** @type {number} */ value) => round(Math.min(this.right, Math.max(this.left, this.x.place(value))));
      const spread = mark.low && mark.high ? `<path d="M${inside(mark.low)} ${this.top + 6}H${inside(mark.high)}" stroke="${color}" stroke-width="7" stroke-opacity="0.3"/>` : "";
      const grip = mark.param ? `<rect x="${round(x - 8)}" y="${this.bottom - 11}" width="16" height="11" rx="3" fill="${color}"/>` : "";
      return `<path d="M${round(x)} ${high + 4}V${this.bottom}" stroke="${color}" stroke-width="1.6" stroke-dasharray="2 3"/>${spread}${grip}`;
    });
    return `${lines.join("")}<g ${HALO}>${names.join("")}</g>`;
  }

  handles() {
    return (this.spec.handles ?? []).map((mark) => {
      const [x, y] = [round(this.x.place(mark.x ?? 0)), round(this.y.place(mark.y ?? 0))];
      const color = mark.color ?? "var(--red)";
      const width = mark.label.length * LETTER;
      const places = [22, -10, 40, -26, 56].flatMap((down) => [[x + 12, y + down], [x - 12 - width, y + down]]);
      const [wanted, at] = places.find(([from, base]) => from > this.left && from + width < this.right && base < this.bottom && this.isFree(from, from + width, base)) ?? places[0];
      const left = Math.max(this.left + 2, Math.min(wanted, this.right - width));
      return `<circle cx="${x}" cy="${y}" r="8" fill="${color}" stroke="var(--paper)" stroke-width="2"/><g ${HALO}>${text(left, at, mark.label, "start", color)}</g>`;
    }).join("");
  }

  /** Legend entries in as many lines as the width asks for. */
  legendRows() {
    /** @type {Array<Array<Entry>>} */
    const rows = [[]];
    let used = 0;
    for (const entry of legendOf(this.spec)) {
      const width = 40 + entry.name.length * LETTER;
      if (used + width > this.width - 20 && rows[rows.length - 1].length) {
        rows.push([]);
        used = 0;
      }
      rows[rows.length - 1].push(entry);
      used += width;
    }
    return rows;
  }

  settingsText() {
    return this.settings.map((line, place) => text(10, this.height - 6 - (this.settings.length - 1 - place) * LINE, line, "start", "var(--muted)")).join("");
  }

  legendText() {
    return this.legend.map((row, line) => {
      const y = this.bottom + 50 + this.drop + line * LINE;
      const width = row.reduce((sum, entry) => sum + 40 + entry.name.length * LETTER, 0);
      let x = Math.max(4, (this.width - width) / 2);
      return row.map((entry) => {
        const key = swatchOf(entry, x, y);
        const words = text(x + 25, y, entry.name, "start", "var(--ink)");
        x += 40 + entry.name.length * LETTER;
        return key + words;
      }).join("");
    }).join("");
  }
}

/** Without handles and the invitation to drag. @param {ChartSpec} spec @returns {ChartSpec} */
function unheld(spec) {
  const still = (/** @type {Mark[] | undefined} */ marks) => marks?.filter((mark) => !mark.label.includes("drag to set")).map((mark) => ({ ...mark, param: undefined, label: mark.label.replace(" (drag)", "") }));
  return { ...spec, marks: still(spec.marks), levels: still(spec.levels), handles: still(spec.handles) };
}

/** A text in lines of at most so many letters. @param {string} words @param {number} most */
function broken(words, most) {
  /** @type {string[]} */
  const lines = [];
  for (const word of words.split(/\s+/).filter(Boolean)) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + word.length < most) lines[last] += ` ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** @param {number} value */
const round = (value) => Math.round(value * 10) / 10;

/** @param {number} x @param {number} y @param {string} words @param {string} anchor @param {string} color @param {string} [weight] */
function text(x, y, words, anchor, color, weight = "") {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="${color}"${weight ? ` font-weight="${weight}"` : ""}>${escape(visible(words))}</text>`;
}

