# wrong: depth first along each path; the numbers are right, the cost is 2**n
def run_backward(roots, grads, call=call):
    to_do = []
    for (node, number), grad in zip(roots, grads):
        to_do.append((node, number, grad))
    while to_do:
        node, number, grad = to_do.pop()
        slots = [None] * len(node._input_metadata)
        slots[number] = grad
        for (following, where), part in zip(node.next_functions, call(node, *slots)):
            if following is not None and part is not None:
                to_do.append((following, where, part))
