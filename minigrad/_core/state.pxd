from minigrad._core.c cimport thread_id

cdef class State:
    cdef public bint grad_enabled
    cdef public bint inference
    cdef public bint ordinary
    cdef public bint multithreading
    cdef public bint grad_layout
    cdef public bint forward_enabled
    cdef public bint forward
    cdef public unsigned long long next_sequence
    cdef public object node
    cdef public object task
    cdef public int depth
    cdef public list saved_hooks
    cdef public object saved_hooks_disabled
    cdef public object keeper
    cdef public tuple interceptors
    cdef object __weakref__

cpdef State current()
cpdef set_dual_level(bint entered)
