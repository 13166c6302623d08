"""The PettingZoo environment of every game: two agents at one board, moving in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv

from tictac_env.arrays import Bytes
from tictac_env.checks import one_of
from tictac_env.envs.single import ON_ILLEGAL, unfinished
from tictac_env.games import UNFINISHED, Game, game_name, get_game
from tictac_env.observation import Canvas, Infos, Observer, Space
from tictac_env.position import Position, as_action, illegal_move
from tictac_env.render.window import RENDER_FPS, RENDER_MODES, Display

FIRST, SECOND = SEAT_NAMES = ("player_0", "player_1")
SEATS = {FIRST: 0, SECOND: 1}


class BoardAECEnv(AECEnv):  # type: ignore[misc]  # PettingZoo ships no types
    """Tic-tac-toe, Connect Four and their relatives for PettingZoo.

    ## Description
    Two agents play one game against each other, and `player_0` begins. In Connect Four they drop discs into seven
    columns of six cells, and four in a row, column or diagonal win; in tic-tac-toe they mark the cells of a board of
    3 x 3, and three win. A full board without a line is a draw.

    | | Connect Four | tic-tac-toe |
    | --- | --- | --- |
    | module, with `env()` and `raw_env()` | `tictac_env.connect_four_v0` | `tictac_env.tictactoe_v0` |
    | id for `pettingzoo.make("aec", ...)` | `"tictac_env/connect_four-v0"` | `"tictac_env/tictactoe-v0"` |
    | agents | `player_0`, `player_1` | `player_0`, `player_1` |
    | actions | `Discrete(7)` | `Discrete(9)` |
    | observations, states | `Box(0, 1, (6, 7, 2), int8)` | `Box(0, 1, (3, 3, 2), int8)` |
    | action masks | `Box(0, 1, (7,), int8)` | `Box(0, 1, (9,), int8)` |

    ## Action Space
    In Connect Four the column from the left, in tic-tac-toe the cell, row by row from the top left:

        0 1 2
        3 4 5
        6 7 8

    Python ints, NumPy integers and 0-d integer arrays are accepted; an agent whose game is over plays None. Anything
    else, and anything out of range, raises `ValueError` and leaves the game unchanged.

    ## Observation Space
    A `Dict` of new arrays, for either agent at any time:

    | key | |
    | --- | --- |
    | `observation` | int8 (rows, cols, 2), row 0 at the top: 1 for the agent's own stones, then for its opponent's |
    | `action_mask` | int8 (num_actions,), 1 where legal; all 0 for the agent not to move, and once the game is over |

    `state()` is the board as int8 (rows, cols, 2), the stones of `player_0`, then those of `player_1`;
    its space is `state_space`. `position` is the `Position`.

    ## Rewards
    1 for a win, 0 for a draw, -1 for a loss, 0 for every other step. An illegal move that loses the game is -1 for the
    agent that chose it and 0 for the other.

    ## Starting State
    The empty board, or the unfinished position (a `Position` or a move string) of `reset(options={"position": ...})`;
    other options are ignored. Nothing is random, and the seed changes nothing.

    ## Episode End
    Both agents are terminated when the game is over; after an illegal move that loses it they are truncated too, as by
    PettingZoo's `TerminateIllegalWrapper`. Each then takes a last step, None.

    ## Information
    Empty, except for `illegal_action` in the infos of an agent that lost by it.

    ## Arguments
    ```python
    env = connect_four_v0.env(render_mode=None, rows=6, cols=7, connect=4)
    ```

    * `render_mode`: None, "ansi" (text), "rgb_array" or "human" (a window, redrawn at every move; needs pygame-ce).
    * `illegal`: "lose", the default of `env()`: an illegal move loses the game; "raise", that of `raw_env()`: it raises
      `IllegalMove` and changes nothing.
    * `rows`, `cols`, `connect`: the size of the board, and the number in a row that wins; the tables above are for the
      usual sizes.
    * `name`: the name that `str(env)` returns.

    `BoardAECEnv` itself takes a `game`, a `Game` or its name, instead of sizes: `BoardAECEnv("KInARow-v0:5x6-4")`.

    ## Differences from PettingZoo's own version
    To switch from connect_four_v3, change the import. Agents, spaces, observations, rewards, terminations and
    truncations are the same ply by ply. The differences:

    * the mask is all 0 once the game is over, where PettingZoo's loser keeps its last one;
    * copies and pickles of a running environment keep the game, where PettingZoo's start over;
    * `env()` needs no wrappers: it is the same class as `raw_env()`, and as fast. It raises `ValueError` and
      `gymnasium.error.ResetNeeded` where PettingZoo's wrappers `assert`, also for a step after both agents have left,
      and reports an illegal move in the infos, not on the terminal;
    * `agents` is empty before the first reset;
    * there are `state()`, `position` and "ansi"; the arguments `screen_scaling` and `screen_height` are ignored.

    In tic-tac-toe, the agents are also not called `player_1` and `player_2`, and actions and boards run row by row,
    not column by column: `action` there is `action % 3 * 3 + action // 3` here, `observation` there is
    `observation.transpose(1, 0, 2)` here.

    ## Version History
    * v0: initial version
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as AECEnv
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": RENDER_FPS,
    }

    def __init__(
        self, game: str | Game, render_mode: str | None = None, illegal: str = "raise", name: str | None = None
    ) -> None:
        super().__init__()
        self._game = rules = get_game(game)
        self._loses = one_of("illegal", illegal, ON_ILLEGAL) == "lose"
        self.render_mode = render_mode
        self.metadata = self.metadata | {"name": name or game_name(rules) or repr(rules)}
        self._display = Display(render_mode, self.metadata["name"])
        self._canvas = StackedCanvas(rules)
        self._mask = Observer(rules).mask

        self.possible_agents = list(SEAT_NAMES)
        planes, mask = (rules.rows, rules.cols, 2), (rules.num_actions,)
        self.state_space = spaces.Box(0, 1, planes, np.int8)
        self.action_spaces = {agent: spaces.Discrete(rules.num_actions) for agent in SEAT_NAMES}
        self.observation_spaces = {
            agent: spaces.Dict(
                {"observation": spaces.Box(0, 1, planes, np.int8), "action_mask": spaces.Box(0, 1, mask, np.int8)}
            )
            for agent in SEAT_NAMES
        }

        # As after the end of a game: no agent plays until the first reset.
        self._own, self._opp = rules.start()  # of the side to move
        self._seat = 0  # of the side to move
        self._moves: list[int] = []
        self._turns = 0  # resets and steps so far
        self.agents: list[str] = []
        self.agent_selection = FIRST
        self.rewards: dict[str, float] = {}
        self._cumulative_rewards: dict[str, float] = {}
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        self.infos: dict[str, Infos] = {}

    @property
    def position(self) -> Position:
        """The position on the board."""
        return Position(self._game, self._own, self._opp, tuple(self._moves))

    def observation_space(self, agent: str) -> Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, object] | None = None) -> None:
        """Begins a game.

        Args:
            seed: changes nothing.
            options: "position" (an unfinished `Position` or a move string), from which the game begins.

        Raises:
            ValueError: the position is not an unfinished position of this game.
        """
        position = (options or {}).get("position")
        if position is None:
            self._own, self._opp = self._game.start()
            self._seat, self._moves = 0, []
        else:
            start = unfinished(position, self._game)
            self._own, self._opp = start.own, start.opp
            self._seat, self._moves = start.seat, list(start.recent_moves)
        self._turns += 1
        self.agents = [FIRST, SECOND]
        self.agent_selection = SEAT_NAMES[self._seat]
        self.rewards = {FIRST: 0, SECOND: 0}
        self._cumulative_rewards = {FIRST: 0, SECOND: 0}
        self.terminations = {FIRST: False, SECOND: False}
        self.truncations = {FIRST: False, SECOND: False}
        self.infos = {FIRST: {}, SECOND: {}}
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, Bytes]:
        """The observation of `agent`, even if it is not to move.

        Raises:
            ValueError: there is no such agent.
        """
        try:
            seat = SEATS[agent]
        except KeyError:
            raise ValueError(f"no agent is named {agent!r}; the agents are {FIRST} and {SECOND}") from None
        own, opp = self._own, self._opp
        legal = 0
        if agent == self.agent_selection and not (self.terminations.get(agent, True) or self.truncations[agent]):
            legal = self._game.legal(own, opp)
        if seat != self._seat:
            own, opp = opp, own
        return {"observation": self._canvas.planes(own, opp, seat), "action_mask": self._mask(legal)}

    def state(self) -> Bytes:
        """The board, int8 (rows, cols, 2): the first player's stones, then the second's."""
        return self._canvas.planes(*self.position.stones, 0)

    def last(self, observe: bool = True) -> tuple[dict[str, Bytes] | None, float, bool, bool, Infos]:
        """Observation, cumulative reward, termination, truncation and info of the agent whose turn it is.

        Raises:
            gymnasium.error.ResetNeeded: no game is under way.
        """
        if not self.agents:
            raise self._reset_needed()
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """The agents in turn, at most `max_iter`, until both have left.

        Raises:
            gymnasium.error.ResetNeeded: there has been no reset.
            RuntimeError: the loop called neither `step` nor `reset`.
        """
        if not self._turns:
            raise self._reset_needed()
        while self.agents and max_iter > 0:
            max_iter -= 1
            turn = self._turns
            yield self.agent_selection
            if self._turns == turn:
                raise RuntimeError(f"call step() or reset() each time in a loop over agent_iter(): {self.position!r}")

    def step(self, action: int | None) -> None:
        """Plays a move for the agent whose turn it is.

        Args:
            action: an integer in [0, num_actions); None if the game is over.

        Raises:
            ValueError: `action` is anything else.
            IllegalMove: `action` is illegal and illegal="raise".
            gymnasium.error.ResetNeeded: no game is under way.
        """
        if not self.agents:
            raise self._reset_needed()
        # The game is over: in PettingZoo each agent still takes a last step, None, and leaves.
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            if action is not None:
                raise ValueError(f"the game is over, {agent} can only play None, not {action!r}: {self.position!r}")
            self._turns += 1
            self._was_dead_step(None)
            return
        game = self._game
        if type(action) is not int or not 0 <= action < game.num_actions:
            action = as_action(action, game.num_actions)
        own, opp = self._own, self._opp
        next_own, next_opp = game.play(own, opp, action)
        if next_own == own and next_opp == opp:
            self._lose(action)
            return
        # The other side is to move; after the last move too, as the agents then leave in turn.
        self._own, self._opp = next_own, next_opp
        self._seat = 1 - self._seat
        self._moves.append(action)
        self._turns += 1
        self.agent_selection = following = SEAT_NAMES[self._seat]
        # A result is that of the side to move next; rewards are collected by both agents until their next turns.
        result = game.result(next_own, next_opp)
        if result != UNFINISHED:
            self.rewards[following] += result
            self.rewards[agent] -= result
            self._accumulate_rewards()
            self.terminations = {FIRST: True, SECOND: True}
        if self.render_mode == "human":
            self.render()

    def render(self) -> Any:
        """The board in the environment's render mode: "ansi" a str, "rgb_array" uint8 (H, W, 3), "human" None.

        Raises:
            tictac_env.render.WindowClosed: the person closed the window.
        """
        ended = self._turns > 0 and (not self.agents or any(self.terminations.values()))
        return self._display.render(self.position, ended)

    def close(self) -> None:
        """Closes the window, if there is one. The game can continue."""
        self._display.close()

    def _lose(self, action: int) -> None:
        """Raises for an illegal action, or loses the game as PettingZoo's TerminateIllegalWrapper does."""
        if not self._loses:
            raise illegal_move(self.position, action)
        agent = self.agent_selection
        self._turns += 1
        self.infos[agent]["illegal_action"] = action
        self.terminations = {FIRST: True, SECOND: True}
        self.truncations = {FIRST: True, SECOND: True}
        self.rewards = {FIRST: 0, SECOND: 0}
        self.rewards[agent] = -1
        self._accumulate_rewards()
        self._deads_step_first()

    def _reset_needed(self) -> ResetNeeded:
        return ResetNeeded(f"no game is under way, call reset() first: {self.position!r}")


class StackedCanvas(Canvas):
    """A `Canvas` whose two planes are the last axis, int8 (rows, cols, 2), as in PettingZoo."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        first, second = self._views
        self._views = np.moveaxis(first, 0, -1), np.moveaxis(second, 0, -1)
