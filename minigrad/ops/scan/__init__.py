"""Ops that run along a dimension and return every step: cumsum, cumprod, cummax. Begin with ``scans.py``."""
