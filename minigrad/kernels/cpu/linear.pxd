from numpy cimport npy_intp

cdef bint multiply(int kind, const char *x, npy_intp x_row, npy_intp x_column, const char *y, npy_intp y_row, npy_intp y_column,
                   char *z, npy_intp m, npy_intp k, npy_intp n) noexcept
