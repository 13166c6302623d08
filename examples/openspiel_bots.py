# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env[openspiel]"]
# ///
"""OpenSpiel: our games in its tests, bots both ways, and its exploitability beside ours."""

from __future__ import annotations

import time

import pyspiel
from open_spiel.python.algorithms.exploitability import exploitability

from tictac_apps.bridges.openspiel import BotPolicy, PolicyBot, SpielPolicy, load_game, state_of
from tictac_env.arena import play_match, verdict
from tictac_env.position import Position

# 1. Our games, with their sizes as parameters, pass OpenSpiel's own tests.
for name in ("ConnectFour-v0", "KInARow-v0(rows=4,cols=5,connect=3)", "TicTacToe-v0"):
    pyspiel.random_sim_test(pyspiel.load_game(name), num_sims=5, serialize=True, verbose=False)
state = state_of(Position.from_moves("ConnectFour-v0", "4453"), load_game("ConnectFour-v0"))
print(f"{state}\nto move: {state.current_player()}, actions: {state.legal_actions()}\n")

# 2. A policy of ours as a bot: in OpenSpiel's C++ game, against its own tree search.
game = pyspiel.load_game("connect_four")


def tree_search(seed: int) -> pyspiel.Bot:
    """OpenSpiel's tree search, 300 simulations a move."""
    evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
    return pyspiel.MCTSBot(game, evaluator, 2.0, 300, 16, True, seed, False)


ours = PolicyBot("rule", game, seed=0)
returns = [pyspiel.evaluate_bots(game.new_initial_state(), [ours, tree_search(seed)], seed)[0] for seed in range(10)]
print(f"rule v OpenSpiel's tree search, 10 games as first: {returns.count(1)} won, {returns.count(-1)} lost")

# 3. A bot of OpenSpiel's as a policy: it plays in our matches.
bot = BotPolicy(tree_search, game, name="OpenSpiel, 300 simulations")
print(play_match(bot, "rule", "ConnectFour-v0", games=20, seed=0))

# 4. Both find the same exploitability. OpenSpiel follows every order of moves, of which tic-tac-toe has 549,946.
for title, player in (("KInARow-v0:3x3-3", "random"), ("KInARow-v0:3x3-3", "rule"), ("TicTacToe-v0", "random")):
    theirs = pyspiel.load_game("tic_tac_toe") if title == "TicTacToe-v0" else load_game(title)
    began = time.process_time()
    found = exploitability(theirs, SpielPolicy(theirs, player))
    seconds, expected = time.process_time() - began, verdict(player, title).exploitability
    print(f"{title}, {player}: OpenSpiel {found:.12f} ({seconds:.0f} CPU-s), tictac_env {expected:.12f}")
    assert abs(found - expected) < 1e-12
