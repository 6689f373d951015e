/* The loops of halves.pyx: for one half of x and the other. */
#ifndef MINIGRAD_HALVES_H
#define MINIGRAD_HALVES_H

#include <math.h>

#include "functions.h"
#include "loops.h"

/* x and y are the two halves; `result` gets the gradients of both. s (1 - s) comes from e^-|y|: 1 - s would cancel. */
#define MG_GLU_LOOPS(T, suffix, SIGMOID, EXP, ABS)                                                 \
    MG_SIMD static void mg_glu_##suffix(const void *x, const void *y, void *z, mg_size n) {        \
        const T *p = (const T *)x, *q = (const T *)y; T *r = (T *)z;                               \
        for (mg_size i = 0; i < n; i++) r[i] = p[i] * SIGMOID(q[i]);                               \
    }                                                                                              \
    MG_SIMD static void mg_glu_backward_##suffix(const void *gradient, const void *halves, void *result, mg_size n) { \
        const T *g = (const T *)gradient, *x = (const T *)halves, *y = x + n;                      \
        T *p = (T *)result, *q = p + n;                                                            \
        for (mg_size i = 0; i < n; i++) {                                                          \
            const T e = EXP(-ABS(y[i])), d = 1 / (1 + e), s = y[i] < 0 ? e * d : d, c = g[i], a = x[i]; \
            p[i] = c * s;                                                                          \
            q[i] = c * a * (e * d * d);                                                            \
        }                                                                                          \
    }
MG_GLU_LOOPS(float, f32, mg_sigmoid_of_f32, mg_exp_of_f32, fabsf)
MG_GLU_LOOPS(double, f64, mg_sigmoid_of_f64, mg_exp_of_f64, fabs)
static const mg_binary mg_glu_loops[] = {mg_glu_f32, mg_glu_f64};
static const mg_binary mg_glu_backward_loops[] = {mg_glu_backward_f32, mg_glu_backward_f64};

#endif
