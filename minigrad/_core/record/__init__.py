"""How the forward pass records itself: an op runs, its node is made, and the node saves what its formulas need.

Stands on ``graph/``. Begin with ``apply.py``.
"""
