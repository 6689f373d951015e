/* How threads share a loop over a large array: in pieces of the same size, so that a result does not depend on their number.

   The memory of a new array has no pages before it is written to. So a copy and a function of one element are shared too: the
   threads then wait for the system's pages at the same time. */
#ifndef MINIGRAD_PIECES_H
#define MINIGRAD_PIECES_H

#include <string.h>

#include "simd.h"

/* The number of elements from which threads share a loop, and the number that a thread takes at a time. */
#define MG_PARALLEL 65536
#define MG_PIECE 16384

/* Run the last argument for all of n elements: for `count` of them, from element `from` on. The variable `threads` says how many
   threads may share them. */
#define MG_WHOLE(n, ...) { const mg_size from = 0, count = (n); __VA_ARGS__; }
#ifdef _OPENMP
#define MG_SHARED(n, ...)                                                                          \
    if (threads > 1 && (n) >= MG_PARALLEL) {                                                       \
        const mg_size pieces = ((n) + MG_PIECE - 1) / MG_PIECE;                                    \
        _Pragma("omp parallel for num_threads(threads) schedule(static)")                          \
        for (mg_size k = 0; k < pieces; k++) {                                                     \
            const mg_size from = k * MG_PIECE, count = (n) - from < MG_PIECE ? (n) - from : MG_PIECE; \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    } else MG_WHOLE(n, __VA_ARGS__)
#else
#define MG_SHARED(n, ...) (void)threads; MG_WHOLE(n, __VA_ARGS__)
#endif

/* Copy n elements to memory that does not overlap. */
static inline void mg_copy_elements(char *to, const char *origin, mg_size n, int itemsize, int threads) {
    MG_SHARED(n, memcpy(to + from * itemsize, origin + from * itemsize, count * itemsize))
}

#endif
