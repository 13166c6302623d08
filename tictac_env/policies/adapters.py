"""Adapters: functions and models as policies, and policies corrected in given positions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tictac_env.arrays import Array, Bytes, Floats, Ints
from tictac_env.games import Game
from tictac_env.observation import Observation, Observer, Space, fit, observation_type_of, shows_same
from tictac_env.policies.policy import Policy
from tictac_env.position import Position, illegal_move
from tictac_env.position_batch import PositionBatch

WITHOUT_MASKS = "its predict takes no action_masks, so it may choose any action"
CHANGES = "RescaleObservation, NormalizeObservation, FrameStackObservation or VecFrameStack"
"""Wrappers after which a model does not see our observations."""
MASK_KEY = "action_mask"
"""The key of the mask in a model's dict observations."""
Mask: TypeAlias = Bytes
AnyFunction: TypeAlias = Callable[..., Any]
Scorer: TypeAlias = Callable[[Observation], npt.NDArray[np.float32]]
"""A function from B observations to the scores of their actions, (B, num_actions)."""


class Predictor(Protocol):
    """A model with `predict`, as those of Stable-Baselines3, sb3-contrib and this package have it."""

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """The action for an observation; `ModelPolicy` says how it is called."""


class FunctionPolicy(Policy):
    """A function `(observation, action_mask) -> action` as a policy. Copies share the function.

    Args:
        function: gets the observation of the side to move, and the mask int8 (num_actions,). If it has a parameter
            `seed`, it gets the seed too, an int in [0, 2**63), and should draw from it alone.
        obs_type: the observation type; see `tictac_env.observation`.

    Example:
        >>> from tictac_env import Position
        >>> from tictac_env.policies import FunctionPolicy
        >>> leftmost = FunctionPolicy(lambda board, mask: int(mask.argmax()), obs_type="board")
        >>> leftmost.act(Position.from_moves("TicTacToe-v0", "12"), seed=0)
        2
    """

    def __init__(self, function: AnyFunction, obs_type: str = "planes") -> None:
        self.function = function
        self.obs_type = obs_type
        self.name = getattr(function, "__name__", type(function).__name__)
        self.seeded = takes_seed(function)

    def act(self, position: Position, seed: int) -> int:
        observer = observer_of(position.game, self._obs_type_of(position.game))
        mask = observer.mask(position.game.legal(position.own, position.opp))
        action: int = self.ask(observer.observe(position.own, position.opp, position.seat), mask, seed)
        return action

    def ask(self, observation: Observation, mask: Mask, seed: int) -> Any:
        """The function's answer, possibly no action, to an observation, possibly of another package's game."""
        return self.function(observation, mask, seed=seed) if self.seeded else self.function(observation, mask)

    def _obs_type_of(self, game: Game) -> str:
        return self.obs_type

    def __deepcopy__(self, memo: dict[int, object]) -> FunctionPolicy:
        return self


class BatchedPolicy(FunctionPolicy):
    """A function `(observations, action_masks) -> actions` of many boards at once, such as a network, as a policy.

    Vector environments, `play_match` and exact measures call it once for all waiting positions. A function with an
    attribute `batched` that is True becomes a `BatchedPolicy` wherever functions may play.

    The action in a position must not depend on the other positions of the batch. Then games do not depend on how boards
    are batched. (The last bits of a network's values may: its choice can vary between actions that differ only in
    these.)

    Args:
        function: gets the observations of the sides to move, (B, ...), and their masks, int8 (B, num_actions); returns
            B integers, as an array, a list or anything else that NumPy can read, such as a tensor on the CPU. If it has
            a parameter `seed`, it gets a seed for each position too, int64 (B,).
        obs_type: the observation type; see `tictac_env.observation`.

    Raises:
        ValueError: at a move, if the function does not return B integers.

    Example:
        >>> import gymnasium as gym, numpy as np, tictac_env
        >>> weights = np.random.default_rng(0).normal(size=(84, 7))
        >>> def network(planes, masks):  # (B, 2, 6, 7) and (B, 7)
        ...     return np.where(masks, planes.reshape(-1, 84) @ weights, -np.inf).argmax(axis=1)
        >>> envs = gym.make_vec("ConnectFour-v0", num_envs=1024, opponent=BatchedPolicy(network))
    """

    @property
    def batched(self) -> bool:
        return True

    def ask(self, observation: Observation, mask: Mask, seed: int) -> Any:
        return int(self._ask_many(np.asarray(observation)[None], mask[None], np.array([seed], np.int64))[0])

    def act_many(self, batch: PositionBatch, seeds: Ints) -> Ints:
        """int64 (B,), by one call of the function."""
        return self._ask_many(batch.observations(self._obs_type_of(batch.game)), batch.legal_masks(), seeds)

    def _ask_many(self, observations: Array, masks: Mask, seeds: Ints) -> Ints:
        keywords = {"seed": seeds} if self.seeded else {}
        return _checked(self, self.function(observations, masks, **keywords), len(masks))


class ModelPolicy(FunctionPolicy):
    """A model with `predict`, of Stable-Baselines3 or `tictac_agents`, as a policy. Copies share the model.

    Args:
        model: its `predict(observation, deterministic=True)` returns `(action, state)`. If `predict` has a parameter
            `action_masks`, it gets the mask. Stable-Baselines3 models are called once for many positions. So are other
            models with an attribute `batched` that is True: their `predict` gets observations (B, ...) and masks
            (B, num_actions), and returns B actions (the conditions are those of `BatchedPolicy`).
        obs_type: the observation type if the model has no `observation_space`. With one, the observations get its shape
            (unchanged, flattened, or with the planes last as in PettingZoo) and dtype; its bounds must be theirs. A
            `Dict` of such a space and "action_mask", the default of `tictac_env.wrappers.MaskedObservation`, gets both.
            The `VecNormalize` of a model's boards normalises them, with its statistics of that moment.
        masked: True to leave out the illegal actions of a Stable-Baselines3 model whose `predict` takes no masks: of
            the legal actions it plays that of the best score (a Q-value, a mean of quantiles or a logit). False for
            what `predict` returns, legal or not.

    Raises:
        ValueError: the model remembers earlier observations (RecurrentPPO), or has lost the `VecNormalize` through
            which it learned. Once the game is known: no observation type of it has the model's observation space; the
            message names the wrapper that has changed the observations.

    Example:
        >>> from tictac_agents import QLearning
        >>> from tictac_env import Position
        >>> from tictac_env.policies import ModelPolicy
        >>> model = QLearning("TicTacToe-v0", seed=0)  # anything with predict
        >>> one_left = Position.from_moves("TicTacToe-v0", "12345687")
        >>> ModelPolicy(model, obs_type="board").act(one_left, seed=0)
        8
    """

    def __init__(self, model: Any, obs_type: str = "planes", masked: bool = True) -> None:
        super().__init__(model.predict, obs_type)
        self.model = model
        self.name = type(model).__name__
        if self._space is not None and hasattr(model, "policy"):
            self.budget = "no search; one evaluation of a network"
        policy = getattr(model, "policy", model)
        if hasattr(policy, "lstm_actor"):
            raise ValueError(f"{self.name} remembers earlier observations; a policy answers a position by itself")
        check_normalizer(model)
        self._masked = "action_masks" in inspect.signature(model.predict).parameters
        # Stable-Baselines3's `predict` recognises a batch of observations by its space.
        self._vectorized = self._space is not None and hasattr(policy, "is_vectorized_observation")
        self._scores: Scorer | None = None
        if masked and self._vectorized and not self._masked:
            self._scores = scorer(policy)
        if not self._masked and self._scores is None:
            self.illegal_hint = WITHOUT_MASKS

    @property
    def batched(self) -> bool:
        return is_batched(self.model) or self._vectorized

    def seeing(self, game: Game, obs_type: str) -> Policy:
        """Itself.

        Raises:
            ValueError: no observation type of the game has the model's observation space.
        """
        self._obs_type_of(game)
        return self

    def ask(self, observation: Observation, mask: Mask, seed: int) -> Any:
        if is_batched(self.model) or self._scores is not None:
            return int(_checked(self, self._predict(np.asarray(observation)[None], mask[None], many=True), 1)[0])
        return int(self._predict(observation, mask))

    def act_many(self, batch: PositionBatch, seeds: Ints) -> Ints:
        """int64 (B,), by one call of the model if it is `batched`."""
        if not self.batched:
            return super().act_many(batch, seeds)
        observations = batch.observations(self._obs_type_of(batch.game))
        return _checked(self, self._predict(observations, batch.legal_masks(), many=True), len(batch))

    def _predict(self, observations: Observation, masks: Mask, many: bool = False) -> Any:
        shown = as_seen(observations, masks, self._space, normalizer_of(self.model), many, who=self)
        if self._scores is not None:
            return np.where(masks, self._scores(shown), np.float32(-np.inf)).argmax(axis=1)
        keywords = {"action_masks": masks} if self._masked else {}
        actions, _ = self.model.predict(shown, deterministic=True, **keywords)
        return actions

    def check_boards(self, space: Space) -> None:
        """Checks that boards of another package show what the model sees.

        Args:
            space: the space of their observations, without the mask.

        Raises:
            ValueError: they show something else.
        """
        if self._space is not None and not shows_same(_plain(self._space), space):
            raise ValueError(f"no observation of {space} fits {self}'s observation space {self._space}")

    @property
    def _space(self) -> Space | None:
        return getattr(self.model, "observation_space", None)

    def _obs_type_of(self, game: Game) -> str:
        return self.obs_type if self._space is None else seen_type(game, self._space, getattr(self.model, "env", None))


def seen_type(game: Game, space: Space, boards: object = None) -> str:
    """The name of the observation type that a model with this observation space sees.

    Args:
        game: the game.
        space: a space of the game's observations, or a `Dict` of such a space and the action mask.
        boards: the boards that the model learned on, in their wrappers, to name the one that changes observations; None
            if unknown.

    Raises:
        ValueError: the game has no such observations.
    """
    try:
        return observation_type_of(game, _plain(space)).name
    except ValueError as error:
        wrapper = _changing_wrapper(game, boards)
        reason = f"{wrapper} has changed them" if wrapper else f"wrappers change observations, such as {CHANGES}"
        raise ValueError(f"{error}; {reason}") from None


def _changing_wrapper(game: Game, boards: Any) -> str | None:
    """The innermost wrapper around boards of a game that changes the observations; None if it cannot be seen."""
    layers: list[Any] = []
    while boards is not None:
        if isinstance(getattr(boards, "observation_space", None), spaces.Space):
            layers.append(boards)
        inside = getattr(boards, "__dict__", {})  # as the wrappers of Stable-Baselines3 show what they wrap
        singles = inside.get("envs")
        boards = singles[0] if isinstance(singles, list) else inside.get("venv", inside.get("env"))
    for number, layer in enumerate(reversed(layers)):
        try:
            observation_type_of(game, _plain(layer.observation_space))
        except ValueError:
            return type(layer).__name__ if number else None  # number 0: boards of something else
    return None


def scorer(policy: Any) -> Scorer | None:
    """The scores by which a policy of Stable-Baselines3 or sb3-contrib chooses its greedy action.

    Args:
        policy: a model's `policy`.

    Returns:
        A function from B observations to Q-values (DQN), means of quantiles (QR-DQN) or logits (PPO, A2C, TRPO, ARS and
        MaskablePPO): float32 (B, num_actions). None for other policies, and for those that remember (RecurrentPPO).
    """
    actor = hasattr(policy, "action_net") and isinstance(policy.action_space, spaces.Discrete)
    scored = hasattr(policy, "q_net") or hasattr(policy, "quantile_net") or actor
    return partial(scores_of, policy) if scored and not hasattr(policy, "lstm_actor") else None


def scores_of(policy: Any, observations: Observation) -> npt.NDArray[np.float32]:
    """The scores of the actions by a policy with a `scorer`: float32 (B, num_actions)."""
    if policy.training:
        policy.set_training_mode(False)
    import torch  # there is a model of it

    # The network that `predict` uses, up to where it chooses: here the illegal actions are left out first.
    with torch.inference_mode():
        shown, _ = policy.obs_to_tensor(observations)
        if hasattr(policy, "q_net"):
            scores = getattr(policy, "q_net_ema", policy.q_net)(shown)
        elif hasattr(policy, "quantile_net"):
            scores = policy.quantile_net(shown).mean(dim=1)
        elif hasattr(policy, "mlp_extractor"):
            features = policy.extract_features(shown, policy.pi_features_extractor)
            scores = policy.action_net(policy.mlp_extractor.forward_actor(features))
        else:
            scores = policy.action_net(policy.extract_features(shown, policy.features_extractor))
    values: npt.NDArray[np.float32] = scores.cpu().numpy()
    return values


def normalizer_of(model: Any) -> Any:
    """The `VecNormalize` of a Stable-Baselines3 model's boards; None for boards without, and for other models."""
    return getattr(model, "get_vec_normalize_env", lambda: None)()


def check_normalizer(model: Any) -> None:
    """Checks that a model has the `VecNormalize` through which it has learned.

    Raises:
        ValueError: its last observations were normalised, and it was loaded without boards.
    """
    last = getattr(model, "_last_obs", None)
    has_boards = getattr(model, "env", None) is not None
    if has_boards or not isinstance(last, np.ndarray) or last.dtype.kind != "f":
        return
    if model.observation_space.dtype.kind != "f" or not np.array_equal(last, np.rint(last)):
        raise ValueError(
            f"{type(model).__name__} has learned through VecNormalize, whose statistics are not in the file of a "
            "model; load it by its algorithm, with env=VecNormalize.load(...)"
        )


def as_seen(
    observations: Observation, masks: Mask, space: Space | None, normalizer: Any, many: bool, who: object
) -> Observation:
    """One observation of the game, or B of them with `many`, as a model named `who` with this `space` sees them.

    `masks` are the action masks, int8 (num_actions,) or (B, num_actions); `normalizer` is the `VecNormalize` of the
    model's boards, None for none.

    Raises:
        ValueError: `space` is a `Box` of another shape.
    """
    shown = fit(observations, _plain(space), many, who)
    if (key := _observation_key(space)) is not None:
        shown = {key: shown, MASK_KEY: masks.astype(space[MASK_KEY].dtype)}  # type: ignore[index]
    return shown if normalizer is None else normalizer.normalize_obs(shown)


def _plain(space: Any) -> Any:
    """The space of the observation, if a space is a `Dict` of it and the action mask; otherwise the space itself."""
    key = _observation_key(space)
    return space if key is None else space[key]


def _observation_key(space: object) -> str | None:
    """The key of the observation, if a space is a `Dict` of it and the action mask."""
    if not isinstance(space, spaces.Dict) or len(space.spaces) != 2 or MASK_KEY not in space.spaces:
        return None
    return next(key for key in space.spaces if key != MASK_KEY)


def adapted(player: object, obs_type: str = "planes") -> FunctionPolicy | None:
    """A model with `predict` or a function as a policy; None for everything else.

    Raises:
        ValueError: the function cannot be called with an observation and a mask.
    """
    if isinstance(player, type):
        return None
    if hasattr(player, "predict"):
        return ModelPolicy(player, obs_type)
    if not callable(player):
        return None
    forward = getattr(player, "forward", None)  # of a network of PyTorch, whose call takes anything and passes it on
    if (signature := signature_of(forward or player)) is not None:
        try:
            signature.bind(None, None, **({"seed": 0} if takes_seed(player) else {}))
        except TypeError as error:
            name = getattr(player, "__name__", type(player).__name__)
            needed = f"a function that plays must take (observation, mask); {name}{signature} does not: {error}"
            hint = "; for a network write BatchedPolicy(lambda planes, masks: ...), which returns legal actions"
            raise ValueError(needed + (hint if forward else "")) from None
    return (BatchedPolicy if is_batched(player) else FunctionPolicy)(player, obs_type)


def is_batched(player: object) -> bool:
    """True if a function or a model declares that it takes many observations at once."""
    return getattr(player, "batched", False) is True


def signature_of(function: AnyFunction) -> inspect.Signature | None:
    """The signature of a function; None for some functions written in C."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def takes_seed(function: AnyFunction) -> bool:
    """True if a function has a parameter `seed` that can be passed by keyword."""
    parameter = signature.parameters.get("seed") if (signature := signature_of(function)) else None
    return parameter is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


@functools.lru_cache(maxsize=64)
def observer_of(game: Game, obs_type: str) -> Observer:
    """The `Observer` of a game, cached."""
    return Observer(game, obs_type)


def _checked(policy: Policy, actions: npt.ArrayLike, count: int) -> Ints:
    array = np.asarray(actions)
    if array.shape != (count,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"{policy} is batched: for {count} observations it must return {count} integers, not "
            f"{array.dtype} {array.shape}"
        )
    return array


class Corrected(Policy):
    """Plays given actions in given positions, and elsewhere plays as another policy does.

    So a player can be corrected until `prove` finds no mistake.

    Args:
        policy: the player of all other positions.
        positions: B positions to correct.
        actions: the actions to play there, B integers.
        name: the name in tables; by default the policy's name with "corrected".

    Raises:
        ValueError: there are not as many actions as positions, or a position occurs twice.
        IllegalMove: an action is illegal; the message names the action and the position.

    Example:
        >>> from tictac_env.policies import make_policy
        >>> start = Position.start("ConnectFour-v0")
        >>> player = Corrected(make_policy("rule", start.game), PositionBatch.of([start]), [3])
        >>> print(player.act(start, seed=0), player)
        3 rule, corrected
    """

    def __init__(
        self, policy: Policy, positions: PositionBatch, actions: Sequence[int] | npt.NDArray[np.integer], name: str = ""
    ) -> None:
        self.policy = policy
        stones = zip(positions.own.tolist(), positions.opp.tolist(), strict=True)
        self._actions = dict(zip(stones, map(int, actions), strict=True))
        if len(self._actions) < len(positions):
            raise ValueError(f"of {len(positions)} positions to correct only {len(self._actions)} are different")
        # Illegal corrections are refused now, not in the middle of a game.
        masks, rows = positions.action_masks(), np.arange(len(positions))
        chosen = np.array(list(self._actions.values()), np.int64)
        legal = (chosen >= 0) & (chosen < masks.shape[1])
        legal &= masks[rows, np.where(legal, chosen, 0)] == 1
        for wrong in np.flatnonzero(~legal)[:1].tolist():
            raise illegal_move(positions[wrong], int(chosen[wrong]), "a correction")
        self._owns = np.unique(positions.own)
        self.name = name or f"{policy.name}, corrected"
        self.budget = ", ".join(filter(None, (policy.budget, f"{len(self._actions):,} positions corrected")))

    def act(self, position: Position, seed: int) -> int:
        action = self._actions.get((position.own, position.opp))
        return self.policy.act(position, seed) if action is None else action

    def act_many(self, batch: PositionBatch, seeds: Ints) -> Ints:
        actions = np.array(self.policy.act_many(batch, seeds))
        for i, action in self._corrections(batch):
            actions[i] = action
        return actions

    def _corrections(self, batch: PositionBatch) -> Iterator[tuple[int, int]]:
        """The rows of the positions to correct, with their actions."""
        for i in np.flatnonzero(np.isin(batch.own, self._owns)).tolist():
            if (action := self._actions.get((int(batch.own[i]), int(batch.opp[i])))) is not None:
                yield i, action

    @property
    def batched(self) -> bool:
        return bool(self.policy.batched)

    @property
    def asked_twice(self) -> bool:
        return bool(self.policy.asked_twice)

    def probabilities(self, position: Position) -> Floats | None:
        chances = self.probabilities_many(PositionBatch.of([position]))
        return None if chances is None else chances[0]

    def probabilities_many(self, batch: PositionBatch) -> Floats | None:
        if (chances := self.policy.probabilities_many(batch)) is None:
            return None
        chances = np.array(chances)
        for i, action in self._corrections(batch):
            chances[i] = np.arange(batch.game.num_actions) == action
        return chances
