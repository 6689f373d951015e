# wrong: calls itself for each node that is ready, and so ends at about a thousand nodes
def run_backward(roots, grads, call=call):
    waits, buffers = count_dependencies(*[node for node, _ in roots]), {}
    for (node, number), grad in zip(roots, grads):
        receive(buffers, node, number, grad)

    def run(node):
        for (following, number), part in zip(node.next_functions, call(node, *buffers.pop(node))):
            if following is not None:
                receive(buffers, following, number, part)
                waits[following] -= 1
                if waits[following] == 0:
                    run(following)

    for node in [node for node in list(buffers) if waits[node] == 0]:
        run(node)
