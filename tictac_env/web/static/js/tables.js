// The tables of a tournament: ratings on a scale, and who scored how much against whom.

import { el } from "./dom.js";

const percent = (share) => (100 * share).toFixed(1);

export function ratingTable({ players, anchor }) {
  const known = players.flatMap((one) => [one.elo, one.low, one.high]).filter((end) => end !== null);
  const least = Math.min(0, ...known);
  const open = players.some((one) => one.high === null); // room to the right for what has no bound
  const width = Math.max(1, (Math.max(0, ...known) - least) * (open ? 1.12 : 1));
  const place = (elo) => `${(100 * (elo - least)) / width}%`;
  const rows = players.map((one) => {
    const [low, high] = [one.low ?? least, one.high ?? least + width];
    const span = el("i", { class: `span${one.high === null ? " open" : ""}`, vars: { from: place(low), to: place(high) } });
    const dot = one.elo === null ? null : el("i", { class: "point", vars: { from: place(one.elo) } });
    return el("tr", {},
      el("th", { scope: "row" }, one.name),
      el("td", { class: "number" }, ratingText(one, anchor)),
      el("td", { class: "scale" }, el("div", { class: "track", "aria-hidden": "true" }, span, dot)),
      el("td", { class: "number" }, percent(one.score)),
      el("td", { class: "number wide" }, one.games.toLocaleString("en")),
      el("td", { class: "number wide" }, one.forfeits || ""),
    );
  });
  const head = ["player", "Elo (95 %)", "", "score, %", "games", "forfeits"];
  const kinds = ["", "number", "scale", "number", "number wide", "number wide"];
  return el("div", { class: "scroll" }, el("table", { class: "ratings" }, el("thead", {}, el("tr", {}, head.map((name, i) => el("th", { scope: "col", class: kinds[i] }, name || el("span", { class: "hidden" }, "on a scale"))))), el("tbody", {}, rows)));
}

function ratingText({ name, elo, low, high }, anchor) {
  if (name === anchor) return "0";
  const shown = (end) => (end === null ? "no bound" : Math.round(end));
  if (elo === null) return low !== null ? `> ${shown(low)}` : high !== null ? `< ${shown(high)}` : "unknown";
  return `${shown(elo)} (${shown(low)} to ${shown(high)})`;
}

// choose(player, opponent) is called when a cell is chosen.
export function crossTable({ players, pairs }, choose) {
  const found = new Map(pairs.map((pair) => [`${pair.player}\n${pair.opponent}`, pair]));
  const names = players.map((one) => one.name);
  const rows = names.map((player, i) =>
    el("tr", {},
      el("th", { scope: "row" }, `${i + 1} ${player}`),
      names.map((opponent) => {
        const pair = found.get(`${player}\n${opponent}`);
        if (!pair) return el("td", { class: "none" });
        const title = `${player} against ${opponent}: ${percent(pair.score)} %; won/drawn/lost as first ${pair.as_first.join("/")}, as second ${pair.as_second.join("/")}; expected ${percent(pair.expected)} %`;
        const kind = pair.score > 0.5 ? "won" : "lost";
        const button = el("button", { type: "button", title, "aria-label": title, onclick: () => choose(player, opponent) }, (100 * pair.score).toFixed(0));
        return el("td", { class: `cell ${kind}`, vars: { shade: `${Math.round(150 * Math.abs(pair.score - 0.5))}%` } }, button);
      }),
    ),
  );
  const head = names.map((name, i) => el("th", { scope: "col", class: "number", title: name }, el("span", { "aria-hidden": "true" }, i + 1), el("span", { class: "hidden" }, name)));
  return el("table", { class: "cross" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "player"), head)), el("tbody", {}, rows));
}
