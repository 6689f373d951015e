from numpy cimport ndarray

# z = x y by our own loops, for matrices of one kind that agree, and a row-major z; or False, if BLAS should multiply them.
cdef bint multiply_into(ndarray x, ndarray y, ndarray z) noexcept
