"""Proofs that a fixed map never loses, or always wins: every reply to it is played, and nothing is sampled."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tictac_env.arena.basis import fixed_actions
from tictac_env.arena.reply_layers import (
    MOVES,
    Moves,
    distinct,
    first_positions,
    layer_files,
    layer_path,
    merged,
    position_files,
    read_positions,
    refuting_games,
    replies_of,
    write_positions,
)
from tictac_env.arena.typed_json import read_as
from tictac_env.arrays import Ints
from tictac_env.checks import SEATS, flag, one_of, positive, whole
from tictac_env.games import DRAWN, LOST, Game, describe_game, game_name, game_of
from tictac_env.jobs import Workers, joined, map_jobs
from tictac_env.policies import PlayerIdentity, PlayerLike, Policy, game_for, load_player
from tictac_env.policies.check_policy import DRAWS, advice_on_drawing, draws_its_moves
from tictac_env.policies.policy import illegal_choice
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import progress_bar
from tictac_env.storage import JsonObject, load_arrays, read_json, save_arrays, save_text, sha256, writing


class Chunk(NamedTuple):
    """Positions of a ply."""

    begin: int
    """Their first row in the ply."""
    own: Ints
    opp: Ints


class Answers(NamedTuple):
    """The moves of a chunk, and what follows them."""

    moves: Moves
    """int8, the player's, one for each position."""
    own: Ints
    """The distinct positions after the replies, in ascending order."""
    opp: Ints
    ends: tuple[int, int, int]
    """Numbers of games that end won, drawn and lost."""


@dataclass
class Asker:
    """Asks a player about chunks; in a worker it loads the player at the first.

    Attributes:
        player: whatever `load_player` accepts.
        identity: its `Player.identity`, so that no worker asks another player.
        game: the rule book.
        seed: each position's seed is derived from it.
        policy: the player itself; None in a worker.
    """

    player: PlayerLike
    identity: PlayerIdentity
    game: Game
    seed: int
    policy: Policy | None = None

    def __call__(self, chunk: Chunk) -> Answers:
        """Asks about a chunk.

        Raises:
            IllegalMove: the player's choice is illegal; the message names it and the position.
        """
        game, policy = self.game, self.policy
        if policy is None:
            who = load_player(self.player, game)
            if who.identity != self.identity:
                raise ValueError(f"{who} is another player in a worker than here: {who.identity}, not {self.identity}")
            self.policy = policy = who.policy
        batch = PositionBatch(game, np.array(chunk.own), np.array(chunk.opp))
        moves = fixed_actions(policy, batch, self.seed).astype(np.int8)
        replies = np.empty((2, len(batch) * game.num_actions), np.int64)
        after = replies_of(game, batch.own, batch.opp, moves, *replies)
        if (row := after.illegal) >= 0:
            raise illegal_choice(policy, batch[row], int(moves[row]))
        own, opp = distinct(*replies[:, : after.going])
        return Answers(moves, own, opp, (int(after.won), int(after.drawn), int(after.lost)))


CLAIMS = {"never loses": LOST, "wins": DRAWN}
"""The claims about a player, and the best end of a game that refutes each."""
CERTIFICATE = "proof.json"
KIND = "a chunk of a proof"
CHUNK = 1 << 16
"""Number of positions a player is asked about at a time, and done again after a kill."""


@dataclass(frozen=True)
class Ply:
    """The counts of one of the player's plies.

    Attributes:
        ply: the number of stones on the board.
        positions: the number of distinct positions that the replies to its earlier moves lead to.
        won: the number of games that it then wins, by the move or against a reply to it.
        drawn: of those that it draws.
        lost: of those that it loses.
        sha256: the hash of its positions and moves: of the files "ply-NN.own", ".opp" and ".moves", one after another.

    Example:
        >>> from tictac_env.arena import prove
        >>> ply = prove("minimax", 1, "TicTacToe-v0").plies[0]
        >>> ply.ply, ply.positions, ply.lost
        (1, 9, 0)
    """

    ply: int
    positions: int
    won: int
    drawn: int
    lost: int
    sha256: str


class NoFixedMap(ValueError):
    """A player that answers differently when it is asked again, of which nothing can be proven."""


@dataclass(frozen=True)
class Proof:
    """The certificate: what every reply to a player has shown.

    Attributes:
        player: its identity.
        game: the game, as `describe_game` gives it.
        cell_bits: for each row from the top and column from the left the number of the cell's bit, so that others can
            read the positions.
        seat: 0 if the player moves first, 1 if second.
        seed: each position's seed is derived from it, which makes the player a fixed map.
        claim: "never loses" or "wins".
        version: of this package.
        plies: the counts, ply by ply.
        next_sha256: the hash of the positions of the ply after them, of the files "ply-NN.own" and ".opp"; "" before
            the first ply.
        refutations: games against the claim, as move strings; none if it is proven.
        complete: True if every reply was played; False if as many refutations were found as were asked for, or the
            limit was reached.

    Example:
        >>> from tictac_env.arena import prove
        >>> proof = prove("rule", 1, "TicTacToe-v0")
        >>> proof.holds, proof.refutations
        (False, ('5437129',))
    """

    player: PlayerIdentity
    game: str | JsonObject
    cell_bits: tuple[tuple[int, ...], ...]
    seat: int
    seed: int
    claim: str
    version: str
    plies: tuple[Ply, ...] = ()
    next_sha256: str = ""
    refutations: tuple[str, ...] = ()
    complete: bool = False

    @property
    def holds(self) -> bool:
        """True if the claim is proven."""
        return self.complete and not self.refutations

    @property
    def proven(self) -> str:
        """The most that is proven: "wins", "never loses" or ""."""
        if not self.complete or any(ply.lost for ply in self.plies):
            return ""
        return "never loses" if any(ply.drawn for ply in self.plies) else "wins"

    @property
    def positions(self) -> int:
        """The number of distinct positions the player was asked about."""
        return sum(ply.positions for ply in self.plies)

    def __str__(self) -> str:
        game = game_name(game_of(self.game)) or self.game
        who = f"{self.player.name} as {SEATS[self.seat]} on {game}"
        extent = f"{self.positions:,} positions in {len(self.plies)} plies"
        if self.refutations:
            more = f" and {len(self.refutations) - 1:,} more games" if len(self.refutations) > 1 else ""
            return f"{who}: refuted ({self.claim!r}) by {self.refutations[0]}{more}; {extent}"
        if not self.complete:
            return f"{who}: not yet proven; {extent} so far"
        ends = [f"{sum(getattr(ply, name) for ply in self.plies):,} {name}" for name in ("won", "drawn", "lost")]
        return f"{who}: {self.proven}, proven against every reply; {extent}, games ended: {', '.join(ends)}"


def prove(
    player: PlayerLike,
    seat: int = 0,
    game: str | Game | None = None,
    *,
    claim: str = "never loses",
    refutations: int | None = 1,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    max_positions: int | None = None,
    to_the_end: bool = False,
    progress: bool = True,
    workers: Workers = 1,
) -> Proof:
    """Plays every reply to a player, and so proves that it never loses, or always wins, or refutes that.

    The player is taken as a fixed map: each position's seed is derived from the position and `seed`. Ply by ply it is
    asked once, in batches, about each distinct position that some replies lead to. On Connect Four these are about
    10**8 for a first player that is hard to beat.

    Args:
        player: whatever `load_player` accepts.
        seat: 0 to play first, 1 to play second.
        game: a game's name or rule book; None for the agent's own (`own_game`), else Connect Four.
        claim: "never loses" or "wins".
        refutations: the number of games against the claim that ends the search; None finds them all, one for each way
            in which a game can end that refutes it.
        seed: in [0, 2**63).
        folder: keeps the work. The same call with the same folder continues where an earlier one was stopped, by Ctrl-C
            or otherwise. At the end it holds the certificate, "proof.json", and the positions and moves it lists. All
            that is kept has hashes, which are compared before it is used: of an unfinished ply, what is damaged is
            asked about again; other damage raises. None keeps nothing.
        max_positions: ends the search before a ply with which the player would be asked about more positions than this;
            the proof is then not complete. None asks about all.
        to_the_end: ask about all positions even if enough games against the claim are found; only these are reported.
            `ListedPlayer` needs it.
        progress: show progress.
        workers: the number of processes that ask the player, 1 for this one; or a `tictac_env.jobs.Cluster`. Each loads
            the player itself and gets a part of a ply at a time. The folder is written by this process alone.

    Raises:
        ValueError: an argument is out of its range; the player answers differently when it is asked again
            (`NoFixedMap`); or the folder holds another proof or a damaged one: the message names the file.
        IllegalMove: the player's choice is illegal; the message names it and the position.

    Example:
        >>> proof = prove("minimax", 1, "TicTacToe-v0")
        >>> proof.proven, proof.positions
        ('never loses', 477)
        >>> prove("rule", 1, "TicTacToe-v0").refutations
        ('5437129',)
    """
    rules = game_for(game, player, default="ConnectFour-v0")
    one_of("claim", claim, list(CLAIMS))
    most = None if refutations is None else positive("refutations", refutations)
    limit = None if max_positions is None else positive("max_positions", max_positions)
    flag("to_the_end", to_the_end)
    who = load_player(player, rules)
    if draws_its_moves(who.policy, Position.start(rules)):
        raise NoFixedMap(f"{who} {DRAWS}; a proof needs a fixed map: {advice_on_drawing(who.policy)}")
    from tictac_env import __version__

    begun = Proof(
        player=who.identity,
        game=describe_game(rules),
        cell_bits=tuple(
            tuple(rules.cell(row, col).bit_length() - 1 for col in range(rules.cols)) for row in range(rules.rows)
        ),
        seat=whole("seat", seat, 1),
        seed=whole("seed", seed, (1 << 63) - 1),
        claim=claim,
        version=__version__,
    )

    def ask(chunks: Iterable[Chunk]) -> Iterable[tuple[Chunk, Answers]]:
        if workers == 1:
            asker = Asker(player, who.identity, rules, seed, who.policy)
            return ((chunk, asker(chunk)) for chunk in chunks)
        return map_jobs(Asker(player, who.identity, rules, seed), chunks, workers)

    with joined(workers), contextlib.ExitStack() as stack:
        if folder is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tictac-proof-"))
        else:
            begun = _continued(Path(folder), begun)
        return _Search(rules, ask, begun, Path(folder)).run(most, to_the_end, limit, progress)


def read_proof(folder: str | os.PathLike[str]) -> Proof:
    """The certificate in a folder, compared with its hashes, as are its lists of positions and moves.

    Hashes find damage, not forgery: `benchmarks/check_proof.py` plays all moves and replies again.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is damaged; the message names the file.

    Example:
        >>> import tempfile
        >>> from tictac_env.arena import prove, read_proof
        >>> folder = tempfile.mkdtemp()
        >>> written = prove("minimax", 1, "TicTacToe-v0", folder=folder)
        >>> read_proof(folder) == written
        True
    """
    path = Path(folder) / CERTIFICATE
    content = path.read_text("utf-8", errors="replace")
    try:
        fields = read_json(content)
        if fields.pop("sha256") != _hash_of(fields):
            raise ValueError("its hash is another")
        del fields["proven"]  # for readers of the file: it follows from the rest
        proof = read_as(Proof, fields)
        game_of(proof.game)
        if [ply.ply for ply in proof.plies] != [proof.seat + 2 * number for number in range(len(proof.plies))]:
            raise ValueError("it leaves out a ply")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not the certificate of a proof, or is damaged: {error}") from None
    layers = [(layer_files(layer_path(Path(folder), ply.ply)), ply.sha256) for ply in proof.plies]
    if proof.next_sha256:
        following = position_files(layer_path(Path(folder), proof.seat + 2 * len(proof.plies)))
        layers.append((following, proof.next_sha256))
    for files, expected in layers:
        names = ", ".join(file.name for file in files)
        if not all(file.is_file() for file in files):
            raise ValueError(f"one of {names} is missing, which {path} lists")
        if len({file.stat().st_size // size for file, size in zip(files, (8, 8, 1), strict=False)}) > 1:
            raise ValueError(f"{names} are damaged: not of one length")
        if sha256(*files) != expected:
            raise ValueError(f"{names} are damaged: not what {path} lists")
    return proof


def _hash_of(fields: JsonObject) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def _continued(folder: Path, begun: Proof) -> Proof:
    """The proof that a folder holds, which must be this one; the new one if it holds none."""
    if not (folder / CERTIFICATE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        if orphans := sorted(folder.glob("ply-*")):
            raise ValueError(f"{folder / CERTIFICATE} is missing, which says of which proof {orphans[0].name} is")
        return begun
    proof = read_proof(folder)
    for name in ("player", "game", "seat", "seed", "claim", "version"):
        if getattr(proof, name) != getattr(begun, name):
            raise ValueError(
                f"{folder / CERTIFICATE} is of another proof: its {name} is {getattr(proof, name)!r}, "
                f"not {getattr(begun, name)!r}"
            )
    return proof


Ask = Callable[[Iterable[Chunk]], Iterable[tuple[Chunk, Answers]]]


class _Search:
    """A proof in the making.

    A ply is done when the certificate lists it. Until then a folder keeps the answers, chunk by chunk: first the
    positions that follow, then the moves and the hashes of what was asked and of what follows.
    """

    def __init__(self, game: Game, ask: Ask, proof: Proof, folder: Path) -> None:
        self.game, self.ask, self.proof, self.folder = game, ask, proof, folder
        self.worst = CLAIMS[proof.claim]

    def run(self, most: int | None, to_the_end: bool, limit: int | None, progress: bool) -> Proof:
        while not self.proof.complete and (
            to_the_end or most is None or sum(map(self._refuting, self.proof.plies)) < most
        ):
            ply = self.proof.seat + 2 * len(self.proof.plies)
            if not self.proof.plies:
                self._save()  # so that no other proof takes up what is kept from now on
                write_positions(layer_path(self.folder, ply), [first_positions(self.game, self.proof.seat)])
            own, opp = read_positions(layer_path(self.folder, ply))
            if limit is not None and self.proof.positions + len(own) > limit:
                break
            if len(own):
                done = self._ask(ply, own, opp, progress)
                following = sha256(*position_files(layer_path(self.folder, ply + 2)))
                self._save(plies=(*self.proof.plies, done), next_sha256=following)
            else:
                self._save(complete=True)
            for done in self.proof.plies:
                shutil.rmtree(self._chunks(done.ply), ignore_errors=True)  # an earlier run may have been killed before
        plies = [ply.ply for ply in self.proof.plies if self._refuting(ply)]
        self._save(refutations=tuple(itertools.islice(refuting_games(self.game, self.folder, plies, self.worst), most)))
        return self.proof

    def _refuting(self, ply: Ply) -> int:
        """The number of a ply's games that refute the claim."""
        return ply.lost + (ply.drawn if self.worst == DRAWN else 0)

    def _save(self, **changes: Any) -> None:
        self.proof = replace(self.proof, **changes)
        content = {"proven": self.proof.proven, **asdict(self.proof)}
        save_text(self.folder / CERTIFICATE, json.dumps(content | {"sha256": _hash_of(content)}, indent=1) + "\n")

    def _ask(self, ply: int, own: Ints, opp: Ints, progress: bool) -> Ply:
        """Asks for the moves in all positions of a ply, and writes them and the positions that follow."""
        folder, layer = self._chunks(ply), layer_path(self.folder, ply)
        folder.mkdir(exist_ok=True)
        paths = {begin: folder / f"{begin}-{min(begin + CHUNK, len(own))}.npz" for begin in range(0, len(own), CHUNK)}

        def chunk_at(begin: int) -> Chunk:
            return Chunk(begin, own[begin : begin + CHUNK], opp[begin : begin + CHUNK])

        todo = [begin for begin, path in paths.items() if not _is_whole(path, chunk_at(begin))]
        chunks = (chunk_at(begin) for begin in todo)
        ends, following = np.zeros(3, np.int64), []
        with progress_bar(len(paths), f"ply {ply}: {len(own):,} positions", progress) as update:
            for done, (chunk, answers) in enumerate(self.ask(chunks), len(paths) - len(todo) + 1):
                path = paths[chunk.begin]
                write_positions(path, [(answers.own, answers.opp)])
                save_arrays(path, KIND, {"ends": answers.ends, **_hashes(path, chunk)}, {"moves": answers.moves})
                update(done, "")
            update(len(paths), "sorts the positions that follow")
            with writing(layer.with_suffix(MOVES)) as file:
                for path in paths.values():
                    counts, arrays = load_arrays(path, KIND)
                    file.write(arrays["moves"].tobytes())
                    following.append(read_positions(path))
                    ends += counts["ends"]
            write_positions(layer_path(self.folder, ply + 2), merged(following))
        won, drawn, lost = ends.tolist()
        return Ply(ply, len(own), won, drawn, lost, sha256(*layer_files(layer)))

    def _chunks(self, ply: int) -> Path:
        return self.folder / f"ply-{ply:02}-chunks"


def _hashes(path: Path, chunk: Chunk) -> dict[str, str]:
    """The hashes of the positions of a chunk, and of the files of those that follow."""
    asked_about = hashlib.sha256(chunk.own.tobytes() + chunk.opp.tobytes()).hexdigest()
    return {"asked": asked_about, "following": sha256(*position_files(path))}


def _is_whole(path: Path, chunk: Chunk) -> bool:
    """True if a file holds the answers to a chunk, undamaged."""
    try:
        return _hashes(path, chunk).items() <= load_arrays(path, KIND)[0].items()
    except (OSError, ValueError):
        return False
