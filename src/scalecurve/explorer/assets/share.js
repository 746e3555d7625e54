// @ts-check
/** Taking a chart away: as a picture, as its numbers, or as the command that makes the same. */
import { el, toast } from "./dom.js";

/** @typedef {import("./types.js").TableData} TableData */

/** An SVG that stands alone: theme colours filled in, a background behind. @param {SVGSVGElement} svg */
function standalone(svg) {
  const style = getComputedStyle(document.documentElement);
  const filled = svg.outerHTML.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  return filled.replace(/>/, `><rect width="100%" height="100%" fill="${style.getPropertyValue("--paper").trim()}"/>`);
}

/** @param {string} source @param {number} width @param {number} height @returns {Promise<Blob>} */
async function toPng(source, width, height) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
  await image.decode();
  const canvas = el("canvas", { width: width * 2, height: height * 2 });
  canvas.getContext("2d")?.drawImage(image, 0, 0, width * 2, height * 2);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"));
}

/** @param {TableData} table */
export function toCsv(table) {
  const field = (/** @type {string} */ text) => (/[",\n]/.test(text) || /^[=+@]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const rows = [table.columns.map((column) => column.header), ...table.rows.map((row) => row.map((cell) => cell.text))];
  return `${rows.map((row) => row.map(field).join(",")).join("\n")}\n`;
}

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 5000);
}

/** To the clipboard; where the browser refuses that, to a file. @param {Blob} blob @param {string} name @param {string} what */
async function copy(blob, name, what) {
  try {
    const text = blob.type.startsWith("text/") || blob.type.includes("svg");
    if (text) await navigator.clipboard.writeText(await blob.text());
    else await navigator.clipboard.write([new ClipboardItem({ [blob.type]: blob })]);
    toast(`${what} copied`);
  } catch {
    save(blob, name);
    toast(`${what} saved as ${name}`);
  }
}

/** @param {string} text @param {string} what */
export function copyText(text, what) {
  return copy(new Blob([text], { type: "text/plain" }), "scalecurve.txt", what);
}

/**
 * The row of buttons under a chart.
 * @param {() => SVGSVGElement | null} svg
 * @param {() => TableData | null} table
 * @param {() => string} command
 * @param {string} name
 */
export function shareBar(svg, table, command, name) {
  const button = (/** @type {string} */ label, /** @type {() => unknown} */ action) => el("button", { type: "button", onclick: action, "data-share": label }, label);
  return el("div", { class: "share", role: "group", "aria-label": "Copy this chart" },
    el("span", {}, "Copy as"),
    button("PNG", async () => {
      const drawn = svg();
      if (drawn) await copy(await toPng(standalone(drawn), drawn.width.baseVal.value, drawn.height.baseVal.value), `${name}.png`, "PNG");
    }),
    button("SVG", () => {
      const drawn = svg();
      return drawn && copy(new Blob([standalone(drawn)], { type: "image/svg+xml" }), `${name}.svg`, "SVG");
    }),
    button("CSV", () => {
      const data = table();
      return data && copy(new Blob([toCsv(data)], { type: "text/csv" }), `${name}.csv`, "CSV");
    }),
    button("command", () => copyText(command(), "Command")));
}
