"""The cases of `throughput.py`: environments and a learner of this package, and the peers that are installed.

Our cases use public names only, so that `throughput.py --against` measures an older version by the same loops. The
peers are a minimal environment in plain Python and a C reference (both second copies of the rules on purpose), and the
environments of PettingZoo, OpenSpiel, pgx, EnvPool and Gymnasium's SyncVectorEnv.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
import pettingzoo
from gymnasium import spaces
from pettingzoo.env_registry.exceptions import FailedToImport

import tictac_agents
import tictac_env
from benchmarks.c_reference import CReference, NoCompiler
from tictac_env import connect_four_v0, tictactoe_v0

Run = Callable[[float], tuple[int, float]]
"""Plays for a number of seconds; returns plies (or games) and seconds."""

Batch = Callable[[], int]
"""Draws an action for every board and steps them all; returns the plies made."""

IDS = {"Connect Four": "ConnectFour-v0", "tic-tac-toe": "TicTacToe-v0"}
AEC = {"Connect Four": connect_four_v0, "tic-tac-toe": tictactoe_v0}
SINGLE: dict[str, dict[str, Any]] = {
    "ours, opponent=None": {"opponent": None},
    "ours, opponent='random'": {},
    "ours, obs_type='board'": {"opponent": None, "obs_type": "board"},
}


def all_cases(table: str, boards: list[int]) -> dict[tuple[str, int, str], Run]:
    """The cases of a table of `throughput.py` by game, number of boards and name; threads too by CPU time."""
    if table == "learning":
        return {("tic-tac-toe", 1, name): run for name, run in learning_cases().items()}
    found: dict[tuple[str, int, str], Run] = {}
    for game in IDS:
        if table in ("single", "aec"):
            cases = single_cases(game) if table == "single" else our_aec_cases(game)
            found |= {(game, 1, name): run for name, run in cases.items()}
        elif table == "vector":
            found |= {
                (game, count, name): run for count in boards for name, run in our_vector_cases(game, count).items()
            }
        else:
            cases = thread_cases(game, max(boards), time.process_time)
            found |= {(game, max(boards), name): run for name, run in cases.items()}
    return found


def single_cases(game: str) -> dict[str, Run]:
    """One environment through gym.make."""
    return {name: stepping(gym.make(IDS[game], **keywords)) for name, keywords in SINGLE.items()}


def our_aec_cases(game: str) -> dict[str, Run]:
    """The PettingZoo environments."""
    module = AEC[game]
    return {
        "ours, raw_env": turns(module.raw_env()),
        "ours, env": turns(module.env()),
        "ours, env, documented loop": documented(module.env()),
    }


def our_vector_cases(game: str, num_envs: int) -> dict[str, Run]:
    """The native vector environment on one thread."""
    return {f"ours, copy={copy}": timed(batch(game, num_envs, copy=copy), 16) for copy in (False, True)}


def thread_cases(game: str, num_envs: int, clock: Callable[[], float]) -> dict[str, Run]:
    """The native vector environment on one thread and on two."""
    return {
        f"threads={threads}": timed(batch(game, num_envs, copy=False, threads=threads), 16, clock) for threads in (1, 2)
    }


def learning_cases() -> dict[str, Run]:
    """A learner, interpreted and compiled, and the games alone."""
    return {
        "random games": games_of(None),
        "S0 learning": games_of("S0"),
        "S0 learning, compiled": games_of("S0", compiled=True),
    }


def stepping(env: gym.Env[Any, Any]) -> Run:
    """Random legal play through reset and step."""

    def run(seconds: float) -> tuple[int, float]:
        draw = random.Random(0).random
        plies, began = 0, time.process_time()
        _, info = env.reset(seed=0)
        while True:
            for _ in range(200):
                legal = info["action_mask"].tobytes()
                action = int(draw() * len(legal))
                while not legal[action]:
                    action = int(draw() * len(legal))
                _, _, terminated, _, info = env.step(action)
                plies += 2 if info.get("opponent_action", -1) >= 0 else 1
                if terminated:
                    _, info = env.reset()
                    plies += info.get("opponent_action", -1) >= 0
            spent = time.process_time() - began
            if spent > seconds:
                return plies, spent

    return run


def turns(env: Any) -> Run:
    """Random legal play through observe and step, with a cheap draw; each run plays other games."""
    draw = random.Random(0).random

    def run(seconds: float) -> tuple[int, float]:
        plies, began = 0, time.process_time()
        env.reset()
        while True:
            for _ in range(200):
                legal = env.observe(env.agent_selection)["action_mask"].tobytes()
                action = int(draw() * len(legal))
                while not legal[action]:
                    action = int(draw() * len(legal))
                env.step(action)
                plies += 1
                if env.terminations[env.agent_selection]:
                    env.reset()
            spent = time.process_time() - began
            if spent > seconds:
                return plies, spent

    return run


def documented(env: Any) -> Run:
    """The loop of PettingZoo's documentation: agent_iter, last, and a sample of the action space."""
    for seed, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seed)

    def run(seconds: float) -> tuple[int, float]:
        plies, began = 0, time.process_time()
        while True:
            for _ in range(10):
                env.reset()
                for agent in env.agent_iter():
                    observation, _, termination, truncation, _ = env.last()
                    over = termination or truncation
                    env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
                    plies += not over
            spent = time.process_time() - began
            if spent > seconds:
                return plies, spent

    return run


def timed(play: Batch, batches: int = 1, clock: Callable[[], float] = time.process_time) -> Run:
    """Steps for some seconds of `clock`, read once in `batches` batches; the games continue from run to run."""

    def run(seconds: float) -> tuple[int, float]:
        plies, began = 0, clock()
        while True:
            for _ in range(batches):
                plies += play()
            spent = clock() - began
            if spent > seconds:
                return plies, spent

    return run


def batch(game: str, num_envs: int, **keywords: Any) -> Batch:
    """The native vector environment and its sampler."""
    envs: Any = gym.make_vec(IDS[game], num_envs=num_envs, opponent=None, **keywords)
    envs.reset(seed=0)
    step, sample = envs.step, envs.sample_actions
    over = 0

    def play() -> int:
        nonlocal over
        _, _, terminations, _, _ = step(sample())
        plies = num_envs - over  # a board whose game was over is only reset
        over = np.count_nonzero(terminations)
        return plies

    return play


def games_of(preset: str | None, compiled: bool = False) -> Run:
    """Games of tic-tac-toe against random play, from each seat in turn: random ones, or those S0 learns from.

    Those are played through reset and step, or in the compiled loop.
    """
    games_at_once = 20_000 if compiled else 200
    of_s0 = getattr(tictac_agents, "S0ValueTD", None) or tictac_agents.ValueTD  # in folders where S0 had no class
    learner = of_s0.preset(preset or "S0", seed=0)  # kept between runs: a run of S0's is half a million games long
    learner.compiled = compiled
    # A block of the preset is longer than a short run, which would see one seat only; and learning is timed alone,
    # without the preset's exact verdicts.
    changes = {"block": games_at_once // 2, "verdict_every": 0}
    if hasattr(learner, "settings"):
        learner.settings = learner.settings.changed(**changes)
    else:  # in folders where these were attributes
        vars(learner).update(changes)
    draw = random.Random(0).random

    def run(seconds: float) -> tuple[int, float]:
        games, began = 0, time.process_time()
        while True:
            if preset:
                learner.learn(total_episodes=games_at_once, progress_bar=False)
            else:
                play_randomly(learner.env, draw, games_at_once)
            games += games_at_once
            spent = time.process_time() - began
            if spent > seconds:
                return games, spent

    return run


def play_randomly(env: gym.Env[Any, Any], draw: Callable[[], float], games: int) -> None:
    for game in range(games):
        _, info = env.reset(options={"play_as": ("first", "second")[game // 100 % 2]})
        terminated = False
        while not terminated:
            legal = info["action_mask"].tobytes()
            action = int(draw() * len(legal))
            while not legal[action]:
                action = int(draw() * len(legal))
            _, _, terminated, _, info = env.step(action)


def serve(tables: str, boards: str) -> None:
    """Prints its cases, then answers each line, a case and seconds, with the plies (or games) per CPU-second."""
    answers, sys.stdout = sys.stdout, sys.stderr
    runs: dict[tuple[str, str, int, str], Run] = {}
    for table in json.loads(tables):
        runs |= {(table, *case): run for case, run in all_cases(table, json.loads(boards)).items()}
    print(json.dumps([tictac_env.__file__, list(runs)]), file=answers, flush=True)
    for line in sys.stdin:
        case, seconds = json.loads(line)
        played, spent = runs[tuple(case)](seconds)
        print(json.dumps(float(played / spent)), file=answers, flush=True)


CONNECT_FOUR, TIC_TAC_TOE = "MinimalConnectFour-v0", "MinimalTicTacToe-v0"


class MinimalConnectFour(gym.Env[Any, int]):
    """The least that an environment can do in plain Python. Both sides step; nothing is checked.

    A seat's stones are a bitboard with the win test unrolled by hand; the observation is the next player's planes, kept
    up to date and copied, int8 (2, 6, 7), with the mask in info.
    """

    observation_space = spaces.Box(0, 1, (2, 6, 7), np.int8)
    action_space = spaces.Discrete(7)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.bits = [0, 0]
        self.heights = [0] * 7
        self.turn = 0
        self.plies = 0
        self.planes = np.zeros((2, 6, 7), np.int8)
        self.mask = np.ones(7, np.int8)
        return self.planes.copy(), {"action_mask": self.mask.copy()}

    def step(self, action: int) -> Any:
        turn, height = self.turn, self.heights[action]
        bits = self.bits[turn] = self.bits[turn] | 1 << 7 * action + height
        self.planes[turn, 5 - height, action] = 1
        self.heights[action] = height + 1
        if height == 5:
            self.mask[action] = 0
        self.plies += 1
        self.turn = 1 - turn
        won = False
        pairs = bits & bits >> 1
        if pairs & pairs >> 2:
            won = True
        else:
            pairs = bits & bits >> 7
            if pairs & pairs >> 14:
                won = True
            else:
                pairs = bits & bits >> 6
                if pairs & pairs >> 12:
                    won = True
                else:
                    pairs = bits & bits >> 8
                    won = pairs & pairs >> 16 != 0
        observation = self.planes.copy() if turn else self.planes[::-1].copy()
        info = {"action_mask": self.mask.copy()}
        return observation, 1.0 if won else 0.0, won or self.plies == 42, False, info


class MinimalTicTacToe(gym.Env[Any, int]):
    """The same for tic-tac-toe: int8 (2, 3, 3)."""

    observation_space = spaces.Box(0, 1, (2, 3, 3), np.int8)
    action_space = spaces.Discrete(9)
    lines = (7, 56, 448, 73, 146, 292, 273, 84)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.bits = [0, 0]
        self.turn = 0
        self.plies = 0
        self.planes = np.zeros((2, 9), np.int8)
        self.mask = np.ones(9, np.int8)
        return self.planes.reshape(2, 3, 3).copy(), {"action_mask": self.mask.copy()}

    def step(self, action: int) -> Any:
        turn = self.turn
        bits = self.bits[turn] = self.bits[turn] | 1 << action
        self.planes[turn, action] = 1
        self.mask[action] = 0
        self.plies += 1
        self.turn = 1 - turn
        won = False
        for line in self.lines:
            if bits & line == line:
                won = True
                break
        observation = (self.planes if turn else self.planes[::-1]).copy().reshape(2, 3, 3)
        info = {"action_mask": self.mask.copy()}
        return observation, 1.0 if won else 0.0, won or self.plies == 9, False, info


for _id, _class in ((CONNECT_FOUR, MinimalConnectFour), (TIC_TAC_TOE, MinimalTicTacToe)):
    gym.register(_id, entry_point=_class, order_enforce=False, disable_env_checker=True)


AEC_GAMES = {"Connect Four": "classic/connect_four_v3", "tic-tac-toe": "classic/tictactoe_v3"}
SNAKE_NAMES = {"Connect Four": "connect_four", "tic-tac-toe": "tic_tac_toe"}
"""Those of OpenSpiel and pgx."""


def aec_cases(game: str) -> tuple[dict[str, Run], dict[str, str]]:
    """The cases, ours and PettingZoo's in turn, and for each case the one it is compared with.

    Without PettingZoo's games (they need pygame) a note is printed, and ours are compared with our own raw_env.
    """
    ours = our_aec_cases(game)
    try:
        raw, env, looped = (pettingzoo.make("aec", AEC_GAMES[game]) for _ in range(3))
    except FailedToImport as error:
        print(f"PettingZoo's {game} is left out: {error}")
        return ours, dict.fromkeys(ours, "ours, raw_env")
    theirs = {"raw_env": turns(raw.unwrapped), "env": turns(env), "env, documented loop": documented(looped)}
    cases: dict[str, Run] = {}
    compared: dict[str, str] = {}
    for kind, run in theirs.items():
        cases |= {f"PettingZoo, {kind}": run, f"ours, {kind}": ours[f"ours, {kind}"]}
        compared |= dict.fromkeys((f"PettingZoo, {kind}", f"ours, {kind}"), f"PettingZoo, {kind}")
    return cases, compared


def open_spiel_cases(game: str) -> dict[str, Run]:
    """OpenSpiel's game in C++, a state at a time; none, and a note, where it is not installed."""
    try:
        import pyspiel
    except ImportError as error:
        print(f"OpenSpiel's {game} is left out: {error}")
        return {}
    rules = pyspiel.load_game(SNAKE_NAMES[game])
    return {
        "OpenSpiel, rules only": spiel(rules, False),
        "OpenSpiel, observation and mask lists": spiel(rules, True),
    }


def spiel(rules: Any, observed: bool) -> Run:
    """Random legal play: from the list of legal actions, or with the mover's observation and mask made at every ply."""

    def run(seconds: float) -> tuple[int, float]:
        draw = random.Random(0).random
        plies, began = 0, time.process_time()
        state = rules.new_initial_state()
        while True:
            for _ in range(200):
                if observed:
                    state.observation_tensor()
                    legal = state.legal_actions_mask()
                    action = int(draw() * len(legal))
                    while not legal[action]:
                        action = int(draw() * len(legal))
                else:
                    legal = state.legal_actions()
                    action = legal[int(draw() * len(legal))]
                state.apply_action(action)
                plies += 1
                if state.is_terminal():
                    state.returns()
                    state = rules.new_initial_state()
            spent = time.process_time() - began
            if spent > seconds:
                return plies, spent

    return run


ENVPOOL_GAMES = {"Connect Four": "ConnectFour-v1", "tic-tac-toe": "TicTacToe-v1"}
C, PGX = "C reference", "pgx"
BUILDS = {
    C: "int8 planes and mask, reward, flag; draw in C; trusts its actions; resets within the step",
    "ours, copy=False": "int8 planes and mask, rewards, flags, infos; native draw; a reset takes a step",
    "ours, copy=True": "the same, in fresh arrays",
    PGX: "bool planes and mask, both rewards; draw and step in one jitted call; resets within the step",
    "pgx, 32 plies a call": "the same, and no one sees the plies between",
    "EnvPool": "bool planes of both players, mask, board; NumPy draw; a reset takes a step",
    "SyncVectorEnv": "our single environments: int8 planes and mask, copied; NumPy draw; a reset takes a step",
}
"""The work of each case for a ply."""
MAX_SYNC = 1024
"""SyncVectorEnv gains nothing from more boards, and takes long to make them."""


def vector_cases(game: str, num_envs: int) -> dict[str, Run]:
    """The cases on `num_envs` boards, on one thread; a note is printed for peers that are not installed."""
    cases: dict[str, Run] = {}
    try:
        cases[C] = timed(in_c(game, num_envs), 16)
    except NoCompiler as error:
        left_out("the C reference", str(error))
    cases |= our_vector_cases(game, num_envs)
    try:
        cases[PGX] = timed(in_pgx(game, num_envs, 1))
        cases["pgx, 32 plies a call"] = timed(in_pgx(game, num_envs, 32))
    except ImportError as error:
        left_out("pgx", str(error))
    try:
        cases["EnvPool"] = timed(in_envpool(game, num_envs))
    except ImportError as error:
        left_out("EnvPool", str(error))
    if num_envs <= MAX_SYNC:
        envs = gym.make_vec(IDS[game], num_envs=num_envs, vectorization_mode="sync", opponent=None)
        cases["SyncVectorEnv"] = timed(vector_stepping(envs, "action_mask"))
    return cases


def vector_stepping(envs: Any, mask: str) -> Batch:
    """Any environment with Gymnasium's vector interface, `infos[mask]` and resets that take a step; drawn by NumPy."""
    generator = np.random.default_rng(0)
    _, infos = envs.reset()
    over = 0

    def play() -> int:
        nonlocal infos, over
        legal = infos[mask]
        num_envs = len(legal)
        actions = (generator.random(legal.shape) * legal).argmax(1)
        _, _, terminations, _, infos = envs.step(actions)
        plies = num_envs - over
        over = np.count_nonzero(terminations)
        return plies

    return play


def in_c(game: str, num_envs: int) -> Batch:
    """The C reference: draw and step are a call each."""
    boards = CReference(game, num_envs)
    draw, step = boards.draw, boards.step

    def play() -> int:
        draw()
        step()
        return num_envs

    return play


def in_envpool(game: str, num_envs: int) -> Batch:
    """EnvPool on one thread of its own."""
    import envpool

    envs = envpool.make(ENVPOOL_GAMES[game], env_type="gymnasium", num_envs=num_envs, num_threads=1, seed=0)
    return vector_stepping(envs, "legal_action_mask")


def in_pgx(game: str, num_envs: int, plies: int) -> Batch:
    """JAX's pgx with its own auto-reset, on the CPU and one thread; `plies` of every board in one jitted call."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # all three are read when jax is imported
    os.environ.setdefault("NPROC", "1")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    import jax
    import pgx
    from jax import numpy as jnp
    from pgx.experimental import auto_reset

    env = pgx.make(SNAKE_NAMES[game])
    step = jax.vmap(auto_reset(env.step, env.init))

    def ply(carry: Any) -> Any:
        state, key = carry
        key, draw, begin = jax.random.split(key, 3)
        actions = jax.random.categorical(draw, jnp.where(state.legal_action_mask, 0.0, -jnp.inf))
        return step(state, actions, jax.random.split(begin, num_envs)), key

    many = ply if plies == 1 else lambda carry: jax.lax.fori_loop(0, plies, lambda _, carry: ply(carry), carry)
    advance = jax.jit(many, donate_argnums=0)
    key, begin = jax.random.split(jax.random.key(0))
    carry = jax.jit(jax.vmap(env.init))(jax.random.split(begin, num_envs)), key

    def play() -> int:
        nonlocal carry
        carry = jax.block_until_ready(advance(carry))
        return num_envs * plies

    return play


@cache
def left_out(name: str, why: str) -> None:
    print(f"{name} is left out: {why}")
