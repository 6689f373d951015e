from minigrad._core.graph.node cimport Node

cdef object push_ready(list heap, Node node)
cdef Node pop_ready(list heap)
