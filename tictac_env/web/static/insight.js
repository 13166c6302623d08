// What an agent thinks of each move and what it is worth in truth, as notes on the board; and a game's evaluation.

import { button, capital, el, post, svg } from "./base.js";

const SHORT = { win: "W", loss: "L", draw: "=" };
const RESULT = { 1: "win", 0: "draw", "-1": "loss" };
const LEGEND = "W3: won in 3 moves of the winner's. =: drawn. L5: lost in 5. Solid frame: best in truth.";
const FAVOURITE = "Dashed frame: the agent's choice.";

// Asks for what is to be seen of a position, and shows each part as it comes; after half a second, what is under way.
export async function insightOf(position, { thoughts, exact, thinker, seed }, show) {
  const fields = { game: position.game, moves: position.moves };
  const missing = new Set();
  const failed = [];
  let [thought, truth, waited] = [null, null, false];
  const tell = () => {
    const { notes, text } = notesOf(thought, truth);
    const underway = waited && missing.size ? `${capital([...missing].join(" and "))} under way…` : "";
    show({ notes, text: [text, underway, ...failed].join(" ").trim() });
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
  await Promise.all([
    thoughts && part("thoughts", post("/api/thoughts", { ...fields, opponent: thinker, seed }), (found) => (thought = found)),
    exact && part("exact values", post("/api/exact", fields), (found) => (truth = found)),
  ]);
  clearTimeout(slow);
}

// The notes for a position, by action, and a line about them; null for what is not shown.
export function notesOf(thought, truth) {
  const lines = [];
  const parts = new Map();
  const add = (action, part) => parts.set(action, [...(parts.get(action) || []), part]);
  if (thought) {
    const best = Math.max(...thought.moves.map((move) => measure(thought.kind, move) ?? -Infinity));
    const chosen = thought.moves.filter((move) => measure(thought.kind, move) === best);
    lines.push(`${capital(thought.text)}, for the side to move.`, choice(thought, chosen));
    const framed = new Set(chosen.length < thought.moves.length ? chosen : []);
    for (const move of thought.moves) add(move.action, thoughtPart(thought.kind, move, best, framed.has(move)));
  }
  if (truth) {
    lines.push(LEGEND);
    if (!truth.complete) lines.push("Not all values are known here.");
    for (const move of truth.moves) add(move.action, exactPart(move));
  }
  const note = (found) => ({
    spoken: found.map((part) => part.spoken).join("; "),
    shown: () => found.map((part) => part.element()),
  });
  return { notes: new Map([...parts].map(([action, found]) => [action, note(found)])), text: lines.filter(Boolean).join(" ") };
}

// What the frames of an agent's thoughts mean: nothing is framed if it prefers no move.
function choice({ kind, moves }, chosen) {
  if (!chosen.length) return "";
  if (chosen.length === 1) return moves.length > 1 ? FAVOURITE : "";
  const equal = chosen.length === moves.length;
  if (kind === "chances") return equal ? "It plays at random among these." : "Dashed frames: it plays at random among these.";
  return equal ? "To the agent, all are equal." : "Dashed frames: equal to the agent.";
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
  return { spoken, element: () => el("span", { class: `thought${framed ? " chosen" : ""}`, title: spoken }, content()) };
}

function exactPart(move) {
  const text = move.outcome ? SHORT[move.outcome] + (move.in || "") : move.text.startsWith("at") ? "≈" : "?";
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

// A bar for each position of a game, blunders marked.
// go(ply) shows that position; late() says whether the answer is no longer wanted.
export async function showReview(root, position, at, go, late) {
  const { plies, complete } = await post("/api/review", { game: position.game, moves: position.moves });
  if (late()) return;
  const most = Math.max(1, ...plies.map((one) => Math.abs(one.score || 0)));
  const bars = plies.map((one, ply) => bar(one, ply, WIDE / plies.length, most, ply === at, go));
  const blunders = plies.filter((one) => one.blunder).map(({ ply, text }) => {
    const move = button(`Move ${ply}, ${position.names[ply - 1]}`, () => go(ply), { class: "quiet" });
    return el("li", {}, move, ` is a blunder: before it ${plies[ply - 1].text}, now ${text}.`);
  });
  const none = complete
    ? "No blunders: no move gave away a win or a draw."
    : "No blunder among the positions whose values are known here.";
  const view = { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", class: "bars", "aria-hidden": "true" };
  const words = `After ${at} ${at === 1 ? "move" : "moves"}: ${plies[at].text}.`;
  root.replaceChildren(
    el("p", { class: "soft" }, `${words} Upwards the first player wins, downwards the second; a long bar soon.`),
    svg("svg", view, svg("line", { x1: 0, x2: WIDE, y1: HIGH / 2, y2: HIGH / 2 }), bars),
    el("ul", { class: "blunders" }, blunders.length ? blunders : el("li", {}, none)),
  );
  root.hidden = false;
}

function bar({ outcome, score, blunder, text }, ply, width, most, now, go) {
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
  return svg("g", { onclick: () => go(ply) }, marks, svg("title", {}, `after move ${ply}: ${text}`));
}
