# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Reading, storing and adding elements by index, for any strides.

    gather          z[i, j] = x[index[i, j], j]         scatter, scatter_add    z[index[i, j], j] = or += y[i, j]
                                                        scatter_reduce          the same with a product, or a maximum or minimum
    index           z[b, j] = x[places[b], j]           index_put               z[places[b], j] = or += y[b, j]

One walk does all. It visits the elements of two arrays together, and a third array says how far to move in one of the two:

    to + at[i, j] * to_step  <-  source + at[i, j] * source_step

To read by index, `to_step` is 0; to write by index, `source_step` is 0. For gather and scatter the third array is the index, and
the step is the stride of the indexed dimension. So it is for one index tensor. For several we make it first: it has a distance in
bytes for each place, to which all index tensors contribute, and the step is 1.

Where no index is needed for each element, there is less to do: ``grid.pyx`` reads at the places of a grid, ``masking.pyx`` writes
where a mask is True.
"""

from libc.stdint cimport INTPTR_MAX
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from minigrad.kernels.cpu.broadcast cimport apart
from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.grid cimport take_grid
from minigrad.kernels.cpu.layout cimport copy_of
from minigrad.kernels.cpu.pool cimport fresh_any
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef Py_ssize_t CROWD = numpy_ref.precision.CROWD

ctypedef fused unit:        # elements are moved by their size; all but those of the first two types can also be added
    cnp.uint8_t
    cnp.uint16_t
    cnp.int32_t
    cnp.int64_t
    float
    double
    float complex
    double complex

cdef enum:                  # what a walk does with an element
    STORE, ADD, MULTIPLY, LARGER, SMALLER

cdef struct Walk:
    int nd
    npy_intp dims[MOST_DIMS]
    npy_intp to[MOST_DIMS]          # the strides of the three arrays
    npy_intp source[MOST_DIMS]
    npy_intp at[MOST_DIMS]
    npy_intp n                      # numbers in the third array are below n
    npy_intp to_step
    npy_intp source_step
    int how


cdef bint walk_from(const Walk *w, int dim, unit *to, const unit *source, const char *at) noexcept nogil:
    """Walk over the dimensions from `dim` on; return False at the first index that is out of range."""
    cdef npy_intp i, k, ts = 0, ss = 0, step = 0, length = 1
    if dim < w.nd - 1:
        for i in range(w.dims[dim]):
            if not walk_from(w, dim + 1, to, source, at):
                return False
            to = <unit *>(<char *>to + w.to[dim])
            source = <const unit *>(<const char *>source + w.source[dim])
            at += w.at[dim]
        return True
    if w.nd:
        length, ts, ss, step = w.dims[dim], w.to[dim], w.source[dim], w.at[dim]
    if length == 0:
        return True
    if step == 0 and w.how <= ADD:      # a run of elements at one index
        k = (<const npy_intp *>at)[0]
        if not 0 <= k < w.n:
            return False
        move_run(w.how == ADD, <unit *>(<char *>to + k * w.to_step), ts, <const unit *>(<const char *>source + k * w.source_step), ss,
                 length)
        return True
    return walk_row(w, to, ts, source, ss, at, step, length)


cdef bint walk_row(const Walk *w, unit *to, npy_intp ts, const unit *source, npy_intp ss, const char *at, npy_intp step,
                   npy_intp length) noexcept nogil:
    """`walk_from` for the last dimension. The compiler makes a loop for each case, which multiplies and branches less."""
    cdef npy_intp item = sizeof(unit), word = sizeof(npy_intp)
    if w.how > ADD:
        return combine_row(w, to, ts, source, ss, at, step, length)
    if step == word and ts == item and ss == item:
        return read_or_write(w, to, item, source, item, at, word, length)
    if step == word and ts == item and ss == 0:
        return read_or_write(w, to, item, source, 0, at, word, length)
    if step == word and ts == 0 and ss == item:
        return read_or_write(w, to, 0, source, item, at, word, length)
    return read_or_write(w, to, ts, source, ss, at, step, length)


cdef inline bint read_or_write(const Walk *w, unit *to, npy_intp ts, const unit *source, npy_intp ss, const char *at,
                               npy_intp step, npy_intp length) noexcept nogil:
    if w.how == ADD:
        return follow(to, ts, w.to_step, source, ss, 0, at, step, w.n, length, True)
    if w.to_step == 0:
        return follow(to, ts, 0, source, ss, w.source_step, at, step, w.n, length, False)
    return follow(to, ts, w.to_step, source, ss, 0, at, step, w.n, length, False)


cdef inline bint follow(unit *to, npy_intp ts, npy_intp to_step, const unit *source, npy_intp ss, npy_intp source_step,
                        const char *at, npy_intp step, size_t n, npy_intp length, bint adds) noexcept nogil:
    """Move `length` elements by the numbers in `at`; return False at the first number that is not below n.

    Four in a turn: one by one, the loop takes up to 40% longer, depending on the address of its code.
    """
    cdef npy_intp first, i, whole = length - length % 4
    for first in range(0, whole, 4):
        for i in range(4):
            if not move(to, ts, to_step, source, ss, source_step, at, step, n, first + i, adds):
                return False
    for i in range(whole, length):
        if not move(to, ts, to_step, source, ss, source_step, at, step, n, i, adds):
            return False
    return True


cdef inline bint move(unit *to, npy_intp ts, npy_intp to_step, const unit *source, npy_intp ss, npy_intp source_step,
                      const char *at, npy_intp step, size_t n, npy_intp i, bint adds) noexcept nogil:
    cdef npy_intp k = (<const npy_intp *>(at + i * step))[0]
    if <size_t>k >= n:
        return False
    to = <unit *>(<char *>to + i * ts + k * to_step)
    source = <const unit *>(<const char *>source + i * ss + k * source_step)
    if adds:
        to[0] += source[0]
    else:
        to[0] = source[0]
    return True


cdef bint combine_row(const Walk *w, unit *to, npy_intp ts, const unit *source, npy_intp ss, const char *at, npy_intp step,
                      npy_intp length) noexcept nogil:
    """Write products, maxima or minima, of float numbers. A maximum or minimum of nan and another number is nan."""
    cdef npy_intp i, k
    cdef unit *x
    cdef unit y
    for i in range(length):
        k = (<const npy_intp *>(at + i * step))[0]
        if not 0 <= k < w.n:
            return False
        x, y = <unit *>(<char *>to + i * ts + k * w.to_step), (<const unit *>(<const char *>source + i * ss))[0]
        if unit is float or unit is double:
            if w.how == MULTIPLY:
                x[0] *= y
            elif x[0] == x[0]:      # not nan; the choice below is an instruction, and no branch
                x[0] = (x[0] if x[0] > y else y) if w.how == LARGER else (x[0] if x[0] < y else y)
    return True


cdef inline void move_run(bint adds, unit *to, npy_intp ts, const unit *source, npy_intp ss, npy_intp length) noexcept nogil:
    """Store or add `length` elements, `ts` and `ss` bytes apart."""
    cdef npy_intp i
    if adds and ts == ss == sizeof(unit):
        for i in range(length):
            to[i] += source[i]
    elif adds:
        for i in range(length):
            (<unit *>(<char *>to + i * ts))[0] += (<const unit *>(<const char *>source + i * ss))[0]
    elif ts == ss == sizeof(unit):
        memcpy(to, source, length * sizeof(unit))
    else:
        for i in range(length):
            (<unit *>(<char *>to + i * ts))[0] = (<const unit *>(<const char *>source + i * ss))[0]


cdef bint run(const Walk *w, ndarray x, char *to, const char *source, const char *at) noexcept:
    """Walk over elements of the dtype of x. Returns False at an index that is out of range."""
    cdef npy_intp item = cnp.PyArray_ITEMSIZE(x)
    cdef int type_ = typenum(x), i
    for i in range(w.nd):
        if w.dims[i] == 0:
            return True
    with nogil:
        if type_ == NPY_FLOAT32:
            return walk_from(w, 0, <float *>to, <const float *>source, at)
        if type_ == NPY_FLOAT64:
            return walk_from(w, 0, <double *>to, <const double *>source, at)
        if type_ == cnp.NPY_COMPLEX64 and w.how:
            return walk_from(w, 0, <float complex *>to, <const float complex *>source, at)
        if item == 8:
            return walk_from(w, 0, <cnp.int64_t *>to, <const cnp.int64_t *>source, at)
        if item == 4:
            return walk_from(w, 0, <cnp.int32_t *>to, <const cnp.int32_t *>source, at)
        if item == 2:
            return walk_from(w, 0, <cnp.uint16_t *>to, <const cnp.uint16_t *>source, at)
        if item == 1:
            return walk_from(w, 0, <cnp.uint8_t *>to, <const cnp.uint8_t *>source, at)
        return walk_from(w, 0, <double complex *>to, <const double complex *>source, at)


cdef bint addable(ndarray x) noexcept:
    """Whether numbers can be added to elements of x."""
    cdef int type_ = typenum(x)
    return (type_ == NPY_FLOAT32 or type_ == NPY_FLOAT64 or type_ == cnp.NPY_INT64 or type_ == cnp.NPY_INT32
            or type_ == cnp.NPY_COMPLEX64 or type_ == cnp.NPY_COMPLEX128)


cdef bint crowded(ndarray x, npy_intp n) noexcept:
    """Whether the sums of `n` numbers that are added to elements of x would lose digits, and are made in float64."""
    return (typenum(x) == NPY_FLOAT32 or typenum(x) == cnp.NPY_COMPLEX64) and n > CROWD * size(x)


cdef object as_double(object x):
    return cnp.PyArray_Cast(<ndarray>x, NPY_FLOAT64 if typenum(<ndarray>x) == NPY_FLOAT32 else cnp.NPY_COMPLEX128)


# ---- gather and scatter -----------------------------------------------------------------------------------


cdef bint along(Walk *w, ndarray x, int dim, object index) noexcept:
    """Prepare a walk over the elements of `index`, which counts along `dim` of x. False if the shapes do not fit."""
    cdef int i
    if not (movable(x) and is_index(index)) or ndim(<ndarray>index) != ndim(x) or not 0 <= dim < ndim(x):
        return False
    w.nd = ndim(x)
    for i in range(w.nd):
        w.dims[i] = dims(<ndarray>index)[i]
        w.at[i] = strides(<ndarray>index)[i]
        if i != dim and w.dims[i] > dims(x)[i]:
            return False
    w.n = dims(x)[dim]
    return True


cdef void steps_of(npy_intp *steps, ndarray x, int dim) noexcept:
    """The strides of x, with 0 for `dim`, where an index decides."""
    cdef int i
    for i in range(ndim(x)):
        steps[i] = 0 if i == dim else strides(x)[i]


def gather(x, int dim, index):
    cdef Walk w
    cdef ndarray z
    if type(x) is ndarray and along(&w, <ndarray>x, dim, index):
        z = fresh_any(w.nd, w.dims, typenum(<ndarray>x))
        steps_of(w.to, z, -1)
        steps_of(w.source, <ndarray>x, dim)
        w.to_step, w.source_step, w.how = 0, strides(<ndarray>x)[dim], STORE
        if run(&w, z, data(z), data(<ndarray>x), data(<ndarray>index)):
            return z
    return numpy_ref.gather(x, dim, index)


cdef object written(object x, int dim, object index, object y, int how):
    """A copy of x with y stored at `index`, or combined; None if the arguments are not simple, or an index is out of range."""
    cdef Walk w
    cdef ndarray z
    cdef int i
    if type(x) is not ndarray or not movable(y) or typenum(<ndarray>y) != typenum(<ndarray>x):
        return None
    if not along(&w, <ndarray>x, dim, index):
        return None
    if (how == ADD and not addable(<ndarray>x)) or (how > ADD and not is_real(x)):
        return None
    if how == ADD and crowded(<ndarray>x, size(<ndarray>index)):
        z = written(as_double(x), dim, index, as_double(y), ADD)
        return None if z is None else cnp.PyArray_Cast(z, typenum(<ndarray>x))
    for i in range(w.nd):
        w.source[i] = 0
    if ndim(<ndarray>y) or how:
        if ndim(<ndarray>y) != w.nd:
            return None
        steps_of(w.source, <ndarray>y, -1)
        for i in range(w.nd):
            if dims(<ndarray>y)[i] < w.dims[i]:
                return None
    z = copy_of(<ndarray>x)
    steps_of(w.to, z, dim)
    w.to_step, w.source_step, w.how = strides(z)[dim], 0, how
    return z if run(&w, z, data(z), data(<ndarray>y), data(<ndarray>index)) else None


def scatter(x, int dim, index, y):
    z = written(x, dim, index, y, STORE)
    return numpy_ref.scatter(x, dim, index, y) if z is None else z


def scatter_add(x, int dim, index, y):
    z = written(x, dim, index, y, ADD)
    return numpy_ref.scatter_add(x, dim, index, y) if z is None else z


def scatter_reduce(x, int dim, index, y, reduce):
    cdef int how = MULTIPLY if reduce == "prod" else LARGER if reduce == "amax" else SMALLER if reduce == "amin" else STORE
    z = written(x, dim, index, y, how) if how else None
    return numpy_ref.scatter_reduce(x, dim, index, y, reduce) if z is None else z


# ---- index and index_put ----------------------------------------------------------------------------------


cdef npy_intp *add_distances(npy_intp *to, int nd, const npy_intp *d, char *index, npy_intp *steps, npy_intp n,
                             npy_intp step) noexcept:
    """to[b] += index[b] * step; return the end of `to`, or NULL if an index is out of range."""
    cdef npy_intp i, k
    if nd > 1:
        for i in range(d[0]):
            to = add_distances(to, nd - 1, d + 1, index + i * steps[0], steps + 1, n, step)
            if to == NULL:
                return NULL
        return to
    for i in range(d[0]):
        k = (<npy_intp *>(index + i * steps[0]))[0]
        if not 0 <= k < n:
            return NULL
        to[i] += k * step
    return to + d[0]


cdef struct Places:         # x[indices]: the indices that are not None, and the shape that they broadcast to
    int first               # the first and the last dimension of x with an index
    int last
    int nd
    npy_intp dims[MOST_DIMS]


cdef bint lay_out(Walk *w, Places *p, ndarray x, list given, npy_intp *rest) except -1:
    """Prepare a walk over the elements of x[given], but for the distances. False if it is not simple.

    `rest` gets, for each dimension of the walk, the stride of x; 0 for the dimensions of the indices, which are next to each other.
    """
    cdef int count = <int>len(given), used = 0, lead, i, k
    cdef npy_intp step = sizeof(npy_intp), n
    cdef ndarray index
    if not movable(x) or count > ndim(x):
        return False
    for i in range(ndim(x)):
        if strides(x)[i] < 0:       # distances are not negative
            return False
    p.first = p.last = -1
    p.nd = 0
    for i in range(count):
        if given[i] is not None:
            if not is_index(given[i]) or ndim(<ndarray>given[i]) == 0:
                return False
            p.first = i if p.first < 0 else p.first
            p.last = i
            p.nd = max(p.nd, ndim(<ndarray>given[i]))
            used += 1
    if used == 0 or ndim(x) - used + p.nd > MOST_DIMS:
        return False
    for k in range(p.nd):
        p.dims[k] = 1
        for i in range(p.first, p.last + 1):
            if given[i] is not None:
                index = <ndarray>given[i]
                n = dims(index)[k - p.nd + ndim(index)] if k >= p.nd - ndim(index) else 1
                if n != 1 and p.dims[k] != 1 and n != p.dims[k]:
                    return False
                p.dims[k] = n if p.dims[k] == 1 else p.dims[k]
    lead = p.first if p.last - p.first + 1 == used else 0       # else NumPy and PyTorch put the dimensions of the indices first
    w.nd = 0
    for i in range(ndim(x) + 1):
        if i == lead:
            for k in range(p.nd - 1, -1, -1):
                w.dims[lead + k], w.at[lead + k], rest[lead + k] = p.dims[k], step, 0
                step *= p.dims[k]
            w.nd += p.nd
        if i < ndim(x) and (i >= count or given[i] is None):
            w.dims[w.nd], w.at[w.nd], rest[w.nd] = dims(x)[i], 0, strides(x)[i]
            w.nd += 1
    w.n = INTPTR_MAX
    return True


cdef npy_intp *distances(const Places *p, ndarray x, list given) except? NULL:
    """The distances of the places x[given] in x, in bytes; NULL if an index is out of range."""
    cdef npy_intp steps[MOST_DIMS]
    cdef npy_intp total = 1
    cdef npy_intp *found
    cdef ndarray index
    cdef int lead, i, k
    for k in range(p.nd):
        total *= p.dims[k]
    found = <npy_intp *>malloc(max(total, 1) * sizeof(npy_intp))
    if found == NULL:
        raise MemoryError
    for k in range(total):
        found[k] = 0
    for i in range(p.first, p.last + 1):
        if given[i] is not None:
            index = <ndarray>given[i]
            for k in range(p.nd):
                lead = k - p.nd + ndim(index)
                steps[k] = strides(index)[lead] if lead >= 0 and dims(index)[lead] != 1 else 0
            if total and add_distances(found, p.nd, p.dims, data(index), steps, dims(x)[i], strides(x)[i]) == NULL:
                free(found)
                return NULL
    return found


cdef bint by_one_index(Walk *w, const Places *p, ndarray x, list given) noexcept:
    """Whether x[given] has one index. Then the walk reads it itself, and needs no distances."""
    cdef int k
    if p.first != p.last or size(x) == 0:       # of an empty x, `distances` checks the index, and the walk does not
        return False
    for k in range(p.nd):
        w.at[p.first + k] = strides(<ndarray>given[p.first])[k]
    w.n = dims(x)[p.first]
    return True


cdef list as_list(object indices):
    return <list>indices if type(indices) is list else list(indices)


cdef object picked(object x, object indices):
    """x[indices]; None if the arguments are not simple."""
    cdef Walk w
    cdef Places p
    cdef npy_intp *found
    cdef ndarray z
    cdef list given = as_list(indices)
    if type(x) is not ndarray or not lay_out(&w, &p, <ndarray>x, given, w.source):
        return None
    z = fresh_any(w.nd, w.dims, typenum(<ndarray>x))
    steps_of(w.to, z, -1)
    w.to_step, w.source_step, w.how = 0, 1, STORE
    if by_one_index(&w, &p, <ndarray>x, given):
        w.source_step = strides(<ndarray>x)[p.first]
        return z if run(&w, z, data(z), data(<ndarray>x), data(<ndarray>given[p.first])) else None
    found = distances(&p, <ndarray>x, given)
    if found == NULL:
        return None
    run(&w, z, data(z), data(<ndarray>x), <char *>found)
    free(found)
    return z


cdef bint put(ndarray z, object indices, object y, bint adds, bint is_copy) except -1:
    """Store or add y at z[indices]. False if the arguments are not simple; then z is unchanged, unless `is_copy`."""
    cdef Walk w
    cdef Places p
    cdef npy_intp *found
    cdef npy_intp n = 1
    cdef int i, lead
    cdef ndarray sums
    cdef list given = as_list(indices)
    if not movable(y) or typenum(<ndarray>y) != typenum(z) or not apart(z, <ndarray>y) or (adds and not addable(z)):
        return False
    if not lay_out(&w, &p, z, given, w.to):
        return False
    lead = w.nd - ndim(<ndarray>y)
    if lead < 0:
        return False
    for i in range(w.nd):
        n *= w.dims[i]
        w.source[i] = 0
        if i >= lead and dims(<ndarray>y)[i - lead] != 1:
            if dims(<ndarray>y)[i - lead] != w.dims[i]:
                return False
            w.source[i] = strides(<ndarray>y)[i - lead]
    if adds and crowded(z, n):
        sums = as_double(z)
        if not put(sums, given, as_double(y), True, True):
            return False
        copy_into(z, sums)
        return True
    w.to_step, w.source_step, w.how = 1, 0, ADD if adds else STORE
    if is_copy and by_one_index(&w, &p, z, given):
        w.to_step = strides(z)[p.first]
        return run(&w, z, data(z), data(<ndarray>y), data(<ndarray>given[p.first]))
    found = distances(&p, z, given)
    if found == NULL:
        return False
    run(&w, z, data(z), data(<ndarray>y), <char *>found)
    free(found)
    return True


def index(x, indices):
    z = picked(x, indices)
    return numpy_ref.index(x, indices) if z is None else z


def index_put_(x, indices, y, accumulate):
    if type(x) is not ndarray or not has_flags(<ndarray>x, cnp.NPY_ARRAY_WRITEABLE) or not put(<ndarray>x, indices, y, accumulate, False):
        numpy_ref.index_put_(x, indices, y, accumulate)


def index_put(x, indices, y, accumulate):
    cdef ndarray z
    if type(x) is ndarray:
        z = copy_of(<ndarray>x)
        if put(z, indices, y, accumulate, True):
            return z
    return numpy_ref.index_put(x, indices, y, accumulate)


cdef object at_dim(int dim, object index):
    """The list of indices for `index` along dimension `dim`; None unless it is a vector."""
    return [None] * dim + [index] if dim >= 0 and is_index(index) and ndim(<ndarray>index) == 1 else None


cdef bint in_runs(ndarray index) noexcept:
    """Whether most numbers of a vector are one more than the number before, as those of periodic padding are."""
    cdef npy_intp i, others = 0, n = dims(index)[0], step = strides(index)[0]
    cdef char *at = data(index)
    for i in range(1, n):
        others += (<npy_intp *>(at + i * step))[0] != (<npy_intp *>(at + (i - 1) * step))[0] + 1
        if others * 8 >= n:
            return False
    return n >= 8


def index_select(x, int dim, index):
    if type(x) is ndarray and ndim(<ndarray>x) == 1 and is_index(index) and ndim(<ndarray>index) == 1:
        return gather(x, dim, index)        # reads the index itself, and needs no distances
    indices = at_dim(dim, index)
    if indices is not None and type(x) is ndarray and dim == ndim(<ndarray>x) - 1 and in_runs(<ndarray>index):
        return take_grid(x, indices)
    z = None if indices is None else picked(x, indices)
    return numpy_ref.index_select(x, dim, index) if z is None else z


def index_add(x, int dim, index, y):
    cdef ndarray z
    indices = at_dim(dim, index)
    if type(x) is ndarray and type(y) is ndarray and indices is not None and ndim(<ndarray>y) == ndim(<ndarray>x):
        z = copy_of(<ndarray>x)
        if put(z, indices, y, True, True):
            return z
    return numpy_ref.index_add(x, dim, index, y)
