/* Group normalisation: for each image and each group of channels, the mean and the variance over all places of its planes.

       z  = (x - mean) rstd w + b
       dx = rstd (h - mean(h) - y mean(h y)),  h = g w,  y = (x - mean) rstd;  dw = Σ g y, db = Σ g

   The planes of a group lie one after the other, so that a group is a row of memory. The backward first adds up g and g y of each
   plane. These sums give mean(h) and mean(h y), summed over the group and weighted by w, and also dw and db, summed over the images.

   A matrix has planes of one element. There, w and b change from element to element. */
#ifndef MINIGRAD_GROUPS_H
#define MINIGRAD_GROUPS_H

#include <math.h>

#include "pieces.h"
#include "simd.h"
#include "sums.h"

#define MG_EACH(count, ...) for (mg_size i = 0; i < (count); i++) { __VA_ARGS__; }

#define MG_GROUP_LOOPS(T, suffix, SQRT)                                                            \
    /* one group: `planes` planes of `area` elements; w and b begin with its first channel, or are NULL */ \
    MG_SIMD static void mg_norm_group_##suffix(const T *x, const T *w, const T *b, T *z, T *mean, T *rstd, mg_size planes, \
                                               mg_size area, T eps) {                              \
        const mg_size n = planes * area;                                                           \
        MG_TOTAL(T, total, n, x[i])                                                                \
        const T m = (T)(total / n);                                                                \
        MG_TOTAL(T, squares, n, (x[i] - m) * (x[i] - m))                                           \
        const T s = 1 / SQRT((T)(squares / n) + eps);                                              \
        *mean = m, *rstd = s;                                                                      \
        if (area == 1) {                                                                           \
            if (w && b) MG_EACH(n, z[i] = (x[i] - m) * (s * w[i]) + b[i])                          \
            else if (w) MG_EACH(n, z[i] = (x[i] - m) * (s * w[i]))                                 \
            else if (b) MG_EACH(n, z[i] = (x[i] - m) * s + b[i])                                   \
            else MG_EACH(n, z[i] = (x[i] - m) * s)                                                 \
            return;                                                                                \
        }                                                                                          \
        for (mg_size c = 0; c < planes; c++, x += area, z += area) {                               \
            const T scale = w ? s * w[c] : s, shift = b ? b[c] : 0;                                \
            MG_EACH(area, z[i] = (x[i] - m) * scale + shift)                                       \
        }                                                                                          \
    }                                                                                              \
    /* one group: dx, and for each of its channels the sums of g y and of g */                     \
    MG_SIMD static void mg_slope_group_##suffix(const T *g, const T *x, const T *w, T m, T s, T *dx, double *of_y, double *of_g, \
                                                mg_size planes, mg_size area) {                    \
        const mg_size n = planes * area;                                                           \
        double h = 0, hy = 0;                                                                      \
        for (mg_size c = 0; c < planes && area > 1; c++) {                                         \
            const T *gc = g + c * area, *xc = x + c * area;                                        \
            double total = 0, product = 0;                                                         \
            for (mg_size first = 0; first < area; first += MG_PART) {                              \
                const mg_size last = first + MG_PART < area ? first + MG_PART : area;              \
                T part = 0, other = 0;                                                             \
                MG_REDUCE(+, part, other)                                                          \
                for (mg_size i = first; i < last; i++) part += gc[i], other += gc[i] * ((xc[i] - m) * s); \
                total += part, product += other;                                                   \
            }                                                                                      \
            of_g[c] = total, of_y[c] = product;                                                    \
        }                                                                                          \
        if (area == 1) MG_EACH(n, of_g[i] = g[i]; of_y[i] = g[i] * ((x[i] - m) * s))               \
        MG_EACH(planes, const double by = w ? w[i] : 1; h += by * of_g[i]; hy += by * of_y[i])     \
        const T p = (T)(h / n), q = (T)(hy / n);                                                   \
        if (area == 1) {                                                                           \
            if (w) MG_EACH(n, dx[i] = s * (g[i] * w[i] - p - (x[i] - m) * s * q))                  \
            else MG_EACH(n, dx[i] = s * (g[i] - p - (x[i] - m) * s * q))                           \
            return;                                                                                \
        }                                                                                          \
        for (mg_size c = 0; c < planes; c++, g += area, x += area, dx += area) {                   \
            const T by = w ? w[c] : 1;                                                             \
            MG_EACH(area, dx[i] = s * (g[i] * by - p - (x[i] - m) * s * q))                        \
        }                                                                                          \
    }                                                                                              \
    static void mg_group_norm_##suffix(const T *x, const T *w, const T *b, T *z, T *mean, T *rstd, mg_size images, mg_size groups, \
                                       mg_size planes, mg_size area, T eps, int threads) {         \
        const mg_size n = planes * area;                                                           \
        MG_SHARED_ROWS(images * groups, n, for (mg_size r = from; r < from + count; r++) {         \
            const mg_size c = r % groups * planes;                                                 \
            mg_norm_group_##suffix(x + r * n, w ? w + c : 0, b ? b + c : 0, z + r * n, mean + r, rstd + r, planes, area, eps); \
        })                                                                                         \
    }                                                                                              \
    /* `sums` has room for two numbers per channel of each image */                                \
    static void mg_group_norm_backward_##suffix(const T *g, const T *x, const T *w, const T *mean, const T *rstd, T *dx, T *dw, \
                                                T *db, double *sums, mg_size images, mg_size groups, mg_size planes, \
                                                mg_size area, int threads) {                       \
        const mg_size n = planes * area, channels = groups * planes;                               \
        double *of_y = sums, *of_g = sums + images * channels;                                     \
        MG_SHARED_ROWS(images * groups, n, for (mg_size r = from; r < from + count; r++) {         \
            mg_slope_group_##suffix(g + r * n, x + r * n, w ? w + r % groups * planes : 0, mean[r], rstd[r], dx + r * n, \
                                    of_y + r * planes, of_g + r * planes, planes, area);           \
        })                                                                                         \
        for (mg_size k = 1; k < images; k++)                                                       \
            MG_EACH(channels, of_y[i] += of_y[k * channels + i]; of_g[i] += of_g[k * channels + i]) \
        MG_EACH(channels, dw[i] = (T)of_y[i]; db[i] = (T)of_g[i])                                  \
    }

MG_GROUP_LOOPS(float, f32, sqrtf)
MG_GROUP_LOOPS(double, f64, sqrt)

#endif
