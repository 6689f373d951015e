from minigrad._core.graph.metadata cimport Meta
from minigrad._core.graph.node cimport Node
from minigrad._core.graph.thread_state cimport State
from minigrad._core.record.primitive cimport Primitive
from minigrad._core.graph.tensor cimport Dual, TensorBase

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

    cdef object value(self, Node owner, bint history)

cdef object unpack_error(object packed_tensor, Node node, object error)
cdef object inference_save_error(TensorBase tensor)
cdef object save_early(Primitive op, State state, tuple args, tuple tensors)
cdef PackedTensor pack_tensor(TensorBase tensor, object pack, object unpack, int output, State state, TensorBase shown=*)
