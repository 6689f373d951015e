from minigrad._core.anomaly cimport note_creation
from minigrad._core.c cimport references
from minigrad._core.hooks cimport run_post_accumulate_hooks
from minigrad._core.meta cimport DType, Meta, make_meta
from minigrad._core.node cimport Node, start
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport AutogradMeta, TensorBase, exclusive, wrap
from minigrad._core.watch cimport Watch

cdef class AccumulateGrad(Node):
    cdef readonly TensorBase variable
    cdef object lock
    cdef object accumulate(self, TensorBase new, bint exclusive)
    cdef object accumulate_with_history(self, TensorBase new)

cpdef Node accumulator(TensorBase leaf)
cdef Node edge_of(TensorBase tensor)
cdef Meta gradient_meta(TensorBase leaf)
cdef object choose_grad_dtype(TensorBase leaf, DType dtype)
