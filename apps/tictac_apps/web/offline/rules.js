// The rules of k in a row, with gravity and without: the one copy besides tictac_env/games, and held to it by a test.

export class Game {
  constructor({ name, title, sides, rows, cols, connect, gravity }) {
    Object.assign(this, { name, title, sides, rows, cols, connect, gravity });
    this.cells = rows * cols;
    this.actions = gravity ? cols : this.cells;
    const lines = this.lines();
    this.linesOfCell = Array.from({ length: this.cells }, (_, cell) => lines.filter((line) => line.includes(cell)));
  }

  // The lines of the board, each as its cells, row by row from the top left.
  lines() {
    const { rows, cols, connect, cells } = this;
    const found = [];
    for (const [down, right] of [[-1, 0], [0, 1], [-1, 1], [1, 1]]) {
      for (let cell = 0; cell < cells; cell += 1) {
        const [row, col] = [Math.floor(cell / cols) + (connect - 1) * down, (cell % cols) + (connect - 1) * right];
        if (row < 0 || row >= rows || col >= cols) continue;
        found.push(Array.from({ length: connect }, (_, i) => cell + i * (down * cols + right)));
      }
    }
    return found;
  }

  // The cell that an action's stone takes, -1 if there is none.
  landing(taken, action) {
    const { cols, cells, gravity } = this;
    let cell = gravity ? cells - cols + action : action;
    while (cell >= 0 && taken[cell]) cell -= gravity ? cols : cells;
    return Math.max(cell, -1);
  }

  // True if a stone of that kind makes a line in a cell.
  completes(taken, cell, stone) {
    return this.linesOfCell[cell].some((line) => line.every((one) => one === cell || taken[one] === stone));
  }
}

// A position: for each cell 0 (empty), 1 (the first player's stone) or 2; and the actions that led to it.
export class Position {
  constructor(game, cells = new Uint8Array(game.cells), moves = [], last = -1) {
    Object.assign(this, { game, cells, moves, last });
    this.ply = moves.length;
    this.seat = this.ply % 2; // who is to move: 0 is the first player
    const complete = last < 0 ? [] : game.linesOfCell[last].filter((line) => line.every((cell) => cells[cell] === cells[last]));
    this.line = [...new Set(complete.flat())].sort((a, b) => a - b); // all cells of lines that the last stone completed
    this.won = this.line.length > 0;
    this.over = this.won || this.ply === game.cells;
  }

  // The position after moves as people write them, counted from 1: "4453", or "4 4 5 [3]", as the page lists them.
  static after(game, text) {
    let position = new Position(game);
    [...text.replace(/[\s,[\]]/g, "")].forEach((name, i) => {
      const action = "123456789".indexOf(name);
      const where = `move ${i + 1} of "${text}" is "${name}"`;
      if (action < 0 || action >= game.actions) throw new Error(`${where}; moves are digits from 1 to ${game.actions}`);
      if (position.over) throw new Error(`${where}, but the game was over before it`);
      if (position.cellOf(action) < 0) throw new Error(`${where}, and that ${game.gravity ? "column is full" : "cell is taken"}`);
      position = position.play(action);
    });
    return position;
  }

  get legal() {
    const all = Array.from({ length: this.over ? 0 : this.game.actions }, (_, action) => action);
    return all.filter((action) => this.cellOf(action) >= 0);
  }

  cellOf(action) {
    return this.game.landing(this.cells, action);
  }

  play(action) {
    const cell = this.cellOf(action);
    const cells = this.cells.slice();
    cells[cell] = this.seat + 1;
    return new Position(this.game, cells, [...this.moves, action], cell);
  }

  // True if the side to move can win at once.
  get winnable() {
    return this.legal.some((action) => this.completes(this.cellOf(action), this.seat + 1));
  }

  completes(cell, stone) {
    return this.game.completes(this.cells, cell, stone);
  }

  get text() {
    return this.moves.map((action) => action + 1).join("");
  }
}
