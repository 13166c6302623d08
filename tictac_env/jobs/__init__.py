"""Jobs: work that falls into pieces, done by processes of this machine or by a Ray cluster, the results as they come.

What describes a job, what does it (`map_jobs`) and where its result is kept know nothing of each other. So whoever has
jobs has both, and any store keeps what either of them brings.
"""

from tictac_env.jobs.mapping import Workers, map_jobs
from tictac_env.jobs.pool import WorkerLost
from tictac_env.jobs.ray_pool import Cluster, joined

__all__ = ["Cluster", "WorkerLost", "Workers", "joined", "map_jobs"]
