# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "mcp>=2"]
# ///
"""MCP: a client starts the server of games and plays whole games by its tools, with two scripts in place of a model."""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable

from mcp import Client, StdioServerParameters, stdio_client

SERVER = ["-m", "tictac_apps.language_models.adapters.mcp"]


def empty(said: str, drawn: random.Random) -> int:
    """An empty cell, drawn."""
    board = "".join(re.findall(r"^ [.XO]  [.XO]  [.XO]$", said, re.MULTILINE)).replace(" ", "")
    return drawn.choice([cell for cell, stone in enumerate(board, 1) if stone == "."])


def hinted(said: str, drawn: random.Random) -> int:
    """A move of the highest value that the server's hints name."""
    values = re.findall(r"(\d+) (wins|draws|loses)", said)
    return int(min(values, key=lambda value: ["wins", "draws", "loses"].index(value[1]))[0])


async def play(title: str, answerer: Callable[[str, random.Random], int], games: int, *options: str) -> None:
    """Games of a script, who sees only what the tools say."""
    server = StdioServerParameters(command=sys.executable, args=[*SERVER, *options], env=dict(os.environ))
    results: Counter[str] = Counter()
    async with Client(stdio_client(server)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        for seed in range(games):
            drawn, tool, arguments = random.Random(seed), "new_game", {"seed": seed}
            while not (results.total() > seed):
                said = (await client.call_tool(tool, arguments)).content[0].text
                if "it is your turn" in said:
                    number = int(said.partition(".")[0].split()[1])
                    tool, arguments = "move", {"game": number, "move": answerer(said, drawn)}
                else:
                    results[said.splitlines()[-1]] += 1
    print(f"{title}, tools {', '.join(tools)}: {dict(sorted(results.items()))}")
    print("\n".join(said.splitlines()[1:]))


asyncio.run(play("empty cells v perfect:0.5", empty, 50))
asyncio.run(play("hints v perfect:0.5", hinted, 50, "--hints"))
asyncio.run(
    play("Connect Four, hints v level:3", hinted, 2, "--game", "ConnectFour-v0", "--opponent", "level:3", "--hints")
)
