// The view of a tournament: ratings with intervals, the cross table, and the games, each to be replayed.

import { get } from "./api.js";
import { el, option } from "./dom.js";
import { linkTo, NOBODY } from "./link.js";
import { crossTable, ratingTable } from "./tables.js";

export function startTournament(root, table, trouble) {
  let view = null;
  return async () => {
    if (!view) view = new Tournament(root, (await get("/api/tournament")).stores, trouble);
    document.title = "Tournament · tictac";
  };
}

class Tournament {
  constructor(root, stores, trouble) {
    this.trouble = trouble;
    this.choices = stores.flatMap(({ store, games }) => games.map((one) => ({ store, ...one })));
    const names = this.choices.map((one, i) => option(i, `${one.title}, ${one.count.toLocaleString("en")} games (${one.store})`));
    this.select = el("select", { onchange: () => this.open() }, names);
    this.head = el("p", { class: "soft" });
    this.ratings = el("div", {});
    this.cross = el("div", { class: "scroll" });
    this.filter = el("p", { class: "soft" });
    this.games = el("div", { class: "scroll" });
    this.pages = el("div", { class: "buttons" });
    const card = (title, ...content) => el("section", { class: "card" }, el("h2", {}, title), ...content);
    if (!this.choices.length) return root.append(card("Tournament", el("p", {}, "There are no games in the store yet.")));
    root.append(
      el("section", { class: "card" }, el("div", { class: "form" }, el("label", {}, "Tournament", this.select)), this.head),
      card("Ratings", this.ratings),
      card("Cross table", el("p", { class: "soft" }, "The score of the row's player against the column's in per cent, a draw counting half. Choose a cell for its games."), this.cross),
      card("Games", this.filter, this.games, this.pages),
    );
    this.open();
  }

  get chosen() {
    return this.choices[Number(this.select.value)];
  }

  async open() {
    const { store, game } = this.chosen;
    this.trouble("");
    this.head.textContent = "Reading and rating the games…";
    try {
      const found = await get("/api/tournament/table", { store, game });
      if (this.chosen.game !== game || this.chosen.store !== store) return;
      const first = found.first_advantage;
      this.head.textContent =
        `${found.games.toLocaleString("en")} games, ${found.distinct.toLocaleString("en")} different ones. ` +
        `Ratings in Elo points by maximum likelihood, ${found.anchor} is 0, with 95 % intervals from resampling ${found.resampled}. ` +
        `To play first is worth ${estimate(first.value, first, "Elo")}.`;
      this.ratings.replaceChildren(ratingTable(found));
      this.cross.replaceChildren(crossTable(found, (player, opponent) => this.list(player, opponent, 0, true)));
      await this.list("", "", 0, false);
    } catch (error) {
      this.trouble(error.message);
    }
  }

  // The games of two players, from either seat; of all, where they are "".
  async list(player, opponent, page, jump) {
    const { store, game } = this.chosen;
    try {
      const found = await get("/api/tournament/games", { store, game, first: player, second: opponent, page });
      const who = player ? `${player} (first) against ${opponent} (second)` : "All games";
      const other = player && el("button", { type: "button", class: "quiet", onclick: () => this.list(opponent, player, 0, false) }, "the other seats");
      const all = player && el("button", { type: "button", class: "quiet", onclick: () => this.list("", "", 0, false) }, "all games");
      this.filter.replaceChildren(`${who}: ${found.count.toLocaleString("en")}. `, other || "", all || "");
      this.games.replaceChildren(gameTable(found.games, game));
      const go = (to, text, off) => el("button", { type: "button", disabled: off, onclick: () => this.list(player, opponent, to, false) }, text);
      const last = Math.max(0, Math.ceil(found.count / found.size) - 1);
      this.pages.replaceChildren(go(page - 1, "‹ Previous", page === 0), el("span", { class: "soft page" }, `page ${page + 1} of ${last + 1}`), go(page + 1, "Next ›", page >= last));
      if (jump) this.filter.scrollIntoView({ block: "center" });
    } catch (error) {
      this.trouble(error.message);
    }
  }
}

function estimate(value, { low, high }, unit) {
  const shown = (one) => (one === null ? "no bound" : Math.round(one));
  return `${shown(value)} ${unit} (${shown(low)} to ${shown(high)})`;
}

const RESULT = { 1: "first won", 0: "drawn", "-1": "second won" };

function gameTable(games, game) {
  const rows = games.map((one) => {
    const link = linkTo({ view: "play", game, moves: one.moves, at: one.start, opponent: NOBODY, first: one.first, second: one.second });
    return el("tr", {},
      el("td", { class: "number" }, one.number),
      el("td", {}, el("span", { class: "dot seat0" }), one.first),
      el("td", {}, el("span", { class: "dot seat1" }), one.second),
      el("td", {}, one.forfeit ? `${RESULT[one.result]}, by forfeit: ${one.forfeit}` : RESULT[one.result]),
      el("td", {}, el("a", { href: link, "aria-label": `Replay game ${one.number}` }, one.moves || "no moves")),
    );
  });
  const head = ["", "first", "second", "result", "replay"].map((name) => el("th", { scope: "col" }, name));
  return el("table", { class: "games" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows));
}
