/* The loops of ufuncs.pyx: NumPy's own, and two of integers that are faster. */
#ifndef MINIGRAD_UFUNCS_H
#define MINIGRAD_UFUNCS_H

#include <math.h>

#include "loops.h"
#include "simd.h"

/* NumPy's inner loop for a function of one or two arguments: addresses, number of elements, steps in bytes, and data of its own. */
typedef void (*mg_inner)(char **, const mg_size *, const mg_size *, void *);

/* `args` has the addresses of all arguments and of the result. The step of a single number is 0. */
static inline void mg_run_inner(mg_inner loop, void *its_data, int n_args, char *const *args, const mg_size *steps, mg_size n,
                                int threads) {
    MG_SHARED(n, char *part[3]; for (int i = 0; i < n_args; i++) part[i] = args[i] + from * steps[i];
              loop(part, &count, steps, its_data))
}

/* remainder and floor_divide of int64; 0 where y is 0, as in NumPy. Dividing doubles vectorises, and takes a quarter of
   the time. Below 2^31 the quotient is 1 / 2^31 of itself or more away from the next integer, so rounding it does not reach that. */
static inline int64_t mg_whole_floor_divide(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return (int64_t)(0 - (uint64_t)a);             /* the least int64 wraps around */
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t mg_whole_remainder(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    const int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline int32_t mg_near_floor_divide(int32_t a, int32_t b) { return (int32_t)floor((double)a / (double)b); }
static inline int32_t mg_near_remainder(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a - (uint32_t)mg_near_floor_divide(a, b) * (uint32_t)b);
}
static inline int mg_is_far(int64_t a) { return (uint64_t)a + 0x7fffffff > 0xfffffffe; }

#define MG_WHOLES 256       /* integers that are checked together */
#define MG_WHOLE_BLOCK(name, layout, A, B)                                                         \
    MG_SIMD static void mg_##name##_##layout##_i64(const int64_t *p, const int64_t *q, int64_t *r, mg_size n) { \
        int far = 0;                                                                               \
        for (mg_size i = 0; i < n; i++) far |= mg_is_far(A) | mg_is_far(B) | (B == 0);             \
        if (far) for (mg_size i = 0; i < n; i++) r[i] = mg_whole_##name(A, B);                     \
        else for (mg_size i = 0; i < n; i++) r[i] = mg_near_##name((int32_t)A, (int32_t)B);        \
    }
#define MG_WHOLE_LOOP(name)                                                                        \
    MG_WHOLE_BLOCK(name, vv, p[i], q[i]) MG_WHOLE_BLOCK(name, vs, p[i], q[0]) MG_WHOLE_BLOCK(name, sv, p[0], q[i]) \
    static void mg_##name##_i64(char **args, const mg_size *n, const mg_size *steps, void *its_data) { \
        const mg_size dx = steps[0] / 8, dy = steps[1] / 8;                                        \
        (void)its_data;                                                                            \
        for (mg_size start = 0; start < *n; start += MG_WHOLES) {                                  \
            const mg_size count = *n - start < MG_WHOLES ? *n - start : MG_WHOLES;                 \
            const int64_t *p = (const int64_t *)args[0] + start * dx, *q = (const int64_t *)args[1] + start * dy; \
            int64_t *r = (int64_t *)args[2] + start;                                               \
            if (dx == 0) mg_##name##_sv_i64(p, q, r, count);                                       \
            else if (dy == 0) mg_##name##_vs_i64(p, q, r, count);                                  \
            else mg_##name##_vv_i64(p, q, r, count);                                               \
        }                                                                                          \
    }
MG_WHOLE_LOOP(remainder)
MG_WHOLE_LOOP(floor_divide)

#endif
