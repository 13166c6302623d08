"""The file that a training is saved to now and then, and at its end."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tictac_env.storage import check_writable


class Checkpoint:
    """Saves what is learned, and loses nothing of it where a disk is full.

    Args:
        save: writes everything to a file, whole or not at all.
        path: the file; None to save nothing.
        seconds: the time between two saves, at least.

    Raises:
        OSError: the file cannot be written: told before anything is learned.
    """

    def __init__(
        self, save: Callable[[Path], None], path: str | os.PathLike[str] | None, seconds: float = 60.0
    ) -> None:
        self._save, self._path, self._seconds = save, None if path is None else Path(path), seconds
        if self._path is not None:
            check_writable(self._path)
        self._due = time.monotonic() + seconds

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        return self._path is not None and time.monotonic() >= self._due

    def save_if_due(self) -> None:
        """Saves if it is time to; what cannot be saved now is told, and saved later."""
        if self._path is None or not self.due:
            return
        try:
            self._save(self._path)
        except OSError as error:
            print(f"not saved, will try again in {self._seconds:g} s: {error}", file=sys.stderr)
        self._due = time.monotonic() + self._seconds

    def save_at_the_end(self) -> None:
        """Saves; where the file cannot be written, in the system's folder for temporary files.

        Raises:
            OSError: the file cannot be written; the message says where what is learned is instead.
        """
        if self._path is None:
            return
        try:
            self._save(self._path)
        except OSError as error:
            try:
                kept = Path(tempfile.mkdtemp(prefix="tictac-")) / self._path.name
                self._save(kept)
            except OSError:
                raise error from None
            raise OSError(f"{error}; what is learned is in {kept} instead") from error
