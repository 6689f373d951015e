/* Maxima over windows, a vector of neighbouring windows at a time.

   We rearrange a plane so that the elements that neighbouring windows need are neighbours too: row by row, with one line for each
   remainder of the column number divided by the stride, as in convolution.h. (A vector that is gathered from distant elements takes
   as long as single numbers.)

       row, stride 2     a b c d e     ->     a c e     b d .

   A run is a part of a row of windows in which each position moves by the stride from one window to the next. Padding shortens
   windows at the edges, which are runs of their own; so are windows of adaptive pooling that do not follow each other regularly:

       windows of 3, stride 2, padding 1       (0 0 1) (1 2 3) (3 4 5) (5 6 7)     runs: the first window; the other three

   This file finds the runs and chooses the width of a vector. The loops are in maxima.h. */
#ifndef MINIGRAD_POOLING_H
#define MINIGRAD_POOLING_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vectors.h"

/* The end of the run of at most `most` windows that begins with window `first`. `table` has the positions of each window. */
static mg_size mg_end_of_run(const int64_t *table, mg_size first, mg_size windows, mg_size kernel, mg_size stride, mg_size most) {
    mg_size end = first + 1;
    for (; end < windows && end < first + most; end++)
        for (mg_size j = 0; j < kernel; j++)
            if (table[end * kernel + j] - table[(end - 1) * kernel + j] != stride) return end;
    return end;
}

#if defined(__GNUC__)               /* a comparison of vectors sets all bits where it is true */
#define MG_SELECT(type, bits, yes, x, y) ((type)(((bits)(x) & (yes)) | ((bits)(y) & ~(yes))))
#else
#define MG_SELECT(type, bits, yes, x, y) ((yes) ? (x) : (y))
#endif

#define MG_LOOPS "maxima.h"
#include "each_width.h"

/* Planes of `size` (depth, height, width), with `out` windows of `kernel` elements. places[d][i * kernel[d] + j] is the position of
   element j of window i along dimension d. Returns -1 if there is no memory. */
#define MG_MAX_PLANES(T, suffix)                                                                   \
    static int mg_max_planes_##suffix(const T *x, T *z, int64_t *index, mg_size planes, const mg_size *size, \
                                      const mg_size *kernel, const mg_size *out, int64_t *const *places) { \
        MG_CHOOSE(mg_max_planes_##suffix, out[2] * (mg_size)sizeof(T), x, z, index, planes, size, kernel, out, places) \
    }
MG_MAX_PLANES(float, f32)
MG_MAX_PLANES(double, f64)

#endif
