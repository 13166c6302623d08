"""Says what is installed here: versions, games, environments, policies, the cache of machine code, the machine."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gymnasium as gym
import pettingzoo

import tictac_env
from tictac_env.cli.arguments import add_json, print_json
from tictac_env.compiled.cache import CACHE_FOLDER, KEPT, VARIABLE
from tictac_env.games.registry import known_names
from tictac_env.policies import POLICIES

PACKAGES = {
    "": ("numpy", "gymnasium", "pettingzoo", "numba", "scipy", "rich"),
    "rl": ("torch", "stable-baselines3", "sb3-contrib", "tensorboard", "optuna"),
    "human": ("pygame-ce",),
    "video": ("moviepy", "pillow"),
    "web": ("starlette", "uvicorn"),
    "notebook": ("anywidget", "ipython"),
    "minari": ("minari", "pillow"),
    "plot": ("matplotlib",),
    "onnx": ("onnxruntime",),
    "openspiel": ("open-spiel",),
    "cluster": ("ray",),
}
"""What the package builds on, by the extra that installs it; "" for what is always there."""

EXAMPLES = """examples:

  tictac info
  tictac info --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Prints what is installed."""
    found = information()
    if options.json:
        print_json(found)
    else:
        print("\n".join(_lines(found)))
    return 0


def information() -> dict[str, Any]:
    """What is installed, as JSON can hold it; the version of a package that is missing is None."""
    folder = Path(CACHE_FOLDER)
    return {
        "version": tictac_env.__version__,
        "folder": str(Path(tictac_env.__file__).parent),
        "python": platform.python_version(),
        "packages": {extra: {name: _version(name) for name in names} for extra, names in PACKAGES.items()},
        "games": known_names(),
        "gymnasium": _ours(gym.registry),
        "pettingzoo": _ours(pettingzoo.aec_registry),
        "policies": list(POLICIES),
        "cache": {
            "folder": str(folder),
            "kept": KEPT,
            "megabytes": _megabytes(folder),
            "megabytes_of_other_versions": _megabytes(folder.parent) - _megabytes(folder) if KEPT else 0.0,
        },
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"tictac-env {found['version']}, in {found['folder']}"
    yield f"Python {found['python']}; {found['system']}, {found['processor']}, {found['cores']} cores"
    for extra, packages in found["packages"].items():
        told = ", ".join(f"{name} {number or 'missing'}" for name, number in packages.items())
        missing = f'; pip install "tictac-env[{extra}]"' if extra and None in packages.values() else ""
        yield f"{extra or 'base'}: {told}{missing}"
    for name in ("games", "gymnasium", "pettingzoo", "policies"):
        yield f"{name}: {', '.join(found[name])}"
    cache = found["cache"]
    yield f"cache: {cache['folder']}, {cache['megabytes']:.1f} MB" + (
        "" if cache["kept"] else f"; not kept, set {VARIABLE}"
    )
    if cache["megabytes_of_other_versions"]:
        other = cache["megabytes_of_other_versions"]
        yield f"  other folders beside it are of other versions, {other:.1f} MB, and may be deleted"


def _ours(registry: Mapping[str, Any]) -> list[str]:
    return [name for name, spec in registry.items() if str(spec.entry_point).startswith("tictac_env.")]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _megabytes(folder: Path) -> float:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return round(size / 1e6, 3)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):  # not Linux
        return platform.processor()
