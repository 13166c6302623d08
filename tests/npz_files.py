"""A checkpoint's JSON and arrays, read and written without our code."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def read(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The JSON and the arrays of a checkpoint."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("meta.json"))
    with np.load(path, allow_pickle=False) as file:
        return header, {name: file[name] for name in file.files if name != "meta.json"}


def write(path: Path, header: Any, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Writes a checkpoint of this JSON and these arrays."""
    np.savez(path, **arrays)  # type: ignore[arg-type]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("meta.json", json.dumps(header))
