# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "verifiers>=0.4,<0.5"]
# ///
"""verifiers: its evaluation plays games by chat completions, against a policy and between two models, paid exactly."""

from __future__ import annotations

import asyncio
import json
import random
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import verifiers.v1 as vf
from verifiers.v1.utils.loaders import load_environment, resolve_env_config


class Scripted(BaseHTTPRequestHandler):
    """A server of chat completions: "careful" takes an empty cell, "careless" any cell, "silent" gives no move."""

    def do_POST(self) -> None:
        """Answers the last message."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = asked["messages"][-1]["content"]
        text = text if isinstance(text, str) else text[-1]["text"]
        board = "".join(re.findall(r"^ [.XO]  [.XO]  [.XO]$", text, re.MULTILINE)).replace(" ", "")
        cells = [cell for cell, stone in enumerate(board, 1) if stone == "." or asked["model"] == "careless"]
        drawn = random.Random(text)  # the same question has the same answer
        said = "I would rather not." if asked["model"] == "silent" else f"Let me see.\nMove: {drawn.choice(cells)}"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        completion = {"id": "scripted", "object": "chat.completion", "created": 0, "model": asked["model"]}
        completion |= {"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(completion).encode())

    def log_message(self, *_: object) -> None:
        """Keeps quiet."""


async def play(model: str, address: str, env: dict, games: int = 1) -> list:
    """The traces of some games of a model, as `vf-eval tictac-verifiers` makes them."""
    environment = load_environment(resolve_env_config({"taskset": {"id": "tictac-verifiers", "size": games}} | env))
    client = vf.EvalClientConfig(base_url=address, api_key_var="NO_KEY")
    context = vf.ModelContext(model=model, client=client, sampling=vf.SamplingConfig())
    async with environment.serving():
        episodes = [await environment.run_episode(task, context) for task in environment.taskset]
    for error in (
        error for episode in episodes for error in [*episode.errors, *(t.last_error for t in episode.traces)]
    ):
        if error:
            raise RuntimeError(error)
    return [trace for episode in episodes for trace in episode.traces]


server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_port}/v1"


def show(title: str, traces: list) -> None:
    """Prints the rewards of some traces."""
    print(title)
    for trace in traces:
        metrics = ", ".join(f"{name} {value:g}" for name, value in trace.metrics.items())
        print(f"  {trace.agent.name}: moves {trace.info['moves']}, reward {trace.reward}, {metrics}")


show("careful v perfect:0.5", asyncio.run(play("careful", address, {}, games=2)))
strict = {"taskset": {"id": "tictac-verifiers", "retries": 0, "size": 1}}
show("silent v perfect:0.5", asyncio.run(play("silent", address, strict)))
cut = {"player": {"max_turns": 1}}
show("careful, cut off after one answer", asyncio.run(play("careful", address, cut, games=1)))
ladder = {"taskset": {"id": "tictac-verifiers", "opponent": "ladder", "size": 1}}
show("careful v a ladder", asyncio.run(play("careful", address, ladder)))
itself = {"taskset": {"id": "tictac-verifiers", "opponent": "", "size": 1}}
show("careful v itself, a reward for each", asyncio.run(play("careful", address, itself)))
show("careful v a frozen rival", asyncio.run(play("careful", address, itself | {"rival": {"model": "careless"}})))
server.shutdown()
