/* The loops of comparison.pyx: comparisons, and the choice between two elements by a mask. */
#ifndef MINIGRAD_COMPARISON_H
#define MINIGRAD_COMPARISON_H

#include "pieces.h"
#include "simd.h"

/* z = whether x and y compare so, for two arrays (VV) or an array and a number (VS) */
typedef void (*mg_compare)(const void *, const void *, char *, mg_size);
#define MG_COMPARE_LOOPS(name, T, suffix, relation)                                                \
    MG_SIMD static void mg_##name##_vv_##suffix(const void *x, const void *y, char *restrict z, mg_size n) { \
        const T *p = (const T *)x, *q = (const T *)y;                                              \
        for (mg_size i = 0; i < n; i++) z[i] = p[i] relation q[i];                                 \
    }                                                                                              \
    MG_SIMD static void mg_##name##_vs_##suffix(const void *x, const void *y, char *restrict z, mg_size n) { \
        const T *p = (const T *)x; const T b = *(const T *)y;                                      \
        for (mg_size i = 0; i < n; i++) z[i] = p[i] relation b;                                    \
    }
#define MG_COMPARE_TABLE(X) X(eq, 0, ==) X(ne, 1, !=) X(lt, 2, <) X(le, 3, <=) X(gt, 4, >) X(ge, 5, >=)
#define MG_DEFINE_COMPARE(name, number, relation)                                                  \
    MG_COMPARE_LOOPS(name, float, f32, relation) MG_COMPARE_LOOPS(name, double, f64, relation)
MG_COMPARE_TABLE(MG_DEFINE_COMPARE)
/* [op][0: float, 1: double][0: VV, 1: VS] */
#define MG_COMPARE_ENTRY(name, number, relation)                                                   \
    [number] = {{mg_##name##_vv_f32, mg_##name##_vs_f32}, {mg_##name##_vv_f64, mg_##name##_vs_f64}},
static const mg_compare mg_compare_loops[][2][2] = {MG_COMPARE_TABLE(MG_COMPARE_ENTRY)};

#define MG_COMPARE_NUMBER(name, number, relation) MG_C_##name = number,
enum { MG_COMPARE_TABLE(MG_COMPARE_NUMBER) MG_C_END };

/* z = a where c, else b. Both are read, and one is selected without a branch: for a random mask a branch takes most of the time. */
typedef void (*mg_choice)(const char *, const void *, const void *, void *, mg_size);
#define MG_CHOICE_LOOP(layout, T, suffix, A, B)                                                    \
    MG_SIMD static void mg_where_##layout##_##suffix(const char *c, const void *x, const void *y, void *z, mg_size n) { \
        const T *p = (const T *)x, *q = (const T *)y; T *r = (T *)z;                               \
        const T first = n ? *p : 0, second = n ? *q : 0; (void)first; (void)second;                \
        for (mg_size i = 0; i < n; i++) { const T a = A, b = B; r[i] = c[i] ? a : b; }             \
    }
#define MG_CHOICE_LOOPS(T, suffix)                                                                 \
    MG_CHOICE_LOOP(vv, T, suffix, p[i], q[i])                                                      \
    MG_CHOICE_LOOP(vs, T, suffix, p[i], second)                                                    \
    MG_CHOICE_LOOP(sv, T, suffix, first, q[i])                                                     \
    MG_CHOICE_LOOP(ss, T, suffix, first, second)
MG_CHOICE_LOOPS(float, f32)
MG_CHOICE_LOOPS(double, f64)
MG_CHOICE_LOOPS(int64_t, i64)

/* [0: float, 1: double, 2: int64][1 if x is a single number][1 if y is one] */
static const mg_choice mg_choice_loops[3][2][2] = {
    {{mg_where_vv_f32, mg_where_vs_f32}, {mg_where_sv_f32, mg_where_ss_f32}},
    {{mg_where_vv_f64, mg_where_vs_f64}, {mg_where_sv_f64, mg_where_ss_f64}},
    {{mg_where_vv_i64, mg_where_vs_i64}, {mg_where_sv_i64, mg_where_ss_i64}}};

static inline void mg_run_choice(mg_choice loop, const char *c, const char *x, const char *y, char *z, mg_size n, int itemsize,
                                 int x_moves, int y_moves, int threads) {
    MG_SHARED(n, loop(c + from, x + x_moves * from * itemsize, y + y_moves * from * itemsize, z + from * itemsize, count))
}

static inline void mg_run_compare(mg_compare loop, const char *x, const char *y, char *z, mg_size n, int itemsize, int y_moves,
                                  int threads) {
    MG_SHARED(n, loop(x + from * itemsize, y + y_moves * from * itemsize, z + from, count))
}

#endif
