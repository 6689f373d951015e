/* The largest and the smallest of n numbers, for each row of an array of outer x n x inner numbers. nan is beyond all. */
#ifndef MINIGRAD_EXTREMA_H
#define MINIGRAD_EXTREMA_H

#include "sums.h"

#ifdef _OPENMP
#define MG_REDUCE_TWO(how, x, how_too, y) MG_PRAGMA(omp simd reduction(how : x) reduction(how_too : y))
#else
#define MG_REDUCE_TWO(how, x, how_too, y)
#endif

/* z[o, i] = the best of x[o, r, i] over r. x != x for nan alone, which reductions of the compiler would pass over. */
#define MG_BEST(name, how, BETTER, T, suffix, NOT_A_NUMBER)                                        \
    MG_SIMD static void mg_##name##_##suffix(const void *p, void *q, mg_size outer, mg_size n, mg_size inner) { \
        const T *x = (const T *)p;                                                                 \
        T *z = (T *)q;                                                                             \
        for (mg_size o = 0; o < outer; o++, x += n * inner, z += inner) {                          \
            if (inner == 1) {                                                                      \
                T best = x[0];                                                                     \
                int nans = 0;                                                                      \
                MG_REDUCE_TWO(how, best, |, nans)                                                  \
                for (mg_size r = 0; r < n; r++) {                                                  \
                    best = x[r] BETTER best ? x[r] : best;                                         \
                    nans |= x[r] != x[r];                                                          \
                }                                                                                  \
                z[0] = nans ? NOT_A_NUMBER : best;                                                 \
                continue;                                                                          \
            }                                                                                      \
            for (mg_size i = 0; i < inner; i++) z[i] = x[i];                                       \
            for (mg_size r = 1; r < n; r++)                                                        \
                for (mg_size i = 0; i < inner; i++) {                                              \
                    const T v = x[r * inner + i];                                                  \
                    z[i] = (v BETTER z[i]) | (v != v) ? v : z[i];                                  \
                }                                                                                  \
        }                                                                                          \
    }
#define MG_EXTREMA(T, suffix, NOT_A_NUMBER)                                                        \
    MG_BEST(largest, max, >, T, suffix, NOT_A_NUMBER) MG_BEST(smallest, min, <, T, suffix, NOT_A_NUMBER)

MG_EXTREMA(float, f32, NAN)
MG_EXTREMA(double, f64, NAN)
MG_EXTREMA(int64_t, i64, 0)
MG_EXTREMA(uint8_t, u8, 0)

typedef void (*mg_extremum)(const void *, void *, mg_size, mg_size, mg_size);
static const mg_extremum mg_largest[] = {mg_largest_f32, mg_largest_f64, mg_largest_i64, mg_largest_u8},
    mg_smallest[] = {mg_smallest_f32, mg_smallest_f64, mg_smallest_i64, mg_smallest_u8};

#endif
