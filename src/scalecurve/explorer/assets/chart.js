// @ts-check
/** One chart: drawn whole as SVG at every change, which for these sizes takes a few milliseconds. */
import { scale } from "./axes.js";
import { el } from "./dom.js";
import { escape, short, visible } from "./format.js";

/** @typedef {import("./types.js").ChartSpec} ChartSpec */
/** @typedef {import("./types.js").Series} Series */
/** @typedef {import("./types.js").Mark} Mark */

export const COLORS = ["var(--blue)", "var(--orange)", "var(--green)", "var(--purple)", "var(--red)", "var(--sky)", "var(--ink)"];
const LETTER = 6.7; // pixels a letter takes at 12 px, a little too wide on purpose
const LINE = 16;
const REACH = 16; // pixels within which a handle can be grabbed

export class Chart {
  /** @param {(changes: Record<string, number>, done: boolean) => void} onChange  a handle was dragged */
  constructor(onChange) {
    this.onChange = onChange;
    this.host = el("div", { class: "chart" });
    this.readout = el("div", { class: "readout", hidden: true });
    this.element = el("div", { class: "chart-box" }, this.host, this.readout);
    /** @type {ChartSpec | null} */
    this.spec = null;
    /** @type {{x: import("./axes.js").Scale, y: import("./axes.js").Scale} | null} */
    this.scales = null;
    /** @type {Mark | null} */
    this.held = null;
    this.width = 0;
    new ResizeObserver(() => this.resized()).observe(this.host);
    this.host.addEventListener("pointerdown", (event) => this.grab(event));
    this.host.addEventListener("pointermove", (event) => this.move(event));
    this.host.addEventListener("pointerup", () => this.drop());
    this.host.addEventListener("pointercancel", () => this.drop());
    this.host.addEventListener("pointerleave", () => { this.readout.hidden = true; });
  }

  resized() {
    const width = Math.round(this.host.clientWidth);
    if (width && width !== this.width && this.spec) this.draw(this.spec);
  }

  /** @param {ChartSpec} spec */
  draw(spec) {
    this.spec = spec;
    this.width = Math.round(this.host.clientWidth) || 640;
    const height = Math.round(Math.min(430, Math.max(270, this.width * 0.56)));
    const drawing = new Drawing(spec, this.width, height);
    this.scales = { x: drawing.x, y: drawing.y };
    this.host.innerHTML = drawing.svg(); // every text inside went through `escape`
    this.host.dataset.drawn = String(Number(this.host.dataset.drawn ?? 0) + 1);
  }

  /** @param {PointerEvent} event */
  spot(event) {
    const box = this.host.getBoundingClientRect();
    return { px: event.clientX - box.left, py: event.clientY - box.top };
  }

  /** @param {PointerEvent} event */
  grab(event) {
    if (!this.spec || !this.scales) return;
    const { px, py } = this.spot(event);
    const { x, y } = this.scales;
    const near = (/** @type {Mark} */ mark) => (mark.x === undefined || Math.abs(x.place(mark.x) - px) < REACH)
      && (mark.y === undefined || Math.abs(y.place(mark.y) - py) < REACH);
    const movable = [...(this.spec.handles ?? []), ...(this.spec.marks ?? []), ...(this.spec.levels ?? [])].filter((mark) => mark.param);
    this.held = movable.find(near) ?? (this.spec.pick ? { label: "", param: this.spec.pick, x: 0 } : null);
    if (!this.held) return;
    this.host.setPointerCapture(event.pointerId);
    this.drag(px, py);
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { px, py } = this.spot(event);
    if (this.held) this.drag(px, py);
    else this.read(px, py);
  }

  /** @param {number} px @param {number} py */
  drag(px, py) {
    if (!this.held?.param || !this.scales) return;
    const inside = (/** @type {import("./axes.js").Scale} */ axis, /** @type {number} */ place) => Math.min(axis.max, Math.max(axis.min, axis.value(place)));
    /** @type {Record<string, number>} */
    const changes = {};
    if (this.held.x !== undefined) changes[this.held.param] = inside(this.scales.x, px);
    if (this.held.y !== undefined) changes[this.held.paramY ?? this.held.param] = inside(this.scales.y, py);
    this.onChange(changes, false);
  }

  drop() {
    if (this.held) this.onChange({}, true);
    this.held = null;
  }

  /** The values under the pointer. @param {number} px @param {number} py */
  read(px, py) {
    if (!this.spec || !this.scales) return;
    const { x, y } = this.scales;
    const places = this.spec.series.filter((series) => !series.quiet && series.kind !== "band").flatMap((series) => series.points.map((point) => point.x));
    if (!places.length) return;
    const nearest = places.reduce((best, value) => (Math.abs(x.place(value) - px) < Math.abs(x.place(best) - px) ? value : best));
    const lines = this.spec.series.filter((series) => !series.quiet && series.kind !== "band").flatMap((series) => {
      const point = series.points.find((each) => each.x === nearest);
      return point ? [`${series.name}: ${point.label ?? y.label(point.y)}`] : [];
    });
    this.readout.replaceChildren(el("b", {}, `${axisName(this.spec.x.label)} = ${x.label(nearest)}`), ...lines.map((line) => el("div", {}, line)));
    this.readout.hidden = false;
    const left = Math.min(Math.max(4, px + 14), this.width - this.readout.offsetWidth - 4);
    this.readout.style.left = `${px > this.width / 2 ? Math.max(4, px - this.readout.offsetWidth - 14) : left}px`;
    this.readout.style.top = `${Math.max(0, py - 10)}px`;
  }
}

/** @param {string} label */
const axisName = (label) => label.split(/[ (,]/)[0];

/** The geometry and the SVG of one chart. */
class Drawing {
  /** @param {ChartSpec} spec @param {number} width @param {number} height */
  constructor(spec, width, height) {
    this.spec = spec;
    this.width = width;
    this.height = height;
    this.legend = this.legendRows();
    this.notes = this.noteRows();
    this.crowded = Boolean(spec.x.categories) && (spec.x.categories ?? []).some((name) => name.length * LETTER > (width - 70) / (spec.x.categories?.length ?? 1) - 4);
    this.drop = this.crowded ? LINE : 0;
    const foot = 44 + this.drop + this.legend.length * LINE;
    this.bottom = height - foot;
    this.top = 8 + this.notes.count * LINE;
    const yValues = [...spec.series.flatMap((series) => series.points.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y])),
      ...(spec.levels ?? []).map((level) => level.y ?? NaN), ...(spec.handles ?? []).map((mark) => mark.y ?? NaN)];
    const xValues = [...spec.series.flatMap((series) => series.points.map((point) => point.x)), ...(spec.handles ?? []).map((mark) => mark.x ?? NaN)];
    this.y = scale(spec.y, yValues, this.bottom, this.top, 42);
    this.left = 30 + Math.max(...this.y.ticks.map((tick) => this.y.label(tick).length)) * LETTER;
    this.right = width - 14;
    this.x = scale(spec.x, xValues, this.left + 6, this.right - 6, 46);
    this.notes = this.noteRows();
  }

  svg() {
    const { width, height, spec } = this;
    const parts = [this.zones(), this.grid(), this.levels(), ...spec.series.map((series, place) => this.series(series, place)), this.marks(), this.handles(), this.frame(), this.legendText()];
    return `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${escape(visible(spec.alt))}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, DejaVu Sans, sans-serif" font-size="12">${parts.join("")}</svg>`;
  }

  grid() {
    const vertical = this.spec.x.categories ? [] : this.x.ticks;
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

  /** Tick labels that would touch are left out. @param {number[]} ticks */
  fitted(ticks) {
    let end = -Infinity;
    return ticks.filter((tick) => {
      const half = this.x.label(tick).length * LETTER / 2;
      const place = this.x.place(tick);
      if (place - half < end + 6) return false;
      end = place + half;
      return true;
    });
  }

  /** @param {Series} series @param {number} place */
  series(series, place) {
    const color = series.color ?? COLORS[place % COLORS.length];
    const points = series.points.filter((point) => Number.isFinite(point.y) && Number.isFinite(point.x));
    switch (series.kind ?? "line") {
      case "band": return this.band(points, color);
      case "bars": return points.map((point) => this.bar(point, color, series)).join("");
      case "points": return this.bars(points, color) + this.dots(points, color, series.marker);
      case "both": return this.line(points, color, series) + this.bars(points, color) + this.dots(points, color, series.marker);
      default: return this.line(points, color, series);
    }
  }

  /** @param {import("./types.js").Point[]} points @param {string} color @param {Series} series */
  line(points, color, series) {
    const path = points.map((point, place) => `${place ? "L" : "M"}${round(this.x.place(point.x))} ${round(this.y.place(point.y))}`).join("");
    return `<path d="${path}" fill="none" stroke="${color}" stroke-width="${series.width ?? 2.2}" stroke-linejoin="round"${series.dash ? ` stroke-dasharray="${series.dash}"` : ""}/>`;
  }

  /** @param {import("./types.js").Point[]} points @param {string} color */
  band(points, color) {
    const at = (/** @type {import("./types.js").Point} */ point, /** @type {number} */ value) => `${round(this.x.place(point.x))} ${round(this.y.place(value))}`;
    const upper = points.map((point) => at(point, point.high ?? point.y));
    const lower = points.map((point) => at(point, point.low ?? point.y)).reverse();
    return points.length ? `<path d="M${[...upper, ...lower].join("L")}Z" fill="${color}" fill-opacity="0.22" stroke="none"/>` : "";
  }

  /** Error bars. @param {import("./types.js").Point[]} points @param {string} color */
  bars(points, color) {
    const lines = points.filter((point) => point.low != null && point.high != null)
      .map((point) => `M${round(this.x.place(point.x))} ${round(this.y.place(point.low ?? 0))}V${round(this.y.place(point.high ?? 0))}`);
    return `<path d="${lines.join("")}" stroke="${color}" stroke-width="4" stroke-opacity="0.45" fill="none"/>`;
  }

  /** @param {import("./types.js").Point[]} points @param {string} color @param {string} [marker] */
  dots(points, color, marker) {
    return points.map((point) => {
      const [cx, cy] = [round(this.x.place(point.x)), round(this.y.place(point.y))];
      if (marker === "square") return `<rect x="${cx - 3.5}" y="${cy - 3.5}" width="7" height="7" fill="${color}"/>`;
      if (marker === "diamond") return `<path d="M${cx} ${cy - 5}l5 5-5 5-5-5z" fill="${color}"/>`;
      return `<circle cx="${cx}" cy="${cy}" r="3.8" fill="${color}"/>`;
    }).join("");
  }

  /** A stacked piece from `low` to `high`. @param {import("./types.js").Point} point @param {string} color @param {Series} series */
  bar(point, color, series) {
    const width = (this.right - this.left) / (this.spec.x.categories?.length ?? 8) * 0.62;
    const [above, under] = [this.y.place(point.high ?? point.y), this.y.place(point.low ?? 0)];
    const left = this.x.place(point.x) - width / 2;
    const dash = series.dash ? ` stroke="${color}" stroke-dasharray="${series.dash}" fill-opacity="0.35"` : "";
    return `<rect x="${round(left)}" y="${round(above)}" width="${round(width)}" height="${round(Math.max(0, under - above))}" fill="${color}"${dash}/>`;
  }

  zones() {
    return (this.spec.zones ?? []).map((zone) => {
      const left = Math.max(this.left, this.x.place(Math.max(zone.from, this.x.min)));
      const right = Math.min(this.right, this.x.place(Math.min(zone.to, this.x.max)));
      if (right <= left) return "";
      const fits = zone.label.length * LETTER < right - left - 8;
      return `<rect x="${round(left)}" y="${this.top}" width="${round(right - left)}" height="${this.bottom - this.top}" fill="${zone.color}" fill-opacity="0.09"/>${fits ? text(left + 6, zone.high ? this.top + 14 : this.bottom - 8, zone.label, "start", zone.color) : ""}`;
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
    const marks = (this.spec.marks ?? []).filter((mark) => mark.x !== undefined && mark.label);
    /** @type {number[]} */
    const ends = [];
    const places = new Map();
    const scaled = this.x ? this.x : null;
    for (const mark of [...marks].sort((one, other) => (one.x ?? 0) - (other.x ?? 0))) {
      const width = mark.label.length * LETTER;
      const place = scaled ? Math.min(Math.max(scaled.place(mark.x ?? 0), this.left), this.right) : 0;
      const start = scaled ? Math.min(Math.max(this.left ?? 0, place - width / 2), this.width - width - 4) : 0;
      let row = ends.findIndex((end) => end < start - 8);
      if (row < 0 || !scaled) row = ends.length;
      ends[row] = start + width;
      places.set(mark, { row, start });
    }
    return { count: marks.length ? Math.max(ends.length, 1) : 0, places };
  }

  marks() {
    const { places } = this.notes;
    return (this.spec.marks ?? []).map((mark) => {
      const x = this.x.place(mark.x ?? 0);
      if (x < this.left - 1 || x > this.right + 1) return "";
      const color = mark.color ?? "var(--red)";
      const note = places.get(mark);
      const high = note ? 12 + note.row * LINE : this.top;
      const words = note ? text(Math.max(2, note.start), high, mark.label, "start", color) : "";
      const grip = mark.param ? `<rect x="${round(x - 8)}" y="${this.bottom - 11}" width="16" height="11" rx="3" fill="${color}"/>` : "";
      return `<path d="M${round(x)} ${high + 4}V${this.bottom}" stroke="${color}" stroke-width="1.6" stroke-dasharray="2 3"/>${grip}${words}`;
    }).join("");
  }

  handles() {
    return (this.spec.handles ?? []).map((mark) => {
      const [x, y] = [round(this.x.place(mark.x ?? 0)), round(this.y.place(mark.y ?? 0))];
      const color = mark.color ?? "var(--red)";
      const end = x > (this.left + this.right) / 2;
      return `<circle cx="${x}" cy="${y}" r="8" fill="${color}" stroke="var(--paper)" stroke-width="2"/>${text(end ? x - 12 : x + 12, y - 10, mark.label, end ? "end" : "start", color)}`;
    }).join("");
  }

  entries() {
    const series = this.spec.series.map((each, place) => ({ name: each.name, color: each.color ?? COLORS[place % COLORS.length], dash: each.dash, filled: each.kind === "band" || each.kind === "bars", hidden: !each.name }));
    const levels = (this.spec.levels ?? []).map((each) => ({ name: each.label, color: each.color ?? "var(--muted)", dash: "6 4", filled: false, hidden: !each.label }));
    const seen = new Set();
    return [...series, ...levels].filter((each) => !each.hidden && !seen.has(each.name) && seen.add(each.name));
  }

  /** Legend entries in as many lines as the width asks for. */
  legendRows() {
    /** @type {Array<Array<ReturnType<Drawing["entries"]>[number]>>} */
    const rows = [[]];
    let used = 0;
    for (const entry of this.entries()) {
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

  legendText() {
    return this.legend.map((row, line) => {
      const y = this.bottom + 50 + this.drop + line * LINE;
      const width = row.reduce((sum, entry) => sum + 40 + entry.name.length * LETTER, 0);
      let x = Math.max(4, (this.width - width) / 2);
      return row.map((entry) => {
        const key = entry.filled ? `<rect x="${round(x)}" y="${y - 9}" width="20" height="9" fill="${entry.color}" fill-opacity="0.6"/>`
          : `<path d="M${round(x)} ${y - 4}h20" stroke="${entry.color}" stroke-width="2.4"${entry.dash ? ` stroke-dasharray="${entry.dash}"` : ""}/>`;
        const words = text(x + 25, y, entry.name, "start", "var(--ink)");
        x += 40 + entry.name.length * LETTER;
        return key + words;
      }).join("");
    }).join("");
  }
}

/** @param {number} value */
const round = (value) => Math.round(value * 10) / 10;

/** @param {number} x @param {number} y @param {string} words @param {string} anchor @param {string} color */
function text(x, y, words, anchor, color) {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="${color}">${escape(visible(words))}</text>`;
}

export { short };
