// @ts-check
/** Numbers and texts for people. */

/** @param {number} value @param {number} [digits] */
export function short(value, digits = 3) {
  if (!Number.isFinite(value)) return "-";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e21)) return value.toExponential(digits - 1);
  for (const [limit, suffix] of /** @type {Array<[number, string]>} */ ([[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]])) {
    if (size >= limit) return trim((value / limit * (limit === 1e4 ? 10 : 1)).toPrecision(digits)) + suffix;
  }
  return trim(value.toPrecision(digits));
}

/** @param {string} text */
function trim(text) {
  if (text.includes("e")) return String(Number(text));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** @param {number} value */
export const whole = (value) => Math.round(value).toLocaleString("en-US");

/** Parameters and tokens are counted in billions. @param {number} value */
export const billions = (value) => short(value).replace("G", "B");

/** Whole numbers as they are: 1024 is not 1020. @param {number} value */
export const count = (value) => (Number.isInteger(value) && Math.abs(value) < 1e6 ? whole(value) : short(value));

/** Whole percent, below ten with a digit more, below a tenth as small as it is. @param {number} value */
export const percent = (value) => `${value > 0 && value < 0.0005 ? Number((value * 100).toPrecision(1)) : (value * 100).toFixed(value < 0.1 && value > 0 ? 1 : 0)} %`;

/** With as many decimals as show whether it is below a limit. @param {number} value @param {number} limit @param {number} digits @returns {string} */
export function beside(value, limit, digits) {
  const text = value.toFixed(digits);
  return digits > 8 || (Number(text) < limit) === (value < limit) ? text : beside(value, limit, digits + 1);
}

/** @param {number} value */
export function dollars(value) {
  for (const [limit, suffix] of /** @type {Array<[number, string]>} */ ([[1e12, "T"], [1e9, "B"], [1e6, "M"]])) if (value >= limit) return `$${short(value / limit)}${suffix}`;
  if (value > 0 && value < 0.1) return `$${trim(value.toFixed(2 - Math.floor(Math.log10(value))))}`;
  return value >= 100 ? `$${whole(value)}` : `$${value.toFixed(2)}`;
}

/** Digits after the point as Python rounds them: exact halves to even. @param {number} value @param {number} digits */
export function fixed(value, digits) {
  const short = value.toFixed(digits);
  const [whole, rest = ""] = Math.abs(value).toFixed(Math.min(100, digits + 60)).split(".");
  if (!/^50*$/.test(rest.slice(digits)) || Number((whole + rest.slice(0, digits)).slice(-1)) % 2) return short;
  const below = digits ? `${whole}.${rest.slice(0, digits)}` : whole;
  return value < 0 ? `-${below}` : below;
}

/** A share in percent, as Python writes it. @param {number} value @param {number} digits */
export const percents = (value, digits) => `${fixed(value * 100, digits)}%`;

/** Python's `g`. @param {number} value @param {number} digits */
export function general(value, digits) {
  if (value === 0) return "0";
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= digits) return `${trimmed(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  return trimmed(fixed(Number(`${mantissa}e${power}`), Math.max(0, digits - 1 - exponent)));
}

/** @param {string} text */
const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

/** Significant digits, whole numbers whole. @param {number} value @param {number} [digits] */
function significant(value, digits = 4) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  return trimmed(fixed(value, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))))));
}

/** A time as the command line writes it. @param {number} seconds @param {number} [digits] @returns {string} */
export function formatSeconds(seconds, digits = 4) {
  for (const [limit, factor, unit] of /** @type {Array<[number, number, string]>} */ ([[1e-6, 1e9, "ns"], [1e-3, 1e6, "us"], [1, 1e3, "ms"], [120, 1, "s"]])) if (seconds < limit) return `${significant(seconds * factor, digits)} ${unit}`;
  for (const [limit, divisor, unit] of /** @type {Array<[number, number, string]>} */ ([[7200, 60, "min"], [172800, 3600, "h"]])) if (seconds < limit) return `${significant(seconds / divisor, digits)} ${unit}`;
  return `${significant(seconds / 86400, digits)} d`;
}

/** Seconds of the unit that `formatSeconds` takes. @param {number} seconds */
export const timeUnit = (seconds) => (seconds < 120 ? 1 : seconds < 7200 ? 60 : seconds < 172800 ? 3600 : 86400);

/** A size as the command line writes it. @param {number} count */
export function formatBytes(count) {
  for (const [factor, unit] of /** @type {Array<[number, string]>} */ ([[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]])) if (count >= factor) return `${significant(count / factor)} ${unit}`;
  return `${significant(count)} B`;
}

/** A rate of arithmetic as the command line writes it. @param {number} rate */
export function formatFlops(rate) {
  for (const [factor, unit] of /** @type {Array<[number, string]>} */ ([[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"]])) if (rate >= factor) return `${significant(rate / factor)} ${unit}FLOP/s`;
  return `${significant(rate)} FLOP/s`;
}

/** @param {unknown} text */
export function escape(text) {
  return String(text).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** Controls and marks that turn the writing direction become visible; very long words are cut. @param {string} text */
export function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`).replace(/\S{200,}/g, (word) => `${word.slice(0, 120)}…`);
}
