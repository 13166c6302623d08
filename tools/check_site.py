"""Checks the built site: the pages load nothing from elsewhere, and every link within it leads somewhere.

    python tools/check_site.py build/site

Zensical checks links between Markdown pages. This checks the HTML, with the parts of the theme, the docstrings and the
notebooks, and llms.txt.
"""

from __future__ import annotations

import argparse
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED_RELATIONS = {
    "stylesheet",
    "icon",
    "preload",
    "modulepreload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "manifest",
}
"""The relations by which <link> has a browser load or contact something. Others, such as "canonical", only name it."""
ADDRESS = re.compile(r"(?:https?:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"""(?:url\(\s*['"]?|@import\s+['"])((?:https?:)?//[^'")\s]+)""", re.IGNORECASE)
LISTED = re.compile(r"^- \[.*\]\((\S+)\)$", re.MULTILINE)
"""A page in llms.txt."""
DRAWN_BY_SCRIPT = re.compile(r"""class="[^"]*\bmermaid\b""")
"""Diagrams for which the theme's script loads a program from elsewhere."""


class Contents(HTMLParser):
    """The addresses that a page loads, its links and its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes a tag's addresses."""
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        self.loads += [given[name] for name in ("src", "poster", "data") if given.get(name) and tag != "param"]
        self.loads += [part.split()[0] for part in given.get("srcset", "").split(",") if part.strip()]
        self.loads += IN_STYLES.findall(given.get("style", ""))
        if tag == "link" and LOADED_RELATIONS & set(given.get("rel", "").lower().split()):
            self.loads.append(given.get("href", ""))
        if tag in ("a", "area") and "href" in given:
            self.links.append(given["href"])
        if tag in ("image", "use"):
            self.loads += [given[name] for name in ("href", "xlink:href") if given.get(name)]


@cache
def contents(page: Path) -> Contents:
    """The contents of a page of the site."""
    found = Contents()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def faults(site: Path) -> list[str]:
    """The faults of a site, a line each."""
    site = site.resolve()
    found = []
    for page in sorted(site.rglob("*.html")):
        name, text = page.relative_to(site), page.read_text(encoding="utf-8")
        elsewhere = [*contents(page).loads, *IN_STYLES.findall(text)]
        found += [f"{name} loads {address}" for address in dict.fromkeys(elsewhere) if ADDRESS.match(address)]
        if DRAWN_BY_SCRIPT.search(text):
            found.append(f"{name} has a diagram for which a script is loaded from elsewhere")
        local = [address for address in contents(page).loads if not ADDRESS.match(address)]
        for address in dict.fromkeys([*contents(page).links, *local]):
            if page.name != "404.html" and (why := broken(address, page, site)):
                found.append(f"{name} links to {address}: {why}")
    for style in sorted(site.rglob("*.css")):
        addresses = IN_STYLES.findall(style.read_text(encoding="utf-8"))
        found += [f"{style.relative_to(site)} loads {address}" for address in addresses]
    if (listing := site / "llms.txt").exists():
        listed = LISTED.findall(listing.read_text(encoding="utf-8"))
        found += [
            f"llms.txt links to {address}: {why}" for address in listed if (why := broken(address, listing, site))
        ]
    return found


def broken(address: str, page: Path, site: Path) -> str:
    """The fault of a link within the site; "" if it leads somewhere, or out of the site."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return ""
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site) or not target.exists():
        return "there is no such file"
    if "=" in parts.fragment:  # a game on the page to play on, which is no anchor
        return ""
    if parts.fragment and target.suffix == ".html" and parts.fragment != "__top":
        return "" if unquote(parts.fragment) in contents(target).anchors else "there is no such anchor"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="the folder of the built site")
    site = parser.parse_args().site
    if not (site / "index.html").exists():
        raise SystemExit(f"{site}: there is no index.html; run make docs")
    if wrong := faults(site):
        raise SystemExit("\n".join([*wrong, f"{len(wrong)} faults"]))
    print(
        f"{site}: {len(list(site.rglob('*.html')))} pages load nothing from elsewhere, and every link leads somewhere"
    )


if __name__ == "__main__":
    main()
