# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Sorting along a dimension, for contiguous arrays; flips; and where an array of bools is True.

A row becomes a list of pairs (key, position), which radix sort or merge sort orders by key. A key is an unsigned integer with the order of the
numbers, so one loop sorts every dtype. nan has the largest key, and -0. the key of 0. For a descending order the keys are inverted.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport copied, fresh, give_back, in_rows
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef enum:
    RUN = 16            # pairs that insertion sort orders before they are merged
    FEW = 64            # pairs at the front that are found without sorting the others
    PART = 256          # elements of a row that nonzero reads together

cdef cnp.uint64_t SIGN = <cnp.uint64_t>1 << 63

ctypedef fused number:
    float
    double
    cnp.int64_t
    cnp.int32_t
    cnp.uint8_t

cdef struct Pair:
    cnp.uint64_t key
    cnp.int64_t place


cdef inline cnp.uint64_t key_of(number x) noexcept nogil:
    cdef cnp.uint64_t bits = 0
    cdef double wide
    if number is float or number is double:
        if x != x:
            return ~bits
        wide = <double>x + 0.0          # -0. + 0. is 0.
        memcpy(&bits, &wide, sizeof(bits))
        return ~bits if bits & SIGN else bits | SIGN
    else:
        return <cnp.uint64_t>(<cnp.int64_t>x) ^ SIGN


cdef void read_row(const number *x, Pair *pairs, Py_ssize_t n, Py_ssize_t step, bint descending) noexcept nogil:
    cdef Py_ssize_t r
    for r in range(n):
        pairs[r].key = ~key_of(x[r * step]) if descending else key_of(x[r * step])
        pairs[r].place = r


cdef Pair *sort_by_bytes(Pair *pairs, Pair *room, Py_ssize_t n, cnp.uint64_t varying) noexcept nogil:
    """Radix sort: order the pairs by each byte of their keys that has a bit of `varying`, the lowest first."""
    cdef Py_ssize_t ends[256]
    cdef Py_ssize_t i, byte, place
    cdef int shift
    for shift in range(0, 64, 8):
        if not (varying >> shift) & 255:
            continue
        memset(ends, 0, sizeof(ends))
        for i in range(n):
            ends[(pairs[i].key >> shift) & 255] += 1
        for byte in range(1, 256):
            ends[byte] += ends[byte - 1]
        for i in range(n - 1, -1, -1):          # from the end, so that equal bytes keep their order
            byte = (pairs[i].key >> shift) & 255
            ends[byte] -= 1
            room[ends[byte]] = pairs[i]
        pairs, room = room, pairs
    return pairs


cdef Pair *sort_by_merging(Pair *pairs, Pair *room, Py_ssize_t n) noexcept nogil:
    """Merge sort: order runs by insertion, then merge them."""
    cdef Py_ssize_t first, middle, last, i, j, k, right, width = RUN
    cdef Pair pair
    for i in range(1, n):       # each run by insertion
        first = i - i % RUN
        if i > first:
            pair = pairs[i]
            j = i
            while j > first and pairs[j - 1].key > pair.key:
                pairs[j] = pairs[j - 1]
                j -= 1
            pairs[j] = pair
    while width < n:
        first = 0
        while first < n:
            middle, last = min(first + width, n), min(first + 2 * width, n)
            i, j, k = first, middle, first
            while i < middle and j < last:      # without branches on the keys, half of which the processor would guess wrong
                right = pairs[j].key < pairs[i].key
                room[k] = pairs[i + (j - i) * right]
                i, j, k = i + 1 - right, j + right, k + 1
            memcpy(room + k, pairs + i, (middle - i) * sizeof(Pair))
            memcpy(room + k + middle - i, pairs + j, (last - j) * sizeof(Pair))
            first = last
        pairs, room = room, pairs
        width *= 2
    return pairs


cdef Pair *sort_pairs(Pair *pairs, Pair *room, Py_ssize_t n) noexcept nogil:
    """Sort n > 0 pairs by key; equal keys keep their order. The result is in one of the two arrays, and is returned. Keys change.

    Radix sort passes over the pairs once for each byte in which keys differ (one for labels below 256, four or five for floats),
    and 256 counts each time. Merge sort passes as often as the number of runs can be halved, and its runs cost two or three more.
    """
    cdef cnp.uint64_t varying = 0, least = pairs[0].key
    cdef Py_ssize_t i, passes = 0, merges = 3
    for i in range(1, n):
        least = min(least, pairs[i].key)
    for i in range(n):          # keys from 0 on: those of -1 and 1 differ in every byte, but 0 and 2 in one
        pairs[i].key -= least
        varying |= pairs[i].key
    for i in range(0, 64, 8):
        passes += (varying >> i) & 255 != 0
    while RUN << (merges - 3) < n:
        merges += 1
    if passes * (n + 256) < merges * n:
        return sort_by_bytes(pairs, room, n, varying)
    return sort_by_merging(pairs, room, n)


cdef void order_front(Pair *pairs, Py_ssize_t n, Py_ssize_t count) noexcept nogil:
    """Move the first `count` pairs of the order to the front. A pair that is none of them costs a comparison."""
    cdef Py_ssize_t i, j
    cdef Pair pair
    for i in range(n):
        pair = pairs[i]
        j = min(i, count - 1)
        if i == j or pairs[j].key > pair.key:
            while j > 0 and pairs[j - 1].key > pair.key:
                pairs[j] = pairs[j - 1]
                j -= 1
            pairs[j] = pair


cdef Pair ranked(Pair *pairs, Py_ssize_t n, Py_ssize_t rank) noexcept nogil:
    """The pair of this rank in the order, without sorting; the pairs are lost.

    Each round looks at one byte of the keys, the highest first, and keeps the pairs that have the same one as the result.
    """
    cdef Py_ssize_t counts[256]
    cdef Py_ssize_t i, byte, kept
    cdef int shift = 56
    while n > 1 and shift >= 0:
        memset(counts, 0, sizeof(counts))
        for i in range(n):
            counts[(pairs[i].key >> shift) & 255] += 1
        byte = 0
        while rank >= counts[byte]:
            rank -= counts[byte]
            byte += 1
        kept = 0
        for i in range(n):
            if <Py_ssize_t>((pairs[i].key >> shift) & 255) == byte:
                pairs[kept] = pairs[i]
                kept += 1
        n = kept
        shift -= 8
    return pairs[rank]


cdef void select_front(Pair *pairs, Pair *room, Py_ssize_t n, Py_ssize_t count) noexcept nogil:
    """Move the first `count` pairs of the order to the front, without ordering them."""
    cdef Py_ssize_t i, kept = 0
    memcpy(room, pairs, n * sizeof(Pair))
    cdef Pair last = ranked(room, n, count - 1)
    for i in range(n):
        if pairs[i].key < last.key or (pairs[i].key == last.key and pairs[i].place <= last.place):
            pairs[kept] = pairs[i]
            kept += 1


cdef Py_ssize_t rank_of_median(const Pair *pairs, Py_ssize_t n, bint skip_nan) noexcept nogil:
    """The lower of two in the middle, or the first nan, which come last in the order."""
    cdef Py_ssize_t i, nans = 0
    for i in range(n):
        nans += pairs[i].key == ~<cnp.uint64_t>0
    if skip_nan:
        return max(n - 1 - nans, 0) // 2
    return n - nans if nans else (n - 1) // 2


cdef Py_ssize_t ALL = -1, MEDIAN = -2, MEDIAN_WITHOUT_NAN = -3


cdef object ordered(object x, int dim, bint descending, Py_ssize_t wanted):
    """The first `wanted` positions in the order along `dim` (int64), ALL, or that of the median; None if x is not simple."""
    rows = in_rows(x)
    if not by_rows(rows):
        return None
    cdef ndarray a = <ndarray>rows, z
    cdef int type_ = cnp.NPY_UINT8 if typenum(a) == cnp.NPY_BOOL else typenum(a), i
    cdef npy_intp d[MOST_DIMS]
    cdef Py_ssize_t outer, n, inner, o, c, r, count
    if not (type_ == NPY_FLOAT32 or type_ == NPY_FLOAT64 or type_ == cnp.NPY_INT64 or type_ == cnp.NPY_INT32
            or type_ == cnp.NPY_UINT8) or not 0 <= dim < ndim(a) or size(a) == 0:
        return None
    around(a, dim, &outer, &n, &inner)
    count = n if wanted == ALL else wanted if wanted >= 0 else 1
    if count > n:
        return None
    for i in range(ndim(a)):
        d[i] = count if i == dim else dims(a)[i]
    z = fresh(ndim(a), d, cnp.NPY_INT64)
    cdef Pair *pairs = <Pair *>malloc(2 * n * sizeof(Pair))
    cdef Pair *found
    if pairs == NULL:
        raise MemoryError
    cdef char *p = data(a)
    cdef cnp.int64_t *to = <cnp.int64_t *>data(z)
    with nogil:
        for o in range(outer):
            for c in range(inner):
                r = o * n * inner + c
                if type_ == NPY_FLOAT32:
                    read_row(<const float *>p + r, pairs, n, inner, descending)
                elif type_ == NPY_FLOAT64:
                    read_row(<const double *>p + r, pairs, n, inner, descending)
                elif type_ == cnp.NPY_INT64:
                    read_row(<const cnp.int64_t *>p + r, pairs, n, inner, descending)
                elif type_ == cnp.NPY_INT32:
                    read_row(<const cnp.int32_t *>p + r, pairs, n, inner, descending)
                else:
                    read_row(<const cnp.uint8_t *>p + r, pairs, n, inner, descending)
                found = pairs
                if wanted < ALL:
                    pairs[0] = ranked(pairs, n, rank_of_median(pairs, n, wanted == MEDIAN_WITHOUT_NAN))
                elif 0 <= wanted <= FEW:
                    order_front(pairs, n, count)
                else:
                    if count < n:
                        select_front(pairs, pairs + n, n, count)
                    found = sort_pairs(pairs, pairs + n, count)
                for r in range(count):
                    to[(o * count + r) * inner + c] = found[r].place
        free(pairs)
    give_back(rows, x)
    return z


def flip(x, dims_):
    cdef npy_intp steps[MOST_DIMS]
    cdef bint turned[MOST_DIMS]
    cdef int i, dim
    cdef ndarray a, z
    cdef char *first
    if not of_numbers(x) or size(<ndarray>x) == 0:
        return numpy_ref.flip(x, dims_)
    a, first = <ndarray>x, data(<ndarray>x)
    for i in range(ndim(a)):
        steps[i], turned[i] = strides(a)[i], False
    for d in dims_:
        dim = d
        if not 0 <= dim < ndim(a) or turned[dim]:
            return numpy_ref.flip(x, dims_)
        turned[dim] = True
        first += (dims(a)[dim] - 1) * steps[dim]
        steps[dim] = -steps[dim]
    z = copied(a, ndim(a), dims(a), steps, first)
    return numpy_ref.flip(x, dims_) if z is None else z


def nonzero(x):
    if not of_numbers(x) or ndim(<ndarray>x) == 0:
        return numpy_ref.nonzero(x)
    cdef ndarray a = <ndarray>x, z
    if typenum(a) != cnp.NPY_BOOL or not is_contiguous(a):
        a = <ndarray>cnp.PyArray_Cast(a, cnp.NPY_BOOL)
    cdef const cnp.uint8_t *p = <const cnp.uint8_t *>data(a)
    cdef Py_ssize_t i, k, count, n = size(a), found = 0, row = 0, first, length = dims(a)[ndim(a) - 1]
    cdef int d, nd = ndim(a)
    cdef npy_intp shape[2]
    cdef npy_intp at[MOST_DIMS]             # where the row begins
    cdef Py_ssize_t places[PART]            # in the row
    cdef cnp.int64_t *to
    shape[0], shape[1] = 0, nd
    for i in range(n):
        shape[0] += p[i] != 0
    z = fresh(2, shape, cnp.NPY_INT64)
    to = <cnp.int64_t *>data(z)
    if nd == 1:
        i = 0
        while found < shape[0] and i < n:
            to[found] = i
            found += p[i] != 0
            i += 1
        return z
    for d in range(nd):
        at[d] = 0
    while row < n:
        first = 0
        while first < length:
            count, k = min(<Py_ssize_t>PART, length - first), 0
            for i in range(count):          # no branch: which elements are 0 is hard to predict
                places[k] = first + i
                k += p[row + first + i] != 0
            k = min(k, shape[0] - found)    # another thread may write to x
            for i in range(k):
                for d in range(nd - 1):
                    to[d] = at[d]
                to[nd - 1] = places[i]
                to += nd
            found += k
            first += count
        row += length
        for d in range(nd - 2, -1, -1):
            at[d] += 1
            if at[d] < dims(a)[d]:
                break
            at[d] = 0
    return z


def argsort(x, int dim, descending):
    z = ordered(x, dim, descending, ALL)
    return numpy_ref.argsort(x, dim, descending) if z is None else z


def topk(x, Py_ssize_t number, int dim, largest):
    z = ordered(x, dim, largest, number) if number > 0 else None
    return numpy_ref.topk(x, number, dim, largest) if z is None else z


def median(x, int dim, skip_nan):
    z = ordered(x, dim, False, MEDIAN_WITHOUT_NAN if skip_nan else MEDIAN)
    return numpy_ref.median(x, dim, skip_nan) if z is None else z
