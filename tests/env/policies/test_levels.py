"""The levels rise: exactly on tic-tac-toe, by games on Connect Four."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from conftest import breadth

from tictac_env.arena import play_match, verdict
from tictac_env.games import KInARow
from tictac_env.policies import check_policy, make_policy
from tictac_env.policies.pool import LEVELS, level_settings
from tictac_env.position import Position

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
NUMBERS = range(1, 11)


def test_every_game_has_ten_levels_and_the_first_is_random_play(name: str) -> None:
    assert len(LEVELS[name]) == 10
    position = Position.start(name)
    chances = make_policy("level:1", name).probabilities(position)
    assert chances is not None and len(set(chances)) == 1


def test_on_tic_tac_toe_each_level_is_harder_to_exploit_until_none_is_and_loses_less_to_perfect_play() -> None:
    verdicts = [verdict(f"level:{number}", TTT) for number in NUMBERS]
    assert verdicts[0].exploitability == pytest.approx(0.95983, abs=5e-6)
    for below, above in pairwise(verdicts):
        assert above.exploitability < below.exploitability or above.exploitability == below.exploitability == 0
    assert verdicts[-1].exploitability == 0
    for seat in ("as_first", "as_second"):
        losses = [getattr(found, seat).against_perfect.losses for found in verdicts]
        assert losses == sorted(losses, reverse=True) and len(set(losses)) == 10 and losses[-1] == 0
    assert verdicts[-1].unbeatable and verdicts[0].basis == "probabilities"


@pytest.mark.parametrize("number", breadth([2, 5], range(2, 11)))
def test_on_connect_four_each_level_scores_60_to_80_per_cent_against_the_one_below(number: int) -> None:
    """The first of the games on record (tools/calibrate_levels.py)."""
    match = play_match(f"level:{number}", f"level:{number - 1}", C4, games=400, seed=0)
    assert match.as_first.games == match.as_second.games == 200
    assert 0.6 <= match.total.score <= 0.8
    assert match.as_first.score > 0.5 and match.as_second.score > 0.5


@pytest.mark.parametrize("number", [1, 3, 5, 7])
def test_levels_keep_what_a_policy_promises(name: str, number: int) -> None:
    with np.errstate(all="raise"):
        policy = make_policy(f"level:{number}", name)
    assert str(policy) == policy.name == f"level:{number}"
    if policy.probabilities(Position.start(name)) is not None:
        check_policy(policy, name, positions=10)
    else:
        with pytest.warns(UserWarning, match="draws but has no"):
            check_policy(policy, name, positions=10)


@pytest.mark.parametrize("number", breadth([3], [6]))
def test_other_sizes_have_levels_too(number: int) -> None:
    small, large = KInARow.make(4, 3, 3, gravity=True), KInARow.make(5, 5, 4, gravity=True)
    assert level_settings(small) == LEVELS[TTT] and level_settings(large)[:9] == LEVELS[C4][:9]
    assert level_settings(large)[9].policy == "mcts:16000"
    match = play_match(f"level:{number}", "level:1", large, 20)
    assert match.total.score > 0.6
    assert verdict("level:10", small).exploitability == 0


@pytest.mark.parametrize("argument", ["0", "11", "", "-1", "1.5", "five", "²", " 3", "3:4"])
def test_levels_that_are_none_are_refused(argument: str) -> None:
    with pytest.raises(ValueError, match=r"a level must be an integer from 1 to 10, not"):
        make_policy(f"level:{argument}", C4)


def test_naming_a_level_loads_no_search() -> None:
    script = (
        "import sys; from tictac_env.policies import make_policy\n"
        "make_policy('level:10', 'ConnectFour-v0'); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
