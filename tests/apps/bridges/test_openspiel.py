"""OpenSpiel's own tests pass on our games, bots go both ways, and its exploitability is ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel")

from absl import flags  # noqa: E402
from open_spiel.python.algorithms import generate_playthrough  # noqa: E402
from open_spiel.python.algorithms.exploitability import exploitability  # noqa: E402
from open_spiel.python.bots.uniform_random import UniformRandomBot  # noqa: E402

import tictac_apps.bridges.openspiel as bridge  # noqa: E402
from tictac_apps.bridges.openspiel import BotPolicy, PolicyBot, SpielPolicy, load_game, position_of, state_of  # noqa: E402
from tictac_env.arena import play_match, verdict  # noqa: E402
from tictac_env.position import Position  # noqa: E402

OURS = ("TicTacToe-v0", "ConnectFour-v0", "KInARow-v0(rows=4,cols=5,connect=3)", "KInARow-v0(rows=3,gravity=False)")
THEIRS = {"tic_tac_toe": "TicTacToe-v0", "connect_four": "ConnectFour-v0"}


@pytest.mark.parametrize("name", OURS)
def test_its_tests_of_games_pass(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    pyspiel.random_sim_test(pyspiel.load_game(name), num_sims=2, serialize=True, verbose=False)


@pytest.mark.parametrize("name", OURS[:3])
def test_a_playthrough_is_replayed_line_by_line(name: str, tmp_path: Path) -> None:
    flags.FLAGS.mark_as_parsed()  # else OpenSpiel asks for options of a command line that there is not
    text = generate_playthrough.playthrough(name, None, seed=1)
    assert "IsTerminal() = True" in text
    (path := tmp_path / "playthrough.txt").write_text(text)
    before, after = generate_playthrough.replay(str(path))
    assert before == after


@pytest.mark.parametrize(("theirs", "name"), THEIRS.items())
def test_states_are_those_of_its_own_games(theirs: str, name: str) -> None:
    game, other = pyspiel.load_game(name), pyspiel.load_game(theirs)
    assert bridge.rules_of(other) is bridge.rules_of(game)
    random = np.random.default_rng(0)
    for _ in range(20):
        state, same = game.new_initial_state(), other.new_initial_state()
        while not same.is_terminal():
            assert not state.is_terminal() and state.legal_actions() == same.legal_actions()
            assert position_of(state) == position_of(same)
            assert state.current_player() == same.current_player()
            action = int(random.choice(same.legal_actions()))
            state.apply_action(action)
            same.apply_action(action)
        assert state.is_terminal() and state.returns() == same.returns()
        assert position_of(same).moves == tuple(same.history())


@pytest.mark.parametrize("name", OURS)
def test_an_illegal_action_raises_as_in_its_own_games_and_changes_nothing(name: str) -> None:
    random = np.random.default_rng(0)
    for _ in range(3):
        state = pyspiel.load_game(name).new_initial_state()
        while True:
            legal, history, board = state.legal_actions(), state.history(), str(state)
            for action in {*range(state.num_distinct_actions()), -1, 10**6} - set(legal):
                with pytest.raises(pyspiel.SpielError):
                    state.apply_action(action)
                assert (state.history(), str(state), state.legal_actions()) == (history, board, legal)
            if state.is_terminal():
                break
            state.apply_action(int(random.choice(legal)))


def test_players_and_actions_that_do_not_exist_are_refused() -> None:
    state = load_game("TicTacToe-v0").new_initial_state()
    observer = state.get_game().make_py_observer()
    for player, action in ((-4, 1), (-1, 1), (2, 1), (0, -1), (0, 9), (1, 10**6)):
        with pytest.raises(pyspiel.SpielError, match=str(player if action == 1 else action)):
            state.action_to_string(player, action)
    for player in (-1, 2):
        for observe in (observer.set_from, observer.string_from):
            with pytest.raises(pyspiel.SpielError, match=str(player)):
                observe(state, player)


def test_the_tensor_is_the_planes_of_the_environments() -> None:
    position = Position.from_moves("ConnectFour-v0", "4453")
    state = state_of(position, load_game("ConnectFour-v0"))
    planes = np.reshape(state.observation_tensor(0), (2, 6, 7))
    assert planes[0, 5, 4] == 1 and planes[1, 4, 3] == 1 and planes.sum() == 4
    assert (np.reshape(state.observation_tensor(1), (2, 6, 7)) == planes[::-1]).all()
    assert str(state).splitlines()[-1] == "..oxx.." and state.action_to_string(0, 3) == "x4"


def test_games_of_any_size_have_parameters() -> None:
    game = load_game("KInARow-v0:5x6-4")
    assert game.get_parameters() == {"rows": 5, "cols": 6, "connect": 4, "gravity": True}
    assert game.num_distinct_actions() == 6 and game.rules.cells == game.max_game_length() == 30
    assert bridge.register_games() == []
    assert bridge.rules_of(pyspiel.load_game("connect_four(rows=5,columns=6)")) is game.rules
    with pytest.raises(ValueError, match=r"kuhn_poker.* is neither"):
        bridge.rules_of(pyspiel.load_game("kuhn_poker"))
    with pytest.raises(ValueError, match=r"a position of ConnectFour-v0 is not a state of tic_tac_toe"):
        state_of(Position.start("ConnectFour-v0"), pyspiel.load_game("tic_tac_toe"))


@pytest.mark.parametrize("name", ["TicTacToe-v0", "tic_tac_toe"])
def test_a_policy_plays_as_a_bot(name: str) -> None:
    game = pyspiel.load_game(name)
    bots = [PolicyBot("minimax", game, seed=0), PolicyBot("random", game, seed=1)]
    returns = [pyspiel.evaluate_bots(game.new_initial_state(), bots, seed)[0] for seed in range(20)]
    assert min(returns) >= 0 and sum(returns) > 10
    state = state_of(Position.from_moves("TicTacToe-v0", "15"), game)
    chances, action = bots[0].step_with_policy(state)
    assert bots[0].provides_policy() and sum(chance for _, chance in chances) == pytest.approx(1)
    assert dict(chances)[action] > 0
    start, drawing = game.new_initial_state(), [PolicyBot("random", game, seed=seed) for seed in (0, 0, 1)]
    one, same, other = ([bot.step(start) for _ in range(60)] for bot in drawing)
    assert set(one) == set(range(9)) and one == same != other


def test_a_bot_plays_as_a_policy() -> None:
    game = pyspiel.load_game("tic_tac_toe")

    def search(seed: int) -> object:
        return pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, seed), 2.0, 200, 10, True, seed, False)

    policy = BotPolicy(search, game, "OpenSpiel")
    position = Position.from_moves("TicTacToe-v0", "152")
    assert {policy.act(position, 5) for _ in range(3)} == {2}  # the block, by the seed alone
    with pytest.raises(ValueError, match="the game is over"):
        policy.act(Position.from_moves("TicTacToe-v0", "15243"), 0)
    assert play_match(policy, "random", "TicTacToe-v0", games=4, seed=0).total.losses == 0
    uniform = BotPolicy(UniformRandomBot(0, np.random.RandomState(0)), "TicTacToe-v0")
    assert uniform.one_game_at_a_time and uniform.act(Position.from_moves("TicTacToe-v0", "15"), 0) not in (-1, 0, 4)
    theirs = verdict(BotPolicy(lambda _: PolicyBot("random", game), game)).exploitability
    assert theirs == pytest.approx(0.95983, abs=1e-5)

    class First(pyspiel.Bot):  # type: ignore[misc]  # without a way to be placed: it is restarted
        def step(self, state: object) -> int:
            return int(state.legal_actions()[0])  # type: ignore[attr-defined]

    assert BotPolicy(First(), "TicTacToe-v0").act(Position.from_moves("TicTacToe-v0", "12"), 0) == 2


@pytest.mark.parametrize(
    ("name", "player"),
    [
        ("KInARow-v0:2x3-2,gravity=False", "random"),
        ("KInARow-v0:3x3-3", "rule"),
        *(pytest.param("TicTacToe-v0", player, marks=pytest.mark.slow) for player in ("random", "rule")),
    ],
)
def test_its_exploitability_is_ours(name: str, player: str) -> None:
    game = pyspiel.load_game("tic_tac_toe") if name == "TicTacToe-v0" else load_game(name)
    expected = verdict(player, bridge.rules_of(game)).exploitability
    assert expected > 0.3 or player == "rule"
    assert exploitability(game, SpielPolicy(game, player)) == pytest.approx(expected, abs=1e-12)
