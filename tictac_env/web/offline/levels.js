// The levels whose parts the page can play: random moves, the rule of thumb, and minimax. A test holds them to the package's.

import { scores } from "./known.js";

// How likely a level takes each legal action, by action. level: [policy, random], the share of moves drawn from all.
export function levelChances([policy, random], known, position) {
  const { legal } = position;
  const best = PARTS[policy.split(":")[0]](position, known, Number(policy.split(":")[1]));
  const chance = (action) => (best.includes(action) ? (1 - random) / best.length : 0) + random / legal.length;
  return new Map(legal.map((action) => [action, chance(action)]));
}

// The actions that a policy holds equally good; plies is NaN if its name has no depth.
const PARTS = { random: ({ legal }) => legal, rule, minimax };

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

// What so many plies tell of a position: its score if the game is decided by then, else 0.
class Ahead {
  constructor(plies) {
    this.plies = plies;
  }

  score(position) {
    return this.plies > 0 ? Math.max(...scores(new Ahead(this.plies - 1), position).values()) : 0;
  }
}
