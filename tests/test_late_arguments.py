"""Wrong arguments of what is loaded late: an error names the function, the argument and what was expected, and nothing has changed."""

import io
import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad import functorch, nn
from minigrad.ao import quantization as q
from minigrad.nn.utils import parametrize, prune
from minigrad.utils import benchmark

D = mg.distributions
TENSOR = "must be Tensor, not"
WRONG = [
    (lambda: D.Categorical(probs=3), TypeError, f"Categorical\\(\\): argument 'probs' {TENSOR} int"),
    (lambda: D.Dirichlet([1.0]), TypeError, f"'concentration' {TENSOR} list"),
    (lambda: D.MultivariateNormal(0.0, mg.eye(2)), TypeError, f"'loc' {TENSOR} float"),
    (lambda: D.MultivariateNormal(mg.zeros(2), "x"), TypeError, f"'covariance_matrix' {TENSOR} str"),
    (lambda: D.LowRankMultivariateNormal(mg.zeros(2), 1, mg.ones(2)), TypeError, f"'cov_factor' {TENSOR} int"),
    (lambda: D.Wishart("x", mg.eye(2)), TypeError, "'df' must be Tensor or Number, not str"),
    (lambda: D.LKJCholesky(2.5), TypeError, "'dim' must be int, not float"),
    (lambda: D.Independent(3, 1), TypeError, "'base_distribution' must be Distribution, not int"),
    (lambda: D.TransformedDistribution(3, D.ExpTransform()), TypeError, "'base_distribution' must be Distribution, not int"),
    (lambda: D.RelaxedOneHotCategorical(None, mg.ones(2)), TypeError, "'temperature' must be Tensor or Number, not NoneType"),
    (lambda: D.Normal(0.0, 1.0).sample(3), TypeError, "takes an iterable of 'int', not int"),
    (lambda: D.Normal(0.0, 1.0).expand(None), TypeError, "takes an iterable of 'int', not NoneType"),
    (lambda: D.Laplace(0.0, 1.0).icdf(0.5), TypeError, f"'value' {TENSOR} float"),
    (lambda: D.Uniform(0.0, 1.0).icdf("x"), TypeError, "'value' must be Tensor or Number, not str"),
    (lambda: D.AffineTransform(None, 1.0), TypeError, "'loc' must be Tensor or Number, not NoneType"),
    (lambda: D.ComposeTransform([3]), TypeError, "'parts' must be sequence of Transforms, not int"),
    (lambda: D.TanhTransform().log_abs_det_jacobian(1, 2), TypeError, f"'x' {TENSOR} int"),
    (lambda: D.ReshapeTransform((2,), (2,)).forward_shape(3), TypeError, "takes an iterable of 'int'"),
    (lambda: D.constraints.positive.check("x"), TypeError, "'value' must be Tensor or real number, not str"),
    (lambda: D.constraints.simplex.check(1), TypeError, f"'value' {TENSOR} int"),
    (lambda: D.constraints.interval(None, 1), TypeError, "interval\\(\\): argument 'lower_bound'"),
    (lambda: D.constraints.cat(3), TypeError, "'cseq' must be sequence of Constraints, not int"),
    (lambda: nn.utils.parametrizations.weight_norm(3), TypeError, "'module' must be Module, not int"),
    (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(2, 2), dim=5), IndexError, "Dimension out of range"),
    (lambda: nn.utils.spectral_norm(nn.Linear(2, 2), "x"), KeyError, "Linear has no parameter with name 'x'"),
    (lambda: nn.utils.weight_norm(nn.Linear(2, 2), "x"), AttributeError, "Linear has no parameter with name 'x'"),
    (lambda: parametrize.register_parametrization(nn.Linear(2, 2), "weight", 3), TypeError, "'parametrization' must be Module, not int"),
    (lambda: parametrize.register_parametrization(nn.Linear(2, 2, bias=False), "bias", nn.Tanh()), ValueError, "with name 'bias'"),
    (lambda: prune.global_unstructured([3], prune.L1Unstructured, amount=1), TypeError, "'parameters' must be pairs"),
    (lambda: prune.is_pruned(None), TypeError, "'module' must be Module, not NoneType"),
    (lambda: prune.L1Unstructured(1).prune(3), TypeError, f"'t' {TENSOR} int"),
    (lambda: nn.utils.fuse_conv_bn_eval(3, nn.BatchNorm1d(2)), TypeError, "must be Module, not int"),
    (lambda: nn.utils.skip_init(3), RuntimeError, "'module_cls' must be a subclass of Module"),
    (lambda: nn.LazyLinear(2)(3), TypeError, "'input' \\(position 1\\) must be Tensor, not int"),
    (lambda: nn.LazyBatchNorm1d()(mg.ones(3)), RuntimeError, "expected input of shape \\(N, C, ...\\)"),
    (lambda: nn.EmbeddingBag(3, 2, padding_idx="x"), TypeError, "'padding_idx' must be int, not str"),
    (lambda: nn.Dropout("x"), TypeError, "'p'"), (lambda: nn.MultiheadAttention(None, 1), TypeError, "'embed_dim' must be int"),
    (lambda: nn.Linear(2, 2).apply(3), TypeError, "'fn' must be callable, not int"),
    (lambda: nn.Linear(2, 2).get_parameter(3), TypeError, "'target' must be str, not int"),
    (lambda: nn.parallel.gather([], "cpu"), RuntimeError, "'outputs' is empty"),
    (lambda: nn.parallel.parallel_apply([nn.ReLU()], []), AssertionError, "The number of modules is not equal"),
    (lambda: mg.utils.data.DataLoader([1], num_workers="x"), TypeError, "'num_workers' must be int, not str"),
    (lambda: mg.utils.data.DataLoader([1], collate_fn=3), TypeError, "'collate_fn' must be callable, not int"),
    (lambda: mg.utils.data.DataLoader([1], shuffle=True, generator=3), TypeError, "'generator' must be Generator, not int"),
    (lambda: mg.utils.data.WeightedRandomSampler(3, 1), TypeError, "'weights' must be iterable, not int"),
    (lambda: mg.futures.wait_all([3]), TypeError, "'futures' must be list of Futures, not int"),
    (lambda: mg.futures.Future().set_exception("x"), AssertionError, "not an Exception"),
    (lambda: mg.jit.wait(3), TypeError, "'future' must be Future, not int"),
    (lambda: mg.multiprocessing.start_processes(print, start_method="x"), ValueError, "cannot find context for x"),
    (lambda: mg.profiler.schedule(wait="x", warmup=0, active=1), TypeError, "'wait' must be int, not str"),
    (lambda: mg.profiler.profile(schedule=3), TypeError, "'schedule' must be callable, not int"),
    (lambda: mg.func.stack_module_state([3]), TypeError, "'models' must be list of Modules, not int"),
    (lambda: mg.serialization.add_safe_globals([3]), TypeError, "'safe_globals' must be classes and functions"),
    (lambda: mg.vmap(mg.exp, randomness=mg.ones(3)), RuntimeError, "Only allowed values for randomness"),
    (lambda: mg.utils.checkpoint.checkpoint(3, mg.ones(1), use_reentrant=True), TypeError, "'function' must be callable, not int"),
    (lambda: mg.optim.swa_utils.update_bn(1, nn.BatchNorm1d(2)), TypeError, "'loader' must be iterable of batches, not int"),
    (lambda: prune.RandomStructured(1).compute_mask(mg.ones(2, 2), 3), TypeError, f"'default_mask' {TENSOR} int"),
    (lambda: mg.save(mg.ones(1), io.StringIO()), TypeError, "must be a binary file, not a file of text"),
    (lambda: mg.load(io.StringIO("x")), TypeError, "must be a binary file, not a file of text"),
    (lambda: D.constraints.less_than(1).check(1j), TypeError, "'value' must be Tensor or real number, not complex"),
    (lambda: D.constraints.integer_interval(0, 1j), TypeError, "'upper_bound' must be Tensor or real number, not complex"),
    (lambda: D.CorrCholeskyTransform().forward_shape(mg.ones(2, 2)), TypeError, "takes an iterable of 'int' \\(item 0 is 'Tensor'\\)"),
    (lambda: D.VonMises(0.0, 1.0).sample((2,) * 70), RuntimeError, "VonMises.sample\\(\\): a tensor has at most 64 dimensions"),
    (lambda: D.Binomial(3, mg.tensor(0.5)).sample((-2,)), RuntimeError, "Binomial.sample: Dimension size must be non-negative"),
    (lambda: mg.func.functional_call(3, {}), TypeError, "'module' must be Module, not int"),
    (lambda: mg.func.replace_all_batch_norm_modules_(nn.ReLU), TypeError, "'root' must be Module, not type"),
    (lambda: functorch.make_functional(3), TypeError, "'model' must be Module, not int"),
    (lambda: functorch.FunctionalModule(nn.ReLU())(3), TypeError, "'params' must be sequence of Tensors, not int"),
    (lambda: functorch.combine_state_for_ensemble(nn.ReLU()), TypeError, "'models' must be list of Modules, not ReLU"),
    (lambda: q.MinMaxObserver(dtype=mg.float32), AssertionError, "'dtype' must be quint8, qint8 or qint32, not a DType"),
    (lambda: q.MinMaxObserver(quant_min=3, quant_max=1), AssertionError, "quant_min must be less than or equal to quant_max"),
    (lambda: q.MinMaxObserver(qscheme="x"), TypeError, "'qscheme' must be a scheme such as per_tensor_affine, not str"),
    (lambda: q.MinMaxObserver()([1.0]), TypeError, f"'x_orig' \\(position 1\\) {TENSOR} list"),
    (lambda: q.FakeQuantize(3), TypeError, "'observer' must be callable, not int"),
    (lambda: q.FakeQuantize(dict), TypeError, "'observer' must be a class of observers, not dict"),
    (lambda: q.QuantWrapper(3), TypeError, "'module' must be Module, not int"),
    (lambda: q.prepare(3), TypeError, "prepare\\(\\): argument 'model' must be Module, not int"),
    (lambda: q.convert(nn.ReLU(), inplace=np.ones(2)), TypeError, "'inplace' must be bool, not ndarray"),
    (lambda: q.fuse_modules(nn.ReLU(), True), TypeError, "'modules_to_fuse' must be list of lists of str, not bool"),
    (lambda: q.fuse_modules(nn.ReLU(), []), AssertionError, "did not find a method to fuse \\[\\]"),
    (lambda: q.get_default_qconfig("x"), AssertionError, "backend: x not supported"),
    (lambda: benchmark.Timer(print), ValueError, "Currently only a `str` stmt is supported"),
    (lambda: benchmark.Timer(globals=3), TypeError, "'globals' must be dict, not int"),
    (lambda: benchmark.Timer().timeit(0), ValueError, "'number' must be 1 or more, not 0"),
    (lambda: benchmark.Timer().blocked_autorange(callback=3), TypeError, "'callback' must be callable, not int"),
    (lambda: benchmark.Timer().adaptive_autorange(min_run_time="x"), TypeError, "'min_run_time' must be float, not str"),
    (lambda: benchmark.Compare([3]), ValueError, "Expected an instance of `Measurement`"),
    (lambda: mg.sparse.spdiags(mg.ones(1, 3), None, (3, 3)), TypeError, f"'offsets' \\(position 2\\) {TENSOR} NoneType"),
    (lambda: mg.sparse.spdiags(mg.ones(2, 3), mg.tensor([1, 1]), (3, 3)), RuntimeError, "duplicate values"),
    (lambda: mg.sparse.spdiags(mg.ones(1, 3), mg.tensor([1, 2]), (3, 3)), RuntimeError, "does not match the number of offsets \\(2\\)"),
    (lambda: mg.sparse.spdiags(mg.ones(1, 3), mg.tensor([1.0]), (3, 3)), RuntimeError, "must have dtype Long but got float32"),
    (lambda: mg.sparse.spdiags(mg.ones(1, 3), mg.tensor([[1]]), (3, 3)), RuntimeError, "Offsets must be scalar or vector"),
    (lambda: mg.sparse.spdiags(mg.tensor(1.0), mg.tensor([1]), (3, 3)), RuntimeError, "Diagonals must be vector or matrix"),
    (lambda: mg.sparse.spdiags(mg.ones(1, 3), mg.tensor([1]), (3,)), RuntimeError, "Output shape must be 2d"),
    (lambda: mg.fft.fft(mg.tensor(1.0)), IndexError, "fft: Dimension specified as -1 but tensor has no dimensions"),
    (lambda: nn.LazyLinear(2)(mg.tensor(1.0)), IndexError, "expected input of shape \\(..., features\\)"),
    (lambda: nn.Sequential(nn.ReLU()).pop("x"), TypeError, "Sequential\\(\\): argument 'index' must be int, not str"),
    (lambda: nn.Sequential(nn.ReLU()).insert("x", nn.ReLU()), TypeError, "'index' must be int, not str"),
    (lambda: nn.Linear(2, 2).state_dict(prefix=3), TypeError, "'prefix' must be str, not int"),
    (lambda: nn.Linear(2, 2).state_dict(destination=3), TypeError, "'destination' must be dict, not int"),
    (lambda: nn.Linear(2, 2).state_dict(keep_vars=np.ones(2)), TypeError, "'keep_vars' must be bool, not ndarray"),
    (lambda: nn.utils.rnn.pack_padded_sequence(mg.ones(2, 3), [2, 1, 1], 1), TypeError, "'batch_first' must be bool, not int"),
    (lambda: nn.utils.rnn.pad_sequence([mg.ones(2)], np.ones(2)), TypeError, "'batch_first' must be bool, not ndarray"),
    (lambda: mg.optim.swa_utils.AveragedModel([]), TypeError, "'model' must be Module, not list"),
    (lambda: mg.grading.swap([], print), TypeError, "'part' must be str, not list"),
    (lambda: mg.autocast("cpu")(3), TypeError, "'func' must be callable, not int"),
    (lambda: mg.autocast("cpu", enabled=np.ones(2)), TypeError, "'enabled' must be bool, not ndarray"),
    (lambda: mg.get_autocast_dtype(3), TypeError, "'device_type' must be str, not int"),
    (lambda: mg.is_autocast_enabled("x"), RuntimeError, "Expected one of cpu, cuda"),
    (lambda: mg.set_autocast_enabled("cpu", 1), TypeError, "'enabled' must be bool, not int"),
    (lambda: mg.amp.custom_fwd(device_type=3), ValueError, "Expected `device_type` of type `str`"),
    (lambda: mg.amp.custom_bwd(3, device_type="cpu"), TypeError, "'bwd' must be callable, not int"),
    (lambda: mg.amp.GradScaler("cpu", growth_factor="x"), TypeError, "'growth_factor' must be float, not str"),
    (lambda: mg.amp.GradScaler("cpu").step(3), TypeError, "GradScaler.step\\(\\): argument 'optimizer' must be Optimizer, not int"),
    (lambda: mg.amp.GradScaler("cpu").load_state_dict({"scale": 1.0}), KeyError, "has no entry 'growth_factor'"),
    (lambda: mg.amp.GradScaler("cpu").load_state_dict(3), TypeError, "'state_dict' must be dict, not int"),
]


@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated:FutureWarning")
@pytest.mark.parametrize("attempt, error, match", WRONG, ids=range(len(WRONG)))
def test_the_argument_is_named(attempt, error, match):
    with pytest.raises(error, match=match) as caught:
        attempt()
    assert isinstance(caught.value, mg.errors.MinigradError) or not issubclass(error, TypeError)


def test_a_folder_that_is_missing(tmp_path):
    """The message has the name that the program gave, and not that of a temporary file."""
    path = str(tmp_path / "missing" / "model.pt")
    with pytest.raises(FileNotFoundError) as caught:
        mg.save(mg.ones(1), path)
    assert caught.value.filename == path


@pytest.mark.parametrize("attempt", [
    lambda layer: prune.l1_unstructured(layer, "weight", amount=99), lambda layer: prune.l1_unstructured(layer, "weight", amount="x"),
    lambda layer: prune.ln_structured(layer, "weight", 1, 2, dim=7), lambda layer: prune.custom_from_mask(layer, "weight", mg.ones(1)),
    lambda layer: prune.l1_unstructured(layer, "weight", 1, importance_scores=mg.ones(1))])
@pytest.mark.parametrize("pruned", [False, True])
def test_a_pruning_that_fails_changes_nothing(attempt, pruned):
    layer = nn.Linear(3, 2)
    if pruned:
        prune.l1_unstructured(layer, "weight", 2)
    hooks, state = list(layer._forward_pre_hooks.values()), layer.state_dict()
    with pytest.raises((AssertionError, IndexError, TypeError, ValueError)):
        attempt(layer)
    assert list(layer._forward_pre_hooks.values()) == hooks
    assert list(layer.state_dict()) == list(state)
    assert all(mg.equal(value, state[name]) for name, value in layer.state_dict().items())
    assert layer(mg.ones(3)).shape == (2,)


def test_a_weight_norm_that_fails_changes_nothing():
    layer = nn.Linear(3, 2)
    for attempt in (lambda: nn.utils.parametrizations.weight_norm(layer, dim=5), lambda: nn.utils.weight_norm(layer, dim=5)):
        with pytest.raises(IndexError), warnings.catch_warnings(action="ignore"):      # the older form is deprecated
            attempt()
        assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]


@pytest.mark.parametrize("output", ["text", None, {}, [], ({"a": 1},)])
def test_an_old_backward_hook_of_a_module_without_tensors(output):
    """A str is its own first element: the search for a tensor must end."""
    class Says(nn.Module):
        def forward(self, x):
            return output
    module = Says()
    module.register_backward_hook(lambda *args: None)
    assert module(mg.ones(2, requires_grad=True)) == output
