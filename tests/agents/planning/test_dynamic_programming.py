"""Policy and value iteration agree with linear algebra, with best replies and with the arena."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import ODD_GAMES, breadth, make_env, title
from npz_files import read, write
from oracle import Oracle
from scipy.sparse import coo_array, eye_array
from scipy.sparse.linalg import spsolve
from test_sweeps import AGENTS, UNFLAGGED_END, solved
from test_tabular_model import TIC_TAC_TOE, Lowest, board

from tictac_agents import PolicyIteration, ValueIteration, gridworld_4x4, policy_evaluation
from tictac_agents.planning.dynamic_programming import DynamicProgramming, greedy_policy
from tictac_env.arena import verdict
from tictac_env.games import KInARow
from tictac_env.policies import Policy, as_policy, check_policy
from tictac_env.policies.pool import Mixture
from tictac_env.position import Position
from tictac_env.rng import position_seed

both_agents = pytest.mark.parametrize("cls", AGENTS, ids=lambda cls: cls.__name__)


class Drawing(Policy):
    """Draws, but does not say how."""

    def act(self, position: Position, seed: int) -> int:
        return position.legal_actions[seed % len(position.legal_actions)]


OPPONENTS: dict[str, Any] = {
    "random": "random",
    "rule": "rule",
    "minimax": "minimax",
    "minimax-first": "minimax-first",
    "mixture": Mixture(["random", "minimax"], [0.5, 0.5]),
    "fixed map": Drawing(),
}


def chances_of(policy: Policy, position: Position) -> dict[int, float]:
    """What a model should take the opponent to play."""
    chances = policy.probabilities(position)
    if chances is None:
        return {policy.act(position, position_seed(position.own, position.opp, 0)): 1.0}
    return {action: float(chance) for action, chance in enumerate(chances) if chance}


def check_optimal(table: Any, agent: DynamicProgramming) -> None:
    """Its values are those of its policy, and no action promises more."""
    values = solved(table, agent.policy, agent.settings.gamma)
    np.testing.assert_allclose(agent.values, values, rtol=0, atol=1e-8)
    for state, actions in table.items():
        for action in range(agent.model.num_actions):
            worth = sum(
                prob * (reward + agent.settings.gamma * (0 if terminated else values[following]))
                for prob, following, reward, terminated in actions.get(action, [])
            )
            assert worth <= values[state] + 1e-8
            assert agent.q[state, action] == pytest.approx(worth, abs=1e-8) if action in actions else True
            assert np.isnan(agent.q[state, action]) == (action not in actions)


@both_agents
@pytest.mark.parametrize("gamma", [0.99, 1.0])
@pytest.mark.parametrize("name", ["FrozenLake8x8-v1", "FrozenLake-v1", "CliffWalking-v1"])
def test_toy_text_agrees_with_a_linear_solve(cls: type[DynamicProgramming], gamma: float, name: str) -> None:
    env = gym.make(name, is_slippery=True)
    agent = cls(env, gamma=gamma).learn(progress_bar=False)
    check_optimal(env.unwrapped.P, agent)  # type: ignore[attr-defined]  # of the toy-text environments
    assert agent.policy.dtype == np.int64 and agent.values.dtype == agent.q.dtype == np.float64
    assert agent.sweeps > 0 and (agent.improvements > 0) == (cls is PolicyIteration)


@both_agents
def test_in_place_finds_the_same(cls: type[DynamicProgramming]) -> None:
    for name, gamma in (("FrozenLake-v1", 0.9), ("FrozenLake-v1", 1.0)):
        synchronous, in_place = (
            cls(name, gamma=gamma, in_place=which).learn(progress_bar=False) for which in (False, True)
        )
        np.testing.assert_allclose(in_place.values, synchronous.values, atol=1e-8)
        assert in_place.sweeps < synchronous.sweeps
    evenly = [policy_evaluation("FrozenLake-v1", in_place=which)[0] for which in (False, True)]
    np.testing.assert_allclose(*evenly, atol=1e-8)


@both_agents
def test_without_a_discount_no_policy_goes_in_circles(cls: type[DynamicProgramming]) -> None:
    """Every action of the corridor is worth 1, and the lowest one leads nowhere."""
    corridor: dict[int, dict[int, list[Any]]] = {
        state: {0: [(1.0, max(state - 1, 0), 0.0, False)], 1: [(1.0, state + 1, float(state == 4), state == 4)]}
        for state in range(5)
    }
    agent = cls(corridor | {5: {}}).learn()
    assert agent.values.tolist() == [1, 1, 1, 1, 1, 0]
    assert agent.policy.tolist() == [1, 1, 1, 1, 1, -1]
    assert policy_evaluation(corridor | {5: {}}, agent.policy)[0].tolist() == agent.values.tolist()
    agent = cls(UNFLAGGED_END).learn()
    assert (agent.values.tolist(), agent.policy.tolist()) == ([1, 0], [1, 0])


def board_values(game: KInARow, policy: Callable[[Position], int], opponent: Policy, gamma: float) -> dict[Any, float]:
    """What each position is worth to a player of the side to move, from one system of equations over plain boards."""
    truth = Oracle(game)
    boards = [name for name in truth.boards() if truth.moves(name)]
    row_of = {name: row for row, name in enumerate(boards)}
    income = np.zeros(len(boards))
    rows, columns, weights = [], [], []
    for name in boards:
        after = truth.moves(name)[policy(truth.position(name))]
        ends = [(1.0, after)]
        if truth.moves(after):
            ends = [
                (chance, truth.moves(after)[action])
                for action, chance in chances_of(opponent, truth.position(after)).items()
            ]
        for chance, end in ends:
            if truth.moves(end):
                rows.append(row_of[name])
                columns.append(row_of[end])
                weights.append(gamma * chance)
            elif (winner := truth.winner(end)) is not None:
                income[row_of[name]] += chance if winner == truth.mover(name) else -chance
    size = len(boards)
    matrix = eye_array(size) - coo_array((weights, (rows, columns)), shape=(size, size))
    values = np.atleast_1d(spsolve(matrix.tocsc(), income))
    return {truth.bits(name): float(values[row]) for name, row in row_of.items()}


@pytest.mark.parametrize("name", breadth(["mixture", "fixed map"], OPPONENTS))
def test_tic_tac_toe_agrees_with_a_linear_solve(name: str) -> None:
    env = board(OPPONENTS[name])
    opponent = as_policy(OPPONENTS[name], TIC_TAC_TOE)
    agents = [cls(env).learn(progress_bar=False) for cls in AGENTS]
    np.testing.assert_allclose(agents[0].values, agents[1].values, atol=1e-8)
    agent = agents[0]
    expected = board_values(TIC_TAC_TOE, lambda position: agent.act(position, 0), opponent, 1.0)
    assert agent.model.positions is not None
    for state, (own, opp) in enumerate(agent.model.positions.tolist()):
        assert agent.values[state] == pytest.approx(expected.get((own, opp), 0.0), abs=1e-8)
    check_bellman(agent)
    # The best that can be earned, by another way: the best reply to the opponent, in each seat.
    truth = Oracle(TIC_TAC_TOE)

    def plays(text: str) -> dict[int, float]:
        return chances_of(opponent, truth.position(text))

    for seat in (0, 1):
        assert start_value(agent, opponent, seat) == pytest.approx(truth.best_reply(plays, "OX"[seat]), abs=1e-8)


def check_bellman(agent: DynamicProgramming) -> None:
    on = agent.model.available.any(axis=1)
    best = np.nanmax(agent.q[on], axis=1)
    np.testing.assert_allclose(agent.values[on], best, atol=1e-8)
    assert (agent.values[~on] == 0).all() and (agent.policy[~on] == -1).all()
    for q, top, action in zip(agent.q[on], best, agent.policy[on], strict=True):
        assert action == np.flatnonzero(q >= top - 1e-12)[0]


def start_value(agent: DynamicProgramming, opponent: Policy, seat: int) -> float:
    """What the agent expects of a game in that seat, before any move."""
    start = Position.start(agent.model.game)  # type: ignore[arg-type]
    openings = {start: 1.0}
    if seat == 1:
        openings = {start.play(action): chance for action, chance in chances_of(opponent, start).items()}
    states = [(agent.model.find(position.own, position.opp), chance) for position, chance in openings.items()]
    return sum(chance * float(agent.values[state]) for state, chance in states if state is not None)


SMALL_GAMES = [game for game in ODD_GAMES if game.cells <= 8 or game.cells == 12] + [KInARow.make(3, 3, 3, True)]


@pytest.mark.parametrize("game", SMALL_GAMES, ids=title)
def test_small_games_of_odd_sizes_are_solved(game: KInARow) -> None:
    truth, opponent = Oracle(game), as_policy("random", game)
    env = make_env(game, opponent="random", play_as="random")
    agent = ValueIteration(env, in_place=game.cells < 9).learn(progress_bar=False)
    for seat in (0, 1):
        if game.cells > 1 or seat == 0:  # else the opponent has won before the learner moves
            expected = truth.best_reply(truth.uniform, "OX"[seat])
            assert start_value(agent, opponent, seat) == pytest.approx(expected, abs=1e-8)
    check_policy(agent, game)


def test_a_discount_and_a_step_reward_hurry() -> None:
    """Both make the quickest win the best, which without them it need not be."""
    position = Position.from_moves("TicTacToe-v0", "1428")  # X at 1 and 2: 3 wins
    for agent in (ValueIteration(board(), gamma=0.5), ValueIteration(board(rewards=(1, 0, -1, -0.1)))):
        assert agent.learn().act(position, 0) == 2


@both_agents
def test_it_wins_all_that_can_be_won_against_random_play(cls: type[DynamicProgramming]) -> None:
    """Worked example 12: 99.479 % of the games as X and 93.862 % as O are the most anyone can win."""
    agent = cls(board(rewards=(1, 0, 0))).learn(progress_bar=False)
    opponent = as_policy("random", TIC_TAC_TOE)
    judged = verdict(agent)
    for seat, (judgement, most) in enumerate(((judged.as_first, 0.99479), (judged.as_second, 0.93862))):
        assert judgement.against_random.wins == pytest.approx(most, abs=5e-6)
        assert start_value(agent, opponent, seat) == pytest.approx(judgement.against_random.wins, abs=1e-9)


@pytest.fixture(scope="module")
def planner() -> ValueIteration:
    """Against the lowest action, as first: a model of few positions."""
    return ValueIteration(board(Lowest(), play_as="first")).learn(progress_bar=False)


def test_it_predicts_from_every_type_of_observation(planner: ValueIteration) -> None:
    position = Position.from_moves("TicTacToe-v0", "9512")
    assert planner.model.find(position.own, position.opp) is None  # that opponent answers 1
    known = Position.from_moves("TicTacToe-v0", "91")
    state = planner.model.find(known.own, known.opp)
    assert state is not None
    for obs_type in ("planes", "board", "code"):
        env = gym.make("TicTacToe-v0", opponent=None, obs_type=obs_type)
        observation, info = env.reset(options={"position": known})
        best = planner.predict(observation)
        assert best == (planner.policy[state], None) and type(best[0]) is int
        assert planner.predict(observation, action_masks=info["action_mask"], deterministic=False) == best
        q = planner.q[state]
        for allowed in ([1], [2, 3, 6], [4, 7], list(set(known.legal_actions) - {best[0]})):
            mask = np.isin(np.arange(9), [*allowed, 0])  # 0 is taken: a mask cannot make it legal
            chosen = planner.predict(observation, action_masks=mask)[0]
            assert chosen in allowed and q[chosen] == max(q[allowed])
        observation, _ = env.reset(options={"position": position})
        assert planner.predict(observation)[0] == planner.act(position, 7) == 2  # the lowest where nothing is known
        with pytest.raises(ValueError, match="no action"):
            planner.predict(observation, action_masks=np.isin(np.arange(9), [0]))
        with pytest.raises(ValueError, match="9 elements"):
            planner.predict(observation, action_masks=np.ones(7))


def test_it_plays_as_any_policy_does(planner: ValueIteration) -> None:
    check_policy(planner)
    assert str(planner) == "ValueIteration"
    _, info = gym.make("TicTacToe-v0", opponent=planner, play_as="second").reset(seed=0)
    assert info["opponent_action"] == planner.policy[0]
    with pytest.raises(ValueError, match="ConnectFour-v0"):
        planner.act(Position.start("ConnectFour-v0"), 0)
    with pytest.raises(ValueError, match="over"):
        planner.act(Position.from_moves("TicTacToe-v0", "14253"), 0)
    with pytest.raises(ValueError, match="TicTacToe-v0"):
        ValueIteration(gridworld_4x4()).act(Position.start("TicTacToe-v0"), 0)


def test_states_are_observations_of_toy_text() -> None:
    agent = ValueIteration("FrozenLake-v1", gamma=0.9).learn()
    for observation in (3, np.int64(3), np.array(3)):
        assert agent.predict(observation) == (agent.policy[3], None)
    assert agent.predict(3, action_masks=[0, 1, 0, 0])[0] == 1
    for wrong in (16, -1, 1.0, True, None, "3", [3, 4]):
        with pytest.raises(ValueError, match=r"\[0, 16\)"):
            agent.predict(wrong)
    with pytest.raises(ValueError, match="no action"):
        agent.predict(3, action_masks=[0, 0, 0, 0])
    with pytest.raises(ValueError, match="no action"):
        ValueIteration({0: {}}).predict(0)


def test_the_preset_of_s1_has_the_published_settings() -> None:
    agent = ValueIteration.preset("S1")
    on = agent.model.available.any(axis=1)
    assert set(agent.values[on]) == {0.5} and set(agent.values[~on]) == {0}
    assert set(agent.model.reward[agent.model.terminated]) == {1, 0.5, 0}
    agent.learn(progress_bar=False)
    truth, opponent = Oracle(TIC_TAC_TOE), as_policy("random", TIC_TAC_TOE)
    for seat in (0, 1):  # half the difference of wins and losses, more than a half
        earned = truth.best_reply(truth.uniform, "OX"[seat])
        assert start_value(agent, opponent, seat) == pytest.approx((1 + earned) / 2, abs=1e-9)
    assert ValueIteration.preset("S1", board("minimax"), gamma=0.5).settings.gamma == 0.5
    with pytest.raises(ValueError, match="S1"):
        ValueIteration.preset("S2")


@pytest.mark.parametrize(
    ("setting", "value"),
    [("gamma", 1.1), ("gamma", -0.1), ("gamma", "1"), ("gamma", np.nan), ("tolerance", -1.0), ("in_place", 1)],
    ids=str,
)
def test_settings_out_of_range_are_refused(setting: str, value: Any) -> None:
    for make in (*AGENTS, policy_evaluation):
        with pytest.raises(ValueError, match=setting):
            make(gridworld_4x4(), **{setting: value})  # type: ignore[operator]


# Runs that are stopped, and files


@both_agents
@pytest.mark.parametrize("how", ["Ctrl-C", "callback", "file"])
def test_a_run_that_was_stopped_goes_on_to_the_same_end(
    cls: type[DynamicProgramming], how: str, tmp_path: Path
) -> None:
    seen: list[int] = []

    def stop(agent: DynamicProgramming) -> bool:
        seen.append(agent.sweeps)
        assert (agent.policy == greedy_policy(agent.model, agent.values, agent.settings.gamma)).all()
        if how == "Ctrl-C" and agent.sweeps == 40:
            signal.raise_signal(signal.SIGINT)
        return how == "Ctrl-C" or agent.sweeps < 40

    unbroken = cls("FrozenLake-v1", gamma=0.9).learn(progress_bar=False)
    before = signal.getsignal(signal.SIGINT)
    agent = cls("FrozenLake-v1", gamma=0.9).learn(callback=stop)
    assert signal.getsignal(signal.SIGINT) is before
    assert agent.sweeps == 40 and seen == list(range(1, 41))
    if how == "file":
        agent.save(tmp_path / "half.npz")
        agent = cls.load(tmp_path / "half.npz")
    agent.learn(progress_bar=False)
    for name in ("values", "q", "policy"):
        assert getattr(agent, name).tobytes() == getattr(unbroken, name).tobytes()
    assert (agent.sweeps, agent.improvements) == (unbroken.sweeps, unbroken.improvements)


SOURCES: dict[str, Callable[[], Any]] = {
    "lake": lambda: gym.make("FrozenLake-v1"),
    "tic-tac-toe": lambda: board("rule"),
    "2x3": lambda: make_env(KInARow.make(2, 3, 2, True)),
}


@both_agents
@pytest.mark.parametrize("source", SOURCES)
def test_what_is_saved_is_loaded(cls: type[DynamicProgramming], source: str, tmp_path: Path) -> None:
    agent = cls(SOURCES[source](), gamma=0.9, tolerance=1e-11, in_place=True).learn(progress_bar=False)
    agent.save(tmp_path / "agent.npz")
    for env in (None, SOURCES[source]()):
        loaded = cls.load(tmp_path / "agent.npz", env)
        assert loaded.settings == agent.settings
        assert (loaded.sweeps, loaded.improvements) == (agent.sweeps, agent.improvements)
        for name in ("values", "q", "policy"):
            assert getattr(loaded, name).tobytes() == getattr(agent, name).tobytes()
        assert loaded.model.equals(agent.model)
        loaded.learn(progress_bar=False)
        np.testing.assert_allclose(loaded.values, agent.values, atol=1e-10)


def test_an_environment_that_differs_is_refused(planner: ValueIteration, tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    planner.save(path)
    others: list[Any] = [
        "ConnectFour-v0",
        "FrozenLake-v1",
        board(Lowest(), play_as="second"),
        board("minimax-first", play_as="first"),
        board(Lowest(), play_as="first", rewards=(1, 0.5, 0)),
    ]
    for other in others:
        with pytest.raises(ValueError, match=r"agent\.npz"):
            ValueIteration.load(path, other)
    with pytest.raises(ValueError, match="PolicyIteration"):
        PolicyIteration.load(path)
    with pytest.raises(FileNotFoundError):
        ValueIteration.load(tmp_path / "nothing.npz")


TAMPERED: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "another game": lambda meta, arrays: meta.update(game="ConnectFour-v0"),
    "unknown game": lambda meta, arrays: meta.update(game="Chess-v0"),
    "no game": lambda meta, arrays: meta.pop("game"),
    "no settings": lambda meta, arrays: meta.pop("settings"),
    "unknown setting": lambda meta, arrays: meta["settings"].update(colour="red"),
    "impossible setting": lambda meta, arrays: meta["settings"].update(gamma=7),
    "settings no dict": lambda meta, arrays: meta.update(settings=[1, 2]),
    "negative count": lambda meta, arrays: meta.update(sweeps=-5),
    "no count": lambda meta, arrays: meta.pop("improvements"),
    "no values": lambda meta, arrays: arrays.pop("values"),
    "fewer values": lambda meta, arrays: arrays.update(values=arrays["values"][1:]),
    "nan": lambda meta, arrays: arrays["values"].__setitem__(0, np.nan),
    "words": lambda meta, arrays: arrays.update(values=arrays["values"].astype(str)),
    "no policy": lambda meta, arrays: arrays.pop("evaluated_policy"),
    "an impossible policy": lambda meta, arrays: arrays["evaluated_policy"].__setitem__(0, 99),
    "a policy of floats": lambda meta, arrays: arrays.update(evaluated_policy=arrays["evaluated_policy"] + 0.5),
    "no probabilities": lambda meta, arrays: arrays.pop("prob"),
    "wrong probabilities": lambda meta, arrays: arrays["prob"].__setitem__(0, 0.5),
    "fewer probabilities": lambda meta, arrays: arrays.update(prob=arrays["prob"][1:]),
    "states out of range": lambda meta, arrays: arrays["next_state"].__setitem__(0, 10**6),
    "floats for states": lambda meta, arrays: arrays.update(next_state=arrays["next_state"] + 0.5),
    "pairs in disorder": lambda meta, arrays: arrays.update(state_action=arrays["state_action"][::-1].copy()),
    "pairs out of range": lambda meta, arrays: arrays["state_action"].__setitem__(-1, 10**6),
    "more states": lambda meta, arrays: arrays.update(shape=arrays["shape"] + [1, 0]),
    "fewer actions": lambda meta, arrays: arrays.update(shape=arrays["shape"] - [0, 1]),
    "a shape of 72 TiB": lambda meta, arrays: arrays["shape"].__setitem__(0, 2**43 // 9 * 9),
    "a shape of nothing": lambda meta, arrays: arrays["shape"].__setitem__(1, 0),
    "a way back": lambda meta, arrays: arrays["next_state"].__setitem__(slice(None), 0),
    "a huge reward": lambda meta, arrays: arrays["reward"].__setitem__(0, 1e308),
    "a huge value": lambda meta, arrays: arrays["values"].__setitem__(0, -1e308),
    "no shape": lambda meta, arrays: arrays.pop("shape"),
    "half a shape": lambda meta, arrays: arrays.update(shape=arrays["shape"][:1]),
    "infinite reward": lambda meta, arrays: arrays["reward"].__setitem__(0, np.inf),
    "no positions": lambda meta, arrays: arrays.pop("positions"),
    "flat positions": lambda meta, arrays: arrays.update(positions=arrays["positions"].ravel()),
    "positions in another order": lambda meta, arrays: arrays.update(positions=arrays["positions"][::-1].copy()),
    "one position twice": lambda meta, arrays: arrays["positions"].__setitem__(1, arrays["positions"][0]),
    "negative positions": lambda meta, arrays: arrays["positions"].__setitem__(0, (-1, -1)),
    "stones off the board": lambda meta, arrays: arrays["positions"].__setitem__(0, (2**40, 0)),
}


def test_a_file_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    PolicyIteration(board("minimax-first", play_as="second")).learn(progress_bar=False).save(path)
    for change, tamper in TAMPERED.items():
        header, arrays = read(path)
        tamper(header["meta"], arrays)
        write(tmp_path / "tampered.npz", header, arrays)
        with pytest.raises(ValueError, match=r"tampered\.npz"):
            print(f"{change} was accepted: {PolicyIteration.load(tmp_path / 'tampered.npz')}")


@pytest.mark.parametrize("shape", [(10**13, 4), (16, 10**13), (17, 4), (-16, -4)])
def test_no_larger_model_is_made_than_the_file_holds(shape: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    ValueIteration(gridworld_4x4()).save(path)
    header, arrays = read(path)
    write(path, header, arrays | {"shape": np.array(shape)})
    with pytest.raises(ValueError, match=r"agent\.npz.* its shape is"):
        ValueIteration.load(path)


def test_frozen_lake_has_its_known_value() -> None:
    """What a slippery lake without a discount is worth: 14/17 on the small one, and the large one can be crossed."""
    assert ValueIteration("FrozenLake-v1").learn().values[0] == pytest.approx(14 / 17, abs=1e-8)
    assert ValueIteration("FrozenLake8x8-v1").learn().values[0] == pytest.approx(1, abs=1e-8)


def test_the_best_reply_to_a_mixture_is_unbeatable_and_wins_what_can_be_won() -> None:
    """Worked example 13, for e = 0.5."""
    judged = verdict(ValueIteration(board(Mixture(["random", "minimax"]))).learn(progress_bar=False))
    assert judged.unbeatable
    assert judged.as_first.against_random.wins == pytest.approx(0.99479, abs=5e-6)
    assert judged.as_second.against_random.wins == pytest.approx(0.91640, abs=5e-6)
