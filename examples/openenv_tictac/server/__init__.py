"""The server of the OpenEnv environment."""
