/* Convolution without a column matrix.

   A tap is a channel and a position in the kernel. A vector is a few windows, in one of two layouts: neighbouring windows in a row,
   or one window of several images. We rearrange the image so that the elements that a vector needs for a tap are neighbours too.
   Then, for a tile of some outputs and some vectors,

       z[output][vector] = Σ over taps of  weight[tap][output] * image[from[vector] + shift[tap]]

   all sums stay in registers, and one load of the image serves all outputs of the tile. Rearranging copies the image with its
   padding. For windows in a row (`mg_line_up`), it makes one line for each remainder of the column number divided by the stride:

       row, stride 2, padding 1     a b c d e     ->     . b d .   a c e .

   Short rows do not fill vectors. Then, for a vector of images (`mg_line_up_images`), it makes one vector for each element, with
   all channels of a position beside each other; and so for z, which has to be rearranged back. We choose what needs fewer
   instructions (`mg_of_images`).

   A column matrix holds each element once for every position in the kernel. This copy holds it once, and stays in the cache. Taps
   that lie in the padding for all vectors of a tile are left out. The gradient of the input is the same with the kernel reversed.
   It has the most padding.

   The gradient of the weights swaps the roles (tiles.h). A vector is again windows in a row, or it is neighbouring taps: a kernel's
   row of all channels, from an image in which the channels of a position are beside each other:

       grad weight[output][tap] = Σ over vectors of  grad[output][vector] * image[from[vector] + shift[tap]]
       grad weight[output][vector] = Σ over windows of  grad[output][window] * image[from[window] + shift[vector]]

   This file computes the positions in memory (`mg_plan`) and chooses the layout and the width of a vector. The loops are in
   tiles.h. */
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
    mg_size span[3];                /* size of the part of the padded image that windows cover */
    mg_size line;                   /* elements of a row with the same remainder */
    mg_size image;                  /* elements of a rearranged image, and those that a vector may read beyond it: whole vectors */
    mg_size area, places, taps;     /* elements of a channel of an image; windows; taps */
    mg_size chunks, vectors;        /* vectors in a row, in an image */
    mg_size filled;                 /* windows of a vector that are in its row */
    mg_size runs;                   /* runs of neighbouring taps for each vector */
    mg_size *from, *to;             /* of each vector: its start in the image and in z */
    mg_size *shift, *place;         /* of each tap: its shift, and its place in the weights of an output */
    mg_size *begin, *end;           /* of each run of each vector: taps outside are in the padding */
} mg_plan;

enum mg_layout { MG_IN_A_ROW, MG_OF_IMAGES };

/* Where a vector begins in its row. The last one ends where the row ends, and so overlaps the one before. */
static mg_size mg_start(mg_size chunk, mg_size lanes, mg_size width) {
    return width <= lanes ? 0 : (chunk + 1) * lanes > width ? width - lanes : chunk * lanes;
}

/* The range of taps along dimension d that are inside the image for window `o`. */
static void mg_inside(const mg_geometry *g, int d, mg_size o, mg_size *first, mg_size *last) {
    const mg_size before = g->pad[d] - o * g->stride[d], until = before + g->size[d], apart = g->dilation[d];
    *first = before <= 0 ? 0 : (before + apart - 1) / apart;
    *last = until <= 0 ? 0 : (until + apart - 1) / apart;
    if (*last > g->kernel[d]) *last = g->kernel[d];
    if (*first > *last) *first = *last;
}

/* Fill in the plan, for vectors of so many lanes: MG_OF_IMAGES with one lane is a plan for single windows. With `all`, no taps are
   left out. Taps are ordered by position, and for each position by channel. Returns 0, or -1 if there is no memory. The caller
   frees `from`. */
static int mg_make_plan(mg_plan *p, const mg_geometry *g, mg_size lanes, enum mg_layout layout, int all) {
    const int in_a_row = layout == MG_IN_A_ROW;
    const mg_size kernel = g->kernel[0] * g->kernel[1] * g->kernel[2];
    mg_size v = 0, t = 0;
    for (int i = 0; i < 3; i++) p->span[i] = (g->out[i] - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] + 1;
    /* elements from one position to the next along a row, and from one row, depth, channel to the next */
    const mg_size step = in_a_row ? g->stride[2] : 1, line = (p->span[2] + step - 1) / step;
    const mg_size unit = in_a_row ? 1 : g->channels * lanes, row = line * step * unit, depth = p->span[1] * row;
    const mg_size channel = in_a_row ? p->span[0] * depth : lanes;
    p->line = line;
    p->image = ((in_a_row ? g->channels : 1) * p->span[0] * depth / lanes + 2) * lanes;
    p->area = g->size[0] * g->size[1] * g->size[2];
    p->places = g->out[0] * g->out[1] * g->out[2];
    p->taps = g->channels * kernel;
    p->chunks = in_a_row ? (g->out[2] + lanes - 1) / lanes : g->out[2];
    p->vectors = g->out[0] * g->out[1] * p->chunks;
    p->filled = in_a_row && g->out[2] < lanes ? g->out[2] : lanes;
    p->runs = all ? 1 : in_a_row ? g->kernel[0] : g->kernel[0] * g->kernel[1];
    p->from = (mg_size *)malloc((2 * p->vectors + 2 * p->taps + 2 * p->vectors * p->runs + 1) * sizeof(mg_size));
    if (!p->from) return -1;
    p->to = p->from + p->vectors, p->shift = p->to + p->vectors;
    p->place = p->shift + p->taps, p->begin = p->place + p->taps, p->end = p->begin + p->vectors * p->runs;
    mg_size *begin = p->begin, *end = p->end;
    for (mg_size z = 0; z < g->out[0]; z++)
        for (mg_size y = 0; y < g->out[1]; y++)
            for (mg_size c = 0; c < p->chunks; c++, v++) {
                const mg_size start = in_a_row ? mg_start(c, lanes, g->out[2]) : c;
                p->from[v] = z * g->stride[0] * depth + y * g->stride[1] * row + start * (in_a_row ? 1 : g->stride[2] * unit);
                p->to[v] = in_a_row ? (z * g->out[1] + y) * g->out[2] + start : v * lanes;
                if (all) {
                    *begin++ = 0, *end++ = p->taps;
                    continue;
                }
                mg_size h0, h1, i0, i1, j0, j1;
                mg_inside(g, 0, z, &h0, &h1), mg_inside(g, 1, y, &i0, &i1), mg_inside(g, 2, c, &j0, &j1);
                for (mg_size h = 0; h < g->kernel[0]; h++)
                    for (mg_size i = 0; i < (in_a_row ? 1 : g->kernel[1]); i++, begin++, end++) {
                        const mg_size width = g->channels * g->kernel[2], first = (h * g->kernel[1] + i) * width;
                        const int outside = h < h0 || h >= h1 || (!in_a_row && (i < i0 || i >= i1));
                        *begin = outside ? p->taps : first + (in_a_row ? i0 * width : j0 * g->channels);
                        *end = outside ? 0 : first + (in_a_row ? i1 * width : j1 * g->channels);
                    }
            }
    for (mg_size h = 0; h < g->kernel[0]; h++)
        for (mg_size i = 0; i < g->kernel[1]; i++)
            for (mg_size j = 0; j < g->kernel[2]; j++)
                for (mg_size c = 0; c < g->channels; c++, t++) {
                    const mg_size x = j * g->dilation[2];
                    p->place[t] = c * kernel + (h * g->kernel[1] + i) * g->kernel[2] + j;
                    p->shift[t] = c * channel + h * g->dilation[0] * depth + i * g->dilation[1] * row
                                  + (x % step * line + x / step) * unit;
                }
    return 0;
}

#define MG_CACHED (256 << 10)       /* bytes of images whose weight gradients are summed before the sum is stored */
#define MG_SHORT 16                 /* bytes of a row for which columns are faster */
#define MG_WORTH_THREADS (1 << 23)  /* multiplications from which threads share the work */

#define MG_LOOPS "tiles.h"
#include "each_width.h"

/* The number of vectors for n numbers. */
static mg_size mg_vectors(mg_size n, mg_size item) {
    const mg_size lanes = mg_vector_bytes(n * item) / item;
    return (n + lanes - 1) / lanes;
}

/* Whether vectors of images are faster than vectors of windows in a row: whether they need fewer multiplications. To rearrange an
   element takes about as long as one. */
static int mg_of_images(const mg_geometry *g, mg_size images, mg_size outputs, mg_size item) {
    const mg_size lines = g->out[0] * g->out[1], area = g->size[0] * g->size[1] * g->size[2], places = lines * g->out[2];
    const mg_size products = outputs * g->channels * g->kernel[0] * g->kernel[1] * g->kernel[2];
    const mg_size moved = images * (g->channels * area + outputs * places);
    return mg_vectors(images, item) * places * products + moved < images * lines * mg_vectors(g->out[2], item) * products;
}

/* Whether vectors of taps are faster than vectors of windows in a row, for the gradient of the weights. */
static int mg_of_taps(const mg_geometry *g, mg_size item) {
    const mg_size run = g->channels * (g->dilation[2] == 1 ? g->kernel[2] : 1), runs = g->channels * g->kernel[2] / run;
    return g->out[2] * runs * mg_vectors(run, item) <= mg_vectors(g->out[2], item) * g->channels * g->kernel[2];
}

#define MG_ENTRIES(T, suffix)                                                                      \
    MG_SIMD static int mg_finite_##suffix(const T *x, mg_size n) {                                 \
        int bad = 0;                                                                               \
        for (mg_size i = 0; i < n; i++) bad |= !(x[i] - x[i] == 0);                                \
        return !bad;                                                                               \
    }                                                                                              \
    /* Return 1 if rows are too short. */                                                          \
    static int mg_conv_##suffix(const T *x, const T *w, T *z, const mg_geometry *g, mg_size images, mg_size groups, \
                                mg_size outputs, int turned, int finite, int threads) {            \
        const mg_size item = sizeof(T), kernel = g->kernel[0] * g->kernel[1] * g->kernel[2];       \
        const mg_size products = images * g->out[0] * g->out[1] * g->out[2] * groups * outputs * g->channels * kernel; \
        if (products < MG_WORTH_THREADS) threads = 1;                                              \
        const int across = mg_of_images(g, images, outputs, item);                                 \
        const mg_size row = (across ? images : g->out[2]) * item;                                  \
        if (!across && row <= MG_SHORT) return 1;                                                  \
        MG_CHOOSE(mg_conv_##suffix, row, x, w, z, g, images, groups, outputs, turned, !finite,     \
                  across ? MG_OF_IMAGES : MG_IN_A_ROW, threads)                                    \
    }                                                                                              \
    static int mg_conv_weight_##suffix(const T *grad, const T *x, T *z, const mg_geometry *g, mg_size images, mg_size groups, \
                                       mg_size outputs, int threads) {                             \
        const mg_size item = sizeof(T), run = g->channels * (g->dilation[2] == 1 ? g->kernel[2] : 1); \
        if (mg_of_taps(g, item)) {                                                                 \
            MG_CHOOSE(mg_conv_taps_##suffix, run * item, grad, x, z, g, images, groups, outputs, threads) \
        }                                                                                          \
        if (g->out[2] * item <= MG_SHORT) return 1;                                                \
        MG_CHOOSE(mg_conv_weight_##suffix, g->out[2] * item, grad, x, z, g, images, groups, outputs, threads) \
    }
MG_ENTRIES(float, f32)
MG_ENTRIES(double, f64)

#endif
