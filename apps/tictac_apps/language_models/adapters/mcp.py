"""MCP: a server of games for a model that plays by tools.

`python -m tictac_apps.language_models.adapters.mcp` runs it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Literal

from gymnasium.error import Error

from tictac_apps.language_models.harness import BoardHarness
from tictac_apps.language_models.question import Question
from tictac_apps.language_models.session import OPPONENT, TextSession, frozen_copy
from tictac_env.checks import flag
from tictac_env.envs.single import Start
from tictac_env.games import Game, get_game
from tictac_env.lazy import needing
from tictac_env.policies import PlayerLike

with needing("mcp 2 is missing", "llm"):
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

__all__ = ["BoardGames", "make_server"]

INSTRUCTION = "Call the tool `move` with the number of this game and the number of your move."
GAMES = 1000
"""The number of games that a server keeps; the oldest is forgotten first."""
ENDS = {1: "You won.", 0: "The game is drawn.", -1: "You lost."}
VALUES = {1: "wins", 0: "draws", -1: "loses"}


class BoardGames:
    """The games of a server, and the tools to play them.

    The protocol has no sessions, so each game has a number: one client may play several games, and several clients may
    share a server. Tools answer one at a time. The opponent is chosen here and not by the model, since a player's name
    may be a file or a module of this machine.

    Args:
        game: a game's name or rule book.
        opponent: what `gym.make` takes as opponent.
        hints: True to show in each question the value of every move with perfect play.
        start: where games begin: None on the empty board, "random:2" after 0 to 2 random moves.
        **options: further arguments of `TextSession`: retries, history, rules_once. The rules are said once a game.

    Raises:
        ValueError: an argument is out of its range, or there is no opponent.

    Example:
        >>> games = BoardGames(opponent="minimax-first", hints=True)
        >>> print(games.new_game("second"))
        Game 1.
        The game is tic-tac-toe on a board of 3 rows and 3 columns. Two players, X and O, take turns; X moves first.
        A move is the number of an empty cell, row by row from the top left.
        Three in a row, column or diagonal win. A full board without that is a draw.
        <BLANKLINE>
         X  .  .
         .  .  .
         .  .  .
        <BLANKLINE>
        You are O, and it is your turn.
        Call the tool `move` with the number of this game and the number of your move.
        With perfect play by both sides: 2 loses, 3 loses, 4 loses, 5 draws, 6 loses, 7 loses, 8 loses, 9 loses.
        >>> [games.move(1, move).splitlines()[-1] for move in (9, 2, 4)][-1]
        'You lost.'
    """

    def __init__(
        self,
        game: str | Game = "TicTacToe-v0",
        opponent: PlayerLike | None = OPPONENT,
        hints: bool = False,
        start: Start | None = None,
        **options: Any,
    ) -> None:
        self._hints = flag("hints", hints)
        self._options: dict[str, Any] = {
            "reward": "outcome",
            "harness": BoardHarness(instruction=INSTRUCTION),
            "start": start,
            "rules_once": True,
            **options,
        }
        self._game = get_game(game)
        if isinstance(opponent, str):  # a language model as opponent has no tool to call
            opponent = frozen_copy(opponent, Question(BoardHarness(), retries=2))
        session = TextSession(self._game, opponent, **self._options)
        self._opponent = session.ladder or session.opponent
        if self._opponent is None:
            raise ValueError("opponent must be a player, not None: the tools have one seat")
        self._sessions: dict[int, TextSession] = {}
        self._begun = 0
        self._lock = Lock()

    def new_game(self, seat: Literal["first", "second", "random"] = "random", seed: int | None = None) -> str:
        """Begins a game and asks for your first move.

        Args:
            seat: Your side: "first" is X and moves first, "second" is O.
            seed: The same number draws the same side and the same replies to the same moves. Without it they are drawn.

        Returns:
            The number of the game, the rules, the board, and the question for your move.
        """
        with self._answering():
            session = TextSession(self._game, self._opponent, seat, **self._options)
            session.reset(seed)
            self._begun += 1
            self._sessions[self._begun] = session
            self._sessions.pop(self._begun - GAMES, None)
            return self._text(self._begun)

    def move(self, game: int, move: int) -> str:
        """Plays your move. The opponent replies at once, and you see the board after it.

        Args:
            game: The number of the game.
            move: The number of your move.

        Returns:
            The board after the opponent's reply and the next question, or the result of the game.
        """
        with self._answering():
            if self._session(game).turn.done:
                raise ToolError(f"game {game} is over: begin another by new_game")
            self._session(game).answer(f"Move: {move}")
            return self._text(game)

    def board(self, game: int) -> str:
        """Shows the board of a game, and the question for your move; nothing is played.

        Args:
            game: The number of the game.

        Returns:
            The board, and the question or the result.
        """
        with self._answering():
            return self._text(game)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Runs one tool at a time, and shows errors in its arguments to the model."""
        with self._lock:
            try:
                yield
            except (ValueError, Error) as error:
                raise ToolError(str(error)) from error

    def _session(self, game: int) -> TextSession:
        if game not in self._sessions:
            raise ToolError(f"there is no game {game}: begin one by new_game")
        return self._sessions[game]

    def _text(self, game: int) -> str:
        """The board and the question, or the result."""
        turn = self._session(game).turn
        lines = [f"Game {game}.", turn.prompt]
        if turn.outcomes is not None:
            lines.append(ENDS[turn.outcomes[turn.seat]])
        elif self._hints:
            values = ", ".join(f"{move} {VALUES[value]}" for move, value in turn.values().items())
            lines.append(f"With perfect play by both sides: {values}.")
        return "\n".join(lines)


def make_server(game: str | Game = "TicTacToe-v0", opponent: PlayerLike | None = OPPONENT, **options: Any) -> MCPServer:
    """A server with the tools new_game, move and board; `make_server().run()` serves on stdin and stdout.

    Args:
        game: a game's name or rule book.
        opponent: what `gym.make` takes as opponent.
        **options: further arguments of `BoardGames`: hints, start, retries, history.

    Raises:
        ValueError: an argument is out of its range, or there is no opponent.

    Example:
        >>> import asyncio
        >>> server = make_server("ConnectFour-v0", opponent="level:3")
        >>> [tool.name for tool in asyncio.run(server.list_tools())]
        ['new_game', 'move', 'board']
    """
    games = BoardGames(game, opponent, **options)
    server = MCPServer(
        "tictac", instructions="Play board games: begin by new_game, then call move until the game is over."
    )
    for tool in (games.new_game, games.move, games.board):
        server.add_tool(tool, structured_output=False)
    return server


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves on stdin and stdout until the client disconnects."""
    parser = argparse.ArgumentParser(prog="python -m tictac_apps.language_models.adapters.mcp", description=__doc__)
    parser.add_argument("--game", default="TicTacToe-v0", metavar="GAME", help="the game (%(default)s)")
    parser.add_argument("--opponent", default=OPPONENT, metavar="PLAYER", help="the opponent (%(default)s)")
    parser.add_argument("--hints", action="store_true", help="show the value of every move with perfect play")
    options = parser.parse_args(arguments)
    try:
        server = make_server(options.game, options.opponent, hints=options.hints)
    except ValueError as error:
        parser.error(str(error))
    server.run()


if __name__ == "__main__":
    main()
