// @ts-check
/** From values to places on the screen, and which values get a tick. */
import { count, formatSeconds, timeUnit } from "./format.js";

/** @typedef {import("./types.js").Axis} Axis */
/** @typedef {{place: (value: number) => number, value: (place: number) => number, ticks: number[], label: (value: number) => string, min: number, max: number}} Scale */

/**
 * @param {Axis} axis
 * @param {number[]} values  everything that must be visible
 * @param {number} from  first pixel
 * @param {number} to  last pixel
 * @param {number} apart  pixels between ticks at least
 * @returns {Scale}
 */
export function scale(axis, values, from, to, apart) {
  if (axis.categories) return categories(axis.categories, from, to);
  const [min, max] = limits(axis, values);
  const log = axis.scale !== "linear";
  const forward = log ? Math.log2 : (/** @type {number} */ value) => value;
  const back = log ? (/** @type {number} */ value) => 2 ** value : (/** @type {number} */ value) => value;
  const [low, high] = [forward(min), forward(max)];
  const unit = log && axis.format === formatSeconds ? timeUnit(Math.sqrt(min * max)) : 1; // 10 d, not 11.57 d
  return {
    min,
    max,
    place: (value) => from + (to - from) * (forward(log ? Math.max(value, Number.MIN_VALUE) : value) - low) / (high - low),
    value: (place) => back(low + (high - low) * (place - from) / (to - from)),
    ticks: axis.ticks?.filter((tick) => tick >= min && tick <= max) ?? ticksOf(axis.scale, min / unit, max / unit, Math.max(2, Math.floor(Math.abs(to - from) / apart))).map((tick) => tick * unit),
    label: axis.format ?? count,
  };
}

/** @param {string[]} names @param {number} from @param {number} to @returns {Scale} */
function categories(names, from, to) {
  const width = (to - from) / names.length;
  return {
    min: -0.5, max: names.length - 0.5,
    place: (value) => from + width * (value + 0.5),
    value: (place) => (place - from) / width - 0.5,
    ticks: names.map((_, place) => place),
    label: (value) => names[value] ?? "",
  };
}

/** @param {Axis} axis @param {number[]} values @returns {[number, number]} */
function limits(axis, values) {
  const usable = values.filter((value) => Number.isFinite(value) && (axis.scale === "linear" || value > 0));
  let min = axis.min ?? Math.min(...usable);
  let max = axis.max ?? Math.max(...usable);
  if (!Number.isFinite(min) || !Number.isFinite(max)) [min, max] = axis.scale === "linear" ? [0, 1] : [1, 10];
  if (min >= max) [min, max] = axis.scale === "linear" ? [min - 0.5, min + 0.5] : [min / 2, min * 2];
  if (axis.scale === "linear" && axis.max === undefined) max += (max - min) * 0.05;
  return [min, max];
}

/** @param {string} kind @param {number} min @param {number} max @param {number} most */
function ticksOf(kind, min, max, most) {
  if (kind === "linear") return linearTicks(min, max, most);
  const base = kind === "log2" ? 2 : 10;
  const first = Math.ceil(Math.log(min) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(max) / Math.log(base) + 1e-9);
  if (base === 10) {
    const finer = finerTicks(min, max);
    if (finer.length >= 2 && finer.length <= most) return finer;
    if (last - first < 1) return linearTicks(min, max, most);
  }
  const every = Math.max(1, Math.ceil((last - first + 1) / most));
  const found = [];
  for (let power = first; power <= last; power += every) found.push(base ** power);
  return found;
}

/** 1, 2 and 5 of each decade, for logarithmic axes that span few of them. @param {number} min @param {number} max */
function finerTicks(min, max) {
  const found = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); power += 1) {
    for (const factor of [1, 2, 5]) found.push(Number((factor * 10 ** power).toPrecision(3)));
  }
  return found.filter((tick) => tick >= min * 0.999 && tick <= max * 1.001);
}

/** @param {number} min @param {number} max @param {number} most */
function linearTicks(min, max, most) {
  const rough = (max - min) / most;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = size * ([1, 2, 2.5, 5, 10].find((factor) => factor * size >= rough) ?? 10);
  const found = [];
  for (let value = Math.ceil(min / step - 1e-9) * step; value <= max + step * 1e-6; value += step) found.push(Number(value.toPrecision(12)));
  return found;
}
