"""The backward pass: which nodes run, in which order, and how gradients travel between them.

Stands on ``record/``. Begin with ``execute.py`` and ``graph_task.py``.
"""
