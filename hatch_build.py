"""Writes README.md into the metadata of the wheel and the sdist, as the package index shows it: with absolute links.

In the repository they are relative, so that they are right in every clone and fork.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)")
"""A link or a picture in Markdown: what stands before its address, and the address."""


class ReadmeHook(MetadataHookInterface):
    """Fills the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Reads README.md and completes its addresses: the repository's, at the tag of the version."""
        source, tag = metadata["urls"]["Source"], f"v{metadata['version']}"

        def complete(link: re.Match[str]) -> str:
            kind = "raw" if link[1].startswith("!") else "blob"
            return link[1] + urljoin(f"{source}/{kind}/{tag}/README.md", link[2])

        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": LINK.sub(complete, text)}
