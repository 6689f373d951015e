"""Elementwise ops: each element of the result depends on the elements at the same place. Begin with ``arithmetic.py``."""
