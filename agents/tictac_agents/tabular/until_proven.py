"""Training until the exact verdict says that there is nothing left to exploit."""

from __future__ import annotations

from math import gcd

from tictac_agents.tabular.learner import Callback, Learner
from tictac_env.arena import Verdict, verdict
from tictac_env.checks import positive, whole


class UntilProven:
    """A callback of `learn` that asks for the exact verdict now and then, and ends the run once it is infallible.

    Args:
        every: how many episodes lie between two verdicts.
        start_afresh: after how many episodes without success the learner forgets everything, a multiple of `every`;
            0 for never.
        callback: another callback to call before each verdict, as `learn` would.

    Attributes:
        proven: whether the last verdict was infallible from both seats.
        verdict: the last one.
        judged_at: the learner's number of episodes at that verdict; -1 before the first.

    Raises:
        ValueError: a number is not a whole one, `every` is 0, or `start_afresh` no multiple of it.

    Example:
        >>> from tictac_agents import QLearning, UntilProven
        >>> agent = QLearning.preset("self-play", seed=0)
        >>> proof = UntilProven(every=500)
        >>> _ = agent.learn(total_episodes=9_000, callback=proof)
        >>> proof.proven, agent.num_episodes
        (True, 3500)
    """

    def __init__(self, every: int = 1_000, start_afresh: int = 0, callback: Callback | None = None) -> None:
        self.every = positive("every", every)
        self.start_afresh = whole("start_afresh", start_afresh)
        if self.start_afresh % self.every:
            raise ValueError(f"start_afresh must be a multiple of every={self.every}, not {self.start_afresh}")
        self._callback = callback
        others = 0 if callback is None else getattr(callback, "called_every", 1)
        self.called_every = gcd(self.every, others)  # which lets the learner play several games between two calls
        self.proven = False
        self.verdict: Verdict | None = None
        self.judged_at = -1

    def __call__(self, learner: Learner) -> bool:
        """False, which ends the run, once the learner is proven infallible, or if the other callback says so."""
        goes_on = self._callback is None or self._callback(learner) is not False
        if learner.num_episodes % self.every:
            return goes_on
        self.verdict = verdict(learner, learner.game)
        self.judged_at = learner.num_episodes
        self.proven = self.verdict.infallible
        learner.status = f"exploitability {self.verdict.exploitability:.4f}"
        if not self.proven and self.start_afresh and learner.num_episodes % self.start_afresh == 0:
            learner.forget()
        return goes_on and not self.proven
