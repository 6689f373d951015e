from minigrad._core.graph.accumulate_grad cimport gradient_edge
from minigrad._core.graph.node cimport Node, clear_node
from minigrad._core.graph.thread_state cimport State, current
from minigrad._core.graph.tensor cimport TensorBase, alias

cdef class Error(Node):
    cdef str message
    cdef str fix
