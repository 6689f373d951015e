# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""A layer of a recurrent network in one direction, all steps: RNN, LSTM and GRU.

    all steps       a = x Wᵀ                                            one product
    each step       p = h Uᵀ, then the gates, the memory and h          a product, and one loop over the batch (recurrent.h)
    backward        gx, gh of each step, and gh U                       a loop and a product for each step, from the last one
    all steps       dx = gx W, dW = gxᵀ x, dU = ghᵀ (h before), sums    one product for each

By ops, a step of an LSTM and its backward are some forty calls. The loops need a sixth of the time of the products, which run at
95% of what the processor can do (linear.pyx). The columns of Uᵀ are contiguous, so that each step would copy them; a copy made once
saves a third of the time of these products.
"""

from libc.string cimport memcpy, memset

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.linear cimport multiply_into
from minigrad.kernels.cpu.pool cimport fresh, matrix_in
from minigrad.kernels import numpy_ref
from minigrad.kernels.numpy_ref.precision import quiet

cnp.import_array()

cdef extern from "recurrent.h" nogil:
    ctypedef void (*Step "mg_step")(const void *, const void *, void *, const void *, const void *, void *, void *, Py_ssize_t,
                                    Py_ssize_t) noexcept nogil
    ctypedef void (*StepBack "mg_step_back")(const void *, void *, const void *, const void *, const void *, const void *,
                                             const void *, void *, void *, Py_ssize_t, Py_ssize_t) noexcept nogil
    const Step steps "mg_steps"[4][2]
    const StepBack steps_back "mg_steps_back"[4][2]
    void add_f32 "mg_add_to_f32"(void *, const void *, Py_ssize_t)
    void add_f64 "mg_add_to_f64"(void *, const void *, Py_ssize_t)
    void sum_columns_f32 "mg_sum_columns_f32"(const void *, double *, Py_ssize_t, Py_ssize_t)
    void sum_columns_f64 "mg_sum_columns_f64"(const void *, double *, Py_ssize_t, Py_ssize_t)

cdef enum Mode:
    RNN_TANH, RNN_RELU, LSTM, GRU

cdef enum:
    ENOUGH = 4          # steps from which a copy of Uᵀ pays

cdef inline int product_into(ndarray x, ndarray y, ndarray z) except -1:
    """z = x y for matrices, of which z is row-major."""
    if not multiply_into(x, y, z):
        matrix_product_into(x, y, z)
    return 0


cdef int mode_of(mode) except -1:
    return ("RNN_TANH", "RNN_RELU", "LSTM", "GRU").index(mode)


cdef inline int gates_of(int mode) noexcept:
    return 4 if mode == LSTM else 3 if mode == GRU else 1


cdef int kind_of(object x) noexcept:
    """0 for a float32 array with any strides, 1 for float64, -1 for anything else."""
    return -1 if not is_real(x) else 0 if typenum(<ndarray>x) == NPY_FLOAT32 else 1


cdef bint has_shape(object x, int kind, int nd, npy_intp a, npy_intp b, npy_intp c) noexcept:
    """Whether x is an array of this kind with `nd` dimensions of these sizes."""
    return (kind_of(x) == kind and ndim(<ndarray>x) == nd and dims(<ndarray>x)[0] == a and (nd < 2 or dims(<ndarray>x)[1] == b)
            and (nd < 3 or dims(<ndarray>x)[2] == c))


cdef ndarray row_major(object x):
    """x, or a row-major copy of it."""
    return <ndarray>x if easy(x) >= 0 else <ndarray>cnp.PyArray_FROM_OF(x, cnp.NPY_ARRAY_CARRAY_RO)


cdef ndarray array(int kind, npy_intp a, npy_intp b, npy_intp c):
    """An uninitialised array (a, b, c)."""
    cdef npy_intp shape[3]
    shape[0], shape[1], shape[2] = a, b, c
    return fresh(3, shape, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64)


cdef ndarray matrix(int kind, npy_intp a, npy_intp b):
    cdef npy_intp shape[2]
    shape[0], shape[1] = a, b
    return fresh(2, shape, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64)


cdef ndarray vector(int kind, npy_intp n):
    return fresh(1, &n, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64)


cdef ndarray twin_of(ndarray x):
    """A copy of the row-major array x."""
    cdef ndarray z = fresh(ndim(x), dims(x), typenum(x))
    memcpy(data(z), data(x), size(x) * cnp.PyArray_ITEMSIZE(x))
    return z


cdef bint fits(x, w, u, h, m, int kind, int mode) noexcept:
    """Whether the arrays that forward and backward share are of one kind, not empty, and agree."""
    cdef npy_intp batch, width
    if kind < 0 or ndim(<ndarray>x) != 3 or kind_of(u) != kind or ndim(<ndarray>u) != 2 or size(<ndarray>x) == 0 \
            or size(<ndarray>u) == 0:
        return False
    batch, width = dims(<ndarray>x)[1], dims(<ndarray>u)[1]
    return (dims(<ndarray>u)[0] == gates_of(mode) * width and has_shape(w, kind, 2, dims(<ndarray>u)[0], dims(<ndarray>x)[2], 0)
            and has_shape(h, kind, 2, batch, width, 0) and (mode != LSTM or has_shape(m, kind, 2, batch, width, 0)))


cdef ndarray bias_of(b, c, int kind, int mode, npy_intp rows, npy_intp width):
    """The biases that a step adds: b + c; for a GRU, the last part of b and of c one after the other. 0 without biases."""
    cdef ndarray z = vector(kind, rows + (width if mode == GRU else 0)), first, second
    cdef npy_intp item = cnp.PyArray_ITEMSIZE(z), shared = rows - width if mode == GRU else rows
    if b is None:
        memset(data(z), 0, size(z) * item)
        return z
    first, second = row_major(b), row_major(c)
    memcpy(data(z), data(first), rows * item)
    (add_f32 if kind == 0 else add_f64)(data(z), data(second), shared)
    if mode == GRU:
        memcpy(data(z) + rows * item, data(second) + shared * item, width * item)
    return z


@quiet                  # BLAS is called through NumPy
def rnn_layer(x, w, u, b, c, h, m, mode, bint reverse):
    cdef int kind = kind_of(x), which = mode_of(mode)
    cdef bint biased = b is not None
    if not fits(x, w, u, h, m, kind, which) or biased != (c is not None) or (biased and not (
            has_shape(b, kind, 1, dims(<ndarray>w)[0], 0, 0) and has_shape(c, kind, 1, dims(<ndarray>w)[0], 0, 0))):
        return numpy_ref.rnn_layer(x, w, u, b, c, h, m, mode, reverse)
    cdef ndarray inputs = row_major(x), before = row_major(h), first, z, gates, cells, p, bias, end, memory
    cdef npy_intp count = dims(inputs)[0], batch = dims(inputs)[1], rows = dims(<ndarray>w)[0], width = dims(<ndarray>u)[1], k, t
    cdef npy_intp item = item_size(kind), of_gates = batch * rows * item, of_state = batch * width * item
    cdef char *here
    cdef char *memory_before = NULL
    cdef char *state_before = data(before)
    gates = array(kind, count, batch, rows)
    product_into(matrix_in(inputs, count * batch, dims(inputs)[2], data(inputs)), (<ndarray>w).T,
                        matrix_in(gates, count * batch, rows, data(gates)))
    z = gates if which < LSTM else array(kind, count, batch, width)
    cells = vector(kind, 0) if which < LSTM else array(kind, count, batch, width)
    bias = bias_of(b, c, kind, which, rows, width)
    p = matrix(kind, batch, rows)
    turned = (<ndarray>u).T
    if count > ENOUGH:
        turned = turned.copy()
    if which == LSTM:
        first = row_major(m)
        memory_before = data(first)
    for k in range(count):
        t = count - 1 - k if reverse else k
        product_into(before, turned, p)
        here = data(z) + t * of_state
        steps[which][kind](data(p), data(bias), data(gates) + t * of_gates, state_before, memory_before,
                           data(cells) + t * of_state, here, batch, width)
        memory_before, state_before = data(cells) + t * of_state, here
        before = matrix_in(z, batch, width, here)
    end = twin_of(before)
    memory = twin_of(matrix_in(cells, batch, width, memory_before)) if which == LSTM else vector(kind, 0)
    return z, end, memory, vector(kind, 0) if which < LSTM else gates, cells


cdef ndarray column_sums(ndarray g, int kind):
    """The sums of the columns of g, (T, N, rows)."""
    cdef npy_intp rows = dims(g)[2], j
    cdef ndarray z = vector(kind, rows), total = <ndarray>zeros(1, &rows, NPY_FLOAT64, 0)
    (sum_columns_f32 if kind == 0 else sum_columns_f64)(data(g), <double *>data(total), dims(g)[0] * dims(g)[1], rows)
    if kind == 0:
        for j in range(rows):
            (<float *>data(z))[j] = <float>(<double *>data(total))[j]
        return z
    return total


@quiet                  # BLAS is called through NumPy
def rnn_layer_backward(gz, gh, gm, ggates, gcells, x, w, u, h, m, z, gates, cells, mode, bint reverse, needs):
    cdef int kind = kind_of(x), which = mode_of(mode)
    cdef bint gru = which == GRU
    cdef npy_intp count, batch, rows, width, item, of_gates, of_state, k, t, last
    cdef bint easy_ = ggates is None and gcells is None and fits(x, w, u, h, m, kind, which) and type(needs) is tuple \
        and len(needs) == 7
    cdef bint of_x, of_w, of_u, of_b, of_c, of_h, of_m
    if easy_:
        of_x, of_w, of_u, of_b, of_c, of_h, of_m = needs
        count, batch, rows, width = dims(<ndarray>x)[0], dims(<ndarray>x)[1], dims(<ndarray>w)[0], dims(<ndarray>u)[1]
        easy_ = (has_shape(z, kind, 3, count, batch, width) and (gz is None or has_shape(gz, kind, 3, count, batch, width))
                 and (gh is None or has_shape(gh, kind, 2, batch, width, 0))
                 and (gm is None or which != LSTM or has_shape(gm, kind, 2, batch, width, 0))
                 and (which < LSTM or (has_shape(gates, kind, 3, count, batch, rows)
                                       and has_shape(cells, kind, 3, count, batch, width))))
    if not easy_:
        return numpy_ref.rnn_layer_backward(gz, gh, gm, ggates, gcells, x, w, u, h, m, z, gates, cells, mode, reverse, needs)
    cdef ndarray inputs = row_major(x), start = row_major(h), states = row_major(z), weights = row_major(u), d, e, gx, gs, part
    cdef ndarray gradient = None if gz is None else row_major(gz), memories, activated, kept, dx, dw, du
    item = item_size(kind)
    of_gates, of_state = batch * rows * item, batch * width * item
    memories = row_major(m) if which == LSTM else start
    activated, kept = (states, states) if which < LSTM else (row_major(gates), row_major(cells))
    gx = array(kind, count, batch, rows)
    gs = array(kind, count, batch, rows) if gru else gx
    d = matrix(kind, batch, width)
    e = matrix(kind, batch, width)
    memset(data(d), 0, of_state)
    memset(data(e), 0, of_state)
    if gh is not None:
        copy_into(d, <ndarray>gh)
    if gm is not None and which == LSTM:
        copy_into(e, <ndarray>gm)
    for k in range(count):
        t = k if reverse else count - 1 - k
        last = t + 1 if reverse else t - 1
        if gz is not None:
            (add_f32 if kind == 0 else add_f64)(data(d), data(gradient) + t * of_state, batch * width)
        steps_back[which][kind](
            data(d), data(e), data(activated) + t * of_gates, data(states) + last * of_state if k < count - 1 else data(start),
            data(kept) + last * of_state if k < count - 1 else data(memories), data(kept) + t * of_state,
            data(states) + t * of_state, data(gx) + t * of_gates, data(gs) + t * of_gates, batch, width)
        if k < count - 1 or of_h:
            product_into(matrix_in(gs, batch, rows, data(gs) + t * of_gates), weights, d)
            if gru:
                (add_f32 if kind == 0 else add_f64)(data(d), data(e), batch * width)
    nothing = vector(kind, 0)
    dx = dw = du = nothing
    flat = matrix_in(gx, count * batch, rows, data(gx))
    if of_x:
        dx = array(kind, count, batch, dims(inputs)[2])
        product_into(flat, w, matrix_in(dx, count * batch, dims(inputs)[2], data(dx)))
    if of_w:
        dw = matrix(kind, rows, dims(inputs)[2])
        product_into(flat.T, matrix_in(inputs, count * batch, dims(inputs)[2], data(inputs)), dw)
    if of_u:
        du = matrix(kind, rows, width)
        t = count - 1 if reverse else 0         # the first step, whose state before is h
        product_into(matrix_in(gs, batch, rows, data(gs) + t * of_gates).T, start, du)
        if count > 1:
            part = matrix(kind, rows, width)
            product_into(matrix_in(gs, (count - 1) * batch, rows, data(gs) + (0 if reverse else of_gates)).T,
                                matrix_in(states, (count - 1) * batch, width, data(states) + (of_state if reverse else 0)), part)
            (add_f32 if kind == 0 else add_f64)(data(du), data(part), rows * width)
    db = column_sums(gx, kind) if of_b else nothing
    dc = nothing if not of_c else column_sums(gs, kind) if gru or not of_b else twin_of(db)
    return dx, dw, du, db, dc, d if of_h else nothing, e if of_m and which == LSTM else nothing
