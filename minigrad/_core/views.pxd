from minigrad._core.accumulate cimport edge_of
from minigrad._core.anomaly cimport Anomaly, note_creation
from minigrad._core.apply cimport base_requires_grad
from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node, NodeExtra, start
from minigrad._core.opnode cimport new_node, record
from minigrad._core.primitive cimport Plan
from minigrad._core.saved cimport describe, short_name, spent
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport AutogradMeta, TensorBase

cdef class CopySlices(Node):
    cdef Node inner
    cdef tuple geometry

cpdef tuple geometry_of(TensorBase view)
cdef object reach(object array)
cdef object address(object array)
cpdef object rebase(TensorBase target, Node node)
cdef object check_creation(TensorBase view, bint indirect)
cdef object give_history(TensorBase tensor, Node node)
