/* Loops of pooling.h: see vectors.h for how this file is included. MG_INT can count the elements of a plane. */

#define VECTOR MG_NAME(mg_numbers)
typedef MG_VECTOR(T, MG_BYTES) VECTOR;
#define BITS MG_NAME(mg_positions)
typedef MG_VECTOR(MG_INT, MG_BYTES) BITS;
#define LANES ((mg_size)(sizeof(VECTOR) / sizeof(T)))

/* to[k] = x[k step] */
static MG_TARGET void MG_NAME(mg_every)(const T *x, T *to, mg_size n, mg_size step) {
    if (step == 1) memcpy(to, x, n * sizeof(T));
    else if (step == 2) for (mg_size k = 0; k < n; k++) to[k] = x[2 * k];       /* a constant step fits in vectors */
    else for (mg_size k = 0; k < n; k++) to[k] = x[k * step];
}

/* The maxima of a run. The rows of its windows begin at `lines` in the rearranged plane and at `rows` in the plane. Element j of
   the first window is at shift[j * pitch] in a line, and those of all are at columns[j * pitch] in a row. The loop has no branches:
   the processor would predict wrongly, half of the time, which of two numbers is larger. */
static MG_TARGET void MG_NAME(mg_max_run)(const T *lined, const mg_size *lines, const MG_INT *rows, mg_size heights,
                                          const mg_size *shift, const MG_INT *columns, mg_size pitch, mg_size widths,
                                          VECTOR *largest, BITS *where) {
    VECTOR top = *(const VECTOR *)(lined + lines[0] + shift[0]);
    BITS best = *(const BITS *)columns + rows[0];
    for (mg_size t = 0; t < heights; t++)
        for (mg_size j = t == 0; j < widths; j++) {
            const VECTOR v = *(const VECTOR *)(lined + lines[t] + shift[j * pitch]);
            const BITS at = *(const BITS *)(columns + j * pitch) + rows[t];
            const BITS better = (v > top) | (v != v);           /* the last nan wins */
            top = MG_SELECT(VECTOR, BITS, better, v, top);
            best = MG_SELECT(BITS, BITS, better, at, best);
        }
    *largest = top;
    *where = best;
}

static MG_TARGET int MG_NAME(mg_max_planes)(const T *x, T *z, int64_t *index, mg_size planes, const mg_size *size,
                                            const mg_size *kernel, const mg_size *out, int64_t *const *places) {
    const mg_size lines = out[0] * out[1], width = out[2], all = planes * lines * width, pitch = width + LANES;
    const mg_size high = size[0] * size[1], heights = kernel[0] * kernel[1], widths = kernel[2];
    const mg_size apart = width > 1 ? places[2][(width - 1) * widths] - places[2][(width - 2) * widths] : 1;
    const mg_size stride = apart > 0 ? apart : 1, wide = (size[2] + stride - 1) / stride;
    const int whole = size[2] % stride == 0;        /* then all rows are rearranged as one long row */
    T *lined = (T *)calloc(stride * high * wide + LANES, sizeof(T));
    MG_INT *columns = (MG_INT *)calloc(widths * pitch + lines * heights, sizeof(MG_INT));
    MG_INT *rows = columns + widths * pitch, *row = rows;
    mg_size *ends = (mg_size *)calloc(width + widths * pitch + lines * heights, sizeof(mg_size));
    mg_size *shift = ends + width, *begin = shift + widths * pitch, *line = begin, o = 0;
    const int failed = !lined || !columns || !ends ? -1 : 0;
    for (mg_size i = 0, end = 0; i < width && !failed; i++) {
        if (i == end) end = mg_end_of_run(places[2], i, width, widths, stride, LANES);
        ends[i] = end;
        for (mg_size j = 0; j < widths; j++) {
            const mg_size column = places[2][i * widths + j];
            columns[j * pitch + i] = (MG_INT)column;
            shift[j * pitch + i] = column % stride * high * wide + column / stride;
        }
    }
    for (mg_size l = 0; l < lines && !failed; l++)
        for (mg_size h = 0; h < kernel[0]; h++)
            for (mg_size i = 0; i < kernel[1]; i++) {
                const mg_size y = places[0][l / out[1] * kernel[0] + h] * size[1] + places[1][l % out[1] * kernel[1] + i];
                *row++ = (MG_INT)(y * size[2]);
                *line++ = y * wide;
            }
    for (mg_size p = 0; p < planes && !failed; p++, x += high * size[2]) {
        for (mg_size y = 0; y < (whole ? 1 : high); y++)
            for (mg_size r = 0; r < stride && r < size[2]; r++)
                MG_NAME(mg_every)(x + y * size[2] + r, lined + (r * high + y) * wide,
                                  whole ? high * wide : (size[2] - r + stride - 1) / stride, stride);
        for (mg_size l = 0; l < lines; l++)
            for (mg_size i = 0, count; i < width; i += count, o += count) {
                VECTOR top;
                BITS best;
                count = ends[i] - i;
                MG_NAME(mg_max_run)(lined, begin + l * heights, rows + l * heights, heights, shift + i, columns + i, pitch, widths,
                                    &top, &best);
                if (o + LANES <= all) {             /* the next run overwrites what is beyond the end of this one */
                    *(VECTOR *)(z + o) = top;
                    for (mg_size k = 0; k < LANES; k++) index[o + k] = ((const MG_INT *)&best)[k];
                } else
                    for (mg_size k = 0; k < count; k++) z[o + k] = ((const T *)&top)[k], index[o + k] = ((const MG_INT *)&best)[k];
            }
    }
    free(lined);
    free(columns);
    free(ends);
    return failed;
}

#undef VECTOR
#undef BITS
#undef LANES
