/* Sums and maxima along a row. They are marked as reductions, because the compiler may not reorder them by itself.

   Long sums are added up in parts of MG_PART numbers, and the parts in double. In float alone, each of a million additions would
   round, and the last digits would be lost. */
#ifndef MINIGRAD_SUMS_H
#define MINIGRAD_SUMS_H

#include <math.h>

#include "simd.h"

#define MG_PRAGMA(x) _Pragma(#x)
#ifdef _OPENMP
#define MG_REDUCE(how, ...) MG_PRAGMA(omp simd reduction(how : __VA_ARGS__))
#else
#define MG_REDUCE(how, ...)
#endif

#define MG_PART 512         /* numbers of a row that are added up in T */

/* The largest number of a row, ignoring nan: a nan reaches the result through the exponentials. */
#define MG_TOP(T, x, n)                                                                            \
    T top = -INFINITY;                                                                             \
    MG_REDUCE(max, top)                                                                            \
    for (mg_size i = 0; i < (n); i++) top = (x)[i] > top ? (x)[i] : top

/* total = the sum over i < n of the last argument. */
#define MG_TOTAL(T, total, n, ...)                                                                 \
    double total = 0;                                                                              \
    for (mg_size first = 0; first < (n); first += MG_PART) {                                       \
        const mg_size last = first + MG_PART < (n) ? first + MG_PART : (n);                        \
        T part = 0;                                                                                \
        MG_REDUCE(+, part)                                                                         \
        for (mg_size i = first; i < last; i++) part += (__VA_ARGS__);                              \
        total += part;                                                                             \
    }

#endif
