/* exp, log, tanh, erf and functions made of them, for floats by floats: in half of the time that doubles take (transcendental.h).
   exp, exp2, log, log1p and tanh have errors of 1.1 units of the last place or less, the others of 2 to 3. They have no branches,
   so that a loop over them vectorises (simd.h).

       exp x = 2^k exp r        k = the integer nearest to x / log 2, |r| <= log(2) / 2: a polynomial
       erf x = x P(x²) / Q(x²)  for floats: a fitted rational function, with an error of 5e-8; rounding adds 3e-7 */
#ifndef MINIGRAD_FUNCTIONS_H
#define MINIGRAD_FUNCTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "transcendental.h"

/* (e^r - 1 - r) / r² times `scale`. The coefficients are fitted: e^r has an error of 3e-9, and rounding adds 5e-8. */
#define MG_EXP_TAIL(r, scale)                                                                      \
    (0.499999935f * (scale) + (r) * (0.166665207f * (scale) + (r) * (0.0416683875f * (scale) + (r) * (0.00836870978f * (scale) \
     + (r) * (0.00138146059f * (scale))))))

/* 2^k p, where the low bits of t = k + 1.5 * 2^23 are k. 2^k is a product of two factors, because 2^128 is not a float, and because
   numbers below the smallest normal number should lose their digits gradually. */
static inline float mg_scale_f32(float p, float t) {
    const float magic = 12582912.0f;
    uint32_t bits, one;
    memcpy(&bits, &t, 4);
    memcpy(&one, &magic, 4);
    const uint32_t both = bits - one + 256, half = both >> 1, powers[2] = {(half - 1) << 23, (both - half - 1) << 23};
    float first, second;
    memcpy(&first, powers, 4);
    memcpy(&second, powers + 1, 4);
    return p * first * second;
}

/* Adding 1.5 * 2^(bits of the mantissa) rounds to an integer, which is then in the low bits of the sum. log 2 has two parts, so
   that k times the first is exact. */
static inline float mg_exp_of_f32(float x) {
    const float magic = 12582912.0f;
    const float y = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
    const float t = y * 1.44269504088896341f + magic, k = t - magic;
    const float r = (y - k * 0.693359375f) + k * 2.12194440e-4f;
    return mg_scale_f32(1 + r * (1 + r * MG_EXP_TAIL(r, 1)), t);
}

static inline float mg_exp2_of_f32(float x) {
    const float magic = 12582912.0f, y = x > 129.0f ? 129.0f : x < -151.0f ? -151.0f : x, t = y + magic;
    const float r = (y - (t - magic)) * 0.693147180559945f;
    return mg_scale_f32(1 + r * (1 + r * MG_EXP_TAIL(r, 1)), t);
}

/* The same for x <= 0: two powers, of which one is a constant that scales the polynomial, give 2^k for -150 <= k <= 0. The low bits
   of t are k. */
static inline float mg_exp_down_f32(float x) {
    const float magic = 12582912.0f, scale = 5.421010862427522e-20f;        /* 2^-64 */
    const float y = x < -104.0f ? -104.0f : x;
    const float t = y * 1.44269504088896341f + magic, k = t - magic;
    const float r = (y - k * 0.693359375f) + k * 2.12194440e-4f;
    const float p = scale + r * (scale + r * MG_EXP_TAIL(r, scale));
    uint32_t bits;
    float power;
    memcpy(&bits, &t, 4);
    bits = (bits << 23) + ((uint32_t)(127 + 64) << 23);
    memcpy(&power, &bits, 4);
    return p * power;
}

static inline double mg_exp_of_f64(double x) { return mg_exp(x, 0); }

/* tanh x = x + x³ P(x²) below 0.7, fitted; above, tanh |x| = 1 - 2 / (e^(2 |x|) + 1). From 10 on it is 1. */
static inline float mg_tanh_of_f32(float x) {
    const float magic = 12582912.0f, a = fabsf(x), y = a > 10.0f ? 10.0f : a, z = x * x;
    const float t = y * 2.88539008177792681f + magic, k = t - magic;
    const float r = (2 * y - k * 0.693359375f) + k * 2.12194440e-4f;
    const float p = 1 + r * (1 + r * MG_EXP_TAIL(r, 1));
    uint32_t bits;
    float power;
    memcpy(&bits, &t, 4);
    bits = (bits << 23) + ((uint32_t)127 << 23);
    memcpy(&power, &bits, 4);
    const float large = 1 - 2 / (p * power + 1);
    const float small = a + a * z * MG_P5(z, -0.333331899f, 0.133291107f, -0.0535588618f, 0.0200919715f, -0.00513866351f);
    return copysignf(a < 0.7f ? small : large, x);
}
static inline double mg_tanh_of_f64(double x) { return mg_tanh(x, 0); }

static inline float mg_choose_f32(int condition, float x, float y) {        /* as mg_choose */
    const uint32_t mask = -(uint32_t)condition;
    uint32_t a, b;
    memcpy(&a, &x, 4);
    memcpy(&b, &y, 4);
    a = (a & mask) | (b & ~mask);
    memcpy(&x, &a, 4);
    return x;
}

/* x = 2^k (1 + f), 1/√2 <= 1 + f < √2, for a positive normal number. Returns f. */
static inline float mg_reduce_log_f32(float x, float *k) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    const uint32_t moved = bits + (0x3f800000 - 0x3f3504f3);
    *k = (float)(int32_t)(moved >> 23) - 127;
    bits = (moved & 0x7fffff) + 0x3f3504f3;
    memcpy(&x, &bits, 4);
    return x - 1;
}

/* k log 2 + c + log(1 + f) = k log 2 + c + f - f²/2 + f³ P(f), where the polynomial is that of Cephes (logf.c) */
static inline float mg_log_sum_f32(float k, float f, float c) {
    const float z = f * f, series = MG_P9(f, 3.3333331174e-1f, -2.4999993993e-1f, 2.0000714765e-1f, -1.6668057665e-1f, 1.4249322787e-1f,
                                          -1.2420140846e-1f, 1.1676998740e-1f, -1.1514610310e-1f, 7.0376836292e-2f);
    return (f + (f * z * series - (k * 2.12194440e-4f - c) - 0.5f * z)) + k * 0.693359375f;
}

/* The logarithm of x: `value` if x is positive and finite. */
static inline float mg_log_ends_f32(float x, float value) {
    return mg_choose_f32(x > 0, mg_choose_f32(x < INFINITY, value, x), mg_choose_f32(x == 0, -INFINITY, NAN));
}

/* Numbers below the smallest normal one are multiplied by 2^25. */
static inline float mg_log_of_f32(float x) {
    const int tiny = x < 1.17549435e-38f;
    float k;
    const float f = mg_reduce_log_f32(tiny ? x * 33554432.0f : x, &k);
    return mg_log_ends_f32(x, mg_log_sum_f32(k - (tiny ? 25 : 0), f, 0));
}

/* log(1 + x) = log u + (1 + x - u) / u, where u is 1 + x rounded. See mg_log1p. */
static inline float mg_log1p_of_f32(float x) {
    float k;
    const float u = 1 + x, m = mg_reduce_log_f32(u, &k), lost = mg_choose_f32(x > 1, 1 - (u - x), x - (u - 1)) / u;
    const float z = mg_log_sum_f32(k, mg_choose_f32(k == 0, x, m), mg_choose_f32(k == 0, 0, lost));
    return mg_choose_f32(x == 0, x, mg_log_ends_f32(u, z));
}

static inline double mg_exp2_of_f64(double x) { return mg_exp2(x, 0); }

static inline float mg_erf_of_f32(float x) {
    const float a = x > 3.925f ? 3.925f : x < -3.925f ? -3.925f : x, y = a * a;
    const float p = 1.128379108e+00f + y * (2.003549801e-01f + y * (5.062985065e-02f + y * (3.718736709e-03f
                  + y * (1.421597279e-04f + y * (-1.956530912e-06f + y * 1.986950714e-08f)))));
    const float q = 1 + y * (5.108916130e-01f + y * (1.151757644e-01f + y * (1.438914335e-02f + y * 9.598568464e-04f)));
    const float z = a * p / q;
    return z > 1 ? 1.0f : z < -1 ? -1.0f : z;
}

/* log(1 + u) = 2 (s + s³/3 + s⁵/5 ...), s = u / (2 + u), for 0 <= u <= 1 */
static inline float mg_log_of_more_f32(float u) {
    const float s = u / (2 + u), t = s * s;
    return s * (2 + t * MG_P7(t, 2.0f / 3, 2.0f / 5, 2.0f / 7, 2.0f / 9, 2.0f / 11, 2.0f / 13, 2.0f / 15));
}
static inline double mg_log_of_more_f64(double u) {
    const double s = u / (2 + u), t = s * s, tail = MG_P9(t, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23, 2.0 / 25, 2.0 / 27, 2.0 / 29,
                                                          2.0 / 31, 2.0 / 33);
    return s * (2 + t * MG_P8(t, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, tail));
}

/* log(e^x + e^y) = the larger + log(1 + e^-|x - y|), and the same to the base 2. Equal infinities have a difference that is nan. */
#define MG_LOG_OF_SUM(T, suffix, ABS)                                                              \
    static inline T mg_logaddexp_of_##suffix(T x, T y) {                                           \
        const T log = mg_log_of_more_##suffix(mg_exp_of_##suffix(-ABS(x - y)));                    \
        return x == y ? x + (T)0.69314718055994530942 : (x > y ? x : y) + log;                     \
    }                                                                                              \
    static inline T mg_logaddexp2_of_##suffix(T x, T y) {                                          \
        const T log = mg_log_of_more_##suffix(mg_exp2_of_##suffix(-ABS(x - y)));                   \
        return x == y ? x + 1 : (x > y ? x : y) + log * (T)1.4426950408889634074;                  \
    }
MG_LOG_OF_SUM(float, f32, fabsf)
MG_LOG_OF_SUM(double, f64, fabs)

/* The root of x² + y². The squares of floats do not overflow as doubles. An infinite side makes it infinite, beside a nan too. */
static inline float mg_hypot_of_f32(float x, float y) {
    const double a = x, b = y;
    const float root = (float)sqrt(a * a + b * b);
    return fabsf(x) > 3.402823466e+38f || fabsf(y) > 3.402823466e+38f ? INFINITY : root;
}

static inline float mg_sigmoid_of_f32(float x) { return 1 / (1 + mg_exp_of_f32(-x)); }
static inline double mg_sigmoid_of_f64(double x) { return 1 / (1 + mg_exp_of_f64(-x)); }

/* e^(x² / 2) Φ(-x) for x >= 0. It gives Φ without 1 + erf, which loses all digits for large negative arguments. For floats it is
   a fitted polynomial in (x - 3) / (x + 3), with an error of 2e-8. Beyond 14.5, Φ(-x) is too small for a float. */
static inline float mg_tail_of_f32(float x) {
    const float b = x > 14.5f ? 14.5f : x, s = (b - 3) / (b + 3);
    return 1.215139470e-01f + s * (-2.064026175e-01f + s * (1.232250713e-01f + s * (-4.621332300e-02f + s * (6.131676645e-03f
         + s * (2.904625547e-03f + s * (-9.824776048e-04f + s * (-3.391444200e-04f + s * (1.141805220e-04f
         + s * 5.285916922e-05f))))))));
}

/* Φ(x), given power = e^(-x² / 2). */
static inline float mg_normal_of_f32(float x, float power) {
    const float tail = power * mg_tail_of_f32(fabsf(x));
    return x < 0 ? tail : 1 - tail;
}
static inline double mg_normal_of_f64(double x, double power) {
    (void)power;
    return 0.5 * erfc(x * -0.70710678118654752440);
}

/* gelu, x Φ(x), and its derivative. With tanh instead of erf: x sigmoid(2 u), u = √(2/π) (x + 0.044715 x³). EXP gets no positive
   numbers. */
#define MG_GELU(T, suffix, EXP, ABS, SIGMOID)                                                      \
    static inline T mg_gelu_of_##suffix(T x) { return x * mg_normal_of_##suffix(x, EXP(x * x * (T)-0.5)); } \
    static inline T mg_gelu_slope_##suffix(T x) {                                                  \
        const T power = EXP(x * x * (T)-0.5);                                                      \
        return mg_normal_of_##suffix(x, power) + x * (T)0.39894228040143267794 * power;            \
    }                                                                                              \
    static inline T mg_twice_u_of_##suffix(T x) { return (T)1.59576912160573071176 * (x + (T)0.044715 * x * x * x); } \
    static inline T mg_gelu_tanh_of_##suffix(T x) { return x * SIGMOID(mg_twice_u_of_##suffix(x)); }  \
    static inline T mg_gelu_tanh_slope_##suffix(T x) {      /* s (1 - s) from e^-|2u|: 1 - s would cancel */ \
        const T v = mg_twice_u_of_##suffix(x), e = EXP(-ABS(v)), d = 1 / (1 + e), s = v < 0 ? e * d : d; \
        return s + x * (e * d * d) * (T)1.59576912160573071176 * (1 + (T)0.134145 * x * x);        \
    }
MG_GELU(float, f32, mg_exp_down_f32, fabsf, mg_sigmoid_of_f32)
MG_GELU(double, f64, mg_exp_of_f64, fabs, mg_sigmoid_of_f64)

/* silu, x sigmoid(x), and mish, x t with t = tanh(log(1 + e^x)), and their derivatives. t = top / bottom in powers of u = e^-|x|,
   which cannot overflow: (1 + 2u) / (1 + 2u + 2u²) for x > 0, else (2u + u²) / (2 + 2u + u²). t' = sigmoid(x) (1 - t²) is
   4 u (1 + u) / bottom², and for x > 0 that times u. x t' is 0 for all x > 1000; we limit x, since infinity times 0 is nan. */
#define MG_SOFT_STEPS(T, suffix, EXP, ABS, SIGMOID)                                                \
    static inline T mg_silu_of_##suffix(T x) { return x * SIGMOID(x); }                            \
    static inline T mg_silu_slope_##suffix(T x) {           /* s (1 - s) from e^-|x|: 1 - s would cancel */ \
        const T e = EXP(-ABS(x)), d = 1 / (1 + e), s = x < 0 ? e * d : d;                          \
        return s + x * (e * d * d);                                                                \
    }                                                                                              \
    static inline T mg_mish_of_##suffix(T x) {                                                     \
        const T u = EXP(-ABS(x)), top = (x > 0 ? 1 : u * u) + 2 * u;                               \
        return x * (top / (top + (x > 0 ? 2 * u * u : 2)));                                        \
    }                                                                                              \
    static inline T mg_mish_slope_##suffix(T x) {                                                  \
        const T u = EXP(-ABS(x)), top = (x > 0 ? 1 : u * u) + 2 * u, bottom = top + (x > 0 ? 2 * u * u : 2); \
        const T steep = (1 + u) * u * (x > 0 ? 4 * u : 4) / (bottom * bottom);                     \
        return top / bottom + (x < 1000 ? x : 1000) * steep;                                       \
    }
MG_SOFT_STEPS(float, f32, mg_exp_down_f32, fabsf, mg_sigmoid_of_f32)
MG_SOFT_STEPS(double, f64, mg_exp_of_f64, fabs, mg_sigmoid_of_f64)

#endif
