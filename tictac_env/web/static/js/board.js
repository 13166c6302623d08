// The board: a picture of a position, and a button for each column or cell. It knows no rules; positions tell.

import { el, svg } from "./dom.js";
import { picture } from "./picture.js";

const margin = (position) => (position.falls ? 0.375 : 0.14); // of the frame, in cells
const SIDES = ["red cross", "yellow ring"];

export class Board {
  // play(move) is called with one of the position's legal moves, illegal(text) where there is none.
  constructor(root, { play, illegal }) {
    this.root = root;
    this.play = play;
    this.illegal = illegal;
    this.position = null;
    this.notes = new Map();
    this.open = false;
    root.classList.add("board");
    root.addEventListener("keydown", (event) => this.onArrow(event));
  }

  // open: whether the visitor may move; notes: by action, what stands under a column or in a cell.
  show(position, { open, notes = new Map() }) {
    const before = this.position;
    const sameBoard = before && before.game === position.game;
    const fresh = sameBoard ? newStones(before, position) : [];
    this.position = position;
    this.open = open;
    this.notes = notes;
    if (!sameBoard) this.build();
    this.root.classList.toggle("open", open);
    this.pictures.replaceChildren(picture(position, margin(position), fresh));
    this.update();
    this.list.replaceChildren(...rowsInWords(position));
  }

  annotate(notes) {
    this.notes = notes;
    this.update();
  }

  build() {
    const { rows, cols, falls, actions, shift, title } = this.position;
    const frame = margin(this.position);
    const width = cols + (rows - 1) * shift + 2 * frame;
    const height = rows + 2 * frame;
    this.pictures = el("div", { class: "picture", "aria-hidden": "true" });
    this.targets = Array.from({ length: actions }, (_, action) => this.target(action, width, height));
    this.under = el("div", { class: "under", "aria-hidden": "true" });
    this.labels = Array.from({ length: actions }, (_, action) => {
      const col = action % cols;
      const row = Math.floor(action / cols);
      const x = frame + col + (falls ? 0 : row * shift);
      const label = el("div", { class: "note" });
      label.style.left = `${(100 * x) / width}%`;
      label.style.width = `${100 / width}%`;
      if (!falls) label.style.top = `${(100 * (frame + row + 0.5)) / height}%`;
      return label;
    });
    this.list = el("ol", { class: "hidden", "aria-label": "The board, row by row" });
    const buttons = el("div", { class: "targets", role: "group", "aria-label": `${title} board` }, this.targets);
    const stage = el("div", { class: "stage" }, this.pictures, buttons);
    (falls ? this.under : stage).append(...this.labels);
    this.root.classList.toggle("falls", falls);
    this.root.style.setProperty("--ratio", width / height);
    this.root.style.setProperty("--across", width);
    this.root.replaceChildren(stage, falls ? this.under : "", this.list);
  }

  target(action, width, height) {
    const { cols, rows, falls, shift } = this.position;
    const frame = margin(this.position);
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
    button.style.left = `${(100 * (frame + (action % cols) + row * shift)) / width}%`;
    button.style.width = `${100 / width}%`;
    button.style.top = `${falls ? 0 : (100 * (frame + row)) / height}%`;
    button.style.height = `${falls ? 100 : 100 / height}%`;
    if (falls) button.dataset.rows = rows;
    return button;
  }

  update() {
    const legal = new Set(this.position.legal.map((move) => move.action));
    this.targets.forEach((button, action) => {
      const note = this.notes.get(action);
      button.setAttribute("aria-label", this.name(action) + (note ? `; ${note.spoken}` : ""));
      button.setAttribute("aria-disabled", String(!(this.open && legal.has(action))));
      this.labels[action].replaceChildren(...(note ? note.shown() : []));
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
    return `Cell ${action + 1}, ${stone ? SIDES[stone - 1] : "empty"}`;
  }

  choose(action) {
    const move = this.position.legal.find((one) => one.action === action);
    if (!this.open) this.illegal(this.position.over ? "The game is over." : "It is not your turn.");
    else if (move) this.play(move);
    else this.illegal(this.position.falls ? `Column ${action + 1} is full.` : `Cell ${action + 1} is taken.`);
  }

  preview(action) {
    const move = this.open && this.position.legal.find((one) => one.action === action);
    const ghost = this.pictures.querySelector(".ghost");
    if (ghost) ghost.remove();
    if (!move || !move.cell) return;
    const [row, col] = move.cell;
    const frame = margin(this.position);
    const x = frame + col + row * this.position.shift + 0.5;
    const stone = svg("circle", { cx: x, cy: frame + row + 0.5, r: 0.3, class: `ghost seat${this.position.seat}` });
    this.pictures.firstChild.append(stone);
  }

  focused(action) {
    this.targets.forEach((button, other) => button.setAttribute("tabindex", other === action ? 0 : -1));
    this.preview(action);
  }

  onArrow(event) {
    const { cols, falls, actions } = this.position;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: falls ? 0 : -cols, ArrowDown: falls ? 0 : cols }[event.key];
    if (!step) return;
    event.preventDefault();
    const now = this.targets.indexOf(this.root.getRootNode().activeElement);
    const next = now < 0 ? 0 : now + step;
    if (next >= 0 && next < actions) this.targets[next].focus();
  }
}

function newStones(before, after) {
  const found = [];
  after.cells.forEach((row, r) => row.forEach((stone, c) => stone && !before.cells[r][c] && found.push(`${r},${c}`)));
  return found.length <= 2 ? found : []; // a jump in the game is no falling stone
}

function rowsInWords(position) {
  return position.cells.map((row, r) => {
    const stones = row.map((stone, c) => stone && `${c + 1} ${SIDES[stone - 1]}`).filter(Boolean);
    return el("li", {}, `Row ${r + 1}: ${stones.join(", ") || "empty"}`);
  });
}
