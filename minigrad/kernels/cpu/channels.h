/* Batch normalisation: for each channel, the mean and the variance over all images and all places of a plane.

       z  = (x - mean) rstd w + b
       dx = rstd w (g - mean(g) - y mean(g y)),  y = (x - mean) rstd;  dw = Σ g y, db = Σ g

   Planes of MG_PLANE elements or more are read channel by channel: the planes of one channel stay in the cache while they are
   summed, summed again and written. Smaller planes (a matrix has planes of one element) are read row by row, in tiles of
   neighbouring channels. There, each place of a plane has sums of its own, which `mg_fold` adds up. Sums are double: float would
   lose digits. */
#ifndef MINIGRAD_CHANNELS_H
#define MINIGRAD_CHANNELS_H

#include <math.h>
#include <string.h>

#include "pieces.h"
#include "simd.h"

#define MG_PLANE 32         /* elements of a plane from which channels are read one by one */
#define MG_COLUMNS 512      /* elements of a row that are summed together; more than MG_PLANE */

#define MG_ADD_UP(total, ...)                                                                      \
    double total = 0;                                                                              \
    for (mg_size k = 0; k < images; k++) {                                                         \
        const mg_size at = k * channels * area + c * area;                                         \
        double part = 0;                                                                           \
        MG_SUM_OF(part)                                                                            \
        for (mg_size i = at; i < at + area; i++) part += __VA_ARGS__;                              \
        total += part;                                                                             \
    }

#ifdef _OPENMP
#define MG_SUM_OF(part) _Pragma("omp simd reduction(+ : part)")     /* the compiler may not reorder a sum by itself */
#else
#define MG_SUM_OF(part)
#endif

/* For each image and each column of a tile; `at` is the place in memory. */
#define MG_EACH_COLUMN(...)                                                                        \
    for (mg_size k = 0; k < images; k++) {                                                         \
        const mg_size start = (k * channels + c) * area;                                           \
        for (mg_size j = 0; j < width; j++) { const mg_size at = start + j; __VA_ARGS__; }         \
    }

/* The sum of the columns of one channel. */
static inline double mg_fold(double *sums, mg_size area) {
    double total = 0;
    for (mg_size i = 0; i < area; i++) total += sums[i];
    return total;
}

#define MG_CHANNEL_LOOPS(T, suffix, SQRT)                                                          \
    /* one channel c */                                                                            \
    MG_SIMD static void mg_norm_channel_##suffix(const T *x, const T *w, const T *b, T *z, T *mean, T *rstd, T *variance, \
                                                 mg_size images, mg_size channels, mg_size area, T eps, mg_size c) { \
        const double count = (double)images * area;                                                \
        MG_ADD_UP(total, x[i])                                                              \
        const T m = (T)(total / count);                                                            \
        MG_ADD_UP(squares, (x[i] - m) * (x[i] - m))                                         \
        const T v = (T)(squares / count), s = 1 / SQRT(v + eps), scale = w ? s * w[c] : s, shift = b ? b[c] : 0; \
        mean[c] = m, variance[c] = v, rstd[c] = s;                                                 \
        for (mg_size k = 0; k < images; k++) {                                                     \
            const mg_size at = (k * channels + c) * area;                                          \
            for (mg_size i = at; i < at + area; i++) z[i] = (x[i] - m) * scale + shift;            \
        }                                                                                          \
    }                                                                                              \
    /* `width` columns, those of a tile of channels that begins with c */                          \
    MG_SIMD static void mg_norm_columns_##suffix(const T *x, const T *w, const T *b, T *z, T *mean, T *rstd, T *variance, \
                                                 mg_size images, mg_size channels, mg_size area, T eps, mg_size c, \
                                                 mg_size width) {                                  \
        const double count = (double)images * area;                                                \
        double sums[MG_COLUMNS] = {0};                                                             \
        T m[MG_COLUMNS], scale[MG_COLUMNS], shift[MG_COLUMNS];                                     \
        MG_EACH_COLUMN(sums[j] += x[at])                                                           \
        for (mg_size j = 0; j < width; j++) {                                                      \
            if (j % area == 0) mean[c + j / area] = (T)(mg_fold(sums + j, area) / count);          \
            m[j] = mean[c + j / area];                                                             \
        }                                                                                          \
        memset(sums, 0, sizeof sums);                                                              \
        MG_EACH_COLUMN(sums[j] += (x[at] - m[j]) * (x[at] - m[j]))                                 \
        for (mg_size j = 0; j < width; j++) {                                                      \
            const mg_size d = c + j / area;                                                        \
            if (j % area == 0) {                                                                   \
                variance[d] = (T)(mg_fold(sums + j, area) / count);                                \
                rstd[d] = 1 / SQRT(variance[d] + eps);                                             \
            }                                                                                      \
            scale[j] = w ? rstd[d] * w[d] : rstd[d], shift[j] = b ? b[d] : 0;                      \
        }                                                                                          \
        MG_EACH_COLUMN(z[at] = (x[at] - m[j]) * scale[j] + shift[j])                               \
    }                                                                                              \
    MG_SIMD static void mg_slope_channel_##suffix(const T *g, const T *x, const T *w, const T *mean, const T *rstd, T *dx, T *dw, \
                                                  T *db, mg_size images, mg_size channels, mg_size area, mg_size c) { \
        const double count = (double)images * area;                                                \
        const T m = mean[c], s = rstd[c], scale = w ? s * w[c] : s;                                \
        MG_ADD_UP(of_y, g[i] * ((x[i] - m) * s))                                            \
        MG_ADD_UP(of_b, g[i])                                                               \
        dw[c] = (T)of_y, db[c] = (T)of_b;                                                          \
        const T p = (T)(of_b / count), q = (T)(of_y / count);                                      \
        for (mg_size k = 0; k < images; k++) {                                                     \
            const mg_size at = (k * channels + c) * area;                                          \
            for (mg_size i = at; i < at + area; i++) dx[i] = scale * (g[i] - p - (x[i] - m) * s * q); \
        }                                                                                          \
    }                                                                                              \
    MG_SIMD static void mg_slope_columns_##suffix(const T *g, const T *x, const T *w, const T *mean, const T *rstd, T *dx, T *dw, \
                                                  T *db, mg_size images, mg_size channels, mg_size area, mg_size c, \
                                                  mg_size width) {                                 \
        const double count = (double)images * area;                                                \
        double of_y[MG_COLUMNS] = {0}, of_b[MG_COLUMNS] = {0};                                     \
        T m[MG_COLUMNS], s[MG_COLUMNS], scale[MG_COLUMNS], p[MG_COLUMNS], q[MG_COLUMNS];           \
        for (mg_size j = 0; j < width; j++) {                                                      \
            const mg_size d = c + j / area;                                                        \
            m[j] = mean[d], s[j] = rstd[d], scale[j] = w ? s[j] * w[d] : s[j];                     \
        }                                                                                          \
        MG_EACH_COLUMN(of_y[j] += g[at] * ((x[at] - m[j]) * s[j]); of_b[j] += g[at])               \
        for (mg_size j = 0; j < width; j += area) {                                                \
            const double y = mg_fold(of_y + j, area), b = mg_fold(of_b + j, area);                 \
            dw[c + j / area] = (T)y, db[c + j / area] = (T)b;                                      \
            for (mg_size i = j; i < j + area; i++) p[i] = (T)(b / count), q[i] = (T)(y / count);   \
        }                                                                                          \
        MG_EACH_COLUMN(dx[at] = scale[j] * (g[at] - p[j] - (x[at] - m[j]) * s[j] * q[j]))          \
    }                                                                                              \
    static void mg_batch_norm_##suffix(const T *x, const T *w, const T *b, T *z, T *mean, T *rstd, T *variance, mg_size images, \
                                       mg_size channels, mg_size area, T eps, int threads) {       \
        MG_ALL_CHANNELS(mg_norm_channel_##suffix(x, w, b, z, mean, rstd, variance, images, channels, area, eps, c), \
                        mg_norm_columns_##suffix(x, w, b, z, mean, rstd, variance, images, channels, area, eps, c, width)) \
    }                                                                                              \
    static void mg_batch_norm_backward_##suffix(const T *g, const T *x, const T *w, const T *mean, const T *rstd, T *dx, T *dw, \
                                                T *db, mg_size images, mg_size channels, mg_size area, int threads) { \
        MG_ALL_CHANNELS(mg_slope_channel_##suffix(g, x, w, mean, rstd, dx, dw, db, images, channels, area, c), \
                        mg_slope_columns_##suffix(g, x, w, mean, rstd, dx, dw, db, images, channels, area, c, width)) \
    }                                                                                              \
    /* z = (x - mean) scale + shift, for `count` planes from plane `from` on, or for matrices that many rows; shift may be NULL */ \
    MG_SIMD static void mg_shift_channels_##suffix(const T *x, const T *mean, const T *scale, const T *shift, T *z, \
                                                   mg_size channels, mg_size area, mg_size from, mg_size count) { \
        for (mg_size r = from; r < from + count; r++) {                                            \
            const mg_size c = r % channels;                                                        \
            if (area == 1) {                                                                       \
                const T *row = x + r * channels;                                                   \
                T *to = z + r * channels;                                                          \
                if (shift) for (mg_size i = 0; i < channels; i++) to[i] = (row[i] - mean[i]) * scale[i] + shift[i]; \
                else for (mg_size i = 0; i < channels; i++) to[i] = (row[i] - mean[i]) * scale[i]; \
            } else {                                                                               \
                const T m = mean[c], s = scale[c], b = shift ? shift[c] : 0;                       \
                for (mg_size i = r * area; i < (r + 1) * area; i++) z[i] = (x[i] - m) * s + b;     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void mg_normalize_channels_##suffix(const T *x, const T *mean, const T *scale, const T *shift, T *z, mg_size images, \
                                               mg_size channels, mg_size area, int threads) {      \
        const mg_size rows = area == 1 ? images : images * channels, n = area == 1 ? channels : area; \
        MG_SHARED_ROWS(rows, n, mg_shift_channels_##suffix(x, mean, scale, shift, z, channels, area, from, count)) \
    }

/* Run `one` for each channel c, or `tile` for each tile of channels. Threads take different channels, so that no sum depends on
   their number. */
#ifdef _OPENMP
#define MG_THREADS_IF_LARGE                                                                        \
    if (images * channels * area < MG_PARALLEL) threads = 1;                                       \
    _Pragma("omp parallel for num_threads(threads) if (threads > 1) schedule(static)")
#else
#define MG_THREADS_IF_LARGE (void)threads;
#endif
#define MG_ALL_CHANNELS(one, tile)                                                                 \
    const mg_size step = area < MG_PLANE ? MG_COLUMNS / area : 1, tiles = (channels + step - 1) / step; \
    MG_THREADS_IF_LARGE                                                                            \
    for (mg_size t = 0; t < tiles; t++) {                                                          \
        const mg_size c = t * step, width = (channels - c < step ? channels - c : step) * area;    \
        if (area < MG_PLANE) { tile; } else { (void)width; one; }                                  \
    }

MG_CHANNEL_LOOPS(float, f32, sqrtf)
MG_CHANNEL_LOOPS(double, f64, sqrt)

#endif
