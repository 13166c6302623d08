"""Environments: Gymnasium's, single and vector, and PettingZoo's, by one protocol of integers."""
