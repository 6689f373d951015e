"""nn.functional: signatures, values and gradients against PyTorch's, and the warnings."""

import pytest

import minigrad as mg
from minigrad import nn
from tests.nn.cases import FUNCTIONS
from tests.nn.test_layers import compare, ids, outcome, parameters_of


@pytest.mark.parametrize("case", FUNCTIONS, ids=ids)
def test_function_is_torchs(case, torch):
    _, function, arrays = case
    compare(outcome(mg, lambda *xs: function(mg, *xs), arrays), outcome(torch, lambda *xs: function(torch, *xs), arrays))


@pytest.mark.parametrize("name", nn.functional.__all__)
def test_function_signature(name, torch):
    try:
        theirs = parameters_of(getattr(torch.nn.functional, name))
    except ValueError:
        pytest.skip("PyTorch has this function in C")
    if "max_pool" in name:          # which torch dispatches: (*args, **kwargs)
        theirs = parameters_of(getattr(torch.nn.functional, name.removesuffix("_with_indices") + "_with_indices"))
    assert parameters_of(getattr(nn.functional, name)) == theirs


def test_mse_loss_warns_of_broadcasting():
    with pytest.warns(UserWarning, match="different to the input size"):
        assert nn.MSELoss()(mg.ones(2, 3), mg.zeros(3)).item() == 1
    with pytest.raises(RuntimeError):
        nn.MSELoss()(mg.ones(2), mg.zeros(3))


def test_softmax_without_dim_warns():
    for layer in (nn.Softmax(), nn.LogSoftmax()):
        with pytest.warns(UserWarning, match="Implicit dimension choice"):
            assert layer(mg.ones(2, 4)).shape == (2, 4)
