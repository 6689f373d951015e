from minigrad._core.graph.thread_state cimport State, current
from minigrad._core.graph.switches cimport Switches, user_location

cdef class VersionCounter:
    cdef public Py_ssize_t value
    cdef public object log

    cpdef object bump(self, object name)
