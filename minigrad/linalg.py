"""Linear algebra: norms and products, inverses, determinants, decompositions.

    solve, inv, det         ops/linalg/inverses.py, ops/linalg/determinants.py
    cholesky, qr            ops/linalg/factorizations.py
    svd; eigh, eig          ops/linalg/singular_values.py, ops/linalg/spectra.py
    pinv, lstsq             ops/linalg/pseudoinverses.py, ops/linalg/least_squares.py
    matrix_exp              ops/linalg/matrix_functions.py

Everything here is an op of ``minigrad/ops``, under the name that it has in torch.linalg. Mirrors ``torch/linalg/__init__.py``.
"""

from importlib import import_module as _import_module

from minigrad.errors import LinAlgError
from minigrad.ops.base.arguments import tensor_argument as _tensor_argument
from minigrad.ops.base.keywords import accept_names_everywhere as _accept_names_everywhere
from minigrad.ops.base.out import accept_out as _accept_out
from minigrad.ops.linalg.contractions import linalg_cross as cross
from minigrad.ops.linalg.contractions import matrix_power, multi_dot, vecdot
from minigrad.ops.linalg.contractions import vander as _vander
from minigrad.ops.linalg.determinants import linalg_det as det
from minigrad.ops.linalg.determinants import linalg_slogdet as slogdet
from minigrad.ops.linalg.elimination import linalg_lu as lu
from minigrad.ops.linalg.factorizations import cholesky_ex
from minigrad.ops.linalg.factorizations import linalg_cholesky as cholesky
from minigrad.ops.linalg.factorizations import linalg_qr as qr
from minigrad.ops.linalg.inverses import inv, inv_ex, solve, solve_ex, solve_triangular
from minigrad.ops.linalg.least_squares import lstsq
from minigrad.ops.linalg.matrix import matmul
from minigrad.ops.linalg.matrix_functions import linalg_matrix_exp as matrix_exp
from minigrad.ops.linalg.norms import linalg_norm as norm
from minigrad.ops.linalg.norms import matrix_norm, vector_norm
from minigrad.ops.linalg.pseudoinverses import cond, matrix_rank, pinv
from minigrad.ops.linalg.singular_values import linalg_svd as svd
from minigrad.ops.linalg.singular_values import svdvals
from minigrad.ops.linalg.spectra import eig, eigh, eigvals, eigvalsh
from minigrad.ops.linalg.tensor_systems import tensorinv, tensorsolve
from minigrad.ops.shape.strided import linalg_diagonal as diagonal

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "inv", "inv_ex", "lstsq", "lu", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm",
    "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vecdot",
    "vector_norm",
]

cholesky_ex, eig, eigh, inv_ex = _accept_out(cholesky_ex), _accept_out(eig), _accept_out(eigh), _accept_out(inv_ex)
qr, slogdet, solve_ex, svd = _accept_out(qr), _accept_out(slogdet), _accept_out(solve_ex), _accept_out(svd)
globals().update(_accept_names_everywhere({_name: globals()[_name] for _name in __all__}))


def vander(x, *, N=None):
    """The Vandermonde matrix: row i has the powers 1, x[i], x[i]², ... Mirrors ``torch.linalg.vander``.

    Args:
        x (Tensor): (..., n).
        N (int, optional): the number of powers; by default n.

    >>> mg.linalg.vander(mg.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    flat = _tensor_argument("linalg.vander", x, "x").reshape(-1)
    return _vander(flat, x.shape[-1] if N is None else N, increasing=True).reshape(*x.shape, -1)


# Names of functional/_lu.py, which imports this file.
_LATE = {"lu_factor": "lu_factor", "lu_factor_ex": "lu_factor_ex", "lu_solve": "linalg_lu_solve"}
__all__ += ["vander", *_LATE]


def __getattr__(name):
    """Import what few programs use, when a program asks for it."""
    if name not in _LATE:
        raise AttributeError(f"module 'minigrad.linalg' has no attribute {name!r}")
    globals()[name] = getattr(_import_module("minigrad.functional._lu"), _LATE[name])
    return globals()[name]
