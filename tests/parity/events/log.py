"""The log of a scenario: the events of a backward, in terms that do not depend on the library.

A scenario is a function of a library `m` and a `Log`. It builds a small graph, registers hooks, runs the engine, and logs
each event: the hook, its gradients, the grad mode, the node of the run, and the errors.
"""

import builtins

SCENARIOS = {}

# The words of an error that a reader would search for. A log has those that occur.
PHRASES = ("expected Variable, but hook returned", "expected tuple, but hook returned", "has changed the size of value",
           "has changed the type of value", "has returned an incorrect number of values", "can't replace a None gradient",
           "through the graph a second time", "not have been used in the graph", "returned an invalid gradient",
           "post accumulate grad hooks should return None", "returned nan values in its 0th output",
           "only be installed during backward pass", "on purpose", "does not have a grad_fn",
           "modified by an inplace operation", "invalid number of gradients", "moved into the graph interior",
           "expected 1 arguments", "invalid number of grad_input", "invalid number of grad_output", "a view of a leaf",
           "Error detected in", "No forward pass information available", "Previous calculation was induced by",
           # of a Function
           "unexpected keyword argument", "multiple values for argument", "missing required argument", "missing a required argument",
           "either the backward or vjp method", "must implement the forward function", "Implementing both 'backward' and 'vjp'",
           "should not be instantiated", "Legacy autograd function", "or set generate_vmap_rule", "can only save variables",
           "can only be accessed once", "must be a bool", "returned as-is as output is being saved", "all arguments to be tensors",
           "only accepts variable arguments", "can only accept variables", "were not returned as output", "a tensor that was not an input",
           "has been used in an in-place operation", "cannot return more than one Tensor", "expected Variable or None (got",
           "incorrect number of gradients", "gradient different than None at position", "differentiate twice a function",
           "inside a custom Function", "returns multiple views", "its base or another view of its base has been modified inplace",
           "is a view and is being modified inplace", "This view was created",
           # of forward mode
           "must implement the jvp function", "invalid number of forward gradients", "for grad output 0",
           "is not a differentiable Tensor", "forward mode gradients inplace", "not returning the forward mode gradients as-is",
           "the jvp is not returning a view", "Nested forward mode AD is not supported", "make sure to enter_dual_level",
           "Expected primal to be floating point", "Expected tangent to be floating point", "size than that of the original Tensor",
           "forward gradient at the same level", "itself has a forward gradient", "not the last one that was created",
           "no level exist", "Trying to use forward AD with")


def scenario(function):
    """Add a scenario that is written by hand."""
    name = function.__name__
    assert name not in SCENARIOS
    SCENARIOS[name] = function
    return function


class Log(list):
    """The events, in terms that do not depend on the library."""

    def __init__(self, m):
        super().__init__()
        self.m = m

    def __call__(self, event, *details):
        """Note an event. Return None, like a hook that does not change the gradient."""
        self.append((event, *[self.plain(detail) for detail in details]))

    def plain(self, thing):
        if isinstance(thing, self.m.Tensor):
            x = self.m.zeros_like(thing) if getattr(thing, "_is_zerotensor", bool)() else thing.detach()
            return str(x.dtype).split(".")[-1], tuple(x.shape), rounded(x.tolist()), thing.requires_grad
        if isinstance(thing, (tuple, list)):
            return tuple([self.plain(part) for part in thing])
        if isinstance(thing, dict):
            return {key: self.plain(value) for key, value in thing.items()}
        if isinstance(thing, BaseException):
            return self.error(thing)
        if isinstance(thing, self.m.autograd.graph.Node):
            return thing.name().split("::")[-1]
        return thing

    def error(self, error):
        """The class as users catch it, and the familiar words of the message."""
        kind = next(c for c in type(error).__mro__ if hasattr(builtins, c.__name__))
        return (kind.__name__, *[phrase for phrase in PHRASES if phrase in str(error)])

    def attempt(self, event, function, *args, **kwargs):
        """Call a function and note its result or its error."""
        try:
            self(event, function(*args, **kwargs))
        except Exception as error:
            self(event, error)

    def state(self):
        """The state inside a hook: the running node, whether a run is on, the grad mode."""
        return (self.running(), self.task() >= 0, self.m.is_grad_enabled())

    def running(self):
        node = self.inside._current_autograd_node()
        return None if node is None else self.plain(node)

    def task(self):
        return self.inside._current_graph_task_id()

    @property
    def inside(self):
        return self.m._C if self.m.__name__ == "torch" else self.m.autograd.graph

    def callback(self, function):
        self.m.autograd.Variable._execution_engine.queue_callback(function)


def rounded(values):
    if isinstance(values, list):
        return tuple([rounded(v) for v in values])
    if isinstance(values, complex):
        return complex(round(values.real, 4), round(values.imag, 4))
    if values != values:
        return "nan"
    return round(values, 4) if abs(values) < 10 else float(f"{values:.5g}")     # float32 has no more


def nodes_of(*roots):
    """All nodes behind these tensors, breadth first."""
    found, queue = [], [root.grad_fn for root in roots if root.grad_fn is not None]
    while queue:
        node = queue.pop(0)
        if node not in found:
            found.append(node)
            queue += [following for following, _ in node.next_functions if following is not None]
    return found


def watch(log, *roots):
    """Note when each node behind the roots runs, and its gradients."""
    for node in nodes_of(*roots):
        name = log.plain(node)
        node.register_prehook(lambda grads, name=name: log(f"before {name}", grads, log.state()))
        node.register_hook(lambda ins, outs, name=name: log(f"after {name}", ins, outs, log.state()))


def accumulator(x):
    """The accumulator of a leaf. Some graph must keep it alive."""
    return x.view_as(x).grad_fn.next_functions[0][0]


def leaf(m, *values):
    return m.tensor(list(values), requires_grad=True)


def heard(log, name, result=None):
    """A hook, of whatever kind, that writes down its arguments."""
    def hook(*args):
        log(name, *args)
        return result
    return hook
