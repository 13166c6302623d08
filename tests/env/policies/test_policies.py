"""The named policies against naive definitions, and how policies are found and made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import ALL_GAMES, playout, title
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import NaiveBoard

from tictac_agents import QLearning
from tictac_env.arena import (
    audit,
    exact_results,
    move_accuracy,
    play_match,
    prove,
    round_robin,
    verdict,
)
from tictac_env.envs.vector.vector_env import read_actions
from tictac_env.games import GAMES, Game, KInARow
from tictac_env.policies import (
    POLICIES,
    FunctionPolicy,
    ModelPolicy,
    OpponentPool,
    Policy,
    RandomPolicy,
    RulePolicy,
    as_policy,
    check_policy,
    game_for,
    load_player,
    make_policy,
    named_policy,
)
from tictac_env.policies.loading import is_name
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
every_size = pytest.mark.parametrize("game", [game for game in ALL_GAMES if isinstance(game, KInARow)], ids=title)
seeds = st.integers(0, 2**63 - 1)


def unfinished(game: Game, seed: int) -> list[Position]:
    return playout(game, seed)[:-1]


def naive(position: Position) -> NaiveBoard:
    """The position on a naive board."""
    game = position.game
    assert isinstance(game, KInARow)
    board = NaiveBoard.of(game)
    board.grid = position.to_array().tolist()
    board.mark = 1 + position.seat
    return board


def wins(board: NaiveBoard, mark: int) -> list[int]:
    """The actions with which player `mark` would win at once."""
    return [action for action in board.legal() if board.after(action, mark).winner() == mark]


def central(board: NaiveBoard) -> list[int]:
    """The legal actions nearest the middle: of the row of columns, or without gravity of the board."""

    def distance(action: int) -> float:
        row, col = divmod(action, board.cols)
        across = abs(col - (board.cols - 1) / 2)
        return across if board.gravity else float(np.hypot(row - (board.rows - 1) / 2, across))

    near = min(distance(action) for action in board.legal())
    return [action for action in board.legal() if np.isclose(distance(action), near)]


@every_size
@given(seed=seeds)
@settings(max_examples=3)
def test_random_plays_the_kth_legal_action(game: KInARow, seed: int) -> None:
    for position in unfinished(game, seed):
        legal = naive(position).legal()
        assert RandomPolicy().act(position, seed) == legal[seed % len(legal)]
        chances = RandomPolicy().probabilities(position)
        assert chances.dtype == np.float64 and chances.shape == (game.num_actions,)
        assert chances.tolist() == [1 / len(legal) if a in legal else 0 for a in range(game.num_actions)]


@every_size
@given(seed=seeds)
@settings(max_examples=3)
def test_rule_wins_else_blocks_else_plays_near_the_centre(game: KInARow, seed: int) -> None:
    for position in unfinished(game, seed):
        board = naive(position)
        at_once = wins(board, board.mark)[:1] or wins(board, 3 - board.mark)[:1]
        wanted = at_once or central(board)
        for drawn in (seed, 0, 1):
            assert RulePolicy().act(position, drawn) == wanted[drawn % len(wanted)]


@pytest.mark.parametrize("policy", [RandomPolicy(), RulePolicy()], ids=str)
def test_act_many_is_act_with_each_seed(policy: Policy, game: Game) -> None:
    positions = [position for seed in range(5) for position in unfinished(game, seed)]
    drawn = np.random.default_rng(0).integers(0, 2**63 - 1, len(positions))
    actions = policy.act_many(PositionBatch.of(positions), drawn)
    assert actions.dtype == np.int64 and actions.shape == (len(positions),)
    expected = [policy.act(position, seed) for position, seed in zip(positions, drawn.tolist(), strict=True)]
    assert actions.tolist() == expected


# Finding and making


@pytest.mark.parametrize(
    ("name", "game", "message"),
    [
        ("rndom", TTT, r"no policy is called 'rndom'; did you mean random\?"),
        ("minmax:4", TTT, r"no policy is called 'minmax:4'; did you mean minimax"),
        ("", TTT, r"no policy is called ''; known are random, rule"),
        ("chess", TTT, r"no policy is called 'chess'; known are random, rule"),
        ("random:3", TTT, r"the policy 'random' takes no argument, not '3'"),
        ("rule:x", TTT, r"the policy 'rule' takes no argument, not 'x'"),
        (None, TTT, r"a policy's name must be a string, not None"),
        ("random", "ConnectFive-v0", r"no game is called 'ConnectFive-v0'; did you mean ConnectFour-v0\?"),
    ],
)
def test_unknown_names_are_answered_with_the_near_ones(name: Any, game: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_policy(name, game)


class Constant:
    def predict(self, observation: Any, deterministic: bool = False) -> tuple[Any, None]:
        return np.array(3), None


def last(observation: Any, mask: npt.NDArray[np.int8]) -> int:
    return int(np.flatnonzero(mask)[-1])


def test_everything_that_plays_is_a_policy() -> None:
    game, position = GAMES[C4], Position.from_moves(C4, "777777")
    rule = RulePolicy()
    assert as_policy(rule, game) is rule
    assert isinstance(as_policy("random", game), RandomPolicy)
    function = as_policy(last, game)
    assert isinstance(function, FunctionPolicy)
    assert str(function) == "last" and function.act(position, 0) == 5
    model = as_policy(Constant(), game)
    assert isinstance(model, ModelPolicy)
    assert str(model) == "Constant" and model.act(position, 0) == 3


@pytest.mark.parametrize(
    "use",
    [
        lambda table: play_match("random", "rule", table),
        lambda table: move_accuracy("rule", [table]),
        lambda table: round_robin(["random", table]),
        lambda table: OpponentPool(["random"], weights=table),
        lambda table: gym.make(TTT, rewards=table),
        lambda table: gym.make(TTT, start=table),
        lambda table: gym.make(TTT, illegal=table),
        lambda table: gym.make(TTT).reset(options={"position": table}),
        lambda table: read_actions(list(table.items()), 2, 9),
        lambda table: Position.start(TTT).play(table),
        lambda table: Position.from_moves(TTT, "1" * 100_000),
        lambda table: QLearning(TTT, learning_rate=table),
    ],
)
def test_no_error_prints_all_of_a_value(use: Any) -> None:
    table = {state: [0.0] * 9 for state in range(2_000)}
    with pytest.raises(ValueError, match=r"\.\.\.") as error:
        use(table)
    assert len(str(error.value)) < 1_000


@pytest.mark.parametrize("function", [lambda board: 0, lambda board, mask, more: 0, lambda: 0])
def test_a_function_of_other_parameters_is_refused_at_once(function: Any) -> None:
    with pytest.raises(ValueError, match=r"must take \(observation, mask\)"):
        verdict(function)


def test_files_and_modules_play_wherever_a_name_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    agent = QLearning(TTT, seed=0).learn(total_episodes=50, progress_bar=False)
    agent.save("q.npz")
    found, wanted = verdict("q.npz"), verdict(agent)
    assert (found.policy, found.as_first, found.as_second) == ("q", wanted.as_first, wanted.as_second)
    assert play_match("q.npz", "random", games=10).total == play_match(agent, "random", games=10).total
    assert str(make_policy(Path("q.npz"))) == "q"
    for env in (gym.make(TTT, opponent="q.npz"), gym.make_vec(TTT, num_envs=2, opponent="q.npz")):
        assert str(env.unwrapped.opponent) == "q"  # type: ignore[attr-defined]
    Path("bots.py").write_text("def act(observation, mask):\n    return int(mask.argmax())\n")
    assert verdict("bots.py:act").policy == "act"
    with pytest.raises(FileNotFoundError, match=r"none\.npz"):
        verdict("none.npz")


@pytest.mark.parametrize("name", ["q.npz", "bots.py:act", "os:system", "program:true", "http://localhost/v1#m", "./x"])
def test_where_only_names_are_known_nothing_else_is_looked_for(name: str) -> None:
    """Names in saved files and requests are not their reader's own."""
    with pytest.raises(ValueError, match="no policy is called"):
        named_policy(name, GAMES[TTT])


@pytest.mark.parametrize("name", [*POLICIES, "mcts:7", "rule:./x.py", "random:system", "level:x.npz"])
def test_what_is_a_policys_name_is_nothing_else(name: str) -> None:
    """So what `named_policy` has allowed cannot become a file when it is read again."""
    assert is_name(name)


def test_the_game_is_the_agents_own(tmp_path: Path) -> None:
    agent = QLearning("KInARow-v0:3x4-3", seed=0).learn(total_episodes=20, progress_bar=False)
    agent.save(tmp_path / "q.npz")
    wanted = verdict(agent, agent.game)
    for player in (agent, str(tmp_path / "q.npz"), load_player(agent), ModelPolicy(agent)):
        assert game_for(None, "random", player) == agent.game
    assert verdict(agent) == verdict(agent) == wanted
    assert audit(agent, exact=False, progress=False).game == "KInARow-v0:3x4-3"
    assert prove(QLearning(TTT), 1, progress=False).game == TTT
    assert exact_results("random", agent, progress=False) == exact_results("random", agent, agent.game, progress=False)
    assert play_match("random", agent, games=4) == play_match("random", agent, agent.game, games=4)
    assert round_robin(["random", str(tmp_path / "q.npz")], games=2).game == agent.game
    check_policy(agent, positions=5)


@pytest.mark.parametrize(
    "use",
    [
        lambda agent: verdict(agent, TTT),
        lambda agent: play_match("random", ModelPolicy(agent), TTT),
        lambda agent: gym.make(TTT, opponent=agent),
        lambda agent: move_accuracy(agent, "TTT-Exact-v1"),
        lambda agent: round_robin([agent, "random"], TTT),
    ],
    ids=["verdict", "match", "environment", "accuracy", "tournament"],
)
def test_a_game_that_an_agent_has_not_learned_is_refused_with_its_own(use: Any) -> None:
    with pytest.raises(ValueError, match=f'QLearning has learned {C4}, not {TTT}; .*game="{C4}"'):
        use(QLearning(C4))


def test_agents_of_two_games_do_not_meet() -> None:
    with pytest.raises(ValueError, match=f"different games, {TTT} and {C4}"):
        play_match(QLearning(TTT), QLearning(C4))


@pytest.mark.parametrize("game", [TTT, "ConnectFour-v0"])
@pytest.mark.parametrize("name", ["minimax", "minimax-first"])
def test_minimax_without_a_depth_says_if_it_is_not_exhaustive(name: str, game: str) -> None:
    named, exhaustive = make_policy(name, game), game == TTT
    assert str(named) == (name if exhaustive else f"{name}:4")
    assert named.budget == ("the whole game, tabulated" if exhaustive else "4 plies")
