"""AlphaZero: its games, what it has learned by the exact verdict, and runs that are stopped, resumed and shared."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import ALL_GAMES, HEX, breadth, playout, title

from tictac_agents import MCTS, AlphaZero, Judge, LearningCurve
from tictac_agents.alphazero import alphazero
from tictac_agents.alphazero.forest import SearchSettings, search_forest
from tictac_agents.alphazero.samples import PlaySettings, Samples, sample_games
from tictac_env.arena import exact_results, move_accuracy, verdict
from tictac_env.games import GAMES, Game, KInARow
from tictac_env.jobs import Cluster
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.storage import load_arrays, save_arrays

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
FEW: dict[str, Any] = {"tuples": 8, "length": 4, "simulations": 4, "boards": 16}
NETWORKS = ["tuples", pytest.param("residual", marks=pytest.mark.slow)]
PLAY = PlaySettings(simulations=6, openings=4, temperature_plies=0, full=1.0, quick=2, mix=0.0)


def learner(game: str | Game = TTT, **settings: Any) -> AlphaZero:
    return AlphaZero(game, **{**FEW, "seed": 1, **settings})


def weights(agent: AlphaZero) -> bytes:
    return b"".join(array.tobytes() for array in agent.network_.arrays().values())


@pytest.mark.parametrize("settings", [{}, {"root": "puct", "temperature_plies": 4}, {"tactics": False}], ids=str)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
@pytest.mark.parametrize("network", NETWORKS)
def test_tic_tac_toe_is_proven_alone_and_searching(network: str, seed: int, settings: dict[str, Any]) -> None:
    agent = AlphaZero(TTT, network=network, tuples=12, length=6, simulations=16, boards=128, seed=seed, **settings)
    judged: list[bool] = []

    def proven(learning: AlphaZero) -> bool:
        if learning.iterations % 8 == 0:
            judged.append(all(verdict(learning.playing_with(sims), TTT).unbeatable for sims in (0, 16)))
        return not (judged and judged[-1])

    agent.learn(40_000, proven, progress_bar=False)
    assert judged[-1] and agent.num_games < 40_000


def test_connect_four_is_learned() -> None:
    agent = AlphaZero(C4, tuples=40, length=6, simulations=16, boards=128, seed=0)

    def mistakes(simulations: int) -> float:
        return move_accuracy(agent.playing_with(simulations), "C4-Choose-v1", progress=False).overall.mistakes.value

    alone, searching = mistakes(0), mistakes(16)
    agent.learn(640, progress_bar=False)
    assert alone > 0.4 and searching > 0.35
    assert mistakes(0) < 0.31 and mistakes(16) < 0.25


@pytest.mark.slow
def test_five_rows_of_four_keep_their_draw_against_perfect_play() -> None:
    soft = {"openings": 12, "simulations": 64, "scale": 0.2, "temperature_plies": 16}  # tries all moves that draw
    agent = AlphaZero("KInARow-v0:5x4-4", tuples=80, length=8, **soft, seed=0)

    def loses(learning: AlphaZero) -> bool:
        if learning.iterations % 8:
            return True
        found = exact_results(learning, "perfect", progress=False)
        return any(seat.shares.losses for seat in (found.as_first, found.as_second))

    assert agent.learn(40_000, loses, progress_bar=False).num_games < 40_000


@pytest.mark.parametrize("game", breadth([GAMES[TTT]], [one for one in ALL_GAMES if one.cells > 1]), ids=title)
def test_it_plays_legally_on_every_game(game: Game) -> None:
    if type(game) is not KInARow:
        pytest.importorskip("torch")  # for its residual network
    settings: dict[str, Any] = {"tuples": 1, "length": 2, "blocks": 1, "channels": 4, "simulations": 3, "boards": 3}
    agent = AlphaZero(game, seed=0, **settings).learn(6, progress_bar=False)
    position = Position.start(game)
    while not position.is_over:
        action = agent.act(position, 0)
        assert action in position.legal_actions and agent.playing_with(0).act(position, 0) in position.legal_actions
        position = position.play(action)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("changes", [{}, {"full": 0.0}, {"openings": 0, "mix": 0.5}, {"temperature_plies": 5}], ids=str)
def test_samples_are_positions_of_games_with_their_results(name: str, changes: dict[str, Any]) -> None:
    game, settings = GAMES[name], replace(PLAY, **changes)
    network = learner(game).network_
    found = sample_games(game, network, settings, 24, 5)
    batch = PositionBatch(game, found.own, found.opp)
    legal, plies = batch.action_masks() != 0, np.array([(o | p).bit_count() for o, p in zip(*found[:2], strict=True)])
    assert legal.any(axis=1).all() and not found.policies[~legal].any()
    totals = found.policies.sum(axis=1)
    assert (np.isclose(totals, 1, atol=1e-5) | (totals == 0)).all()
    assert (totals > 0).all() == (settings.full > 0)
    assert (np.abs(found.results) <= 1).all()
    if not settings.mix:
        assert set(found.results.tolist()) <= {-1, 0, 1}
    assert (plies == 0).sum() == 24 if not settings.openings else 0 < (plies == 0).sum() < 24
    # a win at once is taken, so its position has the result of a win
    wins = np.array([bool(game.winning_choices(o, p, game.seat(o, p))) for o, p in zip(*found[:2], strict=True)])
    assert wins.any() and (found.results[wins] == 1).all()
    again = sample_games(game, network, settings, 24, 5)
    assert all(np.array_equal(one, same) for one, same in zip(found, again, strict=True))


@pytest.mark.parametrize("network", NETWORKS)
def test_a_run_that_was_stopped_ends_as_an_unbroken_one(network: str, tmp_path: Path) -> None:
    settings = {"network": network, "window": 2, "full": 0.5, "mix": 0.2, "channels": 8}
    whole, stopped = learner(**settings).learn(100), learner(**settings)
    stopped.learn(100, lambda agent: agent.iterations < 3, checkpoint=tmp_path / "az.npz")
    assert stopped.num_games == 48
    resumed = AlphaZero.load(tmp_path / "az.npz").resume()
    assert resumed.num_games == whole.num_games == 100 and weights(resumed) == weights(whole) != weights(stopped)
    assert resumed.settings == whole.settings and resumed.num_plies == whole.num_plies


def test_a_loaded_agent_plays_as_the_saved_one_if_its_seed_was_drawn(tmp_path: Path) -> None:
    agent = learner(seed=None).learn(64, progress_bar=False)
    agent.save(tmp_path / "az.npz")
    batch = PositionBatch.of(playout(GAMES[TTT])[:-1])
    saved, loaded = (one.evaluate(batch) for one in (agent, AlphaZero.load(tmp_path / "az.npz")))
    assert np.array_equal(saved.values, loaded.values) and np.array_equal(saved.priors, loaded.priors)


def test_games_that_end_within_their_openings_teach_nothing_and_do_no_harm(tmp_path: Path) -> None:
    agent = learner(boards=1, openings=9).learn(40, progress_bar=False, checkpoint=tmp_path / "az.npz")
    assert agent.num_games == 40 and 0 < agent.iterations < 40
    assert weights(AlphaZero.load(tmp_path / "az.npz")) == weights(agent)


def constant(games: list[int]) -> Callable[..., Samples]:
    """In the place of `sample_games`: ten times the empty board, in the first iteration with the result 0, in the
    second with 0.125, and so on; the numbers of games are added to `games`.
    """

    def play(game: Game, network: object, settings: object, number: int, seed: int) -> Samples:
        result = len(games) / 8
        games.append(number)
        none, policies = np.zeros(10, np.int64), np.full((10, game.num_actions), 1 / 9, np.float32)
        return Samples(none, none, policies, np.full(10, result, np.float32))

    return play


def test_it_learns_from_the_last_window_of_iterations_with_a_falling_step(monkeypatch: pytest.MonkeyPatch) -> None:
    games, lessons = list[int](), list[tuple[int, set[float], float]]()
    monkeypatch.setattr(alphazero, "sample_games", constant(games))
    agent = learner(boards=16, window=2, passes=3.0, step=0.5, final_step=0.25)

    def learn(batch: PositionBatch, policies: Any, results: Any, decay: float, rng: object) -> None:
        lessons.append((len(batch), set(results.tolist()), decay))

    agent.network_.learn = learn  # type: ignore[method-assign]
    agent.learn(70, progress_bar=False)
    assert games == [16, 16, 16, 16, 6] and (agent.num_games, agent.num_plies, agent.iterations) == (70, 50, 5)
    assert [size for size, _, _ in lessons] == [30] * 5
    assert [results for _, results, _ in lessons] == [{0.0}, *({i / 8, (i + 1) / 8} for i in range(4))]
    assert [decay for _, _, decay in lessons] == pytest.approx([0.25 ** (16 * i / 70) for i in range(5)])
    assert agent.step_now == pytest.approx(0.125)
    agent.learn(20, progress_bar=False)  # a run of its own: the step begins large again
    assert [decay for _, _, decay in lessons[5:]] == pytest.approx([1, 0.25**0.8])


@pytest.mark.parametrize(
    ("settings", "plies"),
    [
        ({"root": "gumbel"}, 0),
        ({"root": "gumbel", "temperature_plies": 7}, 7),
        ({"root": "puct"}, 10),
        ({"root": "puct", "temperature_plies": 0}, 0),
    ],
)
def test_games_are_played_with_its_settings(
    settings: dict[str, Any], plies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = list[PlaySettings]()

    def play(game: Game, network: object, how: PlaySettings, games: int, seed: int) -> Samples:
        used.append(how)
        return constant([])(game, network, how, games, seed)

    monkeypatch.setattr(alphazero, "sample_games", play)
    of_search = {"considered": 3, "scale": 0.7, "exploration": 1.5, "noise": 0.125, "tactics": False}
    agent = learner(
        simulations=5, play_simulations=9, openings=2, full=0.75, quick=3, mix=0.25, **of_search, **settings
    )
    agent.learn(1, progress_bar=False)
    assert used == [agent.settings] and used[0].drawn_plies == plies


def test_a_position_has_the_chances_of_the_search_or_of_the_network_alone() -> None:
    agent = learner(play_simulations=8)
    agent.network_.logits[:] = np.random.default_rng(0).integers(-(1 << 20), 1 << 20, agent.network_.logits.size)  # type: ignore[union-attr]
    position = Position.from_moves(TTT, "159")
    batch = PositionBatch.of([position])
    priors = agent.evaluate(batch).priors
    found = search_forest(batch, agent.network_, SearchSettings(), 8, None)
    assert priors is not None and found.policies[0].tolist() != pytest.approx(priors[0].tolist())
    for one, policy, action in ((agent.playing_with(0), priors[0], priors[0].argmax()), (agent, *found[1::-1])):
        chances = one.chances(position)
        assert list(chances) == list(position.legal_actions) and sum(chances.values()) == pytest.approx(1)
        assert list(chances.values()) == pytest.approx(np.ravel(policy)[list(position.legal_actions)].tolist())
        assert one.act(position, 0) == one.act_many(batch, np.zeros(1, np.int64))[0] == int(np.ravel(action)[0])


def test_its_budget_says_how_it_searches() -> None:
    budgets = {
        learner(): "32 simulations a move; one-move rule",
        learner(tactics=False, play_simulations=5): "5 simulations a move",
        learner().playing_with(0): "no search; one-move rule",
        learner(tactics=False).playing_with(4_096): "4096 simulations a move",
    }
    assert {agent: agent.budget for agent in budgets} == budgets
    with pytest.raises(ValueError, match="simulations"):
        learner().playing_with(4_097)


def test_what_it_does_without_settings() -> None:
    agent = AlphaZero(C4, seed=0)
    assert agent.settings.to_dict() == {
        "network": None,
        "tuples": 70,
        "length": 7,
        "blocks": 2,
        "channels": 32,
        "symmetric": True,
        "simulations": 32,
        "root": "gumbel",
        "considered": 16,
        "scale": 0.5,
        "exploration": 1.25,
        "noise": 0.25,
        "temperature_plies": None,
        "openings": 6,
        "tactics": True,
        "full": 1.0,
        "quick": 8,
        "mix": 0.5,
        "boards": 256,
        "window": 20,
        "passes": 2.0,
        "step": None,
        "final_step": 0.3,
        "play_simulations": 32,
        "seed": 0,
    }


def test_the_step_is_that_asked_for_or_the_usual_one_of_the_network() -> None:
    assert learner().network_.step == 0.1 and learner(step=0.75).network_.step == 0.75


def test_a_network_of_another_process_plays_by_the_weights_that_it_is_sent() -> None:
    game, theirs, ours = GAMES[TTT], learner().network_, learner().network_
    rng = np.random.default_rng(0)
    ours.read(
        {name: rng.integers(-(1 << 20), 1 << 20, array.size, array.dtype) for name, array in ours.arrays().items()}
    )
    here = sample_games(game, ours, PLAY, 5, 9)
    there = alphazero.played_elsewhere(game, theirs, PLAY, (ours.arrays(), 5, 9))
    assert all(np.array_equal(one, other) for one, other in zip(here, there, strict=True))
    assert not np.array_equal(here.policies, sample_games(game, learner().network_, PLAY, 5, 9).policies)


def test_a_cluster_plays_the_same_games_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its machines are left out: each job is done here when its turn comes."""
    monkeypatch.setattr(alphazero, "joined", nullcontext)
    monkeypatch.setattr(alphazero, "map_jobs", lambda work, jobs, workers, batch: ((job, work(job)) for job in jobs))
    alone, together = (learner(workers=workers).learn(40, progress_bar=False) for workers in (1, Cluster(workers=2)))
    assert weights(together) == weights(alone) and together.num_games == 40
    assert together.num_plies == alone.num_plies and together.iterations == 3


def test_ctrl_c_in_the_games_ends_the_run_after_those_that_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(game: Game, network: object, settings: object, number: int, seed: int) -> Samples:
        if len(games) == 2:
            raise KeyboardInterrupt
        return constant(games)(game, network, settings, number, seed)

    games = list[int]()
    monkeypatch.setattr(alphazero, "sample_games", play)
    agent = learner().learn(100, progress_bar=False)
    assert (agent.num_games, agent.iterations, games) == (32, 2, [16, 16])


def test_a_file_may_be_as_long_as_the_largest_window_makes_it() -> None:
    agent = learner(boards=3, window=5)
    samples = sample_games(agent.game, agent.network_, PLAY, 3, 0)
    bytes_each = sum(array[0].nbytes for array in samples)
    assert agent._most_growth() == 5 * 3 * 9 * bytes_each


def test_several_threads_play(tmp_path: Path) -> None:
    agent = learner(workers=2).learn(200, progress_bar=False)
    assert agent.num_games == 200 and agent.iterations == 13 and agent.num_plies > 800
    agent.save(tmp_path / "az.npz")
    assert "workers" not in agent.settings.to_dict()
    assert AlphaZero.load(tmp_path / "az.npz", workers=2).settings.workers == 2


@pytest.mark.slow
def test_a_cluster_plays() -> None:
    pytest.importorskip("ray")
    on_ctrl_c = signal.getsignal(signal.SIGINT)
    agent = learner(workers=Cluster(workers=2)).learn(100, progress_bar=False)
    assert agent.num_games == 100 and agent.num_plies > 400
    assert signal.getsignal(signal.SIGINT) is on_ctrl_c


def test_ctrl_c_ends_a_run_of_several_threads_and_nothing_is_lost(tmp_path: Path) -> None:
    agent, path = learner(workers=2), tmp_path / "az.npz"

    def interrupt(learning: AlphaZero) -> None:
        if learning.iterations == 2:
            threading.Timer(0, os.kill, (os.getpid(), signal.SIGINT)).start()

    agent.learn(1_000_000, interrupt, progress_bar=False, checkpoint=path)
    assert 2 <= agent.iterations < 1_000
    found = AlphaZero.load(path, workers=2)
    assert found.num_games == agent.num_games and weights(found) == weights(agent)
    found.resume(lambda learning: learning.iterations < agent.iterations + 2, progress_bar=False)
    assert found.num_games > agent.num_games


def test_its_file_is_an_opponent_and_a_model_and_an_evaluator(tmp_path: Path) -> None:
    agent = AlphaZero(TTT, tuples=12, length=6, simulations=16, boards=128, seed=0).learn(2_000, progress_bar=False)
    agent.save(tmp_path / "az.npz")
    env = gym.make(TTT, opponent=str(tmp_path / "az.npz"))
    observation, info = env.reset(seed=0)
    while True:
        action, _ = agent.predict(observation, action_masks=info["action_mask"])
        observation, reward, terminated, _, info = env.step(action)
        if terminated:
            break
    assert reward == 0  # neither errs
    position = Position.from_moves(TTT, "15")
    assert MCTS(200, evaluator=agent).search(position, 0).value == pytest.approx(0, abs=0.2)
    assert agent.playing_with(0).budget.startswith("no search") and "32" in agent.budget
    mask = [action == 8 for action in range(9)]
    assert agent.predict(PositionBatch.of([position]).observations()[0], action_masks=mask) == (8, None)


@pytest.mark.parametrize("name", breadth([TTT], [C4]))
@pytest.mark.parametrize("tactics", [True, False])
def test_the_compiled_search_is_that_which_asks_in_python(name: str, tactics: bool) -> None:
    agent = learner(name, tactics=tactics).learn(200, progress_bar=False)
    asked = type("Asked", (), {"priors": True, "evaluate": staticmethod(agent.evaluate)})()
    for moves in ("", "5", "152"):
        position = Position.from_moves(name, moves)
        compiled, plain = (MCTS(300, evaluator=one, leaves=1).search(position, 0) for one in (agent, asked))
        assert [(move.visits, move.proven) for move in compiled.moves] == [(m.visits, m.proven) for m in plain.moves]
        assert [move.prior for move in compiled.moves] == pytest.approx([move.prior for move in plain.moves], abs=1e-6)
        assert compiled.value == pytest.approx(plain.value, abs=1e-5)


def test_a_curve_ends_the_run_when_it_is_proven() -> None:
    curve = LearningCurve(every=500, until_proven=True)
    agent = AlphaZero(TTT, tuples=12, length=6, simulations=16, boards=128, seed=0)
    agent.learn(20_000, curve, progress_bar=False)
    last = curve.rows[-1]
    assert curve.proven and last.judgement.unbeatable and agent.num_games < 20_000
    assert [seat.score for seat in last.judgement.against_perfect or ()] == pytest.approx([0.5, 0.5])
    assert last.plies is None or last.plies > 3


def test_a_curve_has_games_against_perfect_play() -> None:
    curve = LearningCurve(every=16, judge=Judge(GAMES[C4], perfect_games=4))
    learner(C4).learn(16, curve, progress_bar=False)
    (row,) = curve.rows
    assert all(0 <= seat.score <= 1 for seat in row.judgement.against_perfect or [None])
    assert row.judgement.mistakes is not None and 0.1 < row.judgement.mistakes < 0.8
    assert row.judgement.exploitability is None and not row.judgement.exact


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"network": "convolutions"}, "network"),
        ({"root": "uct"}, "root"),
        ({"boards": 2.5}, "boards"),
        ({"workers": 0}, "workers"),
        ({"game": HEX, "network": "tuples"}, "KInARow"),
    ],
)
def test_impossible_settings_are_named(settings: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        learner(**settings)


LIMITS: dict[str, tuple[float, float]] = {
    "tuples": (1, 10_000),
    "length": (1, 12),
    "blocks": (1, 64),
    "channels": (1, 1_024),
    **dict.fromkeys(("simulations", "considered", "quick"), (1, 4_096)),
    "play_simulations": (0, 4_096),
    **dict.fromkeys(("noise", "full", "mix"), (0.0, 1.0)),
    **dict.fromkeys(("scale", "passes"), (0.0, 100.0)),
    "exploration": (0.0, 1e6),
    "temperature_plies": (0, 1 << 40),
    "openings": (0, 1 << 16),
    **dict.fromkeys(("boards", "window"), (1, 1 << 16)),
    "step": (1e-9, 2.0),
    "final_step": (1e-6, 1.0),
}


@pytest.mark.parametrize("name", LIMITS)
def test_settings_may_be_as_small_and_as_large_as_their_limits_and_no_further(name: str) -> None:
    least, most = LIMITS[name]
    for edge in (least, most):
        assert getattr(learner(**{name: edge}).settings, name) == edge
    beyond = [least - 1, most + 1] if isinstance(least, int) else [least * 0.999 - 1e-12, most * 1.001]
    for value in beyond[: 1 if name == "temperature_plies" else 2]:
        with pytest.raises(ValueError, match=name):
            learner(**{name: value})


def test_another_game_is_refused() -> None:
    with pytest.raises(ValueError, match="ConnectFour-v0"):
        learner().act(Position.start(C4), 0)


@pytest.mark.parametrize("name", ["values", "window_results", "window_own"])
def test_a_damaged_file_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "az.npz"
    learner().learn(16, checkpoint=path)
    meta, arrays = load_arrays(path, "tictac_agents.AlphaZero")
    sizes = [meta["sizes"][0] - 1, 0, -1, len(arrays["window_own"]) + 1]
    forged = [(meta, arrays | {name: wrong}) for wrong in (arrays[name][:-1], arrays[name].astype(np.float64))]
    for wrong_meta, wrong_arrays in (*forged, *((meta | {"sizes": [size]}, arrays) for size in sizes)):
        save_arrays(path, "tictac_agents.AlphaZero", wrong_meta, wrong_arrays)
        with pytest.raises(ValueError, match="not a usable checkpoint of AlphaZero"):
            AlphaZero.load(path)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *(("window_own", -1), ("window_own", 1 << 40), ("window_opp", -1), ("window_own", 0b111)),
        *((f"window_{name}", number) for name in ("policies", "results") for number in (float("nan"), 1.5, -1.5)),
    ],
)
def test_a_window_that_no_games_made_is_refused(name: str, number: float, tmp_path: Path) -> None:
    path = tmp_path / "az.npz"
    learner().learn(16, checkpoint=path, progress_bar=False)
    meta, arrays = load_arrays(path, "tictac_agents.AlphaZero")
    arrays[name].flat[0] = number
    save_arrays(path, "tictac_agents.AlphaZero", meta, arrays)
    with pytest.raises(ValueError, match=r"az\.npz is not a usable checkpoint of AlphaZero"):
        AlphaZero.load(path)
