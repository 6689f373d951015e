# wrong: a weight joins at every node above it
def behind(node):
    found, waiting = set(), [node]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [below for below, _ in node.next_functions if below is not None]
    return found


def joins(y, x, weights):
    every = behind(get_gradient_edge(y).node)
    leaves = [get_gradient_edge(weight).node for weight in weights]
    return [[node for node in every if node is not leaf and leaf in behind(node)] for leaf in leaves]
