"""The environments of the shipped games. Each docstring is the environment's page in the documentation."""

from __future__ import annotations

from tictac_env.envs.single import BoardEnv


class TicTacToeEnv(BoardEnv):
    """Tic-tac-toe against an opponent that answers within `step`.

    ## Description
    Two players in turn mark an empty cell of a 3 x 3 board; the first with three in a row, column or diagonal wins. The
    learner plays one side, the opponent the other. With perfect play the game is a draw: an agent that wins 95 % of its
    games against random play may still lose to a child, which `tictac_env.arena.verdict` shows.

    ## Action Space
    `Discrete(9)`: the cell, row by row from the top left.

        0 1 2
        3 4 5
        6 7 8

    Python ints, NumPy integers and 0-d integer arrays are accepted. Anything else, and anything out of range, raises
    `ValueError` and leaves the game unchanged. `info["action_mask"]` (or `env.unwrapped.action_masks()`) has the legal
    actions; the argument `illegal` decides what an illegal move does.

    ## Observation Space
    The board from the learner's side, of the type `obs_type`:

    | obs_type | space | |
    | --- | --- | --- |
    | `"planes"` | `Box(0, 1, (2, 3, 3), int8)` | the learner's stones, then the opponent's |
    | `"board"` | `Box(-1, 1, (3, 3), int8)` | 1 the learner's stone, -1 the opponent's, 0 empty |
    | `"code"` | `Discrete(19683)` | cell i weighs 3**i, 1 for the first player's stone, 2 for the second's |

    ## Rewards
    1 for a win, 0 for a draw, -1 for a loss, 0 for every other step; `rewards` changes that.

    ## Starting State
    The empty board, or a position drawn from `start`; if the opponent is to move, the reset plays its move. If that
    ends the game, the reset draws again (or raises `ValueError` if there is nothing to draw).

    ## Episode End
    Terminated when the game is over or, with `illegal="lose"`, after an illegal move. Never truncated.

    ## Information
    `reset` and `step` return in `info`:

    | key | |
    | --- | --- |
    | `action_mask` | int8 (9,), 1 where legal; all 0 once the game is over |
    | `seat` | the side whose observation it is: 0 first, 1 second |
    | `opponent_action` | the opponent's action in this step, -1 if it has not moved |
    | `outcome` | at the end: 1 won, 0 drawn, -1 lost, for the learner |
    | `illegal_action` | the action, if an illegal one ended the game |

    ## Arguments
    ```python
    env = gym.make("TicTacToe-v0", opponent="random", play_as="first", obs_type="planes", illegal="lose",
                   rewards=(1, 0, -1), start=None, render_mode=None)
    ```

    * `opponent`: the name of a policy ("random", "rule", "minimax", ...), a `Policy`, a Stable-Baselines3 model
      (better: `ModelPolicy(model)`), a function `(observation, action_mask) -> action`, or None: then both sides step,
      one ply a step. The reward and `outcome` are then those of the side that has just moved, observation and `seat`
      those of the next, also at the end.
    * `play_as`: "first", "second", "random" (drawn at each reset) or "alternate" (starts again with first at a seeded
      reset).
    * `obs_type`: see above.
    * `illegal`: "lose": an illegal move loses the game; "raise": it raises `IllegalMove` and changes nothing.
    * `rewards`: (win, draw, loss) or (win, draw, loss, step).
    * `start`: None or "empty" for the empty board; "random:8" for positions after 0 to 8 random moves; "reachable" for
      all unfinished positions of a small game; or unfinished positions (`Position`s or move strings in a list, or a
      `PositionBatch`).
    * `render_mode`: None, "ansi" (text), "rgb_array" or "human" (a window; needs the extra `human`).

    `reset(options={"position": ..., "play_as": ...})` sets both for one game. All randomness (seat, start, opponent)
    comes from the seed of `reset`. `env.unwrapped.position` is the `Position`. Copies and pickles of a running
    environment continue the same game; copies share the opponent.

    ## References
    Crowley and Siegler, "Flexible strategy use in young children's tic-tac-toe", Cognitive Science 17 (1993).

    ## Version History
    * v0: initial version
    """


class ConnectFourEnv(BoardEnv):
    """Connect Four against an opponent that answers within `step`.

    ## Description
    Two players in turn drop a disc into one of seven columns of six cells; the first with four in a row, column or
    diagonal wins. The first player wins with perfect play, by their 41st-ply disc at the latest (Allis, 1988).

    ## Action Space
    `Discrete(7)`: the column from the left, of the types that tic-tac-toe accepts (`TicTacToeEnv`). A full column is
    illegal.

    ## Observation Space
    | obs_type | space | |
    | --- | --- | --- |
    | `"planes"` | `Box(0, 1, (2, 6, 7), int8)` | the learner's discs, then the opponent's; row 0 is the top |
    | `"board"` | `Box(-1, 1, (6, 7), int8)` | 1 the learner's disc, -1 the opponent's, 0 empty |

    `"code"` raises `ValueError`: 3**42 does not fit an int64.

    ## Rewards, Starting State, Episode End, Information, Arguments
    As in tic-tac-toe (`TicTacToeEnv`), with `action_mask` int8 (7,).

    ## References
    Allis, "A knowledge-based approach of Connect-Four", Vrije Universiteit Amsterdam, 1988.

    ## Version History
    * v0: initial version
    """


class KInARowEnv(BoardEnv):
    """Any game of the family: a board of any size, any length of line, with or without gravity.

    ## Description
    The first with `connect` stones in a row, column or diagonal wins; with gravity stones fall to the lowest empty cell
    of their column.

    ## Action Space
    `Discrete(cols)` with gravity, the column from the left; `Discrete(rows * cols)` without, the cell row by row from
    the top left.

    ## Observation Space, Rewards, Starting State, Episode End, Information
    As in tic-tac-toe (`TicTacToeEnv`), for a board of `rows` x `cols`; `"code"` on boards of at most 39 cells.

    ## Arguments
    ```python
    env = gym.make("KInARow-v0", rows=6, cols=7, connect=4, gravity=True)
    ```

    and all those of tic-tac-toe. A column takes 8 bits if rows and cols are at most 7, otherwise rows + 1, and the
    board may take 63; larger boards raise `ValueError`.

    ## Version History
    * v0: initial version
    """
