# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Random numbers by rejection: the same as those of ``numpy_ref/rejection.py``, where the methods are explained.

An element takes as many words as it needs, so they come one by one from the C interface of NumPy's Mersenne Twister.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport M_PI, NAN, cos, exp, fabs, floor, isnan, lgamma, log, log1p, sin, sqrt
from libc.stdint cimport uint32_t, uint64_t

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "numpy/random/bitgen.h" nogil:
    ctypedef struct bitgen_t:
        void *state
        uint32_t (*next_uint32)(void *) noexcept nogil

cdef enum:
    PIECE = 4096        # elements for which a thread holds the lock of a stream, at most


cdef inline bitgen_t *words_of(object stream) except NULL:
    return <bitgen_t *>PyCapsule_GetPointer(stream.capsule, "BitGenerator")


cdef inline double draw_uniform(bitgen_t *words) noexcept nogil:
    """The next number in [0, 1): a multiple of 2^-53, of two words."""
    cdef uint64_t upper = words.next_uint32(words.state)
    cdef uint64_t lower = words.next_uint32(words.state)
    return <double>((upper << 32 | lower) & ((<uint64_t>1 << 53) - 1)) * 2.0 ** -53


# ---- gamma --------------------------------------------------------------------------------------------


cdef inline double draw_normal(bitgen_t *words, double *spare) noexcept nogil:
    """The next normal number. `spare` is the second one of the last pair, nan if there is none."""
    cdef double found = spare[0], angle, radius
    if not isnan(found):
        spare[0] = NAN
        return found
    angle = 2 * M_PI * draw_uniform(words)
    radius = sqrt(-2 * log1p(-draw_uniform(words)))
    spare[0] = radius * sin(angle)
    return radius * cos(angle)


cdef double marsaglia(bitgen_t *words, double *spare, double d) noexcept nogil:
    """A gamma variable with shape parameter d + 1/3."""
    cdef double c = 1 / sqrt(9 * d), x, xx, y, v, u
    cdef double squeeze = <float>0.0331
    while True:
        x = draw_normal(words, spare)
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - draw_uniform(words)
        xx = x * x
        if u < 1 - squeeze * xx * xx or log(u) < 0.5 * xx + d * (1 - v + log(v)):
            return d * v


cdef fused real:
    float
    double


cdef void draw_gammas(bitgen_t *words, double *spare, real *shapes, double *s, double *log_b, npy_intp n) noexcept nogil:
    cdef npy_intp i
    cdef real a, third = <real>(<float>1 / <float>3)
    for i in range(n):
        a = shapes[i]
        log_b[i] = 0
        if isnan(a):
            s[i] = NAN
        elif a == 0:        # takes no word
            s[i] = 0
        elif a < 1:
            log_b[i] = <double><real>(1 / a) * log(1 - draw_uniform(words))
            s[i] = marsaglia(words, spare, <real>(a + 1) - third)
        else:
            s[i] = marsaglia(words, spare, a - third)


cdef bint some_negative(real *shapes, npy_intp n) noexcept nogil:
    cdef npy_intp i
    for i in range(n):
        if shapes[i] < 0:
            return True
    return False


def standard_gamma(generator, shapes):
    cdef int kind = easy(shapes)
    cdef ndarray a, s, log_b
    cdef npy_intp n, first = 0, count
    cdef bitgen_t *words
    cdef double spare
    cdef double *r
    cdef double *q
    cdef char *p
    if kind < 0:
        return numpy_ref.standard_gamma(generator, shapes)
    a = <ndarray>shapes
    n, p = size(a), data(a)
    if some_negative(<float *>p, n) if kind == 0 else some_negative(<double *>p, n):
        return numpy_ref.standard_gamma(generator, shapes)      # raises the error
    words = words_of(generator)
    s, log_b = fresh(ndim(a), dims(a), NPY_FLOAT64), fresh(ndim(a), dims(a), NPY_FLOAT64)
    r, q = <double *>data(s), <double *>data(log_b)
    with generator.pairing:
        spare = NAN if generator.spare_normal is None else generator.spare_normal
        while first < n:
            count = min(<npy_intp>PIECE, n - first)
            with generator.lock:
                with nogil:
                    if kind == 0:
                        draw_gammas(words, &spare, <float *>p + first, r + first, q + first, count)
                    else:
                        draw_gammas(words, &spare, <double *>p + first, r + first, q + first, count)
            first += count
        generator.spare_normal = None if isnan(spare) else spare
    return s, log_b


# ---- Poisson ------------------------------------------------------------------------------------------


cdef double knuth(bitgen_t *words, double mean) noexcept nogil:
    """A count: how many uniform numbers have a product above e^(-mean), one after the other."""
    cdef double limit = exp(-mean), product = draw_uniform(words), count = 0
    while product > limit:
        product *= draw_uniform(words)
        count += 1
    return count


cdef double hoermann(bitgen_t *words, double mean) noexcept nogil:
    """A count by transformed rejection, for a mean of 10 or more."""
    cdef double log_mean = log(mean)
    cdef double b = 0.931 + 2.53 * sqrt(mean)
    cdef double a = -0.059 + 0.02483 * b
    cdef double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    cdef double v_r = 0.9277 - 3.6224 / (b - 2)
    cdef double u, v, u_s, k
    while True:
        u = draw_uniform(words) - 0.5
        v = draw_uniform(words)
        u_s = 0.5 - fabs(u)
        if u_s == 0:
            continue
        k = floor((2 * a / u_s + b) * u + mean + 0.43)
        if u_s >= 0.07 and v <= v_r:
            return k
        if k < 0 or (u_s < 0.013 and v > u_s) or v == 0:
            continue
        if log(v) + log(inverse_alpha) - log(a / (u_s * u_s) + b) <= k * log_mean - mean - lgamma(k + 1):
            return k


cdef void draw_counts(bitgen_t *words, real *means, real *z, npy_intp n) noexcept nogil:
    cdef npy_intp i
    for i in range(n):
        z[i] = <real>(hoermann(words, means[i]) if means[i] >= 10 else knuth(words, means[i]) if means[i] != 0 else 0)


def poisson(generator, x):
    cdef int kind = easy(x)
    cdef ndarray a, z
    cdef npy_intp n, first = 0, count
    cdef bitgen_t *words
    cdef char *p
    cdef char *r
    if kind < 0:
        return numpy_ref.poisson(generator, x)
    a, words = <ndarray>x, words_of(generator)
    z = fresh(ndim(a), dims(a), typenum(a))
    n, p, r = size(a), data(a), data(z)
    while first < n:
        count = min(<npy_intp>PIECE, n - first)
        with generator.lock:
            with nogil:
                if kind == 0:
                    draw_counts(words, <float *>p + first, <float *>r + first, count)
                else:
                    draw_counts(words, <double *>p + first, <double *>r + first, count)
        first += count
    return z
