"""MCP's server: whole games through the client, in memory and over stdin and stdout; errors that a model can read."""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
from typing import Any

import pytest

pytest.importorskip("mcp_types")  # there is none before mcp 2

from mcp import Client, StdioServerParameters, stdio_client

from tictac_apps.language_models.adapters.mcp import make_server

VALUES = {"wins": 1, "draws": 0, "loses": -1}
RESULTS = {"You won.": 1, "The game is drawn.": 0, "You lost.": -1}


async def call(client: Any, tool: str, **arguments: Any) -> str:
    """The text that a tool answers."""
    result = await client.call_tool(tool, arguments)
    text: str = result.content[0].text
    assert not result.is_error, text
    return text


async def refused(client: Any, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    text: str = result.content[0].text
    assert result.is_error and ": " in text  # without a reason for an error that the server does not expect
    return text


def number(said: str) -> int:
    found = re.match(r"Game (\d+)\.\n", said)
    assert found
    return int(found[1])


def hinted(said: str) -> dict[int, int]:
    """The values in a question; none if it has none."""
    line = said.splitlines()[-1].partition("With perfect play by both sides: ")[2]
    return {int(move): VALUES[word] for move, word in re.findall(r"(\d+) (wins|draws|loses)", line)}


async def game(client: Any, seed: int) -> list[str]:
    """All that is said in a game of random moves."""
    said, rng = [await call(client, "new_game", seed=seed)], random.Random(seed)
    for move in rng.sample(range(1, 10), 9):
        if said[-1].splitlines()[-1] not in RESULTS:
            said.append(await call(client, "move", game=number(said[0]), move=move))
            assert await call(client, "board", game=number(said[0])) == said[-1]
    return [text.partition("\n")[2] for text in said]


def test_whole_games_in_memory_without_hints_and_seeds_reproduce() -> None:
    async def play() -> None:
        async with Client(make_server(retries=9)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["new_game", "move", "board"]
            for seed in range(10):
                said = await game(client, seed)
                assert said == await game(client, seed)
                assert said[-1].splitlines()[-1] in RESULTS
                assert not any(hinted(text) or "legal moves" in text for text in said)

    asyncio.run(play())


@pytest.mark.parametrize("name", ["TicTacToe-v0", "KInARow-v0:4x4-3"])
def test_moves_by_the_hints_keep_the_value(name: str) -> None:
    """The best value never falls, and the result is the last of them; the opponent's mistakes raise it."""

    async def play() -> None:
        async with Client(make_server(name, "perfect:0.5", hints=True)) as client:
            for seed in range(5):
                said = await call(client, "new_game", seat="second" if seed % 2 else "first", seed=seed)
                best = -1
                while values := hinted(said):
                    assert max(values.values()) >= best
                    best = max(values.values())
                    said = await call(client, "move", game=number(said), move=max(values, key=values.__getitem__))
                assert RESULTS[said.splitlines()[-1]] == best

    asyncio.run(play())


def test_games_stand_side_by_side_and_calls_at_once_are_answered_in_turn() -> None:
    async def play() -> None:
        async with Client(make_server(opponent="minimax-first")) as client:
            numbers = [number(await call(client, "new_game", seat="first")) for _ in range(3)]
            assert numbers == [1, 2, 3]
            said = await asyncio.gather(*(call(client, "move", game=one, move=one) for one in numbers))
            for one, text in zip(numbers, said, strict=True):
                assert number(text) == one and text.count("X") == 2 and "The game is" not in text  # said before
                assert text == await call(client, "board", game=one)
            assert len({text.partition("\n")[2] for text in said}) == 3

    asyncio.run(play())


def test_what_is_wrong_is_shown_to_the_model() -> None:
    async def play() -> None:
        async with Client(make_server(opponent="minimax-first", retries=1)) as client:
            assert "no game 1" in await refused(client, "board", game=1)
            assert "-1" in await refused(client, "new_game", seed=-1)
            assert "seat" in await refused(client, "new_game", seat="third")
            said = await call(client, "new_game", seat="first")
            assert "move" in await refused(client, "move", game=number(said), move="centre")
            assert "10" in (await call(client, "move", game=number(said), move=10)).splitlines()[-1]
            assert (await call(client, "move", game=number(said), move=0)).splitlines()[-1] == "You lost."
            assert "over" in await refused(client, "move", game=number(said), move=5)

    asyncio.run(play())


@pytest.mark.parametrize("wrong", [{"game": "Chess-v0"}, {"opponent": "perfekt"}, {"opponent": None}, {"hints": 1}])
def test_wrong_arguments_are_refused_before_the_server_begins(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        make_server(**wrong)


def test_the_program_serves_on_stdin_and_stdout() -> None:
    words = ["-m", "tictac_apps.language_models.adapters.mcp", "--game", "ConnectFour-v0", "--opponent", "rule"]

    server = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))

    async def play() -> None:
        async with Client(stdio_client(server)) as client:
            said, turns = await call(client, "new_game", seat="first", seed=0), 0
            while said.splitlines()[-1] not in RESULTS:
                turns += 1
                said = await call(client, "move", game=number(said), move=turns % 7 + 1)
            assert turns >= 4

    asyncio.run(play())
