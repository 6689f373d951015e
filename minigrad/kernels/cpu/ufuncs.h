/* The loops of ufuncs.pyx: NumPy's own, and functions of the C library. */
#ifndef MINIGRAD_UFUNCS_H
#define MINIGRAD_UFUNCS_H

#include <math.h>

#include "loops.h"

/* For few elements only: NumPy's vectorised loops are faster from about a dozen elements on. */
#define MG_LIBM_TABLE(X)                                                                           \
    X(exp, 0, expf(a), exp(a))                                                                     \
    X(log, 1, logf(a), log(a))                                                                     \
    X(log1p, 2, log1pf(a), log1p(a))                                                               \
    X(sin, 3, sinf(a), sin(a))                                                                     \
    X(cos, 4, cosf(a), cos(a))                                                                     \
    X(tanh, 5, tanhf(a), tanh(a))

MG_LIBM_TABLE(MG_DEFINE_PLAIN)
static const mg_unary mg_libm_loops[][2] = {MG_LIBM_TABLE(MG_UNARY_ENTRY)};

#define MG_LIBM_NUMBER(name, number, f, d) MG_L_##name = number,
enum { MG_LIBM_TABLE(MG_LIBM_NUMBER) MG_LIBM_END };

/* NumPy's inner loop for a function of one or two arguments: addresses, number of elements, steps in bytes, and data of its own. */
typedef void (*mg_inner)(char **, const mg_size *, const mg_size *, void *);

/* `args` has the addresses of all arguments and of the result. The step of a single number is 0. */
static inline void mg_run_inner(mg_inner loop, void *its_data, int n_args, char *const *args, const mg_size *steps, mg_size n,
                                int threads) {
    MG_SHARED(n, char *part[3]; for (int i = 0; i < n_args; i++) part[i] = args[i] + from * steps[i];
              loop(part, &count, steps, its_data))
}

#endif
