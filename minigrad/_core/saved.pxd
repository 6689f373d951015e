from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node
from minigrad._core.tensor cimport TensorBase, alias, wrap

cdef class SavedTensor:
    cdef TensorBase data
    cdef Py_ssize_t version
    cdef bint interior
    cdef bint freed
    cdef int output
    cdef str name

    cdef object value(self, Node owner, bint history)
    cdef object release(self)

cdef SavedTensor save(TensorBase tensor, str name, int output)
cdef object check(TensorBase tensor, Py_ssize_t version, bint interior, str name, Node owner)
cdef TensorBase with_history(TensorBase data, Node owner, int output)
cpdef object spent(Node owner)
cpdef str describe(Meta meta)
cpdef str short_name(Node node)
