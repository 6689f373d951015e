from numpy cimport ndarray, npy_intp

cdef ndarray fresh(int nd, npy_intp *dims, int kind)
