/* Includes the file MG_LOOPS for float and for double, and for each width of a vector: see vectors.h. MG_REGISTERS is the number of
   registers that hold vectors. */

#define MG_TARGET
#define MG_BYTES 16
#if defined(__x86_64__)
#define MG_REGISTERS 16
#else
#define MG_REGISTERS 32
#endif
#define T float
#define MG_TYPE f32
#define MG_INT int32_t
#define MG_NAME(name) MG_JOIN(name, _f32_16)
#include MG_LOOPS
#undef T
#undef MG_TYPE
#undef MG_INT
#undef MG_NAME
#define T double
#define MG_TYPE f64
#define MG_INT int64_t
#define MG_NAME(name) MG_JOIN(name, _f64_16)
#include MG_LOOPS
#undef T
#undef MG_TYPE
#undef MG_INT
#undef MG_NAME
#undef MG_TARGET
#undef MG_BYTES
#undef MG_REGISTERS

#ifdef MG_WIDER
#define MG_TARGET __attribute__((target("avx2,fma")))
#define MG_BYTES 32
#define MG_REGISTERS 16
#define T float
#define MG_TYPE f32
#define MG_INT int32_t
#define MG_NAME(name) MG_JOIN(name, _f32_32)
#include MG_LOOPS
#undef T
#undef MG_TYPE
#undef MG_INT
#undef MG_NAME
#define T double
#define MG_TYPE f64
#define MG_INT int64_t
#define MG_NAME(name) MG_JOIN(name, _f64_32)
#include MG_LOOPS
#undef T
#undef MG_TYPE
#undef MG_INT
#undef MG_NAME
#undef MG_TARGET
#undef MG_BYTES
#undef MG_REGISTERS

#define MG_TARGET __attribute__((target("avx512f")))
#define MG_BYTES 64
#define MG_REGISTERS 32
#define T float
#define MG_TYPE f32
#define MG_INT int32_t
#define MG_NAME(name) MG_JOIN(name, _f32_64)
#include MG_LOOPS
#undef T
#undef MG_TYPE
#undef MG_INT
#undef MG_NAME
#define T double
#define MG_TYPE f64
#define MG_INT int64_t
#define MG_NAME(name) MG_JOIN(name, _f64_64)
#include MG_LOOPS
#undef T
#undef MG_TYPE
#undef MG_INT
#undef MG_NAME
#undef MG_TARGET
#undef MG_BYTES
#undef MG_REGISTERS
#endif
#undef MG_LOOPS
