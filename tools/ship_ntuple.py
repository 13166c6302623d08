"""Makes the n-tuple networks that come with the package, and the one of the second seat.

    python tools/ship_ntuple.py TicTacToe-v0      # the policy "ntuple": seconds
    python tools/ship_ntuple.py ConnectFour-v0    # 13 minutes of CPU time
    python tools/ship_ntuple.py proven            # the policy "ntuple:proven": a quarter of an hour on one core
    python tools/ship_ntuple.py second-seat       # some hours of CPU time, most of them to judge

ConnectFour-v0: the run is followed by rounds. Each round finds replies that refute the network as first player. Then it
learns on, and a part of the games begins with these positions: it learns where it failed, never the right move. The
network of the round with the fewest errors is shipped.

proven: a network of 150 tuples learns from 3 million games of self-play. Then every reply to it is played. If its move
throws the win away, it gets another: of the moves that keep the win by the solver, the one that the network values
most. This is repeated with the positions that follow until no error is left. To check the player needs neither this
tool nor the solver: `tictac prove ntuple:proven --game ConnectFour-v0 --claim wins --store proof`.

second-seat: perfect play wins Connect Four as first player, so the second player wins only by errors of the other side.
At first the network learns the values of best play, while one side or the other errs to show it more positions. Then
the first player errs in all games, and values count these errors: so the second player learns to lead it into errors.
In the end half of the games begin with positions that perfect play with errors in two of ten moves has led the network
to. It searches nothing, and does not come with the package: it is written to the folder of the checkpoints, and its
judgement to benchmarks/results. All games that it can play are followed, 240 million positions, so the result is exact.

The same seed gives the same network, to the bit. A stopped run continues from its checkpoints, one for each round.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.records import RESULTS, parser_of, positive, save
from tictac_agents import NTupleNetwork, NTupleTD
from tictac_agents.ntuple.network import PROVEN, SHIPPED, save_proven
from tictac_apps.bench.records import Row, show
from tictac_env.arena import SeatResult
from tictac_env.arena.play import BOARDS, GameJob, play_games
from tictac_env.arena.reply_layers import Moves, distinct, mark_failing, merged, row_of, rows_of
from tictac_env.arena.results import seat_result
from tictac_env.arrays import Ints
from tictac_env.compiled import borrowing_kernel, kernel
from tictac_env.games import DRAWN, LOST, UNFINISHED, Game, get_game
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.policies import Policy, make_policy
from tictac_env.position import Position, format_moves
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import progress_bar
from tictac_env.rng import new_state
from tictac_env.solver import Solver
from tictac_env.solver.players import Perfect
from tictac_env.storage import save_text

COMPILED_AS = "trees of replies"


class Files(NamedTuple):
    """The files of a run, and its threads, which change nothing but the time."""

    folder: Path
    name: str
    """The beginning of their names."""
    threads: int = 1

    def learned(self, agent: NTupleTD, games: int, number: int) -> NTupleTD:
        """An agent after more games; continues from the checkpoint of this number."""
        checkpoint = self.folder / f"{self.name}-{number}.npz"
        if checkpoint.exists():
            agent = NTupleTD.load(checkpoint)
        agent.threads = self.threads
        if checkpoint.exists():
            agent.resume(checkpoint=checkpoint)
        else:
            agent.learn(games, checkpoint=checkpoint)
        if not agent.is_done:
            raise SystemExit("stopped; the same command continues from here")
        return agent

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """The result of `make`, kept in a JSON file of that name."""
        file = self.folder / f"{self.name}-{name}.json"
        if not file.exists():
            save_text(file, json.dumps(make()))
        return json.loads(file.read_text(encoding="utf-8"))


# The networks that are shipped: self-play, then rounds from where they were refuted.


class Rounds(NamedTuple):
    """Learning on after a run."""

    rounds: int
    games: int
    """In each round."""
    step: float
    chance: float
    """That a game begins where the network was refuted, as often as it was in all rounds."""


class Run(NamedTuple):
    """The making of a network."""

    settings: dict[str, Any]
    games: int
    bits: int
    """Of a weight in the file."""
    rounds: Rounds | None = None


RUNS = {
    "TicTacToe-v0": Run({"tuples": 12, "length": 6, "seed": 0}, games=20_000, bits=8),
    "ConnectFour-v0": Run({"seed": 0}, games=3_000_000, bits=12, rounds=Rounds(10, 500_000, step=0.1, chance=0.3)),
}
MOST = 1_500
"""Positions of a ply in which errors are looked for; if there are more, they are drawn."""


def ship(game: str, files: Files, output: Path) -> None:
    """Makes the network of a game."""
    run = RUNS[game]
    agent = files.learned(NTupleTD(get_game(game), **run.settings), run.games, 0)
    network = agent.network
    if run.rounds:
        network = refined(agent, run.rounds, files)
    network.rounded(run.bits).save(output / f"{game}.npz")
    print(f"written: {output / game}.npz")


def refined(agent: NTupleTD, plan: Rounds, files: Files) -> NTupleNetwork:
    """The network of the round with the fewest errors; ends when no error is left."""
    starts, rows = list[str](), list[Row]()
    best: tuple[int, NTupleNetwork] | None = None
    for number in range(plan.rounds + 1):
        if number:
            agent.step = agent.final_step = plan.step
            agent.start_from(starts, plan.chance if starts else 0)
            agent = files.learned(agent, plan.games, number)
        network = agent.network
        errors, row = files.kept(f"{number}", partial(wins_lost, network, number))
        rows.append({"games": agent.num_games, **row})
        show("Errors after each round", rows)
        if best is None or len(errors) < best[0]:
            best = len(errors), network
        if not errors:
            break
        starts += errors
    assert best is not None
    return best[1]


def wins_lost(network: NTupleNetwork, number: int) -> tuple[list[str], Row]:
    """Games after which the network, as first player, throws the win away, after any replies and after the best."""
    games, row = list[str](), dict[str, int]()
    for replies in ("all", "best"):
        found, positions = refutations(network, network.game, seed=number + 1, best=replies == "best")
        games += found
        row |= {f"positions, {replies} replies": positions, f"win lost, {replies} replies": len(found)}
    return games, row


def refutations(
    player: Policy, game: KInARow, most: int | None = MOST, seed: int = 0, best: bool = False
) -> tuple[list[str], int]:
    """Games after which the first player plays a move that gives away the value of the game.

    Args:
        player: a fixed map.
        game: one that the first player does not lose by force.
        most: positions of a ply; if there are more, they are drawn. None looks at all.
        seed: of the draws.
        best: if true, only replies of perfect play are followed; else all.

    Returns:
        The move strings, and the number of positions looked at.
    """
    rng, solver = np.random.default_rng(seed), Solver(game)
    start = Position.start(game)
    layer: dict[tuple[int, int], tuple[tuple[int, ...], Position]] = {(start.own, start.opp): ((), start)}
    worth = value(start, solver)
    found, looked_at = [], 0
    while layer:
        met = list(layer.values())
        if most is not None and len(met) > most:
            met = [met[index] for index in sorted(rng.choice(len(met), most, replace=False).tolist())]
        looked_at += len(met)
        actions = player.act_many(PositionBatch.of([one for _, one in met]), np.zeros(len(met), np.int64))
        layer = {}
        for (moves, position), action in zip(met, actions.tolist(), strict=True):
            after = position.play(action)
            if after.is_over:
                continue
            if -value(after, solver) < worth:
                found.append(format_moves(game, moves))
                continue
            for reply in solver.best_actions(after) if best else after.legal_actions:
                then = after.play(reply)
                if not then.is_over:
                    layer[then.own, then.opp] = (*moves, action, reply), then
    return found, looked_at


def value(position: Position, solver: Solver) -> int:
    """1 if the side to move wins by perfect play, 0 for a draw, -1 if it loses."""
    score = position.result if position.is_over else solver.score(position, weak=True)
    return (score > 0) - (score < 0)


# The proven player: the positions that it has to answer, whatever the replies.

CHUNK = 1 << 16
"""Positions that the player answers at a time."""


class Layer(NamedTuple):
    """The positions with a number of stones, in ascending order of `own`, then of `opp`; and the player's moves."""

    own: Ints
    opp: Ints
    moves: Moves


NONE = Layer(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int8))


class ReplyTree:
    """The positions that a first player has to answer, whatever the replies, of mirror images the lesser one.

    `prove` lists the same positions in files. Here they are kept in memory, so that a player can be corrected again and
    again, and only the positions after a correction are new. If a player plays otherwise in the mirror image, as two
    moves are worth the same to it, its move becomes a correction.

    Args:
        player: a network, which may look ahead by plies.
        game: one with gravity, that the first player wins.
        progress: whether to show progress (only on a terminal).

    Attributes:
        layers: the positions and moves by the number of stones; some of them may no longer be met.
        corrections: the corrected moves, by position, and so for its mirror image.
        asked: the number of positions that the player answered.
    """

    def __init__(self, player: NTupleNetwork, game: KInARow, progress: bool = True) -> None:
        self.player, self.game, self.progress = player, game, progress
        self.layers: dict[int, Layer] = {}
        self.corrections: dict[tuple[int, int], int] = {}
        self.asked = 0
        own, opp = game.start()
        self._grow(0, np.array([own]), np.array([opp]))

    def __len__(self) -> int:
        return sum(len(layer.own) for layer in self.layers.values())

    def errors(self, solver: Solver) -> Iterator[Position]:
        """The positions, reached without an error, in which the player's move does not keep the win."""
        failing = self._failing()
        positions, ply = set(pairs(failing[0].own, failing[0].opp)), 0
        while positions:
            here, following = failing[ply], failing.get(ply + 2, NONE)
            then: set[tuple[int, int]] = set()
            for own, opp in sorted(positions):
                position = Position(self.game, own, opp)
                after = position.play(int(here.moves[row_of(here.own, here.opp, own, opp)]))
                if not keeps_win(after, solver):
                    yield position
                    continue
                replies = (after.play(reply) for reply in after.legal_actions)
                images = (lesser(self.game, reply.own, reply.opp) for reply in replies if not reply.is_over)
                then |= {(own, opp) for own, opp in images if row_of(following.own, following.opp, own, opp) >= 0}
            positions, ply = then, ply + 2

    def correct(self, positions: Iterable[Position], solver: Solver) -> None:
        """Gives the player another move in each position: of those that keep the win the one of the best value."""
        by_ply: dict[int, list[tuple[int, int]]] = {}
        for position in positions:
            values = self.player.values(position.own, position.opp)
            winning = [action for action in position.legal_actions if keeps_win(position.play(action), solver)]
            own, opp = position.own, position.opp
            self.corrections[own, opp] = max(winning, key=values.__getitem__)
            by_ply.setdefault((own | opp).bit_count(), []).append((own, opp))
        for ply, corrected in by_ply.items():
            own, opp = distinct(*np.array(corrected, np.int64).T)
            moves = np.array([self.corrections[both] for both in pairs(own, opp)], np.int8)
            layer = self.layers[ply]
            layer.moves[[row_of(layer.own, layer.opp, *both) for both in pairs(own, opp)]] = moves
            self._grow(ply + 2, *self._replies(Layer(own, opp, moves)))

    def needed(self) -> dict[tuple[int, int], int]:
        """The corrections of positions that are still met after earlier corrections."""
        found, corrections = {}, sorted(self.corrections.items())
        own, opp = (np.array([stones]) for stones in self.game.start())
        for ply in range(0, self.game.cells, 2):
            here = [(both, move) for both, move in corrections if (both[0] | both[1]).bit_count() == ply]
            found.update((both, move) for both, move in here if row_of(own, opp, *both) >= 0)
            layer = self.layers.get(ply, NONE)
            own, opp = self._replies(Layer(own, opp, layer.moves[rows_of(layer.own, layer.opp, own, opp)]))
        return found

    def _grow(self, ply: int, own: Ints, opp: Ints) -> None:
        """Has the player answer new positions of a ply, and all that follow."""
        while len(own):
            old = self.layers.get(ply, NONE)
            new = rows_of(old.own, old.opp, own, opp) < 0
            own, opp = own[new], opp[new]
            moves = self._asked(ply, own, opp)
            every = Layer(np.append(old.own, own), np.append(old.opp, opp), np.append(old.moves, moves))
            order = np.lexsort((every.opp, every.own))
            self.layers[ply] = Layer(*(column[order] for column in every))
            own, opp = self._replies(Layer(own, opp, moves))
            ply += 2

    def _asked(self, ply: int, own: Ints, opp: Ints) -> Moves:
        """The player's moves."""
        moves = np.empty(len(own), np.int8)
        self.asked += len(own)
        with progress_bar(len(own), f"ply {ply}: {len(own):,} positions", self.progress) as update:
            for begin in range(0, len(own), CHUNK):
                some = slice(begin, begin + CHUNK)
                moves[some] = self._moves(own[some], opp[some])
                mirrored = self.game.mirror(own[some]), self.game.mirror(opp[some])
                order = np.lexsort(mirrored[::-1])  # similar positions take less time
                others = np.empty_like(moves[some])
                others[order] = self.game.num_actions - 1 - self._moves(*(side[order] for side in mirrored))
                its_own = (mirrored[0] == own[some]) & (mirrored[1] == opp[some])
                for i in begin + np.flatnonzero((others != moves[some]) & ~its_own):
                    both, move = (int(own[i]), int(opp[i])), int(moves[i])
                    if self.game.result(*self.game.play(*both, move)) == UNFINISHED:
                        self.corrections[both] = move
                update(min(begin + CHUNK, len(own)), "")
        return moves

    def _moves(self, own: Ints, opp: Ints) -> Moves:
        batch = PositionBatch(self.game, own, opp)
        return self.player.act_many(batch, np.zeros(len(batch), np.int64)).astype(np.int8)

    def _replies(self, layer: Layer) -> tuple[Ints, Ints]:
        """The positions after the moves and every reply, in order."""
        pieces = []
        for begin in range(0, len(layer.own), CHUNK):
            some = Layer(*(column[begin : begin + CHUNK] for column in layer))
            following = np.empty((2, len(some.own) * self.game.num_actions), np.int64)
            count = replies_to(self.game, *some, *following)
            pieces.append(distinct(*following[:, :count]))
        whole = list(merged(pieces))
        own, opp = (np.concatenate([piece[side] for piece in whole] or [NONE.own]) for side in range(2))
        return own, opp

    def _with_images(self, layer: Layer) -> tuple[Ints, Ints]:
        images = self.game.mirror(layer.own), self.game.mirror(layer.opp)
        return distinct(*map(np.append, (layer.own, layer.opp), images))

    def _failing(self) -> dict[int, Layer]:
        """The part of each layer from which some replies lead to a draw or a loss."""
        failing: dict[int, Layer] = {}
        for ply in sorted(self.layers, reverse=True):
            layer = self.layers[ply]
            wrong = np.empty(len(layer.own), np.bool_)
            after = (self._with_images(layers.get(ply + 2, NONE)) for layers in (self.layers, failing))
            mark_failing(self.game, *layer, *next(after), *next(after), wrong, DRAWN)
            failing[ply] = Layer(*(column[wrong] for column in layer))
        return failing


def keeps_win(after: Position, solver: Solver) -> bool:
    """True if the side that has just moved has won, or will."""
    return after.result == LOST if after.is_over else solver.score(after, weak=True) < 0


def pairs(own: Ints, opp: Ints) -> list[tuple[int, int]]:
    """The positions of a layer, one by one."""
    return list(zip(own.tolist(), opp.tolist(), strict=True))


@borrowing_kernel
def lesser(game: KInARow, own: int, opp: int) -> tuple[int, int]:
    """The lesser of a position and its mirror image."""
    mirrored_own, mirrored_opp = game.mirror(own), game.mirror(opp)
    if mirrored_own < own or (mirrored_own == own and mirrored_opp < opp):
        return mirrored_own, mirrored_opp
    return own, opp


@kernel
def replies_to(game: KInARow, own: Ints, opp: Ints, moves: Moves, next_own: Ints, next_opp: Ints) -> int:
    """Fills in the positions after the moves and every reply that does not end the game; returns how many."""
    count = 0
    for i in range(len(own)):
        after_own, after_opp = game.play(own[i], opp[i], moves[i])
        if game.result(after_own, after_opp) != UNFINISHED:
            continue
        for reply in range(game.num_actions):
            reply_own, reply_opp = game.play(after_own, after_opp, reply)
            legal = reply_own != after_own or reply_opp != after_opp
            if legal and game.result(reply_own, reply_opp) == UNFINISHED:
                next_own[count], next_opp[count] = lesser(game, reply_own, reply_opp)
                count += 1
    return count


PROVEN_RUN = Run({"tuples": 150, "seed": 0}, games=3_000_000, bits=12)


def correct_until_proven(files: Files, output: Path, game_id: str = "ConnectFour-v0") -> None:
    """Makes the proven player."""
    game, path = get_game(game_id), output / f"{game_id}.npz"
    agent = files.learned(NTupleTD(game, **PROVEN_RUN.settings), PROVEN_RUN.games, 0)
    network = agent.network.rounded(PROVEN_RUN.bits)
    tree, solver, rows = ReplyTree(network, game), Solver(game), list[Row]()
    while errors := list(tree.errors(solver)):
        stones = [(error.own | error.opp).bit_count() for error in errors]
        phases = np.bincount(np.searchsorted([14, 28], stones, side="right"), minlength=3).tolist()
        rows.append({"positions answered": tree.asked, "errors": len(errors)})
        rows[-1] |= dict(zip(("in the opening", "middle", "end"), phases, strict=True))
        show("Wins thrown away, and corrected", rows)
        tree.correct(errors, solver)
    corrections = tree.needed()
    save_proven(network, corrections, path)
    print(f"written: {path}; {len(corrections):,} corrections")


# The second seat.

SECOND_SEAT: dict[str, Any] = {"tuples": 300, "erring": 1.0, "seed": 0}
ERRORS = (0.1, 0.2, 0.3)
"""The error rates of the perfect players that judge it."""
ALL = 1 << 62
"""More positions than there are."""
FAR_APART = 1_000_000
"""The seeds of a stage's games are consecutive."""


class Stage(NamedTuple):
    """A part of the run."""

    games: int
    erring_seat: int | None
    step: float
    final_step: float
    margin: float = 0.05
    met: int = 0
    """Games against perfect play with errors, in whose positions half of its games begin."""


WITH_ERRORS = Stage(2_000_000, 0, step=0.1, final_step=0.01)
WHERE_LED = Stage(1_500_000, 0, step=0.1, final_step=0.01, margin=0.02, met=1_500)
STAGES = (
    Stage(2_000_000, None, step=0.2, final_step=0.08),
    WITH_ERRORS._replace(step=0.2, final_step=0.02),
    *[WITH_ERRORS] * 2,
    *[WHERE_LED] * 4,
)


MIN_CHANCE, GAMES = 1e-3, 500
"""After a stage, positions at least this likely are followed exactly, and the others by a number of games."""
MEGABYTES = 2048
"""The most memory for the solver's table: 78 million positions would outgrow a small one."""


def positions_met(network: NTupleNetwork, games: int, seed: int) -> list[str]:
    """Positions of games in which the network was second: a move string for each of its turns but the last ones.

    The seeds differ from those of the evaluation.
    """
    game, first = network.game, make_policy("perfect:0.2", network.game)
    jobs = [GameJob((first, network), new_state(seed + number), Position.start(game)) for number in range(games)]
    played = [one.final.moves for _, one in play_games(jobs, BOARDS)]
    return [format_moves(game, moves[:ply]) for moves in played for ply in range(3, len(moves) - 4, 2)]


def as_second(player: Policy, first: Policy, game: Game, games: int = 1, min_chance: float = 0.0) -> SeatResult:
    """The results of its games as second player; exact, if no chance is too small."""
    with progress_bar(game.cells, f"games v {first}") as update:
        return seat_result(player, first, game, 1, 0, ALL, games, update, min_chance)


def about(network: NTupleNetwork, first: Policy) -> tuple[float, ...]:
    """The share of games that it wins as second, the 95 % interval, and the share that was followed exactly."""
    found = as_second(network, first, network.game, games=GAMES, min_chance=MIN_CHANCE)
    return found.shares.wins, *found.intervals[0], found.followed


def exactly(network: NTupleNetwork, first: Policy) -> tuple[float, ...]:
    """The shares of its games won, drawn and lost as second, and the number of positions."""
    found = as_second(network, first, network.game)
    return *found.shares, found.positions


def learn_second_seat(files: Files, output: Path, game: str = "ConnectFour-v0") -> None:
    """Trains the network of the second seat, and writes its record."""
    agent, rows = NTupleTD(game, **SECOND_SEAT), list[Row]()
    for number, stage in enumerate(STAGES):
        if stage.met:
            seed = number * FAR_APART
            starts = files.kept(f"starts-{number}", partial(positions_met, agent.network, stage.met, seed))
            agent.start_from(starts, 0.5)
        agent.erring_seat, agent.margin = stage.erring_seat, stage.margin
        agent.step, agent.final_step = stage.step, stage.final_step
        agent = files.learned(agent, stage.games, number)
        for error in ERRORS:
            shares = files.kept(f"stage-{number}-{error}", partial(about, agent.network, Perfect(error)))
            won, low, high, followed = (round(100 * share, 1) for share in shares)
            rows.append({"games": agent.num_games, "opponent": f"perfect:{error:g}", "won, %": won})
            rows[-1] |= {"from": low, "to": high, "followed exactly, %": followed}
        show("Won as second player after each stage", rows)
    network, solver, results = agent.network, Solver(agent.game, MEGABYTES, files.threads), list[Row]()
    network.save(files.folder / f"{files.name}.npz")
    for error in ERRORS:
        first = Perfect(error, solver=solver)
        *shares, positions = files.kept(f"exactly-{error}", partial(exactly, network, first))
        ends = zip(("won, %", "drawn, %", "lost, %"), (round(100 * share, 2) for share in shares), strict=True)
        results.append({"opponent": str(first), **dict(ends), "positions": positions})
    show("As second player, exactly", results)
    settings = {"game": game, **SECOND_SEAT, "stages": [stage._asdict() for stage in STAGES]}
    save(files.name, settings, {"stages": rows, "exactly": results}, output)
    print(f"written: {files.folder / files.name}.npz")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("network", choices=[*RUNS, "proven", "second-seat"])
    parser.add_argument("--threads", type=positive, default=1, help="they change nothing but the time (default: 1)")
    parser.add_argument("--models", type=Path, default=Path("models"), help="folder for the checkpoints")
    parser.add_argument("--output", type=Path, help="folder for the network (default: the package's), or the record")
    options = parser.parse_args()
    options.models.mkdir(parents=True, exist_ok=True)
    if options.network == "proven":
        correct_until_proven(Files(options.models, "ntuple-proven", options.threads), options.output or PROVEN)
    elif options.network == "second-seat":
        learn_second_seat(Files(options.models, "learned-second-seat", options.threads), options.output or RESULTS)
    else:
        files = Files(options.models, f"ntuple-{options.network}", options.threads)
        ship(options.network, files, options.output or SHIPPED)


if __name__ == "__main__":
    main()
