/* Special functions of one double. The formulas are those of numpy_ref/special.py, which explains them; what the C library has, it
   computes. */
#ifndef MINIGRAD_SPECIAL_H
#define MINIGRAD_SPECIAL_H

#include <math.h>

#define MG_PI 3.14159265358979323846

static double mg_lgamma(double x) {
#if defined(__GLIBC__) && defined(_DEFAULT_SOURCE)
    int sign;                   /* lgamma would write it to a global variable, which threads share */
    return lgamma_r(x, &sign);
#else
    return lgamma(x);
#endif
}

static double mg_digamma(double x) {
    static const double bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6, -3617.0 / 510,
                                       43867.0 / 798, -174611.0 / 330, 854513.0 / 138};
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0 && x == floor(x)) return NAN;
    double y = x < 0 ? 1 - x : x, total = 0, series = 0;
    for (; y < 10; y++) total -= 1 / y;
    for (int j = 11; j > 0; j--) series = (series + bernoulli[j - 1] / (2 * j)) / (y * y);
    total = isinf(y) ? y : total + (log(y) - 0.5 / y - series);
    return x < 0 ? total - MG_PI / tan(MG_PI * (x - rint(x))) : total;
}

static double mg_erfinv(double x) {
    const double p = fabs(x);
    if (!(p < 1)) return p == 1 ? copysign(INFINITY, x) : NAN;
    const double w = log1p(-p * p), b = 2 / (MG_PI * 0.147) + w / 2, first = sqrt(b * b - w / 0.147) - b;
    double z = sqrt(first > 0 ? first : 0);
    for (int k = 0; k < 3; k++) {
        const double residual = p < 0.5 ? erf(z) - p : (1 - p) - erfc(z);
        const double step = residual * exp(z * z) * (sqrt(MG_PI) / 2);
        z -= step / (1 + z * step);
    }
    return copysign(z, x);
}

#endif
