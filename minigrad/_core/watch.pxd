cdef class Watch:
    cdef public bint debug
    cdef public bint anomaly
    cdef public int keepers
    cdef public tuple recorders
    cdef public int streams
    cdef public bint streamed
    cdef public bint recording
    cdef public bint places
    cdef public bint births
    cdef public bint writes

cpdef tuple here()
