"""The forward pass records itself: an op runs, and makes a node that saves the values that its formulas need.

Stands on ``graph/``. Begin with ``apply.py``.
"""
