"""The autograd face of a tensor: its operators, and the attributes that autograd defines.

Stands on ``function/``. ``minigrad/tensor.py`` makes `Tensor` of it.
"""
