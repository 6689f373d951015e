"""Kernels that make one number of many, or run along a dimension. Begin with ``lanes.py``."""
