# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""A function of two operands that broadcast: their shapes and strides, made ready for ``broadcast.h``, which walks over them. And
which operands a loop may read while it writes to memory that somebody gives it."""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh, repeated
from minigrad.kernels.cpu.threads cimport threads

cnp.import_array()

cdef extern from "broadcast.h" nogil:
    int MG_PARALLEL
    void mg_run_binary(mg_binary, const char *, const char *, char *, Py_ssize_t, int, int, int, int)
    ctypedef struct mg_spread:
        int nd
        npy_intp *n
        npy_intp *x_steps
        npy_intp *y_steps
    void mg_run_spread(mg_binary, const mg_spread *, const char *, const char *, char *, int, int)


# An operand that is not simply a row-major array of the result's shape: where it begins, its steps in bytes for each dimension
# of the result, 0 where it repeats, and the value of a Python number.
cdef struct Strided:
    char *start
    npy_intp steps[MOST_SPREAD]
    Number number


cdef bint widen(object x, int *nd, npy_intp *d) noexcept:
    """Broadcast the shape of `x` and the shape in `d`, which has `nd` dimensions. Returns whether that is possible."""
    cdef int n = ndim(<ndarray>x), i, more = n - nd[0]
    cdef npy_intp one
    if more > 0:
        for i in range(n - 1, -1, -1):
            d[i] = d[i - more] if i >= more else 1
        nd[0] = n
    for i in range(n):
        one = dims(<ndarray>x)[i]
        if one != 1:
            if d[nd[0] - n + i] == 1:
                d[nd[0] - n + i] = one
            elif d[nd[0] - n + i] != one:
                return False
    return True


cdef bint locate(object x, int kind, int nd, npy_intp *d, Strided *at) except -1:
    """Set `at` for the operand `x` of a result of shape `d`. False if its memory is in another order than its dimensions."""
    cdef int i, lead
    cdef npy_intp step, before = 0
    if type(x) is ndarray:
        lead = nd - ndim(<ndarray>x)
        at.start = data(<ndarray>x)
        for i in range(nd):
            at.steps[i] = step = 0 if i < lead or dims(<ndarray>x)[i - lead] == 1 else strides(<ndarray>x)[i - lead]
            if step < 0 or (step > before > 0):
                return False
            if step > 0:
                before = step
        return True
    at.start = write_number(x, kind, &at.number)
    for i in range(nd):
        at.steps[i] = 0
    return True


cdef object spread(const mg_binary *loops, int kind, object x, object y, ndarray z):
    """z = x op y for operands that broadcast, or repeat their elements as an expanded gradient does, for numbers, and by columns.

    `loops` are those of `op` for `kind`, and `z` is the result, or None to make it: a given z has the layout of x, so nothing
    repeats. Returns None if NumPy has to do it.
    """
    cdef npy_intp d[MOST_SPREAD]
    cdef npy_intp part[MOST_SPREAD]         # the same without dimensions along which both repeat
    cdef mg_spread s
    cdef Strided p, q
    cdef int nd = 0, i, k = -1, width = item_size(kind)
    cdef npy_intp total = 1
    cdef bint repeats = False
    cdef char *r
    cdef mg_binary loop
    if z is None and type(x) is ndarray and type(y) is ndarray and by_columns(<ndarray>x, <ndarray>y):
        z = empty(ndim(<ndarray>x), dims(<ndarray>x), typenum(<ndarray>x), 1)
        mg_run_binary(loops[VV], data(<ndarray>x), data(<ndarray>y), data(z), size(z), width, 1, 1, 1)
        return z
    if type(x) is ndarray and not widen(x, &nd, d):
        return None
    if type(y) is ndarray and not widen(y, &nd, d):
        return None
    if not locate(x, kind, nd, d, &p) or not locate(y, kind, nd, d, &q):
        return None
    for i in range(nd - 1, -1, -1):         # dimensions through which both go in one step become one dimension
        part[i] = d[i]
        if d[i] > 1 and p.steps[i] == 0 and q.steps[i] == 0:
            part[i], repeats = 1, True
        total *= part[i]
        if part[i] == 1:
            continue
        if k >= 0 and p.steps[i] == s.x_steps[k] * s.n[k] and q.steps[i] == s.y_steps[k] * s.n[k]:
            s.n[k] *= part[i]
            continue
        k += 1
        s.n[k], s.x_steps[k], s.y_steps[k] = part[i], p.steps[i], q.steps[i]
    if k < 0:
        k, s.n[0], s.x_steps[0], s.y_steps[0] = 0, 1, width, width
    s.nd = k + 1
    if not (s.x_steps[0] == width and (s.y_steps[0] == width or s.y_steps[0] == 0)) \
            and not (s.x_steps[0] == 0 and s.y_steps[0] == width):
        return None
    if z is None:
        z = fresh(nd, part, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64)
    if total == 0:
        return repeated(z, d) if repeats else z
    loop = loops[SV if s.x_steps[0] == 0 else VS if s.y_steps[0] == 0 else VV]
    r = data(z)
    if total < MG_PARALLEL:
        mg_run_spread(loop, &s, p.start, q.start, r, width, 1)
    else:
        with nogil:
            mg_run_spread(loop, &s, p.start, q.start, r, width, threads)
    return repeated(z, d) if repeats else z


# The addresses between which the elements of x lie. Strides may be negative.
cdef void ends(ndarray x, char **low, char **high) noexcept:
    cdef npy_intp far
    cdef int i
    low[0], high[0] = data(x), data(x) + cnp.PyArray_ITEMSIZE(x)
    for i in range(ndim(x)):
        far = (dims(x)[i] - 1) * strides(x)[i]
        if far < 0:
            low[0] += far
        else:
            high[0] += far


cdef bint apart(ndarray x, ndarray y) noexcept:
    """Whether the two arrays cannot share a byte of memory. An array without elements may seem to."""
    cdef char *x_low
    cdef char *x_high
    cdef char *y_low
    cdef char *y_high
    ends(x, &x_low, &x_high)
    ends(y, &y_low, &y_high)
    return x_high <= y_low or y_high <= x_low


cdef bint fits_apart(object x, object out, int kind) noexcept:
    """Whether x is a row-major array of this kind and of the shape of `out`, in other memory."""
    if easy(x) != kind or ndim(<ndarray>x) != ndim(<ndarray>out):
        return False
    return same_dims(dims(<ndarray>x), dims(<ndarray>out), ndim(<ndarray>out)) and apart(<ndarray>x, <ndarray>out)


cdef bint spreads_over(ndarray y, ndarray out) noexcept:
    """Whether y broadcasts to the shape of `out`, such as a bias to planes, and is in other memory."""
    cdef int i, lead = ndim(out) - ndim(y)
    if lead < 0:
        return False
    for i in range(ndim(y)):
        if dims(y)[i] != dims(out)[lead + i] and dims(y)[i] != 1:
            return False
    return apart(y, out)
