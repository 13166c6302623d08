// Plays the games it is given by the exported page's rules, and says of each position what the page would; of one in each
// game also what its network thinks and does, which takes longer. Of positions by themselves it says what the search finds:
// the outcome after each legal action for the side that took it, null beyond the milliseconds for all of them; or what a
// level thinks and plays.

async function judge({ game, games }) {
  const about = await load(game);
  games.forEach((moves, number) => {
    const plies = Array.from({ length: moves.length + 1 }, (_, ply) => {
      const position = Position.after(about.game, moves.slice(0, ply));
      const { legal, over, winner, line, cells } = view(position);
      const known = [...scores(about.known, position).values()];
      const value = valueInWords(position, score(about.known, position));
      const found = { legal: legal.map(({ action, cell }) => [action, ...cell]), over, winner, line, cells, scores: known, value };
      return ply === number % moves.length ? { ...found, ...asked(about, position) } : found;
    });
    process.stdout.write(`${JSON.stringify(plies)}\n`);
  });
}

function asked(about, position) {
  const values = thoughts(about, NTUPLE, position, 0).moves.map(({ action, value }) => [action, value]);
  const quick = Object.keys(about.levels).filter((name) => !about.levels[name][0].startsWith("mcts"));
  const levels = quick.map((name) => {
    const chances = thoughts(about, name, position, 5).moves.map(({ action, chance }) => [action, chance]);
    return [name, chances, choose(about, name, position, 5)];
  });
  return { levels, action: choose(about, NTUPLE, position, 0), values: values.sort(([a], [b]) => a - b) };
}

async function search({ game, positions, milliseconds }) {
  const about = await load(game);
  const outcome = makeSearch();
  for (const moves of positions) {
    const position = Position.after(about.game, moves);
    const end = Date.now() + milliseconds;
    const found = position.legal.map((action) => {
      const after = position.play(action);
      return -Math.sign(score(null, after) ?? outcome(stonesOf(after), end - Date.now()) ?? NaN);
    });
    process.stdout.write(`${JSON.stringify(found)}\n`);
  }
}

async function play({ game, level, shown }) {
  const about = await load(game);
  for (const moves of shown) {
    const position = Position.after(about.game, moves);
    const found = { ...thoughts(about, level, position, 5), action: choose(about, level, position, 5) };
    process.stdout.write(`${JSON.stringify(found)}\n`);
  }
}

const asking = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
(asking.games ? judge : asking.shown ? play : search)(asking);
