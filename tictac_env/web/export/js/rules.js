// The rules of k in a row, with gravity and without: the one copy beside tictac_env/games, and held to it by a test.

export class Game {
  constructor({ name, title, rows, cols, connect, gravity }) {
    Object.assign(this, { name, title, rows, cols, connect, gravity });
    this.cells = rows * cols;
    this.actions = gravity ? cols : this.cells;
    this.lines = linesOf(this);
    this.linesOfCell = Array.from({ length: this.cells }, (_, cell) => this.lines.filter((line) => line.includes(cell)));
  }
}

// The lines of a board, each as its cells, row by row from the top left.
function linesOf({ rows, cols, connect }) {
  const found = [];
  for (const [down, right] of [[-1, 0], [0, 1], [-1, 1], [1, 1]]) {
    for (let row = 0; row < rows; row += 1) {
      for (let col = 0; col < cols; col += 1) {
        const [endRow, endCol] = [row + (connect - 1) * down, col + (connect - 1) * right];
        if (endRow < 0 || endRow >= rows || endCol >= cols) continue;
        found.push(Array.from({ length: connect }, (_, i) => (row + i * down) * cols + col + i * right));
      }
    }
  }
  return found;
}

// A position: for each cell 0 (empty), 1 (the first player's stone) or 2; and the actions that led to it.
export class Position {
  constructor(game, cells = new Uint8Array(game.cells), moves = []) {
    this.game = game;
    this.cells = cells;
    this.moves = moves;
    this.last = moves.length ? moves[moves.length - 1].cell : -1;
    this.line = this.last < 0 ? [] : winningCells(game, cells, this.last);
  }

  // The position after moves as people write them, counted from 1: "4453".
  static after(game, text) {
    let position = new Position(game);
    [...text].forEach((name, i) => {
      const action = "123456789".indexOf(name);
      const where = `move ${i + 1} of "${text}" is "${name}"`;
      if (action < 0 || action >= game.actions) throw new Error(`${where}; moves are digits from 1 to ${game.actions}`);
      if (position.over) throw new Error(`${where}, but the game was over before it`);
      if (position.cellOf(action) < 0) throw new Error(`${where}, and ${game.gravity ? "that column is full" : "that cell is taken"}`);
      position = position.play(action);
    });
    return position;
  }

  get ply() {
    return this.moves.length;
  }

  // Who is to move: 0 is the first player.
  get seat() {
    return this.ply % 2;
  }

  get won() {
    return this.line.length > 0;
  }

  get over() {
    return this.won || this.ply === this.game.cells;
  }

  get legal() {
    const all = Array.from({ length: this.over ? 0 : this.game.actions }, (_, action) => action);
    return all.filter((action) => this.cellOf(action) >= 0);
  }

  // The cell that an action's stone takes, -1 if there is none.
  cellOf(action) {
    const { rows, cols, gravity } = this.game;
    if (!gravity) return this.cells[action] ? -1 : action;
    for (let row = rows - 1; row >= 0; row -= 1) if (!this.cells[row * cols + action]) return row * cols + action;
    return -1;
  }

  play(action) {
    const cell = this.cellOf(action);
    const cells = this.cells.slice();
    cells[cell] = this.seat + 1;
    return new Position(this.game, cells, [...this.moves, { action, cell }]);
  }

  // Whether the side to move can win at once.
  get winnable() {
    return this.legal.some((action) => this.completes(this.cellOf(action), this.seat + 1));
  }

  // Whether a stone of that kind makes a line in a cell.
  completes(cell, stone) {
    return this.game.linesOfCell[cell].some((line) => line.every((one) => one === cell || this.cells[one] === stone));
  }

  get text() {
    return this.moves.map(({ action }) => action + 1).join("");
  }
}

// The cells of all lines that the last stone completed.
function winningCells(game, cells, last) {
  const complete = game.linesOfCell[last].filter((line) => line.every((cell) => cells[cell] === cells[last]));
  return [...new Set(complete.flat())].sort((a, b) => a - b);
}
