"""Searches a large game for the shortest game that a player loses."""

from __future__ import annotations

from typing import NamedTuple

from tictac_env.arena.basis import fixed_actions
from tictac_env.arena.records import Searched
from tictac_env.arena.verdicts import given_away
from tictac_env.games import Game
from tictac_env.policies import Player, Policy, make_policy
from tictac_env.policies.policy import action_of
from tictac_env.position import IllegalMove, Position, format_moves
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import position_seed


class LostGame(NamedTuple):
    """The game that beats a player from a seat, and the extent of the search for it."""

    unbeatable: bool | None
    """None if it is not known."""
    losing_line: str | None
    """The game as a move string; None if none is known."""
    given_away: str | None
    """The move that lost it, in words; None if none did."""
    shortest: bool
    """True if no shorter game beats the player."""
    searched: Searched | None
    """The extent of the search."""


UNSEARCHED = LostGame(None, None, None, False, None)
"""The finding without a search."""


def lost_game(player: Player, game: Game, seat: int, seed: int, max_positions: int, progress: bool) -> LostGame:
    """Searches for the game that beats a player from a seat.

    Ply by ply every reply is played, so the first loss that comes up is a shortest one. If that would ask about too
    many positions, the player plays one game against perfect play instead. It is taken as a fixed map: each position's
    seed is derived from the position and `seed`. A player that answers differently when it is asked again only plays
    that one game. A game that it forfeits (`Policy.forfeits`) is lost, too.

    Args:
        player: the player.
        game: a registered game that has an opening book.
        seat: 0 if the player plays first, 1 if second.
        seed: see above.
        max_positions: the most positions it is asked about, without those of that one game.
        progress: show progress.

    Raises:
        IllegalMove: the player's choice is illegal; the message names it and the position.
    """
    from tictac_env.arena.proof import NoFixedMap, prove  # these two are compiled, which other measures do not need
    from tictac_env.solver.exact import shared_solver

    try:
        proof = prove(player, seat, game, seed=seed, max_positions=max_positions, progress=progress)
        line, holds, complete = next(iter(proof.refutations), None), proof.holds, proof.complete
        searched = Searched(len(proof.plies), proof.positions)
    except NoFixedMap:
        line, searched, holds, complete = None, Searched(0, 0), False, False
    except IllegalMove:
        if not player.policy.forfeits:
            raise
        line, searched = _forfeited_game(player.policy, game, seat, seed)
        holds = complete = False
    shortest = line is not None
    if line is None and not complete:
        line = _lost_to_perfect_play(player.policy, game, seat, seed)
    if line is None:
        return LostGame(holds or None, None, None, False, searched)
    solver = shared_solver(game)
    moves = Position.from_moves(game, line).moves
    blunder = given_away(game, moves, seat, lambda position: solver.solve(position, weak=True).action_scores)
    return LostGame(False, line, blunder, shortest, searched)


def _forfeited_game(policy: Policy, game: Game, seat: int, seed: int) -> tuple[str, Searched]:
    """A shortest game that a policy, as a fixed map, forfeits, if it loses no shorter one, and the search for it."""
    start = Position.start(game)
    layer = [start.play(action) for action in start.legal_actions] if seat else [start]
    plies = positions = 0
    while True:
        actions = fixed_actions(policy, PositionBatch.of(layer), seed).tolist()
        plies, positions = plies + 1, positions + len(layer)
        for position, action in zip(layer, actions, strict=True):
            if action < 0:
                return position.to_moves(), Searched(plies, positions)
        moved = [position.play(action) for position, action in zip(layer, actions, strict=True)]
        replied = [after.play(reply) for after in moved if not after.is_over for reply in after.legal_actions]
        layer = list({(end.own, end.opp): end for end in replied if not end.is_over}.values())


def _lost_to_perfect_play(policy: Policy, game: Game, seat: int, seed: int) -> str | None:
    """The game between a policy, as a fixed map, and perfect play, if the policy loses or forfeits it."""
    sides = [policy, make_policy("perfect", game)]
    position = Position.start(game)
    while not position.is_over:
        side = sides[position.seat ^ seat]
        try:
            action = action_of(side, position, position_seed(position.own, position.opp, seed))
        except IllegalMove:
            if not side.forfeits:
                raise
            return format_moves(game, position.moves)
        position = position.play(action)
    lost = position.outcome is not None and position.outcome.winner == 1 - seat
    return format_moves(game, position.moves) if lost else None
