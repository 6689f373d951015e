/* Products of small matrices. Calling BLAS through NumPy takes as long as some ten thousand multiplications, and BLAS copies both
   matrices, which pays only for large ones. In microseconds, on one thread, with AVX-512:

       x (16, 64) y (64, 64)                   1.6 by NumPy    1.2 here
       the same with y stored by columns       2.2             1.6
       a product of 64x64 and its gradients    24              20      as ops

       z[i, j] = Σ x[i, l] y[l, j]         x has any strides, in elements; the rows of z are contiguous

   `mg_product` sums a tile of some rows and some vectors of columns in registers, so that a load from y serves all rows.
   The rows of y have to be contiguous. If its columns are, as those of the transposed weight of a linear layer, it copies a panel
   of them (`mg_turn`). It copies nothing else, since small matrices stay in the cache.

   `mg_small_product` needs no vector of columns. There are two cases. If y_column is 1, row i of z is a sum of rows of y. If
   x_column and y_row are 1, each element of z is an inner product. */
#ifndef MINIGRAD_PRODUCTS_H
#define MINIGRAD_PRODUCTS_H

#include <stdlib.h>

#include "sums.h"
#include "vectors.h"

/* Four columns of four elements, as four rows. gcc finds these eight instructions only if they are written down. */
static inline void mg_turn_block_f32(const float *y, mg_size y_column, float *z, mg_size z_row) {
#if defined(__GNUC__) && !defined(__clang__)
    typedef MG_VECTOR(float, 16) four;
    typedef int32_t places __attribute__((vector_size(16)));
    const four a = *(const four *)y, b = *(const four *)(y + y_column);
    const four c = *(const four *)(y + 2 * y_column), d = *(const four *)(y + 3 * y_column);
    const places low = {0, 4, 1, 5}, high = {2, 6, 3, 7};
    const four p = __builtin_shuffle(a, c, low), q = __builtin_shuffle(a, c, high);
    const four r = __builtin_shuffle(b, d, low), s = __builtin_shuffle(b, d, high);
    *(four *)z = __builtin_shuffle(p, r, low), *(four *)(z + z_row) = __builtin_shuffle(p, r, high);
    *(four *)(z + 2 * z_row) = __builtin_shuffle(q, s, low), *(four *)(z + 3 * z_row) = __builtin_shuffle(q, s, high);
#else
    for (int l = 0; l < 4; l++)
        for (int j = 0; j < 4; j++) z[l * z_row + j] = y[j * y_column + l];
#endif
}
static inline void mg_turn_block_f64(const double *y, mg_size y_column, double *z, mg_size z_row) {
    for (int l = 0; l < 4; l++)
        for (int j = 0; j < 4; j++) z[l * z_row + j] = y[j * y_column + l];
}

#define MG_SMALL_PRODUCT(T, suffix)                                                                \
    /* z = y, with contiguous rows, for y of k rows and n columns that are contiguous. Parts of 32 rows stay in the cache. */ \
    static void mg_turn_##suffix(const T *restrict y, mg_size y_column, T *restrict z, mg_size z_row, mg_size k, mg_size n) { \
        for (mg_size begin = 0, end; begin < k; begin = end) {                                     \
            end = begin + 32 < k ? begin + 32 : k;                                                 \
            mg_size j = 0, l;                                                                      \
            for (; j + 4 <= n; j += 4) {                                                           \
                for (l = begin; l + 4 <= end; l += 4) mg_turn_block_##suffix(y + j * y_column + l, y_column, \
                                                                                             z + l * z_row + j, z_row); \
                for (; l < end; l++)                                                               \
                    for (mg_size i = j; i < j + 4; i++) z[l * z_row + i] = y[i * y_column + l];    \
            }                                                                                      \
            for (; j < n; j++)                                                                     \
                for (l = begin; l < end; l++) z[l * z_row + j] = y[j * y_column + l];              \
        }                                                                                          \
    }                                                                                              \
    MG_SIMD static void mg_small_product_##suffix(const T *x, mg_size x_row, mg_size x_column, const T *y, mg_size y_row, \
                                                  mg_size y_column, T *restrict z, mg_size m, mg_size k, mg_size n) { \
        if (y_column == 1) {                                                                       \
            for (mg_size i = 0; i < m; i++, z += n) {                                              \
                const T first = x[i * x_row];                                                      \
                for (mg_size j = 0; j < n; j++) z[j] = first * y[j];                               \
                for (mg_size l = 1; l < k; l++) {                                                  \
                    const T a = x[i * x_row + l * x_column];                                       \
                    const T *row = y + l * y_row;                                                  \
                    for (mg_size j = 0; j < n; j++) z[j] += a * row[j];                            \
                }                                                                                  \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (mg_size i = 0; i < m; i++, x += x_row, z += n) {                                      \
            mg_size j = 0;                                                                         \
            for (; j + 4 <= n; j += 4) {    /* four at a time, so that no sum waits for another */ \
                const T *p = y + j * y_column, *q = p + y_column, *r = q + y_column, *s = r + y_column; \
                T a = 0, b = 0, c = 0, d = 0;                                                      \
                MG_REDUCE(+, a, b, c, d)                                                           \
                for (mg_size l = 0; l < k; l++) a += x[l] * p[l], b += x[l] * q[l], c += x[l] * r[l], d += x[l] * s[l]; \
                z[j] = a, z[j + 1] = b, z[j + 2] = c, z[j + 3] = d;                                \
            }                                                                                      \
            for (; j < n; j++) {                                                                   \
                const T *p = y + j * y_column;                                                     \
                T a = 0;                                                                           \
                MG_REDUCE(+, a)                                                                    \
                for (mg_size l = 0; l < k; l++) a += x[l] * p[l];                                  \
                z[j] = a;                                                                          \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    /* Add a row to all rows of z. */                                                              \
    MG_SIMD static void mg_add_row_##suffix(void *z_, const void *row_, mg_size rows, mg_size n) { \
        T *z = z_; const T *row = row_;                                                            \
        for (mg_size i = 0; i < rows; i++, z += n)                                                 \
            for (mg_size j = 0; j < n; j++) z[j] += row[j];                                        \
    }
MG_SMALL_PRODUCT(float, f32)
MG_SMALL_PRODUCT(double, f64)

/* z = x y for row-major integers, which wrap around: each row of z is a sum of multiples of rows of y. */
MG_SIMD static void mg_whole_product(const uint64_t *x, const uint64_t *y, uint64_t *z, mg_size m, mg_size k, mg_size n) {
    for (mg_size i = 0; i < m; i++, z += n) {
        for (mg_size j = 0; j < n; j++) z[j] = 0;
        for (mg_size t = 0; t < k; t++) {
            const uint64_t a = x[i * k + t], *row = y + t * n;
            for (mg_size j = 0; j < n; j++) z[j] += a * row[j];
        }
    }
}

#define MG_LOOPS "product_tiles.h"
#include "each_width.h"

/* The widest vector that the machine has and that a row of so many bytes fills; at least 16 bytes. */
static int mg_widest(mg_size bytes) {
#ifdef MG_WIDER
    if (bytes >= 64 && __builtin_cpu_supports("avx512f")) return 64;
    if (bytes >= 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 32;
#endif
    (void)bytes;
    return 16;
}

static int mg_has_widest(void) { return mg_widest(64) == 64; }

#ifdef MG_WIDER
#define MG_BY_WIDTH(name, bytes)                                                                   \
    (mg_widest(bytes) == 64 ? name##_64 : mg_widest(bytes) == 32 ? name##_32 : name##_16)
#else
#define MG_BY_WIDTH(name, bytes) name##_16
#endif

#define MG_PRODUCT(T, suffix)                                                                      \
    /* z = x y, with at least 16 bytes in a row of z. Returns -1 if there is no memory. */         \
    static int mg_product_##suffix(const T *x, mg_size x_row, mg_size x_column, const T *y, mg_size y_row, mg_size y_column, T *z, \
                                   mg_size z_row, mg_size m, mg_size k, mg_size n) {               \
        return MG_BY_WIDTH(mg_product_##suffix, n * (mg_size)sizeof(T))(                           \
            x, x_row, x_column, y, y_row, y_column, z, z_row, m, k, n);                            \
    }
MG_PRODUCT(float, f32)
MG_PRODUCT(double, f64)

#endif
