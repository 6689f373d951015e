# wrong: counts the nodes that lead to a node, and not the edges: 1 for the x of x * x
def count_dependencies(*roots):
    waits, to_do = dict.fromkeys(roots, 0), list(dict.fromkeys(roots))
    while to_do:
        for following in {following for following, _ in to_do.pop().next_functions if following is not None}:
            if following not in waits:
                waits[following] = 0
                to_do.append(following)
            waits[following] += 1
    return waits
