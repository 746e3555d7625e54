// @ts-check
/**
 * The closed forms of laws and mechanisms, computed in the page; a test compares them with the commands that the page
 * prints.  In a page without a server collectives, training and studies
 * come computed.
 */
import { fixed, formatFlops, general, percents } from "./format.js";
import { TIME, WORDS } from "./laws.js";

/** What an exported page carries: nothing in the page of a server. @returns {any} */
export const carried = () => parsed ??= JSON.parse(document.getElementById("carried")?.textContent ?? "null");
/** @type {any} */
let parsed = null;

/** @type {Record<string, (body: any) => any>} */
export const LIVE = { laws, "mechanisms/slowest": slowest, "mechanisms/depth": depth, "mechanisms/roofline": roofline };

/** The answer to a question that the page carries along. @param {string} name @param {any} body */
export async function answerHere(name, body) {
  const data = await unpacked();
  if (name === "training/choices") return data.choices;
  if (name === "data/cases") return { cases: data.cases };
  const nearest = (/** @type {number[]} */ values, /** @type {number} */ value) => values.reduce((best, one) => (Math.abs(Math.log(one / value)) < Math.abs(Math.log(best / value)) ? one : best));
  const { few } = carried();
  const key = name === "training" ? `training ${body.model} ${body.cluster} ${nearest(data.choices.batches, body.batch_tokens)} ${body.weak ? "weak" : "strong"}`
    : name === "mechanisms/collectives" ? `${name} ${body.operation} ${body.network} ${nearest(few.ranks, body.ranks)} ${nearest(few.bytes, body.bytes)}` : `${name} ${body.name} ${body.series}`;
  const answer = data.answers[key] ?? data.answers[Object.keys(data.answers).find((each) => each.startsWith(`${name} ${body.name} `)) ?? ""];
  if (!answer) throw new Error("this page has no server and was made without this answer: run scalecurve explore");
  if (answer.error) throw new Error(answer.error);
  return answer;
}

/** @type {Promise<any> | null} */
let opening = null;

/** The computed answers, unpacked when first asked for. */
function unpacked() {
  opening ??= (async () => {
    const bytes = Uint8Array.from(atob(carried().packed), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  })();
  return opening;
}

/** `first`, twice it, four times it ... and `largest`. @param {number} largest @param {number} [first] */
export function doublings(largest, first = 1) {
  const workers = [];
  for (; first < largest; first *= 2) workers.push(first);
  return [...workers, largest];
}

/** @param {string[]} headers @param {string[][]} rows */
const tableOf = (headers, rows) => ({ caption: null, columns: headers.map((header) => ({ header, align: "right" })), rows: rows.map((row) => row.map((text) => ({ text, tone: "plain" }))) });
const cell = (/** @type {number} */ value) => (value === 0 || (value >= 1e-3 && value < 1e7) ? fixed(value, 4) : general(value, 4));

/** @param {{serial: number, comm: number, largest: number, hold: number}} asked */
function laws({ serial: s, comm: c, largest, hold }) {
  const strongTime = (/** @type {number} */ K) => TIME.logcomm({ K, serial: s, comm: c });
  const weakTime = (/** @type {number} */ K) => TIME["logcomm-weak"]({ K, serial: s, comm: c });
  const withNumbers = (/** @type {string} */ law) => `T(K)/T(1) = ${WORDS[law]} = ${WORDS[law].replace(/\b(K|serial|comm)\b/g, (name) => general({ K: largest, serial: s, comm: c }[name] ?? NaN, 6))}`;
  const strongRow = (/** @type {number} */ k) => ({ k, time: strongTime(k), speedup: 1 / strongTime(k), efficiency: 1 / strongTime(k) / k });
  const weakRow = (/** @type {number} */ k) => ({ k, time: weakTime(k), speedup: k / weakTime(k), efficiency: k / weakTime(k) / k, work: k });
  const first = firstBelow((k) => 1 / (k * strongTime(k)), hold, largest);
  const real = c > 0 ? (1 - s) * Math.LN2 / c : null;
  const low = real === null ? 0 : Math.max(1, Math.floor(real));
  const best = real === null ? null : strongTime(low + 1) < strongTime(low) ? low + 1 : low;
  const special = [best, first, first && first - 1].filter((k) => k !== null && k >= 1 && k <= largest);
  const rising = (/** @type {Array<number | null>} */ list) => [.../** @type {Set<number>} */ (new Set(list))].sort((one, other) => one - other);
  const workers = rising([...doublings(largest), ...special]);
  const dense = rising([...Array.from({ length: 97 }, (_, step) => roundEven(largest ** (step / 96))), ...workers]);
  const strong = workers.map(strongRow);
  const weak = workers.map(weakRow);
  const iso = workers.map((k) => timesAt(k, s, c, hold));
  const [last, loose] = [strong[strong.length - 1], weak[weak.length - 1]];
  const most = strong.reduce((top, row) => (row.speedup > top.speedup ? row : top));
  const reached = best !== null && best <= largest;
  const settings = `--serial ${python(s)} --comm ${python(c)} --workers ${workers.join(",")}`;
  const lawTable = (/** @type {any[]} */ rows, /** @type {boolean} */ work) => tableOf(["K", "T(K)", "S(K)", "E(K)", ...(work ? ["work"] : [])],
    rows.map((row) => [String(row.k), ...[row.time, row.speedup, row.efficiency].map((value) => (value === null ? "-" : cell(value))), ...(work ? [row.work === null ? "-" : general(row.work, 4)] : [])]));
  return {
    strong: { rows: dense.map(strongRow), table: lawTable(strong, false) },
    weak: { rows: dense.map(weakRow), table: lawTable(weak, true) },
    isoefficiency: { rows: iso, table: lawTable(iso, true) },
    optimum: best, ceiling: s > 0 ? 1 / s : null, first_below: first,
    tiles: [
      ["best K (strong)", best === null ? "no optimum" : String(best)],
      [reached ? "S there" : `S at K = ${most.k}`, fixed(most.speedup, 2)],
      [`first K with E < ${general(hold, 6)} (strong)`, first === null ? `none up to K = ${largest}` : String(first)],
      [`strong E at K = ${last.k}`, fixed(last.efficiency, 3)],
      [`weak E at K = ${loose.k}`, fixed(loose.efficiency, 3)],
      ["ceiling 1/s, without communication", s > 0 ? general(1 / s, 6) : "no limit"],
    ],
    sentences: [
      `The same system at K = ${last.k}: asked to finish a fixed job sooner it reaches S = ${fixed(last.speedup, 2)}, E = ${fixed(last.efficiency, 3)}; asked to do ${loose.k} times the work it keeps E = ${fixed(loose.efficiency, 3)}.`,
      `The fixed job is ${reached ? `fastest at K = ${most.k}` : `still getting faster at K = ${largest}`}, S = ${fixed(most.speedup, 2)}; under the second question only communication costs.`,
    ],
    formula: `strong: ${withNumbers("logcomm")} = ${fixed(last.time, 4)}\nweak:   ${withNumbers("logcomm-weak")} = ${fixed(loose.time, 4)}`,
    commands: [`scalecurve law logcomm ${settings} --regime both`, `scalecurve law amdahl --serial ${python(s)}`, `scalecurve law isoefficiency ${settings} --hold ${python(hold)}`],
  };
}

/** Isoefficiency at K. @param {number} k @param {number} s @param {number} c @param {number} hold */
function timesAt(k, s, c, hold) {
  const cost = c * Math.log2(k);
  const work = Math.max(0, hold / (1 - hold) * cost - s);
  const time = work + s + cost;
  const efficiency = time > 0 ? (work + s) / time : 1;
  return { serial: s, comm: c, hold, growth: "log", k, time, speedup: k * efficiency, efficiency, work };
}

/** The first K whose falling efficiency is below `hold`. @param {(k: number) => number} efficiency @param {number} hold @param {number} largest */
function firstBelow(efficiency, hold, largest) {
  let [low, high] = [1, largest];
  if (efficiency(high) >= hold) return null;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (efficiency(middle) < hold) high = middle;
    else low = middle;
  }
  return high;
}

/** As Python rounds: halves to even. @param {number} value */
function roundEven(value) {
  const below = Math.floor(value);
  const rest = value - below;
  return rest > 0.5 || (rest === 0.5 && below % 2) ? below + 1 : below;
}

/** A number as Python writes it. @param {number} value */
export function python(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e16) return `${value}.0`;
  const text = String(value);
  const [digits, power] = text.split("e");
  if (power) return `${digits}e${power[0] === "-" ? "-" : "+"}${power.replace(/[-+]/, "").padStart(2, "0")}`;
  return Math.abs(value) < 1e-4 ? value.toExponential().replace(/e-(\d)$/, "e-0$1") : text;
}

/** @param {{spread: number, slow_chance: number, largest: number}} asked */
function slowest({ spread, slow_chance: chance, largest }) {
  const workers = doublings(largest);
  const rows = workers.map((k) => ({ k, normal: 1 + spread * largestNormal(k, (x) => x), lognormal: largestNormal(k, (x) => Math.exp(spread * x - spread * spread / 2)), exponential: k <= 65536 ? 1 + spread * (harmonic(k) - 1) : null, any_slow: -Math.expm1(k * Math.log1p(-chance)) }));
  const { k, normal, any_slow: slow } = rows[rows.length - 1];
  const counts = workers.join(",");
  return {
    rows,
    sentences: [`The slowest of ${k} workers takes ${general(normal, 4)} times the mean with normal times spread by ${general(spread, 4)}: a barrier keeps ${percents(1 / normal, 1)} of the workers' time. If an answer is slow with chance ${general(chance, 4)}, a request that waits for ${k} of them is slow with chance ${percents(slow, 1)}.`],
    commands: [`scalecurve straggler --distribution norm:loc=1,scale=${python(spread)} --workers ${counts} --slow-share ${python(chance)}`, `scalecurve straggler --distribution lognorm:s=${python(spread)} --workers ${counts}`, `scalecurve straggler --distribution expon:loc=${python(1 - spread)},scale=${python(spread)} --workers ${counts}`],
  };
}

/** @param {number} k */
function harmonic(k) {
  let sum = 0;
  for (let place = k; place >= 1; place -= 1) sum += 1 / place;
  return sum;
}

/** Nodes of the trapezoidal rule over a standard normal: x, its density, and its upper tail. @type {Array<{x: number, density: number, tail: number}>} */
const NODES = [];
const SPACING = 1 / 48;

/** E[f(max of K standard normals)] = integral of f(x) K phi(x) Phi(x)^(K-1). @param {number} k @param {(x: number) => number} f */
function largestNormal(k, f) {
  if (!NODES.length) for (let x = -12; x <= 14; x += SPACING) NODES.push({ x, density: Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI), tail: upperTail(x) });
  let sum = 0;
  for (const { x, density, tail } of NODES) if (tail < 1) sum += f(x) * k * density * Math.exp((k - 1) * Math.log1p(-tail));
  return sum * SPACING;
}

/** P(X > x) of a standard normal: a series near the middle, a continued fraction in the tail. @param {number} x @returns {number} */
function upperTail(x) {
  if (x < 0) return 1 - upperTail(-x);
  const density = Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
  if (x < 3) {
    let [sum, term] = [x, x];
    for (let n = 1; n < 120; n += 1) sum += term *= x * x / (2 * n + 1);
    return 0.5 - density * sum;
  }
  let fraction = x;
  for (let n = 160; n >= 1; n -= 1) fraction = x + n / fraction;
  return density / fraction;
}

/** @param {{work: number, depth: number, largest: number}} asked */
function depth({ work, depth: deep, largest }) {
  const longest = Math.min(deep, work);
  const most = work / longest;
  const workers = doublings(largest);
  const greedy = (/** @type {number} */ k) => (work - longest) / k + longest;
  const [w, d] = [python(work), python(longest)];
  const code = `from scalecurve.laws.workdepth import *; print(parallelism(${w}, ${d})); [print(p, most_speedup(${w}, ${d}, p), least_time(${w}, ${d}, p), greedy_time(${w}, ${d}, p)) for p in [${workers.join(", ")}]]`;
  return {
    rows: workers.map((k) => ({ k, most: Math.min(k, most), greedy: work / greedy(k), least_time: Math.max(work / k, longest), greedy_time: greedy(k) })),
    parallelism: most,
    sentences: [`Work ${general(work, 6)} over depth ${general(longest, 6)} admits a speedup of at most ${general(most, 4)}, on any machine: beyond about ${general(most, 4)} workers the rest only wait. A greedy schedule is within a factor of two of the best.`],
    commands: [`python -c "${code}"`],
  };
}

const ADVICE = {
  memory: "move fewer bytes per FLOP (fuse, tile, lower precision); more arithmetic units change nothing",
  compute: "feed the arithmetic units better; more bandwidth changes nothing",
};

/** @param {{peak: number, bandwidth: number, intensity: number, reached: number}} asked */
function roofline({ peak, bandwidth, intensity, reached }) {
  const ridge = peak / bandwidth;
  const attainable = (/** @type {number} */ x) => Math.min(peak, x * bandwidth);
  const roof = attainable(intensity);
  const bound = intensity < ridge ? "memory" : "compute";
  const places = [...new Set([...Array.from({ length: 69 }, (_, step) => 2 ** ((step - 12) / 4)), ridge])].sort((one, other) => one - other);
  const flops = intensity * 1e9;
  return {
    roof: places.map((x) => ({ x, y: attainable(x) })), ridge, kernel: { x: intensity, y: roof * reached, roof }, bound,
    sentences: [`At ${general(intensity, 4)} FLOP per byte the kernel is ${bound} bound: its roof is ${formatFlops(roof)} (the ridge is at ${general(ridge, 4)} FLOP per byte). Next: ${ADVICE[bound]}.`],
    commands: [`scalecurve roofline place --machine own.toml --precision bf16 --kernel mine:${python(flops)}:1e9:${python(flops / (roof * reached))}`],
    files: { "own.toml": `like = "h100"\nbf16_tflops = ${python(peak / 1e12)}\nmemory_tb_s = ${python(bandwidth / 1e12)}\n` },
  };
}
