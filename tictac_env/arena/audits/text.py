"""An audit as text: figures in lines and tables, and the games that beat the player, board by board."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tictac_env.arena.outcomes import percentage
from tictac_env.games import Game, get_game
from tictac_env.render.text import render_game_text

if TYPE_CHECKING:
    from tictac_env.arena.audits.record import Audit, Measure

SEATS = ("as first", "as second")
NOT_TOLD = ("intervals", "walked", "shortest", "given away")
"""What a seat's line leaves out: what stands below it says the last three."""
KINDS = (("mistakes", "perfect", "regret"), ("wins", "speed", "resistance"))
"""The names of the measures, in the tables they stand in."""


def audit_text(found: Audit) -> str:
    """The whole record."""
    return "\n".join(_lines(found))


def how_found(seat: Mapping[str, Any]) -> str:
    """How the losing line of a seat on a large game was found, or how far it was looked for; "" on a small one."""
    if "walked" not in seat:
        return ""
    walked = seat["walked"]
    asked = f"every reply to its first {walked['plies']} moves played, {walked['positions']:,} positions"
    if seat["infallible"]:
        return f"never loses, every reply played, {walked['positions']:,} positions"
    if seat["losing line"] is None:
        return f"no game lost: {asked}, and one game against perfect play"
    return "no shorter game beats it" if seat["shortest"] else f"a game lost to perfect play; no shorter one: {asked}"


def mistakes_reached(found: Audit) -> str:
    """Whether the player's own play leads to its mistakes; "" if that is not known, or it makes none."""
    about = found.suite or {}
    erring, reached = about.get("erring"), about.get("erring reached")
    if not erring or reached is None:
        return ""
    some = "none" if reached == 0 else f"{reached:,}"
    return f"of the {erring:,} positions in which it errs, its own play leads to {some}, whatever the replies"


def known_game(name: str) -> Game | None:
    """The game of that name, to draw boards of; None for one that is not registered here."""
    try:
        return get_game(name)
    except ValueError:
        return None


def _lines(found: Audit) -> Iterator[str]:
    player = found.player
    yield f"{player['name']} ({player['agent']}) on {found.game}; tictac-env {found.version}"
    yield f"  search: {player['budget']}"
    if player["checkpoint_sha256"]:
        yield f"  file: {player['source']}, sha256 {player['checkpoint_sha256'][:16]}"
    if found.verdict:
        yield f"  verdict ({found.verdict['method']}; {found.verdict['basis']}):"
        for name in SEATS:
            seat = found.verdict[name]
            told = {key: value for key, value in seat.items() if key not in NOT_TOLD and value is not None}
            yield f"    {name}: {'; '.join(f'{key} {_told(value)}' for key, value in told.items())}"
        if "exploitability" in found.verdict:
            yield f"    exploitability {found.verdict['exploitability']:.5f}"
        for name in SEATS:
            yield from _lost_game(found, name)
    if found.suite:
        yield f"  {found.suite['name']}, sha256 {found.suite['sha256'][:16]}; {found.suite['basis']}:"
        yield from _table(found.measures)
        if reached := mistakes_reached(found):
            yield f"    {reached}"
    for match in found.matches:
        seats = ", ".join(f"{name} {'/'.join(map(str, match[name]))}" for name in SEATS)
        yield f"  games won/drawn/lost v {match['opponent']}: {seats}"
    yield f"  {found.seconds:.1f} s"


def _lost_game(found: Audit, name: str) -> Iterator[str]:
    """The boards of the game that beats the player in a seat, and how it was found."""
    seat = (found.verdict or {})[name]
    line, how = seat.get("losing line"), how_found(seat)
    game = known_game(found.game)
    if line is not None:
        told = "; ".join(part for part in (seat.get("given away"), how) if part)
        yield f"  {name} it loses {line}{told and f' ({told})'}{'' if game is None else ':'}"
        shown = "" if game is None else render_game_text(game, line)
        yield from (f"    {row}".rstrip() for row in shown.splitlines())
    elif how:
        yield f"  {name}: {how}"


def _told(value: Any) -> str:
    if isinstance(value, list):
        return " / ".join(f"{100 * share:.3f}" for share in value) + " %"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(measures: Sequence[Measure]) -> Iterator[str]:
    """The measures as lines, the groups of positions down and the names across; in parentheses the 95 % interval."""
    for names in KINDS:
        found: Mapping[tuple[str, str], Measure] = {(m.among, m.name): m for m in measures if m.name in names}
        if not found:
            continue
        yield f"    {'':10}{'positions':>10}" + "".join(f"{name:>22}{'x random':>9}" for name in names)
        for among in dict.fromkeys(key[0] for key in found):
            row = [found[among, name] for name in names]
            yield f"    {among:10}{row[0].positions:>10,}" + "".join(_cells(one) for one in row)


def _cells(measure: Measure) -> str:
    relative = "-" if measure.relative is None else f"{measure.relative:.2f}"
    return f"{in_words(measure):>22}{relative:>9}"


def in_words(measure: Measure) -> str:
    """A figure with its 95 % interval, as in "12.3 % (11.9-12.8)"; "-" where there is none."""
    if measure.value is None or measure.low is None or measure.high is None:
        return "-"
    if measure.name == "regret":
        return f"{measure.value:.3f} ({measure.low:.3f}-{measure.high:.3f})"
    return percentage(measure.value, (measure.low, measure.high))
