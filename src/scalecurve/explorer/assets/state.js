// @ts-check
/** What the reader has set: kept in the address, so that a link reproduces the view, with undo. */

/** @typedef {import("./types.js").Params} Params */
/** @typedef {{view: string, params: Record<string, Params>, pins: Record<string, Params[]>}} Snapshot */

export const PIN_NAMES = ["A", "B"];
const MOST_LINK = 30000;
const MOST_UNDO = 200;

export class Store {
  /** @param {Record<string, Params>} defaults  of every view */
  constructor(defaults) {
    this.defaults = defaults;
    /** @type {Snapshot} */
    this.now = { view: Object.keys(defaults)[0], params: structuredClone(defaults), pins: {} };
    /** @type {string[]} */
    this.past = [];
    /** @type {string[]} */
    this.future = [];
    /** @type {Array<() => void>} */
    this.listeners = [];
    this.committed = JSON.stringify(this.now);
    this.moving = false; // a slider or handle is being dragged
    /** The steps already in the address. @type {Promise<void>} */
    this.written = Promise.resolve();
    this.reads = 0; // of addresses
    /** What the last address asked for and did not get, until the next step. @type {string[]} */
    this.said = [];
  }

  get view() { return this.now.view; }
  /** @returns {Params} */
  get params() { return this.now.params[this.now.view]; }
  /** @returns {Params[]} */
  get pins() { return this.now.pins[this.now.view] ?? []; }

  /** @param {() => void} listener */
  listen(listener) { this.listeners.push(listener); }
  tell() { for (const listener of this.listeners) listener(); }

  /** Change while dragging: shown at once, not yet a step of undo. @param {Params} changes */
  adjust(changes) {
    this.moving = true;
    Object.assign(this.params, changes);
    this.tell();
  }

  /** Change and make it a step. @param {Params} changes */
  set(changes) {
    Object.assign(this.params, changes);
    this.commit();
  }

  /** @param {string} view */
  open(view) {
    this.now.view = view;
    this.commit();
  }

  pin() {
    this.now.pins[this.view] = [...this.pins, structuredClone(this.params)].slice(-PIN_NAMES.length);
    this.commit();
  }

  /** @param {number} place */
  unpin(place) {
    this.now.pins[this.view] = this.pins.filter((_, other) => other !== place);
    this.commit();
  }

  commit() {
    this.moving = false;
    this.said = [];
    const text = JSON.stringify(this.now);
    if (text !== this.committed) {
      this.past = [...this.past, this.committed].slice(-MOST_UNDO);
      this.future = [];
      this.committed = text;
    }
    this.tell();
    this.write();
  }

  undo() { this.travel(this.past, this.future); }
  redo() { this.travel(this.future, this.past); }

  /** @param {string[]} from @param {string[]} to */
  travel(from, to) {
    const text = from.pop();
    if (text === undefined) return;
    to.push(this.committed);
    this.committed = text;
    this.now = JSON.parse(text);
    this.tell();
    this.write();
  }

  /** The address follows what is shown, step after step in their order; each can be gone back to. */
  write() {
    const link = this.link();
    this.written = this.written.then(async () => {
      const { hash } = await link;
      if (hash === location.hash) return;
      try {
        history.pushState(null, "", hash);
      } catch {
        // a page inside another document has no address of its own
      }
    });
  }

  /** The part of the address that holds the view as it is now, and what of it was too large for an address. */
  async link() {
    const { view, params, pins } = structuredClone({ view: this.view, params: this.params, pins: this.pins }); // packing takes a while
    /** @type {string[]} */
    const left = [];
    const query = await encode(params, this.defaults[view], left);
    for (const [place, pin] of pins.entries()) query.append(`pin${PIN_NAMES[place]}`, (await encode(pin, this.defaults[view], left)).toString());
    const text = query.toString();
    return { hash: `#${view}${text ? `?${text}` : ""}`, left };
  }

  /** Read the address. @param {string} hash */
  async read(hash) {
    const [view, text = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
    this.said = [];
    if (!(view in this.defaults)) {
      this.said = [`The link names a view "${view.slice(0, 40)}", which this page does not have.`];
      return;
    }
    const query = new URLSearchParams(text);
    const pins = PIN_NAMES.map((name) => query.get(`pin${name}`)).filter((pin) => pin !== null);
    for (const name of PIN_NAMES) query.delete(`pin${name}`);
    const turn = this.reads += 1;
    /** @type {string[]} */
    const wrong = [];
    const [params, ...pinned] = await Promise.all([query, ...pins].map((part) => decode(new URLSearchParams(part), this.defaults[view], wrong)));
    if (turn !== this.reads) return; // a later address was read meanwhile
    this.said = wrong;
    this.now.view = view;
    this.now.params[view] = params;
    this.now.pins[view] = pinned;
    this.committed = JSON.stringify(this.now);
  }
}

/** Only what differs from the defaults; long texts packed, and named in `left` if too long. @param {Params} params @param {Params} defaults @param {string[]} left */
async function encode(params, defaults, left) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === defaults[name]) continue;
    if (typeof value === "string" && value.length > 60) {
      const packed = await pack(value);
      if (packed.length <= MOST_LINK) query.set(`z.${name}`, packed);
      else left.push(name);
    } else query.set(name, String(value));
  }
  return query;
}

/** The settings of an address; what could not be read of it is named in `wrong`. @param {URLSearchParams} query @param {Params} defaults @param {string[]} wrong @returns {Promise<Params>} */
async function decode(query, defaults, wrong) {
  /** @type {Params} */
  const params = structuredClone(defaults);
  for (const [key, text] of query) {
    const name = key.replace(/^z\./, "");
    const standard = defaults[name];
    const read = key === name ? text : await unpack(text).catch(() => null);
    if (standard === undefined) wrong.push(`The link sets "${key.slice(0, 40)}", which this view does not have.`);
    else if (read === null || (typeof standard === "number" && (read.trim() === "" || !Number.isFinite(Number(read))))) wrong.push(`The link's ${name}, "${text.slice(0, 40)}", cannot be read; ${typeof standard === "string" ? "it is left out" : `took ${standard}`}.`);
    else if (typeof standard === "number") params[name] = Number(read);
    else params[name] = typeof standard === "boolean" ? read === "true" : read;
  }
  return params;
}

/** @param {string} text */
async function pack(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** @param {string} packed */
async function unpack(packed) {
  const binary = atob(packed.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}
