"""An audit as HTML: a fragment for notebooks, and a page of its own that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from tictac_env.arena.audits.text import KINDS, SEATS, how_found, in_words, known_game, mistakes_reached
from tictac_env.arena.verdict_html import beaten_by, lost_game, page, table

if TYPE_CHECKING:
    from tictac_env.arena.audits.record import Audit

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; font-family: system-ui, sans-serif; }}
body {{ max-width: 70rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }}
</style>
</head>
<body>
{content}
</body>
</html>
"""


def audit_page(found: Audit) -> str:
    """The record as an HTML file."""
    title = escape(f"{found.player['name']} on {found.game}")
    return PAGE.format(title=title, content=audit_html(found))


def audit_html(found: Audit) -> str:
    """The record as a fragment: the verdict, the lost games as boards, the measures and the matches."""
    player = found.player
    title = f"{player['name']} ({player['agent']}) on {found.game}"
    who = [("search", player["budget"]), ("made from", f"{player['kind']}: {player['source']}")]
    who += [("sha256", player["checkpoint_sha256"])] if player["checkpoint_sha256"] else []
    who += [("judged by", f"tictac-env {found.version}, seed {found.seed}")]
    return page(title, ("", ""), who, [*_verdict(found), *_measures(found), *_matches(found)])


def _verdict(found: Audit) -> Iterator[str]:
    if not found.verdict:
        return
    beside = f"; exploitability {found.verdict['exploitability']:.5f}" if "exploitability" in found.verdict else ""
    yield _heading(f"Verdict ({found.verdict['method']}; {found.verdict['basis']}){beside}")
    seats = [found.verdict[name] for name in SEATS]
    shares = [key for key in seats[0] if key.startswith("v ")]
    rows = [
        (
            name,
            _beaten(seat),
            *(" / ".join(f"{100 * share:.3f}" for share in seat[key]) for key in shares),
        )
        for name, seat in zip(SEATS, seats, strict=True)
    ]
    yield table(("plays", "can be beaten", *(f"{key}, W/D/L %" for key in shares)), rows)
    game = known_game(found.game)
    for name, seat in zip(SEATS, seats, strict=True):
        if game is not None:
            yield lost_game(name.removeprefix("as "), seat.get("losing line"), game)
        if how := how_found(seat):
            yield f"<p>{escape(f'{name}: {how}')}</p>"


def _beaten(seat: Mapping[str, Any]) -> str:
    if seat.get("infallible") is None:
        return "not known"
    return beaten_by(seat.get("losing line"), seat.get("given away"))


def _measures(found: Audit) -> Iterator[str]:
    if not found.suite:
        return
    yield _heading(f"Moves on {found.suite['name']} ({found.suite['basis']}), with 95 % intervals")
    for names in KINDS:
        groups = dict.fromkeys(one.among for one in found.measures if one.name in names)
        rows = []
        for among in groups:
            row = [found.measure(name, among) for name in names]
            rows.append((among, f"{row[0].positions:,}", *(in_words(one) for one in row)))
        if rows:
            yield table(("", "positions", *names), rows)
    if reached := mistakes_reached(found):
        yield f"<p>{escape(reached)}</p>"


def _matches(found: Audit) -> Iterator[str]:
    if found.matches:
        yield _heading("Games won/drawn/lost")
        rows = [(match["opponent"], *("/".join(map(str, match[name])) for name in SEATS)) for match in found.matches]
        yield table(("against", *SEATS), rows)


def _heading(text: str) -> str:
    return f'<p style="margin: 16px 0 4px"><b>{escape(text)}</b></p>'
