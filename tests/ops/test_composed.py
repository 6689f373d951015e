"""Functions composed of other ops, random draws without a derivative, indices and shapes: against torch or their specification."""

import numpy as np
import pytest

import minigrad as mg
from tests.ops.alike import check_alike

ROWS = [[1.0, 5.0, 2.0, 0.5], [0.25, -1.0, 3.0, 2.0], [4.0, 4.5, 1.0, -2.0]]
CALLS = {
    "cov": lambda m: m.cov(m.tensor(ROWS)), "cov of ints": lambda m: m.cov(m.tensor([[1, 2, 4], [3, 1, 1]])), "cov one": lambda m: m.cov(m.tensor([3.0])),
    "cov 0-d": lambda m: m.cov(m.tensor(3.0)), "cov correction": lambda m: m.cov(m.tensor(ROWS), correction=2), "cov too few": lambda m: m.cov(m.ones(2, 1)),
    "cov none": lambda m: m.cov(m.ones(2, 0)), "cov complex": lambda m: m.cov(m.tensor([[1 + 2j, 3j, 2], [1, -1j, 4]])),
    "cov weights": lambda m: m.cov(m.tensor(ROWS), fweights=m.tensor([1, 2, 0, 1]), aweights=m.tensor([0.5, 1, 2, 1])),
    "cov aweights": lambda m: m.cov(m.tensor(ROWS), aweights=m.tensor([0.5, 1, 2, 1])), "cov cube": lambda m: m.cov(m.ones(2, 2, 2)),
    "cov bool": lambda m: m.cov(m.tensor([[True, False]])), "cov float fweights": lambda m: m.cov(m.tensor(ROWS), fweights=m.ones(4)),
    "cov int aweights": lambda m: m.cov(m.tensor(ROWS), aweights=m.tensor([1, 1, 1, 1])), "cov short weights": lambda m: m.cov(m.tensor(ROWS), aweights=m.ones(3)),
    "cov negative weights": lambda m: m.cov(m.tensor(ROWS), aweights=-m.ones(4)), "cov float correction": lambda m: m.cov(m.tensor(ROWS), correction=0.5),
    "corrcoef": lambda m: m.corrcoef(m.tensor(ROWS)), "corrcoef vector": lambda m: m.corrcoef(m.tensor([1.0, 2.0])), "corrcoef cube": lambda m: m.corrcoef(m.ones(2, 2, 2)),
    "corrcoef complex": lambda m: m.corrcoef(m.tensor([[1 + 2j, 3j, 2], [1, -1j, 4]])),
    "select_scatter shape": lambda m: m.select_scatter(m.zeros(2, 3), m.ones(2), 0, 0), "select_scatter index": lambda m: m.select_scatter(m.zeros(2, 3), m.ones(3), 0, 5),
    "select_scatter dtype": lambda m: m.select_scatter(m.zeros(2, 3), m.tensor([1, 2, 3]), 0, 1), "slice_scatter": lambda m: m.slice_scatter(m.zeros(4), m.ones(2), 0, 1, 4, 2),
    "slice_scatter shape": lambda m: m.slice_scatter(m.zeros(4), m.ones(3), 0, 1, 3), "slice_scatter dim": lambda m: m.slice_scatter(m.zeros(4), m.ones(3), 3),
    "diagonal_scatter": lambda m: m.diagonal_scatter(m.zeros(3, 4), m.ones(2), -1), "diagonal_scatter shape": lambda m: m.diagonal_scatter(m.zeros(3, 4), m.ones(4)),
    "adjoint": lambda m: m.adjoint(m.tensor([[1 + 2j, 3j]])), "adjoint vector": lambda m: m.adjoint(m.ones(3)), "H": lambda m: m.tensor([[1 + 2j, 3j]]).H,
    "H of a batch": lambda m: m.ones(2, 2, 2).H, "H 0-d": lambda m: m.tensor(1j).H, "mH": lambda m: m.tensor([[[1 + 2j, 3j]]]).mH, "mH vector": lambda m: m.ones(2).mH,
    "addbmm": lambda m: m.addbmm(m.ones(2, 2), m.ones(3, 2, 4), m.ones(3, 4, 2), beta=0), "addbmm shapes": lambda m: m.addbmm(m.ones(2, 2), m.ones(3, 2, 4), m.ones(2, 4, 2)),
    "sum_to_size": lambda m: m.arange(24.).reshape(2, 3, 4).sum_to_size(3, 1), "sum_to_size refused": lambda m: m.ones(2, 3).sum_to_size(2, 2),
    "sum_to_size longer": lambda m: m.ones(3).sum_to_size(1, 3), "sum_to_size same": lambda m: m.ones(2, 3).sum_to_size((2, 3)),
    "vander": lambda m: m.vander(m.tensor([1, 2, 3])), "vander increasing": lambda m: m.vander(m.tensor([1.5, 2]), 4, increasing=True), "vander 0": lambda m: m.vander(m.tensor([1., 2]), 0),
    "vander matrix": lambda m: m.vander(m.ones(2, 2)), "vander negative": lambda m: m.vander(m.ones(2), -1),
    "tril_indices": lambda m: m.tril_indices(3, 4, 1), "triu_indices": lambda m: m.triu_indices(3, 4, -1, dtype=m.int32), "triu_indices none": lambda m: m.triu_indices(0, 3),
    "tril_indices negative": lambda m: m.tril_indices(-1, 3), "logspace": lambda m: m.logspace(-1, 2, 4), "logspace base": lambda m: m.logspace(0, 4, 5, 2.0, dtype=m.int64),
    "logspace negative": lambda m: m.logspace(0, 1, -1), "broadcast_shapes": lambda m: list(m.broadcast_shapes((3, 1), (4,), ())), "broadcast_shapes of ints": lambda m: list(m.broadcast_shapes(3, (2, 1))),
    "broadcast_shapes refused": lambda m: m.broadcast_shapes((3,), (2,)), "concatenate": lambda m: m.concatenate([m.ones(2), m.zeros(1)]),
    "multi_margin_loss": lambda m: m.nn.functional.multi_margin_loss(m.tensor(ROWS), m.tensor([0, 3, 1]), p=2, margin=0.5, weight=m.tensor([1., 2., 3., 4.])),
    "multi_margin_loss one": lambda m: m.nn.functional.multi_margin_loss(m.tensor([1., 3.]), m.tensor(0), reduction="none"),
    "multi_margin_loss p": lambda m: m.nn.functional.multi_margin_loss(m.tensor(ROWS), m.tensor([0, 3, 1]), p=3),
    "multi_margin_loss shapes": lambda m: m.nn.functional.multi_margin_loss(m.tensor(ROWS), m.tensor([0, 3])),
    "multilabel_soft_margin_loss": lambda m: m.nn.functional.multilabel_soft_margin_loss(m.tensor(ROWS), m.ones(3, 4), m.tensor([1., 2, 3, 4]), reduction="none"),
    "MultiMarginLoss": lambda m: m.nn.MultiMarginLoss(2, 0.5, m.ones(4))(m.tensor(ROWS), m.tensor([0, 3, 1])),
    "MultiLabelSoftMarginLoss": lambda m: m.nn.MultiLabelSoftMarginLoss(reduction="sum")(m.tensor(ROWS), m.zeros(3, 4)),
    "is_same_size": lambda m: m.ones(2).is_same_size(m.ones(2, 1)), "is_signed": lambda m: [m.ones(2).is_signed(), m.ones(2).byte().is_signed()], "ndimension": lambda m: m.ones(2, 3).ndimension(),
    "multinomial too many": lambda m: m.multinomial(m.ones(2), 3), "multinomial negative": lambda m: m.multinomial(m.tensor([-1., 2]), 1),
    "multinomial zeros": lambda m: m.multinomial(m.zeros(2), 1), "multinomial ints": lambda m: m.multinomial(m.tensor([1, 2]), 1), "multinomial cube": lambda m: m.multinomial(m.ones(2, 2, 2), 1),
    "multinomial none": lambda m: m.multinomial(m.ones(2), 0), "multinomial no rows": lambda m: m.multinomial(m.zeros(0, 2), 1), "multinomial nan": lambda m: m.multinomial(m.tensor([float("nan"), 1]), 1, True),
    "multinomial certain": lambda m: m.multinomial(m.tensor([[0., 1, 0], [0, 0, 2]]), 3, replacement=True), "randint_like": lambda m: m.randint_like(m.zeros(2, 3), 4, 5),
    "randint_like empty": lambda m: m.randint_like(m.zeros(2), 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_in_torch(name):
    check_alike(CALLS[name])


@pytest.mark.parametrize("name", ["float32", "int64", "bool", "uint8", "complex64"])
def test_result_type_and_can_cast(name):
    torch = pytest.importorskip("torch")
    for other in ("float64", "int32", "bool", "complex128"):
        kinds = [(getattr(m, name), getattr(m, other)) for m in (torch, mg)]
        assert torch.can_cast(*kinds[0]) == mg.can_cast(*kinds[1])
        found = [m.result_type(m.zeros(2, dtype=kind[0]), m.zeros((), dtype=kind[1])) for m, kind in zip((torch, mg), kinds)]
        assert str(found[0]).split(".")[-1] == str(found[1]).split(".")[-1]
    assert str(mg.result_type(mg.zeros(2, dtype=getattr(mg, name)), 1.5)).split(".")[-1] == str(torch.result_type(torch.zeros(2, dtype=getattr(torch, name)), 1.5)).split(".")[-1]


def test_multinomial_draws_by_the_weights():
    mg.manual_seed(2)
    w = mg.tensor([0.0, 1.0, 2.0, 0.0, 5.0])
    counts = mg.bincount(mg.multinomial(w, 40000, replacement=True), minlength=5)
    np.testing.assert_allclose(counts.numpy() / 5000, w.numpy(), atol=0.1)
    counts = mg.bincount(mg.multinomial(w.expand(4000, 5), 1).flatten(), minlength=5)
    np.testing.assert_allclose(counts.numpy() / 500, w.numpy(), atol=0.25)


def test_multinomial_without_replacement():
    """Each index is drawn once, and those of weight 0 last; an equal generator draws the same indices."""
    w = mg.tensor([[0.0, 1.0, 2.0, 3.0]] * 50)
    drawn = w.multinomial(3)
    assert drawn.shape == (50, 3) and drawn.dtype is mg.int64
    assert all(sorted(row) == [1, 2, 3] for row in drawn.tolist())
    first, second = [mg.multinomial(w, 2, generator=mg.Generator().manual_seed(5)).tolist() for _ in range(2)]
    assert first == second
    out = mg.empty(0, dtype=mg.int64)
    assert mg.multinomial(w, 2, out=out) is out and out.shape == (50, 2)


def test_gumbel_softmax():
    """Soft samples add up to 1; hard ones are one-hot, as often as the weights say, with the gradient of the soft ones."""
    mg.manual_seed(0)
    logits = mg.tensor([[0.0, 1.0, 2.0]] * 4000).requires_grad_()
    soft = mg.nn.functional.gumbel_softmax(logits, tau=0.5)
    assert mg.allclose(soft.sum(-1), mg.ones(4000))
    mg.manual_seed(0)
    hard = mg.nn.functional.gumbel_softmax(logits, tau=0.5, hard=True)
    assert mg.allclose(hard.detach().max(-1).values, mg.ones(4000)) and mg.allclose(hard.sum(-1), mg.ones(4000))
    np.testing.assert_allclose(hard.detach().mean(0).numpy(), mg.softmax(logits[0], 0).detach().numpy(), atol=0.03)
    weights = mg.tensor([1.0, 2.0, 4.0])
    assert mg.allclose(mg.autograd.grad((soft * weights).sum(), logits)[0], mg.autograd.grad((hard * weights).sum(), logits)[0])
