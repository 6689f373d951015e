"""Ops that sort, search and count: sort, topk, unique, searchsorted. Begin with ``sorting.py``."""
