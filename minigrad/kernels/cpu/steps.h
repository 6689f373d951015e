/* The steps of optimisers, each in one pass over the parameter, for float and for double.

   So that the loops vectorise, options are decided outside of them or become numbers: without weight decay, `decay` is 0. */
#ifndef MINIGRAD_STEPS_H
#define MINIGRAD_STEPS_H

#include <math.h>

#include "simd.h"

#define MG_STEPS(T, suffix, root)                                                                                       \
    MG_SIMD static void mg_adam_##suffix(T *restrict w, const T *restrict g, T *restrict m, T *restrict v, mg_size n,    \
                                         T step, T b1, T b2, T c2, T eps, T correction, T decay, T shrink, T sign) {     \
        for (mg_size i = 0; i < n; i++) {                                                                               \
            const T grad = sign * g[i] + decay * w[i];                                                                  \
            m[i] += (grad - m[i]) * b1;                                                                                 \
            v[i] = v[i] * b2 + c2 * grad * grad;                                                                        \
            w[i] = w[i] * shrink - step * m[i] / (root(v[i]) * correction + eps);                                       \
        }                                                                                                               \
    }                                                                                                                   \
    MG_SIMD static void mg_amsgrad_##suffix(T *restrict w, const T *restrict g, T *restrict m, T *restrict v,            \
                                            T *restrict top, mg_size n, T step, T b1, T b2, T c2, T eps, T correction,   \
                                            T decay, T shrink, T sign) {                                                \
        for (mg_size i = 0; i < n; i++) {                                                                               \
            const T grad = sign * g[i] + decay * w[i];                                                                  \
            m[i] += (grad - m[i]) * b1;                                                                                 \
            v[i] = v[i] * b2 + c2 * grad * grad;                                                                        \
            top[i] = top[i] > v[i] ? top[i] : v[i];                                                                     \
            w[i] = w[i] * shrink - step * m[i] / (root(top[i]) * correction + eps);                                     \
        }                                                                                                               \
    }                                                                                                                   \
    MG_SIMD static void mg_sgd_##suffix(T *restrict w, const T *restrict g, mg_size n, T step, T decay, T sign) {        \
        for (mg_size i = 0; i < n; i++) w[i] -= step * (sign * g[i] + decay * w[i]);                                    \
    }                                                                                                                   \
    /* buffer = mu buffer + keep grad; w -= step (carry grad + push buffer) */                                     \
    MG_SIMD static void mg_momentum_##suffix(T *restrict w, const T *restrict g, T *restrict buffer, mg_size n, T step,  \
                                             T mu, T keep, T carry, T push, T decay, T sign) {                          \
        for (mg_size i = 0; i < n; i++) {                                                                               \
            const T grad = sign * g[i] + decay * w[i];                                                                  \
            buffer[i] = mu * buffer[i] + keep * grad;                                                                   \
            w[i] -= step * (carry * grad + push * buffer[i]);                                                           \
        }                                                                                                               \
    }

MG_STEPS(float, f32, sqrtf)
MG_STEPS(double, f64, sqrt)

#endif
