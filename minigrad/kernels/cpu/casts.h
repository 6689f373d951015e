/* z = x in another dtype, for the dtypes that programs convert between most. There is a loop for each pair of them; between a float
   of 16 bits and a dtype other than float32, two loops, by way of float32.

   A float that does not fit in an integer becomes the integer that the processor makes of it, as in NumPy. */
#ifndef MINIGRAD_CASTS_H
#define MINIGRAD_CASTS_H

#include "pieces.h"
#include "simd.h"

typedef void (*mg_cast)(const void *, void *, mg_size);

/* number, name, type, element. A byte of a bool array may be other than 0 and 1. */
#define MG_CAST_SOURCES(X)                                                                         \
    X(0, bool, uint8_t, p[i] != 0) X(1, u8, uint8_t, p[i]) X(2, i32, int32_t, p[i]) X(3, i64, int64_t, p[i])     \
    X(4, f32, float, p[i]) X(5, f64, double, p[i])

#define MG_CAST_LOOP(from, F, element, to, T, expression)                                                  \
    MG_SIMD static void mg_cast_##from##_##to(const void *x, void *z, mg_size n) {                         \
        const F *p = (const F *)x; T *r = (T *)z;                                                  \
        for (mg_size i = 0; i < n; i++) { const F a = element; r[i] = (expression); }                 \
    }
#define MG_CASTS_FROM(number, from, F, element)                                                            \
    MG_CAST_LOOP(from, F, element, bool, uint8_t, a != 0)                                                   \
    MG_CAST_LOOP(from, F, element, i32, int32_t, (int32_t)a)                                                \
    MG_CAST_LOOP(from, F, element, i64, int64_t, (int64_t)a)                                                \
    MG_CAST_LOOP(from, F, element, f32, float, (float)a)                                                    \
    MG_CAST_LOOP(from, F, element, f64, double, (double)a)
MG_CAST_SOURCES(MG_CASTS_FROM)

/* float16 and float32, exact and rounded to even. Masks in place of branches, so that the compiler vectorises. */
static inline uint32_t mg_bits_of(float f) { union { float f; uint32_t bits; } x = {f}; return x.bits; }
static inline float mg_float_of(uint32_t bits) { union { uint32_t bits; float f; } x = {bits}; return x.f; }
static inline float mg_of_half(uint16_t h) {
    /* the exponent counts from another number; the product is exact for subnormals too */
    const uint32_t number = mg_bits_of(mg_float_of((uint32_t)(h & 0x7fff) << 13) * 0x1p112f);
    const uint32_t beyond = (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;      /* infinity and nan */
    return mg_float_of(number | beyond | (uint32_t)(h & 0x8000) << 16);
}
static inline uint16_t mg_to_half(float f) {
    const uint32_t sign = mg_bits_of(f) & 0x80000000u, x = mg_bits_of(f) ^ sign, half = 0x3f000000u;
    const uint32_t small = mg_bits_of(mg_float_of(x) + 0.5f) - half;       /* the last bit of 0.5 is that of a subnormal float16 */
    const uint32_t even = (x >> 13) & 1, normal = (x - 0x38000000u + 0xfffu + even) >> 13;
    const uint32_t beyond = x > 0x7f800000u ? 0x7e00u | ((x >> 13) & 0x3ff) : 0x7c00u;
    return (uint16_t)((x >= 0x47800000u ? beyond : x < 0x38800000u ? small : normal) | sign >> 16);
}
/* Nearly all x86-64 processors have instructions for this, for 8 numbers at a time: a third of the time. */
#if defined(__x86_64__) && (defined(__clang__) || __GNUC__ >= 12)
#include <immintrin.h>
#define MG_CAST_EIGHT(name, F, T, one_line)                                                        \
    __attribute__((target("f16c"))) static mg_size name(const F *p, T *r, mg_size n) {             \
        mg_size i = 0;                                                                             \
        for (; i + 8 <= n; i += 8) one_line;                                                       \
        return i;                                                                                  \
    }
MG_CAST_EIGHT(mg_eight_f16_f32, uint16_t, float,
              _mm256_storeu_ps(r + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + i)))))
MG_CAST_EIGHT(mg_eight_f32_f16, float, uint16_t, _mm_storeu_si128((__m128i *)(r + i), _mm256_cvtps_ph(_mm256_loadu_ps(p + i), 0)))
#define MG_CAST_START(name, p, r, n) (__builtin_cpu_supports("f16c") ? name(p, r, n) : 0)
#else
#define MG_CAST_START(name, p, r, n) 0
#endif
MG_SIMD static void mg_cast_f16_f32(const void *x, void *z, mg_size n) {
    const uint16_t *p = (const uint16_t *)x; float *r = (float *)z;
    for (mg_size i = MG_CAST_START(mg_eight_f16_f32, p, r, n); i < n; i++) r[i] = mg_of_half(p[i]);
}
MG_SIMD static void mg_cast_f32_f16(const void *x, void *z, mg_size n) {
    const float *p = (const float *)x; uint16_t *r = (uint16_t *)z;
    for (mg_size i = MG_CAST_START(mg_eight_f32_f16, p, r, n); i < n; i++) r[i] = mg_to_half(p[i]);
}

/* float64 to float16 by way of a float32 that is rounded to odd: if digits are lost, its last bit is 1, so that the second rounding
   sees them. (bfloat16 is rounded twice, as in ml_dtypes and PyTorch.) */
MG_SIMD static void mg_cast_to_odd(const void *x, void *z, mg_size n) {
    const uint64_t lost = 0x1fffffff, last = 0x20000000;
    const char *p = (const char *)x; float *r = (float *)z;
    for (mg_size i = 0; i < n; i++) {
        uint64_t bits;
        double odd;
        memcpy(&bits, p + i * sizeof bits, sizeof bits);
        bits = (bits | (((bits & lost) + lost) & last)) & ~lost;
        memcpy(&odd, &bits, sizeof odd);
        r[i] = (float)odd;
    }
}

/* bfloat16 is the first half of a float32, rounded to even. A nan has one form. */
MG_SIMD static void mg_cast_bf16_f32(const void *x, void *z, mg_size n) {
    const uint16_t *p = (const uint16_t *)x; uint32_t *r = (uint32_t *)z;
    for (mg_size i = 0; i < n; i++) r[i] = (uint32_t)p[i] << 16;
}
MG_SIMD static void mg_cast_f32_bf16(const void *x, void *z, mg_size n) {
    const uint32_t *p = (const uint32_t *)x; uint16_t *r = (uint16_t *)z;
    for (mg_size i = 0; i < n; i++) {
        const uint32_t a = p[i], rounded = a + 0x7fff + ((a >> 16) & 1), nan = (a & 0x80000000u) | 0x7fc00000u;
        r[i] = (uint16_t)(((a & 0x7fffffffu) > 0x7f800000u ? nan : rounded) >> 16);
    }
}

/* [from][to]. To uint8 there is none: what a negative float becomes depends on how the compiler vectorises the loop. */
enum { MG_CAST_F32 = 4, MG_CAST_F64, MG_CAST_F16, MG_CAST_BF16, MG_CAST_DTYPES };
#define MG_CASTS_ENTRY(number, from, F, element)                                                           \
    [number] = {mg_cast_##from##_bool, NULL, mg_cast_##from##_i32, mg_cast_##from##_i64,                   \
                mg_cast_##from##_f32, mg_cast_##from##_f64},
static const mg_cast mg_casts[MG_CAST_DTYPES][MG_CAST_DTYPES] = {
    MG_CAST_SOURCES(MG_CASTS_ENTRY)
    [MG_CAST_F32][MG_CAST_F16] = mg_cast_f32_f16, [MG_CAST_F16][MG_CAST_F32] = mg_cast_f16_f32,
    [MG_CAST_F32][MG_CAST_BF16] = mg_cast_f32_bf16, [MG_CAST_BF16][MG_CAST_F32] = mg_cast_bf16_f32,
};

/* Whether z can be computed: by a loop, or by two. */
static inline int mg_can_cast(int from, int to) {
    return mg_casts[from][to] || (mg_casts[from][MG_CAST_F32] && mg_casts[MG_CAST_F32][to]);
}

#define MG_CAST_BLOCK 1024
static inline void mg_cast_some(int from, int to, const char *x, char *z, mg_size n, int x_size, int z_size) {
    const mg_cast first = from == MG_CAST_F64 && to == MG_CAST_F16 ? mg_cast_to_odd : mg_casts[from][MG_CAST_F32];
    float some[MG_CAST_BLOCK];
    if (mg_casts[from][to]) mg_casts[from][to](x, z, n);
    else for (mg_size i = 0; i < n; i += MG_CAST_BLOCK) {
        const mg_size count = n - i < MG_CAST_BLOCK ? n - i : MG_CAST_BLOCK;
        first(x + i * x_size, some, count);
        mg_casts[MG_CAST_F32][to](some, z + i * z_size, count);
    }
}

static inline void mg_run_cast(int origin, int target, const char *x, char *z, mg_size n, int x_size, int z_size, int threads) {
    MG_SHARED(n, mg_cast_some(origin, target, x + from * x_size, z + from * z_size, count, x_size, z_size))
}

#endif
