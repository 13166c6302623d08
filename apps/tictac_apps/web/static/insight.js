// An agent's thoughts of each move and its exact value, as notes on the board; and the evaluation of a game.

import { button, capital, el, post, sentence, svg } from "./base.js";

const SHORT = { win: "W", loss: "L", draw: "=" };
const RESULT = { 1: "win", 0: "draw", "-1": "loss" };
const LEGEND = "W3: a win in 3 moves of the winner's. L5: a loss in 5. =: a draw. Solid frame: a best move.";
const FAVOURITE = "Dashed frame: the agent's choice.";

// Asks for thoughts and exact values of a position, and shows each when it comes; after half a second, the pending ones.
export async function insightOf(position, { thoughts, exact, thinker, seed }, show) {
  const fields = { game: position.game, moves: position.moves };
  const missing = new Set();
  const failed = [];
  let [thought, truth, waited] = [null, null, false];
  const tell = () => {
    const { notes, text } = notesOf(thought, truth);
    const underway = waited && missing.size ? `${capital([...missing].join(" and "))} under way…` : "";
    show({ notes, text: [text, underway, ...failed.map(sentence)].join(" ").trim() });
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

// The notes for a position, by action, and a line about them; thoughts or values are null if they are not shown.
export function notesOf(thought, truth) {
  const lines = [];
  const parts = new Map();
  const add = (action, part) => parts.set(action, [...(parts.get(action) || []), part]);
  if (thought) {
    const best = Math.max(...thought.moves.map((move) => measure(thought.kind, move) ?? -Infinity));
    const chosen = thought.moves.filter((move) => measure(thought.kind, move) === best);
    const whose = thought.kind === "chances" ? "" : ", for the side to move";
    lines.push(sentence(thought.text + whose), choice(thought, chosen));
    const framed = new Set(chosen.length < thought.moves.length ? chosen : []);
    for (const move of thought.moves) add(move.action, thoughtPart(thought.kind, move, best, framed.has(move)));
  }
  if (truth) {
    lines.push(LEGEND);
    if (!truth.complete) lines.push("? and ≈: the search found no exact value in time.");
    for (const move of truth.moves) add(move.action, exactPart(move));
  }
  const note = (found) => ({
    spoken: found.map((part) => part.spoken).join("; "),
    shown: () => found.map((part) => part.element()),
  });
  const notes = new Map([...parts].map(([action, found]) => [action, note(found)]));
  return { notes, text: lines.filter(Boolean).join(" ") };
}

// The meaning of the frames of an agent's thoughts: nothing is framed if it prefers no move.
function choice({ kind, moves }, chosen) {
  if (!chosen.length) return "";
  if (chosen.length === 1) return moves.length > 1 ? FAVOURITE : "";
  const equal = chosen.length === moves.length;
  const random = "it plays at random among these.";
  if (kind === "chances") return equal ? capital(random) : `Dashed frames: ${random}`;
  return equal ? "The agent values all moves equally." : "Dashed frames: the agent values these moves equally.";
}

const measure = (kind, move) => move[{ visits: "visits", values: "value", chances: "chance" }[kind]];

function thoughtPart(kind, move, best, framed) {
  const value = measure(kind, move);
  let [text, more, share] = [value === null ? "?" : signed(value), "", value === null ? 0 : (value + 1) / 2];
  let spoken = `value ${text}`;
  if (kind === "visits") {
    const proven = move.proven === null ? "" : `proven ${RESULT[move.proven]}`;
    more = move.value === null ? "" : signed(move.value);
    [text, share] = [compact(value), value / Math.max(best, 1)];
    spoken = `${value} visits${more && `, mean ${more}`}${proven && `, ${proven}`}`;
  } else if (kind === "chances") {
    [text, share] = [`${Math.round(100 * value)}%`, value];
    spoken = `chance ${Math.round(100 * value)} per cent`;
  }
  const bar = { share: `${Math.round(100 * Math.max(0, Math.min(1, share)))}%` };
  const content = () => [text, more && el("small", {}, more), el("i", { class: "share", vars: bar })];
  const properties = { class: `thought${framed ? " chosen" : ""}`, title: spoken };
  return { spoken, element: () => el("span", properties, content()) };
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

async function reviewOf({ game, moves }) {
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
