/* Loops over rows: sums, softmax and log_softmax, layer normalisation, recurrences; for float and for double.
   Sums along a row are those of sums.h. */
#ifndef MINIGRAD_ROWS_H
#define MINIGRAD_ROWS_H

#include "functions.h"
#include "pieces.h"
#include "simd.h"
#include "sums.h"

#define MG_FEW_ROWS 64      /* rows that sums down the columns add up in T: here one number after the other */
#define MG_TILE 1024        /* columns that are summed together */
#define MG_NARROW 8         /* so few columns do not fill the vectors */
#define MG_WIDE 64          /* columns that are computed side by side */
#define MG_SHORT_ROW 32         /* rows of so few numbers are turned into columns, MG_WIDE at a time */

/* turned[k, i] = x[i, k] for `some` rows of n numbers, i < some. Further columns, up to `width`, repeat the first row. */
#define MG_TURN_ROWS(x, turned, n, some, width)                                                    \
    for (mg_size i = 0; i < (width); i++)                                                          \
        for (mg_size k = 0; k < (n); k++) (turned)[k * (width) + i] = (x)[(i < (some) ? i : 0) * (n) + k];

#ifdef _OPENMP
#define MG_SIMD_LOOP _Pragma("omp simd")    /* the arrays of one loop do not overlap */
#else
#define MG_SIMD_LOOP
#endif
#define MG_ALL(...) { MG_SIMD_LOOP for (mg_size i = 0; i < n; i++) { __VA_ARGS__; } }

/* to[i] += Σ of `count` rows at distances of `step`: four rows together, so that `to` is read and written less often. */
#define MG_ADD_ROWS(T, to, rows, step, count, width)                                                     \
    {                                                                                              \
        const T *a = rows;                                                                         \
        mg_size left = count;                                                                      \
        for (; left >= 4; left -= 4, a += 4 * step) {                                              \
            const T *b = a + step, *c = b + step, *d = c + step;                                   \
            MG_SIMD_LOOP for (mg_size i = 0; i < width; i++) to[i] += (a[i] + b[i]) + (c[i] + d[i]); \
        }                                                                                          \
        for (; left > 0; left--, a += step) MG_SIMD_LOOP for (mg_size i = 0; i < width; i++) to[i] += a[i]; \
    }

/* A part of a row in the backward of layer normalisation, where h is the last argument: its two sums, and dw and db. */
#define MG_ROW_OF_GRADIENTS(T, ...) {                                                              \
        MG_REDUCE(+, part, other)                                                                  \
        for (mg_size i = first; i < last; i++) {                                                   \
            const T y = (x[i] - m) * s, h = __VA_ARGS__;                                           \
            part += h, other += h * y;                                                             \
            dw[i] += g[i] * y, db[i] += g[i];                                                      \
        }                                                                                          \
    }

/* totals[k] += Σ of `count` vectors from x + k * step on, at distances of `jump`, for k < 4: four rows, or a row that is dealt to
   four sums in turns. A vector has 32 bytes, MG_LANES(T) numbers.

   An addition waits for the one before it, so four sums take no longer than one. `mg_fold` adds up the lanes of the four together:
   that takes fewer steps than four times for one. */
#define MG_LANES(T) (mg_size)(32 / sizeof(T))
#define MG_RUN 16           /* vectors that are added up one after the other. So the sum of 64 vectors is rounded 20 times */
#if defined(__clang__) || __GNUC__ >= 12
typedef float mg_lanes_f32 __attribute__((vector_size(32)));
typedef double mg_lanes_f64 __attribute__((vector_size(32)));

#define MG_PICK __builtin_shufflevector      /* the lanes of two vectors with these numbers */

/* {x0 + x1, y0 + y1, x2 + x3, y2 + y3, ...} */
#define MG_PAIRS_f32(x, y) MG_PICK(x, y, 0, 8, 2, 10, 4, 12, 6, 14) + MG_PICK(x, y, 1, 9, 3, 11, 5, 13, 7, 15)
#define MG_PAIRS_f64(x, y) MG_PICK(x, y, 0, 4, 2, 6) + MG_PICK(x, y, 1, 5, 3, 7)

static inline void mg_fold_f32(const mg_lanes_f32 *s, float *sums) {
    const mg_lanes_f32 p = MG_PAIRS_f32(s[0], s[1]), q = MG_PAIRS_f32(s[2], s[3]);
    const mg_lanes_f32 r = MG_PICK(p, q, 0, 1, 8, 9, 4, 5, 12, 13) + MG_PICK(p, q, 2, 3, 10, 11, 6, 7, 14, 15);
    for (int k = 0; k < 4; k++) sums[k] = r[k] + r[k + 4];
}

static inline void mg_fold_f64(const mg_lanes_f64 *s, double *sums) {
    const mg_lanes_f64 p = MG_PAIRS_f64(s[0], s[1]), q = MG_PAIRS_f64(s[2], s[3]);
    const mg_lanes_f64 r = MG_PICK(p, q, 0, 1, 4, 5) + MG_PICK(p, q, 2, 3, 6, 7);
    for (int k = 0; k < 4; k++) sums[k] = r[k];
}

#define MG_FOUR_SUMS(T, suffix)                                                                    \
    static inline __attribute__((always_inline)) void mg_four_sums_##suffix(                       \
            const T *x, mg_size step, mg_size jump, mg_size count, double *totals) {               \
        mg_lanes_##suffix s[4] = {{0}}, next;                                                      \
        T sums[4];                                                                                 \
        for (mg_size i = 0; i < count;) {                                                          \
            const mg_size end = i + MG_RUN < count ? i + MG_RUN : count;                           \
            mg_lanes_##suffix run[4] = {{0}};                                                      \
            for (; i < end; i++, x += jump)                                                        \
                for (int k = 0; k < 4; k++) memcpy(&next, x + k * step, sizeof next), run[k] += next; \
            for (int k = 0; k < 4; k++) s[k] += run[k];                                            \
        }                                                                                          \
        mg_fold_##suffix(s, sums);                                                                 \
        for (int k = 0; k < 4; k++) totals[k] += sums[k];                                          \
    }
#else
#define MG_FOUR_SUMS(T, suffix)                                                                    \
    static void mg_four_sums_##suffix(const T *x, mg_size step, mg_size jump, mg_size count, double *totals) { \
        for (int k = 0; k < 4; k++, x += step) {                                                   \
            T sum = 0;                                                                             \
            for (mg_size i = 0; i < count; i++) for (int lane = 0; lane < MG_LANES(T); lane++) sum += x[i * jump + lane]; \
            totals[k] += sum;                                                                      \
        }                                                                                          \
    }
#endif
MG_FOUR_SUMS(float, f32)
MG_FOUR_SUMS(double, f64)

#define MG_ROW_LOOPS(T, suffix, EXP, EXP_DOWN, LOG, SQRT)                                          \
    /* z[r] = Σ of row r: four short rows together, or a long one alone. The result does not depend on the other rows. */ \
    MG_SIMD static void mg_sum_rows_##suffix(const T *x, T *z, mg_size rows, mg_size n) {          \
        const mg_size lanes = MG_LANES(T), whole = n - n % (4 * lanes);                            \
        for (mg_size r = 0, some; n <= MG_PART && r < rows; r += some, x += some * n) {            \
            double totals[4] = {0};                                                                \
            some = rows - r < 4 ? 1 : 4;                                                           \
            mg_four_sums_##suffix(x, some == 4 ? n : 0, lanes, n / lanes, totals);                 \
            for (mg_size k = 0; k < some; k++) {                                                   \
                for (mg_size i = n - n % lanes; i < n; i++) totals[k] += x[k * n + i];             \
                z[r + k] = (T)totals[k];                                                           \
            }                                                                                      \
        }                                                                                          \
        for (mg_size r = 0; n > MG_PART && r < rows; r++, x += n) {                                \
            double totals[4] = {0};                                                                \
            for (mg_size i = 0; i < whole; i += 4 * MG_PART) {                                     \
                const mg_size count = whole - i < 4 * MG_PART ? whole - i : 4 * MG_PART;           \
                mg_four_sums_##suffix(x + i, lanes, 4 * lanes, count / (4 * lanes), totals);       \
            }                                                                                      \
            for (mg_size i = whole; i < n; i++) totals[0] += x[i];                                 \
            z[r] = (T)((totals[0] + totals[1]) + (totals[2] + totals[3]));                         \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* z = Σ of the n rows of x, each of `inner` numbers, at distances of `step`. Rows may overlap. */ \
    MG_SIMD static void mg_sum_columns_##suffix(const T *x, T *z, mg_size step, mg_size n, mg_size inner) { \
        if (inner <= MG_NARROW && step == inner && n > 2 * MG_FEW_ROWS) {                          \
            const mg_size some = MG_FEW_ROWS / inner, left = n % some;      /* so many rows as one row */ \
            T wide[MG_FEW_ROWS];                                                                   \
            mg_sum_columns_##suffix(x, wide, some * inner, n / some, some * inner);                \
            for (mg_size i = 0; i < inner; i++) {                                                  \
                double total = 0;                                                                  \
                for (mg_size k = 0; k < some; k++) total += wide[k * inner + i];                   \
                for (mg_size k = n - left; k < n; k++) total += x[k * inner + i];                  \
                z[i] = (T)total;                                                                   \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        if (n <= MG_FEW_ROWS) {                                                                    \
            for (mg_size i = 0; i < inner; i++) z[i] = 0;                                          \
            MG_ADD_ROWS(T, z, x, step, n, inner)                                                   \
            return;                                                                                \
        }                                                                                          \
        for (mg_size at = 0; at < inner; at += MG_TILE) {                                          \
            const mg_size width = inner - at < MG_TILE ? inner - at : MG_TILE;                     \
            double totals[MG_TILE];                                                                \
            T part[MG_TILE];                                                                       \
            for (mg_size i = 0; i < width; i++) totals[i] = 0;                                     \
            for (mg_size r = 0; r < n; r += MG_FEW_ROWS) {                                         \
                const mg_size end = r + MG_FEW_ROWS < n ? r + MG_FEW_ROWS : n;                     \
                for (mg_size i = 0; i < width; i++) part[i] = 0;                                   \
                MG_ADD_ROWS(T, part, x + r * step + at, step, end - r, width)                      \
                for (mg_size i = 0; i < width; i++) totals[i] += part[i];                          \
            }                                                                                      \
            for (mg_size i = 0; i < width; i++) z[at + i] = (T)totals[i];                          \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* z[k] = a[k] z[k - step] + b[k] for n rows of `inner` numbers; z[k] = b[k] where a[k] is 0, even if z[k - step] is infinite. \
       The first row is at a, b and z; the others follow at distances of `step` rows. */           \
    MG_SIMD static void mg_recurrence_##suffix(const T *a, const T *b, T *z, mg_size n, mg_size inner, mg_size step) { \
        for (mg_size at = 0; at < inner; at += MG_TILE) {                                          \
            const mg_size width = inner - at < MG_TILE ? inner - at : MG_TILE;                     \
            double running[MG_TILE];                                                               \
            for (mg_size i = 0; i < width; i++) z[at + i] = (T)(running[i] = b[at + i]);           \
            for (mg_size k = 1; k < n; k++) {                                                      \
                const mg_size row = k * step * inner + at;                                         \
                for (mg_size i = 0; i < width; i++) {                                              \
                    const double before = a[row + i] * running[i];                                 \
                    running[i] = (a[row + i] == 0 ? 0 : before) + b[row + i];                      \
                    z[row + i] = (T)running[i];                                                    \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    MG_SIMD static void mg_softmax_##suffix(const T *x, T *z, mg_size rows, mg_size n) {           \
        for (mg_size r = 0; r < rows; r++, x += n, z += n) {                                       \
            MG_TOP(T, x, n);                                                                       \
            MG_TOTAL(T, total, n, z[i] = EXP_DOWN(x[i] - top))                                     \
            const T sum = (T)total, inverse = 1 / sum;                                             \
            for (mg_size i = 0; i < n; i++) {           /* z / sum, without a division: the remainder corrects the product */ \
                const T e = z[i], q = e * inverse;                                                 \
                z[i] = q + (e - q * sum) * inverse;                                                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    MG_SIMD static void mg_log_softmax_##suffix(const T *x, T *z, mg_size rows, mg_size n) {       \
        for (mg_size r = 0; r < rows; r++, x += n, z += n) {                                       \
            MG_TOP(T, x, n);                                                                       \
            MG_TOTAL(T, total, n, EXP_DOWN(x[i] - top))                                            \
            const T shift = LOG((T)total);                                                         \
            for (mg_size i = 0; i < n; i++) z[i] = x[i] - top - shift;                             \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* out = z (g - Σ g z) */                                                                      \
    MG_SIMD static void mg_softmax_backward_##suffix(const T *g, const T *z, T *out, mg_size rows, mg_size n) { \
        for (mg_size r = 0; r < rows; r++, g += n, z += n, out += n) {                             \
            MG_TOTAL(T, total, n, g[i] * z[i])                                                     \
            const T sum = (T)total;                                                                \
            for (mg_size i = 0; i < n; i++) out[i] = z[i] * (g[i] - sum);                          \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* out = g - e^z Σ g */                                                                        \
    MG_SIMD static void mg_log_softmax_backward_##suffix(const T *g, const T *z, T *out, mg_size rows, mg_size n) { \
        for (mg_size r = 0; r < rows; r++, g += n, z += n, out += n) {                             \
            MG_TOTAL(T, total, n, g[i])                                                            \
            const T sum = (T)total;                                                                \
            for (mg_size i = 0; i < n; i++) out[i] = g[i] - EXP(z[i]) * sum;                       \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* z = (x - mean) rstd w + b; w and b may be NULL */                                           \
    MG_SIMD static void mg_layer_norm_##suffix(const T *x, const T *w, const T *b, T *z, T *mean, T *rstd, mg_size rows, \
                                               mg_size n, T eps) {                                 \
        for (mg_size r = 0; r < rows; r++, x += n, z += n) {                                       \
            MG_TOTAL(T, total, n, x[i])                                                            \
            const T m = (T)(total / n);                                                            \
            MG_TOTAL(T, squares, n, (x[i] - m) * (x[i] - m))                                       \
            const T s = 1 / SQRT((T)(squares / n) + eps);                                          \
            if (w && b) MG_ALL(z[i] = (x[i] - m) * s * w[i] + b[i])                               \
            else if (w) MG_ALL(z[i] = (x[i] - m) * s * w[i])                                      \
            else if (b) MG_ALL(z[i] = (x[i] - m) * s + b[i])                                      \
            else MG_ALL(z[i] = (x[i] - m) * s)                                                    \
            mean[r] = m;                                                                           \
            rstd[r] = s;                                                                           \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* dx = rstd (h - mean(h) - y mean(h y)) with y = (x - mean) rstd and h = g w; w may be NULL. dw = Σ g y and db = Σ g over \
       the rows are added to `totals`, n doubles each, in parts of MG_FEW_ROWS rows. These are in `parts`, which are 0. */ \
    MG_SIMD static void mg_layer_norm_backward_##suffix(const T *g, const T *x, const T *w, const T *mean, const T *rstd, T *dx, \
                                                        T *parts, double *totals, mg_size rows, mg_size n) { \
        T *dw = parts, *db = parts + n;                                                            \
        for (mg_size r = 0; r < rows; r++, g += n, x += n, dx += n) {                              \
            const T m = mean[r], s = rstd[r];                                                      \
            double total = 0, product = 0;                                                         \
            for (mg_size first = 0; first < n; first += MG_PART) {                                 \
                const mg_size last = first + MG_PART < n ? first + MG_PART : n;                    \
                T part = 0, other = 0;                                                             \
                if (w) MG_ROW_OF_GRADIENTS(T, g[i] * w[i]) else MG_ROW_OF_GRADIENTS(T, g[i])       \
                total += part, product += other;                                                   \
            }                                                                                      \
            const T a = (T)(total / n), b = (T)(product / n);                                      \
            if (w) MG_ALL(dx[i] = s * (g[i] * w[i] - a - (x[i] - m) * s * b))                      \
            else MG_ALL(dx[i] = s * (g[i] - a - (x[i] - m) * s * b))                               \
            if (r % MG_FEW_ROWS == MG_FEW_ROWS - 1 || r == rows - 1)                               \
                for (mg_size i = 0; i < 2 * n; i++) totals[i] += parts[i], parts[i] = 0;           \
        }                                                                                          \
    }

MG_ROW_LOOPS(float, f32, mg_exp_of_f32, mg_exp_down_f32, logf, sqrtf)
MG_ROW_LOOPS(double, f64, mg_exp_of_f64, mg_exp_of_f64, log, sqrt)

/* The same for all rows, which threads share if they are many. */
#define MG_ALL_ROWS(T, suffix)                                                                     \
    static void mg_run_sum_rows_##suffix(const T *x, T *z, mg_size rows, mg_size n, int threads) { \
        MG_SHARED_ROWS(rows, n, mg_sum_rows_##suffix(x + from * n, z + from, count, n))            \
    }                                                                                              \
    static void mg_run_softmax_##suffix(const T *x, T *z, mg_size rows, mg_size n, int threads) {  \
        MG_SHARED_ROWS(rows, n, mg_softmax_##suffix(x + from * n, z + from * n, count, n))         \
    }                                                                                              \
    static void mg_run_log_softmax_##suffix(const T *x, T *z, mg_size rows, mg_size n, int threads) { \
        MG_SHARED_ROWS(rows, n, mg_log_softmax_##suffix(x + from * n, z + from * n, count, n))     \
    }                                                                                              \
    static void mg_run_softmax_backward_##suffix(const T *g, const T *z, T *out, mg_size rows, mg_size n, int threads) { \
        MG_SHARED_ROWS(rows, n, mg_softmax_backward_##suffix(g + from * n, z + from * n, out + from * n, count, n)) \
    }                                                                                              \
    static void mg_run_log_softmax_backward_##suffix(const T *g, const T *z, T *out, mg_size rows, mg_size n, int threads) { \
        MG_SHARED_ROWS(rows, n, mg_log_softmax_backward_##suffix(g + from * n, z + from * n, out + from * n, count, n)) \
    }                                                                                              \
    static void mg_run_layer_norm_##suffix(const T *x, const T *w, const T *b, T *z, T *mean, T *rstd, mg_size rows, \
                                           mg_size n, T eps, int threads) {                        \
        MG_SHARED_ROWS(rows, n, mg_layer_norm_##suffix(x + from * n, w, b, z + from * n, mean + from, rstd + from, count, n, eps)) \
    }
MG_ALL_ROWS(float, f32)
MG_ALL_ROWS(double, f64)

/* The backward of layer normalisation. Threads share chunks of rows: the sums over the rows are added up for each chunk, and then
   over the chunks, so that the result does not depend on the number of threads. `room` has MG_CHUNK_ROOM(n) doubles for each chunk,
   which are 0. */
#define MG_MOST_CHUNKS 8
#define MG_CHUNK_ROOM(n) (4 * (n))

/* The rows of a chunk: at least 256, and whole parts of MG_FEW_ROWS. */
static inline mg_size mg_chunk_of(mg_size rows) {
    const mg_size some = (rows + MG_MOST_CHUNKS - 1) / MG_MOST_CHUNKS;
    return some <= 256 ? 256 : (some + MG_FEW_ROWS - 1) / MG_FEW_ROWS * MG_FEW_ROWS;
}

#define MG_ALL_CHUNKS(T, suffix)                                                                   \
    static void mg_run_layer_norm_backward_##suffix(const T *g, const T *x, const T *w, const T *mean, const T *rstd, T *dx, \
                                                    T *dw, T *db, double *room, mg_size rows, mg_size n, int threads) { \
        const mg_size chunk = mg_chunk_of(rows), chunks = (rows + chunk - 1) / chunk;              \
        MG_IN_PIECES(chunks, 1, rows * n >= MG_PARALLEL, for (mg_size c = from; c < from + count; c++) { \
            const mg_size r = c * chunk, some = rows - r < chunk ? rows - r : chunk;               \
            double *totals = room + c * MG_CHUNK_ROOM(n);                                          \
            mg_layer_norm_backward_##suffix(g + r * n, x + r * n, w, mean + r, rstd + r, dx + r * n, (T *)(totals + 2 * n), \
                                            totals, some, n);                                      \
        })                                                                                         \
        for (mg_size c = 1; c < chunks; c++)                                                       \
            for (mg_size i = 0; i < 2 * n; i++) room[i] += room[c * MG_CHUNK_ROOM(n) + i];         \
        for (mg_size i = 0; i < n; i++) dw[i] = (T)room[i], db[i] = (T)room[n + i];                \
    }
MG_ALL_CHUNKS(float, f32)
MG_ALL_CHUNKS(double, f64)

#endif
