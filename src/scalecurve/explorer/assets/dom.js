// @ts-check
/** Building elements without markup strings, so that no text can become markup; Documents come rendered. */
import { visible } from "./format.js";

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [properties]  `class`, `data-*`, `aria-*` and other attributes; `on*` listeners
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) made.append(typeof child === "string" ? visible(child) : child);
  return made;
}

/** @param {string} message */
export function toast(message) {
  const box = document.getElementById("toast");
  if (!box) return;
  box.textContent = message;
  box.classList.add("shown");
  clearTimeout(Number(box.dataset.timer));
  box.dataset.timer = String(setTimeout(() => box.classList.remove("shown"), 2600));
}

/** A Document of the command line, as the server rendered it; every text in it is escaped there. @param {string} html */
export function showDocument(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content;
}

/** @param {import("./types.js").TableData} data */
export function showTable(data) {
  const head = el("tr", {}, ...data.columns.map((column) => el("th", { scope: "col", class: column.align ?? "right" }, column.header)));
  const rows = data.rows.map((row) => el("tr", {}, ...row.map((cell, place) =>
    el("td", { class: `${data.columns[place].align ?? "right"} tone-${cell.tone ?? "plain"}` }, cell.text))));
  const caption = data.caption ? el("caption", {}, data.caption) : null;
  const table = el("table", {}, caption, el("thead", {}, head), el("tbody", {}, ...rows));
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": data.caption ?? "table" }, table);
}
