// The view of a tournament: ratings with intervals, the cross table, and the games, each to be replayed.

import { button, byId, card, count, el, get, linkTo, NOBODY, option, tableOf } from "./base.js";

const RESULT = { 1: "first won", 0: "drawn", "-1": "second won" };
const percent = (share) => (100 * share).toFixed(1);
const rounded = (end) => (end === null ? "no bound" : Math.round(end));

export class Tournament {
  constructor({ stores }, trouble) {
    const root = byId("tournament");
    this.trouble = trouble;
    this.choices = stores.flatMap(({ store, games }) => games.map((one) => ({ store, ...one })));
    const names = this.choices.map((one, i) => option(i, `${one.title}, ${count(one.count)} games (${one.store})`));
    this.select = el("select", { onchange: () => this.open() }, names);
    [this.head, this.filter] = [0, 1].map(() => el("p", { class: "soft" }));
    [this.cross, this.games] = [0, 1].map(() => el("div", { class: "scroll" }));
    this.ratings = el("div", { class: "scroll", tabindex: 0 }); // without links, so that keys can scroll it
    this.pages = el("div", { class: "buttons" });
    if (!this.choices.length) return root.append(card("Tournament", el("p", {}, "There are no games in the store yet.")));
    const meaning = "The score of the row's player against the column's in per cent, a draw counting half. Choose a cell for its games.";
    root.append(
      el("section", { class: "card" }, el("div", { class: "form" }, el("label", {}, "Tournament", this.select)), this.head),
      card("Ratings", this.ratings),
      card("Cross table", el("p", { class: "soft" }, meaning), this.cross),
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
      const { value, low, high } = found.first_advantage;
      this.head.textContent =
        `${count(found.games)} games, ${count(found.distinct)} different ones. ` +
        `Ratings in Elo points by maximum likelihood, ${found.anchor} is 0, with 95 % intervals from resampling ${found.resampled}. ` +
        `To play first is worth ${rounded(value)} Elo (${rounded(low)} to ${rounded(high)}).`;
      this.ratings.replaceChildren(ratingTable(found));
      this.cross.replaceChildren(crossTable(found, (player, opponent) => this.list(player, opponent, 0, true)));
      await this.list("", "", 0);
    } catch (error) {
      this.trouble(error.message);
    }
  }

  // The games of two players, from either seat; of all, if they are "".
  async list(player, opponent, page, jump = false) {
    const { store, game } = this.chosen;
    try {
      const found = await get("/api/tournament/games", { store, game, first: player, second: opponent, page });
      const who = player ? `${player} (first) against ${opponent} (second)` : "All games";
      const other = button("the other seats", () => this.list(opponent, player, 0), { class: "quiet" });
      const all = button("all games", () => this.list("", "", 0), { class: "quiet" });
      this.filter.replaceChildren(`${who}: ${count(found.count)}. `, ...(player ? [other, all] : []));
      this.games.replaceChildren(gameTable(found.games, game));
      const go = (to, shown, disabled) => button(shown, () => this.list(player, opponent, to), { disabled });
      const last = Math.max(0, Math.ceil(found.count / found.size) - 1);
      const here = el("span", { class: "soft page" }, `page ${page + 1} of ${last + 1}`);
      this.pages.replaceChildren(go(page - 1, "‹ Previous", page === 0), here, go(page + 1, "Next ›", page >= last));
      if (jump) this.filter.scrollIntoView({ block: "center" });
    } catch (error) {
      this.trouble(error.message);
    }
  }
}

function ratingTable({ players, anchor }) {
  const known = players.flatMap((one) => [one.elo, one.low, one.high]).filter((end) => end !== null);
  const least = Math.min(0, ...known);
  const open = players.some((one) => one.high === null); // room to the right for what has no bound
  const width = Math.max(1, (Math.max(0, ...known) - least) * (open ? 1.12 : 1));
  const place = (elo) => `${(100 * (elo - least)) / width}%`;
  const rows = players.map((one) => {
    const ends = { from: place(one.low ?? least), to: place(one.high ?? least + width) };
    const span = el("i", { class: `span${one.high === null ? " open" : ""}`, vars: ends });
    const dot = one.elo === null ? null : el("i", { class: "point", vars: { from: place(one.elo) } });
    return el("tr", {},
      el("th", { scope: "row" }, one.name),
      el("td", { class: "number" }, one.name === anchor ? "0" : ratingText(one)),
      el("td", { class: "scale" }, el("div", { class: "track", "aria-hidden": "true" }, span, dot)),
      el("td", { class: "number" }, percent(one.score)),
      el("td", { class: "number wide" }, count(one.games)),
      el("td", { class: "number wide" }, one.forfeits || ""),
    );
  });
  const scale = el("span", { class: "hidden" }, "on a scale");
  const wide = [["games", "number wide"], ["forfeits", "number wide"]];
  const heads = [["player", ""], ["Elo (95 %)", "number"], [scale, "scale"], ["score, %", "number"], ...wide];
  return tableOf("ratings", heads, rows);
}

function ratingText({ elo, low, high }) {
  if (elo !== null) return `${rounded(elo)} (${rounded(low)} to ${rounded(high)})`;
  return low !== null ? `> ${rounded(low)}` : high !== null ? `< ${rounded(high)}` : "unknown";
}

// choose(player, opponent) is called when a cell is chosen.
function crossTable({ players, pairs }, choose) {
  const found = new Map(pairs.map((pair) => [`${pair.player}\n${pair.opponent}`, pair]));
  const names = players.map((one) => one.name);
  const cell = (pair) => {
    if (!pair) return el("td", { class: "none" });
    const { player, opponent, score, expected, as_first, as_second } = pair;
    const seats = `won/drawn/lost as first ${as_first.join("/")}, as second ${as_second.join("/")}`;
    const title = `${player} against ${opponent}: ${percent(score)} %; ${seats}; expected ${percent(expected)} %`;
    const shade = `${Math.round(150 * Math.abs(score - 0.5))}%`;
    const shown = button((100 * score).toFixed(0), () => choose(player, opponent), { title, "aria-label": title });
    return el("td", { class: `cell ${score > 0.5 ? "won" : "lost"}`, vars: { shade } }, shown);
  };
  const rows = names.map((player, i) => {
    const cells = names.map((opponent) => cell(found.get(`${player}\n${opponent}`)));
    return el("tr", {}, el("th", { scope: "row" }, `${i + 1} ${player}`), cells);
  });
  const head = (name, i) => [el("span", { "aria-hidden": "true", title: name }, i + 1), el("span", { class: "hidden" }, name)];
  return tableOf("cross", [["player", ""], ...names.map((name, i) => [head(name, i), "number"])], rows);
}

function gameTable(games, game) {
  const rows = games.map(({ number, first, second, moves, start, result, forfeit }) => {
    const link = linkTo({ view: "play", game, moves, at: start, opponent: NOBODY, first, second });
    return el("tr", {},
      el("td", { class: "number" }, number),
      el("td", {}, el("span", { class: "dot seat0" }), first),
      el("td", {}, el("span", { class: "dot seat1" }), second),
      el("td", {}, forfeit ? `${RESULT[result]}, by forfeit: ${forfeit}` : RESULT[result]),
      el("td", {}, el("a", { href: link, "aria-label": `Replay game ${number}` }, moves || "no moves")),
    );
  });
  return tableOf("games", ["", "first", "second", "result", "replay"].map((name) => [name, ""]), rows);
}
