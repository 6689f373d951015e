from minigrad._core.graph.node cimport Node

cdef class GraphRoot(Node):
    cdef tuple grads
