"""The language model earns what a session pays, learns the same from the same seed, and is judged exactly."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

torch = pytest.importorskip("torch", "2.9")  # it has Muon since then

from benchmarks.models import transformer  # noqa: E402
from benchmarks.text_learning import exploitability as exploitability_of  # noqa: E402
from examples import language_model as example  # noqa: E402
from tictac_apps.language_models import TextPolicy, TextSession  # noqa: E402
from tictac_env.arena import move_accuracy, suite, verdict  # noqa: E402
from tictac_env.storage import save_arrays  # noqa: E402


@pytest.mark.parametrize("reward", example.REWARDS)
def test_answers_earn_what_a_session_pays(reward: str) -> None:
    sessions = example.Sessions(reward)
    other = TextSession("TicTacToe-v0", None, reward=reward, harness=example.ShortHarness(), retries=0)
    numbers, answers = np.repeat([5, 700, 4000], 13), np.tile(np.arange(13), 3)
    sessions.judge(numbers, answers)
    for number, answer in zip(numbers.tolist(), answers.tolist(), strict=True):
        other.reset(position=suite("TTT-Exact-v1").positions[number])
        turn = other.answer(example.VOCABULARY[answer])
        ended = turn.outcomes is not None
        earned = {"regret": 1 + turn.reward / 2, "outcome": ended * (1 + turn.reward) / 2}
        earned["both"] = (2 + turn.reward + ended) / 4
        assert sessions.rewards[number, answer] == (earned[reward] if turn.status == "legal" else 0)
        following = sessions.following[number, answer]
        assert following == example.OVER if turn.done else example.encode(turn.prompt) == [*sessions.tokens[following]]
        assert turn.status == "legal" or turn.done


def test_games_are_played_to_their_end_and_pay_both_sides() -> None:
    torch.manual_seed(0)
    sessions, model = example.Sessions("outcome"), example.LanguageModel()
    numbers, answers, rewards = example.play(model, sessions, 1, np.random.default_rng(0))
    ended = sessions.following[numbers, answers] == example.OVER
    assert ended.sum() == example.BATCH
    assert (rewards[ended] == (1 + sessions.outcomes[numbers, answers][ended]) / 2).all()
    assert set(rewards[~ended].tolist()) <= {0, 0.5, 1} and (rewards[~ended] > 0).any()


def test_a_run_in_small_is_repeated_by_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    (one, run), (other, again) = (list(example.learn("regret", 0, games=512, group=2))[-1] for _ in range(2))
    monkeypatch.setattr(example, "mistakes", lambda *_: 1)  # of this run only the weights are looked at
    different, _ = next(example.learn("regret", 1, games=1, group=1))
    assert all(torch.equal(weights, other.state_dict()[name]) for name, weights in one.state_dict().items())
    assert run.curve == again.curve and run.games == 512 and run.answers > 1024
    assert not torch.equal(one.head.weight, different.head.weight)


@pytest.mark.parametrize(("reward", "games", "group"), [("outcome", 512, 2), ("regret", 0, 2), ("both", 512, -1)])
def test_impossible_runs_are_refused(reward: str, games: int, group: int) -> None:
    with pytest.raises(ValueError, match=reward):
        next(example.learn(reward, 0, games, group))


def test_answers_that_earn_more_than_expected_become_likelier() -> None:
    torch.manual_seed(0)
    sessions, model, rng = example.Sessions("outcome"), example.LanguageModel(), np.random.default_rng(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    best = np.where(sessions.tokens[:, 9] == example.VOCABULARY.index("X"), 4, 12)
    numbers = np.repeat(np.arange(0, 4520, 71), 8)
    for _ in range(40):
        answers = (model.chances(sessions.tokens[numbers]) + rng.gumbel(size=(len(numbers), 13))).argmax(1)
        optimizer.zero_grad()
        example.loss_of(model, sessions, numbers, answers, (answers == best[numbers]).astype(float)).backward()
        optimizer.step()
    assert 0.3 < (best[::71] == 4).mean() < 0.7
    assert (model.chances(sessions.tokens[::71]).argmax(1) == best[::71]).mean() > 0.9


class Lowest(example.LanguageModel):
    """Always names the first empty cell."""

    def chances(self, tokens: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        first = (tokens == example.VOCABULARY.index(".")).argmax(1)
        return np.eye(len(example.VOCABULARY))[4 + first]


def test_exploitability_and_mistakes_are_those_of_the_arena() -> None:
    legal = suite("TTT-Exact-v1").positions.action_masks()
    assert exploitability_of(legal / legal.sum(1, keepdims=True)) == pytest.approx(verdict("random").exploitability)
    assert exploitability_of(np.zeros(legal.shape)) == 1  # each answer is illegal, and loses
    model, exam = Lowest(), example.Sessions("regret")
    player = TextPolicy(model.complete, retries=0, harness=example.ShortHarness())
    accuracy = move_accuracy(player, "TTT-Exact-v1").overall
    assert example.mistakes(model, exam) == round(accuracy.mistakes.value * 4520) > 0
    assert exploitability_of(model.chances(exam.tokens)[:, 4:]) == verdict(player).exploitability > 0


def test_a_transcript_shows_prompts_answers_and_rewards() -> None:
    lines = example.transcript(Lowest(), "regret").splitlines()
    assert lines[0].split() == [".........X:1", "legal,", "reward", "1"]
    assert [line[11] for line in lines] == list("1234567")  # 7 wins for X


def test_the_command_writes_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    weights = tmp_path / "model.npz"
    words = ["x", "--reward", "outcome", "--seed", "3", "--games", "256", "--output", str(path), "--save", str(weights)]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit, match="mistakes"):  # one update is too little
        example.main()
    run = json.loads(path.read_text())
    assert (run["reward"], run["group"], run["seed"], run["games"]) == ("outcome", 1, 3, 256)
    assert run["curve"] == [[256, run["mistakes"]]] and run["mistakes"] > 0
    assert example.mistakes(example.load_weights(weights), example.Sessions("regret")) == run["mistakes"]


def test_saved_weights_are_judged_without_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(0)
    model, path = example.LanguageModel(), tmp_path / "model.npz"
    example.save_weights(path, model)
    loaded = example.load_weights(path).state_dict()
    assert all(torch.equal(weights, loaded[name]) for name, weights in model.state_dict().items())
    monkeypatch.setattr(example, "load_weights", lambda given: Lowest() if given == path else None)
    monkeypatch.setattr(sys, "argv", ["x", "--load", str(path)])
    example.main()
    assert str(verdict(example.judged(Lowest()), "TicTacToe-v0")) in capsys.readouterr().out


def test_weights_of_another_model_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.npz"
    save_arrays(path, example.KIND, {}, {"head.bias": np.zeros(3)})
    with pytest.raises(ValueError, match=r"model.npz.*head.bias"):
        example.load_weights(path)
    path.write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"model.npz.*language model"):
        example.load_weights(path)
    with pytest.raises(FileNotFoundError):
        example.load_weights(tmp_path / "none.npz")


def test_the_board_of_models_trains_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = [example.LanguageModel()]
    run = example.Run("regret", 1, 0, 0)
    monkeypatch.setattr(example, "learn", lambda *_: iter([(trained.pop(), run)]))
    for _ in range(2):
        player = transformer(tmp_path)
        assert (player.name, player.retries) == ("language model", 0)
    prompt = ".........X:"
    assert player.complete(prompt) == example.load_weights(tmp_path / "language-model.npz").complete(prompt)


@pytest.mark.slow
def test_it_is_proven_without_a_mistake() -> None:
    model, run = list(example.learn("regret", 0, example.GAMES))[-1]
    player = TextPolicy(model.complete, retries=0, harness=example.ShortHarness())
    assert run.mistakes == 0 and verdict(player).exploitability == 0
