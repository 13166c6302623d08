"""A model card: Markdown with a head of YAML, in the form that model hubs read, and the record beside it.

Mitchell et al., "Model Cards for Model Reporting", 2019; the fields of the head are those of Hugging Face's model cards
(https://huggingface.co/docs/hub/model-cards), `model-index` among them, from which hubs show results.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tictac_env.arena.audits.text import SEATS, audit_text
from tictac_env.storage import save_text

if TYPE_CHECKING:
    from tictac_env.arena.audits.record import Audit

CARD, RECORD = "README.md", "verdict.json"
TAG = "tictac-env"
"""Tags every card, and tells one of ours from another file of that name."""
LIBRARIES = {"Snapshot": "stable-baselines3", "DQN": "stable-baselines3", "MaskablePPO": "stable-baselines3"}
LIBRARIES |= {"TorchNetwork": "pytorch", "OnnxNetwork": "onnx"}


def save_card(found: Audit, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Writes the card and the record into a folder, as "README.md" and "verdict.json"; returns their paths.

    Raises:
        ValueError: there is a README.md that is no such card; or a verdict.json that is no record. Nothing is written.
    """
    card, record = Path(folder) / CARD, Path(folder) / RECORD
    if card.exists() and not _is_card(card.read_text("utf-8", errors="replace")):
        raise ValueError(f"{card} is there and is no card of tictac-env, so it is left alone; give another folder")
    if record.exists() and not _is_record(record.read_text("utf-8", errors="replace")):
        raise ValueError(f"{record} is there and is no audit, so it is left alone; give another folder")
    save_text(record, found.to_json() + "\n")
    save_text(card, model_card(found))
    return card, record


def model_card(found: Audit) -> str:
    """The card, as Markdown with a head of YAML."""
    player = found.player
    library = LIBRARIES.get(player["agent"], TAG)
    head = {
        "library_name": library,
        "tags": [TAG, "reinforcement-learning", "board-games", found.game, player["agent"]],
        "model-index": [{"name": player["name"], "results": [_result(found)]}],
    }
    made = {"Plays": found.game, "Agent": player["agent"], "Search": player["budget"]}
    if player["checkpoint_sha256"]:
        made |= {"File": Path(player["source"]).name, "SHA-256": player["checkpoint_sha256"]}
    made |= {name: json.dumps(value) for name, value in player["settings"].items()}
    lines = ["---", *_yaml(head), "---", "", f"# {player['name']}", "", *_summary(found), ""]
    lines += ["| | |", "| --- | --- |", *(f"| {name} | {_cell(value)} |" for name, value in made.items())]
    lines += ["", "## Judged by the truth", "", "```text", audit_text(found), "```", ""]
    lines += [f"`{RECORD}` has every figure. `tictac audit` of tictac-env {found.version} made both.", ""]
    return "\n".join(lines)


def _summary(found: Audit) -> Iterator[str]:
    """What the verdict says, in a sentence for each seat."""
    for name in SEATS:
        seat = (found.verdict or {}).get(name, {})
        if seat.get("infallible"):
            yield f"{name.capitalize()} player it cannot be beaten: every reply was played."
        elif seat.get("losing line"):
            yield f"{name.capitalize()} player it can be beaten, by {seat['losing line']}."


def _result(found: Audit) -> dict[str, Any]:
    """The figures of the card's head: one result, on the game."""
    figures: dict[str, float] = {}
    for name in SEATS:
        seat = (found.verdict or {}).get(name, {})
        if seat.get("infallible") is not None:
            figures[f"can be beaten {name}"] = float(not seat["infallible"])
        for key, shares in seat.items():
            if key.startswith("v "):
                ends = zip(("won", "drawn", "lost"), shares, strict=True)
                figures |= {f"{end} {key} {name}": share for end, share in ends}
    if found.verdict and "exploitability" in found.verdict:
        figures["exploitability"] = found.verdict["exploitability"]
    for one in found.measures:
        if one.value is not None:
            figures[one.name if one.among == "all" else f"{one.name}, {one.among}"] = one.value
    return {
        "task": {"type": "reinforcement-learning", "name": "reinforcement-learning"},
        "dataset": {"type": found.game, "name": found.game},
        "metrics": [
            {
                "type": _type_of(name),
                "name": name,
                "value": round(value, 6),
                "verified": False,
            }
            for name, value in figures.items()
        ],
    }


def _type_of(name: str) -> str:
    """A figure's name without the positions it is of, as a word."""
    return name.partition(",")[0].replace(" ", "_")


def _yaml(value: Mapping[str, Any] | Sequence[Any], indent: str = "") -> Iterator[str]:
    """Lines of YAML; names and texts are written as JSON writes them, which YAML reads alike."""
    items = value.items() if isinstance(value, Mapping) else ((None, one) for one in value)
    for name, one in items:
        begin = f"{indent}- " if name is None else f"{indent}{name}:"
        if not isinstance(one, (Mapping, list)):
            yield f"{begin.rstrip()} {json.dumps(one)}"
        elif name is None:
            first, *rest = _yaml(one, f"{indent}  ")
            yield begin + first.lstrip()
            yield from rest
        else:
            yield begin
            yield from _yaml(one, f"{indent}  ")


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _is_card(text: str) -> bool:
    return text.startswith("---\n") and f'- "{TAG}"' in text.partition("\n---\n")[0]


def _is_record(text: str) -> bool:
    from tictac_env.arena.audits.record import Audit

    try:
        Audit.from_json(text)
    except ValueError:
        return False
    return True
