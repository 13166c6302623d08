"""SkyRL: a game in text for `skyrl_gym`, registered as "tictac"."""

from __future__ import annotations

from typing import Any

from tictac_apps.language_models.ladder import of_process
from tictac_apps.language_models.session import OPPONENT, TextSession
from tictac_env.checks import SEATS, positive
from tictac_env.games import get_game
from tictac_env.lazy import needing
from tictac_env.storage import JsonObject

with needing("skyrl-gym is missing", package="skyrl-gym>=0.4"):
    import skyrl_gym
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

__all__ = ["BoardGameTextEnv"]

ID = "tictac"
OPTIONS = ("game", "opponent", "seat", "start", "reward", "scaled", "retries", "history", "rules_once")
"""The arguments of `TextSession` that a configuration or a row may set."""


class BoardGameTextEnv(BaseTextEnv):  # type: ignore[misc]  # it has no type annotations
    """A game for each episode; import the module, then `skyrl_gym.make("tictac")`.

    A row of the data set has a seed, and perhaps a move string to begin with, in its `extra_info`. It may set arguments
    of `TextSession`, too; they come before those of the configuration. The last answer earns the score of the game, in
    [0, 1]; with `scaled=False` each answer earns its own reward. After `max_turns` answers an unfinished game is lost.

    SkyRL makes an environment for each episode, so `opponent="ladder"` stands for one ladder of the process: all its
    episodes of this game and reward climb it, and the metrics have "rung".

    With `opponent=None` the model plays itself. An episode of SkyRL is one conversation, so both seats share it, and
    each question says whose turn it is. With `scaled=False` each answer earns the regret of its own seat; otherwise the
    last answer earns the mean of the two scores. The reward must be "regret": what one seat wins the other one loses.

    Args:
        env_config: a mapping of the arguments game, opponent, seat, start, reward, scaled, retries, history and
            rules_once of `TextSession`, and max_turns.
        extras: the row; `extra_info` and `max_turns` are read.

    Attributes:
        session: the `TextSession` of the game.

    Raises:
        ValueError: an argument is unknown or out of its range, or there is no opponent and the reward is not "regret".

    Example:
        >>> row = {"extra_info": {"seed": 0, "position": "1524", "game": "TicTacToe-v0"}}
        >>> env = skyrl_gym.make("tictac", env_config={"reward": "outcome"}, extras=row)
        >>> messages, info = env.init([{"role": "system", "content": "Play well."}])
        >>> [message["role"] for message in messages], info
        (['system', 'user'], {'seat': 0, 'moves': '1524'})
        >>> out = env.step("Move: 3")
        >>> out["reward"], out["done"], env.get_metrics()
        (1.0, True, {'won': 1.0, 'drawn': 0.0, 'score': 1.0, 'regret': 0.0, 'wrong_answers': 0.0})
    """

    def __init__(self, env_config: JsonObject | None = None, extras: JsonObject | None = None) -> None:
        super().__init__()
        config, row = dict(env_config or {}), dict((extras or {}).get("extra_info") or {})
        if unknown := [name for name in config if name not in (*OPTIONS, "max_turns")]:
            raise ValueError(f"env_config may have {', '.join(OPTIONS)} and max_turns, not {unknown[0]!r}")
        turns = (extras or {}).get("max_turns") or config.pop("max_turns", None)
        self.max_turns = positive("max_turns", 100 if turns is None else turns)
        self._seed, self._position = row.get("seed"), row.get("position")
        defaults = {"game": "TicTacToe-v0", "opponent": OPPONENT, "reward": "regret"}
        options: dict[str, Any] = defaults | {"scaled": True, "rules_once": True} | config
        options |= {name: row[name] for name in OPTIONS if name in row}
        opponent, reward = options["opponent"], options["reward"]
        options["opponent"] = of_process(opponent, get_game(options["game"]), reward)
        self.session = TextSession(**options)
        if opponent is None and reward != "regret":
            raise ValueError(f"reward must be 'regret' if opponent is None, not {reward!r}: one reward pays both seats")
        self._wrong = 0

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, object]]:
        """Begins the game, and adds its first question to the messages of the row.

        Raises:
            ValueError: no game can begin there.
        """
        turn = self.session.reset(self._seed, self._position)
        self.turns, self._wrong, messages = 0, 0, list(prompt)
        task = messages.pop()["content"] if messages and messages[-1]["role"] == "user" else ""
        messages.append({"role": "user", "content": f"{task}\n\n{turn.prompt}".strip()})
        return messages, {"seat": turn.seat, "moves": turn.position.to_moves()}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Reads an answer, and asks for the next move until the game is over."""
        turn = self.session.answer(action)
        self.turns += 1
        self._wrong += turn.status != "legal"
        status, reward, question = turn.status, turn.reward, {"role": "user", "content": turn.prompt}
        if not turn.done and self.turns >= self.max_turns:
            turn = self.session.forfeit()
            reward += turn.reward
        if turn.done and self.session.scaled and self.session.opponent is None:
            reward = sum(self.session.returns) / 2
        return BaseTextEnvStepOutput(
            observations=[] if turn.done else [question],
            reward=reward,
            done=turn.done,
            metadata={"status": status, "moves": turn.position.to_moves()},
        )

    def get_metrics(self) -> dict[str, float]:
        """The result of the game, its score in [0, 1], its regret and its wrong answers; a game cut off is lost.

        If the model plays itself, the result is that of the first seat, the score is the mean of both, and each seat
        has its regret. With a ladder there is the rung of the game's opponent, too.
        """
        session = self.session
        turn = session.turn if session.turn.done else session.forfeit()
        seat = 0 if session.opponent is None else turn.seat
        outcome = (turn.outcomes or (0, 0))[seat]
        metrics = {"won": float(outcome == 1), "drawn": float(outcome == 0)}
        if session.opponent is None:
            metrics["score"] = (session.score(0) + session.score(1)) / 2
            metrics |= {f"{name}_regret": float(session.regrets[side]) for side, name in enumerate(SEATS)}
        else:
            metrics |= {"score": session.score(seat), "regret": float(session.regrets[seat])}
        metrics |= {} if session.rung is None else {"rung": float(session.rung)}
        return metrics | {"wrong_answers": float(self._wrong)}


skyrl_gym.register(id=ID, entry_point=BoardGameTextEnv)
