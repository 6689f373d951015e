/* Includes the file MG_LOOPS for float and double, with vectors of 16, 32 and 64 bytes: each size that a processor may have. The
   file has no guard. It uses these macros, and removes the first three at its end:

       T, MG_TYPE      the type of an element, and its name: f32 or f64
       MG_NAME(x)      x with a suffix for this type and this size: x_f32_16
       MG_TARGET       before a function: the instructions that it may use
       MG_BYTES        the bytes of a vector
       MG_VECS         the vectors in a row of a tile. With MG_ROWS rows, a tile fills the registers */

#define MG_TARGET
#define MG_BYTES 16
#if defined(__x86_64__)
#define MG_VECS 2                   /* 16 registers; elsewhere there are 32 */
#else
#define MG_VECS 4
#endif
#define T float
#define MG_TYPE f32
#define MG_NAME(name) MG_JOIN(name, _f32_16)
#include MG_LOOPS
#define T double
#define MG_TYPE f64
#define MG_NAME(name) MG_JOIN(name, _f64_16)
#include MG_LOOPS
#undef MG_TARGET
#undef MG_BYTES
#undef MG_VECS

#ifdef MG_WIDER
#define MG_TARGET __attribute__((target("avx2,fma")))
#define MG_BYTES 32
#define MG_VECS 2
#define T float
#define MG_TYPE f32
#define MG_NAME(name) MG_JOIN(name, _f32_32)
#include MG_LOOPS
#define T double
#define MG_TYPE f64
#define MG_NAME(name) MG_JOIN(name, _f64_32)
#include MG_LOOPS
#undef MG_TARGET
#undef MG_BYTES
#undef MG_VECS

#define MG_TARGET __attribute__((target("avx512f")))
#define MG_BYTES 64
#define MG_VECS 4
#define T float
#define MG_TYPE f32
#define MG_NAME(name) MG_JOIN(name, _f32_64)
#include MG_LOOPS
#define T double
#define MG_TYPE f64
#define MG_NAME(name) MG_JOIN(name, _f64_64)
#include MG_LOOPS
#undef MG_TARGET
#undef MG_BYTES
#undef MG_VECS
#endif
