"""Audits of players that answer in text, and the board of models that is made of them.

    python -m benchmarks.models                  # the records in benchmarks/results/models, and docs/models.html
    python -m benchmarks.models --fresh random   # repeats the audits of a player

Players of this package stand for language models: each gets a model's prompt and nothing else, reads the board in it,
and writes its move as the answer. So their figures are those of `tictac audit` for a model behind an address. Beside
them is the transformer of `examples/language_model.py`, trained here (some 80 CPU-seconds) unless `--models` has its
weights. A finished audit is a record at once, and is not repeated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks.records import RESULTS, add_output, parser_of
from tictac_apps.bench.model_board import save_board
from tictac_apps.language_models import TextPolicy
from tictac_env import audit
from tictac_env.arena.audit_record import RECORD
from tictac_env.games import Game, get_game
from tictac_env.policies import make_policy
from tictac_env.position import Position, format_moves
from tictac_env.storage import save_text

PAGE = RESULTS.parents[1] / "docs" / "models.html"
TRANSFORMER = "language model"
PLAYERS = {
    "TicTacToe-v0": ("random", "rule", "level:5", "perfect", TRANSFORMER),
    "ConnectFour-v0": ("random", "rule", "level:5", "perfect"),
}
"""The players of each game."""
MARKS = {"X": 1, "O": 2}


def main() -> None:
    parser = parser_of(__doc__)
    names = sorted({name for players in PLAYERS.values() for name in players})
    parser.add_argument("players", nargs="*", metavar="PLAYER", help=f"some of {', '.join(names)} (default: all)")
    parser.add_argument("--game", choices=list(PLAYERS), action="append", help="may be repeated (default: both)")
    parser.add_argument("--fresh", action="store_true", help="repeat finished audits")
    text = "folder of the transformer's weights (default: %(default)s)"
    parser.add_argument("--models", type=Path, default=Path("build/models"), help=text)
    add_output(parser)
    options = parser.parse_args()
    if unknown := set(options.players) - set(names):
        parser.error(f"{', '.join(sorted(unknown))} is not among {', '.join(names)}")
    records = options.output / "models"
    for game in options.game or PLAYERS:
        for name in PLAYERS[game]:
            path = records / game / re.sub(r"\W+", "-", name) / RECORD
            if (options.players and name not in options.players) or (path.exists() and not options.fresh):
                continue
            player = transformer(options.models) if name == TRANSFORMER else in_text(name, get_game(game))
            record = audit(player, game)
            save_text(path, record.to_json() + "\n")
            print(f"{record}\n", flush=True)
    page = PAGE if options.output == RESULTS else options.output / PAGE.name
    save_board(records, page)
    print(page)


def in_text(name: str, game: Game) -> TextPolicy:
    """A player of this package as a language model, which answers prompts."""
    return TextPolicy(answering(name, game), name=name, on_failure="forfeit")


def answering(name: str, game: Game) -> Callable[[str, int], str]:
    """The function from a prompt and a seed to the answer of a player of this package."""
    policy = make_policy(name, game)

    def complete(prompt: str, seed: int) -> str:
        return f"Move: {format_moves(game, [policy.act(board_in(prompt, game), seed)])}"

    return complete


def board_in(prompt: str, game: Game) -> Position:
    """The position that the board in a prompt shows."""
    lines = prompt.split("\n\n")[1].splitlines()[: game.rows]  # the numbers of columns are below the rows
    return Position.from_array(game, [[MARKS.get(cell, 0) for cell in line.split()] for line in lines])


def transformer(folder: Path) -> TextPolicy:
    """The transformer of the example, trained if the folder does not have its weights."""
    from examples import language_model as example  # torch is an extra

    path = folder / "language-model.npz"
    if not path.exists():
        for model, run in example.learn("regret", 0, example.GAMES):  # noqa: B007  # the last is kept
            print(f"{run.games:,} games: mistakes in {run.mistakes:,} positions", flush=True)
        example.save_weights(path, model)
    return example.judged(example.load_weights(path))


if __name__ == "__main__":
    main()
