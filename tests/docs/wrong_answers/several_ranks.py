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
}
