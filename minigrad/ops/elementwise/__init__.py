"""Ops that compute each number of the result from the numbers at the same place. Begin with ``arithmetic.py``."""
