/* Loops over rows: softmax and its kin, and layer normalisation. One set for float, one for double.

   Sums and maxima along a row are told to the compiler as reductions, because it may not reorder them by itself. */
#ifndef MINIGRAD_ROWS_H
#define MINIGRAD_ROWS_H

#include "functions.h"
#include "simd.h"

#define MG_PRAGMA(x) _Pragma(#x)
#ifdef _OPENMP
#define MG_REDUCE(how, ...) MG_PRAGMA(omp simd reduction(how : __VA_ARGS__))
#else
#define MG_REDUCE(how, ...)
#endif

/* The largest number of a row; nan is passed over, it comes back with the exponentials. */
#define MG_TOP(T, x, n)                                                                            \
    T top = -INFINITY;                                                                             \
    MG_REDUCE(max, top)                                                                            \
    for (mg_size i = 0; i < (n); i++) top = (x)[i] > top ? (x)[i] : top

#define MG_ROW_LOOPS(T, suffix, EXP, LOG, SQRT)                                                    \
    MG_SIMD static double mg_sum_row_##suffix(const T *x, mg_size n) {                             \
        double total = 0;                                                                          \
        MG_REDUCE(+, total)                                                                        \
        for (mg_size i = 0; i < n; i++) total += x[i];                                             \
        return total;                                                                              \
    }                                                                                              \
                                                                                                   \
    /* z = softmax(scale x); if queries > 0, row r sees its first 1 + r % queries numbers only. x may be z. */ \
    MG_SIMD static void mg_softmax_##suffix(const T *x, T *z, mg_size rows, mg_size n, T scale, mg_size queries) { \
        for (mg_size r = 0; r < rows; r++, x += n, z += n) {                                       \
            const mg_size limit = queries > 0 && r % queries + 1 < n ? r % queries + 1 : n;        \
            MG_TOP(T, x, limit);                                                                   \
            T total = 0;                                                                           \
            MG_REDUCE(+, total)                                                                    \
            for (mg_size i = 0; i < limit; i++) {                                                  \
                const T e = EXP(scale * (x[i] - top));                                             \
                z[i] = e;                                                                          \
                total += e;                                                                        \
            }                                                                                      \
            for (mg_size i = 0; i < limit; i++) z[i] /= total;                                     \
            for (mg_size i = limit; i < n; i++) z[i] = 0;                                          \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    MG_SIMD static void mg_log_softmax_##suffix(const T *x, T *z, mg_size rows, mg_size n) {       \
        for (mg_size r = 0; r < rows; r++, x += n, z += n) {                                       \
            MG_TOP(T, x, n);                                                                       \
            T total = 0;                                                                           \
            MG_REDUCE(+, total)                                                                    \
            for (mg_size i = 0; i < n; i++) total += EXP(x[i] - top);                              \
            const T shift = LOG(total);                                                            \
            for (mg_size i = 0; i < n; i++) z[i] = (x[i] - top) - shift;                           \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* out = z (g - Σ g z) */                                                                      \
    MG_SIMD static void mg_softmax_backward_##suffix(const T *g, const T *z, T *out, mg_size rows, mg_size n) { \
        for (mg_size r = 0; r < rows; r++, g += n, z += n, out += n) {                             \
            T total = 0;                                                                           \
            MG_REDUCE(+, total)                                                                    \
            for (mg_size i = 0; i < n; i++) total += g[i] * z[i];                                  \
            for (mg_size i = 0; i < n; i++) out[i] = z[i] * (g[i] - total);                        \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* out = g - e^z Σ g */                                                                        \
    MG_SIMD static void mg_log_softmax_backward_##suffix(const T *g, const T *z, T *out, mg_size rows, mg_size n) { \
        for (mg_size r = 0; r < rows; r++, g += n, z += n, out += n) {                             \
            T total = 0;                                                                           \
            MG_REDUCE(+, total)                                                                    \
            for (mg_size i = 0; i < n; i++) total += g[i];                                         \
            for (mg_size i = 0; i < n; i++) out[i] = g[i] - EXP(z[i]) * total;                     \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* z = (x - mean) rstd w + b; w and b may be NULL */                                           \
    MG_SIMD static void mg_layer_norm_##suffix(const T *x, const T *w, const T *b, T *z, T *mean, T *rstd, mg_size rows, \
                                               mg_size n, T eps) {                                 \
        for (mg_size r = 0; r < rows; r++, x += n, z += n) {                                       \
            T total = 0, squares = 0;                                                              \
            MG_REDUCE(+, total)                                                                    \
            for (mg_size i = 0; i < n; i++) total += x[i];                                         \
            const T m = total / n;                                                                 \
            MG_REDUCE(+, squares)                                                                  \
            for (mg_size i = 0; i < n; i++) squares += (x[i] - m) * (x[i] - m);                    \
            const T s = 1 / SQRT(squares / n + eps);                                               \
            for (mg_size i = 0; i < n; i++) z[i] = (x[i] - m) * s;                                 \
            if (w) for (mg_size i = 0; i < n; i++) z[i] *= w[i];                                   \
            if (b) for (mg_size i = 0; i < n; i++) z[i] += b[i];                                   \
            mean[r] = m;                                                                           \
            rstd[r] = s;                                                                           \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* dx = rstd (h - mean(h) - y mean(h y)) with y = (x - mean) rstd and h = g w; w may be NULL. What the rows sum to, \
       dw = Σ g y and db = Σ g, is added to dw and db. */                                          \
    MG_SIMD static void mg_layer_norm_backward_##suffix(const T *g, const T *x, const T *w, const T *mean, const T *rstd, T *dx, \
                                                        T *dw, T *db, mg_size rows, mg_size n) {   \
        for (mg_size r = 0; r < rows; r++, g += n, x += n, dx += n) {                              \
            const T m = mean[r], s = rstd[r];                                                      \
            for (mg_size i = 0; i < n; i++) dw[i] += g[i] * ((x[i] - m) * s);                      \
            for (mg_size i = 0; i < n; i++) db[i] += g[i];                                         \
            T total = 0, product = 0;                                                              \
            for (mg_size i = 0; i < n; i++) dx[i] = w ? g[i] * w[i] : g[i];                        \
            MG_REDUCE(+, total, product)                                                           \
            for (mg_size i = 0; i < n; i++) {                                                      \
                total += dx[i];                                                                    \
                product += dx[i] * ((x[i] - m) * s);                                               \
            }                                                                                      \
            total /= n;                                                                            \
            product /= n;                                                                          \
            for (mg_size i = 0; i < n; i++) dx[i] = s * (dx[i] - total - (x[i] - m) * s * product); \
        }                                                                                          \
    }

MG_ROW_LOOPS(float, f32, mg_exp_of_f32, logf, sqrtf)
MG_ROW_LOOPS(double, f64, mg_exp_of_f64, log, sqrt)

#endif
