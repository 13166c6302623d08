"""Rubrics: the functions a submission must have, its limits, and the theorems to prove for points.

A rubric is a TOML file; docs/teaching/README.md has one in full, with each field explained.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from tictac_agents.settings import Checked, setting
from tictac_env.checks import SEATS, flag, number, one_of
from tictac_env.games import Game, did_you_mean, game_name, get_game
from tictac_env.observation import OBSERVATION_TYPES
from tictac_env.storage import JsonObject

HOMES = (
    Path(__file__).parent / "assignments",
    Path(__file__).parents[3] / "docs" / "teaching" / "assignments",
)
"""The folders of assignments: in an installed package, and in a checkout of the repository."""
RUBRIC = "rubric.toml"
TRUTHS = ("legal_moves", "result", "value")
ARGUMENTS = ("cells", "legal", "mask", *OBSERVATION_TYPES)
"""Arguments of functions: the cells of the board in a row, the legal actions, the action mask, an observation."""
LARGEST_LIMIT = 1_000_000
VISIBILITIES = ("visible", "hidden", "after_due_date", "after_published")


@dataclass(frozen=True)
class Theorem:
    """A theorem about a submission.

    Attributes:
        title: its statement, with fields of the test in braces.
        options: its own fields and their defaults; a field whose default is None must be set.
        tabulated: True if it needs a game small enough to walk every reply.
    """

    title: str
    options: JsonObject = field(default_factory=dict)
    tabulated: bool = False


THEOREMS = {
    "never-illegal": Theorem("is never illegal"),
    "takes-wins": Theorem("takes every immediate win"),
    "blocks": Theorem("blocks every single threat"),
    "keeps-value": Theorem("keeps the value of the position", {"among": "all"}),
    "never-beaten": Theorem("no legal reply beats it as {seat}", {"seat": None}, tabulated=True),
    "exploitability": Theorem("exploitability at most {at_most:g}", {"at_most": 0.0}, tabulated=True),
    "beats-random": Theorem("scores at least {at_least:.1%} against random play as {seat}", {"seat": None}, True),
    "agrees": Theorem("{function} is right", {"function": None, "truth": None, "arguments": None}, tabulated=True),
}
"""The theorems by the names that rubrics use; `tictac_apps.grading.theorems` defines them."""


@dataclass(frozen=True, kw_only=True)
class RubricLimits(Checked):
    """The limits of a submission."""

    seconds_a_move: float = setting(
        1.0, "processor time of an answer; its wall-clock time may be four times as long", 0.01, LARGEST_LIMIT
    )
    seconds: float = setting(60.0, "wall-clock time of everything together, training included", 0.01, LARGEST_LIMIT)
    setup_seconds: float = setting(10.0, "processor time of training, and of loading the file", 0.01, LARGEST_LIMIT)
    memory_mb: int = setting(1024, "address space, Python and its libraries included", 1, LARGEST_LIMIT)
    file_mb: int = setting(4, "the size of each file that it writes, and of what it prints", 1, LARGEST_LIMIT)
    scratch_mb: int = setting(64, "the size of all files that it writes", 1, LARGEST_LIMIT)
    slow_moves: int = setting(
        3, "answers that took too long or ended the process, after which no more are asked", 1, LARGEST_LIMIT
    )


@dataclass(frozen=True)
class Criterion:
    """One line of a rubric.

    Attributes:
        theorem: a name of `THEOREMS`.
        points: the most it can earn.
        title: its name in reports.
        at_least: the share that earns all points, if shares are counted.
        starts: the share that earns nothing; between it and `at_least` points grow linearly.
        cell: the `grade_id` of nbgrader's cell that gets the points.
        visibility: Gradescope's, one of `VISIBILITIES`.
        options: the fields of this theorem.
    """

    theorem: str
    points: float
    title: str
    at_least: float
    starts: float
    cell: str
    visibility: str
    options: JsonObject

    def earned(self, share: float) -> float:
        """The points for a share."""
        if share >= self.at_least:
            return self.points
        part = max(0.0, share - self.starts) / (self.at_least - self.starts)
        return math.floor(100 * self.points * part) / 100  # rounded down: full points are for the full share only


@dataclass(frozen=True)
class Rubric:
    """The rubric of an assignment.

    Attributes:
        name: the assignment's name.
        title: the name that people read.
        game: the game.
        file: the name of the file to hand in.
        function: the function that plays; "" if there is none.
        arguments: the arguments of that function, see `ARGUMENTS`.
        setup: a function that is called once, before all others, such as one that trains; "" for none.
        arrays: True if arguments are NumPy arrays, as environments give them; False for lists.
        packages: what may be imported besides the standard library.
        symmetric: True to count positions that are images of each other once.
        limits: the limits of a submission.
        tests: the criteria in their order.

    Example:
        >>> from tictac_apps.grading import load_rubric
        >>> rubric = load_rubric("minimax")
        >>> rubric.file, rubric.points, len(rubric.tests)
        ('submission.py', 100.0, 8)
    """

    name: str
    title: str
    game: Game
    file: str
    function: str
    arguments: tuple[str, ...]
    setup: str
    arrays: bool
    packages: tuple[str, ...]
    symmetric: bool
    limits: RubricLimits
    tests: tuple[Criterion, ...]

    @property
    def points(self) -> float:
        """The points of all tests together."""
        return sum(test.points for test in self.tests)

    @property
    def game_name(self) -> str:
        """The name of the game."""
        return game_name(self.game) or repr(self.game)


def assignments() -> list[str]:
    """The names of the assignments that come with the package.

    Example:
        >>> from tictac_apps.grading import assignments
        >>> assignments()
        ['dqn', 'mcts', 'minimax', 'monte_carlo', 'q_learning', 'rules']
    """
    return sorted({rubric.parent.name for home in HOMES for rubric in home.glob(f"*/{RUBRIC}")})


def assignment_folder(name: str) -> Path:
    """The folder of an assignment: its hand-out, its starter file and its rubric.

    Raises:
        ValueError: there is no assignment of that name.
    """
    for home in HOMES:
        if name in assignments() and (home / name / RUBRIC).is_file():
            return home / name
    raise ValueError(f"no assignment is called {name!r}; {did_you_mean(name, assignments(), listed=True)}")


def load_rubric(assignment: str | os.PathLike[str]) -> Rubric:
    """The rubric of an assignment: by the name of one that comes with the package, or by the path of a rubric's file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no such assignment, or something in the file is wrong; the message says where.

    Example:
        >>> load_rubric("minimax").points
        100.0
    """
    path = Path(assignment)
    if path.suffix != ".toml":
        path = assignment_folder(os.fspath(assignment)) / RUBRIC
    try:
        return _rubric(tomllib.loads(path.read_text(encoding="utf-8")), path.parent.name)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no rubric {os.fspath(path)!r}") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def _rubric(content: JsonObject, folder: str) -> Rubric:
    tests = content.pop("test", [])
    if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests) or not tests:
        raise ValueError("a rubric needs tests, each under a line [[test]]")
    texts: JsonObject = {"name": folder, "title": "", "game": "TicTacToe-v0", "file": "submission.py"}
    texts |= {"function": "choose", "setup": ""}
    defaults = texts | {"arguments": ["cells", "legal"], "arrays": False, "packages": [], "symmetric": False}
    fields = defaults | _checked("", content, {*defaults, "limits"})
    for name in texts:
        _text(name, fields[name])
    if Path(fields["file"]).name != fields["file"] or not fields["file"].endswith(".py"):
        raise ValueError(f"file must be the name of a Python file, such as submission.py, not {fields['file']!r}")
    game = get_game(fields["game"])
    criteria = tuple(_criterion(f"test {place}: ", test, fields["function"]) for place, test in enumerate(tests, 1))
    cells = [criterion.cell for criterion in criteria]
    for place, cell in enumerate(cells, 1):
        if cells.index(cell) != place - 1:
            raise ValueError(f"test {place}: the cell {cell!r} is another test's already; give it one of its own")
    return Rubric(
        name=fields["name"],
        title=fields["title"] or fields["name"],
        game=game,
        file=fields["file"],
        function=fields["function"],
        arguments=tuple(one_of("arguments", name, ARGUMENTS) for name in _texts("arguments", fields["arguments"])),
        setup=fields["setup"],
        arrays=flag("arrays", fields["arrays"]),
        packages=tuple(_texts("packages", fields["packages"])),
        symmetric=flag("symmetric", fields["symmetric"]),
        limits=_limits(fields.get("limits", {})),
        tests=criteria,
    )


def _limits(content: object) -> RubricLimits:
    if not isinstance(content, dict):
        raise ValueError(f"limits must stand under a line [limits], not be {content!r}")
    try:
        return RubricLimits.from_dict(content)
    except ValueError as error:
        raise ValueError(f"limits: {error}") from None


def _criterion(at: str, content: JsonObject, plays: str) -> Criterion:
    name = one_of(f"{at}theorem", content.get("theorem"), tuple(THEOREMS))
    theorem = THEOREMS[name]
    common = {"theorem", "points", "title", "at_least", "starts", "cell", "visibility"}
    _checked(at, content, common | set(theorem.options))
    options: JsonObject = {option: content.get(option, default) for option, default in theorem.options.items()}
    if missing := [option for option, value in options.items() if value is None]:
        raise ValueError(f"{at}{name} needs {' and '.join(missing)}")
    allowed = {"seat": SEATS, "truth": TRUTHS, "among": ("all", "critical")}
    for option, value in options.items():
        if option in allowed:
            one_of(f"{at}{option}", value, allowed[option])
    if "at_most" in options:
        number(f"{at}at_most", options["at_most"], 0, 2)
    if "arguments" in options:
        options["arguments"] = tuple(one_of(f"{at}arguments", argument, ARGUMENTS) for argument in options["arguments"])
    if name != "agrees" and not plays:
        raise ValueError(f"{at}{name} needs a function that plays")
    at_least = number(f"{at}at_least", content.get("at_least", 1.0), 0, 1)
    starts = number(f"{at}starts", content.get("starts", 0.0), 0, at_least)
    if starts == at_least > 0:
        raise ValueError(f"{at}starts must be less than at_least, which is {at_least:g}, not {starts:g}")
    title = _text(f"{at}title", content.get("title", "")) or theorem.title.format(**options, at_least=at_least)
    return Criterion(
        theorem=name,
        points=float(number(f"{at}points", content.get("points"), 0, 1e6)),
        title=title,
        at_least=at_least,
        starts=starts,
        cell=_text(f"{at}cell", content.get("cell", ""))
        or "-".join([name, *(options[option] for option in ("seat", "function") if option in options)]),
        visibility=one_of(f"{at}visibility", content.get("visibility", "visible"), VISIBILITIES),
        options=options,
    )


def _checked(at: str, content: JsonObject, allowed: Collection[str]) -> JsonObject:
    for name in content:
        if name not in allowed:
            raise ValueError(f"{at}there is no field {name!r}; {did_you_mean(name, allowed, listed=True)}")
    return content


def _text(name: str, text: object) -> str:
    if not isinstance(text, str):
        raise ValueError(f"{name} must be a string, not {text!r}")
    return text


def _texts(name: str, value: object) -> list[str]:
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list of strings, not {value!r}")
    return [_text(name, item) for item in value]
