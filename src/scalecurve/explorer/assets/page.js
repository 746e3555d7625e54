// @ts-check
/** The frame of the page: views behind tabs, one state, undo, and the address as a link to what is shown. */
import { el, toast } from "./dom.js";
import { carried } from "./live.js";
import { copyText } from "./share.js";
import { Store } from "./state.js";

/** @typedef {{name: string, label: string, defaults: import("./types.js").Params, make: (store: Store) => import("./view.js").View}} Entry */

/** @type {Entry[]} */
let VIEWS = [];
let store = new Store({});
/** @type {Map<string, import("./view.js").View>} */
const made = new Map();
const main = /** @type {HTMLElement} */ (document.getElementById("main"));

/** @param {string} name */
function viewNamed(name) {
  let view = made.get(name);
  if (!view) {
    view = VIEWS.find((each) => each.name === name)?.make(store);
    if (!view) throw new Error(`no view ${name}`);
    made.set(name, view);
  }
  return view;
}

function show() {
  const view = viewNamed(store.view);
  if (main.firstElementChild !== view.element || main.children.length !== 1) {
    const inside = main.contains(document.activeElement); // a view that leaves must not take the keyboard's place with it
    main.replaceChildren(view.element);
    if (inside) main.focus({ preventScroll: true });
  }
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const chosen = tab.id === `tab-${store.view}`;
    tab.setAttribute("aria-selected", String(chosen));
    tab.setAttribute("tabindex", chosen ? "0" : "-1");
  }
  /** @type {HTMLButtonElement} */ (document.getElementById("undo")).disabled = !store.past.length;
  /** @type {HTMLButtonElement} */ (document.getElementById("redo")).disabled = !store.future.length;
  view.update();
}

function buildTabs() {
  const tabs = VIEWS.map((view) => el("button", { type: "button", role: "tab", id: `tab-${view.name}`, "aria-controls": `view-${view.name}`, onclick: () => store.open(view.name) }, view.label));
  const list = /** @type {HTMLElement} */ (document.getElementById("tabs"));
  list.replaceChildren(...tabs);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const place = tabs.findIndex((tab) => tab.id === `tab-${store.view}`);
    const next = tabs[(place + step + tabs.length) % tabs.length];
    next.click();
    next.focus();
  });
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const typing = target.matches("textarea, input[type=text]");
  if (typing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
  event.preventDefault();
  if (event.shiftKey) store.redo();
  else store.undo();
}

/** Show these views, the first of them first. @param {Entry[]} views */
export async function begin(views) {
  VIEWS = views;
  store = new Store(Object.fromEntries(VIEWS.map((view) => [view.name, { ...view.defaults, ...carried()?.defaults?.[view.name] }])));
  buildTabs();
  document.getElementById("undo")?.addEventListener("click", () => store.undo());
  document.getElementById("redo")?.addEventListener("click", () => store.redo());
  document.getElementById("link")?.addEventListener("click", async () => {
    const { hash, left } = await store.link();
    await copyText(location.href.replace(/#.*/s, "") + hash, "Link");
    if (left.length) toast("Link copied, without the data: it is too large for an address. Send the file along.");
  });
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    event.preventDefault(); // the address holds the settings, not a place in the page
    main.focus();
  });
  document.addEventListener("keydown", onKey);
  window.addEventListener("popstate", async () => {
    await store.read(location.hash);
    show();
  });
  store.listen(show);
  if (location.search && !carried()) history.replaceState(null, "", location.pathname + location.hash); // a shared link carries no token
  if (location.hash) await store.read(location.hash);
  else await openGiven();
  show();
}

/** The study named on the command line, if there is one. */
async function openGiven() {
  const start = carried()?.start ?? await fetch("/api/start").then((response) => response.json()).catch(() => ({}));
  if (!start.data || store.past.length) return; // the reader was faster
  store.now.view = "data";
  Object.assign(store.now.params.data, start.data);
  toast(`${start.data.name} opened`);
}
