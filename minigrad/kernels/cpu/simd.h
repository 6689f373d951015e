/* MG_SIMD before a loop: on x86-64 Linux the compiler makes three versions of it (AVX-512, AVX2, baseline) and the
   loader picks the best for the machine. */
#ifndef MINIGRAD_SIMD_H
#define MINIGRAD_SIMD_H

#include <stddef.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define MG_SIMD __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MG_SIMD
#endif

typedef ptrdiff_t mg_size;

#endif
