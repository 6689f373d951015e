from minigrad._core.graph.metadata cimport Meta
from minigrad._core.graph.node cimport Node
from minigrad._core.graph.thread_state cimport State
from minigrad._core.graph.tensor cimport TensorBase

cdef class SavedTensor:
    cdef TensorBase data
    cdef Py_ssize_t version
    cdef bint interior
    cdef bint freed
    cdef int output
    cdef str name

    cdef object value(self, Node owner, bint history)
    cdef object release(self)

cdef class SavedTuple:
    cdef list items

    cdef tuple value(self, Node owner)

cdef class SavedTensors(Node):
    cdef readonly str owner
    cdef readonly list saved

cdef TensorBase alias_output(TensorBase tensor, State state)
cdef SavedTensor save(TensorBase tensor, str name, int output, State state)
cdef SavedTuple save_tuple(tuple values, str name, State state)
cdef object check_version(TensorBase tensor, Py_ssize_t version, bint interior, str name, Node owner, int output=*)
cdef TensorBase restore_history(TensorBase data, Node owner, int output)
cpdef object error_freed(Node owner)
cpdef str describe_meta(Meta meta)
cpdef str op_name(Node node)
