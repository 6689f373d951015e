"""What all distributions share: checks and their switch, shapes, expansion without copies, lazy parameters, errors with codes."""

import copy
import pickle

import numpy as np
import pytest

import minigrad as mg

D = mg.distributions


@pytest.fixture
def restored():
    before = D.Distribution._validate_args
    yield
    D.Distribution.set_default_validate_args(before)


def test_the_default_of_the_checks(restored):
    D.Distribution.set_default_validate_args(False)
    assert float(D.Normal(0.0, -1.0).scale) == -1
    with pytest.raises(ValueError, match="Expected parameter scale"):
        D.Normal(0.0, -1.0, validate_args=True)
    D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan"):
        D.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match="expects True or False"):
        D.Distribution.set_default_validate_args("yes")


@pytest.mark.parametrize("code, attempt", [
    ("MG-E370", lambda: D.Gamma(-1.0, 1.0)),
    ("MG-E370", lambda: D.Geometric(0.0)),
    ("MG-E370", lambda: D.Wishart(mg.tensor(1.0), mg.eye(3))),
    ("MG-E371", lambda: D.Gamma(1.0, 1.0).log_prob(mg.tensor(-1.0))),
    ("MG-E371", lambda: D.Normal(mg.zeros(2), 1.0).cdf(mg.zeros(3))),
    ("MG-E372", lambda: D.Poisson(1.0).entropy()),
    ("MG-E372", lambda: D.kl_divergence(D.Cauchy(0.0, 1.0), D.Normal(0.0, 1.0))),
    ("MG-E372", lambda: D.transform_to(D.constraints.boolean)),
    ("MG-E372", lambda: D.Transform()(mg.zeros(1))),
    ("MG-E373", lambda: D.Bernoulli()),
    ("MG-E373", lambda: D.Categorical(mg.tensor(1.0))),
    ("MG-E373", lambda: D.register_kl(int, int)),
    ("MG-E373", lambda: D.CatTransform([1])),
    ("MG-E373", lambda: D.ReshapeTransform((2,), (3,))),
])
def test_codes(code, attempt):
    with pytest.raises(mg.errors.MinigradError) as raised:
        attempt()
    assert raised.value.code == code


def test_a_distribution_without_constraints_or_support():
    class Bare(D.Distribution):
        def log_prob(self, value):
            self._validate_sample(value)
            return value
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        bare = Bare()
    with pytest.warns(UserWarning, match="does not define `support`"):
        bare.log_prob(mg.zeros(2))
    for name in ("mean", "mode", "variance", "stddev", "support", "arg_constraints"):
        with pytest.raises(NotImplementedError, match="Bare does not define"):
            getattr(bare, name)
    for name in ("sample", "rsample", "entropy", "perplexity", "enumerate_support"):
        with pytest.raises(NotImplementedError, match="Bare does not define"):
            getattr(bare, name)()


def test_sample_n_is_deprecated():
    with pytest.warns(UserWarning, match="deprecated"):
        assert D.Normal(mg.zeros(3), 1.0).sample_n(2).shape == (2, 3)


def test_expand_makes_views():
    loc = mg.zeros(3, requires_grad=True)
    d = D.Normal(loc, 1.0).expand((100, 3))
    assert d.loc.stride() == (0, 1)
    d.rsample().sum().backward()
    assert loc.grad.tolist() == [100.0] * 3


def test_expand_forgets_what_was_computed():
    d = D.Bernoulli(logits=mg.zeros(3))
    assert d.probs.shape == (3,)
    assert d.expand((2, 3)).probs.shape == (2, 3)
    m = D.MultivariateNormal(mg.zeros(2), mg.eye(2))
    assert m.precision_matrix.shape == (2, 2)
    assert m.expand((4,)).precision_matrix.shape == (4, 2, 2)


def test_lazy_parameters_are_computed_once():
    d = D.Categorical(mg.ones(4))
    assert "logits" not in vars(d)
    assert d.logits is d.logits and "logits" in vars(d)


def test_copies_and_pickles():
    for d in (D.Normal(mg.zeros(2), 1.0), D.LogNormal(0.0, 1.0), D.Beta(1.0, 2.0), D.MultivariateNormal(mg.zeros(2), mg.eye(2))):
        for other in (copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
            x = d.sample()
            np.testing.assert_allclose(other.log_prob(x).numpy(), d.log_prob(x).numpy())


def test_vectors_and_their_entries():
    matrix = mg.tensor([[1.0, 0.0, 0.0], [2.0, 3.0, 0.0], [4.0, 5.0, 6.0]])
    for diagonal in (0, -1):
        vector = D.utils.tril_matrix_to_vec(matrix, diagonal)
        assert D.utils.vec_to_tril_matrix(vector, diagonal).tolist() == matrix.tril(diagonal).tolist()


def test_a_constraint_of_an_optimizer():
    """transform_to keeps a parameter in its set while an optimizer changes a real number."""
    raw = mg.zeros(2, requires_grad=True)
    to_scale = D.transform_to(D.Normal.arg_constraints["scale"])
    optimizer = mg.optim.SGD([raw], lr=0.1)
    data = mg.tensor([[0.5, 3.0], [-0.5, -3.0]])
    for _ in range(200):
        optimizer.zero_grad()
        (-D.Normal(0.0, to_scale(raw)).log_prob(data).mean()).backward()
        optimizer.step()
    np.testing.assert_allclose(to_scale(raw).detach().numpy(), [0.5, 3.0], rtol=1e-2)
