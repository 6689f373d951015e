/* softmax and log_softmax over r of arrays x[o, r, i], and their backward: a tile of neighbouring columns at a time. */
#ifndef MINIGRAD_COLUMNS_H
#define MINIGRAD_COLUMNS_H

#include "rows.h"

#define MG_TOGETHER 64      /* columns of a tile */

/* The loop over the tiles: `x`, and other arrays, are at the first number of a tile of `width` columns. */
#define MG_EACH_TILE(...)                                                                          \
    for (mg_size o = 0; o < outer; o++)                                                            \
        for (mg_size first = 0; first < inner; first += MG_TOGETHER) {                                 \
            const mg_size at = o * n * inner + first, width = inner - first < MG_TOGETHER ? inner - first : MG_TOGETHER; \
            double total[MG_TOGETHER] = {0};                                                           \
            __VA_ARGS__                                                                            \
        }
#define MG_EACH_NUMBER(...)                                                                        \
    for (mg_size r = 0; r < n; r++)                                                                \
        for (mg_size i = 0, k = at + r * inner; i < width; i++, k++) { __VA_ARGS__ }

#define MG_COLUMN_LOOPS(T, suffix, EXP, EXP_DOWN, LOG)                                             \
    MG_SIMD static void mg_softmax_columns_##suffix(const T *x, T *z, mg_size outer, mg_size n, mg_size inner, int logarithm) { \
        MG_EACH_TILE(                                                                              \
            T top[MG_TOGETHER];                                                                        \
            for (mg_size i = 0; i < width; i++) top[i] = -INFINITY;                                \
            MG_EACH_NUMBER(top[i] = x[k] > top[i] ? x[k] : top[i];)                                \
            MG_EACH_NUMBER(z[k] = EXP_DOWN(x[k] - top[i]); total[i] += z[k];)                      \
            if (logarithm) {                                                                       \
                T shift[MG_TOGETHER];                                                                  \
                for (mg_size i = 0; i < width; i++) shift[i] = LOG((T)total[i]);                   \
                MG_EACH_NUMBER(z[k] = x[k] - top[i] - shift[i];)                                   \
            } else MG_EACH_NUMBER(z[k] /= (T)total[i];)                                            \
        )                                                                                          \
    }                                                                                              \
    /* out = z (g - Σ g z), and out = g - e^z Σ g for the logarithm */                             \
    MG_SIMD static void mg_softmax_backward_columns_##suffix(const T *g, const T *z, T *out, mg_size outer, mg_size n, \
                                                             mg_size inner, int logarithm) {       \
        MG_EACH_TILE(                                                                              \
            if (logarithm) {                                                                       \
                MG_EACH_NUMBER(total[i] += g[k];)                                                  \
                MG_EACH_NUMBER(out[k] = g[k] - EXP(z[k]) * (T)total[i];)                           \
            } else {                                                                               \
                MG_EACH_NUMBER(total[i] += g[k] * z[k];)                                           \
                MG_EACH_NUMBER(out[k] = z[k] * (g[k] - (T)total[i]);)                              \
            }                                                                                      \
        )                                                                                          \
    }
MG_COLUMN_LOOPS(float, f32, mg_exp_of_f32, mg_exp_down_f32, logf)
MG_COLUMN_LOOPS(double, f64, mg_exp_of_f64, mg_exp_of_f64, log)

#endif
