// The form of the game: which board, against whom, in which seat. Only what the folder holds can be chosen.

import { get } from "./api.js";
import { el, option } from "./dom.js";
import { NOBODY } from "./link.js";
import { PLAYERS } from "./players.js";

export class Setup {
  // changed({game, opponent, seat}) is called when the visitor chooses otherwise.
  constructor(form, games, changed) {
    this.trained = Object.entries(PLAYERS).map(([name, shown]) => ({ name, shown: capital(shown) })); // how they are called
    this.game = el("select", { name: "game" }, games.map((one) => option(one.name, one.title)));
    this.opponent = el("select", { name: "opponent" });
    this.seat = el("select", { name: "seat" }, option("first", "first (red cross)"), option("second", "second (yellow ring)"));
    form.append(el("label", {}, "Game", this.game), el("label", {}, "Opponent", this.opponent), el("label", {}, "You play", this.seat));
    const tell = () => changed({ game: this.game.value, opponent: this.opponent.value, seat: this.seat.value });
    const another = () => changed({ game: this.game.value, opponent: "", seat: this.seat.value });
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const [select, told] of [[this.game, another], [this.opponent, tell], [this.seat, tell]]) {
      select.addEventListener("change", told);
    }
  }

  // Shows a state; the opponents offered are those of its game. Returns the opponent to play, if it names none of them.
  async show({ game, opponent, seat }) {
    this.offer = await get("/api/opponents", { game });
    const named = [NOBODY, ...this.offer.opponents.map((one) => one.name)].includes(opponent);
    const chosen = named ? opponent : this.offer.default;
    fillOpponents(this.opponent, this.offer, [], chosen, [option(NOBODY, "nobody: both sides are yours")]);
    this.opponent.value = chosen;
    this.game.value = game;
    this.seat.value = seat;
    this.seat.disabled = chosen === NOBODY;
    return chosen;
  }
}

// Fills a menu with the opponents of a game.
export function fillOpponents(select, offer, trained, chosen, first = []) {
  select.replaceChildren(...first, ...offer.opponents.map((one) => option(one.name, one.shown, chosen)));
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
