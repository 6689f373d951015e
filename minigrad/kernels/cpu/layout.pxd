from numpy cimport ndarray

cdef ndarray copy_of(ndarray a)
cdef int write(ndarray x, object y) except -1
cdef int overwrite(ndarray a, ndarray b) except -1
cpdef object cast(object x, object dtype)
