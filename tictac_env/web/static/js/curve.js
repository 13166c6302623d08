// The curves of a training: how far it can be exploited, and how it does against random play.

import { el, svg } from "./dom.js";

const WIDTH = 300;
const HEIGHT = 120;
const RESULTS = ["won", "drawn", "lost"];

export function drawCurves(root, rows, total, unit) {
  const end = Math.max(total, rows.at(-1).at, 1);
  const x = (row) => (WIDTH * row.at) / end;
  const charts = [];
  if (rows[0].exploitability !== null) charts.push(exploitability(rows, x, end, unit));
  for (const seat of ["first", "second"]) charts.push(shares(rows, seat, x, end, unit));
  root.replaceChildren(...charts);
}

function exploitability(rows, x, end, unit) {
  const most = Math.max(1, ...rows.map((row) => row.exploitability));
  const y = (row) => HEIGHT * (1 - row.exploitability / most);
  const path = rows.map((row, i) => `${i ? "L" : "M"}${x(row).toFixed(1)} ${y(row).toFixed(1)}`).join("");
  const dots = rows.filter((row) => row.infallible).map((row) => svg("circle", { cx: x(row), cy: y(row), r: 3, class: "good" }));
  const now = rows.at(-1).exploitability;
  return chart("Exploitability (exact)", `now ${now.toFixed(3)}; 0 is perfect`, [svg("path", { d: path, class: "line-curve" }), dots], most.toFixed(1), end, unit);
}

// Stacked: won at the bottom, lost at the top.
function shares(rows, seat, x, end, unit) {
  const areas = [];
  for (let result = 2; result >= 0; result -= 1) {
    const top = (row) => HEIGHT * (1 - row[seat].slice(0, result + 1).reduce((sum, share) => sum + share, 0));
    const line = rows.map((row) => `L${x(row).toFixed(1)} ${top(row).toFixed(1)}`).join("");
    areas.push(svg("path", { d: `M${x(rows[0])} ${HEIGHT}${line}L${x(rows.at(-1))} ${HEIGHT}Z`, class: `area ${RESULTS[result]}` }));
  }
  const last = rows.at(-1);
  const now = RESULTS.map((name, i) => `${name} ${(100 * last[seat][i]).toFixed(1)} %`).join(", ");
  const keys = RESULTS.map((name, i) => el("span", { class: `key ${name}` }, `${name} ${(100 * last[seat][i]).toFixed(1)} %`));
  return chart(`As ${seat} player against random play${last.exact ? "" : " (100 games)"}`, now, areas, "", end, unit, keys);
}

function chart(title, now, marks, most, end, unit, keys = [now]) {
  const grid = [0, 0.5, 1].map((part) => svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT * part, y2: HEIGHT * part, class: "grid" }));
  const picture = svg("svg", { viewBox: `0 -4 ${WIDTH} ${HEIGHT + 8}`, preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${now}` }, marks, grid);
  return el("figure", { class: "chart" },
    el("figcaption", {}, el("strong", {}, title), el("br"), el("span", { class: "soft" }, keys)),
    el("div", { class: "plot" }, el("span", { class: "high" }, most), picture),
    el("div", { class: "axis" }, el("span", {}, "0"), el("span", {}, `${end.toLocaleString("en")} ${unit}`)),
  );
}
