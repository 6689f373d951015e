/* Macros for the inner loops of the elementwise kernels: elementwise.h, halves.h and ufuncs.h make loops of expressions with them.

   Each is a plain C loop over contiguous memory, which the compiler vectorises (simd.h). A binary loop has three layouts: both
   operands are arrays (VV), the second is a single number (VS), or the first is (SV). */
#ifndef MINIGRAD_LOOPS_H
#define MINIGRAD_LOOPS_H

#include "pieces.h"
#include "simd.h"

typedef void (*mg_binary)(const void *, const void *, void *, mg_size);
typedef void (*mg_unary)(const void *, void *, mg_size);

/* z = f(a, b). There is no `restrict`, because the loop may run in place (z == x). */
#define MG_BINARY_LOOPS(name, T, suffix, expression)                                               \
    MG_SIMD static void mg_##name##_vv_##suffix(const void *x, const void *y, void *z, mg_size n) { \
        const T *p = (const T *)x, *q = (const T *)y; T *r = (T *)z;                               \
        for (mg_size i = 0; i < n; i++) { const T a = p[i], b = q[i]; r[i] = (expression); }       \
    }                                                                                              \
    MG_SIMD static void mg_##name##_vs_##suffix(const void *x, const void *y, void *z, mg_size n) { \
        const T *p = (const T *)x; const T b = *(const T *)y; T *r = (T *)z;                       \
        for (mg_size i = 0; i < n; i++) { const T a = p[i]; r[i] = (expression); }                 \
    }                                                                                              \
    MG_SIMD static void mg_##name##_sv_##suffix(const void *x, const void *y, void *z, mg_size n) { \
        const T *q = (const T *)y; const T a = *(const T *)x; T *r = (T *)z;                       \
        for (mg_size i = 0; i < n; i++) { const T b = q[i]; r[i] = (expression); }                 \
    }

#define MG_UNARY_LOOPS(SIMD, name, T, suffix, expression)                                          \
    SIMD static void mg_##name##_##suffix(const void *x, void *z, mg_size n) {                  \
        const T *p = (const T *)x; T *r = (T *)z;                                                  \
        for (mg_size i = 0; i < n; i++) { const T a = p[i]; r[i] = (expression); }                 \
    }

/* A line of a table is X(name, number, expression for float, expression for double). MG_DEFINE_... makes its loops (PLAIN: of
   functions that do not vectorise), and MG_..._ENTRY the entry of an array: [number][0: float, 1: double], and for binary loops
   [0: VV, 1: VS, 2: SV]. */
#define MG_DEFINE_BINARY(name, number, f, d) MG_BINARY_LOOPS(name, float, f32, f) MG_BINARY_LOOPS(name, double, f64, d)
#define MG_DEFINE_UNARY(name, number, f, d)                                                        \
    MG_UNARY_LOOPS(MG_SIMD, name, float, f32, f) MG_UNARY_LOOPS(MG_SIMD, name, double, f64, d)
#define MG_DEFINE_PLAIN(name, number, f, d) MG_UNARY_LOOPS(, name, float, f32, f) MG_UNARY_LOOPS(, name, double, f64, d)
#define MG_BINARY_ENTRY(name, number, f, d)                                                        \
    [number] = {{mg_##name##_vv_f32, mg_##name##_vs_f32, mg_##name##_sv_f32},                      \
                {mg_##name##_vv_f64, mg_##name##_vs_f64, mg_##name##_sv_f64}},
#define MG_UNARY_ENTRY(name, number, f, d) [number] = {mg_##name##_f32, mg_##name##_f64},

/* The loops over a whole array, which threads share if it is large (pieces.h). An operand that does not move is one number. */
static inline void mg_run_binary(mg_binary loop, const char *x, const char *y, char *z, mg_size n, int itemsize,
                                 int x_moves, int y_moves, int threads) {
    MG_SHARED(n, loop(x + x_moves * from * itemsize, y + y_moves * from * itemsize, z + from * itemsize, count))
}

static inline void mg_run_unary(mg_unary loop, const char *x, char *z, mg_size n, int itemsize, int threads) {
    MG_SHARED(n, loop(x + from * itemsize, z + from * itemsize, count))
}

#endif
