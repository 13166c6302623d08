"""Planning: dynamic programming over a known model. Begin with `dynamic_programming.py`."""
