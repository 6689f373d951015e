from minigrad._core.graph.node cimport Node

cdef class ReadyQueue:
    cdef Node ready
    cdef list row
    cdef Py_ssize_t first
    cdef Py_ssize_t end
    cdef list heap

    cdef object push(self, Node node)
    cdef Node pop(self)
    cdef Node take_first(self)
    cdef bint insert(self, Node node) except -1
    cdef list waiting_nodes(self)
