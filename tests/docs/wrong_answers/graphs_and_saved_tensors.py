"""Tutorials 0 to 9: see __init__.py."""

WRONG = {
    "00": {
        "check_partial": ["wrong = [6, 1, 12, 7, 0]", "wrong = [2, 1, 12, 7, 0]", "wrong = [3, 5, 12, 7, 0]", "wrong = [3, 2, 12, 7, 0]",
                          "wrong = [3, 1, 6, 7, 0]", "wrong = [3, 1, 12, 5, 0]", "wrong = [3, 1, 12, 2, 0]", "wrong = [3, 1, 12, 7, 6]"],
        "check_neuron": ["""
def wrong(w1, w2, b, x1, x2, t):
    y_ = 2 * (math.tanh(w1 * x1 + w2 * x2 + b) - t)
    return [x1 * y_, x2 * y_, y_]""", """
def wrong(w1, w2, b, x1, x2, t):
    z = w1 * x1 + w2 * x2 + b
    z_ = (1 - z * z) * 2 * (math.tanh(z) - t)
    return [x1 * z_, x2 * z_, z_]""",
                         "wrong = lambda *numbers: [number / 2 for number in neuron(*numbers)]",
                         "wrong = lambda *numbers: [-number for number in neuron(*numbers)]",
                         "wrong = lambda *numbers: [neuron(*numbers)[2]] * 3"],
        "check_adjoints": ["""
def wrong(lines):
    found = {lines[-1][0]: 1.0}
    for name, inputs in reversed(lines):
        for other, factor in inputs:
            found[other] = factor * found.get(name, 0.0)
    return found""", """
def wrong(lines):
    found = {lines[-1][0]: 1.0}
    for name, inputs in lines:
        for other, factor in inputs:
            found[other] = found.get(other, 0.0) + factor * found.get(name, 0.0)
    return found""", """
def wrong(lines):
    found = {lines[-1][0]: 1.0}
    for name, inputs in reversed(lines):
        for other, factor in inputs:
            found[other] = found.get(other, 0.0) + factor * found[name]
    return found""", """
def wrong(lines):
    found = {lines[-1][0]: 1.0}
    for name, inputs in reversed(lines):
        for other, factor in dict(inputs).items():
            found[other] = found.get(other, 0.0) + factor * found.get(name, 0.0)
    return found"""]},
    "01": {
        "check_more": ["""
class wrong(Var):
    def __truediv__(self, other):
        return record(self.value / other.value, (self, 1 / other.value), (other, -self.value / other.value ** 2))
    exp = Solution.exp""", """
class wrong(Var):
    def __truediv__(self, other):
        return mine(self.value / other.value, (self, 1 / other.value), (other, -self.value / other.value ** 2))
    def exp(self):
        return mine(math.exp(self.value), (self, math.exp(self.value)))
def mine(value, *inputs):
    result = record(value, *inputs)
    result.__class__ = wrong
    return result""", """
class wrong(Solution):
    def __truediv__(self, other):
        return made(self.value / other.value, (self, other.value), (other, -self.value / other.value ** 2))""", """
def made(value, *inputs):
    result = Flipped(value)
    tape.append((result, inputs))
    return result
class Flipped(Solution):
    def __truediv__(self, other):
        return made(self.value / other.value, (self, 1 / other.value), (other, self.value / other.value ** 2))
wrong = Flipped"""],
        "check_depth": ["wrong = lambda tensor: depth(tensor) - 1", """
def wrong(tensor):
    node, count = tensor.grad_fn, 1
    while edges := [following for following, _ in node.next_functions if following is not None]:
        node, count = edges[-1], count + 1
    return count""", """
def wrong(tensor):
    seen, level, count = set(), [tensor.grad_fn], 0
    while level:
        level, count = list({f for node in level for f, _ in node.next_functions if f is not None and f not in seen}), count + 1
        seen.update(level)
    return count"""]},
    "01b": {
        "check_outer": ["wrong = lambda g, a, b: outer_vjp(g, a, b)[::-1]", "wrong = lambda g, a, b: (g * b, g.mT * a)",
                        "wrong = lambda g, a, b: (g.mT @ b, g @ a)"],
        "check_shares": ["wrong = lambda g, x: g / x.sum(1, keepdim=True)",
                         "wrong = lambda g, x: g * (x.sum(1, keepdim=True) - x) / x.sum(1, keepdim=True) ** 2",
                         "wrong = lambda g, x: (g - (g * x).sum(1, keepdim=True)) / x.sum(1, keepdim=True)",
                         "wrong = lambda g, x: (g - (g * x / x.sum(1, keepdim=True)).sum(1)) / x.sum(1, keepdim=True)",
                         "wrong = lambda g, x: shares_vjp(mg.ones_like(g), x)"]},
    "02": {
        "check_paths": ["wrong = lambda tensor: 0", "wrong = lambda tensor: 1", """
def wrong(tensor):
    return sum([f.name() == "AccumulateGrad" for n in ordered(tensor.grad_fn) for f, _ in n.next_functions if f is not None])""", """
def wrong(tensor):
    edges = [[f for f, _ in n.next_functions if f is not None] for n in ordered(tensor.grad_fn)]
    return 1 + sum([len(there) - 1 for there in edges if there])"""],
        "check_needed": ["wrong = lambda tensor, leaf: needed(tensor, leaf) - 1", "wrong = lambda tensor, leaf: needed(tensor, leaf) + 1",
                     "wrong = lambda tensor, leaf: len(ordered(tensor.grad_fn))",
                     "wrong = lambda tensor, leaf: len([n for n in ordered(tensor.grad_fn) if n.next_functions])"]},
    "03": {
        "check_parts": ["wrong = lambda w, texts: [((w * t - 1).square().mean() / len(texts)).backward() for t in texts]",
                    "wrong = lambda w, texts: [(w * t - 1).square().mean().backward() for t in texts]",
                    "wrong = lambda w, texts: [(w * t - 1).square().sum().backward() for t in texts]",
                    "wrong = lambda w, texts: (w * mg.cat(texts) - 1).square().mean().backward()"],
        "check_strays": ["wrong = lambda optimizer, loss: []", """
def wrong(optimizer, loss):
    mine = strays(optimizer, loss)
    return [p for group in optimizer.param_groups for p in group["params"] if not any(p is other for other in mine)]""",
                     "wrong = lambda optimizer, loss: [p for group in optimizer.param_groups for p in group['params']]",
                     "wrong = lambda optimizer, loss: optimizer.param_groups[1]['params'][0] in optimizer.param_groups[0]['params']"]},
    "07": {
        "check_swish": ["""
class wrong(Swish):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, s := x.sigmoid())
        return x * s""", """
class wrong(Swish):
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return x.sigmoid() * (1 + x * (1 - x.sigmoid()))""", """
class wrong(Swish):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sigmoid()""", """
class wrong(Swish):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x.sigmoid()"""],
        "check_activations": ["""
def wrong(sizes, batch, trained):
    return batch * sum([n for n, wanted in zip(sizes, trained) if wanted])""", """
def wrong(sizes, batch, trained):
    return batch * sum(sizes)""", """
def wrong(sizes, batch, trained):
    kept = 0
    for i, wanted in enumerate(trained):
        kept += wanted * sizes[i] + any(trained[:i + 1]) * sizes[i + 1]
    return batch * kept""", """
def wrong(sizes, batch, trained):
    return batch * sum([n for i, n in enumerate(sizes[1:]) if any(trained[:i + 1])])"""]},
    "08": {
        "check_one_byte": ["""
def wrong():
    pack, unpack = one_byte()
    return lambda t: ((t / pack(t)[1]).to(mg.int8), pack(t)[1]), unpack""", """
def wrong():
    pack, unpack = one_byte()
    return lambda t: ((t / pack(t)[1]).round(), pack(t)[1]), unpack""", """
def wrong():
    pack, unpack = one_byte()
    return pack, lambda pair: pair[0]""", """
def wrong():
    pack, unpack = one_byte()
    return lambda t: ((t.clamp(-1, 1) * 127).round().to(mg.int8), 1 / 127), unpack"""],
        "check_checked": ["wrong = lambda: hooks(lambda t: t.clone(), lambda t: t)", "wrong = lambda: hooks(lambda t: t.detach(), lambda t: t)"]},
    "09": {
        "check_product": ["""
class wrong(Product):
    def __init__(self, x, y):
        super().__init__(y, x)""", """
class wrong:
    def __init__(self, x, y):
        self.saved = x, y, x._version, y._version
    def backward(self, g):
        x, y, *versions = self.saved
        if [x._version, y._version] != versions:
            raise RuntimeError
        return g * y if x.requires_grad else None, g * x if y.requires_grad else None""", """
class wrong:
    def __init__(self, x, y):
        self.saved = x, y
    def backward(self, g):
        x, y = self.saved
        return g * y if x.requires_grad else None, g * x if y.requires_grad else None""", """
class wrong:
    def __init__(self, x, y):
        self.saved = x, y
    def backward(self, g):
        x, y = self.saved
        return g * y, g * x"""],
        "check_powers": ["wrong = powers_broken", """
def wrong(w, n):
    table = mg.ones(n, 2)
    for i in range(1, n):
        table[i] = table[i - 1].data * w
    return table""", "wrong = lambda w, n: powers(w, n + 1)[1:]"],
        "check_share_counter": ["wrong = lambda a, b: a.data_ptr() == b.data_ptr()",
                                "wrong = lambda a, b: a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()", """
def wrong(a, b):
    before = b._version
    mg.autograd.graph.increment_version(a)
    return b._version != before""", """
def wrong(a, b):
    before = b._version
    with mg.no_grad():
        a.add_(1)
    return b._version != before"""]},
}
