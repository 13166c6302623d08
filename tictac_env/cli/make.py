"""The commands that make something or serve it: train, export, serve, warm, completion."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import shtab

from tictac_env.checks import one_of, positive
from tictac_env.cli.arguments import (
    CommandParser,
    add_file,
    add_game,
    add_player,
    add_seed,
    chosen_game,
    complete_words,
    game_named,
)
from tictac_env.compiled.kernels import CACHE_FOLDER, KEPT, WARNING, unkept
from tictac_env.games import game_name
from tictac_env.games.registry import known_names
from tictac_env.lazy import of_agents
from tictac_env.web.export import PAGE, export_page
from tictac_env.web.limits import Limits
from tictac_env.web.serve import HOST, PORT, serve

MAX_TRAININGS = 64
"""The most trainings at once that `tictac serve` takes; each is a process."""


def add_train(parser: CommandParser) -> None:
    """Adds the agents, each with its settings."""
    of_agents("train").add_agents(parser)


def run_train(options: argparse.Namespace) -> int:
    """Trains an agent, whose settings are the options, and says how good it has become.

    Each agent explains its own settings: tictac train QLearning --help. Networks learn on one thread of torch's: they
    are small, and more threads are many times slower. Ctrl-C ends a training and keeps what is learned.

    Examples:
      tictac train QLearning --preset self-play --stop-when-proven --save q.npz
      tictac train DQN --seed 1 --save models/dqn           the tuned settings of tic-tac-toe
      tictac train DQN --game ConnectFour-v0 --opponent rule --num-envs 32
      tictac train S2Network --preset S2
      tictac train NTupleTD --save ntuple.npz               a million games of Connect Four
    """
    of_agents("train").train(options)
    return 0


def add_export_agent(parser: argparse.ArgumentParser) -> None:
    add_player(parser, "player")
    add_file(parser, "-o", "--output", required=True, help="the Python file, which is replaced")
    add_game(parser, default="ConnectFour-v0")
    add_seed(parser)


def run_export_agent(options: argparse.Namespace) -> int:
    """Writes a player as one Python file that needs NumPy only, as Kaggle's ConnectX takes it.

    The file is plain Python that can be read, with the player's weights. It chooses the moves that the player chooses
    here. A search that does not end within the time for a move (actTimeout) answers by what it has found so far. Tree
    search (mcts, level:5 and above) and the exact solver (perfect) cannot be exported.

    Examples:
      tictac export agent ntuple:4 -o submission.py
      tictac export agent models/dqn.zip -o submission.py
      tictac export agent minimax:6 --game KInARow-v0:5x6-4 -o small.py
      tictac export agent q.npz -o tictactoe.py               an agent of tic-tac-toe, as its file says
    """
    if options.output.suffix != ".py":
        raise ValueError(f"--output must end in .py, not {str(options.output)!r}")
    game = chosen_game(options, options.player)
    size = of_agents("export")(options.player, options.output, game, options.seed)
    print(f"{options.output} ({size / 1000:,.0f} kB), plays {game_name(game) or game}")
    return 0


def add_export_page(parser: argparse.ArgumentParser) -> None:
    add_file(parser, "folder", folder=True, help="a new or empty folder, or an earlier export")


def run_export_page(options: argparse.Namespace) -> int:
    """Writes the page as a static folder, which opens in any browser without Python and without a network.

    It holds tic-tac-toe with an exact table, and Connect Four with a learned network and the opening book. Open its
    index.html, or put the folder on any web host.

    Examples:
      tictac export page site
      xdg-open site/index.html
    """
    sizes = export_page(options.folder)
    print(f"{options.folder / PAGE} ({len(sizes)} files, {sum(sizes.values()) / 1000:,.0f} kB)")
    return 0


def add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default=HOST, help="the address to listen on (default: %(default)s)")
    parser.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a host name under which people reach it, besides localhost and IP addresses; may be repeated",
    )
    parser.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="a proxy, or a network of them, whose X-Forwarded-For names the visitor; may be repeated",
    )
    parser.add_argument("--port", type=int, default=PORT, help="the port, 0 for any free one (default: %(default)s)")
    parser.add_argument("--checkpoints", type=Path, metavar="FOLDER", help="agents to play against, .npz and .zip")
    parser.add_argument("--store", type=Path, metavar="PATH", help="a tournament's result store, or a folder of them")
    parser.add_argument(
        "--league", type=Path, metavar="FOLDER", help="where agents that visitors keep, and their games, stay"
    )
    parser.add_argument(
        "--game",
        action="append",
        default=[],
        help="also offer this game: one of your own as module:Name-v0, or a size, KInARow-v0:5x6-4; may be repeated",
    )
    parser.add_argument(
        "--trainings", type=int, default=2, metavar="N", help="trainings at once; others wait (default: %(default)s)"
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser of this machine")
    parser.add_argument("--no-training", action="store_true", help="do not let visitors train agents")


def run_serve(options: argparse.Namespace) -> int:
    """Serves the page on which people play, look inside agents, and train them, in a browser.

    It works without a network, and listens to this machine alone by default. There are no accounts and no
    passwords: whoever reaches the address can use it, within limits on what one visitor may ask for.

    Examples:
      tictac serve                                    http://127.0.0.1:8000/
      tictac serve --checkpoints models --store results.sqlite
      tictac serve --game examples.hex:Hex-v0:4       and a game of your own
      tictac serve --host 0.0.0.0 --league class-7b   for a class; its agents stay
      tictac serve --host 0.0.0.0 --trainings 4       on a machine with four cores or more
      tictac serve --host 0.0.0.0 --allowed-host games.school.example
    """
    if not 0 <= options.port < 1 << 16:
        raise ValueError(f"--port must be from 0 to 65535, not {options.port}")
    trainings = positive("--trainings", options.trainings, MAX_TRAININGS)
    serve(
        options.host,
        options.port,
        options.checkpoints,
        options.store,
        not options.no_training,
        Limits(trainings=trainings),
        allowed_hosts=options.allowed_host,
        games=options.game,
        proxies=options.trusted_proxy,
        browser=options.open,
        league=options.league,
    )
    return 0


def add_warm(parser: argparse.ArgumentParser) -> None:
    named = f"any of {', '.join(known_names())}, with sizes if wanted, or module:Name-v0; none: all"
    games = parser.add_argument("games", nargs="*", type=game_named, metavar="GAME", help=named)
    complete_words(games, "games", known_names())
    parser.add_argument(
        "--only", nargs="+", metavar="USE", help="any of vector, minimax, solver, mcts, tables, networks (default: all)"
    )


def run_warm(options: argparse.Namespace) -> int:
    """Compiles beforehand what first uses of the games would wait for.

    Makes a short first use of everything that is compiled, so that no later one waits for the compiler: for an image of
    a class-room, say. The machine code is kept in your cache folder, or in the folder that the variable
    TICTAC_CACHE_DIR names; it serves this version of the package, on processors like this one.

    Examples:
      tictac warm                                      all games, all uses
      tictac warm KInARow-v0:5x6-4 --only vector       one game, one use
    """
    if not KEPT:
        raise ValueError(WARNING)
    began = time.monotonic()
    warm = of_agents("warm")
    games = options.games or known_names()
    names = [one_of("--only", name, list(warm.FIRST_USES)) for name in options.only or warm.FIRST_USES]
    warm.make_first_uses(games, names)
    if told := unkept():
        raise OSError(told)
    print(f"{', '.join(names)} of {', '.join(games)}: compiled in {time.monotonic() - began:.0f} s, in {CACHE_FOLDER}")
    return 0


SHELLS = ("bash", "zsh", "fish")


def add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="your shell")


def run_completion(options: argparse.Namespace) -> int:
    """Prints a script with which a shell completes the words of `tictac`: commands, options, games, players, files.

    Examples:
      tictac completion bash > ~/.local/share/bash-completion/completions/tictac
      tictac completion zsh > ~/.zfunc/_tictac              (a folder of $fpath)
      tictac completion fish > ~/.config/fish/completions/tictac.fish
    """
    from tictac_env.cli.main import make_parser  # which imports the modules of commands, this one too

    parser = make_parser()
    parser.fill_all()
    print(shtab.complete(parser, options.shell))
    return 0
