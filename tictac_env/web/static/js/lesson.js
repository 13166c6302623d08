// A training game walked through: the board after each move, and each value before and after its backup.

import { positionAfter, post } from "./api.js";
import { el } from "./dom.js";
import { picture } from "./picture.js";

const SIDES = ["red", "yellow"];

export class LessonView {
  constructor() {
    this.slider = el("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Which training game", oninput: () => this.load(Number(this.slider.value)) });
    this.which = el("p", { class: "soft" });
    this.board = el("div", { class: "small-board" });
    this.caption = el("p", { class: "soft", role: "status" });
    this.body = el("tbody");
    this.back = el("button", { type: "button", onclick: () => this.choose(this.chosen - 1) }, "‹ value before");
    this.next = el("button", { type: "button", onclick: () => this.choose(this.chosen + 1) }, "next value ›");
    const head = el("tr", {}, ["", "whose", "value of", "before", "after"].map((name) => el("th", { scope: "col" }, name)));
    this.element = el("section", { class: "card", hidden: true, "aria-label": "A training game walked through" },
      el("h2", {}, "One training game, step by step"),
      el("p", { class: "soft" }, "What the agent learned from a single game: its values before the game and after, in the order in which it corrected them. “After 3” is the position after three moves; a move stands before it where moves have values."),
      this.slider,
      this.which,
      el("div", { class: "lesson" },
        el("div", {}, this.board, this.caption, el("div", { class: "buttons" }, this.back, this.next)),
        el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), this.body)),
      ),
    );
  }

  clear(game, token) {
    Object.assign(this, { game, token, games: [], loaded: -1 });
    this.element.hidden = true;
  }

  // games: after how many games each of those that can be walked through was played.
  offer(games, unit) {
    if (unit === "steps" || games.length === this.games.length) return;
    const atEnd = this.loaded < 0 || this.loaded === this.games.length - 1;
    this.games = games;
    this.element.hidden = false;
    this.slider.max = games.length - 1;
    if (this.loaded < 0) this.load(0);
    else if (atEnd && this.loaded > 0) this.load(games.length - 1);
  }

  async load(number) {
    const token = this.token;
    this.loaded = number;
    this.slider.value = number;
    const told = await post("/api/training/lesson", { token, number });
    if (token !== this.token || number !== this.loaded) return;
    this.told = told;
    this.line = await positionAfter(this.game, told.moves);
    this.slider.setAttribute("aria-valuetext", `game ${told.at + 1}`);
    this.which.textContent = `Game ${(told.at + 1).toLocaleString("en")} of the training: ${this.line.names.join(" ")}. Slide for others.`;
    this.body.replaceChildren(...told.backups.map((backup, i) => this.row(backup, i)));
    if (!told.backups.length) this.body.replaceChildren(el("tr", {}, el("td", { colspan: 5 }, "This game taught it nothing new: no value changed.")));
    await this.choose(0);
  }

  row(backup, i) {
    const moves = `after ${backup.ply}`;
    const of = backup.move === null ? moves : `${backup.move}, ${moves}`;
    const grown = backup.after > backup.before ? "up" : "down";
    return el("tr", { onclick: () => this.choose(i) },
      el("td", {}, i + 1),
      el("td", {}, el("span", { class: `dot seat${backup.seat}` }), SIDES[backup.seat]),
      el("td", {}, of),
      el("td", { class: "number" }, backup.before.toFixed(7)),
      el("td", { class: `number ${grown}` }, `${grown === "up" ? "▲" : "▼"} ${backup.after.toFixed(7)}`),
    );
  }

  async choose(i) {
    const { backups } = this.told;
    const number = Math.max(0, Math.min(i, backups.length - 1));
    this.chosen = number;
    this.back.disabled = number <= 0;
    this.next.disabled = number >= backups.length - 1;
    [...this.body.children].forEach((row, at) => row.classList.toggle("now", at === number));
    const backup = backups[number];
    const ply = backup ? backup.ply : this.line.ply;
    const position = await positionAfter(this.game, this.line.history[ply]);
    if (number !== this.chosen) return;
    this.board.classList.toggle("falls", position.falls);
    this.board.replaceChildren(picture(position, position.falls ? 0.375 : 0.14, []));
    this.caption.textContent = backup
      ? `After ${ply} of ${this.line.ply} moves; ${SIDES[backup.seat]}'s value of ${backup.move === null ? "it" : `move ${backup.move}`} goes from ${backup.before.toFixed(4)} to ${backup.after.toFixed(4)}.`
      : "The end of the game.";
  }
}
