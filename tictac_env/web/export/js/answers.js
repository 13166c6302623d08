// The answers to the page, in the form in which the server of `tictac serve` gives them.

import { score, scores } from "./known.js";
import { asValue } from "./ntuple.js";
import { inWords, NTUPLE, opinion, PLAYERS, playersOf } from "./players.js";
import { Position } from "./rules.js";

export function offer(about) {
  const names = playersOf(about);
  return { opponents: names.map((name) => ({ name, shown: PLAYERS[name] })), files: [], default: names[0], thinker: NTUPLE };
}

// All that the page needs to draw a position and to know which moves there are.
export function view(position) {
  const { game, cells, moves, line, text } = position;
  const place = (cell) => [Math.floor(cell / game.cols), cell % game.cols];
  return {
    game: game.name,
    title: game.title,
    rows: game.rows,
    cols: game.cols,
    actions: game.actions,
    falls: game.gravity,
    shift: 0,
    cells: Array.from({ length: game.rows }, (_, row) => [...cells.subarray(row * game.cols, (row + 1) * game.cols)]),
    seat: position.seat,
    ply: position.ply,
    moves: text,
    names: [...text],
    history: Array.from({ length: moves.length + 1 }, (_, ply) => text.slice(0, ply)),
    last: position.last < 0 ? null : place(position.last),
    legal: position.legal.map((action) => {
      const name = String(action + 1);
      return { action, name, cell: place(position.cellOf(action)), then: text + name };
    }),
    over: position.over,
    winner: position.won ? 1 - position.seat : null,
    line: line.map(place),
  };
}

export function thoughts(about, player, position) {
  const { kind, text, moves } = opinion(about, player, position);
  const told = ([action, found]) =>
    kind === "values" ? { action, value: asValue(found) } : { action, value: null, chance: found };
  return { kind, text, moves: [...moves].map(told) };
}

// What is known of each move. A move is among the best if no other can be better: one of which nothing is known does not
// win at once.
export function exact({ known }, position) {
  const found = scores(known, position);
  const all = [...found.values()];
  const atOnce = (position.game.cells - position.ply + 1) >> 1;
  const most = Math.max(...all.map((one) => one ?? atOnce - 0.5));
  const moves = [...found].map(([action, one]) => ({ action, score: one, ...inWords(position, one), best: one === most }));
  return { moves, complete: !all.includes(null) };
}

// The value of each position of a game, for the first player, and the moves that gave away a win or a draw.
export function review({ game, known }, final) {
  const plies = [];
  for (let ply = 0; ply <= final.ply; ply += 1) {
    const position = Position.after(game, final.text.slice(0, ply));
    const found = score(known, position);
    const side = position.seat ? -1 : 1;
    const before = ply ? plies[ply - 1].outcome : null;
    const outcome = found === null ? null : side * Math.sign(found) + 0;
    const blunder = before !== null && outcome !== null && before * -side > outcome * -side;
    plies.push({ ply, score: found === null ? null : side * found + 0, outcome, blunder, text: valueInWords(position, found) });
  }
  return { plies, complete: plies.every((one) => one.score !== null) };
}

function valueInWords(position, found) {
  if (found === null || found === 0) return inWords(position, found).text;
  const winner = (position.seat === 0) === found > 0 ? "first" : "second";
  return position.over ? `the ${winner} player has won` : `the ${winner} player wins in ${inWords(position, found).in}`;
}
