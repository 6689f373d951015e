# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Attention, head by head and 16 queries at a time, so that the scores of a block stay in the cache from product to product.

    forward     S = Q Kᵀ, then W = softmax(scale S), Z = W V                        for each block of queries
    backward    P = G Vᵀ, then P = scale W (P - Σ P W), dQ = P K                    for each block of queries
                dK = Pᵀ Q, dV = Wᵀ G                                                for each block of keys

    causal:     queries | keys ->       A block of queries sees the keys up to its own end only, and a block of keys takes part
                        | x             from its own beginning on. So products and exponentials leave out nearly half of W, and
                        | x x           where a key that no query of a block sees is infinite, it has no part in the result.
                        | x x x

K and V are turned once for a head. Threads share the heads. Where the heads of Q are cut out of the rows of a matrix, those of Z
lie side by side in memory too, so that joining them needs no copy; those of gradients always do. That is PyTorch's choice.
"""

from cython.parallel cimport prange
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.linear cimport tiles, turn
from minigrad.kernels.cpu.pool cimport fresh, strided
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "attention.h" nogil:
    void weights_f32 "mg_attention_weights_f32"(float *, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, float)
    void weights_f64 "mg_attention_weights_f64"(double *, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, double)
    void slopes_f32 "mg_attention_slopes_f32"(float *, const float *, Py_ssize_t, Py_ssize_t, Py_ssize_t, float)
    void slopes_f64 "mg_attention_slopes_f64"(double *, const double *, Py_ssize_t, Py_ssize_t, Py_ssize_t, double)

cdef enum:
    BLOCK = 16          # queries, or keys, at a time: a vector of 64 bytes
    ENOUGH = 1 << 16    # multiplications of a product from which threads share the heads

# A matrix with contiguous rows for each head: element (i, j) of head (a, b) is at start + a * batch + b * head + i * row + j, in
# elements of `item` bytes.
cdef struct Heads:
    char *start
    npy_intp batch, head, row

cdef Heads nowhere = Heads(NULL, 0, 0, 0)      # of a gradient that is not needed

cdef struct Problem:
    int kind, item
    bint causal
    npy_intp batches, heads, queries, keys, width, values       # q (queries, width), s (keys, width), v (keys, values)
    double scale


cdef inline char *matrix(Heads x, const Problem *p, npy_intp i) noexcept nogil:
    """The address of the matrix of head i."""
    return x.start + (i // p.heads * x.batch + i % p.heads * x.head) * p.item


cdef inline npy_intp blocks(npy_intp n) noexcept nogil:
    return (n + BLOCK - 1) // BLOCK


cdef inline npy_intp seen_by(const Problem *p, npy_intp first) noexcept nogil:
    """The number of keys that some query of a block from `first` on may see; at least a block."""
    return p.keys if not p.causal or first + BLOCK > p.keys else first + BLOCK


cdef char *turned_rows(const Problem *p, const char *x, npy_intp row, npy_intp width, npy_intp more, npy_intp *out) noexcept nogil:
    """Memory with xᵀ, of x (keys, width), and room for `more` elements behind it; NULL if there is none.

    Its rows are a block longer than need be: rows of 4096 bytes would all lie in the same places of the cache.
    """
    out[0] = p.keys + BLOCK
    cdef char *memory = <char *>malloc((width * out[0] + more) * p.item)
    if memory != NULL:
        turn(p.kind, x, row, memory, out[0], width, p.keys)
    return memory


cdef bint forward(const Problem *p, Heads q, Heads s, Heads v, Heads w, Heads z, npy_intp i) noexcept nogil:
    """Compute head i; or return False, if there is no memory."""
    cdef npy_intp block, first, count, seen, row, item = p.item
    cdef char *turned = turned_rows(p, matrix(s, p, i), s.row, p.width, 0, &row)
    cdef char *of_q = matrix(q, p, i)
    cdef char *of_w = matrix(w, p, i)
    cdef char *of_z = matrix(z, p, i)
    cdef bint good = True
    if turned == NULL:
        return False
    for block in range(blocks(p.queries)):
        first = block * BLOCK
        count, seen = min(BLOCK, p.queries - first), seen_by(p, first)
        good &= tiles(p.kind, of_q, q.row, 1, turned, row, 1, of_w, w.row, count, p.width, seen)
        if p.kind == 0:
            weights_f32(<float *>of_w, count, first if p.causal else seen, seen, p.keys, <float>p.scale)
        else:
            weights_f64(<double *>of_w, count, first if p.causal else seen, seen, p.keys, p.scale)
        good &= tiles(p.kind, of_w, w.row, 1, matrix(v, p, i), v.row, 1, of_z, z.row, count, seen, p.values)
        of_q += BLOCK * q.row * item
        of_w += BLOCK * w.row * item
        of_z += BLOCK * z.row * item
    free(turned)
    return good


cdef bint of_keys(const Problem *p, const char *x, Heads y, const char *of_y, Heads z, char *of_z, npy_intp width) noexcept nogil:
    """z = xᵀ y, for x (queries, keys), whose rows are contiguous, and y (queries, width); or False, if there is no memory."""
    cdef npy_intp block, first, start, count, k
    cdef bint good = True
    for block in range(blocks(p.keys)):
        first = block * BLOCK
        start, count = first if p.causal else 0, min(BLOCK, p.keys - first)
        if start < p.queries:
            good &= tiles(p.kind, x + (start * p.keys + first) * p.item, 1, p.keys, of_y + start * y.row * p.item, y.row, 1,
                          of_z + first * z.row * p.item, z.row, count, p.queries - start, width)
        else:               # no query sees these keys
            for k in range(first, first + count):
                memset(of_z + k * z.row * p.item, 0, width * p.item)
    return good


cdef bint backward(const Problem *p, Heads g, Heads q, Heads s, Heads v, Heads w, Heads dq, Heads ds, Heads dv,
                   npy_intp i) noexcept nogil:
    """Compute the gradients of head i that have an address; or return False, if there is no memory."""
    cdef npy_intp block, first, count, seen, row, item = p.item
    cdef char *turned = turned_rows(p, matrix(v, p, i), v.row, p.values, p.queries * p.keys, &row)
    if turned == NULL:
        return False
    cdef char *scores = turned + p.values * row * item
    cdef char *of_g = matrix(g, p, i)
    cdef char *of_w = matrix(w, p, i)
    cdef char *here = scores
    cdef bint good = True
    if dv.start != NULL:
        good = of_keys(p, of_w, g, of_g, dv, matrix(dv, p, i), p.values)
    for block in range(blocks(p.queries) if dq.start != NULL or ds.start != NULL else 0):
        first = block * BLOCK
        count, seen = min(BLOCK, p.queries - first), seen_by(p, first)
        good &= tiles(p.kind, of_g, g.row, 1, turned, row, 1, here, p.keys, count, p.values, seen)
        if p.kind == 0:
            slopes_f32(<float *>here, <float *>of_w, count, seen, p.keys, <float>p.scale)
        else:
            slopes_f64(<double *>here, <double *>of_w, count, seen, p.keys, p.scale)
        if dq.start != NULL:
            good &= tiles(p.kind, here, p.keys, 1, matrix(s, p, i), s.row, 1, matrix(dq, p, i) + first * dq.row * item, dq.row,
                          count, seen, p.width)
        of_g += BLOCK * g.row * item
        of_w += BLOCK * p.keys * item
        here += BLOCK * p.keys * item
    if ds.start != NULL:
        good &= of_keys(p, scores, q, matrix(q, p, i), ds, matrix(ds, p, i), p.width)
    free(turned)
    return good


cdef ndarray with_rows(object x):
    """x, or a row-major copy of it if its rows are not contiguous or not aligned."""
    cdef ndarray a = <ndarray>x
    cdef int i, item = <int>cnp.PyArray_ITEMSIZE(a)
    for i in range(ndim(a)):
        if strides(a)[i] % item:
            return <ndarray>cnp.PyArray_FROM_OF(x, cnp.NPY_ARRAY_CARRAY_RO)
    if strides(a)[ndim(a) - 1] == item and has_flags(a, cnp.NPY_ARRAY_ALIGNED):
        return a
    return <ndarray>cnp.PyArray_FROM_OF(x, cnp.NPY_ARRAY_CARRAY_RO)


cdef Heads heads_of(ndarray x):
    cdef int n = ndim(x), item = <int>cnp.PyArray_ITEMSIZE(x)
    cdef Heads found
    found.start = data(x)
    found.row = strides(x)[n - 2] // item
    found.head = strides(x)[n - 3] // item if n > 2 else 0
    found.batch = strides(x)[n - 4] // item if n > 3 else 0
    return found


cdef ndarray result(ndarray like, npy_intp rows, npy_intp columns, bint side_by_side):
    """An uninitialised array (N, H, rows, columns) for N and H of `like`. Its heads may lie side by side: (N, rows, H, columns)."""
    cdef int n = ndim(like), i
    cdef npy_intp shape[4]
    cdef npy_intp steps[4]
    cdef npy_intp item = cnp.PyArray_ITEMSIZE(like)
    cdef ndarray memory
    for i in range(n - 2):
        shape[i] = dims(like)[i]
    shape[n - 2], shape[n - 1] = rows, columns
    if n < 4 or not side_by_side:
        return fresh(n, shape, typenum(like))
    shape[1], shape[2] = rows, dims(like)[1]
    memory = fresh(4, shape, typenum(like))
    shape[1], shape[2] = dims(like)[1], rows
    steps[3] = item
    steps[1] = columns * item
    steps[2] = shape[1] * steps[1]
    steps[0] = rows * steps[2]
    return strided(memory, 4, shape, steps, data(memory))


cdef bint set_up(Problem *p, object q, object s, object v, double scale, bint causal) noexcept:
    """Fill in *p. Return whether the arrays are of one kind, not empty, agree, and have rows that hold a vector of 16 bytes."""
    cdef int n, i
    if not is_real(q) or not is_real(s) or not is_real(v) or typenum(<ndarray>q) != typenum(<ndarray>s) \
            or typenum(<ndarray>q) != typenum(<ndarray>v) or not scale > 0:
        return False
    n = ndim(<ndarray>q)
    if not 2 <= n <= 4 or ndim(<ndarray>s) != n or ndim(<ndarray>v) != n \
            or not same_dims(dims(<ndarray>q), dims(<ndarray>s), n - 2) \
            or not same_dims(dims(<ndarray>s), dims(<ndarray>v), n - 1) \
            or dims(<ndarray>q)[n - 1] != dims(<ndarray>s)[n - 1]:
        return False
    p.kind = 0 if typenum(<ndarray>q) == NPY_FLOAT32 else 1
    p.item, p.scale, p.causal = item_size(p.kind), scale, causal
    p.batches = dims(<ndarray>q)[0] if n > 3 else 1
    p.heads = dims(<ndarray>q)[n - 3] if n > 2 else 1
    p.queries, p.width = dims(<ndarray>q)[n - 2], dims(<ndarray>q)[n - 1]
    p.keys, p.values = dims(<ndarray>v)[n - 2], dims(<ndarray>v)[n - 1]
    return (p.batches > 0 and p.heads > 0 and p.queries > 0
            and p.width * p.item >= 16 and p.keys * p.item >= 16 and p.values * p.item >= 16)


cdef inline int workers(const Problem *p) noexcept:
    return threads if p.batches * p.heads * p.queries * p.keys * p.width >= ENOUGH else 1


def attention(q, s, v, double scale, causal):
    cdef Problem p
    if not set_up(&p, q, s, v, scale, causal):
        return numpy_ref.attention(q, s, v, scale, causal)
    cdef ndarray a = with_rows(q), b = with_rows(s), c = with_rows(v), w
    cdef Heads of_q = heads_of(a), of_s = heads_of(b), of_v = heads_of(c), of_z, of_w
    cdef ndarray z = result(a, p.queries, p.values, of_q.head < of_q.row)
    cdef npy_intp shape[4]
    cdef npy_intp i, count = p.batches * p.heads
    cdef int n = ndim(a), shared = workers(&p), failed = 0
    for i in range(n - 1):
        shape[i] = dims(a)[i]
    shape[n - 1] = p.keys
    w = fresh(n, shape, typenum(a))
    of_w, of_z = heads_of(w), heads_of(z)
    for i in prange(count, nogil=True, num_threads=shared, use_threads_if=shared > 1, schedule="static"):
        failed += not forward(&p, of_q, of_s, of_v, of_w, of_z, i)
    if failed:
        raise MemoryError
    return z, w


def attention_backward(g, q, s, v, w, double scale, causal, needs):
    cdef Problem p
    cdef bint of_q, of_s, of_v
    if not set_up(&p, q, s, v, scale, causal) or easy(w) != p.kind or not is_real(g) or typenum(<ndarray>g) != typenum(<ndarray>q) \
            or ndim(<ndarray>w) != ndim(<ndarray>q) or ndim(<ndarray>g) != ndim(<ndarray>q) \
            or not same_dims(dims(<ndarray>w), dims(<ndarray>q), ndim(<ndarray>q) - 1) \
            or not same_dims(dims(<ndarray>g), dims(<ndarray>q), ndim(<ndarray>q) - 1) \
            or dims(<ndarray>w)[ndim(<ndarray>w) - 1] != p.keys or dims(<ndarray>g)[ndim(<ndarray>g) - 1] != p.values:
        return numpy_ref.attention_backward(g, q, s, v, w, scale, causal, needs)
    of_q, of_s, of_v = needs
    cdef ndarray a = with_rows(q), b = with_rows(s), c = with_rows(v), e = with_rows(g)
    cdef npy_intp none = 0
    cdef ndarray nothing = fresh(1, &none, typenum(a)), dq = nothing, ds = nothing, dv = nothing
    cdef Heads at_g = heads_of(e), at_q = heads_of(a), at_s = heads_of(b), at_v = heads_of(c), at_w = heads_of(<ndarray>w)
    cdef Heads at_dq = nowhere, at_ds = nowhere, at_dv = nowhere
    cdef npy_intp i, count = p.batches * p.heads
    cdef int shared = workers(&p), failed = 0
    if of_q:
        dq = result(a, p.queries, p.width, True)
        at_dq = heads_of(dq)
    if of_s:
        ds = result(a, p.keys, p.width, True)
        at_ds = heads_of(ds)
    if of_v:
        dv = result(a, p.keys, p.values, True)
        at_dv = heads_of(dv)
    for i in prange(count, nogil=True, num_threads=shared, use_threads_if=shared > 1, schedule="static"):
        failed += not backward(&p, at_g, at_q, at_s, at_v, at_w, at_dq, at_ds, at_dv, i)
    if failed:
        raise MemoryError
    return dq, ds, dv
