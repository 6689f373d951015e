from minigrad._core.forward cimport dual_of
from minigrad._core.history cimport happened, saver
from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node
from minigrad._core.packed cimport PackedTensor, not_saved, packed
from minigrad._core.state cimport State
from minigrad._core.tensor cimport AutogradMeta, TensorBase, alias, wrap

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

cdef TensorBase saved_output(TensorBase tensor, State state)
cdef SavedTensor save(TensorBase tensor, str name, int output, State state)
cdef SavedTuple save_tuple(tuple values, str name, State state)
cdef object check(TensorBase tensor, Py_ssize_t version, bint interior, str name, Node owner, int output=*)
cdef TensorBase with_history(TensorBase data, Node owner, int output)
cpdef object spent(Node owner)
cpdef str describe(Meta meta)
cpdef str short_name(Node node)
