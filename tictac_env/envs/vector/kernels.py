"""What is done to many boards at once, compiled: move, deal, choose replies, play them, report.

Each kernel is a pass over the boards `begin` to `end`. The passes that all boards go through have no branches, so that
several boards are handled by one machine instruction where the processor can; the others visit the few boards that
need them. The rules are the game's own methods, the opponents those of `tictac_env.policies.reflexes`.
"""

from __future__ import annotations

from tictac_env.compiled import borrowing_kernel
from tictac_env.envs.vector.boards import (
    ALTERNATE,
    BEGUN,
    DEAL,
    DEALT,
    EXTERNAL,
    LEARNER,
    MEMBER,
    NOBODY,
    OPENING,
    OPP,
    OPPONENT_ACTION,
    OUTCOME,
    OVER,
    OWN,
    PHASE,
    PLAYING,
    RANDOM_POLICY,
    RANDOM_SEAT,
    REDEAL,
    STATE,
    WAITING,
    Bytes,
    Floats,
    Ints,
)
from tictac_env.games import LOST, UNFINISHED, Game
from tictac_env.policies.reflexes import pick, rule_choices
from tictac_env.rng import advance, mix, weighted

MAX_STARTS = 1000
"""How often a board deals anew when the opponent ends the game before the learner's first move."""


@borrowing_kernel
def first_invalid(game: Game, owns: Ints, opps: Ints, phases: Ints, actions: Ints, raises: bool) -> int:
    """The number of the first board whose action is out of range (or illegal, if that `raises`); -1 if there is none.

    The action of a board that is not PLAYING does not matter.
    """
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
def move(game: Game, boards: Ints, actions: Ints, self_play: bool, deals: bool, begin: int, end: int) -> int:
    """Plays the learner's actions. Returns how many were illegal; such an action loses the game.

    Where a game was over a new one is to be dealt; or it begins here, if there is nothing to be drawn and nobody to be
    asked for it.

    Args:
        game: the rule book.
        boards: int64 (ROWS, N).
        actions: int64 (N,), in range where a board is PLAYING.
        self_play: whether both sides step.
        deals: whether games begin with draws.
        begin: the first board.
        end: the one after the last.
    """
    owns, opps, learners = boards[OWN, begin:end], boards[OPP, begin:end], boards[LEARNER, begin:end]
    phases, answers, outcomes = boards[PHASE, begin:end], boards[OPPONENT_ACTION, begin:end], boards[OUTCOME, begin:end]
    chosen = actions[begin:end]
    first_own, first_opp = game.start()
    first = game.seat(first_own, first_opp)
    num_illegal = 0
    for i in range(end - begin):
        own, opp, learner, action, playing = owns[i], opps[i], learners[i], chosen[i], phases[i] == PLAYING
        action = action if playing else 0
        next_own, next_opp = game.play(own, opp, action)
        illegal = playing & (next_own == own) & (next_opp == opp)
        result = game.result(next_own, next_opp)
        over = illegal | (result != UNFINISHED)
        owns[i] = next_own if playing else own if deals else first_own
        opps[i] = next_opp if playing else opp if deals else first_opp
        learners[i] = learner ^ self_play if playing else first
        phases[i] = (OVER if over else PLAYING if self_play else WAITING) if playing else DEAL if deals else DEALT
        answers[i] = -2 - action if illegal else -1
        outcomes[i] = (LOST if illegal else -result) if over & playing else 0
        num_illegal += illegal
    return num_illegal


@borrowing_kernel
def resolve_opponents(
    game: Game,
    boards: Ints,
    replies: Ints,
    given_starts: Ints,
    play_as: Ints,
    starts: Ints,
    kinds: Ints,
    cumulative: Floats,
    begin: int,
    end: int,
) -> tuple[int, int, int]:
    """Has opponents answer and deals new games, until each board is PLAYING, DEALT or OVER, or its opponent is asked.

    A board that is asked stays WAITING or OPENING, with its randomness advanced: the policy's seed is `mix` of its
    state. The next call then finds the answer in `replies`.

    Args:
        game: the rule book.
        boards: int64 (ROWS, N).
        replies: int64 (N,), what opponents that were asked play; -1 elsewhere. Set to -1 when played.
        given_starts: int64 (2, N), own and opp of where boards begin, -1 where that is drawn from `starts`; or (2, 0).
        play_as: int64 (N,), for each board the index of its `play_as` in `arguments.PLAY_AS`.
        starts: int64 (2, S), own and opp of the starting positions; (2, 0) for the game's start.
        kinds: int64 (M,), who the opponent is, or the members of the pool.
        cumulative: float64 (M,), the running sums of the pool's weights; (0,) without a pool.
        begin: the first board.
        end: the one after the last.

    Returns:
        How many opponents are asked, how many replies are illegal (and not played), and how many boards find no
        beginning because the opponent always ends the game first.
    """
    asked = wrong = early = 0
    for _ in range(MAX_STARTS):
        _deal(game, boards, given_starts, play_as, starts, cumulative, kinds[0] == NOBODY, begin, end)
        if kinds[0] == NOBODY:
            break
        if len(kinds) == 1 and kinds[0] == RANDOM_POLICY:
            _choose_at_random(game, boards, replies, begin, end)
        else:
            asked = _choose(game, boards, replies, kinds, begin, end)
        wrong, early = _reply(game, boards, replies, begin, end)
        if early == 0 or asked:  # who has been asked must not be asked again
            break
    return asked, wrong, early


@borrowing_kernel
def _deal(
    game: Game,
    boards: Ints,
    given_starts: Ints,
    play_as: Ints,
    starts: Ints,
    cumulative: Floats,
    self_play: bool,
    begin: int,
    end: int,
) -> None:
    """Begins a game where one is due: draws start, seat and opponent in this order, each only if there is a choice."""
    phases = boards[PHASE, begin:end]
    for k in range(end - begin):
        if phases[k] != DEAL and phases[k] != REDEAL:
            continue
        i = begin + k
        boards[BEGUN, i] += phases[k] == DEAL
        state = boards[STATE, i]
        own, opp = game.start()
        if given_starts.shape[1] and given_starts[0, i] >= 0:
            own, opp = given_starts[0, i], given_starts[1, i]
        elif starts.shape[1]:
            state = advance(state)
            drawn = mix(state) % starts.shape[1]
            own, opp = starts[0, drawn], starts[1, drawn]
        mover = game.seat(own, opp)
        learner = play_as[i]
        if self_play:
            learner = mover
        elif learner == RANDOM_SEAT:
            state = advance(state)
            learner = mix(state) & 1
        elif learner == ALTERNATE:
            learner = (boards[BEGUN, i] - 1) & 1
        if len(cumulative):
            state = advance(state)
            boards[MEMBER, i] = weighted(cumulative, mix(state))
        boards[OWN, i] = own
        boards[OPP, i] = opp
        boards[STATE, i] = state
        boards[LEARNER, i] = learner
        boards[OPPONENT_ACTION, i] = -1
        boards[OUTCOME, i] = 0
        phases[k] = DEALT if mover == learner else OPENING


@borrowing_kernel
def _choose(game: Game, boards: Ints, replies: Ints, kinds: Ints, begin: int, end: int) -> int:
    """Chooses the replies of the opponents that are to move. Returns how many have to be asked."""
    asked = 0
    phases = boards[PHASE, begin:end]
    for k in range(end - begin):
        i = begin + k
        if phases[k] < WAITING or replies[i] >= 0:
            continue
        own, opp, kind = boards[OWN, i], boards[OPP, i], kinds[boards[MEMBER, i]]
        boards[STATE, i] = state = advance(boards[STATE, i])
        if kind == EXTERNAL:
            asked += 1
        else:
            choices = game.legal(own, opp) if kind == RANDOM_POLICY else rule_choices(game, own, opp)
            replies[i] = pick(game, choices, mix(state))
    return asked


@borrowing_kernel
def _choose_at_random(game: Game, boards: Ints, replies: Ints, begin: int, end: int) -> None:
    """`_choose` where all opponents play at random."""
    owns, opps, phases = boards[OWN, begin:end], boards[OPP, begin:end], boards[PHASE, begin:end]
    states, chosen = boards[STATE, begin:end], replies[begin:end]
    for i in range(end - begin):
        waits = phases[i] >= WAITING
        before = states[i]
        state = advance(before)
        states[i] = state if waits else before
        legal = game.legal(owns[i], opps[i])
        chosen[i] = nth(game, legal, mix(state) % max(legal.bit_count(), 1)) if waits else -1


@borrowing_kernel
def nth(game: Game, legal: int, index: int) -> int:
    """`game.nth` without branches, for loops over many boards; 0 if there is none."""
    action = smaller = 0
    for candidate in range(game.num_actions):
        is_legal = (legal & game.choice(candidate)) != 0
        action = candidate if is_legal & (smaller == index) else action
        smaller += is_legal
    return action


@borrowing_kernel
def _reply(game: Game, boards: Ints, replies: Ints, begin: int, end: int) -> tuple[int, int]:
    """Plays the replies of opponents, which are forgotten thereby: -1.

    Returns how many were illegal (their boards go on waiting), and how many ended a game before the learner's first
    move (it is dealt anew).
    """
    owns, opps, phases = boards[OWN, begin:end], boards[OPP, begin:end], boards[PHASE, begin:end]
    answers, outcomes, chosen = boards[OPPONENT_ACTION, begin:end], boards[OUTCOME, begin:end], replies[begin:end]
    wrong = early = 0
    for i in range(end - begin):
        own, opp, phase, reply = owns[i], opps[i], phases[i], chosen[i]
        answer, outcome = answers[i], outcomes[i]
        next_own, next_opp = game.play(own, opp, max(reply, 0))
        illegal = (next_own == own) & (next_opp == opp)
        plays = (reply >= 0) & (illegal ^ True)
        result = game.result(next_own, next_opp)
        over = result != UNFINISHED
        after = (REDEAL if over else DEALT) if phase == OPENING else OVER if over else PLAYING
        owns[i] = next_own if plays else own
        opps[i] = next_opp if plays else opp
        phases[i] = after if plays else phase
        answers[i] = reply if plays else answer
        outcomes[i] = result if plays & (after == OVER) else outcome
        chosen[i] = -1
        wrong += (reply >= 0) & illegal
        early += plays & (after == REDEAL)
    return wrong, early


@borrowing_kernel
def write_rewards(
    boards: Ints, pay: tuple[float, float, float, float], rewards: Floats, ended: Bytes, begin: int, end: int
) -> int:
    """Writes the rewards, and which games have ended; what was dealt plays. Returns how many games have ended.

    `pay` is for a win, a draw, a loss, and a step that does not end the game.
    """
    phases, outcomes = boards[PHASE, begin:end], boards[OUTCOME, begin:end]
    paid, over = rewards[begin:end], ended[begin:end]
    win, draw, loss, going_on = pay
    num_ended = 0
    for i in range(end - begin):
        phase, outcome = phases[i], outcomes[i]
        result = win if outcome > 0 else loss if outcome < 0 else draw
        paid[i] = result if phase == OVER else going_on if phase == PLAYING else 0.0
        over[i] = phase == OVER
        num_ended += phase == OVER
        phases[i] = OVER if phase == OVER else PLAYING
    return num_ended


@borrowing_kernel
def begin_games(boards: Ints, begin: int, end: int) -> None:
    """Lets the boards that have just been dealt play."""
    phases = boards[PHASE, begin:end]
    for i in range(end - begin):
        phases[i] = PLAYING if phases[i] == DEALT else phases[i]


@borrowing_kernel
def store_finals(boards: Ints, finals: Ints, begin: int, end: int) -> None:
    """Copies seat, opponent's action and outcome of finished games to `finals`, int64 (3, N); new ones are then due."""
    for i in range(begin, end):
        if boards[PHASE, i] == OVER:
            finals[0, i], finals[1, i], finals[2, i] = (
                boards[LEARNER, i],
                boards[OPPONENT_ACTION, i],
                boards[OUTCOME, i],
            )
            boards[PHASE, i] = DEAL
