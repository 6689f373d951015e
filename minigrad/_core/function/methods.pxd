cdef class Methods:
    cdef object cls
    cdef object node_class
    cdef object forward
    cdef object setup_context
    cdef object backward
    cdef bint boxed
    cdef bint once
    cdef unsigned int version

    cdef object update(self)
