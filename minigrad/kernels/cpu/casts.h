/* z = x in another dtype, for the dtypes that programs convert between most: a loop for each pair of them.

   A float that does not fit in an integer becomes the integer that the processor makes of it, as in NumPy. */
#ifndef MINIGRAD_CASTS_H
#define MINIGRAD_CASTS_H

#include "pieces.h"

typedef void (*mg_cast)(const void *, void *, mg_size);

/* number, name, type, element. A byte of a bool array may be other than 0 and 1. */
#define MG_CAST_SOURCES(X)                                                                         \
    X(0, bool, uint8_t, p[i] != 0) X(1, u8, uint8_t, p[i]) X(2, i32, int32_t, p[i]) X(3, i64, int64_t, p[i])     \
    X(4, f32, float, p[i]) X(5, f64, double, p[i])

#define MG_CAST_LOOP(from, F, element, to, T, expression)                                                  \
    static void mg_cast_##from##_##to(const void *x, void *z, mg_size n) {                         \
        const F *p = (const F *)x; T *r = (T *)z;                                                  \
        for (mg_size i = 0; i < n; i++) { const F a = element; r[i] = (expression); }                 \
    }
#define MG_CASTS_FROM(number, from, F, element)                                                            \
    MG_CAST_LOOP(from, F, element, bool, uint8_t, a != 0)                                                   \
    MG_CAST_LOOP(from, F, element, i32, int32_t, (int32_t)a)                                                \
    MG_CAST_LOOP(from, F, element, i64, int64_t, (int64_t)a)                                                \
    MG_CAST_LOOP(from, F, element, f32, float, (float)a)                                                    \
    MG_CAST_LOOP(from, F, element, f64, double, (double)a)
MG_CAST_SOURCES(MG_CASTS_FROM)

/* [from][to]. To uint8 there is none: what a negative float becomes depends on how the compiler vectorises the loop. */
#define MG_CASTS_ENTRY(number, from, F, element)                                                           \
    [number] = {mg_cast_##from##_bool, NULL, mg_cast_##from##_i32, mg_cast_##from##_i64, mg_cast_##from##_f32, mg_cast_##from##_f64},
static const mg_cast mg_casts[][6] = {MG_CAST_SOURCES(MG_CASTS_ENTRY)};

static inline void mg_run_cast(mg_cast loop, const char *x, char *z, mg_size n, int x_size, int z_size, int threads) {
    MG_SHARED(n, loop(x + from * x_size, z + from * z_size, count))
}

#endif
