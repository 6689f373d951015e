/* The inner loops of elementwise.pyx: a pair (float, double) for each line of the tables below. */
#ifndef MINIGRAD_ELEMENTWISE_H
#define MINIGRAD_ELEMENTWISE_H

#include <math.h>

#include "functions.h"
#include "loops.h"
#include "remainders.h"
#include "special.h"

/* name, number, expression for float and for double */
#define MG_BINARY_TABLE(X)                                                                         \
    X(add, 0, a + b, a + b)                                                                        \
    X(sub, 1, a - b, a - b)                                                                        \
    X(mul, 2, a * b, a * b)                                                                        \
    X(div, 3, a / b, a / b)                                                                        \
    X(maximum, 4, (a > b || a != a) ? a : b, (a > b || a != a) ? a : b)                            \
    X(minimum, 5, (a < b || a != a) ? a : b, (a < b || a != a) ? a : b)                            \
    X(relu_backward, 6, b <= 0 ? 0.0f : a, b <= 0 ? 0.0 : a)                                         \
    X(sigmoid_backward, 7, a * ((1.0f - b) * b), a * ((1.0 - b) * b))                              \
    X(tanh_backward, 8, a * (1.0f - b * b), a * (1.0 - b * b))                                     \
    X(rsub, 9, b - a, b - a)                                                                       \
    X(gelu_backward, 10, a * mg_gelu_slope_f32(b), a * mg_gelu_slope_f64(b))                       \
    X(gelu_tanh_backward, 11, a * mg_gelu_tanh_slope_f32(b), a * mg_gelu_tanh_slope_f64(b))        \
    X(silu_backward, 12, a * mg_silu_slope_f32(b), a * mg_silu_slope_f64(b))                       \
    X(mish_backward, 13, a * mg_mish_slope_f32(b), a * mg_mish_slope_f64(b))                       \
    X(glu, 14, a * mg_sigmoid_of_f32(b), a * mg_sigmoid_of_f64(b))                                 \
    X(prelu, 15, a > 0 ? a : a * b, a > 0 ? a : a * b)                                             \
    X(hypot, 16, mg_hypot_of_f32(a, b), hypot(a, b))

/* The same for what a division leaves; see remainders.h. */
#define MG_REMAINDER_TABLE(X) X(fmod, 17) X(remainder, 18) X(floor_divide, 19)

#define MG_UNARY_TABLE(X)                                                                          \
    X(neg, 0, -a, -a)                                                                              \
    X(sqrt, 1, sqrtf(a), sqrt(a))                                                                  \
    X(rsqrt, 2, 1.0f / sqrtf(a), 1.0 / sqrt(a))                                                    \
    X(reciprocal, 3, 1.0f / a, 1.0 / a)                                                            \
    X(abs, 4, fabsf(a), fabs(a))                                                                   \
    X(relu, 5, (a > 0 || a != a) ? a : 0.0f, (a > 0 || a != a) ? a : 0.0)                          \
    X(square, 6, a * a, a * a)                                                                     \
    X(cube, 7, a * a * a, a * a * a)                                                               \
    X(erf, 8, mg_erf_of_f32(a), erf(a))                                                               \
    X(sigmoid, 9, mg_sigmoid_of_f32(a), mg_sigmoid_of_f64(a))                                            \
    X(gelu, 10, mg_gelu_of_f32(a), mg_gelu_of_f64(a))                                              \
    X(gelu_tanh, 11, mg_gelu_tanh_of_f32(a), mg_gelu_tanh_of_f64(a))                               \
    X(silu, 12, mg_silu_of_f32(a), mg_silu_of_f64(a))                                              \
    X(mish, 13, mg_mish_of_f32(a), mg_mish_of_f64(a))                                              \
    X(sign, 14, (float)((a > 0) - (a < 0)), (double)((a > 0) - (a < 0)))

/* Functions without a vectorised form. */
#define MG_SPECIAL_TABLE(X)                                                                        \
    X(erfc, 0, (float)erfc(a), erfc(a))                                                            \
    X(erfinv, 1, (float)mg_erfinv(a), mg_erfinv(a))                                                \
    X(lgamma, 2, (float)mg_lgamma(a), mg_lgamma(a))                                                \
    X(digamma, 3, (float)mg_digamma(a), mg_digamma(a))                                             \
    X(i0, 4, (float)mg_i0(a), mg_i0(a))                                                            \
    X(i1, 5, (float)mg_i1(a), mg_i1(a))

MG_BINARY_TABLE(MG_DEFINE_BINARY)
MG_UNARY_TABLE(MG_DEFINE_UNARY)
MG_SPECIAL_TABLE(MG_DEFINE_PLAIN)
MG_REMAINDER_TABLE(MG_DEFINE_REMAINDER)
static const mg_binary mg_binary_loops[][2][3] = {MG_BINARY_TABLE(MG_BINARY_ENTRY) MG_REMAINDER_TABLE(MG_REMAINDER_ENTRY)};
static const mg_unary mg_unary_loops[][2] = {MG_UNARY_TABLE(MG_UNARY_ENTRY)};
static const mg_unary mg_special_loops[][2] = {MG_SPECIAL_TABLE(MG_UNARY_ENTRY)};

/* z = x, at least `low` and at most `high`; nan stays nan. */
typedef void (*mg_limit)(const void *, const void *, const void *, void *, mg_size);
#define MG_LIMIT_LOOP(T, suffix)                                                                   \
    MG_SIMD static void mg_limit_##suffix(const void *x, const void *low, const void *high, void *z, mg_size n) { \
        const T *p = (const T *)x, least = *(const T *)low, most = *(const T *)high; T *r = (T *)z; \
        for (mg_size i = 0; i < n; i++) {                                                          \
            const T a = p[i], b = a < least ? least : a;                                           \
            r[i] = b > most ? most : b;                                                            \
        }                                                                                          \
    }
MG_LIMIT_LOOP(float, f32)
MG_LIMIT_LOOP(double, f64)
static const mg_limit mg_limit_loops[2] = {mg_limit_f32, mg_limit_f64};

static inline void mg_run_limit(mg_limit loop, const char *x, const void *low, const void *high, char *z, mg_size n, int itemsize,
                                int threads) {
    MG_SHARED(n, loop(x + from * itemsize, low, high, z + from * itemsize, count))
}

#define MG_BINARY_NUMBER(name, number, f, d) MG_B_##name = number,
#define MG_REMAINDER_NUMBER(name, number) MG_B_##name = number,
#define MG_UNARY_NUMBER(name, number, f, d) MG_U_##name = number,
#define MG_SPECIAL_NUMBER(name, number, f, d) MG_S_##name = number,
enum { MG_BINARY_TABLE(MG_BINARY_NUMBER) MG_REMAINDER_TABLE(MG_REMAINDER_NUMBER) MG_UNARY_TABLE(MG_UNARY_NUMBER) MG_SPECIAL_TABLE(MG_SPECIAL_NUMBER) MG_NUMBERS_END };

#endif
