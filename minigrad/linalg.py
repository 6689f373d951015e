"""Linear algebra: norms and products, inverses, determinants, decompositions.

    solve, inv, det         ops/inverses.py, ops/determinants.py
    cholesky, qr            ops/factorizations.py
    svd; eigh, eig          ops/singular_values.py, ops/spectra.py
    pinv, lstsq             ops/pseudoinverses.py, ops/least_squares.py
    matrix_exp              ops/matrix_functions.py

Everything here is an op of ``minigrad/ops``, under the name that it has in torch.linalg. Mirrors ``torch/linalg/__init__.py``.
"""

from minigrad.errors import LinAlgError
from minigrad.ops.contractions import linalg_cross as cross
from minigrad.ops.contractions import matrix_power, multi_dot, vecdot
from minigrad.ops.determinants import linalg_det as det
from minigrad.ops.determinants import linalg_slogdet as slogdet
from minigrad.ops.elimination import linalg_lu as lu
from minigrad.ops.factorizations import cholesky_ex
from minigrad.ops.factorizations import linalg_cholesky as cholesky
from minigrad.ops.factorizations import linalg_qr as qr
from minigrad.ops.inverses import inv, inv_ex, solve, solve_ex, solve_triangular
from minigrad.ops.least_squares import lstsq
from minigrad.ops.matrix import matmul
from minigrad.ops.matrix_functions import linalg_matrix_exp as matrix_exp
from minigrad.ops.norms import linalg_norm as norm
from minigrad.ops.norms import matrix_norm, vector_norm
from minigrad.ops.pseudoinverses import cond, matrix_rank, pinv
from minigrad.ops.singular_values import linalg_svd as svd
from minigrad.ops.singular_values import svdvals
from minigrad.ops.spectra import eig, eigh, eigvals, eigvalsh
from minigrad.ops.strided import linalg_diagonal as diagonal
from minigrad.ops.tensor_systems import tensorinv, tensorsolve

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "inv", "inv_ex", "lstsq", "lu", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm",
    "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vecdot",
    "vector_norm",
]
