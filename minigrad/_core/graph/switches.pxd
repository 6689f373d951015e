cdef class Switches:
    cdef public bint debug
    cdef public bint anomaly
    cdef public int keepers
    cdef public tuple recorders
    cdef public bint swapped
    cdef public int streams
    cdef public bint streamed
    cdef public bint recording
    cdef public bint watched
    cdef public bint notes_locations
    cdef public bint notes_nodes
    cdef public bint notes_writes

cpdef tuple user_location()
