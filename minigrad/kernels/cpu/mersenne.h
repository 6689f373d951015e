/* The Mersenne Twister (Matsumoto and Nishimura, 1998), many words at a time. The state, 624 words and the position among them, lies
   in the memory of NumPy's generator, which makes one word in each call.

       twist    the next 624 words of the state: word i is made of words i, i + 1 and i + 397, each modulo 624
       temper   the random word that is made of a word of the state */
#ifndef MINIGRAD_MERSENNE_H
#define MINIGRAD_MERSENNE_H

#include <stdint.h>

#include "simd.h"

enum { MG_STATE = 624, MG_SHIFT = 397 };

#define MG_TWIST(far, one, two) \
    ((far) ^ ((((one) & 0x80000000u) | ((two) & 0x7fffffffu)) >> 1) ^ ((uint32_t)-(int32_t)((two) & 1) & 0x9908b0dfu))

MG_SIMD static void mg_twist(uint32_t *s) {
    const int wrap = MG_STATE - MG_SHIFT;
    for (int i = 0; i < wrap; i++) s[i] = MG_TWIST(s[i + MG_SHIFT], s[i], s[i + 1]);
    for (int i = wrap; i < MG_STATE - 1; i++) s[i] = MG_TWIST(s[i - wrap], s[i], s[i + 1]);
    s[MG_STATE - 1] = MG_TWIST(s[MG_SHIFT - 1], s[MG_STATE - 1], s[0]);
}

MG_SIMD static void mg_temper(const uint32_t *s, uint32_t *z, mg_size n) {
    for (mg_size i = 0; i < n; i++) {
        uint32_t y = s[i];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        z[i] = y ^ (y >> 18);
    }
}

/* The next n words. */
static inline void mg_draw_words(uint32_t *state, uint32_t *z, mg_size n) {
    uint32_t *position = state + MG_STATE;
    while (n > 0) {
        if (*position >= MG_STATE) {
            mg_twist(state);
            *position = 0;
        }
        const mg_size left = MG_STATE - (mg_size)*position, count = n < left ? n : left;
        mg_temper(state + *position, z, count);
        *position += (uint32_t)count;
        z += count, n -= count;
    }
}

/* Numbers in [0, 1): multiples of 2^-24, each made of one word; and of 2^-53, of two words, of which the upper one comes first. */
MG_SIMD static void mg_short_fractions(const uint32_t *words, float *z, mg_size n) {
    for (mg_size i = 0; i < n; i++) z[i] = (float)(int32_t)(words[i] & 0xffffff) * 0x1p-24f;
}
MG_SIMD static void mg_fractions(const uint32_t *words, double *z, mg_size n) {
    for (mg_size i = 0; i < n; i++) {
        const double lower = (double)(int32_t)(words[2 * i + 1] ^ 0x80000000u) + 0x1p31;    /* as unsigned: exact */
        z[i] = ((double)(int32_t)(words[2 * i] & 0x1fffff) * 0x1p32 + lower) * 0x1p-53;
    }
}

#endif
