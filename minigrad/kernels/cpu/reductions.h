/* Reductions of n numbers to one: variance, product, log Σ exp. Each is a function of one row, whose numbers are `step` apart, and a
   loop over all rows of an array of outer x n x inner numbers. */
#ifndef MINIGRAD_REDUCTIONS_H
#define MINIGRAD_REDUCTIONS_H

#include "rows.h"

#define MG_REDUCTIONS(T, suffix, EXP)                                                              \
    static inline T mg_var_of_##suffix(const T *x, mg_size n, mg_size step, double freedom) {      \
        MG_TOTAL(double, total, n, x[i * step])                                                    \
        const double mean = total / (n ? n : 1);                                                   \
        MG_TOTAL(double, squares, n, (x[i * step] - mean) * (x[i * step] - mean))                  \
        return (T)(squares / freedom);                                                             \
    }                                                                                              \
    static inline T mg_prod_of_##suffix(const T *x, mg_size n, mg_size step, double unused) {      \
        double z = 1;                                                                              \
        (void)unused;                                                                              \
        MG_REDUCE(*, z)                                                                            \
        for (mg_size i = 0; i < n; i++) z *= x[i * step];                                          \
        return (T)z;                                                                               \
    }                                                                                              \
    static inline T mg_logsumexp_of_##suffix(const T *x, mg_size n, mg_size step, double unused) { \
        T top = -INFINITY;                                                                         \
        (void)unused;                                                                              \
        for (mg_size i = 0; i < n; i++) top = x[i * step] > top ? x[i * step] : top;               \
        if (isinf(top)) top = 0;                                                                   \
        MG_TOTAL(T, total, n, EXP(x[i * step] - top))                                              \
        return (T)(log(total) + top);                                                              \
    }                                                                                              \
    MG_REDUCTION_LOOP(var, T, suffix) MG_REDUCTION_LOOP(logsumexp, T, suffix) MG_PROD_LOOP(T, suffix)

/* The step of neighbours is written as 1, so that the compiler vectorises. */
#define MG_REDUCTION_LOOP(name, T, suffix)                                                         \
    MG_SIMD static void mg_##name##_##suffix(const void *x, void *z, mg_size outer, mg_size n, mg_size inner, double argument) { \
        const T *p = (const T *)x; T *r = (T *)z;                                                  \
        if (inner == 1) for (mg_size o = 0; o < outer; o++) r[o] = mg_##name##_of_##suffix(p + o * n, n, 1, argument); \
        else for (mg_size o = 0; o < outer; o++) for (mg_size i = 0; i < inner; i++)               \
            r[o * inner + i] = mg_##name##_of_##suffix(p + o * n * inner + i, n, inner, argument); \
    }

/* Columns are multiplied row by row, in the order of memory: some of them at a time, whose products stay in the cache. */
#define MG_PROD_LOOP(T, suffix)                                                                    \
    MG_SIMD static void mg_prod_##suffix(const void *x, void *z, mg_size outer, mg_size n, mg_size inner, double unused) { \
        const T *p = (const T *)x; T *r = (T *)z;                                                  \
        if (inner == 1) for (mg_size o = 0; o < outer; o++) r[o] = mg_prod_of_##suffix(p + o * n, n, 1, unused); \
        else for (mg_size o = 0; o < outer; o++) for (mg_size first = 0; first < inner; first += MG_SOME) { \
            const mg_size width = inner - first < MG_SOME ? inner - first : MG_SOME;               \
            double products[MG_SOME];                                                              \
            for (mg_size i = 0; i < width; i++) products[i] = 1;                                   \
            for (mg_size k = 0; k < n; k++)                                                        \
                for (mg_size i = 0; i < width; i++) products[i] *= p[(o * n + k) * inner + first + i]; \
            for (mg_size i = 0; i < width; i++) r[o * inner + first + i] = (T)products[i];         \
        }                                                                                          \
    }
#define MG_SOME 128

MG_REDUCTIONS(float, f32, mg_exp_of_f32)
MG_REDUCTIONS(double, f64, mg_exp_of_f64)

typedef void (*mg_reduction)(const void *, void *, mg_size, mg_size, mg_size, double);
static const mg_reduction mg_var_loops[2] = {mg_var_f32, mg_var_f64}, mg_prod_loops[2] = {mg_prod_f32, mg_prod_f64},
    mg_logsumexp_loops[2] = {mg_logsumexp_f32, mg_logsumexp_f64};

/* z[o, i] = Σ x[o, k, i] over k, for integers, which wrap around */
MG_SIMD static void mg_sum_whole(const int64_t *x, int64_t *z, mg_size outer, mg_size n, mg_size inner) {
    uint64_t *sums = (uint64_t *)z;
    if (inner == 1) {
        for (mg_size o = 0; o < outer; o++, x += n) {
            uint64_t sum = 0;
            for (mg_size k = 0; k < n; k++) sum += (uint64_t)x[k];
            sums[o] = sum;
        }
        return;
    }
    for (mg_size o = 0; o < outer; o++, sums += inner) {
        for (mg_size i = 0; i < inner; i++) sums[i] = 0;
        for (mg_size k = 0; k < n; k++, x += inner)
            for (mg_size i = 0; i < inner; i++) sums[i] += (uint64_t)x[i];
    }
}

#endif
