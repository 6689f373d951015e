"""The objects and the plausible arguments of what is loaded late: distributions, data sets, pruning, profilers, files.

    LATE_INSTANCES["Normal"]["normal"](m)       an object that methods of the class `Normal` are called on
    LATE_PLAUSIBLE["dataset"]["tensors"](m)     a value that the parameter `dataset` usually has
"""

import io
import sys

from tests.argument_pools import values


def family(*names, parameters=(), **options):
    """Class name -> a maker of its object; tensors are made by the library."""
    return {name: {name.lower(): lambda m, name=name: getattr(m.distributions, name)(*[p(m) for p in parameters], **options)} for name in names}


def row(m):
    return m.tensor([0.5, 0.25, 0.25])


def pair(m):
    return m.tensor([1.0, 2.0])


def categories(m):
    return m.distributions.Categorical(row(m))


def dataset(m):
    return m.utils.data.TensorDataset(m.ones(5, 2), m.arange(5))


def saved(m):
    """A file with a saved tensor."""
    file = io.BytesIO()
    m.save({"x": m.ones(2, 3)}, file)
    file.seek(0)
    return file


def pruned(m):
    return m.nn.utils.prune.identity(m.nn.Linear(3, 2), "weight")


def parametrized(m):
    return m.nn.utils.parametrizations.weight_norm(m.nn.Linear(3, 2))


def packed(m):
    return m.nn.utils.rnn.pack_sequence([m.ones(3, 2), m.ones(1, 2)])


def resolved(m):
    future = m.futures.Future()
    future.set_result(1)
    return future


def profiled(m):
    with m.autograd.profiler.profile() as found:
        m.ones(3).exp()
    return found


SQUARE = {"square": lambda m: m.tensor([[2.0, 1.0], [1.0, 3.0]])}
FILES = {"new": lambda m: io.BytesIO(), "saved": saved, "no archive": lambda m: io.BytesIO(b"abc"), "text": lambda m: io.StringIO("x"),
         "path": lambda m: "tensor.pt", "missing": lambda m: "missing/x.pt"}
DISTRIBUTIONS = {"normal": lambda m: m.distributions.Normal(pair(m), 1.0), "gamma": lambda m: m.distributions.Gamma(pair(m), pair(m)), "categorical": categories,
                 "dirichlet": lambda m: m.distributions.Dirichlet(row(m)), "bernoulli": lambda m: m.distributions.Bernoulli(m.tensor([0.5, 0.25]))}
TRANSFORMS = {"exp": lambda m: m.distributions.ExpTransform(), "affine": lambda m: m.distributions.AffineTransform(1.0, pair(m)),
              "sigmoid": lambda m: m.distributions.SigmoidTransform(cache_size=1), "softmax": lambda m: m.distributions.SoftmaxTransform()}
CONSTRAINTS = {"real": lambda m: m.distributions.constraints.real, "positive": lambda m: m.distributions.constraints.positive,
               "interval": lambda m: m.distributions.constraints.interval(0.0, 1.0), "simplex": lambda m: m.distributions.constraints.simplex,
               "dependent": lambda m: m.distributions.constraints.dependent, "independent": lambda m: m.distributions.constraints.independent(m.distributions.constraints.real, 1)}
DATASETS = {"tensors": dataset, "list": lambda m: [1.0, 2.0, 3.0], "range": lambda m: range(4), "concat": lambda m: m.utils.data.ConcatDataset([[1, 2], [3]])}
METHODS = {"identity": lambda m: m.nn.utils.prune.Identity(), "l1": lambda m: m.nn.utils.prune.L1Unstructured(1), "random": lambda m: m.nn.utils.prune.RandomStructured(0.5),
           "of a layer": lambda m: next(iter(pruned(m)._forward_pre_hooks.values()))}

LATE_INSTANCES = {
    **family("Normal", "Beta", "Cauchy", "FisherSnedecor", "Gamma", "Gumbel", "InverseGamma", "Kumaraswamy", "Laplace", "LogNormal", "Pareto", "Uniform",
             "VonMises", "Weibull", parameters=(lambda m: m.tensor([0.5, 0.75]), pair)),
    **family("Chi2", "Exponential", "HalfCauchy", "HalfNormal", "Poisson", "StudentT", parameters=(pair,)),
    **family("Bernoulli", "ContinuousBernoulli", "Geometric", parameters=(lambda m: m.tensor([0.5, 0.25]),)),
    **family("Categorical", "Dirichlet", "OneHotCategorical", "OneHotCategoricalStraightThrough", parameters=(row,)),
    **family("Binomial", "NegativeBinomial", parameters=(lambda m: 3, lambda m: m.tensor([0.5, 0.25]))),
    **family("Multinomial", parameters=(lambda m: 3, row)),
    **family("RelaxedBernoulli", "RelaxedOneHotCategorical", parameters=(lambda m: m.tensor(0.5), row)),
    **family("GeneralizedPareto", parameters=(lambda m: m.tensor(0.0), pair, lambda m: m.tensor(0.1))),
    **family("LKJCholesky", parameters=(lambda m: 3,)),
    **family("LogisticNormal", parameters=(pair, pair)),
    **family("MultivariateNormal", parameters=(pair, SQUARE["square"])),
    **family("LowRankMultivariateNormal", parameters=(pair, lambda m: m.ones(2, 1), pair)),
    **family("Wishart", parameters=(lambda m: m.tensor(3.0), SQUARE["square"])),
    **family("Independent", parameters=(DISTRIBUTIONS["normal"], lambda m: 1)),
    **family("TransformedDistribution", parameters=(DISTRIBUTIONS["normal"], TRANSFORMS["exp"])),
    **family("MixtureSameFamily", parameters=(categories, lambda m: m.distributions.Normal(m.zeros(3), 1.0))),
    "LogitRelaxedBernoulli": {"logit": lambda m: m.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(m.tensor(0.5), row(m))},
    "ExpRelaxedCategorical": {"exp": lambda m: m.distributions.relaxed_categorical.ExpRelaxedCategorical(m.tensor(0.5), row(m))},
    "Distribution": DISTRIBUTIONS,
    **family("AffineTransform", parameters=(lambda m: 1.0, pair)), **family("PowerTransform", parameters=(lambda m: m.tensor(2.0),)),
    **family("ComposeTransform", parameters=(lambda m: [TRANSFORMS["exp"](m), TRANSFORMS["affine"](m)],)),
    **family("CatTransform", "StackTransform", parameters=(lambda m: [TRANSFORMS["exp"](m), TRANSFORMS["sigmoid"](m)],)),
    **family("CumulativeDistributionTransform", parameters=(DISTRIBUTIONS["normal"],)),
    **family("IndependentTransform", parameters=(TRANSFORMS["exp"], lambda m: 1)),
    **family("ReshapeTransform", parameters=(lambda m: (6,), lambda m: (2, 3))),
    "_InverseTransform": {"inverse": lambda m: m.distributions.ExpTransform().inv},
    "Constraint": CONSTRAINTS,
    "MixtureSameFamilyConstraint": {"of real": lambda m: m.distributions.constraints.MixtureSameFamilyConstraint(m.distributions.constraints.real)},
    "cat": {"cat": lambda m: m.distributions.constraints.cat([m.distributions.constraints.real, m.distributions.constraints.positive])},
    "stack": {"stack": lambda m: m.distributions.constraints.stack([m.distributions.constraints.real, m.distributions.constraints.positive])},
    "independent": {"independent": CONSTRAINTS["independent"]},
    "dependent_property": {"property": lambda m: m.distributions.constraints.dependent_property(lambda self: m.distributions.constraints.real)},
    **{name: {name: lambda m, name=name: getattr(m.distributions.constraints, name)(1)} for name in ("greater_than", "greater_than_eq", "less_than", "multinomial")},
    **{name: {name: lambda m, name=name: getattr(m.distributions.constraints, name)(0, 1)} for name in ("half_open_interval", "interval", "integer_interval")},
    "lazy_property": {"lazy": lambda m: m.distributions.utils.lazy_property(lambda self: 1)},
    "TensorDataset": {"tensors": dataset}, "ConcatDataset": {"concat": DATASETS["concat"]}, "StackDataset": {"stack": lambda m: m.utils.data.StackDataset([1, 2], "ab")},
    "ChainDataset": {"chain": lambda m: m.utils.data.ChainDataset([])}, "Subset": {"subset": lambda m: m.utils.data.Subset("abc", [2, 0])},
    "DataLoader": {"loader": lambda m: m.utils.data.DataLoader(dataset(m), batch_size=2)},
    **{name: {name: lambda m, name=name: getattr(m.utils.data, name)("abc")} for name in ("RandomSampler", "SequentialSampler", "SubsetRandomSampler")},
    "WeightedRandomSampler": {"weighted": lambda m: m.utils.data.WeightedRandomSampler([0.0, 1.0], 3)},
    "BatchSampler": {"batches": lambda m: m.utils.data.BatchSampler(range(5), 2, False)},
    "DistributedSampler": {"distributed": lambda m: m.utils.data.DistributedSampler(range(5), 2, 0)},
    **{name: {name: lambda m, name=name: getattr(m.nn.utils.prune, name)(1)} for name in ("L1Unstructured", "RandomUnstructured", "RandomStructured")},
    "LnStructured": {"ln": lambda m: m.nn.utils.prune.LnStructured(1, 2)}, "CustomFromMask": {"mask": lambda m: m.nn.utils.prune.CustomFromMask(m.ones(2, 3))},
    "BasePruningMethod": METHODS,
    "SpectralNorm": {"spectral": lambda m: sys.modules[m.__name__ + ".nn.utils.spectral_norm"].SpectralNorm()}, "WeightNorm": {"weight": lambda m: sys.modules[m.__name__ + ".nn.utils.weight_norm"].WeightNorm("weight", 0)},
    "PackedSequence": {"packed": packed},
    "ParametrizationList": {"list": lambda m: parametrized(m).parametrizations.weight},
    "AdaptiveLogSoftmaxWithLoss": {"adaptive": lambda m: m.nn.AdaptiveLogSoftmaxWithLoss(3, 6, [2, 4])}, "EmbeddingBag": {"bag": lambda m: m.nn.EmbeddingBag(5, 3)},
    "LazyLinear": {"lazy": lambda m: m.nn.LazyLinear(2)}, "LazyBatchNorm1d": {"lazy": lambda m: m.nn.LazyBatchNorm1d()},
    "LazyConv1d": {"lazy": lambda m: m.nn.LazyConv1d(2, 1)}, "LazyModuleMixin": {"lazy": lambda m: m.nn.LazyLinear(2)},
    "DataParallel": {"parallel": lambda m: m.nn.DataParallel(m.nn.Linear(3, 2))},
    "SyncBatchNorm": {"sync": lambda m: m.nn.SyncBatchNorm(3)}, "TripletMarginWithDistanceLoss": {"triplet": lambda m: m.nn.TripletMarginWithDistanceLoss()},
    "CyclicLR": {"cyclic": lambda m: m.optim.lr_scheduler.CyclicLR(m.optim.SGD([m.ones(3, requires_grad=True)], 0.1), 0.1, 0.2)},
    "Future": {"resolved": resolved},       # wait() of another has no end
    "profile": {"profile": profiled}, "EventList": {"events": lambda m: profiled(m).function_events},
    "FunctionEvent": {"event": lambda m: profiled(m).function_events[0]}, "record_function": {"record": lambda m: m.profiler.record_function("x")},
    "Attribute": {"attribute": lambda m: m.jit.Attribute(1, int)}, "TorchVersion": {"version": lambda m: m.torch_version.TorchVersion("2.13.0")},
    "RandomStream": {"stream": lambda m: m.random._generator.stream(None)},
}
NUMBERS = values(0.5, 1.0, 2.0, 3, 0, -1.0) | {"pair": pair, "row": row, "scalar": lambda m: m.tensor(0.5)}
LATE_PLAUSIBLE = {
    **dict.fromkeys(("loc", "rate", "concentration", "concentration0", "concentration1", "df", "df1", "df2", "temperature", "probs", "logits", "total_count", "scale_"), NUMBERS),
    **dict.fromkeys(("covariance_matrix", "precision_matrix", "scale_tril"), SQUARE), "cov_factor": {"factor": lambda m: m.ones(2, 1)}, "cov_diag": {"pair": pair},
    **dict.fromkeys(("base_distribution", "base_dist", "component_distribution", "distribution", "p", "q"), DISTRIBUTIONS), "mixture_distribution": {"categorical": categories},
    "transforms": {**TRANSFORMS, "several": lambda m: [TRANSFORMS["exp"](m), TRANSFORMS["affine"](m)]}, "transform": TRANSFORMS, "base_transform": TRANSFORMS,
    "parts": {"several": lambda m: [TRANSFORMS["exp"](m), TRANSFORMS["affine"](m)]}, "tseq": {"several": lambda m: [TRANSFORMS["exp"](m), TRANSFORMS["affine"](m)]},
    "constraint": CONSTRAINTS, "base_constraint": CONSTRAINTS, "cseq": {"several": lambda m: [CONSTRAINTS["real"](m), CONSTRAINTS["positive"](m)]},
    **dict.fromkeys(("sample_shape", "batch_shape", "event_shape", "in_shape", "out_shape", "forward_shape", "inverse_shape"), values((), (2,), (3, 2), (2, 3))),
    **dict.fromkeys(("reinterpreted_batch_ndims", "reinterpreted_batch_ndims_", "event_dim", "cache_size"), values(0, 1, 2)), "validate_args": values(None, True, False),
    "dataset": DATASETS, "data_source": DATASETS, "datasets": {"two": lambda m: [dataset(m), [1, 2]]}, "lengths": values((2, 3), [0.5, 0.5], (1, 4)),
    "batch_size": values(1, 2, None), "sampler": {"None": lambda m: None, "numbers": lambda m: [0, 1], "random": lambda m: m.utils.data.RandomSampler([1, 2])},
    "batch_sampler": {"None": lambda m: None, "lists": lambda m: [[0, 1]]}, "num_workers": values(0, 0, 0, 1), "timeout": values(0, 1, 0.5), "num_samples": values(1, 3),
    "num_replicas": values(1, 2), "rank": values(0, 1), "replacement": values(True, False), "drop_last": values(True, False), "shuffle": values(True, False),
    "collate_fn": {"None": lambda m: None, "list": lambda m: list}, "prefetch_factor": values(None, 1, 2), "persistent_workers": values(False, True),
    "batch": {"numbers": lambda m: [1, 2], "dicts": lambda m: [{"x": 1}, {"x": 2}], "tensors": lambda m: [m.ones(2), m.ones(2)]},
    "f": {"function": lambda m: (lambda x, *a: x.sin()), **FILES}, "file": FILES, "filename": values("tensors.safetensors", "missing/x"), "obj": {"dict": lambda m: {"x": m.ones(2)}, "tensor": lambda m: m.ones(2)},
    "map_location": values(None, "cpu", "x"), "weights_only": values(True, False, None), "tensor_name": values("weight", "bias", "x"),
    "amount": values(1, 0.5, 0, 2.5), "pruning_method": {"l1": lambda m: m.nn.utils.prune.L1Unstructured}, "importance_scores": {"None": lambda m: None, "scores": lambda m: m.arange(6.0).reshape(2, 3)},
    "parametrization": {"tanh": lambda m: m.nn.Tanh(), "identity": lambda m: m.nn.Identity()}, "orthogonal_map": values(None, "cayley", "householder", "x"),
    "sequences": {"several": lambda m: [m.ones(3, 2), m.ones(1, 2)]}, "sequence": {"packed": packed}, "packed_sequences": {"packed": packed},
    "padded_sequences": {"padded": lambda m: m.ones(3, 2)}, "batch_sizes": {"sizes": lambda m: m.tensor([2, 1])},
    "conv": {"conv": lambda m: m.nn.Conv1d(1, 2, 1).eval()}, "bn": {"bn": lambda m: m.nn.BatchNorm1d(2).eval()}, "linear": {"linear": lambda m: m.nn.Linear(3, 2).eval()},
    "module_cls": {"Linear": lambda m: m.nn.Linear}, "max_norm": values(1.0, float("inf")), "norm_type": values(2.0, 1, float("inf")), "clip_value": values(1.0),
    "targets": {"classes": lambda m: m.tensor([0, 1, 2])}, "log_probs": {"three": lambda m: m.zeros(4, 1, 3).log_softmax(2)}, "input_lengths": values((4,), [4]), "target_lengths": values((2,)),
    "grid": {"grid": lambda m: m.zeros(1, 2, 2, 2)}, "theta": {"theta": lambda m: m.ones(1, 2, 3)}, "offsets": {"offsets": lambda m: m.tensor([0, 2]), "None": lambda m: None},
    "cutoffs": values([2, 4], (1,)), "n_classes": values(6), "base_lr": values(0.1), "max_lr": values(0.5), "step_size_up": values(3, 2000),
    "futures": {"two": lambda m: [resolved(m), resolved(m)]}, "schedule": {"None": lambda m: None}, "activities": values(None, []), "sort_by": values(None, "cpu_time_total", "x"),
    "globals": {"list": lambda m: [dict, io.BytesIO]}, "mmap": values(None, True, False), "devices": values(None, (0,)), "device_ids": values(None, (0,), [0]),
}
