// Stands in for the server: the same questions, answered here.

import { load } from "./games.js";
import { exact, offer, review, thoughts, view } from "./answers.js";
import { choose } from "./players.js";
import { Position } from "./rules.js";

const positionOf = async ({ game, moves }) => Position.after((await load(game)).game, moves || "");

const ANSWERS = {
  "/api/about": async () => ({ games: Object.entries(globalThis.TICTAC).map(([name, { title }]) => ({ name, title })) }),
  "/api/opponents": async ({ game }) => offer(await load(game)),
  "/api/position": async (fields) => view(await positionOf(fields)),
  "/api/reply": async (fields) => {
    const position = await positionOf(fields);
    const action = choose(await load(fields.game), fields.opponent, position, fields.seed);
    return { action, position: view(position.play(action)) };
  },
  "/api/thoughts": async (fields) => thoughts(await load(fields.game), fields.opponent, await positionOf(fields)),
  "/api/exact": async (fields) => exact(await load(fields.game), await positionOf(fields)),
  "/api/review": async (fields) => review(await load(fields.game), await positionOf(fields)),
};

export const get = (path, fields = {}) => ANSWERS[path](fields);
export const post = get;
export const keep = (position) => position;
export const positionAfter = (game, moves) => get("/api/position", { game, moves });
