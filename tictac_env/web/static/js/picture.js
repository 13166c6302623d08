// The picture of a position: a rack of discs where stones fall, else tiles with crosses and rings.

import { svg } from "./dom.js";

// fresh: the cells ("row,col") whose stones have just been played, and so fall or appear.
export function picture(position, margin, fresh) {
  const { rows, cols, shift, cells, falls } = position;
  const width = cols + (rows - 1) * shift + 2 * margin;
  const height = rows + 2 * margin;
  const winning = new Set(position.line.map(([row, col]) => `${row},${col}`));
  const last = position.last ? `${position.last[0]},${position.last[1]}` : "";
  const stones = [];
  const marks = [];
  const holes = [];
  for (let row = 0; row < rows; row += 1) {
    for (let col = 0; col < cols; col += 1) {
      const x = margin + col + row * shift + 0.5;
      const y = margin + row + 0.5;
      const cell = `${row},${col}`;
      const stone = cells[row][col];
      holes.push([x, y]);
      if (stone) stones.push((falls ? disc : sign)(x, y, stone, fresh.includes(cell), row));
      if (winning.has(cell)) marks.push(falls ? svg("circle", { cx: x, cy: y, r: 0.4, class: "line" }) : square(x, y, "line", 0.43));
      if (cell === last) marks.push(falls ? svg("circle", { cx: x, cy: y, r: 0.085, class: "last" }) : corner(x, y));
    }
  }
  const board = falls ? rack(width, height, holes, stones) : tiles(width, height, holes, stones);
  return svg("svg", { viewBox: `0 0 ${width} ${height}` }, board, marks);
}

function rack(width, height, holes, stones) {
  const frame = `M0 .35a.35 .35 0 0 1 .35 -.35H${width - 0.35}a.35 .35 0 0 1 .35 .35V${height - 0.35}a.35 .35 0 0 1 -.35 .35H.35a.35 .35 0 0 1 -.35 -.35Z`;
  const cut = holes.map(([x, y]) => `M${x - 0.4} ${y}a.4 .4 0 1 0 .8 0a.4 .4 0 1 0 -.8 0Z`).join("");
  const rims = holes.map(([x, y]) => svg("circle", { cx: x, cy: y, r: 0.42, class: "rim" }));
  return [
    svg("rect", { x: 0.05, y: 0.05, width: width - 0.1, height: height - 0.1, rx: 0.33, class: "well" }),
    svg("g", {}, stones),
    svg("path", { d: frame + cut, class: "plate", "fill-rule": "evenodd" }),
    svg("g", {}, rims),
  ];
}

function tiles(width, height, holes, stones) {
  const squares = holes.map(([x, y]) => square(x, y, "well", 0.46));
  return [svg("rect", { width, height, rx: 0.22, class: "plate" }), svg("g", {}, squares), svg("g", {}, stones)];
}

function square(x, y, kind, half) {
  return svg("rect", { x: x - half, y: y - half, width: 2 * half, height: 2 * half, rx: 0.12, class: kind });
}

function disc(x, y, stone, falling, row) {
  return svg(
    "g",
    { class: `stone seat${stone - 1}${falling ? " falling" : ""}`, vars: { drop: row + 1 } },
    svg("circle", { cx: x, cy: y, r: 0.43, class: "edge" }),
    svg("circle", { cx: x, cy: y, r: 0.36, class: "face" }),
    strokes(x, y, stone, 0.15, 0.075),
  );
}

function sign(x, y, stone, fresh) {
  return svg("g", { class: `stone drawn seat${stone - 1}${fresh ? " fresh" : ""}` }, strokes(x, y, stone, 0.24, 0.15));
}

// The first player's sign is a cross, the second's a ring: colour is never all that tells them apart.
function strokes(x, y, stone, reach, width) {
  if (stone === 2) return svg("circle", { cx: x, cy: y, r: reach * 1.12, class: "sign", "stroke-width": width });
  const d = `M${x - reach} ${y - reach}L${x + reach} ${y + reach}M${x + reach} ${y - reach}L${x - reach} ${y + reach}`;
  return svg("path", { d, class: "sign", "stroke-width": width });
}

function corner(x, y) {
  return svg("circle", { cx: x + 0.36, cy: y - 0.36, r: 0.055, class: "last" });
}
