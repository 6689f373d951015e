from minigrad._core.surface.operators cimport Operators

cdef class Variable(Operators):
    pass
