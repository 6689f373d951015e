from numpy cimport npy_intp

# Addresses, number of elements, steps in bytes, and data of its own. ufuncs.h is not included here: only ufuncs.pyx
# needs its loops.
ctypedef void (*InnerFunction)(char **, const npy_intp *, const npy_intp *, void *) noexcept nogil

cdef struct InnerLoop:
    InnerFunction address
    void *its_data
    int result              # type number of the result

cdef InnerLoop inner_loop(object ufunc, int type_) except *
cdef int find_loops(object ufunc, tuple types) except -1
cdef object ufunc_of_two(int op, object x, object y)
