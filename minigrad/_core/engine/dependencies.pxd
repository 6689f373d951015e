from minigrad._core.graph.node cimport Node

cdef class Scratch:
    cdef object grad
    cdef int dependencies
    cdef int needed

cdef class Dependencies:
    cdef readonly unsigned long long id
    cdef readonly bint selective
    cdef dict others
    cdef dict requested

    cdef bint claim(self, Node node) except -1
    cdef Scratch scratch(self, Node node)
    cdef object count(self, Node root)
    cdef object select(self, Node root)
    cdef bint depend(self, Node node) except -1
    cdef object need(self, Node node, int what)
    cdef int needed(self, Node node) except -1
    cdef object forget(self, Node root)
