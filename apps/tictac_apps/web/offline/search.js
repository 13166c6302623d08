// The outcome of a position of Connect Four, by search: 1 if the side to move wins, 0 for a draw, -1 if it loses.
//
// A set of cells is two integers: `low` for columns 0 to 3, `high` for 4 to 6. A column has seven bits, the lowest cell
// first; the seventh is always 0, so that no line runs from one column into the next. (Pons, "Solving Connect Four".)

// Makes a search with a table of its own. The function uses nothing outside itself, as a worker gets it as text.
export function makeSearch() {
  const [LOW_BOARD, HIGH_BOARD, LOW_FLOOR, HIGH_FLOOR] = [0x7efdfbf, 0xfdfbf, 0x204081, 0x4081];
  const LOW_ODD = LOW_FLOOR * 0b010101; // the first, third and fifth cell of each column
  const HIGH_ODD = HIGH_FLOOR * 0b010101;
  const [COLS, CELLS] = [7, 42];
  const MIDDLE_FIRST = [3, 2, 4, 1, 5, 0, 6];
  const LOW_COLUMNS = MIDDLE_FIRST.map((col) => (col < 4 ? 0x3f << (7 * col) : 0));
  const HIGH_COLUMNS = MIDDLE_FIRST.map((col) => (col < 4 ? 0 : 0x3f << (7 * (col - 4))));
  const TABLE_BITS = 21;
  const PATIENCE = 4095; // positions between two looks at the clock, less one
  // The transposition table. A set of stones added to that of all stones tells positions apart, in 28 and 21 bits; above
  // the 28 stand the bounds of the outcome.
  const lowKeys = new Int32Array(1 << TABLE_BITS);
  const highKeys = new Int32Array(1 << TABLE_BITS);
  // The moves of the positions between the root and the present one, seven for each, best first; and after each of them
  // the cells that complete a line of the side that made it.
  const [lowMoves, highMoves, lowWins, highWins, ranks] = Array.from({ length: 5 }, () => new Int32Array(COLS * (CELLS + 1)));
  let [low, high] = [0, 0]; // the result of `wins`
  let [nodes, end] = [0, 0];

  // The cells of the board that complete a line of these stones, taken or not.
  function wins(l, h) {
    let [foundLow, foundHigh] = [(l << 1) & (l << 2) & (l << 3), (h << 1) & (h << 2) & (h << 3)];
    for (let step = 6; step <= 8; step += 1) {
      const [back, twice, thrice] = [28 - step, 2 * step, 3 * step];
      const [upLow, upHigh] = [l << step, (h << step) | (l >>> back)];
      const [downLow, downHigh] = [(l >>> step) | (h << back), h >>> step];
      const twoUpLow = upLow & (l << twice);
      const twoUpHigh = upHigh & ((h << twice) | (l >>> (28 - twice)));
      const twoDownLow = downLow & ((l >>> twice) | (h << (28 - twice)));
      const twoDownHigh = downHigh & (h >>> twice);
      foundLow |= (twoUpLow & (downLow | (l << thrice))) | (twoDownLow & (upLow | (l >>> thrice) | (h << (28 - thrice))));
      foundHigh |= (twoUpHigh & (downHigh | (h << thrice) | (l >>> (28 - thrice)))) | (twoDownHigh & (upHigh | (h >>> thrice)));
    }
    low = foundLow & LOW_BOARD;
    high = foundHigh & HIGH_BOARD;
  }

  function hasLine(l, h) {
    wins(l, h);
    return (low & l) !== 0 || (high & h) !== 0;
  }

  function countOf(bits) {
    bits -= (bits >>> 1) & 0x55555555;
    bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
    return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }

  // The outcome for the side to move, which cannot win at once: at most alpha, an upper bound; at least beta, a lower one.
  // own and opp: the stones of either side; ownWins, oppWins: the cells that complete its lines.
  function search(lowOwn, highOwn, lowOpp, highOpp, lowOwnWins, highOwnWins, lowOppWins, highOppWins, ply, alpha, beta) {
    const [lowAll, highAll] = [lowOwn | lowOpp, highOwn | highOpp];
    let lowPlay = (lowAll + LOW_FLOOR) & LOW_BOARD;
    let highPlay = (highAll + HIGH_FLOOR) & HIGH_BOARD;
    const [lowBlock, highBlock] = [lowPlay & lowOppWins, highPlay & highOppWins];
    if (lowBlock | highBlock) {
      if ((lowBlock & (lowBlock - 1)) | (highBlock & (highBlock - 1)) || (lowBlock && highBlock)) return -1;
      [lowPlay, highPlay] = [lowBlock, highBlock];
    }
    lowPlay &= ~(lowOppWins >>> 1); // no stone below a cell with which the other side wins
    highPlay &= ~(highOppWins >>> 1);
    if (!(lowPlay | highPlay)) return ply === CELLS ? 0 : -1;
    if (ply >= CELLS - 2) return 0;

    const [lowKey, highKey] = [lowOwn + lowAll, highOwn + highAll];
    const mixed = Math.imul(lowKey ^ Math.imul(highKey, 0x9e3779b1), 0x85ebca6b);
    const slot = (mixed ^ (mixed >>> 15)) & ((1 << TABLE_BITS) - 1);
    let [least, most] = [-1, 1];
    if (highKeys[slot] === highKey && (lowKeys[slot] & 0xfffffff) === lowKey) {
      const bounds = lowKeys[slot] >>> 28;
      [least, most] = [(bounds >> 2) - 1, (bounds & 3) - 1];
    } else if (ply >= 12) {
      const [lowFree, highFree] = [LOW_BOARD & ~lowAll, HIGH_BOARD & ~highAll];
      if (!hasLine(lowOwn | lowFree, highOwn | highFree)) most = 0;
      if (!hasLine(lowOpp | lowFree, highOpp | highFree)) least = 0;
      // If each column holds an even number of stones, the other side can follow each move in the same column.
      const [lowOdd, highOdd] = [lowFree & LOW_ODD, highFree & HIGH_ODD];
      if (evenColumns(lowAll, highAll) && !hasLine(lowOwn | lowOdd, highOwn | highOdd)) {
        most = hasLine(lowOpp | (lowFree ^ lowOdd), highOpp | (highFree ^ highOdd)) ? -1 : 0;
      }
    }
    if (least >= beta || least === most) return least;
    if (most <= alpha) return most;
    if ((++nodes & PATIENCE) === 0 && Date.now() >= end) throw end;

    const first = COLS * ply;
    let after = first;
    for (let i = 0; i < COLS; i += 1) {
      const [lowMove, highMove] = [lowPlay & LOW_COLUMNS[i], highPlay & HIGH_COLUMNS[i]];
      if (!(lowMove | highMove)) continue;
      wins(lowOwn | lowMove, highOwn | highMove);
      const rank = countOf(low & ~lowAll) + countOf(high & ~highAll);
      let at = after++;
      for (; at > first && ranks[at - 1] < rank; at -= 1) {
        ranks[at] = ranks[at - 1];
        lowMoves[at] = lowMoves[at - 1];
        highMoves[at] = highMoves[at - 1];
        lowWins[at] = lowWins[at - 1];
        highWins[at] = highWins[at - 1];
      }
      ranks[at] = rank;
      lowMoves[at] = lowMove;
      highMoves[at] = highMove;
      lowWins[at] = low;
      highWins[at] = high;
    }
    let best = -1;
    const floor = Math.max(alpha, least);
    const goal = Math.min(beta, most);
    for (let at = first; at < after && best < goal; at += 1) {
      const [l, h] = [lowOwn | lowMoves[at], highOwn | highMoves[at]];
      const found = -search(
        lowOpp, highOpp, l, h, lowOppWins, highOppWins, lowWins[at], highWins[at], ply + 1, -goal, -Math.max(floor, best),
      );
      if (found > best) best = found;
    }
    if (best > alpha && best > least) least = best;
    if (best < beta && best < most) most = best;
    lowKeys[slot] = lowKey | ((((least + 1) << 2) | (most + 1)) << 28);
    highKeys[slot] = highKey;
    return best;
  }

  function evenColumns(lowAll, highAll) {
    const [lowPlay, highPlay] = [(lowAll + LOW_FLOOR) & LOW_BOARD, (highAll + HIGH_FLOOR) & HIGH_BOARD];
    return !((lowPlay & ~LOW_ODD) | (highPlay & ~HIGH_ODD));
  }

  // The outcome of an unfinished position whose side to move cannot win at once, null if that takes longer. Asked again,
  // the search continues, as the table remembers. stones: lowOwn, highOwn, lowOpp, highOpp.
  return function outcome(stones, milliseconds) {
    const [lowOwn, highOwn, lowOpp, highOpp] = stones;
    end = Date.now() + milliseconds;
    const ply = stones.reduce((sum, bits) => sum + countOf(bits), 0);
    wins(lowOwn, highOwn);
    const [lowOwnWins, highOwnWins] = [low, high];
    wins(lowOpp, highOpp);
    try {
      return search(lowOwn, highOwn, lowOpp, highOpp, lowOwnWins, highOwnWins, low, high, ply, -1, 1);
    } catch (thrown) {
      if (thrown !== end) throw thrown;
      return null;
    }
  };
}
