"""Custom functions, ``autograd.Function``: the call, the node, the outputs and the tangents.

Stands on ``mutation/``. Begin with ``apply.py``.
"""
