"""Each family once: parameters, and values at which it is evaluated. The tests of samples and the parity tests read this table.

    Family("Normal", {"loc": [...], "scale": [...]}, [values])

Parameters and values are nested lists, so that both libraries make tensors of them. A parameter in `fixed` is passed as it is.
"""

from typing import Any, NamedTuple

__all__ = ["FAMILIES", "Family", "make"]


class Family(NamedTuple):
    """A family with its parameters, values, and the arguments that are no tensors."""

    name: str
    parameters: dict[str, Any]
    values: list[Any]
    fixed: dict[str, Any] = {}


POSITIVE = [0.3, 1.0, 2.5]
SPREAD = [0.5, 1.5, 4.0]
SIMPLEX = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]
PROBS = [0.2, 0.5, 0.9]
LOGITS = [-1.3, 0.4, 2.0]
MATRIX = [[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]]
LOWER = [[1.2, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.5, 0.2, 1.1]]
LOCS = {"loc": [-1.0, 0.0, 2.0], "scale": SPREAD}
REALS = [-2.1, 0.3, 3.7]

FAMILIES = [
    Family("Bernoulli", {"probs": PROBS}, [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]),
    Family("Bernoulli", {"logits": LOGITS}, [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]),
    Family("Beta", {"concentration1": SPREAD, "concentration0": [2.0, 0.7, 3.0]}, [[0.1, 0.5, 0.9], [0.7, 0.2, 0.4]]),
    Family("Binomial", {"probs": PROBS}, [[0.0, 2.0, 5.0], [3.0, 4.0, 1.0]], {"total_count": 5}),
    Family("Binomial", {"logits": LOGITS}, [[0.0, 2.0, 5.0], [3.0, 4.0, 1.0]], {"total_count": 5}),
    Family("Categorical", {"probs": SIMPLEX}, [[0.0, 2.0], [1.0, 1.0]]),
    Family("Categorical", {"logits": [[0.1, -1.0, 2.0], [0.0, 0.5, 0.7]]}, [[0.0, 2.0], [1.0, 1.0]]),
    Family("Cauchy", LOCS, [REALS]),
    Family("Chi2", {"df": [0.7, 2.0, 9.0]}, [POSITIVE, [0.01, 5.0, 8.0]]),
    Family("ContinuousBernoulli", {"probs": [0.2, 0.4995, 0.9]}, [[0.1, 0.5, 0.9], [0.7, 0.2, 0.4]]),
    Family("ContinuousBernoulli", {"logits": [-1.3, 0.0005, 2.0]}, [[0.1, 0.5, 0.9]]),
    Family("Dirichlet", {"concentration": [[0.5, 1.5, 4.0], [2.0, 2.0, 0.8]]}, [SIMPLEX]),
    Family("Exponential", {"rate": SPREAD}, [POSITIVE, [0.01, 5.0, 8.0]]),
    Family("FisherSnedecor", {"df1": [1.0, 3.0, 6.0], "df2": [1.5, 3.5, 9.0]}, [POSITIVE]),
    Family("Gamma", {"concentration": SPREAD, "rate": [2.0, 0.7, 3.0]}, [POSITIVE, [0.01, 5.0, 8.0]]),
    Family("GeneralizedPareto", {"loc": [0.0, 1.0, -1.0], "scale": SPREAD, "concentration": [0.3, 0.7, -0.4]}, [[0.2, 2.0, 1.0]]),
    Family("GeneralizedPareto", {"loc": [0.0, 1.0, -1.0], "scale": SPREAD}, [[0.2, 2.0, 1.0]], {"concentration": 0.0}),
    Family("Geometric", {"probs": PROBS}, [[0.0, 2.0, 5.0]]),
    Family("Geometric", {"logits": LOGITS}, [[0.0, 2.0, 5.0]]),
    Family("Gumbel", LOCS, [REALS]),
    Family("HalfCauchy", {"scale": SPREAD}, [POSITIVE]),
    Family("HalfNormal", {"scale": SPREAD}, [POSITIVE]),
    Family("InverseGamma", {"concentration": [0.8, 2.5, 4.0], "rate": [2.0, 0.7, 3.0]}, [POSITIVE]),
    Family("Kumaraswamy", {"concentration1": [0.5, 1.5, 4.0], "concentration0": [2.0, 1.7, 3.0]}, [[0.1, 0.5, 0.9]]),
    Family("LKJCholesky", {"concentration": [0.5, 1.0, 3.0]}, [[[1.0, 0.0], [0.6, 0.8]]], {"dim": 2}),
    Family("Laplace", LOCS, [REALS]),
    Family("LogNormal", LOCS, [POSITIVE]),
    Family("LogisticNormal", {"loc": [[0.1, -0.4], [0.0, 1.0]], "scale": [[0.5, 1.0], [2.0, 0.3]]}, [SIMPLEX]),
    Family("LowRankMultivariateNormal", {"loc": [[0.1, -0.4, 1.0]], "cov_factor": [[1.0, 0.2], [0.3, -0.5], [0.0, 0.9]],
                                         "cov_diag": [0.5, 1.5, 1.0]}, [REALS, [REALS, [0.0, 0.0, 1.0]]]),
    Family("Multinomial", {"probs": SIMPLEX}, [[[1.0, 2.0, 2.0], [5.0, 0.0, 0.0]]], {"total_count": 5}),
    Family("Multinomial", {"logits": SIMPLEX}, [[[1.0, 2.0, 2.0], [5.0, 0.0, 0.0]]], {"total_count": 5}),
    Family("MultivariateNormal", {"loc": [0.1, -0.4, 1.0], "covariance_matrix": MATRIX}, [REALS, [REALS, [0.0, 0.0, 1.0]]]),
    Family("MultivariateNormal", {"loc": [[0.1, -0.4, 1.0], [0.0, 0.0, 0.0]], "precision_matrix": MATRIX}, [REALS]),
    Family("MultivariateNormal", {"loc": [0.1, -0.4, 1.0], "scale_tril": [LOWER, LOWER]}, [REALS]),
    Family("NegativeBinomial", {"total_count": [0.5, 2.0, 7.0], "probs": PROBS}, [[0.0, 2.0, 5.0]]),
    Family("NegativeBinomial", {"total_count": [0.5, 2.0, 7.0], "logits": LOGITS}, [[0.0, 2.0, 5.0]]),
    Family("Normal", LOCS, [REALS]),
    Family("OneHotCategorical", {"probs": SIMPLEX}, [[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]),
    Family("OneHotCategorical", {"logits": SIMPLEX}, [[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]),
    Family("OneHotCategoricalStraightThrough", {"probs": SIMPLEX}, [[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]),
    Family("Pareto", {"scale": [0.2, 1.0, 2.0], "alpha": [0.5, 1.5, 4.0]}, [[0.3, 1.5, 2.5]]),
    Family("Poisson", {"rate": SPREAD}, [[0.0, 2.0, 5.0]]),
    Family("RelaxedBernoulli", {"temperature": 0.7, "probs": PROBS}, [[0.1, 0.5, 0.9]]),
    Family("RelaxedBernoulli", {"temperature": 0.7, "logits": LOGITS}, [[0.1, 0.5, 0.9]]),
    Family("RelaxedOneHotCategorical", {"temperature": 0.7, "probs": SIMPLEX}, [SIMPLEX]),
    Family("RelaxedOneHotCategorical", {"temperature": 0.7, "logits": SIMPLEX}, [SIMPLEX]),
    Family("StudentT", {"df": [0.8, 1.5, 5.0], **LOCS}, [REALS]),
    Family("Uniform", {"low": [-1.0, 0.0, 2.0], "high": [1.0, 0.5, 5.0]}, [[0.3, 0.1, 4.0]]),
    Family("VonMises", {"loc": [-1.0, 0.0, 2.0], "concentration": [0.2, 3.0, 40.0]}, [[-2.1, 0.3, 2.2]]),
    Family("Weibull", {"scale": SPREAD, "concentration": [0.8, 1.0, 3.0]}, [POSITIVE]),
    Family("Wishart", {"df": [3.5, 6.0], "covariance_matrix": MATRIX}, [MATRIX]),
    Family("Wishart", {"df": [3.5, 6.0], "precision_matrix": MATRIX}, [MATRIX]),
    Family("Wishart", {"df": 4.0, "scale_tril": LOWER}, [MATRIX]),
]


def make(library, distributions, family, dtype="float64", requires_grad=True):
    """(the distribution, name -> parameter tensor) of a family in a library."""
    kind = getattr(library, dtype)
    tensors = {name: library.tensor(value, dtype=kind, requires_grad=requires_grad) for name, value in family.parameters.items()}
    return getattr(distributions, family.name)(**tensors, **family.fixed), tensors
