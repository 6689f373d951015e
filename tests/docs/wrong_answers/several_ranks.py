"""Tutorials 18 and 19: see __init__.py."""

# The second half of exercise 3 of tutorial 18, which `later` makes.
SPLIT = """
def wrong(y, x, w):
    dx, arrived = backward_input(y, x, intermediates_solution(y, x, w))
    edges = [GradientEdge(node, 0) for node in arrived]
    def later():
        {}
    return dx, later"""

WRONG = {
    "18": {
        "check_intermediates": ["wrong = lambda y, x, w: above(y, x) & above(y, w)", """
def wrong(y, x, w):
    end = mg.autograd.graph.get_gradient_edge(w).node
    return {node for node in above(y, w) if end in [below for below, _ in node.next_functions]}""", """
def wrong(y, x, w):
    end = mg.autograd.graph.get_gradient_edge(w).node
    return {node for node in above(y, x) if end in [below for below, _ in node.next_functions]}""", """
def wrong(y, x, w):
    return set(sorted(intermediates_solution(y, x, w), key=lambda node: node._sequence_nr())[:1])"""],
        "check_split": [
            "wrong = lambda y, x, w: (grad(y, x, retain_graph=True)[0], y.backward(inputs=[w]))",
            SPLIT.format("grad(edges, w, list(arrived.values()))"),
            "wrong = lambda y, x, w: (grad(y, x, retain_graph=True)[0], lambda: y.backward(inputs=[w]))",
            SPLIT.format("mg.autograd.backward(edges, list(arrived.values()), inputs=[w])"),
            """
def wrong(y, x, w):
    node = max(intermediates_solution(y, x, w), key=lambda node: node._sequence_nr())
    dx, arrived = backward_input(y, x, [node])
    return dx, lambda: mg.autograd.backward([GradientEdge(node, 0)], [arrived[node]], inputs=[w])"""]},
    "19": {
        "check_most": ["wrong = lambda row: 0", "wrong = lambda row: 10 * len([a for a in row if 'F' in a])", """
def wrong(row):
    waiting = largest = 0
    for action in row:
        waiting += 10 * (("F" in action) - ("B" in action) - ("I" in action))
        largest = max(largest, waiting)
    return largest"""],
        "check_table": [
            "wrong = lambda M: {r: list(map(str, row)) for r, row in pp.Schedule1F1B.make_table(2, 1, M).items()}",
            "wrong = lambda M: {r: [f'{r}{kind}{m}' for kind in 'FIW' for m in range(M)] for r in (0, 1)}",
            "wrong = lambda M: table_solution(2)",
            "wrong = lambda M: {r: row[:-1] for r, row in table_solution(M).items()}",
            """
def wrong(M):
    both = ["F", "I", "W"]
    return {0: [f"0{kind}{m}" for m in range(M) for kind in both], 1: [f"1{kind}{m}" for kind in both for m in range(M)]}""",
            """
def wrong(M):
    rows = table_solution(M)
    first = ["0F0", "0F1", "0F2"][:M]
    for m in range(M):
        first += [f"0I{m}", f"0W{m}"] + [f"0F{m + 3}"] * (m + 3 < M)
    return {0: first, 1: rows[1]}"""]},
}
