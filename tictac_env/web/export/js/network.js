// The learned network of state values: what it is shown of a position, and its answer.
// It mirrors tictac_agents/line_network/kernels.py; a test holds it to that.

import { bytes, floats } from "./packed.js";

const SURE = 1e9; // above every estimate

export class Network {
  // widths: features, hidden layers, 1. Weights are whole numbers from -127 to 127, times the scale of their row.
  static async load(game, { widths, weights, numbers }) {
    const whole = new Int8Array(await bytes(weights));
    const rest = floats(await bytes(numbers));
    const layers = [];
    let [at, place] = [0, 0];
    for (let i = 0; i + 1 < widths.length; i += 1) {
      const [inputs, outputs] = [widths[i], widths[i + 1]];
      const matrix = Float32Array.from(whole.subarray(at, (at += inputs * outputs)));
      const scales = rest.subarray(place, (place += inputs));
      const biases = rest.subarray(place, (place += outputs));
      layers.push({ inputs, outputs, matrix: matrix.map((weight, j) => weight * scales[Math.floor(j / outputs)]), biases });
    }
    return new Network(game, layers);
  }

  constructor(game, layers) {
    this.game = game;
    this.layers = layers;
  }

  // The value of each action for the side to move, by action: about -1 (lost) to 1 (won). The rules say the ends.
  values(position) {
    const found = new Map();
    for (const action of position.legal) {
      const after = position.play(action);
      found.set(action, after.won ? SURE : after.over ? 0 : this.value(after));
    }
    return found;
  }

  // The value of an unfinished position for the side that has just moved.
  value(position) {
    const [first, ...rest] = this.layers;
    let units = Float64Array.from(first.biases);
    for (const feature of features(position)) addRow(units, first, feature, 1);
    for (const layer of rest) {
      const next = Float64Array.from(layer.biases);
      for (let row = 0; row < layer.inputs; row += 1) if (units[row] > 0) addRow(next, layer, row, units[row]);
      units = next;
    }
    return units[0];
  }
}

function addRow(sums, { matrix, outputs }, row, factor) {
  const begin = row * outputs;
  for (let i = 0; i < outputs; i += 1) sums[i] += factor * matrix[begin + i];
}

// The numbers of the features that are 1; "own" is the side that has just moved.
function features(position) {
  const { game, cells } = position;
  const { rows, cols, connect, lines, gravity } = game;
  const own = 2 - position.seat;
  const found = [];
  const add = (first, stride, mine, theirs) => {
    if (mine) found.push(first);
    if (theirs) found.push(first + stride);
  };
  cells.forEach((stone, cell) => add(cell, game.cells, stone === own, stone && stone !== own));
  const counts = lines.map((line) => {
    let [mine, theirs] = [0, 0];
    for (const cell of line) {
      if (cells[cell] === own) mine += 1;
      else if (cells[cell]) theirs += 1;
    }
    return [mine, theirs];
  });
  let first = 2 * game.cells;
  for (const lacking of [2, 1]) {
    if (lacking >= connect) continue;
    const wanted = connect - lacking;
    counts.forEach(([mine, theirs], i) => add(first + i, lines.length, !theirs && mine === wanted, !mine && theirs === wanted));
    first += 2 * lines.length;
  }
  first += 2; // who has won: nobody, as the game goes on
  const [ours, others] = [new Set(), new Set()]; // empty cells that complete a line
  counts.forEach(([mine, theirs], i) => {
    if (mine + theirs !== connect - 1 || (mine && theirs)) return;
    (mine ? ours : others).add(lines[i].find((cell) => !cells[cell]));
  });
  for (let cell = 0; cell < game.cells; cell += 1) add(first + cell, game.cells, ours.has(cell), others.has(cell));
  first += 2 * game.cells;
  if (!gravity) return found;
  for (const above of [0, 1]) {
    for (let col = 0; col < cols; col += 1) {
      const lowest = position.cellOf(col);
      const cell = lowest - above * cols;
      if (lowest >= 0 && cell >= 0 && cell < rows * cols) add(first + col, cols, ours.has(cell), others.has(cell));
    }
    first += 2 * cols;
  }
  return found;
}
