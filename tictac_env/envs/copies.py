"""Copies and pickles of an environment with an opponent: they go on with the same game."""

from __future__ import annotations

import copy
import io
from typing import Any, Self

import cloudpickle


class Trial(cloudpickle.CloudPickler):  # type: ignore[misc]  # cloudpickle ships no types
    """Finds out whether something can be pickled. Arrays and tensors, a model's bulk, are left out: they always can."""

    def persistent_id(self, thing: Any) -> str | None:
        return "array" if hasattr(type(thing), "__array__") else None


class SharesOpponent:
    """An environment whose copies share its opponent, since a model may be large, and copy everything else."""

    _opponent: Any
    _playing: Any = None
    """The opponent of this game: of a pool, the member that was drawn."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin: Self = object.__new__(type(self))
        for shared in (self._opponent, self._playing, getattr(self, "spec", None)):
            memo[id(shared)] = shared
        memo[id(self)] = twin
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled. It cannot know which pickler is at work, so it accepts whatever cloudpickle can pickle.

        Raises:
            TypeError: not even cloudpickle can pickle the opponent; the message names it.
        """
        try:
            Trial(io.BytesIO()).dump(self._opponent)
        except Exception as error:
            raise TypeError(
                f"the environment cannot be pickled, because its opponent {self._opponent} cannot: {error}"
            ) from error
        return self.__dict__
