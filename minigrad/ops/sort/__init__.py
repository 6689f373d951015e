"""Ops that put numbers in order, or look for them: sort, topk, unique, searchsorted. Begin with ``sorting.py``."""
