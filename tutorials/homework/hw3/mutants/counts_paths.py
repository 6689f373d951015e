# wrong: follows the edges of a node each time that an edge leads to it: it counts paths
def count_dependencies(*roots):
    waits, to_do = dict.fromkeys(roots, 0), list(dict.fromkeys(roots))
    while to_do:
        for following, _ in to_do.pop().next_functions:
            if following is not None:
                waits[following] = waits.get(following, 0) + 1
                to_do.append(following)
    return waits
