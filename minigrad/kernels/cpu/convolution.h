/* Convolution without a column matrix.

   A vector is a few neighbouring windows in a row. A tap is a channel and a position in the kernel. We rearrange the image so that
   the elements that neighbouring windows need for a tap are neighbours too. Then, for a tile of some outputs and some vectors,

       z[output][vector] = Σ over taps of  weight[tap][output] * image[from[vector] + shift[tap]]

   all sums stay in registers, and one load of the image serves all outputs of the tile. Rearranging (`mg_line_up`) copies the image
   with its padding, and makes one line for each remainder of the column number divided by the stride:

       row, stride 2, padding 1     a b c d e     ->     . b d .   a c e .

   A column matrix holds each element once for every position in the kernel. This copy holds it once, and stays in the cache. The
   gradient of the input is the same with the kernel reversed. The gradient of the weights swaps the roles (tiles.h):

       grad weight[output][tap] = Σ over vectors of  grad[output][vector] * image[from[vector] + shift[tap]]

   This file computes the positions in memory (`mg_plan`) and chooses the width of a vector. The loops are in tiles.h. */
#ifndef MINIGRAD_CONVOLUTION_H
#define MINIGRAD_CONVOLUTION_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "vectors.h"

/* Depth, height and width; sizes are 1 if there are fewer dimensions. A negative padding crops. */
typedef struct {
    mg_size channels;               /* of one group */
    mg_size size[3], kernel[3], stride[3], pad[3], dilation[3];
    mg_size out[3];                 /* windows along each dimension */
} mg_geometry;

typedef struct {
    mg_size span[2];                /* depth and height of the part of the padded image that windows cover */
    mg_size line;                   /* elements of a row with the same remainder */
    mg_size image;                  /* elements of a rearranged image, and those that a vector may read beyond it: whole vectors */
    mg_size area, places, taps;     /* elements of a channel of an image; windows; taps */
    mg_size chunks, vectors;        /* vectors in a row, in an image */
    mg_size filled;                 /* windows of a vector that are in its row */
    mg_size *from, *to, *shift;     /* of each vector: its start in the image and in z; of each tap: its shift */
} mg_plan;

/* Where a vector begins in its row. The last one ends where the row ends, and so overlaps the one before. */
static mg_size mg_start(mg_size chunk, mg_size lanes, mg_size width) {
    return width <= lanes ? 0 : (chunk + 1) * lanes > width ? width - lanes : chunk * lanes;
}

/* Fill in the plan. Returns 0, or -1 if there is no memory. The caller frees `from`. */
static int mg_make_plan(mg_plan *p, const mg_geometry *g, mg_size lanes) {
    mg_size span[3], v = 0, t = 0;
    for (int i = 0; i < 3; i++) span[i] = (g->out[i] - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] + 1;
    const mg_size step = g->stride[2], line = (span[2] + step - 1) / step, row = line * step;
    p->span[0] = span[0], p->span[1] = span[1], p->line = line;
    p->image = (g->channels * span[0] * span[1] * row / lanes + 2) * lanes;
    p->area = g->size[0] * g->size[1] * g->size[2];
    p->places = g->out[0] * g->out[1] * g->out[2];
    p->taps = g->channels * g->kernel[0] * g->kernel[1] * g->kernel[2];
    p->chunks = (g->out[2] + lanes - 1) / lanes;
    p->vectors = g->out[0] * g->out[1] * p->chunks;
    p->filled = g->out[2] < lanes ? g->out[2] : lanes;
    p->from = (mg_size *)malloc((2 * p->vectors + p->taps + 1) * sizeof(mg_size));
    if (!p->from) return -1;
    p->to = p->from + p->vectors, p->shift = p->to + p->vectors;
    for (mg_size z = 0; z < g->out[0]; z++)
        for (mg_size y = 0; y < g->out[1]; y++)
            for (mg_size c = 0; c < p->chunks; c++, v++) {
                const mg_size start = mg_start(c, lanes, g->out[2]);
                p->from[v] = (z * g->stride[0] * span[1] + y * g->stride[1]) * row + start;
                p->to[v] = (z * g->out[1] + y) * g->out[2] + start;
            }
    for (mg_size c = 0; c < g->channels; c++)
        for (mg_size h = 0; h < g->kernel[0]; h++)
            for (mg_size i = 0; i < g->kernel[1]; i++)
                for (mg_size j = 0; j < g->kernel[2]; j++, t++) {
                    const mg_size x = j * g->dilation[2];
                    p->shift[t] = ((c * span[0] + h * g->dilation[0]) * span[1] + i * g->dilation[1]) * row
                                  + x % step * line + x / step;
                }
    return 0;
}

#define MG_ROWS 6                   /* outputs of a tile; with its vectors they fill the registers */
#define MG_AT_A_TIME 256            /* products in one partial sum: longer sums add up such parts */
#define MG_CACHED (256 << 10)       /* bytes of images whose weight gradients are summed before the sum is stored */
#define MG_WORTH_THREADS (1 << 23)  /* multiplications from which threads share the work */

/* The first output of block b: n outputs are divided into blocks of nearly equal size, at most MG_ROWS. */
static mg_size mg_first(mg_size b, mg_size n) { return b * n / ((n + MG_ROWS - 1) / MG_ROWS); }

#define MG_LOOPS "tiles.h"
#include "each_width.h"

#define MG_ENTRIES(T, suffix)                                                                      \
    MG_SIMD static int mg_finite_##suffix(const T *x, mg_size n) {                                 \
        int bad = 0;                                                                               \
        for (mg_size i = 0; i < n; i++) bad |= !(x[i] - x[i] == 0);                                \
        return !bad;                                                                               \
    }                                                                                              \
    static int mg_conv_##suffix(const T *x, const T *w, T *z, const mg_geometry *g, mg_size images, mg_size groups, \
                                mg_size outputs, int turned, int threads) {                        \
        MG_CHOOSE(mg_conv_##suffix, g->out[2] * (mg_size)sizeof(T), x, w, z, g, images, groups, outputs, turned, threads) \
    }                                                                                              \
    static int mg_conv_weight_##suffix(const T *grad, const T *x, T *z, const mg_geometry *g, mg_size images, mg_size groups, \
                                       mg_size outputs, int threads) {                             \
        MG_CHOOSE(mg_conv_weight_##suffix, g->out[2] * (mg_size)sizeof(T), grad, x, z, g, images, groups, outputs, threads) \
    }
MG_ENTRIES(float, f32)
MG_ENTRIES(double, f64)

#endif
