from minigrad._core.graph.metadata cimport DType, Meta
from minigrad._core.graph.node cimport Node
from minigrad._core.graph.tensor cimport TensorBase

cdef class AccumulateGrad(Node):
    cdef readonly TensorBase variable
    cdef object lock
    cdef object accumulate(self, TensorBase new, bint exclusive)
    cdef object accumulate_with_history(self, TensorBase new)

cpdef Node grad_accumulator(TensorBase leaf)
cdef Node gradient_edge(TensorBase tensor)
cdef Meta gradient_meta(TensorBase leaf)
cdef object choose_grad_dtype(TensorBase leaf, DType dtype)
