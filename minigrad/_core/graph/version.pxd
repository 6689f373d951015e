cdef class VersionCounter:
    cdef public Py_ssize_t value
    cdef public object log

    cpdef object bump(self, object name)
