"""The single file of PPO learns, the same from the same seed, and its advantages are those of two sides."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from examples.cleanrl_ppo import Agent, Args, Greedy, generalised_advantages, learn, train  # noqa: E402
from tictac_env import verdict  # noqa: E402

TINY = {"num_envs": 128, "num_steps": 8, "minibatch": 256, "threads": 1}


def test_a_run_in_small_is_repeated_by_its_seed_and_plays_legal_moves(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (train(Args(total_plies=3_000, **TINY)) for _ in range(2))
    assert all(torch.equal(weights, other.state_dict()[name]) for name, weights in one.state_dict().items())
    assert verdict(Greedy(one)).as_first.lines.games > 0  # which raises IllegalMove if a move is illegal
    assert "plies" in capsys.readouterr().out


def test_gradient_steps_make_good_actions_likelier_and_leave_illegal_ones_out() -> None:
    torch.manual_seed(0)
    agent = Agent(cells=18, actions=9, hidden=32)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-2)
    boards, masks = torch.randint(2, (256, 2, 3, 3), dtype=torch.int8), torch.ones((256, 9), dtype=torch.int8)
    masks[:, 8] = 0
    chosen = torch.arange(256) % 8
    good = (chosen == 3).float()
    old = agent(boards, masks)[0].gather(1, chosen[:, None])[:, 0].detach()
    for _ in range(30):
        learn(agent, optimizer, [boards, masks, chosen, old, 2 * good - 1, good], Args())
    chances = agent(boards, masks)[0].exp()
    assert (chances.argmax(dim=1) == 3).all() and not chances[:, 8].any()


@pytest.mark.slow
def test_three_million_plies_make_it_unbeatable() -> None:
    found = verdict(Greedy(train(Args(total_plies=3_000_000, threads=1))))
    assert found.as_first.unbeatable and found.as_second.unbeatable


def test_advantages_are_returns_less_values_with_lambda_1_and_errors_of_one_step_with_lambda_0() -> None:
    """Three steps of one board: a game that continues, then one that its mover wins, then one cut off."""
    rewards, values = torch.tensor([[0.0], [1.0], [0.0]]), torch.tensor([[0.3], [0.2], [-0.4]])
    last, ended = torch.tensor([0.5]), torch.tensor([[False], [True], [False]])
    found = generalised_advantages(rewards, values, ended, last, 1.0)
    assert found[:, 0].tolist() == pytest.approx([-1.0 - 0.3, 1.0 - 0.2, -0.5 + 0.4])
    found = generalised_advantages(torch.zeros(3, 1), values, torch.zeros(3, 1, dtype=torch.bool), last, 0.0)
    assert found[:, 0].tolist() == pytest.approx([-0.2 - 0.3, 0.4 - 0.2, -0.5 + 0.4])
