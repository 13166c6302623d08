// Monte Carlo tree search (UCT), as the package's `mcts` has it: games are played out by the rule, in which each side wins
// if it can, else blocks, else moves at random; proven results are propagated up.

// The results of `simulations` from a position, by legal action: {visits, value, proven}, value being the mean
// result from -1 to 1, null without visits, and proven 1, 0, -1, or null. random() gives numbers in [0, 1).
export function treeSearch(position, simulations, random) {
  const root = new TreeNode(position);
  for (let done = 0; done < simulations && root.proven === null; done += 1) simulate(root, random);
  return new Map(root.moves.map(({ action, visits, sum, proven }) => [action, { visits, value: visits ? sum / visits : null, proven }]));
}

// The move that a search chooses: one that wins for sure, else the most visited, but for those that lose for sure.
export function chosenOf(found) {
  const rank = ({ visits, proven }) => (proven === 1 ? Infinity : proven === -1 ? visits - 2 ** 40 : visits);
  return [...found].reduce((best, one) => (rank(one[1]) > rank(best[1]) ? one : best))[0];
}

class TreeNode {
  constructor(position) {
    this.position = position;
    this.entered = 0;
    this.moves = position.legal.map((action) => ({ action, visits: 0, sum: 0, proven: null, child: null }));
  }

  // The proven result for the side to move, null if there is none.
  get proven() {
    const known = this.moves.map((move) => move.proven);
    if (known.includes(1)) return 1;
    return known.includes(null) ? null : Math.max(...known);
  }

  // The move of the highest mean + sqrt(ln N / n); before that one at random of those without visits.
  select(random) {
    const fresh = this.moves.filter((move) => !move.visits);
    if (fresh.length) return fresh[Math.floor(random() * fresh.length)];
    const logarithm = Math.log(this.entered);
    const score = ({ visits, sum }) => sum / visits + Math.sqrt(logarithm / visits);
    return this.moves.reduce((best, move) => (score(move) > score(best) ? move : best));
  }
}

// One simulation: down the tree to a proven result or a new node, from there to the end of the game, and back.
function simulate(root, random) {
  const path = [];
  let [node, value] = [root, null];
  while (value === null) {
    node.entered += 1;
    const move = node.select(random);
    path.push({ node, move });
    if (!move.child) {
      const after = node.position.play(move.action);
      if (after.over) move.proven = after.won ? 1 : 0;
      move.child = new TreeNode(after);
      move.child.entered = 1;
      value = move.proven ?? 0 - playOut(after, random);
    } else {
      value = move.proven;
    }
    node = move.child;
  }
  let certain = path.at(-1).move.proven !== null;
  for (const [at, { node: passed, move }] of [...path.entries()].reverse()) {
    move.visits += 1;
    move.sum += value;
    value = 0 - value;
    if (!certain || !at) continue;
    const proven = passed.proven;
    certain = proven !== null;
    if (certain) path[at - 1].move.proven = 0 - proven;
  }
}

// The result of a game from an unfinished position, for the side to move: 1, 0 or -1.
function playOut({ game, cells: given, ply, seat, legal }, random) {
  const cells = given.slice();
  const landing = new Map(legal.map((action) => [action, game.landing(cells, action)]));
  for (let [left, stone, sign] = [game.cells - ply, seat + 1, 1]; left; left -= 1, stone = 3 - stone, sign = -sign) {
    const open = [...landing];
    if (open.some(([, cell]) => game.completes(cells, cell, stone))) return sign;
    const blocks = open.filter(([, cell]) => game.completes(cells, cell, 3 - stone));
    const choices = blocks.length ? blocks : open;
    const [action, cell] = choices[Math.floor(random() * choices.length)];
    cells[cell] = stone;
    const above = game.landing(cells, action);
    if (above < 0) landing.delete(action);
    else landing.set(action, above);
  }
  return 0;
}
