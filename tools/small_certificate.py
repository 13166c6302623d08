"""Makes a small certificate that the first player wins Connect Four: positions with a move each, a rule for the rest.

    python tools/small_certificate.py            # half an hour of one core
    python tools/small_certificate.py --parts    # what each part of the rule saves

The moves are read off a learned player: of those that the solver says keep the win, the ones that the network of
"ntuple:proven" likes best. The search is `certificate_search`, the rule `certificate_rule`. Whoever wants to check the
certificate needs neither:

    tictac prove tools/certificate_player.py:CertificatePlayer --game ConnectFour-v0 --claim wins --folder proof
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks.report import RESULTS, Row, positive, save, show
from benchmarks.run_store import RunStore
from tictac_agents.ntuple.network import NTupleNetwork, family_game
from tictac_agents.ntuple.proven_player import proven_player
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.policies import make_policy
from tictac_env.position import Position
from tictac_env.progress import progress_bar
from tools.certificate_player import FILE, CertificatePlayer
from tools.certificate_rule import CARE, EVEN, FORKS, LINES, PATIENCE, WHOLE
from tools.certificate_search import CertificateSearch
from tools.certificate_tables import LEAST

GAME = "ConnectFour-v0"
MOVES, FEW = (3, 3), (2, 1)
"""How many moves are tried where up to 16 entries and more are needed; and where parts are compared."""
MOST = 50
"""Up to so many entries the least number is searched for."""
STONES, SAMPLE, CAP = 12, 30, 50
"""The parts are compared on so many positions with so many stones; more entries than that are counted as so many."""
PARTS = {
    "a win, a block, no win given away, the middle": 0,
    "and makes two wins at once": FORKS,
    "and gives no two wins away": FORKS | CARE,
    "and plays under no winning cell of its own": FORKS | CARE | PATIENCE,
    "and likes even rows": FORKS | CARE | PATIENCE | EVEN,
    "and makes and takes winning cells": FORKS | CARE | PATIENCE | EVEN | LINES,
    "and those in odd rows first: the whole rule": WHOLE,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", action="store_true", help="compare the parts of the rule instead")
    parser.add_argument(
        "--moves",
        type=positive,
        nargs=2,
        default=MOVES,
        metavar="N",
        help="how many moves are tried where up to 16 entries are needed, and where more are (default: 3 3)",
    )
    parser.add_argument(
        "--most", type=positive, default=MOST, help="entries that the least is searched for (default: %(default)s)"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    moves = tuple(options.moves)
    game = family_game(GAME)
    network: NTupleNetwork = proven_player(game).policy  # type: ignore[assignment]
    if options.parts:
        rows = compared(game, network)
        show("What the parts of the rule save", rows)
        save("certificate-parts", {"stones": STONES, "positions": SAMPLE, "most": CAP}, {"parts": rows}, options.output)
        return
    runs = RunStore(options.output / "small-certificate-runs.jsonl")
    before = min((run["positions listed"] for _, run in runs), default=game.full)
    began = time.process_time()
    search = CertificateSearch(game, network, moves=moves)
    listed, decided = search.listed(*game.start(), options.most)
    seconds = round(time.process_time() - began)
    player, kept = CertificatePlayer.of(game, listed), options.output / "proofs" / FILE.name
    path = kept.with_suffix(".new.npz")
    player.save(path)
    row = {"positions listed": len(listed), "bytes": path.stat().st_size, "not won by the rule alone": decided}
    row |= {"solver and network asked": search.asked, "CPU-s": seconds}
    runs.add({"moves tried": list(moves), "searched up to": options.most, "all moves up to": LEAST - 1}, row)
    path.replace(kept) if len(listed) < before else path.unlink()
    rows = [
        {"moves tried": "-".join(map(str, how["moves tried"])), "searched up to": how["searched up to"]} | run
        for how, run in runs
    ]
    show("Certificates", rows)
    save("small-certificate", {"game": GAME}, {"sizes": rows}, options.output)


def compared(game: KInARow, network: NTupleNetwork) -> list[Row]:
    """What the rule needs with more and more of its parts, on the same positions."""
    rows, positions = list[Row](), sampled(game)
    with progress_bar(len(PARTS) * SAMPLE, "parts") as update:
        for name, parts in PARTS.items():
            began = time.process_time()
            search = CertificateSearch(game, network, parts, FEW, table_bits=20, progress=False)
            needed = []
            for position in positions:
                needed.append(min(CAP, search.entries(position.own, position.opp, CAP - 1)))
                update(len(rows) * SAMPLE + len(needed), name)
            row = {"the rule": name, "won by it alone, %": round(100 * needed.count(0) / SAMPLE, 1)}
            row |= {"entries, mean": round(float(np.mean(needed)), 1), f"{CAP} or more": needed.count(CAP)}
            rows.append(row | {"CPU-s": round(time.process_time() - began, 1)})
    return rows


def sampled(game: KInARow) -> list[Position]:
    """Positions that "ntuple:proven" has to answer as first player, after random replies that do not lose at once."""
    player, found, seed = make_policy("ntuple:proven", game), dict[tuple[int, int], Position](), 0
    while len(found) < SAMPLE:
        rng, position, seed = np.random.default_rng(seed), Position.start(game), seed + 1
        while not position.is_over and position.ply < STONES:
            position = position.play(player.act(position, 0))
            replies = [after for after in map(position.play, position.legal_actions) if not wins(game, after)]
            if position.is_over or not replies:
                break
            position = replies[int(rng.integers(len(replies)))]
        if not position.is_over and position.ply == STONES:
            found[position.own, position.opp] = position
    return list(found.values())


def wins(game: KInARow, position: Position) -> bool:
    """Whether the side to move can win at once, or the game is over."""
    return position.is_over or game.winning_choices(position.own, position.opp) != 0


if __name__ == "__main__":
    main()
