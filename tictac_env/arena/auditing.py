"""Audits: one record of how good any player is."""

from __future__ import annotations

import json
import math
import os
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import tictac_env
from tictac_env.arena.outcomes import percentage
from tictac_env.arena.results import GAMES, MAX_POSITIONS, exact_results
from tictac_env.arena.suites import MoveAccuracy, Suite, all_positions, as_suite, move_accuracy, suite
from tictac_env.arena.tournament import drawing_in_words, play_match
from tictac_env.arena.verdicts import BASES, V_BEST, Strategy, fixed_actions, given_away, strategies_of, verdict_of
from tictac_env.checks import SEATS, flag, positive, whole
from tictac_env.games import Game, game_name
from tictac_env.policies import Player, Policy, Reading, game_for, load_player, make_policy
from tictac_env.policies.policy import action_of
from tictac_env.position import IllegalMove, Position, format_moves
from tictac_env.position_batch import PositionBatch
from tictac_env.render.text import render_game_text
from tictac_env.rng import position_seed
from tictac_env.solver.book import opening_book_of
from tictac_env.solver.enumerate import TooManyPositions
from tictac_env.storage import read_json, save_text

REPORTING = {"ConnectFour-v0": "C4-Exact-v1", "TicTacToe-v0": "TTT-Exact-v1"}
"""The suite by which the players of a game are judged."""
MOST_POSITIONS = 10_000
"""Number of positions drawn of a game that has no suite but can be tabulated, if it has more."""
AS_SEATS = tuple(f"as {name}" for name in SEATS)
OMITTED = ("intervals", "walked", "shortest", "given away")
"""Parts of a seat's verdict that its line omits: the lines below it have the last three."""
TERMS = f"{V_BEST}; gain: what the best reply earns beyond the game's value; exploitability: the mean of both gains"
CARD, RECORD = "README.md", "verdict.json"
MADE_BY = f"`{RECORD}` has every figure. `tictac audit` of tictac-env made both."


@dataclass(frozen=True)
class Measure:
    """One figure with its 95 % interval.

    Attributes:
        name: "mistakes", "perfect" or "regret" (see `Accuracy`).
        among: the positions: "all", "critical", or a phase of the game.
        positions: how many there are.
        value: the figure; None if there are no positions.
        low: the lower end of its interval.
        high: the upper end.
        random: what random play reaches on the same positions.

    Example:
        >>> from tictac_env import audit
        >>> measure = audit("rule", exact=False, progress=False).measures[0]
        >>> measure.name, measure.among
        ('mistakes', 'all')
    """

    name: str
    among: str
    positions: int
    value: float | None
    low: float | None
    high: float | None
    random: float | None

    @property
    def relative(self) -> float | None:
        """The figure as a multiple of random's; None if that is 0."""
        return None if self.value is None or not self.random else self.value / self.random

    def __str__(self) -> str:
        """The figure with its 95 % interval, as in "12.3 % (11.9-12.8)"; "-" if there is none."""
        if self.value is None or self.low is None or self.high is None:
            return "-"
        if self.name == "regret":
            return f"{self.value:.3f} ({self.low:.3f}-{self.high:.3f})"
        return percentage(self.value, (self.low, self.high))


@dataclass(frozen=True)
class Audit:
    """The record of how good a player is. Everything in it is what JSON can hold.

    Attributes:
        player: `Player.identity`, with the settings, the hash of its file, and its search budget.
        game: the game's name.
        version: the version of this package.
        seed: what seeds and samples were derived from.
        verdict: the numbers of `tictac_env.verdict`, or on a large game those of `exact_results` against perfect play;
            None if it was not asked for, or on a large game that has no opening book. "method" and "basis" say how it
            was found. "as first" and "as second" have, by opponent, the shares of games won, drawn and lost. On a small
            game they also have "infallible", the shortest game that the player loses, and what the best reply gains; on
            a large one the mean ply at which games are decided and, if they were sampled, the 95 % "intervals" of the
            three shares. "given away" is the move that lost the losing line (None if none did). On a large game
            "infallible" is None if it is not known (also on a small one, if the player answers differently when it is
            asked again and these answers are not beaten), "walked" has how far every reply was played ("plies" of the
            player's, "positions" of them), and "shortest" is true if the losing line is known to be a shortest one.
        suite: the name, the hash ("sha256") and the number of "positions" of the suite, and what the moves were judged
            by ("basis"); None if there was none. If every reply was walked, "erring" counts the positions in which the
            player may err, and "erring reached" those of them to which its own play leads in either seat.
        measures: the figures on the suite.
        matches: for each match the "opponent", "as first" and "as second", games won, drawn and lost, and "drawing",
            the names of those who answer differently when they are asked again: the seed does not repeat their games.
        seconds: how long it took (wall-clock).
        answers: of a language model the number of "positions" that it was asked about; whether it was asked about one
            of those that are images of each other ("symmetric"); the "counts" of its answers (`AnswerCounts`) among
            "all" and in each phase; "near misses", the wrong answers in which a lenient reader would find a legal move,
            with "examples"; and the path of the "transcript", None if there is none. None of other players.

    Example:
        >>> from tictac_env import audit
        >>> found = audit("rule", exact=False, progress=False)
        >>> found.game, len(found.measures) > 3
        ('TicTacToe-v0', True)
    """

    player: dict[str, Any]
    game: str
    version: str
    seed: int
    verdict: dict[str, Any] | None
    suite: dict[str, Any] | None
    measures: tuple[Measure, ...]
    matches: tuple[dict[str, Any], ...]
    seconds: float
    answers: dict[str, Any] | None = None

    def measure(self, name: str, among: str = "all") -> Measure:
        """One of the figures.

        Raises:
            KeyError: there is none of that name among these positions.
        """
        for found in self.measures:
            if (found.name, found.among) == (name, among):
                return found
        raise KeyError(f"no {name!r} among {among!r}; there are {sorted({(m.name, m.among) for m in self.measures})}")

    def to_json(self) -> str:
        """The record as JSON: an object with the attributes above, the measures as a list of objects."""
        return json.dumps(asdict(self), indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Audit:
        """The record that `to_json` wrote.

        Raises:
            ValueError: it is not one.
        """
        try:
            found = read_json(text)
            measures = tuple(Measure(**one) for one in found.pop("measures"))
            return cls(measures=measures, matches=tuple(found.pop("matches")), **found)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is not the JSON of an audit: {error}") from None

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = 100) -> str:
        """The record as lines of at most `width` characters, if that is 72 or more; names and paths are not broken."""
        return "\n".join(part for line in _lines(self, width) for part in _wrapped(line, width))

    def to_markdown(self) -> str:
        """The record as a Markdown page: a title, a sentence for each seat, and the text."""
        lines = [f"# {self.player['name']} on {self.game}", ""]
        for name in AS_SEATS:
            seat = (self.verdict or {}).get(name, {})
            if seat.get("infallible"):
                lines.append(f"{name.capitalize()} player it cannot be beaten: every reply was played.")
            elif seat.get("losing line"):
                lines.append(f"{name.capitalize()} player it can be beaten, by {seat['losing line']}.")
        return "\n".join([*lines, "", "```text", str(self), "```", "", MADE_BY, ""])


def audit(
    player: Any,
    game: str | Game | None = None,
    suite: Suite | str | None = None,
    opponents: Sequence[Any] = (),
    games: int = 100,
    exact: bool = True,
    seed: int = 0,
    progress: bool = True,
    max_positions: int = MAX_POSITIONS,
    exact_games: int = GAMES,
    replies: int = 10_000,
    reading: Reading | None = None,
    symmetric: bool = True,
) -> Audit:
    """Judges any player, and returns one record of it.

    The record has the exact verdict (`verdict`); the mistakes, perfect moves and regret on the game's reporting suite,
    by phase and next to random's (`move_accuracy`); and, if opponents are given, its results in matches (`play_match`).
    Every figure but those of matches is judged by exact values.

    Args:
        player: whatever `load_player` accepts: a policy's name, an agent's file, a zip file of Stable-Baselines3, a
            "module:name", a function, a model, a policy, a third-party network, submission or program.
        game: a game's name or rule book; None for the agent's own (`own_game`), else tic-tac-toe.
        suite: the positions to judge its moves on: a `Suite`, the name of one or a file; None for the game's own
            reporting suite. A game that has none but can be tabulated is judged on all its positions, or on 10,000
            drawn by the seed; on other games these measures are left out.
        opponents: the opponents of matches: whatever `as_policy` accepts.
        games: how many games a match has, the seats swapped after each.
        exact: ask for the verdict.
        seed: seeds of moves, samples and matches are derived from it.
        progress: show progress bars.
        max_positions: how many positions are followed on a large game, for each seat; beyond that it is sampled.
        exact_games: how many games are drawn then.
        replies: on a large game the shortest game that the player loses is sought by playing every reply to it, ply by
            ply (`prove`), up to this number of positions for each seat; if none is found, it plays one game against
            perfect play. 0 for no search.
        reading: how to read a third-party player that does not say it (see `load_player`).
        symmetric: a language model (`TextPolicy`) is asked about one of the positions that are images of each other
            under the symmetries of the board, and plays the image of its answer in the others: about 627 of
            tic-tac-toe's 4,520. False asks about all of them. Other players are asked about all in any case.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the player, the game or the suite is unknown, damaged, or of another game; or an argument is out of
            its range.
        IllegalMove: the player's choice is illegal; the message names it and the position.

    Example:
        >>> found = audit("rule", "TicTacToe-v0", progress=False)
        >>> found.verdict["as second"]["losing line"], round(found.measure("mistakes").value, 3)
        ('1564329', 0.054)
    """
    began = time.monotonic()
    rules = game_for(game, player)
    positive("games", games)
    positive("max_positions", max_positions)
    positive("exact_games", exact_games)
    whole("replies", replies)
    flag("symmetric", symmetric)
    judged = load_player(player, rules, reading)
    scored = _suite_of(rules, suite, seed)
    policy = judged.policy.under_judgement(seed, symmetric, progress)
    if policy is not judged.policy and scored is not None:  # all at once, and the verdict finds its answers
        policy.act_many(scored.positions, np.zeros(len(scored), np.int64))
    truth, about, measures, walked = None, None, list[Measure](), list[Strategy]()
    if exact and opening_book_of(rules) is not None:  # too many positions to walk; without a book, too many to solve
        truth = _results(policy, rules, seed, max_positions, exact_games, progress)
        for seat, name in enumerate(AS_SEATS if replies else ()):
            truth[name] |= lost_game(replace(judged, policy=policy), rules, seat, seed, replies, progress)
    elif exact:
        with suppress(TooManyPositions):
            basis, *walked = strategies_of(policy, rules, seed)
            truth = _verdict(policy, basis, walked)
    if scored is not None:
        accuracy = move_accuracy(policy, scored, rules, seed=seed, progress=progress)
        about = {"name": scored.name, "sha256": scored.sha256, "positions": len(scored), "basis": accuracy.basis}
        if walked:
            about |= _erring(accuracy, walked)
        for among, rates in {"all": accuracy.overall, "critical": accuracy.critical, **accuracy.by_phase}.items():
            for name in ("mistakes", "perfect", "regret"):
                numbers = (None if math.isnan(number) else float(number) for number in getattr(rates, name))
                measures.append(Measure(name, among, rates.positions, *numbers))
    matches = [play_match(judged.policy, opponent, rules, games, seed) for opponent in opponents]
    return Audit(
        player=judged.identity,
        game=game_name(rules) or repr(rules),
        version=tictac_env.__version__,
        seed=seed,
        verdict=truth,
        suite=about,
        measures=tuple(measures),
        matches=tuple(
            {
                "opponent": m.opponent,
                "as first": list(m.as_first),
                "as second": list(m.as_second),
                "drawing": list(m.drawing),
            }
            for m in matches
        ),
        seconds=round(time.monotonic() - began, 3),
        answers=policy.answers_report(rules),
    )


def _suite_of(game: Game, given: Suite | str | None, seed: int) -> Suite | None:
    if given is not None:
        return as_suite(given, game)
    if (known := REPORTING.get(game_name(game) or "")) is not None:
        return suite(known)
    try:
        found = all_positions(game)
    except TooManyPositions:
        return None
    if len(found) <= MOST_POSITIONS:
        return found
    rows = np.sort(np.random.default_rng(seed).permutation(len(found))[:MOST_POSITIONS])
    return Suite(f"{MOST_POSITIONS:,} of {found.name}", found.positions.where(rows), found.scores[rows], {"seed": seed})


def _erring(accuracy: MoveAccuracy, walked: Sequence[Strategy]) -> dict[str, int]:
    """The number of positions in which a policy may err, and of those that its own play in either seat leads to."""
    table, batch = walked[0].table, accuracy.batch.where(accuracy.mistake_shares > 0)
    rows = [table.index[stones] for stones in zip(batch.own.tolist(), batch.opp.tolist(), strict=True)]
    reached = sum(bool(walked[table.seat[row]].reached[row]) for row in rows)
    return {"erring": len(rows), "erring reached": reached}


def _verdict(policy: Policy, basis: str, walked: Sequence[Strategy]) -> dict[str, Any]:
    truth = verdict_of(policy, basis, *walked)
    seats = {
        name: {
            "infallible": None if basis == "draws its moves" and seat.unbeatable else seat.unbeatable,
            "losing line": seat.losing_line,
            "given away": seat.given_away,
            "v random": list(seat.against_random),
            "v best": list(seat.against_best),
            "gain": seat.gain,
        }
        for name, seat in zip(AS_SEATS, (truth.as_first, truth.as_second), strict=True)
    }
    method = {"method": "every reply walked", "basis": truth.basis, "exploitability": truth.exploitability}
    return method | seats


def _results(policy: Policy, game: Game, seed: int, max_positions: int, games: int, progress: bool) -> dict[str, Any]:
    found = exact_results(policy, "perfect", game, seed, max_positions, games, progress)
    seats = {
        name: {
            f"v {found.opponent}": list(seat.shares),
            "intervals": None if seat.exact else [list(interval) for interval in seat.intervals],
            "decided after plies": seat.plies,
        }
        for name, seat in zip(AS_SEATS, (found.as_first, found.as_second), strict=True)
    }
    sampled = max(found.as_first.games, found.as_second.games)
    method = f"sampled, {sampled:,} games" if sampled else "all games followed"
    return {"method": method, "basis": found.basis} | seats


def lost_game(player: Player, game: Game, seat: int, seed: int, max_positions: int, progress: bool) -> dict[str, Any]:
    """The game that beats a player from a seat, or how far none does.

    Ply by ply every reply is played, so the first loss found is a shortest one. If that would ask about too many
    positions, the player plays one game against perfect play instead. It is taken as a fixed map: each position's seed
    is derived from the position and `seed`. One that answers differently when it is asked again only plays that one
    game. A game that it forfeits (`Policy.forfeits`) is lost, too.

    Args:
        player: the player.
        game: a registered game that has an opening book.
        seat: 0 if the player plays first, 1 if second.
        seed: see above.
        max_positions: the most positions it is asked about, but for that one game.
        progress: show progress.

    Returns:
        "infallible" (None if it is not known), "losing line" (None if none is known), "given away" (the move that lost
        it, None if none did), "shortest", and "walked": to how many "plies" of the player's every reply was played, at
        how many "positions".

    Raises:
        IllegalMove: the player's choice is illegal; the message names it and the position.
    """
    from tictac_env.arena.proof import NoFixedMap, prove  # these two are compiled, which other measures do not need
    from tictac_env.solver.exact import shared_solver

    try:
        found = prove(player, seat, game, seed=seed, max_positions=max_positions, progress=progress)
        line, holds, complete = next(iter(found.refutations), None), found.holds, found.complete
        walked = {"plies": len(found.plies), "positions": found.positions}
    except NoFixedMap:
        line, walked, holds, complete = None, {"plies": 0, "positions": 0}, False, False
    except IllegalMove:
        if not player.policy.forfeits:
            raise
        line, walked = _forfeited_game(player.policy, game, seat, seed)
        holds = complete = False
    shortest = line is not None
    if line is None and not complete:
        line = _lost_to_perfect_play(player.policy, game, seat, seed)
    blunder = None
    if line is not None:
        solver = shared_solver(game)
        moves = Position.from_moves(game, line).moves
        blunder = given_away(game, moves, seat, lambda position: solver.solve(position, weak=True).action_scores)
    return {
        "infallible": False if line is not None else holds or None,
        "losing line": line,
        "given away": blunder,
        "shortest": shortest,
        "walked": walked,
    }


def _forfeited_game(policy: Policy, game: Game, seat: int, seed: int) -> tuple[str, dict[str, int]]:
    """A shortest game that a policy, as a fixed map, forfeits, if it loses no shorter one, and what was "walked"."""
    start = Position.start(game)
    asked = [start.play(action) for action in start.legal_actions] if seat else [start]
    walked = {"plies": 0, "positions": 0}
    while True:
        actions = fixed_actions(policy, PositionBatch.of(asked), seed).tolist()
        walked = {"plies": walked["plies"] + 1, "positions": walked["positions"] + len(asked)}
        for position, action in zip(asked, actions, strict=True):
            if action < 0:
                return position.to_moves(), walked
        moved = [position.play(action) for position, action in zip(asked, actions, strict=True)]
        replied = [after.play(reply) for after in moved if not after.is_over for reply in after.legal_actions]
        asked = list({(end.own, end.opp): end for end in replied if not end.is_over}.values())


def _lost_to_perfect_play(policy: Policy, game: Game, seat: int, seed: int) -> str | None:
    """The game between a policy, as a fixed map, and perfect play, if the policy loses or forfeits it."""
    sides = [policy, make_policy("perfect", game)]
    position = Position.start(game)
    while not position.is_over:
        side = sides[position.seat ^ seat]
        try:
            action = action_of(side, position, position_seed(position.own, position.opp, seed))
        except IllegalMove:
            if not side.forfeits:
                raise
            return format_moves(game, position.moves)
        position = position.play(action)
    lost = position.outcome is not None and position.outcome.winner == 1 - seat
    return format_moves(game, position.moves) if lost else None


def _lines(found: Audit, width: int) -> Iterator[str]:
    player = found.player
    yield f"{player['name']} ({player['agent']}) on {found.game}; tictac-env {found.version}"
    yield f"  search: {player['budget']}"
    if player["checkpoint_sha256"]:
        yield f"  file: {player['source']}, sha256 {player['checkpoint_sha256'][:16]}"
    if found.verdict:
        yield f"  verdict ({found.verdict['method']}; {found.verdict['basis']}):"
        for name in AS_SEATS:
            shown = {key: value for key, value in found.verdict[name].items() if key not in OMITTED}
            parts = [
                f"{key.replace('infallible', 'unbeatable')} {_in_words(value)}"
                for key, value in shown.items()
                if value is not None
            ]
            yield f"    {name}: {'; '.join(parts)}"
        if "exploitability" in found.verdict:
            yield f"    exploitability {found.verdict['exploitability']:.5f}"
            yield f"    ({TERMS})"
        if found.verdict["basis"] == "draws its moves":
            yield f"    ({BASES['draws its moves']})"
        for name in AS_SEATS:
            yield from _lost_game_lines(found, name, width)
    if found.suite:
        yield f"  {found.suite['name']}, sha256 {found.suite['sha256'][:16]}; {found.suite['basis']}:"
        yield from _table(found.measures)
        erring, reached = found.suite.get("erring"), found.suite.get("erring reached")
        if erring and reached is not None:
            some = f"{reached:,}" if reached else "none"
            leads = f"its own play leads to {some}, whatever the replies"
            yield f"    of the {erring:,} positions in which it errs, {leads}"
    if found.answers:
        yield from answer_lines(found.answers)
    for match in found.matches:
        seats = ", ".join(f"{name} {'/'.join(map(str, match[name]))}" for name in AS_SEATS)
        yield f"  games won/drawn/lost v {match['opponent']}: {seats}{drawing_in_words(match['drawing'])}"
    yield f"  {found.seconds:.1f} s"


def _wrapped(line: str, width: int) -> list[str]:
    """A line, continued below it, indented by two more, if it is longer than `width`."""
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _lost_game_lines(found: Audit, name: str, width: int) -> Iterator[str]:
    """The boards of the game that beats the player in a seat, and how it was found."""
    seat = (found.verdict or {})[name]
    line, how = seat.get("losing line"), ""
    if "walked" in seat:  # on a large game
        plies, positions = seat["walked"]["plies"], seat["walked"]["positions"]
        asked = f"every reply to its first {plies} moves played, {positions:,} positions"
        if seat["infallible"]:
            how = f"never loses, every reply played, {positions:,} positions"
        elif line is None:
            how = f"no game lost: {asked}, and one game against perfect play"
        else:
            found_by_play = f"a game lost to perfect play; no shorter one: {asked}"
            how = "no shorter game beats it" if seat["shortest"] else found_by_play if plies else ""
    if line is None:
        if how:
            yield f"  {name}: {how}"
        return
    boards, blunder, forfeit = "", seat.get("given away") or "", ""
    with suppress(ValueError):  # the game is not registered here
        position = Position.from_moves(found.game, line)
        boards = render_game_text(position, width - 4)
        if not (position.is_over or "no legal move" in blunder):
            forfeit = "has no legal move in the end"
    why = "; ".join(part for part in (blunder, forfeit, how) if part)
    yield f"  {name} it loses {line}{why and f' ({why})'}{boards and ':'}"
    yield from (f"    {row}".rstrip() for row in boards.splitlines())


def _in_words(value: Any) -> str:
    if isinstance(value, list):
        return " / ".join(f"{100 * share:.3f}" for share in value) + " %"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(measures: Sequence[Measure]) -> Iterator[str]:
    """The measures as lines, of a width that any terminal has; in parentheses the 95 % interval."""
    yield f"    {'':10}{'':10}{'positions':>10}{'':>24}{'x random':>9}"
    for name in dict.fromkeys(one.name for one in measures):
        for one in measures:
            if one.name == name:
                times = "-" if one.relative is None else f"{one.relative:.2f}"
                yield f"    {name:10}{one.among:10}{one.positions:>10,}{one!s:>24}{times:>9}"


def save_card(found: Audit, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Writes a record into a folder, as "README.md" and "verdict.json"; returns their paths.

    Raises:
        ValueError: a file of that name is there and is no such page or record. Nothing is written.
    """
    card, record = Path(folder) / CARD, Path(folder) / RECORD
    if card.exists() and MADE_BY not in card.read_text("utf-8", errors="replace"):
        raise ValueError(f"{card} exists and was not written by tictac-env; not overwritten: give another folder")
    if record.exists():
        try:
            Audit.from_json(record.read_text("utf-8", errors="replace"))
        except ValueError:
            raise ValueError(f"{record} exists and is not an audit; not overwritten: give another folder") from None
    save_text(record, found.to_json() + "\n")
    save_text(card, found.to_markdown())
    return card, record


def answer_lines(report: Mapping[str, Any]) -> list[str]:
    """The lines of an `answers_report`, for people."""
    counts, near = report["counts"], report["near misses"]
    about = "one of the positions that are images of each other" if report["symmetric"] else "images of each other too"
    lines = [f"  answers about {report['positions']:,} positions ({about}):"]
    lines.append(f"    {'':10}{'positions':>10}{'answers':>10}{'unparsed':>10}{'illegal':>10}{'without a move':>16}")
    for among, found in counts.items():
        columns = "".join(f"{found[name]:>10,}" for name in ("moves", "answers", "unparsed", "illegal"))
        lines.append(f"    {among:10}{columns}{found['failures']:>16,}")
    if near:
        lines.append(f"    {near:,} wrong answers name a legal move that a lenient reader would take, as")
        lines += [
            f"      {one['answer']!r}, read as {one['read as']}, after {one['position'] or 'no moves'}"
            for one in report["examples"]
        ]
    if report["transcript"]:
        lines.append(f"    every answer: {report['transcript']}")
    return lines
