/* Loops of convolution.h: see vectors.h for how this file is included. A tile has MG_ROWS outputs and MG_VECS vectors. */

#define MG_VECS (MG_REGISTERS == 32 ? 4 : 2)

#define VECTOR MG_NAME(mg_vector)
typedef MG_VECTOR(T, MG_BYTES) VECTOR;
#define HALF MG_NAME(mg_half)
#define QUARTER MG_NAME(mg_quarter)
typedef MG_VECTOR(T, 32) HALF;
typedef MG_VECTOR(T, 16) QUARTER;
#define BITS MG_NAME(mg_bits)
typedef MG_VECTOR(MG_INT, MG_BYTES) BITS;
#define LANES ((mg_size)(sizeof(VECTOR) / sizeof(T)))
#define LOAD(p) (*(const VECTOR *)(p))

/* Rearrange the image x: one row for each channel, depth and height, and in it one line for each remainder. The padding is zero
   already, and at the same positions for all images. */
static MG_TARGET void MG_NAME(mg_line_up)(const T *x, T *lined, const mg_geometry *g, const mg_plan *p) {
    const mg_size step = g->stride[2], line = p->line;
    for (mg_size c = 0; c < g->channels; c++, x += p->area)
        for (mg_size h = -g->pad[0]; h < p->span[0] - g->pad[0]; h++)
            for (mg_size i = -g->pad[1]; i < p->span[1] - g->pad[1]; i++, lined += line * step) {
                if (h < 0 || h >= g->size[0] || i < 0 || i >= g->size[1]) continue;
                const T *row = x + (h * g->size[1] + i) * g->size[2];
                for (mg_size r = 0; r < step; r++) {
                    /* element k of this line is column k step + left of the row: inside the row for first <= k < last */
                    const mg_size left = r - g->pad[2], right = g->size[2] - left;
                    mg_size first = left >= 0 ? 0 : (-left + step - 1) / step, last = right <= 0 ? 0 : (right + step - 1) / step;
                    if (last > line) last = line;
                    if (first >= last) continue;
                    T *to = lined + r * line;
                    if (step == 1) memcpy(to + first, row + first + left, (last - first) * sizeof(T));
                    else for (mg_size k = first; k < last; k++) to[k] = row[k * step + left];
                }
            }
}

/* Compute `rows` outputs of `vecs` vectors. The weights w are ordered by tap. A vector that a row does not fill also writes to the
   next row, whose vectors are stored later. The last vector of a plane stores only its own elements. */
static MG_INLINE MG_TARGET void MG_NAME(mg_result_tile)(const int rows, const int vecs, const T *x, const T *w, T *z,
                                                        const mg_plan *p, mg_size first) {
    VECTOR total[MG_ROWS][MG_VECS], sums[MG_ROWS][MG_VECS], in[MG_VECS];
    mg_size from[MG_VECS], to[MG_VECS];
    for (int v = 0; v < vecs; v++) {
        const mg_size at = first + v < p->vectors ? first + v : p->vectors - 1;
        from[v] = p->from[at];
        to[v] = p->to[at];
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++) total[r][v] = (VECTOR){0};
    for (mg_size begin = 0, end; begin < p->taps; begin = end) {       /* in parts, so that a long sum keeps its last digits */
        end = begin + MG_AT_A_TIME < p->taps ? begin + MG_AT_A_TIME : p->taps;
        for (mg_size t = begin; t < end; t++, w += rows) {
            const T *place = x + p->shift[t];
            for (int v = 0; v < vecs; v++) in[v] = LOAD(place + from[v]);
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < vecs; v++) total[r][v] += in[v] * w[r];
        }
        if (begin > 0)
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < vecs; v++) total[r][v] += sums[r][v];
        if (end < p->taps)
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < vecs; v++) sums[r][v] = total[r][v], total[r][v] = (VECTOR){0};
    }
    for (int v = 0; v < vecs; v++) {
        const int whole = to[v] + LANES <= p->places;
        for (int r = 0; r < rows; r++)
            if (whole) *(VECTOR *)(z + r * p->places + to[v]) = total[r][v];
            else memcpy(z + r * p->places + to[v], &total[r][v], p->filled * sizeof(T));
    }
}

/* The sum of a vector's elements, by halves. */
static MG_INLINE MG_TARGET T MG_NAME(mg_sum)(const VECTOR *total) {
    const T *x = (const T *)total;
#if MG_BYTES == 64
    const HALF half = *(const HALF *)x + *(const HALF *)(x + LANES / 2);
    x = (const T *)&half;
#endif
#if MG_BYTES >= 32
    const QUARTER quarter = *(const QUARTER *)x + *(const QUARTER *)(x + 16 / sizeof(T));
    x = (const T *)&quarter;
#endif
    T sum = x[0];
    for (mg_size l = 1; l < LANES && l < 16 / (mg_size)sizeof(T); l++) sum += x[l];
    return sum;
}

/* The gradient of the weights: `rows` outputs of `vecs` taps, summed over vectors and images. `grad` is ordered by vector. */
static MG_INLINE MG_TARGET void MG_NAME(mg_weight_tile)(const int rows, const int vecs, const T *grad, mg_size grad_step,
                                                        const T *x, mg_size images, T *z, const mg_plan *p, mg_size first) {
    VECTOR total[MG_ROWS][MG_VECS], sums[MG_ROWS][MG_VECS], in[MG_VECS];
    const T *place[MG_VECS];
    mg_size added = 0;
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++) total[r][v] = sums[r][v] = (VECTOR){0};
    for (mg_size n = 0; n < images; n++, x += p->image, grad += grad_step) {
        const T *g = grad;
        for (int v = 0; v < vecs; v++) place[v] = x + p->shift[first + v < p->taps ? first + v : p->taps - 1];
        for (mg_size begin = 0, end; begin < p->vectors; begin = end) {
            end = begin + MG_AT_A_TIME < p->vectors ? begin + MG_AT_A_TIME : p->vectors;
            for (mg_size i = begin; i < end; i++, g += rows * LANES) {
                for (int v = 0; v < vecs; v++) in[v] = LOAD(place[v] + p->from[i]);
                for (int r = 0; r < rows; r++)
                    for (int v = 0; v < vecs; v++) total[r][v] += in[v] * LOAD(g + r * LANES);
            }
            added += end - begin;
            if (added < MG_AT_A_TIME) continue;
            added = 0;
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < vecs; v++) sums[r][v] += total[r][v], total[r][v] = (VECTOR){0};
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++) total[r][v] += sums[r][v];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++)
            if (first + v < p->taps) z[r * p->taps + first + v] += MG_NAME(mg_sum)(&total[r][v]);
}

/* Tiles are compiled for each number of rows, and for all vectors or, if no more are left, half of them. */
#define MG_TILES(tile, rows, few, ...)                                                             \
    switch (rows) {                                                                                \
    case 1: if (few) tile(1, MG_VECS / 2, __VA_ARGS__); else tile(1, MG_VECS, __VA_ARGS__); break; \
    case 2: if (few) tile(2, MG_VECS / 2, __VA_ARGS__); else tile(2, MG_VECS, __VA_ARGS__); break; \
    case 3: if (few) tile(3, MG_VECS / 2, __VA_ARGS__); else tile(3, MG_VECS, __VA_ARGS__); break; \
    case 4: if (few) tile(4, MG_VECS / 2, __VA_ARGS__); else tile(4, MG_VECS, __VA_ARGS__); break; \
    case 5: if (few) tile(5, MG_VECS / 2, __VA_ARGS__); else tile(5, MG_VECS, __VA_ARGS__); break; \
    default: if (few) tile(6, MG_VECS / 2, __VA_ARGS__); else tile(6, MG_VECS, __VA_ARGS__);       \
    }

static MG_TARGET void MG_NAME(mg_one_image)(const T *lined, const T *w, T *z, const mg_plan *p, mg_size outputs) {
    for (mg_size v = 0; v < p->vectors; v += MG_VECS) {
        const int few = p->vectors - v <= MG_VECS / 2;
        for (mg_size first = 0, b = 1, next; first < outputs; first = next, b++) {
            next = mg_first(b, outputs);
            MG_TILES(MG_NAME(mg_result_tile), next - first, few, lined, w + first * p->taps, z + first * p->places, p, v)
        }
    }
}

/* z = w x. With `turned`: x is the gradient of the result, and z the gradient of the input. Returns -1 if there is no memory. */
static MG_TARGET int MG_NAME(mg_conv)(const T *x, const T *w, T *z, const mg_geometry *g, mg_size images, mg_size groups,
                                      mg_size outputs, int turned, int threads) {
    mg_plan plan, *p = &plan;
    if (mg_make_plan(p, g, LANES) < 0) return -1;
    const mg_size kernel = g->kernel[0] * g->kernel[1] * g->kernel[2], all = groups * outputs * p->taps;
    const mg_size output_step = turned ? kernel : p->taps, channel_step = turned ? outputs * kernel : kernel;
    if (images * p->places * all < MG_WORTH_THREADS || images < 2) threads = 1;
    T *packed = (T *)calloc(all + threads * p->image, sizeof(T)), *q = packed;
    if (!packed) { free(p->from); return -1; }
    for (mg_size part = 0; part < groups; part++, w += outputs * p->taps)
        for (mg_size first = 0, b = 1, next; first < outputs; first = next, b++) {
            next = mg_first(b, outputs);
            for (mg_size c = 0; c < g->channels; c++)
                for (mg_size t = 0; t < kernel; t++)
                    for (mg_size o = first; o < next; o++)
                        *q++ = w[o * output_step + c * channel_step + (turned ? kernel - 1 - t : t)];
        }
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
#endif
    for (mg_size n = 0; n < images; n++) {
#ifdef _OPENMP
        T *lined = packed + all + omp_get_thread_num() * p->image;
#else
        T *lined = packed + all;
#endif
        for (mg_size part = 0; part < groups; part++) {
            const mg_size k = n * groups + part;
            MG_NAME(mg_line_up)(x + k * g->channels * p->area, lined, g, p);
            MG_NAME(mg_one_image)(lined, packed + part * outputs * p->taps, z + k * outputs * p->places, p, outputs);
        }
    }
    free(packed);
    free(p->from);
    return 0;
}

/* Reorder the gradient of `outputs` planes: by block, in it by vector, and for each vector all outputs of the block. Elements of a
   vector beyond its row, and those that the vector before has too, become zero. */
static MG_TARGET void MG_NAME(mg_pack_gradient)(const T *grad, T *packed, const mg_geometry *g, const mg_plan *p, mg_size outputs) {
    const mg_size width = g->out[2], lines = g->out[0] * g->out[1], skip = p->chunks * LANES - width;
    const T *end = grad + outputs * p->places;
    BITS keep[2];       /* the masks of a vector, and of the last vector in its row */
    for (mg_size l = 0; l < LANES; l++) {
        ((MG_INT *)keep)[l] = -(MG_INT)(l < width);
        ((MG_INT *)keep)[l + LANES] = -(MG_INT)(l < width && (width < LANES || l >= skip));
    }
    for (mg_size first = 0, b = 1, next; first < outputs; first = next, b++) {
        next = mg_first(b, outputs);
        for (mg_size y = 0; y < lines; y++)
            for (mg_size c = 0; c < p->chunks; c++) {
                const BITS mask = keep[c == p->chunks - 1];
                const T *row = grad + first * p->places + y * width + mg_start(c, LANES, width);
                for (mg_size o = first; o < next; o++, packed += LANES, row += p->places) {
                    if (row + LANES <= end) *(BITS *)packed = *(const BITS *)row & mask;
                    else for (mg_size l = 0; l < width; l++) packed[l] = row[l];
                }
            }
    }
}

/* z += the gradient of the weights. Threads take different blocks of outputs, so the order of a sum does not depend on them. */
static MG_TARGET int MG_NAME(mg_conv_weight)(const T *grad, const T *x, T *z, const mg_geometry *g, mg_size images, mg_size groups,
                                             mg_size outputs, int threads) {
    mg_plan plan, *p = &plan;
    if (mg_make_plan(p, g, LANES) < 0) return -1;
    const mg_size packed = outputs * p->vectors * LANES, blocks = (outputs + MG_ROWS - 1) / MG_ROWS;
    mg_size most = MG_CACHED / ((p->image + packed) * (mg_size)sizeof(T));
    most = most < 1 ? 1 : most > images ? images : most;
    if (images * p->places * outputs * p->taps < MG_WORTH_THREADS) threads = 1;
    T *room = (T *)calloc(most * (p->image + packed) + LANES, sizeof(T)), *lined = room;
    if (!room) { free(p->from); return -1; }
    while ((uintptr_t)lined % sizeof(VECTOR)) lined++;
    T *gradient = lined + most * p->image;
    for (mg_size part = 0; part < groups; part++)
        for (mg_size n = 0; n < images; n += most) {
            const mg_size count = images - n < most ? images - n : most;
            for (mg_size k = 0; k < count; k++) {
                const mg_size at = (n + k) * groups + part;
                MG_NAME(mg_line_up)(x + at * g->channels * p->area, lined + k * p->image, g, p);
                MG_NAME(mg_pack_gradient)(grad + at * outputs * p->places, gradient + k * packed, g, p, outputs);
            }
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
#endif
            for (mg_size b = 0; b < blocks; b++) {
                const mg_size first = mg_first(b, outputs), rows = mg_first(b + 1, outputs) - first;
                for (mg_size t = 0; t < p->taps; t += MG_VECS)
                    MG_TILES(MG_NAME(mg_weight_tile), rows, p->taps - t <= MG_VECS / 2, gradient + first * p->vectors * LANES,
                             packed, lined, count, z + (part * outputs + first) * p->taps, p, t)
            }
        }
    free(room);
    free(p->from);
    return 0;
}

#undef MG_TILES
#undef VECTOR
#undef HALF
#undef QUARTER
#undef BITS
#undef LANES
#undef LOAD
#undef MG_VECS
