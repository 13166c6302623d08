// An agent's thoughts of each move and its exact value, as notes on the board; and the evaluation of a game.

import { button, capital, el, post, sentence, svg } from "./base.js";

const SHORT = { win: "W", loss: "L", draw: "=" };
const RESULT = { 1: "win", 0: "draw", "-1": "loss" };

// The samples of a legend: thoughts are tints, with a sign for the result that is expected; the truth is a rim around
// them, or fills the place if it stands alone.
const sample = (mark, means) => el("span", { class: "sample" }, mark, means);
const tint = (value, chosen) => {
  const sign = value > 0.33 ? "+" : value < -0.33 ? "−" : "=";
  const vars = { hue: `var(--${value < 0 ? "loss" : "win"})`, much: Math.min(1, Math.abs(value)) };
  return { sign, properties: { class: `thought${chosen ? " chosen" : ""}`, vars } };
};
const tinted = (value, chosen) => {
  const { sign, properties } = tint(value, chosen);
  return el("span", properties, sign);
};
const truthSamples = () => [["win", "W3", "wins in 3"], ["draw", "=", "draw"], ["loss", "L5", "loses in 5"]]
  .map(([kind, text, means]) => sample(el("span", { class: `exact ${kind}` }, text), means));
const thoughtSamples = () => [[0.9, "good"], [0, "even"], [-0.9, "bad, it thinks"]]
  .map(([value, means]) => sample(tinted(value), means));
const rimSample = () => sample(el("span", { class: "exact win rim" }), "rim: the truth");

// Asks for thoughts and exact values of a position, and shows each when it comes; after half a second, the pending ones.
export async function insightOf(position, { thoughts, exact, thinker, seed }, show) {
  const fields = { game: position.game, moves: position.moves };
  const missing = new Set();
  const failed = [];
  let [thought, truth, waited] = [null, null, false];
  const tell = () => {
    const { notes, words } = notesOf(thought, truth);
    const underway = waited && missing.size ? `${capital([...missing].join(" and "))} under way…` : "";
    show({ notes, words: [...words, [underway, ...failed.map(sentence)].join(" ").trim()] });
  };
  const part = async (name, asked, keep) => {
    missing.add(name);
    try {
      keep(await asked);
    } catch (error) {
      failed.push(error.message);
    }
    missing.delete(name);
    tell();
  };
  const slow = setTimeout(() => (waited = true) && tell(), 500);
  const thinking = thoughts && post("/api/thoughts", { ...fields, opponent: thinker, seed });
  await Promise.all([
    thinking && part("thoughts", thinking, (found) => (thought = found)),
    exact && part("exact values", post("/api/exact", fields), (found) => (truth = found)),
  ]);
  clearTimeout(slow);
}

// The notes for a position, by action, and words about them: samples and sentences; thoughts or values are null if they
// are not shown.
export function notesOf(thought, truth) {
  const words = [];
  const parts = new Map();
  const add = (action, part) => parts.set(action, [...(parts.get(action) || []), part]);
  if (thought) {
    const best = Math.max(...thought.moves.map((move) => measure(thought.kind, move) ?? -Infinity));
    const chosen = thought.moves.filter((move) => measure(thought.kind, move) === best);
    if (thought.kind !== "chances" && thought.moves.length) words.push(...thoughtSamples());
    const framed = new Set(chosen.length < thought.moves.length ? chosen : []);
    if (framed.size) words.push(sample(el("span", { class: "thought chosen" }), framed.size > 1 ? "its choices" : "its choice"));
    words.push(...(truth ? [rimSample()] : []), sentence(thought.text + (thought.kind === "chances" ? "" : ", for the side to move")));
    words.push(equalChoice(thought, chosen));
    for (const move of thought.moves) add(move.action, thoughtPart(thought.kind, move, best, framed.has(move)));
  }
  if (truth) {
    if (!thought) words.push(...truthSamples());
    if (!truth.complete) words.push("? and ≈: the search found no exact value in time.");
    for (const move of truth.moves) add(move.action, exactPart(move));
  }
  const note = (found) => ({
    spoken: found.map((part) => part.spoken).join("; "),
    shown: () => found.map((part) => part.element()),
  });
  const notes = new Map([...parts].map(([action, found]) => [action, note(found)]));
  return { notes, words: words.filter(Boolean) };
}

// Several moves that an agent values alike.
function equalChoice({ kind, moves }, chosen) {
  if (chosen.length < 2) return "";
  if (kind === "chances") return "It plays at random among these.";
  return chosen.length === moves.length ? "The agent values all moves equally." : "It values these moves equally.";
}

const measure = (kind, move) => move[{ visits: "visits", values: "value", chances: "chance" }[kind]];

// A tint from red to green for the value, or of the accent for a share; the number is shown under the pointer.
function thoughtPart(kind, move, best, framed) {
  let [number, spoken] = [move.value === null ? "?" : signed(move.value), ""];
  let { sign, properties } = tint(move.value ?? 0, framed);
  if (kind === "values") spoken = `value ${number}`;
  else if (kind === "visits") {
    const proven = move.proven === null ? "" : `, proven ${RESULT[move.proven]}`;
    spoken = `${move.visits} visits${move.value === null ? "" : `, mean ${number}`}${proven}`;
    number = `${compact(move.visits)} visits`;
    if (move.proven !== null) ({ sign, properties } = tint(move.proven, framed));
  } else {
    const percent = Math.round(100 * move.chance);
    [number, spoken, sign] = [`${percent}%`, `chance ${percent} per cent`, `${percent}%`];
    properties = { ...properties, vars: { hue: "var(--accent)", much: move.chance } };
  }
  const inside = () => [el("b", {}, sign), el("span", { class: "number" }, number)];
  return { spoken, element: () => el("span", { ...properties, title: spoken }, inside()) };
}

function exactPart(move) {
  const text = move.outcome ? SHORT[move.outcome] + (move.stones || "") : move.text.startsWith("at") ? "≈" : "?";
  const kind = `exact ${move.outcome || "open"}${move.best ? " top" : ""}`;
  const element = () => el("span", { class: kind, title: move.text }, text);
  return { spoken: move.text + (move.best ? ", best" : ""), element };
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

function compact(number) {
  if (number < 10_000) return String(number);
  return number < 1_000_000 ? `${Math.round(number / 1000)}k` : `${(number / 1e6).toFixed(1)}M`;
}

const [WIDE, HIGH] = [100, 40];

const reviews = new Map(); // the complete ones, by game and moves: a walk through a game asks once

export async function reviewOf({ game, moves }) {
  const key = `${game} ${moves}`;
  const found = reviews.get(key) || (await post("/api/review", { game, moves }));
  if (reviews.size > 100) reviews.clear();
  if (found.complete) reviews.set(key, found);
  return found;
}

// Shows a bar for each position of a game, blunders marked; returns the plies of the blunders.
// go(ply) shows that position; late() is true if the answer is no longer needed.
export async function showReview(root, position, at, go, late) {
  if (root.hidden) root.replaceChildren(el("p", { class: "soft" }, "The evaluation is under way…"));
  root.hidden = false;
  const { plies, complete } = await reviewOf(position);
  if (late()) return new Set();
  const names = position.sides;
  const most = Math.max(1, ...plies.map((one) => Math.abs(one.score || 0)));
  const width = Math.min(WIDE / plies.length, WIDE / 10);
  const bars = plies.map((one, ply) => bar(one, one.text, width, most, ply === at, go));
  const blunders = plies.filter((one) => one.blunder);
  const lines = blunders.map((one) => {
    const move = button(`Move ${one.ply}, ${position.names[one.ply - 1]}`, () => go(one.ply), { class: "quiet" });
    const before = plies[one.ply - 1].text;
    return el("li", {}, move, ` is a blunder by ${names[(one.ply - 1) % 2]}. Before: ${before}. Now: ${one.text}.`);
  });
  const none = complete
    ? "No blunders: no move gave away a win or a draw."
    : "No blunders among the positions whose values are known.";
  const view = { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", class: "bars", "aria-hidden": "true" };
  root.replaceChildren(
    el("p", {}, `After ${at} ${at === 1 ? "move" : "moves"}: ${plies[at].text}.`),
    svg("svg", view, svg("line", { x1: 0, x2: WIDE, y1: HIGH / 2, y2: HIGH / 2 }), bars),
    el("p", { class: "soft" }, `Bar up: ${names[0]} wins. Bar down: ${names[1]} wins. The longer the bar, the sooner.`),
    el("ul", { class: "blunders" }, lines.length ? lines : el("li", {}, none)),
  );
  return new Set(blunders.map((one) => one.ply));
}

function bar({ ply, outcome, score, blunder }, words, width, most, now, go) {
  const length = outcome === null ? 0 : outcome * (8 + 12 * (Math.abs(score) / most));
  const kind = outcome === null ? "open" : { 1: "seat0", 0: "even", "-1": "seat1" }[outcome];
  const height = Math.max(1.2, Math.abs(length));
  const y = HIGH / 2 - (length > 0 ? height : length < 0 ? 0 : 0.6);
  const marks = [svg("rect", { x: (ply + 0.15) * width, y, width: 0.7 * width, height, class: kind })];
  if (blunder) {
    const [tip, edge] = length > 0 ? [-2.4, HIGH - 3] : [2.4, 3];
    const d = `M${(ply + 0.5) * width - 1.2} ${edge}h2.4l-1.2 ${tip}Z`;
    marks.push(svg("path", { class: "blunder", d }));
  }
  if (now) marks.unshift(svg("rect", { x: ply * width, y: 0, width, height: HIGH, class: "now" }));
  return svg("g", { onclick: () => go(ply) }, marks, svg("title", {}, `after move ${ply}: ${words}`));
}
