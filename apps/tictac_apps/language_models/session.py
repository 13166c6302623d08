"""A game in text: prompts, strict reading of answers, exact rewards, and states that can be kept and restored."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import cycle
from typing import Any

from gymnasium.error import ResetNeeded

from tictac_apps.language_models.harness import BoardHarness, GameHarness, moves_written
from tictac_env.checks import flag, one_of, whole
from tictac_env.envs.single import BoardEnv
from tictac_env.games import Game, get_game, shown
from tictac_env.policies.policy import Policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

REWARDS = ("outcome", "regret", "both")
OPPONENT = "perfect:0.5"
"""The opponent of a session if none is named."""
ASKED = ("wrong", "answer", "move")
"""The fields of a question that change."""
Message = dict[str, str]


@dataclass
class Asking:
    """The question for one move, which may be asked several times.

    Attributes:
        harness: makes the prompts and reads the answers.
        retries: the number of wrong answers that are forgiven for each move.
        wrong: wrong answers for the present move so far.
        answer: the last of them, None if there is none.
        move: the move that it named, None if it named none.
    """

    harness: GameHarness
    retries: int
    wrong: int = 0
    answer: str | None = None
    move: str | None = None

    def prompt(self, position: Position, history: Sequence[str] = ()) -> str:
        """The text that asks for a move, with what was wrong with the last answer."""
        return self.harness.make_prompt(position, history, self.answer, self.move)

    def read(self, position: Position, answer: str) -> tuple[str, int | None]:
        """Reads an answer, and counts it if it is wrong.

        Returns:
            "legal", "illegal" or "unparsed", and the action if it is legal.

        Raises:
            ValueError: `answer` is no str.
        """
        if not isinstance(answer, str):
            raise ValueError(f"an answer must be a str, what a language model says, not {shown(answer)}")
        legal = {text: action for action, text in self.harness.get_legal_moves(position).items()}
        found = self.harness.parse_response(answer, list(legal))
        if found.legal_action in legal:
            self.wrong, self.answer, self.move = 0, None, None
            return "legal", legal[found.legal_action]
        self.wrong, self.answer, self.move = self.wrong + 1, answer, found.raw_action
        return "unparsed" if found.raw_action is None else "illegal", None

    def restored(self, state: Any) -> Asking:
        """The question as it was when `state`, the changed fields, was saved.

        Raises:
            ValueError: `state` does not have these fields, or they contradict each other.
        """
        if not isinstance(state, Mapping) or set(state) != set(ASKED):
            raise ValueError(f"asking of a state must have the keys {list(ASKED)}, not {shown(state)}")
        wrong, answer, move = whole("wrong of a state", state["wrong"], self.retries), state["answer"], state["move"]
        texts = [text for text in (answer, move) if text is not None]
        if not all(isinstance(text, str) for text in texts) or (answer is None) != (wrong == 0) or (move and not wrong):
            raise ValueError(f"answer and move of a state must be those of a wrong answer, or None: {shown(state)}")
        return Asking(self.harness, self.retries, wrong, answer, move)

    @property
    def is_lost(self) -> bool:
        """True if there was a wrong answer too many."""
        return self.wrong > self.retries


@dataclass(frozen=True)
class Turn:
    """The answer of a session to a reset or to a text.

    Attributes:
        prompt: the question for the next move; the board and who has won once the game is over.
        seat: who is asked, 0 first or 1 second; once the game is over, who answered last.
        position: the position that is asked for.
        done: whether the game is over.
        status: "legal", "illegal" or "unparsed", of the answer just read; "" after a reset; "forfeited" if the game was
            given up.
        reward: what the answer earned.
        outcomes: 1 won, 0 drawn, -1 lost, for the first and the second player; None while the game goes on.
        messages: the conversation so far of the seat that is asked, for a chat template; the last one is the prompt.
        played: the position and the action that the answer was judged by, for `regret`; None if it was not judged.

    Example:
        >>> from tictac_apps.language_models import TextSession
        >>> turn = TextSession("TicTacToe-v0").reset(seed=0, position="1524")
        >>> turn.seat, turn.done, turn.values()
        (0, False, {'3': 1, '6': 0, '7': -1, '8': -1, '9': -1})
    """

    prompt: str
    seat: int
    position: Position
    done: bool
    status: str = ""
    reward: float = 0.0
    outcomes: tuple[int, int] | None = None
    messages: tuple[Message, ...] = field(default=(), repr=False)
    played: tuple[Position, int | None] | None = field(default=None, repr=False)

    @cached_property
    def regret(self) -> int | None:
        """The outcome value that the answer gave away: 0, 1 or 2, found when it is asked for.

        None after a reset, and after a wrong answer that was forgiven. A game lost by a wrong answer counts as a loss
        on the spot.
        """
        from tictac_env.solver.exact import move_regret

        return None if self.played is None else move_regret(*self.played, weak=True).outcome

    def values(self) -> dict[str, int]:
        """The exact value of each legal move, 1, 0 or -1 for who is asked. For a teacher: no prompt shows it."""
        from tictac_env.solver.exact import solve

        if self.done:
            return {}
        scores = solve(self.position, weak=True).action_scores
        written = BoardHarness().get_legal_moves(self.position)
        return {
            text: (score > 0) - (score < 0) for action, text in written.items() if (score := scores[action]) is not None
        }


class TextSession:
    r"""A game in text, for training a language model: each answer earns an exact reward.

    The defaults avoid what training on these games is known to fail by. An opponent that always plays the same is
    learned by heart, and a perfect one makes play timid: `perfect:0.5` plays half of its moves at random. The seat and
    the opening are drawn, and no prompt lists the legal moves, since choosing from a list is no knowledge of the rules.

    Rewards of an answer:

    | `reward` | legal | wrong, and the game is lost by it |
    | --- | --- | --- |
    | "outcome" | 1, 0 or -1 if it ends the game, else 0 | -1 |
    | "regret" | the negative of the outcome value it gives away: 0, -1 or -2 | the same, for a loss there |
    | "both" | their sum | their sum |

    A wrong answer that is forgiven earns 0. With `scaled` the last answer earns the `score` of the whole game, in
    [0, 1], and all answers before it earn 0. So the sum of a game's rewards never pays for a longer game, with `scaled`
    or without. `opponent=None` asks for both seats.

    Args:
        game: a game's name or rule book.
        opponent: what `gym.make` takes as opponent; None if both seats are asked.
        seat: who is asked: "first", "second", "random" (drawn at each reset; the default) or "alternate". Both seats
            are if there is no opponent.
        start: as of the environments: "random:2" begins after 0 to 2 random moves; None on the empty board.
        reward: one of "outcome", "regret" and "both".
        scaled: whether a game earns one reward, its `score`, at its end.
        harness: makes the prompts and reads the answers; by default a `BoardHarness` without the list of legal moves.
        retries: the number of wrong answers that are forgiven for each move.
        history: whether the prompts list the moves so far.
        system: the first message of each conversation, "" for none.

    Attributes:
        returns: what each seat has earned in this game, two floats. The side that did not make the last move gets its
            outcome or score here, too.
        regrets: what each seat has given away in this game, two integers; 0 if the reward is the outcome alone.

    Raises:
        ValueError: an argument is out of its range.

    Example:
        >>> session = TextSession("TicTacToe-v0", opponent="minimax-first", seat="second", start=None)
        >>> turn = session.reset(seed=0)
        >>> turn.position.to_moves(), turn.seat, turn.values()["5"]
        ('1', 1, 0)
        >>> turn = session.answer("A corner is as good as any.\nMove: 9")  # only the centre holds the draw
        >>> turn.status, turn.regret, turn.reward
        ('legal', 1, -1.0)
        >>> kept = session.snapshot()
        >>> [session.answer(answer).position.to_moves() for answer in ("2", "4") if session.restore(kept)]
        ['19327', '19342']
    """

    def __init__(
        self,
        game: str | Game = "TicTacToe-v0",
        opponent: Any = OPPONENT,
        seat: str | None = None,
        start: str | Sequence[Position | str] | PositionBatch | None = "random:2",
        reward: str = "regret",
        scaled: bool = False,
        harness: GameHarness | None = None,
        retries: int = 2,
        history: bool = False,
        system: str = "",
    ) -> None:
        self._env = BoardEnv(get_game(game), opponent, seat or ("first" if opponent is None else "random"), start=start)
        self.reward = one_of("reward", reward, REWARDS)
        self.scaled = flag("scaled", scaled)
        self.history = flag("history", history)
        self.system = system
        self._asking = Asking(harness or BoardHarness(list_moves=False), whole("retries", retries))
        self.returns = [0.0, 0.0]
        self.regrets = [0, 0]
        self._conversations: list[list[Message]] = [[], []]
        self._turn: Turn | None = None

    @property
    def opponent(self) -> Policy | None:
        """The policy that answers; None if both seats are asked."""
        return self._env.opponent

    @property
    def turn(self) -> Turn:
        """The turn that was said last.

        Raises:
            gymnasium.error.ResetNeeded: no game has begun.
        """
        if self._turn is None:
            raise ResetNeeded("no game is under way, call reset() first")
        return self._turn

    def reset(self, seed: int | None = None, position: Position | str | None = None) -> Turn:
        """Begins a game, and asks for the first move.

        Args:
            seed: seeds this game and those after it; None goes on with the last seed.
            position: where it begins; None where `start` says.

        Raises:
            ValueError: no game can begin there.
        """
        self._env.reset(seed=seed, options=None if position is None else {"position": position})
        self._asking = Asking(self._asking.harness, self._asking.retries)
        self.returns = [0.0, 0.0]
        self.regrets = [0, 0]
        self._conversations = [self._opening(), self._opening()]
        return self._ask()

    def answer(self, text: str) -> Turn:
        """Reads an answer, plays its move and the opponent's reply, and asks for the next one.

        Raises:
            ValueError: `text` is no str.
            gymnasium.error.ResetNeeded: no game is under way.
        """
        before = self.turn
        if before.done:
            raise ResetNeeded(f"the game is over, call reset() first: {before.position!r}")
        asking = copy.copy(self._asking)  # changed only once the opponent has answered
        status, action = asking.read(before.position, text)
        goes_on, outcome = action is None and not asking.is_lost, None if action is not None else -1
        if action is not None:
            info = self._env.step(action)[4]
            outcome = info.get("outcome")
        self._asking = asking
        self._conversations[before.seat].append({"role": "assistant", "content": text})
        if goes_on:
            return self._ask(status)
        return self._judge(status, action, outcome)

    def forfeit(self) -> Turn:
        """Ends the game as lost by the seat that is asked, as a wrong answer too many does.

        For a trainer that cuts games off: an unfinished game is no draw. `status` of the turn is "forfeited".

        Raises:
            gymnasium.error.ResetNeeded: no game is under way.
        """
        if self.turn.done:
            raise ResetNeeded(f"the game is over, call reset() first: {self.turn.position!r}")
        return self._judge("forfeited", None, -1)

    def score(self, seat: int) -> float:
        """A whole game as one reward in [0, 1], for trainers that take one for each game.

        With `reward="outcome"` it is (1 + outcome) / 2. With "regret" it is 1 if the seat gave nothing away, and each
        point of regret halves it, so that longer games earn no more. With "both" it is the mean of the two. It is 0 for
        a seat that lost by a wrong answer or a forfeit.

        Raises:
            ValueError: `seat` is neither 0 nor 1.
            gymnasium.error.ResetNeeded: the game is not over.
        """
        seat = whole("seat", seat, 1)
        if self.turn.outcomes is None or self.turn.played is None:
            raise ResetNeeded(f"the game is not over: {self.turn.position!r}")
        if self.turn.played[1] is None and seat == self.turn.seat:
            return 0.0
        result, regret = (1 + self.turn.outcomes[seat]) / 2, 0.5 ** self.regrets[seat]
        return {"outcome": result, "regret": regret, "both": (result + regret) / 2}[self.reward]

    def _judge(self, status: str, action: int | None, outcome: int | None) -> Turn:
        """Pays for a move that was played, None for a loss without one, and asks on or ends the game."""
        before, played = self.turn, (self.turn.position, action)
        seat, regret = before.seat, self._regret(played)
        self.regrets[seat] += regret
        if outcome is None:
            earned = 0.0 if self.scaled else float(-regret)
            self.returns[seat] += earned
            return self._ask(status, earned, played)
        outcomes = (outcome, -outcome) if seat == 0 else (-outcome, outcome)
        end = str(self._env.position) + ("" if action is not None else "\nno legal move was named: the game is lost")
        conversation = tuple(self._conversations[seat])
        self._turn = Turn(end, seat, self._env.position, True, status, 0.0, outcomes, conversation, played)
        if self.scaled:
            gains = [self.score(0), self.score(1)]
        else:
            gains = [0.0 if self.reward == "regret" else float(result) for result in outcomes]
            gains[seat] -= regret
        for paid in (0, 1) if self.opponent is None else (seat,):
            self.returns[paid] += gains[paid]
        self._turn = replace(self._turn, reward=gains[seat])
        return self._turn

    async def async_reset(self, seed: int | None = None, position: Position | str | None = None) -> Turn:
        """Does what `reset` does, in a thread: the event loop does not wait for the opponent."""
        return await asyncio.to_thread(self.reset, seed, position)

    async def async_answer(self, text: str) -> Turn:
        """Does what `answer` does, in a thread: the event loop does not wait for the opponent and the solver."""
        return await asyncio.to_thread(self.answer, text)

    def snapshot(self) -> dict[str, Any]:
        """The state of the game for JSON, randomness included, to sample several answers from it.

        Raises:
            gymnasium.error.ResetNeeded: no game has begun.
        """
        turn, asking = self.turn, asdict(self._asking)
        if turn.done:
            raise ResetNeeded(f"the game is over, and there is nothing to go on with: {turn.position!r}")
        return {
            "board": self._env.state_dict(),
            "asking": {name: asking[name] for name in ASKED},
            "regrets": list(self.regrets),
            "conversations": copy.deepcopy(self._conversations),
        }

    def restore(self, state: Mapping[str, Any]) -> Turn:
        """Goes on from a state of `snapshot`, of this session or of another one with the same arguments.

        Raises:
            ValueError: `state` is not such a dict, is of another game, or contradicts itself or the session. Then
                nothing changes.
        """
        names = ("board", "asking", "regrets", "conversations")
        if not isinstance(state, Mapping) or set(state) != set(names):
            raise ValueError(f"a state is a dict with the keys {list(names)}, not {shown(state)}")
        board, asking = state["board"], self._asking.restored(state["asking"])
        if not isinstance(board, Mapping) or board.get("over") is not False:
            raise ValueError(f"board of a state must be that of an unfinished game, not {shown(board)}")
        seat = whole("learner of a state", board.get("learner"), 1)
        regrets = self._check_regrets(state["regrets"], seat)
        conversations = self._check_conversations(state["conversations"], seat, asking)
        self._env.load_state_dict(board)
        self._asking, self.regrets, self._conversations = asking, regrets, conversations
        self.returns = [0.0 if self.scaled else float(-regret) for regret in regrets]
        conversations[seat].pop()  # the question, which is asked again
        return self._ask()

    def _check_regrets(self, regrets: Any, seat: int) -> list[int]:
        """The regrets of a state whose `seat` is asked."""
        if not isinstance(regrets, list) or len(regrets) != 2:
            raise ValueError(f"regrets of a state must be two integers, not {shown(regrets)}")
        judged = [self.reward != "outcome" and (self.opponent is None or side == seat) for side in (0, 1)]
        highest = 2 * self._env.game.cells
        return [whole(f"regrets[{side}] of a state", regrets[side], highest if judged[side] else 0) for side in (0, 1)]

    def _check_conversations(self, conversations: Any, seat: int, asking: Asking) -> list[list[Message]]:
        """The conversations of a state: questions and answers in turn, and that of `seat` ends with a question."""
        if not isinstance(conversations, list) or len(conversations) != 2:
            raise ValueError(f"conversations of a state must be two lists, not {shown(conversations)}")
        opening = self._opening()
        for side, messages in enumerate(conversations):
            if not isinstance(messages, list) or messages[: len(opening)] != opening:
                raise ValueError(f"conversations[{side}] of a state must be a list that begins with {shown(opening)}")
            exchange = messages[len(opening) :]
            for message, role in zip(exchange, cycle(("user", "assistant")), strict=False):
                if not isinstance(message, dict) or {**message, "content": ""} != {"role": role, "content": ""}:
                    raise ValueError(
                        f"conversations[{side}] of a state must have a message of {role!r}, not {shown(message)}"
                    )
                if not isinstance(message.get("content"), str):
                    raise ValueError(f"content of a message must be a str, not {shown(message)}")
            if len(exchange) % 2 != (side == seat):
                raise ValueError(f"conversations[{side}] of a state must end with a question only if its seat is asked")
        if asking.answer is not None and [message["content"] for message in conversations[seat][-2:-1]] != [
            asking.answer
        ]:
            raise ValueError(f"answer of a state must be the last one of the conversation, not {shown(asking.answer)}")
        return copy.deepcopy(conversations)

    def _opening(self) -> list[Message]:
        """The messages before the first question."""
        return [{"role": "system", "content": self.system}] if self.system else []

    def _ask(self, status: str = "", earned: float = 0.0, played: tuple[Position, int | None] | None = None) -> Turn:
        position = self._env.position
        prompt = self._asking.prompt(position, moves_written(self._asking.harness, position) if self.history else [])
        said = self._conversations[position.seat]
        said.append({"role": "user", "content": prompt})
        self._turn = Turn(prompt, position.seat, position, False, status, earned, None, tuple(said), played)
        return self._turn

    def _regret(self, played: tuple[Position, int | None]) -> int:
        """The regret of a legal answer, or of a wrong one by which the game is lost; 0 if only the outcome pays."""
        from tictac_env.solver.exact import move_regret

        return 0 if self.reward == "outcome" else move_regret(*played, weak=True).outcome
