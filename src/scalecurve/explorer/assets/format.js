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

/** Sizes in powers of two, as messages have. @param {number} value */
export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.max(0, Math.min(units.length - 1, Math.floor(Math.log2(Math.max(value, 1)) / 10)));
  return `${short(value / 1024 ** power)} ${units[power]}`;
}

/** Whole numbers as they are: 1024 is not 1020. @param {number} value */
export const count = (value) => (Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : short(value));

/** @param {number} value */
export const percent = (value) => `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`;

/** @param {number} value */
export function dollars(value) {
  if (value >= 1e6) return `$${short(value / 1e6)}M`;
  if (value > 0 && value < 0.1) return `$${short(value)}`;
  return value >= 100 ? `$${whole(value)}` : `$${value.toFixed(2)}`;
}

/** @param {number} seconds */
export function duration(seconds) {
  const steps = /** @type {Array<[number, string]>} */ ([[86400 * 365.25, "years"], [86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "µs"]]);
  for (const [size, unit] of steps) if (seconds >= size) return `${short(seconds / size)} ${unit}`;
  return `${short(seconds)} s`;
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
