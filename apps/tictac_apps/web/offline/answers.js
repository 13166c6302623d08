// Answers the page in the server's place, from what the folder holds: globalThis.TICTAC, by the games' names.

import { capital, server } from "./base.js";
import { Book, inMoves, inWords, Proven, score, scores, Solved, WON } from "./known.js";
import { levelChances } from "./levels.js";
import { asValue, Network, PLIES } from "./ntuple.js";
import { Prover } from "./prover.js";
import { Game, Position } from "./rules.js";
import { chosenOf, treeSearch } from "./tree.js";

const NTUPLE = `ntuple:${PLIES}`;
const PLAYERS = { perfect: "perfect play", [NTUPLE]: "the n-tuple network", random: "random moves" };
const [POSITION_TIME, GAME_TIME] = [4000, 6000]; // milliseconds to search the moves of a position, and a game
const games = new Map();

// {game, known, network, prover, levels, words}, unpacked when it is first played. known: all of a small game, or the book and what the
// prover has proven, or null; prover: null of a game without a book (there is one of Connect Four only).
export function load(name) {
  const data = globalThis.TICTAC[name];
  if (!data) {
    const titles = Object.values(globalThis.TICTAC).map(({ title }) => title);
    throw new Error(`"${name}" is not in this folder; it holds ${titles.join(" and ")}.`);
  }
  if (!games.has(name)) games.set(name, unpack(name, data));
  return games.get(name);
}

async function unpack(name, { title, rules, sides, small, book, network, levels, words, about }) {
  const game = new Game({ name, title, sides, ...rules });
  const prover = book ? new Prover() : null;
  const known = small ? new Solved() : book ? new Proven(await Book.load(book), prover) : null;
  return { game, known, prover, levels, words, about, network: await Network.load(network) };
}

// The opponents of a game, the one to begin with first.
function offer({ known, prover, levels, words, about }) {
  const names = !known ? [NTUPLE, "random"] : prover ? [NTUPLE, "perfect", "random"] : ["perfect", NTUPLE, "random"];
  const numbered = Object.keys(levels).map((name) => ({ name, shown: words[name] }));
  const opponents = [...numbered, ...names.map((name) => ({ name, shown: PLAYERS[name] }))];
  return { opponents, about, files: [], default: names[0], thinker: NTUPLE };
}

// The data to draw a position, and its legal moves.
export function view(position) {
  const { game, cells, seat, ply, over, text, legal } = position;
  const place = (cell) => [Math.floor(cell / game.cols), cell % game.cols];
  return {
    ...{ game: game.name, title: game.title, rows: game.rows, cols: game.cols, sides: game.sides },
    ...{ actions: game.actions, shift: 0, seat, ply, over, falls: game.gravity, moves: text, names: [...text], line: position.line.map(place) },
    cells: Array.from({ length: game.rows }, (_, row) => [...cells.subarray(row * game.cols, (row + 1) * game.cols)]),
    history: Array.from({ length: ply + 1 }, (_, at) => text.slice(0, at)),
    last: position.last < 0 ? null : place(position.last),
    winner: position.won ? 1 - seat : null,
    legal: legal.map((action) => {
      const name = String(action + 1);
      return { action, name, cell: place(position.cellOf(action)), then: text + name };
    }),
  };
}

// The policy of a player, and the share of its moves that are drawn from all.
const settingOf = ({ levels }, player) => levels[player] ?? [player, 0];

// The thoughts of a player about each move: values, probabilities, or results of simulations. The seed of the game
// decides whatever is drawn, so that a link replays the same game.
function opinion(about, player, position, random) {
  if (player === NTUPLE) {
    const text = `numbers are estimates of the network, looking ${PLIES} plies ahead, from −1 (lost) to 1 (won)`;
    return { kind: "values", text, moves: about.network.scores(position) };
  }
  const setting = settingOf(about, player);
  const [policy, simulations] = setting[0].split(":");
  if (policy === "mcts") {
    const text = `visits and mean results of ${simulations} simulations`;
    return { kind: "visits", text, moves: treeSearch(position, Number(simulations), random) };
  }
  return { kind: "chances", text: "how likely each move is", moves: levelChances(setting, about.known, position) };
}

const AS_THOUGHT = {
  values: (score) => ({ value: asValue(score), chance: null }),
  chances: (chance) => ({ value: null, chance }),
  visits: (found) => ({ ...found, chance: null }),
};

export function thoughts(about, player, position, seed) {
  const { kind, text, moves } = opinion(about, player, position, draws(seed, position.ply));
  return { kind, text, moves: [...moves].map(([action, one]) => ({ action, ...AS_THOUGHT[kind](one) })) };
}

// The move of a player.
export function choose(about, player, position, seed) {
  const random = draws(seed, position.ply);
  const { kind, moves } = opinion(about, player, position, random);
  if (kind === "visits") return chosenOf(moves);
  const most = Math.max(...moves.values());
  if (kind === "values") return [...moves.keys()].find((action) => moves.get(action) === most);
  let left = random();
  const possible = [...moves].filter(([, chance]) => chance > 0);
  return (possible.find(([, chance]) => (left -= chance) < 0) ?? possible.at(-1))[0]; // the sum may fall short of 1
}

// Numbers in [0, 1) that the seed and the ply decide (Tommy Ettinger's Mulberry32).
function draws(seed, ply) {
  let state = Math.floor(seed / 2 ** 32) ^ (seed >>> 0) ^ Math.imul(ply + 1, 0x9e3779b1);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Searches the moves of a position whose values are unknown, while there is time.
async function prove({ known, prover }, position) {
  if (prover) await prover.prove(unknown(known, position.legal.map((action) => position.play(action))), POSITION_TIME);
}

// Does that for a player that plays by exact values.
async function prepare(about, player, position) {
  if (settingOf(about, player)[0].startsWith("perfect")) await prove(about, position);
}

// The exact value of each move, after a search. A move is among the best if no other is or may be better; a move
// of unknown value does not win at once.
async function exact(about, position) {
  await prove(about, position);
  const found = scores(about.known, position);
  const all = [...found.values()];
  const most = Math.max(...all.map((one) => one ?? WON));
  const moves = [...found].map(([action, one]) => ({ action, score: one, ...inWords(position, one), best: one === most }));
  return { moves, complete: !all.includes(null) };
}

// The value of each position of a game, for the first player, and the moves that gave away a win or a draw.
async function review({ game, known, prover }, final) {
  const line = Array.from({ length: final.ply + 1 }, (_, ply) => Position.after(game, final.text.slice(0, ply)));
  if (prover) await prover.prove(unknown(known, line).reverse(), GAME_TIME); // the last are the quickest
  const plies = [];
  for (const [ply, position] of line.entries()) {
    const found = score(known, position);
    const side = position.seat ? -1 : 1;
    const before = ply ? plies[ply - 1].outcome : null;
    const outcome = found === null ? null : side * Math.sign(found) + 0;
    const blunder = before !== null && outcome !== null && before * -side > outcome * -side;
    plies.push({ ply, score: found === null ? null : side * found + 0, outcome, blunder, text: valueInWords(position, found) });
  }
  return { plies, complete: plies.every((one) => one.score !== null) };
}

const unknown = (known, positions) => positions.filter((position) => score(known, position) === null);

function valueInWords(position, found) {
  const { text, stones } = inWords(position, found);
  if (!found) return text;
  const winner = position.game.sides[found > 0 ? position.seat : 1 - position.seat];
  if (position.over) return `${winner} has won`;
  return stones === null ? `${winner} wins` : `${winner} wins in ${inMoves(stones)}`;
}

const ANSWERS = {
  "/api/server": () => ({
    games: Object.entries(globalThis.TICTAC).map(([name, { title }]) => ({ name, title })),
    names: Object.entries(PLAYERS).map(([name, shown]) => ({ name, shown: capital(shown) })),
    sizes: false,
  }),
  "/api/opponents": (about) => offer(about),
  "/api/position": (about, position) => view(position),
  "/api/reply": async (about, position, { opponent, seed }) => {
    await prepare(about, opponent, position);
    const action = choose(about, opponent, position, Number(seed) || 0);
    return { action, position: view(position.play(action)) };
  },
  "/api/thoughts": async (about, position, { opponent, seed }) => {
    await prepare(about, opponent, position);
    return thoughts(about, opponent, position, Number(seed) || 0);
  },
  "/api/exact": (about, position) => exact(about, position),
  "/api/review": (about, position) => review(about, position),
};

server.ask = async (method, path, fields) => {
  const about = fields.game ? await load(fields.game) : null;
  return ANSWERS[path](about, about && Position.after(about.game, fields.moves || ""), fields);
};
