from minigrad._core.accumulate cimport edge_of
from minigrad._core.anomaly cimport note_creation
from minigrad._core.apply cimport base_requires_grad
from minigrad._core.forward cimport geometry_in
from minigrad._core.function_node cimport PyNode, function_twin
from minigrad._core.history cimport happened
from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node, NodeExtra, mark_retained, start
from minigrad._core.opnode cimport new_node, record
from minigrad._core.primitive cimport Plan
from minigrad._core.saved cimport describe, short_name, spent
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport AutogradMeta, TensorBase, wrap
from minigrad._core.watch cimport Watch

cdef class CopySlices(Node):
    cdef Node inner
    cdef tuple geometry
    cdef int position

    cdef object unrecorded(self, object grad, Node inner, long long wanted, list found, bint old)
    cdef object recorded(self, object grad, Node inner, long long wanted, list found, bint old)

cpdef tuple geometry_of(TensorBase view)
cpdef object rebase(TensorBase target, Node node, tuple geometry, int number=*, int position=*)
cdef object renew(TensorBase view, tuple geometry)
cdef object check_creation(TensorBase view, bint indirect)
cdef object give_history(TensorBase tensor, Node node, int number)
