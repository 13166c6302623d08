"""Searches for settings of a deep agent with Optuna: CPU seconds until it is proven unbeatable, by the exact verdict.

    python tools/tune.py DQN --trials 20                # continues with the trials that are there
    python tools/tune.py MaskablePPO --seconds 60 --seeds 3 --workers 2
    python tools/tune.py --zoo                          # writes the tuned settings for RL Baselines3 Zoo

The first trial has the tuned settings (`tictac_agents.plan.tuned`). A trial's score is the mean over its seeds of
the CPU seconds to the first proof; of a seed that is not proven within `--seconds`, that many times 1 plus its
exploitability.
Trials that are worse half-way than the median of the others are ended. Every trial is kept as it ends, so that a
stopped search loses none. Writes tune-<algorithm>.json, and says how to train with the best settings.

The files for RL Baselines3 Zoo have its own form: one file an algorithm, one entry a game. `dqn.yml` and `ppo.yml` are
for Stable-Baselines3's own algorithms, which know no masks: an illegal action loses the game. `tictac_dqn.yml` and
`maskable_ppo.yml` are for those of tictac_agents, which examples/rl_zoo3_tuned.py adds. The zoo makes single
environments, so games begin with the empty board, not with positions drawn by `SB3VecEnv`.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import optuna
import torch
import yaml
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

import tictac_agents
from benchmarks.records import add_output, parser_of, positive, save
from tictac_agents import ExactEvalCallback
from tictac_agents.curves import CurveRow
from tictac_agents.plan import Plan, settings_class, tuned
from tictac_apps.bench.records import show
from tictac_apps.cli.arguments import add_workers, chosen_workers
from tictac_apps.cli.train import option
from tictac_env.jobs import map_jobs
from tictac_env.storage import save_text

GAME = "TicTacToe-v0"
ZOO = Path(__file__).parents[1] / "examples" / "rl_zoo3"
OURS = ("double", "symmetry", "target_epsilon", "ema_decay")
"""Settings that Stable-Baselines3's DQN does not know."""
ZOO_FILES = {"dqn": "DQN", "ppo": "MaskablePPO", "tictac_dqn": "DQN", "maskable_ppo": "MaskablePPO"}
"""The algorithms of the zoo, and those whose settings they get."""
PLAIN = ("dqn", "ppo")
HEAD = "# Written by tools/tune.py --zoo from the settings in tictac_agents/deep/settings.py. Do not edit.\n"

SPACES: dict[str, dict[str, BaseDistribution]] = {
    "DQN": {
        "learning_rate": FloatDistribution(3e-4, 1e-2, log=True),
        "width": CategoricalDistribution([64, 128, 256]),
        "num_envs": CategoricalDistribution([16, 64, 256]),
        "batch_size": CategoricalDistribution([128, 256, 512, 1024]),
        "gradient_steps": CategoricalDistribution([1, 2, 4, 8]),
        "target_update_interval": CategoricalDistribution([500, 1_000, 4_000]),
        "exploration_final_eps": FloatDistribution(0.05, 1.0),
        "target_epsilon": FloatDistribution(0.0, 0.4),
        "ema_decay": CategoricalDistribution([0.0, 0.99, 0.999]),
        "start": CategoricalDistribution(["empty", "reachable"]),
    },
    "MaskablePPO": {
        "learning_rate": FloatDistribution(3e-4, 1e-2, log=True),
        "width": CategoricalDistribution([64, 128, 256]),
        "num_envs": CategoricalDistribution([128, 256, 512, 1024]),
        "n_steps": CategoricalDistribution([8, 16, 32]),
        "batch_size": CategoricalDistribution([512, 1024, 2048]),
        "n_epochs": IntDistribution(2, 8),
        "gae_lambda": FloatDistribution(0.7, 1.0),
        "ent_coef": FloatDistribution(3e-3, 0.1, log=True),
        "start": CategoricalDistribution(["empty", "reachable"]),
    },
}
"""The spaces of the search; all other settings stay as tuned."""


def changes(params: dict[str, Any]) -> dict[str, Any]:
    """The settings of a point of the space: `width` is that of both layers, the step size is annealed."""
    net = {"net_arch": [params["width"]] * 2, "optimizer_kwargs": {"fused": True}}
    other = {name: value for name, value in params.items() if name != "width"}
    return other | {"learning_rate": (params["learning_rate"], 1e-5), "policy_kwargs": net}


def point(plan: Plan, space: Iterable[str]) -> dict[str, Any]:
    """The point of the space at which a plan is."""
    values = plan.to_dict()
    special = {"learning_rate": values["learning_rate"][0], "width": values["policy_kwargs"]["net_arch"][0]}
    return {name: (values | special)[name] for name in space}


ENDED = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)


class Trial(ExactEvalCallback):
    """Ends a run once it is proven, has had its time, or is worse than the others.

    Args:
        trial: gets, at each tenth of the time, the best so far; None if it must not be ended.
        seconds: CPU time of the run.
        eval_freq: as in `ExactEvalCallback`.
    """

    def __init__(self, trial: optuna.Trial | None, seconds: float, eval_freq: int) -> None:
        super().__init__(eval_freq, stop_when_proven=True)
        self.trial, self.seconds = trial, seconds
        self.tenth = 0

    def _on_step(self) -> bool:
        continues = super()._on_step()
        seconds = self.rows[-1].seconds if self.rows else 0.0
        tenth = int(10 * seconds / self.seconds)
        if self.trial is not None and tenth > self.tenth and self.best is not None:
            self.tenth = tenth
            self.trial.report(-self.best.judgement.rank[0], tenth)
            if continues and tenth >= 5 and self.trial.should_prune():
                raise optuna.TrialPruned
        return continues and seconds < self.seconds


def score(best: CurveRow | None, seconds: float) -> float:
    """The score to minimise."""
    if best is None:
        return 3 * seconds  # as if it were exploitable by 2, the most there is
    return best.seconds if best.judgement.unbeatable else seconds * (1 - best.judgement.rank[0])


class Asked(NamedTuple):
    """A trial that is to be done."""

    number: int
    params: dict[str, Any]
    before: list[optuna.trial.FrozenTrial]
    """The trials that had ended by then, by which it is judged half-way."""


class Done(NamedTuple):
    """The end of a trial."""

    score: float | None
    """None if it was ended."""
    reports: dict[int, float]
    """The best so far at each tenth of the time."""


def tried(asked: Asked, options: argparse.Namespace) -> Done:
    """Trains with the settings of a trial, in a study of its own that knows the trials before."""
    torch.set_num_threads(1)
    study = optuna.create_study(pruner=pruner())
    study.add_trials(asked.before)
    study.enqueue_trial(asked.params)
    trial = study.ask(SPACES[options.algorithm])
    plan = tuned(options.algorithm, GAME).changed(**changes(trial.params))
    scores = []
    try:
        for seed in range(options.seeds):
            model = getattr(tictac_agents, options.algorithm).from_plan(plan, seed, "cpu")
            exact = Trial(None if seed else trial, options.seconds, options.eval_freq)
            model.learn(plan.length, exact)
            scores.append(score(exact.best, options.seconds))
    except optuna.TrialPruned:
        scores = []
    return Done(mean(scores) if scores else None, study.get_trials(deepcopy=False)[-1].intermediate_values)


def pruner() -> optuna.pruners.BasePruner:
    """Ends trials that are worse half-way than the median of the others."""
    return optuna.pruners.MedianPruner(n_startup_trials=4)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("algorithm", choices=sorted(SPACES), nargs="?")
    parser.add_argument("--zoo", type=Path, nargs="?", const=ZOO, metavar="FOLDER", help="write the files for the zoo")
    parser.add_argument("--trials", type=positive, default=20, help="how many to add (default: %(default)s)")
    parser.add_argument("--seconds", type=positive, default=60, help="CPU time of a seed (default: %(default)s)")
    parser.add_argument("--seeds", type=positive, default=2, help="runs of each trial (default: %(default)s)")
    parser.add_argument("--eval-freq", type=positive, default=10_000, help="steps between verdicts")
    add_workers(parser)
    add_output(parser)
    options = parser.parse_args()
    if options.zoo:
        for name in ZOO_FILES:
            save_text(options.zoo / f"{name}.yml", zoo_file(name))
        return
    if options.algorithm is None:
        parser.error("name an algorithm, or --zoo")
    options.output.mkdir(parents=True, exist_ok=True)
    name, space = f"tune-{options.algorithm}", SPACES[options.algorithm]
    study = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(options.output / f"{name}.log"))),
        # Scores of other budgets say something else: a search with those is one of its own, in the same file.
        study_name=f"{name}, {options.seeds} times {options.seconds} s, judged every {options.eval_freq}",
        load_if_exists=True,
    )
    if not study.trials:
        study.enqueue_trial(point(tuned(options.algorithm, GAME), space))
    under_way: dict[int, optuna.Trial] = {}

    def asked() -> Iterator[Asked]:
        """Trials, each chosen by those that have ended when a worker is free."""
        for _ in range(options.trials):
            trial = study.ask(space)
            under_way[trial.number] = trial
            yield Asked(trial.number, trial.params, study.get_trials(states=ENDED))

    try:
        for job, done in map_jobs(partial(tried, options=options), asked(), chosen_workers(options), batch=1):
            trial = under_way.pop(job.number)
            for tenth, best in done.reports.items():
                trial.report(best, tenth)
            study.tell(trial, done.score, None if done.score is not None else optuna.trial.TrialState.PRUNED)
    except KeyboardInterrupt:
        for trial in under_way.values():
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
    publish(study, name, options)


def zoo_file(name: str) -> str:
    """The text of the file of one of the zoo's algorithms."""
    games = settings_class(ZOO_FILES[name]).TUNED
    entries = {game: entry for game in games if (entry := zoo_entry(name, game))}
    return HEAD + yaml.safe_dump(entries, sort_keys=False)


def zoo_entry(name: str, game: str) -> dict[str, Any] | None:
    """An algorithm's settings for a game, as the zoo reads them; None if it lacks the network."""
    plan = tuned(ZOO_FILES[name], game)
    keywords = {key: value for key, value in plan.settings.keywords().items() if key != "seed"}
    policy = keywords.pop("policy")
    if name in PLAIN and policy != "MlpPolicy":
        return None
    first, _ = keywords.pop("learning_rate")
    if name in PLAIN:
        keywords = {key: value for key, value in keywords.items() if key not in OURS}
    return {
        "n_envs": plan.num_envs,
        "n_timesteps": plan.length,
        # The zoo's evaluation knows no masks: an illegal action is to lose a game, not to end the run.
        "env_kwargs": {"opponent": plan.opponent, "obs_type": plan.obs_type, "illegal": "lose"},
        "policy": policy,
        "learning_rate": f"lin_{first}",  # falls to 0, in tuned.py to a two-hundredth of it or less
        **plain(keywords),
    }


def plain(value: Any) -> Any:
    """A value without tuples and other mappings than dicts, which YAML's safe form lacks."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, tuple) else value


def publish(study: optuna.Study, name: str, options: argparse.Namespace) -> None:
    """Writes all trials, the best first, and says how to train with the best."""
    done = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.COMPLETE]
    if not done:
        print("no trial has come to its end")
        return
    done.sort(key=lambda trial: trial.value or 0.0)
    rows = [{"trial": trial.number, "score": round(trial.value or 0.0, 2), **trial.params} for trial in done]
    settings = {"algorithm": options.algorithm, "game": GAME, "seconds": options.seconds, "seeds": options.seeds}
    save(name, settings, {"trials": rows}, options.output)
    show(f"{options.algorithm}: CPU seconds until proven unbeatable, as far as they got", rows[:10])
    words = []
    for setting, value in changes(study.best_params).items():
        words += [option(options.algorithm, setting)]
        words += [
            one if isinstance(one, str) else json.dumps(one)
            for one in (value if isinstance(value, tuple) else (value,))
        ]
    print(f"tictac train {options.algorithm} {shlex.join(words)}")


if __name__ == "__main__":
    main()
