# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "openenv>=0.10", "tomlkit<0.15"] # the last for gradio, which openenv needs
# ///
"""OpenEnv: a server of games, its validation, and clients that play whole games over it at once."""

from __future__ import annotations

import os
import random
import re
import threading
import time
from pathlib import Path

os.environ["ENABLE_WEB_INTERFACE"] = "false"

import uvicorn
from openenv.cli._validation import validate_running_environment
from openenv.validation import Level, run_validation

from tictac_apps.language_models.adapters.openenv import BoardGameAction, BoardGameClient, make_app

PACKAGE = Path(__file__).parent / "openenv_tictac"


def play(address: str, seed: int) -> str:
    """A game of a script in place of a model, which takes an empty cell or gives no move."""
    drawn, rewards = random.Random(seed), []
    with BoardGameClient(base_url=address).sync() as env:
        result = env.reset(seed=seed)
        while not result.done:
            board = "".join(re.findall(r"^ [.XO]  [.XO]  [.XO]$", result.observation.prompt, re.MULTILINE))
            empty = [cell for cell, stone in enumerate(board.replace(" ", ""), 1) if stone == "."]
            answer = drawn.choice([f"Move: {drawn.choice(empty)}"] * 9 + ["I pass."])
            result = env.step(BoardGameAction(answer=answer))
            rewards.append(result.reward)
        state = env.state()
    return f"moves {state.moves}, rewards {rewards}, outcome {result.observation.outcome}, score {state.score}"


server = uvicorn.Server(uvicorn.Config(make_app(opponent="perfect:0.5"), port=0, log_level="error"))
serving = threading.Thread(target=server.run, daemon=True)
serving.start()
while not server.started:
    time.sleep(0.1)
address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
running = validate_running_environment(address, timeout_s=60)  # openenv validate --url
passed = [criterion["id"] for criterion in running["criteria"] if criterion["passed"]]
print(
    f"the server is valid: {running['passed']}, {len(passed)} of {len(running['criteria'])} checks: {', '.join(passed)}"
)
report = run_validation(PACKAGE, max_level=Level.STATIC, skip_build=True)  # openenv validate --level static
print("the folder:", *(f"{result.check_id} {result.status.value}," for result in report.results), report.verdict.value)

results: dict[int, str] = {}
players = [threading.Thread(target=lambda seed=seed: results.update({seed: play(address, seed)})) for seed in range(4)]
for player in players:
    player.start()
for player in players:
    player.join()
for seed, result in sorted(results.items()):
    print(f"game {seed}: {result}")
server.should_exit = True
serving.join(timeout=10)
