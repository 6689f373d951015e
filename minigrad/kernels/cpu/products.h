/* Products of a row and a matrix, and outer products. Calling BLAS through NumPy takes as long as a few thousand multiplications.
   (For two matrices BLAS keeps more in registers, and is faster even for small ones.) */
#ifndef MINIGRAD_PRODUCTS_H
#define MINIGRAD_PRODUCTS_H

#include "simd.h"

#ifdef _OPENMP
#define MG_SUM_OF_PRODUCTS _Pragma("omp simd reduction(+ : total)")
#else
#define MG_SUM_OF_PRODUCTS
#endif

/* z[i, j] = Σ x[i, l] y[l, j]; z is row-major. Strides are in elements. There are two cases. If y_column is 1, the rows of y are
   contiguous, and row i of z is a sum of rows of y. If x_column and y_row are 1, each element of z is an inner product. */
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
