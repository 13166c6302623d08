"""The agents of the five published systems; `docs/reproduction.md` compares them with their sources."""
