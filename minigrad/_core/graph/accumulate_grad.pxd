# cython: preliminary_late_includes_cy28=True
# The header at the end names the fields of a class that is declared above it, so it is included after the classes.
from minigrad._core.graph.metadata cimport DType, Meta
from minigrad._core.graph.node cimport Node
from minigrad._core.graph.tensor cimport AutogradMeta, TensorBase

cdef class AccumulateGrad(Node):
    cdef readonly TensorBase variable
    cdef object lock
    cdef AutogradMeta home
    cdef object accumulate(self, TensorBase new, bint exclusive)
    cdef object accumulate_with_history(self, TensorBase new)

cpdef Node grad_accumulator(TensorBase leaf)
cdef Node gradient_edge(TensorBase tensor)
cdef Meta gradient_meta(TensorBase leaf)
cdef object choose_grad_dtype(TensorBase leaf, DType dtype)

cdef AccumulateGrad known_accumulator(TensorBase leaf)
cdef object forget_accumulator(TensorBase leaf)
cdef object share_accumulator(TensorBase leaf, AccumulateGrad node)

cdef extern from "accumulators.h":
    AccumulateGrad accumulator_of "mg_accumulator_of"(AutogradMeta extra)
    void set_accumulator "mg_set_accumulator"(AutogradMeta extra, object node)
    void leave_leaf "mg_leave_leaf"(AccumulateGrad node)
    void keep_accumulators "mg_keep_accumulators"(type cls)
    AccumulateGrad allocate_accumulator "mg_allocate_accumulator"(type cls)
