/* The loops of fmod, remainder and floor_divide. libm's fmod subtracts bit by bit, and takes 30 times as long.

       t = x / y without its fraction        one too far from 0 if the division rounded up to an integer
       r = x - t y                           exact as a fused multiply-add: r is smaller than y, and a multiple of its last digit
       r = r + y or r - y                    if t was one too far: then r has not the sign of x

   This is exact while t itself is: up to 2^24 for floats, 2^53 for doubles. If a quotient in a block of numbers is larger, infinite
   or nan, libm computes the block. From fmod the other two come as in PyTorch: a
   remainder of 0 has the sign of x, where NumPy gives it that of y. */
#ifndef MINIGRAD_REMAINDERS_H
#define MINIGRAD_REMAINDERS_H

#include <math.h>

#include "loops.h"

#define MG_REMAINDERS(T, Whole, suffix, s, exact, largest)                                         \
    static inline T mg_quick_fmod_##suffix(T a, T b, Whole *far) {                                 \
        const T t = trunc##s(a / b), r = fma##s(-t, b, a);                                         \
        *far |= !(fabs##s(t) < exact) | !(fabs##s(b) <= largest);                                  \
        return copysign##s(r != 0 && (r < 0) != (a < 0) ? fabs##s(b) - fabs##s(r) : r, a);         \
    }                                                                                              \
    static inline T mg_fmod_from_##suffix(T a, T b, T r) { (void)a; (void)b; return r; }           \
    static inline T mg_remainder_from_##suffix(T a, T b, T r) {                                    \
        (void)a;                                                                                   \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                           \
    }                                                                                              \
    static inline T mg_floor_divide_from_##suffix(T a, T b, T r) {                                 \
        const T q = (a - r) / b, d = r != 0 && (r < 0) != (b < 0) ? q - 1 : q, down = floor##s(d); \
        return b == 0 ? a / b : d == 0 ? copysign##s(0, a / b) : d - down > (T)0.5 ? down + 1 : down; \
    }
MG_REMAINDERS(float, int32_t, f32, f, 16777216.0f, 3.402823466e+38f)
MG_REMAINDERS(double, int64_t, f64, , 9007199254740992.0, 1.7976931348623157e+308)

/* z = f(x, y), in blocks: the result may overwrite x, which the second attempt needs. */
#define MG_BLOCK 256
#define MG_REMAINDER_LOOP(name, T, Whole, suffix, s, layout, A, B)                                 \
    MG_SIMD static void mg_##name##_##layout##_##suffix(const void *x, const void *y, void *z, mg_size n) { \
        const T *p = (const T *)x, *q = (const T *)y; T *r = (T *)z;                               \
        for (mg_size start = 0; start < n; start += MG_BLOCK) {                                    \
            const mg_size count = n - start < MG_BLOCK ? n - start : MG_BLOCK;                     \
            T quick[MG_BLOCK];                                                                     \
            Whole far = 0;                                                                         \
            for (mg_size i = 0; i < count; i++) {                                                  \
                const T a = A, b = B;                                                              \
                quick[i] = mg_##name##_from_##suffix(a, b, mg_quick_fmod_##suffix(a, b, &far));    \
            }                                                                                      \
            if (far) for (mg_size i = 0; i < count; i++) {                                         \
                const T a = A, b = B;                                                              \
                quick[i] = mg_##name##_from_##suffix(a, b, fmod##s(a, b));                         \
            }                                                                                      \
            memcpy(r + start, quick, count * sizeof(T));                                           \
        }                                                                                          \
    }
#define MG_REMAINDER_LOOPS(name, T, Whole, suffix, s)                                              \
    MG_REMAINDER_LOOP(name, T, Whole, suffix, s, vv, p[start + i], q[start + i])                   \
    MG_REMAINDER_LOOP(name, T, Whole, suffix, s, vs, p[start + i], q[0])                           \
    MG_REMAINDER_LOOP(name, T, Whole, suffix, s, sv, p[0], q[start + i])
#define MG_DEFINE_REMAINDER(name, number)                                                          \
    MG_REMAINDER_LOOPS(name, float, int32_t, f32, f) MG_REMAINDER_LOOPS(name, double, int64_t, f64, )
#define MG_REMAINDER_ENTRY(name, number) MG_BINARY_ENTRY(name, number, , )

#endif
