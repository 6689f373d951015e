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

#define FOUR MG_NAME(mg_four)
#define FOUR_BITS MG_NAME(mg_four_bits)
typedef MG_VECTOR(T, 4 * sizeof(T)) FOUR;
typedef MG_VECTOR(MG_INT, 4 * sizeof(T)) FOUR_BITS;

/* to[j * to_step + i] = x[i * step + j], for i < rows and j < columns, four by four */
static MG_TARGET void MG_NAME(mg_transpose)(const T *x, mg_size step, T *to, mg_size to_step, mg_size rows, mg_size columns) {
    mg_size i = 0;
#if defined(__GNUC__)
    for (; i + 4 <= rows; i += 4, x += 4 * step) {
        mg_size j = 0;
        for (; j + 4 <= columns; j += 4) {
            const FOUR a = *(const FOUR *)(x + j), b = *(const FOUR *)(x + step + j);
            const FOUR c = *(const FOUR *)(x + 2 * step + j), d = *(const FOUR *)(x + 3 * step + j);
            const FOUR ab = MG_SHUFFLE(FOUR_BITS, a, b, 0, 4, 1, 5), cd = MG_SHUFFLE(FOUR_BITS, c, d, 0, 4, 1, 5);
            const FOUR ab2 = MG_SHUFFLE(FOUR_BITS, a, b, 2, 6, 3, 7), cd2 = MG_SHUFFLE(FOUR_BITS, c, d, 2, 6, 3, 7);
            T *at = to + j * to_step + i;
            *(FOUR *)at = MG_SHUFFLE(FOUR_BITS, ab, cd, 0, 1, 4, 5);
            *(FOUR *)(at + to_step) = MG_SHUFFLE(FOUR_BITS, ab, cd, 2, 3, 6, 7);
            *(FOUR *)(at + 2 * to_step) = MG_SHUFFLE(FOUR_BITS, ab2, cd2, 0, 1, 4, 5);
            *(FOUR *)(at + 3 * to_step) = MG_SHUFFLE(FOUR_BITS, ab2, cd2, 2, 3, 6, 7);
        }
        for (; j < columns; j++)
            for (int k = 0; k < 4; k++) to[j * to_step + i + k] = x[k * step + j];
    }
#endif
    for (; i < rows; i++, x += step)
        for (mg_size j = 0; j < columns; j++) to[j * to_step + i] = x[j];
}

/* Rearrange `count` images, `apart` elements from one to the next, one lane for each: see MG_OF_IMAGES. */
static MG_TARGET void MG_NAME(mg_line_up_images)(const T *x, mg_size apart, mg_size count, T *lined, mg_size lanes,
                                                 const mg_geometry *g, const mg_plan *p) {
    const mg_size unit = g->channels * lanes, begin = g->pad[2] > 0 ? g->pad[2] : 0;
    const mg_size end = p->span[2] < g->size[2] + g->pad[2] ? p->span[2] : g->size[2] + g->pad[2];
    for (mg_size h = 0; h < p->span[0]; h++)
        for (mg_size i = 0; i < p->span[1]; i++, lined += p->span[2] * unit) {
            const mg_size z = h - g->pad[0], y = i - g->pad[1];
            if (z < 0 || z >= g->size[0] || y < 0 || y >= g->size[1]) continue;
            const T *row = x + (z * g->size[1] + y) * g->size[2] + begin - g->pad[2];
            if (lanes == 1) MG_NAME(mg_transpose)(row, p->area, lined + begin * unit, unit, g->channels, end - begin);
            else
                for (mg_size c = 0; c < g->channels; c++)
                    MG_NAME(mg_transpose)(row + c * p->area, apart, lined + begin * unit + c * lanes, unit, count, end - begin);
        }
}

/* Compute `rows` outputs of `vecs` vectors. The weights w are ordered by tap. A vector that a row does not fill also writes to the
   next row, whose vectors are stored later. The last vector of a plane, of `plane` elements, stores only its own elements.

   Nothing takes the address of `total`, else the compiler keeps it in memory and moves it to registers and back in each run. */
static MG_INLINE MG_TARGET void MG_NAME(mg_result_tile)(const int rows, const int vecs, const T *x, const T *w, T *z, mg_size plane,
                                                        const mg_plan *p, mg_size first) {
    VECTOR total[MG_ROWS][MG_VECS], sums[MG_ROWS][MG_VECS], in[MG_VECS];
    mg_size from[MG_VECS], to[MG_VECS], left = MG_AT_A_TIME;
    for (int v = 0; v < vecs; v++) from[v] = p->from[first + v], to[v] = p->to[first + v];
    for (int r = 0; r < rows; r++)                  /* the lines of the next tile's results arrive while sums are computed */
        for (int v = 0; v < vecs; v++) MG_FETCH(z + r * plane + to[v] + vecs * LANES);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++) total[r][v] = (VECTOR){0};
    memset(sums, 0, p->taps < MG_AT_A_TIME ? 0 : sizeof(sums));
    for (mg_size run = 0; run < p->runs; run++) {
        mg_size t = p->taps, end = 0;               /* taps that are inside the image for some of the vectors */
        for (int v = 0; v < vecs; v++) {
            const mg_size k = (first + v) * p->runs + run;
            if (p->begin[k] < t) t = p->begin[k];
            if (p->end[k] > end) end = p->end[k];
        }
        while (t < end) {                           /* in parts, so that a long sum keeps its last digits */
            const mg_size stop = end - t < left ? end : t + left;
            const T *weight = w + t * rows;
            left -= stop - t;
            for (; t < stop; t++, weight += rows) {
                const T *place = x + p->shift[t];
                for (int v = 0; v < vecs; v++) in[v] = LOAD(place + from[v]);
                for (int r = 0; r < rows; r++)
                    for (int v = 0; v < vecs; v++) total[r][v] += in[v] * weight[r];
            }
            if (left > 0) continue;
            left = MG_AT_A_TIME;
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < vecs; v++) sums[r][v] += total[r][v], total[r][v] = (VECTOR){0};
        }
    }
    if (p->taps >= MG_AT_A_TIME)
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vecs; v++) total[r][v] += sums[r][v];
    for (int v = 0; v < vecs; v++) {
        const int whole = to[v] + LANES <= plane;
        for (int r = 0; r < rows; r++)
            if (whole) *(VECTOR *)(z + r * plane + to[v]) = total[r][v];
            else { const VECTOR part = total[r][v]; memcpy(z + r * plane + to[v], &part, p->filled * sizeof(T)); }
    }
}

/* The sum of a vector's elements, by halves. */
static MG_INLINE MG_TARGET T MG_NAME(mg_sum)(const VECTOR total) {
    const T *x = (const T *)&total;
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
        for (int v = 0; v < vecs; v++) place[v] = x + p->shift[first + v];
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
            z[r * p->taps + p->place[first + v]] += MG_NAME(mg_sum)(total[r][v]);
}

/* The same for vectors of taps: add `rows` outputs of `vecs` vectors to `sums`, in which an output has `step` vectors. */
static MG_INLINE MG_TARGET void MG_NAME(mg_taps_tile)(const int rows, const int vecs, const T *grad, const T *x, const mg_plan *p,
                                                      mg_size begin, mg_size end, VECTOR *sums, mg_size step, const mg_size *places,
                                                      mg_size first) {
    VECTOR total[MG_ROWS][MG_VECS], in[MG_VECS];
    const T *place[MG_VECS];
    for (int v = 0; v < vecs; v++) place[v] = x + places[first + v];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++) total[r][v] = (VECTOR){0};
    for (mg_size i = begin; i < end; i++) {
        for (int v = 0; v < vecs; v++) in[v] = LOAD(place[v] + p->from[i]);
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vecs; v++) total[r][v] += in[v] * grad[r * p->places + i];
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++)
            sums[r * step + first + v] += total[r][v];
}

/* Tiles are compiled for each number of rows and of vectors. */
#if MG_REGISTERS == 32
#define MG_WIDTHS(tile, rows, vecs, ...)                                                           \
    switch (vecs) {                                                                                \
    case 1: tile(rows, 1, __VA_ARGS__); break;                                                     \
    case 2: tile(rows, 2, __VA_ARGS__); break;                                                     \
    case 3: tile(rows, 3, __VA_ARGS__); break;                                                     \
    default: tile(rows, 4, __VA_ARGS__);                                                           \
    } break;
#else
#define MG_WIDTHS(tile, rows, vecs, ...) if (vecs == 1) tile(rows, 1, __VA_ARGS__); else tile(rows, 2, __VA_ARGS__); break;
#endif
#define MG_TILES(tile, rows, vecs, ...)                                                            \
    switch (rows) {                                                                                \
    case 1: MG_WIDTHS(tile, 1, vecs, __VA_ARGS__)                                                  \
    case 2: MG_WIDTHS(tile, 2, vecs, __VA_ARGS__)                                                  \
    case 3: MG_WIDTHS(tile, 3, vecs, __VA_ARGS__)                                                  \
    case 4: MG_WIDTHS(tile, 4, vecs, __VA_ARGS__)                                                  \
    case 5: MG_WIDTHS(tile, 5, vecs, __VA_ARGS__)                                                  \
    default: MG_WIDTHS(tile, 6, vecs, __VA_ARGS__)                                                 \
    }

/* The tiles from `tile` to `last`. */
static MG_TARGET void MG_NAME(mg_one_image)(const T *lined, const T *w, T *z, mg_size plane, const mg_plan *p, mg_size outputs,
                                            mg_size tile, mg_size last) {
    for (; tile < last; tile++) {
        const mg_size v = mg_first(tile, p->vectors, MG_VECS), end = mg_first(tile + 1, p->vectors, MG_VECS);
        for (mg_size o = 0, c = 1, next; o < outputs; o = next, c++) {
            next = mg_first(c, outputs, MG_ROWS);
            MG_TILES(MG_NAME(mg_result_tile), next - o, end - v, lined, w + o * p->taps, z + o * plane, plane, p, v)
        }
    }
}

/* z = w x. With `turned`: x is the gradient of the result, and z the gradient of the input. With `all`, zeros of the padding are
   multiplied too. Returns -1 if there is no memory. */
static MG_TARGET int MG_NAME(mg_conv)(const T *x, const T *w, T *z, const mg_geometry *g, mg_size images, mg_size groups,
                                      mg_size outputs, int turned, int all, enum mg_layout layout, int threads) {
    mg_plan plan, *p = &plan;
    if (mg_make_plan(p, g, LANES, layout, all) < 0) return -1;
    const mg_size kernel = g->kernel[0] * g->kernel[1] * g->kernel[2], weights = groups * outputs * p->taps;
    const mg_size output_step = turned ? kernel : p->taps, channel_step = turned ? outputs * kernel : kernel;
    const mg_size of_images = layout == MG_OF_IMAGES, at_a_time = of_images ? LANES : 1;
    const mg_size batches = (images + at_a_time - 1) / at_a_time;
    const mg_size result = of_images ? outputs * p->places * LANES : 0, room = p->image + result;
    const mg_size shares = of_images ? (threads + batches - 1) / batches : 1;       /* of the tiles, each for a thread */
    const mg_size tiles = (p->vectors + MG_VECS - 1) / MG_VECS;
    if (batches * shares < 2) threads = 1;
    T *packed = (T *)calloc(weights + threads * room + LANES, sizeof(T)), *q = packed, *own = packed + weights;
    if (!packed) { free(p->from); return -1; }
    while ((uintptr_t)own % sizeof(VECTOR)) own++;
    for (mg_size part = 0; part < groups; part++, w += outputs * p->taps)
        for (mg_size first = 0, b = 1, next; first < outputs; first = next, b++) {
            next = mg_first(b, outputs, MG_ROWS);
            for (mg_size t = 0; t < kernel; t++)
                for (mg_size c = 0; c < g->channels; c++)
                    for (mg_size o = first; o < next; o++)
                        *q++ = w[o * output_step + c * channel_step + (turned ? kernel - 1 - t : t)];
        }
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
#endif
    for (mg_size u = 0; u < batches * shares; u++) {
        const mg_size n = u / shares, first = u % shares * tiles / shares, last = (u % shares + 1) * tiles / shares;
#ifdef _OPENMP
        T *lined = own + omp_get_thread_num() * room;
#else
        T *lined = own;
#endif
        for (mg_size part = 0; part < groups; part++) {
            const mg_size k = n * at_a_time * groups + part, count = images - n * LANES < LANES ? images - n * LANES : LANES;
            const T *from = x + k * g->channels * p->area, *block = packed + part * outputs * p->taps;
            T *to = z + k * outputs * p->places, *vectors = lined + p->image;
            if (!of_images) {
                MG_NAME(mg_line_up)(from, lined, g, p);
                MG_NAME(mg_one_image)(lined, block, to, p->places, p, outputs, first, last);
                continue;
            }
            MG_NAME(mg_line_up_images)(from, groups * g->channels * p->area, count, lined, LANES, g, p);
            MG_NAME(mg_one_image)(lined, block, vectors, p->places * LANES, p, outputs, first, last);
            const mg_size begin = mg_first(first, p->vectors, MG_VECS), end = mg_first(last, p->vectors, MG_VECS);
            for (mg_size o = begin; o < outputs * p->places; o += p->places)
                MG_NAME(mg_transpose)(vectors + o * LANES, LANES, to + o, groups * outputs * p->places, end - begin, count);
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
        next = mg_first(b, outputs, MG_ROWS);
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
    if (mg_make_plan(p, g, LANES, MG_IN_A_ROW, 1) < 0) return -1;
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
                const mg_size first = mg_first(b, outputs, MG_ROWS), rows = mg_first(b + 1, outputs, MG_ROWS) - first;
                for (mg_size t = 0, c = 1, next; t < p->taps; t = next, c++) {
                    next = mg_first(c, p->taps, MG_VECS);
                    MG_TILES(MG_NAME(mg_weight_tile), rows, next - t, gradient + first * p->vectors * LANES, packed, lined, count,
                             z + (part * outputs + first) * p->taps, p, t)
                }
            }
        }
    free(room);
    free(p->from);
    return 0;
}

/* The same with vectors of taps. */
static MG_TARGET int MG_NAME(mg_conv_taps)(const T *grad, const T *x, T *z, const mg_geometry *g, mg_size images, mg_size groups,
                                           mg_size outputs, int threads) {
    mg_plan plan, *p = &plan;
    if (mg_make_plan(p, g, 1, MG_OF_IMAGES, 1) < 0) return -1;
    /* a run of taps is a row of the kernel, or one position of it, with all channels; it has `per` vectors */
    const mg_size run = g->channels * (g->dilation[2] == 1 ? g->kernel[2] : 1), per = (run + LANES - 1) / LANES;
    const mg_size vectors = p->taps / run * per, blocks = (outputs + MG_ROWS - 1) / MG_ROWS, image = p->image + LANES;
    mg_size most = MG_CACHED / (image * (mg_size)sizeof(T));
    most = most < 1 ? 1 : most > images ? images : most;
    if (images * p->places * outputs * p->taps < MG_WORTH_THREADS) threads = 1;
    T *room = (T *)calloc((outputs * vectors + 1) * LANES + most * image, sizeof(T)), *sums = room;
    mg_size *places = (mg_size *)malloc(vectors * sizeof(mg_size));
    const int failed = !room || !places ? -1 : 0;
    while ((uintptr_t)sums % sizeof(VECTOR)) sums++;
    T *lined = sums + outputs * vectors * LANES;
    for (mg_size v = 0; v < vectors && !failed; v++) places[v] = p->shift[v / per * run] + v % per * LANES;
    for (mg_size part = 0; part < groups && !failed; part++, z += outputs * p->taps) {
        memset(sums, 0, outputs * vectors * sizeof(VECTOR));
        for (mg_size n = 0; n < images; n += most) {
            const mg_size count = images - n < most ? images - n : most;
            for (mg_size k = 0; k < count; k++)
                MG_NAME(mg_line_up_images)(x + ((n + k) * groups + part) * g->channels * p->area, 0, 1, lined + k * image, 1, g, p);
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
#endif
            for (mg_size b = 0; b < blocks; b++) {
                const mg_size first = mg_first(b, outputs, MG_ROWS), rows = mg_first(b + 1, outputs, MG_ROWS) - first;
                for (mg_size k = 0; k < count; k++) {
                    const T *block = grad + (((n + k) * groups + part) * outputs + first) * p->places;
                    for (mg_size i = 0; i < p->places; i += MG_AT_A_TIME) {
                        const mg_size end = i + MG_AT_A_TIME < p->places ? i + MG_AT_A_TIME : p->places;
                        for (mg_size v = 0, c = 1, next; v < vectors; v = next, c++) {
                            next = mg_first(c, vectors, MG_VECS);
                            MG_TILES(MG_NAME(mg_taps_tile), rows, next - v, block, lined + k * image, p, i, end,
                                     (VECTOR *)sums + first * vectors, vectors, places, v)
                        }
                    }
                }
            }
        }
        const T *sum = sums;
        for (mg_size o = 0; o < outputs; o++)
            for (mg_size t = 0; t < p->taps; t += run, sum += per * LANES)
                for (mg_size k = 0; k < run; k++) z[o * p->taps + p->place[t + k]] = sum[k];
    }
    free(places);
    free(room);
    free(p->from);
    return failed;
}

#undef MG_TILES
#undef MG_WIDTHS
#undef VECTOR
#undef HALF
#undef QUARTER
#undef FOUR
#undef FOUR_BITS
#undef BITS
#undef LANES
#undef LOAD
#undef MG_VECS
