# wrong: counts by recursion, and so ends at about a thousand nodes
def count_dependencies(*roots):
    waits = {}

    def visit(node):
        if node not in waits:
            waits[node] = 0
            for following, _ in node.next_functions:
                if following is not None:
                    visit(following)
                    waits[following] += 1

    for root in roots:
        visit(root)
    return waits
