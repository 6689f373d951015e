"""Ops that make one number of many: sums, means, extrema. Begin with ``reduction.py``."""
