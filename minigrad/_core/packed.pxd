from minigrad._core.accumulate cimport edge_of
from minigrad._core.forward cimport dual_of, tangent_of
from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node
from minigrad._core.state cimport State
from minigrad._core.tensor cimport AutogradMeta, Dual, TensorBase, wrap

cdef class PackedTensor:
    cdef object data
    cdef object unpack
    cdef Node node
    cdef int number
    cdef int output
    cdef bint leaf
    cdef Dual dual      # where the tangent is, in forward mode
    cdef Meta meta      # of the tensor that was packed
    cdef object unlike  # that of another one that was unpacked

    cdef object value(self, Node owner)

cdef object does_not_fit(object packed_tensor, Node node, object error)
cdef object not_saved(TensorBase tensor)
cdef PackedTensor packed(TensorBase tensor, object pack, object unpack, int output, State state, TensorBase shown=*)
