"""What the page asks of the server: positions, answers of opponents, what they think, and the truth."""

from __future__ import annotations

import pytest
from conftest import playout
from oracle import Hurried, Oracle, board_of
from web_client import Client, shared_client  # noqa: F401  # the fixture `client`

from tictac_env.games import GAMES, Game, game_name
from tictac_env.position import Position
from tictac_env.solver import solve
from tictac_env.web.insight import exact_values

GAMES_BY_NAME = pytest.mark.parametrize("name", GAMES)


def test_a_position_says_all_that_the_page_needs(client: Client, game: Game) -> None:
    """Moves, landing cells, the way back and the end: the browser has no rules of its own."""
    name = game_name(game)
    if name is None:
        pytest.skip("a game that has no name cannot be asked for")
    positions = playout(game, seed=3)
    final = client.get("/api/position", game=name, moves=positions[-1].to_moves())
    assert final["over"]
    assert final["legal"] == []
    outcome = positions[-1].outcome
    assert outcome is not None
    assert (final["winner"], final["line"]) == (outcome.winner, [list(cell) for cell in outcome.cells])
    assert final["history"] == [position.to_moves() for position in positions]
    middle = positions[len(positions) // 2]
    shown = client.get("/api/position", game=name, moves=middle.to_moves())
    assert shown["cells"] == middle.to_array().tolist()
    assert shown["seat"] == middle.seat
    assert [move["action"] for move in shown["legal"]] == list(middle.legal_actions)
    for move in shown["legal"]:
        after = middle.play(move["action"])
        assert move["then"] == after.to_moves()
        assert tuple(move["cell"]) == after.last_cell


@GAMES_BY_NAME
@pytest.mark.parametrize("opponent", ["random", "rule", "minimax:2", "mcts:50", "perfect", "level:3", "level:10"])
def test_opponents_answer(client: Client, name: str, opponent: str) -> None:
    moves = "15" if name == "TicTacToe-v0" else "44532122"
    answers = [client.post("/api/reply", game=name, moves=moves, opponent=opponent, seed=seed) for seed in (1, 1, 2)]
    assert answers[0]["action"] == answers[1]["action"]  # the same seed, the same move
    for answer in answers:
        assert answer["position"]["history"][-2] == moves
        assert answer["position"]["ply"] == len(moves) + 1


@GAMES_BY_NAME
def test_the_perfect_opponent_plays_a_best_move(client: Client, name: str) -> None:
    moves = "1" if name == "TicTacToe-v0" else "4453"
    best = solve(Position.from_moves(name, moves)).best_actions
    for seed in range(3):
        assert client.post("/api/reply", game=name, moves=moves, opponent="perfect", seed=seed)["action"] in best


def test_the_menu_can_be_played(client: Client, name: str) -> None:
    """Every opponent that is offered answers."""
    offered = client.get("/api/opponents", game=name)
    names = [one["name"] for one in offered["opponents"]]
    assert offered["default"] in names
    for opponent in names:
        client.post("/api/reply", game=name, moves="", opponent=opponent)


@pytest.mark.parametrize(
    ("opponent", "kind", "number"),
    [("mcts:200", "visits", "visits"), ("random", "chances", "chance"), ("perfect", "chances", "chance")],
)
def test_thoughts_are_of_each_legal_move(client: Client, opponent: str, kind: str, number: str) -> None:
    found = client.post("/api/thoughts", game="ConnectFour-v0", moves="444444", opponent=opponent)
    assert found["kind"] == kind
    assert [move["action"] for move in found["moves"]] == [0, 1, 2, 4, 5, 6]
    total = sum(move[number] for move in found["moves"])
    assert total == pytest.approx(200 if kind == "visits" else 1)


@pytest.mark.parametrize("opponent", ["ntuple", "ntuple:2"])
def test_networks_say_what_their_moves_are_worth(client: Client, opponent: str) -> None:
    fields = {"game": "ConnectFour-v0", "moves": "4453", "opponent": opponent}
    found = client.post("/api/thoughts", **fields)
    assert found["kind"] == "values" and "network" in found["text"]
    values = {move["action"]: move["value"] for move in found["moves"]}
    assert values[client.post("/api/reply", **fields)["action"]] == max(values.values())


def test_a_level_says_what_its_search_thinks(client: Client) -> None:
    found = client.post("/api/thoughts", game="ConnectFour-v0", moves="", opponent="level:7")
    assert found["kind"] == "visits"
    assert "level:7 plays mcts:300" in found["text"]


def test_thoughts_are_those_behind_the_move(client: Client) -> None:
    fields = {"game": "ConnectFour-v0", "moves": "4453", "opponent": "mcts:300", "seed": 7}
    visits = {move["action"]: move["visits"] for move in client.post("/api/thoughts", **fields)["moves"]}
    assert visits[client.post("/api/reply", **fields)["action"]] == max(visits.values())


@GAMES_BY_NAME
def test_exact_values_are_the_solvers(client: Client, name: str) -> None:
    moves = "152" if name == "TicTacToe-v0" else "445321223"
    position = Position.from_moves(name, moves)
    truth = solve(position)
    found = client.post("/api/exact", game=name, moves=moves)
    assert found["complete"]
    assert {one["action"]: one["score"] for one in found["moves"]} == {
        action: score for action, score in enumerate(truth.action_scores) if score is not None
    }
    assert tuple(one["action"] for one in found["moves"] if one["best"]) == truth.best_actions


def test_a_move_is_best_only_if_no_other_can_be_as_good() -> None:
    position = Position.from_moves("TicTacToe-v0", "152489")
    for worst, best in ((-1, [2]), (0, [])):
        found = exact_values(Hurried({2: (0, 0), 5: (-3, worst), 6: (-2, -2)}), position, 0)
        assert not found["complete"] and [one["action"] for one in found["moves"] if one["best"]] == best


def test_bounds_are_told_as_far_as_they_go() -> None:
    position = Position.from_moves("TicTacToe-v0", "152489")
    unknown = (None, "not known in the time there is")
    for known, told in (
        ({2: (1, 3), 5: (-3, -1), 6: (-1, 1)}, [("win", "a win"), ("loss", "a loss"), unknown]),
        ({2: (0, 3), 5: (-3, 0), 6: (0, 0)}, [(None, "at least a draw"), (None, "at most a draw"), ("draw", "a draw")]),
    ):
        moves = exact_values(Hurried(known), position, 0)["moves"]
        assert [(one["outcome"], one["text"]) for one in moves] == told


def test_won_in_n_counts_the_winners_moves(client: Client) -> None:
    """Played out by best moves, the game ends with the n-th stone of the winner."""
    moves = "45212"
    for _ in range(20):
        found = client.post("/api/exact", game="ConnectFour-v0", moves=moves)["moves"]
        best = next(one for one in found if one["best"])
        after = Position.from_moves("ConnectFour-v0", moves).play(best["action"])
        expected = best["in"] - (best["outcome"] == "win")
        if after.is_over:
            assert best["text"] == "won in 1"
            return
        following = client.post("/api/exact", game="ConnectFour-v0", moves=after.to_moves())["moves"]
        assert next(one for one in following if one["best"])["in"] in (expected, None)
        moves = after.to_moves()


def test_a_review_marks_the_moves_that_gave_something_away(client: Client) -> None:
    """On tic-tac-toe, against the naive solver of the tests."""
    final = Position.from_moves("TicTacToe-v0", "1254367")
    truth = Oracle(final.game)
    found = client.post("/api/review", game="TicTacToe-v0", moves="1254367")
    assert found["complete"]
    position = Position.start(final.game)
    before = None
    for ply, row in enumerate(found["plies"]):
        mover = truth.score(board_of(position))
        sign = (mover > 0) - (mover < 0)
        first = sign if position.seat == 0 else -sign
        assert row["outcome"] == first
        worse = before is not None and (before > first if position.seat == 1 else before < first)
        assert row["blunder"] == worse
        before = first
        if ply < final.ply:
            position = position.play(final.moves[ply])
    assert any(row["blunder"] for row in found["plies"])


def test_solve_answers_as_the_well_known_page_does(client: Client) -> None:
    assert client.get("/solve", pos="") == {"pos": "", "score": [-2, -1, 0, 1, 0, -1, -2]}
    assert client.get("/solve", pos="444444")["score"][3] == 100
    moves = "52753311433677442422121"
    assert client.get("/solve", pos=moves) == {"pos": moves, "score": [2, 3, 7, 7, 8, 7, 2]}
    assert client.get("/solve", pos="12121214"[:7])["score"] == [100] * 7  # the game is over
    response = client.http.get("/solve", params={"pos": "4"})
    assert response.headers["access-control-allow-origin"] == "*"


def test_other_sizes_are_played_and_solved(client: Client) -> None:
    name = "KInARow-v0:3x4-3,gravity=False"
    assert client.get("/api/position", game=name)["cols"] == 4
    answer = client.post("/api/reply", game=name, moves="", opponent="rule")
    found = client.post("/api/exact", game=name, moves=answer["position"]["moves"])
    assert found["complete"]
