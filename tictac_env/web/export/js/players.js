// Who plays against the visitor, and what it thinks of each move.

import { scores, stonesToWin } from "./known.js";
import { PLIES } from "./ntuple.js";

export const NTUPLE = `ntuple:${PLIES}`;
export const PLAYERS = { table: "the exact table", book: "the opening book", [NTUPLE]: "the n-tuple network", random: "random moves" };

// The names of those who play a game, the one to begin with first.
export function playersOf({ known }) {
  if (!known) return [NTUPLE, "random"];
  return known.plies ? [NTUPLE, "book", "random"] : ["table", NTUPLE, "random"];
}

// The move of a player. Among equals the seed of the game decides, so that a link replays the same game.
export function choose(about, player, position, seed) {
  const { kind, moves } = opinion(about, player, position);
  const most = Math.max(...moves.values());
  const best = [...moves.keys()].filter((action) => moves.get(action) === most);
  return kind === "values" ? best[0] : best[Math.floor(draw(Number(seed) || 0, position.ply) * best.length)];
}

// What a player thinks of each move: scores, or chances of being played.
export function opinion({ known, network }, player, position) {
  if (player === "random") return { kind: "chances", text: "how likely each move is", moves: equally(position.legal, position.legal) };
  if (player === "table" || player === "book") {
    const found = known && scores(known, position);
    const all = found && [...found.values()];
    if (all && !all.includes(null)) {
      const most = Math.max(...all);
      const best = position.legal.filter((action) => found.get(action) === most);
      return { kind: "chances", text: `how likely ${known.what} makes each move`, moves: equally(position.legal, best) };
    }
  }
  const ended = player === "book" ? `${known.what} ends here; ` : "";
  const told = `numbers are estimates of the network, looking ${PLIES} plies ahead, from −1 (lost) to 1 (won)`;
  return { kind: "values", text: `${ended}${told}`, moves: network.scores(position) };
}

const equally = (legal, best) => new Map(legal.map((action) => [action, best.includes(action) ? 1 / best.length : 0]));

// A number in [0, 1) that the seed and the ply decide (Tommy Ettinger's Mulberry32, one step).
function draw(seed, ply) {
  let mixed = (Math.floor(seed / 2 ** 32) ^ (seed >>> 0) ^ Math.imul(ply + 1, 0x9e3779b1)) + 0x6d2b79f5;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

// A score in words, for the side to move.
export function inWords(position, score) {
  if (score === null) return { outcome: null, in: null, text: "not known exactly" };
  if (score === 0) return { outcome: "draw", in: null, text: "a draw" };
  const stones = stonesToWin(position, score);
  return score > 0 ? { outcome: "win", in: stones, text: `won in ${stones}` } : { outcome: "loss", in: stones, text: `lost in ${stones}` };
}
