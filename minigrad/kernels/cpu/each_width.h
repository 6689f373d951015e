/* Includes the file MG_LOOPS for float and for double, and for each width of a vector: see vectors.h. MG_REGISTERS is the number of
   registers that hold vectors. */

#define MG_TARGET
#define MG_BYTES 16
#if defined(__x86_64__)
#define MG_REGISTERS 16
#else
#define MG_REGISTERS 32
#endif
#include "each_type.h"
#undef MG_TARGET
#undef MG_BYTES
#undef MG_REGISTERS

#ifdef MG_WIDER
#define MG_TARGET __attribute__((target("avx2,fma")))
#define MG_BYTES 32
#define MG_REGISTERS 16
#include "each_type.h"
#undef MG_TARGET
#undef MG_BYTES
#undef MG_REGISTERS

#define MG_TARGET __attribute__((target("avx512f")))
#define MG_BYTES 64
#define MG_REGISTERS 32
#include "each_type.h"
#undef MG_TARGET
#undef MG_BYTES
#undef MG_REGISTERS
#endif
#undef MG_LOOPS
