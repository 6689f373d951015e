/* The steps of recurrent layers, after the matrix product: all gates, the memory and the state of a batch in one loop.

       forward     p = U h, and a = W x of this step       ->  a = the gates, c, z = the next state
       backward    d = the gradient of z, e = of c         ->  gx, gh = the gradients of W x and U h; e = of the memory before

   A row has `size` elements for each gate, one gate after the other: i f g o of an LSTM, r s n of a GRU. tanh has no branches, so
   that the loops vectorise (simd.h). */
#ifndef MINIGRAD_RECURRENT_H
#define MINIGRAD_RECURRENT_H

#include "functions.h"
#include "simd.h"

/* The iterations of a loop over one row write to different elements. */
#if defined(__GNUC__) && !defined(__clang__)
#define MG_INDEPENDENT _Pragma("GCC ivdep")
#else
#define MG_INDEPENDENT
#endif

/* p: U h; b: the biases; h, m: the state and the memory before the step. */
typedef void (*mg_step)(const void *p, const void *b, void *a, const void *h, const void *m, void *c, void *z, mg_size rows,
                        mg_size size);
/* d: the gradient of z; e: in and out; the other names as in the forward, after it. */
typedef void (*mg_step_back)(const void *d, void *e, const void *a, const void *h, const void *m, const void *c, const void *z,
                             void *gx, void *gh, mg_size rows, mg_size size);

#define MG_FORWARD(name, suffix)                                                                   \
    MG_SIMD static void mg_##name##_##suffix(const void *p_, const void *b_, void *a_, const void *h_, const void *m_, void *c_, \
                                             void *z_, mg_size rows, mg_size size)
#define MG_BACKWARD(name, suffix)                                                                  \
    MG_SIMD static void mg_##name##_back_##suffix(const void *d_, void *e_, const void *a_, const void *h_, const void *m_, \
                                                  const void *c_, const void *z_, void *gx_, void *gh_, mg_size rows, mg_size size)

#define MG_LSTM(T, suffix)                                                                         \
    MG_FORWARD(lstm, suffix) {                                                                     \
        const T *p = p_, *b = b_, *m = m_; T *a = a_, *c = c_, *z = z_;                            \
        (void)h_;                                                                                  \
        for (mg_size row = 0; row < rows; row++, p += 4 * size, a += 4 * size, m += size, c += size, z += size) \
            MG_INDEPENDENT                                                                         \
            for (mg_size j = 0; j < size; j++) {                                                   \
                const mg_size k = size + j, l = 2 * size + j, n = 3 * size + j;                    \
                const T i = mg_sigmoid_of_##suffix(a[j] + p[j] + b[j]), f = mg_sigmoid_of_##suffix(a[k] + p[k] + b[k]); \
                const T g = mg_tanh_of_##suffix(a[l] + p[l] + b[l]), o = mg_sigmoid_of_##suffix(a[n] + p[n] + b[n]); \
                const T memory = f * m[j] + i * g;                                                 \
                a[j] = i, a[k] = f, a[l] = g, a[n] = o, c[j] = memory;                             \
                z[j] = o * mg_tanh_of_##suffix(memory);                                            \
            }                                                                                      \
    }                                                                                              \
    MG_BACKWARD(lstm, suffix) {                                                                    \
        const T *d = d_, *a = a_, *m = m_, *c = c_; T *e = e_, *g = gx_;                           \
        (void)h_, (void)z_, (void)gh_;                                                             \
        for (mg_size row = 0; row < rows; row++, d += size, e += size, a += 4 * size, m += size, c += size, g += 4 * size) \
            MG_INDEPENDENT                                                                         \
            for (mg_size j = 0; j < size; j++) {                                                   \
                const mg_size k = size + j, l = 2 * size + j, n = 3 * size + j;                    \
                const T i = a[j], f = a[k], w = a[l], o = a[n], y = mg_tanh_of_##suffix(c[j]);     \
                const T v = e[j] + d[j] * o * (1 - y * y);                                         \
                g[j] = v * w * ((1 - i) * i), g[k] = v * m[j] * ((1 - f) * f);                     \
                g[l] = v * i * (1 - w * w), g[n] = d[j] * y * ((1 - o) * o);                       \
                e[j] = v * f;                                                                      \
            }                                                                                      \
    }

#define MG_GRU(T, suffix)                                                                          \
    MG_FORWARD(gru, suffix) {                                                                      \
        const T *p = p_, *b = b_, *h = h_; T *a = a_, *c = c_, *z = z_;                            \
        (void)m_;                                                                                  \
        for (mg_size row = 0; row < rows; row++, p += 3 * size, a += 3 * size, h += size, c += size, z += size) \
            MG_INDEPENDENT                                                                         \
            for (mg_size j = 0; j < size; j++) {                                                   \
                const mg_size k = size + j, l = 2 * size + j;                                      \
                const T r = mg_sigmoid_of_##suffix(a[j] + p[j] + b[j]), s = mg_sigmoid_of_##suffix(a[k] + p[k] + b[k]); \
                const T inner = p[l] + b[3 * size + j], n = mg_tanh_of_##suffix(a[l] + b[l] + r * inner); \
                a[j] = r, a[k] = s, a[l] = n, c[j] = inner;                                        \
                z[j] = n + s * (h[j] - n);                                                         \
            }                                                                                      \
    }                                                                                              \
    MG_BACKWARD(gru, suffix) {                                                                     \
        const T *d = d_, *a = a_, *h = h_, *c = c_; T *e = e_, *g = gx_, *q = gh_;                 \
        (void)m_, (void)z_;                                                                        \
        for (mg_size row = 0; row < rows; row++, d += size, e += size, a += 3 * size, h += size, c += size, g += 3 * size, \
                                          q += 3 * size)                                           \
            MG_INDEPENDENT                                                                         \
            for (mg_size j = 0; j < size; j++) {                                                   \
                const mg_size k = size + j, l = 2 * size + j;                                      \
                const T r = a[j], s = a[k], n = a[l], v = d[j] * (1 - s) * (1 - n * n);            \
                const T of_r = v * c[j] * ((1 - r) * r), of_s = d[j] * (h[j] - n) * ((1 - s) * s); \
                g[j] = of_r, g[k] = of_s, g[l] = v, q[j] = of_r, q[k] = of_s, q[l] = v * r;        \
                e[j] = d[j] * s;                                                                   \
            }                                                                                      \
    }

/* No gates: a becomes the next state, and is z itself. */
#define MG_PLAIN(name, T, suffix, function, slope)                                                 \
    MG_FORWARD(name, suffix) {                                                                     \
        const T *p = p_, *b = b_; T *a = a_;                                                       \
        (void)h_, (void)m_, (void)c_, (void)z_;                                                    \
        for (mg_size row = 0; row < rows; row++, p += size, a += size)                             \
            MG_INDEPENDENT                                                                         \
            for (mg_size j = 0; j < size; j++) { const T x = a[j] + p[j] + b[j]; a[j] = function; } \
    }                                                                                              \
    MG_BACKWARD(name, suffix) {                                                                    \
        const T *d = d_, *z = z_; T *g = gx_;                                                      \
        (void)e_, (void)a_, (void)h_, (void)m_, (void)c_, (void)gh_;                               \
        MG_INDEPENDENT                                                                             \
        for (mg_size j = 0; j < rows * size; j++) { const T y = z[j], v = d[j]; g[j] = slope; }    \
    }

/* x += y, and total[j] += the sum of column j of g. The sum of 16 rows is added in T, and all others in double. */
#define MG_SUMS(T, suffix)                                                                         \
    MG_SIMD static void mg_add_to_##suffix(void *x_, const void *y_, mg_size n) {                  \
        T *x = x_; const T *y = y_;                                                                \
        for (mg_size j = 0; j < n; j++) x[j] += y[j];                                              \
    }                                                                                              \
    MG_SIMD static void mg_sum_columns_##suffix(const void *g_, double *total, mg_size rows, mg_size size) { \
        const T *g = g_;                                                                           \
        for (mg_size row = 0; row < rows; row += 16, g += 16 * size) {                             \
            const mg_size count = rows - row < 16 ? rows - row : 16;                               \
            for (mg_size begin = 0; begin < size; begin += 64) {                                   \
                const mg_size width = size - begin < 64 ? size - begin : 64;                       \
                T sum[64] = {0};                                                                   \
                for (mg_size k = 0; k < count; k++)                                                \
                    for (mg_size j = 0; j < width; j++) sum[j] += g[k * size + begin + j];         \
                for (mg_size j = 0; j < width; j++) total[begin + j] += sum[j];                    \
            }                                                                                      \
        }                                                                                          \
    }

MG_LSTM(float, f32)
MG_LSTM(double, f64)
MG_GRU(float, f32)
MG_GRU(double, f64)
MG_PLAIN(tanh, float, f32, mg_tanh_of_f32(x), v * (1 - y * y))
MG_PLAIN(tanh, double, f64, mg_tanh_of_f64(x), v * (1 - y * y))
MG_PLAIN(relu, float, f32, (x > 0 || x != x) ? x : 0, y <= 0 ? 0 : v)
MG_PLAIN(relu, double, f64, (x > 0 || x != x) ? x : 0, y <= 0 ? 0 : v)
MG_SUMS(float, f32)
MG_SUMS(double, f64)

#define MG_BOTH(name) {mg_##name##_f32, mg_##name##_f64}
static const mg_step mg_steps[4][2] = {MG_BOTH(tanh), MG_BOTH(relu), MG_BOTH(lstm), MG_BOTH(gru)};
static const mg_step_back mg_steps_back[4][2] = {MG_BOTH(tanh_back), MG_BOTH(relu_back), MG_BOTH(lstm_back), MG_BOTH(gru_back)};

#endif
