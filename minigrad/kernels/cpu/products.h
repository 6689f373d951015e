/* Products of a row and a matrix, and outer ones: a call of BLAS, by way of NumPy, takes as long as some thousand
   multiplications. (Where both are matrices BLAS keeps more of them in registers, and wins soon.) */
#ifndef MINIGRAD_PRODUCTS_H
#define MINIGRAD_PRODUCTS_H

#include "simd.h"

#ifdef _OPENMP
#define MG_SUM_OF_PRODUCTS _Pragma("omp simd reduction(+ : total)")
#else
#define MG_SUM_OF_PRODUCTS
#endif

/* z[i, j] = Σ x[i, l] y[l, j], z row by row. Steps are in elements. Either y lies row by row (y_column is 1): then row i of z is
   a sum of rows of y; or the rows of x and the columns of y lie without gaps (x_column and y_row are 1): inner products. */
#define MG_SMALL_PRODUCT(T, suffix)                                                                \
    MG_SIMD static void mg_small_product_##suffix(const T *x, mg_size x_row, mg_size x_column, const T *y, mg_size y_row, \
                                                  mg_size y_column, T *restrict z, mg_size m, mg_size k, mg_size n) { \
        if (y_column == 1) {                                                                       \
            for (mg_size i = 0; i < m; i++, z += n) {                                              \
                const T first = x[i * x_row];                                                      \
                for (mg_size j = 0; j < n; j++) z[j] = first * y[j];                               \
                for (mg_size l = 1; l < k; l++) {                                                  \
                    const T a = x[i * x_row + l * x_column];                                       \
                    const T *row = y + l * y_row;                                                  \
                    for (mg_size j = 0; j < n; j++) z[j] += a * row[j];                            \
                }                                                                                  \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (mg_size i = 0; i < m; i++)                                                            \
            for (mg_size j = 0; j < n; j++) {                                                      \
                const T *p = x + i * x_row, *q = y + j * y_column;                                 \
                T total = 0;                                                                       \
                MG_SUM_OF_PRODUCTS                                                                 \
                for (mg_size l = 0; l < k; l++) total += p[l] * q[l];                              \
                z[i * n + j] = total;                                                              \
            }                                                                                      \
    }
MG_SMALL_PRODUCT(float, f32)
MG_SMALL_PRODUCT(double, f64)

#endif
