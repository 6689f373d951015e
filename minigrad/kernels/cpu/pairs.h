/* Distances between all rows of two matrices, z[i, j] = sqrt Σ (x[i, k] - y[j, k])² over k.

   As in a product of matrices, a number that has been read serves several results. Columns of a tile are MG_PAIR_COLUMNS rows of y,
   turned, so that they lie side by side; four rows of x are subtracted from them together. (For many rows PyTorch computes
   |x|² - 2 x y + |y|², with a product of matrices. If x and y are near each other, that is a small difference of large numbers.) */
#ifndef MINIGRAD_PAIRS_H
#define MINIGRAD_PAIRS_H

#include <math.h>

#include "pieces.h"
#include "simd.h"
#include "sums.h"
#include "vectors.h"

#define MG_PAIR_COLUMNS 64

#define MG_PAIR_LOOPS(T, suffix, SQRT)                                                             \
    /* z = the distances between four rows of x and a tile of `width` columns; `turned` has d rows of MG_PAIR_COLUMNS numbers. Of \
       fewer than four rows, the last one is taken again. */                                       \
    MG_SIMD static void mg_distance_tile_##suffix(const T *x, const T *turned, T *z, mg_size d, mg_size rows, mg_size width, \
                                                  mg_size z_step) {                                \
        const T *p = x, *q = x + (rows > 1 ? 1 : rows - 1) * d, *r = x + (rows > 2 ? 2 : rows - 1) * d; \
        const T *s = x + (rows > 3 ? 3 : rows - 1) * d;                                            \
        double total[4][MG_PAIR_COLUMNS] = {{0}};                                                  \
        for (mg_size first = 0; first < d; first += MG_PART) {                                     \
            const mg_size last = first + MG_PART < d ? first + MG_PART : d;                        \
            T part[4][MG_PAIR_COLUMNS] = {{0}};                                                    \
            for (mg_size k = first; k < last; k++) {                                               \
                const T *y = turned + k * MG_PAIR_COLUMNS, a = p[k], b = q[k], c = r[k], e = s[k]; \
                for (int j = 0; j < MG_PAIR_COLUMNS; j++) {                                        \
                    part[0][j] += (a - y[j]) * (a - y[j]), part[1][j] += (b - y[j]) * (b - y[j]);  \
                    part[2][j] += (c - y[j]) * (c - y[j]), part[3][j] += (e - y[j]) * (e - y[j]);  \
                }                                                                                  \
            }                                                                                      \
            for (int i = 0; i < 4; i++) for (int j = 0; j < MG_PAIR_COLUMNS; j++) total[i][j] += part[i][j]; \
        }                                                                                          \
        for (mg_size i = 0; i < rows; i++)                                                         \
            for (mg_size j = 0; j < width; j++) z[i * z_step + j] = SQRT((T)total[i][j]);          \
    }                                                                                              \
    /* The tile of columns from `at` on. `turned` is room for d x MG_PAIR_COLUMNS numbers. */      \
    static void mg_distance_column_##suffix(const T *x, const T *y, T *z, T *turned, mg_size n, mg_size m, mg_size d, \
                                            mg_size at) {                                          \
        const mg_size width = m - at < MG_PAIR_COLUMNS ? m - at : MG_PAIR_COLUMNS;                 \
        for (mg_size j = 0; j < MG_PAIR_COLUMNS; j++)                                              \
            for (mg_size k = 0; k < d; k++) turned[k * MG_PAIR_COLUMNS + j] = y[(at + (j < width ? j : 0)) * d + k]; \
        for (mg_size i = 0; i < n; i += 4)                                                         \
            mg_distance_tile_##suffix(x + i * d, turned, z + i * m + at, d, n - i < 4 ? n - i : 4, width, m); \
    }                                                                                              \
    static void mg_distances_##suffix(const T *x, const T *y, T *z, T *turned, mg_size n, mg_size m, mg_size d) { \
        for (mg_size at = 0; at < m; at += MG_PAIR_COLUMNS) mg_distance_column_##suffix(x, y, z, turned, n, m, d, at); \
    }

/* Their derivative, z[i, k] = Σ g[i, j] (x[i, k] - y[j, k]) / dist[i, j] over j; where a distance is 0, the term is 0. A difference
   is divided before it is multiplied: g / dist alone may overflow, and difference / dist is 1 at most. As many columns as a vector
   has are summed up in a register; each of the others is a sum along j. */
#define MG_PAIR_SLOPE_LOOPS(T, suffix)                                                             \
    typedef MG_VECTOR(T, 64) mg_pair_lanes_##suffix;                                               \
    MG_SIMD static void mg_distance_slopes_##suffix(const T *g, const T *dist, const T *x, const T *y, T *z, mg_size n, mg_size m, \
                                                    mg_size d) {                                   \
        typedef mg_pair_lanes_##suffix V;                                                          \
        const mg_size lanes = sizeof(V) / sizeof(T), whole = d / lanes * lanes;                    \
        T inverse[MG_PART];                                                                        \
        for (mg_size i = 0; i < n; i++, g += m, dist += m, x += d, z += d)                         \
        for (mg_size k = 0; k < d; k += k < whole ? lanes : 1) {                                   \
            double total[sizeof(V) / sizeof(T)] = {0};                                             \
            for (mg_size first = 0; first < m; first += MG_PART) {                                 \
                const mg_size some = m - first < MG_PART ? m - first : MG_PART;                    \
                const T *h = g + first, *q = y + first * d + k;                                    \
                if (k == 0 || m > MG_PART)                                                         \
                    for (mg_size j = 0; j < some; j++) inverse[j] = dist[first + j] == 0 ? 0 : 1 / dist[first + j]; \
                if (k < whole) {                                                                   \
                    const V p = *(const V *)(x + k);                                               \
                    V part = {0};                                                                  \
                    for (mg_size j = 0; j < some; j++) part += h[j] * ((p - *(const V *)(q + j * d)) * inverse[j]); \
                    for (mg_size l = 0; l < lanes; l++) total[l] += ((const T *)&part)[l];         \
                } else {                                                                           \
                    T part = 0;                                                                    \
                    MG_REDUCE(+, part)                                                             \
                    for (mg_size j = 0; j < some; j++) part += h[j] * ((x[k] - q[j * d]) * inverse[j]); \
                    total[0] += part;                                                              \
                }                                                                                  \
            }                                                                                      \
            for (mg_size l = 0; l < (k < whole ? lanes : 1); l++) z[k + l] = (T)total[l];          \
        }                                                                                          \
    }                                                                                              \
    static inline void mg_distances_backward_##suffix(const T *g, const T *dist, const T *x, const T *y, T *z, mg_size n, \
                                                      mg_size m, mg_size d, int threads) {         \
        MG_SHARED_ROWS(n, m * d + 1, mg_distance_slopes_##suffix(g + from * m, dist + from * m, x + from * d, y, z + from * d, \
                                                                 count, m, d))                     \
    }

MG_PAIR_LOOPS(float, f32, sqrtf)
MG_PAIR_LOOPS(double, f64, sqrt)
MG_PAIR_SLOPE_LOOPS(float, f32)
MG_PAIR_SLOPE_LOOPS(double, f64)

#endif
