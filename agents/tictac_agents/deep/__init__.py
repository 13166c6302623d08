"""Deep agents: Stable-Baselines3's DQN and sb3-contrib's MaskablePPO on these boards. Begin with `algorithms.py`.

- `algorithms.py`: DQN with action masks, symmetric replay and targets for self-play; MaskablePPO; their files.
- `masked_choice.py`: how a DQN chooses among legal actions; QR-DQN with masks.
- `networks.py`: features of boards, and the networks.
- `settings.py`: what can be set, the settings tuned for each game and those of published systems.
- `callbacks.py`: exact verdicts, wins and progress while a model learns; pools of a model's earlier selves.
- `residual.py`: AlphaZero's residual network.
- `sb3_files.py`: reads models without running what is in a file.

This file imports nothing, so that settings and `--help` need no torch.
"""
