from minigrad._core.accumulate cimport edge_of
from minigrad._core.anomaly cimport Anomaly, note_creation
from minigrad._core.apply cimport base_requires_grad
from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node, NodeExtra, start
from minigrad._core.opnode cimport new_node, record
from minigrad._core.primitive cimport Plan
from minigrad._core.saved cimport describe, short_name, spent
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport AutogradMeta, TensorBase, wrap

cdef class CopySlices(Node):
    cdef Node inner
    cdef tuple geometry

    cdef object recorded(self, object grad, Node inner, long long wanted, list found, list results)

cpdef tuple geometry_of(TensorBase view)
cpdef object rebase(TensorBase target, Node node, tuple geometry)
cdef object renew(TensorBase view, tuple geometry)
cdef object check_creation(TensorBase view, bint indirect)
