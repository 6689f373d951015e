from minigrad._core.graph.node cimport Node

cdef class Error(Node):
    cdef str message
    cdef str fix
