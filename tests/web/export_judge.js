// Plays the games it is given by the exported page's rules, and says of each position what the page would.

import { view } from "./answers.js";
import { load } from "./games.js";
import { scores } from "./known.js";
import { Position } from "./rules.js";

const { readFileSync } = require("node:fs");

async function judge({ game, games }) {
  const about = await load(game);
  for (const moves of games) {
    const plies = Array.from({ length: moves.length + 1 }, (_, ply) => {
      const position = Position.after(about.game, moves.slice(0, ply));
      const { legal, over, winner, line, cells } = view(position);
      return {
        legal: legal.map(({ action, cell }) => [action, ...cell]),
        over,
        winner,
        line,
        cells: cells.flat().join(""),
        values: [...about.network.values(position).values()],
        scores: [...scores(about.known, position).values()],
      };
    });
    process.stdout.write(`${JSON.stringify(plies)}\n`);
  }
}

judge(JSON.parse(readFileSync(0, "utf-8")));
