"""One line per way to use a layer: walked by tests/nn/test_layers.py, with and without PyTorch.

A case gives the module `m` (minigrad or torch), and the input; `F` in the name of a function is m.nn.functional.
"""

import numpy as np

RNG = np.random.default_rng(5)


def numbers(*shape):
    return RNG.standard_normal(shape)


# Large and small, and where the formulas change.
SPREAD = np.concatenate([RNG.standard_normal((3, 6)) * 3, [[0.0, -3.0, 3.0, 6.0, 1.0, -1.0], [-60.0, 60.0, -900.0, 900.0, 0.5, -0.5]],
                         RNG.standard_normal((1, 6))])
CLASSES, PLANES = np.array([1, 0, 2, 2]), np.array([[1, 0], [2, 2]])
WEIGHT = np.array([1.0, 2.0, 0.5])

# name, layer, inputs: float arrays require a gradient, integer ones are targets
LAYERS = [
    ("Linear", lambda m: m.nn.Linear(3, 2), (numbers(4, 3),)),
    ("Linear without bias", lambda m: m.nn.Linear(3, 2, bias=False), (numbers(4, 3),)),
    ("Linear on a vector", lambda m: m.nn.Linear(3, 2), (numbers(3),)),
    ("Linear on 3-d", lambda m: m.nn.Linear(3, 2), (numbers(2, 4, 3),)),
    ("Linear on nothing", lambda m: m.nn.Linear(3, 2), (numbers(0, 3),)),
    ("Identity", lambda m: m.nn.Identity(3, bias=4), (numbers(2, 3),)),
    ("Conv2d", lambda m: m.nn.Conv2d(2, 3, 3), (numbers(2, 2, 5, 6),)),
    ("Conv2d strided", lambda m: m.nn.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0), groups=2), (numbers(2, 2, 6, 5),)),
    ("Conv2d dilated", lambda m: m.nn.Conv2d(1, 2, 2, dilation=2, bias=False), (numbers(1, 1, 6, 5),)),
    ("Conv2d same", lambda m: m.nn.Conv2d(1, 2, 3, padding="same"), (numbers(1, 1, 4, 5),)),
    ("Conv2d valid", lambda m: m.nn.Conv2d(1, 2, 3, padding="valid"), (numbers(1, 1, 4, 5),)),
    ("Conv2d unbatched", lambda m: m.nn.Conv2d(1, 2, 3, padding=1), (numbers(1, 4, 5),)),
    ("MaxPool2d", lambda m: m.nn.MaxPool2d(2), (numbers(2, 2, 4, 5),)),
    ("MaxPool2d padded", lambda m: m.nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), (numbers(1, 2, 6, 5),)),
    ("MaxPool2d dilated", lambda m: m.nn.MaxPool2d((2, 2), stride=1, dilation=2), (numbers(1, 1, 5, 5),)),
    ("AvgPool2d", lambda m: m.nn.AvgPool2d(2), (numbers(2, 2, 4, 5),)),
    ("AvgPool2d padded", lambda m: m.nn.AvgPool2d((3, 2), stride=2, padding=1, ceil_mode=True, count_include_pad=False),
     (numbers(1, 2, 6, 5),)),
    ("AvgPool2d divisor", lambda m: m.nn.AvgPool2d(2, divisor_override=3), (numbers(1, 2, 4),)),
    ("ReLU", lambda m: m.nn.ReLU(), (numbers(2, 3),)),
    *[(name + " " + str(args), lambda m, name=name, args=args: getattr(m.nn, name)(*args), (SPREAD,)) for name, *args in (
        ("LeakyReLU",), ("LeakyReLU", 0.2), ("ELU",), ("ELU", 0.3), ("SELU",), ("CELU",), ("CELU", 2.0), ("SiLU",), ("Mish",),
        ("Softplus",), ("Softplus", 2.0, 3.0), ("LogSigmoid",), ("Hardsigmoid",), ("Hardswish",), ("Tanhshrink",), ("Softsign",),
        ("Softshrink",), ("Softshrink", 1.0), ("Hardshrink",), ("Hardshrink", 1.0), ("Threshold", 0.5, 9.0), ("Softmin", 1),
        ("Softmin", 0), ("GLU",), ("GLU", 0), ("GELU", "tanh"), ("Hardtanh",), ("Hardtanh", -3.0, 0.5), ("ReLU6",), ("PReLU",),
        ("PReLU", 6))],
    *[(name + " in place", lambda m, name=name, args=args: m.nn.Sequential(m.nn.Linear(6, 6), getattr(m.nn, name)(*args)), (SPREAD,))
      for name, *args in (("LeakyReLU", 0.01, True), ("ELU", 1.0, True), ("SELU", True), ("CELU", 1.0, True), ("SiLU", True),
                          ("Mish", True), ("Hardsigmoid", True), ("Hardswish", True), ("Threshold", 0.5, 9.0, True),
                          ("Hardtanh", -1.0, 1.0, True), ("ReLU6", True))],
    ("Tanh", lambda m: m.nn.Tanh(), (numbers(2, 3),)),
    ("Sigmoid", lambda m: m.nn.Sigmoid(), (numbers(2, 3),)),
    ("Softmax", lambda m: m.nn.Softmax(dim=1), (numbers(2, 3),)),
    ("Softmax last", lambda m: m.nn.Softmax(-1), (numbers(2, 3, 2),)),
    ("LogSoftmax", lambda m: m.nn.LogSoftmax(dim=0), (numbers(2, 3),)),
    ("Dropout in evaluation", lambda m: m.nn.Dropout(0.4).eval(), (numbers(2, 3),)),
    ("Dropout of nothing", lambda m: m.nn.Dropout(0.0), (numbers(2, 3),)),
    ("Dropout of everything", lambda m: m.nn.Dropout(1.0), (numbers(2, 3),)),
    ("Flatten", lambda m: m.nn.Flatten(), (numbers(2, 3, 4),)),
    ("Flatten part", lambda m: m.nn.Flatten(0, 1), (numbers(2, 3, 4),)),
    ("Unflatten", lambda m: m.nn.Unflatten(1, (2, 3)), (numbers(2, 6),)),
    ("Unflatten a rest", lambda m: m.nn.Unflatten(-1, (-1, 2)), (numbers(2, 6),)),
    ("MSELoss", lambda m: m.nn.MSELoss(), (numbers(2, 3), numbers(2, 3))),
    ("MSELoss sum", lambda m: m.nn.MSELoss(reduction="sum"), (numbers(2, 3), numbers(2, 3))),
    ("MSELoss none", lambda m: m.nn.MSELoss(reduction="none"), (numbers(2, 3), numbers(2, 3))),
    ("NLLLoss", lambda m: m.nn.NLLLoss(), (numbers(4, 3), CLASSES)),
    ("NLLLoss weighted", lambda m: m.nn.NLLLoss(m.tensor(WEIGHT), ignore_index=2), (numbers(4, 3), CLASSES)),
    ("NLLLoss planes", lambda m: m.nn.NLLLoss(reduction="sum"), (numbers(2, 3, 2), PLANES)),
    ("CrossEntropyLoss", lambda m: m.nn.CrossEntropyLoss(), (numbers(4, 3), CLASSES)),
    ("CrossEntropyLoss weighted", lambda m: m.nn.CrossEntropyLoss(m.tensor(WEIGHT), label_smoothing=0.1), (numbers(4, 3), CLASSES)),
    ("CrossEntropyLoss none", lambda m: m.nn.CrossEntropyLoss(reduction="none", ignore_index=0), (numbers(4, 3), CLASSES)),
    ("CrossEntropyLoss probabilities", lambda m: m.nn.CrossEntropyLoss(), (numbers(4, 3), np.abs(numbers(4, 3)))),
    ("Sequential", lambda m: m.nn.Sequential(m.nn.Linear(3, 4), m.nn.Tanh(), m.nn.Linear(4, 2)), (numbers(5, 3),)),
]

# Functions that have no layer, or options that no layer has.
FUNCTIONS = [
    ("relu inplace", lambda m, x: m.nn.functional.relu(x * 1, inplace=True), (numbers(2, 3),)),
    ("softmax dtype", lambda m, x: m.nn.functional.softmax(x, 1, dtype=m.float32), (numbers(2, 3),)),
    ("log_softmax dtype", lambda m, x: m.nn.functional.log_softmax(x, 0, dtype=m.float32), (numbers(2, 3),)),
    ("dropout off inplace", lambda m, x: m.nn.functional.dropout(x * 1, 1.0, inplace=True), (numbers(2, 3),)),
    ("mse_loss weight", lambda m, x, y: m.nn.functional.mse_loss(x, y, weight=m.full((2, 3), 2.0, dtype=m.float64)), (numbers(2,
            3), numbers(2, 3))),
    ("mse_loss weight sum", lambda m, x, y, w: m.nn.functional.mse_loss(x, y, reduction="sum", weight=w), (numbers(3), numbers(3),
            numbers(3))),
    ("mse_loss weight none", lambda m, x, y, w: m.nn.functional.mse_loss(x, y, reduction="none", weight=w), (numbers(3),
            numbers(3), numbers(3))),
    ("tanh", lambda m, x: m.nn.functional.tanh(x), (numbers(2, 3),)),
    ("sigmoid", lambda m, x: m.nn.functional.sigmoid(x), (numbers(2, 3),)),
    ("max_pool2d indices", lambda m, x: m.nn.functional.max_pool2d(x, 2, return_indices=True)[0], (numbers(1, 2, 4, 4),)),
    ("linear", lambda m, x, w, b: m.nn.functional.linear(x, w, b), (numbers(2, 3), numbers(4, 3), numbers(4))),
    ("conv2d", lambda m, x, w, b: m.nn.functional.conv2d(x, w, b, stride=2, padding=1), (numbers(1, 2, 5, 5), numbers(3, 2, 3, 3),
            numbers(3))),
]

# Arguments that make no sense -> (call, exception class, words of it)
MISTAKES = [
    (lambda m: m.nn.functional.glu(m.ones(3)), RuntimeError, "Halving dimension must be even, but dimension 0 is size 3"),
    (lambda m: m.nn.functional.glu(m.ones(())), RuntimeError, "glu does not support scalars"),
    (lambda m: m.nn.functional.softshrink(m.ones(3), -1.0), RuntimeError, "lambda must be in range [0, "),
    (lambda m: m.nn.functional.gelu(m.ones(3), approximate="x"), RuntimeError, "approximate argument must be either none or tanh."),
    (lambda m: m.nn.functional.hardtanh(m.ones(3), 1.0, 0.0), ValueError, "min_val cannot be greater than max_val"),
    (lambda m: m.nn.Hardtanh(1.0, 0.0), AssertionError, "max_val (0.0) must be greater than min_val (1.0)"),
    (lambda m: m.nn.functional.prelu(m.ones(2, 3), m.ones(2)), RuntimeError, "Mismatch of parameter numbers and input channel size"),
    (lambda m: m.nn.functional.elu(m.ones(2, dtype=m.int64)), RuntimeError, "not implemented for"),
    (lambda m: m.nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups"),
    (lambda m: m.nn.Conv2d(4, 3, 3, groups=2), ValueError, "out_channels must be divisible by groups"),
    (lambda m: m.nn.Conv2d(4, 4, 3, groups=0), ValueError, "groups must be a positive integer"),
    (lambda m: m.nn.Conv2d(4, 4, 3, padding="x"), ValueError, "Invalid padding string 'x'"),
    (lambda m: m.nn.Conv2d(4, 4, 3, padding="same", stride=2), ValueError,
     "padding='same' is not supported for strided convolutions"),
    (lambda m: m.nn.Conv2d(4, 4, 3, padding_mode="x"), ValueError, "padding_mode"),
    (lambda m: m.nn.Conv2d(1, 1, 3)(m.ones(3)), RuntimeError, "Expected 3D (unbatched) or 4D (batched) input to conv2d"),
    (lambda m: m.nn.Conv2d(1, 1, 3)(m.ones(1, 1, 2, 2)), RuntimeError, "Kernel size can't be greater than actual input size"),
    (lambda m: m.nn.Dropout(2), ValueError, "dropout probability has to be between 0 and 1, but got 2"),
    (lambda m: m.nn.functional.dropout(m.ones(2), -1), ValueError, "dropout probability has to be between 0 and 1, but got -1"),
    (lambda m: m.nn.functional.dropout(m.ones(2, dtype=m.int64), 0.5), RuntimeError, "result type Float can't be cast"),
    (lambda m: m.nn.Linear(-1, 3), RuntimeError, "negative"),
    (lambda m: m.nn.Linear(2.5, 3), TypeError, "argument 'size'"),
    (lambda m: m.nn.Linear(2, 3)(m.ones(3)), RuntimeError, "mat1 and mat2 shapes cannot be multiplied"),
    (lambda m: m.nn.Flatten(3)(m.ones(2)), IndexError, "Dimension out of range"),
    (lambda m: m.nn.Unflatten(1, (2, 2))(m.ones(2, 3)), RuntimeError, ""),
    (lambda m: m.nn.Unflatten(1, 5.0), TypeError, "unflattened_size must be a tuple of ints, but found type float"),
    (lambda m: m.nn.Unflatten(1, [2, "a"]), TypeError, "found element of type str at pos 1"),
    (lambda m: m.nn.CrossEntropyLoss(reduction="x")(m.ones(2, 2), m.tensor([0, 1])), ValueError,
     "x is not a valid value for reduction"),
    (lambda m: m.nn.CrossEntropyLoss()(m.ones(2, 2), m.tensor([0, 2])), IndexError, "Target 2 is out of bounds"),
    (lambda m: m.nn.CrossEntropyLoss()(m.ones(2, 2), m.tensor([0])), ValueError,
     "Expected input batch_size (2) to match target batch_size (1)"),
    (lambda m: m.nn.CrossEntropyLoss(label_smoothing=2.0)(m.ones(2, 2), m.tensor([0, 1])), RuntimeError,
     "label_smoothing must be between 0.0 and 1.0"),
    (lambda m: m.nn.NLLLoss(m.ones(3))(m.ones(2, 2), m.tensor([0, 1])), RuntimeError,
     "weight tensor should be defined either for all"),
    (lambda m: m.nn.MSELoss(reduction="x")(m.ones(2), m.ones(2)), ValueError, "x is not a valid value for reduction"),
    (lambda m: m.nn.functional.mse_loss(m.ones(2), m.ones(2), weight=m.ones(3)), ValueError,
     "Weights and input must have the same size"),
    (lambda m: m.nn.MaxPool2d(2)(m.ones(3)), RuntimeError, "3D"),
    (lambda m: m.nn.MaxPool2d(2, padding=2)(m.ones(1, 4, 4)), RuntimeError, "pad should be at most half of effective kernel size"),
    (lambda m: m.nn.AvgPool2d(0)(m.ones(1, 4, 4)), RuntimeError, "zero"),
    (lambda m: m.nn.Softmax(dim=3)(m.ones(2)), IndexError, "Dimension out of range"),
    (lambda m: m.nn.Tanh(3), TypeError, "positional argument"),
    (lambda m: m.nn.Parameter(3), AttributeError, "no attribute 'detach'"),
    (lambda m: m.nn.init.xavier_uniform_(m.ones(2)), ValueError,
     "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"),
    (lambda m: m.nn.init.calculate_gain("x"), ValueError, "Unsupported nonlinearity x"),
    (lambda m: m.nn.init.calculate_gain("leaky_relu", "a"), ValueError, "negative_slope a not a valid number"),
    (lambda m: m.nn.init.kaiming_uniform_(m.ones(2, 2), mode="x"), ValueError,
     "Mode x not supported, please use one of ['fan_in', 'fan_out']"),
    (lambda m: m.nn.init.eye_(m.ones(2)), ValueError, "Only tensors with 2 dimensions are supported"),
]
