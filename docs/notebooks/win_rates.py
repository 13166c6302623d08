# %% [markdown]
# # Why 95 % against random says nothing
#
# Most learners of tic-tac-toe are judged by how often they beat random play. Both games are solved, so we can check
# what that figure is worth.

# %%
import matplotlib.pyplot as plt

from tictac_agents import QLearning
from tictac_env import move_accuracy, play_match, verdict

# %% [markdown]
# ## Thirty agents
#
# The same Q-learner, from 30 seeds, 14,000 games each, half of them from each seat: settings that were published.
# Each agent is judged twice: by its wins against random play, and by `verdict`, which walks every reply there is.

# %%
agents = [QLearning.preset("S2", seed=seed).learn(total_episodes=14_000) for seed in range(30)]
verdicts = [verdict(agent) for agent in agents]
wins = [100 * (v.as_first.against_random.wins + v.as_second.against_random.wins) / 2 for v in verdicts]
exploitabilities = [v.exploitability for v in verdicts]

figure, axes = plt.subplots(figsize=(6, 3.5))
axes.scatter(wins, exploitabilities, alpha=0.5)
axes.set(xlabel="games won against random play, %", ylabel="exploitability (0: cannot be beaten)")
axes.grid(alpha=0.3)
plt.show()

# %%
beaten = sum(e > 0 for e in exploitabilities)
print(f"{beaten} of {len(agents)} can be beaten every time by one line of play")
best = max(range(len(agents)), key=lambda i: (exploitabilities[i] > 0, wins[i]))
print(f"one of them wins {wins[best]:.1f} % against random play")
verdicts[best]

# %% [markdown]
# So the share of wins does not tell the agents that can be beaten from those that cannot. Random play has to find
# several right moves in a row by chance; a person who has lost once will find them.
#
# ## How high is the ceiling?
#
# The most that a player which never loses can win against random play is 99.479 % as first and 91.640 % as second
# player, so 95.56 % over both seats. So "95 %" is all that can be had without risk, and a player that takes the risk
# may win more.
#
# ## A match does not help
#
# Two fixed players play the same game again and again. A thousand games are then one game, and an interval around their
# result means nothing. `play_match` counts the different ones:

# %%
match = play_match(agents[best], "minimax-first", games=1_000)
print(match)

# %% [markdown]
# ## Connect Four is worse
#
# There the rule of thumb "win if you can, else block, else move near the centre" beats random play almost always:

# %%
print(play_match("rule", "random", game="ConnectFour-v0", games=1_000))

# %% [markdown]
# But on positions whose exact value is known, more than a quarter of its moves throw away a win or a draw:

# %%
print(move_accuracy("rule", "C4-Exact-v1").overall)

# %% [markdown]
# ## What to report instead
#
# * On tic-tac-toe, and on any game of up to a million positions: `verdict`. It is exact and takes a fraction of a
#   second.
# * On Connect Four: mistakes on positions of known value, and results against perfect play: `tictac audit`.
# * If games must be played: from varied openings, with the number of different games and an interval.
#
# [Evaluate honestly](../howto.md#evaluate-honestly) says how.
