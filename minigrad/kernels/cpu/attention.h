/* The rows of attention: weights from scores, and the gradient of the scores. Products come before and after (attention_heads.pyx).

       w = softmax(scale w)                p = scale w (p - Σ p w)

   `seen` numbers of a row were computed, and the rest of its `n` numbers belongs to keys that no query of the block may see. Of the
   numbers that were computed, row r of a causal block sees the first `first` + r + 1. We set the others to -inf, whose exponential
   is 0, so that all rows of a block are equally long and fill whole vectors. */
#ifndef MINIGRAD_ATTENTION_H
#define MINIGRAD_ATTENTION_H

#include "functions.h"
#include "simd.h"
#include "sums.h"

#define MG_ATTENTION(T, suffix, EXP_DOWN)                                                          \
    MG_SIMD static void mg_attention_weights_##suffix(T *w, mg_size rows, mg_size first, mg_size seen, mg_size n, T scale) { \
        for (mg_size r = 0; r < rows; r++, w += n) {                                               \
            const mg_size limit = first + r + 1 < seen ? first + r + 1 : seen;                     \
            for (mg_size i = limit; i < seen; i++) w[i] = -INFINITY;                               \
            MG_TOP(T, w, seen);                                                                    \
            MG_TOTAL(T, total, seen, w[i] = EXP_DOWN(scale * (w[i] - top)))                        \
            const T sum = (T)total, inverse = 1 / sum;                                             \
            for (mg_size i = 0; i < seen; i++) {        /* w / sum, without a division: the remainder corrects the product */ \
                const T e = w[i], q = e * inverse;                                                 \
                w[i] = q + (e - q * sum) * inverse;                                                \
            }                                                                                      \
            for (mg_size i = limit; i < n; i++) w[i] = 0;                                          \
        }                                                                                          \
    }                                                                                              \
    MG_SIMD static void mg_attention_slopes_##suffix(T *restrict p, const T *restrict w, mg_size rows, mg_size seen, mg_size n, \
                                                     T scale) {                                    \
        for (mg_size r = 0; r < rows; r++, p += n, w += n) {                                       \
            MG_TOTAL(T, total, seen, p[i] * w[i])                                                  \
            const T sum = (T)total;                                                                \
            for (mg_size i = 0; i < seen; i++) p[i] = scale * (w[i] * (p[i] - sum));               \
        }                                                                                          \
    }
MG_ATTENTION(float, f32, mg_exp_down_f32)
MG_ATTENTION(double, f64, mg_exp_of_f64)

#endif
