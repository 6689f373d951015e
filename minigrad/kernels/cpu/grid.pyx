# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Reading the elements at the places of a grid, for any strides: z[i, j] = x[a[i], b[j]].

    a = [1, 1, 0], b = [0, 1, 2, 1]         x   0 1 2       z   3 4 5 4
                                                3 4 5           3 4 5 4
                                                                0 1 2 1

Each dimension has its own positions, or all. So the last dimension has the same runs of neighbours in each row (here 0 1 2, and 1),
which we find once, and then copy run by run.
"""

from libc.stdlib cimport free, malloc

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh_any
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "tile_copy.h" nogil:
    void copy_line "mg_copy_line"(char *to, const char *origin, npy_intp step, npy_intp n, npy_intp item)


cdef struct Run:
    npy_intp start          # the first of the elements that follow each other in x
    npy_intp length


cdef char *fill_grid(ndarray x, int dim, const npy_intp *d, const npy_intp **at, const Run *runs, npy_intp count, char *to,
                     const char *source) noexcept nogil:
    """Write the elements of z along the dimensions from `dim` on to `to`, one after the other; return the end of what it wrote."""
    cdef npy_intp i, item = cnp.PyArray_ITEMSIZE(x), step = strides(x)[dim]
    if dim == ndim(x) - 1:
        for i in range(count):
            if runs[i].length == 1 and item == 4:       # at the ends of each padded row, where a call would take longer
                (<cnp.int32_t *>to)[0] = (<const cnp.int32_t *>(source + runs[i].start * step))[0]
            elif runs[i].length == 1 and item == 8:
                (<cnp.int64_t *>to)[0] = (<const cnp.int64_t *>(source + runs[i].start * step))[0]
            else:
                copy_line(to, source + runs[i].start * step, step, runs[i].length, item)
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


cpdef object take_grid(object x, object places):
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
