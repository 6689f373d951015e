"""In-place writes, which change numbers, versions, and the history of every view of the memory.

Stands on ``engine/``. Begin with ``inplace.py``.
"""
