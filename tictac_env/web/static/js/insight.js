// What stands under a column or in a cell: what an agent thinks of the move, and what it is worth in truth.

import { post } from "./api.js";
import { el } from "./dom.js";

const SHORT = { win: "W", loss: "L", draw: "=" };
const RESULT = { 1: "win", 0: "draw", "-1": "loss" };
const LEGEND = "W3: won in 3 moves of the winner's. =: drawn. L5: lost in 5. The best moves are framed.";

// The notes for a position, by action, and a line about them.
export async function insightOf(position, { thoughts, exact, thinker, seed }) {
  const fields = { game: position.game, moves: position.moves };
  const [thought, truth] = await Promise.all([
    thoughts ? post("/api/thoughts", { ...fields, opponent: thinker, seed }) : null,
    exact ? post("/api/exact", fields) : null,
  ]);
  return notesOf(thought, truth);
}

// The same from the answers themselves; null for what is not shown.
export function notesOf(thought, truth) {
  const lines = [];
  const notes = new Map();
  const add = (action, part) => notes.set(action, [...(notes.get(action) || []), part]);
  if (thought) {
    lines.push(`${capital(thought.text)}, for the side to move.`);
    const best = bestOf(thought);
    for (const move of thought.moves) add(move.action, thoughtPart(thought.kind, move, best));
  }
  if (truth) {
    lines.push(LEGEND);
    if (!truth.complete) lines.push("Not all values are known here.");
    for (const move of truth.moves) add(move.action, exactPart(move));
  }
  const shown = new Map([...notes].map(([action, parts]) => [action, noteOf(parts)]));
  return { notes: shown, text: lines.join(" ") };
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function noteOf(parts) {
  return { spoken: parts.map((part) => part.spoken).join("; "), shown: () => parts.map((part) => part.element()) };
}

const measure = { visits: (move) => move.visits, values: (move) => move.value, chances: (move) => move.chance };

function bestOf(thought) {
  const of = measure[thought.kind];
  return of ? Math.max(...thought.moves.map((move) => of(move) ?? -Infinity)) : null;
}

function thoughtPart(kind, move, best) {
  const value = measure[kind](move);
  const top = value === best && value !== null;
  if (kind === "visits") {
    const mean = move.value === null ? "" : signed(move.value);
    const proven = move.proven === null ? "" : `proven ${RESULT[move.proven]}`;
    const spoken = `${value} visits${mean && `, mean ${mean}`}${proven && `, ${proven}`}`;
    return part(compact(value), mean, value / Math.max(best, 1), top, spoken);
  }
  if (kind === "chances") return part(`${Math.round(100 * value)}%`, "", value, top, `chance ${Math.round(100 * value)} per cent`);
  const text = value === null ? "?" : signed(value);
  return part(text, "", value === null ? 0 : (Math.max(-1, Math.min(1, value)) + 1) / 2, top, `value ${text}`);
}

function part(text, more, share, top, spoken) {
  const bar = el("i", { class: "share", vars: { share: `${Math.round(100 * Math.max(0, Math.min(1, share)))}%` } });
  const element = () => el("span", { class: `thought${top ? " top" : ""}`, title: spoken }, text, more && el("small", {}, more), bar);
  return { spoken, element };
}

function exactPart(move) {
  const text = move.outcome ? SHORT[move.outcome] + (move.in || "") : move.text.startsWith("at") ? "≈" : "?";
  const kind = `exact ${move.outcome || "open"}${move.best ? " top" : ""}`;
  return { spoken: move.text + (move.best ? ", best" : ""), element: () => el("span", { class: kind, title: move.text }, text) };
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

function compact(number) {
  if (number < 10_000) return String(number);
  return number < 1_000_000 ? `${Math.round(number / 1000)}k` : `${(number / 1e6).toFixed(1)}M`;
}
