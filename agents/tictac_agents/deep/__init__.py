"""Deep agents: Stable-Baselines3's DQN and sb3-contrib's MaskablePPO on these boards. Begin with `dqn.py`.

- `dqn.py`, `networks.py`: DQN with action masks, symmetric replay and targets for self-play, and its networks.
- `maskable_ppo.py`: MaskablePPO.
- `settings.py`, `tuned.py`: what can be set, and the settings tuned for each game and those of published systems.
- `sb3_vec_env.py`: many boards as Stable-Baselines3's `VecEnv`.
- `callbacks.py`, `progress.py`: exact verdicts and wins while a model learns, logged and on a progress bar.
- `self_play.py`: pools of a model's earlier selves.
- `checkpoints.py`, `sb3_files.py`: models saved and loaded without running what is in a file.

Two published learners that do not fit into Stable-Baselines3 stand beside it:

- `fitted_q.py`, `fitted_q_networks.py`: `FittedQ`, S4's deep Q-learner on Connect Four, in PyTorch.
- `s2_network.py`, `s2_training.py`: `S2Network`, S2's network on tic-tac-toe, in one compiled loop.

This file imports nothing, so that settings and `--help` need no torch.
"""
