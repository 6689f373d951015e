"""The first generation of custom operators: formulas as a pair of functions, gradients by name, trees of saved things."""

import gc
import importlib
import inspect
import re
import warnings
import weakref
from collections import namedtuple

import pytest

import minigrad
from tests.core.engine_tools import leaf, ours, raises, value
from tests.library import tools

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")


class Torchs:
    """An operator of PyTorch's first generation, with the methods of ours."""

    def __init__(self, name, schema):
        self.api = importlib.import_module("torch._custom_ops")
        self.name = name
        self.api.custom_op(name, schema)
        for kind in ("impl", "impl_save_for_backward", "impl_backward"):
            setattr(self, kind, lambda *args, kind=kind, **kwargs: getattr(self.api, kind)(self.name, *args, **kwargs))

    def __call__(self, *args):
        torch = importlib.import_module("torch")
        namespace, name = self.name.split("::")
        return getattr(getattr(torch.ops, namespace), name)(*args)


def define(m, schema, function=None):
    """An operator of the first generation, with its implementation."""
    name = f"tests::old_{next(tools._numbers)}"
    if m is minigrad:
        from minigrad._custom_op.impl import CustomOp as make
    else:
        make = Torchs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        op = make(name, schema)
        op.name = name
        if function is not None:
            op.impl()(function)
    return op


def twin(m):
    """The module with the building blocks."""
    return importlib.import_module(f"{m.__name__}._custom_op.autograd")


def scale(m, backward, save=lambda inputs, output: None, **options):
    """y = x n, with this formula."""
    op = define(m, "(Tensor x, int n) -> Tensor", lambda x, n: x * n)
    op.impl_save_for_backward()(save)
    op.impl_backward(**options)(backward)
    return op


# ---- the entry of an operator -----------------------------------------------------------------------------------


def test_no_formula_fails_in_the_forward(m):
    """custom_op/A-10, custom_op/A-01 (3): tensors in lists too."""
    op = define(m, "(Tensor x, Tensor[] ys) -> Tensor", lambda x, ys: x + ys[0])
    x, y = leaf(m, 1.0), m.tensor(2.0)
    for args in [(x, [y]), (y, [x])]:
        with raises(RuntimeError, "Autograd has not been implemented for operator"):
            op(*args)


def test_no_formula_and_nothing_to_differentiate(m):
    """custom_op/A-11: below autograd, no graph."""
    op = define(m, "(Tensor x) -> Tensor", lambda x: x * 2)
    assert not op(m.tensor(1.0)).requires_grad
    with m.no_grad():
        y = op(leaf(m, 1.0))
    assert value(y) == 2 and not y.requires_grad and y.grad_fn is None


def test_dicts_are_looked_into(m):
    """custom_op/A-10: whatever the container; here by the building block itself."""
    op = define(m, "(Tensor x) -> Tensor", lambda x: x * 2)
    kernel = twin(m).autograd_not_implemented(op)
    with raises(RuntimeError, "Autograd has not been implemented for operator"):
        kernel({"a": [(1, leaf(m, 1.0))]})
    with raises(RuntimeError, "Autograd has not been implemented for operator"):
        kernel(x={"a": leaf(m, 1.0)})


@pytest.mark.parametrize("found, missing", [("backward", "save_for_backward"), ("save_for_backward", "backward")])
def test_half_a_formula(m, found, missing):
    """custom_op/A-01 (2): with the place of the half that is there. custom_op/A-02: either may come first."""
    op = define(m, "(Tensor x, int n) -> Tensor", lambda x, n: x * n)
    functions = {"backward": lambda ctx, saved, g: {"x": g * saved}, "save_for_backward": lambda inputs, output: inputs.n}
    getattr(op, f"impl_{found}")()(functions[found])
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(RuntimeError) as caught:
        op(leaf(m, 1.0), 2)
    assert f"unable to find a '{missing}' registration" in str(caught.value).replace("\n", " ")
    assert f"'{found}' registration" in str(caught.value) and f"test_first_generation.py:{line}" in str(caught.value)
    getattr(op, f"impl_{missing}")()(functions[missing])
    x = leaf(m, 1.0)
    op(x, 3).backward()
    assert value(x.grad) == 3


def test_a_whole_formula_is_used_at_once(m):
    """custom_op/A-01 (1), custom_op/A-02: a call uses the functions that are registered at its time."""
    op = define(m, "(Tensor x, int n) -> Tensor", lambda x, n: x * n)
    x = leaf(m, 1.0)
    with raises(RuntimeError, "Autograd has not been implemented"):
        op(x, 2)
    op.impl_save_for_backward()(lambda inputs, output: None)
    op.impl_backward()(lambda ctx, saved, g: {"x": g * 5})
    op(x, 2).backward()
    assert value(x.grad) == 5


def test_registering_twice(m):
    """custom_op/A-03: with the place of the first."""
    op = scale(m, lambda ctx, saved, g: {"x": g})
    line = inspect.getsourcelines(scale)[1] + 4
    for kind in ("backward", "save_for_backward"):
        with pytest.raises(RuntimeError) as caught:
            getattr(op, f"impl_{kind}")()(lambda *args: None)
        assert f"already has a {kind} impl registered" in str(caught.value)
        assert re.search(r"test_first_generation.py:\d+", str(caught.value))
    assert f"test_first_generation.py:{line}" in str(caught.value) or f"test_first_generation.py:{line - 1}" in str(caught.value)


@ours
def test_the_kernel_holds_its_operator_weakly(m, no_collection):
    """custom_op/A-04: freed immediately; a graph that was built with it still works, and then frees it."""
    op = scale(m, lambda ctx, saved, g: {"x": g * 5})
    x = leaf(m, 1.0)
    y = op(x, 2)
    gone = weakref.ref(op)
    del op
    y.backward()
    assert value(x.grad) == 5
    del y
    assert gone() is None


@ours
def test_deprecation(m):
    """custom_op/A-51"""
    from minigrad._custom_op.impl import CustomOp
    with pytest.warns(DeprecationWarning, match="use minigrad.library.custom_op instead"):
        CustomOp("tests::old", "(Tensor x) -> Tensor")


@ours
def test_no_implementation(m):
    with raises(RuntimeError, "has no implementation"):
        define(m, "(Tensor x) -> Tensor")(m.ones(1))


# ---- forward and backward ---------------------------------------------------------------------------------------


def test_the_name_of_the_node_of_the_first_generation(m):
    """custom_op/A-20"""
    op = scale(m, lambda ctx, saved, g: {"x": g})
    assert op(leaf(m, 1.0), 2).grad_fn.name() == op.name.split("::")[1] + "_customopBackward"


def test_what_save_for_backward_is_called_with(m):
    """custom_op/A-21, custom_op/A-22: a named tuple of the arguments; the output as it was returned; nothing recorded."""
    seen = []

    def save(inputs, output):
        seen.append((inputs, output, output[0].requires_grad))
        return inputs.x
    op = define(m, "(Tensor x, Tensor[] ys, int n) -> (Tensor, Tensor[], int)", lambda x, ys, n: (x * n, [y * x for y in ys], n))
    op.impl_save_for_backward()(save)
    op.impl_backward()(lambda ctx, saved, *grads: {"x": grads[0], "ys": [None, None]})
    x, y = leaf(m, 2.0), leaf(m, 3.0)
    out = op(x, [y, y], 4)
    inputs, output, requires_grad = seen.pop()
    assert type(inputs).__name__ == op.name.split("::")[1] + "_args" and inputs._fields == ("x", "ys", "n")
    assert inputs.x is x and inputs.ys[0] is y and inputs.n == 4 and not requires_grad
    assert type(output) is tuple and type(output[1]) is list and value(output[0]) == 8 and output[2] == 4
    assert out[0].requires_grad and out[1][1].requires_grad and out[2] == 4


@pytest.mark.parametrize("saved", [
    lambda x, n: {"a": x, "n": n}, lambda x, n: [x, 3, [x]], lambda x, n: (x, {"k": (n, x)}), lambda x, n: x, lambda x, n: None,
    lambda x, n: [], lambda x, n: "text"], ids=["dict", "list", "nested", "tensor", "None", "empty", "text"])
def test_any_tree_can_be_saved(m, saved):
    """custom_op/A-23, custom_op/A-25: it comes back as it was; its tensors through saved_tensors."""
    seen = []

    def backward(ctx, saved, g):
        seen.append((ctx, saved))
        return {"x": g}
    op = scale(m, backward, lambda inputs, output: saved(inputs.x, inputs.n))
    x = leaf(m, 2.0)
    y = op(x, 7)
    expected = saved(x, 7)
    tensors = str(expected).count("tensor")
    assert len(y.grad_fn.saved_tensors) == tensors
    y.backward()
    ctx, found = seen.pop()
    assert type(ctx) is object
    assert str(found) == str(expected) and type(found) is type(expected)


def test_saved_tensors_are_checked_and_freed(m):
    """custom_op/A-23: versions, hooks."""
    op = scale(m, lambda ctx, saved, g: {"x": g * saved["x"]}, lambda inputs, output: {"x": inputs.x})
    x = leaf(m, 2.0)
    inner = x * 1
    y = op(inner, 3)
    with m.no_grad():
        inner.add_(1)
    with raises(RuntimeError, "modified by an inplace operation"):
        y.backward()
    packed = []
    with m.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t * 100):
        y = op(x, 3)
    y.backward()
    assert len(packed) == 1 and value(x.grad) == 200
    with raises(RuntimeError, "Trying to backward through the graph a second time"):
        y.backward()


def test_a_saved_output_makes_no_cycle(m, no_collection):
    """custom_op/A-23"""
    op = scale(m, lambda ctx, saved, g: {"x": g * saved}, lambda inputs, output: output)
    x = leaf(m, 2.0)
    gone = weakref.ref(x)
    op(x, 3)
    del x
    if m is minigrad:
        assert gone() is None
    gc.collect()
    assert gone() is None


def test_gradients_come_in_the_structure_of_the_output(m):
    """custom_op/A-24, custom_op/A-25: lists for lists, None for arguments that are not tensors, zeros for missing gradients."""
    seen = []
    op = define(m, "(Tensor x) -> (Tensor, Tensor[], int)", lambda x: (x * 2, [x * 3, x * 4], 5))
    op.impl_save_for_backward()(lambda inputs, output: None)

    def backward(ctx, saved, *grads):
        seen.append(grads)
        return {"x": grads[0] + 10 * grads[1][1]}
    op.impl_backward()(backward)
    x = leaf(m, 1.0)
    y, ys, n = op(x)
    assert n == 5 and type(ys) is list
    y.backward(retain_graph=True)
    grads = seen.pop()
    assert len(grads) == 3 and type(grads[1]) is list and value(grads[:2]) == [1, [0, 0]] and grads[2] is None
    ys[1].backward()
    assert value(seen.pop()[:2]) == [0, [0, 1]] and value(x.grad) == 11


def test_gradients_by_name(m):
    """custom_op/A-26, custom_op/A-34: gradients may come in any order, for lists and optional tensors; None is always accepted."""
    op = define(m, "(Tensor x, int n, Tensor[] ys, Tensor? z) -> Tensor", lambda x, n, ys, z: x * n)
    op.impl_save_for_backward()(lambda inputs, output: None)
    result = {}
    op.impl_backward()(lambda ctx, saved, g: result)
    x, y, z = leaf(m, 1.0), leaf(m, 1.0), leaf(m, 1.0)
    one = m.tensor(1.0)
    result.update({"z": one * 4, "ys": (one * 2, None), "x": one * 3})
    op(x, 2, [y, y], z).backward()
    assert (value(x.grad), value(y.grad), value(z.grad)) == (3, 2, 4)
    result.update({"z": None, "ys": [None, None], "x": None})
    op(x, 2, [y, y], None).backward()
    assert (value(x.grad), value(y.grad), value(z.grad)) == (3, 2, 4)


def test_second_derivatives(m):
    op = scale(m, lambda ctx, saved, g: {"x": g * 3 * saved ** 2}, lambda inputs, output: inputs.x)
    x = leaf(m, 2.0)
    g, = m.autograd.grad(op(x, 1), x, create_graph=True)
    assert value(m.autograd.grad(g, x)[0]) == 12


@ours
def test_one_class_per_operator(m):
    """custom_op/A-27: PyTorch makes one per call; the visible behaviour is the same."""
    op = scale(m, lambda ctx, saved, g: {"x": g})
    assert type(op(leaf(m, 1.0), 2).grad_fn) is type(op(leaf(m, 1.0, 2.0), 3).grad_fn)


# ---- results of backward ---------------------------------------------------------------------------------------


WRONG = [
    ("no dict", lambda g, x: [g], "backward function to be a dict"),
    ("missing", lambda g, x: {"x": g, "ys": [g, g]}, "grad_input dict to have keys"),
    ("surplus", lambda g, x: {"x": g, "ys": [g, g], "z": None, "n": None}, "grad_input dict to have keys"),
    ("no list", lambda g, x: {"x": g, "ys": g, "z": None}, "list of gradients but got object"),
    ("None for a list", lambda g, x: {"x": g, "ys": None, "z": None}, "list of gradients but got object"),
    ("short", lambda g, x: {"x": g, "ys": [g], "z": None}, "hold a list of 2 gradients but got 1"),
    ("number in a list", lambda g, x: {"x": g, "ys": [g, 3], "z": None}, "list of None or Tensor gradients"),
    ("number", lambda g, x: {"x": 3, "ys": [g, g], "z": None}, "either None or a Tensor"),
    ("for None", lambda g, x: {"x": g, "ys": [g, g], "z": g}, "expected None as the gradient"),
]


@pytest.mark.parametrize("result, key", [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_wrong_gradients(m, result, key):
    """custom_op/A-30, custom_op/A-31, custom_op/A-32, custom_op/A-33, custom_op/T-02: each says which backward, and where."""
    op = define(m, "(Tensor x, int n, Tensor[] ys, Tensor? z) -> Tensor", lambda x, n, ys, z: x * n)
    op.impl_save_for_backward()(lambda inputs, output: None)
    op.impl_backward()(lambda ctx, saved, g: result(g, None))
    x = leaf(m, 1.0)
    y = op(x, 2, [x, x], None)
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    message = str(caught.value)
    assert message.startswith("In the backward function defined for ") and "test_first_generation.py:" in message
    assert "using the CustomOp API, " in message and key in message
    assert x.grad is None


def test_a_gradient_for_none_in_a_list(m):
    """custom_op/A-32"""
    op = define(m, "(Tensor x, Tensor?[] ys) -> Tensor", lambda x, ys: x * 2)
    op.impl_save_for_backward()(lambda inputs, output: None)
    op.impl_backward()(lambda ctx, saved, g: {"x": g, "ys": [g, g]})
    with raises(RuntimeError, "expected None because"):
        op(leaf(m, 1.0), [leaf(m, 1.0), None]).backward()


# ---- which outputs have a derivative ----------------------------------------------------------------------------


def three_outputs(m, differentiability):
    op = define(m, "(Tensor x) -> (Tensor, Tensor[], int)", lambda x: (x * 2, [x * 3, x * 4], 5))
    op.impl_save_for_backward()(lambda inputs, output: None)
    op.impl_backward(output_differentiability=differentiability)(lambda ctx, saved, *grads: {"x": grads[0]})
    return op


@pytest.mark.parametrize("wrong", [[True], [True, True, True, True], [True, 1, False], (True, True, False), True, "yes"], ids=str)
def test_output_differentiability_is_a_list_of_bools(m, wrong):
    """custom_op/A-40"""
    with raises(RuntimeError, "to be a list of bools"):
        three_outputs(m, wrong)


def test_output_differentiability(m):
    """custom_op/A-41, custom_op/A-43: for a tensor or a list of tensors; None means all that can require a gradient."""
    x = leaf(m, 1.0)
    for given, expected in [([True, True, False], (True, [True, True])), ([False, True, False], (False, [True, True])),
                            ([True, False, False], (True, [False, False])), (None, (True, [True, True]))]:
        y, ys, _ = three_outputs(m, given)(x)
        assert (y.requires_grad, [z.requires_grad for z in ys]) == expected


def test_integral_outputs_of_the_first_generation(m):
    """custom_op/A-43"""
    op = define(m, "(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 2, (x * 2).long()))
    op.impl_save_for_backward()(lambda inputs, output: None)
    op.impl_backward()(lambda ctx, saved, *grads: {"x": grads[0]})
    y, n = op(leaf(m, 1.0))
    assert y.requires_grad and not n.requires_grad


def test_a_number_has_no_derivative(m):
    """custom_op/A-42: at the call."""
    op = three_outputs(m, [True, True, True])
    with raises(RuntimeError, "marked as differentiable"):
        op(leaf(m, 1.0))


# ---- operators with a formula ------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", ["(Tensor(a!) x) -> Tensor(a!)", "(Tensor(a!) x) -> Tensor", "(Tensor(a!) x) -> ()"])
def test_only_functional_operators_have_a_formula(m, schema):
    """custom_op/A-50"""
    if m is not minigrad:
        pytest.skip("PyTorch refuses such a schema already")
    for kind in ("impl_backward", "impl_save_for_backward"):
        with raises(RuntimeError, "APIs to register backward"):
            getattr(define(m, schema), kind)()(lambda *args: None)
    if schema != "(Tensor(a!) x) -> ()":
        with raises(RuntimeError, "non-functional operator"):
            define(m, schema).impl_backward()(lambda *args: None)


@ours
def test_results_that_a_formula_can_have(m):
    """custom_op/A-50"""
    for returns in ("Tensor", "Tensor[]", "(Tensor, int, bool, float)"):
        define(m, f"(Tensor x) -> {returns}").impl_backward()(lambda *args: None)
    for returns in ("Scalar", "(Tensor, str)", "Tensor?", "int[]"):
        with raises(RuntimeError, "operator with return not in Tensor, Tensor[]"):
            define(m, f"(Tensor x) -> {returns}").impl_backward()(lambda *args: None)


# ---- trees ------------------------------------------------------------------------------------------------------


class Context:
    """As much of a ctx as save_pytree_for_backward needs."""

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize("tree", [
    lambda t: [], lambda t: None, lambda t: t(1), lambda t: (t(1), 2, [t(3), None, {"a": t(4), "b": "text"}]), lambda t: {}, lambda t: (),
    lambda t: Pair(t(1), (t(2), 5)), lambda t: {"b": t(1), "a": t(2)}, lambda t: [[[t(1)]]]],
    ids=["empty list", "None", "tensor", "nested", "empty dict", "empty tuple", "named tuple", "dict", "deep"])
def test_saving_trees(m, tree):
    """custom_op/A-60, custom_op/A-61: inverses; tensors in order."""
    made = []

    def tensor(number):
        made.append(m.tensor(float(number)))
        return made[-1]
    ctx = Context()
    stuff = tree(tensor)
    twin(m).save_pytree_for_backward(ctx, stuff)
    assert sorted(map(value, ctx.saved_tensors)) == sorted(map(value, made))
    found = twin(m).unpack_saved(ctx)
    assert type(found) is type(stuff) and str(found) == str(stuff)
    leaves = importlib.import_module(f"{m.__name__}.utils._pytree").tree_leaves
    assert all(a is b for a, b in zip(leaves(found), leaves(stuff), strict=True))
    assert [x for x in leaves(stuff) if isinstance(x, m.Tensor)] == list(ctx.saved_tensors)


def test_the_tools_for_trees(m):
    """custom_op/A-61: tuples, lists, dicts and named tuples are nodes; None is a leaf."""
    tree = importlib.import_module(f"{m.__name__}.utils._pytree")
    stuff = (1, [2, None], {"a": Pair(3, 4)})
    leaves, spec = tree.tree_flatten(stuff)
    assert leaves == [1, 2, None, 3, 4] and tree.tree_unflatten(leaves, spec) == stuff
    assert tree.tree_any(lambda x: x is None, stuff) and not tree.tree_any(lambda x: x == 5, stuff)
    assert tree.tree_map(lambda x: x or 0, stuff) == (1, [2, 0], {"a": Pair(3, 4)})


def test_named_tuples_of_arguments(m):
    """custom_op/A-22: by the building blocks."""
    if m is minigrad:
        from minigrad.library._schema import parse_schema
        schema = parse_schema("tests::mine", "default", "(Tensor x, *, int n=2) -> Tensor")
    else:
        schema = importlib.import_module("torchgen.model").FunctionSchema.parse("mine(Tensor x, *, int n=2) -> Tensor")
    args = twin(m).namedtuple_args(schema, (1, 2))
    assert type(args).__name__ == "mine_args" and args._asdict() == {"x": 1, "n": 2}
    assert twin(m).grad_inputs_dict_to_flat_tuple({"x": 5}, args) == (5, None)
