// The n-tuple network: the value of a position, and a search that looks further ahead with it.
// It mirrors kernels and search of tictac_agents/ntuple; a test holds its moves and values to theirs.

import { bytes } from "./known.js";

export const PLIES = 4;
const WIN = 1000; // the score of a win, less the number of stones it takes; sums of weights are far smaller
const PLAYABLE = 3; // marks a cell that is empty and playable next, with gravity

export class Network {
  // images: the cells of each tuple and of its images under the board's symmetries, tuple by tuple; used: a bit for each
  // address, 1 if it has weights; weights: for each of these one for either seat, an integer number of units.
  static async load({ tuples, length, images, used, weights, unit }) {
    const known = new Int8Array(await bytes(weights));
    const bits = new Uint8Array(await bytes(used));
    const all = new Int8Array(2 * tuples * 4 ** length);
    let at = 0;
    for (let address = 0; 2 * address < all.length; address += 1) {
      if ((bits[address >> 3] >> (address & 7)) & 1) for (const seat of [0, 1]) all[2 * address + seat] = known[at++];
    }
    const cells = new Int8Array(await bytes(images));
    const share = cells.length / length / tuples; // how many images share a table
    return Object.assign(new Network(), { cells, length, share, weights: all, unit });
  }

  // The score of each legal action for the side to move, by action; those in the middle first, which tend to be better.
  scores(position) {
    const score = (after) => (after.won ? WIN - after.ply : 0 - this.search(after, PLIES - 1, -Infinity, Infinity));
    return new Map(fromMiddle(position.game, position.legal).map((action) => [action, score(position.play(action))]));
  }

  // The score of a position for the side to move, by alpha-beta search; forced replies take none of the depth.
  search(position, depth, alpha, beta) {
    const { actions, forced, result } = sensible(position);
    if (!actions.length) return result * (WIN - position.ply - 1 - (result < 0));
    if (!depth) return -this.sum(position);
    const left = forced && depth > 1 ? depth : depth - 1;
    let best = -Infinity;
    for (const action of fromMiddle(position.game, actions)) {
      best = Math.max(best, -this.search(position.play(action), left, -beta, -Math.max(alpha, best)));
      if (best >= beta) break;
    }
    return best;
  }

  // The sum of the weights of an unfinished position, for the side that has just moved.
  sum(position) {
    const { cells, length, share, weights } = this;
    const states = position.cells.slice(); // two bits each
    if (position.game.gravity) for (const action of position.legal) states[position.cellOf(action)] = PLAYABLE;
    let sum = 0;
    for (let image = 0; image * length < cells.length; image += 1) {
      let address = Math.floor(image / share); // the number of the tuple, then its cells, the first one lowest
      for (let i = length - 1; i >= 0; i -= 1) address = 4 * address + states[cells[image * length + i]];
      sum += weights[2 * address + 1 - position.seat];
    }
    return sum * this.unit;
  }
}

// A score as a value from -1 (lost) to 1 (won).
export const asValue = (score) => (Math.abs(score) > WIN / 2 ? Math.sign(score) : Math.tanh(score) + 0);

// The actions worth looking at, and the result for the side to move if there are none. By the one-move rule a side takes
// a win, blocks one of the other side's, and opens none to it.
function sensible(position) {
  const { game, legal, seat } = position;
  if (position.winnable) return { actions: [], result: 1 };
  const loses = (cell) => position.completes(cell, 2 - seat);
  const opens = (cell) => game.gravity && cell >= game.cols && loses(cell - game.cols);
  const blocks = legal.filter((action) => loses(position.cellOf(action)));
  const forced = blocks.length > 0;
  const actions = (forced ? blocks : legal).filter((action) => !opens(position.cellOf(action)));
  const lost = blocks.length > 1 || (legal.length > 0 && !actions.length);
  return lost ? { actions: [], result: -1 } : { actions, forced, result: 0 };
}

function fromMiddle(game, actions) {
  const aside = (action) => Math.abs(action - (game.actions - 1) / 2);
  return actions.sort((a, b) => aside(a) - aside(b) || a - b);
}
