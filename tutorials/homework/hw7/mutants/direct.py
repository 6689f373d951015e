# wrong: a weight joins at the node above it, also where that is not on the path
def joins(y, x, weights):
    found, seen, waiting = [[] for _ in weights], set(), [get_gradient_edge(y).node]
    nodes = [get_gradient_edge(weight).node for weight in weights]
    while waiting:
        node = waiting.pop()
        for below in {below for below, _ in node.next_functions if below is not None}:
            if below in nodes:
                found[nodes.index(below)].append(node)
            if below not in seen:
                seen.add(below)
                waiting.append(below)
    return found
