"""Functions of the root, of nn.functional and methods that few programs use: as in PyTorch. Each snippet runs on both libraries."""

import warnings

import numpy as np
import pytest
import torch

import minigrad as mg
from tests.parity.test_names import outcome


def without_warnings(m, snippet):
    found = outcome(m, snippet)
    return found[0] if isinstance(found, tuple) else found


@pytest.mark.parametrize("snippet", [
    "m.range(0,3)",
    "m.range(1,2,.5)",
    "m.range(0,3,dtype=m.int64)",
    "m.range(3,0)",
    "m.range(3,0,-1)",
    "m.range(0,3,0)",
    "m.range(0,1,.1).shape",
    "m.bartlett_window(5), m.bartlett_window(5,False)",
    "m.blackman_window(5,dtype=m.float64).round(decimals=6), m.blackman_window(1)",
    "m.hann_window(-1)",
    "m.hann_window(3,dtype=m.int64)",
    "m.hann_window(3,requires_grad=True).requires_grad",
    "m.unravel_index(m.tensor([5,7]),(3,4))",
    "m.unravel_index(m.tensor(20),(3,4))",
    "m.unravel_index(m.tensor([5.]),(3,4))",
    "m.gcd(m.tensor([4,-6,0,0,12]),m.tensor([2,4,0,5,18]))",
    "m.gcd(m.tensor([4,6]),m.tensor(2)), m.tensor([4,6]).gcd(m.tensor([6,4]))",
    "m.gcd(m.tensor([4.]),m.tensor(2.))",
    "m.lcm(m.tensor([4,-6,0]),m.tensor([6,4,5]))",
    "m.ldexp(m.ones(2),m.tensor([1,-2]))",
    "m.ldexp(m.ones(2,dtype=m.float64),m.tensor([1,-2]))",
    "m.bitwise_left_shift(m.tensor([1,-1]),m.tensor([2,3])), m.tensor([1])<<2, m.tensor([-5,8])>>1",
    "m.tensor([1],dtype=m.int32)<<2, m.tensor([1],dtype=m.uint8)>>1",
    "m.ones(2)>>m.ones(2).long()",
    "m.bitwise_right_shift(m.tensor([-5]),1)",
    "m.tensor([1,2]).bitwise_left_shift(1)",
    "m.asarray([1,2]), m.asarray(np.ones(2)), m.asarray(3), m.asarray(m.ones(2))",
    "m.asarray([1.],copy=False)",
    "m.asarray(np.ones(2),copy=False)",
    "m.asarray(np.ones(2),copy=False,dtype=m.float32)",
    "m.asarray([1.],requires_grad=True)",
    "m.asarray(m.ones(2,requires_grad=True)).requires_grad",
    "m.asarray(m.ones(2),copy=True,dtype=m.float64)",
    "(x:=m.ones(2)) is m.asarray(x)",
    "m.typename(m.ones(2)), m.typename(m.ones(2).long()), m.typename(3), m.typename('a'), m.typename(m.nn.Linear(1,1)), m.typename(int)",
    "m.conj(m.tensor([1+2j])), m.conj(m.ones(2)), m.detach(m.ones(2,requires_grad=True)).requires_grad",
    "m.is_conj(m.ones(2)), m.is_neg(m.ones(2)), m.ones(2).is_conj(), m.is_same_size(m.ones(2),m.ones(3)), m.is_signed(m.ones(2))",
    "m.narrow_copy(m.arange(4),0,1,2), m.arange(4).narrow_copy(0,1,2)",
    "m.dropout(m.ones(2),0.5,False), m.dropout(m.ones(2),1.,True), m.dropout(m.ones(4),0.,True)",
    "m.dropout(m.ones(2),0.5)",
    "m.dropout_(m.ones(2),1.,True)",
    "m.layer_norm(m.tensor([[1.,2.]]),(2,)), m.group_norm(m.tensor([[1.,2.]]),1)",
    "m.batch_norm(m.tensor([[1.],[2.]]),None,None,m.zeros(1),m.ones(1),False,.1,0.,False)",
    "m.instance_norm(m.tensor([[[1.,2.]]]),None,None,None,None,True,.1,1e-5,False)",
    "m.embedding(m.tensor([[1.],[2.]]),m.tensor([1,0]))",
    "m.prelu(m.tensor([-1.,1.]),m.tensor([.5])), m.celu(m.tensor([-1.])), m.selu(m.tensor([-1.])), m.hardshrink(m.tensor([.2,1.]))",
    "m.selu_(m.tensor([-1.,1.])), m.celu_(m.tensor([-1.])), m.threshold_(m.tensor([-1.,1.]),0.,5.)",
    "m.sin_(m.ones(2)), m.relu_(m.tensor([-1.,1.])), m.exp_(m.zeros(2)), m.clamp_(m.tensor([-1.,2.]),0,1), m.zero_(m.ones(2)), m.fill_(m.ones(2),3.)",
    "m.clamp_(m.tensor([-1.,2.]),min=0), m.sigmoid_(m.zeros(1)), m.abs_(m.tensor([-1.])), m.round_(m.tensor([1.23]),decimals=1)",
    "m.sin_(3)",
    "m.sqrt_(m.ones(2,requires_grad=True))",
    "(x:=m.ones(2)) is m.sin_(x)",
    "grad(m.sin_((x:=m.ones(2,requires_grad=True))*2).sum(),x)",
    "m.lu(m.tensor([[1.,2.,3.],[4.,5.,6.]])), m.lu(m.tensor([[1.,2.],[4.,5.],[7.,9.]]))",
    "m.lu_unpack(*m.lu(m.tensor([[0.,1.],[2.,3.]])))",
    "m.lu_unpack(*m.lu(m.tensor([[1.,2.],[4.,5.],[7.,9.]])))",
    "m.lu_unpack(*m.lu(m.tensor([[[0.,1.,2.],[2.,3.,4.],[5.,1.,1.]],[[5.,1.,2.],[2.,3.,4.],[0.,1.,1.]]])))",
    "m.lu_unpack(*m.lu(m.tensor([[0.,1.],[2.,3.]])),unpack_data=False)",
    "m.lu_unpack(*m.lu(m.tensor([[0.,1.],[2.,3.]])),unpack_pivots=False)",
    "m.lu(m.tensor([[1.,2.],[3.,4.]]),get_infos=True)[2], m.lu(m.zeros(2,2),get_infos=True)[2]",
    "m.lu(m.ones(2))",
    "m.lu_unpack(m.eye(2),m.tensor([1,2]))",
    "m.ones(2).apply_(lambda v: v*2), m.tensor([1,2]).apply_(lambda v: v+.5), m.ones(0).apply_(abs)",
    "m.ones(2).apply_(3)",
    "m.ones(2,requires_grad=True).apply_(abs)",
    "m.ones(2).map_(m.zeros(2),lambda a,b:a+b), m.ones(2,2).map_(m.tensor([1.,2.]),max)",
    "m.ones(2).map_(m.ones(3),max)",
    "m.ones(2).map_(3,max)",
    "m.ones(2).map_(m.ones(2).long(),max)",
    "m.ones(2).map2_(m.ones(2),m.ones(2),lambda a,b,c:a+b+c)",
    "m.ones(2).to_dense(), m.ones(2).is_sparse, m.ones(2).is_quantized, m.ones(2).is_mps, m.ones(2).is_xpu, m.ones(2).is_mkldnn, m.ones(2).is_nested",
    "m.get_default_device(), m.set_default_device('cpu')",
    "m.set_anomaly_enabled(False), m.compiled_with_cxx11_abi()",
    "m.einsum('ij,jk->ik',[m.ones(2,2),m.ones(2,2)]), m.einsum(m.ones(2,2),[0,1],m.ones(2,2),[1,2],[0,2]), m.einsum('ii',m.ones(2,2))",
    "m.einsum(m.ones(2,2),[0,1],[1,0])",
    "m.histogram(m.tensor([1.,2.,1.]),bins=4,range=(0.,3.))",
    "m.histogram(m.tensor([1.,2.,1.]),m.tensor([0.,1.5,3.]),weight=m.tensor([1.,2.,4.]),density=True)",
    "m.numel(m.ones(2)), m.std(m.tensor([1.,2.])), m.chunk(m.ones(2),2), m.bincount(m.tensor([1,1])), m.lerp(m.zeros(1),m.ones(1),.5), m.clip(m.ones(1),0,.5), m.moveaxis(m.ones(2,3),0,1).shape, m.swapaxes(m.ones(2,3),0,1).shape, m.msort(m.tensor([2.,1.])), m.heaviside(m.ones(1),m.ones(1)), m.hypot(m.ones(1),m.ones(1)), m.true_divide(m.ones(1),2), m.nan_to_num(m.tensor([float('nan')]))",
    "F.affine_grid(m.tensor([[[1.,0.,0.],[0.,1.,0.]]]),(1,1,2,2))",
    "F.affine_grid(m.tensor([[[1.,0.,0.],[0.,1.,0.]]]),m.Size([1,1,2,3]),align_corners=False)",
    "F.affine_grid(m.tensor([[[1,0,0],[0,1,0]]]),(1,1,2,2),False)",
    "F.affine_grid(m.ones(1,2,3),(1,1,2),False)",
    "F.affine_grid(m.ones(1,2,3),(1,1,2,2,2),False)",
    "F.affine_grid(m.ones(1,2,3),(1,1,2,0),False)",
    "F.grid_sample(m.ones(1,1,2,2),m.zeros(1,1,1,2))",
    "F.grid_sample(m.ones(1,1,2,2),m.zeros(1,1,1,2),mode='cubic')",
    "F.grid_sample(m.ones(1,1,2,2),m.zeros(1,1,1,2),padding_mode='zero')",
    "F.grid_sample(m.ones(1,1,2,2),m.zeros(2,1,1,2),align_corners=False)",
    "F.grid_sample(m.ones(1,1,2,2),m.zeros(1,1,1,3),align_corners=False)",
    "F.grid_sample(m.ones(1,2,2),m.zeros(1,1,1,2),align_corners=False)",
    "F.grid_sample(m.ones(1,1,2,2),m.zeros(1,1,1,2).double(),align_corners=False)",
    "F.grid_sample(m.ones(1,1,2,2,2),m.zeros(1,1,1,1,3),mode='bicubic',align_corners=False)",
    "F.grid_sample(m.ones(1,1,0,2),m.zeros(1,1,1,2),align_corners=False)",
    "F.grid_sample(m.ones(1,1,2,2).long(),m.zeros(1,1,1,2).long(),align_corners=False)",
    "F.grid_sample(m.arange(4.).reshape(1,1,2,2),m.tensor([[[[float('nan'),0.],[1e9,0.]]]]),padding_mode='border',align_corners=False)",
    "F.relu_(m.tensor([-1.,1.])), F.leaky_relu_(m.tensor([-1.])), F.elu_(m.tensor([-1.])), F.hardtanh_(m.tensor([-3.])), F.selu_(m.tensor([-1.])), F.celu_(m.tensor([-1.])), F.threshold_(m.tensor([-1.]),0.,5.)",
    "F.elu_(m.tensor([-1.]),alpha=.5), F.leaky_relu_(m.tensor([-1.]),.5)",
    "F.triplet_margin_with_distance_loss(m.ones(2,3),m.zeros(2,3),m.ones(2,3))",
    "m.optim.lr_scheduler.StepLR.__module__, m.optim.lr_scheduler.OneCycleLR.__module__",
    "m.hann_window(4), m.hann_window(5,periodic=False), m.hann_window(1), m.hann_window(0), m.hann_window(4,dtype=m.float64)",
    "m.hamming_window(5,False), m.hamming_window(4,True,.5,.5)",
    "m.lu_solve(m.tensor([[1.],[5.]]),m.tensor([[2.,3.],[0.,1.]]),m.tensor([2,2],dtype=m.int32))",
])
def test_same(snippet):
    assert without_warnings(mg, snippet) == without_warnings(torch, snippet)


@pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])
def test_warnings(m):
    m.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="range is deprecated"):
            m.range(0, 2)
        theta = m.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        with pytest.warns(UserWarning, match="align_corners=False since 1.3.0"):
            grid = m.nn.functional.affine_grid(theta, (1, 1, 2, 2))
        with pytest.warns(UserWarning, match="align_corners=False since 1.3.0"):
            m.nn.functional.grid_sample(m.ones(1, 1, 2, 2), grid)
    finally:
        m.set_warn_always(False)


def test_share_memory_says_once_that_it_does_nothing():
    mg.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="does nothing in minigrad"):
            x = mg.zeros(2)
            assert x.share_memory_() is x
    finally:
        mg.set_warn_always(False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mg.zeros(2).share_memory_()
    assert not caught


def in_place_names():
    return [n for n in dir(torch) if n.endswith("_") and not n.startswith("_")]


# dropout in place draws random numbers; the others work on sparse or quantized tensors, or are rare.
LEFT_OUT = {"embedding_renorm_", "feature_alpha_dropout_", "feature_dropout_", "resize_as_sparse_", "rrelu_", "gcd_", "lcm_", "ldexp_"}


def test_every_in_place_function_of_the_root():
    assert {n for n in in_place_names() if not hasattr(mg, n)} == LEFT_OUT


def test_lazy_names():
    """They are no attributes until a program asks for them, and unknown names still raise."""
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        getattr(mg, "no_such_" + "name")
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        getattr(mg.nn.functional, "no_such_" + "name")
    assert "grid_sample" in dir(mg.nn.functional) and mg.sin_ is mg.functional.sin_
    assert set(mg.functional.__all__) <= set(dir(torch)) and mg.version.__version__ == mg.__version__


def test_default_device():
    with pytest.raises((NotImplementedError, RuntimeError)):
        mg.set_default_device("cuda")


@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (4, 3), (2, 3, 3)], ids=str)
def test_lu(shape):
    """A = P L U, the pivots and the gradient."""
    numbers = np.random.default_rng(0).normal(size=shape)
    found = []
    for m in (mg, torch):
        A = m.tensor(numbers, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            packed, pivots = m.lu(A)
        P, L, U = m.lu_unpack(packed, pivots)
        ((L * L).sum() + (U ** 3).sum()).backward()
        found.append([x.detach().numpy() for x in (packed, pivots, P, L, U, A.grad)])
        assert np.allclose((P @ L @ U).detach().numpy(), numbers)
    assert all(np.allclose(ours, theirs) for ours, theirs in zip(*found))
