"""Modules whose library is missing are not searched for doctests."""

from importlib.util import find_spec
from pathlib import Path

ADAPTERS = Path("tictac_env", "text_players", "adapters")
LIBRARIES = {
    "mcp": "mcp_types",
    "openenv": "openenv",
    "reasoning_gym": "reasoning_gym",
    "skyrl": "skyrl_gym",
    "verifiers": "verifiers",
}
"""The library that each adapter needs, by its module; TRL's needs none."""

collect_ignore = [str(ADAPTERS / f"{name}.py") for name, library in LIBRARIES.items() if find_spec(library) is None]
