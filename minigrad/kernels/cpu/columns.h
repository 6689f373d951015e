/* softmax and log_softmax over r of arrays x[o, r, i], and their backward: neighbouring columns are computed together, and so are
   short rows. */
#ifndef MINIGRAD_COLUMNS_H
#define MINIGRAD_COLUMNS_H

#include "rows.h"

/* The loop over the tiles: `x`, and other arrays, are at the first number of a tile of `width` columns. */
#define MG_EACH_TILE(...)                                                                          \
    for (mg_size o = 0; o < outer; o++)                                                            \
        for (mg_size first = 0; first < inner; first += MG_WIDE) {                                 \
            const mg_size at = o * n * inner + first, width = inner - first < MG_WIDE ? inner - first : MG_WIDE; \
            double total[MG_WIDE] = {0};                                                           \
            __VA_ARGS__                                                                            \
        }
#define MG_EACH_NUMBER(...)                                                                        \
    for (mg_size r = 0; r < n; r++)                                                                \
        for (mg_size i = 0, k = at + r * inner; i < width; i++, k++) { __VA_ARGS__ }

#define MG_COLUMN_LOOPS(T, suffix, EXP, EXP_DOWN, LOG)                                             \
    MG_SIMD static void mg_softmax_columns_##suffix(const T *x, T *z, mg_size outer, mg_size n, mg_size inner, int logarithm) { \
        MG_EACH_TILE(                                                                              \
            T top[MG_WIDE];                                                                        \
            for (mg_size i = 0; i < width; i++) top[i] = -INFINITY;                                \
            MG_EACH_NUMBER(top[i] = x[k] > top[i] ? x[k] : top[i];)                                \
            MG_EACH_NUMBER(z[k] = EXP_DOWN(x[k] - top[i]); total[i] += z[k];)                      \
            if (logarithm) {                                                                       \
                T shift[MG_WIDE];                                                                  \
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
    }                                                                                              \
    MG_SIMD static void mg_softmax_short_##suffix(const T *x, T *z, mg_size rows, mg_size n, int logarithm) { \
        T turned[MG_SHORT_ROW * MG_WIDE], results[MG_SHORT_ROW * MG_WIDE];                                 \
        for (mg_size some; rows > 0; rows -= some, x += some * n, z += some * n) {                 \
            some = rows < MG_WIDE ? rows : MG_WIDE;                                                \
            MG_TURN_ROWS(x, turned, n, some, some)                                                 \
            mg_softmax_columns_##suffix(turned, results, 1, n, some, logarithm);                   \
            MG_TURN_BACK(results, z)                                                               \
        }                                                                                          \
    }                                                                                              \
    MG_SIMD static void mg_softmax_backward_short_##suffix(const T *g, const T *z, T *out, mg_size rows, mg_size n, \
                                                           int logarithm) {                        \
        T turned[MG_SHORT_ROW * MG_WIDE], results[MG_SHORT_ROW * MG_WIDE];                                 \
        for (mg_size some; rows > 0; rows -= some, g += some * n, z += some * n, out += some * n) { \
            some = rows < MG_WIDE ? rows : MG_WIDE;                                                \
            MG_TURN_ROWS(g, turned, n, some, some)                                                 \
            MG_TURN_ROWS(z, results, n, some, some)                                                \
            mg_softmax_backward_columns_##suffix(turned, results, turned, 1, n, some, logarithm);  \
            MG_TURN_BACK(turned, out)                                                              \
        }                                                                                          \
    }                                                                                              \
    static void mg_run_softmax_short_##suffix(const T *x, T *z, mg_size rows, mg_size n, int logarithm, int threads) { \
        MG_SHARED_ROWS(rows, n, mg_softmax_short_##suffix(x + from * n, z + from * n, count, n, logarithm)) \
    }                                                                                              \
    static void mg_run_softmax_backward_short_##suffix(const T *g, const T *z, T *out, mg_size rows, mg_size n, int logarithm, \
                                                       int threads) {                              \
        MG_SHARED_ROWS(rows, n, mg_softmax_backward_short_##suffix(g + from * n, z + from * n, out + from * n, count, n, \
                                                                   logarithm))                     \
    }
#define MG_TURN_BACK(turned, z)                                                                    \
    for (mg_size i = 0; i < some; i++)                                                             \
        for (mg_size k = 0; k < n; k++) (z)[i * n + k] = (turned)[k * some + i];

MG_COLUMN_LOOPS(float, f32, mg_exp_of_f32, mg_exp_down_f32, logf)
MG_COLUMN_LOOPS(double, f64, mg_exp_of_f64, mg_exp_of_f64, log)

#endif
