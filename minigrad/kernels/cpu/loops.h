/* The inner loops of the elementwise kernels: a pair (float, double) for each line of the tables below.

   Each is a plain C loop over contiguous memory, which the compiler vectorises (simd.h). A binary loop has three layouts: both
   operands are arrays (VV), the second is a single number (VS), or the first is (SV). */
#ifndef MINIGRAD_LOOPS_H
#define MINIGRAD_LOOPS_H

#include <math.h>

#include "functions.h"
#include "pieces.h"
#include "simd.h"
#include "special.h"

typedef void (*mg_binary)(const void *, const void *, void *, mg_size);
typedef void (*mg_unary)(const void *, void *, mg_size);

/* z = f(a, b). There is no `restrict`, because the loop may run in place (z == x). */
#define MG_BINARY_LOOPS(name, T, suffix, expression)                                               \
    MG_SIMD static void mg_##name##_vv_##suffix(const void *x, const void *y, void *z, mg_size n) { \
        const T *p = (const T *)x, *q = (const T *)y; T *r = (T *)z;                               \
        for (mg_size i = 0; i < n; i++) { const T a = p[i], b = q[i]; r[i] = (expression); }       \
    }                                                                                              \
    MG_SIMD static void mg_##name##_vs_##suffix(const void *x, const void *y, void *z, mg_size n) { \
        const T *p = (const T *)x; const T b = *(const T *)y; T *r = (T *)z;                       \
        for (mg_size i = 0; i < n; i++) { const T a = p[i]; r[i] = (expression); }                 \
    }                                                                                              \
    MG_SIMD static void mg_##name##_sv_##suffix(const void *x, const void *y, void *z, mg_size n) { \
        const T *q = (const T *)y; const T a = *(const T *)x; T *r = (T *)z;                       \
        for (mg_size i = 0; i < n; i++) { const T b = q[i]; r[i] = (expression); }                 \
    }

#define MG_UNARY_LOOPS(name, T, suffix, expression)                                                \
    MG_SIMD static void mg_##name##_##suffix(const void *x, void *z, mg_size n) {                  \
        const T *p = (const T *)x; T *r = (T *)z;                                                  \
        for (mg_size i = 0; i < n; i++) { const T a = p[i]; r[i] = (expression); }                 \
    }

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
    X(glu, 14, a * mg_sigmoid_of_f32(b), a * mg_sigmoid_of_f64(b))

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

/* For few elements only: NumPy's vectorised loops are faster from about a dozen elements on. */
#define MG_LIBM_TABLE(X)                                                                           \
    X(exp, 0, expf(a), exp(a))                                                                     \
    X(log, 1, logf(a), log(a))                                                                     \
    X(log1p, 2, log1pf(a), log1p(a))                                                               \
    X(sin, 3, sinf(a), sin(a))                                                                     \
    X(cos, 4, cosf(a), cos(a))                                                                     \
    X(tanh, 5, tanhf(a), tanh(a))

/* Functions without a vectorised form. */
#define MG_SPECIAL_TABLE(X)                                                                        \
    X(erfc, 0, (float)erfc(a), erfc(a))                                                            \
    X(erfinv, 1, (float)mg_erfinv(a), mg_erfinv(a))                                                \
    X(lgamma, 2, (float)mg_lgamma(a), mg_lgamma(a))                                                \
    X(digamma, 3, (float)mg_digamma(a), mg_digamma(a))                                             \
    X(i0, 4, (float)mg_i0(a), mg_i0(a))                                                            \
    X(i1, 5, (float)mg_i1(a), mg_i1(a))

MG_GLU_BACKWARD(float, f32, mg_exp_of_f32, fabsf)
MG_GLU_BACKWARD(double, f64, mg_exp_of_f64, fabs)

/* z = a where c, else b. Both are read, and one is selected without a branch: for a random mask a branch takes most of the time. */
typedef void (*mg_choice)(const char *, const void *, const void *, void *, mg_size);
#define MG_CHOICE_LOOP(layout, T, suffix, A, B)                                                    \
    MG_SIMD static void mg_where_##layout##_##suffix(const char *c, const void *x, const void *y, void *z, mg_size n) { \
        const T *p = (const T *)x, *q = (const T *)y; T *r = (T *)z;                               \
        const T first = n ? *p : 0, second = n ? *q : 0; (void)first; (void)second;                \
        for (mg_size i = 0; i < n; i++) { const T a = A, b = B; r[i] = c[i] ? a : b; }             \
    }
#define MG_CHOICE_LOOPS(T, suffix)                                                                 \
    MG_CHOICE_LOOP(vv, T, suffix, p[i], q[i])                                                      \
    MG_CHOICE_LOOP(vs, T, suffix, p[i], second)                                                    \
    MG_CHOICE_LOOP(sv, T, suffix, first, q[i])                                                     \
    MG_CHOICE_LOOP(ss, T, suffix, first, second)
MG_CHOICE_LOOPS(float, f32)
MG_CHOICE_LOOPS(double, f64)

/* [0: float, 1: double][1 if x is a single number][1 if y is one] */
static const mg_choice mg_choice_loops[2][2][2] = {
    {{mg_where_vv_f32, mg_where_vs_f32}, {mg_where_sv_f32, mg_where_ss_f32}},
    {{mg_where_vv_f64, mg_where_vs_f64}, {mg_where_sv_f64, mg_where_ss_f64}}};

/* z = whether x and y compare so, for two arrays (VV) or an array and a number (VS) */
typedef void (*mg_compare)(const void *, const void *, char *, mg_size);
#define MG_COMPARE_LOOPS(name, T, suffix, relation)                                                \
    MG_SIMD static void mg_##name##_vv_##suffix(const void *x, const void *y, char *restrict z, mg_size n) { \
        const T *p = (const T *)x, *q = (const T *)y;                                              \
        for (mg_size i = 0; i < n; i++) z[i] = p[i] relation q[i];                                 \
    }                                                                                              \
    MG_SIMD static void mg_##name##_vs_##suffix(const void *x, const void *y, char *restrict z, mg_size n) { \
        const T *p = (const T *)x; const T b = *(const T *)y;                                      \
        for (mg_size i = 0; i < n; i++) z[i] = p[i] relation b;                                    \
    }
#define MG_COMPARE_TABLE(X) X(eq, 0, ==) X(ne, 1, !=) X(lt, 2, <) X(le, 3, <=) X(gt, 4, >) X(ge, 5, >=)
#define MG_DEFINE_COMPARE(name, number, relation)                                                  \
    MG_COMPARE_LOOPS(name, float, f32, relation) MG_COMPARE_LOOPS(name, double, f64, relation)
MG_COMPARE_TABLE(MG_DEFINE_COMPARE)
/* [op][0: float, 1: double][0: VV, 1: VS] */
#define MG_COMPARE_ENTRY(name, number, relation)                                                   \
    [number] = {{mg_##name##_vv_f32, mg_##name##_vs_f32}, {mg_##name##_vv_f64, mg_##name##_vs_f64}},
static const mg_compare mg_compare_loops[][2][2] = {MG_COMPARE_TABLE(MG_COMPARE_ENTRY)};

#define MG_DEFINE_BINARY(name, number, f, d) MG_BINARY_LOOPS(name, float, f32, f) MG_BINARY_LOOPS(name, double, f64, d)
#define MG_DEFINE_UNARY(name, number, f, d) MG_UNARY_LOOPS(name, float, f32, f) MG_UNARY_LOOPS(name, double, f64, d)
MG_BINARY_TABLE(MG_DEFINE_BINARY)
MG_UNARY_TABLE(MG_DEFINE_UNARY)
#undef MG_SIMD
#define MG_SIMD
MG_LIBM_TABLE(MG_DEFINE_UNARY)
#define MG_DEFINE_SPECIAL(name, number, f, d) MG_UNARY_LOOPS(special_##name, float, f32, f) MG_UNARY_LOOPS(special_##name, double, f64, d)
MG_SPECIAL_TABLE(MG_DEFINE_SPECIAL)

/* [op][0: float, 1: double][0: VV, 1: VS, 2: SV] */
#define MG_BINARY_ENTRY(name, number, f, d)                                                        \
    [number] = {{mg_##name##_vv_f32, mg_##name##_vs_f32, mg_##name##_sv_f32},                      \
                {mg_##name##_vv_f64, mg_##name##_vs_f64, mg_##name##_sv_f64}},
#define MG_UNARY_ENTRY(name, number, f, d) [number] = {mg_##name##_f32, mg_##name##_f64},
static const mg_binary mg_binary_loops[][2][3] = {MG_BINARY_TABLE(MG_BINARY_ENTRY)};
static const mg_unary mg_unary_loops[][2] = {MG_UNARY_TABLE(MG_UNARY_ENTRY)};
static const mg_unary mg_libm_loops[][2] = {MG_LIBM_TABLE(MG_UNARY_ENTRY)};
#define MG_SPECIAL_ENTRY(name, number, f, d) [number] = {mg_special_##name##_f32, mg_special_##name##_f64},
static const mg_unary mg_special_loops[][2] = {MG_SPECIAL_TABLE(MG_SPECIAL_ENTRY)};

#define MG_BINARY_NUMBER(name, number, f, d) MG_B_##name = number,
#define MG_UNARY_NUMBER(name, number, f, d) MG_U_##name = number,
#define MG_LIBM_NUMBER(name, number, f, d) MG_L_##name = number,
#define MG_SPECIAL_NUMBER(name, number, f, d) MG_S_##name = number,
#define MG_COMPARE_NUMBER(name, number, relation) MG_C_##name = number,
enum { MG_COMPARE_TABLE(MG_COMPARE_NUMBER) MG_BINARY_TABLE(MG_BINARY_NUMBER) MG_UNARY_TABLE(MG_UNARY_NUMBER) MG_LIBM_TABLE(MG_LIBM_NUMBER)
       MG_SPECIAL_TABLE(MG_SPECIAL_NUMBER) MG_NUMBERS_END };

/* The loops over a whole array, which threads share if it is large (pieces.h). An operand that does not move is one number. */
static void mg_run_binary(mg_binary loop, const char *x, const char *y, char *z, mg_size n, int itemsize,
                          int x_moves, int y_moves, int threads) {
    MG_SHARED(n, loop(x + x_moves * from * itemsize, y + y_moves * from * itemsize, z + from * itemsize, count))
}

static void mg_run_choice(mg_choice loop, const char *c, const char *x, const char *y, char *z, mg_size n, int itemsize,
                          int x_moves, int y_moves, int threads) {
    MG_SHARED(n, loop(c + from, x + x_moves * from * itemsize, y + y_moves * from * itemsize, z + from * itemsize, count))
}

static void mg_run_compare(mg_compare loop, const char *x, const char *y, char *z, mg_size n, int itemsize, int y_moves,
                           int threads) {
    MG_SHARED(n, loop(x + from * itemsize, y + y_moves * from * itemsize, z + from, count))
}

static void mg_run_unary(mg_unary loop, const char *x, char *z, mg_size n, int itemsize, int threads) {
    MG_SHARED(n, loop(x + from * itemsize, z + from * itemsize, count))
}

/* NumPy's loop for a function of one or two arguments: addresses, number of elements, steps in bytes, and data of its own. */
typedef void (*mg_foreign)(char **, const mg_size *, const mg_size *, void *);

/* `args` has the addresses of all arguments and of the result. The step of a single number is 0. */
static void mg_run_foreign(mg_foreign loop, void *its_data, int n_args, char *const *args, const mg_size *steps, mg_size n,
                           int threads) {
    MG_SHARED(n, char *part[3]; for (int i = 0; i < n_args; i++) part[i] = args[i] + from * steps[i];
              loop(part, &count, steps, its_data))
}

#endif
