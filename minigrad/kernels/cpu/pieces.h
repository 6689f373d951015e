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

/* Run the last argument for all of n elements, in pieces of `piece` if threads may share them: for `count` of them, from element
   `from` on. The variable `threads` says how many threads may. */
#define MG_WHOLE(n, ...) { const mg_size from = 0, count = (n); __VA_ARGS__; }
#ifdef _OPENMP
#define MG_IN_PIECES(n, piece, enough, ...)                                                        \
    if (threads > 1 && (enough)) {                                                                 \
        const mg_size length = (piece), pieces = ((n) + length - 1) / length;                      \
        _Pragma("omp parallel for num_threads(threads) schedule(static)")                          \
        for (mg_size k = 0; k < pieces; k++) {                                                     \
            const mg_size from = k * length, count = (n) - from < length ? (n) - from : length;    \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    } else MG_WHOLE(n, __VA_ARGS__)
#else
#define MG_IN_PIECES(n, piece, enough, ...) (void)threads; MG_WHOLE(n, __VA_ARGS__)
#endif
#define MG_SHARED(n, ...) MG_IN_PIECES(n, MG_PIECE, (n) >= MG_PARALLEL, __VA_ARGS__)

/* The same for rows of n elements each: `from` and `count` are numbers of rows. */
#define MG_SHARED_ROWS(rows, n, ...)                                                               \
    MG_IN_PIECES(rows, (n) < MG_PIECE ? MG_PIECE / (n) : 1, (rows) * (n) >= MG_PARALLEL, __VA_ARGS__)

/* Copy n elements to memory that does not overlap. */
static inline void mg_copy_elements(char *to, const char *origin, mg_size n, int itemsize, int threads) {
    MG_SHARED(n, memcpy(to + from * itemsize, origin + from * itemsize, count * itemsize))
}

#endif
