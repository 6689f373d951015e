"""Looking at a graph and at a backward: records of what the engine does, and lists of what a graph keeps.

The top floor: nothing in the core imports it. Begin with ``recorder.py``.
"""
