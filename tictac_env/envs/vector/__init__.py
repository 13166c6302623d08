"""The native Gymnasium vector environment. Begin with `vector_env.py`."""

COMPILED_AS = "the vector environment"
