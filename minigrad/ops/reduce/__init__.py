"""Ops that reduce many numbers to one: sums, means, extrema. Begin with ``reduction.py``."""
