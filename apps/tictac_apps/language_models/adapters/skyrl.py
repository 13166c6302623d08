"""SkyRL: a game in text for `skyrl_gym`, registered as "tictac"."""

from __future__ import annotations

from tictac_apps.language_models.session import TextSession
from tictac_env.checks import positive
from tictac_env.lazy import needing
from tictac_env.storage import JsonObject

with needing("skyrl-gym is missing", package="skyrl-gym>=0.4"):
    import skyrl_gym
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

__all__ = ["BoardGameTextEnv"]

ID = "tictac"
OPTIONS = ("game", "opponent", "seat", "start", "reward", "scaled", "retries", "history")
"""The arguments of `TextSession` that a configuration or a row may set."""


class BoardGameTextEnv(BaseTextEnv):  # type: ignore[misc]  # it has no type annotations
    """A game for each episode; import the module, then `skyrl_gym.make("tictac")`.

    A row of the data set has a seed, and perhaps a move string to begin with, in its `extra_info`. It may set arguments
    of `TextSession`, too; they come before those of the configuration. The last answer earns the score of the game, in
    [0, 1]; with `scaled=False` each answer earns its own reward. After `max_turns` answers an unfinished game is lost.

    Args:
        env_config: a mapping of the arguments game, opponent, seat, start, reward, scaled, retries and history of
            `TextSession`, and max_turns.
        extras: the row; `extra_info` and `max_turns` are read.

    Raises:
        ValueError: an argument is unknown or out of its range, or there is no opponent.

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
        options = {"scaled": True} | config | {name: row[name] for name in OPTIONS if name in row}
        self._session = TextSession(**options)
        if self._session.opponent is None:
            raise ValueError("opponent must be a player, not None: an episode has one seat")
        self._wrong = 0

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, object]]:
        """Begins the game, and adds its first question to the messages of the row.

        Raises:
            ValueError: no game can begin there.
        """
        turn = self._session.reset(self._seed, self._position)
        self.turns, self._wrong, messages = 0, 0, list(prompt)
        task = messages.pop()["content"] if messages and messages[-1]["role"] == "user" else ""
        messages.append({"role": "user", "content": f"{task}\n\n{turn.prompt}".strip()})
        return messages, {"seat": turn.seat, "moves": turn.position.to_moves()}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Reads an answer, and asks for the next move until the game is over."""
        turn = self._session.answer(action)
        self.turns += 1
        self._wrong += turn.status != "legal"
        status, reward, question = turn.status, turn.reward, {"role": "user", "content": turn.prompt}
        if not turn.done and self.turns >= self.max_turns:
            turn = self._session.forfeit()
            reward += turn.reward
        return BaseTextEnvStepOutput(
            observations=[] if turn.done else [question],
            reward=reward,
            done=turn.done,
            metadata={"status": status, "moves": turn.position.to_moves()},
        )

    def get_metrics(self) -> dict[str, float]:
        """The result of the game, its score in [0, 1] and its wrong answers; a game that was cut off is lost."""
        turn = self._session.turn if self._session.turn.done else self._session.forfeit()
        outcome = (turn.outcomes or (0, 0))[turn.seat]
        return {
            "won": float(outcome == 1),
            "drawn": float(outcome == 0),
            "score": self._session.score(turn.seat),
            "regret": float(self._session.regrets[turn.seat]),
            "wrong_answers": float(self._wrong),
        }


skyrl_gym.register(id=ID, entry_point=BoardGameTextEnv)
