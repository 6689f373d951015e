"""Custom functions, ``autograd.Function``: calling one, its node, its outputs, its tangents.

Stands on ``mutation/``. Begin with ``apply.py``.
"""
