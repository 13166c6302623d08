"""Other forms of the environments, and the environments of others in ours."""

from tictac_env.policies.pool import Mixture, OpponentPool
from tictac_env.wrappers.observations import CompleteInfo, MaskedObservation, RegretInfo
from tictac_env.wrappers.opponent_policy_env import OpponentPolicyEnv

__all__ = ["CompleteInfo", "MaskedObservation", "Mixture", "OpponentPolicyEnv", "OpponentPool", "RegretInfo"]
