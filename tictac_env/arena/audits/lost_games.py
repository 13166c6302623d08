"""A game that a player loses, on games too large to tabulate: the shortest where it can be found, else one to perfect
play.
"""

from __future__ import annotations

from typing import Any

from tictac_env.arena.verdicts import given_away
from tictac_env.games import Game
from tictac_env.policies import Player, Policy, make_policy
from tictac_env.policies.policy import action_of
from tictac_env.position import Position, format_moves
from tictac_env.rng import position_seed


def lost_game(player: Player, game: Game, seat: int, seed: int, max_positions: int, progress: bool) -> dict[str, Any]:
    """The game that beats a player from a seat, or how far none does.

    Ply by ply every reply is played, so the first loss found is a shortest one. Where that would ask about too many
    positions, the player plays one game against perfect play instead. It is taken as a fixed map: each position's seed
    is derived from the position and `seed`.

    Args:
        player: the player.
        game: a registered game whose perfect play is at hand (there is an opening book).
        seat: 0 if the player plays first, 1 if second.
        seed: see above.
        max_positions: it is asked about at most so many positions, but for that one game.
        progress: whether to show progress.

    Returns:
        "infallible" (None where it is not known), "losing line" (None where none is known), "given away" (which move
        lost it, None if none did), "shortest", and "walked": to how many "plies" of the player's every reply was
        played, at how many "positions".

    Raises:
        IllegalMove: the player's choice is illegal; the message names it and the position.
    """
    from tictac_env.arena.proof import prove  # it is compiled, which no other measure needs

    found = prove(player, seat, game, seed=seed, max_positions=max_positions, progress=progress)
    line = found.refutations[0] if found.refutations else None
    shortest = line is not None
    if line is None and not found.complete:
        line = _lost_to_perfect_play(player.policy, game, seat, seed)
    return {
        "infallible": False if line is not None else found.holds or None,
        "losing line": line,
        "given away": line and _given_away(game, line, seat),
        "shortest": shortest,
        "walked": {"plies": len(found.plies), "positions": found.positions},
    }


def _given_away(game: Game, line: str, seat: int) -> str | None:
    from tictac_env.solver.exact import shared_solver  # it is compiled, as above

    solver = shared_solver(game)

    def scores_of(position: Position) -> tuple[int | None, ...]:
        return solver.solve(position, weak=True).action_scores

    return given_away(game, Position.from_moves(game, line).moves, seat, scores_of)


def _lost_to_perfect_play(policy: Policy, game: Game, seat: int, seed: int) -> str | None:
    """The game between a policy, as a fixed map, and perfect play, if the policy loses it."""
    sides = [policy, make_policy("perfect", game)]
    position = Position.start(game)
    while not position.is_over:
        side = sides[position.seat ^ seat]
        position = position.play(action_of(side, position, position_seed(position.own, position.opp, seed)))
    lost = position.outcome is not None and position.outcome.winner == 1 - seat
    return format_moves(game, position.moves) if lost else None
