// Asks a search in a thread of its own, so that the page stays alive, for outcomes that are unknown.

import { makeSearch } from "./search.js";

const SLICE = 50; // milliseconds of search between two looks at new questions

export class Prover {
  known = new Map(); // outcomes that are proven, by the cells
  questions = []; // {left: positions not proven yet, time: milliseconds left, done}; the latest is the last

  // The outcome of a position for the side to move, as far as it has been proven: 1, 0, -1, or null.
  outcome(position) {
    return this.known.get(keyOf(position)) ?? null;
  }

  // Searches positions in turn, the first ones first, until all are proven or the time ends. In each the game is not
  // over, and the side to move cannot win at once.
  prove(positions, milliseconds) {
    const left = positions.filter((position) => this.outcome(position) === null);
    if (!left.length) return null;
    return new Promise((done) => {
      this.questions.push({ left, time: milliseconds, done });
      if (this.questions.length === 1) this.work();
    });
  }

  async work() {
    this.worker ??= startWorker();
    while (this.questions.length) {
      const question = this.questions.at(-1); // of the position that the visitor looks at now
      const position = question.left.shift();
      const began = performance.now();
      const found = this.outcome(position) ?? (await this.search(position));
      question.time -= performance.now() - began;
      if (found === null) question.left.push(position);
      else this.known.set(keyOf(position), found);
      if (question.left.length && question.time > 0) continue;
      this.questions.splice(this.questions.indexOf(question), 1);
      question.done();
    }
  }

  search(position) {
    return new Promise((done) => {
      this.worker.onmessage = ({ data }) => done(data);
      this.worker.postMessage([stonesOf(position), SLICE]);
    });
  }
}

const keyOf = ({ cells }) => cells.join("");

// The stones of the side to move and of the other, as the search wants them.
export function stonesOf({ game, cells, seat }) {
  const stones = [0, 0, 0, 0];
  cells.forEach((stone, cell) => {
    const [row, col] = [game.rows - 1 - Math.floor(cell / game.cols), cell % game.cols];
    if (stone) stones[2 * Number(stone !== seat + 1) + Number(col > 3)] |= 1 << (row + 7 * (col % 4));
  });
  return stones;
}

// Of a text, as a page on a disk may start no worker of a file.
function startWorker() {
  const text = `const outcome = (${makeSearch})();\nonmessage = ({ data }) => postMessage(outcome(...data));`;
  return new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
}
