# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Convolution as matrix products, and pooling.

For one image, `im2col` lays the patch under every window out as a column; then

    z       = W columns             (O, K) (K, L)       K = C KH KW numbers in a patch, L = OH OW windows
    grad W  = sum over images of  G columns'
    columns' gradient = W' G,       which `col2im` adds back to where the patches came from

One image at a time keeps the columns in the cache; a batch of them at once is slower from a few
hundred kilobytes on.
"""

from libc.math cimport INFINITY
from libc.string cimport memset

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels import numpy_ref
from minigrad.kernels.numpy_ref.convolution import window_count

cnp.import_array()

ctypedef fused real:
    float
    double


cdef struct Geometry:
    Py_ssize_t channels, height, width          # of the images (of one group)
    Py_ssize_t kernel_height, kernel_width
    Py_ssize_t stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x
    Py_ssize_t out_height, out_width


cdef Geometry geometry(ndarray x_like, Py_ssize_t channels, Py_ssize_t height, Py_ssize_t width, Py_ssize_t kh,
                       Py_ssize_t kw, stride, padding, dilation, Py_ssize_t oh, Py_ssize_t ow):
    cdef Geometry g
    g.channels, g.height, g.width = channels, height, width
    g.kernel_height, g.kernel_width = kh, kw
    g.stride_y, g.stride_x = stride
    g.pad_y, g.pad_x = padding
    g.dilation_y, g.dilation_x = dilation
    g.out_height, g.out_width = oh, ow
    return g


cdef void im2col(const real *x, real *columns, Geometry g) noexcept nogil:
    cdef Py_ssize_t c, i, j, oy, ox, y, left, first, last
    cdef const real *row
    for c in range(g.channels):
        for i in range(g.kernel_height):
            for j in range(g.kernel_width):
                left = j * g.dilation_x - g.pad_x
                # windows whose column lies inside the image: first <= ox < last
                first = 0 if left >= 0 else (-left + g.stride_x - 1) // g.stride_x
                last = 0 if left >= g.width else (g.width - left + g.stride_x - 1) // g.stride_x
                if first > g.out_width:
                    first = g.out_width
                if last > g.out_width:
                    last = g.out_width
                if last < first:
                    last = first
                for oy in range(g.out_height):
                    y = oy * g.stride_y + i * g.dilation_y - g.pad_y
                    if y < 0 or y >= g.height:
                        for ox in range(g.out_width):
                            columns[ox] = 0
                    else:
                        row = x + (c * g.height + y) * g.width + left
                        for ox in range(first):
                            columns[ox] = 0
                        if g.stride_x == 1:
                            for ox in range(first, last):
                                columns[ox] = row[ox]
                        else:
                            for ox in range(first, last):
                                columns[ox] = row[ox * g.stride_x]
                        for ox in range(last, g.out_width):
                            columns[ox] = 0
                    columns += g.out_width


cdef void col2im(real *x, const real *columns, Geometry g) noexcept nogil:
    cdef Py_ssize_t c, i, j, oy, ox, y, left, first, last
    cdef real *row
    for c in range(g.channels):
        for i in range(g.kernel_height):
            for j in range(g.kernel_width):
                left = j * g.dilation_x - g.pad_x
                first = 0 if left >= 0 else (-left + g.stride_x - 1) // g.stride_x
                last = 0 if left >= g.width else (g.width - left + g.stride_x - 1) // g.stride_x
                if last > g.out_width:
                    last = g.out_width
                for oy in range(g.out_height):
                    y = oy * g.stride_y + i * g.dilation_y - g.pad_y
                    if 0 <= y < g.height:
                        row = x + (c * g.height + y) * g.width + left
                        if g.stride_x == 1:
                            for ox in range(first, last):
                                row[ox] += columns[ox]
                        else:
                            for ox in range(first, last):
                                row[ox * g.stride_x] += columns[ox]
                    columns += g.out_width


cdef void fill_columns(int kind, char *x, ndarray columns, Geometry g) noexcept:
    if kind == 0:
        im2col(<float *>x, <float *>data(columns), g)
    else:
        im2col(<double *>x, <double *>data(columns), g)


cdef ndarray new(int kind, Py_ssize_t a, Py_ssize_t b):
    """An uninitialised matrix."""
    cdef npy_intp shape[2]
    shape[0], shape[1] = a, b
    return empty(2, shape, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64, 0)


def conv2d(x, w, stride, padding, dilation, int groups):
    cdef int kind = easy(x), width
    if kind < 0 or easy(w) != kind:
        return numpy_ref.conv2d(x, w, stride, padding, dilation, groups)
    cdef ndarray a = <ndarray>x, b = <ndarray>w, z, columns
    cdef Py_ssize_t n = dims(a)[0], out = dims(b)[0], per = dims(b)[1]
    cdef Py_ssize_t oh = window_count(dims(a)[2], dims(b)[2], stride[0], padding[0], dilation[0])
    cdef Py_ssize_t ow = window_count(dims(a)[3], dims(b)[3], stride[1], padding[1], dilation[1])
    cdef Geometry g = geometry(a, per, dims(a)[2], dims(a)[3], dims(b)[2], dims(b)[3], stride, padding, dilation, oh, ow)
    cdef Py_ssize_t patch = per * g.kernel_height * g.kernel_width, places = oh * ow, k, part, share = out // groups
    cdef npy_intp shape[4]
    width = item_size(kind)
    shape[0], shape[1], shape[2], shape[3] = n, out, oh, ow
    z = empty(4, shape, typenum(a), 0)
    columns = new(kind, patch, places)
    weights = [matrix_in(b, share, patch, data(b) + part * share * patch * width) for part in range(groups)]
    for k in range(n):
        for part in range(groups):
            fill_columns(kind, data(a) + (k * groups + part) * per * g.height * g.width * width, columns, g)
            matrix_product_into(weights[part], columns, matrix_in(z, share, places,
                                data(z) + (k * groups + part) * share * places * width))
    return z


def conv2d_weight(g_, x, w_shape, stride, padding, dilation, int groups):
    cdef int kind = easy(x), width
    if kind < 0 or easy(g_) != kind:
        return numpy_ref.conv2d_weight(g_, x, w_shape, stride, padding, dilation, groups)
    cdef ndarray a = <ndarray>x, grad = <ndarray>g_, z, columns, product
    cdef Py_ssize_t n = dims(a)[0], out = w_shape[0], per = w_shape[1]
    cdef Geometry g = geometry(a, per, dims(a)[2], dims(a)[3], w_shape[2], w_shape[3], stride, padding, dilation,
                               dims(grad)[2], dims(grad)[3])
    cdef Py_ssize_t patch = per * g.kernel_height * g.kernel_width, places = g.out_height * g.out_width
    cdef Py_ssize_t k, part, i, share = out // groups, at
    cdef npy_intp shape[4]
    width = item_size(kind)
    shape[0], shape[1], shape[2], shape[3] = out, per, g.kernel_height, g.kernel_width
    z = zeros(4, shape, typenum(a), 0)
    columns = new(kind, patch, places)
    product = new(kind, share, patch)
    transposed = columns.T
    for k in range(n):
        for part in range(groups):
            fill_columns(kind, data(a) + (k * groups + part) * per * g.height * g.width * width, columns, g)
            matrix_product_into(matrix_in(grad, share, places, data(grad) + (k * groups + part) * share * places * width),
                                transposed, product)
            at = part * share * patch
            if kind == 0:
                for i in range(share * patch):
                    (<float *>data(z))[at + i] += (<float *>data(product))[i]
            else:
                for i in range(share * patch):
                    (<double *>data(z))[at + i] += (<double *>data(product))[i]
    return z


def conv2d_input(g_, w, x_shape, stride, padding, dilation, int groups):
    cdef int kind = easy(w), width
    if kind < 0 or easy(g_) != kind:
        return numpy_ref.conv2d_input(g_, w, x_shape, stride, padding, dilation, groups)
    cdef ndarray b = <ndarray>w, grad = <ndarray>g_, z, columns
    cdef Py_ssize_t n = x_shape[0], out = dims(b)[0], per = dims(b)[1]
    cdef Geometry g = geometry(b, per, x_shape[2], x_shape[3], dims(b)[2], dims(b)[3], stride, padding, dilation,
                               dims(grad)[2], dims(grad)[3])
    cdef Py_ssize_t patch = per * g.kernel_height * g.kernel_width, places = g.out_height * g.out_width
    cdef Py_ssize_t k, part, share = out // groups, at
    cdef npy_intp shape[4]
    width = item_size(kind)
    shape[0], shape[1], shape[2], shape[3] = n, per * groups, g.height, g.width
    z = zeros(4, shape, typenum(b), 0)
    columns = new(kind, patch, places)
    weights = [matrix_in(b, share, patch, data(b) + part * share * patch * width).T for part in range(groups)]
    for k in range(n):
        for part in range(groups):
            matrix_product_into(weights[part], matrix_in(grad, share, places,
                                data(grad) + (k * groups + part) * share * places * width), columns)
            at = (k * groups + part) * per * g.height * g.width
            if kind == 0:
                col2im(<float *>data(z) + at, <float *>data(columns), g)
            else:
                col2im(<double *>data(z) + at, <double *>data(columns), g)
    return z


cdef void max_planes(const real *x, real *z, cnp.int64_t *index, Py_ssize_t planes, Geometry g) noexcept nogil:
    cdef Py_ssize_t p, oy, ox, i, j, y, w, best
    cdef real top, value
    for p in range(planes):
        for oy in range(g.out_height):
            for ox in range(g.out_width):
                best = -1
                top = <real>-INFINITY
                for i in range(g.kernel_height):
                    y = oy * g.stride_y - g.pad_y + i * g.dilation_y
                    if y < 0 or y >= g.height:
                        continue
                    for j in range(g.kernel_width):
                        w = ox * g.stride_x - g.pad_x + j * g.dilation_x
                        if w < 0 or w >= g.width:
                            continue
                        value = x[y * g.width + w]
                        if best < 0 or value > top or value != value:
                            top = value
                            best = y * g.width + w
                            if value != value:
                                break
                    if top != top:
                        break
                z[0] = top
                index[0] = best
                z += 1
                index += 1
        x += g.height * g.width


def max_pool2d(x, size_, stride, padding, dilation, ceil_mode):
    cdef int kind = easy(x), i
    if kind < 0:
        return numpy_ref.max_pool2d(x, size_, stride, padding, dilation, ceil_mode)
    cdef ndarray a = <ndarray>x, z, index
    cdef npy_intp shape[4]
    shape[0], shape[1] = dims(a)[0], dims(a)[1]
    for i in range(2):
        shape[2 + i] = window_count(dims(a)[2 + i], size_[i], stride[i], padding[i], dilation[i], ceil_mode)
    cdef Geometry g = geometry(a, 1, dims(a)[2], dims(a)[3], size_[0], size_[1], stride, padding, dilation,
                               shape[2], shape[3])
    z = empty(4, shape, typenum(a), 0)
    index = empty(4, shape, cnp.NPY_INT64, 0)
    if kind == 0:
        max_planes(<float *>data(a), <float *>data(z), <cnp.int64_t *>data(index), shape[0] * shape[1], g)
    else:
        max_planes(<double *>data(a), <double *>data(z), <cnp.int64_t *>data(index), shape[0] * shape[1], g)
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


def max_pool2d_backward(g, index, x_shape):
    cdef int kind = easy(g)
    if kind < 0 or type(index) is not ndarray or not is_contiguous(<ndarray>index):
        return numpy_ref.max_pool2d_backward(g, index, x_shape)
    cdef ndarray grad = <ndarray>g, place = <ndarray>index, z
    cdef npy_intp shape[4]
    shape[0], shape[1], shape[2], shape[3] = x_shape
    z = zeros(4, shape, typenum(grad), 0)
    cdef Py_ssize_t places = dims(grad)[2] * dims(grad)[3]
    if kind == 0:
        add_at(<float *>data(grad), <cnp.int64_t *>data(place), <float *>data(z), shape[0] * shape[1], places,
               shape[2] * shape[3])
    else:
        add_at(<double *>data(grad), <cnp.int64_t *>data(place), <double *>data(z), shape[0] * shape[1], places,
               shape[2] * shape[3])
    return z
