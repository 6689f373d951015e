# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Random numbers: the same, bit for bit, as those of ``numpy_ref/randoms.py``, where the formulas are explained.

The words come from NumPy's Mersenne Twister: from its memory, many at a time (``mersenne.h``), or if another version of NumPy keeps
it in another way, from its C interface. The logarithms, sines and cosines come from NumPy's own loops, whose last digits differ from
those of the C library.
"""

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint32_t, uint64_t

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh
from minigrad.kernels.cpu.ufuncs cimport InnerLoop, inner_loop
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "numpy/random/bitgen.h" nogil:
    ctypedef struct bitgen_t:
        void *state
        uint32_t (*next_uint32)(void *) noexcept nogil

cdef extern from "mersenne.h" nogil:
    int MG_STATE
    void draw_words "mg_draw_words"(uint32_t *state, uint32_t *z, npy_intp n)
    void short_fractions "mg_short_fractions"(const uint32_t *words, float *z, npy_intp n)
    void fractions "mg_fractions"(const uint32_t *words, double *z, npy_intp n)

cdef enum:
    PIECE = 256         # numbers that are made of words together
    BLOCK = 16          # normal numbers that are drawn together
    CHUNK = 128         # blocks for which the numbers on the way are in memory at one time
    FEW = 1 << 28       # from this range on, an integer is made of two words

cdef object FLOAT32 = np.dtype("float32"), FLOAT64 = np.dtype("float64"), BOOL = np.dtype("bool")
cdef double TURN = 2 * np.pi


cdef struct Twister:
    bitgen_t *bits
    uint32_t *state         # see mersenne.h; NULL if it is not where we expect it


cdef Twister twister(object stream) except *:
    cdef Twister t
    memory = stream.memory
    t.bits, t.state = <bitgen_t *>PyCapsule_GetPointer(stream.capsule, "BitGenerator"), NULL
    if type(memory) is ndarray and typenum(<ndarray>memory) == cnp.NPY_UINT32 and is_contiguous(<ndarray>memory) \
            and size(<ndarray>memory) == MG_STATE + 1:
        t.state = <uint32_t *>data(<ndarray>memory)
    return t


cdef void next_words(Twister *t, uint32_t *z, npy_intp n) noexcept nogil:
    cdef npy_intp i
    if t.state != NULL:
        draw_words(t.state, z, n)
    else:
        for i in range(n):
            z[i] = t.bits.next_uint32(t.bits.state)


cdef fused real:
    float
    double


cdef void draw_fractions(Twister *t, real *z, npy_intp n) noexcept nogil:
    """The next n numbers in [0, 1)."""
    cdef uint32_t words[2 * PIECE]
    cdef npy_intp first = 0, count
    while first < n:
        count = min(<npy_intp>PIECE, n - first)
        if real is float:
            next_words(t, words, count)
            short_fractions(words, z + first, count)
        else:
            next_words(t, words, 2 * count)
            fractions(words, z + first, count)
        first += count


cdef void scale(real *z, npy_intp n, real factor, real shift) noexcept nogil:
    """z = z factor + shift, in two loops: a fused multiply-add would round differently."""
    cdef npy_intp i
    for i in range(n):
        z[i] *= factor
    for i in range(n):
        z[i] += shift


# 0 for float32, 1 for float64, -1 for any other dtype.
cdef inline int kind_of(object dtype) noexcept:
    return 0 if dtype is FLOAT32 else 1 if dtype is FLOAT64 else -1


def uniform(generator, shape, low, high, dtype):
    cdef int kind = kind_of(dtype)
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp n
    cdef ndarray z
    cdef Twister t
    cdef double span, start
    cdef char *r
    if kind < 0 or not is_number(low) or not is_number(high):
        return numpy_ref.uniform(generator, shape, low, high, dtype)
    t, span, start = twister(generator), high - low, low
    z = fresh(read_shape(shape, d), d, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64)
    n, r = size(z), data(z)
    with generator.lock:
        with nogil:
            if kind == 0:
                draw_fractions(&t, <float *>r, n)
            else:
                draw_fractions(&t, <double *>r, n)
    if start != 0 or high != 1:
        if kind == 0:
            scale(<float *>r, n, <float>span, <float>start)
        else:
            scale(<double *>r, n, span, start)
    return z


# ---- normal numbers -----------------------------------------------------------------------------------


cdef enum:
    LOG = 0
    LOG1P = 1
    COS = 2
    SIN = 3

cdef InnerLoop functions[4][2]
for number_, ufunc_ in [(LOG, np.log), (LOG1P, np.log1p), (COS, np.cos), (SIN, np.sin)]:
    functions[number_][0], functions[number_][1] = inner_loop(ufunc_, NPY_FLOAT32), inner_loop(ufunc_, NPY_FLOAT64)


cdef inline void apply(int number, real *x, real *z, npy_intp n) noexcept nogil:
    """z = a function of x."""
    cdef char *args[2]
    cdef npy_intp steps[2]
    args[0], args[1] = <char *>x, <char *>z
    steps[0] = steps[1] = sizeof(real)
    cdef InnerLoop *f = &functions[number][0 if real is float else 1]
    f.address(args, &n, steps, f.its_data)


cdef inline void box_muller(int log, real *u, real *v, real *w, npy_intp n) noexcept nogil:
    """Two normal numbers for each pair of a u (for LOG, the number itself; for LOG1P, it minus 1) and a v: in w and in v."""
    cdef npy_intp i
    apply(log, u, u, n)
    for i in range(n):
        u[i] = <real>sqrt(-2 * u[i])        # the root of a float as a double, rounded, is the root of the float
        v[i] = <real>TURN * v[i]
    apply(COS, v, w, n)
    apply(SIN, v, v, n)
    for i in range(n):
        w[i] = u[i] * w[i]
        v[i] = u[i] * v[i]


cdef void make_blocks(real *z, npy_intp blocks) noexcept nogil:
    """Turn blocks of uniform numbers into normal ones, in place: eight u, then eight v."""
    cdef real u[8 * CHUNK]
    cdef real v[8 * CHUNK]
    cdef real w[8 * CHUNK]
    cdef npy_intp first = 0, count, i, k
    while first < blocks:
        count = min(<npy_intp>CHUNK, blocks - first)
        for i in range(count):
            for k in range(8):
                u[8 * i + k] = 1 - z[BLOCK * (first + i) + k]
                v[8 * i + k] = z[BLOCK * (first + i) + 8 + k]
        box_muller(LOG, u, v, w, 8 * count)
        for i in range(count):
            for k in range(8):
                z[BLOCK * (first + i) + k] = w[8 * i + k]
                z[BLOCK * (first + i) + 8 + k] = v[8 * i + k]
        first += count


cdef void normal_blocks(Twister *t, real *z, npy_intp n, real mean, real std) noexcept nogil:
    """n >= 16 normal numbers. A last block that is not full begins earlier, and is drawn again as a whole."""
    draw_fractions(t, z, n)
    make_blocks(z, n // BLOCK)
    if n % BLOCK:
        draw_fractions(t, z + n - BLOCK, BLOCK)
        make_blocks(z + n - BLOCK, 1)
    if mean != 0 or std != 1:
        scale(z, n, std, mean)


cdef object normal_pairs(object generator, Twister *t, double *z, npy_intp n):
    """n < 16 normal numbers, in pairs; the second of a pair waits for the next call."""
    cdef double u[BLOCK]
    cdef double v[BLOCK]
    cdef double w[BLOCK]
    cdef npy_intp i, pairs, first = 0
    with generator.pairing:
        spare = generator.spare_normal
        if spare is not None:
            z[0] = spare
            first = 1
        pairs = (n - first + 1) // 2
        with generator.lock:
            draw_fractions(t, w, 2 * pairs)
        for i in range(pairs):
            v[i], u[i] = w[2 * i], -w[2 * i + 1]
        box_muller(LOG1P, u, v, w, pairs)
        for i in range(n - first):
            z[first + i] = v[i // 2] if i % 2 else w[i // 2]
        if (n - first) % 2:
            generator.spare_normal = v[pairs - 1]
        elif first:
            generator.spare_normal = None


def normal(generator, shape, mean, std, dtype):
    cdef int kind = kind_of(dtype)
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp n, i
    cdef ndarray z
    cdef Twister t
    cdef double middle, width
    cdef double pairs[BLOCK]
    cdef char *r
    if kind < 0 or not is_number(mean) or not is_number(std):
        return numpy_ref.normal(generator, shape, mean, std, dtype)
    t, middle, width = twister(generator), mean, std
    z = fresh(read_shape(shape, d), d, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64)
    n, r = size(z), data(z)
    if n >= BLOCK:
        with generator.lock:
            with nogil:
                if kind == 0:
                    normal_blocks(&t, <float *>r, n, <float>middle, <float>width)
                else:
                    normal_blocks(&t, <double *>r, n, middle, width)
    elif n > 0:
        normal_pairs(generator, &t, pairs, n)
        if middle != 0 or width != 1:
            scale(pairs, n, width, middle)
        for i in range(n):
            if kind == 0:
                (<float *>r)[i] = <float>pairs[i]
            else:
                (<double *>r)[i] = pairs[i]
    return z


# ---- chance -------------------------------------------------------------------------------------------


cdef fused flag:
    char
    float
    double


cdef void draw_flags(Twister *t, double chance, flag *z, npy_intp n) noexcept nogil:
    """1 with probability `chance`, else 0."""
    cdef double u[PIECE]
    cdef npy_intp first = 0, count, i
    while first < n:
        count = min(<npy_intp>PIECE, n - first)
        draw_fractions(t, u, count)
        for i in range(count):
            z[first + i] = u[i] < chance
        first += count


cdef void draw_flags_of_each(Twister *t, real *chances, real *z, npy_intp n) noexcept nogil:
    """1 with the probability in `chances`, else 0."""
    cdef npy_intp i
    draw_fractions(t, z, n)
    for i in range(n):
        z[i] = z[i] < chances[i]


def bernoulli(generator, shape, p, dtype):
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp n
    cdef ndarray z
    cdef Twister t
    cdef double chance = 0
    cdef char *q = NULL
    cdef char *r
    cdef int kind = 2 if dtype is BOOL else kind_of(dtype)
    if kind >= 0 and easy(p) == kind and p.shape == shape:
        q = data(<ndarray>p)
    elif kind >= 0 and is_number(p):
        chance = p
    else:
        return numpy_ref.bernoulli(generator, shape, p, dtype)
    t = twister(generator)
    z = fresh(read_shape(shape, d), d, cnp.NPY_BOOL if kind == 2 else NPY_FLOAT32 if kind == 0 else NPY_FLOAT64)
    n, r = size(z), data(z)
    with generator.lock:
        with nogil:
            if kind == 2:
                draw_flags(&t, chance, r, n)
            elif kind == 0 and q != NULL:
                draw_flags_of_each(&t, <float *>q, <float *>r, n)
            elif kind == 0:
                draw_flags(&t, chance, <float *>r, n)
            elif q != NULL:
                draw_flags_of_each(&t, <double *>q, <double *>r, n)
            else:
                draw_flags(&t, chance, <double *>r, n)
    return z


cdef void choose(real *x, char *kept, real *z, npy_intp n, real factor) noexcept nogil:
    """z = factor x where kept, else 0 x: a kept nan or infinity is nan."""
    cdef npy_intp i
    for i in range(n):
        z[i] = x[i] * (factor if kept[i] else 0)


def dropout(generator, x, p):
    cdef ndarray kept
    if easy(x) < 0 or not is_number(p):
        return numpy_ref.dropout(generator, x, p)
    kept = bernoulli(generator, x.shape, 1 - p, BOOL)
    return dropout_backward(x, kept, p), kept


def dropout_backward(g, kept, p):
    cdef int kind = easy(g)
    cdef ndarray a, c, z
    cdef double factor
    cdef npy_intp n
    cdef char *q
    cdef char *m
    cdef char *r
    if kind < 0 or not is_number(p) or type(kept) is not ndarray or typenum(<ndarray>kept) != cnp.NPY_BOOL \
            or not is_contiguous(<ndarray>kept) or ndim(<ndarray>kept) != ndim(<ndarray>g) \
            or not same_dims(dims(<ndarray>kept), dims(<ndarray>g), ndim(<ndarray>g)):
        return numpy_ref.dropout_backward(g, kept, p)
    a, c, factor = <ndarray>g, <ndarray>kept, 1 / (1 - p)
    z = fresh(ndim(a), dims(a), typenum(a))
    n, q, m, r = size(a), data(a), data(c), data(z)
    with nogil:
        if kind == 0:
            choose(<float *>q, m, <float *>r, n, <float>factor)
        else:
            choose(<double *>q, m, <double *>r, n, factor)
    return z


# ---- integers -----------------------------------------------------------------------------------------


def integers(generator, shape, low, high):
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp n, i, start = 0, count
    cdef Twister t = twister(generator)
    cdef uint32_t words[2 * PIECE]
    cdef uint64_t span = high - low
    cdef int64_t first = low
    cdef uint32_t short_span = <uint32_t>span
    cdef bint long = span >= FEW
    if span == 0:
        raise ValueError(f"no integers in [{low}, {high})")
    cdef ndarray z = fresh(read_shape(shape, d), d, cnp.NPY_INT64)
    cdef int64_t *r = <int64_t *>data(z)
    n = size(z)
    with generator.lock:
        with nogil:
            while start < n:
                count = min(<npy_intp>PIECE, n - start)
                next_words(&t, words, 2 * count if long else count)
                for i in range(count):
                    r[start + i] = <int64_t>(((<uint64_t>words[2 * i] << 32 | words[2 * i + 1]) % span if long
                                              else words[i] % short_span) + <uint64_t>first)
                start += count
    return z


def permutation(generator, npy_intp n):
    cdef npy_intp i, k, start = 0, count
    cdef Twister t = twister(generator)
    cdef uint32_t words[PIECE]
    if not 0 <= n < <npy_intp>1 << 32:
        return numpy_ref.permutation(generator, n)
    cdef ndarray z = fresh(1, &n, cnp.NPY_INT64)
    cdef int64_t *r = <int64_t *>data(z)
    with generator.lock:
        with nogil:
            for i in range(n):
                r[i] = i
            while start < n - 1:
                count = min(<npy_intp>PIECE, n - 1 - start)
                next_words(&t, words, count)
                for i in range(start, start + count):
                    k = i + words[i - start] % <uint32_t>(n - i)
                    r[i], r[k] = r[k], r[i]
                start += count
    return z
