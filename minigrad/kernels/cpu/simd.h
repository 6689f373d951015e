/* MG_SIMD before a function: on x86-64 Linux the compiler makes three versions of it (AVX-512, AVX2, baseline), and the loader
   picks the best one for the machine.

   The versions are levels of the architecture, not single instruction sets, for one reason. Within a level, wide vectors, narrow
   vectors and single numbers all have a fused multiply-add. "avx512f" has it only for the first and the last. Then the last bits of
   a number depend on its address, and running backward twice gives two results. (GCC before 12 does not know the levels; "avx2" has
   no fused multiply-add at all.) */
#ifndef MINIGRAD_SIMD_H
#define MINIGRAD_SIMD_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#if __GNUC__ >= 12
#define MG_SIMD __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MG_SIMD __attribute__((target_clones("avx2", "default")))
#endif
#else
#define MG_SIMD
#endif

typedef ptrdiff_t mg_size;

/* z = x y, for sizes that are not negative. Returns whether the product is too large. */
static inline int mg_times(mg_size x, mg_size y, mg_size *z) {
#ifdef __GNUC__
    return __builtin_mul_overflow(x, y, z);
#else                               /* a division, which takes longer */
    if (y > 0 && x > PTRDIFF_MAX / y) return 1;
    *z = x * y;
    return 0;
#endif
}

#endif
