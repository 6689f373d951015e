from minigrad._core.anomaly cimport note_creation
from minigrad._core.c cimport allocate
from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node, start
from minigrad._core.packed cimport PackedTensor, packed
from minigrad._core.saved cimport SavedTensor, save, spent
from minigrad._core.state cimport State, current
from minigrad._core.task cimport GraphTask
from minigrad._core.watch cimport Watch
from minigrad._core.tensor cimport TensorBase, alias, wrap

cdef class PyNode(Node):
    cdef public object needs_input_grad
    cdef public object to_save
    cdef public object non_differentiable
    cdef public object dirty_tensors
    cdef public object saved_for_forward
    cdef tuple variables
    cdef tuple opaque
    cdef int arity
    cdef bint undefined_as_none
    cdef bint opaque_as_none
    cdef bint boxed
    cdef bint once
    cdef bint taken
    cdef bint saves
    cdef bint rewrites

    cdef object backward_of(self)
    cdef object grads_in(self, object grad)
    cdef object grads_out(self, object found, list results)
    cdef int position(self, object x, tuple args) except -1
    cdef object keep(self, State state, dict renamed)

cdef class RawSavedVariable:
    cdef PyNode node
    cdef int slot

cdef PyNode new_function_node(object cls, State state)
cdef bint among(object x, tuple items)
cdef PyNode function_twin(PyNode node)
cdef TensorBase zeros(Meta meta)
