// The evaluation of a whole game: a bar for each position, blunders marked.

import { post } from "./api.js";
import { el, svg } from "./dom.js";

const HEIGHT = 40;
const WIDTH = 100;

// go(ply) shows that position; late() tells whether nobody wants the answer any more.
export async function showReview(root, position, at, go, late) {
  const { plies, complete } = await post("/api/review", { game: position.game, moves: position.moves });
  if (!late()) draw(root, position, plies, complete, at, go);
}

function draw(root, position, plies, complete, at, go) {
  const most = Math.max(1, ...plies.map((one) => Math.abs(one.score || 0)));
  const each = WIDTH / plies.length;
  const bars = plies.map((one, index) => {
    const length = one.outcome === null ? 0 : one.outcome * (8 + 12 * (Math.abs(one.score) / most));
    const kind = one.outcome === null ? "open" : { 1: "seat0", 0: "even", "-1": "seat1" }[one.outcome];
    const tall = Math.max(1.2, Math.abs(length));
    const y = HEIGHT / 2 - (length > 0 ? tall : length < 0 ? 0 : 0.6);
    const bar = svg("rect", { x: index * each + 0.15 * each, y, width: 0.7 * each, height: tall, class: kind });
    const marks = [bar];
    if (one.blunder) marks.push(svg("path", { class: "blunder", d: triangle((index + 0.5) * each, length > 0 ? HEIGHT - 3 : 3, length > 0) }));
    if (index === at) marks.unshift(svg("rect", { x: index * each, y: 0, width: each, height: HEIGHT, class: "now" }));
    marks.push(svg("title", {}, `after move ${index}: ${one.text}`));
    return svg("g", { onclick: () => go(index) }, marks);
  });
  const blunders = plies.filter((one) => one.blunder);
  const words = blunders.map((one) =>
    el("li", {}, el("button", { type: "button", class: "quiet", onclick: () => go(one.ply) }, `Move ${one.ply}, ${position.names[one.ply - 1]}`), ` is a blunder: ${was(plies[one.ply - 1])}, now ${one.text}.`),
  );
  const now = plies[at];
  root.replaceChildren(
    el("p", { class: "soft" }, `After ${at} ${at === 1 ? "move" : "moves"}: ${now.text}. Upwards the first player wins, downwards the second; a long bar soon.`),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", class: "bars", "aria-hidden": "true" }, svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2 }), bars),
    el("ul", { class: "blunders" }, words.length ? words : el("li", {}, complete ? "No blunders: no move gave away a win or a draw." : "No blunder among the positions whose values are known here.")),
  );
  root.hidden = false;
}

const was = (one) => `before it ${one.text}`;

function triangle(x, y, up) {
  const tip = up ? -2.4 : 2.4;
  return `M${x - 1.2} ${y}L${x + 1.2} ${y}L${x} ${y + tip}Z`;
}
