"""A reader of HTML that is strict about its tags."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "input", "br"}


class Tags(HTMLParser):
    """Reads a page whose tags must match, and keeps its text, its links and its ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.texts, self.links, self.ids = list[str](), list[str](), list[str](), list[str]()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("link", "iframe", "object", "img", "image", "b&"), f"<{tag}> may need another file"
        assert len({name for name, _ in attrs}) == len(attrs)
        self.links += [str(value) for name, value in attrs if name in ("src", "href", "srcset", "xlink:href")]
        self.ids += [str(value) for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.texts.append(data)
