# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Convolution as matrix products, pooling and resampling, over 1, 2 or 3 dimensions.

For one image, `im2col` lays the patch under every window out as a column; then

    z       = W columns             (O, K) (K, L)       K = C KD KH KW numbers in a patch, L = OD OH OW windows
    grad W  = sum over images of  G columns'
    columns' gradient = W' G,       which `col2im` adds back to where the patches came from

One image at a time keeps the columns in the cache; a batch of them at once is slower from a few
hundred kilobytes on. An image always has depth, height and width here: of one number, where there are fewer dimensions.
"""

from libc.string cimport memset

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels import numpy_ref
from minigrad.kernels.taps import window_count

cnp.import_array()

ctypedef fused real:
    float
    double


cdef struct Geometry:
    Py_ssize_t channels                 # of one group
    Py_ssize_t size[3]                  # of the images: depth, height, width; and so on
    Py_ssize_t kernel[3]
    Py_ssize_t stride[3]
    Py_ssize_t pad[3]
    Py_ssize_t dilation[3]
    Py_ssize_t out[3]


cdef Geometry geometry(Py_ssize_t channels, size, kernel, stride, padding, dilation, out):
    """`out` None: as many windows as fit."""
    cdef Geometry g
    cdef int i, j, missing = 3 - len(stride)
    g.channels = channels
    for i in range(3):
        g.size[i] = g.kernel[i] = g.stride[i] = g.dilation[i] = g.out[i] = 1
        g.pad[i] = 0
        j = i - missing
        if j >= 0:
            g.size[i], g.kernel[i], g.stride[i], g.pad[i], g.dilation[i] = size[j], kernel[j], stride[j], padding[j], dilation[j]
            g.out[i] = window_count(size[j], kernel[j], stride[j], padding[j], dilation[j]) if out is None else out[j]
    return g


cdef inline Py_ssize_t product(Py_ssize_t *three) noexcept nogil:
    return three[0] * three[1] * three[2]


cdef void im2col(const real *x, real *columns, Geometry g) noexcept nogil:
    cdef Py_ssize_t c, h, i, j, oz, oy, ox, y, z, left, first, last
    cdef const real *row
    for c in range(g.channels):
        for h in range(g.kernel[0]):
            for i in range(g.kernel[1]):
                for j in range(g.kernel[2]):
                    left = j * g.dilation[2] - g.pad[2]
                    # windows whose column lies inside the image: first <= ox < last
                    first = 0 if left >= 0 else (-left + g.stride[2] - 1) // g.stride[2]
                    last = 0 if left >= g.size[2] else (g.size[2] - left + g.stride[2] - 1) // g.stride[2]
                    if first > g.out[2]:
                        first = g.out[2]
                    if last > g.out[2]:
                        last = g.out[2]
                    if last < first:
                        last = first
                    for oz in range(g.out[0]):
                        z = oz * g.stride[0] + h * g.dilation[0] - g.pad[0]
                        if z < 0 or z >= g.size[0]:
                            memset(columns, 0, g.out[1] * g.out[2] * sizeof(real))
                            columns += g.out[1] * g.out[2]
                            continue
                        for oy in range(g.out[1]):
                            y = oy * g.stride[1] + i * g.dilation[1] - g.pad[1]
                            if y < 0 or y >= g.size[1]:
                                for ox in range(g.out[2]):
                                    columns[ox] = 0
                            else:
                                row = x + ((c * g.size[0] + z) * g.size[1] + y) * g.size[2] + left
                                for ox in range(first):
                                    columns[ox] = 0
                                if g.stride[2] == 1:
                                    for ox in range(first, last):
                                        columns[ox] = row[ox]
                                else:
                                    for ox in range(first, last):
                                        columns[ox] = row[ox * g.stride[2]]
                                for ox in range(last, g.out[2]):
                                    columns[ox] = 0
                            columns += g.out[2]


cdef void col2im(real *x, const real *columns, Geometry g) noexcept nogil:
    cdef Py_ssize_t c, h, i, j, oz, oy, ox, y, z, left, first, last
    cdef real *row
    for c in range(g.channels):
        for h in range(g.kernel[0]):
            for i in range(g.kernel[1]):
                for j in range(g.kernel[2]):
                    left = j * g.dilation[2] - g.pad[2]
                    first = 0 if left >= 0 else (-left + g.stride[2] - 1) // g.stride[2]
                    last = 0 if left >= g.size[2] else (g.size[2] - left + g.stride[2] - 1) // g.stride[2]
                    if last > g.out[2]:
                        last = g.out[2]
                    for oz in range(g.out[0]):
                        z = oz * g.stride[0] + h * g.dilation[0] - g.pad[0]
                        if z < 0 or z >= g.size[0]:
                            columns += g.out[1] * g.out[2]
                            continue
                        for oy in range(g.out[1]):
                            y = oy * g.stride[1] + i * g.dilation[1] - g.pad[1]
                            if 0 <= y < g.size[1]:
                                row = x + ((c * g.size[0] + z) * g.size[1] + y) * g.size[2] + left
                                if g.stride[2] == 1:
                                    for ox in range(first, last):
                                        row[ox] += columns[ox]
                                else:
                                    for ox in range(first, last):
                                        row[ox * g.stride[2]] += columns[ox]
                            columns += g.out[2]


cdef enum Contraction:
    RESULT          # z += w x
    INPUT           # x += w z
    WEIGHT          # w += x z


cdef void direct(real *x, real *w, real *z, Geometry g, Contraction which) noexcept nogil:
    """One channel with itself, without columns: as matrices these would have one row. Two to three times as fast."""
    cdef Py_ssize_t h, i, j, oz, oy, ox, y, depth, left, first, last, step = g.stride[2]
    cdef real *row
    cdef real *out
    cdef real total, weight
    for h in range(g.kernel[0]):
        for i in range(g.kernel[1]):
            for j in range(g.kernel[2]):
                weight = w[0]
                left = j * g.dilation[2] - g.pad[2]
                first = 0 if left >= 0 else (-left + step - 1) // step
                last = 0 if left >= g.size[2] else (g.size[2] - left + step - 1) // step
                if last > g.out[2]:
                    last = g.out[2]
                for oz in range(g.out[0]):
                    depth = oz * g.stride[0] + h * g.dilation[0] - g.pad[0]
                    if depth < 0 or depth >= g.size[0]:
                        continue
                    for oy in range(g.out[1]):
                        y = oy * g.stride[1] + i * g.dilation[1] - g.pad[1]
                        if y < 0 or y >= g.size[1]:
                            continue
                        row = x + (depth * g.size[1] + y) * g.size[2] + left
                        out = z + (oz * g.out[1] + oy) * g.out[2]
                        if which == WEIGHT:
                            total = 0
                            for ox in range(first, last):
                                total += row[ox * step] * out[ox]
                            w[0] += total
                        elif which == INPUT:
                            for ox in range(first, last):
                                row[ox * step] += weight * out[ox]
                        elif step == 1:
                            for ox in range(first, last):
                                out[ox] += weight * row[ox]
                        else:
                            for ox in range(first, last):
                                out[ox] += weight * row[ox * step]
                w += 1


cdef void depthwise(int kind, ndarray x, ndarray w, ndarray z, Geometry g, Py_ssize_t channels, Contraction which) noexcept:
    cdef Py_ssize_t k, area = product(g.size), patch = product(g.kernel), places = product(g.out), c
    for k in range(dims(x)[0] * channels):
        c = k % channels
        if kind == 0:
            direct(<float *>data(x) + k * area, <float *>data(w) + c * patch, <float *>data(z) + k * places, g, which)
        else:
            direct(<double *>data(x) + k * area, <double *>data(w) + c * patch, <double *>data(z) + k * places, g, which)


cdef void fill_columns(int kind, char *x, char *columns, Geometry g) noexcept:
    if kind == 0:
        im2col(<float *>x, <float *>columns, g)
    else:
        im2col(<double *>x, <double *>columns, g)


cdef void add_columns(int kind, char *x, char *columns, Geometry g) noexcept:
    if kind == 0:
        col2im(<float *>x, <float *>columns, g)
    else:
        col2im(<double *>x, <double *>columns, g)


cdef ndarray new(int kind, Py_ssize_t a, Py_ssize_t b):
    """An uninitialised matrix."""
    cdef npy_intp shape[2]
    shape[0], shape[1] = a, b
    return empty(2, shape, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64, 0)


cdef ndarray shaped(int kind, shape, bint zero):
    """An array of a shape given as a tuple: zeros, or uninitialised."""
    cdef npy_intp d[32]
    cdef int i, n = len(shape)
    for i in range(n):
        d[i] = shape[i]
    return zeros(n, d, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64, 0) if zero else \
        empty(n, d, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64, 0)


def conv(x, w, stride, padding, dilation, int groups):
    cdef int kind = easy(x), width, i
    if kind < 0 or easy(w) != kind:
        return numpy_ref.conv(x, w, stride, padding, dilation, groups)
    cdef ndarray a = <ndarray>x, b = <ndarray>w, z, columns
    cdef Py_ssize_t n = dims(a)[0], out = dims(b)[0], per = dims(b)[1]
    cdef Geometry g = geometry(per, x.shape[2:], w.shape[2:], stride, padding, dilation, None)
    cdef Py_ssize_t patch = per * product(g.kernel), places = product(g.out), area = product(g.size), k, part, share = out // groups
    cdef npy_intp shape[5]
    width = item_size(kind)
    shape[0], shape[1] = n, out
    for i in range(ndim(a) - 2):
        shape[2 + i] = g.out[5 - ndim(a) + i]
    if per == 1 and share == 1:
        z = zeros(ndim(a), shape, typenum(a), 0)
        depthwise(kind, a, b, z, g, groups, RESULT)
        return z
    z = empty(ndim(a), shape, typenum(a), 0)
    columns = new(kind, patch, places)
    weights = [matrix_in(b, share, patch, data(b) + part * share * patch * width) for part in range(groups)]
    for k in range(n):
        for part in range(groups):
            fill_columns(kind, data(a) + (k * groups + part) * per * area * width, data(columns), g)
            matrix_product_into(weights[part], columns, matrix_in(z, share, places,
                                data(z) + (k * groups + part) * share * places * width))
    return z


def conv_weight(g_, x, w_shape, stride, padding, dilation, int groups):
    cdef int kind = easy(x), width
    if kind < 0 or easy(g_) != kind:
        return numpy_ref.conv_weight(g_, x, w_shape, stride, padding, dilation, groups)
    cdef ndarray a = <ndarray>x, grad = <ndarray>g_, z, columns, part_of_z
    cdef Py_ssize_t n = dims(a)[0], out = w_shape[0], per = w_shape[1]
    cdef Geometry g = geometry(per, x.shape[2:], w_shape[2:], stride, padding, dilation, g_.shape[2:])
    cdef Py_ssize_t patch = per * product(g.kernel), places = product(g.out), area = product(g.size)
    cdef Py_ssize_t k, part, i, share = out // groups, at
    width = item_size(kind)
    z = shaped(kind, w_shape, True)
    if per == 1 and share == 1:
        depthwise(kind, a, z, grad, g, groups, WEIGHT)
        return z
    columns = new(kind, patch, places)
    part_of_z = new(kind, share, patch)
    transposed = columns.T
    for k in range(n):
        for part in range(groups):
            fill_columns(kind, data(a) + (k * groups + part) * per * area * width, data(columns), g)
            matrix_product_into(matrix_in(grad, share, places, data(grad) + (k * groups + part) * share * places * width),
                                transposed, part_of_z)
            at = part * share * patch
            if kind == 0:
                for i in range(share * patch):
                    (<float *>data(z))[at + i] += (<float *>data(part_of_z))[i]
            else:
                for i in range(share * patch):
                    (<double *>data(z))[at + i] += (<double *>data(part_of_z))[i]
    return z


def conv_input(g_, w, x_shape, stride, padding, dilation, int groups):
    cdef int kind = easy(w), width
    if kind < 0 or easy(g_) != kind:
        return numpy_ref.conv_input(g_, w, x_shape, stride, padding, dilation, groups)
    cdef ndarray b = <ndarray>w, grad = <ndarray>g_, z, columns
    cdef Py_ssize_t n = x_shape[0], out = dims(b)[0], per = dims(b)[1]
    cdef Geometry g = geometry(per, x_shape[2:], w.shape[2:], stride, padding, dilation, g_.shape[2:])
    cdef Py_ssize_t patch = per * product(g.kernel), places = product(g.out), area = product(g.size)
    cdef Py_ssize_t k, part, share = out // groups
    width = item_size(kind)
    z = shaped(kind, x_shape, True)
    if per == 1 and share == 1:
        depthwise(kind, z, b, grad, g, groups, INPUT)
        return z
    columns = new(kind, patch, places)
    weights = [matrix_in(b, share, patch, data(b) + part * share * patch * width).T for part in range(groups)]
    for k in range(n):
        for part in range(groups):
            matrix_product_into(weights[part], matrix_in(grad, share, places,
                                data(grad) + (k * groups + part) * share * places * width), columns)
            add_columns(kind, data(z) + (k * groups + part) * per * area * width, data(columns), g)
    return z


cdef void max_planes(const real *x, real *z, cnp.int64_t *index, Py_ssize_t planes, Geometry g, cnp.int64_t **places) noexcept nogil:
    cdef Py_ssize_t p, oz, oy, ox, h, i, j, at, best, better
    cdef Py_ssize_t *size = g.kernel
    cdef const cnp.int64_t *columns
    cdef real top, value
    cdef bint few = product(size) <= 9
    for p in range(planes):
        for oz in range(g.out[0]):
            for oy in range(g.out[1]):
                for ox in range(g.out[2]):
                    columns = places[2] + ox * size[2]
                    best = (places[0][oz * size[0]] * g.size[1] + places[1][oy * size[1]]) * g.size[2] + columns[0]
                    top = x[best]
                    for h in range(size[0]):
                        for i in range(size[1]):
                            at = (places[0][oz * size[0] + h] * g.size[1] + places[1][oy * size[1] + i]) * g.size[2]
                            for j in range(size[2]):
                                value = x[at + columns[j]]
                                better = (value > top) | ((value != value) & (top == top))      # the first nan stays
                                if few:     # a branch would be guessed wrong half of the time, at 5 ns each
                                    best ^= (best ^ (at + columns[j])) & -better
                                    top = x[best]
                                elif better:
                                    top = value
                                    best = at + columns[j]
                    z[0] = top
                    index[0] = best
                    z += 1
                    index += 1
        x += product(g.size)


def max_pool(x, places):
    cdef int kind = easy(x), n = len(places), i, missing = 3 - n
    cdef cnp.int64_t zero = 0
    cdef cnp.int64_t *tables[3]
    cdef Geometry g
    if kind < 0:
        return numpy_ref.max_pool(x, places)
    cdef ndarray a = <ndarray>x, z, index
    cdef npy_intp shape[32]
    cdef Py_ssize_t planes = 1
    for i in range(3):
        g.size[i] = g.out[i] = g.kernel[i] = 1
        tables[i] = &zero
    for i in range(ndim(a) - n):
        shape[i] = dims(a)[i]
        planes *= shape[i]
    for i in range(n):
        table = places[i]
        g.size[missing + i] = dims(a)[ndim(a) - n + i]
        shape[ndim(a) - n + i] = g.out[missing + i] = dims(<ndarray>table)[0]
        g.kernel[missing + i] = dims(<ndarray>table)[1]
        tables[missing + i] = <cnp.int64_t *>data(<ndarray>table)
    z = empty(ndim(a), shape, typenum(a), 0)
    index = empty(ndim(a), shape, cnp.NPY_INT64, 0)
    if kind == 0:
        max_planes(<float *>data(a), <float *>data(z), <cnp.int64_t *>data(index), planes, g, tables)
    else:
        max_planes(<double *>data(a), <double *>data(z), <cnp.int64_t *>data(index), planes, g, tables)
    return z, index


cdef void add_at(const real *g, const cnp.int64_t *index, real *out, Py_ssize_t planes, Py_ssize_t places,
                 Py_ssize_t area) noexcept nogil:
    cdef Py_ssize_t p, i
    for p in range(planes):
        for i in range(places):
            out[index[i]] += g[i]
        g += places
        index += places
        out += area


def max_pool_backward(g, index, x_shape, int n):
    cdef int kind = easy(g), i
    if kind < 0 or type(index) is not ndarray or not is_contiguous(<ndarray>index):
        return numpy_ref.max_pool_backward(g, index, x_shape, n)
    cdef ndarray grad = <ndarray>g, place = <ndarray>index, z = shaped(kind, x_shape, True)
    cdef Py_ssize_t planes = 1, places = 1, area = 1
    for i in range(ndim(z)):
        if i < ndim(z) - n:
            planes *= dims(z)[i]
        else:
            area *= dims(z)[i]
            places *= dims(grad)[i]
    if kind == 0:
        add_at(<float *>data(grad), <cnp.int64_t *>data(place), <float *>data(z), planes, places, area)
    else:
        add_at(<double *>data(grad), <cnp.int64_t *>data(place), <double *>data(z), planes, places, area)
    return z


cdef void tap(const real *x, real *z, Py_ssize_t outer, Py_ssize_t length, Py_ssize_t count, Py_ssize_t inner,
              const cnp.int64_t *starts, const cnp.int64_t *columns, const double *weights) noexcept nogil:
    cdef Py_ssize_t o, i, r, t
    cdef const real *row
    cdef real w, total
    for o in range(outer):
        for i in range(count):
            if inner == 1:
                total = 0
                for t in range(starts[i], starts[i + 1]):
                    total += <real>weights[t] * x[columns[t]]
                z[0] = total
            else:
                for r in range(inner):
                    z[r] = 0
                for t in range(starts[i], starts[i + 1]):
                    row = x + columns[t] * inner
                    w = <real>weights[t]
                    for r in range(inner):
                        z[r] += w * row[r]
            z += inner
        x += length * inner


def resample(x, int dim, starts, columns, weights):
    cdef int kind = easy(x), i
    if kind < 0:
        return numpy_ref.resample(x, dim, starts, columns, weights)
    cdef ndarray a = <ndarray>x, first = <ndarray>starts, places = <ndarray>columns, factors = <ndarray>weights, z
    cdef npy_intp shape[32]
    cdef Py_ssize_t outer = 1, inner = 1
    for i in range(ndim(a)):
        shape[i] = dims(a)[i]
        if i < dim:
            outer *= shape[i]
        elif i > dim:
            inner *= shape[i]
    shape[dim] = dims(first)[0] - 1
    z = empty(ndim(a), shape, typenum(a), 0)
    if kind == 0:
        tap(<float *>data(a), <float *>data(z), outer, dims(a)[dim], shape[dim], inner, <cnp.int64_t *>data(first),
            <cnp.int64_t *>data(places), <double *>data(factors))
    else:
        tap(<double *>data(a), <double *>data(z), outer, dims(a)[dim], shape[dim], inner, <cnp.int64_t *>data(first),
            <cnp.int64_t *>data(places), <double *>data(factors))
    return z
