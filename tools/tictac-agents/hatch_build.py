"""Has `tictac-agents` need `tictac-env` of the same version."""

from __future__ import annotations

from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class DependencyHook(MetadataHookInterface):
    """Fills the field `dependencies`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Names the version, which is the distribution's own."""
        metadata["dependencies"] = [f"tictac-env=={metadata['version']}"]
