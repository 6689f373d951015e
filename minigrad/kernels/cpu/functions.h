/* exp and erf as plain arithmetic without branches, so that a loop over them vectorises (simd.h); libm's take one number
   at a time, ten times as long.

       exp x = 2^k exp r        k = the integer nearest to x / log 2, |r| <= log(2) / 2: a few terms of Taylor's series
       erf x = x P(x²) / Q(x²)  for floats: a rational function that was fitted to it, right to 5e-8; rounding adds 3e-7

   What would be smaller than the smallest normal number is 0. */
#ifndef MINIGRAD_FUNCTIONS_H
#define MINIGRAD_FUNCTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Adding 1.5 * 2^(bits of the mantissa) rounds to an integer, which then stands in the low bits of the sum. log 2 comes in two
   parts, so that k times the first is exact. 2^k is made of k - 1, because 2^128 is no float. */
static inline float mg_exp_of_f32(float x) {
    const float magic = 12582912.0f;
    const float y = x > 89.0f ? 89.0f : x < -87.0f ? -87.0f : x;
    const float t = y * 1.44269504088896341f + magic, k = t - magic;
    const float r = (y - k * 0.693359375f) + k * 2.12194440e-4f;
    const float p = 1 + r * (1 + r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720))))));
    int32_t bits, one;
    float power;
    memcpy(&bits, &t, 4);
    memcpy(&one, &magic, 4);
    bits = (int32_t)((uint32_t)(bits - one + 126) << 23);
    memcpy(&power, &bits, 4);
    return x < -86.6f ? 0.0f : (p + p) * power;
}

static inline double mg_exp_of_f64(double x) {
    const double magic = 6755399441055744.0;
    const double y = x > 710.0 ? 710.0 : x < -708.0 ? -708.0 : x;
    const double t = y * 1.44269504088896340736 + magic, k = t - magic;
    const double r = (y - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    const double tail = 1.0 / 5040 + r * (1.0 / 40320 + r * (1.0 / 362880 + r * (1.0 / 3628800 + r * (1.0 / 39916800
                      + r * (1.0 / 479001600 + r * (1.0 / 6227020800.0))))));
    const double p = 1 + r * (1 + r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720 + r * tail))))));
    int64_t bits, one;
    double power;
    memcpy(&bits, &t, 8);
    memcpy(&one, &magic, 8);
    bits = (int64_t)((uint64_t)(bits - one + 1022) << 52);
    memcpy(&power, &bits, 8);
    return x < -707.0 ? 0.0 : (p + p) * power;
}

static inline float mg_erf_of_f32(float x) {
    const float a = x > 3.925f ? 3.925f : x < -3.925f ? -3.925f : x, y = a * a;
    const float p = 1.128379108e+00f + y * (2.003549801e-01f + y * (5.062985065e-02f + y * (3.718736709e-03f
                  + y * (1.421597279e-04f + y * (-1.956530912e-06f + y * 1.986950714e-08f)))));
    const float q = 1 + y * (5.108916130e-01f + y * (1.151757644e-01f + y * (1.438914335e-02f + y * 9.598568464e-04f)));
    const float z = a * p / q;
    return z > 1 ? 1.0f : z < -1 ? -1.0f : z;
}

static inline float mg_sigmoid_of_f32(float x) { return 1 / (1 + mg_exp_of_f32(-x)); }
static inline double mg_sigmoid_of_f64(double x) { return 1 / (1 + mg_exp_of_f64(-x)); }

/* x Φ(x) and its derivative; with tanh in place of erf that is x sigmoid(2 u), u = √(2/π) (x + 0.044715 x³). */
#define MG_GELU(T, suffix, ERF, EXP, SIGMOID)                                                      \
    static inline T mg_normal_of_##suffix(T x) { return (T)0.5 * (1 + ERF(x * (T)0.70710678118654752440)); } \
    static inline T mg_gelu_of_##suffix(T x) { return x * mg_normal_of_##suffix(x); }                 \
    static inline T mg_gelu_slope_##suffix(T x) {                                                  \
        return mg_normal_of_##suffix(x) + x * (T)0.39894228040143267794 * EXP(x * x * (T)-0.5);       \
    }                                                                                              \
    static inline T mg_twice_u_of_##suffix(T x) { return (T)1.59576912160573071176 * (x + (T)0.044715 * x * x * x); } \
    static inline T mg_gelu_tanh_of_##suffix(T x) { return x * SIGMOID(mg_twice_u_of_##suffix(x)); }  \
    static inline T mg_gelu_tanh_slope_##suffix(T x) {                                             \
        const T s = SIGMOID(mg_twice_u_of_##suffix(x));                                               \
        return s + x * s * (1 - s) * (T)1.59576912160573071176 * (1 + (T)0.134145 * x * x);        \
    }
MG_GELU(float, f32, mg_erf_of_f32, mg_exp_of_f32, mg_sigmoid_of_f32)
MG_GELU(double, f64, erf, mg_exp_of_f64, mg_sigmoid_of_f64)

#endif
