"""Observe a backward and a graph: records of the engine's steps, and lists of the memory that a graph keeps.

The top floor: nothing in the core imports it. Begin with ``recorder.py``.
"""
