"""Special functions under the names of ``torch.special``: most are functions of `minigrad`, and some are only here.

    mg.special.expit is mg.sigmoid          mg.special.gammaln is mg.lgamma         mg.special.psi is mg.digamma

The rules are in ``ops/elementwise/special.py``, ``xlogy.py`` and ``scaled.py``. Mirrors ``torch/special/__init__.py``.
"""

from minigrad.ops import (
           digamma,
           erf,
           erfc,
           erfinv,
           exp2,
           expm1,
           i0,
           igamma,
           igammac,
           lgamma,
           log1p,
           log_softmax,
           logit,
           logsumexp,
           mvlgamma,
           polygamma,
           round,
           sigmoid,
           sinc,
           softmax,
    xlogy,
)
from minigrad.ops.elementwise.gamma_zeta import i1, zeta
from minigrad.ops.elementwise.scaled import erfcx, i0e, i1e, log_ndtr
from minigrad.ops.elementwise.special import ndtr
from minigrad.ops.elementwise.xlogy import entr, xlog1py

__all__ = ["digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln",
           "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "polygamma",
           "psi", "round", "sinc", "softmax", "xlog1py", "xlogy", "zeta"]

expit = sigmoid
gammainc = igamma
gammaincc = igammac
gammaln = lgamma
multigammaln = mvlgamma
psi = digamma
