/* The inner loops of elementwise.pyx: a pair (float, double) for each line of the tables below. */
#ifndef MINIGRAD_ELEMENTWISE_H
#define MINIGRAD_ELEMENTWISE_H

#include <math.h>

#include "functions.h"
#include "loops.h"
#include "remainders.h"
#include "special.h"
#include "transcendental.h"

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
    X(hypot, 16, mg_hypot_of_f32(a, b), hypot(a, b))                                               \
    X(logaddexp, 17, mg_logaddexp_of_f32(a, b), mg_logaddexp_of_f64(a, b))                         \
    X(logaddexp2, 23, mg_logaddexp2_of_f32(a, b), mg_logaddexp2_of_f64(a, b))                      \
    X(hardsigmoid_backward, 24, fabsf(b) >= 3 ? 0.0f : a / 6, fabs(b) >= 3 ? 0.0 : a / 6)          \
    X(hardswish_backward, 25, MG_HARD_SLOPE(a, b, 0.5f), MG_HARD_SLOPE(a, b, 0.5))                 \
    X(copysign, 26, copysignf(a, b), copysign(a, b))                                               \
    X(heaviside, 27, a == 0 ? b : a > 0 ? 1.0f : 0.0f, a == 0 ? b : a > 0 ? 1.0 : 0.0)             \
    X(xlogy, 28, MG_ZERO_TIMES(a, b, mg_log_of_f32(b)), MG_ZERO_TIMES(a, b, mg_log(b, 0)))         \
    X(xlog1py, 29, MG_ZERO_TIMES(a, b, mg_log1p_of_f32(b)), MG_ZERO_TIMES(a, b, mg_log1p(b, 0)))   \
    X(pow, 21, (float)mg_pow_narrow(a, b), pow(a, b))                                              \
    X(atan2, 22, (float)mg_atan2(a, b, 1), mg_atan2(a, b, 0))

#define MG_HARD_SLOPE(g, x, half) ((x) < 3 ? (x) <= -3 ? 0 : (g) * ((x) / 3 + (half)) : (g))

#define MG_ZERO_TIMES(a, b, log) (((a) == 0) & ((b) == (b)) ? 0 : (a) * (log))

/* The same for what a division leaves; see remainders.h. */
#define MG_REMAINDER_TABLE(X) X(fmod, 18) X(remainder, 19) X(floor_divide, 20)

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
    X(sign, 14, (float)((a > 0) - (a < 0)), (double)((a > 0) - (a < 0)))                           \
    X(frac, 41, a - truncf(a), a - trunc(a))                                                       \
    X(hardsigmoid, 39, MG_HARD_STEP(a + 3), MG_HARD_STEP(a + 3))                                   \
    X(hardswish, 40, (a < -3 ? -3 : a) * MG_HARD_STEP(a + 3), (a < -3 ? -3 : a) * MG_HARD_STEP(a + 3)) \
    X(angle, 34, a != a ? a : a < 0 ? 3.14159265358979324f : 0.0f, a != a ? a : a < 0 ? MG_PI : 0.0)

/* t / 6, limited to [0, 1]; nan stays nan. hardswish limits its other factor to -3, because infinity times 0 is nan. */
#define MG_HARD_STEP(t) (((t) < 0 ? 0 : (t) > 6 ? 6 : (t)) / 6)

/* The functions of transcendental.h: name, number */
#define MG_TRANSCENDENTAL_TABLE(X)                                                                 \
    X(expm1, 17) X(log2, 19) X(log10, 20) X(sinh, 22) X(cosh, 23) X(asinh, 25) X(acosh, 26) X(atanh, 27) X(asin, 28) X(acos, 29) \
    X(atan, 30) X(i0, 43) X(i1, 44) X(i0e, 45) X(i1e, 46)
/* Those that functions.h computes by floats. */
#define MG_OFTEN_TABLE(X) X(exp, 15) X(exp2, 16) X(log, 18) X(log1p, 21) X(tanh, 24)
#define MG_CIRCLE_TABLE(X) X(sin, 31) X(cos, 32) X(tan, 33)
/* Those with a vectorised form for floats alone: where it does not suit, and the function of doubles. */
#define MG_NARROW_TABLE(X)                                                                         \
    X(erfc, 35, 0, erfc(a))                                                                        \
    X(erfinv, 36, 0, mg_erfinv(a))                                                                 \
    X(lgamma, 37, !(a > 0 && a < INFINITY) || fabsf(a - 1) < 1e-3f || fabsf(a - 2) < 1e-3f, mg_lgamma(a)) \
    X(digamma, 38, !(a > 0 && a < INFINITY), mg_digamma(a))

MG_BINARY_TABLE(MG_DEFINE_BINARY)
MG_UNARY_TABLE(MG_DEFINE_UNARY)
/* Loops over blocks of whole vectors. What is left over is filled up: else the compiler's loop over single numbers would compute it,
   which may fuse other multiplications with additions, so that the last digit of a number would depend on its place.

   libm computes those numbers of a block that are outside the range of a function, or infinite, or nan. The result may overwrite x. */
#define MG_WHOLE_VECTORS 16
#define MG_BLOCKS(name, T, suffix, expression, outside, exact)                                     \
    MG_SIMD static void mg_##name##_##suffix(const void *x, void *z, mg_size n) {                  \
        for (mg_size start = 0; start < n; start += MG_BLOCK) {                                    \
            const mg_size count = n - start < MG_BLOCK ? n - start : MG_BLOCK;                     \
            const mg_size filled = (count + MG_WHOLE_VECTORS - 1) / MG_WHOLE_VECTORS * MG_WHOLE_VECTORS; \
            const T *p = (const T *)x + start;                                                     \
            T some[MG_BLOCK], result[MG_BLOCK];                                                    \
            int far = 0;                                                                           \
            if (filled > count) {                                                                  \
                memset(some + filled - MG_WHOLE_VECTORS, 0, MG_WHOLE_VECTORS * sizeof(T));         \
                p = (const T *)memcpy(some, p, count * sizeof(T));                                 \
            }                                                                                      \
            for (mg_size i = 0; i < filled; i++) {                                                 \
                const T a = p[i];                                                                  \
                far |= (outside);                                                                  \
                result[i] = (T)(expression);                                                       \
            }                                                                                      \
            if (far) for (mg_size i = 0; i < count; i++) {                                         \
                const T a = p[i];                                                                  \
                (void)a;                                                                           \
                if (outside) result[i] = (T)(exact);                                               \
            }                                                                                      \
            memcpy((T *)z + start, result, count * sizeof(T));                                     \
        }                                                                                          \
    }
#define MG_DEFINE_TRANSCENDENTAL(name, number)                                                     \
    MG_BLOCKS(name, float, f32, mg_##name(a, 1), 0, 0) MG_BLOCKS(name, double, f64, mg_##name(a, 0), 0, 0)
#define MG_DEFINE_OFTEN(name, number)                                                              \
    MG_BLOCKS(name, float, f32, mg_##name##_of_f32(a), 0, 0) MG_BLOCKS(name, double, f64, mg_##name(a, 0), 0, 0)
#define MG_DEFINE_NARROW(name, number, outside, d)                                                 \
    MG_BLOCKS(name, float, f32, mg_##name##_narrow(a), outside, d) MG_UNARY_LOOPS(, name, double, f64, d)
#define MG_DEFINE_CIRCLE(name, number)                                                             \
    MG_BLOCKS(name, float, f32, mg_##name(a, 1), !(fabsf(a) <= MG_CIRCLES_NARROW), name((double)a)) \
    MG_BLOCKS(name, double, f64, mg_##name(a, 0), !(fabs(a) <= MG_CIRCLES), name(a))
MG_TRANSCENDENTAL_TABLE(MG_DEFINE_TRANSCENDENTAL)
MG_OFTEN_TABLE(MG_DEFINE_OFTEN)
MG_CIRCLE_TABLE(MG_DEFINE_CIRCLE)
MG_NARROW_TABLE(MG_DEFINE_NARROW)
/* sin(πx) / (πx). A float is multiplied by π as a float, as in PyTorch. */
#define MG_TURNS (3.14159265358979324f * a)
MG_BLOCKS(sinc, float, f32, mg_choose(a == 0, 1, mg_sin(MG_TURNS, 1) / MG_TURNS), !(fabsf(MG_TURNS) <= MG_CIRCLES_NARROW),
          sin((double)MG_TURNS) / MG_TURNS)
MG_BLOCKS(sinc, double, f64, mg_choose(a == 0, 1, mg_sin(MG_PI * a, 0) / (MG_PI * a)), !(fabs(MG_PI * a) <= MG_CIRCLES),
          sin(MG_PI * a) / (MG_PI * a))
/* ψ' below 0 from ψ'(1 - x) */
static double mg_trigamma_below(double x) {
    if (!(x > -INFINITY)) return NAN;
    const double sine = sin(MG_PI * (x - rint(x)));
    return x == floor(x) ? INFINITY : MG_PI / sine * (MG_PI / sine) - mg_trigamma(1 - x, 0);
}
MG_BLOCKS(trigamma, float, f32, mg_trigamma(a, 1), !(a > 0), mg_trigamma_below(a))
MG_BLOCKS(trigamma, double, f64, mg_trigamma(a, 0), !(a > 0), mg_trigamma_below(a))
MG_REMAINDER_TABLE(MG_DEFINE_REMAINDER)
static const mg_binary mg_binary_loops[][2][3] = {MG_BINARY_TABLE(MG_BINARY_ENTRY) MG_REMAINDER_TABLE(MG_REMAINDER_ENTRY)};
#define MG_NAMED_ENTRY(name, number) MG_UNARY_ENTRY(name, number, , )
#define MG_NARROW_ENTRY(name, number, outside, d) MG_UNARY_ENTRY(name, number, , )
static const mg_unary mg_unary_loops[][2] = {MG_UNARY_TABLE(MG_UNARY_ENTRY) MG_TRANSCENDENTAL_TABLE(MG_NAMED_ENTRY)
                                             MG_OFTEN_TABLE(MG_NAMED_ENTRY) MG_CIRCLE_TABLE(MG_NAMED_ENTRY)
                                             MG_NARROW_TABLE(MG_NARROW_ENTRY) MG_NAMED_ENTRY(sinc, 42)
                                             MG_NAMED_ENTRY(trigamma, 47)};

/* Functions of up to three arrays a, b, c of one shape, and of two numbers p and q. The expressions serve both types.

   limit, huber: nan stays nan, because it is neither less nor more than p */
#define MG_MIXED_TABLE(X)                                                                          \
    X(limit, 0, MG_AT_MOST(q, a < p ? p : a))                                                      \
    X(lerp, 1, p < (T)0.5 && p > (T)-0.5 ? a + p * (b - a) : b - q * (b - a))                      \
    X(addcmul, 2, a + p * (b * c))                                                                 \
    X(addcdiv, 3, a + p * (b / c))                                                                 \
    X(huber, 4, MG_HUBER(MG_DISTANCE(a, b), MG_AT_MOST(p, MG_DISTANCE(a, b)), q))                  \
    X(add_scaled, 5, a + p * b)                                                                    \
    X(nan_to_num, 6, MG_AT_MOST(q, MG_NUMBER(a, p) < -q ? -q : MG_NUMBER(a, p)))                  \
    X(threshold, 7, b <= p ? q : a)                                                                \
    X(zero_within, 8, b <= p && b >= -p ? 0 : a)                                                   \
    X(softshrink, 9, a - MG_AT_MOST(p, a < -p ? -p : a))                                           \
    X(elu, 10, a <= 0 ? (T)mg_expm1(b, sizeof(T) == 4) * p : a * q)
#define MG_NUMBER(a, p) ((a) == (a) ? (a) : (p))
#define MG_AT_MOST(most, x) ((x) > (most) ? (most) : (x))
#define MG_DISTANCE(a, b) ((a) < (b) ? (b) - (a) : (a) - (b))
#define MG_HUBER(d, s, q) (((d) - (s) * (T)0.5) * ((s) / (q)))

typedef void (*mg_mixed)(const void *, const void *, const void *, const void *, const void *, void *, mg_size);
#define MG_MIXED_LOOP(name, type, suffix, expression)                                              \
    MG_SIMD static void mg_##name##_##suffix(const void *x, const void *y, const void *w, const void *first, const void *second, \
                                             void *z, mg_size n) {                                 \
        typedef type T;                                                                            \
        const T *k = (const T *)x, *l = (const T *)y, *m = (const T *)w, p = *(const T *)first, q = *(const T *)second; \
        T *r = (T *)z;                                                                             \
        for (mg_size i = 0; i < n; i++) {                                                          \
            const T a = k[i], b = l[i], c = m[i];                                                  \
            (void)b; (void)c; (void)q;                                                             \
            r[i] = (expression);                                                                   \
        }                                                                                          \
    }
#define MG_DEFINE_MIXED(name, number, expression)                                                  \
    MG_MIXED_LOOP(name, float, f32, expression) MG_MIXED_LOOP(name, double, f64, expression)
#define MG_MIXED_ENTRY(name, number, expression) [number] = {mg_##name##_f32, mg_##name##_f64},
#define MG_MIXED_NUMBER(name, number, expression) MG_M_##name = number,
MG_MIXED_TABLE(MG_DEFINE_MIXED)

/* The same with a pass of loops from above over each block: c = loops(inner). One loop of e^x and log x has too many constants for
   the registers, and takes longer than two. */
#define MG_PASSES_TABLE(X) X(softplus, 11) X(log_sigmoid, 12) X(bce_with_logits, 13) X(bce_with_logits_slope, 14)
#define MG_PASSES_LOOP(name, type, suffix, inner, loops, expression)                               \
    MG_SIMD static void mg_##name##_##suffix(const void *x, const void *y, const void *w, const void *first, const void *second, \
                                             void *z, mg_size n) {                                 \
        typedef type T;                                                                            \
        const T p = *(const T *)first, q = *(const T *)second;                                     \
        (void)w; (void)p; (void)q;                                                                 \
        for (mg_size start = 0; start < n; start += MG_BLOCK) {                                    \
            const mg_size count = n - start < MG_BLOCK ? n - start : MG_BLOCK;                     \
            const T *k = (const T *)x + start, *l = (const T *)y + start;                          \
            T part[MG_BLOCK], *r = (T *)z + start;                                                 \
            for (mg_size i = 0; i < count; i++) { const T a = k[i], b = l[i]; (void)a; (void)b; part[i] = (inner); } \
            loops                                                                                  \
            for (mg_size i = 0; i < count; i++) { const T a = k[i], b = l[i], c = part[i]; (void)b; r[i] = (expression); } \
        }                                                                                          \
    }
#define MG_PASSES_LOOPS(type, suffix)                                                              \
    MG_PASSES_LOOP(softplus, type, suffix, a * p, mg_exp_##suffix(part, part, count); mg_log1p_##suffix(part, part, count);, \
                   a * p > q ? a : c / p)                                                          \
    MG_PASSES_LOOP(log_sigmoid, type, suffix, b, mg_log1p_##suffix(part, part, count);, (a < 0 ? a : 0) - c) \
    MG_PASSES_LOOP(bce_with_logits, type, suffix, a < 0 ? a : -a,                                  \
                   mg_exp_##suffix(part, part, count); mg_log1p_##suffix(part, part, count);, c - a * (a > 0 ? b - 1 : b)) \
    MG_PASSES_LOOP(bce_with_logits_slope, type, suffix, a < 0 ? a : -a, mg_exp_##suffix(part, part, count);, \
                   a > 0 ? (1 - b) - c / (1 + c) : c / (1 + c) - b)
MG_PASSES_LOOPS(float, f32)
MG_PASSES_LOOPS(double, f64)
#define MG_PASSES_ENTRY(name, number) MG_MIXED_ENTRY(name, number, )
#define MG_PASSES_NUMBER(name, number) MG_M_##name = number,
static const mg_mixed mg_mixed_loops[][2] = {MG_MIXED_TABLE(MG_MIXED_ENTRY) MG_PASSES_TABLE(MG_PASSES_ENTRY)};

static inline void mg_run_mixed(mg_mixed loop, const char *x, const char *y, const char *w, const void *p, const void *q, char *z,
                                mg_size n, int itemsize, int threads) {
    MG_SHARED(n, loop(x + from * itemsize, y + from * itemsize, w + from * itemsize, p, q, z + from * itemsize, count))
}

#define MG_BINARY_NUMBER(name, number, f, d) MG_B_##name = number,
#define MG_REMAINDER_NUMBER(name, number) MG_B_##name = number,
#define MG_UNARY_NUMBER(name, number, f, d) MG_U_##name = number,
#define MG_NAMED_NUMBER(name, number) MG_U_##name = number,
#define MG_NARROW_NUMBER(name, number, outside, d) MG_U_##name = number,
enum { MG_BINARY_TABLE(MG_BINARY_NUMBER) MG_REMAINDER_TABLE(MG_REMAINDER_NUMBER) MG_MIXED_TABLE(MG_MIXED_NUMBER)
       MG_PASSES_TABLE(MG_PASSES_NUMBER)
       MG_UNARY_TABLE(MG_UNARY_NUMBER) MG_TRANSCENDENTAL_TABLE(MG_NAMED_NUMBER) MG_OFTEN_TABLE(MG_NAMED_NUMBER)
       MG_CIRCLE_TABLE(MG_NAMED_NUMBER) MG_NARROW_TABLE(MG_NARROW_NUMBER)
       MG_NAMED_NUMBER(sinc, 42) MG_NAMED_NUMBER(trigamma, 47) MG_NUMBERS_END };

#endif
