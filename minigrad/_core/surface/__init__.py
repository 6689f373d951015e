"""The part of a tensor that users see: its operators, and the attributes that autograd defines.

Stands on ``function/``. ``minigrad/tensor.py`` defines `Tensor` as a subclass.
"""
