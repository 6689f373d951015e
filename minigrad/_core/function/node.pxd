from minigrad._core.function.methods cimport Methods
from minigrad._core.graph.metadata cimport Meta
from minigrad._core.graph.node cimport Node
from minigrad._core.graph.thread_state cimport State
from minigrad._core.graph.tensor cimport TensorBase

cdef class PyNode(Node):
    cdef public object needs_input_grad
    cdef public object to_save
    cdef public object non_differentiable
    cdef public object dirty_tensors
    cdef public object saved_for_forward
    cdef Methods methods
    cdef tuple variables
    cdef tuple opaque
    cdef list saved
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

cdef PyNode new_function_node(Methods methods, State state)
cdef bint is_among(object x, tuple items)
cdef TensorBase zeros_of(Meta meta)
