"""Compiled passes over many boards: move, deal, choose replies, play them, write the output; and a whole step of them.

Each kernel is a pass over the boards `begin` to `end`. The passes over all boards have no branches, so LLVM can handle
several boards with one vector instruction; the other passes visit the few boards that need them. The rules are the
game's own methods, the opponents those of `tictac_env.policies.heuristics`.

Arguments of most kernels: `game`, the rules; `rows`, the N boards as `boards_of` takes them; `begin`, the first board
of the pass, and `end`, the number after the last one.
"""

from __future__ import annotations

from typing import NamedTuple

from tictac_env.arrays import Bytes, Floats, Ints
from tictac_env.compiled import borrowing_kernel, kernel_methods, parallel_kernel, prange, store_bytes
from tictac_env.envs.protocol import MAX_STARTS, Rewards, Setup, deal
from tictac_env.envs.vector.boards import (
    DEAL,
    DEALT,
    OPENING,
    OVER,
    PLAYING,
    REDEAL,
    WAITING,
    ResetOptions,
    StepArrays,
    boards_of,
)
from tictac_env.games import LOST, UNFINISHED, Game
from tictac_env.observation import BOARD, CODE, PLANES
from tictac_env.policies.heuristics import rule_choices
from tictac_env.policies.policy import pick
from tictac_env.rng import advance, mix

NOBODY, EXTERNAL, RANDOM_POLICY, RULE_POLICY = range(4)
"""The kinds of opponents; an EXTERNAL opponent is a policy that only Python can call."""


@kernel_methods
class CompiledOpponents(NamedTuple):
    """The opponent, or the members of a pool: the `Opponents` of `tictac_env.envs.protocol`.

    Attributes:
        kinds: int64 (M,), the kind of each opponent. Kernels can call the compiled ones only.
        cumulative: float64 (M,), the running sums of the pool's weights; (0,) without a pool.
    """

    kinds: Ints
    cumulative: Floats

    def reply(self, game: Game, member: int, own: int, opp: int, seed: int) -> int:
        """The member's action."""
        choices = game.legal(own, opp) if self.kinds[member] == RANDOM_POLICY else rule_choices(game, own, opp)
        return pick(game, choices, seed)

    def answer(self, game: Game, member: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """The member's action, and the position after it."""
        action = self.reply(game, member, own, opp, seed)
        next_own, next_opp = game.play(own, opp, action)
        return action, next_own, next_opp

    def first_answer(self, game: Game, member: int, start: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """As `answer`; the moves that led to the start do not matter."""
        return self.answer(game, member, own, opp, seed)


@borrowing_kernel
def first_invalid(game: Game, owns: Ints, opps: Ints, phases: Ints, actions: Ints, raises: bool) -> int:
    """The number of the first board whose action is out of range (with `raises`, or illegal); -1 if there is none.

    The action of a board that is not PLAYING is ignored.
    """
    # Nearly always all actions are in range: that is found out for several boards at once, without a branch. Only if
    # one is not, or legality counts too, the boards are looked at one by one.
    out_of_range = False
    for i in range(len(actions)):
        out_of_range |= (actions[i] < 0) | (actions[i] >= game.num_actions)
    if out_of_range or raises:
        for i in range(len(actions)):
            if phases[i] == PLAYING:
                if actions[i] < 0 or actions[i] >= game.num_actions:
                    return i
                if raises and not game.legal(owns[i], opps[i]) & game.choice(actions[i]):
                    return i
    return -1


@borrowing_kernel
def move(game: Game, rows: Ints, actions: Ints, self_play: bool, deals: bool, begin: int, end: int) -> int:
    """Plays the learner's actions. Returns the number of illegal actions; an illegal action loses the game.

    If a game was over, a new one is due. It begins here if it needs no draws and no opponent may begin. Repeats by hand
    what `protocol.step` does first: with a call of it LLVM makes no vector instructions.

    `actions` are int64 (N,), in range for each board that is PLAYING. `self_play` is True if both sides step, `deals`
    if games begin with draws.
    """
    # Slices, so that loops count from 0: LLVM then knows that the indices of all arrays are in step.
    boards = boards_of(rows)
    owns, opps, learners = boards.own[begin:end], boards.opp[begin:end], boards.learner[begin:end]
    phases, outcomes, illegals = boards.phase[begin:end], boards.outcome[begin:end], boards.illegal[begin:end]
    chosen = actions[begin:end]
    first_own, first_opp = game.start()
    first = game.seat(first_own, first_opp)
    # Every board is computed as if it were PLAYING, and each value is then kept or not: `a if c else b` becomes a
    # select instruction on several boards, where a branch would be one board after the other.
    num_illegal = 0
    for i in range(end - begin):
        own, opp, learner, action, playing = owns[i], opps[i], learners[i], chosen[i], phases[i] == PLAYING
        # Between two steps a board is PLAYING or OVER; the action of one that is OVER may be out of range.
        action = action if playing else 0
        next_own, next_opp = game.play(own, opp, action)
        # As in `protocol.step`: an illegal action changes nothing.
        illegal = playing & (next_own == own) & (next_opp == opp)
        result = game.result(next_own, next_opp)
        over = illegal | (result != UNFINISHED)
        # PLAYING: the stones after the move. OVER: a new game begins here, or is due in the pass `_deal`.
        owns[i] = next_own if playing else own if deals else first_own
        opps[i] = next_opp if playing else opp if deals else first_opp
        learners[i] = learner ^ self_play if playing else first
        phases[i] = (OVER if over else PLAYING if self_play else WAITING) if playing else DEAL if deals else DEALT
        illegals[i] = action if illegal else -1
        # The result is that of the side to move next, so it is the mover's with the other sign.
        outcomes[i] = (LOST if illegal else -result) if over & playing else 0
        num_illegal += illegal
    replies = boards.opponent_action[begin:end]
    for i in range(end - begin):  # a separate loop: with one more array LLVM does not vectorise the loop above
        replies[i] = -1
    return num_illegal


@borrowing_kernel
def resolve_opponents(
    game: Game,
    rows: Ints,
    replies: Ints,
    options: ResetOptions,
    setup: Setup,
    opponents: CompiledOpponents,
    begin: int,
    end: int,
) -> tuple[int, int]:
    """Lets opponents answer and deals new games, until each board is PLAYING, DEALT or OVER, or waits for Python.

    A board whose opponent is EXTERNAL stays WAITING or OPENING, with its RNG state advanced: the policy's seed is
    `mix` of that state. The next call then finds its legal action in `replies`, int64 (N,), -1 elsewhere, and sets it
    to -1. `options` and `setup` are for the games that begin.

    Returns:
        The number of external opponents that must answer, and the number of boards without a game because the opponent
        always ended it before the learner's first move.
    """
    # One round is enough unless a reply ended a game before the learner's first move: that board is dealt again, and
    # its opponent may begin again.
    external = early = 0
    for _ in range(MAX_STARTS):
        _deal(game, rows, options, setup, opponents, begin, end)
        if setup.self_play:
            break
        # The usual training partner has a pass without branches: the same draws, three times as fast.
        if len(opponents.kinds) == 1 and opponents.kinds[0] == RANDOM_POLICY:
            _choose_at_random(game, rows, replies, begin, end)
        else:
            external = _choose(game, rows, replies, opponents, begin, end)
        early = _reply(game, rows, replies, begin, end)
        if early == 0 or external:  # an external opponent must not be called twice for one move
            break
    return external, early


@borrowing_kernel
def _deal(
    game: Game, rows: Ints, options: ResetOptions, setup: Setup, opponents: CompiledOpponents, begin: int, end: int
) -> None:
    """Begins a game on each board that is due one."""
    boards = boards_of(rows)
    phases = boards.phase[begin:end]
    for k in range(end - begin):
        if phases[k] != DEAL and phases[k] != REDEAL:
            continue
        # A game that is dealt again has been counted already: `alternate` must give the same seat once more.
        i = begin + k
        begun = boards.begun[i] - (phases[k] == REDEAL)
        _, own, opp, learner, member, state = deal(
            game,
            setup,
            opponents.cumulative,
            options.play_as[i],
            options.own[i],
            options.opp[i],
            begun,
            boards.state[i],
        )
        boards.own[i] = own
        boards.opp[i] = opp
        boards.learner[i] = learner
        boards.state[i] = state
        boards.begun[i] = begun + 1
        boards.member[i] = member
        boards.opponent_action[i] = -1
        boards.illegal[i] = -1
        boards.outcome[i] = 0
        # The learner is to move, or the opponent begins.
        phases[k] = DEALT if learner == game.seat(own, opp) else OPENING


@borrowing_kernel
def _choose(game: Game, rows: Ints, replies: Ints, opponents: CompiledOpponents, begin: int, end: int) -> int:
    """Chooses the replies of the opponents that are to move. Returns the number of external opponents, left out."""
    boards = boards_of(rows)
    external = 0
    phases = boards.phase[begin:end]
    for k in range(end - begin):
        # Only boards that wait for an opponent, and have no reply from Python yet. The state advances for an external
        # opponent too: its seed is drawn here, and the answer comes with the next call.
        i = begin + k
        if phases[k] < WAITING or replies[i] >= 0:
            continue
        boards.state[i] = state = advance(boards.state[i])
        if opponents.kinds[boards.member[i]] == EXTERNAL:
            external += 1
        else:
            replies[i] = opponents.reply(game, boards.member[i], boards.own[i], boards.opp[i], mix(state))
    return external


@borrowing_kernel
def _choose_at_random(game: Game, rows: Ints, replies: Ints, begin: int, end: int) -> None:
    """`_choose` if all opponents play at random."""
    boards = boards_of(rows)
    owns, opps, phases = boards.own[begin:end], boards.opp[begin:end], boards.phase[begin:end]
    states, chosen = boards.state[begin:end], replies[begin:end]
    for i in range(end - begin):
        # All boards draw; those that do not wait put the state from before back.
        waits = phases[i] >= WAITING
        before = states[i]
        state = advance(before)
        states[i] = state if waits else before
        legal = game.legal(owns[i], opps[i])
        chosen[i] = nth(game, legal, mix(state) % max(legal.bit_count(), 1)) if waits else -1


@borrowing_kernel
def nth(game: Game, legal: int, index: int) -> int:
    """`game.nth` without branches, for loops over many boards; 0 if there is no such action."""
    # Looks at every action: `smaller` counts the legal ones before the candidate, and one candidate has `index` of
    # them.
    action = smaller = 0
    for candidate in range(game.num_actions):
        is_legal = (legal & game.choice(candidate)) != 0
        action = candidate if is_legal & (smaller == index) else action
        smaller += is_legal
    return action


@borrowing_kernel
def _reply(game: Game, rows: Ints, replies: Ints, begin: int, end: int) -> int:
    """Plays the opponents' replies, which are legal, and sets them to -1.

    Returns the number of games that a reply ended before the learner's first move; they are dealt again. Repeats by
    hand what `protocol` does with an answer, as in `move`.
    """
    boards = boards_of(rows)
    owns, opps, phases = boards.own[begin:end], boards.opp[begin:end], boards.phase[begin:end]
    played, outcomes, chosen = boards.opponent_action[begin:end], boards.outcome[begin:end], replies[begin:end]
    early = 0
    for i in range(end - begin):
        # As in `move`: every board plays a reply (0 if it has none), and keeps its state if it has none.
        own, opp, phase, reply = owns[i], opps[i], phases[i], chosen[i]
        before, outcome = played[i], outcomes[i]
        next_own, next_opp = game.play(own, opp, max(reply, 0))
        plays = reply >= 0
        result = game.result(next_own, next_opp)
        over = result != UNFINISHED
        # OPENING: a game that the opponent's first move ends never counts. WAITING: the learner's next move, or the
        # end.
        after = (REDEAL if over else DEALT) if phase == OPENING else OVER if over else PLAYING
        owns[i] = next_own if plays else own
        opps[i] = next_opp if plays else opp
        phases[i] = after if plays else phase
        played[i] = reply if plays else before
        outcomes[i] = result if plays & (after == OVER) else outcome
        chosen[i] = -1
        early += plays & (after == REDEAL)
    return early


@borrowing_kernel
def write_rewards(rows: Ints, rewards: Rewards, earned: Floats, ended: Bytes, begin: int, end: int) -> int:
    """Writes the rewards and which games have ended; boards just dealt become PLAYING. Returns the number ended.

    It is `protocol.reward` without branches.
    """
    boards = boards_of(rows)
    phases, outcomes = boards.phase[begin:end], boards.outcome[begin:end]
    paid, over = earned[begin:end], ended[begin:end]
    win, draw, loss, step_reward = rewards
    # Boards dealt in this step have no step to pay for: their reward is 0, as Gymnasium's autoreset wants.
    num_ended = 0
    for i in range(end - begin):
        phase, outcome = phases[i], outcomes[i]
        result = win if outcome > 0 else loss if outcome < 0 else draw
        paid[i] = result if phase == OVER else step_reward if phase == PLAYING else 0.0
        over[i] = phase == OVER
        num_ended += phase == OVER
        phases[i] = OVER if phase == OVER else PLAYING
    return num_ended


@borrowing_kernel
def begin_games(rows: Ints, begin: int, end: int) -> None:
    """Makes the boards that have just been dealt PLAYING."""
    phases = boards_of(rows).phase[begin:end]
    for i in range(end - begin):
        phases[i] = PLAYING if phases[i] == DEALT else phases[i]


@borrowing_kernel
def store_finals(rows: Ints, finals: Ints, begin: int, end: int) -> None:
    """Copies the results of finished games to `finals`, as in `StepArrays`; new games are then due."""
    boards = boards_of(rows)
    for i in range(begin, end):
        if boards.phase[i] == OVER:
            finals[0, i] = boards.learner[i]
            finals[1, i] = boards.opponent_action[i]
            finals[2, i] = boards.outcome[i]
            finals[3, i] = boards.illegal[i]
            boards.phase[i] = DEAL


NOT_WRITTEN = -1
"""The `obs_type` of an observation type without a kernel: only the masks are written."""


@borrowing_kernel
def write_observations(
    game: Game, rows: Ints, obs_type: int, over_actions: int, output: StepArrays, shift: int, begin: int, end: int
) -> None:
    """Writes the learners' observations and action masks, those of board i to row i + `shift`.

    `shift` is 0, or the first row of the last observations: then only boards whose game is over are written. `obs_type`
    is the `kernel` of its `ObservationType`, or NOT_WRITTEN. The mask of a finished game shows `over_actions`.
    """
    boards, cells, codes, masks = boards_of(rows), output.cells, output.codes, output.masks
    owns, opps = boards.own[begin:end], boards.opp[begin:end]
    learners, phases = boards.learner[begin:end], boards.phase[begin:end]
    for i in range(end - begin):
        over = phases[i] == OVER
        if shift and not over:
            continue
        # The learner's stones first, also when the other side is to move (a game that is over, self-play).
        own, opp, learner = owns[i], opps[i], learners[i]
        legal = over_actions if over else game.legal(own, opp)
        if learner != game.seat(own, opp):
            own, opp = opp, own
        # The choice bits are the first cells row by row, so the mask is written like a plane of one row or of all rows.
        row = begin + shift + i
        at = row * game.num_actions
        _put(game, legal, masks, at, game.num_actions // game.cols, at + game.num_actions)
        if obs_type == CODE:
            codes[row] = _code(game, own, opp, learner)
        elif obs_type == BOARD:
            _put_board(game, own, opp, cells, row * game.cells)
        elif obs_type == PLANES:
            at = row * 2 * game.cells
            _put(game, own, cells, at, game.rows, at + 2 * game.cells)
            _put(game, opp, cells, at + game.cells, game.rows, at + 2 * game.cells)


@borrowing_kernel
def _put(game: Game, stones: int, cells: Bytes, at: int, rows: int, limit: int) -> None:
    """Writes the `rows` upper rows of a set of cells to `cells` from `at` on: 1 for a cell in the set, 0 otherwise.

    If the cells of a row are one byte from the next, a row is one store of eight bytes. The bytes after the row are
    then zero until the next row is written; only next to `limit`, where another board begins, a row is stored with its
    exact size.
    """
    # Two rows of 3 columns, cells a byte apart (row_bytes). Stores of 8 bytes overlap, and the next row's store writes
    # over what the one before has left behind it:
    #
    #     row 0:  a b c 0 0 0 0 0
    #     row 1:        d e f 0 0 0 0 0
    #                         ^ limit: at the end of the planes there is no room for the 5 bytes too many
    cols = game.cols
    for row in range(rows):
        if game.row_bytes:
            # This row's bits come down to bit 0 of each column's byte; the mask drops the bits of the other rows.
            word = stones >> game.rows - 1 - row & game.row_bytes
            if at + 8 <= limit:
                store_bytes(cells, at, word, 8)
            elif cols >= 4:
                # Two stores of four bytes that meet or overlap cover 4 to 7 columns exactly.
                store_bytes(cells, at, word, 4)
                store_bytes(cells, at + cols - 4, word >> 8 * (cols - 4), 4)
            else:
                for col in range(cols):
                    cells[at + col] = word >> 8 * col & 1
        else:
            for col in range(cols):
                cells[at + col] = stones & game.cell(row, col) != 0
        at += cols


@borrowing_kernel
def _put_board(game: Game, own: int, opp: int, cells: Bytes, at: int) -> None:
    """Writes the board to `cells` from `at` on: 1 for own stones, -1 for the other side's, 0 elsewhere."""
    for row in range(game.rows):
        for col in range(game.cols):
            bit = game.cell(row, col)
            cells[at] = (own & bit != 0) - (opp & bit != 0)
            at += 1


@borrowing_kernel
def _code(game: Game, own: int, opp: int, seat: int) -> int:
    """The base-3 code of a position, `own` being the stones of `seat`."""
    # Base 3, a digit a cell: 1 for a stone of the first player, 2 for one of the second. Seat 0 has 1 + seat = 1.
    code, weight = 0, 1
    for row in range(game.rows):
        for col in range(game.cols):
            bit = game.cell(row, col)
            code += weight * ((1 + seat) * (own & bit != 0) + (2 - seat) * (opp & bit != 0))
            weight *= 3
    return code


BLOCK = 512
"""The number of boards that go through the passes of a step together: few enough for the first-level cache."""


class StepSettings(NamedTuple):
    """Settings of a step, the same for all boards.

    Attributes:
        options: those of a reset, for games that begin within a step: none.
        setup: the environment's arguments for games that begin.
        opponents: the opponents.
        rewards: for a win, a draw, a loss and a step that does not end the game.
        raises: True if an illegal action is refused, as one out of range is.
        obs_type: the observation type for `write_observations`.
        over_actions: the actions that the mask of a finished game shows; see `BoardBatch`.
    """

    options: ResetOptions
    setup: Setup
    opponents: CompiledOpponents
    rewards: Rewards
    raises: bool
    obs_type: int
    over_actions: int


@borrowing_kernel
def step_boards(
    game: Game, rows: Ints, actions: Ints, replies: Ints, settings: StepSettings, output: StepArrays
) -> tuple[int, int, int]:
    """A step of boards whose opponents are compiled and never end a game first: all passes of this module in turn.

    If `output` has room for finals, a new game begins at once on each board whose game has ended. `replies`, int64
    (N,), all -1, is scratch for the opponents' actions.

    Returns:
        -1, the number of illegal actions and the number of games that have ended; or, if an action is invalid, the
        number of its board, and nothing is done.
    """
    # All actions are checked before any board changes.
    wrong = _first_invalid(game, rows, actions, settings.raises, 0, len(actions))
    if wrong >= 0:
        return wrong, 0, 0
    num_illegal, num_ended = _step(game, rows, actions, replies, settings, output, 0, len(actions))
    return -1, num_illegal, num_ended


@parallel_kernel
def step_in_threads(
    game: Game,
    rows: Ints,
    actions: Ints,
    replies: Ints,
    options: ResetOptions,
    setup: Setup,
    opponents: CompiledOpponents,
    rewards: Rewards,
    raises: bool,
    obs_type: int,
    over_actions: int,
    output: StepArrays,
    threads: int,
) -> tuple[int, int, int]:
    """`step_boards`, with the boards divided among threads.

    Numba takes no tuple of tuples into a parallel region, so the fields of the settings come one by one.
    """
    # Two parallel regions with a barrier between: no board may change before all are checked. Both divide the boards in
    # the same way, so a thread finds those that it has checked in its own cache.
    count = len(actions)
    first_wrong = count
    for thread in prange(threads):
        begin, end = thread * count // threads, (thread + 1) * count // threads
        wrong = _first_invalid(game, rows, actions, raises, begin, end)
        first_wrong = min(first_wrong, wrong if wrong >= 0 else count)
    if first_wrong < count:
        return first_wrong, 0, 0
    num_illegal = num_ended = 0
    for thread in prange(threads):
        begin, end = thread * count // threads, (thread + 1) * count // threads
        settings = StepSettings(options, setup, opponents, rewards, raises, obs_type, over_actions)
        illegal, over = _step(game, rows, actions, replies, settings, output, begin, end)
        num_illegal += illegal
        num_ended += over
    return -1, num_illegal, num_ended


@borrowing_kernel
def _first_invalid(game: Game, rows: Ints, actions: Ints, raises: bool, begin: int, end: int) -> int:
    """The number of the first of the boards `begin` to `end` whose action is invalid; -1 if there is none."""
    boards = boards_of(rows)
    own, opp, phases = boards.own[begin:end], boards.opp[begin:end], boards.phase[begin:end]
    wrong = first_invalid(game, own, opp, phases, actions[begin:end], raises)
    return begin + wrong if wrong >= 0 else -1


@borrowing_kernel
def _step(
    game: Game,
    rows: Ints,
    actions: Ints,
    replies: Ints,
    settings: StepSettings,
    output: StepArrays,
    begin: int,
    end: int,
) -> tuple[int, int]:
    """The step of the boards `begin` to `end`, whose actions are in range."""
    # Self-play from the empty board needs no draws: `move` begins new games by itself.
    options, setup, opponents = settings.options, settings.setup, settings.opponents
    obs_type, finals = settings.obs_type, output.finals
    deals = not setup.self_play or len(setup.start_owns) > 0
    num_illegal = num_ended = 0
    # All passes over one block of boards, then the next block: the boards stay in the first-level cache.
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        num_illegal += move(game, rows, actions, setup.self_play, deals, first, last)
        if deals:
            resolve_opponents(game, rows, replies, options, setup, opponents, first, last)
        over = write_rewards(rows, settings.rewards, output.rewards, output.ended, first, last)
        num_ended += over
        # Autoreset in the same step: the last observations go to the rows after the N first ones, then new games begin.
        if finals.shape[1] and over:
            write_observations(game, rows, obs_type, 0, output, finals.shape[1], first, last)
            store_finals(rows, finals, first, last)
            resolve_opponents(game, rows, replies, options, setup, opponents, first, last)
            begin_games(rows, first, last)
        write_observations(game, rows, obs_type, settings.over_actions, output, 0, first, last)
    return num_illegal, num_ended


@borrowing_kernel
def sample(game: Game, rows: Ints, actions: Ints, begin: int, end: int) -> None:
    """Draws a legal action for each board, uniformly, by its sampler's RNG state; 0 if the game is over."""
    boards = boards_of(rows)
    owns, opps, phases = boards.own[begin:end], boards.opp[begin:end], boards.phase[begin:end]
    states, drawn = boards.sampler[begin:end], actions[begin:end]
    for i in range(end - begin):
        # Every board draws, also one that is over, so that samples do not depend on the phases of other boards. The
        # upper 32 bits of the draw times the number of actions, shifted down again: uniform up to 2**-32, and no
        # division.
        states[i] = state = advance(states[i])
        legal = 0 if phases[i] == OVER else game.legal(owns[i], opps[i])
        drawn[i] = nth(game, legal, (mix(state) >> 31) * legal.bit_count() >> 32)


@parallel_kernel
def sample_in_threads(game: Game, rows: Ints, actions: Ints, threads: int) -> None:
    """`sample` on all boards, divided among threads."""
    count = len(actions)
    for thread in prange(threads):
        sample(game, rows, actions, thread * count // threads, (thread + 1) * count // threads)
