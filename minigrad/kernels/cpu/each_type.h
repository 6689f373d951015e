/* Includes the file MG_LOOPS for float and for double, with vectors of MG_BYTES: a part of each_width.h. */

#define T float
#define MG_TYPE f32
#define MG_INT int32_t
#define MG_NAME(name) MG_JOIN(MG_JOIN(name, _f32_), MG_BYTES)
#include MG_LOOPS
#undef T
#undef MG_TYPE
#undef MG_INT
#undef MG_NAME

#define T double
#define MG_TYPE f64
#define MG_INT int64_t
#define MG_NAME(name) MG_JOIN(MG_JOIN(name, _f64_), MG_BYTES)
#include MG_LOOPS
#undef T
#undef MG_TYPE
#undef MG_INT
#undef MG_NAME
