"""The deep agents: Stable-Baselines3's DQN and sb3-contrib's MaskablePPO, with plans and files that hold no code."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from tictac_agents.deep.masked_choice import MaskedChoice, refuse_normalised
from tictac_agents.deep.networks import AfterstateActorCritic, AfterstatePolicy, MaskedDQNPolicy, cell_bits
from tictac_agents.deep.sb3_files import (
    CLASSES,
    PLAN,
    SavedModel,
    check_sizes,
    check_space,
    read_checkpoint,
    with_suffix,
)
from tictac_agents.deep.settings import DeepSettings, DQNSettings, MaskablePPOSettings
from tictac_agents.plan import UNKNOWN, Plan, preset
from tictac_env.arena.game_record import starting_positions
from tictac_env.checks import flag, number, one_of, whole
from tictac_env.envs.single import Arguments
from tictac_env.games import Game, describe_game, shown
from tictac_env.lazy import needing
from tictac_env.policies import Policy, named_policy
from tictac_env.position import symmetries
from tictac_env.storage import writing
from tictac_env.wrappers.sb3_vec_env import SB3VecEnv

with needing("Stable-Baselines3 is missing", "rl"):
    import sb3_contrib
    import stable_baselines3 as sb3
    import torch
    from stable_baselines3.common.buffers import ReplayBuffer
    from stable_baselines3.common.policies import BasePolicy
    from stable_baselines3.common.type_aliases import ReplayBufferSamples, Schedule
    from stable_baselines3.common.utils import LinearSchedule

OF_A_PROCESS = ("device", "verbose", "tensorboard_log", "stats_window_size", "_init_setup_model")
"""Keywords that say nothing about the model, and are not in its file."""


class PlannedModel:
    """A model with its plan, which is in its file as JSON, so that the file is safe to load. The class comes before the
    algorithm among the bases of a class.

    Attributes:
        plan: the boards and the settings it was made with; of boards that are not ours, and of settings that JSON
            cannot hold, the defaults.
    """

    SETTINGS: ClassVar[type[DeepSettings]]
    env: Any
    num_timesteps: int
    gamma: float
    verbose: int
    plan: Plan
    _keywords: dict[str, Any]
    """Keywords that are not settings."""
    _left_out: list[str]
    """The names of keywords that JSON cannot hold."""

    @classmethod
    def _agent(cls) -> str:
        """The name in `tictac_agents.AGENTS`, of subclasses too."""
        return cls.SETTINGS.__name__.removesuffix("Settings")

    @classmethod
    def from_plan(cls, plan: Plan, seed: int | None = None, device: str = "auto", **kwargs: Any) -> Self:
        """A model with the settings of a plan, on the boards of the plan, ready for `learn(plan.length)`.

        Args:
            plan: a plan of this agent.
            seed: makes the run reproducible; None for that of the plan.
            device: as in Stable-Baselines3.
            kwargs: other keywords of the algorithm, `tensorboard_log` and the like.

        Raises:
            ValueError: the plan is another agent's, or does not fit its game.
        """
        if plan.agent != cls._agent():
            raise ValueError(f"{cls.__name__} takes a plan of {cls._agent()}, not of {plan.agent}")
        if seed is not None:
            plan = plan.changed(seed=seed)
        model = cls._built(plan, plan.boards(), device, kwargs)
        model.plan = plan
        return model

    @classmethod
    def _built(cls, plan: Plan, boards: Any, device: str, kwargs: Mapping[str, Any]) -> Self:
        algorithm: Any = cls
        keywords = {**plan.settings.keywords(), **kwargs}
        model: Self = algorithm(keywords.pop("policy"), boards, device=device, **keywords)
        return model

    @classmethod
    def preset(cls, name: str, seed: int | None = None, device: str = "auto", **changes: Any) -> Self:
        """A model with the plan of a preset, published or ours, with `changes`.

        Raises:
            ValueError: there is no such preset, or a changed setting is out of its range.
        """
        return cls.from_plan(preset(cls._agent(), name).changed(**changes), seed, device)

    def _record(self, env: Any, keywords: Mapping[str, Any]) -> Any:
        """Records the plan of a model that is made with these keywords.

        Returns:
            The boards as Stable-Baselines3 wraps them; those made from an id alternate the learner's seat.

        Raises:
            ValueError: a setting is of a wrong type or out of its range, gamma has the wrong sign for the boards, or
                these normalise observations.
        """
        boards = self._boards(env, keywords.get("verbose", 0))
        own: dict[str, Any] = {}
        self._keywords, self._left_out = {}, []
        for name, value in {**keywords, "policy_kwargs": keywords.get("policy_kwargs") or {}}.items():
            if name in OF_A_PROCESS:
                continue
            try:
                plain = json.loads(json.dumps(value, default=np.generic.item))  # numbers of NumPy as Python's
            except TypeError:
                self._left_out.append(name)
            else:
                (own if name in self.SETTINGS.allowed() else self._keywords)[name] = plain
        self.plan = Plan.of(self._agent(), **own | describe_boards(boards))
        return boards

    @classmethod
    def _boards(cls, env: Any, verbose: int = 0) -> Any:
        if isinstance(env, str):
            env = SB3VecEnv(env, play_as="alternate")
        if env is None:
            return None
        wrap: Any = cls._wrap_env  # type: ignore[attr-defined]  # Stable-Baselines3's
        boards = wrap(env, verbose)
        refuse_normalised(boards)
        return boards

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        """Stable-Baselines3's; from then on the plan has these boards.

        Raises:
            ValueError: they normalise observations; or gamma has the wrong sign for these boards: the agent played both
                sides and would now have an opponent, or the other way round. `load` with `env` begins such a lesson.
        """
        boards = self._boards(env, self.verbose)
        values = {**self.plan.to_dict(), **describe_boards(boards), "gamma": self.gamma}
        plan = Plan.from_dict(values)
        super().set_env(boards, force_reset)  # type: ignore[misc]
        self.plan = plan.changed(gamma=self.plan.to_dict()["gamma"])

    def _excluded_save_params(self) -> list[str]:
        excluded: list[str] = super()._excluded_save_params()  # type: ignore[misc]
        return [*excluded, "plan", "_keywords", "_left_out"]  # which are in a file of their own

    def save(self, path: Any, exclude: Iterable[str] | None = None, include: Iterable[str] | None = None) -> None:
        """Writes Stable-Baselines3's own zip file, atomically, with the plan in it as `plan.json`.

        Keywords that JSON cannot hold (functions, classes) are only named in the file; give them to `load` again.

        Args:
            path: the file (without a suffix it gets ".zip"), or a file open for writing.
            exclude: as in Stable-Baselines3.
            include: as in Stable-Baselines3.
        """
        content = io.BytesIO()
        super().save(content, exclude, include)  # type: ignore[misc]
        record = {"plan": self.plan.to_dict(), "keywords": self._keywords, "left out": self._left_out}
        with zipfile.ZipFile(content, "a") as archive:
            archive.writestr(PLAN, json.dumps(record))
        if isinstance(path, (str, os.PathLike)):
            with writing(with_suffix(path)) as file:
                file.write(content.getvalue())
        else:
            path.write(content.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: Any = None, device: str = "auto", **kwargs: Any) -> Self:
        """The model that was saved, to be evaluated, or trained further with a fresh replay buffer.

        Weights, the optimiser's state, the plan, the number of steps and DQN's exploration are restored, not the seed;
        `learn(..., reset_num_timesteps=False)` continues to count.

        Args:
            path: the file, which need not be trusted: no code in it is run.
            env: the boards to learn on; without it those of the plan. If an opponent or starts cannot be made from
                their names (a pool, a model, a function, positions of your own), there are no boards, and the model
                plays but does not learn until it gets some. The sign of gamma follows from the boards.
            device: as in Stable-Baselines3.
            kwargs: settings and other keywords that replace those of the file, `seed` and the like; those of the
                boards only without `env`.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, was not saved by this class, or does not fit the boards, as a model that learned
                on them through a wrapper and gets no `env`; a setting is out of its range; or a keyword that JSON could
                not hold is missing.
        """
        checkpoint = read_checkpoint(path)
        if checkpoint.record is None:
            raise ValueError(
                f"{os.fspath(path)} was not saved by tictac_agents' {cls.__name__}, and unpickling what it holds could "
                "run any code; load_model reads the weights of Stable-Baselines3's models without that"
            )
        try:
            return cls._restored(checkpoint, env, device, kwargs)
        except (KeyError, TypeError, AttributeError, RuntimeError, ValueError, MemoryError) as error:
            raise ValueError(f"{os.fspath(path)} cannot be loaded as {cls.__name__}: {error}") from error

    @classmethod
    def _restored(cls, checkpoint: SavedModel, env: Any, device: str, kwargs: dict[str, Any]) -> Self:
        record: Any = checkpoint.record
        if missing := sorted(set(record["left out"]) - set(kwargs)):
            raise ValueError(f"JSON cannot hold its {', '.join(missing)}; give them as when the model was made")
        plan = Plan.from_dict(record["plan"])
        if plan.agent != cls._agent():
            raise ValueError(f"it is a model of {plan.agent}")
        check_sizes(plan.settings.keywords()["policy_kwargs"], checkpoint.tensors)
        # The keywords are changes of the plan, or other arguments of the constructor.
        names = set(plan.to_dict()) - {"agent", *record["left out"]}
        changes = {"seed": None} | {name: kwargs.pop(name) for name in names & set(kwargs)}
        if env is None:
            plan = plan.changed(**changes)
            boards = _make_boards(plan)
        else:
            if clash := sorted(set(changes) - set(cls.SETTINGS.allowed()) - {"total"}):
                raise ValueError(f"{', '.join(clash)} cannot be set together with env, whose boards have their own")
            boards = cls._boards(env)
            plan = plan.changed(**changes | {"opponent": describe_boards(boards).get("opponent", plan.opponent)})
        # Without boards the model is built on others of the same shape, which it then loses.
        built_on = boards
        if boards is None:
            built_on = plan.changed(opponent=plan.opponent and "random", start="empty").boards()
        check_space(checkpoint.data, built_on.observation_space)
        recorded = {name: value for name, value in record["keywords"].items() if name not in OF_A_PROCESS}
        model: Any = cls._built(plan, built_on, device, {**recorded, **kwargs})
        if env is None:
            model.plan, model.env = plan, boards and model.env
        else:
            model.plan = model.plan.changed(total=plan.total)
        model.set_parameters(checkpoint.tensors, device=device)
        model.num_timesteps = whole("num_timesteps", checkpoint.data["num_timesteps"])
        if "exploration_rate" in vars(model):
            model.exploration_rate = number("exploration_rate", checkpoint.data["exploration_rate"], 0, 1)
        return cast(Self, model)

    def _setup_learn(self, *args: Any, **kwargs: Any) -> Any:
        if self.env is None:
            raise ValueError(
                f"the boards cannot be made from opponent={shown(self.plan.opponent)} and "
                f"start={shown(self.plan.start)}: to learn, load the model with env, or with other names"
            )
        return super()._setup_learn(*args, **kwargs)  # type: ignore[misc]


def as_schedule(learning_rate: float | Sequence[float] | Schedule) -> float | Schedule:
    """A learning rate for Stable-Baselines3: a pair becomes a schedule from the first to the second."""
    if isinstance(learning_rate, Sequence):
        first, last = learning_rate
        return LinearSchedule(first, last, end_fraction=1.0)
    return learning_rate


def with_classes(policy_kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The policy's keywords, with classes in place of their names.

    Raises:
        ValueError: a name is unknown.
    """
    keywords = dict(policy_kwargs or {})
    for name, classes in CLASSES.items():
        if isinstance(keywords.get(name), str):
            keywords[name] = classes[one_of(name, keywords[name], tuple(classes))]
    return keywords


def describe_boards(env: Any) -> dict[str, Any]:
    """The values of a plan that boards give; those of boards that are not ours are unknown."""
    try:
        arguments: Arguments = env.get_attr("arguments")[0]
    except AttributeError:
        return {"game": UNKNOWN}
    return {
        "game": describe_game(arguments.game),
        "num_envs": env.num_envs,
        "opponent": None if arguments.opponent is None else _opponent_name(arguments.opponent, arguments.game),
        "play_as": arguments.play_as,
        "obs_type": arguments.obs_type,
        "illegal": arguments.illegal,
        "rewards": arguments.rewards,
        "start": "empty" if arguments.start is None else f"{len(arguments.start)} positions",
    }


def _opponent_name(opponent: Policy, game: Game) -> str:
    """An opponent's name, with its class if a policy of another class is made from this name."""
    name = str(opponent)
    try:
        same = type(named_policy(name, game)) is type(opponent)
    except ValueError:
        return name
    return name if same else f"{name} ({type(opponent).__name__})"


def _make_boards(plan: Plan) -> Any:
    """The boards of a plan; None if it names an opponent or starts that cannot be made.

    Raises:
        ValueError: there is no such game.
    """
    rules = plan.rules
    try:
        if plan.opponent is not None:
            named_policy(plan.opponent, rules)  # a file from elsewhere must not name code to run
        starting_positions(rules, plan.start)
    except ValueError:
        return None
    return plan.boards()


class SymmetricReplayBuffer(ReplayBuffer):
    """Stable-Baselines3's replay buffer, which shows each sampled transition under a random symmetry of the board. A
    `VecNormalize` may normalise rewards, but not observations.

    Args:
        game: whose symmetries; see `tictac_env.symmetry`.
    """

    def __init__(self, *args: Any, game: Game, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cells, images = cell_bits(game), symmetries(game)
        # What stands in a cell of the image comes from the cell that the symmetry takes there.
        self._sources = np.array([np.argsort([cells.index(dict(s.bits)[cell]) for cell in cells]) for s in images])
        self._actions = np.array([symmetry.actions for symmetry in images])

    def _get_samples(self, batch_inds: npt.NDArray[Any], env: Any = None) -> ReplayBufferSamples:
        # Stable-Baselines3 draws from, and seeds, NumPy's global generator.
        boards = np.random.randint(self.n_envs, size=len(batch_inds))  # noqa: NPY002
        drawn = np.random.randint(len(self._sources), size=len(batch_inds))  # noqa: NPY002
        sources, rows = self._sources[drawn][:, None, :], np.arange(len(drawn))[:, None]

        def image(observations: npt.NDArray[Any]) -> npt.NDArray[Any]:
            chosen = observations[batch_inds, boards]
            planes = chosen.reshape(len(chosen), -1, sources.shape[-1])
            return np.take_along_axis(planes, sources, axis=2).reshape(chosen.shape)

        samples = (
            image(self.observations),
            self._actions[drawn][rows, self.actions[batch_inds, boards]],
            image(self.next_observations),
            self.dones[batch_inds, boards, None] * (1 - self.timeouts[batch_inds, boards, None]),
            self._normalize_reward(self.rewards[batch_inds, boards, None], env),
        )
        return ReplayBufferSamples(*map(self.to_torch, samples))


class DQN(PlannedModel, MaskedChoice, sb3.DQN):  # type: ignore[misc]  # its load is narrower
    """Stable-Baselines3's DQN (Mnih et al., "Human-level control through deep reinforcement learning", 2015) that
    knows which actions are legal.

    Illegal actions are left out wherever they could be chosen, in warm-up, exploration and greedy play, and in the
    maximum of the target. On many boards each explores for itself. All else, and every method, is Stable-Baselines3's.

    With `opponent=None` both sides' plies are steps and the next observation is the other side's. By default gamma is
    then -1, which makes Stable-Baselines3's target r + gamma * max Q(s', .) that of negamax; between -1 and 0 it
    prefers quick wins.

    Presets (`DQN.preset(name)`, each with the boards it learns on):
        S2: the published network, 9-36-36-9 with sigmoid outputs, by plain gradient descent against random play, a draw
            worth as much as a win, exploring as published; but by batches from a replay buffer, illegal actions left
            out. (`S2Network` learns as published.)
        S2-self-play: the same network in self-play, with the tuned settings: it wins more from both seats. (A network
            this small does not become unbeatable on every seed; that of the tuned settings does.)
        S4-prequel: the published network of state values, 9-18-18-1, in self-play by TD(0), in expectation over a
            fifth of random moves. (The rest was not published, and is ours.)

    Args:
        policy: "MlpPolicy"; "AfterstatePolicy" for a network of state values; or a subclass of `MaskedDQNPolicy`.
        env: an environment of ours or its id, with planes or boards (made from an id, it alternates the learner's
            seat); or an `SB3VecEnv`.
        double, symmetry, target_epsilon, ema_decay: see `DQNSettings`.
        learning_rate: see `DQNSettings`; or a schedule, as in Stable-Baselines3.
        kwargs: all other keywords of `stable_baselines3.DQN`.

    Raises:
        ValueError: an argument is out of its range, gamma is positive with `opponent=None` or negative otherwise,
            the observations do not show the mask, or `symmetry` is True and the game of the boards is unknown.

    Example:
        >>> from tictac_agents import DQN, SB3VecEnv
        >>> envs = SB3VecEnv("TicTacToe-v0", num_envs=8, opponent=None, illegal="raise")
        >>> model = DQN("MlpPolicy", envs, learning_starts=64, buffer_size=1_000, seed=0, device="cpu")
        >>> model.learn(256).num_timesteps
        256
    """

    SETTINGS = DQNSettings
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": MaskedDQNPolicy,
        "AfterstatePolicy": AfterstatePolicy,
    }
    policy: MaskedDQNPolicy

    def __init__(
        self,
        policy: str | type[MaskedDQNPolicy],
        env: Any,
        *,
        double: bool = DQNSettings.double,
        symmetry: bool = DQNSettings.symmetry,
        target_epsilon: float = DQNSettings.target_epsilon,
        ema_decay: float = DQNSettings.ema_decay,
        learning_rate: float | Sequence[float] | Schedule = DQNSettings.learning_rate,
        _init_setup_model: bool = True,
        **kwargs: Any,
    ) -> None:
        self.double = flag("double", double)
        self.symmetry = flag("symmetry", symmetry)
        self.target_epsilon = number("target_epsilon", target_epsilon, 0, 1)
        self.ema_decay = number("ema_decay", ema_decay, 0, 1)
        ours = {"double": double, "symmetry": symmetry, "target_epsilon": target_epsilon, "ema_decay": ema_decay}
        env = self._record(env, {"policy": policy, "learning_rate": learning_rate, **ours, **kwargs})
        kwargs["gamma"] = self.plan.discount
        for name, usual in (("n_steps", 1), ("optimize_memory_usage", False)):
            if symmetry and kwargs.get(name, usual) != usual:
                raise ValueError(f"{name}={kwargs[name]} needs symmetry=False")
        kwargs["policy_kwargs"] = with_classes(kwargs.get("policy_kwargs")) | {"ema": ema_decay > 0}
        super().__init__(policy, env, as_schedule(learning_rate), _init_setup_model=False, **kwargs)
        if _init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        if self.symmetry and self.env is not None and self.replay_buffer_class is None:
            if self.plan.game == UNKNOWN:
                raise ValueError("symmetry=True needs boards that say which game they are of")
            self.replay_buffer_class = SymmetricReplayBuffer
            self.replay_buffer_kwargs = {**self.replay_buffer_kwargs, "game": self.env.get_attr("game")[0]}
        super()._setup_model()

    def _best(self, observation: Any, legal: npt.NDArray[np.bool_], deterministic: bool) -> npt.NDArray[np.int64]:
        return self.policy.best(observation, legal, deterministic)

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Stable-Baselines3's, with double targets, those of expected Sarsa, and an average of the weights."""
        # Layers that behave differently in training are switched; the learning rate follows its schedule.
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        weights: list[torch.Tensor] = list(self.q_net.parameters())
        averages: list[torch.Tensor] = list(self.policy.q_net_ema.parameters())
        losses = []
        for _ in range(gradient_steps):
            # Steps from the replay buffer, with symmetry each under a random image of the board.
            batch = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)  # type: ignore[union-attr]
            # A number, or for returns over several steps one for each of them.
            discounts = self.gamma if batch.discounts is None else batch.discounts
            with torch.no_grad():
                # The values of the next positions by the target network; those of illegal actions are so low
                # (`networks.ILLEGAL_VALUE`) that no maximum takes them.
                next_values = self.q_net_target(batch.next_observations)
                # Double Q-learning: the network that learns chooses the action, the target network judges it.
                next_choices = self.q_net(batch.next_observations) if self.double else next_values
                best = next_values.gather(1, next_choices.argmax(dim=1, keepdim=True))
                if self.target_epsilon:
                    # Expected Sarsa: some of the time the next action is a random legal one. A finished game may have
                    # none: its value does not count, but must be finite.
                    legal = ~self.q_net.occupied(batch.next_observations)  # type: ignore[operator]
                    mean = (next_values * legal).sum(1, keepdim=True) / legal.sum(1, keepdim=True).clamp(min=1)
                    best = best + self.target_epsilon * (mean - best)
                # One-step targets. In self-play gamma is negative: the next value is the other side's.
                targets = batch.rewards + (1 - batch.dones) * discounts * best
            # The values of the actions that were played, and the Huber loss, which is less sensitive to outliers.
            values = self.q_net.values_of(batch.observations, batch.actions.long())  # type: ignore[operator]
            loss = torch.nn.functional.smooth_l1_loss(values, targets)
            losses.append(loss.detach())
            # A step of the optimiser, along a gradient of bounded length.
            self.policy.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(weights, self.max_grad_norm)
            self.policy.optimizer.step()
            if self.ema_decay:
                # Greedy play uses the average of the weights, which follows them slowly.
                with torch.no_grad():
                    torch._foreach_lerp_(averages, weights, 1 - self.ema_decay)
        # Stable-Baselines3's own counter and log.
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", float(torch.stack(losses).mean()))


class MaskablePPO(PlannedModel, sb3_contrib.MaskablePPO):  # type: ignore[misc]  # its load is narrower
    """sb3-contrib's PPO (Schulman et al., "Proximal policy optimization algorithms", 2017) with action masks (Huang and
    Ontañón, "A closer look at invalid action masking in policy gradient algorithms", 2022).

    With `opponent=None` both sides' plies are steps. By default gamma is then -1, which turns rewards and values
    around from ply to ply, in the generalised advantage too.

    Args:
        policy: "MlpPolicy"; or "AfterstatePolicy" for one actor that sees the position each action leads to.
        env: an environment of ours or its id (made from an id, it alternates the learner's seat); or an `SB3VecEnv`.
        learning_rate: see `MaskablePPOSettings`; or a schedule, as in Stable-Baselines3.
        kwargs: all other keywords of `sb3_contrib.MaskablePPO`; `MaskablePPOSettings` explains the usual ones.

    Raises:
        ValueError: an argument is out of its range, gamma is positive with `opponent=None` or negative otherwise, a
            `VecNormalize` normalises observations, or `policy_kwargs` names an unknown class.

    Example:
        >>> from tictac_agents import MaskablePPO, SB3VecEnv
        >>> envs = SB3VecEnv("TicTacToe-v0", num_envs=8, opponent=None, illegal="raise")
        >>> model = MaskablePPO("MlpPolicy", envs, n_steps=16, batch_size=64, seed=0, device="cpu")
        >>> model.learn(128).num_timesteps
        128
    """

    SETTINGS = MaskablePPOSettings
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        **sb3_contrib.MaskablePPO.policy_aliases,
        "AfterstatePolicy": AfterstateActorCritic,
    }

    def __init__(
        self,
        policy: Any,
        env: Any,
        *,
        learning_rate: float | Sequence[float] | Schedule = MaskablePPOSettings.learning_rate,
        **kwargs: Any,
    ) -> None:
        env = self._record(env, {"policy": policy, "learning_rate": learning_rate, **kwargs})
        kwargs["gamma"] = self.plan.discount
        kwargs["policy_kwargs"] = with_classes(kwargs.get("policy_kwargs"))
        super().__init__(policy, env, as_schedule(learning_rate), **kwargs)
