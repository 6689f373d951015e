/* A binary loop (loops.h) for two operands that broadcast, or repeat their elements as an expanded gradient does.

       (256, 64) + (64)          n = 64, 256    x: 4 and 256 bytes further on    y: 4, 0
       (256, 64) + (256, 1)      n = 64, 256    x: 4, 256                        y: 0, 4

   The innermost dimension comes first. There each operand is an array or a single number, so the loop has one of three layouts. */
#ifndef MINIGRAD_BROADCAST_H
#define MINIGRAD_BROADCAST_H

#include "loops.h"

#define MG_MOST_SPREAD 8    /* dimensions */
#define MG_ROOM 4096        /* bytes for copies of a row that broadcasts */

/* The sizes of the result, and the steps in bytes of both operands: 0 where they repeat. */
typedef struct {
    int nd;
    mg_size n[MG_MOST_SPREAD], x_steps[MG_MOST_SPREAD], y_steps[MG_MOST_SPREAD];
} mg_spread;

/* Run the loop for an array of `rows` rows of n elements and one row, which is x if `first`, else y.

   For short rows the calls of the loop take most of the time. So we repeat the row in `room`, and take as many rows together. */
static void mg_run_repeated(mg_binary loop, mg_size n, mg_size rows, const char *x, const char *y, char *z, int width, int first) {
    double room[MG_ROOM / sizeof(double)];
    char *repeated = (char *)room;
    const mg_size length = n * width, most = MG_ROOM / length < rows ? MG_ROOM / length : rows;
    memcpy(repeated, first ? x : y, length);
    for (mg_size filled = 1, more; filled < most; filled += more) {
        more = 2 * filled <= most ? filled : most - filled;
        memcpy(repeated + filled * length, repeated, more * length);
    }
    for (mg_size some; rows > 0; rows -= some, z += some * length) {
        some = most < rows ? most : rows;
        if (first) loop(repeated, y, z, some * n), y += some * length;
        else loop(x, repeated, z, some * n), x += some * length;
    }
}

/* Run the loop for `count` places of the last dimension. */
static void mg_run_places(mg_binary loop, const mg_spread *s, mg_size count, const char *x, const char *y, char *z, int width) {
    const int last = s->nd - 1;
    const mg_size n = last ? s->n[0] : count, length = n * width;
    if (last == 1 && length <= MG_ROOM / 4 && s->x_steps[0] == s->y_steps[0]) {
        const int x_moves = s->x_steps[1] == length, y_moves = s->y_steps[1] == length;
        if ((x_moves && s->y_steps[1] == 0) || (y_moves && s->x_steps[1] == 0)) {
            mg_run_repeated(loop, n, count, x, y, z, width, y_moves);
            return;
        }
    }
    mg_size place[MG_MOST_SPREAD] = {0};
    for (int i = 0; i <= last; z += length) {
        loop(x, y, z, n);
        for (i = 1; i <= last; i++) {
            x += s->x_steps[i];
            y += s->y_steps[i];
            if (++place[i] < (i == last ? count : s->n[i])) break;
            x -= place[i] * s->x_steps[i];
            y -= place[i] * s->y_steps[i];
            place[i] = 0;
        }
    }
}

/* Run the loop over all dimensions. Threads share the last one. */
static void mg_run_spread(mg_binary loop, const mg_spread *s, const char *x, const char *y, char *z, int width, int threads) {
    const int last = s->nd - 1;
    mg_size inner = 1;
    for (int i = 0; i < last; i++) inner *= s->n[i];
    MG_SHARED_ROWS(s->n[last], inner, mg_run_places(loop, s, count, x + from * s->x_steps[last], y + from * s->y_steps[last],
                                                    z + from * inner * width, width))
}

#endif
