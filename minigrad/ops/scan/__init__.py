"""Ops that run along a dimension and keep every step: cumsum, cumprod, cummax. Begin with ``scans.py``."""
