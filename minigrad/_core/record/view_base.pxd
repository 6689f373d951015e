from minigrad._core.graph.tensor cimport TensorBase
from minigrad._core.graph.thread_state cimport State

cdef object make_view(TensorBase view, TensorBase source, int creation, State state)
cdef bint base_requires_grad(TensorBase view)
cdef bint requires_grad(TensorBase x) except -1
