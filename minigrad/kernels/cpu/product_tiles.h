/* Loops of products.h, for elements of type T and vectors of MG_BYTES. each_width.h includes this file for each combination. */

#define VECTOR MG_NAME(mg_lanes)
typedef MG_VECTOR(T, MG_BYTES) VECTOR;
#define LANES ((mg_size)(sizeof(VECTOR) / sizeof(T)))
#define MG_VECS (MG_REGISTERS / 8)      /* in a row of a tile. With MG_ROWS rows, a tile fills the registers */

/* Compute `rows` rows of `vecs` vectors. The last vector of `width` columns ends where they end, and may overlap the one before. */
static MG_INLINE MG_TARGET void MG_NAME(mg_product_tile)(const int rows, const int vecs, const T *x, mg_size x_row,
                                                         mg_size x_column, const T *y, mg_size y_row, T *z, mg_size z_row,
                                                         mg_size k, mg_size width) {
    VECTOR total[MG_ROWS][MG_VECS], sums[MG_ROWS][MG_VECS], in[MG_VECS];
    mg_size at[MG_VECS];
    for (int v = 0; v < vecs; v++) at[v] = (v + 1) * LANES <= width ? v * LANES : width - LANES;
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++) total[r][v] = (VECTOR){0};
    for (mg_size begin = 0, end; begin < k; begin = end) {      /* in parts, so that a long sum keeps its last digits */
        end = begin + MG_AT_A_TIME < k ? begin + MG_AT_A_TIME : k;
        for (mg_size l = begin; l < end; l++, x += x_column, y += y_row) {
            for (int v = 0; v < vecs; v++) in[v] = *(const VECTOR *)(y + at[v]);
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < vecs; v++) total[r][v] += in[v] * x[r * x_row];
        }
        if (begin > 0)
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < vecs; v++) total[r][v] += sums[r][v];
        if (end < k)
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < vecs; v++) sums[r][v] = total[r][v], total[r][v] = (VECTOR){0};
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++) *(VECTOR *)(z + r * z_row + at[v]) = total[r][v];
}

/* Tiles are compiled for each number of rows and of vectors. */
#define MG_CASE(rows)                                                                              \
    case rows:                                                                                     \
        switch (vecs) {                                                                            \
        case 1: MG_NAME(mg_product_tile)(rows, 1, MG_ARGUMENTS); break;                                 \
        case 2: MG_NAME(mg_product_tile)(rows, 2, MG_ARGUMENTS); break;                                 \
        case 3: if (MG_VECS > 2) MG_NAME(mg_product_tile)(rows, 3, MG_ARGUMENTS); break;                \
        case 4: if (MG_VECS > 2) MG_NAME(mg_product_tile)(rows, 4, MG_ARGUMENTS); break;                \
        } break;

/* z = x y, a panel of columns at a time. n >= LANES. Returns -1 if there is no memory. */
static MG_TARGET int MG_NAME(mg_product)(const T *x, mg_size x_row, mg_size x_column, const T *y, mg_size y_row, mg_size y_column,
                                         T *z, mg_size z_row, mg_size m, mg_size k, mg_size n) {
    const mg_size most = MG_VECS * LANES;
    T *panel = NULL;
    if (y_column != 1 && !(panel = (T *)malloc(k * most * sizeof(T)))) return -1;
    for (mg_size j = 0; j < n; j += most) {
        if (n - j < LANES) j = n - LANES;
        const mg_size width = n - j < most ? n - j : most;
        const int vecs = (int)((width + LANES - 1) / LANES);
        const T *columns = y + j * y_column;
        if (panel) MG_JOIN(mg_turn_, MG_TYPE)(columns, y_column, panel, width, k, width), columns = panel, y_row = width;
        for (mg_size i = 0, b = 1, next; i < m; i = next, b++) {
            next = mg_first(b, m, MG_ROWS);
#define MG_ARGUMENTS x + i * x_row, x_row, x_column, columns, y_row, z + i * z_row + j, z_row, k, width
            switch (next - i) { MG_CASE(1) MG_CASE(2) MG_CASE(3) MG_CASE(4) MG_CASE(5) MG_CASE(6) }
#undef MG_ARGUMENTS
        }
    }
    free(panel);
    return 0;
}

#undef MG_CASE
#undef VECTOR
#undef LANES
#undef MG_VECS
