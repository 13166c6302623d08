// The form of the game: which board, against whom, in which seat.

import { get } from "./api.js";
import { el, option } from "./dom.js";
import { NOBODY } from "./link.js";

const OTHER = "other";
const SIZED = /^KInARow-v0:(\d+)x(\d+)-(\d+)(,gravity=False)?$/;

export class Setup {
  // changed({game, opponent, seat}) is called when the visitor chooses otherwise.
  constructor(form, games, changed) {
    this.form = form;
    this.changed = changed;
    this.trained = []; // {name, shown} of the trainings of this visit
    const size = (name, value, most) => el("input", { name, type: "number", min: 1, max: most, value, required: true });
    this.game = el("select", { name: "game" }, games.map((one) => option(one.name, one.title)), option(OTHER, "another size"));
    this.sizes = [size("rows", 5, 15), size("cols", 6, 15), size("connect", 4, 15)];
    this.falls = el("input", { type: "checkbox", name: "falls", checked: true });
    this.sized = el(
      "fieldset",
      { class: "sizes", hidden: true },
      el("legend", {}, "Size"),
      ["Rows", "Columns", "In a row"].map((shown, i) => el("label", {}, shown, this.sizes[i])),
      el("label", { class: "check" }, this.falls, "Stones fall"),
      el("button", { type: "submit" }, "Set up"),
    );
    this.opponent = el("select", { name: "opponent" });
    this.named = el("input", { name: "named", placeholder: "mcts:2000", maxlength: 96, "aria-label": "Name of another opponent", hidden: true });
    this.seat = el("select", { name: "seat" }, option("first", "first (red cross)"), option("second", "second (yellow ring)"));
    form.append(
      el("label", {}, "Game", this.game),
      this.sized,
      el("label", {}, "Opponent", this.opponent),
      this.named,
      el("label", {}, "You play", this.seat),
    );
    form.addEventListener("submit", (event) => event.preventDefault() || this.tell());
    this.game.addEventListener("change", () => {
      this.sized.hidden = this.game.value !== OTHER;
      if (this.game.value !== OTHER) this.tell();
    });
    this.opponent.addEventListener("change", () => {
      this.named.hidden = this.opponent.value !== OTHER;
      if (this.opponent.value === OTHER) this.named.focus();
      else this.tell();
    });
    this.named.addEventListener("change", () => this.named.value.trim() && this.tell());
    this.seat.addEventListener("change", () => this.tell());
  }

  tell() {
    const opponent = this.opponent.value === OTHER ? this.named.value.trim() : this.opponent.value;
    this.changed({ game: this.gameName(), opponent, seat: this.seat.value });
  }

  gameName() {
    if (this.game.value !== OTHER) return this.game.value;
    const [rows, cols, connect] = this.sizes.map((input) => input.value);
    return `KInARow-v0:${rows}x${cols}-${connect}${this.falls.checked ? "" : ",gravity=False"}`;
  }

  // Shows a state; the opponents offered are those of its game. Returns the opponent to play, if it names none.
  async show({ game, opponent, seat }) {
    if (this.offeredFor !== game) {
      this.offer = await get("/api/opponents", { game });
      this.offeredFor = game;
    }
    const chosen = opponent || this.offer.default;
    fillOpponents(this.opponent, this.offer, this.trained, chosen, [option(NOBODY, "nobody: both sides are yours")]);
    this.opponent.append(option(OTHER, "another…"));
    const known = [...this.opponent.options].some((one) => one.value === chosen);
    this.opponent.value = known ? chosen : OTHER;
    this.named.hidden = known;
    if (!known) this.named.value = chosen;
    this.seat.value = seat;
    this.seat.disabled = chosen === NOBODY;
    const listed = [...this.game.options].some((one) => one.value === game && game !== OTHER);
    this.game.value = listed ? game : OTHER;
    this.sized.hidden = listed;
    const sizes = SIZED.exec(game);
    if (sizes) {
      this.sizes.forEach((input, i) => (input.value = sizes[i + 1]));
      this.falls.checked = !sizes[4];
    }
    return chosen;
  }
}

// Fills a menu with the opponents of a game, in groups.
export function fillOpponents(select, offer, trained, chosen, first = []) {
  const group = (label, offers) =>
    offers.length ? el("optgroup", { label }, offers.map((one) => option(one.name, one.shown, chosen))) : null;
  const levels = offer.opponents.filter((one) => one.name.startsWith("level:"));
  const others = offer.opponents.filter((one) => !one.name.startsWith("level:"));
  const groups = [group("Trained here", trained), group("Levels", levels), group("Policies", others), group("Checkpoints", offer.files)];
  select.replaceChildren(...first, ...groups.filter(Boolean));
}
