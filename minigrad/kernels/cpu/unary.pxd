from numpy cimport ndarray

cdef extern from "elementwise.h" nogil:
    int MG_U_neg, MG_U_square, MG_U_cube, MG_U_sqrt, MG_U_rsqrt, MG_U_reciprocal     # the functions that pow calls, and neg

cdef object unary(int op, object x, str twin)
cdef object unary_of_parts(int op, int kind, ndarray x)
