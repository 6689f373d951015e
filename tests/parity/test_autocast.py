"""Autocast against PyTorch on a CPU: the dtypes of results and gradients for each op of its lists, and for others; its states; training."""

import warnings

import numpy as np
import pytest
import torch

import minigrad as mg
from tests.parity.test_bfloat16 import arrays, name_of, numbers

pytest.importorskip("ml_dtypes")

CASES = """
x@w; m.mm(x,w); m.bmm(B,C); m.baddbmm(B[:,:,:2],B,C); m.addmm(b,x,w); m.addmm(b,x,w,beta=.5); m.addbmm(x[:,:2],B,C); F.linear(x,w.t(),b);
F.linear(B,w.t(),b); F.linear(x,w.t()); m.matmul(x,v); m.matmul(v,v); m.matmul(B,v); B@w; v@w; m.mv(x,v); m.dot(v,v);
m.einsum('ij,jk->ik',x,w); m.tensordot(x,w,1); m.outer(v,v); F.conv2d(img,k,kb); F.conv1d(seq,k1); F.conv3d(vol,k3);
F.conv_transpose2d(img,kt); F.scaled_dot_product_attention(q,kk,vv); m.linalg.multi_dot([x,w]); m.addmv(x[:,0],x,v); x+y; m.exp(x);
F.softmax(x,1); F.layer_norm(x,(6,)); F.gelu(x); x.sum(); x.mean(); x.prod(); m.trace(x); m.cat([x,y]); m.stack([x,y]); F.relu(x); x.std();
m.cdist(x,y); m.cumsum(x,0); F.batch_norm(img,None,None,training=True); F.group_norm(img[:,:2],2); F.max_pool2d(img,2);
F.avg_pool2d(img,2); F.avg_pool3d(vol,2); F.pad(img,(1,1,1,1),mode='reflect'); F.pad(img,(1,1,1,1)); F.interpolate(img,scale_factor=2.0);
F.normalize(x); F.cosine_similarity(x,y); F.pairwise_distance(x,y); F.embedding(m.tensor([1]),x); F.dropout(x,.0); x.pow(2);
m.where(x>0,x,y); F.log_softmax(x,1); m.polar(p,x); F.pad(img,(1,1,1,1),mode='replicate'); F.max_pool3d(vol,2);
F.adaptive_avg_pool3d(vol,2); m.quantile(x,.5); F.mse_loss(x,y); F.l1_loss(x,y); F.smooth_l1_loss(x,y); F.huber_loss(x,y);
F.binary_cross_entropy(u,u); F.binary_cross_entropy_with_logits(x,u); F.cross_entropy(x,t); F.nll_loss(F.log_softmax(x,1),t);
F.kl_div(x,u); F.poisson_nll_loss(x,u); F.gaussian_nll_loss(x,y,p); F.hinge_embedding_loss(x,m.sign(y));
F.cosine_embedding_loss(x,y,m.ones(4)); F.triplet_margin_loss(x,y,p); F.margin_ranking_loss(x,y,m.sign(p)); F.multi_margin_loss(x,t);
F.soft_margin_loss(x,m.sign(y).detach()); F.cross_entropy(x,F.softmax(y,1)); F.multilabel_soft_margin_loss(x,(u>.5).float());
m.linalg.vector_norm(x); x.norm(); m.linalg.vecdot(x,y); F.multilabel_margin_loss(x,m.zeros(4,6,dtype=m.int64));
F.ctc_loss(F.log_softmax(big[:, :24].reshape(6,2,6),2),m.tensor([[1,2],[2,3]]),m.tensor([6,6]),m.tensor([2,2]));
m.nn.MultiheadAttention(6,2,batch_first=True)(B,B,B)[0]; m.nn.RNN(6,5,batch_first=True)(B)[0]; m.nn.LSTMCell(6,5)(x)[0];
m.nn.TransformerEncoderLayer(6,2,8,dropout=0.,batch_first=True)(B); m.nn.Linear(6,3)(x); m.nn.Conv2d(3,4,3)(img); m.nn.Embedding(6,3)(t);
m.nn.LayerNorm(6)(x)
"""
CASES = [e.strip() for e in CASES.replace("\n", " ").split(";") if e.strip()]
REDUCED = {"x", "img", "B", "q", "seq", "vol", "u", "big"}     # the operands that "mixed" gives in the lower dtype
# PyTorch refuses operands of two dtypes here (the first two) or converts them (baddbmm, addbmm).
NOT_MIXED = ("m.tensordot", "m.linalg.multi_dot", "m.baddbmm", "m.addbmm")


def outcome(m, case, lower, given):
    """(dtype, numbers, dtypes of the gradients), or the class of the error."""
    m.manual_seed(0)
    kinds = {n: given if given in ("float32", "float64") else lower if given == "lower" or n in REDUCED else "float32" for n in arrays()}
    operands = {n: m.tensor(a, dtype=getattr(m, kinds[n])).requires_grad_() for n, a in arrays().items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with m.autocast("cpu", dtype=getattr(m, lower)):
                z = eval(case, {"m": m, "F": m.nn.functional}, operands | {"t": m.tensor([0, 2, 5, 1])})
        except (RuntimeError, ValueError, TypeError):
            return "error"
        z = z[0] if isinstance(z, tuple) else z
        if z.requires_grad and not z.is_complex():
            z.sum().backward()
    return name_of(z.dtype), numbers(z), {n: name_of(x.grad.dtype) for n, x in operands.items() if x.grad is not None}


@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.parametrize("given", ["float32", "lower", "mixed", "float64"])
def test_dtypes(given, lower):
    wrong = []
    for case in CASES:
        if given == "mixed" and case.startswith(NOT_MIXED):
            continue
        found, expected = outcome(mg, case, lower, given), outcome(torch, case, lower, given)
        if "error" in (found, expected):
            if found != expected:
                wrong.append((case, found, expected))
        elif (found[0], found[2]) != (expected[0], expected[2]) or not np.allclose(found[1], expected[1], rtol=2e-2, atol=3e-2):
            wrong.append((case, found, expected))
    assert not wrong


DECOMPOSITIONS = """
L.inv(s); L.inv_ex(s)[0]; L.solve(s, s); L.svd(s)[1]; L.svdvals(s); L.eigh(s)[0]; L.eigvalsh(s); L.eig(s)[0]; L.eigvals(s); L.qr(s)[1].abs();
L.cholesky(s); L.cholesky_ex(s)[0]; L.lstsq(s, s)[0]; L.cond(s); L.matrix_rank(s); L.tensorinv(s, ind=1); L.tensorsolve(s, s[0]); m.inverse(s);
m.cholesky_inverse(s); m.cholesky_solve(s, s); m.svd(s)[1]; m.qr(s)[1].abs(); L.inv(m.eye(2)); L.det(m.eye(2))
"""


@pytest.mark.parametrize("given", ["bfloat16", "float16", "float32", "float64"])
def test_decompositions_are_computed_in_float32(given):
    for case in DECOMPOSITIONS.replace("\n", " ").split(";"):
        found = []
        for m in (mg, torch):
            s = m.tensor([[4.0, 1.0], [1.0, 2.0]], dtype=getattr(m, given))
            with m.autocast("cpu", dtype=m.bfloat16):
                z = eval(case.strip(), {"m": m, "L": m.linalg, "s": s})
            found.append((name_of(z.dtype), numbers(z)))
        assert found[0][0] == found[1][0], case
        np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-2, atol=1e-2, err_msg=case)


def test_sums_of_products_take_two_dtypes():
    for m in (mg, torch):
        x, y = m.ones(2, 3, 3), m.ones(2, 3, 3).bfloat16()
        with m.autocast("cpu"):
            assert {name_of(z.dtype) for z in (m.baddbmm(x, y, x), m.baddbmm(y, x, x), m.addbmm(x[0], y, x), m.addbmm(y[0], x, x))} == {"bfloat16"}


@pytest.mark.differs(
    what="The dtype of the result of `nn.LSTM` of float32, and of `nn.GRU` of bfloat16, in an `autocast` region",
    there="bfloat16.",
    here="float32.")
def test_recurrent_layers():
    x = mg.ones(3, 4, 6)
    for layer in (mg.nn.LSTM, mg.nn.GRU, mg.nn.RNN):
        for given in (x, x.bfloat16()):
            with mg.autocast("cpu"):
                z = layer(6, 5)(given)[0]
            expected = mg.float32 if layer is mg.nn.GRU or (layer is mg.nn.LSTM and given is x) else mg.bfloat16
            assert z.dtype is expected and z.shape == (3, 4, 5)


def states(m):
    """What a program sees of autocast, inside and outside of regions."""
    seen = []

    def look():
        seen.append((m.is_autocast_enabled("cpu"), m.is_autocast_enabled(), name_of(m.get_autocast_dtype("cpu")), name_of((m.ones(2, 2) @ m.ones(2, 2)).dtype)))

    region = m.autocast("cpu", dtype=m.float16)
    look()
    with m.autocast("cpu"):
        look()
        with m.autocast("cpu", enabled=False):
            look()
            with region:
                look()
            look()
        with m.autocast("cpu", dtype=m.float16):
            look()
        look()
    look()

    @m.autocast("cpu", dtype=m.bfloat16)
    def function(x, *, y):
        """doc"""
        look()
        return x + y
    seen.append((function(1, y=2), function.__name__, function.__doc__))
    try:
        with m.autocast("cpu"):
            raise KeyError
    except KeyError:
        look()
    m.set_autocast_enabled("cpu", True)
    look()
    m.set_autocast_enabled("cpu", False)
    look()
    with m.inference_mode(), m.autocast("cpu"):
        look()
    with m.autocast("cpu"), m.no_grad():
        look()
    seen.append((m.amp.is_autocast_available("cpu"), m.amp.is_autocast_available("meta")))
    return seen


def test_states():
    assert [s for s in states(mg) if len(s) != 4 or s[0]] == [s for s in states(torch) if len(s) != 4 or s[0]]
    assert [s[:2] + s[3:] for s in states(mg)] == [s[:2] + s[3:] for s in states(torch)]


def functions(m):
    """A custom function under autocast: the dtypes that its forward and its backward see."""
    seen = []

    def make(**options):
        class Product(m.autograd.Function):
            @staticmethod
            @m.amp.custom_fwd(device_type="cpu", **options)
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                z = x @ w
                seen.append(("forward", name_of(x.dtype), name_of(z.dtype), m.is_autocast_enabled("cpu")))
                return z

            @staticmethod
            @m.amp.custom_bwd(device_type="cpu")
            def backward(ctx, g):
                x, w = ctx.saved_tensors
                z = m.ones(2, 2) @ m.ones(2, 2)
                seen.append(("backward", name_of(g.dtype), name_of(z.dtype), m.is_autocast_enabled("cpu")))
                return (g.float() @ w.float().t()).to(x.dtype), (x.float().t() @ g.float()).to(w.dtype)
        return Product

    for options in ({}, {"cast_inputs": m.float32}, {"cast_inputs": m.float16}):
        product = make(**options)
        for enabled in (True, False):
            x, w = m.ones(2, 2, requires_grad=True), m.ones(2, 2, requires_grad=True)
            with m.autocast("cpu", dtype=m.bfloat16, enabled=enabled):
                y = x @ w
                z = product.apply(y, w)
            z.sum().backward()
            seen.append((name_of(z.dtype), x.grad.tolist(), w.grad.tolist(), name_of(x.grad.dtype)))
    return seen


def test_custom_functions():
    assert functions(mg) == functions(torch)


def graph(z):
    """The names of the nodes, depth first."""
    return [z.name().removeprefix("torch::autograd::"), *[name for node, _ in z.next_functions if node is not None for name in graph(node)]]


def test_a_parameter_is_converted_once():
    """A region shares the conversion of a parameter, and not that of another tensor."""
    def nodes(m, **options):
        w, x = m.nn.Parameter(m.ones(2, 2)), m.ones(2, 2, requires_grad=True) * 1
        with m.autocast("cpu", **options):
            y = (x @ w) @ w
        first = y.grad_fn.next_functions
        return first[1][0] is first[0][0].next_functions[1][0], graph(y.grad_fn)
    for options in ({}, {"cache_enabled": False}):
        assert nodes(mg, **options) == nodes(torch, **options)
    assert nodes(mg)[0] and not nodes(mg, cache_enabled=False)[0]


def train(m, lower, scale, wrap):
    m.manual_seed(0)
    model = m.nn.Sequential(m.nn.Linear(8, 32), m.nn.LayerNorm(32), m.nn.GELU(), m.nn.Linear(32, 4))
    optimizer = m.optim.Adam(model.parameters(), lr=0.01)
    scaler = m.amp.GradScaler("cpu", init_scale=256.0, enabled=scale)
    rng = np.random.RandomState(0)
    x, target = m.tensor(rng.randn(64, 8), dtype=m.float32), m.tensor(rng.randint(0, 4, 64))
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        with m.autocast("cpu", dtype=getattr(m, lower)):
            z = m.utils.checkpoint.checkpoint(model, x, use_reentrant=False) if wrap else model(x)
            loss = m.nn.functional.cross_entropy(z, target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert z.dtype is getattr(m, lower) and loss.dtype is model[0].weight.grad.dtype is m.float32
    return losses


@pytest.mark.parametrize("lower, scale, wrap", [("bfloat16", False, False), ("float16", True, False), ("bfloat16", True, True)])
def test_training(lower, scale, wrap):
    found, expected = train(mg, lower, scale, wrap), train(torch, lower, scale, wrap)
    assert expected[-1] < 0.6 * expected[0] and np.allclose(found, expected, atol=5e-3)
