"""Trains an agent from the command line, whose options are the agent's settings, and says how good it has become.

It is the command `tictac train`; `python -m tictac_agents.train` is the same:

python -m tictac_agents.train DQN                                     # the tuned settings of tic-tac-toe
python -m tictac_agents.train MaskablePPO --seed 1 --save models/ppo --tensorboard runs
python -m tictac_agents.train DQN --preset S4-prequel --total-timesteps 100000
python -m tictac_agents.train DQN --game ConnectFour-v0 --opponent rule --num-envs 32
python -m tictac_agents.train QLearning --preset self-play --stop-when-proven --save q.npz
python -m tictac_agents.train FittedQ --preset S4-all-actions --total-games 3000
python -m tictac_agents.train NTupleTD --save ntuple.npz  # a million games of Connect Four
python -m tictac_agents.train DQN --help                              # all settings, explained

Networks learn on one thread of torch's: they are small, and more threads are many times slower.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.error import DependencyNotInstalled

import tictac_agents
from tictac_agents.checkpoint import Checkpoint, GamesLearner
from tictac_agents.command_line import add_arguments, settings_from
from tictac_agents.deep.settings import PRESETS, TUNED, DQNSettings, MaskablePPOSettings
from tictac_agents.games_settings import games_settings
from tictac_agents.settings import GameSettings, Settings
from tictac_agents.tabular.learner import Learner
from tictac_agents.tabular.settings import preset_settings, tabular_settings
from tictac_env.arena import play_match, verdict
from tictac_env.cli.arguments import WRONG, CommandParser, add_file, whole_number
from tictac_env.games import GAMES, did_you_mean, game_name, gym_keywords
from tictac_env.policies.loading import settings_of
from tictac_env.solver.enumerate import SMALL_CELLS

NETWORKS: dict[str, type[Settings]] = {"DQN": DQNSettings, "MaskablePPO": MaskablePPOSettings}
GAMES_LEARNERS = ("FittedQ", "GameTree", "NTupleTD", "S2Network")
"""Agents that learn from games of their own, without an environment."""
AGENTS = {
    "DQN": "deep Q-learning, on Stable-Baselines3",
    "FittedQ": "deep Q-learning from batches of self-play, a network a seat (S4)",
    "GameTree": "a search tree that remembers, grown by self-play (S4)",
    "MaskablePPO": "proximal policy optimisation with masks, on Stable-Baselines3",
    "MonteCarlo": "a table of action values, by Monte Carlo control",
    "NTupleTD": "an n-tuple network of state values, by TD(lambda) in self-play",
    "QLearning": "a table of action values, by Q-learning",
    "S0ValueTD": "a table of state values, by temporal differences (S0)",
    "S2Network": "a network that learns after each game against random play (S2)",
    "Sarsa": "a table of action values, by Sarsa",
    "ValueTD": "a table of state values, by temporal differences",
}
"""The agents that can be trained, and what the help says of each."""
SHORT_RUN = 100_000
"""How many steps a network learns from if nothing says how many."""
POINTS = 100
"""How many points a curve in TensorBoard has, at most and about, where an agent learns from games of its own."""
MATCH_GAMES = 200
"""How many games the closing matches have."""
SEATS = {
    "first": "as the first player",
    "second": "as the second player",
    "random": "in a random seat",
    "alternate": "first and second in turn",
}


def main(words: Sequence[str] | None = None) -> Any:
    """Reads the command line, trains, judges and saves; returns the agent."""
    try:
        parser, arguments = parse(words)
        try:
            return train(arguments)
        except ValueError as error:
            return parser.error(str(error))
    except DependencyNotInstalled as error:
        print(error, file=sys.stderr)
        raise SystemExit(WRONG) from None


def train(arguments: argparse.Namespace) -> Any:
    """Trains, judges and saves as a parsed command line says; returns the agent.

    Raises:
        ValueError: a setting is not possible.
        DependencyNotInstalled: what the agent needs is missing.
    """
    settings: Any = chosen(arguments)
    if arguments.agent in GAMES_LEARNERS:
        return train_on_games(settings, arguments)
    if not is_small(settings) and arguments.stop_when_proven:
        raise ValueError(f"--stop-when-proven needs a game of at most {SMALL_CELLS} cells, not {settings.game!r}")
    if arguments.agent in NETWORKS:
        return train_network(settings, arguments)
    return train_table(settings, arguments)


def train_network(settings: Any, arguments: argparse.Namespace) -> Any:
    """Trains a deep agent; if the game is small enough it is judged now and then too."""
    made = getattr(tictac_agents, arguments.agent)  # first of all, as it says what to install if torch is missing
    import torch  # only now, so that --help is quick

    from tictac_agents import ExactEvalCallback, GamesCallback, ProgressCallback
    from tictac_agents.deep.sb3_files import with_suffix

    torch.set_num_threads(1)  # the fastest for networks this small
    settings = settings.changed(total_timesteps=settings.total_timesteps or SHORT_RUN)
    logged = arguments.tensorboard and str(arguments.tensorboard)
    if arguments.resume is None:
        model = made.from_settings(settings, arguments.seed, "cpu", tensorboard_log=logged)
    else:
        model = made.load(arguments.resume, device="cpu", seed=arguments.seed)
        check_resumed(arguments.resume, settings_of(model), json.loads(json.dumps(settings.to_dict())))
        model.tensorboard_log = logged
    boards = "one board" if settings.num_envs == 1 else f"{settings.num_envs:,} boards"
    run = f"{settings.total_timesteps:,} steps on {boards}, one thread of torch's"
    announce(arguments.agent, settings, run, settings.discount)
    kept = Checkpoint(lambda path: model.save(path), arguments.save and with_suffix(arguments.save))
    exact, best = None, best_file(arguments.save)
    if is_small(settings):
        exact = ExactEvalCallback(arguments.eval_freq, best, arguments.stop_when_proven, verbose=1)
    callbacks = [GamesCallback(arguments.eval_freq), *([exact] if exact else [])]
    failure: OSError | None = None
    try:
        with closing(ProgressCallback(exact)) as progress:
            left = settings.total_timesteps - model.num_timesteps
            model.learn(left, [*callbacks, progress], reset_num_timesteps=arguments.resume is None)
    except KeyboardInterrupt:
        print(f"stopped after {model.num_timesteps:,} steps")
    except OSError as error:  # the best model so far, or what TensorBoard shows, cannot be written
        failure = error
    if arguments.save is not None:
        kept.save_at_the_end()
        print(f"saved; in Python: tictac_agents.{arguments.agent}.load({str(arguments.save)!r})")
        if exact and exact.best:
            print(f"the best by its verdict: tictac_agents.{arguments.agent}.load({str(best)!r})")
    if failure is not None:
        raise failure
    if not (exact and exact.judgements and exact.judgements[-1].num_timesteps == model.num_timesteps):
        judge(model, settings, arguments.seed)
    return model


def train_table(settings: Any, arguments: argparse.Namespace) -> Learner:
    """Trains a tabular learner, and judges it at the end."""
    game: Any = settings.game if isinstance(settings.game, Mapping) else gym_keywords(settings.game)
    env = gym.make(**game, **settings.env_keywords())
    learner: Learner = getattr(tictac_agents, arguments.agent)(env, seed=arguments.seed, **settings.keywords())
    announce(arguments.agent, settings, f"{settings.total_episodes:,} games", settings.gamma)
    proof = None  # a learner's own rule then holds, if it has one
    if arguments.stop_when_proven:
        every = arguments.eval_freq or getattr(settings, "verdict_every", 0) or 1_000
        proof = tictac_agents.UntilProven(every, getattr(settings, "start_afresh", 0))
    if arguments.resume is None:
        learner.learn(total_episodes=settings.total_episodes, callback=proof, checkpoint=arguments.save)
    else:
        fresh, learner = learner, type(learner).load(arguments.resume, env)
        check_resumed(arguments.resume, settings_of(learner), settings_of(fresh))
        check_length(arguments.resume, learner.run_end, settings.total_episodes)
        learner.resume(callback=proof, checkpoint=arguments.save)
    judge(learner, settings, arguments.seed)
    return learner


def train_on_games(settings: Any, arguments: argparse.Namespace) -> GamesLearner:
    """Trains an agent on games of its own, and judges it at the end."""
    made = getattr(tictac_agents, arguments.agent)
    learner: GamesLearner = made(settings.rules, seed=arguments.seed, **settings.keywords())
    if arguments.agent == "FittedQ":  # which has said so if torch is missing
        import torch

        torch.set_num_threads(1)
    announce(arguments.agent, settings, f"{settings.games:,} games")
    curve = None
    if arguments.tensorboard is not None:
        curve = tictac_agents.GamesCurve(max(1, settings.games // POINTS), arguments.tensorboard)
    if arguments.resume is None:
        learner.learn(settings.games, curve, checkpoint=arguments.save)
    else:
        fresh, learner = learner, made.load(arguments.resume)
        check_resumed(arguments.resume, settings_of(learner), settings_of(fresh))
        check_length(arguments.resume, learner.run_end, settings.games)
        learner.resume(curve, checkpoint=arguments.save)
    judge(learner, settings, arguments.seed)
    return learner


def check_resumed(path: Path, had: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Checks that the run in a file was begun with the settings of the command.

    Raises:
        ValueError: it was not.
    """
    for name in sorted(wanted):
        if had.get(name) != wanted[name]:
            raise ValueError(
                f"--resume: the run in {path} has {name} {had.get(name)}, not {wanted[name]}; give the options with "
                "which it began"
            )


def check_length(path: Path, end: int | None, wanted: int) -> None:
    """Checks that the run in a file ends after `wanted` games.

    Raises:
        ValueError: it does not, or there is none.
    """
    if end != wanted:
        run = "holds no run of games" if end is None else f"holds a run of {end:,} games"
        raise ValueError(f"--resume: {path} {run}, not of {wanted:,}")


def announce(agent: str, settings: GameSettings, run: str, gamma: float = 1.0) -> None:
    """Prints what is trained: on which game, for how long and, if these are settings, against whom in which seat, from
    which positions and with which discount.
    """
    told = f"{agent} on {game_name(settings.rules) or settings.rules}"
    opponent = getattr(settings, "opponent", None)
    seat = SEATS[settings.seat if isinstance(settings, Settings) else "alternate"]
    if hasattr(settings, "opponent"):
        told += " against itself" if opponent is None else f" against {opponent}, {seat}"
    if isinstance(settings, Settings):
        run += f", start {settings.start}, gamma {gamma:g}"
    print(f"{told}: {run}", flush=True)


def judge(agent: Any, settings: GameSettings, seed: int) -> None:
    """Says how good an agent is: exactly if the game is small enough, else by matches, half of them in each seat."""
    if is_small(settings):
        print(verdict(agent, settings.rules))
        return
    for opponent in ("random", "rule"):
        print(play_match(agent, opponent, settings.rules, MATCH_GAMES, seed))


def best_file(save: Path | None) -> Path | None:
    """Where the best model is kept: beside the file that is saved in the end, and named after it."""
    return None if save is None else save.with_name(f"{save.name.removesuffix('.zip')}-best.zip")


def is_small(settings: GameSettings) -> bool:
    """Whether the game is small enough for exact verdicts.

    Raises:
        ValueError: there is no such game.
    """
    return settings.rules.cells <= SMALL_CELLS


def chosen(arguments: argparse.Namespace) -> GameSettings:
    """The settings of a preset, the tuned ones of the game or the defaults, with the changes of the command line.

    Raises:
        ValueError: there is no such preset, or a setting is of a wrong type.
    """
    agent, known = arguments.agent, presets(arguments.agent)
    if not arguments.preset:
        return settings_from(arguments, usual(agent, " ".join(arguments.game) if "game" in arguments else None))
    if arguments.preset not in known:
        raise ValueError(f"{agent} has no preset {arguments.preset!r}; {did_you_mean(arguments.preset, known)}")
    return settings_from(arguments, _preset(agent, arguments.preset))


def usual(agent: str, game: str | None = None) -> GameSettings:
    """The settings of an agent on a game, its default game if None: the tuned ones, or else the defaults."""
    made = settings_class(agent)
    game = str(made().game) if game is None else game
    if agent in GAMES_LEARNERS:
        return made(**getattr(tictac_agents, agent).TUNED.get(game, {}))
    return TUNED.get(game, {}).get(agent) or made()


def _preset(agent: str, name: str) -> GameSettings:
    if agent in NETWORKS:
        return PRESETS[agent][name]
    learner = getattr(tictac_agents, agent)
    return settings_class(agent)(**learner.PRESETS[name]) if agent in GAMES_LEARNERS else preset_settings(learner, name)


def settings_class(agent: str) -> type[GameSettings]:
    """The class of an agent's settings."""
    if agent in NETWORKS:
        return NETWORKS[agent]
    learner = getattr(tictac_agents, agent)
    return games_settings(learner) if agent in GAMES_LEARNERS else tabular_settings(learner)


def presets(agent: str) -> list[str]:
    """The names of an agent's presets."""
    return list(PRESETS.get(agent, {}) if agent in NETWORKS else getattr(getattr(tictac_agents, agent), "PRESETS", {}))


def parse(words: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """The parser and the parsed command line; settings are not yet checked."""
    parser = CommandParser(prog="python -m tictac_agents.train", description=__doc__.replace("\npython", "\n  python"))
    add_agents(parser)
    return parser, parser.parse_args(words)


def add_agents(parser: CommandParser) -> None:
    """Adds the agents as commands, each with its settings as options."""
    agents = parser.add_subparsers(title="agents", dest="agent", metavar="AGENT", required=True)
    for name, told in AGENTS.items():
        agents.add_parser(name, help=told, fill=functools.partial(_add_settings, name))


def _add_settings(agent: str, parser: CommandParser) -> None:
    """Adds the options of an agent."""
    parser.description = f"{agent}: {AGENTS[agent]}."
    run = parser.add_argument_group("the run")
    run.add_argument("--preset", help=f"settings to begin with: {', '.join(presets(agent)) or 'there are none'}")
    run.add_argument("--seed", type=whole_number(), default=0, help="makes the run reproducible (default: %(default)s)")
    if agent in NETWORKS:
        add_file(run, "--save", help="the file; the best model is kept beside it, as NAME-best.zip")
    else:
        add_file(run, "--save", help="the file, written now and then and at the end")
    add_file(run, "--resume", metavar="FILE", help="continue the run that this file keeps; the other options as before")
    if agent in NETWORKS or agent in GAMES_LEARNERS:
        add_file(run, "--tensorboard", folder=True, metavar="FOLDER", help="where to log")
    if agent not in GAMES_LEARNERS:
        run.add_argument("--stop-when-proven", action="store_true", help="end once nothing beats it")
        each, told = (20_000, "steps") if agent in NETWORKS else (None, "games")
        default = "%(default)s" if agent in NETWORKS else "1000, or verdict_every"
        told += f" between two verdicts (default: {default})"
        run.add_argument("--eval-freq", type=whole_number(1), default=each, help=told)
    title = f"settings (values are JSON, words, or none; games: {', '.join(GAMES)})"
    base = usual(agent)
    told = (
        f"The defaults are those tuned for {base.game}; other games have their own. If --opponent makes self-play of "
        "games against an opponent, or the other way round, gamma, play-as and start follow."
    )
    add_arguments(parser.add_argument_group(title, None if base == settings_class(agent)() else told), base)


if __name__ == "__main__":
    main()
