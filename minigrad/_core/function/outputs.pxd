from minigrad._core.function.node cimport PyNode
from minigrad._core.graph.thread_state cimport State

cdef object wrap_outputs(PyNode node, tuple args, object output, bint executable, State state, bint in_setup)
