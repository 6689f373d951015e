"""Linear algebra: norms and products. Everything here is an op of ``minigrad/ops``, under the name that it has in torch.linalg.

Mirrors ``torch/linalg/__init__.py``.
"""

from minigrad.ops.contractions import linalg_cross as cross
from minigrad.ops.contractions import matrix_power, multi_dot
from minigrad.ops.matrix import matmul
from minigrad.ops.norms import linalg_norm as norm
from minigrad.ops.norms import matrix_norm, vector_norm

__all__ = ["cross", "matmul", "matrix_norm", "matrix_power", "multi_dot", "norm", "vector_norm"]
