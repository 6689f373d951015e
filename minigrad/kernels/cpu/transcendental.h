/* Logarithms, exponentials, the functions of circles and hyperbolas, Bessel functions, and for floats the error and gamma
   functions, as arithmetic without branches, so that a loop over them vectorises (simd.h). libm's functions take one number at a
   time, three to ten times as long. NumPy has vectorised ones, but most of them only for AVX-512.

   All compute with doubles. `narrow`, which is a constant at each call, says that the result becomes a float: then fewer terms of a
   series are enough, and a float has all its digits. The series are polynomials with the smallest greatest error on their interval
   (mpmath.chebyfit found them). Errors, in units of the last place: 1 or less for floats rounded from these, 2.5 or less for doubles.

   A constant of two parts is an exact sum: the first part has so few bits that its products with whole numbers are exact. */
#ifndef MINIGRAD_TRANSCENDENTAL_H
#define MINIGRAD_TRANSCENDENTAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "vectors.h"

#define MG_FUNCTION static MG_INLINE

/* c0 + x (c1 + x (c2 ...)) */
#define MG_P2(x, c, d) ((c) + (x) * (d))
#define MG_P3(x, c, ...) ((c) + (x) * MG_P2(x, __VA_ARGS__))
#define MG_P4(x, c, ...) ((c) + (x) * MG_P3(x, __VA_ARGS__))
#define MG_P5(x, c, ...) ((c) + (x) * MG_P4(x, __VA_ARGS__))
#define MG_P6(x, c, ...) ((c) + (x) * MG_P5(x, __VA_ARGS__))
#define MG_P7(x, c, ...) ((c) + (x) * MG_P6(x, __VA_ARGS__))
#define MG_P8(x, c, ...) ((c) + (x) * MG_P7(x, __VA_ARGS__))
#define MG_P9(x, c, ...) ((c) + (x) * MG_P8(x, __VA_ARGS__))
#define MG_P10(x, c, ...) ((c) + (x) * MG_P9(x, __VA_ARGS__))
#define MG_P11(x, c, ...) ((c) + (x) * MG_P10(x, __VA_ARGS__))
#define MG_P12(x, c, ...) ((c) + (x) * MG_P11(x, __VA_ARGS__))
#define MG_P13(x, c, ...) ((c) + (x) * MG_P12(x, __VA_ARGS__))

MG_FUNCTION uint64_t mg_bits_of(double x) { uint64_t bits; memcpy(&bits, &x, 8); return bits; }
MG_FUNCTION double mg_from_bits(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
MG_FUNCTION double mg_at_most(double x, double most) { return x > most ? most : x; }     /* nan stays nan */
MG_FUNCTION double mg_at_least(double x, double least) { return x < least ? least : x; }

/* condition ? x : y, by the bits: where several conditions meet, the compiler would make branches, and no vectors. */
MG_FUNCTION double mg_choose(int condition, double x, double y) {
    const uint64_t mask = -(uint64_t)condition;
    return mg_from_bits((mg_bits_of(x) & mask) | (mg_bits_of(y) & ~mask));
}

/* Adding this rounds to a whole number, and the low bits of the sum are that number. */
#define MG_MAGIC 6755399441055744.0
MG_FUNCTION uint64_t mg_whole(double sum) { return mg_bits_of(sum) - mg_bits_of(MG_MAGIC); }

/* ---- e^x ------------------------------------------------------------------------------------------------------------- */

/* x = k log 2 + r, |r| <= log(2) / 2. Returns r, and k + MG_MAGIC. */
MG_FUNCTION double mg_reduce_exp(double x, double *sum) {
    *sum = x * 1.4426950408889634 + MG_MAGIC;
    const double k = *sum - MG_MAGIC;
    return (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10;
}

/* e^r - 1 */
MG_FUNCTION double mg_exp_series(double r, int narrow) {
    const double tail = narrow ? MG_P6(r, 0.5000000013538729887, 0.1666666668170421504, 0.04166646419740569232, 0.008333310844647862564,
                                       0.00139337307157920825, 0.0001989108046399884204)
        : 0.5 + r * MG_P10(r, 0.1666666666666666746, 0.04166666666666666723, 0.008333333333330038197, 0.001388888888888653564,
                           0.0001984126986317155603, 0.00002480158731722872214, 2.755726827690569619e-6, 2.755728283880048297e-7,
                           2.5100472505694996e-8, 2.091129876594019823e-9);
    return r + r * r * tail;
}

/* 2^k, for -1022 <= k <= 1023 */
MG_FUNCTION double mg_power(uint64_t k) { return mg_from_bits((k + 1023) << 52); }

/* 2^k p. Two factors, because 2^1024 is no double, and numbers below the smallest normal one lose their digits gradually. */
MG_FUNCTION double mg_scale(double p, uint64_t k, int narrow) {
    if (narrow) return p * mg_power(k);
    const uint64_t half = (k + 2048) >> 1;
    return p * mg_power(half - 1024) * mg_power(k + 1024 - half);
}

MG_FUNCTION double mg_exp(double x, int narrow) {
    double sum;
    const double y = mg_at_least(mg_at_most(x, narrow ? 200 : 710), narrow ? -200 : -746), r = mg_reduce_exp(y, &sum);
    return mg_scale(1 + mg_exp_series(r, narrow), mg_whole(sum), narrow);
}

MG_FUNCTION double mg_exp2(double x, int narrow) {
    const double y = mg_at_least(mg_at_most(x, narrow ? 300 : 1025), narrow ? -300 : -1080), sum = y + MG_MAGIC;
    const double r = (y - (sum - MG_MAGIC)) * 0.6931471805599453;
    return mg_scale(1 + mg_exp_series(r, narrow), mg_whole(sum), narrow);
}

/* e^x - 1 = 2^k (e^r - 1) + (2^k - 1). Half of it, because 2^1024 is no double. */
MG_FUNCTION double mg_expm1(double x, int narrow) {
    double sum;
    const double r = mg_reduce_exp(mg_at_least(mg_at_most(x, 710), -50), &sum), half = mg_power(mg_whole(sum) - 1);
    const double z = 2 * (half * mg_exp_series(r, narrow) + (half - 0.5));
    return x == 0 ? x : z;              /* which has the sign of -0 */
}

/* e^x / 2 for 0 <= x, up to the largest number */
MG_FUNCTION double mg_half_exp(double x, int narrow) {
    double sum;
    const double r = mg_reduce_exp(mg_at_most(x, 711), &sum);
    return mg_scale(1 + mg_exp_series(r, narrow), mg_whole(sum) - 1, narrow);
}

MG_FUNCTION double mg_sinh(double x, int narrow) {
    const double a = fabs(x), y = mg_at_most(a, 1), z = y * y, half = mg_half_exp(narrow ? mg_at_most(a, 200) : a, narrow);
    const double series = narrow ? MG_P4(z, 0.1666666664684213432, 0.008333339675917060912, 0.0001983810196868388931,
                                         2.806280258227694618e-6)
        : MG_P7(z, 0.166666666666666667, 0.008333333333333299355, 0.0001984126984132419792, 2.7557319191381817e-6,
                2.505211769590782357e-8, 1.605767962380163775e-10, 7.746178593018827489e-13);
    return copysign(a > 1 ? half - 0.25 / half : a + a * z * series, x);
}

MG_FUNCTION double mg_cosh(double x, int narrow) {
    const double a = fabs(x), half = mg_half_exp(narrow ? mg_at_most(a, 200) : a, narrow);
    return half + 0.25 / half;
}

/* tanh |x| = -m / (2 + m), m = e^(-2 |x|) - 1. From tanh = 1/2 on, 1 - 2 (m + 1) / (2 + m) has half of the error, and the backward
   needs 1 - tanh². */
MG_FUNCTION double mg_tanh(double x, int narrow) {
    double sum;
    const double a = -2 * fabs(x), r = mg_reduce_exp(mg_at_least(a, -80), &sum), power = mg_power(mg_whole(sum));
    const double q = mg_exp_series(r, narrow), m = power * q + (power - 1), e = power * q + power;
    const int large = a < -1.1;
    const double part = (large ? 2 * e : -m) / (2 + m);
    return copysign(large ? 1 - part : part, x);
}

/* ---- log x ----------------------------------------------------------------------------------------------------------- */

/* x = 2^k m, 1/√2 <= m < √2, for a positive normal number. Returns m - 1. */
MG_FUNCTION double mg_reduce_log(double x, double *k) {
    const uint64_t moved = mg_bits_of(x) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
    *k = mg_from_bits((moved >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1023);
    return mg_from_bits((moved & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1;
}

/* log(1 + f) = f - (f²/2 - s (f²/2 + R)), s = f / (2 + f), R = 2/3 s² + 2/5 s⁴ ... . Returns s (f²/2 + R). */
MG_FUNCTION double mg_log_series(double f, int narrow) {
    const double s = f / (2 + f), z = s * s;
    const double series = narrow ? MG_P4(z, 0.66666666554454661, 0.4000012187450666831, 0.2855081687937601631, 0.2333057432907242837)
        : MG_P7(z, 0.6666666666666669688, 0.399999999998994473, 0.2857142862600142557, 0.2222221113056072644, 0.1818288943375751642,
                0.1533171134667299598, 0.1461657642164438595);
    return s * (0.5 * f * f + z * series);
}

/* k log 2 + log(1 + f) + c */
MG_FUNCTION double mg_log_sum(double k, double f, double c, int narrow) {
    const double series = mg_log_series(f, narrow) + (k * 1.9082149292705877e-10 + c);
    return k * 0.6931471803691238 - ((0.5 * f * f - series) - f);
}

/* The logarithm of x to any base: `value` if x is positive and finite */
MG_FUNCTION double mg_log_ends(double x, double value) {
    return mg_choose(x > 0, mg_choose(x < INFINITY, value, x), mg_choose(x == 0, -INFINITY, NAN));
}

/* Numbers below the smallest normal one are multiplied by 2^54. */
MG_FUNCTION double mg_lift(double x, int narrow) { return !narrow && x < 2.2250738585072014e-308 ? x * 18014398509481984.0 : x; }
MG_FUNCTION double mg_lifted(double x, int narrow) { return !narrow && x < 2.2250738585072014e-308 ? 54 : 0; }

MG_FUNCTION double mg_log(double x, int narrow) {
    double k;
    const double f = mg_reduce_log(mg_lift(x, narrow), &k);
    return mg_log_ends(x, mg_log_sum(k - mg_lifted(x, narrow), f, 0, narrow));
}

/* log x / log b, for 1 / log b = high + low, and log 2 / log b = step + step_low. A float is rounded from one product. */
MG_FUNCTION double mg_log_to_base(double x, double high, double low, double step, double step_low, int narrow) {
    double k;
    const double f = mg_reduce_log(mg_lift(x, narrow), &k), series = mg_log_series(f, narrow), square = 0.5 * f * f;
    k -= mg_lifted(x, narrow);
    if (narrow) return mg_log_ends(x, k * (step + step_low) + (f - (square - series)) * (high + low));
    const double top = mg_from_bits(mg_bits_of(f - square) & 0xffffffff00000000), rest = (f - top) - square + series;
    const double whole = k * step, part = top * high, sum = whole + part;
    return mg_log_ends(x, sum + ((whole - sum) + part + (k * step_low + (rest * high + (top + rest) * low))));
}
MG_FUNCTION double mg_log2(double x, int narrow) { return mg_log_to_base(x, 1.442695040255785, 6.331784189566044e-10, 1, 0, narrow); }
MG_FUNCTION double mg_log10(double x, int narrow) {
    return mg_log_to_base(x, 0.43429448176175356, 1.414982685385801e-10, 0.30102999565860955, 5.371644767466998e-12, narrow);
}

/* log(1 + x) = log u + (1 + x - u) / u, where u is 1 + x rounded */
MG_FUNCTION double mg_log1p(double x, int narrow) {
    double k;
    const double u = 1 + x, m = mg_reduce_log(u, &k), lost = narrow ? 0 : mg_choose(x > 1, 1 - (u - x), x - (u - 1)) / u;
    const double z = mg_log_sum(k, mg_choose(k == 0, x, m), mg_choose(k == 0, 0, lost), narrow);
    return mg_choose(x == 0, x, mg_log_ends(u, z));      /* x itself has the sign of -0 */
}

/* asinh |x| = log(1 + x + x² / (1 + √(1 + x²))), acosh x = log(1 + t + √(2t + t²)) with t = x - 1. For large x both are log 2x. */
#define MG_LARGE 268435456.0
MG_FUNCTION double mg_asinh(double x, int narrow) {
    const double a = fabs(x), y = mg_at_most(a, MG_LARGE), root = sqrt(1 + y * y);
    const double z = mg_log1p(mg_choose(a < MG_LARGE, y + y * y / (1 + root), a - 1), narrow);
    return copysign(z + mg_choose(a < MG_LARGE, 0, 0.6931471805599453), x);
}
MG_FUNCTION double mg_acosh(double x, int narrow) {
    const double t = mg_at_most(x, MG_LARGE) - 1, z = mg_log1p(mg_choose(x < MG_LARGE, t + sqrt(2 * t + t * t), x - 1), narrow);
    return mg_choose(x >= 1, z + mg_choose(x < MG_LARGE, 0, 0.6931471805599453), NAN);
}

/* atanh |x| = log(1 + 2x / (1 - x)) / 2 */
MG_FUNCTION double mg_atanh(double x, int narrow) {
    const double a = fabs(x);
    return copysign(0.5 * mg_log1p(mg_choose(a > 1, -2, 2 * a + 2 * a * a / (1 - a)), narrow), x);      /* log(1 - 2) is nan */
}

/* x^y for floats: ± e^(y log |x|). A negative x, which is finite, has powers for whole y only. log 0 times 0, and 0 times infinity,
   would be nan. */
MG_FUNCTION double mg_pow_narrow(double x, double y) {
    const double a = fabs(x), z = mg_exp(y * mg_log(a, 1), 1);
    const uint64_t odd = y == rint(y) && y * 0.5 != rint(y * 0.5), sign = (mg_bits_of(x) >> 63) & odd;
    const int one = (y == 0) | (x == 1) | ((a == 1) & (fabs(y) == INFINITY)), none = (x < 0) & (a < INFINITY) & (y != rint(y));
    return mg_choose(one, 1, mg_choose(none, NAN, mg_from_bits(mg_bits_of(z) ^ (sign << 63))));
}

/* ---- sin x ----------------------------------------------------------------------------------------------------------- */

/* π/2 in three parts is precise enough up to these; above, sin, cos and tan are libm's. */
#define MG_CIRCLES 20000.0
#define MG_CIRCLES_NARROW 1e6f

/* x = k π/2 + r + low, |r| <= π/4. Returns r, and k. */
MG_FUNCTION double mg_reduce_circle(double x, double *low, uint64_t *quarter, int narrow) {
    const double sum = x * 0.6366197723675814 + MG_MAGIC, k = sum - MG_MAGIC, t = x - k * 1.5707963267341256;
    *quarter = mg_whole(sum);
    *low = 0;
    if (narrow) return t - k * 6.077100506506192e-11;
    const double w = k * 6.077100506303966e-11, y = t - w, rest = ((t - y) - w) - k * 2.0222662487959506e-21, r = y + rest;
    *low = (y - r) + rest;
    return r;
}

/* sin(r + low), cos(r + low) */
MG_FUNCTION double mg_sin_series(double r, double low, int narrow) {
    const double z = r * r;
    if (narrow)
        return r + r * z * MG_P4(z, -0.1666666666385416704, 0.008333331874273713667, -0.0001984008649959359813, 2.724989523061167809e-6);
    const double series = MG_P5(z, 0.008333333333330947294, -0.0001984126983675677253, 2.755731610161787444e-6,
                                -2.505113165023518147e-8, 1.591811526326597519e-10);
    return r - ((z * (0.5 * low - z * r * series) - low) - z * r * -0.1666666666666666462);
}
MG_FUNCTION double mg_cos_series(double r, double low, int narrow) {
    const double z = r * r, half = 0.5 * z, w = 1 - half;
    if (narrow)
        return w + z * z * MG_P4(z, 0.04166666666432026661, -0.001388888767165250385, 0.00002480060018036380865, -2.730093368721294306e-7);
    const double series = MG_P6(z, 0.04166666666666666539, -0.001388888888888739649, 0.00002480158729876456077,
                                -2.755731727114514596e-7, 2.087614614655861158e-9, -1.138262364747460463e-11);
    return w + (((1 - w) - half) + (z * z * series - r * low));
}

/* sin(x + quarters π/2) */
MG_FUNCTION double mg_wave(double x, uint64_t quarters, int narrow) {
    double low;
    uint64_t k;
    const double r = mg_reduce_circle(x, &low, &k, narrow), s = mg_sin_series(r, low, narrow), c = mg_cos_series(r, low, narrow);
    k += quarters;
    return mg_from_bits(mg_bits_of(k & 1 ? c : s) ^ ((k & 2) << 62));
}
MG_FUNCTION double mg_sin(double x, int narrow) { return mg_choose(x == 0, x, mg_wave(x, 0, narrow)); }    /* with the sign of -0 */
MG_FUNCTION double mg_cos(double x, int narrow) { return mg_wave(x, 1, narrow); }
MG_FUNCTION double mg_tan(double x, int narrow) {
    double low;
    uint64_t k;
    const double r = mg_reduce_circle(x, &low, &k, narrow), s = mg_sin_series(r, low, narrow), c = mg_cos_series(r, low, narrow);
    return mg_choose(x == 0, x, (k & 1 ? -c : s) / (k & 1 ? s : c));
}

/* ---- the error function, for floats ----------------------------------------------------------------------------------- */

/* erfc |x| = e^(-x²) P((|x| - 2.5) / (|x| + 2.5)): a fitted polynomial, with an error of 1e-8. From 10.3 on it is too small for a
   float. */
MG_FUNCTION double mg_erfc_narrow(double x) {
    const double a = mg_at_most(fabs(x), 10.3), s = (a - 2.5) / (a + 2.5);
    const double z = mg_exp(-a * a, 1) * MG_P11(s, 0.2108063641452322, -0.3717367361857116, 0.2517131771122827, -0.1250330000667665,
                                                0.03992294378984209, -0.003993819251386252, -0.002645585190481289,
                                                0.0008736215721701206, 0.0002378372915891832, -0.0001161683155631178,
                                                -4.083967666886568e-5);
    return x < 0 ? 2 - z : z;
}

/* erfinv x = x P(w), w = -log(1 - x²), and above w = 5 a polynomial in √w: both fitted, with errors of 7e-9. The idea is that of
   M. Giles, "Approximating the erfinv function". */
MG_FUNCTION double mg_erfinv_narrow(double x) {
    const double w = -mg_log(1 - x * x, 1), s = mg_at_most(w, 5) - 2.5, r = sqrt(mg_at_least(w, 5)) - 3.15;
    const double middle = MG_P11(s, 1.501409351110792, 0.2466402894274551, -0.004177320040540122, -0.001252748502841663,
                                 0.0002182577239638333, -4.959691794215936e-6, -3.423414274222046e-6, 4.654174105023166e-7,
                                 1.598430613390006e-8, -8.739010702830123e-9, 4.671932509038665e-10);
    const double outer = MG_P11(r, 2.983417441508003, 1.004061355322021, 0.006664173564417282, -0.004936363490143868,
                                0.003490187139820114, -0.00233872538172305, 0.001208437081948263, -0.0003355249821045165,
                                -7.97439562873692e-5, 0.0001166778963309674, -3.457579213452002e-5);
    return mg_choose(fabs(x) == 1, x * INFINITY, x * mg_choose(w > 5, outer, middle));
}

/* ---- the gamma function, for positive floats --------------------------------------------------------------------------- */

/* log Γ(y) by Stirling's series, for y >= 8: log Γ(x) = log Γ(x + 8) - log(x (x + 1) ... (x + 7)). Next to its zeros 1 and 2 the
   difference has too few digits. */
MG_FUNCTION double mg_lgamma_narrow(double x) {
    const int small = x < 8;
    const double a = mg_at_most(x, 8), product = (a * (a + 7)) * ((a + 1) * (a + 6)) * ((a + 2) * (a + 5)) * ((a + 3) * (a + 4));
    const double y = x + (small ? 8 : 0), r = 1 / y, z = r * r;
    const double tail = MG_P7(z, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156);
    return ((y - 0.5) * mg_log(y, 0) - y) + (0.91893853320467274178 + r * tail) - mg_log(small ? product : 1, 0);
}

/* ψ(x) = ψ(x + 8) - 1/x - 1/(x + 1) ... - 1/(x + 7). The first and the last fraction are added to one, and so on. */
MG_FUNCTION double mg_digamma_narrow(double x) {
    const double y = x + 8, r = 1 / y, z = r * r, twice = 2 * x + 7;
    const double tail = MG_P6(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760);
    const double sum = (twice / (x * (x + 7)) + twice / ((x + 1) * (x + 6))) + (twice / ((x + 2) * (x + 5)) + twice / ((x + 3) * (x + 4)));
    return mg_log(y, 0) - (0.5 * r + z * tail) - sum;
}

/* ψ'(x) for x > 0: 1/x² + 1/(x + 1)² + ... and the asymptotic series from 8 on, or from 10 on for doubles. For floats, two
   fractions become one. Above 1e6 the series is enough, and the products might overflow. */
MG_FUNCTION double mg_trigamma(double x, int narrow) {
    const double steps = narrow ? 8 : 10, last = steps - 1, a = mg_at_most(x, 1e6);
    double sum = 0;
    for (int k = narrow ? 3 : 9; k >= 0; k--) {
        const double p = a + k, q = narrow ? a + (last - k) : 1, product = p * q;
        sum += (narrow ? p * p + q * q : 1) / (product * product);
    }
    const double r = 1 / (x + (x < 1e6 ? steps : 0)), z = r * r;
    const double tail = narrow ? MG_P5(z, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66)
        : MG_P9(z, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6, -3617.0 / 510, 43867.0 / 798);
    return (x < 1e6 ? sum : 0) + (r + (0.5 * z + r * z * tail));
}

/* ---- Bessel functions -------------------------------------------------------------------------------------------------- */

/* I0 or I1 of |x|, and if `scaled` times e^-|x|: up to 8 a polynomial in x²/4, above e^|x| / √|x| times one in 16 / |x| - 1. */
MG_FUNCTION double mg_bessel(double x, int order, int scaled, int narrow) {
    const double a = fabs(x), low = mg_at_most(a, 8), z = 0.25 * low * low, end = narrow ? 200 : 720;
    const double high = mg_at_least(scaled ? a : mg_at_most(a, end), 8), t = 16 / high - 1;
    double near, far;
    if (narrow) {
        near = order ? 0.5 * low * MG_P12(z, 1.0, 0.5000000003, 0.08333333232, 0.006944445628, 0.000347221512, 1.157432512e-5,
                                          2.755170792e-7, 4.929177044e-9, 6.754619741e-11, 8.103532777e-13, 4.884675451e-15,
                                          9.614043079e-17)
            : MG_P12(z, 0.9999999997, 1.000000005, 0.2499999863, 0.02777779377, 0.001736101514, 6.944783541e-5, 1.928254851e-6,
                     3.947857159e-8, 6.043361384e-10, 8.279219658e-12, 4.887155262e-14, 1.211599092e-15);
        far = order ? MG_P8(t, 0.3893984591, -0.009749577241, -0.0002192373854, -1.503704714e-5, -1.825006939e-6, -3.548195417e-7,
                            -1.231841967e-7, -3.785602479e-8)
            : MG_P8(t, 0.4021765094, 0.003360552031, 0.0001362174078, 1.114154219e-5, 1.475475636e-6, 3.038330909e-7,
                    1.091023294e-7, 3.363580224e-8);
    } else if (order) {
        const double top = MG_P5(z, 3.353504320733521481e-19, 1.837156865691237177e-21, 8.963806609001203763e-24,
                                 3.159069754559477399e-26, 2.090351329830839709e-28);
        const double tail = MG_P12(t, 5.57201839809303574e-9, -7.687251308765992128e-9, -6.944418633987387605e-9,
                                   3.501765193290176037e-9, 4.763780078020254118e-9, -1.521821406068073322e-9,
                                   -2.262440110920444729e-9, 5.870664618471486445e-10, 6.772747845446200075e-10,
                                   -1.628326432262124354e-10, -9.49189039299204836e-11, 2.242176859684744333e-11);
        near = 0.5 * low * MG_P13(z, 1.0, 0.4999999999999999992, 0.08333333333333333819, 0.006944444444444432917,
                                  0.0003472222222222366167, 1.157407407406317414e-5, 2.755731922452984575e-7,
                                  4.920949859540306608e-9, 6.834652632309532218e-11, 7.594057567711264751e-13,
                                  6.903701192957936128e-15, 5.229948819445319767e-17, top);
        far = MG_P13(t, 0.3893984590258723195, -0.009749577193235764253, -0.0002192357638313777646, -1.503854719822175868e-5,
                     -1.834910249399017661e-6, -3.483856346425313299e-7, -1.000107504624396143e-7, -4.312849803100673114e-8,
                     -2.339412295836255669e-8, -8.432168972932416674e-9, 6.847578299269339981e-9, 1.405174692873554259e-8, tail);
    } else {
        const double top = MG_P5(z, 4.360036226917577633e-18, 2.569874385751495668e-20, 1.350958279694769937e-22,
                                 4.940670282542571533e-25, 3.645438681267743271e-27);
        const double tail = MG_P12(t, -5.017594034504671318e-9, 7.600254486433508474e-9, 6.522264862032270643e-9,
                                   -3.58628341115823065e-9, -4.53057107686211928e-9, 1.608488615578177106e-9,
                                   2.163681278413875721e-9, -6.327909921997027083e-10, -6.494591114401118479e-10,
                                   1.769808553945653485e-10, 9.114760157514252661e-11, -2.442197268813183146e-11);
        near = MG_P13(z, 1.0, 0.9999999999999999851, 0.2500000000000000893, 0.02777777777777756574, 0.001736111111111375859,
                      6.944444444424398499e-5, 1.92901234577904049e-6, 3.936759885673581458e-8, 6.151187413177667273e-10,
                      7.594056846699173385e-12, 7.594079950279468804e-14, 6.275862820937522005e-16, top);
        far = MG_P13(t, 0.4021765094450080859, 0.003360551983667891163, 0.0001362160743895146389, 1.114303378845176013e-5,
                     1.483847678092264524e-6, 2.973599208466773304e-7, 8.872014585661554999e-8, 3.932512321137824429e-8,
                     2.156780676115673052e-8, 7.55936409866543692e-9, -6.856484545962442429e-9, -1.342751148190090605e-8, tail);
    }
    far = far / sqrt(high);
    if (scaled) return mg_choose(a <= 8, near * mg_exp(-low, narrow), far);
    double sum;             /* the power of 2 comes last: e^x may overflow where the result does not */
    const double r = mg_reduce_exp(high, &sum);
    return mg_choose(a <= 8, near, mg_scale(far + far * mg_exp_series(r, narrow), mg_whole(sum), narrow));
}
MG_FUNCTION double mg_i0(double x, int narrow) { return mg_bessel(x, 0, 0, narrow); }
MG_FUNCTION double mg_i1(double x, int narrow) { return copysign(mg_bessel(x, 1, 0, narrow), x); }
MG_FUNCTION double mg_i0e(double x, int narrow) { return mg_bessel(x, 0, 1, narrow); }
MG_FUNCTION double mg_i1e(double x, int narrow) { return copysign(mg_bessel(x, 1, 1, narrow), x); }

/* ---- inverse functions of a circle ----------------------------------------------------------------------------------- */

#define MG_HALF_PI 1.5707963267948966
#define MG_HALF_PI_LOW 6.123233995736766e-17
#define MG_TINY 1e-300              /* in place of 0 below a fraction */

/* atan |x| = base + atan t, t = x, (x - 1) / (x + 1) or -1/x, |t| <= √2 - 1 */
MG_FUNCTION double mg_atan(double x, int narrow) {
    const double a = fabs(x), root = 1.4142135623730951;
    const int large = a > root + 1, middle = a > root - 1;
    const double t = (large ? -1 : middle ? a - 1 : a) / (large ? a : middle ? a + 1 : 1), z = t * t;
    const double base = large ? 1 : middle ? 0.5 : 0, low = large ? MG_HALF_PI_LOW : middle ? 0.5 * MG_HALF_PI_LOW : 0;
    const double series = narrow ? MG_P6(z, -0.333333332792245395, 0.1999997724823353035, -0.142841506297302882, 0.1107135457120135146,
                                         -0.08624598215196126671, 0.05047937432040091025)
        : MG_P11(z, -0.3333333333333333016, 0.1999999999999551655, -0.1428571428466568076, 0.1111111101518701872,
                 -0.09090904575306489084, 0.0769218312537689209, -0.06664510525508936599, 0.05858140904866328282,
                 -0.05085407834589484257, 0.03923044778479309523, -0.01917540471110493368);
    return copysign(base * MG_HALF_PI + (t + (t * z * series + low)), x);
}

/* The angle of the point (x, y): atan(y / x), and half a turn more for negative x. Equal infinities, and zeros, count as 1. */
MG_FUNCTION double mg_atan2(double y, double x, int narrow) {
    const int ends = ((x == 0) & (y == 0)) | ((fabs(x) == INFINITY) & (fabs(y) == INFINITY));
    const double a = mg_choose(ends, copysign(1, x), x + 0.0), b = mg_choose(ends, copysign(x == 0 ? 0 : 1, y), y);
    const double z = mg_atan(b / a, narrow), turn = copysign(2 * MG_HALF_PI, y), rest = copysign(2 * MG_HALF_PI_LOW, y);
    return mg_choose(a < 0, turn + (z + rest), z);
}

/* asin(√z) = √z (1 + z R), z <= 1/4. Returns z R. */
MG_FUNCTION double mg_asin_series(double z, int narrow) {
    return z * (narrow ? MG_P6(z, 0.1666666633743090705, 0.07500094543497423476, 0.04459940152851218372, 0.03110066273549456793,
                               0.01714923835767725319, 0.03369084720283011952)
        : MG_P13(z, 0.1666666666666666783, 0.07499999999998432933, 0.04464285714635542978, 0.03038194413853124729,
                 0.02237217294214988787, 0.01735239272086997294, 0.0139712129735529333, 0.0114791774151849059,
                 0.01032281435018577929, 0.0054575067186403583, 0.01740087944269402244, -0.01485188707124720322,
                 0.02875785136742156471));
}

/* asin x, or acos x = π/2 - asin x. Above 1/2, asin x = π/2 - 2 asin √((1 - x) / 2); the root is in two parts. */
MG_FUNCTION double mg_asin(double x, int narrow) {
    const double a = fabs(x), half = (1 - a) * 0.5, root = sqrt(half), p = mg_asin_series(a > 0.5 ? half : a * a, narrow);
    const double top = narrow ? root : mg_from_bits(mg_bits_of(root) & 0xffffffff00000000);
    const double c = narrow ? 0 : (half - top * top) / (root + top + MG_TINY), quarter = 0.5 * MG_HALF_PI;
    const double above = quarter - ((2 * root * p - (MG_HALF_PI_LOW - 2 * c)) - (quarter - 2 * top));
    return copysign(a > 0.5 ? above : a + a * p, x);
}
MG_FUNCTION double mg_acos(double x, int narrow) {
    const double a = fabs(x), half = (1 - a) * 0.5, root = sqrt(half), p = mg_asin_series(a > 0.5 ? half : a * a, narrow);
    const double top = narrow ? root : mg_from_bits(mg_bits_of(root) & 0xffffffff00000000);
    const double c = narrow ? 0 : (half - top * top) / (root + top + MG_TINY);
    const double small = MG_HALF_PI - (x - (MG_HALF_PI_LOW - x * p));
    return a <= 0.5 ? small : x > 0 ? 2 * (top + (p * root + c)) : 2 * (MG_HALF_PI - (root + (p * root - MG_HALF_PI_LOW)));
}

#endif
