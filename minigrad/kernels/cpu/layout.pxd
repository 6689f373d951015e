from numpy cimport ndarray

cpdef ndarray copy(ndarray x)
