"""Many boards at once: our vector environment, other people's and the C reference; both sides play at random."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np

from benchmarks import our_cases
from benchmarks.c_reference import CReference, NoCompiler
from benchmarks.our_cases import Batch, Run, timed

PEER_IDS = {
    "Connect Four": {"pgx": "connect_four", "envpool": "ConnectFour-v1"},
    "tic-tac-toe": {"pgx": "tic_tac_toe", "envpool": "TicTacToe-v1"},
}
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
"""What each case does for a ply."""

MAX_SYNC = 1024
"""SyncVectorEnv gains nothing from more boards, and takes long to make them."""


def vector_cases(game: str, num_envs: int) -> dict[str, Run]:
    """What to measure on `num_envs` boards, on one thread; a note is printed for what is not installed here."""
    cases: dict[str, Run] = {}
    try:
        cases[C] = timed(in_c(game, num_envs), 16)
    except NoCompiler as error:
        left_out("the C reference", str(error))
    cases |= our_cases.vector_cases(game, num_envs)
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
        envs = gym.make_vec(our_cases.IDS[game], num_envs=num_envs, vectorization_mode="sync", opponent=None)
        cases["SyncVectorEnv"] = timed(stepping(envs, "action_mask"))
    return cases


def stepping(envs: Any, mask: str) -> Batch:
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

    envs = envpool.make(PEER_IDS[game]["envpool"], env_type="gymnasium", num_envs=num_envs, num_threads=1, seed=0)
    return stepping(envs, "legal_action_mask")


def in_pgx(game: str, num_envs: int, plies: int) -> Batch:
    """JAX's pgx with its own auto-reset, on the CPU and one thread; `plies` of every board in one jitted call."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # all three are read when jax is imported
    os.environ.setdefault("NPROC", "1")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    import jax
    import pgx
    from jax import numpy as jnp
    from pgx.experimental import auto_reset

    env = pgx.make(PEER_IDS[game]["pgx"])
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
    """Says once why a case is missing."""
    print(f"{name} is left out: {why}")
