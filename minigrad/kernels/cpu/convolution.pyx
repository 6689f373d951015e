# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Convolution over 1, 2 or 3 dimensions, in one of two ways.

Most convolutions use `direct`, which keeps sums in registers and needs no columns (convolution.h). It needs rows of several
windows or several images, at most about a million weights, and strides of 1 for the gradient of the input. The rest are matrix
products. For one image, `to_columns` copies the patch under each window to a column; then

    z                   = W columns                 (O, K) (K, L)       K = C KD KH KW elements in a patch, L = OD OH OW windows
    grad W              = Σ over images of  G columnsᵀ
    grad of columns     = Wᵀ G,                     which `from_columns` adds back at the positions of the patches

One image at a time keeps the columns in the cache. A whole batch at a time is slower from a few hundred kilobytes on. An image
always has depth, height and width here, of size 1 if there are fewer dimensions.
"""

from libc.string cimport memset

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh, in_rows, matrix_in
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels import numpy_ref
from minigrad.kernels.numpy_ref.precision import quiet

cnp.import_array()

ctypedef fused real:
    float
    double


cdef extern from "convolution.h" nogil:
    ctypedef struct Geometry "mg_geometry":
        Py_ssize_t channels
        Py_ssize_t size[3]
        Py_ssize_t kernel[3]
        Py_ssize_t stride[3]
        Py_ssize_t pad[3]
        Py_ssize_t dilation[3]
        Py_ssize_t out[3]
    int conv_f32 "mg_conv_f32"(const float *, const float *, float *, const Geometry *, Py_ssize_t, Py_ssize_t, Py_ssize_t, bint,
                               bint, int)
    int conv_f64 "mg_conv_f64"(const double *, const double *, double *, const Geometry *, Py_ssize_t, Py_ssize_t, Py_ssize_t, bint,
                               bint, int)
    int conv_weight_f32 "mg_conv_weight_f32"(const float *, const float *, float *, const Geometry *, Py_ssize_t, Py_ssize_t,
                                             Py_ssize_t, int)
    bint finite_f32 "mg_finite_f32"(const float *, Py_ssize_t)
    bint finite_f64 "mg_finite_f64"(const double *, Py_ssize_t)
    int conv_weight_f64 "mg_conv_weight_f64"(const double *, const double *, double *, const Geometry *, Py_ssize_t, Py_ssize_t,
                                             Py_ssize_t, int)


cdef enum:
    WIDEST = 1 << 30            # of a kernel, a stride, a padding and a dilation: products of two are far below an overflow

cdef npy_intp LARGEST = <npy_intp>1 << 40       # elements of a padded image


cdef bint geometry(Geometry *g, int n, const npy_intp *x, const npy_intp *w, const npy_intp *z, stride, padding, dilation,
                   Py_ssize_t groups) except -1:
    """Fill in the sizes of a convolution; or return False, if they do not agree.

    The loops trust the sizes; all but the shapes of arrays come from the caller of the op.

    Args:
        n: the number of dimensions of an image, without its channels.
        x, w: the shapes of the images and the weights, (N, C, ...) and (O, C / groups, ...).
        z: the shape of the result, (N, O, ...); NULL for as many windows as fit.
    """
    cdef int i, j
    cdef npy_intp count, padded, volume = x[1]
    if not 1 <= n <= 3 or len(stride) != n or len(padding) != n or len(dilation) != n or groups < 1 or x[0] < 0 or w[0] < 0 \
            or not 0 <= w[1] <= x[1] or w[1] * groups != x[1] or w[0] % groups or (z != NULL and (z[0] != x[0] or z[1] != w[0])):
        return False
    g.channels = w[1]
    for i in range(3):
        g.size[i] = g.kernel[i] = g.stride[i] = g.dilation[i] = g.out[i] = 1
        g.pad[i] = 0
    for i in range(n):
        j = 3 - n + i
        g.size[j], g.kernel[j], g.stride[j], g.pad[j], g.dilation[j] = x[2 + i], w[2 + i], stride[i], padding[i], dilation[i]
        if not (0 <= g.size[j] < LARGEST and 0 <= g.pad[j] < WIDEST and 1 <= g.kernel[j] < WIDEST and 1 <= g.stride[j] < WIDEST
                and 1 <= g.dilation[j] < WIDEST):
            return False
        padded = g.size[j] + 2 * g.pad[j]
        count = max((padded - g.dilation[j] * (g.kernel[j] - 1) - 1) // g.stride[j] + 1, 0)
        g.out[j] = count if z == NULL else z[2 + i]
        if not 0 <= g.out[j] <= count or times(volume, max(padded, 1), &volume) or volume >= LARGEST:
            return False
    return True


cdef inline Py_ssize_t product(Py_ssize_t *three) noexcept nogil:
    return three[0] * three[1] * three[2]


cdef void to_columns(const real *x, real *columns, Geometry g) noexcept nogil:
    cdef Py_ssize_t c, h, i, j, oz, oy, ox, y, z, left, first, last
    cdef const real *row
    for c in range(g.channels):
        for h in range(g.kernel[0]):
            for i in range(g.kernel[1]):
                for j in range(g.kernel[2]):
                    left = j * g.dilation[2] - g.pad[2]
                    # windows whose column is inside the image: first <= ox < last
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


cdef void from_columns(real *x, const real *columns, Geometry g) noexcept nogil:
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


cdef enum:
    MANY = 1 << 20      # weights above which BLAS, which works in blocks, is faster


cdef enum Contraction:
    RESULT          # z += w x
    INPUT           # x += w z
    WEIGHT          # w += x z


cdef void channel(real *x, real *w, real *z, Geometry g, Contraction which) noexcept nogil:
    """The convolution of one channel with one kernel, if `direct` cannot do it.

    A matrix product would have a matrix of one row, and take two to three times as long.
    """
    cdef Py_ssize_t h, i, j, oz, oy, ox, y, depth, left, first, last, step = g.stride[2]
    cdef real *row
    cdef real *out
    cdef real weight
    cdef double total
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
                            w[0] += <real>total
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
            channel(<float *>data(x) + k * area, <float *>data(w) + c * patch, <float *>data(z) + k * places, g, which)
        else:
            channel(<double *>data(x) + k * area, <double *>data(w) + c * patch, <double *>data(z) + k * places, g, which)


cdef void fill_columns(int kind, char *x, char *columns, Geometry g) noexcept:
    if kind == 0:
        to_columns(<float *>x, <float *>columns, g)
    else:
        to_columns(<double *>x, <double *>columns, g)


cdef void add_columns(int kind, char *x, char *columns, Geometry g) noexcept:
    if kind == 0:
        from_columns(<float *>x, <float *>columns, g)
    else:
        from_columns(<double *>x, <double *>columns, g)


cdef ndarray new(int kind, Py_ssize_t a, Py_ssize_t b):
    """An uninitialised matrix."""
    cdef npy_intp shape[2]
    shape[0], shape[1] = a, b
    return empty(2, shape, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64, 0)


cdef ndarray shaped(int kind, int n, npy_intp *shape, bint zero):
    """An array of this shape: zeros, or uninitialised."""
    cdef ndarray z = fresh(n, shape, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64)
    if zero:
        memset(data(z), 0, size(z) * item_size(kind))
    return z


@quiet
def product_into(x, y, z):
    """z = x y, by BLAS, which is called through NumPy."""
    matrix_product_into(x, y, <ndarray?>z)


cdef bint finite(ndarray x, int kind) noexcept:
    """Whether x has no nan and no infinity: 0 times either is not 0."""
    return finite_f32(<float *>data(x), size(x)) if kind == 0 else finite_f64(<double *>data(x), size(x))


cdef Geometry flattened(const Geometry *g) noexcept:
    """The sizes of a convolution that is a matrix product, as those of a long row: no vector is half filled at the end of a row."""
    cdef Geometry flat = g[0]
    cdef int i
    for i in range(3):
        if g.kernel[i] != 1 or g.stride[i] != 1 or g.pad[i] != 0 or g.out[i] != g.size[i]:
            return flat
    flat.size[2] = flat.out[2] = product(flat.size)
    flat.size[0] = flat.size[1] = flat.out[0] = flat.out[1] = 1
    return flat


cdef bint direct(ndarray x, ndarray w, ndarray z, int kind, const Geometry *sizes, Py_ssize_t groups, Py_ssize_t outputs,
                 Contraction which) except -1:
    """Compute the contraction without columns and return True; or do nothing and return False, if columns are faster."""
    cdef Py_ssize_t images = dims(x)[0]
    cdef int status
    cdef bint numbers
    if size(w) // groups > MANY or size(x) == 0 or size(w) == 0 or size(z) == 0:
        return False
    cdef char *p = data(x)
    cdef char *q = data(w)
    cdef char *r = data(z)
    cdef Geometry g = flattened(sizes)
    numbers = which != RESULT or finite(w, kind)    # else zeros of the padding count: 0 times infinity is nan
    with nogil:
        if which == WEIGHT and kind == 0:
            status = conv_weight_f32(<float *>r, <float *>p, <float *>q, &g, images, groups, outputs, threads)
        elif which == WEIGHT:
            status = conv_weight_f64(<double *>r, <double *>p, <double *>q, &g, images, groups, outputs, threads)
        elif kind == 0:
            status = conv_f32(<float *>p, <float *>q, <float *>r, &g, images, groups, outputs, which == INPUT, numbers, threads)
        else:
            status = conv_f64(<double *>p, <double *>q, <double *>r, &g, images, groups, outputs, which == INPUT, numbers, threads)
    if status < 0:
        raise MemoryError
    return status == 0


def conv(x, w, stride, padding, dilation, int groups):
    x, w = in_rows(x), in_rows(w)
    cdef int kind = easy(x), width, i
    cdef Geometry g
    if kind < 0 or easy(w) != kind or ndim(<ndarray>w) != ndim(<ndarray>x) or not geometry(
            &g, ndim(<ndarray>x) - 2, dims(<ndarray>x), dims(<ndarray>w), NULL, stride, padding, dilation, groups):
        return numpy_ref.conv(x, w, stride, padding, dilation, groups)
    cdef ndarray a = <ndarray>x, b = <ndarray>w, z, columns
    cdef Py_ssize_t n = dims(a)[0], out = dims(b)[0], per = dims(b)[1]
    cdef Py_ssize_t patch = per * product(g.kernel), places = product(g.out), area = product(g.size), k, part, share = out // groups
    cdef npy_intp shape[5]
    width = item_size(kind)
    shape[0], shape[1] = n, out
    for i in range(ndim(a) - 2):
        shape[2 + i] = g.out[5 - ndim(a) + i]
    z = fresh(ndim(a), shape, typenum(a))
    if size(z) == 0 or direct(a, b, z, kind, &g, groups, share, RESULT):
        return z
    if per == 1 and share == 1:
        memset(data(z), 0, size(z) * width)
        depthwise(kind, a, b, z, g, groups, RESULT)
        return z
    columns = new(kind, patch, places)
    weights = [matrix_in(b, share, patch, data(b) + part * share * patch * width) for part in range(groups)]
    for k in range(n):
        for part in range(groups):
            fill_columns(kind, data(a) + (k * groups + part) * per * area * width, data(columns), g)
            product_into(weights[part], columns, matrix_in(z, share, places,
                                data(z) + (k * groups + part) * share * places * width))
    return z


def conv_weight(g_, x, w_shape, stride, padding, dilation, int groups):
    g_, x = in_rows(g_), in_rows(x)
    cdef int kind = easy(x), width, nd
    cdef Geometry g
    cdef npy_intp shape[MOST_DIMS]
    nd = read_shape(w_shape, shape)
    if kind < 0 or easy(g_) != kind or ndim(<ndarray>x) != nd or ndim(<ndarray>g_) != nd or not geometry(
            &g, nd - 2, dims(<ndarray>x), shape, dims(<ndarray>g_), stride, padding, dilation, groups):
        return numpy_ref.conv_weight(g_, x, w_shape, stride, padding, dilation, groups)
    cdef ndarray a = <ndarray>x, grad = <ndarray>g_, z, columns, part_of_z
    cdef Py_ssize_t n = dims(a)[0], out = shape[0], per = shape[1]
    cdef Py_ssize_t patch = per * product(g.kernel), places = product(g.out), area = product(g.size)
    cdef Py_ssize_t k, part, i, share = out // groups, at
    width = item_size(kind)
    z = shaped(kind, nd, shape, True)
    if size(z) == 0 or size(grad) == 0:
        return z
    if direct(a, z, grad, kind, &g, groups, share, WEIGHT):
        if finite(z, kind):
            return z
        memset(data(z), 0, size(z) * width)     # start again: a vector read past its row, and 0 times infinity is nan
    if per == 1 and share == 1:
        depthwise(kind, a, z, grad, g, groups, WEIGHT)
        return z
    columns = new(kind, patch, places)
    part_of_z = new(kind, share, patch)
    transposed = columns.T
    for k in range(n):
        for part in range(groups):
            fill_columns(kind, data(a) + (k * groups + part) * per * area * width, data(columns), g)
            product_into(matrix_in(grad, share, places, data(grad) + (k * groups + part) * share * places * width),
                                transposed, part_of_z)
            at = part * share * patch
            if kind == 0:
                for i in range(share * patch):
                    (<float *>data(z))[at + i] += (<float *>data(part_of_z))[i]
            else:
                for i in range(share * patch):
                    (<double *>data(z))[at + i] += (<double *>data(part_of_z))[i]
    return z


cdef Geometry turned(Geometry g, Py_ssize_t outputs) noexcept:
    """The sizes of the convolution that computes the gradient of the input from the gradient of the `outputs`, for strides of 1."""
    cdef Geometry t = g
    cdef int i
    t.channels = outputs
    for i in range(3):
        t.size[i], t.out[i] = g.out[i], g.size[i]
        t.pad[i] = (g.kernel[i] - 1) * g.dilation[i] - g.pad[i]
    return t


def conv_input(g_, w, x_shape, stride, padding, dilation, int groups):
    g_, w = in_rows(g_), in_rows(w)
    cdef int kind = easy(w), width, nd
    cdef Geometry g, back
    cdef npy_intp shape[MOST_DIMS]
    nd = read_shape(x_shape, shape)
    if kind < 0 or easy(g_) != kind or ndim(<ndarray>w) != nd or ndim(<ndarray>g_) != nd or not geometry(
            &g, nd - 2, shape, dims(<ndarray>w), dims(<ndarray>g_), stride, padding, dilation, groups):
        return numpy_ref.conv_input(g_, w, x_shape, stride, padding, dilation, groups)
    cdef ndarray b = <ndarray>w, grad = <ndarray>g_, z, columns
    cdef Py_ssize_t n = shape[0], out = dims(b)[0], per = dims(b)[1]
    cdef Py_ssize_t patch = per * product(g.kernel), places = product(g.out), area = product(g.size)
    cdef Py_ssize_t k, part, share = out // groups
    width = item_size(kind)
    z = shaped(kind, nd, shape, size(grad) == 0)
    if size(z) == 0 or size(grad) == 0:
        return z
    back = turned(g, share)
    if g.stride[0] == g.stride[1] == g.stride[2] == 1 and finite(b, kind) \
            and direct(grad, b, z, kind, &back, groups, per, INPUT):
        return z
    memset(data(z), 0, size(z) * width)
    if per == 1 and share == 1:
        depthwise(kind, z, b, grad, g, groups, INPUT)
        return z
    columns = new(kind, patch, places)
    weights = [matrix_in(b, share, patch, data(b) + part * share * patch * width).T for part in range(groups)]
    for k in range(n):
        for part in range(groups):
            product_into(weights[part], matrix_in(grad, share, places,
                                data(grad) + (k * groups + part) * share * places * width), columns)
            add_columns(kind, data(z) + (k * groups + part) * per * area * width, data(columns), g)
    return z


cdef int images(Geometry *g, int nd, const npy_intp *shape, kernel, stride, padding, dilation) except -1:
    """Fill in the sizes for the windows of images of this shape, (..., C, ...), of which there may be any number.

    Returns the number of dimensions before the channels; -2 if the sizes do not agree.
    """
    cdef int n = <int>len(kernel), lead = nd - n - 1, i
    cdef npy_intp x[5]
    cdef npy_intp w[5]
    if not 1 <= n <= 3 or lead < 0:
        return -2
    x[0] = w[0] = 1
    x[1] = w[1] = shape[lead]
    for i in range(n):
        x[2 + i], w[2 + i] = shape[lead + 1 + i], kernel[i]
    return lead if geometry(g, n, x, w, NULL, stride, padding, dilation, 1) else -2


def im2col(x, kernel, stride, padding, dilation):
    x = in_rows(x)
    cdef int kind = easy(x), lead, i
    cdef Geometry g
    cdef npy_intp shape[MOST_DIMS]
    lead = -2 if kind < 0 else images(&g, ndim(<ndarray>x), dims(<ndarray>x), kernel, stride, padding, dilation)
    if lead < 0:
        return numpy_ref.im2col(x, kernel, stride, padding, dilation)
    cdef Py_ssize_t patch = g.channels * product(g.kernel), places = product(g.out), image = g.channels * product(g.size), k
    for i in range(lead):
        shape[i] = dims(<ndarray>x)[i]
    shape[lead], shape[lead + 1] = patch, places
    cdef ndarray z = shaped(kind, lead + 2, shape, False)
    for k in range(size(z) // max(patch * places, 1)):
        fill_columns(kind, data(<ndarray>x) + k * image * item_size(kind), data(z) + k * patch * places * item_size(kind), g)
    return z


def col2im(x, shape, kernel, stride, padding, dilation):
    x = in_rows(x)
    cdef int kind = easy(x), lead, nd
    cdef Geometry g
    cdef npy_intp d[MOST_DIMS]
    nd = read_shape(shape, d)
    lead = -2 if kind < 0 else images(&g, nd, d, kernel, stride, padding, dilation)
    if lead < 0:
        return numpy_ref.col2im(x, shape, kernel, stride, padding, dilation)
    cdef ndarray columns = <ndarray>x
    cdef Py_ssize_t patch = g.channels * product(g.kernel), places = product(g.out), image = g.channels * product(g.size), k
    if ndim(columns) != lead + 2 or not same_dims(dims(columns), d, lead) or dims(columns)[lead] != patch \
            or dims(columns)[lead + 1] != places:
        return numpy_ref.col2im(x, shape, kernel, stride, padding, dilation)
    cdef ndarray z = shaped(kind, nd, d, True)
    for k in range(size(columns) // max(patch * places, 1)):
        add_columns(kind, data(z) + k * image * item_size(kind), data(columns) + k * patch * places * item_size(kind), g)
    return z
