cdef class VersionCounter:
    cdef public Py_ssize_t value
