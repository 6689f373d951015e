from minigrad.kernels.cpu.common cimport *

cdef extern from "loops.h" nogil:
    ctypedef void (*mg_binary)(const void *, const void *, void *, Py_ssize_t) noexcept

cdef enum:
    VV = 0              # layouts of a binary loop: see loops.h
    VS = 1
    SV = 2
    MOST_SPREAD = 8     # dimensions of a result whose operands broadcast: MG_MOST_SPREAD

cdef bint widen(object x, int *nd, npy_intp *d) noexcept
cdef object spread(const mg_binary *loops, int kind, object x, object y, ndarray z)
cdef bint apart(ndarray x, ndarray y) noexcept
cdef bint fits_apart(object x, object out, int kind) noexcept
cdef bint spreads_over(ndarray y, ndarray out) noexcept


# 0 for an aligned array of float32 with at most MOST_SPREAD dimensions and any strides, 1 for float64, -1 for anything else.
cdef inline int kind_of(object x) noexcept:
    if not is_real(x) or ndim(<ndarray>x) > MOST_SPREAD or not has_flags(<ndarray>x, cnp.NPY_ARRAY_ALIGNED):
        return -1
    return 0 if typenum(<ndarray>x) == NPY_FLOAT32 else 1


# Whether two arrays of one kind have the same shape and both go through memory by columns, such as gradients of a weight that is
# used transposed.
cdef inline bint by_columns(ndarray x, ndarray y) noexcept:
    return (ndim(x) == ndim(y) and same_dims(dims(x), dims(y), ndim(x)) and has_flags(x, cnp.NPY_ARRAY_F_CONTIGUOUS)
            and has_flags(y, cnp.NPY_ARRAY_F_CONTIGUOUS))


# Whether a loop may write to the row-major array `out` while it reads x: they are the same array, or have no memory in common.
cdef inline bint loop_fits(object x, object out, int kind) noexcept:
    return x is out or fits_apart(x, out, kind)
