"""Where the parameters of a stage join the way from its inputs to its outputs.

    y = tanh(x @ w + b) + exp(u * u)

         x     w         b         u
         |     |         |         |
        acc   acc       acc       acc
         o     .         .         .
         +-mm--+         |        mul           o  on the way from x to y: the closure of x
           o             |         .            .  beside it
           +---- add ----+        exp
                  o                .
                tanh               |
                  o                |
                  +------ add -----+
                           o
                           y

The *closure* of the inputs is all that leads to one of them. Against the direction of the edges (the picture has the forward's),
from the accumulator of a parameter on, the first nodes of the closure that we meet are its *intermediates*: mm for w, one add
for b, the other for u. Given what arrives at them, the gradient of a parameter needs nothing else of the closure.
Parameters that share an intermediate share a *group*, as the weight and the bias of a linear layer do, which join at addmm.

Nodes point down only (``next_functions``), so `construct_reverse_graph` notes the way up first.

Invariant: two groups have no parameter and no intermediate in common. Those of `independent` need not even run the same node.

Mirrors the first half of ``torch/distributed/pipelining/_backward.py``. Read next: ``_backward.py``.
"""

from collections import defaultdict


def construct_reverse_graph(roots):
    """The edges of a graph the other way round: for each node the list of those that point to it.

    Args:
        roots (list of Node): where to begin; None is passed over.

    Returns:
        defaultdict: a node that another points to by two edges (``a * a``) has it in its list twice. What nothing points to
        has no entry.

    Mirrors ``construct_reverse_graph`` of ``torch/distributed/pipelining/_backward.py``.

    >>> from minigrad.distributed.pipelining._backward import construct_reverse_graph
    >>> x = mg.tensor(2., requires_grad=True)
    >>> y = (x * x).exp()
    >>> for node, above in construct_reverse_graph([y.grad_fn]).items():
    ...     print(node.name(), "<-", *[n.name() for n in above])
    MulBackward0 <- ExpBackward0
    AccumulateGrad <- MulBackward0 MulBackward0
    """
    reverse_edges = defaultdict(list)
    nodes = list(dict.fromkeys([root for root in roots if root is not None]))
    seen = set(nodes)
    for node in nodes:                  # grows while we walk over it: breadth first
        for below, _ in node.next_functions:
            if below is not None:
                reverse_edges[below].append(node)
                if below not in seen:
                    seen.add(below)
                    nodes.append(below)
    return reverse_edges


def reverse_closure(roots, target_nodes, reverse_edges_dict):
    """All that can be reached upward from `roots` without passing through `target_nodes`.

    Args:
        roots (list of Node): where to begin; None is passed over.
        target_nodes (set of Node): where to stop.
        reverse_edges_dict: from `construct_reverse_graph`.

    Returns:
        tuple: the set of nodes reached, roots included, even those that are targets; and the set of other targets met.

    Mirrors ``reverse_closure`` of ``torch/distributed/pipelining/_backward.py``.

    >>> from minigrad.distributed.pipelining._backward import construct_reverse_graph, reverse_closure
    >>> x = mg.tensor(2., requires_grad=True)
    >>> product = x * x
    >>> y = product.exp()
    >>> accumulator = product.grad_fn.next_functions[0][0]
    >>> closure, met = reverse_closure([accumulator], {y.grad_fn}, construct_reverse_graph([y.grad_fn]))
    >>> closure == {accumulator, product.grad_fn}, met == {y.grad_fn}
    (True, True)
    """
    closure = {root for root in roots if root is not None}
    met = set()
    stack = list(closure)
    while stack:
        for above in reverse_edges_dict.get(stack.pop(), ()):
            if above in closure:
                continue
            if above in target_nodes:
                met.add(above)
            else:
                closure.add(above)
                stack.append(above)
    return closure, met


def get_param_groups(input_nodes, param_nodes, reverse_edges_dict):
    """Which parameters join the way from inputs to outputs at the same nodes. See the head of this file.

    Args:
        input_nodes, param_nodes (list of Node): accumulators of the inputs and of the parameters.
        reverse_edges_dict: from `construct_reverse_graph`.

    Returns:
        list of dict: groups with the sets ``"params"`` and ``"intermediates"``, in the order in which their first parameter is
        listed. A parameter that does not join the way is in none.

    PyTorch's groups can overlap where a parameter links two that were apart so far; these never do. Mirrors
    ``get_param_groups`` of ``torch/distributed/pipelining/_backward.py``.

    >>> from minigrad.distributed.pipelining._backward import construct_reverse_graph, get_param_groups
    >>> x, w, b, v = [mg.tensor(float(i), requires_grad=True) for i in range(4)]
    >>> y = (x * w + b).tanh() * v
    >>> x_node, *nodes = [mg.autograd.graph.get_gradient_edge(t).node for t in (x, w, b, v)]
    >>> for group in get_param_groups([x_node], nodes, construct_reverse_graph([y.grad_fn])):
    ...     print(len(group["params"]), [n.name() for n in group["intermediates"]])
    1 ['MulBackward0']
    1 ['AddBackward0']
    1 ['MulBackward0']
    """
    closure, _ = reverse_closure(input_nodes, (), reverse_edges_dict)
    return joined(param_nodes, closure, frozenset(), reverse_edges_dict)


def joined(param_nodes, closure, ends, reverse_edges_dict):
    """`get_param_groups`, for a closure that is known. `ends`, outputs beside the closure, count as intermediates too."""
    groups = {}         # number -> group
    home = {}           # intermediate -> number of its group
    for number, param in enumerate(param_nodes):
        branch, joints = reverse_closure([param], closure, reverse_edges_dict)
        joints |= branch & ends
        if not joints:
            continue
        touched = {home[joint] for joint in joints if joint in home}
        first = min(touched, default=number)
        absorb(groups.setdefault(first, {"params": set(), "intermediates": set()}),
               [{"params": {param}, "intermediates": joints}, *[groups.pop(other) for other in touched - {first}]])
        home.update(dict.fromkeys(groups[first]["intermediates"], first))
    return list(groups.values())


def absorb(group, others):
    """Put what is in `others` into `group`."""
    for other in others:
        group["params"] |= other["params"]
        group["intermediates"] |= other["intermediates"]


def independent(groups, closure, roots, reverse_edges_dict):
    """Unite groups until none runs a node that another one needs.

    To compute the gradients of a group is to run all that lies between its intermediates and its parameters. If a
    parameter is used at several depths, that includes the closure between them, and intermediates of others within:

        x -- * w -- + b -- tanh -- * w -- y         w joins at both products, and b between them

    Running w's group would free the node at which b joins. So groups whose stretches of the closure overlap become
    one, which is run once. Stretches are compared in a topological order of all nodes: two of them that
    have a node in common overlap there, whatever the order.
    """
    if all([len(group["intermediates"]) < 2 for group in groups]):
        return groups
    position = positions(roots, reverse_edges_dict)
    stretches = []
    for number, group in enumerate(groups):
        places = [position[node] for node in group["intermediates"] if node in closure]
        if places:
            stretches.append((min(places), max(places), number))
    last, kept, united = -1, -1, {}
    for begin, end, number in sorted(stretches):
        if begin <= last:
            united[number] = kept
        else:
            kept = number
        last = max(last, end)
    for number, other in united.items():
        absorb(groups[other], [groups[number]])
    return [group for number, group in enumerate(groups) if number not in united]


def positions(roots, reverse_edges_dict):
    """Node -> its place in an order in which each stands behind all that point to it.

    Of the nodes that may come next we take the one found last, so that parallel branches follow one another.
    """
    waiting = {node: len(above) for node, above in reverse_edges_dict.items()}
    ready = [root for root in dict.fromkeys(roots) if not waiting.get(root)]
    position = {}
    while ready:
        node = ready.pop()
        position[node] = len(position)
        for below, _ in node.next_functions:
            if below is not None:
                waiting[below] -= 1
                if waiting[below] == 0:
                    ready.append(below)
    return position
