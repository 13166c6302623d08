# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "trl>=1.16,<2", "torch"]
# ///
"""TRL: GRPO on games played by a tool, against a ladder and in self-play, with a script in place of the model."""

from __future__ import annotations

import json
import os
import random
import re
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

os.environ |= {"TRL_EXPERIMENTAL_SILENCE": "1", "HF_HUB_OFFLINE": "1"}

import trl
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, PrinterCallback, Qwen3Config, Qwen3ForCausalLM

from tictac_apps.language_models import Ladder
from tictac_apps.language_models.adapters.trl import BoardGameTools, log_games

# 1. A tokenizer of bytes with the chat template of Qwen3, and a network of random weights: nothing is downloaded.
alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
letters = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[]))
letters.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
letters.decoder = decoders.ByteLevel()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=letters, eos_token="<|im_end|>", pad_token="<|endoftext|>")
tokenizer.chat_template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text()
sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
config = Qwen3Config(vocab_size=len(tokenizer), num_key_value_heads=1, head_dim=8, **sizes)


class Scripted(trl.GRPOTrainer):
    """GRPO on what a script answers in place of the model."""

    script = random.Random(0)
    rewards: ClassVar[list[float]] = []

    def _generate_single_turn(self, prompt_ids: list[list[int]], *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        return [tokenizer.encode(self.answer(tokenizer.decode(ids))) for ids in prompt_ids], None

    def answer(self, text: str) -> str:
        """A call of the tool with an empty cell, drawn; in one answer of ten none, which gives the game up."""
        said = text.rpartition("<|im_start|>user")[2]
        board = "".join(re.findall(r"^ [.XO]  [.XO]  [.XO]$", said, re.MULTILINE)).replace(" ", "")
        if "it is your turn" not in said or self.script.random() < 0.1:
            return "That is all.<|im_end|>"
        move = self.script.choice([cell for cell, stone in enumerate(board, 1) if stone == "."])
        call = json.dumps({"name": "play", "arguments": {"move": move}})
        return f"<tool_call>\n{call}\n</tool_call><|im_end|>"

    def _calculate_rewards(self, *words: Any, **keywords: Any) -> Any:
        paid = super()._calculate_rewards(*words, **keywords)
        self.rewards += paid[:, 1].tolist()  # the first column is of `log_games`, which pays nothing
        return paid


# 2. What a user writes: rows with seeds, the environment, and the trainer.
rows = Dataset.from_list([{"prompt": [{"role": "user", "content": ""}], "seed": seed} for seed in range(100)])
settings = trl.GRPOConfig(
    output_dir="grpo",
    num_generations=4,
    per_device_train_batch_size=4,
    max_completion_length=4000,
    max_steps=2,
    report_to=[],
    logging_steps=1,
    use_cpu=True,
    disable_tqdm=True,
)
for title, opponent in (("a ladder", Ladder(window=4, up=0.3, down=None)), ("itself", None)):
    print(f"against {title}")
    trainer = Scripted(
        model=Qwen3ForCausalLM(config),
        processing_class=tokenizer,
        args=settings,
        train_dataset=rows,
        reward_funcs=[log_games],
        environment_factory=partial(BoardGameTools, "TicTacToe-v0", opponent=opponent),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    for record in trainer.state.log_history[:2]:
        rewards, trainer.rewards[:] = trainer.rewards[:4], trainer.rewards[4:]
        games = ", ".join(
            f"{name} {record[name]:g}" for name in ("regret", "regret of X", "regret of O", "rung") if name in record
        )
        print(
            f"  step {record['step']}: rewards {rewards}, {games}, {record['tools/call_frequency']:.2f} moves a game, "
            f"gradient {record['grad_norm']:.2g}"
        )
