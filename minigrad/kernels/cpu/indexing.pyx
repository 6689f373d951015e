# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Reading, storing and adding elements by index, for any strides.

    gather          z[i, j] = x[index[i, j], j]         scatter, scatter_add    z[index[i, j], j] = or += y[i, j]
    index           z[b, j] = x[places[b], j]           index_put               z[places[b], j] = or += y[b, j]
    take_grid       z[i, j] = x[a[i], b[j]]

`take_grid` copies runs of elements. One walk does all others. It visits the elements of two arrays together, and a third array says
how far to move in one of the two:

    to + at[i, j] * to_step  <-  source + at[i, j] * source_step

To read by index, `to_step` is 0; to write by index, `source_step` is 0. For gather and scatter the third array is the index, and the
step is the stride of the indexed dimension. For the others we make it first: it has a distance in bytes for each place, to which
all index tensors contribute, and the step is 1.
"""

from libc.stdint cimport INTPTR_MAX
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh_any
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef Py_ssize_t CROWD = numpy_ref.precision.CROWD

ctypedef fused unit:        # elements are moved by their size; those of the last four types can also be added
    cnp.uint8_t
    cnp.uint16_t
    double complex
    cnp.int32_t
    cnp.int64_t
    float
    double

cdef struct Walk:
    int nd
    npy_intp dims[MOST_DIMS]
    npy_intp to[MOST_DIMS]          # the strides of the three arrays
    npy_intp source[MOST_DIMS]
    npy_intp at[MOST_DIMS]
    npy_intp n                      # numbers in the third array are below n
    npy_intp to_step
    npy_intp source_step
    bint adds


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
    if step == 0:       # a run of elements at one index
        k = (<const npy_intp *>at)[0]
        if not 0 <= k < w.n:
            return False
        move_run(w.adds, <unit *>(<char *>to + k * w.to_step), ts, <const unit *>(<const char *>source + k * w.source_step), ss,
                 length)
        return True
    return walk_row(w, to, ts, source, ss, at, step, length)


cdef bint walk_row(const Walk *w, unit *to, npy_intp ts, const unit *source, npy_intp ss, const char *at, npy_intp step,
                   npy_intp length) noexcept nogil:
    """`walk_from` for the last dimension: three loops, because each multiplies and branches less than one for all."""
    cdef npy_intp i, k, to_step = w.to_step, source_step = w.source_step
    cdef size_t n = w.n
    if w.adds:
        for i in range(length):
            k = (<const npy_intp *>(at + i * step))[0]
            if <size_t>k >= n:
                return False
            (<unit *>(<char *>to + k * to_step + i * ts))[0] += (<const unit *>(<const char *>source + i * ss))[0]
    elif to_step == 0:
        for i in range(length):
            k = (<const npy_intp *>(at + i * step))[0]
            if <size_t>k >= n:
                return False
            (<unit *>(<char *>to + i * ts))[0] = (<const unit *>(<const char *>source + k * source_step + i * ss))[0]
    else:
        for i in range(length):
            k = (<const npy_intp *>(at + i * step))[0]
            if <size_t>k >= n:
                return False
            (<unit *>(<char *>to + k * to_step + i * ts))[0] = (<const unit *>(<const char *>source + i * ss))[0]
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
        if item == 8:
            return walk_from(w, 0, <cnp.int64_t *>to, <const cnp.int64_t *>source, at)
        if item == 4:
            return walk_from(w, 0, <cnp.int32_t *>to, <const cnp.int32_t *>source, at)
        if item == 2:
            return walk_from(w, 0, <cnp.uint16_t *>to, <const cnp.uint16_t *>source, at)
        if item == 1:
            return walk_from(w, 0, <cnp.uint8_t *>to, <const cnp.uint8_t *>source, at)
        return walk_from(w, 0, <double complex *>to, <const double complex *>source, at)


cdef bint movable(object x) noexcept:
    """Whether the elements of x can be moved by their size."""
    return of_numbers(x) and has_flags(<ndarray>x, cnp.NPY_ARRAY_ALIGNED) and cnp.PyArray_ITEMSIZE(<ndarray>x) <= 16


cdef bint addable(ndarray x) noexcept:
    """Whether numbers can be added to elements of x."""
    cdef int type_ = typenum(x)
    return type_ == NPY_FLOAT32 or type_ == NPY_FLOAT64 or type_ == cnp.NPY_INT64 or type_ == cnp.NPY_INT32


cdef bint crowded(ndarray x, npy_intp n) noexcept:
    """Whether the sums of `n` numbers that are added to elements of x would lose digits, and are made in float64."""
    return typenum(x) == NPY_FLOAT32 and n > CROWD * size(x)


cdef object as_double(object x):
    return cnp.PyArray_Cast(<ndarray>x, NPY_FLOAT64)


cdef bint is_index(object x) noexcept:
    return (type(x) is ndarray and typenum(<ndarray>x) == cnp.NPY_INT64 and has_flags(<ndarray>x, cnp.NPY_ARRAY_ALIGNED)
            and native(<ndarray>x))


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
        w.to_step, w.source_step, w.adds = 0, strides(<ndarray>x)[dim], False
        if run(&w, z, data(z), data(<ndarray>x), data(<ndarray>index)):
            return z
    return numpy_ref.gather(x, dim, index)


cdef object written(object x, int dim, object index, object y, bint adds):
    """A copy of x with y stored or added at `index`; None if the arguments are not simple, or an index is out of range."""
    cdef Walk w
    cdef ndarray z
    cdef int i
    if type(x) is not ndarray or not movable(y) or typenum(<ndarray>y) != typenum(<ndarray>x) or not along(&w, <ndarray>x, dim, index):
        return None
    if adds and not addable(<ndarray>x):
        return None
    if adds and crowded(<ndarray>x, size(<ndarray>index)):
        z = written(as_double(x), dim, index, as_double(y), True)
        return None if z is None else cnp.PyArray_Cast(z, NPY_FLOAT32)
    for i in range(w.nd):
        w.source[i] = 0
    if ndim(<ndarray>y) or adds:
        if ndim(<ndarray>y) != w.nd:
            return None
        steps_of(w.source, <ndarray>y, -1)
        for i in range(w.nd):
            if dims(<ndarray>y)[i] < w.dims[i]:
                return None
    z = cnp.PyArray_NewCopy(<ndarray>x, cnp.NPY_CORDER)
    steps_of(w.to, z, dim)
    w.to_step, w.source_step, w.adds = strides(z)[dim], 0, adds
    return z if run(&w, z, data(z), data(<ndarray>y), data(<ndarray>index)) else None


def scatter(x, int dim, index, y):
    z = written(x, dim, index, y, False)
    return numpy_ref.scatter(x, dim, index, y) if z is None else z


def scatter_add(x, int dim, index, y):
    z = written(x, dim, index, y, True)
    return numpy_ref.scatter_add(x, dim, index, y) if z is None else z


# ---- index and index_put ----------------------------------------------------------------------------------


cdef npy_intp *add_distances(npy_intp *to, int nd, npy_intp *d, char *index, npy_intp *steps, npy_intp n, npy_intp step) noexcept:
    """to[b] += index[b] * step; return the end of `to`, or NULL if an index is out of range."""
    cdef npy_intp i, k
    if nd == 0:
        k = (<npy_intp *>index)[0]
        if not 0 <= k < n:
            return NULL
        to[0] += k * step
        return to + 1
    for i in range(d[0]):
        to = add_distances(to, nd - 1, d + 1, index + i * steps[0], steps + 1, n, step)
        if to == NULL:
            return NULL
    return to


cdef npy_intp *distances(Walk *w, ndarray x, object indices, npy_intp *rest) except? NULL:
    """Prepare a walk over the elements of x[indices], and return their distances in x, in bytes; NULL if that is not simple.

    `rest` gets, for each dimension of the walk, the stride of x; 0 for the dimensions of the indices, which are next to each other.
    """
    cdef list given = <list>indices if type(indices) is list else list(indices)
    cdef int count = <int>len(given), first = -1, last = -1, used = 0, nb = 0, lead, i, k
    cdef npy_intp shape[MOST_DIMS]
    cdef npy_intp steps[MOST_DIMS]
    cdef npy_intp total = 1, step = sizeof(npy_intp), n
    cdef ndarray index
    cdef npy_intp *found
    if not movable(x) or count > ndim(x):
        return NULL
    for i in range(ndim(x)):
        if strides(x)[i] < 0:       # distances are not negative
            return NULL
    for i in range(count):
        if given[i] is not None:
            if not is_index(given[i]) or ndim(<ndarray>given[i]) == 0:
                return NULL
            first = i if first < 0 else first
            last = i
            used += 1
            nb = max(nb, ndim(<ndarray>given[i]))
    if used == 0 or ndim(x) - used + nb > MOST_DIMS:
        return NULL
    for k in range(nb):         # the shape that the indices broadcast to
        shape[k] = 1
        for i in range(first, last + 1):
            if given[i] is not None:
                index = <ndarray>given[i]
                n = dims(index)[k - nb + ndim(index)] if k >= nb - ndim(index) else 1
                if n != 1 and shape[k] != 1 and n != shape[k]:
                    return NULL
                shape[k] = n if shape[k] == 1 else shape[k]
        total *= shape[k]
    found = <npy_intp *>malloc(max(total, 1) * sizeof(npy_intp))
    if found == NULL:
        raise MemoryError
    for k in range(total):
        found[k] = 0
    for i in range(first, last + 1):
        if given[i] is not None:
            index = <ndarray>given[i]
            for k in range(nb):
                lead = k - nb + ndim(index)
                steps[k] = strides(index)[lead] if lead >= 0 and dims(index)[lead] != 1 else 0
            if total and add_distances(found, nb, shape, data(index), steps, dims(x)[i], strides(x)[i]) == NULL:
                free(found)
                return NULL
    lead = first if last - first + 1 == used else 0     # else NumPy and PyTorch put the dimensions of the indices first
    w.nd = 0
    for i in range(ndim(x) + 1):
        if w.nd == lead and nb:
            for k in range(nb):
                w.dims[lead + k] = shape[k]
            for k in range(nb - 1, -1, -1):
                w.at[lead + k], rest[lead + k] = step, 0
                step *= shape[k]
            w.nd += nb
            nb = 0
        if i < ndim(x) and (i >= count or given[i] is None):
            w.dims[w.nd], w.at[w.nd], rest[w.nd] = dims(x)[i], 0, strides(x)[i]
            w.nd += 1
    w.n = INTPTR_MAX
    return found


cdef object picked(object x, object indices):
    """x[indices]; None if the arguments are not simple."""
    cdef Walk w
    cdef ndarray z
    if type(x) is not ndarray:
        return None
    cdef npy_intp *found = distances(&w, <ndarray>x, indices, w.source)
    if found == NULL:
        return None
    z = fresh_any(w.nd, w.dims, typenum(<ndarray>x))
    steps_of(w.to, z, -1)
    w.to_step, w.source_step, w.adds = 0, 1, False
    run(&w, z, data(z), data(<ndarray>x), <char *>found)
    free(found)
    return z


cdef bint put(ndarray z, object indices, object y, bint adds) except -1:
    """Store or add y at z[indices]. False, with z unchanged, if the arguments are not simple."""
    cdef Walk w
    cdef int i, lead
    cdef ndarray sums
    if not movable(y) or typenum(<ndarray>y) != typenum(z) or overlap(z, <ndarray>y):
        return False
    cdef npy_intp *found = distances(&w, z, indices, w.to)
    if found == NULL:
        return False
    cdef npy_intp places = 1
    lead = w.nd - ndim(<ndarray>y)
    cdef bint fits = lead >= 0
    for i in range(w.nd):
        places *= w.dims[i]
        w.source[i] = 0
        if i >= lead >= 0 and dims(<ndarray>y)[i - lead] != 1:
            w.source[i] = strides(<ndarray>y)[i - lead]
            fits = fits and dims(<ndarray>y)[i - lead] == w.dims[i]
    w.to_step, w.source_step, w.adds = 1, 0, adds
    fits = fits and (not adds or addable(z))
    if fits and adds and crowded(z, places):
        sums = as_double(z)
        put(sums, indices, as_double(y), True)
        copy_into(z, sums)
    elif fits:
        run(&w, z, data(z), data(<ndarray>y), <char *>found)
    free(found)
    return fits


cdef bint overlap(ndarray x, ndarray y) noexcept:
    """Whether x and y may share memory: whether the ranges of their addresses overlap."""
    return data(x) + reach(x, False) < data(y) + reach(y, True) and data(y) + reach(y, False) < data(x) + reach(x, True)


cdef npy_intp reach(ndarray x, bint forward) noexcept:
    """The distance from the first element of x to the end (or to the beginning) of its memory."""
    cdef npy_intp far = cnp.PyArray_ITEMSIZE(x) if forward else 0
    cdef int i
    for i in range(ndim(x)):
        if (strides(x)[i] > 0) == forward and dims(x)[i] > 0:
            far += strides(x)[i] * (dims(x)[i] - 1)
    return far


def index(x, indices):
    z = picked(x, indices)
    return numpy_ref.index(x, indices) if z is None else z


def index_put_(x, indices, y, accumulate):
    if type(x) is not ndarray or not has_flags(<ndarray>x, cnp.NPY_ARRAY_WRITEABLE) or not put(<ndarray>x, indices, y, accumulate):
        numpy_ref.index_put_(x, indices, y, accumulate)


def index_put(x, indices, y, accumulate):
    cdef ndarray z
    if type(x) is ndarray:
        z = cnp.PyArray_NewCopy(<ndarray>x, cnp.NPY_CORDER)
        if put(z, indices, y, accumulate):
            return z
    return numpy_ref.index_put(x, indices, y, accumulate)


cdef object at_dim(int dim, object index):
    """The list of indices for `index` along dimension `dim`; None unless it is a vector."""
    return [None] * dim + [index] if dim >= 0 and is_index(index) and ndim(<ndarray>index) == 1 else None


def index_select(x, int dim, index):
    indices = at_dim(dim, index)
    z = None if indices is None else picked(x, indices)
    return numpy_ref.index_select(x, dim, index) if z is None else z


cdef struct Run:
    npy_intp start          # the first of the elements that follow each other in x
    npy_intp length


cdef inline void move(char *to, const char *source, npy_intp step, npy_intp length, npy_intp item) noexcept nogil:
    """Copy `length` elements, `step` bytes apart, to a row."""
    cdef npy_intp i
    if length > 1 and step == item:
        memcpy(to, source, length * item)
    elif item == 4:         # of a size that the compiler knows
        for i in range(length):
            memcpy(to + 4 * i, source + i * step, 4)
    else:
        for i in range(length):
            memcpy(to + i * item, source + i * step, item)


cdef char *fill_grid(ndarray x, int dim, const npy_intp *d, const npy_intp **at, const Run *runs, npy_intp count, char *to,
                     const char *source) noexcept nogil:
    """Write the elements of z along the dimensions from `dim` on to `to`, one after the other; return the end of what it wrote."""
    cdef npy_intp i, item = cnp.PyArray_ITEMSIZE(x), step = strides(x)[dim]
    if dim == ndim(x) - 1:
        for i in range(count):
            move(to, source + runs[i].start * step, step, runs[i].length, item)
            to += runs[i].length * item
        return to
    for i in range(d[dim]):
        to = fill_grid(x, dim + 1, d, at, runs, count, to, source + (i if at[dim] == NULL else at[dim][i]) * step)
    return to


cdef npy_intp find_runs(Run *runs, const npy_intp *at, npy_intp n) noexcept nogil:
    """Write the runs of consecutive positions in `at` (for NULL: one run of all) to `runs`, and return their number."""
    cdef npy_intp i, count = 0
    if at == NULL:
        runs[0].start, runs[0].length = 0, n
        return 1
    for i in range(n):
        if i and at[i] == at[i - 1] + 1:
            runs[count - 1].length += 1
        else:
            runs[count].start, runs[count].length = at[i], 1
            count += 1
    return count


def take_grid(x, places):
    cdef const npy_intp *at[MOST_DIMS]
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp i, n, count
    cdef int dim, nd
    cdef ndarray index, z
    cdef Run *runs
    cdef char *p
    if not movable(x) or type(places) is not list or len(<list>places) != ndim(<ndarray>x) or not places:
        return numpy_ref.take_grid(x, places)
    nd = ndim(<ndarray>x)
    for dim in range(nd):
        at[dim], n = NULL, dims(<ndarray>x)[dim]
        d[dim] = n
        found = (<list>places)[dim]
        if found is not None:
            if not is_index(found) or ndim(<ndarray>found) != 1 or not is_contiguous(<ndarray>found):
                return numpy_ref.take_grid(x, places)
            index = <ndarray>found
            at[dim], d[dim] = <const npy_intp *>data(index), dims(index)[0]
            for i in range(d[dim]):
                if not 0 <= at[dim][i] < n:
                    return numpy_ref.take_grid(x, places)
    z = fresh_any(nd, d, typenum(<ndarray>x))
    if size(z) == 0:
        return z
    runs = <Run *>malloc(d[nd - 1] * sizeof(Run))
    if runs == NULL:
        raise MemoryError
    p = data(z)
    with nogil:
        count = find_runs(runs, at[nd - 1], d[nd - 1])
        fill_grid(<ndarray>x, 0, d, at, runs, count, p, data(<ndarray>x))
    free(runs)
    return z


def index_add(x, int dim, index, y):
    cdef ndarray z
    indices = at_dim(dim, index)
    if type(x) is ndarray and type(y) is ndarray and indices is not None and ndim(<ndarray>y) == ndim(<ndarray>x):
        z = cnp.PyArray_NewCopy(<ndarray>x, cnp.NPY_CORDER)
        if put(z, indices, y, True):
            return z
    return numpy_ref.index_add(x, dim, index, y)


# ---- masks ------------------------------------------------------------------------------------------------


cdef void fill_where(unit *x, const cnp.uint8_t *mask, unit value, npy_intp n, npy_intp run) noexcept nogil:
    """Store `value` in each run of `run` elements whose element of the mask, of `n`, is True."""
    cdef npy_intp i, j
    if run == 1:
        for i in range(n):
            x[i] = value if mask[i] else x[i]
        return
    for i in range(n):
        if mask[i]:
            for j in range(run):
                x[i * run + j] = value


cdef bint filled_where(object x, object mask, object y) noexcept:
    """Store the number y in x where the mask is True. False if the arguments are not simple: the mask is x's shape, or its beginning."""
    cdef int i
    cdef npy_intp n, run = 1
    cdef char *to
    cdef const cnp.uint8_t *m
    if not (by_rows(x) and movable(x) and has_flags(<ndarray>x, cnp.NPY_ARRAY_WRITEABLE) and by_rows(mask) and movable(y)):
        return False
    if (typenum(<ndarray>mask) != cnp.NPY_BOOL or ndim(<ndarray>mask) != ndim(<ndarray>x) or ndim(<ndarray>y)
            or typenum(<ndarray>y) != typenum(<ndarray>x)):
        return False
    for i in range(ndim(<ndarray>x)):
        if run == 1 and dims(<ndarray>mask)[i] == dims(<ndarray>x)[i]:
            continue
        if dims(<ndarray>mask)[i] != 1:
            return False
        run *= dims(<ndarray>x)[i]
    n, to, m = size(<ndarray>mask), data(<ndarray>x), <const cnp.uint8_t *>data(<ndarray>mask)
    item = cnp.PyArray_ITEMSIZE(<ndarray>x)
    with nogil:
        if item == 8:
            fill_where(<cnp.int64_t *>to, m, (<cnp.int64_t *>data(<ndarray>y))[0], n, run)
        elif item == 4:
            fill_where(<cnp.int32_t *>to, m, (<cnp.int32_t *>data(<ndarray>y))[0], n, run)
        elif item == 2:
            fill_where(<cnp.uint16_t *>to, m, (<cnp.uint16_t *>data(<ndarray>y))[0], n, run)
        elif item == 1:
            fill_where(<cnp.uint8_t *>to, m, (<cnp.uint8_t *>data(<ndarray>y))[0], n, run)
        else:
            fill_where(<double complex *>to, m, (<double complex *>data(<ndarray>y))[0], n, run)
    return True


def masked_fill_(x, mask, y):
    if not filled_where(x, mask, y):
        numpy_ref.masked_fill_(x, mask, y)
