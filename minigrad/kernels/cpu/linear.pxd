from numpy cimport ndarray, npy_intp

# z = x y by our own loops, for matrices of one kind that agree, and a row-major z; or False, if BLAS should multiply them.
cdef bint multiply_into(ndarray x, ndarray y, ndarray z) noexcept

# z = x y by tiles, with at least 16 bytes in a row of z; or False, if there is no memory. Strides are in elements, and the rows of
# z are contiguous.
cdef bint tiles(int kind, const char *x, npy_intp x_row, npy_intp x_column, const char *y, npy_intp y_row, npy_intp y_column,
                char *z, npy_intp z_row, npy_intp m, npy_intp k, npy_intp n) noexcept nogil

# z = y, with contiguous rows, for y of k rows and n columns that are contiguous.
cdef void turn(int kind, const char *y, npy_intp y_column, char *z, npy_intp z_row, npy_intp k, npy_intp n) noexcept nogil
