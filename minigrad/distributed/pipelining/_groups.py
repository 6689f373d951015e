"""Find the nodes where the parameters of a stage join the path from its inputs to its outputs.

    y = tanh(x @ w + b) + exp(u * u)

         x     w         b         u
         |     |         |         |
        acc   acc       acc       acc
         o     .         .         .
         +-mm--+         |        mul           o  on the path from x to y: the closure of x
           o             |         .            .  not on it
           +---- add ----+        exp
                  o                .
                tanh               |
                  o                |
                  +------ add -----+
                           o
                           y

The picture shows the forward. The edges of the graph point the other way, from y to the leaves.

The *closure* of the inputs is the set of nodes from which an edge or a chain of edges leads to an input. Start at the accumulator
of a parameter and walk towards y: the first nodes of the closure are the *intermediates* of the parameter. They are mm for w, one
add for b, and the other add for u. The gradients that arrive at the intermediates determine the gradient of the parameter.
Parameters with a common intermediate form a *group*. The weight and the bias of a linear layer do, since both join at addmm.

A node knows only the nodes below it (``next_functions``). So `construct_reverse_graph` first lists the nodes above each node.

Invariant: two groups have no common parameter and no common intermediate. After `unite_dependent_groups`, the runs of two groups
also have no common node.

Mirrors the first half of ``torch/distributed/pipelining/_backward.py``. Read next: ``_backward.py``.
"""

from collections import defaultdict


def construct_reverse_graph(roots):
    """Return, for each node of a graph, the list of the nodes that point to it.

    Args:
        roots (list of Node): the nodes where the graph begins. None is skipped.

    Returns:
        defaultdict: node -> list of nodes. If a node points to another by two edges (``a * a``), the list has it twice. A node to
        which nothing points has no entry.

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
    for node in nodes:                  # it grows during the loop: breadth first
        for below, _ in node.next_functions:
            if below is not None:
                reverse_edges[below].append(node)
                if below not in seen:
                    seen.add(below)
                    nodes.append(below)
    return reverse_edges


def reverse_closure(roots, target_nodes, reverse_edges_dict):
    """Return the nodes that a walk upward from `roots` reaches. The walk stops at `target_nodes`.

    Args:
        roots (list of Node): the nodes where the walk begins. None is skipped.
        target_nodes (set of Node): the nodes where it stops.
        reverse_edges_dict: from `construct_reverse_graph`.

    Returns:
        tuple: the set of the nodes that the walk reached, with all roots; and the set of the targets that it met.

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


def nodes_below(roots):
    """Return the nodes that a walk downward from some nodes reaches, with these."""
    found, stack = set(roots), list(roots)
    while stack:
        for below, _ in stack.pop().next_functions:
            if below is not None and below not in found:
                found.add(below)
                stack.append(below)
    return found


def get_param_groups(input_nodes, param_nodes, reverse_edges_dict):
    """Group the parameters that join the path from inputs to outputs at the same nodes. See the head of this file.

    Args:
        input_nodes, param_nodes (list of Node): accumulators of the inputs and of the parameters.
        reverse_edges_dict: from `construct_reverse_graph`.

    Returns:
        list of dict: the groups, each with the sets ``"params"`` and ``"intermediates"``. They have the order of their first
        parameters. A parameter that does not join the path is in no group.

    If a parameter connects two earlier groups, PyTorch's groups can overlap. These never do. Mirrors
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
    return join_params(param_nodes, closure, frozenset(), reverse_edges_dict)


def join_params(param_nodes, closure, ends, reverse_edges_dict):
    """Do the work of `get_param_groups`, given the closure. `ends` are outputs outside the closure; they are intermediates too."""
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
    """Add the parameters and intermediates of the groups `others` to `group`."""
    for other in others:
        group["params"] |= other["params"]
        group["intermediates"] |= other["intermediates"]


def unite_dependent_groups(groups, closure, roots, reverse_edges_dict):
    """Unite groups until no group runs a node that another group needs.

    The run of a group covers all nodes between its intermediates and its parameters. If a stage uses a parameter at several depths,
    the run covers the closure between these depths too, and the intermediates of other groups in it:

        x -- * w -- + b -- tanh -- * w -- y         w joins at both products, and b between them

    The run of w's group would free the node where b joins. So we unite the groups whose parts of the closure overlap, and run the
    united group once. A topological order of all nodes gives each group an interval, from its first intermediate to its last. If
    the runs of two groups have a common node, their intervals overlap in every such order.
    """
    if all([len(group["intermediates"]) < 2 for group in groups]):
        return groups
    position = order_nodes(roots, reverse_edges_dict)
    intervals = []
    for number, group in enumerate(groups):
        places = [position[node] for node in group["intermediates"] if node in closure]
        if places:
            intervals.append((min(places), max(places), number))
    last, kept, united = -1, -1, {}
    for begin, end, number in sorted(intervals):
        if begin <= last:
            united[number] = kept
        else:
            kept = number
        last = max(last, end)
    for number, other in united.items():
        absorb(groups[other], [groups[number]])
    return [group for number, group in enumerate(groups) if number not in united]


def order_nodes(roots, reverse_edges_dict):
    """Return node -> position in a topological order, where each node comes after all nodes that point to it.

    Of the nodes that may come next, the one found last comes first. So parallel branches follow one another.
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
