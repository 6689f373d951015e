/* Reductions of n numbers to one: variance, product, sum without nan, log Σ exp. Each is a function of one row, and one of
   neighbouring columns; a loop takes an array of outer x n x inner numbers apart into them. */
#ifndef MINIGRAD_REDUCTIONS_H
#define MINIGRAD_REDUCTIONS_H

#include "rows.h"

/* Do something for the columns of each tile: `columns` of them, from `first` on. The `width` lanes are those columns; or, if they
   are few, those of several rows, as many as fit, so that the vectors are filled. */
#define MG_COLUMN_TILES(T, ...)                                                                    \
    for (mg_size o = 0; o < outer; o++)                                                            \
        for (mg_size first = 0, columns; first < inner; first += columns) {                        \
            const int narrow = inner <= MG_WIDE / 2;                                               \
            columns = inner - first < MG_WIDE ? inner - first : MG_WIDE;                           \
            const mg_size width = narrow ? MG_WIDE / inner * inner : columns, step = narrow ? width : inner; \
            const mg_size count = narrow ? n * inner / width : n, left = narrow ? n * inner - count * width : 0; \
            const T *from = p + o * n * inner + first;                                             \
            T *to = r + o * inner + first;                                                         \
            __VA_ARGS__                                                                            \
        }

/* Do something for each number v of row k of the tile, which is in lane i. The last row has the numbers that do not fill one. */
#define MG_LANES_OF_ROW(T, ...)                                                                    \
    const T *row = from + k * step;                                                                \
    const mg_size lanes = k < count ? width : left;                                                \
    for (mg_size i = 0; i < lanes; i++) { const T v = row[i]; __VA_ARGS__ }
#define MG_EACH_LANE(T, ...) for (mg_size k = 0; k <= count; k++) { MG_LANES_OF_ROW(T, __VA_ARGS__) }
/* total[i] += Σ of the last argument over the numbers of lane i, in parts of MG_FEW_ROWS */
#define MG_SUM_LANES(T, ...)                                                                       \
    for (mg_size k = 0; k <= count; k++) {                                                         \
        MG_LANES_OF_ROW(T, part[i] += (__VA_ARGS__);)                                              \
        if (k % MG_FEW_ROWS == MG_FEW_ROWS - 1 || k == count)                                      \
            for (mg_size i = 0; i < width; i++) total[i] += part[i], part[i] = 0;                  \
    }
#define MG_FOLD(...) for (mg_size i = columns; i < width; i++) { const mg_size c = i % columns; __VA_ARGS__ }
#define MG_SPREAD(stat) for (mg_size i = columns; i < width; i++) stat[i] = stat[i - columns];

#define MG_REDUCTIONS(T, suffix, EXP)                                                              \
    static inline T mg_var_of_##suffix(const T *x, mg_size n, double freedom) {                    \
        MG_TOTAL(double, total, n, x[i])                                                           \
        const double mean = total / (n ? n : 1);                                                   \
        MG_TOTAL(double, squares, n, (x[i] - mean) * (x[i] - mean))                                \
        return (T)(squares / freedom);                                                             \
    }                                                                                              \
    MG_SIMD static void mg_var_columns_##suffix(const T *p, T *r, mg_size outer, mg_size n, mg_size inner, double freedom) { \
        MG_COLUMN_TILES(T,                                                                         \
            double total[MG_WIDE] = {0}, part[MG_WIDE] = {0}, mean[MG_WIDE];                       \
            MG_SUM_LANES(T, v)                                                                     \
            MG_FOLD(total[c] += total[i];)                                                         \
            for (mg_size i = 0; i < columns; i++) mean[i] = total[i] / (n ? n : 1);                \
            MG_SPREAD(mean)                                                                        \
            for (mg_size i = 0; i < width; i++) total[i] = 0;                                      \
            MG_SUM_LANES(T, (v - mean[i]) * (v - mean[i]))                                         \
            MG_FOLD(total[c] += total[i];)                                                         \
            for (mg_size i = 0; i < columns; i++) to[i] = (T)(total[i] / freedom);                 \
        )                                                                                          \
    }                                                                                              \
    static inline T mg_prod_of_##suffix(const T *x, mg_size n, double unused) {                    \
        double z = 1;                                                                              \
        (void)unused;                                                                              \
        MG_REDUCE(*, z)                                                                            \
        for (mg_size i = 0; i < n; i++) z *= x[i];                                                 \
        return (T)z;                                                                               \
    }                                                                                              \
    MG_SIMD static void mg_prod_columns_##suffix(const T *p, T *r, mg_size outer, mg_size n, mg_size inner, double unused) { \
        (void)unused;                                                                              \
        MG_COLUMN_TILES(T,                                                                         \
            double total[MG_WIDE];                                                                 \
            for (mg_size i = 0; i < width; i++) total[i] = 1;                                      \
            MG_EACH_LANE(T, total[i] *= v;)                                                        \
            MG_FOLD(total[c] *= total[i];)                                                         \
            for (mg_size i = 0; i < columns; i++) to[i] = (T)total[i];                             \
        )                                                                                          \
    }                                                                                              \
    static inline T mg_nansum_of_##suffix(const T *x, mg_size n, double unused) {                  \
        (void)unused;                                                                              \
        MG_TOTAL(T, total, n, x[i] == x[i] ? x[i] : 0)                                             \
        return (T)total;                                                                           \
    }                                                                                              \
    MG_SIMD static void mg_nansum_columns_##suffix(const T *p, T *r, mg_size outer, mg_size n, mg_size inner, double unused) { \
        (void)unused;                                                                              \
        MG_COLUMN_TILES(T,                                                                         \
            double total[MG_WIDE] = {0};                                                           \
            T part[MG_WIDE] = {0};                                                                 \
            MG_SUM_LANES(T, v == v ? v : 0)                                                        \
            MG_FOLD(total[c] += total[i];)                                                         \
            for (mg_size i = 0; i < columns; i++) to[i] = (T)total[i];                             \
        )                                                                                          \
    }                                                                                              \
    static inline T mg_logsumexp_of_##suffix(const T *x, mg_size n, double unused) {               \
        T top = -INFINITY;                                                                         \
        (void)unused;                                                                              \
        for (mg_size i = 0; i < n; i++) top = x[i] > top ? x[i] : top;                             \
        if (isinf(top)) top = 0;                                                                   \
        MG_TOTAL(T, total, n, EXP(x[i] - top))                                                     \
        return (T)(log(total) + top);                                                              \
    }                                                                                              \
    MG_SIMD static void mg_logsumexp_columns_##suffix(const T *p, T *r, mg_size outer, mg_size n, mg_size inner, \
                                                      double unused) {                             \
        (void)unused;                                                                              \
        MG_COLUMN_TILES(T,                                                                         \
            double total[MG_WIDE] = {0};                                                           \
            T part[MG_WIDE] = {0}, top[MG_WIDE];                                                   \
            for (mg_size i = 0; i < width; i++) top[i] = -INFINITY;                                \
            MG_EACH_LANE(T, top[i] = v > top[i] ? v : top[i];)                                     \
            MG_FOLD(top[c] = top[i] > top[c] ? top[i] : top[c];)                                   \
            for (mg_size i = 0; i < columns; i++) top[i] = isinf(top[i]) ? 0 : top[i];             \
            MG_SPREAD(top)                                                                         \
            MG_SUM_LANES(T, EXP(v - top[i]))                                                       \
            MG_FOLD(total[c] += total[i];)                                                         \
            for (mg_size i = 0; i < columns; i++) to[i] = (T)(log(total[i]) + top[i]);             \
        )                                                                                          \
    }                                                                                              \
    MG_REDUCTION_LOOP(var, T, suffix) MG_REDUCTION_LOOP(prod, T, suffix) MG_REDUCTION_LOOP(nansum, T, suffix) \
    MG_REDUCTION_LOOP(logsumexp, T, suffix)

#define MG_REDUCTION_LOOP(name, T, suffix)                                                         \
    MG_SIMD static void mg_##name##_##suffix(const void *x, void *z, mg_size outer, mg_size n, mg_size inner, double argument) { \
        const T *p = (const T *)x; T *r = (T *)z;                                                  \
        if (inner != 1) mg_##name##_columns_##suffix(p, r, outer, n, inner, argument);             \
        else if (n > MG_SHORT_ROW) for (mg_size o = 0; o < outer; o++) r[o] = mg_##name##_of_##suffix(p + o * n, n, argument); \
        else for (mg_size o = 0; o < outer; o += MG_WIDE) {                                        \
            T turned[MG_SHORT_ROW * MG_WIDE], results[MG_WIDE];                                        \
            const mg_size some = outer - o < MG_WIDE ? outer - o : MG_WIDE;                        \
            MG_TURN_ROWS(p + o * n, turned, n, some, MG_WIDE)   /* not `some`: a result does not depend on other rows */ \
            mg_##name##_columns_##suffix(turned, results, 1, n, MG_WIDE, argument);                \
            for (mg_size i = 0; i < some; i++) r[o + i] = results[i];                              \
        }                                                                                          \
    }

MG_REDUCTIONS(float, f32, mg_exp_of_f32)
MG_REDUCTIONS(double, f64, mg_exp_of_f64)

typedef void (*mg_reduction)(const void *, void *, mg_size, mg_size, mg_size, double);
static const mg_reduction mg_var_loops[2] = {mg_var_f32, mg_var_f64}, mg_prod_loops[2] = {mg_prod_f32, mg_prod_f64},
    mg_nansum_loops[2] = {mg_nansum_f32, mg_nansum_f64}, mg_logsumexp_loops[2] = {mg_logsumexp_f32, mg_logsumexp_f64};

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
