// The levels, and their parts: random moves, the rule of thumb, minimax and perfect play. A test holds them to the package's.

import { scores } from "./known.js";

// A level's probability of each legal action, by action. level: [policy, random], the share of moves drawn from all; of
// "perfect:0.1" a tenth is drawn from those after which the other side cannot win at once.
export function levelChances([policy, random], known, position) {
  const { legal } = position;
  const [name, argument] = policy.split(":");
  const best = PARTS[name](position, known, Number(argument));
  const [share, others] = name === "perfect" ? [Number(argument) || 0, safe(position)] : [random, legal];
  const chance = (action) =>
    (best.includes(action) ? (1 - share) / best.length : 0) + (others.includes(action) ? share / others.length : 0);
  return new Map(legal.map((action) => [action, chance(action)]));
}

// The actions that a policy considers equally good; plies is NaN if its name has no depth.
const PARTS = { random: ({ legal }) => legal, rule, minimax, perfect };

// The lowest win, else the lowest block of a win of the other side's, else all nearest the centre.
function rule(position) {
  const { game, legal, seat } = position;
  for (const stone of [seat + 1, 2 - seat]) {
    const wins = legal.filter((action) => position.completes(position.cellOf(action), stone));
    if (wins.length) return wins.slice(0, 1);
  }
  const rows = game.actions / game.cols;
  const far = (action) =>
    (2 * Math.floor(action / game.cols) - rows + 1) ** 2 + (2 * (action % game.cols) - game.cols + 1) ** 2;
  const least = Math.min(...legal.map(far));
  return legal.filter((action) => far(action) === least);
}

// Without a depth every move that keeps a win a win, or a draw a draw, is as good as the next.
function minimax(position, known, plies) {
  const exact = Number.isNaN(plies); // of a small game, whose every position is known
  const found = scores(exact ? known : new Ahead(plies - 2), position); // the rules by themselves see two plies ahead
  const value = (action) => (exact ? Math.sign(found.get(action)) : found.get(action));
  const most = Math.max(...position.legal.map(value));
  return position.legal.filter((action) => value(action) === most);
}

// The score of a position by a search of some plies: exact if the game is decided by then, else 0.
class Ahead {
  constructor(plies) {
    this.plies = plies;
  }

  score(position) {
    return this.plies > 0 ? Math.max(...scores(new Ahead(this.plies - 1), position).values()) : 0;
  }
}

// The moves of the best score; one that is not known counts as a draw.
function perfect(position, known) {
  const found = scores(known, position);
  const most = Math.max(...[...found.values()].map((one) => one ?? 0));
  return position.legal.filter((action) => (found.get(action) ?? 0) === most);
}

function safe(position) {
  const found = position.legal.filter((action) => !position.play(action).winnable);
  return found.length ? found : position.legal;
}
