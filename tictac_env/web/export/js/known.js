// What is known exactly: the table of a small game, the opening book of a large one, and what the rules say by themselves.
//
// A score is +n where the side to move wins with its n-th stone counted from the last it could ever place, -n where the
// other side does, 0 for a draw.

import { bytes, stepsOf } from "./packed.js";

const NO_SCORE = -128;

// Every position of a small game: the scores by the cells, read as a number to the base 3.
export class Table {
  static async load(packed) {
    return new Table(new Int8Array(await bytes(packed)));
  }

  constructor(scores) {
    this.scores = scores;
    this.what = "the exact table";
  }

  score(position) {
    const score = this.scores[position.cells.reduce((number, stone) => 3 * number + stone, 0)];
    return score === NO_SCORE ? null : score;
  }
}

// Every position of up to so many plies in which nobody wins at once: ascending keys, and their scores.
export class Book {
  static async load({ plies, stride, steps, scores }) {
    const known = new Int8Array(await bytes(scores));
    const keys = new BigUint64Array(known.length);
    let [key, at] = [0n, 0];
    for (const step of await stepsOf(steps)) {
      key += BigInt(step);
      keys[at++] = key;
    }
    return new Book(plies, stride, keys, known);
  }

  constructor(plies, stride, keys, scores) {
    Object.assign(this, { plies, stride, keys, scores, what: "the opening book" });
  }

  score(position) {
    if (position.ply > this.plies) return null;
    const [key, mirrored] = [this.key(position, false), this.key(position, true)];
    const wanted = key < mirrored ? key : mirrored;
    let [low, high] = [0, this.keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.keys[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return this.keys[low] === wanted ? this.scores[low] : null;
  }

  // In each column, from the bottom, own stones are 1 and the other's 0, below one bit that marks the height.
  key({ game, cells, seat }, mirrored) {
    let key = 0n;
    for (let col = game.cols - 1; col >= 0; col -= 1) {
      let [column, height] = [0, 0];
      for (let row = game.rows - 1; row >= 0; row -= 1) {
        const stone = cells[row * game.cols + (mirrored ? game.cols - 1 - col : col)];
        if (!stone) break;
        column += stone === seat + 1 ? 1 << height : 0;
        height += 1;
      }
      key = (key << BigInt(this.stride)) + BigInt(column + (1 << height));
    }
    return key;
  }
}

// The score of a position for the side to move, null if neither `source` (a table or a book) nor the rules know it.
export function score(source, position) {
  const left = position.game.cells - position.ply;
  if (position.won) return -((left + 2) >> 1);
  if (!left) return 0;
  if (position.winnable) return (left + 1) >> 1;
  return source && source.score(position);
}

// The scores of the legal actions, by action; null where one is not known.
export function scores(source, position) {
  return new Map(
    position.legal.map((action) => {
      const found = score(source, position.play(action));
      return [action, found === null ? null : 0 - found];
    }),
  );
}

// How many stones of the winner's it takes from a position of that score.
export function stonesToWin(position, found) {
  const left = position.game.cells - position.ply;
  return ((found > 0 ? left + 1 : left) >> 1) - Math.abs(found) + 1;
}
