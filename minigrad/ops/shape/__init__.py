"""Ops that move numbers and compute none: views, copies, cat and split. Begin with ``views.py``."""
