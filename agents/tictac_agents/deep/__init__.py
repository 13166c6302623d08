"""Deep agents: Stable-Baselines3's DQN and sb3-contrib's MaskablePPO on these boards. Begin with `dqn.py`.

- `dqn.py`, `networks.py`: DQN with action masks, symmetric replay and targets for self-play, and its networks.
- `maskable_ppo.py`: MaskablePPO.
- `settings.py`, `tuned.py`: what can be set, and the settings tuned for each game and those of published systems.
- `sb3_vec_env.py`: many boards as Stable-Baselines3's `VecEnv`.
- `callbacks.py`, `progress.py`: exact verdicts and wins while a model learns, logged and on a progress bar.
- `self_play.py`: pools of a model's earlier selves.
- `checkpoints.py`, `sb3_files.py`: models saved and loaded without running what is in a file.

This file imports nothing, so that settings and `--help` need no torch.
"""
