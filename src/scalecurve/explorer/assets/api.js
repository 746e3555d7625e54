// @ts-check
/** Asking the server.  While an answer is on its way only the latest further question waits, so dragging never queues. */

import { LIVE, answerHere, carried } from "./live.js";

/** @type {Map<string, any>} */
const known = new Map();
/** @type {Map<string, {busy: boolean, next: (() => void) | null}>} */
const channels = new Map();
const MOST_KNOWN = 200;

export class Refusal extends Error {}

/** The server does not answer at all. */
export class Silence extends Error {}

/**
 * @param {string} name  the question
 * @param {object} body
 * @returns {Promise<any>}
 */
export async function ask(name, body) {
  if (LIVE[name]) return LIVE[name](body);
  const text = JSON.stringify(body);
  const key = `${name} ${text}`;
  if (known.has(key)) return known.get(key);
  const answer = await counted(() => (carried() ? answerHere(name, /** @type {any} */ (body)) : answerThere(name, text)));
  if (text.length < 20000) known.set(key, answer);
  if (known.size > MOST_KNOWN) known.delete(known.keys().next().value ?? "");
  return answer;
}

/** @param {string} name @param {string} text */
async function answerThere(name, text) {
  const request = { method: "POST", headers: { "content-type": "application/json" }, body: text };
  const response = await fetch(`/api/${name}`, request).catch(() => { throw new Silence("the server does not answer"); });
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (response.status === 401) throw new Refusal("This page belongs to a server that has ended. Open the new link that scalecurve explore printed in its terminal.");
  if (response.status === 503) throw new Silence(answer.error ?? "the server is busy");
  if (!response.ok) throw new Refusal(answer.error ?? `the server answered ${response.status}`);
  return answer;
}

/** Whether the server answers again. */
export async function alive() {
  return carried() !== null || fetch("/api/health").then((response) => response.ok || response.status === 401).catch(() => false);
}

/** How many answers are awaited, told to those who read the page by machine. @template Kind @param {() => Promise<Kind>} work */
async function counted(work) {
  const page = document.documentElement;
  const count = (/** @type {number} */ change) => { page.dataset.asking = String(Number(page.dataset.asking ?? 0) + change); };
  count(1);
  try {
    return await work();
  } finally {
    count(-1);
  }
}

/**
 * Run `work` now, or after the one under way; of several that wait only the last is run.
 * @param {string} channel
 * @param {() => Promise<void>} work
 */
export function latest(channel, work) {
  const line = channels.get(channel) ?? { busy: false, next: null };
  channels.set(channel, line);
  if (line.busy) {
    line.next = () => latest(channel, work);
    return;
  }
  line.busy = true;
  work().finally(() => {
    line.busy = false;
    const next = line.next;
    line.next = null;
    next?.();
  });
}
