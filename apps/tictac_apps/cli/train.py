"""The command `tictac train`: trains an agent, whose settings are the options."""

from __future__ import annotations

import argparse
import functools
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import tictac_agents
from tictac_agents import AGENTS
from tictac_agents.base_learner import Checkpoint
from tictac_agents.plan import OFFERED, UNITS, Plan, one_thread, preset, settings_class, tuned
from tictac_agents.settings import Allowed
from tictac_apps.cli.arguments import (
    CommandParser,
    add_file,
    add_seed,
    add_workers,
    chosen_workers,
    game_named,
    print_fitted,
    whole_number,
)
from tictac_env.arena import play_match, verdict
from tictac_env.checks import positive
from tictac_env.games import GAMES, game_name
from tictac_env.policies.loading import settings_of
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.storage import check_writable

POINTS = 100
"""Points of a curve in TensorBoard, at most and about, of an agent that learns from games of its own."""
MATCH_GAMES = 200
"""Games of each closing match."""
SEATS = {
    "first": "as the first player",
    "second": "as the second player",
    "random": "in a random seat",
    "alternate": "first and second in turn",
}


def run_train(options: argparse.Namespace) -> int:
    """Trains an agent and reports how well it plays.

    Without an agent it lists the agents. Each has its own options: see tictac train QLearning --help. Networks use one
    thread of PyTorch, because they are small and more threads would slow them down. Ctrl-C ends the training and keeps
    what the agent has learned.

    Examples:
      tictac train QLearning --preset self-play --stop-when-proven --save q.npz
      tictac train DQN --seed 1 --save models/dqn    the tuned settings
      tictac train DQN --game ConnectFour-v0 --opponent rule --num-envs 32
      tictac train S2Network --preset S2
      tictac train NTupleTD --save ntuple.npz        a million games of Connect Four
    """
    if options.agent is None:
        print("\n".join(agent_lines()))
    else:
        train(options)
    return 0


def agent_lines() -> list[str]:
    """The agents that can be trained, a line for each."""
    names = _trainable()
    width = max(map(len, names))
    agents = [f"  {name:{width}}  {AGENTS[name].help}" for name in names]
    return ["agents (tictac train AGENT --help lists the options of one):", *agents]


def _trainable() -> list[str]:
    return sorted(tictac_agents.trained("network", "games", "table"))


def chosen(arguments: argparse.Namespace) -> Plan:
    """The plan of a preset, the tuned one of the game or the default one, with the changes of the command line.

    Raises:
        ValueError: there is no such preset, or a setting is of a wrong type.
    """
    agent, name = arguments.agent, arguments.preset
    game = " ".join(arguments.game) if "game" in arguments else None
    base = preset(agent, name) if name else tuned(agent, game)
    words = {setting: getattr(arguments, setting) for setting in offered(agent) if setting in arguments}
    return base.changed(seed=arguments.seed, **{setting: _read(values) for setting, values in words.items()})


def offered(agent: str) -> dict[str, Allowed]:
    """What can be set on the command line, with its meaning: the plan's fields and the agent's own settings."""
    own = settings_class(agent).allowed()
    fields = {name: Plan.allowed()[name] for name in OFFERED[AGENTS[agent].kind] if name not in own}
    return fields | {name: allowed for name, allowed in own.items() if allowed.recorded and name != "seed"}


def train(arguments: argparse.Namespace) -> Any:
    """Trains, judges and saves as a parsed command line says; returns the agent.

    Raises:
        ValueError: a setting is not possible, or the file to save has a wrong suffix; the message names the option.
        DependencyNotInstalled: what the agent needs is missing.
    """
    try:
        return _train(arguments)
    except ValueError as error:
        if (message := in_options(str(error), arguments.agent)) == str(error):
            raise
        raise ValueError(message) from error


def in_options(message: str, agent: str) -> str:
    """The message of an error about settings, with options in place of the settings' names: "--seat must be ..."."""
    names = "|".join(offered(agent))
    return re.sub(rf"\b({names})(?==| must )", lambda match: option(agent, match[0]), message)


def _train(arguments: argparse.Namespace) -> Any:
    plan = chosen(arguments)
    check_suffix(arguments.agent, arguments.save)
    if arguments.save is not None:
        check_writable(arguments.save)  # now, and not after an hour
    if getattr(arguments, "tensorboard", None) is not None:
        arguments.tensorboard.mkdir(parents=True, exist_ok=True)
    if getattr(arguments, "stop_when_proven", False) and not plan.is_small:
        raise ValueError(f"--stop-when-proven needs a game of at most {SMALL_CELLS} cells, not {plan.game!r}")
    run = _train_network if plan.kind == "network" else _train_learner
    agent, judged = run(plan, arguments)
    if not judged and plan.is_small:
        print_fitted(str(verdict(agent, plan.rules)))
    elif not judged:  # by matches, half of them in each seat
        for opponent in ("random", "rule"):
            print_fitted(str(play_match(agent, opponent, plan.rules, MATCH_GAMES, arguments.seed)))
    return agent


def check_suffix(agent: str, save: Path | None) -> None:
    """Raises a ValueError if a file of that name would not be read as the agent's; a network's may have no suffix."""
    suffix, allowed = (".zip", ("", ".zip")) if AGENTS[agent].kind == "network" else (".npz", (".npz",))
    if save is not None and save.suffix not in allowed:
        named = save.with_suffix(suffix)
        raise ValueError(f"--save: a file of {agent} must end in {suffix}, as in {named}, not {save}")


def _train_learner(plan: Plan, arguments: argparse.Namespace) -> tuple[Any, bool]:
    by = {"workers": chosen_workers(arguments)} if "ray" in arguments else {}
    learner, callback, total = plan.new_agent(**by), None, plan.length
    boards = (learner.env,) if plan.kind == "table" else ()
    if plan.kind == "table" and arguments.stop_when_proven:  # otherwise a learner's own rule holds, if it has one
        every = arguments.eval_freq or getattr(plan.settings, "verdict_every", 0) or 1_000
        callback = tictac_agents.LearningCurve(every, True, getattr(plan.settings, "start_afresh", 0))
    elif plan.kind == "games" and (arguments.tensorboard is not None or arguments.stop_when_proven):
        every = arguments.eval_freq or max(1, total // POINTS)
        proven, folder = arguments.stop_when_proven, arguments.tensorboard
        callback = tictac_agents.LearningCurve(every, proven, tensorboard=folder)
    positive("total", total, learner.MOST)  # before the run is announced
    if arguments.resume is not None:
        planned, learner = settings_of(learner), type(learner).load(arguments.resume, *boards, **by)
        check_resumed(plan.agent, arguments.resume, settings_of(learner), planned)
        if learner.run_end != total:
            run = "holds no run of games" if learner.run_end is None else f"holds a run of {learner.run_end:,} games"
            raise ValueError(f"--resume: {arguments.resume} {run}, not of {total:,}")
    announce(plan, f"{total:,} games")
    began = time.monotonic()
    if arguments.resume is None:
        learner.learn(**{f"total_{UNITS[plan.kind]}": total}, callback=callback, checkpoint=arguments.save)
    else:
        learner.resume(callback, checkpoint=arguments.save)
    played = getattr(learner, f"num_{learner.COUNTERS[-1]}")
    why = {"callback": PROVEN, "Ctrl-C": STOPPED}.get(learner.stopped_by, COMPLETE)
    report_end(f"{played:,} of {total:,} games", began, why, arguments.save)
    return learner, False


def _train_network(plan: Plan, arguments: argparse.Namespace) -> tuple[Any, bool]:
    """Trains a deep agent, which if the game is small enough is judged now and then; True if it was at the end."""
    logged = arguments.tensorboard and str(arguments.tensorboard)
    if arguments.resume is None:
        model = plan.new_agent(tensorboard_log=logged)
    else:
        agent = getattr(tictac_agents, arguments.agent)
        one_thread()
        model = agent.load(arguments.resume, device="cpu", seed=arguments.seed)
        check_resumed(plan.agent, arguments.resume, settings_of(model), json.loads(json.dumps(plan.to_dict())))
        model.tensorboard_log = logged
    from tictac_agents.deep.sb3_files import with_suffix  # needs torch

    boards = "one board" if plan.num_envs == 1 else f"{plan.num_envs:,} boards"
    announce(plan, f"{plan.length:,} steps on {boards}, one thread of torch's")
    save: Path | None = arguments.save
    best = save and save.with_name(f"{save.name.removesuffix('.zip')}-best.zip")
    checkpoint = Checkpoint(lambda path: model.save(path), save and with_suffix(save))
    exact, freq = None, arguments.eval_freq
    if plan.is_small:
        exact = tictac_agents.ExactEvalCallback(freq, best, arguments.stop_when_proven, verbose=1)
    callbacks = [tictac_agents.GamesCallback(freq), *([exact] if exact else [])]
    failure: OSError | None = None
    began, why = time.monotonic(), COMPLETE
    try:
        with closing(tictac_agents.ProgressCallback(exact)) as progress:
            left = plan.length - model.num_timesteps
            model.learn(left, [*callbacks, progress], reset_num_timesteps=arguments.resume is None)
    except KeyboardInterrupt:
        why = STOPPED
    except OSError as error:  # the best model so far, or what TensorBoard shows, cannot be written
        failure, why = error, FAILED
    last = exact.rows[-1] if exact and exact.rows else None
    judged = last is not None and last.timesteps == model.num_timesteps
    if why == COMPLETE and arguments.stop_when_proven and judged and last is not None and last.judgement.unbeatable:
        why = PROVEN
    checkpoint.save_at_the_end()
    steps = f"{model.num_timesteps:,} of {plan.length:,} steps"
    report_end(steps, began, why, save and with_suffix(save), best if exact and exact.best else None)
    if failure is not None:
        raise failure
    return model, judged


COMPLETE, PROVEN, STOPPED = "all of the run", "proven unbeatable", "Ctrl-C or SIGTERM"
FAILED = "a file could not be written"
"""Why a training ended."""


def report_end(done: str, began: float, why: str, save: Path | None, best: Path | None = None) -> None:
    """Prints when a training ended and why, and the files in which the agent is.

    Args:
        done: the part of the run that is done.
        began: the `time.monotonic` of its beginning.
        why: why it ended.
        save: the agent's file; None if it is not saved.
        best: the file of the best agent so far; None if there is none.
    """
    print(f"ended after {done}, {time.monotonic() - began:.1f} s: {why}")
    if save is None:
        print("not saved: give --save FILE to keep the agent")
        return
    continues = "; --resume continues the run" if why in (STOPPED, FAILED) else ""
    print(f"saved in {save}{continues}")
    if best is not None:
        print(f"the best by its verdict is in {best}")


def check_resumed(agent: str, path: Path, begun: Mapping[str, Any], planned: Mapping[str, Any]) -> None:
    """Raises a ValueError if the run in a file was begun with other settings than those of the command."""
    for name in sorted(planned):
        if begun.get(name) != planned[name]:
            difference = f"{option(agent, name)} {begun.get(name)}, not {planned[name]}"
            raise ValueError(f"--resume: the run in {path} has {difference}; give the options with which it began")


def announce(plan: Plan, run: str) -> None:
    """Prints the training: on which game, for how long and, if it has boards, against whom in which seat, from which
    positions and, if the agent has one, with which discount.
    """
    sentence = f"{plan.agent} on {game_name(plan.rules) or plan.rules}"
    if plan.kind != "games":
        sentence += " against itself" if plan.opponent is None else f" against {plan.opponent}, {SEATS[plan.seat]}"
        gamma = plan.discount if plan.kind == "network" else getattr(plan.settings, "gamma", None)
        run += f", start {plan.start}" + ("" if gamma is None else f", gamma {gamma:g}")
    print_fitted(f"{sentence}: {run}")
    sys.stdout.flush()


def add_train(parser: CommandParser) -> None:
    """Adds the agents as commands, each with its settings as options."""
    agents = parser.add_subparsers(title="agents", dest="agent", metavar="AGENT")
    for name in _trainable():
        agents.add_parser(name, help=AGENTS[name].help, fill=functools.partial(_add_settings, name))


def _add_settings(agent: str, parser: CommandParser) -> None:
    """Adds the options of an agent: those of the run, and one for each setting, with its default."""
    kind = AGENTS[agent].kind
    parser.description = f"{agent}: {AGENTS[agent].help}."
    run = parser.add_argument_group("the run")
    names = ", ".join(settings_class(agent).PRESETS) or "there are none"
    run.add_argument("--preset", metavar="NAME", help=f"start from these settings: {names}")
    add_seed(run)
    best = ".zip file; save the best model next to it, as NAME-best.zip"
    written = best if kind == "network" else ".npz file, now and then and at the end"
    add_file(run, "--save", help=f"save the agent to this {written}")
    add_file(run, "--resume", help="continue the run in this file; give the same other options as before")
    if kind != "table":
        add_file(run, "--tensorboard", folder=True, help="write TensorBoard logs to this folder")
    run.add_argument("--stop-when-proven", action="store_true", help="stop once the agent is proven unbeatable")
    unit, every = ("steps", 20_000) if kind == "network" else ("games", None)
    usually = {"network": "%(default)s", "table": "1000, or verdict_every", "games": "a hundredth of the run"}[kind]
    frequency = f"judge the agent every N {unit} (default: {usually})"
    run.add_argument("--eval-freq", type=whole_number(1), default=every, metavar="N", help=frequency)
    if "workers" in settings_class(agent).allowed():
        add_workers(run)
    base = tuned(agent)
    note = (
        f"The defaults are tuned for {base.game}; other games have their own. If --opponent switches between self-play "
        "and games against an opponent, --gamma, --seat and --start change with it."
    )
    title = f"settings (values are JSON, words, or none; games: {', '.join(GAMES)})"
    settings = parser.add_argument_group(title, None if base == Plan.of(agent) else note)
    defaults = base.to_dict() | {"total": base.length}
    for name, allowed in offered(agent).items():
        usual = settings_class(agent).usual_text(name) if kind == "games" else ""
        explained = f"{allowed.text}{usual} (default: {_in_words(defaults[name])})"
        settings.add_argument(
            option(agent, name),
            dest=name,
            nargs="+",
            type=game_named if name == "game" else str,
            metavar={"game": "GAME", "opponent": "PLAYER"}.get(name, "VALUE"),
            default=argparse.SUPPRESS,  # so that only what is given changes settings
            help=explained.replace("%", "%%"),
        )


def option(agent: str, setting: str) -> str:
    """The option of a setting: its name, but --seat for `play_as`, as in other commands, and the unit of the total."""
    if setting == "total":
        return f"--total-{UNITS[AGENTS[agent].kind]}"
    return f"--{'seat' if setting == 'play_as' else setting.replace('_', '-')}"


def _in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    if isinstance(value, str):
        return value
    return "none" if value is None else json.dumps(value)


def _read(words: Sequence[str]) -> Any:
    """A value from the command line: JSON if possible, None for "none", otherwise a str; a tuple of several."""
    values = []
    for word in words:
        try:
            values.append(None if word == "none" else json.loads(word))
        except ValueError:
            values.append(word)
    return tuple(values) if len(values) > 1 else values[0]
