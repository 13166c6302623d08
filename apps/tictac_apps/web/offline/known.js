// Exact values: of small games as a whole, of a large game's opening book, and of positions that the rules decide.
//
// A score is +n if the side to move wins with its n-th stone counted from the last it could ever place, -n if the other
// side does, 0 for a draw. Where a search knows who wins, but not how soon, it is WON or -WON, less than any other win.

export const WON = 0.5;

// The content of the data files: bytes, deflated, in base64.
export async function bytes(packed) {
  const deflated = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// Every position of a small game, each searched when it is first asked for.
export class Solved {
  table = new Map();

  score(position) {
    const key = position.cells.join("");
    if (!this.table.has(key)) this.table.set(key, Math.max(...scores(this, position).values()));
    return this.table.get(key);
  }
}

// Every position of up to a number of plies in which the side to move cannot win at once: ascending keys, and scores.
export class Book {
  static async load({ plies, stride, steps, step, scores }) {
    const known = new Int8Array(await bytes(scores));
    const different = new BigUint64Array(await bytes(steps));
    const keys = new BigUint64Array(known.length);
    let key = 0n;
    new Uint16Array(await bytes(step)).forEach((number, at) => (keys[at] = key += different[number]));
    return Object.assign(new Book(), { plies, stride, keys, scores: known });
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
      let [column, top] = [0, 1];
      for (let cell = game.cells - game.cols + (mirrored ? game.cols - 1 - col : col); cells[cell]; cell -= game.cols) {
        if (cells[cell] === seat + 1) column += top;
        top *= 2;
      }
      key = (key << BigInt(this.stride)) + BigInt(column + top);
    }
    return key;
  }
}

// The opening book, and beyond it the outcomes that `prover` has proven.
export class Proven {
  constructor(book, prover) {
    Object.assign(this, { book, prover });
  }

  score(position) {
    const outcome = () => this.prover.outcome(position);
    return this.book.score(position) ?? (outcome() === null ? null : WON * outcome());
  }
}

// The score of a position for the side to move, null if neither `source` nor the rules know it.
export function score(source, position) {
  const left = position.game.cells - position.ply;
  if (position.won) return -((left + 2) >> 1);
  if (!left) return 0;
  if (position.winnable) return (left + 1) >> 1;
  return source && source.score(position);
}

// The scores of the legal actions, by action; null if one is not known.
export function scores(source, position) {
  const found = position.legal.map((action) => [action, score(source, position.play(action))]);
  return new Map(found.map(([action, after]) => [action, after === null ? null : 0 - after]));
}

// A score in words, for the side to move; `stones` is the number of stones of the winner's that it takes.
export function inWords({ game, ply }, score) {
  if (score === null) return { outcome: null, stones: null, text: "not known exactly" };
  if (score === 0) return { outcome: "draw", stones: null, text: "a draw" };
  const left = game.cells - ply;
  const outcome = score > 0 ? "win" : "loss";
  if (Math.abs(score) === WON) return { outcome, stones: null, text: `a ${outcome}` };
  const stones = ((score > 0 ? left + 1 : left) >> 1) - Math.abs(score) + 1;
  return { outcome, stones, text: `a ${outcome} in ${inMoves(stones)}` };
}

export const inMoves = (count) => `${count} ${count === 1 ? "move" : "moves"}`;
