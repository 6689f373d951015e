/* Maxima over windows, sixteen windows at a time.

   The positions of the windows' elements are the same for all planes. So we compute them once, tap by tap; a tap is a position in
   the window. The remaining loop has no branches: the processor would predict wrongly, half of the time, which of two numbers is
   larger. And planes with short rows fill vectors as well as others. */
#ifndef MINIGRAD_POOLING_H
#define MINIGRAD_POOLING_H

#include <stdint.h>
#include <stdlib.h>

#include "simd.h"

#define MG_AT_ONCE 16
#ifdef _OPENMP
#define MG_EACH _Pragma("omp simd")     /* without it the compiler unrolls such short loops before it vectorises */
#else
#define MG_EACH
#endif

#define MG_WRITTEN 4096                 /* windows whose positions are computed together */

/* Planes of `size` (depth, height, width), with `out` windows of `kernel` elements. places[d][i * kernel[d] + j] is the position of
   element j of window i along dimension d. T is the type of the elements. I is an integer type of the same width, which can count
   the elements of a plane. Returns -1 if there is no memory. */
#define MG_MAX_PLANES(T, I, suffix)                                                                \
    MG_SIMD static void mg_max_plane_##suffix(const T *x, T *z, int64_t *index, const I *where, mg_size taps, mg_size count) { \
        for (mg_size o = 0; o < count; o += MG_AT_ONCE) {                                          \
            const I *at = where + o;                                                               \
            T top[MG_AT_ONCE];                                                                     \
            I best[MG_AT_ONCE];                                                                    \
            MG_EACH for (int l = 0; l < MG_AT_ONCE; l++) top[l] = x[at[l]], best[l] = at[l];       \
            for (mg_size t = 1; t < taps; t++) {                                                   \
                at += MG_WRITTEN;                                                                  \
                MG_EACH for (int l = 0; l < MG_AT_ONCE; l++) {      /* the last nan wins */        \
                    const T v = x[at[l]];                                                          \
                    const I better = (v > top[l]) | (v != v);                                      \
                    best[l] = better ? at[l] : best[l];                                            \
                    top[l] = better ? v : top[l];                                                  \
                }                                                                                  \
            }                                                                                      \
            if (o + MG_AT_ONCE <= count) {                                                         \
                MG_EACH for (int l = 0; l < MG_AT_ONCE; l++) z[o + l] = top[l];                    \
                MG_EACH for (int l = 0; l < MG_AT_ONCE; l++) index[o + l] = best[l];               \
            } else                                                                                 \
                for (mg_size l = 0; o + l < count; l++) z[o + l] = top[l], index[o + l] = best[l]; \
        }                                                                                          \
    }                                                                                              \
    static int mg_max_planes_##suffix(const T *x, T *z, int64_t *index, mg_size planes, const mg_size *size, \
                                      const mg_size *kernel, const mg_size *out, int64_t *const *places) { \
        const mg_size all = out[0] * out[1] * out[2], area = size[0] * size[1] * size[2];          \
        const mg_size taps = kernel[0] * kernel[1] * kernel[2];                                    \
        I *where = (I *)calloc(taps * MG_WRITTEN, sizeof(I));                                      \
        if (!where) return -1;                                                                     \
        for (mg_size first = 0; first < all; first += MG_WRITTEN) {                                \
            const mg_size count = all - first < MG_WRITTEN ? all - first : MG_WRITTEN;             \
            for (mg_size o = 0; o < count; o++) {                                                  \
                const mg_size ox = (first + o) % out[2], row = (first + o) / out[2];               \
                const int64_t *z_of = places[0] + row / out[1] * kernel[0], *y_of = places[1] + row % out[1] * kernel[1]; \
                I *to = where + o;                                                                 \
                for (mg_size h = 0; h < kernel[0]; h++)                                            \
                    for (mg_size i = 0; i < kernel[1]; i++)                                        \
                        for (mg_size j = 0; j < kernel[2]; j++, to += MG_WRITTEN)                  \
                            *to = (I)((z_of[h] * size[1] + y_of[i]) * size[2] + places[2][ox * kernel[2] + j]); \
            }                                                                                      \
            for (mg_size p = 0; p < planes; p++)                                                   \
                mg_max_plane_##suffix(x + p * area, z + p * all + first, index + p * all + first, where, taps, count); \
        }                                                                                          \
        free(where);                                                                               \
        return 0;                                                                                  \
    }
MG_MAX_PLANES(float, int32_t, f32)
MG_MAX_PLANES(double, int64_t, f64)

#endif
