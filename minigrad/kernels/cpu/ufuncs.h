/* The loops of ufuncs.pyx: NumPy's own. */
#ifndef MINIGRAD_UFUNCS_H
#define MINIGRAD_UFUNCS_H

#include "loops.h"

/* NumPy's inner loop for a function of one or two arguments: addresses, number of elements, steps in bytes, and data of its own. */
typedef void (*mg_inner)(char **, const mg_size *, const mg_size *, void *);

/* `args` has the addresses of all arguments and of the result. The step of a single number is 0. */
static inline void mg_run_inner(mg_inner loop, void *its_data, int n_args, char *const *args, const mg_size *steps, mg_size n,
                                int threads) {
    MG_SHARED(n, char *part[3]; for (int i = 0; i < n_args; i++) part[i] = args[i] + from * steps[i];
              loop(part, &count, steps, its_data))
}

#endif
