from minigrad._core.graph.metadata cimport Meta
from minigrad._core.graph.node cimport Node
from minigrad._core.graph.tensor cimport TensorBase

cdef class CopySlices(Node):
    cdef Node inner
    cdef tuple geometry
    cdef int position

    cdef object compute_by_kernels(self, object grad, Node inner, long long wanted, list found, bint old)
    cdef object compute_by_ops(self, object grad, Node inner, long long wanted, list found, bint old)

cpdef tuple locate_view(TensorBase view)
cpdef object rebase_history(TensorBase target, Node node, tuple geometry, int number=*, int position=*)
cdef object regenerate_grad_fn(TensorBase view, tuple geometry)
cdef object check_creation(TensorBase view, bint indirect)
cdef object set_history(TensorBase tensor, Node node, int number)
