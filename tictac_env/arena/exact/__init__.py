"""Exact results: every reply to a policy, or all its games against an opponent."""
