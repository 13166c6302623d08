// The board: a picture of a position, and a button for each column or cell. A position lists its legal moves.

import { el, svg } from "./base.js";

export const NAMES = "123456789abcdefghijklmnopqrstuvwxyz"; // of moves, on boards with no more moves than these

// The frame around the cells, and the size of the picture, in cells.
function sizes({ rows, cols, shift, falls }) {
  const frame = falls ? 0.375 : 0.14;
  return { frame, width: cols + (rows - 1) * shift + 2 * frame, height: rows + 2 * frame };
}

// A side in a list: a disc of its colour, or the letter that it draws.
export function signFor({ falls, sides }, seat) {
  return el("span", { class: falls ? `dot seat${seat}` : "sign-of" }, falls ? "" : sides[seat]);
}

export class Board {
  // play(move) is called with one of the position's legal moves, illegal(text) if there is none.
  constructor(root, { play, illegal }) {
    Object.assign(this, { root, play, illegal, position: null, notes: new Map(), open: false });
    root.classList.add("board");
    root.addEventListener("keydown", (event) => this.onArrow(event));
  }

  // open: true if the visitor may move; notes: by action, the text under a column or in a cell.
  show(position, { open, notes = new Map() }) {
    const before = this.position;
    const sameBoard = before && before.game === position.game;
    Object.assign(this, { position, open, notes });
    if (!sameBoard) this.build();
    this.root.classList.toggle("open", open);
    if (!sameBoard || drawn(before) !== drawn(position)) {
      this.pictures.replaceChildren(picture(position, sameBoard ? newStones(before, position) : []));
    } else if (position.line.length && !before.line.length) {
      this.pictures.firstChild.append(...winningLine(position)); // a stone that falls here falls on
    }
    this.update();
    this.list.replaceChildren(...rowsInWords(position));
  }

  // Shows a move at once, before its position is known.
  place(move) {
    const { position } = this;
    const cells = position.cells.map((row) => [...row]);
    cells[move.cell[0]][move.cell[1]] = position.seat + 1;
    this.show({ ...position, cells, last: move.cell }, { open: false });
  }

  annotate(notes) {
    this.notes = notes;
    this.update();
  }

  build() {
    const { falls, actions, title } = this.position;
    const { width, height } = sizes(this.position);
    this.pictures = el("div", { class: "picture", "aria-hidden": "true" });
    this.targets = Array.from({ length: actions }, (_, action) => this.target(action));
    this.list = el("ol", { class: "hidden", "aria-label": "The board, row by row" });
    const group = el("div", { class: "targets", role: "group", "aria-label": `${title} board` }, this.targets);
    this.root.classList.toggle("falls", falls);
    this.root.style.setProperty("--ratio", width / height);
    this.root.replaceChildren(el("div", { class: "stage" }, this.pictures, group), this.list);
  }

  target(action) {
    const { cols, falls, shift } = this.position;
    const { frame, width, height } = sizes(this.position);
    const row = falls ? 0 : Math.floor(action / cols);
    const button = el("button", {
      type: "button",
      class: "target",
      tabindex: action ? -1 : 0,
      "data-action": action,
      onclick: () => this.choose(action),
      onmouseenter: () => this.preview(action),
      onmouseleave: () => this.preview(null),
      onfocus: () => this.focused(action),
      onblur: () => this.preview(null),
    });
    button.append(el("div", { class: "note", "aria-hidden": "true" }));
    button.style.left = `${(100 * (frame + (action % cols) + row * shift)) / width}%`;
    button.style.width = `${100 / width}%`;
    button.style.top = `${falls ? 0 : (100 * (frame + row)) / height}%`;
    button.style.height = `${falls ? 100 : 100 / height}%`;
    return button;
  }

  update() {
    const legal = new Set(this.position.legal.map((move) => move.action));
    this.targets.forEach((button, action) => {
      const note = this.notes.get(action);
      button.setAttribute("aria-label", this.name(action) + (note ? `; ${note.spoken}` : ""));
      button.setAttribute("aria-disabled", String(!(this.open && legal.has(action))));
      button.firstChild.replaceChildren(...(note ? note.shown() : []));
    });
    this.root.classList.toggle("noted", this.notes.size > 0);
  }

  name(action) {
    const { cells, cols, rows, falls } = this.position;
    if (falls) {
      const stones = cells.filter((row) => row[action]).length;
      return `Column ${action + 1}, ${stones === rows ? "full" : `${stones} of ${rows}`}`;
    }
    const stone = cells[Math.floor(action / cols)][action % cols];
    return `Cell ${action + 1}, ${stone ? this.position.sides[stone - 1] : "empty"}`;
  }

  // Returns what play(move) returns.
  choose(action) {
    const move = this.position.legal.find((one) => one.action === action);
    if (this.position.over) return; // the result stays
    if (!this.open) this.illegal("It is not your turn.");
    else if (move) return this.play(move);
    else this.illegal(this.position.falls ? `Column ${action + 1} is full.` : `Cell ${action + 1} is taken.`);
  }

  preview(action) {
    const move = this.open && this.position.legal.find((one) => one.action === action);
    this.pictures.querySelector(".ghost")?.remove();
    if (!move || !move.cell) return;
    const [row, col] = move.cell;
    const { falls, seat, shift } = this.position;
    const { frame } = sizes(this.position);
    const [x, y] = [frame + col + row * shift + 0.5, frame + row + 0.5];
    const ghost = falls ? circle(x, y, 0.3, "ghost") : svg("g", { class: "ghost drawn" }, signOf(x, y, seat + 1));
    ghost.classList.add(`seat${seat}`);
    this.pictures.firstChild.append(ghost);
  }

  focused(action) {
    this.targets.forEach((button, other) => button.setAttribute("tabindex", other === action ? 0 : -1));
    this.preview(action);
  }

  onArrow(event) {
    const { cols, falls, actions } = this.position;
    const down = falls ? 0 : cols;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -down, ArrowDown: down }[event.key];
    if (!step) return;
    event.preventDefault();
    const now = this.targets.indexOf(this.root.getRootNode().activeElement);
    const next = now < 0 ? 0 : now + step;
    if (next >= 0 && next < actions) this.targets[next].focus();
  }
}

const drawn = ({ cells, last }) => String([cells, last]);

function newStones(before, after) {
  const found = [];
  after.cells.forEach((row, r) => row.forEach((stone, c) => stone && !before.cells[r][c] && found.push(`${r},${c}`)));
  return found.length <= 2 ? found : []; // after a jump in the game no stone falls
}

function rowsInWords(position) {
  return position.cells.map((row, r) => {
    const stones = row.map((stone, c) => stone && `${c + 1} ${position.sides[stone - 1]}`).filter(Boolean);
    return el("li", {}, `Row ${r + 1}: ${stones.join(", ") || "empty"}`);
  });
}

// A rack of discs if stones fall, else tiles with crosses and rings. fresh: the cells ("row,col") whose stones have
// just been played, and so fall or appear.
export function picture(position, fresh = []) {
  const { rows, cols, shift, cells, falls } = position;
  const { frame, width, height } = sizes(position);
  const [stones, marks, holes] = [[], [], []];
  for (let row = 0; row < rows; row += 1) {
    for (let col = 0; col < cols; col += 1) {
      const [x, y] = [frame + col + row * shift + 0.5, frame + row + 0.5];
      const cell = `${row},${col}`;
      const stone = cells[row][col];
      holes.push([x, y]);
      if (stone) stones.push((falls ? disc : sign)(x, y, stone, fresh.includes(cell), row));
      if (cell === String(position.last)) {
        marks.push(falls ? circle(x, y, 0.085, "last") : circle(x + 0.36, y - 0.36, 0.055, "last"));
      }
    }
  }
  const ground = (falls ? rack : tiles)(width, height, holes, stones);
  return svg("svg", { viewBox: `0 0 ${width} ${height}` }, ground, names(position), winningLine(position), marks);
}

// A frame around each stone of the line that has won.
function winningLine(position) {
  const { frame } = sizes(position);
  return position.line.map(([row, col]) => {
    const [x, y] = [frame + col + row * position.shift + 0.5, frame + row + 0.5];
    return position.falls ? circle(x, y, 0.4, "line") : square(x, y, "line", 0.43);
  });
}

// The names of the moves: over each column, or in each empty cell.
function names({ rows, cols, shift, cells, falls }) {
  const { frame } = sizes({ rows, cols, shift, falls });
  const actions = falls ? cols : rows * cols;
  return Array.from({ length: actions }, (_, action) => {
    const [row, col] = [Math.floor(action / cols), action % cols];
    if (!falls && cells[row][col]) return null;
    const above = [frame + col + 0.5, frame / 2 + 0.03];
    const [x, y] = falls ? above : [frame + col + row * shift + 0.2, frame + row + 0.22];
    return svg("text", { x, y, class: "name" }, actions > NAMES.length ? action + 1 : NAMES[action]);
  });
}

function rack(width, height, holes, stones) {
  const [right, low, turn] = [width - 0.35, height - 0.35, "a.35 .35 0 0 1"];
  const frame = `M0 .35${turn} .35 -.35H${right}${turn} .35 .35V${low}${turn} -.35 .35H.35${turn} -.35 -.35Z`;
  const cut = holes.map(([x, y]) => `M${x - 0.4} ${y}a.4 .4 0 1 0 .8 0a.4 .4 0 1 0 -.8 0Z`).join("");
  return [
    svg("rect", { x: 0.05, y: 0.05, width: width - 0.1, height: height - 0.1, rx: 0.33, class: "well" }),
    svg("g", {}, stones),
    svg("path", { d: frame + cut, class: "plate", "fill-rule": "evenodd" }),
    svg("g", {}, holes.map(([x, y]) => circle(x, y, 0.42, "rim"))),
  ];
}

function tiles(width, height, holes, stones) {
  const squares = holes.map(([x, y]) => square(x, y, "well", 0.46));
  return [svg("rect", { width, height, rx: 0.22, class: "plate" }), svg("g", {}, squares), svg("g", {}, stones)];
}

const circle = (cx, cy, r, kind) => svg("circle", { cx, cy, r, class: kind });

function square(x, y, kind, half) {
  return svg("rect", { x: x - half, y: y - half, width: 2 * half, height: 2 * half, rx: 0.12, class: kind });
}

function disc(x, y, stone, falling, row) {
  const properties = { class: `stone seat${stone - 1}${falling ? " falling" : ""}`, vars: { drop: row + 1 } };
  const face = [circle(x, y, 0.43, "edge"), circle(x, y, 0.36, "face")];
  return svg("g", properties, face, strokes(x, y, stone, 0.15, 0.075));
}

function sign(x, y, stone, fresh) {
  return svg("g", { class: `stone drawn seat${stone - 1}${fresh ? " fresh" : ""}` }, signOf(x, y, stone));
}

const signOf = (x, y, stone) => strokes(x, y, stone, 0.24, 0.15);

// The first player's sign is a cross, the second's a ring: colour alone never distinguishes them.
function strokes(x, y, stone, reach, width) {
  const style = { class: "sign", "stroke-width": width };
  if (stone === 2) return svg("circle", { cx: x, cy: y, r: reach * 1.12, ...style });
  const d = `M${x - reach} ${y - reach}L${x + reach} ${y + reach}M${x + reach} ${y - reach}L${x - reach} ${y + reach}`;
  return svg("path", { d, ...style });
}
