"""No op shows NumPy's warnings of overflow: infinities are results, as in PyTorch."""

import warnings

import pytest

import minigrad as mg

NUMBERS = [1e5, 1e39, 1e300, -1e300]
CALLS = {
    "full": lambda x, n: mg.full((2,), n, dtype=mg.float16), "setitem": lambda x, n: x.half().__setitem__(0, n), "compared": lambda x, n: (x < n, x == n),
    "clamp": lambda x, n: (x.clamp(n), x.clamp(max=n)), "arithmetic": lambda x, n: (x + n, n - x, x * n, x / n, x ** n, x // n, x % n, mg.add(x, x, alpha=n)),
    "pad": lambda x, n: mg.nn.functional.pad(x.double(), (1, 1), value=n), "copysign": lambda x, n: mg.copysign(x, n), "nan_to_num": lambda x, n: mg.nan_to_num(x, n, n, n),
    "softplus": lambda x, n: mg.nn.functional.softplus(x, n, n), "linspace": lambda x, n: mg.linspace(0, n, 3, dtype=x.dtype), "to": lambda x, n: mg.tensor([n]).double().to(x.dtype),
    "random": lambda x, n: (x.clone().uniform_(-abs(n), abs(n)), x.clone().normal_(0, abs(n))), "statistics": lambda x, n: ((x * n).std(), (x * n).cumsum(0)),
}


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", CALLS)
def test_no_warning(name, dtype):
    x = mg.tensor([1.0, 2.0]).to(getattr(mg, dtype))
    for n in NUMBERS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                CALLS[name](x, n)
            except RuntimeError as error:
                assert "overflow" in str(error)     # refused, where PyTorch refuses it
