/* Vectors of the compiler, for loops that are written for each width of a vector.

   A file of such loops is included once for each type of element and each width (each_width.h). It has T, the type of the elements,
   MG_TYPE, its name (f32 or f64), MG_INT, integers of the same size, MG_BYTES, the size of a vector, and MG_TARGET, which stands
   before a function. MG_NAME makes the names of each inclusion, and MG_CHOOSE calls the widest one that suits. */
#ifndef MINIGRAD_VECTORS_H
#define MINIGRAD_VECTORS_H

#include "simd.h"

/* MG_VECTOR(T, bytes) is a vector that may lie at any address of a T; MG_INLINE puts a function into its callers; MG_FETCH asks for a
   line of memory that will be written. */
#if defined(__GNUC__)
#define MG_VECTOR(T, bytes) T __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias))
#define MG_INLINE inline __attribute__((always_inline))
#define MG_FETCH(p) __builtin_prefetch(p, 1)
#if defined(__clang__) || __GNUC__ >= 12
#define MG_SHUFFLE(bits, x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define MG_SHUFFLE(bits, x, y, ...) __builtin_shuffle(x, y, (bits){__VA_ARGS__})
#endif
#else                               /* a vector of one number */
#define MG_VECTOR(T, bytes) T
#define MG_INLINE inline
#define MG_FETCH(p) ((void)(p))
#endif
#define MG_JOIN_(a, b) a##b
#define MG_JOIN(a, b) MG_JOIN_(a, b)

#if defined(__x86_64__) && defined(__GNUC__)
#define MG_WIDER
#endif

#define MG_ROWS 6                   /* rows of a tile of sums; with its vectors they fill the registers */
#define MG_AT_A_TIME 256            /* products in one partial sum: longer sums add up such parts */

/* The first element of block b: n elements are divided into blocks of nearly equal size, at most `most`. */
static inline mg_size mg_first(mg_size b, mg_size n, mg_size most) { return b * n / ((n + most - 1) / most); }

/* The widest vector that the machine has and that a row of so many bytes fills by more than half; at least 16 bytes. */
static inline int mg_vector_bytes(mg_size row) {
#ifdef MG_WIDER
    if (row > 32 && __builtin_cpu_supports("avx512f")) return 64;
    if (row > 16 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 32;
#endif
    return 16;
}

#ifdef MG_WIDER
#define MG_CHOOSE(name, row, ...)                                                                  \
    switch (mg_vector_bytes(row)) {                                                                \
    case 64: return name##_64(__VA_ARGS__);                                                        \
    case 32: return name##_32(__VA_ARGS__);                                                        \
    default: return name##_16(__VA_ARGS__);                                                        \
    }
#else
#define MG_CHOOSE(name, row, ...) return name##_16(__VA_ARGS__);
#endif

#endif
