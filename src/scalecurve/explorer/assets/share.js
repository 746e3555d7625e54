// @ts-check
/** Taking a chart away: as a picture, as its numbers, or as the command that makes the same. */
import { el, toast } from "./dom.js";

/** @typedef {import("./types.js").TableData} TableData */

/** An SVG that stands alone: theme colours filled in, a background behind. @param {string} svg */
function standalone(svg) {
  const style = getComputedStyle(document.documentElement);
  const filled = svg.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  return filled.replace(/>/, `><rect width="100%" height="100%" fill="${style.getPropertyValue("--paper").trim()}"/>`);
}

/** @param {string} source @returns {Promise<Blob>} */
async function toPng(source) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
  await image.decode();
  const { width, height } = image;
  const canvas = el("canvas", { width: width * 2, height: height * 2 });
  canvas.getContext("2d")?.drawImage(image, 0, 0, width * 2, height * 2);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"));
}

/** @param {TableData} table */
export function toCsv(table) {
  const safe = (/** @type {string} */ text) => (/^[=+@\t\r]|^-[^\d.]./.test(text) ? `'${text}` : text); // a spreadsheet must not compute it
  const field = (/** @type {string} */ text) => (/[",\n\r]/.test(text) ? `"${safe(text).replace(/"/g, '""')}"` : safe(text));
  const rows = [table.columns.map((column) => column.header), ...table.rows.map((row) => row.map((cell) => cell.text))];
  return `${rows.map((row) => row.map(field).join(",")).join("\n")}\n`;
}

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 5000);
}

/** To the clipboard; where the browser refuses that, to a file. @param {string} text @param {string} what */
export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} copied`);
  } catch {
    save(new Blob([text], { type: "text/plain" }), "scalecurve.txt");
    toast(`${what} saved as scalecurve.txt`);
  }
}

/**
 * The row of buttons under a chart: downloads, and the command to copy.
 * @param {() => string} svg
 * @param {() => TableData | null} table
 * @param {() => string} command
 * @param {string} name
 */
export function shareBar(svg, table, command, name) {
  const button = (/** @type {string} */ label, /** @type {() => unknown} */ action) => el("button", { type: "button", onclick: action, "data-share": label }, label);
  const keep = (/** @type {Blob} */ blob, /** @type {string} */ ending) => {
    save(blob, `${name}.${ending}`);
    toast(`${name}.${ending} saved`);
  };
  return el("div", { class: "share", role: "group", "aria-label": `Take ${name} away` },
    el("span", {}, "Save"),
    button("PNG", async () => keep(await toPng(standalone(svg())), "png")),
    button("SVG", () => keep(new Blob([standalone(svg())], { type: "image/svg+xml" }), "svg")),
    button("CSV", () => {
      const data = table();
      if (data) keep(new Blob([toCsv(data)], { type: "text/csv" }), "csv");
    }),
    button("Copy command", () => copyText(command(), "Command")));
}
