"""Helpers for the tests of the engine. All take the library `m`: minigrad here, torch in tests/parity."""

import re

import pytest


def ours(test):
    """Mark a test of behaviour that is better than PyTorch's, or only minigrad's: it does not run on PyTorch."""
    test.ours = True
    return test


def raises(error, key):
    """``pytest.raises`` for the familiar words `key`, not a pattern."""
    return pytest.raises(error, match=re.escape(key))


def leaf(m, *values, dtype="float32"):
    """A leaf that requires a gradient: 0-d for one value."""
    return m.tensor(values[0] if len(values) == 1 else list(values), dtype=getattr(m, dtype), requires_grad=True)


def value(x):
    """A tensor as Python numbers; None stays None, and several give a list."""
    return None if x is None else [value(g) for g in x] if isinstance(x, (tuple, list)) else x.tolist()


def inside(m):
    """The module with the functions that a program may call inside a backward."""
    return m._C if m.__name__ == "torch" else m.autograd.graph


def task_id(m):
    """The number of the backward that is running."""
    return inside(m)._current_graph_task_id()


def running_node(m):
    return inside(m)._current_autograd_node()


def queue_callback(m, callback):
    m.autograd.Variable._execution_engine.queue_callback(callback)


def note(events, name, result=None):
    """A hook, of whatever kind, that writes `name` down."""
    def hook(*args):
        events.append(name)
        return result
    return hook


def runs(events, **nodes):
    """Write down the name of each node when it has run."""
    for name, node in nodes.items():
        node.register_hook(note(events, name))


def accumulator(x):
    """The accumulator of the leaf `x`. Some graph must keep it alive."""
    return x.view_as(x).grad_fn.next_functions[0][0]
