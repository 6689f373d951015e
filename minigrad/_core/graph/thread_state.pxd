cdef class Modes:
    cdef public bint grad_enabled
    cdef public bint inference
    cdef public bint forward_enabled
    cdef public bint multithreading
    cdef public bint grad_layout
    cdef public tuple saved_hooks
    cdef public object saved_hooks_disabled
    cdef readonly object keeper
    cdef public tuple interceptors
    cdef public object autocast

cdef class State(Modes):
    cdef public bint fast_path
    cdef public bint forward
    cdef public unsigned long long next_sequence
    cdef public object node
    cdef public object task
    cdef public int depth
    cdef public object interrupt
    cdef object __weakref__

    cdef Modes modes(self)
    cdef bint has(self, Modes modes)
    cdef object restore(self, Modes modes)
    cpdef set_modes(self, bint grad_enabled, bint inference, bint forward_enabled)
    cpdef update_derived(self)
    cpdef set_keeper(self, object keeper)

cpdef State current()
cpdef set_dual_level(bint entered)
