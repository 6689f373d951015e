# wrong: a weight joins at every node above it
def joins(y, x, weights):
    every = [y, x, *weights]
    found = []
    for weight in weights:
        nodes, waiting = [], [get_gradient_edge(y).node]
        while waiting:
            node = waiting.pop()
            if node not in nodes and any(get_gradient_edge(weight).node in below for below in (reached(node),)):
                nodes.append(node)
                waiting += [below for below, _ in node.next_functions if below is not None]
        found.append(nodes)
    return found if every else []


def reached(node):
    found, waiting = set(), [node]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [below for below, _ in node.next_functions if below is not None]
    return found
