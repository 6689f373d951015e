/* Copying an array of any strides to rows without gaps.

   If neighbours in a row of the copy are far apart in the source, but some other dimension has neighbours there, as after a
   transposition, these two dimensions are copied in tiles: the lines of memory that a tile reads and writes stay in the cache. */
#ifndef MINIGRAD_TILE_COPY_H
#define MINIGRAD_TILE_COPY_H

#include <stdint.h>
#include <string.h>

#include "simd.h"

#define MG_SIDE 16

/* to[i * to_step + j] = from[i + j * from_step], for i < n and j < m; the steps count elements */
#define MG_COPY_TILES(T, bytes)                                                                    \
    static void mg_copy_tiles_##bytes(char *to, mg_size to_step, const char *from, mg_size from_step, mg_size n, mg_size m) { \
        T *z = (T *)to;                                                                            \
        const T *x = (const T *)from;                                                              \
        for (mg_size first = 0; first < n; first += MG_SIDE) {                                     \
            const mg_size last = first + MG_SIDE < n ? first + MG_SIDE : n;                        \
            for (mg_size j0 = 0; j0 < m; j0 += MG_SIDE) {                                          \
                const mg_size j1 = j0 + MG_SIDE < m ? j0 + MG_SIDE : m;                            \
                for (mg_size i = first; i < last; i++)                                             \
                    for (mg_size j = j0; j < j1; j++) z[i * to_step + j] = x[i + j * from_step];   \
            }                                                                                      \
        }                                                                                          \
    }
MG_COPY_TILES(uint8_t, 1)
MG_COPY_TILES(uint16_t, 2)
MG_COPY_TILES(uint32_t, 4)
MG_COPY_TILES(uint64_t, 8)

/* n elements, `step` bytes apart, to a row. One element many times, as in an expanded array, is a loop that vectorises, and so is a
   row backwards. */
#define MG_COPY_LINE(T, bytes)                                                                     \
    MG_SIMD static void mg_copy_line_##bytes(char *to, const char *from, mg_size step, mg_size n) { \
        T *z = (T *)to;                                                                            \
        if (step == 0) {                                                                           \
            const T x = *(const T *)from;                                                          \
            for (mg_size i = 0; i < n; i++) z[i] = x;                                              \
        }                                                                                          \
        else if (step == -(mg_size)sizeof(T)) {                                                    \
            const T *x = (const T *)from;                                                          \
            for (mg_size i = 0; i < n; i++) z[i] = x[-i];                                          \
        }                                                                                          \
        else for (mg_size i = 0; i < n; i++) z[i] = *(const T *)(from + i * step);                 \
    }
MG_COPY_LINE(uint8_t, 1)
MG_COPY_LINE(uint16_t, 2)
MG_COPY_LINE(uint32_t, 4)
MG_COPY_LINE(uint64_t, 8)
typedef struct { uint64_t first, second; } mg_pair;
MG_COPY_LINE(mg_pair, 16)

static void mg_copy_line(char *to, const char *from, mg_size step, mg_size n, mg_size item) {
    if (step == item) memcpy(to, from, n * item);
    else if (item == 4) mg_copy_line_4(to, from, step, n);
    else if (item == 8) mg_copy_line_8(to, from, step, n);
    else if (item == 2) mg_copy_line_2(to, from, step, n);
    else if (item == 1) mg_copy_line_1(to, from, step, n);
    else mg_copy_line_16(to, from, step, n);
}

enum { MG_MOST_DIMS = 64 };

/* Copy an array to `to`, in row-major order. The steps count bytes. Returns 0 if it did nothing: for an item that is not one
   machine word, or steps that are not whole items. */
static inline int mg_copy_to_rows(int nd, const mg_size *dims, char *to, const char *from, const mg_size *steps, mg_size item) {
    mg_size d[MG_MOST_DIMS + 2], s[MG_MOST_DIMS + 2], t[MG_MOST_DIMS + 2], at[MG_MOST_DIMS + 2] = {0};
    int n = 0, k = -1, whole = item == 1 || item == 2 || item == 4 || item == 8;
    for (int i = 0; i < nd && whole; i++) {
        if (dims[i] == 0) return 1;
        if (dims[i] == 1) continue;
        if (steps[i] % item) whole = 0;
        if (n && s[n - 1] == steps[i] * dims[i]) d[n - 1] *= dims[i], s[n - 1] = steps[i];      /* two dimensions in one line */
        else d[n] = dims[i], s[n] = steps[i], n++;
    }
    if (!whole) return 0;
    if (n > 1 && s[n - 1] == item && (d[n - 1] == 2 || d[n - 1] == 4) && d[n - 1] * item <= 8) {    /* a short row: one item */
        const mg_size row = d[n - 1] * item;
        mg_size misfits = (mg_size)((uintptr_t)from | (uintptr_t)to) % row;
        for (int i = 0; i < n - 1; i++) misfits |= s[i] % row;
        if (!misfits) item = row, n--;
    }
    while (n < 2) {                 /* the loops below are for at least two dimensions */
        for (int i = n; i > 0; i--) d[i] = d[i - 1], s[i] = s[i - 1];
        d[0] = 1, s[0] = 0, n++;
        if (n == 1) s[0] = item;
    }
    for (int i = n - 1; i >= 0; i--) t[i] = i == n - 1 ? item : t[i + 1] * d[i + 1];
    for (int i = 0; i < n - 1 && s[n - 1] != item && s[n - 1] != 0; i++)
        if (s[i] == item) k = i;
    const int tiles = k >= 0;
    if (!tiles) k = n - 2;          /* the dimension that is copied together with the last one */
    for (;;) {
        if (!tiles)
            for (mg_size i = 0; i < d[k]; i++) mg_copy_line(to + i * t[k], from + i * s[k], s[n - 1], d[n - 1], item);
        else if (item == 4) mg_copy_tiles_4(to, t[k] / item, from, s[n - 1] / item, d[k], d[n - 1]);
        else if (item == 8) mg_copy_tiles_8(to, t[k] / item, from, s[n - 1] / item, d[k], d[n - 1]);
        else if (item == 2) mg_copy_tiles_2(to, t[k] / item, from, s[n - 1] / item, d[k], d[n - 1]);
        else mg_copy_tiles_1(to, t[k] / item, from, s[n - 1] / item, d[k], d[n - 1]);
        int i = n - 2;              /* the next of the other dimensions */
        for (; i >= 0; i--) {
            if (i == k) continue;
            to += t[i], from += s[i];
            if (++at[i] < d[i]) break;
            to -= d[i] * t[i], from -= d[i] * s[i], at[i] = 0;
        }
        if (i < 0) return 1;
    }
}

#endif
